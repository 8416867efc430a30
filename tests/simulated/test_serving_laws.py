"""Laws of serving against its simulation, at length: how far each is off, where it is known."""

from __future__ import annotations

import pytest

pytest.importorskip("numba")

import numpy as np
from chunked_loads import chunked_latencies
from simulated.inference_engine import Engine, Pools, saturated_rate
from simulated.serving.iteration_time import line, one_clock
from simulated.serving.laws import (
    EIGHT,
    ONE,
    decode_batch,
    full_iterations_rate,
    full_slots_rate,
    m_d_1_within,
    near_m_d_c_wait,
)
from simulated.serving.load import fixed_or_log_normal, poisson, requests

from mlsysim.backends.chunked import Loads

pytestmark = pytest.mark.long

#: Prompt, answer, token budget.
SHAPES = [(128, 16, 512), (128, 1024, 4096), (256, 512, 1024), (512, 64, 512), (512, 256, 2048), (1024, 16, 1024)]
SHAPES += [(1024, 64, 512), (1024, 128, 8192), (2048, 32, 2048), (2048, 128, 512), (2048, 512, 2048), (4096, 64, 1024)]
SHAPES += [(4096, 128, 2048), (4096, 512, 8192), (8192, 32, 16384), (8192, 256, 4096)]


def all_at_once(isl, osl, isl_cv, osl_cv, count, seed=1):
    rng = np.random.default_rng(seed)
    prompt = fixed_or_log_normal(isl, isl_cv, count, rng)
    return requests(np.zeros(count), prompt, fixed_or_log_normal(osl, osl_cv, count, rng))


def test_full_iterations_give_the_capacity():
    errors = []
    for machine in (ONE, EIGHT):
        for isl, osl, budget in SHAPES:
            for cv in (0, 1):
                load = all_at_once(isl, osl, cv, cv, 300_000)
                law = full_iterations_rate(machine, load.prompt, load.answer, budget)
                errors.append(abs(law / saturated_rate(Engine(machine.times(), budget), load) - 1))
    # Measured: median 0.13%, nine of ten 0.36%, worst 1.3% (128 and 1,024 tokens, log-normal).
    assert np.median(errors) < 0.002
    assert np.quantile(errors, 0.9) < 0.005
    assert max(errors) < 0.015


def test_full_slots_give_the_capacity_where_answers_are_random():
    errors = []
    shapes = [(1024, 64, 2048, 16), (512, 256, 2048, 32), (4096, 128, 2048, 8)]
    shapes += [(2048, 512, 8192, 64), (128, 128, 512, 32), (1024, 256, 512, 16)]
    for machine in (ONE, EIGHT):
        for isl, osl, budget, slots in shapes:
            load = all_at_once(isl, osl, 0, 1, 300_000)
            law = full_slots_rate(machine, load.prompt, load.answer, budget, slots)
            errors.append(law / saturated_rate(Engine(machine.times(), budget, slots=slots), load) - 1)
    # Measured: 0.06% to 1.6% too high.
    assert min(errors) > -0.005
    assert max(errors) < 0.02


@pytest.mark.parametrize(
    ("isl", "osl", "x", "y"), [(1024, 64, 1, 1), (2048, 128, 2, 1), (512, 256, 1, 2), (4096, 128, 4, 3)]
)
@pytest.mark.parametrize("load", [0.5, 0.8, 0.9])
def test_pools_are_an_m_d_c_queue_and_a_birth_death_chain(isl, osl, x, y, load):
    steps = one_clock(line(6.31e-3), per_context=48.9e-9)
    prompts = one_clock(line(0.32e-3, 32.5e-6), per_pair=1.06e-9)
    prefill = 0.32e-3 + 32.5e-6 * isl + 1.06e-9 * isl**2 / 2
    per_request = 48.9e-9 * (isl + osl / 2)
    rate = load * min(x / prefill, y / ((osl - 1) * per_request))
    rng = np.random.default_rng(3)
    count = 400_000
    arriving = requests(poisson(rate, count, rng), np.full(count, isl), np.full(count, osl))
    out = Pools(prompts, steps, x, y).run(arriving).outcome()
    busy = rate * prefill / x
    assert prefill * (1 + near_m_d_c_wait(x, busy)) == pytest.approx(out.ttft_mean, rel=0.01 if load < 0.9 else 0.02)
    batch = decode_batch(rate / y, osl - 1, 6.31e-3, per_request)
    # Measured: -0.7% to 0.5% with a decode worker or two, 1.6% to 2.2% with three, which share the load better.
    assert 6.31e-3 + per_request * (batch + 1) == pytest.approx(out.tpot_mean, rel=0.01 if y < 3 else 0.025)
    assert batch == pytest.approx(out.batch_size, rel=0.015 if y < 3 else 0.03)


@pytest.mark.parametrize("load", [0.5, 0.8])
def test_the_tail_of_m_d_1_by_four_million_requests(load):
    def wait(seed):
        rng = np.random.default_rng(seed)
        count = 1_000_000
        run = Engine(one_clock(line(0.0, 1.0))).run(
            requests(poisson(load, count, rng), np.ones(count, int), np.ones(count, int))
        )
        return run.ttft - 1

    p99 = float(np.quantile(np.concatenate([wait(seed) for seed in range(4)]), 0.99))
    assert m_d_1_within(load, p99) == pytest.approx(0.99, abs=0.0005)


@pytest.mark.parametrize("cv", [0, 1])
def test_the_chain_of_waiting_prompts_is_as_near_as_it_was_found_to_be(cv):
    errors = []
    for machine in (ONE, EIGHT):
        for isl, osl, budget in SHAPES:
            context, reach = isl + osl * (1 + cv**2) / 2, isl * (1 + cv**2) / 2

            def law(rate, machine=machine, isl=isl, osl=osl, budget=budget, context=context, reach=reach):
                def tau(n, c):
                    return machine.mean_time(n, c, context, reach)

                return chunked_latencies(Loads(tau, rate, isl, osl, cv, cv, budget, pair_time=machine.per_pair))

            rate = 0.7 * float(law(1e-3).capacity)
            rng, count = np.random.default_rng(1), 300_000
            arrival, prompt = poisson(rate, count, rng), fixed_or_log_normal(isl, cv, count, rng)
            load = requests(arrival, prompt, fixed_or_log_normal(osl, cv, count, rng))
            out, found = Engine(machine.times(), budget).run(load).outcome(), law(rate)
            pairs = (
                (found.batch_size, out.batch_size),
                (found.tpot_mean, out.tpot_mean),
                (found.ttft_mean, out.ttft_mean),
                (found.ttft[2], out.ttft_p99),
            )
            errors.append([abs(float(said) / seen - 1) for said, seen in pairs])
    # Batch, TPOT, mean TTFT, its p99. The law's own median is 2.3% for the mean TTFT of random lengths at this load.
    assert (np.median(errors, axis=0) < (0.02, 0.015, 0.023, 0.04)).all()
    assert (np.mean(np.array(errors) < (0.05, 0.05, 0.10, 0.15), axis=0) > 0.85).all()
