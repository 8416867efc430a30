"""Time to the first token: what an arrival finds, and the iterations its prompt takes."""

from __future__ import annotations

import math

import numpy as np

from mlsysim.engine.chunked.chain import Chain, shifted
from mlsysim.engine.chunked.fourier import Array, Spectrum, spectrum, values

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


def first_token(chain: Chain) -> tuple[Array, Array]:
    """Times to the first token that arrivals see, given how many requests decode: intervals and their weights.

    Parameters
    ----------
    chain : Chain
        At the number of requests that decode.
    """
    load, free = chain.load, chain.full.free
    found, residuals, widths, weights = _arrivals(chain)
    ahead = values(found, chain.length)[:, : chain.lattice.states]
    stride = chain.stride
    places = np.arange(-float(stride), chain.lattice.states)
    if load.isl_cv == 0:
        places += (chain.followed or chain).prompt
    law = np.zeros((len(ahead), len(places)))
    law[:, stride:] = ahead * weights[:, None]
    if chain.followed:
        law = shifted(law, chain.longer, stride)
    chunks = np.maximum(np.ceil(places / chain.lattice.chunk - 1e-6), 1.0) - 1.0
    last = np.maximum(places * chain.step - chunks * free, 1e-9 * free)
    row, place = np.nonzero(np.abs(law) > NOTHING)
    law, last = law[row, place], last[place]
    waited = residuals[row] + (chunks * chain.full.time)[place]
    expected = load.request_rate * waited
    some = -np.expm1(-expected)
    later = load.isl * np.divide(expected, some, out=np.ones_like(some), where=some > 0)
    steps = chain.step * np.arange(chain.lattice.chunk + 1)
    times = chain.row_times[:-1]
    alone, longer = np.interp(last, steps, times), np.interp(last + later, steps, times)
    middle = np.concatenate([waited + alone, waited + longer])
    half = np.maximum(np.tile(widths[row], 2), SHARP * middle) / 2.0
    return np.stack([middle - half, middle + half]), np.concatenate([law * (1.0 - some), law * some])


def _arrivals(chain: Chain) -> tuple[Spectrum, Array, Array, Array]:
    """What an arrival finds: transform of the tokens to its own last, time to the next iteration, width, weight."""
    load, rows = chain.load, chain.lattice.chunk + 1
    weights = chain.law * chain.times / chain.time
    idle = weights[0] * math.exp(-chain.batch)
    clearing = weights[:rows].copy()
    clearing[0] -= idle
    least, longest = chain.row_times[0], chain.row_times[rows - 1]
    reference = (chain.like or chain).row_times
    classes = np.linspace(least, longest, CLASSES if reference[rows - 1] > reference[0] * (1.0 + 1e-9) else 1)
    shares = _split(chain.row_times[:rows], clearing, classes)
    times = np.append(classes, chain.full.time)
    waiting = np.concatenate([[0.0], weights[rows:]])
    begins = np.repeat(shares[:, None], chain.transform.size, axis=1)
    begins = np.concatenate([begins, spectrum(waiting, chain.length)[None]])
    inside = np.exp(load.request_rate * (PLACES[:, None] * times).reshape(-1, 1) * chain.transform)
    laws = np.concatenate([np.tile(begins, (len(PLACES), 1)) * inside, np.full((1, chain.transform.size), idle)])
    if load.isl_cv:
        laws *= chain.transform + 1.0
    residuals = np.append(((1.0 - PLACES)[:, None] * times).reshape(-1), 0.0)
    shares = np.append(np.repeat(PLACE_WEIGHTS, len(times)), 1.0)
    return laws, residuals, np.append((WIDTHS[:, None] * times).reshape(-1), 0.0), shares


def _split(times: Array, weights: Array, classes: Array) -> Array:
    """Weights shared between the two nearest classes, so that the mean time stays."""
    if len(classes) == 1:
        return np.array([weights.sum()])
    place = np.clip((times - classes[0]) / (classes[1] - classes[0]), 0.0, len(classes) - 1.0)
    below = np.minimum(place.astype(int), len(classes) - 2)
    upper = weights * (place - below)
    found = np.bincount(below, weights - upper, len(classes))
    found[1:] += np.bincount(below, upper, len(classes))[:-1]
    return found
