"""Derivatives of every formula: finite, the same by JAX and as NumPy carries them, and those of the values."""

import math
from functools import cache

import jax
import numpy as np
import pytest
import sympy
from formulas.every import FORMULAS, GOODPUTS, UNFUSED, as_columns, continuous, formula_of, quick_first
from fuzz import rest_long
from on_jax import evaluate

from mlsysim.backends import compiled, pure_function, slopes
from mlsysim.symbolic import Root, System

NUMERIC = [formula for formula in FORMULAS if continuous(formula)]
#: Roots by each of a hundred inputs, for which XLA takes 20 s each. test_every_slope has their slopes.
LATE = GOODPUTS | {"prefill_rate_limit", "decode_rate_limit"}
#: A case of closed loops stands beside formulas that are here; tests/simulated/test_closed_loops.py has its slopes.
SLOPED = [formula for formula in NUMERIC if formula.name not in LATE and formula.variant != "closed_loop"]


#: Directions of one call, the same for all formulas: operations of one shape are compiled once.
DIRECTIONS = 200


@pytest.fixture(scope="module")
def drawn_slopes(draw_points, to_canonical):
    """``drawn_slopes(formula)``: derivative by every continuous input at its points, by JAX."""

    @cache
    def found(formula):
        wrt = continuous(formula)
        columns = as_columns([to_canonical(point) for point in draw_points(formula)])
        together = jax_slopes(formula, wrt, columns)
        if not any(np.isnan(along).any() for along in together.values()):
            return together
        # A direction that leaves an input alone still multiplies the input's slope, which may be infinite, by zero.
        return {name: jax_slopes(formula, (name,), columns)[name] for name in wrt}

    return found


def jax_slopes(formula, wrt, columns):
    """Derivatives by inputs, each along a direction of its own; those that are left over go nowhere."""
    assert len(wrt) <= DIRECTIONS
    pure = pure_function(System([formula]), (formula.name,))
    rows = DIRECTIONS if len(wrt) > 1 else 1
    with jax.enable_x64(True):
        given = {name: jax.numpy.asarray(column, float) for name, column in columns.items()}
        along = {name: np.zeros((rows, len(columns[name]))) for name in wrt}
        for place, name in enumerate(wrt):
            along[name][place] = 1.0

        def slopes_along(direction):
            def value(x):
                return jax.numpy.asarray(pure({**given, **x})[formula.name], float)

            return jax.jvp(value, ({name: given[name] for name in wrt},), (direction,))[1]

        directions, each = jax.tree.map(jax.numpy.asarray, along), jax.vmap(slopes_along)
        if rows > 1 and formula.expression.has(Root):
            each = jax.jit(each).lower(directions).compile(UNFUSED)
        found = np.asarray(each(directions))
    return {name: found[place] for place, name in enumerate(wrt)}


@pytest.mark.parametrize("formula", quick_first(SLOPED))
def test_derivatives_are_finite(formula, drawn_slopes):
    found = drawn_slopes(formula)
    for name in continuous(formula):
        assert found[name].dtype == np.float64
        assert np.all(np.isfinite(found[name])), f"d {formula.name} / d {name}"


@pytest.mark.parametrize("formula", quick_first(SLOPED))
def test_carried_derivatives_equal_those_of_jax(formula, drawn_slopes, draw_points, to_canonical):
    columns = as_columns([to_canonical(point) for point in draw_points(formula)])
    found, by_jax = slopes(System([formula]), [formula.name], continuous(formula), columns), drawn_slopes(formula)
    value = np.abs(compiled(System([formula]), None, "vector")(columns)[formula.name])
    for name in continuous(formula):
        shares = value / np.maximum(np.abs(columns[name]), 1e-30)
        noise = 1e-12 * np.max(shares, where=np.isfinite(shares), initial=0.0)
        near = 1e-5 if formula.expression.has(Root) else 1e-9  # its slope is taken where each backend found it
        np.testing.assert_allclose(found[name][formula.name], by_jax[name], rtol=near, atol=noise, err_msg=name)


SINGULAR = [
    ("weights[first_order]", {"zero_stage": 2, "dp_size": 0.0}),
    ("weights[per_operator]", {"zero_stage": 2, "zero_ranks": 0.0}),
    ("gradients[first_order]", {"zero_stage": 1, "dp_size": 0.0}),
    ("gradients[korthikanti]", {"zero_stage": 1, "dp_size": 0.0}),
    ("gradients[per_operator]", {"zero_stage": 1, "zero_ranks": 0.0}),
    ("optimizer_state[first_order]", {"zero_stage": 0, "dp_size": 0.0}),
    ("optimizer_state[per_operator]", {"zero_stage": 0, "zero_ranks": 0.0}),
    ("in_flight_micro_batches[korthikanti]", {"pp_size": 4.0, "interleaved_stages": 0.0}),
    ("break_even_tokens", {"swap_time": 0.0}),
    ("break_even_bandwidth", {"swap_time": 1.0, "break_even_slowdown": 0.0}),
    ("kv_bytes_per_token", {"kv_lora_rank": 512.0, "heads": 0.0}),
    ("wait_probability", {"utilization": 1.0, "offered_load": 3.0, "replicas": 3.0}),
    ("wait_probability", {"utilization": 4.0, "offered_load": 12.0, "replicas": 3.0}),
    ("queue_wait_p99", {"qps": 6.0, "replicas": 3.0, "per_replica_qps_capacity": 2.0, "offered_load": 3.0}),
    ("queue_wait_p99", {"qps": 60.0, "replicas": 3.0, "per_replica_qps_capacity": 2.0, "offered_load": 30.0}),
]


def test_a_replica_that_serves_nothing_gives_an_infinite_load():
    formula = formula_of("offered_load")
    idle = {"qps": 5.0, "per_replica_qps_capacity": 0.0}
    assert compiled(System([formula]))(idle)["offered_load"] == math.inf
    assert evaluate(System([formula]), ["offered_load"], idle)["offered_load"] == math.inf


@pytest.mark.long
@pytest.mark.parametrize("name", ["wait_probability", "queue_wait_p99"])
def test_rounding_at_the_edge_of_stability_gives_a_number(name):
    """Arrivals may round below the capacity where the load rounds to the number of replicas.

    The room left is then one rounding, so backends need not agree on the wait, only that there is one.
    """
    formula = formula_of(name)
    rng = np.random.default_rng(0)
    mu, servers = rng.uniform(1, 100, 4000), rng.integers(1, 50, 4000).astype(float)
    qps = np.nextafter(servers * mu, 0)
    edge = (qps < servers * mu) & (qps / mu >= servers)
    assert edge.sum() > 100
    values = {
        "per_replica_qps_capacity": mu,
        "replicas": servers,
        "qps": qps,
        "offered_load": qps / mu,
        "utilization": qps / (servers * mu),
        "service_time_cv": np.ones_like(mu),
    }
    values = {variable.name: values[variable.name][edge] for variable in formula.inputs}
    system = System([formula])
    grid = evaluate(system, [name], values)[name]
    function = compiled(system)
    scalar = [function(dict(zip(values, row, strict=True)))[name] for row in zip(*values.values(), strict=True)]
    for waits in (grid, np.array(scalar)):
        assert np.all((waits > 0) & np.isfinite(waits))
    found = slopes(system, [name], continuous(formula), values)
    assert all(np.all(np.isfinite(found[wrt][name])) for wrt in continuous(formula))


@pytest.mark.parametrize(
    ("name", "singular"), rest_long(SINGULAR, quick=5), ids=[f"{name}-{i}" for i, (name, _) in enumerate(SINGULAR)]
)
def test_derivatives_are_finite_where_an_untaken_branch_divides_by_zero(name, singular, draw_points, to_canonical):
    formula = formula_of(name)
    drawn = to_canonical(draw_points(formula, 1)[0])
    assert set(singular) <= set(drawn)
    point = {**drawn, **singular}
    found = slopes(System([formula]), [formula.name], continuous(formula), point)
    assert all(np.isfinite(found[wrt][formula.name]) for wrt in continuous(formula))


#: Inputs that are drawn as zero more often than not.
RARE = {
    "concurrency", "prefill_cost_share", "ttft_slo", "isl_cv", "osl_cv", "prompt_time_cv", "slot_growth",
    "remote_kv_share", "batch_wait", "frontend_wait", "copy_survival",
}  # fmt: skip
SMOOTH = [f for f in SLOPED if f.variable.domain.kind == "real" and not f.expression.has(sympy.ceiling, sympy.floor)]


@pytest.mark.parametrize("formula", quick_first(SMOOTH))
def test_derivatives_equal_central_differences(formula, drawn_slopes, draw_points, to_canonical):
    """Finite is not enough: the slopes must be those of the values the numpy backend returns."""
    function = compiled(System([formula]))
    # Most deployments are drawn without a closed loop, and most exchanges never break even.
    rarely = RARE & {v.name for v in formula.inputs} or formula.name.startswith("break_even")
    count = 160 if rarely else 40
    points = [to_canonical(point) for point in draw_points(formula, count)]
    for name in (v.name for v in formula.inputs if v.domain.kind == "real"):
        agreed = 0
        for point, slope in zip(points, drawn_slopes(formula)[name][:count], strict=True):
            step = 1e-5 * point[name]
            values = [function({**point, name: point[name] + k * step})[formula.name] for k in (-2, -1, 0, 1, 2)]
            if step == 0 or not all(map(math.isfinite, values)):
                continue
            below, above = (values[2] - values[0]) / (2 * step), (values[4] - values[2]) / (2 * step)
            if not math.isclose(below, above, rel_tol=1e-2, abs_tol=1e-300):
                continue  # a kink of Max, Min or a branch lies within the step
            difference = (values[0] - 8 * values[1] + 8 * values[3] - values[4]) / (12 * step)
            if 0 < max(map(abs, values)) < 1e-290:
                continue  # a probability that is held above zero, or given up
            # One less nearly one keeps ten digits of clearing_ratio, as test_backends.py has it.
            noise = (1e-9 if formula.name == "clearing_ratio" else 1e-10) * max(map(abs, values)) / abs(step)
            # A difference of shares is rounded as these are, and the logarithm of nearly one as one.
            if formula.name in ("late_share", "ttft_attainment", "ttft_log_variance"):
                noise = max(noise, 1e-15 / abs(step))
            # At a slight kink, as of one rank in a node, the slope is that of one side.
            low, high = sorted((below, above))
            if math.isclose(low, high, rel_tol=3e-4) or not low - noise <= slope <= high + noise:
                assert slope == pytest.approx(difference, rel=1e-6, abs=noise)
            agreed += 1
        # Of these it matters whether they are zero, not how large they are.
        enough = agreed >= 15 or name in ("concurrency", "replica_goodput")
        assert enough, f"only {agreed} points of {name} could be checked"
