"""How an output responds to inputs: gradients with units, elasticities, and the steps in between."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from mlsysim import formatting, show, units
from mlsysim.engine import compiled, slopes
from mlsysim.errors import InputError, UnknownNameError
from mlsysim.inputs.binding import Binding, bind_grid
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.study.dataset import attributes, coordinates, described
from mlsysim.study.display import as_text
from mlsysim.study.sweep import refuse_size
from mlsysim.symbolic import System, Variable, variable_of

#: How far from a whole number the next allowed one is looked for.
FARTHEST_STEP = 4096


@dataclass(frozen=True)
class Row:
    """How an output responds to one input.

    Attributes
    ----------
    name : str
        The input.
    kind : str
        ``"continuous"``, ``"step"`` (whole numbers) or ``"label"``.
    value : object
        Value of the input at which it was computed.
    gradient : pint.Quantity or None
        Output per input; None for steps and labels, and where the output is infinite.
    elasticity : float or None
        Percent of output per percent of input; None where the output is zero or infinite.
    step : object or None
        For a whole number: change of the output when the input grows to its next allowed value;
        None where there is none, or the output is infinite on both sides.
    increment : int
        By how much the input grows.
    through : tuple of str
        Variables between input and output that jump, and count as constant.
    """

    name: str
    kind: str
    value: Any
    gradient: Any = None
    elasticity: float | None = None
    step: Any = None
    increment: int = 1
    through: tuple[str, ...] = ()


class Sensitivity:
    """Sensitivity of one output at one point; prints as a table, strongest elasticity first."""

    def __init__(self, output: Variable, value: Any, rows: list[Row]) -> None:
        self.output = output
        self.value = value
        self.rows = tuple(rows)

    def __getitem__(self, name: str) -> Row:
        """The row of an input."""
        for row in self.rows:
            if row.name == name:
                return row
        raise UnknownNameError("input", name, [row.name for row in self.rows])

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Headers and cells, as text."""
        headers = ["Input", "At", "Kind", "Gradient", "Elasticity", "Steps on the way"]
        return headers, [self._cells(row) for row in self.rows]

    def _cells(self, row: Row) -> list[str]:
        if row.gradient is not None:
            change = formatting.quantity(row.gradient)
        elif row.step is not None:
            change = f"{_text(row.step)} for +{row.increment}"
        else:
            change = "-"
        elasticity = "-" if row.elasticity is None else f"{row.elasticity + 0.0:+.3f}"
        return [row.name, row.value, row.kind, change, elasticity, ", ".join(row.through)]

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Plain data by input name."""
        return {
            row.name: {
                "kind": row.kind,
                "gradient": None if row.gradient is None else float(row.gradient.magnitude),
                "gradient_unit": None if row.gradient is None else f"{row.gradient.units:~P}",
                "elasticity": row.elasticity,
                "step": None if row.step is None else float(getattr(row.step, "magnitude", row.step)),
                "through": list(row.through),
            }
            for row in self.rows
        }

    def __repr__(self) -> str:
        return f"Sensitivity of {self.output.name} = {self.value}\n" + show.render(*self.table())

    def _repr_html_(self) -> str:
        headers, rows = self.table()
        head = "".join(f"<th>{html.escape(cell)}</th>" for cell in headers)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>" for row in rows)
        title = html.escape(f"Sensitivity of {self.output.name} = {self.value}")
        return f"<table><caption>{title}</caption><tr>{head}</tr>{body}</table>"


def sensitivity(model: DeclaredModel, /, output: str, *entries: Any, **inputs: Any) -> Any:
    """Gradient and elasticity of one output with respect to every input, at a point or on a grid.

    Continuous inputs are differentiated automatically; whole numbers and labels are steps and
    get the change to the next value instead.

    Parameters
    ----------
    output : str
        Name of an output.

    Returns
    -------
    Sensitivity or xarray.Dataset
        A table at a point. On a grid an ``xarray.Dataset``: ``gradient_<input>`` with units, and
        ``elasticity`` along a dimension ``input``.

    Raises
    ------
    InputError
        If the output is a label or a truth value, or an argument is refused.
    """
    variable = model.output(output)
    if variable.domain.kind in ("choice", "boolean"):
        raise InputError("output", output, "must be a number; labels and truth values have no gradient")
    binding = bind_grid(model, model.named_arguments(entries, inputs))
    refuse_size([binding])
    binding.refuse()
    binding.require(output)
    system = _closure(binding.system, output)
    if binding.axes:
        return _on_grid(model, variable, binding, system)
    return _at_point(variable, binding, system)


@lru_cache(maxsize=256)
def _closure(system: System, output: str) -> System:
    """The part of a system that an output needs, one object each: compiled functions are cached by object."""
    return system.closure([output])


def _continuous(system: System) -> list[str]:
    return [v.name for v in system.inputs if v.domain.kind == "real"]


def _jumps(system: System, output: str, by: str) -> tuple[str, ...]:
    """Variables between an input and the output that jump."""
    touched = {by}
    for formula in system:
        if any(v.name in touched for v in formula.inputs):
            touched.add(formula.name)
    return tuple(name for name in system.steps(output) if name in touched)


def _at_point(output: Variable, binding: Binding, system: System) -> Sensitivity:
    function = compiled(system)
    value = float(function(binding.values)[output.name])
    found = slopes(system, [output.name], _continuous(system), binding.values)
    rows = [_row(output, value, v, binding, system, found) for v in system.inputs]
    rows.sort(key=lambda row: -abs(row.elasticity) if row.elasticity is not None else 1.0)
    return Sensitivity(output, as_text(output, value), rows)


def _row(output: Variable, value: float, by: Variable, binding: Binding, system: System, found: Any) -> Row:
    through = _jumps(system, output.name, by.name)
    at = binding.values[by.name]
    text = as_text(by, at)
    if by.domain.kind == "choice":
        return Row(by.name, "label", text, through=through)
    if by.domain.kind == "integer":
        change, increment = _step(output, value, by, binding, system)
        return Row(by.name, "step", text, step=change, increment=increment, through=through)
    if not np.isfinite(value):
        return Row(by.name, "continuous", text, through=through)
    slope = float(found[by.name][output.name])
    scale, unit = units.per(output.unit, by.unit)
    elasticity = slope * float(at) / value if value else None
    return Row(by.name, "continuous", text, units.Q_(slope * scale, unit), elasticity, through=through)


def _step(output: Variable, value: float, by: Variable, binding: Binding, system: System) -> tuple[Any, int]:
    """Change of the output to the next allowed value of a whole-number input, and how far that is."""
    one = units.factor(by.unit)
    at = float(binding.values[by.name])
    for increment in range(1, FARTHEST_STEP):
        if at + increment * one > by.domain.upper * one:
            break
        moved = {**binding.values, by.name: at + increment * one}
        if binding.allows(moved):
            after = float(compiled(system)(moved)[output.name])
            if not np.isfinite(value) and not np.isfinite(after):
                return None, increment
            change = units.from_canonical(after - value, output.unit)
            return (units.Q_(change, units.unit(output.unit)) if output.dimension else change), increment
    return None, 0


def _text(value: Any) -> str:
    return formatting.quantity(value) if units.is_quantity(value) else formatting.number(value)


def _on_grid(model: DeclaredModel, output: Variable, binding: Binding, system: System) -> Any:
    import xarray

    from mlsysim.engine import evaluate

    names = _continuous(system)
    sizes = [len(axis.canonical) for axis in binding.axes.values()]
    value = evaluate(system, [output.name], binding.values)[output.name]
    found = slopes(system, [output.name], names, binding.values)
    dims = tuple(binding.axes)
    data: dict[str, Any] = {}
    elastic = []
    for name in names:
        by = variable_of(name)
        scale, unit = units.per(output.unit, by.unit)
        slope = np.where(np.isfinite(value), found[name][output.name], np.nan)
        attrs = {
            "units": f"{unit:~P}",
            "long_name": f"Gradient of {output.name} with respect to {name}",
            "steps": " ".join(_jumps(system, output.name, name)),
        }
        data[f"gradient_{name}"] = (dims, np.broadcast_to(slope * scale, sizes), attrs)
        with np.errstate(all="ignore"):
            ratio = np.where((value != 0) & np.isfinite(value), slope * binding.values[name] / value, np.nan)
        elastic.append(np.broadcast_to(ratio, sizes))
    data["elasticity"] = (
        ("input", *dims),
        np.reshape(elastic, (len(names), *sizes)),
        {"long_name": f"Elasticity of {output.name}"},
    )
    coords = {**coordinates(binding), "input": ("input", np.array(names, dtype=str))}
    dataset = xarray.Dataset(data, coords=coords, attrs=described([model], [binding]))
    dataset.attrs["output"] = output.name
    dataset.attrs["output_units"] = attributes(output).get("units", "")
    return dataset
