"""Conversion of canonical values for display: quantities, labels, text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mlsysim import formatting, units
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.symbolic import Variable, variable_of

#: Range of totals, in their unit, whose parts are shown with the same number of decimals.
FIXED = 1e-2, 1e6
#: Text that names the outputs a table omits: infinite because nothing fits or no load meets a target.
INFINITE = "Infinite, for the reason above: {}"


def presented(variable: Variable, value: Any) -> Any:
    """Convert a canonical value to what a user sees."""
    plain_value = bare(variable, value)
    if isinstance(plain_value, bool | str) or variable.named_unit or not variable.dimension:
        return plain_value
    return units.Q_(plain_value, units.unit(variable.unit))


def amounts(variable: Variable, canonical: Any) -> Any:
    """Convert canonical numbers to the unit of a variable; statistics of whole numbers need not be whole."""
    converted = units.from_canonical(canonical, variable.unit)
    return (
        converted if variable.named_unit or not variable.dimension else units.Q_(converted, units.unit(variable.unit))
    )


def bare(variable: Variable, value: Any) -> bool | str | int | float:
    """Convert a canonical value to a truth value, a label, or a number in the unit of the variable."""
    domain = variable.domain
    if domain.kind == "boolean":
        return bool(value)
    if domain.kind == "choice":
        return domain.labels[int(value)]
    amount = units.from_canonical(float(value), variable.unit)
    return int(amount) if domain.kind == "integer" and math.isfinite(amount) else float(amount)


def named(variable: Variable) -> dict[str, Any]:
    """Return the attributes that name a variable in a data set: description (CF), label and LaTeX."""
    return {"long_name": variable.description.rstrip("."), "label": variable.label, "latex": variable.latex}


def as_text(variable: Variable, value: Any) -> str:
    """Format a canonical value with its unit."""
    plain_value = bare(variable, value)
    if isinstance(plain_value, bool | str):
        return str(plain_value)
    if variable.named_unit:
        return f"{formatting.number(plain_value)} {variable.unit}"
    return formatting.with_unit(plain_value, variable.unit) if variable.dimension else formatting.number(plain_value)


def listed(model: DeclaredModel, names: Sequence[str], values: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """List outputs with value and meaning; the parts of a total follow it, indented, in its unit and decimals.

    Parameters
    ----------
    model : DeclaredModel
        Model that computes the outputs.
    names : sequence of str
        Outputs to list.
    values : mapping
        Canonical values.
    """
    totals = {name: parts for name in names if (parts := model.parts_of(name)) and {*parts} <= {*names}}
    rows = []
    for name in names:
        if name in totals:
            total = variable_of(name)
            size = float(units.from_canonical(values[name], total.unit))
            fixed = FIXED[0] <= size < FIXED[1]
            decimals = max(0, 4 - math.floor(math.log10(size))) if fixed else None
            rows.append((name, _in(total, values[name], decimals), f"{total.description.rstrip('.')}, of these parts:"))
            rows += [
                (f"  {part}", _in(total, values[part], decimals), variable_of(part).description)
                for part in totals[name]
            ]
        elif not any(name in parts for parts in totals.values()):
            variable = variable_of(name)
            rows.append((name, as_text(variable, values[name]), variable.description))
    return rows


def _in(total: Variable, value: Any, decimals: int | None) -> str:
    """Format a canonical value in the unit of a total, with its decimals; zero is a bare 0."""
    if decimals is None:
        return as_text(total, value)
    amount = float(units.from_canonical(float(value), total.unit))
    suffix = total.unit if total.named_unit else units.printed(total.unit) if total.dimension else ""
    return f"{amount:.{decimals}f} {suffix}".strip() if amount else f"0 {suffix}".strip()


def plain(variable: Variable, value: Any) -> dict[str, Any]:
    """Return a canonical value as plain data: ``value`` and, for a number, ``unit``."""
    plain_value = bare(variable, value)
    if isinstance(plain_value, bool | str):
        return {"value": plain_value}
    return {"value": plain_value, "unit": "" if variable.unit == "count" else variable.unit}


def endless(result: Any, names: Iterable[str]) -> list[str]:
    """Return the outputs that are infinite because nothing fits or no load meets a target."""
    return [name for name in names if result.obstacle and math.isinf(result.canonical(name))]
