"""Waits of arrivals in bursts, against Spitzer's sum for the queue of gamma gaps and fixed services."""

import numpy as np
import pytest
from numba import njit
from scipy.special import gammainc

from mlsysim.backends import compiled
from mlsysim.formulas import serving_waits
from mlsysim.symbolic import System

WAITS = (
    serving_waits.wait_decay,
    serving_waits.poisson_wait_scale,
    serving_waits.wait_scale,
    serving_waits.poisson_wait,
    serving_waits.prompt_wait,
    serving_waits.burst_stall,
)
LAW = compiled(System(WAITS))


def law(load, scv):
    """The law at prompts of one second."""
    given = {"concurrency": 0.0, "replica_load": 0.5, "prompt_load": load, "prompt_interval": 1.0}
    return LAW({**given, "prompt_time_cv": 0.0, "prompt_time_third_cumulant": 0.0, "arrival_scv": scv})


def exact(load, scv, terms=40_000):
    """Mean wait by Spitzer's identity: each partial sum of gaps is gamma distributed."""
    n, shape = np.arange(1.0, terms), 1 / scv
    beyond = n * gammainc(n * shape, n * shape * load) - n / load * gammainc(n * shape + 1, n * shape * load)
    return np.sum(beyond / n)


@pytest.mark.parametrize("load", [0.1, 0.3, 0.5, 0.7, 0.8, 0.9])
def test_the_mean_wait_is_near_the_exact_one(load):
    for scv in (2, 4, 10):
        assert law(load, scv)["prompt_wait"] == pytest.approx(exact(load, scv), rel=0.02), scv
    assert law(load, 1)["prompt_wait"] == pytest.approx(exact(load, 1), rel=1e-6)
    for scv in (0.5, 0.25):
        if exact(load, scv) > 0.05:
            assert law(load, scv)["prompt_wait"] == pytest.approx(exact(load, scv), rel=0.16), scv


@pytest.mark.parametrize("scv", [0.25, 0.5, 2, 4, 10])
def test_the_decay_solves_the_equation_of_gamma_gaps(scv):
    """A gap of shape k and a fixed service: (1 + theta scv / load) ** -k * exp(theta) = 1."""
    for load in (0.1, 0.5, 0.9):
        decay = 1 / law(load, scv)["prompt_wait_scale"]
        assert np.log1p(decay * scv / load) / scv == pytest.approx(decay, rel=1e-9)


def test_poisson_arrivals_keep_their_wait():
    for load in (0.1, 0.5, 0.9):
        found = law(load, 1.0)
        assert found["prompt_wait"] == found["poisson_wait"]
        assert found["prompt_wait_scale"] == found["poisson_wait_scale"]


@njit
def stall(gaps):
    """Mean time from the end of a service of one second to that of its busy period."""
    ends, beside, count, work = 0.0, 0.0, 0.0, 0.0
    for gap in gaps:
        if work <= 0.0:
            beside, ends, count, work = beside + count * (count - 1.0) / 2.0, ends + count, 0.0, 0.0
        count, work = count + 1.0, work + 1.0 - gap
    return beside / ends


@pytest.mark.parametrize("scv", [0.5, 1, 2, 4])
def test_the_stall_behind_others_is_near_the_simulated_one(scv):
    """A request that is prefilled waits until the busy period ends."""
    for load in (0.1, 0.3, 0.5, 0.7):
        found = law(load, scv)
        expected = stall(np.random.default_rng(3).gamma(1 / scv, scv / load, 2_000_000))
        total = load / (1 - load) * (1 + found["prompt_wait"]) + found["burst_stall"]
        assert total == pytest.approx(expected, rel=0.12 if scv < 1 else 0.05), load
