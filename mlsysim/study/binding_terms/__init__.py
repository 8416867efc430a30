"""Binding terms: the argument that binds in each maximum, minimum and case, and where it changes."""
