"""The best designs found in a grid, with the certificate that there is no better one."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from mlsysim import formatting, show, units
from mlsysim.engine import compiled
from mlsysim.engine.bounds import TIE
from mlsysim.models.result import Result, as_text
from mlsysim.study.question import Question
from mlsysim.symbolic import Variable, lower, variable_of

if TYPE_CHECKING:
    import xarray


#: Headline outputs in the table, beside axes, objectives and what is constrained.
SHOWN = 2


@dataclass(frozen=True)
class Certificate:
    """Why there is no better design, or how much better one could be.

    Attributes
    ----------
    method : {"bounds", "dense", "enumeration"}
        How the grid was searched.
    points : int
        Size of the grid.
    proven : bool
        Whether no feasible point is better than those found by more than a relative 1e-9, to which
        values count as equal.
    first : bool
        Whether the designs are also the first ones, in the order of the axes, of those that count as equal.
    bound : float
        No feasible point has a better objective, in canonical units.
    gap : float
        How far the last design may be from the bound, relative; 0 where proven.
    boxes, evaluated : int
        Boxes bounded, and points evaluated.
    feasible : tuple of int
        At least and at most so many points meet the constraints.
    seconds : float
        Time it took.
    """

    method: str
    points: int
    proven: bool
    first: bool
    bound: float
    gap: float
    boxes: int
    evaluated: int
    feasible: tuple[int, int]
    seconds: float

    def __str__(self) -> str:
        low, high = self.feasible
        count = f"{low:,}" if low == high else f"{_count(low)} to {_count(high)}"
        if self.proven:
            said = f"Proven best to a relative {TIE:g}"
            said += "" if self.first else "; others that count as equal may come earlier on the axes"
        elif math.isfinite(self.gap):
            said = f"Not proven: a design up to {100 * self.gap:.3g}% better may exist"
        else:
            said = "Not proven: the time was too short for a bound"
        looked = f"{_count(self.evaluated)} evaluated" + f", {_count(self.boxes)} boxes bounded" * bool(self.boxes)
        grid = f"{_count(self.points)} points, {count} of them feasible"
        return f"{said}. {grid}; {looked} in {self.seconds:.3g} s by {self.method}."


def _count(number: int) -> str:
    return f"{number:,}" if number < 10**9 else f"{float(number):.2g}"


class Designs:
    """Designs in order, best first; prints as a table.

    Attributes
    ----------
    certificate : Certificate
        Why there is no better one.
    places : ndarray
        Index along every axis (columns) of each design (rows).
    """

    def __init__(self, asked: Question, places: np.ndarray, certificate: Certificate | None) -> None:
        self._asked = asked
        self.places = places
        self.certificate = certificate

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, place: int) -> Result:
        """A design as the result of a model."""
        return self._results[place]

    def __iter__(self) -> Iterator[Result]:
        return iter(self._results)

    @property
    def best(self) -> Result | None:
        """The best design, None where no point is feasible."""
        return self._results[0] if len(self) else None

    @cached_property
    def _results(self) -> list[Result]:
        return [self._asked.model.solve(**self._asked.at(place)) for place in self.places]

    @cached_property
    def objectives(self) -> tuple[tuple[float, ...], ...]:
        """Value of every objective, in canonical units, per design."""
        return tuple(
            tuple(_value(expression.sympy, result) for expression, _ in self._asked.objectives) for result in self
        )

    @property
    def binding_constraints(self) -> tuple[tuple[str, float], ...]:
        """How much of each comparison the best design uses: the smaller side over the larger one."""
        found = []
        for constraint in self._asked.constraints if len(self) else ():
            for part in sympy.And.make_args(constraint.sympy):
                if isinstance(part, sympy.core.relational.Relational):
                    less, more = sorted(abs(_value(side, self._results[0])) for side in part.args)
                    found.append((constraint.text, less / more if more else 1.0))
        return tuple(found)

    def to_dataset(self) -> xarray.Dataset:
        """Every output and swept input of each design, along ``design``."""
        import xarray

        from mlsysim.study.sweep import attributes

        names = list(dict.fromkeys([*self._inputs, *(v.name for v in self._asked.binding.system.variables)]))
        columns: dict[str, Any] = {}
        for name in names:
            variable = variable_of(name)
            values = np.array([result.canonical(name) for result in self])
            columns[name] = ("design", _displayed(variable, values), attributes(variable))
        for slot in self._entries:
            columns[slot] = ("design", [self._entry(place, slot) for place in range(len(self))])
        coords = {"design": ("design", np.arange(1, len(self) + 1), {"long_name": "Design, best first"})}
        return xarray.Dataset(columns, coords=coords, attrs=self._attrs())

    def to_pandas(self) -> Any:
        """:meth:`to_dataset` as a data frame."""
        return self.to_dataset().to_dataframe()

    def to_dict(self) -> dict[str, Any]:
        """Plain data: designs with their arguments and headline outputs, and the certificate."""
        return {
            "designs": [dict(zip(self._headers, row, strict=True)) for row in self._rows()],
            "certificate": None if self.certificate is None else asdict(self.certificate),
        }

    def _attrs(self) -> dict[str, Any]:
        model = self._asked.model
        words = {"model": type(model).__name__, "variant": model.variant}
        return words | ({"certificate": str(self.certificate)} if self.certificate is not None else {})

    @property
    def _inputs(self) -> list[str]:
        """Swept and derived inputs that are numbers or labels."""
        axes = self._asked.binding.axes.items()
        names = [member for name, axis in axes for member in (axis.members or {name: axis})]
        names += [entry.variable.name for entry in self._asked.binding.derived]
        return [name for name in names if name not in self._entries]

    @property
    def _entries(self) -> list[str]:
        return [name for name, entry in self._asked.binding.entries.items() if isinstance(entry, list)]

    def _entry(self, design: int, slot: str) -> str:
        return str(self._asked.swept(self.places[design])[slot].name)

    @property
    def _headers(self) -> list[str]:
        texts = [expression.text for expression, _ in self._asked.objectives]
        system = self._asked.binding.system
        met = [name for constraint in self._asked.constraints for name in constraint.names if name in system]
        heads = [name for name in self._asked.model.headline if name in system]
        columns = dict.fromkeys([*self._entries, *self._inputs, *texts, *met])
        return list(columns | dict.fromkeys(heads[:SHOWN]))

    def _rows(self) -> list[list[str]]:
        rows = []
        for place, result in enumerate(self):
            objectives = {
                expression.text: _text(value, expression.unit)
                for (expression, _), value in zip(self._asked.objectives, self.objectives[place], strict=True)
            }
            row = []
            for name in self._headers:
                if name in self._entries:
                    row.append(self._entry(place, name))
                elif name in objectives:
                    row.append(objectives[name])
                else:
                    row.append(as_text(variable_of(name), result.canonical(name)))
            rows.append(row)
        return rows

    def __repr__(self) -> str:
        if not len(self):
            body = "No design meets the constraints."
        else:
            body = show.render(["", *self._headers], [[str(i + 1), *row] for i, row in enumerate(self._rows())])
        used = [f"{text}: {100 * share:.4g}% used" for text, share in self.binding_constraints]
        return "\n".join([body, *used, *([str(self.certificate)] if self.certificate is not None else [])])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(cell)}</th>" for cell in self._headers)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>" for row in self._rows())
        said = html.escape(str(self.certificate)) if self.certificate is not None else ""
        return f"<table><caption>{said}</caption><tr>{head}</tr>{body}</table>"


def _value(expression: sympy.Basic, result: Result) -> float:
    system = result._binding.system
    function = compiled(system, None, "numpy", (("value", lower(expression)),))
    return float(function(result._values)["value"])


def _text(value: float, unit: str) -> str:
    amount = units.from_canonical(value, unit)
    if unit in ("", "count"):
        return formatting.number(amount)
    return formatting.quantity(units.Q_(amount, units.unit(unit)))


def _displayed(variable: Variable, values: np.ndarray) -> np.ndarray:
    """Canonical values in the unit of their variable, codes and counts whole."""
    if variable.domain.kind in ("boolean", "choice"):
        return values.astype(bool if variable.domain.kind == "boolean" else np.int8)
    amounts = np.asarray(units.from_canonical(values, variable.unit))
    whole = variable.domain.kind == "integer" and np.isfinite(amounts).all()
    return amounts.astype(np.int64) if whole else amounts
