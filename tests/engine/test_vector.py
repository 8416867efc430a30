"""NumPy arrays give what NumPy scalars give."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlsysim.engine import scalar, vector

loads = st.floats(0.0, 60.0, allow_subnormal=False)


@given(st.lists(st.tuples(st.integers(1, 80), loads), min_size=1, max_size=20))
def test_erlang_c_element_by_element(cases):
    servers, load = np.array(cases).T
    with np.errstate(all="ignore"):
        expected = [scalar.erlang_c(s, a) for s, a in zip(servers, load, strict=True)]
        np.testing.assert_allclose(vector.erlang_c(servers, load), expected, rtol=1e-13)


@given(
    st.lists(
        st.tuples(st.integers(1, 64), loads, st.floats(0, 2), st.floats(0.2, 1.5), st.floats(0, 40)),
        min_size=1,
        max_size=20,
    )
)
def test_busy_slots_element_by_element(cases):
    columns = np.array(cases).T
    with np.errstate(all="ignore"):
        expected = [scalar.slots_busy(*map(np.float64, row)) for row in columns.T]
    np.testing.assert_allclose(vector.slots_busy(*columns), expected, rtol=1e-10, atol=1e-300)


@given(st.lists(st.tuples(st.floats(0.1, 5000), st.integers(1, 4096)), min_size=1, max_size=20))
def test_least_integers_element_by_element(cases):
    needed, limit = np.array(cases).T
    expected = [scalar.least_integer(lambda n, x: n >= x, top, (x,)) for x, top in zip(needed, limit, strict=True)]
    assert vector.least_integer(lambda n, x: n >= x, limit, (needed,)).tolist() == expected


@pytest.mark.parametrize("name", sorted(scalar.NAMESPACE))
def test_knows_every_function_of_compiled_code(name):
    assert name in vector.NAMESPACE
