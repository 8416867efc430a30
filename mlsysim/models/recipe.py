"""A training recipe as an argument: what it gives, a call may give otherwise."""

from __future__ import annotations

from mlsysim.catalog import Recipe
from mlsysim.inputs.slot import Slot

#: The argument of every training model; it gives any of the others.
RECIPE = {"recipe": Slot(Recipe, ())}
