"""Certificates of optimality: points evaluated and refused, and how sure the answer is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from mlsysim.backends.ties import TIE

#: Most catalog entries named for one reason; further ones are counted.
NAMED = 8


@dataclass(frozen=True)
class Refused:
    """Count of the points that one reason refuses.

    Attributes
    ----------
    count : tuple of int
        The fewest and the most points it may refuse. They are equal if the reason depends on few enough combinations to
        enumerate them.
    entries : tuple of str
        Catalog entries refused for this reason. An entry that is refused with some labels only is followed by these
        labels.
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
    """Proof that no design is better, or a bound on how much better one could be.

    Attributes
    ----------
    method : {"bounds", "dense", "enumeration"}
        How the grid was searched.
    points : int
        Size of the grid.
    accepted : tuple of int
        The fewest and the most points that the model may accept. The designs are the best of these points.
    refused : mapping of str to Refused
        Points refused by the model or the catalog, by reason. A point with two reasons counts for both, so the counts
        may add up to more than the refused points.
    proven : bool
        True if it is proven that no feasible point is better than the designs by more than a relative 1e-9, within
        which values count as equal.
    first : bool
        True if the designs also come first on the axes among those that count as equal.
    bound : float
        Value of the objective, in canonical units, that no feasible point improves on.
    gap : float
        Relative distance of the last design from the bound; 0 if proven.
    boxes, evaluated : int
        Boxes bounded, and points evaluated.
    feasible : tuple of int
        The fewest and the most points that may be accepted and meet the constraints. The output ``feasible`` of a model
        counts if it is one of the constraints.
    seconds : float
        Time it took.
    undefined : tuple of int, optional
        The fewest and the most accepted points at which an objective is infinite or undefined, which are no designs.
        None if constraints were given, which such points may violate, too.
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
        """Verdict, and the number of points evaluated."""
        of_accepted = f"of the {bracket(self.accepted)} accepted"
        if not self.accepted[1]:
            verdict = "Proven infeasible: every point is refused"
        elif self.proven and not self.feasible[1]:
            fails = "meets the constraints" if self.undefined is None else "has a finite objective"
            verdict = f"Proven infeasible: none {of_accepted} {fails}"
        elif self.proven:
            verdict = f"Proven best {of_accepted}, to a relative {TIE:g}"
            verdict += "" if self.first else "; others that count as equal may come earlier on the axes"
        elif math.isfinite(self.gap):
            verdict = f"Not proven best {of_accepted}: a design up to {100 * self.gap:.3g}% better may exist"
        else:
            verdict = f"Not proven best {of_accepted}: the time was too short for a bound"
        evaluated = f"{_count(self.evaluated)} evaluated" + f", {_count(self.boxes)} boxes bounded" * bool(self.boxes)
        quality = "meeting the constraints" if self.undefined is None else "with a finite objective"
        grid = f"{_count(self.points)} points, {bracket(self.feasible)} of them {quality}"
        if self.undefined is not None and self.undefined[0]:
            where = f"of the {bracket(self.accepted)} accepted points the objective is infinite or undefined"
            grid += f"; at {bracket(self.undefined)} {where}"
        return f"{verdict}. {grid}; {evaluated} in {self.seconds:.3g} s by {self.method}."

    @property
    def refusals(self) -> str:
        """Refused points by reason, as text."""
        if not self.refused:
            return "No point was refused."
        low, high = self.accepted
        refused = self.points - high, self.points - low
        reasons = "; ".join(f"{reason} ({count})" for reason, count in self.refused.items())
        overlap = sum(refused_by.count[0] for refused_by in self.refused.values()) > refused[1]
        return f"Refused: {bracket(refused)}{', some for several reasons' * overlap}: {reasons}."


def undefined(constrained: bool, accepted: tuple[int, int], feasible: tuple[int, int]) -> tuple[int, int] | None:
    """Bound the number of accepted points without a finite objective; None if constraints were given."""
    return None if constrained else (max(accepted[0] - feasible[1], 0), max(accepted[1] - feasible[0], 0))


def bracket(count: tuple[int, int]) -> str:
    """Format a range of counts; one number if both ends are equal."""
    low, high = count
    return _count(low) if low == high else f"{_count(low)} to {_count(high)}"


def _count(number: int) -> str:
    return f"{number:,}" if number < 10**9 else f"{float(number):.2g}"
