"""Erlang C against published call-centre tables, to 0.1 %."""

import math

import numpy as np
import pytest
import sympy
from on_jax import evaluate

from mlsysim.backends import compiled
from mlsysim.formulas.queueing import queue_wait
from mlsysim.symbolic import ErlangC, Formula, LeastInteger, Source, System
from mlsysim.symbols.serving import c, c_req, load, wait_probability

TOLERANCE = 1e-3


def system_of(symbol, expression):
    return System([Formula(symbol, expression, title="test", source=Source("erlang1917"), no_example="a test")])


WAITING = system_of(wait_probability, ErlangC(c, load))


@pytest.fixture(params=["numpy", "jax"])
def probability(request):
    """Erlang C of one queue, by one backend."""

    def solve(servers, offered):
        values = {"replicas": float(servers), "offered_load": float(offered)}
        if request.param == "numpy":
            return compiled(WAITING)(values)["wait_probability"]
        return float(evaluate(WAITING, ["wait_probability"], values)["wait_probability"])

    return solve


def rows(case):
    return [row for row in case("erlang_c")["measured"] if "A" in row]


def test_probability_of_waiting(case, probability):
    (row,) = [row for row in rows(case) if "Pw" in row]
    assert probability(row["c"], row["A"]) == pytest.approx(row["Pw"], rel=TOLERANCE)


def test_service_level(case, probability):
    """Share answered within t: one less the chance to wait, thinned by the time already waited."""
    assert len(rows(case)) == 2
    for row in rows(case):
        late = probability(row["c"], row["A"]) * math.exp(-(row["c"] - row["A"]) * row["t"] / row["aht"])
        assert 1 - late == pytest.approx(row["SL"], rel=TOLERANCE)


def test_average_speed_of_answer(case, probability):
    (row,) = [row for row in rows(case) if "ASA" in row]
    wait = probability(row["c"], row["A"]) * row["aht"] / (row["c"] - row["A"])
    assert wait == pytest.approx(row["ASA"], rel=TOLERANCE)


@pytest.mark.parametrize("key", ["2,5", "10,14", "5,10", "1,1"])
def test_erlang_b_as_erlang_c_gives_it(case, probability, key):
    blocking = next(row["blocking"] for row in case("erlang_c")["measured"] if "blocking" in row)[key]
    offered, servers = map(float, key.split(","))
    if offered == servers:
        offered *= 1 - 1e-6  # Erlang C needs a stable queue; its limit gives Erlang B at the edge
    wait = probability(servers, offered)
    # The checkpoints are printed to four decimals, coarser than 0.1 % of the small ones.
    allowed = max(TOLERANCE * blocking, 0.5e-4)
    assert wait * (servers - offered) / (servers - offered * wait) == pytest.approx(blocking, abs=allowed)


@pytest.mark.parametrize("backend", ["numpy", "jax"])
@pytest.mark.parametrize(("offered", "seconds", "positions"), [(48, 240, 54), (10, 180, 14)])
def test_fewest_positions_for_80_percent_within_20_seconds(backend, offered, seconds, positions):
    n = sympy.Symbol("n")
    late = ErlangC(n, load) * sympy.exp(-(n - load) * 20 / seconds)
    system = system_of(c_req, LeastInteger(n, 1 - late >= sympy.Rational(4, 5), 1000))
    values = {"offered_load": float(offered)}
    solve = compiled(system) if backend == "numpy" else (lambda v: evaluate(system, ["required_replicas"], v))
    assert solve(values)["required_replicas"] == positions


def test_the_99_percent_wait_is_exceeded_by_one_percent(case):
    """The library's own quantile, put back into the distribution the tables use."""
    for row in rows(case):
        mu = 1 / row["aht"]
        values = {"replicas": row["c"], "offered_load": row["A"], "service_time_cv": 1.0,
                  "per_replica_qps_capacity": mu, "qps": row["A"] * mu}  # fmt: skip
        wait = compiled(System([queue_wait]))(values)["queue_wait_p99"]
        probability = compiled(WAITING)(values)["wait_probability"]
        assert probability * np.exp(-(row["c"] * mu - row["A"] * mu) * wait) == pytest.approx(0.01, rel=1e-9)
