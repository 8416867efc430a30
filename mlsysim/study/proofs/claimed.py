"""Claims of a saved certificate: whether they fit its designs, and what no other point of the grid may be."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from mlsysim.backends.front import index_of
from mlsysim.backends.ties import TIE, band, rounded
from mlsysim.bounds import claims
from mlsysim.errors import CertificateError
from mlsysim.study.searches.problem import Problem

#: Difference up to which values are equal however small they are.
SMALLEST = 1e-300
#: Relative difference of gaps that are equal: each is the difference of two values that may be near to one another.
GAP_TIE = 1e-6
#: What is said of an answer without a design that is not proven.
NONE_FOUND = "It has no design, and it is not proven that there is none."

Wrong = Callable[[str, str], CertificateError]


def plain_number(plain: Any) -> float:
    """A number of the file; infinity is written as an object."""
    if isinstance(plain, Mapping):
        return math.inf if plain["infinite"] == "positive" else -math.inf
    return float(plain)


def alike(one: float, other: float) -> bool:
    """Tell whether two numbers are as equal as two ways of computing one are."""
    return math.isclose(one, other, rel_tol=TIE, abs_tol=SMALLEST)


class Claimed(ABC):
    """The claims of a certificate about its designs.

    Parameters
    ----------
    content : mapping
        Of the file.
    asked : Problem
        The question, built afresh.
    values : ndarray
        Objectives (rows) of the designs (columns), to be minimised, as they were computed again.
    places : ndarray
        Index along every axis (rows) of each design (columns).
    wrong : callable
        The error for a part of the file, and why.

    Attributes
    ----------
    proven : bool
        Whether the answer is said to be proven.
    gap : float
        The share that is claimed where it is not.
    answer, rest : ExclusionClaim
        Conditions that no evaluated point, and no other point, may meet.
    said : list of str
        Sentences on what was shown of the designs.

    Raises
    ------
    CertificateError
        If the claims contradict one another, or the designs.
    """

    #: What the designs were found by, and what is said of a point that is against the claim.
    found_by: str
    against: str
    answer: claims.ExclusionClaim
    rest: claims.ExclusionClaim

    def __init__(
        self, content: Mapping[str, Any], asked: Problem, values: np.ndarray, places: np.ndarray, wrong: Wrong
    ) -> None:
        self.asked, self.values, self.places, self.wrong = asked, values, places, wrong
        self.claims: Mapping[str, Any] = content["certificate"]
        self.proven: bool = self.claims["proven"]
        self.first: bool = self.claims["first"]
        self.gap = plain_number(self.claims["gap"])
        self.top, count = content["question"]["top"], places.shape[1]
        if self.top is not None and count > self.top:
            raise wrong("designs", f"there are {count}, and {self.top} were asked for")
        if self.proven and self.gap != 0:
            raise wrong("certificate", f"it is proven, and the gap is {self.gap!r}")
        self.known = frozenset(map(tuple, places.T.tolist()))
        if len(self.known) < count:
            raise wrong("designs", "one of them is there twice")
        if any(later < band(value)[0] for value, later in pairwise(values[0].tolist())):
            raise wrong("designs", "they do not stand in order, the best first")
        which = "The design was" if count == 1 else f"The {count} designs were"
        self.said = self._read(f"{which} solved again, by the formulas and inputs of the {self.found_by}.")
        if not count:
            self.said = ["No point meets the constraints."] if self.proven else [NONE_FOUND]

    @abstractmethod
    def _read(self, again: str) -> list[str]:
        """Read what is claimed of evaluated and of other points; return it in words, after what is said of each."""


class ClaimedBest(Claimed):
    """The best designs of a search."""

    found_by, against = "search", "which is better, or as good and earlier"

    def _read(self, again: str) -> list[str]:
        values, wrong = self.values, self.wrong
        if self.claims["bound"] is None:
            raise wrong("certificate.bound", "must be a number, and is None")
        sign, bound = self.asked.objectives[0][1], plain_number(self.claims["bound"])
        best, last = min(values[0], default=math.inf), max(values[0], default=math.inf)
        if self.proven and values.size and not alike(bound, sign * best):
            raise wrong("certificate", f"the bound is {bound!r}, and the best design is worth {float(sign * best)!r}")
        if not self.proven and math.isfinite(self.gap):
            right = float((last - sign * bound) / abs(last) if last else math.inf)
            if not math.isclose(self.gap, right, rel_tol=GAP_TIE, abs_tol=TIE):
                raise wrong("certificate", f"the gap is {self.gap!r}, and {right!r} by the bound and the design")
        # Where nothing was found, nothing may be there.
        whole = len(self.known) == self.top
        below, above = band(float(last) if whole else math.inf)
        tied = self.places.T[values[0] >= below].tolist() if whole and self.first else []
        mark = max(map(tuple, tied), default=())
        self.answer = self.rest = claims.Best(below, above if mark else below, mark, self.known)
        if self.proven:
            return [again]
        below = min(band(sign * bound)[0], below)
        self.rest = claims.Best(below, below, (), self.known)
        return [f"{again} It is not proven best: a design up to {100 * self.gap:.3g}% better may exist."]


class ClaimedFront(Claimed):
    """The designs of a front. Values are compared to the digits that count, as the front was made."""

    found_by, against = "front", "which no design of the front equals or betters in every objective"

    def _read(self, again: str) -> list[str]:
        if self.claims["bound"] is not None:
            raise self.wrong("certificate.bound", f"a front has none, and it is {self.claims['bound']!r}")
        # What streamed the grid rounds otherwise than NumPy, so that digits of its values may differ.
        slack = TIE if self.claims["method"] == "dense" else 0.0
        rows, sizes = rounded(self.values.T), self.asked.grid.sizes
        for number, row in enumerate(rows):
            as_good = (row <= rows).all(axis=1)
            if slack:
                as_good &= (row < rows - slack * np.abs(rows)).any(axis=1)
            as_good[number] = False
            if as_good.any():
                other = int(as_good.argmax()) + 1
                raise self.wrong("designs", f"design {number + 1} is as good as design {other} in every objective")
        first, indices = self.first and not slack, index_of(self.places, sizes)
        self.answer = self.rest = claims.Undominated(rows, indices, self.known, sizes, first, slack)
        said = [again, "None is as good as another one in every objective."]
        if not self.proven:
            self.rest = claims.WithinGap(rows, self.gap, self.known)
            far = f": to be as good as any other design, one of them must be up to {100 * self.gap:.3g}% better"
            said.append(f"It is not proven whole{far if math.isfinite(self.gap) else ', and claims no gap'}.")
        elif slack:
            said.append(
                f"Streamed values differ from NumPy's in the last bits: here they count as equal up to {TIE:g}."
            )
        return said
