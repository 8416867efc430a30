"""Solutions of inverse problems: the value, its derivation, and the model's result there."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mlsysim import formatting, show, units
from mlsysim.jsontext import JsonAnswer
from mlsysim.study.results.result import Result
from mlsysim.symbolic import Variable

if TYPE_CHECKING:
    from mlsysim.study.inverse.closed_form import ClosedForm

#: Fewest and most decimals of an output printed beside the value asked for.
DECIMALS = 2, 12

#: Statuses of a solution and their meanings.
STATUSES = {
    "solved": "one value, or all values from one to another, meet the targets",
    "several": "several values meet the targets",
    "everywhere": "all values meet the targets",
    "nearest": "no whole number meets the equation, and this is one of the two beside it",
    "none": "no value meets the targets",
    "outside": "only a value outside the domain would meet the targets",
    "refused": "the model refuses the point",
}


@dataclass(frozen=True)
class Nearest:
    """A whole number next to the point at which an equation would hold.

    Attributes
    ----------
    value : pint.Quantity or int
        The whole number.
    reached : pint.Quantity or float
        The left side of the equation there.
    text, said : str
        Both as text; ``said`` has enough decimals to tell both numbers and the target apart.
    """

    value: Any
    reached: Any
    text: str
    said: str

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        unit = f"{self.reached.units:~}" if units.is_quantity(self.reached) else ""
        return {"value": units.magnitude(self.value), "reached": units.magnitude(self.reached), "unit": unit}


def nearest_of(
    unknown: Variable, unit: str, values: Iterable[float], reached: Iterable[float], asked: Iterable[float]
) -> tuple[Nearest, ...]:
    """Return the whole numbers next to the point at which an equation would hold, the answer first.

    Parameters
    ----------
    unknown : Variable
        Variable solved for.
    unit : str
        Unit of the sides of the equation.
    values : iterable of float
        The numbers.
    reached, asked : iterable of float
        Both sides of the equation there, in canonical units.
    """
    unit = "" if unit == "count" else unit
    sides = [float(units.from_canonical(float(side), unit) if unit else side) for side in (*reached, *asked)]
    enough = (d for d in range(DECIMALS[0], DECIMALS[1]) if len({f"{s:.{d}f}" for s in sides}) == len({*sides}))
    decimals = 0 if all(map(float.is_integer, sides)) else next(enough, DECIMALS[1])
    return tuple(
        Nearest(
            shown(unknown, value),
            units.Q_(side, units.unit(unit)) if unit else side,
            as_text(unknown, value),
            f"{side:,.{decimals}f} {units.printed(unit)}".strip(),
        )
        for value, side in zip(values, sides, strict=False)
    )


@dataclass(eq=False, repr=False)
class Solution(JsonAnswer):
    """The value of one input at which targets hold; false if there is none.

    Attributes
    ----------
    unknown : str
        Input solved for.
    targets : tuple of str
        Conditions that hold; ``feasible`` is one of them where the model computes it and infeasible answers are not
        allowed.
    status : str
        ``"solved"``, ``"several"``, ``"everywhere"``, ``"nearest"``, ``"none"`` or ``"outside"``.
    value : pint.Quantity, float, int or None
        The value; None if there is none.
    nearest : tuple of Nearest
        The two whole numbers next to the solution of an equation that no whole number meets, with the output at each.
        The first is the value: the one ``which`` asks for, or the one whose output is below the target. Else empty.
    values : tuple
        Every value found: solutions of an equation, and the ends of the intervals in which conditions hold.
    intervals : tuple
        The same as pairs of smallest and largest value; None for an end at which the domain is unbounded.
    which : str
        ``"largest"`` or ``"smallest"`` if the targets hold for more than one value, else empty.
    formula : sympy.Eq or None
        Closed form of the value, if there is one, in the names of inputs, targets and other outputs.
    where : tuple of str
        Cases of the formulas that hold at the value, on which the closed form rests.
    reason : str
        Why there is no value; empty if there is one.
    note : str
        Caveat on completeness: where an output rises and falls, some values that meet the targets may be missed.

    Examples
    --------
    >>> from mlsysim import KernelModel
    >>> shape = dict(product_rows=64, product_columns=8192, product_inner=8192)
    >>> found = KernelModel("roofline").solve_for("memory_bandwidth", "H100", **shape, kernel_time="<= 40 us")
    >>> bool(found), f"{found.value:.2f}"
    (True, '4733.16 GB / s')
    """

    _variable: Variable
    targets: tuple[str, ...]
    status: str
    _leaves_out: bool
    _solved_at: Callable[[float], Result]
    _at: float | None = None
    _ends: tuple[tuple[float | None, float | None], ...] = ()
    which: str = ""
    reason: str = ""
    note: str = ""
    nearest: tuple[Nearest, ...] = ()
    _last: bool = False
    _more: int = 0
    _closed_form: ClosedForm | None = None

    def __post_init__(self) -> None:
        self.unknown = self._variable.name
        self.value = self._shown(self._at)
        self.intervals = tuple((self._shown(low), self._shown(high)) for low, high in self._ends)
        self.values = tuple(map(self._shown, dict.fromkeys(e for pair in self._ends for e in pair if e is not None)))

    def _shown(self, typed: float | None) -> Any:
        return None if typed is None else shown(self._variable, typed)

    @property
    def formula(self) -> Any:
        """The value in closed form, or None."""
        return None if self._closed_form is None else self._closed_form.equation

    @property
    def where(self) -> tuple[str, ...]:
        """The cases of the formulas that the closed form rests on."""
        return () if self._closed_form is None else self._closed_form.where

    @cached_property
    def result(self) -> Result | None:
        """Result of the model at the value; None where there is none."""
        return None if self._at is None else self._solved_at(self._at)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on other values that may hold, and those of the result."""
        return (*filter(None, [self.note]), *(self.result.notes if self.result is not None else ()))

    def latex(self) -> str:
        """The closed form as LaTeX; empty without one."""
        return "" if self._closed_form is None else self._closed_form.latex()

    def text(self) -> str:
        """The answer in words, one fact a line."""
        head = textwrap.fill(self._headline(), show.width(), subsequent_indent="    ", break_long_words=False)
        return "\n".join([head, *(_line(name, line) for name, line in self._facts())])

    def _headline(self) -> str:
        name = self.unknown
        if self.value is None:
            holds = self.status not in ("none", "outside")
            return f"{name}: {self.reason}" if holds else f"no {name} holds {' and '.join(self.targets)}: {self.reason}"
        said = f"{name} = {as_text(self._variable, self._at)}"
        if self.nearest:
            first, second = self.nearest
            return f"{said} ({first.said}); {second.text} is {second.said}"
        if not self.which:
            return said
        if self.status == "several" and self.which == "largest" and not self._last:
            others = ", ".join(self._bare_interval(pair) for pair in self.intervals[1:4])
            ending = " and more" if len(self.intervals) > 4 else ""
            return f"{said}, the largest of the first interval; it also holds for {others}{ending}"
        return f"{said}, the {self.which} {'found' if self.note else 'that holds'}"

    def _facts(self) -> list[tuple[str, str]]:
        facts = [("for", target) for target in self.targets]
        if self._leaves_out:
            facts[-1] = "for", f"{self.targets[-1]} (allow_infeasible=True keeps what is not)"
        if self.status == "several":
            intervals = "; ".join(map(self._interval, self.intervals)) + (
                f"; and {self._more} more" if self._more else ""
            )
            facts.append(("several", f"{intervals}; the value is of the {'last' if self._last else 'first'}"))
        elif self.status == "everywhere" and self.value is not None:
            facts.append(("holds", "for every value of the domain"))
        elif self.which:
            facts.append(("holds", self._interval(self.intervals[0])))
        elif self.nearest:
            facts.append(("nearest", "no whole number gives exactly what is asked"))
        facts += [("note", note) for note in self.notes]
        if self._closed_form is not None:
            facts.append(("formula", self._closed_form.text()))
            facts += [("where", case) for case in self.where]
        return facts

    def _interval(self, pair: tuple[Any, Any]) -> str:
        low, high = (None if end is None else _words(self._variable, end) for end in pair)
        if low == high:
            return f"at {low}"
        return " ".join(part for part in (low and f"from {low}", high and f"up to {high}") if part) or "everywhere"

    def _bare_interval(self, pair: tuple[Any, Any]) -> str:
        low, high = (None if end is None else _words(self._variable, end) for end in pair)
        return str(low) if low == high else f"{low} to {high}" if high else f"{low} and more"

    def to_dict(self) -> dict[str, Any]:
        """Plain data; numbers in ``unit``."""
        unit = self._variable.unit if self._variable.unit != "count" else ""
        return {
            "unknown": self.unknown,
            "targets": list(self.targets),
            "status": self.status,
            "value": self._at,
            "unit": unit,
            "which": self.which,
            **({"nearest": [neighbour.to_dict() for neighbour in self.nearest]} if self.nearest else {}),
            "intervals": [[units.magnitude(end) for end in pair] for pair in self.intervals],
            "reason": self.reason,
            "note": self.note,
            "formula": "" if self._closed_form is None else self._closed_form.text(),
            "where": list(self.where),
            "result": None if self.result is None else self.result.to_dict(),
        }

    def __bool__(self) -> bool:
        """Tell whether there is a value, also where it is zero."""
        return self.value is not None

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(name)}</td><td style='text-align:left'>{html.escape(line)}</td></tr>"
            for name, line in self._facts()
            if name != "formula"
        )
        formula = f"<p>$\\displaystyle {self.latex()}$</p>" if self._closed_form is not None else ""
        return f"<table><caption>{html.escape(self._headline())}</caption>{rows}</table>{formula}"


def shown(variable: Variable, typed: float) -> Any:
    """Convert a number in the unit of its variable to what a user sees: an int, a float or a quantity."""
    number = int(typed) if variable.domain.kind == "integer" else float(typed)
    return number if variable.named_unit or not variable.dimension else units.Q_(number, units.unit(variable.unit))


def as_text(variable: Variable, typed: Any) -> str:
    """Format a number given in the unit of its variable."""
    return _words(variable, shown(variable, typed))


def _line(name: str, fact: str) -> str:
    """Wrap a fact, with its name in front."""
    lines: Any = {"initial_indent": f"  {name:<8} ", "subsequent_indent": " " * 13}
    return textwrap.fill(fact, show.width(), break_long_words=False, break_on_hyphens=False, **lines)


def _words(variable: Variable, value: Any) -> str:
    if units.is_quantity(value):
        return formatting.quantity(value)
    return formatting.number(value) + (f" {variable.unit}" if variable.named_unit else "")
