"""Why there is no better design: what was looked at, what was refused, and how sure the answer is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from mlsysim.backends.ties import TIE

#: Most entries of the catalog that are named for one reason; further ones are counted.
NAMED = 8


@dataclass(frozen=True)
class Refused:
    """Count of the points that one reason refuses.

    Attributes
    ----------
    count : tuple of int
        The fewest and the most points it may refuse. They are equal if the reason depends on few enough
        combinations to look at each.
    entries : tuple of str
        Entries of the catalog that are refused for this reason. An entry that is refused with some labels only
        comes with these labels.
    """

    count: tuple[int, int]
    entries: tuple[str, ...] = ()

    def __str__(self) -> str:
        named = ", ".join(self.entries[:NAMED])
        more = len(self.entries) - NAMED
        entries = f": {named}" + f" and {more} more" * (more > 0) if self.entries else ""
        return f"{bracket(self.count)}{entries}"


@dataclass(frozen=True)
class Certificate:
    """Why there is no better design, or how much better one could be.

    Attributes
    ----------
    method : {"bounds", "dense", "enumeration"}
        How the grid was searched.
    points : int
        Size of the grid.
    accepted : tuple of int
        The fewest and the most points that no reason may refuse. The designs are the best of these points.
    refused : mapping of str to Refused
        What the model or the catalog refuses, by reason. A point with two reasons counts for both, so that the
        counts may add up to more than the refused points.
    proven : bool
        Whether it is proven that no feasible point is better than the designs by more than a relative 1e-9,
        within which values count as equal.
    first : bool
        Whether the designs are also the first ones, in the order of the axes, among those that count as equal.
    bound : float
        A value of the objective, in canonical units, that no feasible point betters.
    gap : float
        Relative distance of the last design from the bound; 0 if proven.
    boxes, evaluated : int
        Boxes bounded, and points evaluated.
    feasible : tuple of int
        The fewest and the most points that may be accepted and meet the constraints. The output ``feasible`` of a model
        counts where it is a constraint.
    seconds : float
        Time it took.
    undefined : tuple of int, optional
        The fewest and the most accepted points at which an objective is infinite or undefined, which are no designs;
        None where constraints were given, which such points may miss too.
    """

    method: str
    points: int
    accepted: tuple[int, int]
    refused: Mapping[str, Refused] = field(hash=False)
    proven: bool
    first: bool
    bound: float
    gap: float
    boxes: int
    evaluated: int
    feasible: tuple[int, int]
    seconds: float
    undefined: tuple[int, int] | None = None

    def __str__(self) -> str:
        return f"{self.summary} {self.refusals}"

    @property
    def summary(self) -> str:
        """Summary of how sure the answer is, and of what was looked at."""
        of = f"of the {bracket(self.accepted)} accepted"
        if not self.accepted[1]:
            said = "Proven infeasible: every point is refused"
        elif self.proven and not self.feasible[1]:
            fails = "meets the constraints" if self.undefined is None else "has a finite objective"
            said = f"Proven infeasible: none {of} {fails}"
        elif self.proven:
            said = f"Proven best {of}, to a relative {TIE:g}"
            said += "" if self.first else "; others that count as equal may come earlier on the axes"
        elif math.isfinite(self.gap):
            said = f"Not proven best {of}: a design up to {100 * self.gap:.3g}% better may exist"
        else:
            said = f"Not proven best {of}: the time was too short for a bound"
        looked = f"{_count(self.evaluated)} evaluated" + f", {_count(self.boxes)} boxes bounded" * bool(self.boxes)
        meet = "meeting the constraints" if self.undefined is None else "with a finite objective"
        grid = f"{_count(self.points)} points, {bracket(self.feasible)} of them {meet}"
        if self.undefined is not None and self.undefined[0]:
            which = f"of the {bracket(self.accepted)} accepted points the objective is infinite or undefined"
            grid += f"; at {bracket(self.undefined)} {which}"
        return f"{said}. {grid}; {looked} in {self.seconds:.3g} s by {self.method}."

    @property
    def refusals(self) -> str:
        """Text on what was refused and why."""
        if not self.refused:
            return "No point was refused."
        low, high = self.accepted
        refused = self.points - high, self.points - low
        reasons = "; ".join(f"{reason} ({count})" for reason, count in self.refused.items())
        twice = sum(each.count[0] for each in self.refused.values()) > refused[1]
        return f"Refused: {bracket(refused)}{', some for several reasons' * twice}: {reasons}."


def undefined(constrained: bool, accepted: tuple[int, int], feasible: tuple[int, int]) -> tuple[int, int] | None:
    """The fewest and the most accepted points without a finite objective; None where constraints were given."""
    return None if constrained else (max(accepted[0] - feasible[1], 0), max(accepted[1] - feasible[0], 0))


def bracket(count: tuple[int, int]) -> str:
    """The fewest and the most as text; one number if they are equal."""
    low, high = count
    return _count(low) if low == high else f"{_count(low)} to {_count(high)}"


def _count(number: int) -> str:
    return f"{number:,}" if number < 10**9 else f"{float(number):.2g}"
