"""Claims of a saved certificate: consistency with its designs, and what no other point of the grid may be."""

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

#: Absolute difference up to which values count as equal.
SMALLEST = 1e-300
#: Relative difference up to which gaps count as equal; each is the difference of two values that may be close.
GAP_TIE = 1e-6
#: What is said of an answer without a design that is not proven.
NONE_FOUND = "It has no design, and it is not proven that there is none."

Wrong = Callable[[str, str], CertificateError]


def plain_number(plain: Any) -> float:
    """Convert a number of the file; infinity is written as an object."""
    if isinstance(plain, Mapping):
        return math.inf if plain["infinite"] == "positive" else -math.inf
    return float(plain)


def is_close(left: float, right: float) -> bool:
    """Tell whether two numbers agree to the accuracy of two ways of computing one."""
    return math.isclose(left, right, rel_tol=TIE, abs_tol=SMALLEST)


class Claimed(ABC):
    """Claims of a certificate about its designs.

    Parameters
    ----------
    content : mapping
        Content of the file.
    problem : Problem
        The question, read again.
    values : ndarray
        Objectives (rows) of the designs (columns), to be minimised, computed again.
    places : ndarray
        Index along every axis (rows) of each design (columns).
    wrong : callable
        Function that builds the error for a part of the file, with a reason.

    Attributes
    ----------
    proven : bool
        True if the answer is claimed to be proven.
    gap : float
        Claimed gap of an answer that is not proven.
    answer, rest : Claim
        Conditions that no evaluated point, and no other point, may meet.
    said : list of str
        Sentences on what was verified about the designs.

    Raises
    ------
    CertificateError
        If the claims contradict one another, or the designs.
    """

    #: How the designs were found, and how a point that violates the claim is described.
    found_by: str
    against: str
    answer: claims.ExclusionClaim
    rest: claims.ExclusionClaim

    def __init__(
        self, content: Mapping[str, Any], problem: Problem, values: np.ndarray, places: np.ndarray, wrong: Wrong
    ) -> None:
        self.problem, self.values, self.places, self.wrong = problem, values, places, wrong
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
        subject = "The design was" if count == 1 else f"The {count} designs were"
        self.said = self._read(f"{subject} solved again, by the formulas and inputs of the {self.found_by}.")
        if not count:
            self.said = ["No point meets the constraints."] if self.proven else [NONE_FOUND]

    @abstractmethod
    def _read(self, again: str) -> list[str]:
        """Read the claims about evaluated and other points; return sentences on the designs."""


class ClaimedBest(Claimed):
    """The best designs of a search."""

    found_by, against = "search", "which is better, or as good and earlier"

    def _read(self, again: str) -> list[str]:
        values, wrong = self.values, self.wrong
        if self.claims["bound"] is None:
            raise wrong("certificate.bound", "must be a number, and is None")
        sign, bound = self.problem.objectives[0][1], plain_number(self.claims["bound"])
        best, last = min(values[0], default=math.inf), max(values[0], default=math.inf)
        if self.proven and values.size and not is_close(bound, sign * best):
            raise wrong("certificate", f"the bound is {bound!r}, and the best design is worth {float(sign * best)!r}")
        if not self.proven and math.isfinite(self.gap):
            right = float((last - sign * bound) / abs(last) if last else math.inf)
            if not math.isclose(self.gap, right, rel_tol=GAP_TIE, abs_tol=TIE):
                raise wrong("certificate", f"the gap is {self.gap!r}, and {right!r} by the bound and the design")
        # If nothing was found, no point may be feasible.
        whole = len(self.known) == self.top
        below, above = band(float(last) if whole else math.inf)
        tied = self.places.T[values[0] >= below].tolist() if whole and self.first else []
        last_tied = max(map(tuple, tied), default=())
        self.answer = self.rest = claims.Best(below, above if last_tied else below, last_tied, self.known)
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
        rows, sizes = rounded(self.values.T), self.problem.grid.sizes
        for index, row in enumerate(rows):
            dominating = (row <= rows).all(axis=1)
            if slack:
                dominating &= (row < rows - slack * np.abs(rows)).any(axis=1)
            dominating[index] = False
            if dominating.any():
                other = int(dominating.argmax()) + 1
                raise self.wrong("designs", f"design {index + 1} is as good as design {other} in every objective")
        first, indices = self.first and not slack, index_of(self.places, sizes)
        self.answer = self.rest = claims.Undominated(rows, indices, self.known, sizes, first, slack)
        sentences = [again, "None is as good as another one in every objective."]
        if not self.proven:
            self.rest = claims.WithinGap(rows, self.gap, self.known)
            shortfall = f": to be as good as any other design, one of them must be up to {100 * self.gap:.3g}% better"
            sentences.append(
                f"It is not proven whole{shortfall if math.isfinite(self.gap) else ', and claims no gap'}."
            )
        elif slack:
            sentences.append(
                f"Streamed values differ from NumPy's in the last bits: here they count as equal up to {TIE:g}."
            )
        return sentences
