"""Canonical values as people meet them: quantities, labels, text."""

from __future__ import annotations

import math
from typing import Any

from mlsysim import formatting, units
from mlsysim.symbolic import Variable


def presented(variable: Variable, value: Any) -> Any:
    """A canonical value as a user meets it."""
    domain = variable.domain
    if domain.kind == "boolean":
        return bool(value)
    if domain.kind == "choice":
        return domain.labels[int(value)]
    amount = units.from_canonical(float(value), variable.unit)
    number = int(amount) if domain.kind == "integer" and math.isfinite(amount) else float(amount)
    if variable.named_unit or not variable.dimension:
        return number
    return units.Q_(number, units.unit(variable.unit))


def named(variable: Variable) -> dict[str, Any]:
    """Attributes that name a variable in a data set: its description (CF), its label and its LaTeX."""
    return {"long_name": variable.description.rstrip("."), "label": variable.label, "latex": variable.latex}


def as_text(variable: Variable, value: Any) -> str:
    """A canonical value as text with its unit."""
    seen = presented(variable, value)
    if isinstance(seen, bool | str):
        return str(seen)
    if units.is_quantity(seen):
        return formatting.quantity(seen)
    suffix = f" {variable.unit}" if variable.named_unit else ""
    return formatting.number(seen) + suffix


def plain(variable: Variable, value: Any) -> dict[str, Any]:
    """A canonical value as plain data: ``value`` and, of a number, ``unit``."""
    seen = presented(variable, value)
    if isinstance(seen, bool | str):
        return {"value": seen}
    number = seen.magnitude if units.is_quantity(seen) else seen
    unit = "" if variable.unit == "count" else variable.unit
    return {"value": number, "unit": unit}
