"""The functions of compiled code give the same on scalars, on NumPy arrays and on JAX arrays."""

import math
from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlsysim.backends import arrays, floats, vector
from mlsysim.graph import TABLE

loads = st.floats(0.0, 60.0, allow_subnormal=False)
normal = partial(st.floats, allow_subnormal=False)  # XLA takes subnormal numbers for zero
slots = st.tuples(st.integers(0, 64), loads, normal(0, 2), normal(0.2, 1.5), normal(0, 40))
settled = settings(deadline=None, max_examples=50)
BY_FLOATS, BY_ARRAYS = floats.namespace()["least_integer"], vector.NAMESPACE["least_integer"]
#: Numbers of elements are few, so that JAX compiles a loop for few shapes.
LENGTH = 8


def columns(rows):
    """Rows of one length, repeated up to it, as columns."""
    return np.resize(np.array(rows, float), (LENGTH, len(rows[0]))).T


def by_scalars(name, *inputs):
    with np.errstate(all="ignore"):
        return np.array([floats.namespace()[name](*map(float, row)) for row in zip(*inputs, strict=True)])


def by_numpy(name, *inputs):
    with np.errstate(all="ignore"):
        return np.asarray(vector.NAMESPACE[name](*inputs))


@cache
def jitted(name, *first):
    """The function compiled once, as a loop would be compiled again at every call."""
    if name == "least_integer":
        return jax.jit(lambda limit, *given: arrays.namespace()["least_integer"](*first, limit, given))
    return jax.jit(partial(arrays.namespace()[name], *first))


def by_jax(name, *inputs, first=()):
    with jax.enable_x64(True):
        return np.asarray(jitted(name, *first)(*(jnp.asarray(value, jnp.float64) for value in inputs)))


def check(name, *inputs, rtol=0.0, atol=0.0):
    """All three backends, each against the first."""
    expected = by_scalars(name, *inputs)
    for found in (by_numpy(name, *inputs), by_jax(name, *inputs)):
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)
    return expected


@settled
@given(st.lists(st.tuples(st.integers(1, 80), loads), min_size=1, max_size=LENGTH))
def test_erlang_c(cases):
    check("erlang_c", *columns(cases), rtol=1e-13)


@settled
@given(st.lists(slots, min_size=1, max_size=LENGTH))
def test_slots_busy(cases):
    check("slots_busy", *columns(cases), rtol=1e-12, atol=1e-300)


@pytest.mark.long
@settings(deadline=None, max_examples=25)
@given(st.integers(2, 5), st.lists(slots, min_size=1, max_size=LENGTH))
def test_slots_busy_slope(which, cases):
    inputs = columns(cases)
    with np.errstate(all="ignore"):
        expected = np.array([floats.namespace()["slots_busy_slope"](which, *map(float, row)) for row in inputs.T])
    by_xla = by_jax("slots_busy_slope", *inputs, first=(which,))
    for found in (vector.NAMESPACE["slots_busy_slope"](which, *inputs), by_xla):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-290)


def enough(n, x):
    return n >= x


@settled
@given(st.lists(st.tuples(st.floats(0.1, 5000), st.integers(1, 4096)), min_size=1, max_size=LENGTH))
def test_least_integer(cases):
    needed, limit = columns(cases)
    rows = zip(needed, limit, strict=True)
    expected = [BY_FLOATS(enough, top, (x,)) for x, top in rows]
    assert expected == [math.ceil(x) if math.ceil(x) <= top else math.inf for x, top in zip(needed, limit, strict=True)]
    assert BY_ARRAYS(enough, limit, (needed,)).tolist() == expected
    assert by_jax("least_integer", limit, needed, first=(enough,)).tolist() == expected


@settled
@given(
    st.lists(
        st.tuples(st.floats(0.1, 5000), st.integers(1, 4096), st.sampled_from([1.0, 0.999, 0.3, 0.0, -2.0, math.nan])),
        min_size=1,
        max_size=LENGTH,
    )
)
def test_a_least_integer_beyond_a_number(cases):
    needed, limit, share = columns(cases)
    beyond = share * needed
    rows = zip(needed, limit, beyond, strict=True)
    expected = [BY_FLOATS(enough, top, (x,), low) for x, top, low in rows]
    assert expected == np.where(np.ceil(needed) <= limit, np.ceil(needed), math.inf).tolist()
    assert BY_ARRAYS(enough, limit, (needed,), beyond).tolist() == expected
    with jax.enable_x64(True):
        assert beyond_by_jax(limit, needed, beyond).tolist() == expected


beyond_by_jax = jax.jit(
    lambda limit, needed, beyond: arrays.namespace()["least_integer"](enough, limit, (needed,), beyond)
)


def test_nothing_lies_beyond_infinity():
    assert BY_FLOATS(enough, 1024.0, (math.inf,), math.inf) == math.inf
    assert BY_ARRAYS(enough, 1024.0, (math.inf,), math.inf) == math.inf


@pytest.mark.long
def test_a_condition_that_is_the_same_for_every_number():
    limit = np.array([1.0, 3.0, 64.0])
    for answer, expected in ((True, [1, 1, 1]), (False, [math.inf] * 3)):
        assert BY_ARRAYS(lambda n, answer=answer: answer, limit, ()).tolist() == expected
        assert [BY_FLOATS(lambda n, answer=answer: answer, top, ()) for top in limit] == expected
        with jax.enable_x64(True):
            found = arrays.namespace()["least_integer"](lambda n, answer=answer: answer, jnp.asarray(limit), ())
        assert found.tolist() == expected


@pytest.mark.parametrize("name", ["ceil", "floor"])
def test_roundings(name):
    x = np.array([0.0, 2.5, -2.5, 3.0, 3.0000000000000004, 2.9999999999999996, 3.0001, 1e300, np.inf, -np.inf, np.nan])
    expected = check(name, x)
    assert expected[3:6].tolist() == [3, 3, 3]
    assert expected[6] == (4 if name == "ceil" else 3)


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_extremes_keep_what_is_not_a_number(name):
    pairs = np.array([(1, 2), (2, 1), (1, 1), (np.nan, 1), (1, np.nan), (np.inf, 1), (-np.inf, np.nan)], float).T
    expected = check(name, *pairs)
    np.testing.assert_array_equal(expected, getattr(np, name)(*pairs))


def test_powers_that_overflow_are_infinite_and_no_error():
    """Python floats refuse them, arrays do not."""
    tiny = np.array([(40, 1e-300, 0, 3.0, 1.0)]).T
    assert check("slots_busy", *tiny).tolist() == [0.0]


def test_infinite_arrivals_take_all_slots():
    """A sum never starts from a product with infinity, which is not a number."""
    endless = columns([(3, np.inf, 0, 1, 1), (3, 1, np.inf, 1, 1), (3, np.inf, 0.2, 0.7, 4)])
    assert set(check("slots_busy", *endless)) == {1.0}


def test_a_least_integer_without_a_limit():
    needed, limit = columns([(5, np.inf), (1, np.inf), (1000, np.inf)])
    expected = [BY_FLOATS(enough, top, (x,)) for x, top in zip(needed, limit, strict=True)]
    assert expected == needed.tolist()
    assert BY_ARRAYS(enough, limit, (needed,)).tolist() == expected
    assert by_jax("least_integer", limit, needed, first=(enough,)).tolist() == expected


def test_extremes_of_whole_numbers_divide_by_zero_like_floats():
    with np.errstate(divide="ignore"):
        assert 1 / vector.NUMBERS["maximum"](0, 0) == math.inf


def test_every_backend_knows_the_same_functions():
    picks = {"answer", "attained", "answer_slope", "chunked"}  # of a law that is solved
    called = {name for name, each in TABLE.items() if each.partials is not None and not each.text} - picks
    for namespace in (vector.NAMESPACE, vector.NUMBERS, arrays.namespace()):
        assert called | {"inf", "nan", "chunked_prefill", "ceil", "floor", "root", "least_integer"} <= {*namespace}
