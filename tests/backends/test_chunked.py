"""Latencies under chunked prefill: exact identities of the chain, its limits, and simulated values.

The simulated values are from a simulation of ours with the rules the chain assumes: it follows every request through
iterations that take a token of each decoding request and fill the rest of the budget with prompts, first come first
served. Each setting had a million Poisson requests with seed 1, of which the first 10% and the last 5% were dropped.
tests/simulated/ holds the law against the simulation that is kept here, which shares no code with it.
"""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from chunked_loads import chunked_latencies
from scipy.special import lambertw

from mlsysim.backends.chunked import ChunkedLatencies, Loads
from mlsysim.backends.chunked.chain import chain
from mlsysim.backends.chunked.distribution import Delayed, Distribution
from mlsysim.backends.chunked.lattice import chosen
from mlsysim.backends.chunked.little import FINE, decoding, settled
from mlsysim.backends.chunked.load import Load
from mlsysim.backends.chunked.slots import SlotWait

#: Weights and KV cache read, work of a token and of a pair, times of an iteration and of its tokens, in s.
ENGINES = {
    "8B": (5.99e-3, 48.9e-9, 32.5e-6, 1.06e-9, 0.32e-3, 0.0),
    "70B": (6.59e-3, 15.3e-9, 35.7e-6, 0.66e-9, 2.4e-3, 7.9e-6),
}


def iterations(engine, isl, osl, isl_cv, osl_cv):
    """Time of an iteration, bound by memory or by arithmetic, and the time of a pair."""
    weights, cache, token, pair, fixed, each = ENGINES[engine]
    context = isl + osl * (1.0 + osl_cv**2) / 2.0
    prompt = token + pair * isl * (1.0 + isl_cv**2) / 2.0

    def tau(n, c):
        arithmetic = (token + pair * context) * n + prompt * c
        return np.maximum(weights + cache * context * n, arithmetic) + fixed + each * (n + c)

    return tau, pair


def load_of(engine="8B", share=0.7, isl=1024.0, osl=128.0, budget=2048.0, cv=0.0):
    """A load at a share of the capacity."""
    tau, pair = iterations(engine, isl, osl, cv, cv)
    load = Load(tau, 1.0, isl, osl, cv, cv, budget, pair)
    return load.at(share * load.capacity())


def solved(load, **more):
    """The latencies of a load."""
    arguments = (load.tau, load.request_rate, load.isl, load.osl, load.isl_cv, load.osl_cv, load.token_budget)
    return chunked_latencies(Loads(*arguments, pair_time=load.pair_time, **more))


def test_the_lattice_does_not_hang_on_last_digits():
    """Steps of 4 and 5 are as far from dividing a prompt of 2.06 chunks; on which was nearer processors differed."""
    load = load_of(isl=2048.0)
    for free, most in ((994.5826327685178, 4000), (994.5826327685178, 8000), (700.0, 4000), (700.0, 8000)):
        near = [free * (1 + ulps * np.finfo(float).eps) for ulps in range(-8, 9)]
        assert len({chosen(load, each, 0.8, most) for each in near}) == 1


@dataclass(frozen=True)
class Setting:
    """A simulated setting."""

    engine: str
    rate: float
    isl: int
    osl: int
    budget: int
    cv: float
    batch_size: float
    tpot: float
    ttft: float
    ttft_p99: float
    e2e: float


SIMULATED = [
    Setting("8B", 13.06, 1024, 128, 2048, 0, 19.96, 0.01201, 0.06092, 0.1829, 1.586),
    Setting("70B", 6.363, 2048, 512, 512, 0, 62.86, 0.01929, 0.2942, 1.084, 10.15),
    Setting("8B", 2.27, 8192, 128, 2048, 0, 9.079, 0.03143, 0.6985, 2.318, 4.69),
    Setting("70B", 130.2, 128, 16, 512, 0, 36.89, 0.01885, 0.05032, 0.1697, 0.3331),
    Setting("8B", 18.02, 1024, 128, 2048, 1, 44.08, 0.01991, 0.1225, 0.6028, 2.564),
    Setting("70B", 32.34, 256, 64, 512, 1, 24.36, 0.01196, 0.0335, 0.1381, 0.7852),
    Setting("8B", 31.19, 512, 256, 1024, 1, 151.7, 0.01907, 0.07274, 0.3226, 4.925),
    Setting("70B", 1.231, 4096, 1024, 2048, 1, 17.07, 0.01357, 0.2838, 1.601, 14.12),
]


@pytest.mark.parametrize("setting", SIMULATED, ids=lambda s: f"{s.engine}-{s.isl}-{s.osl}-{s.budget}-{s.cv}")
def test_the_law_meets_the_simulation(setting):
    """Means within 2.5%, the tail of the first token within 10%."""
    tau, pair = iterations(setting.engine, setting.isl, setting.osl, setting.cv, setting.cv)
    found = chunked_latencies(
        Loads(tau, setting.rate, setting.isl, setting.osl, setting.cv, setting.cv, setting.budget, pair_time=pair)
    )
    assert found.batch_size == pytest.approx(setting.batch_size, rel=0.025)
    assert found.tpot_mean == pytest.approx(setting.tpot, rel=0.025)
    assert found.ttft_mean == pytest.approx(setting.ttft, rel=0.025)
    assert found.ttft[2] == pytest.approx(setting.ttft_p99, rel=0.10)
    assert found.e2e_mean == pytest.approx(setting.e2e, rel=0.025)
    assert found.tail < 1e-4


LOADS = [load_of(), load_of(share=0.9), load_of("70B", 0.5, 8192.0, 32.0, 512.0), load_of(share=0.5, cv=1.0)]


@pytest.mark.parametrize("load", LOADS)
def test_tokens_are_conserved(load):
    """Tokens cleared are those that arrive, and the rest has its exact mean."""
    at = settled(load)
    work = np.arange(at.lattice.states) * at.step
    cleared = np.minimum(at.waiting, at.full.free)
    arriving = load.request_rate * load.isl
    assert at.law @ cleared == pytest.approx(arriving * at.time, rel=1e-4)
    rest = 2.0 * (at.law @ (at.waiting - cleared)) * (at.full.free - arriving * at.full.time)
    square = (at.work @ work**2) * load.request_rate * at.time + arriving**2 * (at.law @ at.times**2)
    assert rest == pytest.approx(square - at.law @ cleared**2, rel=1e-3)


@pytest.mark.parametrize("load", LOADS)
def test_little_s_law_holds(load):
    """As many requests decode as their stay and their rate say."""
    at = settled(load)
    assert decoding(at) == pytest.approx(at.batch - 1.0, rel=1e-5)
    found = solved(load)
    assert found.e2e_mean == pytest.approx(found.ttft_mean + found.batch_size / load.request_rate, rel=1e-5)


def dense(at):
    """The matrix of a chain, written out."""
    states, chunk = at.lattice.states, at.lattice.chunk
    matrix = np.zeros((states, states))
    matrix[: chunk + 1] = at.transitions.clearing
    for state in range(chunk + 1, states):
        begin = state - chunk
        matrix[state, begin:] = at.transitions.full[: states - begin]
    matrix[:, -1] += 1.0 - matrix.sum(axis=1)
    return matrix


@pytest.mark.parametrize("load", LOADS)
def test_the_chain_is_solved_as_its_matrix_is(load):
    """Stationary law, one step, and sums over all later steps, against dense linear algebra."""
    at = chain(load, 1.2 * settled(load).batch, 5_000)
    matrix, steps = dense(at), at.transitions
    size = len(matrix)
    law = np.linalg.solve((np.eye(size) - matrix + 1.0).T, np.ones(size))
    np.testing.assert_allclose(steps.stationary, law, atol=2e-5 * law.max())
    values = np.sin(np.arange(size) / 7.0)
    np.testing.assert_allclose(steps.after(values), matrix @ values, atol=1e-12)
    excess = at.times - law @ at.times
    summed = np.linalg.solve(np.eye(size) - matrix + law, excess)
    half = size // 2
    np.testing.assert_allclose(at.drawn[:half], summed[:half], atol=2e-3 * abs(summed[:half]).max())
    apart = at.leaving - steps.stationary
    np.testing.assert_allclose(steps.total(apart) @ excess, apart @ summed, rtol=1e-3)


def test_nobody_else_is_there_without_load():
    """A prompt alone takes its chunks, a request alone decodes alone."""
    load = load_of(isl=5000.0)
    found = solved(load.at(0.0))
    alone = 2.0 * load.tau(0.0, 2048.0) + load.tau(0.0, 904.0)
    assert found.ttft_mean == pytest.approx(alone, rel=1e-3)
    assert found.tpot_mean == pytest.approx(load.tau(1.0, 0.0), rel=1e-5)
    assert found.batch_size == pytest.approx(0.0, abs=1e-5)


def test_a_large_budget_leaves_no_rest():
    """With a budget beyond what ever waits, a larger one changes nothing."""
    found = [solved(load_of(share=0.02, budget=2.0**18).at(10.0))]
    found.append(solved(load_of(share=0.02, budget=2.0**19).at(10.0)))
    assert found[0].rest < 1e-8
    assert found[1].tpot_mean == pytest.approx(found[0].tpot_mean, rel=1e-4)
    assert found[1].ttft_mean == pytest.approx(found[0].ttft_mean, rel=1e-4)


def test_one_token_is_a_queue_without_decoding():
    """No request decodes; the first token is the last."""
    found = solved(load_of(osl=1.0))
    assert found.batch_size == 0.0
    assert found.e2e_mean == pytest.approx(found.ttft_mean, rel=1e-9)
    np.testing.assert_allclose(found.e2e, found.ttft, rtol=0.07)


def test_the_tail_is_that_of_a_queue_with_fixed_service():
    """For long prompts the waiting tokens decay as in M/D/1."""
    load = load_of(isl=8192.0, budget=512.0, osl=32.0)
    at = chain(load, 1.0, FINE)
    busy, prompt = at.full.busy, load.isl / at.step
    decay = float((-busy - lambertw(-busy * math.exp(-busy), -1)).real) / prompt
    far = np.array([8, 10]) * round(prompt)
    measured = -np.diff(np.log([at.law[p : p + round(prompt)].sum() for p in far])) / (far[1] - far[0])
    assert measured == pytest.approx(decay, rel=1e-3)


def test_too_much_load_is_infinite():
    """Infinite times beyond the capacity, nan where an input is, and the points between are as they are alone."""
    load = load_of()
    rates = np.array([[0.5, 1.5], [np.nan, 0.9]]) * load.capacity()
    found = chunked_latencies(Loads(load.tau, rates, load.isl, load.osl, token_budget=load.token_budget, ttft_slo=0.2))
    assert found.ttft.shape == (2, 2, 3)
    assert np.isinf([found.batch_size[0, 1], found.tpot_mean[0, 1], *found.ttft[0, 1], *found.e2e[0, 1]]).all()
    assert found.slo_attainment[0, 1] == 0.0
    assert found.capacity[0, 1] == pytest.approx(load.capacity())
    assert np.isnan(found.tpot_mean[1, 0])
    assert np.isfinite(found.e2e[1, 1]).all()


def test_a_batch_is_its_points():
    """Points together and alone give the same numbers, further arguments of the time included."""
    loads = np.array([3.0, 8.0, 12.0])
    slower = np.array([1.0, 1.1, 1.2])
    load = load_of()

    def solve(rate, factor):
        return chunked_latencies(
            Loads(
                lambda n, c, factor: factor * load.tau(n, c),
                rate,
                1024,
                128,
                0.5,
                1.0,
                tpot_slo=0.02,
                captured=(factor,),
            )
        )

    together = solve(loads, slower)
    for place, (rate, factor) in enumerate(zip(loads, slower, strict=True)):
        alone = solve(rate, factor)
        for name in ChunkedLatencies.__dataclass_fields__:
            np.testing.assert_array_equal(getattr(together, name)[place], getattr(alone, name), err_msg=name)


def test_slots_bound_the_capacity():
    """Few slots bind before the budget does, many do not."""
    load = load_of()
    free = solved(load).capacity
    assert solved(load, max_num_seqs=1024).capacity == free
    assert solved(load, max_num_seqs=16).capacity < 0.6 * free


def test_objectives_are_met_as_the_quantiles_say():
    """A share of 0.9 is within the 0.9 quantile."""
    load = load_of()
    found = solved(load)
    assert solved(load, ttft_slo=float(found.ttft[1])).slo_attainment == pytest.approx(0.9, abs=1e-3)
    assert solved(load, tpot_slo=float(found.tpot[1])).slo_attainment == pytest.approx(0.9, abs=1e-6)
    assert solved(load).slo_attainment == pytest.approx(1.0)


@pytest.mark.parametrize("shape", [(110.0, 62.0, 1680.0, 1.0), (9.0, 23.0, 72.0, 1.0), (8192.0, 64.0, 512.0, 0.0)])
def test_near_the_capacity_times_grow_and_never_fail(shape):
    """Times rise with the load, up to infinity; the tail says where the lattice is too short to trust them."""
    isl, osl, budget, cv = shape
    load = load_of("8B", 1.0, isl, osl, budget, cv)
    shares = np.array([0.7, 0.9, 0.95, 0.999, 1.0])
    loads = Loads(load.tau, shares * load.request_rate, isl, osl, cv, cv, budget, pair_time=load.pair_time)
    found = chunked_latencies(loads)
    assert (np.diff(found.ttft_mean[:3]) > 0).all()
    assert (np.diff(found.batch_size[:3]) > 0).all()
    assert found.ttft_mean[3] > found.ttft_mean[2]
    assert found.ttft_mean[4] == math.inf
    assert (found.tail[:2] < 1e-4).all()


def test_the_wait_for_a_slot_is_added():
    """The distribution is that of a sum, which draws tell; where slots are many nothing changes, to the last bit."""
    random = np.random.default_rng(5)
    edges = np.array([[0.1, 0.3], [0.2, 0.5]])
    first = Distribution(edges, np.array([0.25, 0.75]), (0.09, 0.6))
    late = Delayed.of(first, SlotWait(0.4, 0.7))
    which = (random.random(400_000) < 0.75).astype(int)
    drawn = edges[0][which] + (edges[1] - edges[0])[which] * random.random(which.size)
    drawn += np.where(random.random(which.size) < 0.4, random.exponential(0.7, which.size), 0.0)
    assert late.mean == pytest.approx(drawn.mean(), rel=5e-3)
    shares = np.array([0.1, 0.5, 0.9, 0.99])
    np.testing.assert_allclose(late.quantiles(shares), np.quantile(drawn, shares), rtol=0.01)
    assert late.below(0.4) == pytest.approx((drawn < 0.4).mean(), abs=3e-3)


def test_only_few_slots_are_waited_for():
    """With many slots every number is what it is without a limit, to the last bit; with few the first token is late."""
    given = {"request_rate": 18.0, "isl": 700.0, "osl": 128.0}
    free, many, few = (
        chunked_latencies(Loads(load_of().tau, **given, max_num_seqs=slots)) for slots in (math.inf, 500.0, 40.0)
    )
    assert free.slot_wait_probability == many.slot_wait_probability == 0.0
    for name, value in vars(free).items():
        if name != "capacity":
            np.testing.assert_array_equal(value, getattr(many, name), err_msg=name)
    assert 0.0 < few.slot_wait_probability < 1.0
    expected = free.ttft_mean + few.slot_wait_probability * few.slot_wait_mean
    assert few.ttft_mean == pytest.approx(expected, rel=1e-9)
    assert few.e2e_mean - few.ttft_mean == pytest.approx(free.e2e_mean - free.ttft_mean, rel=1e-9)
    assert (few.e2e > free.e2e).all()
    assert (few.tpot == free.tpot).all()


@pytest.mark.parametrize("isl", [1024.0, 3.0, 1e6])
@pytest.mark.parametrize("cv", [0.0, 1e-9, 0.5, 3.0])
def test_prompts_of_one_length_have_no_spread_of_depth(isl, cv):
    """It is exactly none, and never less: its root is taken."""
    found = Load(None, 1.0, isl, 128.0, cv, 0.0, 2048.0, 0.0).depth_variance
    spread = 1 + cv**2
    assert found == pytest.approx(isl**2 * (spread**3 / 3 - spread**2 / 4 - 1 / 12), abs=1e-15 * isl**2, rel=1e-9)
    assert found > 0 if cv else found == 0
