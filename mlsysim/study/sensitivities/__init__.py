"""Sensitivity of an output to inputs: gradients, elasticities, steps in between, and what changes of inputs bring."""
