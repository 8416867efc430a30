"""The data: devices, models, fleets and software stacks, every value with unit, source, date and kind."""

from mlsysim.catalog.entries import (
    Accelerator,
    Entry,
    Fabric,
    Fleet,
    MemoryDesign,
    MemoryKind,
    Node,
    Rent,
    SparseTransformerWorkload,
    TransformerWorkload,
)
from mlsysim.catalog.loader import Catalog, Group, builtin, load_catalog
from mlsysim.catalog.stacks import Stack
from mlsysim.catalog.value import Value

__all__ = [
    "Accelerator",
    "Catalog",
    "Entry",
    "Fabric",
    "Fleet",
    "Group",
    "MemoryDesign",
    "MemoryKind",
    "Node",
    "Rent",
    "SparseTransformerWorkload",
    "Stack",
    "TransformerWorkload",
    "Value",
    "builtin",
    "load_catalog",
]
