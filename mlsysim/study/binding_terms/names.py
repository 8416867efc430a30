"""Regimes out of the terms that bind: which points are alike, and what each is called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mlsysim.study.binding_terms.terms import INACTIVE, Choice

Place = tuple[Any, ...]


class Alike:
    """Points at which the same terms bind.

    Parameters
    ----------
    codes : mapping
        Which term binds, per choice, at the points of a grid that are accepted.
    choices : mapping
        The choices.
    """

    def __init__(self, codes: Mapping[Place, np.ndarray], choices: Mapping[Place, Choice]) -> None:
        flat = {place: code.ravel() for place, code in codes.items()}
        flat = {place: code for place, code in flat.items() if code.size and (code != code[0]).any()}
        self.choices = [choices[place] for place in flat]
        self.places = list(flat)
        if not flat:
            self.numbers, self.terms = np.zeros(0, int), np.zeros((0, 1), int)
            return
        stack = np.stack(list(flat.values()))
        terms, numbers, counts = np.unique(stack, axis=1, return_inverse=True, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        ranks = np.empty_like(order)
        ranks[order] = np.arange(len(order))
        #: The regime of every point, 0 that of most points; and which term binds per choice and regime.
        self.numbers, self.terms = ranks[np.reshape(numbers, -1)], terms[:, order]

    @property
    def count(self) -> int:
        """Number of regimes."""
        return self.terms.shape[1]

    def number_of(self, codes: Mapping[Place, np.ndarray], size: int) -> np.ndarray:
        """The regime of other points; -1 where other terms bind than anywhere on the grid."""
        if not self.places:
            return np.zeros(size, int)
        absent = np.full(size, INACTIVE)
        stack = np.stack([np.broadcast_to(codes.get(place, absent), (size,)) for place in self.places])
        found = np.full(size, -1)
        for number, terms in enumerate(self.terms.T):
            found[(stack == terms[:, None]).all(axis=0)] = number
        return found

    def names(self, whole: str) -> list[str]:
        """A name per regime, each another: the terms that tell it apart; one alone is called ``whole``."""
        if not self.places:
            return [whole]
        telling = self._telling()
        found = [self._name(terms, telling) for terms in self.terms.T]
        return [name if found.count(name) == 1 else f"{name} ({number + 1})" for number, name in enumerate(found)]

    def _telling(self) -> list[int]:
        """Choices that tell the regimes apart, those nearest to the output first."""
        found: list[int] = []
        kinds = 1
        for place in range(len(self.places)):
            more = np.unique(self.terms[[*found, place]], axis=1).shape[1]
            if more > kinds:
                kinds = more
                found.append(place)
        return found

    def _name(self, terms: np.ndarray, telling: Sequence[int]) -> str:
        words = [self.choices[place].name(int(terms[place])) for place in telling if terms[place] != INACTIVE]
        return "; ".join(dict.fromkeys(words)) or "neither"

    def changed(self, before: int, after: int) -> list[tuple[Choice, tuple[int, int]]]:
        """The choices that go from one term to another between two regimes, and the terms; extremes first."""
        pairs = zip(self.choices, self.terms[:, before].tolist(), self.terms[:, after].tolist(), strict=True)
        found = [(choice, (a, b)) for choice, a, b in pairs if a != b and INACTIVE not in (a, b)]
        return sorted(found, key=lambda each: not each[0].is_extreme)
