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


def executed(layers: list[Layer], bandwidth: float, *, beside: float = 0.0, ahead: bool = False) -> float:
    """Seconds of a micro-batch: each phase pops, pulls, computes, talks, pushes and writes back.

    A share ``beside`` of the computing of a phase runs while the phase pulls and writes; the rest begins after both.
    With ``ahead`` a phase pulls all of its weights and its checkpoint while the phase before it computes, and writes
    while the next one does. Pushes and pops of recomputed activations wait in any case.
    """
    program = Program()
    last: int | None = None
    started: int | None = None
    for phase in phases(layers):
        seconds = phase["times"] * max(phase["arithmetic"], phase["local"])
        pull, write, push, pop = (phase[name] / bandwidth for name in ("pull", "write", "push", "pop"))
        if ahead:
            pulled = program.add("port", pull, started)
            started = program.add("processor", 0.0, last, pulled, program.add("port", pop, last) if pop else None)
            last = program.add("link", phase["link"], program.add("processor", seconds, started))
        else:
            last = program.add("port", pop, last)
            moved = program.add("port", pull + write, last)
            early = program.add("processor", beside * seconds, last)
            last = program.add("link", phase["link"], program.add("processor", (1 - beside) * seconds, early, moved))
        last = program.add("port", push, last) if push else last
        if ahead and write:
            program.add("port", write, last)
    return program.makespan()
