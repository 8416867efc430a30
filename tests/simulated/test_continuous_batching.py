"""The simulation itself, against queues whose answers are known."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from fuzz import rest_long

pytest.importorskip("simpy")

import numpy as np
from simulated.continuous_batching import Deployment, simulate, simulate_capacity
from simulated.settings import SETTINGS, TUTORIAL, TUTORIAL_RATE, TUTORIAL_SETTING, TUTORIAL_TARGET

from mlsysim.backends.floats import namespace

#: All the service of a request is its prefill: one token that takes no time.
SERVER = Deployment(prefill=0.02, weights=1e-9, kv=0.0, tokens=1, slots=1)
#: All of it is decoding.
DECODER = Deployment(prefill=0.0, weights=0.0, kv=0.001, tokens=50, slots=1)


def waits(deployment, rate, requests, seed=1):
    trace = simulate(deployment, rate, requests, seed)
    return (trace.admitted - trace.arrival)[requests // 10 :]


@pytest.mark.long
def test_it_is_an_m_m_1_queue_where_one_request_is_served_at_a_time():
    p99 = simulate(replace(SERVER, cv=1.0), 25.0, 200_000, seed=1).p99()
    assert p99 == pytest.approx(math.log(100) / (50 - 25), rel=0.03)


@pytest.mark.long
def test_at_light_load_the_p99_is_that_of_the_service():
    p99 = simulate(replace(SERVER, cv=1.0), 1.0, 200_000, seed=1).p99()
    assert p99 == pytest.approx(math.log(100) / (50 - 1), rel=0.02)
    assert p99 == pytest.approx(0.0940, rel=0.02)


@pytest.mark.parametrize("cv", rest_long([0.0, 0.5, 1.5], quick=1))
def test_the_mean_wait_is_pollaczek_khinchine(cv):
    load = 0.6
    expected = load / (1 - load) * (1 + cv**2) / 2 * 0.02
    assert waits(replace(SERVER, cv=cv), load / 0.02, 200_000).mean() == pytest.approx(expected, rel=0.05)


@pytest.mark.long
@pytest.mark.parametrize(("replicas", "load"), rest_long([(2, 0.7), (8, 0.8)], quick=1))
def test_requests_wait_with_the_probability_of_erlang(replicas, load):
    wait = waits(replace(SERVER, cv=1.0, replicas=replicas), load * replicas / 0.02, 200_000)
    expected = namespace()["erlang_c"](replicas, load * replicas)
    assert (wait > 0).mean() == pytest.approx(expected, rel=0.04)
    assert wait.mean() == pytest.approx(expected * 0.02 / (replicas * (1 - load)), rel=0.06)


@pytest.mark.long
@pytest.mark.parametrize("cv", rest_long([1.0, 0.0], quick=1))
def test_decoding_shares_the_processor(cv):
    """The mean of processor sharing does not depend on the distribution of the sizes."""
    load = 0.6
    sojourns = simulate(replace(DECODER, slots=1000, cv=cv), load / 0.05, 100_000, seed=1).sojourns()
    # A step in progress is finished before a newcomer joins: half a millisecond or so per step.
    assert sojourns.mean() == pytest.approx(0.05 / (1 - load), rel=0.04)


def test_decode_steps_that_read_only_the_weights_delay_nobody():
    deployment = Deployment(prefill=0.0, weights=0.005, kv=0.0, tokens=20, slots=1000)
    sojourns = simulate(deployment, 30.0, 20_000, seed=1).sojourns()
    assert sojourns.min() >= 0.1 - 1e-9
    assert sojourns.max() <= 0.1 + 0.005 + 1e-9


def test_the_longer_of_reading_and_computing_sets_the_step():
    deployment = Deployment(prefill=0.0, weights=0.004, kv=0.001, tokens=1, slots=8, compute=0.002, tax=0.5)
    assert deployment.step(1) == pytest.approx(0.505)
    assert deployment.step(8) == pytest.approx(0.516)


def test_two_requests_by_hand():
    """Prefill 1 s, steps of 2 s, two tokens; the second arrives in the first's first step."""
    from simulated.continuous_batching import Simulation

    deployment = Deployment(prefill=1.0, weights=2.0, kv=0.0, tokens=2, slots=2)
    trace = Simulation(deployment, [0.0, 1.5], np.ones(2)).run()
    # 0-1 prefill, 1-3 step, 3-4 prefill of the second, 4-6 and 6-8 steps.
    assert trace.leave.tolist() == [6.0, 8.0]


def test_an_arrival_takes_the_emptiest_replica_and_then_the_queue():
    from simulated.continuous_batching import Simulation

    deployment = Deployment(prefill=1.0, weights=2.0, kv=0.0, tokens=1, slots=1, replicas=2)
    trace = Simulation(deployment, [0.0, 0.5, 0.6], np.ones(3)).run()
    assert trace.admitted.tolist() == [0.0, 0.5, 3.0]
    assert trace.leave.tolist() == [3.0, 3.5, 6.0]


@pytest.mark.parametrize("cv", [0.0, 1.0])
def test_a_saturated_replica_completes_what_prefill_and_full_steps_allow(cv):
    rate = simulate_capacity(replace(TUTORIAL, cv=cv), 20_000, seed=1)
    assert rate == pytest.approx(1 / TUTORIAL_SETTING.service, rel=0.02)
    assert rate == pytest.approx(13.9, rel=0.02)


def test_one_replica_of_the_tutorial_diverges_and_two_hold():
    one = simulate(TUTORIAL, TUTORIAL_RATE, 20_000, seed=1)
    two = simulate(replace(TUTORIAL, replicas=2), TUTORIAL_RATE, 20_000, seed=1)
    assert one.drift() == pytest.approx(TUTORIAL_RATE * TUTORIAL_SETTING.service - 1, rel=0.05)
    assert abs(two.drift()) < 0.001
    assert two.p99() < TUTORIAL_TARGET < one.p99()


def test_the_settings_span_what_the_closed_form_promises():
    assert len(SETTINGS) >= 20
    assert len({setting.name for setting in SETTINGS}) == len(SETTINGS)
    assert {0.1, 0.95} <= {setting.load for setting in SETTINGS}
    assert {1, 32} <= {setting.deployment.replicas for setting in SETTINGS}
    assert {0, 0.5, 2} <= {setting.deployment.cv for setting in SETTINGS}
