"""The search behind LeastInteger against plain scans, on both backends."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy
from on_jax import evaluate

from mlsysim.backends import compiled, pure_function, slopes
from mlsysim.models import ServingCapacityModel
from mlsysim.symbolic import LeastInteger, positive, variable

BACKENDS = ["numpy", "jax"]
count = sympy.Dummy("n", integer=True, positive=True)


def solve(system, name, values, backend):
    """One output over equal-length columns."""
    if backend == "jax":
        return np.asarray(evaluate(system, [name], values)[name], float)
    function = compiled(system)
    rows = zip(*values.values(), strict=True)
    return np.array([float(function(dict(zip(values, row, strict=True)))[name]) for row in rows])


# --- replicas of a deployment ---------------------------------------------------------------------


def waits(load, mu, qps, cv, most):
    """99% wait for 1..most replicas, one column per case; infinite where not stable. A recurrence, no search."""
    blocking = np.ones_like(load)
    table = np.empty((most, len(load)))
    for n in range(1, most + 1):
        blocking = load * blocking / (n + load * blocking)
        with np.errstate(divide="ignore", invalid="ignore"):
            probability = n * blocking / (n - load * (1 - blocking))
            excess = np.maximum(0, np.log(np.maximum(probability, 1e-300) / 0.01))
            table[n - 1] = np.where(qps < n * mu, excess / (n * mu - qps) * (cv**2 + 1) / 2, np.inf)
    return table


@pytest.fixture(scope="module")
def replicas_system():
    return ServingCapacityModel().system.closure(["required_replicas"])


@pytest.fixture(scope="module")
def replica_formula(replicas_system, system_of):
    formula = replicas_system["required_replicas"]
    return system_of({formula.symbol: formula.expression})


@pytest.fixture(scope="module")
def close_calls():
    """4000 cases whose target lies a hair above or below what some number of replicas reaches."""
    rng, count, most = np.random.default_rng(2), 4000, 300
    mu = 10 ** rng.uniform(-2, 2, count)
    qps = mu * 10 ** rng.uniform(-1.5, 2.3, count)
    load, cv = qps / mu, rng.choice([0.0, 1.0, 2.5], count)
    base = 10 ** rng.uniform(-3, 1, count)
    table = waits(load, mu, qps, cv, most)
    chosen = np.minimum(most, np.ceil(load * rng.choice([1.0, 1.0, 1.1, 1.5], count)).astype(int))
    wait = table[chosen - 1, np.arange(count)]
    target = (base + np.where(np.isfinite(wait), wait, 1.0)) * (1 + rng.choice([1e-9, -1e-9, 0.05], count))
    limit = np.clip(chosen + rng.choice([-1, 0, 1, 7, 250], count), 1, most).astype(float)
    limit = np.where(rng.random(count) < 0.05, 1.0, limit)
    meets = (base + table <= target) & (np.arange(1, most + 1)[:, None] <= limit)
    expected = np.where(meets.any(axis=0), meets.argmax(axis=0) + 1.0, np.inf)
    return {
        "qps": qps,
        "per_replica_qps_capacity": mu,
        "offered_load": load,
        "base_request_latency": base,
        "service_time_cv": cv,
        "max_replicas": limit,
        "target_p99_latency_ms": target,
    }, expected


@pytest.mark.parametrize("backend", BACKENDS)
def test_replicas_equal_a_scan_at_close_calls(replica_formula, close_calls, backend):
    values, expected = close_calls
    assert np.isinf(expected).sum() > 500
    assert len(np.unique(expected)) > 100
    np.testing.assert_array_equal(solve(replica_formula, "required_replicas", values, backend), expected)


@pytest.mark.long(quick=1)
@pytest.mark.parametrize("backend", BACKENDS)
def test_many_replicas_equal_a_scan(replica_formula, backend):
    rng, most = np.random.default_rng(3), 20_000
    load = rng.uniform(3000, 15_000, 6)
    mu = rng.uniform(0.5, 2, 6)
    values = {
        "qps": load * mu,
        "per_replica_qps_capacity": mu,
        "offered_load": load,
        "base_request_latency": np.full(6, 1.0),
        "service_time_cv": np.ones(6),
        "max_replicas": np.full(6, 1e6),
        "target_p99_latency_ms": 1.0 + 10 ** rng.uniform(-4, -1, 6),
    }
    meets = 1.0 + waits(load, mu, load * mu, 1.0, most) <= values["target_p99_latency_ms"]
    expected = meets.argmax(axis=0) + 1.0
    assert expected.min() > 3000
    np.testing.assert_array_equal(solve(replica_formula, "required_replicas", values, backend), expected)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("limit", [1, 2, 3, 5, 7, 8, 9, 1000, 1023, 1024, 1025, 1_000_000])
def test_a_replica_that_serves_nothing_is_never_enough(replica_formula, backend, limit):
    values = {
        "qps": 1.0, "per_replica_qps_capacity": 0.0, "offered_load": np.inf, "base_request_latency": 1.0,
        "service_time_cv": 1.0, "max_replicas": float(limit), "target_p99_latency_ms": 2.0,
    }  # fmt: skip
    columns = {name: np.array([value]) for name, value in values.items()}
    assert solve(replica_formula, "required_replicas", columns, backend) == [np.inf]


# --- any monotone condition -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def root(pure, system_of):
    """The least n with n*n >= x, up to a limit."""
    x, most, answer = pure("least_x"), pure("least_most"), pure("least_answer")
    return system_of({answer: LeastInteger(count, count**2 >= x, most)})


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_answer_under_every_limit(root, backend):
    answers, limits = np.meshgrid(np.arange(1, 70.0), np.arange(1, 70.0))
    values = {"least_x": answers.ravel() ** 2, "least_most": limits.ravel()}
    expected = np.where(answers <= limits, answers, np.inf).ravel()
    np.testing.assert_array_equal(solve(root, "least_answer", values, backend), expected)


@pytest.mark.parametrize("backend", BACKENDS)
def test_random_answers_up_to_millions(root, backend):
    rng = np.random.default_rng(4)
    squares = 10 ** rng.uniform(0, 14, 2000)
    limits = np.floor(10 ** rng.uniform(0, 7.5, 2000))
    least = np.maximum(1.0, np.ceil(np.sqrt(squares)))
    least += (least**2 < squares) * 1.0 - ((least - 1) ** 2 >= squares) * (least > 1)
    expected = np.where(least <= limits, least, np.inf)
    values = {"least_x": squares, "least_most": limits}
    np.testing.assert_array_equal(solve(root, "least_answer", values, backend), expected)


@pytest.mark.long(quick=2)
@pytest.mark.parametrize(
    ("condition", "beyond"),
    [
        (lambda n, x, y: x < n * y, ["divide"]),
        (lambda n, x, y: sympy.And(n**2 >= x, n * y >= x + 1), ["divide"]),
        (lambda n, x, y: n > x, ["input"]),
        (lambda n, x, y: n * y <= x, ["number"]),
        (lambda n, x, y: n * (y - x) >= x, ["number"]),
        (lambda n, x, y: n * y >= n + x, ["number"]),
        (lambda n, x, y: sympy.Or(n * y >= x, n > 9), ["number"]),
    ],
)
def test_a_search_starts_where_a_part_of_its_condition_may_hold(system_of, condition, beyond):
    names = ("least_of", "least_by", "least_start")
    x, y, answer = (variable(name, name, "", "A positive number.", positive()) for name in names)
    function = compiled(system_of({answer: LeastInteger(count, condition(count, x, y), 64)}))
    nodes = function.graph.nodes
    assert [nodes[node.args[1]].op for node in nodes if node.op == "least_integer"] == beyond
    for at in ((5.0, 2.0), (6.0, 2.0), (0.1, 9.0), (100.0, 1.0)):
        meets = [n for n in range(1, 65) if condition(sympy.Integer(n), *map(sympy.nsimplify, at)) == True]  # noqa: E712
        if meets == list(range(min(meets, default=65), 65)):
            assert function({"least_of": at[0], "least_by": at[1]})["least_start"] == min(meets, default=math.inf)


def test_axes_broadcast(root):
    found = evaluate(
        root, ["least_answer"], {"least_x": [[1.0], [10.0], [100.0]], "least_most": [3.0, 5.0, 10.0, 11.0]}
    )
    inf = math.inf
    assert found["least_answer"].tolist() == [[1, 1, 1, 1], [inf, 4, 4, 4], [inf, inf, 10, 10]]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_condition_of_n_alone(pure, system_of, backend):
    answer = pure("least_alone")
    for limit, expected in ((10, 4.0), (4, 4.0), (3, math.inf)):
        system = system_of({answer: LeastInteger(count, count >= 4, limit)})
        found = compiled(system)({}) if backend == "numpy" else evaluate(system, ["least_alone"], {})
        assert found["least_alone"] == expected


def test_two_searches_in_one_formula(pure, system_of):
    x, answer = pure("least_x"), pure("least_two")
    other = sympy.Dummy("n", integer=True, positive=True)
    system = system_of({answer: LeastInteger(count, count >= x, 100) + 10 * LeastInteger(other, other**2 >= x, 100)})
    assert compiled(system)({"least_x": 9.5})["least_two"] == 50
    assert evaluate(system, ["least_two"], {"least_x": [9.5, 3]})["least_two"].tolist() == [50, 23]


def test_its_derivative_is_zero_forwards_and_backwards(root):
    point = {"least_x": np.array([10.0, 99.0, 1e9]), "least_most": 50.0}
    assert slopes(root, ["least_answer"], ["least_x"], point)["least_x"]["least_answer"].tolist() == [0, 0, 0]
    at_the_limit = {"least_x": np.array([30.0**2]), "least_most": 30.0}
    assert slopes(root, ["least_answer"], ["least_most"], at_the_limit)["least_most"]["least_answer"].tolist() == [0]
    pure = pure_function(root, ("least_answer",))
    assert jax.grad(lambda x: pure({"least_x": x, "least_most": 50.0})["least_answer"])(10.0) == 0
    assert jax.grad(lambda most: pure({"least_x": 900.0, "least_most": most})["least_answer"])(30.0) == 0


def test_it_maps_and_compiles_by_jax(root):
    pure = pure_function(root, ("least_answer",))
    mapped = jax.jit(jax.vmap(lambda x: pure({"least_x": x, "least_most": jnp.asarray(50.0)})["least_answer"]))
    assert mapped(jnp.array([10.0, 100.0, 4000.0])).tolist() == [4, 10, math.inf]


def test_single_precision_ends_where_whole_numbers_thin_out(root):
    """Above 2**24 not every whole number is a float32; the search must stop all the same."""
    pure = jax.jit(pure_function(root, ("least_answer",)))
    found = pure({"least_x": jnp.float32(2.0**60), "least_most": jnp.float32(2.0**31)})["least_answer"]
    assert found.dtype == jnp.float32
    assert found == 2.0**30
    odd = pure({"least_x": jnp.float32(2.9e14), "least_most": jnp.float32(2.0**31)})["least_answer"]
    assert odd == pytest.approx(math.sqrt(2.9e14), rel=2e-7)
