"""Comparison of two results: what differs, and what causes the difference of an output."""

from __future__ import annotations

import html
import math
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mlsysim import formatting, show, units
from mlsysim.errors import InputError, UnknownNameError
from mlsysim.figures import drawn
from mlsysim.inputs.binding import GIVEN
from mlsysim.jsontext import JsonAnswer
from mlsysim.study.results.decomposition import Cause, Decomposition, Side
from mlsysim.study.results.display import amounts, as_text, plain, presented
from mlsysim.study.results.result import Result
from mlsysim.symbolic import variable_of
from mlsysim.symbolic.printing.text import symbol_text
from mlsysim.tracebacks import at_the_call

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Most rows of inputs and parts, and most formulas, printed.
ROWS, FORMULAS = 12, 5
#: Most characters of an input, an entry or a term in a cell.
CELL = 44


@dataclass(frozen=True)
class Row:
    """One variable of two results, or its formulas.

    Attributes
    ----------
    name : str
        Name of the variable.
    first, second : object
        Values of the variable; for formulas their texts, empty if a result has none.
    difference : quantity or number
        Second value minus the first; None for a label or a truth value.
    ratio : float
        Second value over the first; None if undefined.
    """

    name: str
    first: Any
    second: Any
    difference: Any = None
    ratio: float | None = None


@dataclass(frozen=True)
class Term:
    """One additive part of the difference of an output.

    Attributes
    ----------
    name : str
        Cause of the part: a variable, its formula, or an addend.
    kind : str
        ``"variable"``, ``"input"``, ``"formula"``, ``"only first"`` or ``"only second"`` for an addend that only one
        formula has, ``"together"`` for causes that cannot be separated.
    difference : quantity or number
        Size of the part.
    share : float
        Share of the total difference.
    first, second : object
        Values of the variable; None if a result has none.
    """

    name: str
    kind: str
    difference: Any
    share: float
    first: Any = None
    second: Any = None


class Comparison(JsonAnswer):
    """Two results side by side; prints as tables.

    Attributes
    ----------
    results : tuple of Result
        The two results.
    output : str
        Output whose difference is decomposed.
    """

    def __init__(self, first: Result, second: Result, output: str) -> None:
        self.results = first, second
        self.output = output
        sides = [Side(result._binding.system, result._values) for result in self.results]
        self._parts = Decomposition(sides[0], sides[1], output)

    @cached_property
    def outputs(self) -> tuple[Row, ...]:
        """Outputs of both results, headline outputs of the first one first."""
        second = set(self.results[1])
        return tuple(self._row(name) for name in self.results[0] if name in second)

    @cached_property
    def inputs(self) -> tuple[Row, ...]:
        """Inputs and catalog entries that differ, or that only one result has."""
        bindings = [result._binding for result in self.results]
        entries = [result.entries for result in self.results]
        names = [name for name in {**entries[0], **entries[1]} if entries[0].get(name) != entries[1].get(name)]
        entry_names = [
            [side_entries[name].name if name in side_entries else None for side_entries in entries] for name in names
        ]
        rows = [Row(name, first, second) for name, (first, second) in zip(names, entry_names, strict=True)]
        for name in {**bindings[0].values, **bindings[1].values}:
            values = [result._values.get(name) if name in result._binding.values else None for result in self.results]
            if values[0] != values[1]:
                rows.append(self._row(name))
        return tuple(rows)

    @cached_property
    def formulas(self) -> tuple[Row, ...]:
        """Formulas that differ, or that only one result has; those that cause the difference first."""
        systems = [result._binding.system for result in self.results]
        rows = []
        for name in dict.fromkeys(formula.name for system in systems for formula in system):
            both = [system[name] for system in systems if name in system]
            if len(both) < 2 or both[0].expression != both[1].expression:
                first, second = (system[name].text() if name in system else "" for system in systems)
                rows.append(Row(name, first, second))
        causing = [cause.name.removeprefix("formula of ") for cause in self.causes]
        needed = {name: position for position, name in enumerate((*causing, *self._parts.order))}
        return tuple(sorted(rows, key=lambda row: needed.get(row.name, len(needed))))

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """Parts of the difference of the output, one formula down, largest first. They add up to it."""
        return self._terms(self._parts.parts())

    @cached_property
    def causes(self) -> tuple[Term, ...]:
        """Final causes of the difference: inputs, formulas and addends, largest first. They add up to it."""
        return self._terms(self._parts.causes())

    @property
    def difference(self) -> Any:
        """Difference of the output: the second result minus the first."""
        return amounts(variable_of(self.output), float(self._parts.difference))

    @at_the_call
    def of(self, output: str) -> Comparison:
        """Return the same comparison with the difference of another output decomposed.

        Parameters
        ----------
        output : str
            Name of the output whose difference is taken apart.

        Returns
        -------
        Comparison
        """
        return compare(*self.results, output)

    @at_the_call
    def __getitem__(self, name: str) -> Row:
        """Return the row of an output or input that both results have."""
        if not all(name in result for result in self.results):
            raise UnknownNameError("name that both results have", name, [row.name for row in self.outputs])
        return self._row(name)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.outputs)

    def _row(self, name: str) -> Row:
        variable = variable_of(name)
        known = [result._values.get(name) for result in self.results]
        shown = [None if value is None else presented(variable, value) for value in known]
        if None in known or variable.domain.kind in ("choice", "boolean"):
            return Row(name, shown[0], shown[1])
        before, after = map(float, known)  # type: ignore[arg-type]
        change = 0.0 if before == after else after - before
        ratio = after / before if before and math.isfinite(before) else None
        return Row(name, shown[0], shown[1], amounts(variable, change), ratio)

    def _terms(self, parts: Mapping[Cause, float]) -> tuple[Term, ...]:
        whole, variable = self._parts.difference, variable_of(self.output)
        terms = []
        for cause, amount in sorted(parts.items(), key=lambda part: -abs(part[1])):
            values = [self._at(result, cause) for result in self.results]
            share = amount / whole if whole else math.nan
            terms.append(Term(self._name(cause), self._kind(cause), amounts(variable, amount), share, *values))
        return tuple(terms)

    def _name(self, cause: Cause) -> str:
        if cause.kind == "formula":
            return f"formula of {cause.name}"
        alone = cause.kind == "term" and cause.term != symbol_text(variable_of(cause.name))
        return cause.term if alone else cause.name

    def _kind(self, cause: Cause) -> str:
        if cause.kind == "term":
            return f"only {('first', 'second')[cause.side]}"
        is_input = any(cause.name not in result._binding.system for result in self.results)
        return "input" if cause.kind == "variable" and is_input else cause.kind

    @staticmethod
    def _at(result: Result, cause: Cause) -> Any:
        return result[cause.name] if cause.kind == "variable" and cause.name in result._values else None

    def plot(self, most: int = 8, *, ax: Axes | None = None) -> Axes:
        """Draw a waterfall of the output from the first result to the second, cause by cause.

        Parameters
        ----------
        most : int
            Most causes, the largest.
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes
        """
        return drawn("waterfall", self, most, ax=ax)

    @property
    def heads(self) -> tuple[str, str]:
        """Names of the two results: models or variants if those differ, else the one argument that does."""
        first, second = self.results
        for left, right in ((type(first.model).__name__, type(second.model).__name__),
                           (first.model.variant, second.model.variant)):  # fmt: skip
            if left != right:
                return left, right
        typed = [row.name for row in self.inputs if any(row.name in result.inputs_as(GIVEN) for result in self.results)]
        entries = [name for name in first.entries if first.entries[name] != second.entries.get(name)]
        if len(entries) == 1 and entries[0] in second.entries:
            both = [result.entries[entries[0]] for result in self.results]
            keys = [_short(getattr(entry, "key", "").rpartition(".")[2] or entry.name) for entry in both]
            return (keys[0], keys[1]) if keys[0] != keys[1] else ("First", "Second")
        if len(typed) == 1 and not entries and all(typed[0] in result for result in self.results):
            return tuple(f"{typed[0]} = {self._cell(typed[0], side)}" for side in (0, 1))  # type: ignore[return-value]
        return "First", "Second"

    @property
    def _equal(self) -> list[str]:
        """Headline rows omitted because both results agree, unless all rows do."""
        same = [row.name for row in self._shown if row.first == row.second]
        return same if len(same) < len(self._shown) else []

    @property
    def _shown(self) -> list[Row]:
        """Outputs of the headline, and the one whose difference is decomposed."""
        heads = self.results[0].model.headline
        return [row for row in self.outputs if row.name in heads or row.name == self.output]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: models, outputs, inputs and formulas that differ, and the parts of the difference."""

        def pair(row: Row) -> dict[str, Any]:
            if row.name in self.results[0].entries or row.name in self.results[1].entries:
                return {"first": row.first, "second": row.second}
            values = [result._values.get(row.name) for result in self.results]
            cells = [None if value is None else plain(variable_of(row.name), value) for value in values]
            return {"first": cells[0], "second": cells[1]}

        def parts(terms: tuple[Term, ...]) -> list[dict[str, Any]]:
            shown = [float(units.magnitude(term.difference)) for term in terms]
            pairs = zip(terms, shown, strict=True)
            return [
                {"name": term.name, "kind": term.kind, "value": value, "share": term.share} for term, value in pairs
            ]

        variable = variable_of(self.output)
        return {
            "models": [
                {"model": type(result.model).__name__, "variant": result.model.variant} for result in self.results
            ],
            "outputs": {row.name: {**pair(row), "ratio": row.ratio} for row in self.outputs},
            "inputs": {row.name: pair(row) for row in self.inputs},
            "formulas": {row.name: {"first": row.first, "second": row.second} for row in self.formulas},
            "output": self.output,
            "unit": "" if variable.unit == "count" else variable.unit,
            "difference": float(units.magnitude(self.difference)),
            "terms": parts(self.terms),
            "causes": parts(self.causes),
        }

    @property
    def _title(self) -> str:
        first, second = (result.model for result in self.results)
        if type(first) is not type(second):
            return " and ".join(f"{type(side_model).__name__} ({side_model.variant})" for side_model in (first, second))
        variants = " and ".join(dict.fromkeys((first.variant, second.variant)))
        return f"{type(first).__name__}, {variants}"

    def _tables(self) -> Iterator[tuple[str, list[str], list[list[str]]]]:
        heads, equal = self.heads, self._equal
        shown = [row for row in self._shown if row.name not in equal]
        headers, rows = ["Output", *heads, "Difference", "Ratio"], self._cells(shown)
        if show.extent(show.render(headers, rows)) > show.width():
            headers, *rows = ([*cells[:3], cells[4]] for cells in (headers, *rows))
        yield "", headers, rows
        differ = tuple(row for row in self.inputs if row.first is not None and row.second is not None)
        if differ:
            rows = [[row.name, *(self._cell(row.name, side) for side in (0, 1))] for row in differ[:ROWS]]
            yield _more("Inputs that differ", differ), ["Input", *heads], rows
        for title, terms in (
            (f"Terms of the difference of {self.output}", self.terms),
            ("By inputs, formulas and addends", self.causes if self.causes != self.terms else ()),
        ):
            if terms:
                cells = [[_short(term.name), term.kind, _text(term.difference), _percent(term.share)] for term in terms]
                yield _more(title, terms), ["Part", "Kind", "Difference", "Share"], cells[:ROWS]

    @property
    def _said_equal(self) -> str:
        """Number and names of the outputs omitted because they are equal."""
        return f"{len(self._equal)} more that are equal: {', '.join(self._equal)}"

    def _cells(self, rows: list[Row]) -> list[list[str]]:
        """Cells of outputs, quantities of one dimension in one unit."""
        largest = show.largest([amount for row in rows for amount in (row.first, row.second)])
        return [
            [
                row.name,
                *(
                    show.in_unit(amount, largest) if units.is_quantity(amount) else self._cell(row.name, side)
                    for side, amount in enumerate((row.first, row.second))
                ),
                "" if row.difference is None else _signed(row.difference, show.in_unit(row.difference, largest)),
                "" if row.ratio is None else f"{row.ratio:.4g}",
            ]
            for row in rows
        ]

    def _cell(self, name: str, side: int) -> str:
        result = self.results[side]
        if any(name in each_result.entries for each_result in self.results):
            return _short(result.entries[name].name) if name in result.entries else "-"
        return as_text(variable_of(name), result._values[name]) if name in result._values else "-"

    def __repr__(self) -> str:
        lines = [self._title]
        for title, headers, rows in self._tables():
            lines += ["", *([title] if title else []), show.fitted(headers, rows)]
            if not title and self._equal:
                lines += textwrap.wrap(self._said_equal, show.width(), subsequent_indent="  ", break_long_words=False)
        for head, side in zip(self.heads, ("second", "first"), strict=True):
            alone = [row.name for row in self.inputs if getattr(row, side) is None]
            if alone:
                layout: dict[str, Any] = {"max_lines": 3, "placeholder": " ...", "subsequent_indent": "  "}
                lines += ["", *textwrap.wrap(f"Only {head} takes {', '.join(alone)}", show.width(), **layout)]
        if self.formulas:
            lines += ["", _more("Formulas that differ", self.formulas, FORMULAS)]
            for row in self.formulas[:FORMULAS]:
                lines.append(f"  {row.name}")
                for head, shown in zip(self.heads, (row.first, row.second), strict=True):
                    line = f"{head}: {shown or 'an input or unknown'}"
                    lines += textwrap.wrap(line, show.width(), initial_indent="    ", subsequent_indent="        ")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        blocks = [f"<p>{html.escape(self._title)}</p>"]
        tables = [*self._tables()]
        if self.formulas:
            cells = [[row.name, row.first, row.second] for row in self.formulas]
            tables.append(("Formulas that differ", ["Formula", *self.heads], cells))
        for title, headers, rows in tables:
            blocks.append(show.html_table(headers, rows, title))
            if not title and self._equal:
                blocks.append(f"<p>{html.escape(self._said_equal)}</p>")
        return "".join(blocks)


@at_the_call
def compare(first: Result, second: Result, output: str | None = None) -> Comparison:
    """Compare two results, and decompose the difference of an output into parts that add up to it.

    A sum is split by its addends; any other change of a formula by the Shapley values of the inputs that differ, and of
    the formula if it differs. Both splits are exact.

    Parameters
    ----------
    first, second : Result
        Results of any variants, or of one model at two points.
    output : str, optional
        Output whose difference is decomposed; by default the first number of the headline that both results have.

    Returns
    -------
    Comparison

    Raises
    ------
    InputError
        If an argument is no result, the results share no number, or the output is a label or infinite in one of them.
    UnknownNameError
        If one of the results has no output of that name.

    Examples
    --------
    >>> from mlsysim import TrainingMemoryModel, compare
    >>> one, other = (TrainingMemoryModel.solve_example(zero_stage=stage) for stage in (1, 3))
    >>> print(compare(one, other, "total_memory"))
    TrainingMemoryModel, first_order
    <BLANKLINE>
    Output                 zero_stage = 1  zero_stage = 3  Difference   Ratio
    ─────────────────────────────────────────────────────────────────────────
    weights                      16.06 GB         2.01 GB   -14.05 GB   0.125
    gradients                    16.06 GB         2.01 GB   -14.05 GB   0.125
    communication_buffers        0.803 GB        0.100 GB   -0.703 GB   0.125
    total_memory                 47.65 GB        18.84 GB   -28.81 GB  0.3955
    memory_utilization              0.557           0.220      -0.337  0.3955
    3 more that are equal: optimizer_state, activations, feasible
    <BLANKLINE>
    Inputs that differ
    Input       zero_stage = 1  zero_stage = 3
    ──────────────────────────────────────────
    zero_stage               1               3
    <BLANKLINE>
    Terms of the difference of total_memory
    Part                       Kind  Difference  Share
    ──────────────────────────────────────────────────
    gradients              variable   -14.05 GB  48.8%
    weights                variable   -14.05 GB  48.8%
    communication_buffers  variable   -0.703 GB   2.4%
    <BLANKLINE>
    By inputs, formulas and addends
    Part         Kind  Difference   Share
    ─────────────────────────────────────
    zero_stage  input   -28.81 GB  100.0%
    """
    for argument, value in (("first", first), ("second", second)):
        if not isinstance(value, Result):
            raise InputError(argument, value, "must be a result, as model.solve(...) gives it")
    shared = [name for name in first if name in set(second)]
    numbers = [name for name in shared if variable_of(name).domain.kind not in ("choice", "boolean")]
    if output is None:
        finite = [name for name in numbers if all(math.isfinite(result.canonical(name)) for result in (first, second))]
        if not finite:
            raise InputError("second", second.model, f"shares no finite number with {first.model!r}")
        heads = [name for name in finite if name in first.model.headline]
        answer = first.model.answer
        return Comparison(first, second, answer if answer in finite else (heads or finite)[0])
    if not isinstance(output, str) or output not in shared:
        raise UnknownNameError("output that both results have", output, shared)
    if output not in numbers:
        raise InputError("output", output, "must be a number; labels and truth values have no difference")
    for result in (first, second):
        if not math.isfinite(result.canonical(output)):
            raise InputError("output", output, f"is infinite by {result.model!r}, and has no difference")
    return Comparison(first, second, output)


def _text(amount: Any) -> str:
    return _signed(amount, formatting.amount(amount))


def _signed(amount: Any, text: str) -> str:
    return ("+" if units.magnitude(amount) > 0 else "") + text


def _percent(share: float) -> str:
    return "" if math.isnan(share) else f"{100 * share:.1f}%"


def _short(text: str) -> str:
    return text if len(text) <= CELL else f"{text[: CELL - 3]}..."


def _more(title: str, rows: tuple[Any, ...], shown: int = ROWS) -> str:
    return f"{title}, the first {shown} of {len(rows)}" if len(rows) > shown else title
