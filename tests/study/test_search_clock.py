"""What a clock may decide in a search: when to stop under a time limit, and nothing else."""

import math
import time
from dataclasses import replace

import numpy as np
import pytest
from study.search_cases import random_problem, searched

from mlsysim import EconomicsModel, TrainingMemoryModel
from mlsysim.study import search as module

MODEL = TrainingMemoryModel("per_operator")
POINT = {"model": "Llama3_8B", "hardware": "H100"}
#: A remainder of a product says nothing about a box, so that bounds rule nothing out.
HASHED = "(batch_size * 7919 + seq_len / (1 token) * batch_size * 31) % 100003 + 10"


def hashed(n):
    """Its values on a square grid."""
    b, s = np.meshgrid(np.arange(1, n), np.arange(1, n), indexing="ij")
    return (b * 7919 + s * b * 31) % 100003 + 10


def wild(seed):
    """A clock that stands still, leaps years ahead and runs backwards."""
    random = np.random.default_rng(seed)
    return lambda: float(random.choice([0.0, 1.0, -1e9, 1e12, random.uniform()]))


def ticking(monkeypatch, step):
    """A clock that moves by one step whenever it is looked at."""
    now = [0.0]

    def tick():
        now[0] += step
        return now[0]

    monkeypatch.setattr(time, "perf_counter", tick)


@pytest.mark.long(quick=1)
@pytest.mark.parametrize(
    ("n", "at_once", "compiling", "method"),
    [
        (60, module.AT_ONCE, module.COMPILING, "enumeration"),
        (300, 0.0, 1e12, "enumeration"),
        (300, 0.0, 0.0, "dense"),
    ],
)
def test_the_clock_does_not_choose_the_method(monkeypatch, n, at_once, compiling, method):
    monkeypatch.setattr(module, "AT_ONCE", at_once)
    monkeypatch.setattr(module, "COMPILING", compiling)
    monkeypatch.setattr(module, "BOUNDS_SHARE", 1e-3)
    certificates = set()
    for seed in range(3):
        monkeypatch.setattr(time, "perf_counter", wild(seed))
        found = MODEL.search(
            allow_infeasible=True, **POINT, batch_size=range(1, n), seq_len=range(1, n), minimize=HASHED
        )
        certificates.add(replace(found.certificate, seconds=0.0))
    (certificate,) = certificates
    assert certificate.method == method
    assert certificate.proven


@pytest.mark.long(quick=1)
@pytest.mark.parametrize("seed", [3, 11, 20])
def test_the_clock_does_not_change_what_bounds_prove(monkeypatch, seed):
    monkeypatch.setattr(module, "AT_ONCE", 0.0)
    asked = random_problem(seed, 20_000)
    certificates = set()
    for other in range(3):
        monkeypatch.setattr(time, "perf_counter", wild(other))
        certificates.add(replace(searched(asked, method="bounds").certificate, seconds=0.0))
    (certificate,) = certificates
    assert certificate.method == "bounds"


@pytest.mark.long
def test_the_clock_does_not_change_what_is_out_of_reach(monkeypatch):
    said = set()
    for seed in range(3):
        monkeypatch.setattr(time, "perf_counter", wild(seed))
        found = MODEL.search(
            allow_infeasible=True,
            **POINT,
            batch_size=range(64, 1000),
            seq_len=range(4096, 5000),
            minimize="total_memory",
            subject_to=["total_memory <= 20 GB", "weights >= 1 GB"],
        )
        assert not len(found)
        said.add(str(found.misses))
    (text,) = said
    assert "total_memory" in text


@pytest.mark.long
def test_a_limit_is_kept_where_every_point_is_a_queue(monkeypatch):
    """Every point searches for replicas, each by summing up a queue: a chunk of points once took minutes."""
    monkeypatch.setattr(module, "AT_ONCE", 0.0)
    monkeypatch.setattr(time, "perf_counter", time.thread_time)  # not slowed by what else the machine does

    def limited(limit):
        started = time.thread_time()
        found = EconomicsModel("owned_serving").search(
            model="Llama3_8B",
            hardware="H100",
            price=30000,
            tdp=700,
            qps=[float(n) for n in range(1, 4000, 7)],
            target_p99_latency_ms=[float(n) for n in range(4000, 20000, 100)],
            max_batch_size=range(1, 257),
            output_tokens=range(1, 300),
            minimize="total_cost",
            method="bounds",
            time_limit=limit,
        )
        return time.thread_time() - started, found.certificate

    limited(0.1)  # formulas are compiled, which cannot be broken off
    taken, certificate = limited(2.0)
    assert taken < 1.2 * 2.0
    assert not certificate.proven


def test_an_enumeration_that_is_cut_short_says_so(monkeypatch):
    values = hashed(1200).ravel()
    monkeypatch.setattr(module, "AT_ONCE", math.inf)
    ticking(monkeypatch, 1.0)
    grid = {"batch_size": range(1, 1200), "seq_len": range(1, 1200)}
    found = MODEL.search(allow_infeasible=True, **POINT, **grid, minimize=HASHED, time_limit=5.0)
    certificate = found.certificate
    assert not certificate.proven
    assert 0 < certificate.evaluated < len(values)
    assert found.objectives[0][0] == values[: certificate.evaluated].min()
    assert certificate.bound <= values.min()
    low, high = certificate.feasible
    assert low <= np.isfinite(values).sum() <= high


@pytest.mark.long
def test_streaming_that_is_cut_short_says_so_and_goes_on(monkeypatch, tmp_path):
    values = hashed(5000)
    asked = {**POINT, "batch_size": range(1, 5000), "seq_len": range(1, 5000), "minimize": HASHED, "method": "dense"}
    with monkeypatch.context() as patched:
        ticking(patched, 1.0)
        found = MODEL.search(allow_infeasible=True, **asked, time_limit=4.0, checkpoint=tmp_path / "notes.json")
    certificate = found.certificate
    assert not certificate.proven
    assert not certificate.first
    assert 0 < certificate.evaluated < values.size
    assert certificate.bound <= values.min() <= found.objectives[0][0]
    low, high = certificate.feasible
    assert low <= values.size <= high
    whole = MODEL.search(allow_infeasible=True, **asked, checkpoint=tmp_path / "notes.json")
    assert whole.certificate.proven
    assert whole.objectives[0][0] == values.min()
