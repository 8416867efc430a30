"""Event-driven schedules of one training step: pipeline stages, and traffic behind the backward or forward.

A stage of the pipeline executes a fixed list of operations in order and waits for the input of the next;
nothing here knows a closed form. Times are seconds, but any unit will do.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import count
from typing import Literal, NamedTuple

Kind = Literal["gpipe", "1f1b", "interleaved"]


class Operation(NamedTuple):
    """One micro-batch through one chunk of a stage, forward or backward."""

    forward: bool
    micro_batch: int
    chunk: int


@dataclass(frozen=True)
class Schedule:
    """What executing a pipeline's operations gives."""

    makespan: float
    busy: tuple[float, ...]
    """Time every stage computes."""
    in_flight: tuple[float, ...]
    """Most micro-batches every stage holds at once, in whole stages: a chunk counts 1/chunks."""
    finished: tuple[float, ...]
    """When every stage ends its last backward and could start its gradient traffic."""
    starts: tuple[dict[Operation, float], ...]
    """When every operation of every stage starts, in the order in which it executes them."""

    @property
    def bubble(self) -> float:
        """Share of the stages' time in which they do not compute."""
        return 1 - sum(self.busy) / (len(self.busy) * self.makespan)


def operations(stage: int, stages: int, micro_batches: int, chunks: int, schedule: Kind) -> list[Operation]:
    """What a stage does, in order.

    GPipe runs all forwards, then all backwards, last micro-batch first. 1F1B warms up with one forward
    per later stage. Interleaved 1F1B (Megatron-LM) takes groups of ``stages`` micro-batches through one
    chunk after the other and warms up with two per later stage and a group per chunk but the last.
    """
    if schedule == "gpipe":
        return [Operation(True, i, 0) for i in range(micro_batches)] + [
            Operation(False, i, 0) for i in reversed(range(micro_batches))
        ]
    later = stages - stage - 1
    if schedule == "1f1b":
        forwards = [Operation(True, i, 0) for i in range(micro_batches)]
        backwards = [Operation(False, i, 0) for i in range(micro_batches)]
        warm_up = later
    else:
        groups = [range(start, start + stages) for start in range(0, micro_batches, stages)]
        forwards = [Operation(True, i, q) for group in groups for q in range(chunks) for i in group]
        backwards = [Operation(False, i, q) for group in groups for q in reversed(range(chunks)) for i in group]
        warm_up = 2 * later + (chunks - 1) * stages
    warm_up = min(warm_up, len(forwards))
    paired = zip(forwards[warm_up:], backwards, strict=False)
    steady = [operation for pair in paired for operation in pair]
    return forwards[:warm_up] + steady + backwards[len(forwards) - warm_up :]


def pipeline(
    stages: int,
    micro_batches: int,
    chunks: int,
    forward: float,
    backward: float,
    send: float = 0.0,
    schedule: Kind = "1f1b",
    *,
    blocking: bool = False,
) -> Schedule:
    """Execute one step; ``forward`` and ``backward`` are one micro-batch through one whole stage.

    A result takes ``send`` to the next stage; while it travels the sender computes on, unless ``blocking``.
    """
    if schedule == "interleaved":
        if micro_batches % stages:
            raise ValueError("interleaving needs a multiple of the stages as micro-batches")
    elif chunks != 1:
        raise ValueError(f"{schedule} has one chunk per stage")
    lists = [operations(k, stages, micro_batches, chunks, schedule) for k in range(stages)]
    at, running, arrived = [0] * stages, [False] * stages, [set[Operation]() for _ in range(stages)]
    busy, held, most, finished = [0.0] * stages, [0] * stages, [0] * stages, [0.0] * stages
    starts: list[dict[Operation, float]] = [{} for _ in range(stages)]
    order = count()
    events: list[tuple[float, int, int, Operation, bool]] = []

    def post(time: float, stage: int, operation: Operation, arrival: bool) -> None:
        heapq.heappush(events, (time, next(order), stage, operation, arrival))

    def start(time: float, stage: int) -> None:
        if running[stage] or at[stage] == len(lists[stage]) or lists[stage][at[stage]] not in arrived[stage]:
            return
        operation = lists[stage][at[stage]]
        if operation.forward:
            held[stage] += 1
            most[stage] = max(most[stage], held[stage])
        at[stage] += 1
        running[stage] = True
        starts[stage][operation] = time
        took = (forward if operation.forward else backward) / chunks
        busy[stage] += took
        last = following(stage, operation, stages, chunks)[0] in (None, stage)
        post(time + took + (send if blocking and not last else 0.0), stage, operation, False)

    for i in range(micro_batches):
        post(0.0, 0, Operation(True, i, 0), True)
    while events:
        time, _, stage, operation, arrival = heapq.heappop(events)
        if arrival:
            arrived[stage].add(operation)
        else:
            running[stage] = False
            finished[stage] = time
            held[stage] -= not operation.forward
            to, then = following(stage, operation, stages, chunks)
            if to is not None and then is not None:
                post(time if blocking or to == stage else time + send, to, then, True)
        start(time, stage)
    if any(at[k] < len(lists[k]) for k in range(stages)):
        raise RuntimeError("the schedule deadlocks")
    return Schedule(max(finished), tuple(busy), tuple(each / chunks for each in most), tuple(finished), tuple(starts))


def following(stage: int, operation: Operation, stages: int, chunks: int) -> tuple[int | None, Operation | None]:
    """Where the result of an operation goes and what it lets start there."""
    depth = operation.chunk * stages + stage
    if operation.forward and depth == stages * chunks - 1:
        return stage, Operation(False, operation.micro_batch, operation.chunk)
    depth += 1 if operation.forward else -1
    if depth < 0:
        return None, None
    return depth % stages, Operation(operation.forward, operation.micro_batch, depth // stages)


class Overlap(NamedTuple):
    """End of compute and traffic together, and how much later that is than compute alone."""

    finish: float
    exposed: float


def beside(operations: list[tuple[str, float, int | None]], cost: float) -> float:
    """End of operations of two lanes, each lane in order and each operation once another one has ended.

    While both lanes work, either takes ``1 + cost`` times as long: they share multiprocessors, memory and power.
    """
    left = [seconds for _, seconds, _ in operations]
    lanes = [[at for at, each in enumerate(operations) if each[0] == lane] for lane in ("compute", "link")]
    ended, time = set[int](), 0.0
    while len(ended) < len(operations):
        ready = [lane[0] for lane in lanes if lane and operations[lane[0]][2] in {None, *ended}]
        slower = 1 + cost if len(ready) > 1 else 1.0
        first = min(ready, key=left.__getitem__)
        took = left[first]
        time += took * slower
        for at in ready:
            left[at] = 0.0 if at == first else left[at] - took
        ended.add(first)
        next(lane for lane in lanes if lane and lane[0] == first).pop(0)
    return time


def overlapped(
    layers: int, backward: float, transfer: float, *, start_latency: float = 0.0, cost: float = 0.0
) -> Overlap:
    """Gradients of every layer travel once its backward is done, one bucket after the other.

    ``backward`` and ``transfer`` are of all layers; every bucket occupies the link ``start_latency`` longer.
    """
    steps: list[tuple[str, float, int | None]] = []
    for layer in range(layers):
        steps += [("compute", backward / layers, None), ("link", transfer / layers + start_latency, 2 * layer)]
    finish = beside(steps, cost)
    return Overlap(finish, finish - backward)


def gathered(
    layers: int,
    forward: float,
    transfer: float,
    *,
    ahead: int | None = None,
    start_latency: float = 0.0,
    cost: float = 0.0,
) -> Overlap:
    """Weights of every layer are gathered before its forward (ZeRO-3), one layer after the other.

    Layer l may be gathered once layer l - ``ahead`` starts to compute, or at any time; 0 is no prefetch.
    """
    steps: list[tuple[str, float, int | None]] = []
    for layer in range(layers):
        before = None if ahead is None or layer <= ahead else 2 * (layer - ahead) - 1
        steps += [("link", transfer / layers + start_latency, before), ("compute", forward / layers, 2 * layer)]
    finish = beside(steps, cost)
    return Overlap(finish, finish - forward)


def gathered_and_reduced(layers: int, backward: float, gather: float, reduce: float, *, cost: float = 0.0) -> Overlap:
    """A ZeRO-3 backward: one link carries the gather before and the reduction after every layer.

    The next layer is gathered from when one starts to compute; the gradients of that one are reduced after both.
    """
    steps: list[tuple[str, float, int | None]] = [("link", gather / layers, None)]
    ready, last = 0, None
    for layer in range(layers):
        steps.append(("compute", backward / layers, ready))
        computed = len(steps) - 1
        if layer < layers - 1:
            ready = len(steps)
            steps.append(("link", gather / layers, last))
        steps.append(("link", reduce / layers, computed))
        last = computed
    finish = beside(steps, cost)
    return Overlap(finish, finish - backward)
