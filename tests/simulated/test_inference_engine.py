"""The simulation of inference engines itself, against traces by hand and queues whose answers are known."""

from __future__ import annotations

import math
from dataclasses import asdict

import pytest

pytest.importorskip("numba")

import numpy as np
from fuzz import rest_long, tries
from simulated.inference_engine import Engine, Pools, saturated_rate
from simulated.serving import plain
from simulated.serving.gaps import SHORTEST, WIDTH, quantile
from simulated.serving.iteration_time import Clock, IterationTime, line, one_clock
from simulated.serving.laws import EIGHT, ONE, erlang_c, full_iterations_rate, m_d_1_within, m_d_c_wait
from simulated.serving.load import Drafts, fixed_or_log_normal, poisson, renewals, requests
from simulated.serving.prefix_cache import token_hit_rate, zipf
from simulated.serving_settings import CHUNKED, COLOCATED, DISAGGREGATED, request_rate, simulate

#: A second, and a quarter of one per token.
BY_HAND = one_clock(line(1.0, 0.25))
#: Arrivals, prompts and answers of five requests.
FIVE = ([0.0, 0.5, 0.75, 1.0, 20.0], [3, 6, 2, 1, 4], [3, 2, 1, 3, 2])
WHOLE_RUN = {"warm_up": 0.0, "cool_down": 0.0}


def served(engine, load):
    run = engine.run(load, **WHOLE_RUN)
    return run.first.tolist(), run.finish.tolist()


def fixed_load(isl, osl, rate, count, seed=1, **more):
    rng = np.random.default_rng(seed)
    return requests(poisson(rate, count, rng), np.full(count, isl), np.full(count, osl), **more)


def random_load(isl, osl, cv, rate, count, seed=1, **more):
    rng = np.random.default_rng(seed)
    arrival = poisson(rate, count, rng)
    prompt = fixed_or_log_normal(isl, cv, count, rng)
    return requests(arrival, prompt, fixed_or_log_normal(osl, cv, count, rng), **more)


# ------------------------------------------------------------------------------------------------ traces by hand


def test_five_requests_in_mixed_iterations_by_hand():
    # 0-1.75 r0; -3.75 r0 and half of r1; -5.75 r0 and the rest of r1; -7.75 r1, r2 and r3; -9 and -10.25 r3; 20-22 r4.
    first, finish = served(Engine(BY_HAND, budget=4), requests(*FIVE))
    assert first == [1.75, 5.75, 7.75, 7.75, 22.0]
    assert finish == [5.75, 7.75, 7.75, 10.25, 23.25]


def test_five_requests_with_whole_prompts_by_hand():
    # Prompts r0 and r1 take both slots to 4.25; a step of two to 5.75; r2 to 7.25, r3 to 8.5; steps to 10 and 11.25.
    first, finish = served(Engine(BY_HAND, slots=2), requests(*FIVE))
    assert first == [1.75, 4.25, 7.25, 8.5, 22.0]
    assert finish == [10.0, 5.75, 7.25, 11.25, 23.25]


@pytest.mark.parametrize(
    ("decode_workers", "finish"),
    [
        # Transfers end at 2.75 (r0), 4.75 (r1), 5.0 (r3), 23.25 (r4). One worker: r1 and r3 begin together at 5.25.
        (1, [5.25, 6.75, 3.25, 8.0, 24.5]),
        # Two: r1 goes to the idle one; r3 finds one request on each, goes to the first and begins at 5.25.
        (2, [5.25, 6.0, 3.25, 7.75, 24.5]),
    ],
)
def test_five_requests_in_pools_by_hand(decode_workers, finish):
    pools = Pools(BY_HAND, BY_HAND, 2, decode_workers, bytes_per_token=0.5, bandwidth=2.0, latency=0.25)
    assert served(pools, requests(*FIVE)) == ([1.75, 3.0, 3.25, 4.25, 22.0], finish)


def test_two_links_carry_two_transfers_and_a_decode_worker_without_a_slot_keeps_requests_waiting():
    # Of r1 and r3, both there at 4.75, the one on the first link comes first: r3 has the slot from 5.25 to 7.75.
    pools = Pools(BY_HAND, BY_HAND, 2, 1, slots=1, links=2, bytes_per_token=0.5, bandwidth=2.0, latency=0.25)
    assert served(pools, requests(*FIVE))[1] == [5.25, 9.0, 3.25, 7.75, 24.5]


@pytest.mark.parametrize(
    ("budget", "first", "finish"),
    [
        # Three steps fill the cache with 10 of 8 tokens: the second request leaves and prefills five tokens at the end.
        (16, [2.0, 2.0], [6.25, 8.5]),
        (None, [1.5, 3.0], [7.25, 9.5]),
    ],
)
def test_the_youngest_request_is_put_back_and_computed_again(budget, first, finish):
    engine = Engine(BY_HAND, budget=budget, kv_tokens=8, watermark=0.0)
    run = engine.run(requests([0.0, 0.0], [2, 2], [4, 4]), **WHOLE_RUN)
    assert (run.first.tolist(), run.finish.tolist()) == (first, finish)
    assert run.totals.preemptions == 1


def test_what_a_request_needs_must_fit():
    with pytest.raises(ValueError, match="do not fit"):
        Engine(BY_HAND, kv_tokens=7).run(requests([0.0], [4], [4]))


def test_closed_loop_by_hand():
    # A request alone: 3 tokens in 1.75 s, then a step of 1.25 s.
    run = Engine(BY_HAND, budget=4).run(requests(1, [3, 3, 3], [2, 2, 2]), **WHOLE_RUN)
    assert run.arrival.tolist() == [0.0, 3.0, 6.0]
    assert run.finish.tolist() == [3.0, 6.0, 9.0]


def one_clock_alone(**only):
    parts = {"tokens": line(0.0), "sampled": line(0.0), "per_context": 0.0, "per_pair": 0.0}
    return Engine(one_clock(**(parts | only)), budget=3)


@pytest.mark.parametrize(
    ("only", "first", "finish"),
    [
        # Four of eight tokens are cached; pieces of three tokens and one; then three steps of contexts 9, 10 and 11.
        ({"tokens": line(0.0, 1.0)}, 4.0, 7.0),
        ({"tokens": np.array([5.0, 1.0, 2.0, 4.0])}, 5.0, 8.0),
        ({"sampled": line(0.0, 1.0)}, 1.0, 4.0),
        ({"per_pair": 1.0}, (8**2 - 4**2) / 2, (8**2 - 4**2) / 2),
        ({"per_context": 1.0}, 0.0, 30.0),
    ],
)
def test_what_an_iteration_is_charged_for(only, first, finish):
    run = one_clock_alone(**only).run(requests([0.0], [8], [4], cached_share=0.5), **WHOLE_RUN)
    assert (run.first[0], run.finish[0]) == (first, finish)


def test_the_slower_clock_counts():
    clocks = IterationTime(Clock(line(2.0), line(0.0), 0.0, 0.0), Clock(line(0.0, 1.0), line(0.0), 0.0, 0.0))
    # Three tokens by the second clock, a step of one token by the first.
    assert served(Engine(clocks), requests([0.0], [3], [2])) == ([3.0], [5.0])


def test_a_table_goes_on_in_a_straight_line():
    assert served(Engine(one_clock(np.array([0.0, 1.0, 3.0]))), requests([0.0], [10], [1]))[1] == [3.0 + 8 * 2.0]


# ------------------------------------------------------------------------------------------------------- drafts


def test_drafts_that_are_always_accepted_fill_the_steps():
    load = requests([0.0], [4], [12], drafts=Drafts(3, 1.0))
    # Eleven tokens in steps of four: three steps, each of four tokens and a draft of 0.5 s.
    assert served(Engine(BY_HAND, drafts=Drafts(3, 1.0, 0.5)), load) == ([2.0], [2.0 + 3 * (2.0 + 0.5)])


def test_drafts_that_are_never_accepted_give_a_token_per_step():
    load = requests([0.0], [4], [12], drafts=Drafts(3, 0.0))
    assert load.steps.tolist() == [11]


def test_tokens_per_step_with_drafts_are_those_of_the_geometric_series():
    count, answer = 20, 20_001
    load = requests([0.0] * count, [1] * count, [answer] * count, drafts=Drafts(4, 0.7))
    assert load.pace.mean() == pytest.approx((1 - 0.7**5) / (1 - 0.7), rel=0.005)


# ------------------------------------------------------------------------------------------------ known queues

#: A millisecond per token: a prompt of a thousand takes a second.
SERVER = one_clock(line(0.0, 1e-3))


def exponential_prompts(rate, count, seed=1):
    rng = np.random.default_rng(seed)
    arrival = poisson(rate, count, rng)
    prompt = np.ceil(rng.exponential(1000, count)).astype(int)
    return requests(arrival, prompt, np.ones(count, int))


def waits(engine, load):
    run = engine.run(load)
    service = load.prompt[run.middle] * 1e-3
    return run.ttft - service


@pytest.mark.parametrize("load", [0.5, 0.8])
def test_it_is_an_m_m_1_queue(load):
    wait = waits(Engine(SERVER), exponential_prompts(load, 1_000_000))
    assert wait.mean() == pytest.approx(load / (1 - load), rel=0.03)
    assert (wait > 2.0).mean() == pytest.approx(load * math.exp(-(1 - load) * 2.0), rel=0.03)


@pytest.mark.parametrize("load", [0.5, 0.8])
def test_it_is_an_m_d_1_queue(load):
    wait = np.concatenate([waits(Engine(SERVER), fixed_load(1000, 1, load, 1_000_000, seed)) for seed in (1, 2, 3)])
    assert wait.mean() == pytest.approx(load / (2 * (1 - load)), rel=0.02)
    for limit in (0.5, 2.5, 4.25):
        assert (wait <= limit).mean() == pytest.approx(m_d_1_within(load, limit), abs=0.003)


def test_crommelins_series_is_pollaczek_khinchines_where_there_is_one_server():
    assert m_d_c_wait(1, 0.8) == pytest.approx(0.8 / (2 * 0.2), rel=1e-9)


@pytest.mark.parametrize(("workers", "load"), rest_long([(2, 0.8), (1, 0.7), (4, 0.8)], quick=1))
def test_prefill_workers_are_m_m_c_and_m_d_c_queues(workers, load):
    pools = Pools(SERVER, SERVER, workers)
    random = waits(pools, exponential_prompts(load * workers, 600_000))
    expected = erlang_c(workers, load * workers)
    assert (random > 1e-9).mean() == pytest.approx(expected, rel=0.02)
    assert random.mean() == pytest.approx(expected / (workers * (1 - load)), rel=0.04)
    fixed = [waits(pools, fixed_load(1000, 1, load * workers, 1_000_000, seed)).mean() for seed in (1, 2, 3)]
    assert np.mean(fixed) == pytest.approx(m_d_c_wait(workers, load), rel=0.02)


def test_the_link_is_an_m_d_1_queue():
    load, steps = 0.7, one_clock(line(1e-3))
    # Prefill takes nothing; so many decode workers that a request finds an idle one; a transfer of one second.
    pools = Pools(one_clock(line(0.0)), steps, 1, 64, bytes_per_token=1.0, bandwidth=100.0, latency=0.25)
    run = pools.run(fixed_load(100, 2, load, 400_000))
    transfer = run.e2e - 1.0 - 0.25 - 1e-3
    assert transfer.mean() == pytest.approx(load / (2 * (1 - load)), rel=0.03)
    assert run.outcome().link_utilization == pytest.approx(load, rel=0.01)


@pytest.mark.parametrize("policy", ["mixed", "whole", "pools"])
def test_steps_that_take_longer_the_more_decode_share_the_processor(policy):
    """The mean of processor sharing: service over one less the load, whatever the lengths."""
    each, load = one_clock(line(0.0, 1e-3)), 0.6
    # A prompt of one token in a mixed iteration is a step more.
    engine = Engine(each, budget=1 << 30) if policy == "mixed" else Engine(one_clock(line(0.0, 1e-3)))
    if policy == "pools":
        engine = Pools(one_clock(line(0.0)), each)
    steps = {"mixed": 50, "whole": 50, "pools": 49}[policy]
    run = engine.run(random_load(1, 50, 0.0, load / (steps * 1e-3), 200_000))
    assert run.e2e.mean() == pytest.approx(steps * 1e-3 / (1 - load), rel=0.03)


# -------------------------------------------------------------------------------------- what holds in every run

TIMES = IterationTime(
    Clock(line(6.31e-3), line(0.0, 1e-5), 48.9e-9, 0.0), Clock(line(0.32e-3, 32.5e-6), line(0.0), 1.06e-9, 1.06e-9)
)
DRAFTS = Drafts(3, 0.6, 1e-3)
ENGINES = {
    "mixed": (Engine(TIMES, budget=512), {}),
    "few slots": (Engine(TIMES, budget=2048, slots=8), {}),
    "drafts": (Engine(TIMES, budget=512, drafts=DRAFTS), {"drafts": DRAFTS}),
    "preempted": (Engine(TIMES, budget=512, kv_tokens=16_000), {}),
    "preempted drafts": (Engine(TIMES, kv_tokens=12_000, drafts=DRAFTS), {"drafts": DRAFTS}),
    "whole": (Engine(TIMES), {"cached_share": 0.3}),
    "whole preempted": (Engine(TIMES, kv_tokens=12_000, slots=20), {}),
    "pools": (Pools(TIMES, TIMES, 2, 3, 16, 2, 131072.0, 50e9, 1e-4), {}),
    "pools of drafts": (Pools(TIMES, TIMES, 1, 1, drafts=DRAFTS), {"drafts": DRAFTS}),
}


@pytest.mark.parametrize("name", ENGINES)
def test_tokens_requests_and_times_are_conserved(name):
    engine, more = ENGINES[name]
    workers = getattr(engine, "decode_workers", 1)
    load = random_load(800, 60, 0.8, 14.0 if name == "preempted drafts" else 9.0, 5000, seed=3, **more)
    run = engine.run(load, **WHOLE_RUN)
    answers, decoding = load.answer, run.finish - run.first
    assert run.totals.finished == len(answers)
    assert run.totals.busy <= run.totals.elapsed
    assert (run.finish >= run.first).all()
    assert (run.first > run.arrival).all()
    again = run.totals.preemptions
    assert (again > 0) == ("preempted" in name)
    if "drafts" not in name:
        # A preempted request is given one token by its prefill, as any other: no token is made twice.
        assert run.totals.tokens == pytest.approx(answers.sum(), rel=1e-12)
        assert run.gaps.sum() == (answers - 1).sum()
    elif not again:
        assert run.totals.tokens == pytest.approx(answers.sum(), rel=1e-9)
        assert run.gaps.sum() == load.steps.sum()
    # The times between its tokens add up to the time of an answer, to the width of a bin.
    middles = SHORTEST * np.exp(WIDTH * (np.arange(len(run.gaps)) + 0.5))
    assert (run.gaps * middles).sum() == pytest.approx(decoding.sum(), rel=2e-3)
    if not again and "pools" not in name:
        # Little's law, term by term: what waits in a transfer or after a preemption does not decode.
        assert run.totals.batch == pytest.approx(decoding.sum(), rel=1e-9)
    if "pools" in name:
        assert run.totals.batch * workers <= decoding.sum() * (1 + 1e-9)


def test_in_a_steady_state_littles_law_holds_for_the_middle_of_the_run():
    out = Engine(TIMES, budget=512).run(random_load(1000, 64, 1.0, 12.0, 200_000)).outcome()
    assert out.requests_per_second == pytest.approx(12.0, rel=0.02)
    assert out.tokens_per_second == pytest.approx(12.0 * 64, rel=0.02)
    assert out.ttft_p50 < out.ttft_p90 < out.ttft_p99
    fixed = Engine(TIMES, budget=512).run(fixed_load(1000, 64, 12.0, 200_000)).outcome()
    assert fixed.batch_size == pytest.approx(12.0 * 63 * fixed.tpot_mean, rel=0.02)


@pytest.mark.parametrize("name", ENGINES)
def test_the_seed_decides(name):
    engine, more = ENGINES[name]

    def outcome(seed):
        return asdict(engine.run(random_load(800, 60, 0.8, 9.0, 2000, seed=seed, **more)).outcome())

    assert outcome(5) == outcome(5) != outcome(6)


@pytest.mark.parametrize("budget", [None, 512])
def test_a_request_alone_takes_its_own_time(budget):
    run = Engine(TIMES, budget=budget).run(fixed_load(1000, 64, 1e-3, 500))

    def tau(tokens, sampled, context, pairs):
        return max(
            6.31e-3 + 1e-5 * sampled + 48.9e-9 * context, 0.32e-3 + 32.5e-6 * tokens + 1.06e-9 * (context + pairs)
        )

    ttft = tau(1000, 1, 0, 1000**2 / 2) if budget is None else tau(512, 0, 0, 512**2 / 2) + tau(488, 1, 0, 368_928)
    assert run.ttft == pytest.approx(ttft, rel=1e-9)
    tpot = sum(tau(1, 1, 1000 + step, 0) for step in range(1, 64)) / 63
    assert run.tpot == pytest.approx(tpot, rel=1e-9)
    assert quantile(run.gaps, 0.99) == pytest.approx(tpot, rel=2e-3)


@pytest.mark.parametrize("concurrency", [1, 16, 100])
@pytest.mark.parametrize("policy", ["mixed", "pools"])
def test_in_a_closed_loop_the_requests_in_flight_are_rate_times_stay(policy, concurrency):
    engine = Engine(TIMES, budget=1024) if policy == "mixed" else ENGINES["pools"][0]
    rng = np.random.default_rng(1)
    count = 20_000
    load = requests(concurrency, fixed_or_log_normal(500, 1, count, rng), fixed_or_log_normal(50, 1, count, rng))
    out = engine.run(load).outcome()
    assert out.requests_per_second * out.e2e_mean == pytest.approx(concurrency, rel=0.02)


def test_replicas_that_share_arrivals_at_random_are_as_one_with_its_share():
    rng = np.random.default_rng(1)
    count = 300_000
    arrival = poisson(45.0, count, rng)
    mine = arrival[rng.integers(3, size=count) == 0]
    share = requests(mine, np.full(len(mine), 1000), np.full(len(mine), 64))
    one, own = (Engine(TIMES, 512).run(load).outcome() for load in (share, fixed_load(1000, 64, 15.0, 100_000)))
    assert one.ttft_mean == pytest.approx(own.ttft_mean, rel=0.03)
    assert one.tpot_mean == pytest.approx(own.tpot_mean, rel=0.02)


def test_lengths_and_bursts_are_as_asked():
    rng = np.random.default_rng(1)
    lengths = fixed_or_log_normal(1000, 1.0, 400_000, rng)
    assert lengths.mean() == pytest.approx(1000, rel=0.01)
    assert lengths.std() == pytest.approx(1000, rel=0.03)
    gaps = np.diff(renewals(10.0, 2.0, 400_000, rng))
    assert gaps.mean() == pytest.approx(0.1, rel=0.02)
    assert gaps.std() == pytest.approx(0.2, rel=0.02)


def test_bursts_make_a_gi_m_1_queue():
    from scipy.optimize import brentq

    load, cv = 0.5, 2.0
    # Whoever finds the server busy does so with the root of the transform of the times between arrivals.
    busy = brentq(lambda x: (1 + (1 - x) * cv**2 / load) ** (-(cv**-2)) - x, 0.0, 0.999)
    rng, count = np.random.default_rng(1), 600_000
    prompt = np.ceil(rng.exponential(1000, count)).astype(int)
    wait = waits(Engine(SERVER), requests(renewals(load, cv, count, rng), prompt, np.ones(count, int)))
    assert (wait > 1e-9).mean() == pytest.approx(busy, rel=0.01)
    assert wait.mean() == pytest.approx(busy / (1 - busy), rel=0.04)


def test_slo_attainment_counts_requests_within_both():
    run = Engine(BY_HAND, budget=4).run(requests(*FIVE), **WHOLE_RUN)
    # TTFT 1.75, 5.25, 7, 6.75, 2; TPOT 2, 2, none, 1.25, 1.25.
    assert run.slo_attainment(5.5, 1.5) == 1 / 5
    assert run.slo_attainment(7.0, 2.0) == 1.0
    assert run.slo_attainment(7.0, 1.3) == 3 / 5


# ------------------------------------------------------------------------------------------------- prefix cache


def test_a_cache_of_one_prefix_is_hit_where_the_last_request_is_repeated():
    popularity = zipf(20, 1.0)
    hits = token_hit_rate(np.full(20, 7), popularity, 7, 500_000, seed=1)
    assert hits == pytest.approx((popularity**2).sum(), rel=0.02)


def test_a_cache_of_two_of_three_prefixes_is_kings():
    p = np.array([0.5, 0.3, 0.2])
    expected = sum(p[i] * p[j] / (1 - p[i]) * (p[i] + p[j]) for i in range(3) for j in range(3) if i != j)
    assert token_hit_rate(np.full(3, 10), p, 29, 500_000, seed=1) == pytest.approx(expected, rel=0.01)


def test_a_large_cache_is_near_ches_approximation():
    from scipy.optimize import brentq

    rng = np.random.default_rng(1)
    sizes, popularity, capacity = rng.integers(100, 4000, 2000), zipf(2000, 0.9), 400_000

    def held(time):
        return (sizes * -np.expm1(-popularity * time)).sum()

    time = brentq(lambda time: held(time) - capacity, 1.0, 1e7)
    expected = (popularity * sizes * -np.expm1(-popularity * time)).sum() / (popularity * sizes).sum()
    assert token_hit_rate(sizes, popularity, capacity, 500_000, seed=1) == pytest.approx(expected, rel=0.01)


def test_a_cache_that_holds_all_is_always_hit_and_one_too_small_never():
    sizes = np.full(50, 10)
    assert token_hit_rate(sizes, zipf(50, 1.0), 500, 50_000, seed=1) == 1.0
    assert token_hit_rate(sizes, zipf(50, 1.0), 9, 50_000, seed=1) == 0.0


# ------------------------------------------------------------------------------------------------- capacity


def test_an_engine_that_never_waits_for_requests_completes_what_full_iterations_allow():
    for machine in (ONE, EIGHT):
        for isl, osl, budget in ((1024, 64, 512), (512, 256, 2048), (4096, 128, 2048), (128, 16, 512)):
            load = fixed_load(isl, osl, 1.0, 60_000)
            law = full_iterations_rate(machine, load.prompt, load.answer, budget)
            assert saturated_rate(Engine(machine.times(), budget), load) == pytest.approx(law, rel=0.003)


# ------------------------------------------------------------------------ against the rules, token by token

CURVED = IterationTime(
    Clock(np.array([0.0, 6e-3, 6.4e-3, 6.5e-3, 6.7e-3]), line(0.0, 1e-5), 48.9e-9, 0.0),
    Clock(line(0.32e-3, 32.5e-6), line(0.0), 1.06e-9, 1.06e-9),
)
LINEAR = one_clock(line(5e-3, 1e-4), line(0.0, 1e-5), 1e-7)


def drawn_load(rng):
    count, rate, closed = 150, rng.uniform(2, 30), rng.random() < 0.3
    arrival = int(rng.integers(1, 40)) if closed else poisson(rate, count, rng)
    prompt = fixed_or_log_normal(rng.integers(1, 1200), rng.choice([0, 0.5, 1]), count, rng)
    answer = fixed_or_log_normal(rng.integers(1, 60), rng.choice([0, 0.5, 1]), count, rng)
    return requests(arrival, prompt, answer, cached_share=rng.choice([0.0, 0.4]))


def agree(run, expected):
    assert run.arrival == pytest.approx([one.arrival for one in expected], rel=1e-9)
    assert run.first == pytest.approx([one.tokens[0] for one in expected], rel=1e-9)
    assert run.finish == pytest.approx([one.tokens[-1] for one in expected], rel=1e-9)
    gaps = np.concatenate([np.diff(one.tokens) for one in expected])
    assert run.gaps.sum() == len(gaps)
    edges = SHORTEST * np.exp(WIDTH * np.arange(len(run.gaps) + 1))
    edges[0] = 0.0
    # A gap on the edge of a bin may fall to either side.
    assert np.count_nonzero(np.cumsum(run.gaps) - np.cumsum(np.histogram(gaps, edges)[0])) <= 3


@pytest.mark.parametrize("mixed", [True, False])
def test_an_engine_keeps_its_rules(mixed):
    rng = np.random.default_rng(11 if mixed else 12)
    preempted = 0
    for _ in range(tries(120, quick=15)):
        load = drawn_load(rng)
        needed = int((load.prompt + load.answer).max())
        engine = Engine(
            CURVED,
            int(rng.choice([64, 512, 4096])) if mixed else None,
            int(rng.choice([3, 1000])),
            int(needed * rng.choice([1.0, 1.5, 100])) + 1,
            float(rng.choice([0.0, 0.01, 0.1])),
        )
        run = engine.run(load, warm_up=0.0, cool_down=0.0)
        agree(run, plain.serve(engine, load))
        preempted += run.totals.preemptions
    assert preempted > 20


def test_pools_keep_their_rules():
    rng = np.random.default_rng(13)
    for _ in range(tries(120, quick=15)):
        load = drawn_load(rng)
        pools = Pools(
            CURVED,
            LINEAR,
            *(int(one) for one in rng.integers(1, 4, 2)),
            int(rng.choice([2, 1000])),
            int(rng.integers(1, 3)),
            bytes_per_token=131_072.0,
            bandwidth=float(rng.choice([1e9, 50e9])),
            latency=float(rng.choice([0.0, 1e-3])),
        )
        agree(pools.run(load, warm_up=0.0, cool_down=0.0), plain.serve_pools(pools, load))


# ------------------------------------------------------------------------------------------------ settings


@pytest.mark.parametrize("setting", [CHUNKED[2], COLOCATED[2], DISAGGREGATED[0]], ids=lambda one: one.variant)
def test_a_setting_completes_what_arrives(setting):
    rate = request_rate(setting)
    assert simulate(setting, rate, 1, 40_000).requests_per_second == pytest.approx(rate, rel=0.02)
