"""Sensitivity of one output at one point, as a table, as plain data and as a figure."""

from __future__ import annotations

import html
import math
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mlsysim import show
from mlsysim.errors import InputError, UnknownNameError
from mlsysim.figures import drawn
from mlsysim.jsontext import json_text
from mlsysim.study.sensitivities.moves import Bar, Finite
from mlsysim.study.sensitivities.row import UNCHANGED, Row, number, shown
from mlsysim.study.sensitivities.second import SecondOrder
from mlsysim.symbolic import Variable
from mlsysim.tracebacks import at_the_call

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Most characters of a cell that lists labels.
ROOM = 44
#: Rows of each table that are printed.
ROWS = 10


@dataclass(eq=False, repr=False)
class Sensitivity:
    """Sensitivity of one output at one point; prints the strongest inputs as tables, :meth:`text` all of them.

    Attributes
    ----------
    output : Variable
        The output.
    value : str
        Value of the output at the point.
    amount : float
        The value as a number, in the unit of the output.
    rows : tuple of Row
        One row per input: ranked ones first, then those without an elasticity by the effect of their steps.
    second : SecondOrder or None
        Second derivatives and cross-elasticities, if asked for.
    remark : str
        Caveat on the numbers; empty without one.
    finite : tuple of Finite
        Changes of one input that make an infinite output finite.
    """

    output: Variable
    value: str
    amount: float
    rows: tuple[Row, ...]
    second: SecondOrder | None
    remark: str
    finite: tuple[Finite, ...]
    _bars: Callable[[float], tuple[Bar, ...]]

    @at_the_call
    def __getitem__(self, name: str) -> Row:
        """Return the row of an input."""
        for row in self.rows:
            if row.name == name:
                return row
        raise UnknownNameError("input", name, [row.name for row in self.rows])

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @at_the_call
    def tornado(self, change: float = 0.1) -> tuple[Bar, ...]:
        """Compute the output with one input changed at a time, the widest bar first.

        Parameters
        ----------
        change : float
            Share by which continuous inputs are lowered and raised, within their domain. Whole numbers take their next
            allowed values, and labels all others.

        Returns
        -------
        tuple of Bar
            Bars of the inputs that change the output.

        Raises
        ------
        InputError
            If the share is not between 0 and 1.
        """
        return self._bars(change)

    def plot(self, change: float = 0.1, most: int = 12, *, ax: Axes | None = None) -> Axes:
        """Draw the bars of :meth:`tornado`.

        Parameters
        ----------
        change : float
            As for :meth:`tornado`.
        most : int
            Most bars, for the widest.
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes
        """
        return drawn("tornado", self, change, most, ax=ax)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Headers and cells of the inputs with an elasticity or a gradient, as text."""
        headers = ["Input", "At", "Elasticity", "Gradient"]
        return headers, [_slope_cells(row) for row in self.rows if row.strength or number(row.gradient)]

    def steps(self) -> tuple[list[str], list[list[str]]]:
        """Headers and cells of the next values of whole numbers, with the change of the output from here."""
        rows = [row for row in self._stepping() if row.kind in ("step", "relaxed")]
        return ["Next value of", "Below", "Change", "Above", "Change"], [_step_cells(row) for row in rows]

    def jumps(self) -> tuple[list[str], list[list[str]]]:
        """Headers and cells of the next jumps by continuous inputs, with the change of the output across them."""
        rows = [row for row in self._stepping() if row.kind == "continuous"]
        return ["Next jump by", "Below", "Jump", "Above", "Jump", "What jumps"], [_jump_cells(row) for row in rows]

    def _stepping(self) -> list[Row]:
        stepping = [row for row in self.rows if row.effect > UNCHANGED and (row.up or row.down)]
        return sorted(stepping, key=lambda row: -row.effect)

    def labels(self) -> tuple[list[str], list[list[str]]]:
        """Headers and cells of the changes caused by other labels."""
        rows = sorted((row for row in self.rows if row.kind == "label" and row.matters), key=lambda row: -row.effect)
        return ["Label", "At", "Change of the output for others"], [[r.name, r.value, _listed(r)] for r in rows]

    def made_finite(self) -> tuple[list[str], list[list[str]]]:
        """Headers and cells of the changes of one input that make an infinite output finite."""
        rows = [[change.name, change.before, change.at, shown(change.output, signed=False)] for change in self.finite]
        return ["Finite by", "At", "At the nearest tried", "Output there"], rows

    def unmoved(self) -> tuple[str, ...]:
        """Inputs to which the output does not respond; for an infinite output, those that leave it infinite."""
        if math.isinf(self.amount):
            moving = {change.name for change in self.finite}
            return tuple(row.name for row in self.rows if row.name not in moving)
        return tuple(row.name for row in self.rows if not row.matters)

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return plain data by input name."""
        return {row.name: row.to_dict() for row in self.rows}

    def to_json(self, indent: int | None = 2) -> str:
        """Return the output with :meth:`to_dict` and second derivatives as JSON.

        Parameters
        ----------
        indent : int, optional
            Blanks per level; one line if None.

        Returns
        -------
        str
        """
        data: dict[str, Any] = {"output": self.output.name, "at": self.value}
        data |= {"remark": self.remark} if self.remark else {}
        data["inputs"] = self.to_dict()
        if math.isinf(self.amount):
            data["finite"] = {change.name: [] for change in self.finite}
            for change in self.finite:
                data["finite"][change.name].append(change.to_dict())
        data |= {} if self.second is None else {"second": self.second.to_dict()}
        return json_text(data, indent)

    @property
    def title(self) -> str:
        """Title of the answer, with the value of the output."""
        return f"Sensitivity of {self.output.name} = {self.value}"

    def _unmoved(self) -> str:
        prefix = "Infinite at all values that were tried of" if math.isinf(self.amount) else "No effect here:"
        return f"{prefix} {', '.join(self.unmoved())}" if self.unmoved() else ""

    def _parts(self) -> list[tuple[list[str], list[list[str]]]]:
        tables = (self.made_finite(),) if math.isinf(self.amount) else (self.steps(), self.jumps(), self.labels())
        return [table for table in (self.table(), *tables) if table[1]]

    @at_the_call
    def text(self, most: int | None = ROWS) -> str:
        """The tables as text, strongest inputs first.

        Parameters
        ----------
        most : int, optional
            Rows of each table; all of them, and the inputs without effect by name, if None.

        Returns
        -------
        str

        Raises
        ------
        InputError
            If the number of rows is no whole number above 0.
        """
        if most is not None and (not isinstance(most, int) or isinstance(most, bool) or most < 1):
            raise InputError("most", most, "must be a whole number >= 1, or None for all")
        parts = [show.fitted(headers, rows[:most]) for headers, rows in self._parts()]
        head = "\n".join(line for text in (self.title, self.remark) for line in textwrap.wrap(text, show.width()))
        tail = textwrap.wrap(self._tail(most), show.width(), subsequent_indent="  ", break_on_hyphens=False)
        more = [] if self.second is None else [repr(self.second)]
        first = "\n".join([head, *parts[:1]])
        return "\n\n".join(part for part in (first, *parts[1:], *more, "\n".join(tail)) if part)

    def _tail(self, most: int | None) -> str:
        """Sentence on the inputs that do not move the output, with the number of rows left out."""
        left = sum(max(0, len(rows) - most) for _, rows in self._parts()) if most is not None else 0
        if not left:
            return self._unmoved()
        return f"{left} more rows, and {len(self.unmoved())} inputs that leave it unchanged: text(most=None) has all."

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        tables = [show.html_table(headers, rows[:ROWS]) for headers, rows in self._parts()]
        caption = html.escape(f"{self.title} {self.remark}".strip())
        more = [] if self.second is None else [self.second._repr_html_()]
        return f"<p>{caption}</p>{''.join(tables)}{''.join(more)}<p>{html.escape(self._tail(ROWS))}</p>"


def _slope_cells(row: Row) -> list[str]:
    value, mark = (row.elasticity, "") if row.elasticity is not None else (row.arc_elasticity, " to next")
    elasticity = "-" if value is None else f"{value + 0.0:+.3f}{mark}"
    return [row.name, row.value, elasticity, shown(row.gradient, signed=False)]


def _step_cells(row: Row) -> list[str]:
    cells = [row.name]
    for step in (row.down, row.up):
        cells += ["-", "-"] if step is None else [shown(step.at, signed=False), shown(step.brought)]
    return cells


def _jump_cells(row: Row) -> list[str]:
    jumps = tuple(dict.fromkeys(name for step in (row.down, row.up) if step for name in step.variables))
    return [*_step_cells(row), f"{jumps[0]} +{len(jumps) - 1}" if len(jumps) > 1 else "".join(jumps)]


def _listed(row: Row) -> str:
    """List labels with their changes, the largest first, as far as there is room."""
    changes = [f"{label} {shown(change)}" for label, change in row.labels.items() if change is not None]
    text = ", ".join(changes)
    while len(text) > ROOM and len(changes) > 1:
        changes.pop()
        text = ", ".join([*changes, "..."])
    return text
