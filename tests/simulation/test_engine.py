"""The engine alone, with step times that are made up: queues whose waits are known, and the same text without numba."""

import importlib.util
import math
import subprocess
import sys

import numpy as np
import pytest

from mlsysim import progress
from mlsysim.simulation import engine, steps
from mlsysim.simulation import run as runs
from mlsysim.simulation.engine import Requests, Rules, Table, Times


def line(fixed, slope=0.0):
    return Table(np.array([fixed, fixed + slope]), 1, 1)


def times(prompt=0.0, token=0.0, step=0.0, each=0.0, context=0.0):
    """A prompt takes so long and its tokens beside; a step, each of its requests, and each token of a context."""
    base, share, none = line(step, each), line(0.0, 1.0), line(0.0)
    attention = line(0.0, context)
    whole = line(prompt, token)
    straight = np.array([math.inf])
    return Times(base, share, none, attention, straight, whole, 0.0, line(step, token), none, none, none)


def asked(arrival, prompt, answer):
    count = len(arrival)
    whole = lambda each: np.array(np.broadcast_to(each, count), np.int64)  # noqa: E731
    even, none = np.ones(count), whole(-1)
    return Requests(
        np.array(arrival, float),
        whole(prompt),
        whole(answer),
        even,
        whole(0),
        none,
        none,
        np.arange(count),
        np.zeros(count),
    )


def rules(**changed):
    return Rules(False, 0, 1000, 1e12, 0.0, 1.0, 0.0, 0.0, 0, 0.0, 1, 0.0, 0.0, 1, False, 0)._replace(**changed)


def waits(service, rate, prompt, count=200_000):
    arrival = np.cumsum(np.random.default_rng(3).exponential(1 / rate, count))
    found = runs.run(asked(arrival, prompt, 1), service, rules(), 0, count)
    return (found.seen.admitted - arrival)[count // 10 :], found


@pytest.mark.parametrize("load", [0.3, 0.7])
def test_prompts_of_one_length_wait_as_in_a_queue_of_fixed_services(load):
    wait, found = waits(times(prompt=1.0), load, 10)
    assert wait.mean() == pytest.approx(load / (2 * (1 - load)), rel=0.04)
    assert found.busy / found.elapsed == pytest.approx(load, rel=0.02)


@pytest.mark.parametrize("load", [0.3, 0.7])
def test_prompts_of_exponential_length_wait_as_in_a_memoryless_queue(load):
    count = 200_000
    prompt = np.maximum(1, np.rint(np.random.default_rng(4).exponential(1e5, count)))
    wait, _ = waits(times(token=1e-5), load, prompt, count)
    assert wait.mean() == pytest.approx(load / (1 - load), rel=0.06)
    assert np.mean(wait > 1e-9) == pytest.approx(load, rel=0.03)
    assert np.mean(wait > 3) == pytest.approx(load * math.exp(-3 * (1 - load)), rel=0.1)


def test_one_request_takes_its_prompt_and_its_steps():
    found = runs.run(asked([2.0], 100, 5), times(prompt=1.0, step=0.1, context=0.001), rules(), 0, 1).seen
    assert found.first[0] == pytest.approx(3 + 0.0)
    # Four steps over 101 to 104 tokens.
    assert found.finish[0] == pytest.approx(3 + 0.4 + 0.001 * sum(range(101, 105)))


def test_slots_hold_so_many():
    found = runs.run(asked([0.0] * 4, 1, 11), times(step=1.0), rules(slots=2), 0, 4).seen
    assert found.finish.tolist() == pytest.approx([10, 10, 20, 20])


def test_chunks_share_the_budget():
    many = asked([0.0, 0.0], [100, 150], 2)
    found = runs.run(many, times(step=1.0), rules(chunked=True, budget=100), 0, 2).seen
    # 100; one decodes beside 99; 51 are left.
    assert found.first.tolist() == pytest.approx([1, 3])
    assert found.finish.tolist() == pytest.approx([2, 4])


def test_a_full_cache_sends_the_last_one_back():
    many = asked([0.0, 0.0], 10, 10)
    found = runs.run(many, times(step=1.0, prompt=1.0), rules(cache=30.0), 0, 2).seen
    alone = runs.run(many, times(step=1.0, prompt=1.0), rules(), 0, 2).seen
    assert found.preemptions.tolist() == [0, 1]
    assert found.finish[1] > alone.finish[1]
    assert found.first.tolist() == alone.first.tolist()


def test_jumps_are_the_steps_one_by_one():
    many = asked(np.cumsum(np.random.default_rng(1).exponential(1, 500)), 50, 40)
    jumped = times(prompt=0.2, step=0.03, each=0.001, context=1e-5)
    found = [runs.run(many, each, rules(), 0, 500).seen for each in (jumped, jumped._replace(straight=np.zeros(1)))]
    assert found[0].finish == pytest.approx(found[1].finish, rel=1e-9)


def test_it_is_the_same_without_numba(monkeypatch):
    many = asked(np.cumsum(np.random.default_rng(1).exponential(1, 300)), 50, 40)
    service = times(prompt=0.2, step=0.03, each=0.001, context=1e-5)
    limits = [rules(cache=2000.0), rules(chunked=True, budget=64, hit_share=0.5), rules(in_flight=7)]
    fast = [runs.run(many, service, each, 30, 280) for each in limits]
    monkeypatch.setattr("mlsysim.extras.installed", lambda package: False)
    spec = importlib.util.spec_from_file_location("plain_engine", engine.__file__)
    plain = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plain)
    monkeypatch.setattr(runs, "engine", plain)
    monkeypatch.setattr(runs, "installed", lambda package: False)
    for limit, other in zip(limits, fast, strict=True):
        found = runs.run(many, service, limit, 30, 280)
        for mine, theirs in zip(found.seen, other.seen, strict=True):
            assert mine == pytest.approx(theirs, rel=1e-12)
        assert found[1:] == pytest.approx(other[1:])


def test_it_says_how_far_it_is_and_can_be_interrupted(monkeypatch):
    monkeypatch.setattr(progress.Line, "_show", lambda line: None)
    seen = []
    monkeypatch.setattr(progress.Line, "tell", lambda line: seen.append(line.fraction))
    monkeypatch.setattr(runs, "SLICE", 100)
    with progress.watched("simulate", True):
        runs.run(asked(np.arange(1000.0), 1, 2), times(step=0.1), rules(), 0, 1000)
    shares = [each for each in seen if each is not None]
    assert shares == sorted(shares)
    assert len({*shares}) > 10


def test_places_of_a_table():
    few, fine, stride = steps._points(5)
    assert few.tolist() == [0, 1, 2, 3, 4, 5]
    many, fine, stride = steps._points(100_000)
    assert many[fine] == fine
    assert many[-1] >= 100_000
    table = Table(many * 2.0, fine, stride)
    for place in (0, 17.5, 8192, 8193, 50_001, 99_999.5):
        assert engine.look(table, float(place)) == pytest.approx(2 * place)


@pytest.mark.parametrize("seed", range(40))
def test_whatever_is_asked_is_served_once_and_leaves_nothing_behind(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    count = 120
    session = np.where(rng.random(count) < 0.6, rng.integers(0, 15, count), -1)
    follows, last = np.full(count, -1), {}
    for place, name in enumerate(session.tolist()):
        if name in last and name >= 0:
            follows[last[name]] = place
        last[name] = place
    opening = np.setdiff1d(np.arange(count), follows)
    many = Requests(np.sort(rng.exponential(3, count)), rng.integers(1, 60, count), rng.integers(1, 40, count),
                    np.ones(count), rng.integers(0, 3, count), follows, session, opening, np.zeros(count))  # fmt: skip
    limit = rules(chunked=bool(seed % 2), budget=32, slots=int(rng.integers(1, 20)), cache=rng.uniform(130, 400),
                  fixed=float(rng.integers(0, 5)), watermark=0.01, hit_share=rng.choice([0.0, 0.4]),
                  in_flight=int(rng.choice([0, 5])), think=rng.choice([0.0, 2.0]))  # fmt: skip
    kept = []
    monkeypatch.setattr(runs, "Work", lambda *state: kept.append(engine.Work(*state)) or kept[-1])
    found = runs.run(many, times(prompt=0.1, token=0.01, step=0.03, each=0.001, context=1e-4), limit, 0, count).seen
    numbers = kept[0].integers
    for place in (engine.WAITING, engine.ENDING, engine.FUTURE, engine.DECODING, engine.RESERVED):
        assert numbers[place] == 0
    assert numbers[engine.FINISHED] == count
    assert numbers[engine.PARTIAL] == numbers[engine.OLDEST] == -1
    assert kept[0].floats[engine.KEPT] == kept[0].floats[engine.CONTEXT] == 0
    assert (found.arrival <= found.admitted).all()
    assert (found.admitted < found.first).all()
    assert (found.first <= found.finish).all()
    assert (found.cached < many.prompt).all()
    turns = np.flatnonzero(follows >= 0)
    assert (found.arrival[follows[turns]] >= found.finish[turns] + limit.think - 1e-9).all()


@pytest.mark.long
def test_what_is_compiled_at_installation_is_what_a_simulation_calls():
    script = (
        "from mlsysim import ServingModel\n"
        "from mlsysim.simulation import engine\n"
        "from mlsysim.simulation.__main__ import main\n"
        "main()\n"
        "kinds = [each for each in vars(engine).values() if hasattr(each, 'signatures')]\n"
        "before = [len(each.signatures) for each in kinds]\n"
        "for variant in ('colocated', 'chunked_estimate'):\n"
        "    asked = {'request_rate': 1, 'num_replicas': 1, 'requests': 50, 'turns': 2}\n"
        "    ServingModel(variant).simulate('Llama3_8B', 'H100', **asked)\n"
        "assert [len(each.signatures) for each in kinds] == before and before\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
