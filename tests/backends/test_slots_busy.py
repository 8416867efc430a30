"""SlotsBusy and its derivatives against exact rational sums and many digits, on both backends."""

import itertools
import math
import random
from fractions import Fraction

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from on_jax import evaluate
from sympy.core.function import ArgumentIndexError

from mlsysim.backends import compiled, derivatives, pure_function, slopes
from mlsysim.backends.compiled import compiled_expression
from mlsysim.symbolic import ErlangC, SlotsBusy
from mlsysim.symbolic.functions import SlotsBusySlope

NAMES = ("busy_m", "busy_a", "busy_b", "busy_e", "busy_t")
EPS = np.finfo(float).eps


@pytest.fixture(scope="module")
def symbols(pure):
    return [pure(name) for name in NAMES]


@pytest.fixture(scope="module")
def slots(pure, symbols, system_of):
    """A system that is SlotsBusy and nothing else."""
    return system_of({pure("busy"): SlotsBusy(*symbols)})


@pytest.fixture(params=["numpy", "jax"])
def probability(request, slots):
    """SlotsBusy on rows of arguments, by one backend."""
    if request.param == "jax":
        return lambda rows: evaluate(slots, ["busy"], dict(zip(NAMES, np.array(rows, float).T, strict=True)))["busy"]
    function = compiled(slots)
    return lambda rows: np.array([function(dict(zip(NAMES, map(float, row), strict=True)))["busy"] for row in rows])


@pytest.fixture(params=["numpy", "jax"])
def slope(request, slots, symbols):
    """``slope(rows)``: derivatives by a, b, e and t as columns, by one backend."""
    if request.param == "jax":

        def all_at_once(rows):
            found = slopes(slots, ["busy"], NAMES[1:], dict(zip(NAMES, np.array(rows, float).T, strict=True)))
            return np.array([found[name]["busy"] for name in NAMES[1:]]).T

        return all_at_once
    functions = [compiled_expression(SlotsBusy(*symbols).diff(symbol)) for symbol in symbols[1:]]

    def one_by_one(rows):
        points = [dict(zip(NAMES, map(float, row), strict=True)) for row in rows]
        return np.array([[function(point)["value"] for function in functions] for point in points])

    return one_by_one


def exact(m: int, a: float, b: float, e: int, t: float) -> Fraction:
    """The sum as it is written, in rational arithmetic, at the very doubles the library is given."""
    a, b, t = Fraction(a), Fraction(b), Fraction(t)
    terms = [Fraction(1)]
    for i in range(1, m + 1):
        terms.append(terms[-1] * ((a + b * i) / i) ** e)
    return t * terms[m] / (sum(terms[:m]) + t * terms[m])


def precise(m, a, b, e, t):
    """The same sum at mpmath's working precision; takes mpmath numbers."""
    a, b, e, t = map(mpmath.mpf, (a, b, e, t))
    term, below = mpmath.mpf(1), mpmath.mpf(0)
    for i in range(1, int(m) + 1):
        below += term
        term *= ((a + b * i) / i) ** e
    return t * term / (below + t * term)


def draw(rng, most):
    """Slots from empty to overfull, with and without servers that slow down."""
    m = rng.choice([1, 2, 3, rng.randint(4, most)])
    b = rng.choice([0.0, rng.uniform(0, 1), rng.uniform(0.9, 1), rng.uniform(1, 1.5)])
    a = m * rng.choice([rng.uniform(0.01, 1), abs(1 - b) * rng.uniform(0.7, 1.2), 10 ** rng.uniform(-4, 1)])
    e = rng.choice([1.0, rng.uniform(0.01, 1), rng.uniform(1, 2)])
    return m, max(a, 1e-6), b, e, rng.choice([1.0, 10 ** rng.uniform(-1, 5)])


def worst(rows, found, expected):
    """Largest error in units of the roundings so many products and powers may cost."""
    off = [abs(mpmath.mpf(float(f)) / e - 1) for f, e in zip(found, expected, strict=True)]
    return max(float(o) / (EPS * (4 * row[0] + 16)) for o, row in zip(off, rows, strict=True))


def test_equals_exact_rational_sums(probability):
    rng = random.Random("rational")
    rows = [(m, a, b, rng.choice([1, 1, 2]), t) for m, a, b, _, t in (draw(rng, 120) for _ in range(300))]
    sums = [exact(*row) for row in rows]
    with mpmath.workdps(40):
        expected = [mpmath.mpf(s.numerator) / s.denominator for s in sums]
        seen = [place for place, e in enumerate(expected) if e > 1e-290]
        assert len(seen) > 250
        rows, expected = [rows[i] for i in seen], [expected[i] for i in seen]
        assert worst(rows, probability(rows), expected) <= 1


def test_equals_fifty_digits_with_broken_exponents(probability):
    rng = random.Random("broken")
    rows = [draw(rng, 400) for _ in range(400)]
    with mpmath.workdps(50):
        expected = [precise(*row) for row in rows]
        seen = [place for place, e in enumerate(expected) if e > 1e-290]
        assert len(seen) > 350
        rows, expected = [rows[i] for i in seen], [expected[i] for i in seen]
        assert worst(rows, probability(rows), expected) <= 1


@pytest.mark.long
def test_thousands_of_slots(probability):
    rows = [
        (m, share * m * (1 - b), b, e, 1 / (1 - min(share, 0.99)))
        for m in (1000, 2048, 5000)
        for b in (0.0, 0.3, 0.95, 0.999)
        for share in (0.5, 0.9, 0.999, 1.0, 1.01)
        for e in (0.3, 1.0)
    ]
    with mpmath.workdps(40):
        expected = [precise(*row) for row in rows]
        seen = [place for place, e in enumerate(expected) if e > 1e-290]
        assert len(seen) >= 110
        rows, expected = [rows[i] for i in seen], [expected[i] for i in seen]
        assert worst(rows, probability(rows), expected) <= 1


def test_is_erlang_c_where_servers_do_not_slow_down(probability, pure, system_of):
    c, load = pure("busy_c"), pure("busy_load")
    erlang = compiled(system_of({pure("busy_erlang"): ErlangC(c, load)}))
    points = [(m, m * rho) for m in (1, 2, 5, 33, 200, 1000) for rho in (0.05, 0.5, 0.9, 0.999)]
    rows = [(m, a, 0.0, 1.0, m / (m - a)) for m, a in points]
    expected = np.array([erlang({"busy_c": float(m), "busy_load": a})["busy_erlang"] for m, a in points])
    seen = expected > 1e-290
    assert seen.sum() >= 20
    np.testing.assert_allclose(probability(rows)[seen], expected[seen], rtol=1e-12)


def test_nobody_finds_all_taken_without_arrivals(probability):
    assert probability([(1, 0, 0, 1, 1), (50, 0, 0, 0.3, 7), (5000, 0, 0, 1, 2)]).tolist() == [0, 0, 0]


def test_limits(probability):
    found = probability([(3, 1e200, 0, 1, 1), (3, 1.0, 0.2, 1, 1e15), (3, 1.0, 0.2, 1, 0), (0, 1.0, 0.2, 1, 2.0)])
    assert found.tolist() == pytest.approx([1, 1, 0, 1], abs=1e-14)
    one = [(1, a, b, 1.0, t) for a, b, t in ((0.3, 0.1, 1.0), (0.3, 0.1, 2.5), (5.0, 0.0, 1.0))]
    assert probability(one).tolist() == pytest.approx([t * (a + b) / (1 + t * (a + b)) for _, a, b, _, t in one])


def test_a_probability_too_small_for_a_double_is_next_to_nothing(probability):
    """Sums that overflow are given up, not made infinite over infinite."""
    found = probability([(400, 0.5, 0, 1, 1), (5000, 1, 0.01, 0.9, 3), (1_000_000, 2, 0, 1, 1), (40, 1e-300, 0, 1, 1)])
    assert np.all((found >= 0) & (found < 1e-290))


@pytest.mark.long
def test_more_arrivals_take_more_slots(probability):
    a = np.linspace(0.1, 12, 60)
    assert np.all(np.diff(probability([(8, x, 0.3, 0.7, 2.0) for x in a])) > 0)
    assert np.all(np.diff(probability([(8, 2.0, x, 0.7, 2.0) for x in np.linspace(0, 1.2, 60)])) > 0)
    assert np.all(np.diff(probability([(8, 2.0, 0.3, 0.7, x) for x in np.linspace(0.1, 50, 60)])) > 0)
    assert np.all(np.diff(probability([(m, 2.0, 0.3, 0.7, 2.0) for m in range(1, 60)])) < 0)


# --- derivatives ----------------------------------------------------------------------------------


def precise_slopes(row):
    """Central differences at 90 digits, by a, b, e and t."""
    with mpmath.workdps(90):
        found = []
        for place in range(1, 5):
            step = mpmath.mpf(10) ** -35 * max(mpmath.mpf(row[place]), mpmath.mpf("0.01"))
            above, below = list(row), list(row)
            above[place], below[place] = mpmath.mpf(row[place]) + step, mpmath.mpf(row[place]) - step
            found.append(float((precise(*above) - precise(*below)) / (2 * step)))
        return found


@pytest.fixture(scope="module")
def slope_points():
    rng = random.Random("slopes")
    rows = [draw(rng, 60) for _ in range(120)] + [(500, 150.0, 0.65, 0.8, 20.0), (300, 40.0, 0.2, 1.0, 1.1)]
    return rows, np.array([precise_slopes(row) for row in rows])


def test_derivatives_equal_central_differences(slope, slope_points):
    rows, expected = slope_points
    found = slope(rows)
    seen = np.abs(expected) > 1e-280
    assert np.all(seen.sum(axis=0) > 100)
    # By the exponent, terms of either sign cancel: compared beside the largest slope of the point.
    beside = 1e-12 * np.abs(expected).max(axis=1, keepdims=True)
    np.testing.assert_array_less(np.abs(found - expected)[seen], (1e-10 * np.abs(expected) + beside)[seen])


def test_derivatives_of_tiny_probabilities_do_not_overflow(slope):
    """Down to 1e-299, where squares of the sum overflow and terms times 1/a would."""
    rows = [(90, 0.02, 0.0, 1.0, 1.5), (30, 3e-9, 0.0, 1.0, 1.0), (29, 1e-9, 1e-12, 1.0, 2.0)]
    with mpmath.workdps(30):
        sizes = [float(mpmath.log10(precise(*row))) for row in rows]
    assert all(-299 < size < -155 for size in sizes)
    found, expected = slope(rows), np.array([precise_slopes(row) for row in rows])
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_derivatives_are_zero_without_arrivals_and_finite_where_sums_are_given_up(slope):
    assert not slope([(1, 0, 0, 1, 1), (50, 0, 0, 0.3, 7)]).any()
    found = slope([(400, 0.5, 0, 1, 1), (5000, 1, 0.01, 0.9, 3), (40, 1e-300, 0, 1, 1), (33, 1e-10, 0, 1, 1)])
    assert np.all(np.isfinite(found))


def test_the_number_of_slots_has_no_derivative(symbols):
    with pytest.raises(ArgumentIndexError, match="argument number 1"):
        SlotsBusy(*symbols).fdiff(1)
    assert SlotsBusy(*symbols).diff(symbols[1]) == SlotsBusySlope(2, *symbols)


def test_chain_rule_by_sympy(symbols):
    m, a, b, e, t = symbols
    function = compiled_expression(SlotsBusy(m, a**2, a * b, 1 / e, t).diff(a))
    found = function(dict(zip(NAMES, (12.0, 1.7, 0.2, 1.9, 3.0), strict=True)))["value"]
    with mpmath.workdps(60):
        expected = mpmath.diff(lambda x: precise(12, x * x, x * mpmath.mpf(0.2), 1 / mpmath.mpf(1.9), 3), 1.7)
    assert found == pytest.approx(float(expected), rel=1e-12)


@pytest.mark.long
def test_reverse_mode_equals_forward_mode(slots):
    pure = pure_function(slots, ("busy",))
    row = (24.0, 4.0, 0.7, 0.8, 5.0)
    with jax.enable_x64(True):
        found = jax.grad(lambda *args: pure(dict(zip(NAMES, args, strict=True)))["busy"], argnums=(1, 2, 3, 4))(*row)
        given = dict(zip(NAMES, row, strict=True))
        along = jax.jit(jax.vmap(jax.grad(lambda a: pure({**given, "busy_a": a})["busy"])))(jnp.array([0.5, 4.0, 40.0]))
    np.testing.assert_allclose(found, precise_slopes(row), rtol=1e-11)
    np.testing.assert_allclose(along, [precise_slopes((24, a, *row[2:]))[0] for a in (0.5, 4.0, 40.0)], rtol=1e-11)


@pytest.mark.long
def test_second_derivative_forward_over_reverse(slots):
    pure = pure_function(slots, ("busy",))

    def by_a(a):
        return pure({"busy_m": 6.0, "busy_a": a, "busy_b": 0.4, "busy_e": 0.9, "busy_t": 2.0})["busy"]

    with jax.enable_x64(True):
        found = float(jax.hessian(by_a)(1.5))
    with mpmath.workdps(80):
        expected = float(mpmath.diff(lambda a: precise(6, a, 0.4, 0.9, 2.0), 1.5, 2))
    assert found == pytest.approx(expected, rel=1e-11)


def test_second_derivatives_by_every_pair(slots):
    """Against sums of many digits; the derivative by the slots, which are whole, is left out."""
    for row in ((6.0, 1.5, 0.4, 0.9, 2.0), (40.0, 9.0, 0.1, 1.3, 0.2), (3.0, 0.2, 1.4, 0.5, 30.0)):
        found = derivatives(slots, ["busy"], NAMES[1:], dict(zip(NAMES, row, strict=True)), 2)["busy"]
        for first, second in itertools.combinations_with_replacement(range(1, 5), 2):

            def at(x, y, row=row, first=first, second=second):
                moved = [mpmath.mpf(value) for value in row]
                moved[first] += x
                moved[second] += y
                return precise(int(row[0]), *moved[1:])

            with mpmath.workdps(80):
                expected = float(mpmath.diff(at, (0, 0), (1, 1)))
            assert found[NAMES[first], NAMES[second]] == pytest.approx(expected, rel=1e-11), (row, first, second)
            assert found[NAMES[second], NAMES[first]] == pytest.approx(expected, rel=1e-11)


@pytest.mark.long
def test_single_precision_stays_finite(slots):
    pure = pure_function(slots, ("busy",))
    function, gradient = jax.jit(pure), jax.grad(lambda values: pure(values)["busy"])
    rows = [(1, 0.3, 0, 1, 1), (32, 5, 0.75, 0.7, 9), (64, 0.05, 0.1, 1, 1), (2000, 100, 0.9, 1, 4)]
    rows += [(40, 1e-9, 0, 1, 1), (18, 0.05, 0.001, 1, 1)]
    for row in rows:
        values = dict(zip(NAMES, map(jnp.float32, row), strict=True))
        found = function(values)["busy"]
        assert found.dtype == jnp.float32
        rounded = [float(value) for value in values.values()]
        with mpmath.workdps(30):
            expected = float(precise(*rounded))
        assert float(found) == pytest.approx(expected, rel=2e-4, abs=1e-29)
        along = gradient(values)
        assert all(value.dtype == jnp.float32 and math.isfinite(value) for value in along.values())
        for name, exact_slope in zip(NAMES[1:], precise_slopes(rounded), strict=True):
            assert float(along[name]) == pytest.approx(exact_slope, rel=2e-3, abs=1e-18)
