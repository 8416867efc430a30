"""Time to the first token: the queue that an arrival meets, and the iterations its prompt takes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mlsysim.backends.chunked.chain import Chain, shifted
from mlsysim.backends.chunked.fourier import Array, Spectrum, spectrum, values

#: Times of iterations between which others are taken as a mixture.
CLASSES = 8
#: Places within an iteration at which requests arrive, and their weights.
PLACES, PLACE_WEIGHTS = (np.polynomial.legendre.leggauss(4)[0] + 1.0) / 2.0, np.polynomial.legendre.leggauss(4)[1] / 2.0
#: Parts of an iteration that these stand for, about their middles.
WIDTHS = np.minimum(PLACE_WEIGHTS, 2.0 * (1.0 - PLACES))
#: Least width of an interval of times, as a share of them.
SHARP = 1e-3
#: Probability below which an atom is left out.
NOTHING = 1e-9


@dataclass(frozen=True)
class FirstToken:
    """Times to the first token that arrivals see, given how many requests decode.

    Attributes
    ----------
    chain : Chain
        At the number of requests that decode.
    like : FirstToken, optional
        That of the chain nearby.
    """

    chain: Chain
    like: FirstToken | None = None

    @cached_property
    def atoms(self) -> tuple[Array, Array]:
        """Intervals of times, and their weights."""
        chain, load, free = self.chain, self.chain.load, self.chain.full.free
        residuals = np.append(((1.0 - PLACES)[:, None] * self.times).reshape(-1), 0.0)
        widths = np.append((WIDTHS[:, None] * self.times).reshape(-1), 0.0)
        places, law = self.places, self.law
        chunks = np.maximum(np.ceil(places / chain.lattice.chunk - 1e-6), 1.0) - 1.0
        last = np.maximum(places * chain.step - chunks * free, 1e-9 * free)
        row, index = self.kept
        law, last = law[row, index] - (self.like._kept_nearby[1] if self.like else 0.0), last[index]
        waited = residuals[row] + (chunks * chain.full.time)[index]
        expected = load.request_rate * waited
        some = -np.expm1(-expected)
        later = load.isl * np.divide(expected, some, out=np.ones_like(some), where=some > 0)
        steps = chain.step * np.arange(chain.lattice.chunk + 1)
        times = chain.row_times[:-1]
        alone, longer = np.interp(last, steps, times), np.interp(last + later, steps, times)
        middle = np.concatenate([waited + alone, waited + longer])
        half = np.maximum(np.tile(widths[row], 2), SHARP * middle) / 2.0
        return np.stack([middle - half, middle + half]), np.concatenate([law * (1.0 - some), law * some])

    @cached_property
    def places(self) -> Array:
        """Steps to the last of the own prompt."""
        places = np.arange(-float(self.chain.stride), self.chain.lattice.states)
        return places if self.chain.load.isl_cv else places + (self.chain.followed or self.chain).prompt

    @cached_property
    def law(self) -> Array:
        """Joint weight of the state when an iteration ends, and of the steps to the last of the own prompt."""
        chain = self.chain
        ahead = values(self.ahead_transform, chain.length)[:, : chain.lattice.states]
        weights = np.append(np.repeat(PLACE_WEIGHTS, len(self.times)), 1.0)
        law = np.zeros((len(ahead), len(self.places)))
        law[:, chain.stride :] = ahead * weights[:, None]
        return shifted(law, chain.longer, chain.stride) if chain.followed else law

    @cached_property
    def kept(self) -> tuple[NDArray[np.intp], ...]:
        """Rows and places of the law that count; nearby the same, so that none comes or goes."""
        return self.like._kept_nearby[0] if self.like else np.nonzero(np.abs(self.law) > NOTHING)

    @cached_property
    def _kept_nearby(self) -> tuple[tuple[NDArray[np.intp], ...], Array]:
        """Entries kept and those a longer or shorter prompt moves them to, and the law there that is left out here."""
        counts, stride = np.abs(self.law) > NOTHING, self.chain.stride
        wider = counts.copy()
        if not self.chain.load.isl_cv:
            wider[:, stride:] |= counts[:, :-stride]
            wider[:, :-stride] |= counts[:, stride:]
        places = np.nonzero(wider)
        return places, np.where(counts, 0.0, self.law)[places]

    @cached_property
    def classes(self) -> Array:
        """Times of iterations that stand for all that leave no rest."""
        chain, rows = self.chain, self.chain.lattice.chunk + 1
        reference = (chain.like or chain).row_times
        several = CLASSES if reference[rows - 1] > reference[0] * (1.0 + 1e-9) else 1
        return np.linspace(chain.row_times[0], chain.row_times[rows - 1], several)

    @cached_property
    def times(self) -> Array:
        """These, and that of an iteration that leaves a rest."""
        return np.append(self.classes, self.chain.full.time)

    @cached_property
    def coming(self) -> Array:
        """Prompts that come between the beginning of an iteration and a request, by place and time."""
        return self.chain.load.request_rate * (PLACES[:, None] * self.times).reshape(-1)

    @cached_property
    def inside(self) -> Spectrum:
        """Transforms of what comes meanwhile."""
        if self.like:
            more, moves = self.coming - self.like.coming, self.chain.moves
            by = more[:, None] * moves.transform + self.like.coming[:, None] * moves.longer
            return self.like.inside * (1.0 + by)
        return np.exp(self.coming[:, None] * self.chain.transform)

    @cached_property
    def ahead_transform(self) -> Spectrum:
        """Transforms of the tokens up to the own last, by place and time, and last where no token waits."""
        chain, rows = self.chain, self.chain.lattice.chunk + 1
        weights = chain.law * chain.times / chain.time
        idle = weights[0] * math.exp(-chain.batch)
        clearing = weights[:rows].copy()
        clearing[0] -= idle
        shares = _split(chain.row_times[:rows], clearing, self.classes)
        waiting = np.concatenate([[0.0], weights[rows:]])
        begins = np.repeat(shares[:, None], chain.transform.size, axis=1)
        begins = np.concatenate([begins, spectrum(waiting, chain.length)[None]])
        laws = np.tile(begins, (len(PLACES), 1)) * self.inside
        laws = np.concatenate([laws, np.full((1, chain.transform.size), idle)])
        if chain.load.isl_cv:
            laws *= chain.transform + 1.0
        return laws


def _split(times: Array, weights: Array, classes: Array) -> Array:
    """Weights shared between the two nearest classes, so that the mean time stays."""
    if len(classes) == 1:
        return np.array([weights.sum()])
    position = np.clip((times - classes[0]) / (classes[1] - classes[0]), 0.0, len(classes) - 1.0)
    below = np.minimum(position.astype(int), len(classes) - 2)
    upper = weights * (position - below)
    shares = np.bincount(below, weights - upper, len(classes))
    shares[1:] += np.bincount(below, upper, len(classes))[:-1]
    return shares
