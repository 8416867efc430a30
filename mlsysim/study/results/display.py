"""Canonical values as people meet them: quantities, labels, text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mlsysim import formatting, units
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.symbolic import Variable, variable_of

#: Totals from and up to which, in their unit, parts are shown with decimals in common.
FIXED = 1e-2, 1e6
#: How outputs are named that tables leave out, being infinite because nothing has room or no load meets a target.
INFINITE = "Infinite, for the reason above: {}"


def presented(variable: Variable, value: Any) -> Any:
    """A canonical value as a user meets it."""
    seen = bare(variable, value)
    if isinstance(seen, bool | str) or variable.named_unit or not variable.dimension:
        return seen
    return units.Q_(seen, units.unit(variable.unit))


def amounts(variable: Variable, canonical: Any) -> Any:
    """Canonical numbers in the unit of a variable; statistics of whole numbers may be no whole ones."""
    found = units.from_canonical(canonical, variable.unit)
    return found if variable.named_unit or not variable.dimension else units.Q_(found, units.unit(variable.unit))


def bare(variable: Variable, value: Any) -> bool | str | int | float:
    """A canonical value as an argument takes it without a unit: a truth, a label, or a number in its own unit."""
    domain = variable.domain
    if domain.kind == "boolean":
        return bool(value)
    if domain.kind == "choice":
        return domain.labels[int(value)]
    amount = units.from_canonical(float(value), variable.unit)
    return int(amount) if domain.kind == "integer" and math.isfinite(amount) else float(amount)


def named(variable: Variable) -> dict[str, Any]:
    """Attributes that name a variable in a data set: its description (CF), its label and its LaTeX."""
    return {"long_name": variable.description.rstrip("."), "label": variable.label, "latex": variable.latex}


def as_text(variable: Variable, value: Any) -> str:
    """A canonical value as text with its unit."""
    seen = bare(variable, value)
    if isinstance(seen, bool | str):
        return str(seen)
    if variable.named_unit:
        return f"{formatting.number(seen)} {variable.unit}"
    return formatting.with_unit(seen, variable.unit) if variable.dimension else formatting.number(seen)


def listed(model: DeclaredModel, names: Sequence[str], values: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Outputs with value and meaning as text; behind a total its parts, further in, in its unit and with its decimals.

    Parameters
    ----------
    model : DeclaredModel
        Whose outputs they are.
    names : sequence of str
        Outputs to list.
    values : mapping
        Their canonical values.
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
    """A canonical value in the unit of a total, with so many decimals; nothing is a bare zero."""
    if decimals is None:
        return as_text(total, value)
    amount = float(units.from_canonical(float(value), total.unit))
    suffix = total.unit if total.named_unit else units.printed(total.unit) if total.dimension else ""
    return f"{amount:.{decimals}f} {suffix}".strip() if amount else f"0 {suffix}".strip()


def plain(variable: Variable, value: Any) -> dict[str, Any]:
    """A canonical value as plain data: ``value`` and, of a number, ``unit``."""
    seen = bare(variable, value)
    if isinstance(seen, bool | str):
        return {"value": seen}
    return {"value": seen, "unit": "" if variable.unit == "count" else variable.unit}


def endless(result: Any, names: Iterable[str]) -> list[str]:
    """Those of the outputs of a result that are infinite because nothing has room or no load meets a target."""
    return [name for name in names if result.obstacle and math.isinf(result.canonical(name))]
