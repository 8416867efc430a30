"""Inverse question: the value of one input at which a model meets targets."""
