"""The law of chunked prefill in compiled code: one solution for all that is asked, the same on every backend."""

import jax
import numpy as np
import pytest
import sympy
from chunked_loads import chunked_latencies
from on_jax import evaluate

from mlsysim.backends import compiled, derivatives, graph_of, pure_function
from mlsysim.backends.chunked import Loads, batch
from mlsysim.errors import FormulaError
from mlsysim.symbolic import (
    Formula,
    Max,
    Root,
    Source,
    System,
    chunked_prefill,
    evaluated_at,
    nonnegative,
    positive,
    variable,
)

UNITS = {
    "chain_rate": "request/s", "chain_isl": "token", "chain_osl": "token", "chain_weights": "s",
    "chain_slower": "count", "chain_ttft": "s", "chain_p99": "s", "chain_tpot": "s", "chain_kept": "count",
    "chain_good": "request/s", "chain_batch": "count", "chain_tokens": "count", "chain_time": "s",
}  # fmt: skip
HERE = {"chain_rate": 18.0, "chain_isl": 700.0, "chain_osl": 128.0, "chain_weights": 6e-3, "chain_slower": 1.1}
OUTPUTS = ("chain_ttft", "chain_p99", "chain_tpot", "chain_kept")


@pytest.fixture(scope="module")
def v():
    return {
        name: variable(name, name[6:], unit, f"The quantity {name}.", positive() if name in HERE else nonnegative())
        for name, unit in UNITS.items()
    }


@pytest.fixture(scope="module")
def system(v):
    """An iteration that is bound by memory or by arithmetic, and what requests see."""

    def formula(name, expression):
        given = {"title": "test", "source": Source("gross2008"), "no_example": "a test"}
        return Formula(v[name], expression, **given)

    arithmetic = sympy.Float(3.4e-5) * (v["chain_batch"] + v["chain_tokens"]) * v["chain_slower"] * v["chain_weights"]
    memory = v["chain_weights"] * (1 + v["chain_batch"] / 120)
    time = formula("chain_time", Max(memory, arithmetic / sympy.Float(6e-3)))
    n, c = sympy.Dummy("n"), sympy.Dummy("c")
    tau = evaluated_at(v["chain_time"], {v["chain_batch"]: n, v["chain_tokens"]: c}, [time])
    token = 128 * v["chain_osl"] / v["chain_osl"]

    def law(output, share=0, rate=v["chain_rate"]):
        return chunked_prefill(
            output, (n, c, tau), share, request_rate=rate, isl=v["chain_isl"], osl=v["chain_osl"],
            token_budget=2 * v["chain_isl"], ttft_slo=15 * v["chain_weights"],
        )  # fmt: skip

    assert token == 128
    asked = [("chain_ttft", law("ttft_mean")), ("chain_p99", law("ttft", sympy.Rational(99, 100)))]
    asked += [("chain_tpot", law("tpot_mean") + v["chain_weights"]), ("chain_kept", law("slo_attainment"))]
    good = Root(
        v["chain_good"], -law("slo_attainment", rate=v["chain_good"]), -sympy.Rational(9, 10), 0, 2 * v["chain_rate"]
    )
    return System([*(formula(*each) for each in asked), formula("chain_good", good)])


def direct(**moved):
    at = {**HERE, **moved}

    def tau(n, c):
        memory = at["chain_weights"] * (1 + n / 120)
        return np.maximum(memory, 3.4e-5 * (n + c) * at["chain_slower"] * at["chain_weights"] / 6e-3)

    rates = (at["chain_rate"], at["chain_isl"], at["chain_osl"])
    return chunked_latencies(Loads(tau, *rates, token_budget=2 * at["chain_isl"], ttft_slo=15 * at["chain_weights"]))


def test_it_is_the_law_itself(system):
    """To as many digits as it is solved: sums are rounded in another order."""
    found, expected = compiled(system, OUTPUTS)(HERE), direct()
    assert found["chain_ttft"] == pytest.approx(float(expected.ttft_mean), rel=1e-5)
    assert found["chain_p99"] == pytest.approx(float(expected.ttft[2]), rel=1e-5)
    assert found["chain_tpot"] == pytest.approx(float(expected.tpot_mean) + 6e-3, rel=1e-5)
    assert found["chain_kept"] == pytest.approx(float(expected.slo_attainment), rel=1e-5)
    assert 0.1 < found["chain_kept"] < 0.99


def test_every_backend_gives_the_same(system):
    rates = np.array([10.0, 18.0, 1e3])
    alone = [compiled(system, OUTPUTS)({**HERE, "chain_rate": rate}) for rate in rates]
    together = compiled(system, OUTPUTS, "vector")({**HERE, "chain_rate": rates})
    by_jax = evaluate(system, OUTPUTS, {**HERE, "chain_rate": rates})
    for name in OUTPUTS:
        expected = [float(one[name]) for one in alone]
        np.testing.assert_allclose(together[name], expected, rtol=1e-12)
        np.testing.assert_allclose(by_jax[name], expected, rtol=1e-12)
    assert np.isinf(together["chain_ttft"][2])


def test_a_law_is_solved_once_for_all_that_is_asked(system, monkeypatch):
    asked, solved = [], batch.solved
    monkeypatch.setattr(batch, "solved", lambda loads, *more: asked.append(loads) or solved(loads, *more))
    compiled(system, OUTPUTS)(HERE)
    assert [sorted(loads.outputs) for loads in asked] == [["slo_attainment", "tpot_mean", "ttft", "ttft_mean"]]
    assert asked[0].quantiles == [0.99]
    compiled(system, ("chain_tpot",))(HERE)
    assert asked[1].outputs == {"tpot_mean"}


def test_a_root_looks_no_closer_than_the_law_is_known(system, monkeypatch):
    tried, solved = [], batch.solved
    monkeypatch.setattr(batch, "solved", lambda loads, *more: tried.append(loads) or solved(loads, *more))
    good = compiled(system, ("chain_good",))(HERE)["chain_good"]
    assert len(tried) < 20
    assert direct(chain_rate=good).slo_attainment == pytest.approx(0.9, abs=1e-4)
    assert direct(chain_rate=good).slo_attainment >= 0.9 - 1e-9


def test_jax_has_the_same_slopes(system):
    names = ("chain_rate", "chain_weights", "chain_isl")
    found = derivatives(system, OUTPUTS, names, HERE)
    with jax.enable_x64(True):
        function = pure_function(system, OUTPUTS)
        by_jax = jax.jacobian(lambda moving: function({**HERE, **moving}))({name: HERE[name] for name in names})
    for output in OUTPUTS:
        for name in names:
            expected = float(found[output][name,].item())
            assert expected != 0
            assert float(by_jax[output][name]) == pytest.approx(expected, rel=1e-9), (output, name)


def test_there_are_no_second_derivatives(system):
    with pytest.raises(FormulaError, match="first derivatives only"):
        derivatives(system, ("chain_tpot",), ("chain_rate",), HERE, 2)


def test_what_an_iteration_does_not_change_is_computed_outside_of_it(system):
    (law,) = (node for node in graph_of(system).nodes if node.op == "chunked")
    moves = [node.data in law.data.inputs[:2] for node in law.data.nodes]
    for place, node in enumerate(law.data.nodes):
        moves[place] |= any(moves[arg] for arg in node.args)
        assert moves[place] or node.op in ("input", "number", "truth")
