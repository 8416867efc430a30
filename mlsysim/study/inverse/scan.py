"""Values at which an unknown is looked for: all over its domain, closer together near its usual value."""

from __future__ import annotations

import math

import numpy as np

from mlsysim.inputs.convert import LARGEST, LARGEST_INTEGER, SMALLEST
from mlsysim.symbolic.variable import Domain

#: Up to how many decades from the usual value, and how many values in a decade: at one point, and on a grid.
AT_ONE = ((3.0, 24), (9.0, 4), (30.0, 0.5))
ON_GRID = ((3.0, 4), (9.0, 1), (30.0, 0.2))
#: Whole numbers that are all looked at, from the least allowed one on: at one point; where formulas iterate, or at up
#: to so many points; and at least.
EACH, FEWER, FEW, LEAST = 1 << 16, 1 << 12, 256, 64
#: Whole numbers looked at in a doubling, beyond those.
PER_DOUBLING = 16


def real_values(domain: Domain, usual: float, *, dense: bool) -> np.ndarray:
    """Values of a domain, sorted.

    Parameters
    ----------
    domain : Domain
        Of a real variable.
    usual : float
        A value near which the answer may be expected; nan if there is none.
    dense : bool
        Whether many values are looked at, as for one point.
    """
    most = LARGEST * (1 - 1e-9)  # in another unit and back it must not grow beyond what is allowed
    lower, upper = max(domain.lower, -most), min(domain.upper, most)
    known = math.isfinite(usual)
    steps = _decades(AT_ONE if dense else ON_GRID)
    if domain.upper < math.inf and domain.lower > -math.inf:
        share = _decades(((12.0, 4 if dense else 1),))
        share = np.concatenate([share[share < 0.1], np.linspace(0.1, 0.9, 65 if dense else 9)])
        found = np.concatenate([lower + (upper - lower) * share, upper - (upper - lower) * share])
    elif domain.lower > -math.inf:
        size = usual - lower if known and usual > lower else max(abs(lower), 1.0)
        found = lower + size * steps
    else:
        size = abs(usual) if known and usual else 1.0
        found = np.concatenate([-size * steps, [0.0], size * steps])
    ends = [lower, upper, usual] if known else [lower, upper]
    return _inside(domain, np.concatenate([found, ends]))


def beyond(domain: Domain, usual: float) -> np.ndarray:
    """Numbers outside a domain, sorted: what an equation may ask for in vain."""
    size = abs(usual) if math.isfinite(usual) and usual else 1.0
    steps = size * _decades(((12.0, 8),))
    ends = [end for end in (domain.lower, domain.upper) if math.isfinite(end)]
    near = [end + sign * steps for end in ends for sign in (1, -1)]
    found = np.unique(np.concatenate([-steps, [0.0], steps, *near, ends]))
    return found[(found <= domain.lower) | (found >= domain.upper)]


def whole_values(domain: Domain, usual: float, points: int = 1, *, iterates: bool) -> np.ndarray:
    """Whole numbers of a domain, sorted: each of the first ones, and then so many in every doubling.

    Parameters
    ----------
    domain : Domain
        Of a whole number.
    usual : float
        A value to look at in any case; nan for none.
    points : int
        Points of the grid that they are looked at for.
    iterates : bool
        Whether a value takes long to look at.
    """
    first = max(domain.lower, -float(LARGEST_INTEGER - 1))
    last = min(domain.upper, float(LARGEST_INTEGER - 1))
    each = EACH if points == 1 and not iterates else min(FEWER, max(LEAST, FEWER * FEW // points))
    found = first + np.arange(min(each, last - first + 1))
    per = PER_DOUBLING if points == 1 else 2
    doublings = np.arange(math.log2(each) * per, 53 * per) / per
    more = np.floor(2.0**doublings)
    ends = [last, usual] if math.isfinite(usual) else [last]
    found = np.unique(np.concatenate([found, more, ends]))
    return found[(found >= first) & (found <= last)]


def _decades(rules: tuple[tuple[float, float], ...]) -> np.ndarray:
    """Powers of ten around one, by how many there are in a decade up to how many decades away."""
    above = [np.zeros(1)]
    start = 0.0
    for end, per in rules:
        count = max(1, round((end - start) * per))
        above.append(start + (end - start) * np.arange(1, count + 1) / count)
        start = end
    exponents = np.concatenate(above)
    return 10.0 ** np.concatenate([-exponents[:0:-1], exponents])


def _inside(domain: Domain, values: np.ndarray) -> np.ndarray:
    """Those of the values that :func:`mlsysim.inputs.convert.check` accepts, sorted, each once."""
    size = np.abs(values)
    held = (values >= domain.lower) & (values <= domain.upper) & ((size >= SMALLEST * (1 + 1e-9)) | (values == 0))
    held &= (size < LARGEST) & ~(domain.open_lower & (values == domain.lower))
    return np.unique(values[held])
