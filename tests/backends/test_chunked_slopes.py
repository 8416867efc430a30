"""Slopes of the latencies under chunked prefill against differences of the latencies themselves.

The latencies choose their lattice anew at every load, which the slopes do not follow, and are rough where few atoms
lie: so differences are taken over a percent or two, several of them, and tolerances say what is left.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from chunked_loads import chunked_latencies, chunked_slopes

from mlsysim.backends import vector
from mlsysim.backends.chunked import Loads
from mlsysim.backends.chunked.asked import answers
from mlsysim.backends.chunked.chain import Chain, full, nearby
from mlsysim.backends.chunked.little import settled
from mlsysim.backends.chunked.load import Load
from mlsysim.backends.chunked.point import Point
from mlsysim.backends.chunked.stay import Stay

MEANS = ("batch_size", "tpot_mean", "ttft_mean", "e2e_mean", "capacity")
STEPS = (0.01, 0.02)


def tau(n, c, slower=1.0):
    """An iteration bound by memory or by arithmetic; lengths do not enter."""
    memory, arithmetic = 6e-3 + 5e-5 * n, 3.4e-5 * (n + c)
    return slower * (memory + abs(arithmetic - memory) + arithmetic) / 2.0 + 3e-4


FIXED = {"request_rate": 18.0, "isl": 700.0, "osl": 128.0, "token_budget": 2048.0}
RANDOM = {"request_rate": 60.0, "isl": 256.0, "osl": 64.0, "token_budget": 512.0, "isl_cv": 0.8, "osl_cv": 1.2}


def differences(load, name, slower=1.0):
    """Mean of central differences by an argument, or by the factor of the time."""
    found = []
    for step in STEPS:
        ends = []
        for sign in (1.0, -1.0):
            moved, factor = dict(load), slower
            if name == "slower":
                factor += sign * step
            else:
                moved[name] *= 1.0 + sign * step
            ends.append(chunked_latencies(Loads(tau, **moved, captured=(factor,))))
        width = 2.0 * step * (1.0 if name == "slower" else load[name])
        found.append({key: (getattr(ends[0], key) - getattr(ends[1], key)) / width for key in (*MEANS, "tpot", "e2e")})
    return {key: np.mean([one[key] for one in found], axis=0) for key in found[0]}


@pytest.mark.long(quick=1)
@pytest.mark.parametrize("load", [FIXED, RANDOM], ids=["fixed", "random"])
def test_slopes_are_those_of_the_latencies(load):
    """Means and quantiles move as their slopes say, by every argument and by the time of an iteration."""
    values, found = chunked_slopes(
        Loads(tau, **load, captured=(1.0,)), tuple(load), {"slower": lambda n, c, slower: tau(n, c)}
    )
    for name, slope in found.items():
        expected, width = differences(load, name), 1.0 if name == "slower" else load[name]
        for key in (*MEANS, "tpot", "e2e"):
            # In shares of the value, by a share of the argument.
            share = width / getattr(values, key)
            close = 0.1 if key == "ttft_mean" or name in ("isl", "token_budget") else 0.04
            np.testing.assert_allclose(
                getattr(slope, key) * share, expected[key] * share, atol=close, rtol=0.02, err_msg=f"{key} by {name}"
            )


def test_quantiles_of_the_first_token_move_with_it():
    """A slower engine delays quantiles by more than itself; single ones are rough, so several are taken together."""
    shares = tuple(np.linspace(0.35, 0.65, 7))
    more = {"quantiles": shares, "captured": (1.0,)}
    values, found = chunked_slopes(Loads(tau, **RANDOM, **more), (), {"slower": lambda n, c, slower: tau(n, c)})
    steps = (0.02, 0.03, 0.04)
    ends = [
        [chunked_latencies(Loads(tau, **RANDOM, **more | {"captured": (1 + d,)})).ttft for d in (-h, h)] for h in steps
    ]
    expected = np.mean([(b - a) / (2.0 * h) / values.ttft for h, (a, b) in zip(steps, ends, strict=True)])
    assert np.mean(found["slower"].ttft / values.ttft) == pytest.approx(expected, rel=0.1)
    assert (found["slower"].ttft > values.ttft).all()


def test_objectives_move_the_attainment():
    """Looser objectives are met more often, by the density of the times."""
    slos = {"ttft_slo": 0.25, "tpot_slo": 0.016}
    values, found = chunked_slopes(Loads(tau, **RANDOM, **slos), tuple(slos))
    for name, slope in found.items():
        step = slos[name] * (0.05 if name == "ttft_slo" else 0.005)
        ends = [chunked_latencies(Loads(tau, **RANDOM, **(slos | {name: slos[name] + d}))) for d in (-step, step)]
        expected = (ends[1].slo_attainment - ends[0].slo_attainment) / (2.0 * step)
        assert slope.slo_attainment == pytest.approx(expected, rel=0.05)
        assert slope.tpot_mean == 0.0
    assert 0.0 < values.slo_attainment < 1.0


def test_the_batch_follows_little_s_law():
    """The slope of the batch is that of the root: Little's law holds a small step further, where nothing jumps."""
    load = Load(tau, 60.0, 256.0, 64.0, 0.8, 1.2, 512.0)
    point = Point(settled(load))
    _, found = chunked_slopes(Loads(tau, **RANDOM), ("request_rate",))
    step = 1e-3
    batch = point.above.batch + step * float(found["request_rate"].batch_size)
    moved = Point(nearby(point.above, load.at(60.0 + step), batch), point)
    assert moved.missed == pytest.approx(point.missed, abs=1e-4 * step)


def test_slopes_that_compiled_code_asks_for():
    """By operands, arguments first and then what the time captures, point by point and beside values."""
    rates, factor = np.array([18.0, 15.0]), np.array([1.0, 1.1])

    def time(n, c, slower, more):
        return slower * tau(n, c) + more

    def slopes(n, c, slower, more):
        return [tau(n, c), 1.0]

    arguments = (rates, 700.0, 128.0, 0.0, 0.0, 2048.0, 0.0, math.inf, 1.0, 1.0, math.inf, math.inf, math.inf)
    asked = (("tpot_mean", 0.0), ("e2e", 0.9), ("e2e", 0.9, 0), ("tpot_mean", 0.0, 13), ("e2e", 0.5, 14))
    space = vector.NAMESPACE | {"tau": tau}
    found = answers(asked, time, arguments, (factor, 0.0), slopes, space, vector.NUMBERS | {"tau": tau})
    values, by = chunked_slopes(
        Loads(time, rates, 700.0, 128.0, captured=(factor, 0.0), quantiles=(0.5, 0.9)),
        ("request_rate",),
        {"slower": lambda n, c, *_: tau(n, c), "more": lambda n, c, *_: 1.0},
    )
    np.testing.assert_array_equal(found[0], values.tpot_mean)
    np.testing.assert_array_equal(found[1], values.e2e[:, 1])
    np.testing.assert_allclose(found[2], by["request_rate"].e2e[:, 1], rtol=1e-3)
    np.testing.assert_allclose(found[3], by["slower"].tpot_mean, rtol=1e-3)
    np.testing.assert_allclose(found[4], by["more"].e2e[:, 0], rtol=1e-3)


def test_slopes_beyond_the_capacity_are_none():
    """Zero where times are infinite, nan where an input is."""
    rates = np.array([1e4, math.nan])
    _, found = chunked_slopes(Loads(tau, rates, 700.0, 128.0), ("isl",))
    assert found["isl"].tpot_mean[0] == 0.0
    assert np.isnan(found["isl"].tpot_mean[1])


@pytest.mark.parametrize(
    ("load", "slots", "close"), [(FIXED, 40.0, 0.12), (RANDOM, 62.0, 0.05)], ids=["fixed", "random"]
)
def test_slots_move_the_wait_for_one(load, slots, close):
    """Fewer slots and more requests make the first token later; how evenly fixed prompts are completed is held."""
    load, names = load | {"max_num_seqs": slots}, ("max_num_seqs", "request_rate")
    values, found = chunked_slopes(Loads(tau, **load), names)
    assert 0.005 < values.slot_wait_probability < 0.95
    for name in names:
        step = 2e-3 * load[name]
        ends = [chunked_latencies(Loads(tau, **(load | {name: load[name] + d}))) for d in (-step, step)]
        for key in ("ttft_mean", "e2e_mean", "slot_wait_probability", "slot_wait_mean"):
            before, after = (getattr(end, key) for end in ends)
            assert getattr(found[name], key) == pytest.approx((after - before) / (2.0 * step), rel=close), (name, key)
        late = (ends[1].ttft[2] - ends[0].ttft[2]) / (2.0 * step)
        # A slope of a quantile is the mean of those around it, which rises where the wait sets in.
        assert found[name].ttft[2] == pytest.approx(late, rel=0.25)


@pytest.mark.long
@pytest.mark.parametrize("load", [FIXED, RANDOM], ids=["fixed", "random"])
def test_slopes_together_are_those_one_by_one(load):
    """Of directions that lead along each other only some are followed; every slope is as if it were asked alone."""
    rates = {
        "slower": lambda n, c: tau(n, c),
        "faster": lambda n, c: -3.0 * tau(n, c),
        "memory": lambda n, c: 1e-5 * n + 0.0 * c,
        "both": lambda n, c: 2e-5 * n - 0.5 * tau(n, c),
        "fixed": lambda n, c: 1e-4 + 0.0 * (n + c),
    }
    asked = (*MEANS, "tpot", "slo_attainment")
    loads = Loads(tau, **load, ttft_slo=0.25, tpot_slo=0.016, outputs=asked)
    wrt = ("request_rate", "isl", "isl_cv", "ttft_slo")
    values, together = chunked_slopes(loads, wrt, rates)
    for name, slope in together.items():
        _, alone = chunked_slopes(loads, *(((name,), {}) if name in wrt else ((), {name: rates[name]})))
        for key in asked:
            expected, value = getattr(alone[name], key), getattr(values, key)
            np.testing.assert_allclose(
                getattr(slope, key) / value, expected / value, rtol=2e-4, atol=1e-6, err_msg=f"{key} by {name}"
            )


@pytest.mark.parametrize("pair_time", [0.0, 2e-9])
def test_a_chain_nearby_follows_from_its_neighbour(pair_time):
    """To first order its law, its sums and what a request meets are those that are solved for anew."""
    load, step = Load(tau, **RANDOM, pair_time=pair_time), 1e-5
    base = settled(load)
    slow = replace(load, request_rate=load.request_rate * (1.0 - step), tau=lambda n, c: (1.0 + 2.0 * step) * tau(n, c))
    moved = nearby(base, slow, base.batch * (1.0 + step), 2.0 * step * base.expansion.times)
    anew = Chain(slow, base.lattice, moved.batch, full(slow, moved.batch, base.full.enough))
    assert moved.full.time == pytest.approx(anew.full.time, rel=1e-9)
    found = [(at.law, at.drawn, at.total(at.law * (at.times - at.time))) for at in (base, moved, anew)]
    inside = slice(0, base.lattice.states * 3 // 4)
    for before, after, expected in zip(*found, strict=True):
        change = (expected - before)[inside]
        np.testing.assert_allclose((after - before)[inside], change, atol=1e-3 * np.abs(change).max())
    places = np.array([0, 1])
    ours, theirs = Stay(moved, places, Stay(base, places)), Stay(anew, places)
    for each in ("extra", "bunching"):
        ends = [getattr(at, each) for at in (Stay(base, places), ours, theirs)]
        before, after, expected = (getattr(at, "first", at) for at in ends)
        np.testing.assert_allclose(after - before, expected - before, atol=1e-3 * np.abs(expected - before).max())
