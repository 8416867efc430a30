"""Scans: values of an unknown to try, all over its domain and denser near its usual value."""

from __future__ import annotations

import math

import numpy as np

from mlsysim.inputs.convert import LARGEST, LARGEST_INTEGER, SMALLEST
from mlsysim.symbolic.variable import Domain

#: Decades from the usual value, and values per decade up to there: for one point, and on a grid.
AT_ONE = ((3.0, 24), (9.0, 4), (30.0, 0.5))
ON_GRID = ((3.0, 4), (9.0, 1), (30.0, 0.2))
#: Whole numbers that are all scanned, from the least allowed one on: for one point; where formulas iterate, or for up
#: to so many points; and at least.
ALL, FEWER, FEW, LEAST = 1 << 16, 1 << 12, 256, 64
#: Whole numbers scanned per doubling beyond those.
PER_DOUBLING = 16


def real_values(domain: Domain, usual: float, *, dense: bool) -> np.ndarray:
    """Return values of a domain, sorted.

    Parameters
    ----------
    domain : Domain
        Domain of a real variable.
    usual : float
        Value near which the answer is expected; nan if there is none.
    dense : bool
        Return many values, as for one point.
    """
    most = LARGEST * (1 - 1e-9)  # in another unit and back it must not grow beyond what is allowed
    lower, upper = max(domain.lower, -most), min(domain.upper, most)
    known = math.isfinite(usual)
    steps = _decades(AT_ONE if dense else ON_GRID)
    if domain.upper < math.inf and domain.lower > -math.inf:
        share = _decades(((12.0, 4 if dense else 1),))
        share = np.concatenate([share[share < 0.1], np.linspace(0.1, 0.9, 65 if dense else 9)])
        values = np.concatenate([lower + (upper - lower) * share, upper - (upper - lower) * share])
    elif domain.lower > -math.inf:
        size = usual - lower if known and usual > lower else max(abs(lower), 1.0)
        values = lower + size * steps
    else:
        size = abs(usual) if known and usual else 1.0
        values = np.concatenate([-size * steps, [0.0], size * steps])
    ends = [lower, upper, usual] if known else [lower, upper]
    return _inside(domain, np.concatenate([values, ends]))


def beyond(domain: Domain, usual: float) -> np.ndarray:
    """Return numbers outside a domain, sorted, at which an equation may have its root."""
    size = abs(usual) if math.isfinite(usual) and usual else 1.0
    steps = size * _decades(((12.0, 8),))
    ends = [end for end in (domain.lower, domain.upper) if math.isfinite(end)]
    near = [end + sign * steps for end in ends for sign in (1, -1)]
    values = np.unique(np.concatenate([-steps, [0.0], steps, *near, ends]))
    return values[(values <= domain.lower) | (values >= domain.upper)]


def whole_values(domain: Domain, usual: float, points: int = 1, *, iterates: bool) -> np.ndarray:
    """Return whole numbers of a domain, sorted: all of the first ones, then a constant number per doubling.

    Parameters
    ----------
    domain : Domain
        Domain of a whole number.
    usual : float
        Value to include in any case; nan for none.
    points : int
        Points of the grid that are scanned.
    iterates : bool
        True if one evaluation takes long.
    """
    first = max(domain.lower, -float(LARGEST_INTEGER - 1))
    last = min(domain.upper, float(LARGEST_INTEGER - 1))
    count = ALL if points == 1 and not iterates else min(FEWER, max(LEAST, FEWER * FEW // points))
    values = first + np.arange(min(count, last - first + 1))
    per = PER_DOUBLING if points == 1 else 2
    doublings = np.arange(math.log2(count) * per, 53 * per) / per
    sparse = np.floor(2.0**doublings)
    ends = [last, usual] if math.isfinite(usual) else [last]
    values = np.unique(np.concatenate([values, sparse, ends]))
    return values[(values >= first) & (values <= last)]


def _decades(rules: tuple[tuple[float, float], ...]) -> np.ndarray:
    """Return powers of ten around one, for each rule so many per decade up to so many decades away."""
    above = [np.zeros(1)]
    start = 0.0
    for end, per in rules:
        count = max(1, round((end - start) * per))
        above.append(start + (end - start) * np.arange(1, count + 1) / count)
        start = end
    exponents = np.concatenate(above)
    return 10.0 ** np.concatenate([-exponents[:0:-1], exponents])


def _inside(domain: Domain, values: np.ndarray) -> np.ndarray:
    """Return the values that :func:`mlsysim.inputs.convert.check` accepts, sorted, each once."""
    size = np.abs(values)
    is_allowed = (values >= domain.lower) & (values <= domain.upper) & ((size >= SMALLEST * (1 + 1e-9)) | (values == 0))
    is_allowed &= (size < LARGEST) & ~(domain.open_lower & (values == domain.lower))
    return np.unique(values[is_allowed])
