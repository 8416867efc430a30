"""The vocabulary: one Variable per quantity, by family. One name, one symbol, one meaning.

The families are imported in one fixed order, because formulas print their symbols in the order of
declaration.
"""

from mlsysim.symbols import workload, parameters, hardware, training, activations, serving, batching, routing, step  # noqa: I001

__all__ = ["activations", "batching", "hardware", "parameters", "routing", "serving", "step", "training", "workload"]
