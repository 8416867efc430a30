"""Erlang C and its derivative against exact rational sums and fifty digits, on both backends."""

import math
from fractions import Fraction
from itertools import pairwise

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from on_jax import evaluate
from scipy import special
from sympy.core.function import ArgumentIndexError

from mlsysim.backends import compiled, pure_function, slopes
from mlsysim.backends.compiled import compiled_expression
from mlsysim.graph.floats import LARGEST
from mlsysim.symbolic import ErlangC
from mlsysim.symbolic.functions import ErlangCSlope
from mlsysim.symbols.serving import c, load, wait_probability

UTILIZATIONS = (0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.999, 0.9999)
SMALL = [(servers, rho) for servers in (1, 2, 3, 5, 10, 33, 64, 101, 200) for rho in UTILIZATIONS]
LARGE = [(servers, rho) for servers in (500, 1024, 2000, 5000) for rho in UTILIZATIONS]
EPS = np.finfo(float).eps


@pytest.fixture(scope="module")
def waiting(system_of):
    """A system that is Erlang C and nothing else."""
    return system_of({wait_probability: ErlangC(c, load)})


@pytest.fixture(params=["numpy", "jax"])
def probability(request, waiting):
    """Erlang C on arrays of servers and loads, by one backend; XLA compiles short arrays as one length."""
    if request.param == "jax":

        def at_once(servers, loads):
            more = (0, max(0, len(SMALL) - len(servers)))
            given = {"replicas": np.pad(servers, more, "edge"), "offered_load": np.pad(loads, more, "edge")}
            return evaluate(waiting, ["wait_probability"], given)["wait_probability"][: len(servers)]

        return at_once
    function = compiled(waiting)

    def one_by_one(servers, loads):
        points = zip(servers, loads, strict=True)
        return np.array([function({"replicas": n, "offered_load": a})["wait_probability"] for n, a in points])

    return one_by_one


def exact(servers: int, offered: float) -> Fraction:
    """The textbook sum in rational arithmetic, at the very double that the library is given."""
    a = Fraction(offered)
    term, below = Fraction(1), Fraction(0)
    for k in range(servers):
        below += term
        term *= a / (k + 1)
    last = term * servers / (servers - a)
    return last / (below + last)


def precise(servers, offered, digits: int = 50):
    """The same with many digits, by the recurrence of Erlang B; takes mpmath numbers as loads."""
    with mpmath.workdps(digits):
        a, blocking = mpmath.mpf(offered), mpmath.mpf(1)
        for k in range(1, servers + 1):
            blocking = a * blocking / (k + a * blocking)
        return servers * blocking / (servers - a * (1 - blocking))


def worst(found, expected, servers):
    """Largest error in units of the rounding that so many products and sums may cost."""
    off = [abs(mpmath.mpf(float(f)) / mpmath.mpf(e) - 1) for f, e in zip(found, expected, strict=True)]
    return max(float(o) / (EPS * (2 * n + 8)) for o, n in zip(off, servers, strict=True))


def test_equals_exact_rational_sums_up_to_200_servers(probability):
    servers = [n for n, _ in SMALL]
    loads = [n * rho for n, rho in SMALL]
    expected = [exact(n, a) for n, a in zip(servers, loads, strict=True)]
    with mpmath.workdps(40):
        expected = [mpmath.mpf(e.numerator) / e.denominator for e in expected]
        seen = [e > 1e-290 for e in expected]
        assert sum(seen) > 75
        found = probability(np.array(servers, float), np.array(loads))
        assert worst(found[seen], [e for e, s in zip(expected, seen, strict=True) if s], np.array(servers)[seen]) <= 1


def test_equals_fifty_digits_up_to_5000_servers(probability):
    servers = np.array([n for n, _ in LARGE], float)
    loads = np.array([n * rho for n, rho in LARGE])
    expected = [precise(int(n), a) for n, a in zip(servers, loads, strict=True)]
    seen = np.array([e > 1e-290 for e in expected])
    assert seen.sum() >= 18
    found = probability(servers, loads)
    assert worst(found[seen], [e for e, s in zip(expected, seen, strict=True) if s], servers[seen]) <= 1
    assert np.all((found[~seen] > 0) & (found[~seen] <= 1e-285))


def test_equals_scipy_at_random_points(probability):
    """Erlang B is the ratio of a Poisson probability to its distribution function."""
    rng = np.random.default_rng(1)
    servers = rng.integers(1, 400, 2000).astype(float)
    loads = servers * rng.uniform(0.3, 0.999, 2000)
    mass = np.exp(special.xlogy(servers, loads) - loads - special.gammaln(servers + 1))
    blocking = mass / special.pdtr(servers, loads)
    expected = servers * blocking / (servers - loads * (1 - blocking))
    np.testing.assert_allclose(probability(servers, loads), expected, rtol=2e-11)


def test_one_server_waits_as_often_as_it_is_busy(probability):
    rho = np.linspace(0.001, 0.999, 57)
    np.testing.assert_allclose(probability(np.ones_like(rho), rho), rho, rtol=4 * EPS)


def test_more_servers_wait_less_and_more_load_waits_more(probability):
    servers = np.arange(8, 60, dtype=float)
    by_servers = probability(servers, np.full_like(servers, 7.5))
    assert all(more < less for less, more in pairwise(by_servers))
    loads = np.linspace(0.5, 7.99, 60)
    assert np.all(np.diff(probability(np.full_like(loads, 8.0), loads)) > 0)


def test_everyone_waits_where_the_queue_is_not_stable(probability):
    """So rounding at the edge of stability (arrivals below capacity, load not) cannot make it not a number."""
    found = probability(np.array([3.0, 3.0, 3.0, 1.0]), np.array([3.0, 3.5, np.inf, 1e30]))
    assert found.tolist() == [1, 1, 1, 1]
    assert probability(np.array([3.0]), np.array([np.nextafter(3.0, 0)]))[0] == pytest.approx(1, rel=1e-14)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan])
def test_is_not_a_number_without_load(probability, bad):
    assert np.isnan(probability(np.array([3.0]), np.array([bad])))[0]


def test_a_probability_too_small_for_a_double_is_held_above_zero(probability):
    """Its logarithm, which the wait is made of, then stays finite."""
    found = probability(np.array([400.0, 5000.0, 1_000_000.0]), np.array([0.5, 1.0, 2.0]))
    assert np.all((found >= 1 / LARGEST) & (found < 1e-299))


# --- derivative -----------------------------------------------------------------------------------

SLOPES = [(n, rho) for n in (1, 2, 5, 20, 100, 500) for rho in (0.05, 0.3, 0.6, 0.9, 0.99, 0.9999)]


def precise_slope(servers: int, offered: float):
    with mpmath.workdps(120):
        step = mpmath.mpf(offered) * mpmath.mpf(10) ** -40
        above = precise(servers, mpmath.mpf(offered) + step, 120)
        return (above - precise(servers, mpmath.mpf(offered) - step, 120)) / (2 * step)


@pytest.fixture(scope="module")
def slope_points():
    points = [(n, n * rho) for n, rho in SLOPES]
    expected = np.array([float(precise_slope(n, a)) for n, a in points])
    seen = expected > 1e-280
    assert seen.sum() > 32
    return np.array([n for n, _ in points], float)[seen], np.array([a for _, a in points])[seen], expected[seen]


def test_closed_form_of_the_derivative(slope_points):
    servers, loads, expected = slope_points
    function = compiled_expression(ErlangC(c, load).diff(load))
    assert ErlangC(c, load).diff(load) == ErlangCSlope(c, load)
    found = [function({"replicas": n, "offered_load": a})["value"] for n, a in zip(servers, loads, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_derivative_by_jax(slope_points, waiting):
    servers, loads, expected = slope_points
    found = slopes(waiting, ["wait_probability"], ["offered_load"], {"replicas": servers, "offered_load": loads})
    np.testing.assert_allclose(found["offered_load"]["wait_probability"], expected, rtol=1e-9)


@pytest.mark.long
def test_reverse_mode_and_second_derivative(waiting):
    pure = pure_function(waiting, ("wait_probability",))

    def probability(a):
        return pure({"replicas": jnp.asarray(5.0), "offered_load": a})["wait_probability"]

    with jax.enable_x64(True):
        first = float(jax.grad(probability)(3.5))
        second = float(jax.grad(jax.grad(probability))(3.5))
    with mpmath.workdps(60):
        assert first == pytest.approx(float(mpmath.diff(lambda a: precise(5, a, 200), 3.5)), rel=1e-12)
        assert second == pytest.approx(float(mpmath.diff(lambda a: precise(5, a, 200), 3.5, 2)), rel=1e-10)


def test_the_number_of_servers_has_no_derivative():
    with pytest.raises(ArgumentIndexError, match="argument number 1"):
        ErlangC(c, load).fdiff(1)


def test_slope_is_zero_where_everyone_waits(waiting):
    point = {"replicas": np.array([3.0, 3.0]), "offered_load": np.array([3.0, 4.0])}
    found = slopes(waiting, ["wait_probability"], ["offered_load"], point)
    assert found["offered_load"]["wait_probability"].tolist() == [0, 0]


def test_single_precision_stays_finite(waiting):
    servers = np.array([1, 5, 100, 2000, 5000], np.float32)
    pure = jax.jit(pure_function(waiting, ("wait_probability",)))
    for rho in (0.01, 0.5, 0.99):
        found = pure({"replicas": servers, "offered_load": servers * np.float32(rho)})["wait_probability"]
        assert found.dtype == jnp.float32
        expected = [float(precise(int(n), float(n * np.float32(rho)))) for n in servers]
        seen = np.array(expected) > 1e-29
        assert np.all(np.isfinite(found))
        assert np.all(np.asarray(found) > 0)
        np.testing.assert_allclose(np.asarray(found)[seen], np.array(expected)[seen], rtol=2e-4)
