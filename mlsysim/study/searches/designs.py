"""Designs: the best points of a grid, with the certificate that none is better."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim import show
from mlsysim.errors import InfeasibleError
from mlsysim.figures import drawn
from mlsysim.inputs.expressions import Expression
from mlsysim.jsontext import JsonAnswer
from mlsysim.study.results.result import Result
from mlsysim.study.searches.certificate import Certificate, bracket
from mlsysim.study.searches.columns import (
    Column,
    columns,
    entry_names,
    number,
    render,
    swept_entries,
    swept_inputs,
    value_of,
)
from mlsysim.study.searches.constraints import FEASIBLE, Comparison
from mlsysim.study.searches.edges import Edge, edges
from mlsysim.study.searches.misses import BestPoint, Miss, misses, sides, where
from mlsysim.study.searches.problem import Problem
from mlsysim.study.searches.refused import infeasible
from mlsysim.study.solve import solve
from mlsysim.symbolic import variable_of
from mlsysim.tracebacks import at_the_call

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes


#: Most designs that are named, and whose notes are merged.
NAMED = 8


@dataclass(frozen=True)
class Goal:
    """An objective of a search.

    Attributes
    ----------
    expression : Expression
        Expression of outputs and inputs.
    higher : bool
        True if it is maximised.
    """

    expression: Expression
    higher: bool

    @property
    def text(self) -> str:
        """The objective as typed."""
        return self.expression.text

    @property
    def unit(self) -> str:
        """Unit; empty for a plain number."""
        return "" if self.expression.unit == "count" else self.expression.unit

    def shown(self, canonical: float) -> float:
        """Convert a canonical value to the unit of the objective."""
        return float(number(self.expression, canonical))


class Designs(JsonAnswer):
    """Designs, best first; prints as a table.

    Attributes
    ----------
    certificate : Certificate
        Proof that no design is better.
    places : ndarray
        Index along every axis (columns) of each design (rows).

    Examples
    --------
    >>> from mlsysim import TrainingMemoryModel
    >>> layouts = dict(batch_size=64, dp_size=[8, 16, 32], zero_stage=[1, 2, 3])
    >>> run = dict(model="Llama3_8B", hardware="H100", seq_len=2048)
    >>> found = TrainingMemoryModel("first_order").search(**run, **layouts, minimize="total_memory", top=2)
    >>> found.settings(1)
    {'dp_size': 16, 'zero_stage': 3}
    """

    def __init__(self, problem: Problem, places: np.ndarray, certificate: Certificate, best_point: BestPoint) -> None:
        self._problem = problem
        self.places = places
        self.certificate = certificate
        self._best_point = best_point

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, index: int) -> Result:
        """Return a design as the result of a model."""
        return self._results[index]

    def settings(self, index: int) -> dict[str, Any]:
        """Return the swept arguments of a design: names and labels as text, numbers in the unit of their variable.

        Parameters
        ----------
        index : int
            Position among the designs, the best at 0.

        Returns
        -------
        dict
        """
        return where(self._problem, self.places[index])

    def indices(self, arguments: Iterable[str]) -> np.ndarray:
        """Return the index of each design (rows) along the axes of some arguments (columns); others are skipped.

        Parameters
        ----------
        arguments : iterable of str
            Names of axes.

        Returns
        -------
        ndarray
            Of shape (designs, axes among the arguments).
        """
        axes = list(self._problem.binding.axes)
        return self.places[:, [axes.index(name) for name in arguments if name in axes]]

    def solve(self, index: int) -> Result:
        """Solve the model for a single design.

        Parameters
        ----------
        index : int
            Position among the designs, the best at 0.

        Returns
        -------
        Result
        """
        return solve(self._problem.model, **self._problem.at(self.places[index]))

    def __iter__(self) -> Iterator[Result]:
        return iter(self._results)

    @property
    @at_the_call
    def best(self) -> Result:
        """The best design.

        Raises
        ------
        InfeasibleError
            If there is no design. The error names the constraint that cannot be met and the nearest miss.
        """
        if not len(self):
            refused = [] if self.certificate.accepted[1] else [self.certificate.refusals]
            raise InfeasibleError(" ".join(filter(None, [*self._no_design(), self.left_out, *refused])))
        return self._results[0]

    @cached_property
    def misses(self) -> tuple[Miss, ...]:
        """Constraints that no accepted point meets, and how nearly they can be met; empty if there are designs.

        If each can be met alone, this is the first that cannot be met together with those before it. The first access
        runs a search for every constraint.
        """
        searched = self.certificate.proven and self.certificate.accepted[1]
        return misses(self._problem, self._best_point) if searched and not len(self) else ()

    @cached_property
    def infeasible(self) -> tuple[int, ...]:
        """Indices of the designs whose output ``feasible`` is False, if the model has it.

        Such designs occur only if infeasible ones are allowed or asked for.
        """
        has_it = FEASIBLE in self._problem.binding.system
        return tuple(index for index, result in enumerate(self) if has_it and result[FEASIBLE] is False)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Notes of the first designs, each with the numbers of the designs it belongs to."""
        numbers: dict[str, list[int]] = {}
        for ordinal, result in enumerate(self._results[:NAMED], start=1):
            for note in result.notes:
                numbers.setdefault(note, []).append(ordinal)
        for_all = {note: len(of_note) == len(self) for note, of_note in numbers.items()}
        names = {
            note: f"design{'s' * (len(of_note) > 1)} {', '.join(map(str, of_note))}"
            for note, of_note in numbers.items()
        }
        return tuple(note if for_all[note] else f"{note} ({names[note]})" for note in numbers)

    @cached_property
    def left_out(self) -> str:
        """Note that infeasible designs were left out, and how many; empty if they were not."""
        if not self._problem.leaves_out:
            return ""
        certificate, counted = self.certificate, infeasible(self._problem)
        sign = "(allow_infeasible=True keeps them)"
        if counted is not None:
            return f"Infeasible designs left out: {bracket(counted)} {sign}."
        if len(self._problem.constraints) == 1 and certificate.evaluated == certificate.points:
            counts = zip(certificate.accepted, certificate.feasible[::-1], strict=True)
            dropped = bracket(tuple(accepted - feasible for accepted, feasible in counts))  # type: ignore[arg-type]
            return f"Designs left out as infeasible, or without a finite objective: {dropped} {sign}."
        return f"Infeasible designs are left out {sign}."

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """Arguments at the end of their axis in the best design, if a value beyond may be better."""
        single = len(self) and len(self._problem.objectives) == 1
        return edges(self._problem, self.places[0].tolist()) if single else ()

    @cached_property
    def _results(self) -> list[Result]:
        return [self.solve(index) for index in range(len(self))]

    @cached_property
    def objectives(self) -> tuple[tuple[float, ...], ...]:
        """Value of every objective per design, in canonical units."""
        return tuple(
            tuple(value_of(expression, result) for expression, _ in self._problem.objectives) for result in self
        )

    @property
    def objectives_by_text(self) -> list[dict[str, Any]]:
        """Objectives per design, by their text, in their units."""
        return [
            {
                goal.text: {"value": number(goal.expression, value), "unit": goal.unit}
                for goal, value in zip(self.goals, values, strict=True)
            }
            for values in self.objectives
        ]

    @property
    def binding_constraints(self) -> tuple[tuple[str, float], ...]:
        """Fraction of each limit that the best design uses: the smaller side of the comparison over the larger."""
        shares = []
        for comparison in self._comparisons:
            smaller, larger = sorted(
                abs(value_of(side, self._results[0])) for side in (comparison.left, comparison.right)
            )
            shares.append((comparison.text, smaller / larger if larger else 1.0))
        return tuple(shares)

    def to_dataset(self) -> xarray.Dataset:
        """Return every output and swept input of each design, along the dimension ``design``."""
        import xarray

        from mlsysim.study.grids.dataset import attributes, displayed

        problem = self._problem
        names = list(dict.fromkeys([*swept_inputs(problem), *(v.name for v in problem.binding.system.variables)]))
        data: dict[str, Any] = {}
        for name in names:
            variable = variable_of(name)
            values = np.array([result.canonical(name) for result in self])
            data[name] = ("design", displayed(variable, values), attributes(variable))
        for slot in swept_entries(problem):
            data[slot] = ("design", list(entry_names(problem, self.places, slot)))
        coords = {"design": ("design", np.arange(1, len(self) + 1), {"long_name": "Design, best first"})}
        return xarray.Dataset(data, coords=coords, attrs=self._attrs())

    def plot(self, most: int = 12, *, ax: Axes | None = None) -> Axes:
        """Draw a bar per design, the best on top, or the front of two objectives.

        Parameters
        ----------
        most : int
            Most bars, for the best designs.
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes
        """
        return drawn("designs", self, most, ax=ax)

    @property
    def goals(self) -> tuple[Goal, ...]:
        """The objectives as typed."""
        return tuple(Goal(expression, sign < 0) for expression, sign in self._problem.objectives)

    @property
    def distinguishing(self) -> tuple[str, ...]:
        """Swept arguments and entries, which distinguish the designs."""
        return (*swept_entries(self._problem), *swept_inputs(self._problem))

    def to_pandas(self) -> Any:
        """Return :meth:`to_dataset` as a data frame."""
        return self.to_dataset().to_dataframe()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: objectives and result of each design, edges, misses and the certificate.

        If designs are infeasible, ``infeasible`` has their numbers; ``left_out`` says how many others there are.
        """
        numbers = [index + 1 for index in self.infeasible]
        return {
            "designs": [
                {"objectives": w, **result._plain()} for w, result in zip(self.objectives_by_text, self, strict=True)
            ],
            **({"infeasible": {"designs": numbers, "said": self._infeasible_line()}} if numbers else {}),
            **({"notes": list(self.notes)} if self.notes else {}),
            **({"left_out": self.left_out} if self.left_out else {}),
            "edges": [edge.to_dict() for edge in self.edges],
            "misses": [miss.to_dict() for miss in self.misses],
            "certificate": asdict(self.certificate),
        }

    def text(self, width: int | None = None) -> str:
        """Render the table, the use of each limit, and the certificate.

        Parameters
        ----------
        width : int, optional
            Width of the table; by default that of the terminal. A table that is too wide even with broken headers drops
            the headline outputs, and is then transposed.
        """
        width = show.width() if width is None else width
        if not len(self):
            return "\n".join(_wrapped(line, width) for line in (*self._no_design(), *self._footer()))
        same, table = self._table()
        lines = [*[f"Same for all: {same}"] * bool(same), *self._notes(), *self._footer()]
        return "\n".join([render(table, width), *(_wrapped(line, width) for line in lines)])

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        if not len(self):
            return f"<p>{html.escape(self.text()).replace(chr(10), '<br>')}</p>"
        same, table = self._table()
        texts = show.cells(list(zip(*(column.cells for column in table), strict=True)))
        rows = [[str(number), *row] for number, row in enumerate(texts, start=1)]
        lines = [*[f"Same for all: {same}"] * bool(same), *self._notes(), *self._footer()]
        return show.html_table(["", *(column.header for column in table)], rows, "\n".join(lines))

    def _footer(self) -> list[str]:
        """Lines on infeasible designs left out, the certificate and refusals."""
        return [*filter(None, [self.left_out]), self.certificate.summary, self.certificate.refusals]

    def _attrs(self) -> dict[str, Any]:
        model = self._problem.model
        notes = {"notes": "\n".join(self.notes)} if self.notes else {}
        certificate = " ".join(self._footer())
        return {"model": type(model).__name__, "variant": model.variant, "certificate": certificate, **notes}

    @property
    def _comparisons(self) -> list[Comparison]:
        """Comparisons in the constraints that can have slack; none if there is no design."""
        constraints = self._problem.constraints if len(self) else ()
        comparisons = [comparison for constraint in constraints for comparison in self._problem.comparisons(constraint)]
        return [comparison for comparison in comparisons if not comparison.equal]

    def _table(self) -> tuple[str, list[Column]]:
        """Split the columns: those equal for all designs, as text, and those that tell the designs apart."""
        table = columns(self._problem, self.places, self._results)
        constant = [
            column for column in table if column.kind in ("choice", "limit") and len(self) > 1 and column.is_constant
        ]
        same = ", ".join(f"{column.header} = {column.texts[0]}" for column in constant)
        return same, [column for column in table if column not in constant]

    def _notes(self) -> list[str]:
        """Lines on infeasible designs, the use of each limit, ends of axes, and notes."""
        lines = [self._infeasible_line()] if self.infeasible else []
        for comparison, (text, share) in zip(self._comparisons, self.binding_constraints, strict=True):
            left, right = sides(comparison, self._results[0])
            if comparison.at_most:
                used = f"{100 * share:.4g}% used"
            else:
                used = f"{1 / share:.4g} times what is asked" if share else ""
            lines.append(f"{text}: {left.text} against {right.text}" + f", {used}" * bool(used))
        if self.edges:
            named = ", ".join(map(str, self.edges))
            lines.append(f"At the end of what was asked: {named}; values beyond may be better.")
        return [*lines, *(f"Note: {note.removesuffix('.')}." for note in self.notes)]

    def _infeasible_line(self) -> str:
        """Name the infeasible designs, and by how much the first of them misses its limits."""
        problem, numbers = self._problem, [index + 1 for index in self.infeasible]
        named = ", ".join(map(str, numbers[:NAMED])) + f" and {len(numbers) - NAMED} more" * (len(numbers) > NAMED)
        if len(self) == 1:
            subject = "The best design is not feasible"
        elif len(numbers) == len(self):
            subject = f"None of the {len(self)} designs is feasible"
        else:
            subject = f"Not feasible: {len(numbers)} of {len(self)} designs ({named})"
        first = self._results[self.infeasible[0]]
        violations = [
            "{}, {} against {}".format(comparison.text, *(side.text for side in sides(comparison, first)))
            for comparison in problem.comparisons(problem.condition(FEASIBLE))
            if value_of(comparison.excess, first) > 0
        ]
        at = "" if len(self) == 1 else f" at design {numbers[0]}"
        reason = f": {'; '.join(violations)}{at}" if violations else ""
        return f"{subject}{reason}."

    def _no_design(self) -> list[str]:
        """Explain why there is no design."""
        if not self.certificate.proven:
            return ["No design was found in the time there was."]
        if not self.certificate.accepted[1]:
            return ["No design: every point is refused."]
        if self.misses:
            alone = self._problem.leaves_out and len(self._problem.constraints) == 1
            verdict = "No design is feasible." if alone else "No design meets the constraints."
            return [verdict, *(f"{miss}." for miss in self.misses)]
        texts = " and ".join(expression.text for expression, _ in self._problem.objectives)
        if not self._problem.constraints:
            return [f"No design: {texts} is infinite or undefined at every accepted point."]
        return [f"No design meets the constraints: where they hold, {texts} is infinite or undefined."]


def _wrapped(text: str, width: int) -> str:
    return "\n".join(textwrap.wrap(text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False))
