"""A training recipe as an argument: what it gives, a call may give otherwise."""

from __future__ import annotations

from mlsysim.catalog import Recipe
from mlsysim.inputs.slot import Slot

#: The argument of every variant that trains; it gives any of the others.
RECIPE = {"recipe": Slot(Recipe, (), strict=True, asks=("batch_size", "zero_stage"))}
