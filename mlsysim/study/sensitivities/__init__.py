"""Sensitivity of an output to its inputs: gradients, elasticities, jumps and finite changes."""
