"""Catalog of devices, models, fleets, software stacks and recipes; each value has unit, source, date and kind."""

from mlsysim.catalog.entries import (
    Accelerator,
    Entry,
    Fabric,
    Fleet,
    Grid,
    MemoryDesign,
    MemoryKind,
    Node,
    Rent,
    SparseTransformerWorkload,
    TransformerWorkload,
    memory_as_typed,
    which_memory,
)
from mlsysim.catalog.failures import Failures, Storage
from mlsysim.catalog.loader import Catalog, Group, builtin, load_catalog, stacks_of
from mlsysim.catalog.recipes import Recipe
from mlsysim.catalog.stacks import Engine, Stack
from mlsysim.catalog.traffic import Trace, Traffic, read_trace
from mlsysim.catalog.value import Choice, Sourced, Value

__all__ = [
    "Accelerator",
    "Catalog",
    "Choice",
    "Engine",
    "Entry",
    "Fabric",
    "Failures",
    "Fleet",
    "Grid",
    "Group",
    "MemoryDesign",
    "MemoryKind",
    "Node",
    "Recipe",
    "Rent",
    "Sourced",
    "SparseTransformerWorkload",
    "Stack",
    "Storage",
    "Trace",
    "Traffic",
    "TransformerWorkload",
    "Value",
    "builtin",
    "load_catalog",
    "memory_as_typed",
    "read_trace",
    "stacks_of",
    "which_memory",
]
