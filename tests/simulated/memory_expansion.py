"""The phases of a micro-batch with memory in two tiers, executed on three serial resources.

Knows a processor, a port to the remote memory and a link, each of which does one operation at a time. An
operation starts when what it waits for is done and its resource is free; of those that could start the
earliest does, and of these the first in the order of the program.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Operation:
    """So many seconds of one resource, after others have ended."""

    resource: str
    seconds: float
    after: tuple[int, ...] = ()


@dataclass(frozen=True)
class Layer:
    """What one layer takes: seconds of arithmetic and local traffic forward, bytes of each class."""

    arithmetic: float
    local: float
    weights: float
    checkpoint: float
    activations: float
    link: float


@dataclass
class Program:
    """Operations in the order they are issued."""

    operations: list[Operation] = field(default_factory=list)

    def add(self, resource: str, seconds: float, *after: int | None) -> int:
        """Issue an operation; its place."""
        self.operations.append(Operation(resource, seconds, tuple(place for place in after if place is not None)))
        return len(self.operations) - 1

    def makespan(self) -> float:
        """When the last operation ends."""
        free: dict[str, float] = {}
        ends: dict[int, float] = {}
        waiting = dict(enumerate(self.operations))
        while waiting:
            ready = (
                (max([free.get(op.resource, 0.0), *(ends[before] for before in op.after)]), place)
                for place, op in waiting.items()
                if all(before in ends for before in op.after)
            )
            start, place = min(ready)
            op = waiting.pop(place)
            ends[place] = free[op.resource] = start + op.seconds
        return max(ends.values())


def phases(layers: list[Layer]) -> list[dict[str, float]]:
    """Forward through all layers, then recomputation and backward of each from the last one back."""
    forward = [
        {"times": 1, "pull": each.weights + each.checkpoint, "write": each.checkpoint, "push": 0.0, "pop": 0.0}
        for each in layers
    ]
    found = [phase | vars(each) for phase, each in zip(forward, layers, strict=True)]
    for each in reversed(layers):
        again = {"times": 1, "pull": each.weights + each.checkpoint, "write": 0.0, "push": each.activations, "pop": 0.0}
        back = {"times": 2, "pull": each.weights, "write": each.weights, "push": 0.0, "pop": each.activations}
        found += [again | vars(each), back | vars(each)]
    return found


def executed(layers: list[Layer], bandwidth: float, *, prefetch: bool) -> float:
    """Seconds of a micro-batch: each phase pulls, computes, talks and writes back.

    With ``prefetch`` the weights and checkpoint of a phase are pulled while the phase before it computes, and what
    a phase writes goes while the next one does. Pushes and pops of recomputed activations wait in any case.
    """
    program = Program()
    last: int | None = None
    started: int | None = None
    for phase in phases(layers):
        ready = [last, program.add("port", phase["pull"] / bandwidth, started if prefetch else last)]
        if phase["pop"]:
            ready.append(program.add("port", phase["pop"] / bandwidth, last))
        started = program.add("processor", 0.0, *ready)
        seconds = phase["times"] * max(phase["arithmetic"], phase["local"])
        last = program.add("link", phase["link"], program.add("processor", seconds, started))
        if phase["push"]:
            last = program.add("port", phase["push"] / bandwidth, last)
        if phase["write"]:
            written = program.add("port", phase["write"] / bandwidth, last)
            last = last if prefetch else written
    return program.makespan()
