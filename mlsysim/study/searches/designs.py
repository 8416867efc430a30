"""The best designs found in a grid, with the certificate that there is no better one."""

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
from mlsysim.study.searches.misses import Answer, Miss, misses, sides, where
from mlsysim.study.searches.problem import Problem
from mlsysim.study.searches.refused import infeasible
from mlsysim.study.solve import solve
from mlsysim.symbolic import variable_of
from mlsysim.tracebacks import at_the_call

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes


#: Most designs that are named, and whose notes are put together.
NAMED = 8


@dataclass(frozen=True)
class Goal:
    """An objective.

    Attributes
    ----------
    expression : Expression
        Of outputs and inputs.
    higher : bool
        Whether more is better.
    """

    expression: Expression
    higher: bool

    @property
    def text(self) -> str:
        """As it was asked."""
        return self.expression.text

    @property
    def unit(self) -> str:
        """Its unit; empty for a number."""
        return "" if self.expression.unit == "count" else self.expression.unit

    def shown(self, canonical: float) -> float:
        """A value in its unit."""
        return float(number(self.expression, canonical))


class Designs(JsonAnswer):
    """Designs in order, best first; prints as a table.

    Attributes
    ----------
    certificate : Certificate
        Why there is no better one.
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

    def __init__(self, asked: Problem, places: np.ndarray, certificate: Certificate, answer: Answer) -> None:
        self._asked = asked
        self.places = places
        self.certificate = certificate
        self._answer = answer

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, place: int) -> Result:
        """A design as the result of a model."""
        return self._results[place]

    def settings(self, place: int) -> dict[str, Any]:
        """Swept arguments of a design: names and labels as text, numbers in the unit of their variable.

        Parameters
        ----------
        place : int
            Position among the designs, the best at 0.

        Returns
        -------
        dict
        """
        return where(self._asked, self.places[place])

    def indices(self, arguments: Iterable[str]) -> np.ndarray:
        """Index along the axes of some arguments (columns) of each design (rows); of those that are axes.

        Parameters
        ----------
        arguments : iterable of str
            Names of axes.

        Returns
        -------
        ndarray
            Of shape (designs, axes among the arguments).
        """
        axes = list(self._asked.binding.axes)
        return self.places[:, [axes.index(name) for name in arguments if name in axes]]

    def solve(self, place: int) -> Result:
        """A design as the result of a model, the only one that is solved.

        Parameters
        ----------
        place : int
            Position among the designs, the best at 0.

        Returns
        -------
        Result
        """
        return solve(self._asked.model, **self._asked.at(self.places[place]))

    def __iter__(self) -> Iterator[Result]:
        return iter(self._results)

    @property
    @at_the_call
    def best(self) -> Result:
        """The best design.

        Raises
        ------
        InfeasibleError
            If there is none: it names the constraint that is out of reach, and the nearest miss.
        """
        if not len(self):
            refused = [] if self.certificate.accepted[1] else [self.certificate.refusals]
            raise InfeasibleError(" ".join(filter(None, [*self._none(), self.left_out, *refused])))
        return self._results[0]

    @cached_property
    def misses(self) -> tuple[Miss, ...]:
        """The constraints no accepted point meets, and how near they can be met; empty where there are designs.

        Where each can be met alone, the first that cannot be met together with those before it. It takes
        a search of its own for every constraint, when it is first asked for.
        """
        searched = self.certificate.proven and self.certificate.accepted[1]
        return misses(self._asked, self._answer) if searched and not len(self) else ()

    @cached_property
    def infeasible(self) -> tuple[int, ...]:
        """Places, from 0, of the designs whose output ``feasible`` is False, where the model has it.

        They are designs where infeasible ones are allowed, or asked for.
        """
        has_it = FEASIBLE in self._asked.binding.system
        return tuple(place for place, result in enumerate(self) if has_it and result[FEASIBLE] is False)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """The notes of the first designs, with the numbers of those that each is of."""
        places: dict[str, list[int]] = {}
        for place, result in enumerate(self._results[:NAMED], start=1):
            for note in result.notes:
                places.setdefault(note, []).append(place)
        whole = {note: len(numbers) == len(self) for note, numbers in places.items()}
        which = {note: f"design{'s' * (len(n) > 1)} {', '.join(map(str, n))}" for note, n in places.items()}
        return tuple(note if whole[note] else f"{note} ({which[note]})" for note in places)

    @cached_property
    def left_out(self) -> str:
        """That infeasible designs were left out, and how many; empty where nothing asked for that."""
        if not self._asked.leaves_out:
            return ""
        certificate, counted = self.certificate, infeasible(self._asked)
        sign = "(allow_infeasible=True keeps them)"
        if counted is not None:
            return f"Infeasible designs left out: {bracket(counted)} {sign}."
        if len(self._asked.constraints) == 1 and certificate.evaluated == certificate.points:
            pairs = zip(certificate.accepted, certificate.feasible[::-1], strict=True)
            lost = bracket(tuple(accepted - feasible for accepted, feasible in pairs))  # type: ignore[arg-type]
            return f"Designs left out as infeasible, or without a finite objective: {lost} {sign}."
        return f"Infeasible designs are left out {sign}."

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """Arguments whose smallest or largest value the best design has, where a value beyond may be better."""
        alone = len(self) and len(self._asked.objectives) == 1
        return edges(self._asked, self.places[0].tolist()) if alone else ()

    @cached_property
    def _results(self) -> list[Result]:
        return [self.solve(place) for place in range(len(self))]

    @cached_property
    def objectives(self) -> tuple[tuple[float, ...], ...]:
        """Value of every objective, in canonical units, per design."""
        return tuple(tuple(value_of(expression, result) for expression, _ in self._asked.objectives) for result in self)

    @property
    def worth(self) -> list[dict[str, Any]]:
        """Per design its objectives, by the text of each, in their units."""
        return [
            {
                goal.text: {"value": number(goal.expression, value), "unit": goal.unit}
                for goal, value in zip(self.goals, values, strict=True)
            }
            for values in self.objectives
        ]

    @property
    def binding_constraints(self) -> tuple[tuple[str, float], ...]:
        """Share of each limit that the best design uses: the smaller side of the comparison over the larger one."""
        found = []
        for compared in self._compared:
            less, more = sorted(abs(value_of(side, self._results[0])) for side in (compared.left, compared.right))
            found.append((compared.text, less / more if more else 1.0))
        return tuple(found)

    def to_dataset(self) -> xarray.Dataset:
        """Every output and swept input of each design, along ``design``."""
        import xarray

        from mlsysim.study.grids.dataset import attributes, displayed

        asked = self._asked
        names = list(dict.fromkeys([*swept_inputs(asked), *(v.name for v in asked.binding.system.variables)]))
        found: dict[str, Any] = {}
        for name in names:
            variable = variable_of(name)
            values = np.array([result.canonical(name) for result in self])
            found[name] = ("design", displayed(variable, values), attributes(variable))
        for slot in swept_entries(asked):
            found[slot] = ("design", list(entry_names(asked, self.places, slot)))
        coords = {"design": ("design", np.arange(1, len(self) + 1), {"long_name": "Design, best first"})}
        return xarray.Dataset(found, coords=coords, attrs=self._attrs())

    def plot(self, most: int = 12, *, ax: Axes | None = None) -> Axes:
        """Draw a bar per design, the best on top, or the front of two objectives.

        Parameters
        ----------
        most : int
            How many bars, the best.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes
        """
        return drawn("designs", self, most, ax=ax)

    @property
    def goals(self) -> tuple[Goal, ...]:
        """The objectives, as they were asked."""
        return tuple(Goal(expression, sign < 0) for expression, sign in self._asked.objectives)

    @property
    def told(self) -> tuple[str, ...]:
        """Swept arguments and entries, which tell designs apart."""
        return (*swept_entries(self._asked), *swept_inputs(self._asked))

    def to_pandas(self) -> Any:
        """:meth:`to_dataset` as a data frame."""
        return self.to_dataset().to_dataframe()

    def to_dict(self) -> dict[str, Any]:
        """Plain data: per design its objectives and what its result holds; edges, misses and the certificate.

        Where designs are not feasible, ``infeasible`` has their numbers; ``left_out`` says how many others there are.
        """
        numbers = [place + 1 for place in self.infeasible]
        return {
            "designs": [{"objectives": w, **result._plain()} for w, result in zip(self.worth, self, strict=True)],
            **({"infeasible": {"designs": numbers, "said": self._said_of_infeasible()}} if numbers else {}),
            **({"notes": list(self.notes)} if self.notes else {}),
            **({"left_out": self.left_out} if self.left_out else {}),
            "edges": [edge.to_dict() for edge in self.edges],
            "misses": [miss.to_dict() for miss in self.misses],
            "certificate": asdict(self.certificate),
        }

    def text(self, width: int | None = None) -> str:
        """The table, what is near its limit, and the certificate.

        Parameters
        ----------
        width : int, optional
            A table that is wider even with broken headers leaves out headline outputs, and is then turned. The width of
            the terminal where left out.
        """
        width = show.width() if width is None else width
        if not len(self):
            return "\n".join(_wrapped(line, width) for line in (*self._none(), *self._why()))
        same, table = self._table()
        said = [*[f"Same for all: {same}"] * bool(same), *self._notes(), *self._why()]
        return "\n".join([render(table, width), *(_wrapped(line, width) for line in said)])

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        if not len(self):
            return f"<p>{html.escape(self.text()).replace(chr(10), '<br>')}</p>"
        same, table = self._table()
        texts = show.cells(list(zip(*(column.cells for column in table), strict=True)))
        rows = [[str(place), *row] for place, row in enumerate(texts, start=1)]
        said = [*[f"Same for all: {same}"] * bool(same), *self._notes(), *self._why()]
        return show.html_table(["", *(column.header for column in table)], rows, "\n".join(said))

    def _why(self) -> list[str]:
        """Lines on what was left out, the certificate and what was refused."""
        return [*filter(None, [self.left_out]), self.certificate.summary, self.certificate.refusals]

    def _attrs(self) -> dict[str, Any]:
        model = self._asked.model
        notes = {"notes": "\n".join(self.notes)} if self.notes else {}
        said = " ".join(self._why())
        return {"model": type(model).__name__, "variant": model.variant, "certificate": said, **notes}

    @property
    def _compared(self) -> list[Comparison]:
        """The comparisons of the constraints that can leave room; none if there is no design."""
        constraints = self._asked.constraints if len(self) else ()
        found = [compared for constraint in constraints for compared in self._asked.comparisons(constraint)]
        return [compared for compared in found if not compared.equal]

    def _table(self) -> tuple[str, list[Column]]:
        """Text of what all designs have in common; and the columns that tell them apart."""
        found = columns(self._asked, self.places, self._results)
        alike = [
            column for column in found if column.kind in ("choice", "limit") and len(self) > 1 and column.is_constant
        ]
        same = ", ".join(f"{column.header} = {column.texts[0]}" for column in alike)
        return same, [column for column in found if column not in alike]

    def _notes(self) -> list[str]:
        """Lines on what is not feasible, how near each constraint is to its limit, ends of axes, and notes."""
        said = [self._said_of_infeasible()] if self.infeasible else []
        for compared, (text, share) in zip(self._compared, self.binding_constraints, strict=True):
            left, right = sides(compared, self._results[0])
            if compared.at_most:
                used = f"{100 * share:.4g}% used"
            else:
                used = f"{1 / share:.4g} times what is asked" if share else ""
            said.append(f"{text}: {left.text} against {right.text}" + f", {used}" * bool(used))
        if self.edges:
            named = ", ".join(map(str, self.edges))
            said.append(f"At the end of what was asked: {named}; values beyond may be better.")
        return [*said, *(f"Note: {note.removesuffix('.')}." for note in self.notes)]

    def _said_of_infeasible(self) -> str:
        """Name the designs that are not feasible, and by how much the first of them is not."""
        asked, numbers = self._asked, [place + 1 for place in self.infeasible]
        named = ", ".join(map(str, numbers[:NAMED])) + f" and {len(numbers) - NAMED} more" * (len(numbers) > NAMED)
        if len(self) == 1:
            which = "The best design is not feasible"
        elif len(numbers) == len(self):
            which = f"None of the {len(self)} designs is feasible"
        else:
            which = f"Not feasible: {len(numbers)} of {len(self)} designs ({named})"
        first = self._results[self.infeasible[0]]
        missed = [
            "{}, {} against {}".format(compared.text, *(side.text for side in sides(compared, first)))
            for compared in asked.comparisons(asked.condition(FEASIBLE))
            if value_of(compared.excess, first) > 0
        ]
        at = "" if len(self) == 1 else f" at design {numbers[0]}"
        why = f": {'; '.join(missed)}{at}" if missed else ""
        return f"{which}{why}."

    def _none(self) -> list[str]:
        """Why there is no design."""
        if not self.certificate.proven:
            return ["No design was found in the time there was."]
        if not self.certificate.accepted[1]:
            return ["No design: every point is refused."]
        if self.misses:
            alone = self._asked.leaves_out and len(self._asked.constraints) == 1
            said = "No design is feasible." if alone else "No design meets the constraints."
            return [said, *(f"{miss}." for miss in self.misses)]
        texts = " and ".join(expression.text for expression, _ in self._asked.objectives)
        if not self._asked.constraints:
            return [f"No design: {texts} is infinite or undefined at every accepted point."]
        return [f"No design meets the constraints: where they hold, {texts} is infinite or undefined."]


def _wrapped(text: str, width: int) -> str:
    return "\n".join(textwrap.wrap(text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False))
