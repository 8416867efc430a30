"""The schedules against cases worked by hand, their invariants, and the closed forms they witness."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import pytest
from simulated.pipeline_schedule import gathered, gathered_and_reduced, operations, overlapped, pipeline


@dataclass(frozen=True)
class Layout:
    p: int
    g: int
    v: int
    f: float
    b: float
    c: float


def layouts(count, seed):
    """Random layouts whose micro-batches are a multiple of the stages; sends hide behind a chunk."""
    rng = random.Random(seed)
    for _ in range(count):
        p, v, f, b = rng.randint(1, 8), rng.randint(1, 5), rng.uniform(0.1, 2), rng.uniform(0.1, 4)
        yield Layout(p, p * rng.randint(1, 6), v, f, b, rng.random() * min(f, b) / v)


exact = partial(pytest.approx, rel=1e-11)
LAYOUTS = list(layouts(60, seed=4))


def run(at, schedule, *, chunks=None, micro_batches=None, **options):
    chunks = chunks or (at.v if schedule == "interleaved" else 1)
    return pipeline(at.p, micro_batches or at.g, chunks, at.f, at.b, schedule=schedule, **options)


def named(operation):
    return f"{'F' if operation.forward else 'B'}{operation.micro_batch}{'ab'[operation.chunk]}"


def timetable(schedule):
    return [{named(operation): start for operation, start in starts.items()} for starts in schedule.starts]


# --- By hand --------------------------------------------------------------------------------------


def test_two_stages_two_micro_batches():
    worked = pipeline(2, 2, 1, forward=1, backward=2)
    assert timetable(worked) == [{"F0a": 0, "F1a": 1, "B0a": 4, "B1a": 7}, {"F0a": 1, "B0a": 2, "F1a": 4, "B1a": 5}]
    assert (worked.makespan, worked.busy, worked.in_flight, worked.finished) == (9, (6, 6), (2, 1), (9, 7))
    assert worked.bubble == exact(1 / 3)


def test_two_stages_two_micro_batches_gpipe():
    worked = pipeline(2, 2, 1, forward=1, backward=2, schedule="gpipe")
    assert timetable(worked) == [{"F0a": 0, "F1a": 1, "B1a": 5, "B0a": 7}, {"F0a": 1, "F1a": 2, "B1a": 3, "B0a": 5}]
    assert (worked.makespan, worked.in_flight) == (9, (2, 2))


def test_sends_of_two_stages():
    """Both micro-batches are under way before the first comes back, so only the first round trip waits."""
    asynchronous = pipeline(2, 2, 1, forward=1, backward=2, send=0.5)
    assert timetable(asynchronous) == [
        {"F0a": 0, "F1a": 1, "B0a": 4 + 2 * 0.5, "B1a": 7 + 2 * 0.5},
        {"F0a": 1.5, "B0a": 2.5, "F1a": 4.5, "B1a": 5.5},
    ]
    assert asynchronous.makespan == 10
    assert pipeline(2, 2, 1, forward=1, backward=2, send=0.5, blocking=True).makespan == 10.5


def test_four_stages_eight_micro_batches():
    """Figure 3 and the upper half of figure 4 of Narayanan et al.: backwards take twice the forward."""
    for schedule, held in (("1f1b", (4, 3, 2, 1)), ("gpipe", (8, 8, 8, 8))):
        worked = pipeline(4, 8, 1, forward=1, backward=2, schedule=schedule)
        assert (worked.makespan, worked.busy, worked.in_flight) == (33, (24,) * 4, held)
        assert worked.bubble == exact(3 / 11)


def test_order_of_two_stages_with_two_chunks():
    first, second = (" ".join(map(named, operations(k, 2, 4, 2, "interleaved"))) for k in range(2))
    assert first == "F0a F1a F0b F1b F2a B0b F3a B1b F2b B0a F3b B1a B2b B3b B2a B3a"
    assert second == "F0a F1a F0b B0b F1b B1b F2a B0a F3a B1a F2b B2b F3b B3b B2a B3a"


def test_two_stages_with_two_chunks():
    worked = pipeline(2, 4, 2, forward=2, backward=4, schedule="interleaved")
    first, second = timetable(worked)
    assert list(second.items())[:6] == [("F0a", 1), ("F1a", 2), ("F0b", 3), ("B0b", 4), ("F1b", 6), ("B1b", 7)]
    assert list(first.items())[:7] == [
        ("F0a", 0), ("F1a", 1), ("F0b", 2), ("F1b", 3), ("F2a", 4), ("B0b", 6), ("F3a", 8),
    ]  # fmt: skip
    assert (worked.makespan, worked.busy, worked.in_flight) == (27, (24, 24), (2.5, 1.5))


def test_korthikanti_example():
    """Section 4.2.3 at p = 8, v = 3: 10.33 micro-batches, 31 chunks."""
    assert pipeline(8, 64, 3, 1, 2, schedule="interleaved").in_flight[0] == exact(31 / 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"micro_batches": 5, "schedule": "interleaved"}, "multiple"), ({"chunks": 2}, "one chunk")],
)
def test_layouts_without_a_schedule_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        pipeline(**{"stages": 2, "micro_batches": 4, "chunks": 1, "forward": 1, "backward": 2} | options)


# --- Invariants -----------------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", ["gpipe", "1f1b", "interleaved"])
def test_every_operation_runs_once_after_its_input(schedule):
    for at in LAYOUTS[:30]:
        done = run(at, schedule, send=at.c)
        v = at.v if schedule == "interleaved" else 1
        f, b, last = at.f / v, at.b / v, at.p * v - 1
        start = {
            (operation.forward, operation.micro_batch, operation.chunk * at.p + k): time
            for k, starts in enumerate(done.starts)
            for operation, time in starts.items()
        }
        assert len(start) == sum(map(len, done.starts)) == 2 * at.g * at.p * v
        slack = 1e-9
        for (forward, i, depth), time in start.items():
            hop = at.c if at.p > 1 else 0
            if forward and depth:
                assert time >= start[True, i, depth - 1] + f + hop - slack
            elif not forward:
                before = start[True, i, last] + f if depth == last else start[False, i, depth + 1] + b + hop
                assert time >= before - slack
        for starts in done.starts:
            times, kinds = list(starts.values()), list(starts)
            ends = [time + (f if kind.forward else b) for time, kind in zip(times, kinds, strict=True)]
            assert all(end <= after + slack for end, after in zip(ends, times[1:], strict=False))


@pytest.mark.parametrize("blocking", [False, True])
@pytest.mark.parametrize("schedule", ["gpipe", "1f1b", "interleaved"])
def test_stages_are_busy_for_all_micro_batches(schedule, blocking):
    for at in LAYOUTS:
        done = run(at, schedule, send=at.c, blocking=blocking)
        v = at.v if schedule == "interleaved" else 1
        assert done.busy == exact([at.g * (at.f + at.b)] * at.p)
        one_through_all = at.p * (at.f + at.b) + (2 * (at.p * v - 1) * at.c if at.p > 1 else 0)
        full_stage = (at.g + (at.p - 1) / v) * (at.f + at.b)
        assert done.makespan >= max(one_through_all, full_stage) * (1 - 1e-12)


def test_more_chunks_are_never_slower_without_sends():
    for at in LAYOUTS[:20]:
        times = [run(at, "interleaved", chunks=v).makespan for v in range(1, 6)]
        assert all(more <= fewer * (1 + 1e-12) for fewer, more in pairwise(times))


def test_gpipe_is_as_fast_as_1f1b_but_holds_every_micro_batch():
    for at in LAYOUTS:
        gpipe, one = run(at, "gpipe"), run(at, "1f1b")
        assert gpipe.makespan == exact(one.makespan)
        assert gpipe.in_flight == (at.g,) * at.p
        assert one.in_flight == tuple(min(at.g, at.p - k) for k in range(at.p))


def test_one_stage_has_no_bubble():
    for schedule in ("gpipe", "1f1b", "interleaved"):
        assert pipeline(1, 5, 1, 1, 2, send=3, schedule=schedule).makespan == 15


# --- Closed forms of the pipeline -----------------------------------------------------------------


def test_time_and_bubble():
    for at in LAYOUTS:
        for schedule, v in (("gpipe", 1), ("1f1b", 1), ("interleaved", at.v)):
            done = run(at, schedule)
            assert done.makespan == exact((at.g + (at.p - 1) / v) * (at.f + at.b))
            assert done.bubble == exact((at.p - 1) / (v * at.g + at.p - 1), abs=1e-12)


def test_interleaved_chunks_in_flight():
    """Megatron's warm-up and one more; p (1 + (p - 1) / (p v)) on the first stage once g > p > 1."""
    for at in LAYOUTS:
        held = run(at, "interleaved").in_flight
        chunks = [min(at.g * at.v, 2 * (at.p - k - 1) + (at.v - 1) * at.p + 1) for k in range(at.p)]
        assert held == exact([each / at.v for each in chunks])
        if at.v > 1:
            assert held[0] == exact(min(at.g, at.p + (at.p - 1) / at.v))


def test_asynchronous_sends():
    """1F1B waits for them in every round, 2 (p - 1) / p per micro-batch; GPipe and interleaving once."""
    for at in LAYOUTS:
        for g in (at.g, at.g + 1, 3 * at.g + 2):
            base = (g + at.p - 1) * (at.f + at.b)
            hops = 2 * (g + at.p - 2 - -(-(g - 1) // at.p))
            assert run(at, "gpipe", micro_batches=g, send=at.c).makespan == exact(base + 2 * (at.p - 1) * at.c)
            for c in (at.c, 7 * at.c):
                assert run(at, "1f1b", micro_batches=g, send=c).makespan == exact(base + hops * c)
        hops = 2 * (at.p * at.v - 1) if at.p > 1 else 0
        base = (at.g + (at.p - 1) / at.v) * (at.f + at.b)
        assert run(at, "interleaved", send=at.c).makespan == exact(base + hops * at.c)


def test_sends_longer_than_a_chunk():
    for at in LAYOUTS:
        if at.p == 1:
            continue
        short = min(at.f, at.b) / at.v
        for c in (1.5 * short, 4 * short):
            hidden = (at.g + (at.p - 1) / at.v) * (at.f + at.b) + 2 * (at.p * at.v - 1) * c
            excess = run(at, "interleaved", send=c).makespan - hidden
            assert -1e-9 <= excess <= (at.g * at.v - 1) * (c - short) + 1e-9


def blocked_hops(p, g):
    """Sends on the longest path of 1F1B when they occupy the sender."""
    if p == 1:
        return 0
    if g == 1:
        return 2 * (p - 1)
    return g + 1 if p == 2 else 2 * (g + p) - 5


def test_blocking_sends():
    for at in LAYOUTS:
        for g in (1, 2, at.g, at.g + 1):
            base = (g + at.p - 1) * (at.f + at.b)
            hops = 2 * (g + at.p - 2) if at.p > 1 else 0
            gpipe = run(at, "gpipe", micro_batches=g, send=at.c, blocking=True)
            assert gpipe.makespan == exact(base + hops * at.c)
            one = run(at, "1f1b", micro_batches=g, send=at.c, blocking=True)
            assert one.makespan == exact(base + blocked_hops(at.p, g) * at.c)
        if at.p > 1 and at.v > 1:
            rounds, ends = 2 * at.g * at.v, 2 * at.p
            waits = [(rounds - at.g + ends - 3) * at.c]
            if at.p > 2:
                waits += [
                    (rounds + ends - 5) * at.c - (at.f + at.b) / at.v,
                    (rounds + ends - 6) * at.c - 2 * min(at.f, at.b) / at.v,
                ]
            base = (at.g + (at.p - 1) / at.v) * (at.f + at.b)
            done = run(at, "interleaved", send=at.c, blocking=True)
            assert done.makespan == exact(base + max(waits))


def test_earlier_stages_end_later():
    for at in LAYOUTS:
        for schedule, v in (("1f1b", 1), ("interleaved", at.v)):
            done = run(at, schedule, send=at.c)
            assert done.finished == exact([done.makespan - k * (at.b / v + at.c) for k in range(at.p)])


# --- Closed forms of the overlap ------------------------------------------------------------------


def overlaps(count, seed):
    rng = random.Random(seed)
    for _ in range(count):
        yield rng.randint(1, 100), rng.uniform(0.1, 3), rng.uniform(0, 5), rng.choice([0.0, rng.uniform(0, 0.05)])


def test_two_layers_by_hand():
    assert overlapped(2, backward=4, transfer=2) == (5, 1)
    assert overlapped(2, backward=4, transfer=6) == (8, 4)
    assert overlapped(2, backward=4, transfer=2, cost=0.5) == (2 + 1.5 + 1 + 1, 1.5)
    assert gathered(2, forward=4, transfer=2) == (5, 1)
    assert gathered(2, forward=4, transfer=6, ahead=1) == (8, 4)
    assert gathered(2, forward=4, transfer=6, ahead=0) == (10, 6)
    assert gathered_and_reduced(2, backward=4, gather=2, reduce=2) == (6, 2)


def test_gradients_behind_the_backward():
    """One bucket is exposed whatever the link does, and all that outlasts the other layers."""
    for layers, backward, transfer, latency in overlaps(80, seed=5):
        bucket = transfer / layers + latency
        exposed = max(bucket, layers * bucket - (1 - 1 / layers) * backward)
        assert overlapped(layers, backward, transfer, start_latency=latency).exposed == exact(exposed)


@pytest.mark.parametrize("ahead", [1, 2, None])
def test_gathers_before_the_forward(ahead):
    """One layer ahead is as good as any number when layers are alike."""
    for layers, forward, transfer, latency in overlaps(80, seed=6):
        bucket = transfer / layers + latency
        exposed = max(bucket, layers * bucket - (1 - 1 / layers) * forward)
        done = gathered(layers, forward, transfer, ahead=ahead, start_latency=latency)
        assert done.exposed == exact(exposed, abs=1e-11)
        serial = gathered(layers, forward, transfer, ahead=0, start_latency=latency)
        assert serial.exposed == exact(layers * bucket, abs=1e-12)


def test_gathers_and_reductions_in_the_backward():
    for layers, backward, gather, reduce in overlaps(80, seed=7):
        compute, first, last = backward / layers, gather / layers, reduce / layers
        exposed = first + last
        if layers > 1:
            exposed += max(0, first - compute) + max(0, last - compute)
            exposed += (layers - 2) * max(0, first + last - compute)
        assert gathered_and_reduced(layers, backward, gather, reduce).exposed == exact(exposed, abs=1e-9)
