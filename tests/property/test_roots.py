"""The root of any rising function, with kinks, jumps and infinite pieces, is where it crosses zero."""

import math

import numpy as np
from fuzz import fuzzing
from hypothesis import given
from hypothesis import strategies as st

from mlsysim.backends import vector
from mlsysim.graph.operations.root import NEAR, of_floats

#: Functions that never fall, of the distance from a place.
PIECES = {
    "line": lambda d: d,
    "kink": lambda d: np.maximum(d, 0.0),
    "other kink": lambda d: np.minimum(d, 0.0),
    "step": lambda d: np.where(d < 0, -1.0, 1.0),
    "steps": np.floor,
    "cube": lambda d: d**3,
    "root": np.cbrt,
    "growth": lambda d: np.exp(np.minimum(d, 600.0)),
    "saturation": np.tanh,
    "wall": lambda d: np.where(d < 0, 0.0, np.inf),
    "cliff": lambda d: np.where(d < 0, -np.inf, 0.0),
}
PLACES = st.one_of(st.integers(-20, 20).map(float), st.floats(-50, 50, allow_subnormal=False))
WEIGHTS = st.sampled_from([1e-9, 1e-3, 0.5, 1.0, 7.0, 1e6])
SUMS = st.lists(st.tuples(st.sampled_from(sorted(PIECES)), WEIGHTS, PLACES), min_size=1, max_size=5)


def parts(pieces, x):
    """The pieces at a number; of infinities of both signs there is no sum, and the left one counts."""
    with np.errstate(all="ignore"):
        found = [weight * PIECES[kind](np.asarray(x - place)) for kind, weight, place in pieces]
    down = np.any([each == -np.inf for each in found], axis=0)
    return [np.where(down, -np.inf, each) for each in found]


@fuzzing(300)
@given(SUMS, PLACES, st.one_of(st.floats(0, 100, allow_subnormal=False), st.just(math.inf)))
def test_a_root_is_where_the_function_crosses_zero(pieces, lower, width):
    def residual(x):
        return np.sum(parts(pieces, x), axis=0)

    upper = lower + width
    with np.errstate(all="ignore"):
        x = float(vector.root(residual, np.array([lower]), np.array([upper]), ())[0])
        assert x == float(of_floats(residual, lower, upper, ()))
        assert lower <= x <= upper
        near = 2 * NEAR * np.finfo(float).eps * abs(x) + 1e-300
        before, after = float(residual(x - near)), float(residual(x + near))
        rounding = 1e-13 * sum(abs(float(each)) for each in parts(pieces, x) if np.isfinite(each))
    assert x == lower or before <= rounding
    assert x == upper or after >= -rounding
    if x == lower < upper:
        assert after >= -rounding
    if x == upper > lower:
        assert before <= rounding
