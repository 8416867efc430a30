"""The search behind Root against scipy's, on every backend; its slopes; one inside another."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy
from on_jax import evaluate
from scipy.optimize import brentq
from scipy.stats import norm

from mlsysim.backends import arrays, compiled, pure_function, slopes, vector
from mlsysim.backends.compiled import graph_of
from mlsysim.backends.pure import iterates
from mlsysim.backends.slopes import derivatives
from mlsysim.graph.operations import root as of_root
from mlsysim.graph.operations.normal import normal_quantile
from mlsysim.graph.operations.root import NEAR
from mlsysim.graph.passes import cost
from mlsysim.symbolic import Max, NormalCDF, NormalQuantile, Root, evaluated_at, when

COUNT = 400
RNG = np.random.default_rng(11)
A, B, C = (10 ** RNG.uniform(*ends, COUNT) for ends in ((-2, 3), (-0.7, 0.7), (-3, 1)))

#: Rising functions of x and three parameters, an upper end, and how many evaluations a point may take on average.
RISING = {
    "line": (lambda x, a, b, c: c * x - a, 1e9, 7),
    "power": (lambda x, a, b, c: x**b - a, 1e12, 20),
    "exponential": (lambda x, a, b, c: np.exp(np.minimum(b * x, 700.0)) - 1 - a, 50.0, 16),
    "pole": (lambda x, a, b, c: x / (1 - x) - a, 1.0, 18),
    "kink": (lambda x, a, b, c: x - c * np.maximum(a, 0.9 * x / (1 + c)), 1e9, 8),
    "little": (lambda x, a, b, c: x - a * c * np.sqrt(1 + b * x), 1e9, 14),
    "throughput": (lambda x, a, b, c: x / (c + np.maximum(0.01, 1e-3 * x) + 1e-4 * x) - 100 * a / (a + 1), 1e6, 16),
    "cubic": (lambda x, a, b, c: (x - b) ** 3, 10.0, 60),
}
#: Functions that jump or are infinite, with the place of the crossing.
JUMPING = {
    "steps": (lambda x, a, b, c: np.floor(x) - np.floor(a) + 0.5, lambda a, b, c: np.floor(a)),
    "wall": (lambda x, a, b, c: np.where(x < a, -c, math.inf), lambda a, b, c: a),
    "cliff": (lambda x, a, b, c: np.where(x < a, -math.inf, c), lambda a, b, c: a),
    "flat": (lambda x, a, b, c: np.where(x < a, -1.0, 1.0), lambda a, b, c: a),
    "huge": (lambda x, a, b, c: np.where(x < b, x - b - 1e-9, x * 1e250), lambda a, b, c: b),
}


def accuracy(name):
    """How near the numbers on both sides of a root are; rounding moves the root of a cube by its third root."""
    return 1e-5 if name == "cubic" else 2 * NEAR * np.finfo(float).eps


def by_scipy(residual, end, row):
    if residual(np.float64(end), *row) < 0:
        return end
    return brentq(lambda x: residual(np.float64(x), *row), 0.0, end, xtol=1e-300, rtol=1e-15, maxiter=9999)


def by_numpy(residual, lower, upper):
    return vector.root(residual, lower, upper, (A, B, C))


def by_scalars(residual, lower, upper):
    with np.errstate(all="ignore"):
        return np.array([vector.root(residual, lower, upper, row) for row in zip(A, B, C, strict=True)])


@pytest.mark.parametrize(
    ("name", "upper"),
    [(name, upper) for name in RISING for upper in ("finite", "infinite") if (name, upper) != ("pole", "infinite")],
)
def test_a_root_is_that_of_scipy(name, upper):
    residual, end, most = RISING[name]
    evaluated = []

    def counted(x, *given):
        evaluated.append(np.size(x))
        return residual(x, *given)

    found = by_numpy(counted, 0.0, end if upper == "finite" else math.inf)
    assert sum(evaluated) / COUNT < most
    with np.errstate(all="ignore"):
        expected = [by_scipy(residual, end, row) for row in zip(A, B, C, strict=True)]
    np.testing.assert_allclose(np.minimum(found, end), expected, rtol=accuracy(name))


@pytest.mark.parametrize("upper", [2e3, math.inf])
@pytest.mark.parametrize("name", JUMPING)
def test_the_crossing_of_a_function_that_jumps(name, upper):
    residual, crossing = JUMPING[name]
    np.testing.assert_allclose(by_numpy(residual, 0.0, upper), crossing(A, B, C), rtol=accuracy(name), atol=1e-280)


@pytest.mark.parametrize("name", [*RISING, *JUMPING])
def test_one_point_at_a_time_gives_the_same(name):
    residual, end = RISING[name][:2] if name in RISING else (JUMPING[name][0], math.inf)
    np.testing.assert_allclose(by_scalars(residual, 0.0, end), by_numpy(residual, 0.0, end), rtol=accuracy(name))


def line(x, a, b, c):
    return c * x - a


def test_an_end_is_the_root_where_there_is_none_between():
    assert vector.root(line, 5.0, 9.0, (1.0, 0.0, 1.0)) == 5
    assert vector.root(line, 5.0, 9.0, (5.0, 0.0, 1.0)) == 5
    assert vector.root(line, 5.0, 9.0, (20.0, 0.0, 1.0)) == 9
    assert vector.root(line, 5.0, 5.0, (20.0, 0.0, 1.0)) == 5
    assert vector.root(line, 5.0, math.inf, (1.0, 0.0, -1.0)) == math.inf
    assert vector.root(line, -9.0, -5.0, (-7.0, 0.0, 1.0)) == -7
    with np.errstate(all="ignore"):
        assert of_root.of_floats(line, -9.0, 9.0, (0.0, 0.0, 1.0)) == 0
        assert of_root.of_floats(line, 5, math.inf, tuple(np.float64([1, 0, -1]))) == math.inf


def test_a_function_that_is_no_number_has_no_root_unless_an_end_is_one():
    nowhere = (lambda x: x * math.nan, lambda x: np.where(x > 3, x - 3.5, math.nan))
    for residual, found in itertools.product(nowhere, (vector.root, np.errstate(all="ignore")(of_root.of_floats))):
        assert math.isnan(found(residual, np.float64(0), np.float64(4), ()))
    assert vector.root(lambda x: np.where(x > 0, x - 1, math.nan), 0.0, 9.0, ()) == pytest.approx(1, rel=1e-13)
    assert vector.root(lambda x: np.where(x < 9, x - 1, math.nan), 0.0, 9.0, ()) == pytest.approx(1, rel=1e-13)
    assert math.isnan(vector.root(lambda x: x - 1, math.nan, 9.0, ()))


def test_each_point_has_its_own_ends():
    ends = np.array([[0.0, 5.0, 0.0], [9.0, 9.0, 1.0]])
    np.testing.assert_allclose(
        vector.root(lambda x, a: x - a, *ends, (np.array([[3.0], [7.0]]),)), [[3, 5, 1], [7, 7, 1]]
    )


# --- compiled -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def v(pure):
    names = ("arriving", "base", "slope", "limit", "number", "time", "twice")
    return {name: pure(f"found_{name}") for name in names}


@pytest.fixture(scope="module")
def queue(v, system_of):
    """The number inside by Little's law, with a kink; and the root of another that has it inside."""
    x, y = sympy.symbols("x y")

    def inside(arriving):
        return Root(x, x, arriving * Max(v["base"], v["slope"] * (1 + sympy.sqrt(x))), 0, v["limit"])

    return system_of(
        {
            v["number"]: inside(v["arriving"]),
            v["twice"]: Root(y, y + inside(y * v["arriving"]), 3 * v["base"], 0, sympy.oo),
        }
    )


def points(count):
    rng = np.random.default_rng(5)
    values = {name: 10 ** rng.uniform(-1, 1, count) for name in ("arriving", "base", "slope")}
    return {f"found_{name}": value for name, value in values.items()} | {"found_limit": rng.uniform(1, 300, count)}


def inside(arriving, base, slope, limit):
    def residual(x):
        return x - arriving * max(base, slope * (1 + math.sqrt(x)))

    return limit if residual(limit) < 0 else brentq(residual, 0, limit, xtol=1e-300, rtol=1e-15)


def twice(arriving, base, slope, limit):
    def residual(y):
        return y + inside(y * arriving, base, slope, limit) - 3 * base

    return brentq(residual, 0, 3 * base, xtol=1e-300, rtol=1e-14)


@pytest.mark.long
def test_roots_compile_one_inside_another(queue):
    values = points(40)
    rows = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
    order = [f"found_{name}" for name in ("arriving", "base", "slope", "limit")]
    function = compiled(queue)
    found = [function(row) for row in rows]
    for name, expected in (("found_number", inside), ("found_twice", twice)):
        wanted = [expected(*(row[each] for each in order)) for row in rows]
        scalars = np.array([each[name] for each in found])
        np.testing.assert_allclose(scalars, wanted, rtol=2e-12)
        np.testing.assert_allclose(compiled(queue, (name,), "vector")(values)[name], scalars, rtol=2e-13)
        np.testing.assert_allclose(evaluate(queue, [name], values)[name], scalars, rtol=1e-12)
    assert any(each["found_number"] == row["found_limit"] for each, row in zip(found, rows, strict=True))


def test_the_source_names_every_bound_symbol_apart(queue):
    lines = compiled(queue).source.splitlines()
    depths = [len(line) - len(line.lstrip()) for line in lines if line.lstrip().startswith("def _f")]
    assert sorted(depths) == [4, 4, 8]  # each a function, one within another


def test_steps_within_steps_do_not_mix(pure, system_of, formula):
    """What a variable is elsewhere keeps its value while another place is tried for a later step."""
    a, b, c, found = (pure(f"found_step_{name}") for name in "abcd")
    doubled = formula(b, 2 * a)
    there = formula(c, evaluated_at(b, {a: 10 * a}, [doubled]) + 0 * b + a)
    outer = evaluated_at(c, {a: 3}, [doubled, there])
    assert compiled(system_of({found: outer}))({"found_step_a": 1.0}) == {"found_step_d": 63.0}


def test_a_root_that_may_be_infinite_costs_nothing_at_a_rate_of_zero(pure, system_of):
    rate, price, cost = (pure(f"found_{name}") for name in ("rate", "price", "cost"))
    x = sympy.Symbol("x")
    system = system_of({cost: price * Root(x, -1 / (1 + x), rate, 0, sympy.oo)})
    assert compiled(system)({"found_rate": 1.0, "found_price": 0.0}) == {"found_cost": 0.0}
    assert compiled(system)({"found_rate": 1.0, "found_price": 2.0}) == {"found_cost": math.inf}


def test_a_case_within_a_root(pure, system_of):
    a, found = pure("found_case_a"), pure("found_case_found")
    x = sympy.Symbol("x")
    system = system_of({found: Root(x, when(x < 2, x, x**2), a, 0, 10)})
    values = {"found_case_a": np.array([-1.0, 0.0, 1.0, 3.0, 9.0, 25.0, 1e3])}
    expected = [0, 0, 1, 2, 3, 5, 10]
    np.testing.assert_allclose(compiled(system, None, "vector")(values)["found_case_found"], expected, rtol=2e-13)
    np.testing.assert_allclose(evaluate(system, ["found_case_found"], values)["found_case_found"], expected, rtol=2e-13)


# --- slopes ---------------------------------------------------------------------------------------


def second_differences(function, point, step=1e-4):
    """First and second derivatives by central differences, by name of one or two inputs."""
    moved = {name: step * abs(value) for name, value in point.items()}

    def at(*names, signs):
        changed = dict(point)
        for name, sign in zip(names, signs, strict=True):
            changed[name] += sign * moved[name]
        return function(changed)

    found = {}
    for a, b in itertools.product(point, repeat=2):
        found[(a,)] = (at(a, signs=[1]) - at(a, signs=[-1])) / (2 * moved[a])
        mixed = sum(i * j * at(a, b, signs=[i, j]) for i in (1, -1) for j in (1, -1))
        found[a, b] = mixed / (4 * moved[a] * moved[b])
    return found


SMOOTH = {"found_arriving": 2.0, "found_base": 0.1, "found_slope": 0.8, "found_limit": 300.0}


@pytest.mark.parametrize("name", ["found_number", "found_twice"])
def test_slopes_are_those_of_central_differences_one_root_inside_another(queue, name):
    """First and second order."""
    by = {each for each in SMOOTH if each != "found_limit"}
    found = {names: float(slope) for names, slope in derivatives(queue, [name], by, SMOOTH, 2)[name].items()}
    scalars = compiled(queue, (name,))
    point = {each: SMOOTH[each] for each in by}
    expected = second_differences(lambda moved: scalars({**SMOOTH, **moved})[name], point)
    assert found.keys() - {()} <= expected.keys()
    for names, slope in expected.items():
        assert found.get(names, 0.0) == pytest.approx(slope, rel=1e-5 if len(names) == 2 else 1e-7, abs=1e-5), names


@pytest.mark.long
@pytest.mark.parametrize("name", ["found_number", "found_twice"])
def test_jax_has_the_same_slopes(queue, name):
    by = {each for each in SMOOTH if each != "found_limit"}
    found = derivatives(queue, [name], by, SMOOTH, 2)[name]
    with jax.enable_x64(True):
        pure = pure_function(queue, (name,))
        values = {each: jnp.asarray(value) for each, value in SMOOTH.items()}
        forward, back, second = (
            jax.jit(way(lambda given: pure(given)[name]))(values) for way in (jax.jacfwd, jax.grad, jax.hessian)
        )
    for a, b in itertools.product(by, repeat=2):
        assert float(forward[a]) == pytest.approx(found.get((a,), 0.0), rel=1e-9)
        assert float(back[a]) == pytest.approx(found.get((a,), 0.0), rel=1e-9)
        assert float(second[a][b]) == pytest.approx(found.get((a, b), 0.0), rel=1e-8, abs=1e-9)


def test_an_end_that_is_the_root_moves_as_it_does(queue):
    beyond = {**SMOOTH, "found_arriving": 1e4}
    found = slopes(queue, ["found_number"], list(SMOOTH), beyond)
    assert {by: float(each["found_number"]) for by, each in found.items()} == {
        "found_limit": 1.0, "found_arriving": 0.0, "found_base": 0.0, "found_slope": 0.0}  # fmt: skip
    with jax.enable_x64(True):
        pure = pure_function(queue, ("found_number",))
        by_jax = jax.jit(jax.grad(lambda given: pure(given)["found_number"]))(
            {k: jnp.asarray(v) for k, v in beyond.items()}
        )
    assert {by: float(each) for by, each in by_jax.items()} == {
        "found_limit": 1.0, "found_arriving": 0.0, "found_base": 0.0, "found_slope": 0.0}  # fmt: skip


def test_slopes_on_a_grid_are_those_point_by_point(queue):
    values = points(12)
    names = list(values)
    grid = {name: values[name].reshape(3, 4) if name != "found_base" else values[name][:4] for name in names}
    whole = slopes(queue, ["found_number", "found_twice"], names, grid)
    for place in np.ndindex(3, 4):
        row = {name: float(np.broadcast_to(grid[name], (3, 4))[place]) for name in names}
        single = slopes(queue, ["found_number", "found_twice"], names, row)
        for by, name in itertools.product(names, ("found_number", "found_twice")):
            assert whole[by][name][place] == pytest.approx(float(single[by][name]), rel=1e-9, abs=1e-12)


def test_a_jump_has_no_slope_of_its_own(pure, system_of):
    a, found = pure("found_jump_a"), pure("found_jump")
    x = sympy.Symbol("x")
    system = system_of({found: Root(x, sympy.floor(x), a, 0, 99)})
    by = slopes(system, ["found_jump"], ["found_jump_a"], {"found_jump_a": 3.5})["found_jump_a"]
    assert float(by["found_jump"]) == 0


def test_a_root_in_a_branch_not_taken_leaves_the_slope_finite(pure, system_of):
    a, found = pure("found_branch_a"), pure("found_branch")
    x = sympy.Symbol("x")
    system = system_of({found: when(a > 0, Root(x, x**2 / a, 4 * a, 0, 99), 3 * a)})
    with jax.enable_x64(True):
        pure_of = pure_function(system, ("found_branch",))
        slope = jax.jit(jax.grad(lambda value: pure_of({"found_branch_a": value})["found_branch"]))
        assert [float(slope(jnp.asarray(value))) for value in (-1.0, 0.0, 2.0)] == pytest.approx([3, 3, 2], rel=1e-9)


# --- the normal distribution ----------------------------------------------------------------------


def test_the_normal_distribution_is_that_of_scipy_on_every_backend(pure, system_of):
    x, share, back = (pure(f"normal_{name}") for name in ("x", "share", "back"))
    system = system_of({share: NormalCDF(x), back: NormalQuantile(NormalCDF(x))})
    at = np.array([-30.0, -8.0, -2.0, -0.5, 0.0, 0.3, 1.0, 4.0, 7.0])
    scalars = [compiled(system)({"normal_x": value}) for value in at]
    by_numpy = compiled(system, None, "vector")({"normal_x": at})
    by_jax = evaluate(system, ["normal_share", "normal_back"], {"normal_x": at})
    for name in ("normal_share", "normal_back"):
        expected = norm.cdf(at) if name == "normal_share" else at
        rtol = 1e-12 if name == "normal_share" else 1e-4  # a share near one says little of where it lies
        np.testing.assert_allclose([each[name] for each in scalars], expected, rtol=rtol, atol=1e-15)
        np.testing.assert_allclose(by_numpy[name], expected, rtol=rtol, atol=1e-15)
        np.testing.assert_allclose(by_jax[name], expected, rtol=rtol, atol=1e-15)


@pytest.mark.long
def test_normal_quantiles_of_all_backends_agree_and_end_in_infinity():
    p = np.array([0.0, 1e-300, 1e-9, 0.025, 0.5, 0.99, 1 - 1e-12, 1.0, -0.1, 1.1, math.nan])
    expected = norm.ppf(p)
    np.testing.assert_allclose([normal_quantile(each) for each in p], expected, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(vector.normal_quantile(p), expected, rtol=1e-13, atol=1e-15)
    with jax.enable_x64(True):
        np.testing.assert_allclose(arrays.namespace()["normal_quantile"](p), expected, rtol=1e-12, atol=1e-15)


def test_slopes_of_the_normal_distribution(pure, system_of):
    x, share, back = (pure(f"normal_{name}") for name in ("x", "share", "back"))
    system = system_of({share: NormalCDF(x), back: NormalQuantile(share)})
    found = derivatives(system, ["normal_share", "normal_back"], ["normal_x"], {"normal_x": np.array([-1.5, 0.7])}, 2)
    density = norm.pdf([-1.5, 0.7])
    np.testing.assert_allclose(found["normal_share"][("normal_x",)], density, rtol=1e-13)
    np.testing.assert_allclose(found["normal_share"]["normal_x", "normal_x"], [1.5, -0.7] * density, rtol=1e-13)
    np.testing.assert_allclose(found["normal_back"][("normal_x",)], 1, rtol=1e-12)
    np.testing.assert_allclose(found["normal_back"]["normal_x", "normal_x"], 0, atol=1e-12)


# --- what it costs --------------------------------------------------------------------------------


def test_a_grid_knows_that_a_root_is_iterated_and_what_it_costs(queue):
    assert iterates(queue)
    over = {name: 2 if name == "found_base" else 1 for name in points(4)}
    number, twice = (cost(graph_of(queue, (name,)), over).total() for name in ("found_number", "found_twice"))
    assert 400 < number < 1000
    assert twice > number + 9 * 400
