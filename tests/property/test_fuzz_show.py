"""Tables print whatever they are given, or refuse it."""

import math
from fractions import Fraction

import numpy as np
import pint
from fuzz import fuzzing
from hypothesis import given
from hypothesis import strategies as st

from mlsysim import Q_, formatting, units
from mlsysim.errors import MlsysimError
from mlsysim.show import render

FOREIGN = pint.UnitRegistry()
CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.text(st.characters(blacklist_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=12),
    st.integers(),
    st.floats(),
    st.fractions(),
    st.decimals(allow_nan=False),
    st.complex_numbers(),
    st.floats(width=32).map(np.float32),
    st.integers(-5, 5).map(np.int8),
    st.builds(
        Q_, st.one_of(st.integers(-1000, 1000), st.floats()), st.sampled_from(["GB", "ms", "GB/s", "token", "", "%"])
    ),
    st.builds(Q_, st.fractions(), st.sampled_from(["GB", "ms"])),
    st.builds(FOREIGN.Quantity, st.floats(), st.sampled_from(["GB", "s", "meter", "degC"])),
    st.lists(st.floats(), max_size=3).map(lambda values: Q_(np.array(values), "GB")),
    st.lists(st.integers(), max_size=2),
    st.binary(max_size=5),
)


@fuzzing(500)
@given(st.lists(CELLS, max_size=4), st.lists(st.lists(CELLS, max_size=4), max_size=4))
def test_any_table(headers, rows):
    try:
        text = render(headers, rows)
    except MlsysimError:
        return
    assert all(len(row) == len(headers) for row in rows)
    assert len(text.split("\n")) == 2 + len(rows)


@fuzzing(500)
@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(CELLS, min_size=n, max_size=n), min_size=1, max_size=4)))
def test_columns_stand_under_each_other(rows):
    """Every column but the first ends where its header ends."""
    headers = [f"column {place}" for place in range(len(rows[0]))]
    try:
        text = render(headers, rows)
    except MlsysimError:
        return
    head, rule, *_ = text.split("\n")
    assert max(len(line) for line in text.split("\n")) == len(rule)
    if len(headers) > 1:
        assert len(head) == len(rule)


@fuzzing(1000)
@given(st.one_of(st.floats(), st.integers(), st.fractions(), st.floats(width=32).map(np.float32)))
def test_a_number_reads_back_as_itself_to_three_digits(value):
    text = formatting.number(value)
    if isinstance(value, float | np.floating) and not math.isfinite(value):
        assert text in ("nan", "∞", "-∞")
        return
    if isinstance(value, int):
        assert int(text) == value
        return
    exact = Fraction(value) if isinstance(value, Fraction) else Fraction(float(value))
    error = abs(Fraction(text) - exact)
    size = abs(exact)
    if size >= 10**6 or 0 < size < Fraction(5, 10**4):
        assert error <= size * Fraction(6, 10**4)
    else:
        half = Fraction(1, 20) if size >= 100 else Fraction(1, 200) if size >= 1 else Fraction(1, 2000)
        assert error <= half * Fraction(1_000_001, 1_000_000)


@fuzzing(500)
@given(
    st.floats(allow_nan=False), st.sampled_from(["GB", "ms", "TFLOP/s", "GB/s", "FLOP", "W", "token", "kB/token", ""])
)
def test_a_fitting_unit_has_the_dimension_and_reads_well(value, unit):
    found = units.fitting(value, unit)
    assert units.dimension(found) == units.dimension(unit)
    if found != unit and math.isfinite(value) and 1e-9 <= abs(value) < 1e15:
        assert abs(value) / units.factor(found) >= 0.9 or found in ("B", "ns", "W", "FLOP", "B/s", "FLOP/s")
