"""Binding of what a user typed to the inputs of a system."""
