"""Every formula in NumPy and in JAX."""

from functools import cache

import jax
import numpy as np
import pytest
from formulas.every import FORMULAS, PLACED, TOPIC, UNFUSED, as_columns, quick_first

from mlsysim.backends import compiled, pure_function
from mlsysim.symbolic import Root, System


@pytest.fixture(scope="module")
def on_jax(draw_points, to_canonical):
    """``on_jax(topic)``: every formula of a topic at its points; one compilation takes a fifth of one per formula."""

    @cache
    def values(name):
        formulas = [member for place, member in PLACED if place == name]
        columns = {f.id: as_columns([to_canonical(point) for point in draw_points(f)]) for f in formulas}
        pure = {f.id: (pure_function(System([f]), (f.name,)), f.name) for f in formulas}

        def all_of(given):
            return {key: function(given[key])[name] for key, (function, name) in pure.items()}

        with jax.enable_x64(True):
            given = jax.tree.map(jax.numpy.asarray, columns)
            options = UNFUSED if any(f.expression.has(Root) for f in formulas) else None
            return jax.tree.map(np.asarray, jax.jit(all_of).lower(given).compile(options)(given))

    return values


#: Differences of numbers that may be nearly equal, and how near the two backends come.
CANCELLING = {
    **dict.fromkeys(("tpot_p50", "gathered_tokens", "clearing_ratio", "e2e_p50"), 1e-10),
    # Differences of exponentials, from 0.01 failures in a segment on: where its series ends, nine digits are left.
    **dict.fromkeys(("copy_deviation", "interval_deviation", "failure_cost_deviation"), 1e-9),
    "replica_goodput": 1e-8,
    "closed_step": 1e-8,
}


@pytest.mark.parametrize("formula", quick_first(FORMULAS))
def test_numpy_equals_jax(formula, on_jax, draw_points, to_canonical):
    function = compiled(System([formula]))
    scalar = np.array([float(function(to_canonical(point))[formula.name]) for point in draw_points(formula)])
    grid = on_jax(TOPIC[formula.id])[formula.id]
    assert grid.dtype in (np.float64, np.bool_, np.int64)
    normal = (scalar == 0) | ~(np.abs(scalar) < np.finfo(float).tiny)  # XLA takes smaller numbers for zero
    near = CANCELLING.get(formula.name, 1e-10 if formula.expression.has(Root) else 1e-12)
    on_grid = np.broadcast_to(np.asarray(grid, float), scalar.shape)
    # Steps of up to minutes, nearly equal; and rates of one request in a billion years.
    least = {"step_growth_at_load": 1e-12, "replica_goodput": 1e-15}.get(formula.name, 0)
    np.testing.assert_allclose(on_grid[normal], scalar[normal], rtol=near, atol=least)
