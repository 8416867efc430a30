"""The best designs found in a grid, with the certificate that there is no better one."""

from __future__ import annotations

import html
import math
import textwrap
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from mlsysim import formatting, show, units
from mlsysim.engine import compiled
from mlsysim.engine.ties import TIE
from mlsysim.jsontext import json_text
from mlsysim.study.display import as_text, presented
from mlsysim.study.problem import Problem
from mlsysim.study.result import Result
from mlsysim.study.solve import solve
from mlsysim.symbolic import Variable, lower, variable_of

if TYPE_CHECKING:
    import xarray


#: Headline outputs in the table, beside axes, objectives and what is constrained; and its columns.
SHOWN, WIDTH = 2, 100


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
        if self.proven and not high:
            said = "Proven infeasible"
        elif self.proven:
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

    def __init__(self, asked: Problem, places: np.ndarray, certificate: Certificate | None) -> None:
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
        return [solve(self._asked.model, **self._asked.at(place)) for place in self.places]

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
                if isinstance(part, sympy.Lt | sympy.Le | sympy.Gt | sympy.Ge):
                    less, more = sorted(abs(_value(side, self._results[0])) for side in part.args)
                    found.append((constraint.text, less / more if more else 1.0))
        return tuple(found)

    def to_dataset(self) -> xarray.Dataset:
        """Every output and swept input of each design, along ``design``."""
        import xarray

        from mlsysim.study.sweep import attributes, displayed

        names = list(dict.fromkeys([*self._inputs, *(v.name for v in self._asked.binding.system.variables)]))
        columns: dict[str, Any] = {}
        for name in names:
            variable = variable_of(name)
            values = np.array([result.canonical(name) for result in self])
            columns[name] = ("design", displayed(variable, values), attributes(variable))
        for slot in self._entries:
            columns[slot] = ("design", [self._entry(place, slot) for place in range(len(self))])
        coords = {"design": ("design", np.arange(1, len(self) + 1), {"long_name": "Design, best first"})}
        return xarray.Dataset(columns, coords=coords, attrs=self._attrs())

    def to_pandas(self) -> Any:
        """:meth:`to_dataset` as a data frame."""
        return self.to_dataset().to_dataframe()

    def to_dict(self) -> dict[str, Any]:
        """Plain data: per design its objectives and what its result holds, and the certificate."""
        found = []
        for values, result in zip(self.objectives, self, strict=True):
            objectives = {}
            for (expression, _), value in zip(self._asked.objectives, values, strict=True):
                unit = "" if expression.unit == "count" else expression.unit
                objectives[expression.text] = {"value": float(units.from_canonical(value, unit)), "unit": unit}
            found.append({"objectives": objectives, **result.to_dict()})
        certificate = None if self.certificate is None else asdict(self.certificate)
        return {"designs": found, "certificate": certificate}

    def to_json(self, indent: int | None = 2) -> str:
        """:meth:`to_dict` as JSON; an infinite value is ``"value": null, "infinite": "positive"``."""
        return json_text(self.to_dict(), indent)

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
        """Cells as text, each on its own."""
        return [[formatting.quantity(cell) if units.is_quantity(cell) else str(cell) for cell in row]
                for row in self._cells()]  # fmt: skip

    def _cells(self) -> list[list[Any]]:
        """Text, whole numbers and quantities, so that a table gives a column one unit."""
        rows = []
        for place, result in enumerate(self):
            objectives = {
                expression.text: _amount(value, expression.unit)
                for (expression, _), value in zip(self._asked.objectives, self.objectives[place], strict=True)
            }
            row: list[Any] = []
            for name in self._headers:
                if name in self._entries:
                    row.append(self._entry(place, name))
                elif name in objectives:
                    row.append(objectives[name])
                else:
                    row.append(_cell(variable_of(name), result.canonical(name)))
            rows.append(row)
        return rows

    def _table(self) -> tuple[str, list[str], list[list[Any]]]:
        """What all designs share, and headers and cells of what tells them apart."""
        headers, rows = self._headers, self._cells()
        choices = {*self._entries, *self._inputs}
        texts = self._rows()
        alike = [
            place
            for place, name in enumerate(headers)
            if len(rows) > 1 and name in choices and len({row[place] for row in texts}) == 1
        ]
        same = ", ".join(f"{headers[place]} = {texts[0][place]}" for place in alike)
        kept = [place for place in range(len(headers)) if place not in alike]
        return same, [headers[place] for place in kept], [[row[place] for place in kept] for row in rows]

    def _body(self) -> str:
        same, headers, rows = self._table()
        if not rows:
            return "\n".join(["No design meets the constraints.", *self._asked.refusals()])
        if len(rows) == 1:
            return show.render(["", "1"], list(zip(headers, self._rows()[0], strict=True)))
        numbered = [[str(place), *row] for place, row in enumerate(rows, start=1)]
        text = show.render(show.narrowed(["", *headers], numbered, WIDTH), numbered)
        return f"{text}\n{_wrapped(f'Same for all: {same}')}" if same else text

    def __repr__(self) -> str:
        used = [_use(text, share) for text, share in self.binding_constraints]
        said = [_wrapped(str(self.certificate))] if self.certificate is not None else []
        return "\n".join([self._body(), *used, *said])

    def _repr_html_(self) -> str:
        same, headers, rows = self._table()
        if not rows:
            return f"<p>{html.escape(repr(self))}</p>"
        texts = show.cells(rows)
        head = "".join(f"<th>{html.escape(cell)}</th>" for cell in ["", *headers])
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in [str(place), *row]) + "</tr>"
            for place, row in enumerate(texts, start=1)
        )
        said = [f"Same for all: {same}"] * bool(same) + [str(self.certificate)] * (self.certificate is not None)
        return f"<table><caption>{'<br>'.join(map(html.escape, said))}</caption><tr>{head}</tr>{body}</table>"


def _use(text: str, share: float) -> str:
    """How near a constraint is to its limit, in words."""
    if ">" in text and share:
        return f"{text}: {1 / share:.4g} times what is asked"
    return f"{text}: {100 * share:.4g}% used"


def _value(expression: sympy.Basic, result: Result) -> float:
    system = result._binding.system
    function = compiled(system, None, "numpy", (("value", lower(expression)),))
    return float(function(result._values)["value"])


def _amount(value: float, unit: str) -> Any:
    """The value of an objective as a table shows it."""
    amount = float(units.from_canonical(value, unit))
    return formatting.number(amount) if unit in ("", "count") else units.Q_(amount, units.unit(unit))


def _cell(variable: Variable, value: float) -> Any:
    """The value of a variable as a table shows it."""
    if variable.domain.is_flag:
        return str(bool(value))
    seen = presented(variable, value)
    return seen if units.is_quantity(seen) else as_text(variable, value)


def _wrapped(text: str) -> str:
    return "\n".join(textwrap.wrap(text, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False))
