"""The vocabulary: one Variable per quantity, by family. One name, one symbol, one meaning.

The families are imported in one fixed order, because formulas print their symbols in the order of
declaration.
"""

from mlsysim.symbols import workload, hardware, training, serving, routing  # noqa: I001

__all__ = ["hardware", "routing", "serving", "training", "workload"]
