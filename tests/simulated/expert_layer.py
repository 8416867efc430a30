"""Event-driven schedule of layers with experts: streams of a device, the host that launches on them, one port.

Operations of a stream run one after another in the order in which the host launches them, each once those it depends
on have ended. Dispatches, combinations and traffic of weights have a stream each and share one port, which serves first
what is ready first. Traffic of weights and computing may slow each other down while both run. The host launches one
operation after the other, and stands still where it reads counts of tokens or the loss. Nothing here knows a closed
form. Times are seconds, but any unit will do.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Stream = Literal["compute", "dispatch", "combine", "weights"]
STREAMS: tuple[Stream, ...] = ("compute", "dispatch", "combine", "weights")


@dataclass(frozen=True)
class Operation:
    """So many seconds of a stream, after others have ended; launching takes the host so long."""

    stream: Stream
    seconds: float
    after: tuple[int, ...] = ()
    launch: float = 0.0


class Read(NamedTuple):
    """The host waits until an operation, if any, has ended, and so many seconds more."""

    operation: int | None
    seconds: float


@dataclass
class Program:
    """What the host does, in order."""

    operations: list[Operation] = field(default_factory=list)
    actions: list[int | Read] = field(default_factory=list)
    cost: float = 0.0
    """Share by which computing and traffic of weights take longer while they run beside each other."""

    def launch(self, stream: Stream, seconds: float, *after: int | None, launch: float = 0.0) -> int:
        """Launch an operation; its place."""
        self.operations.append(Operation(stream, seconds, tuple(each for each in after if each is not None), launch))
        self.actions.append(len(self.operations) - 1)
        return len(self.operations) - 1

    def read(self, operation: int | None, seconds: float) -> None:
        """Stop launching until an operation has ended, and so long after."""
        self.actions.append(Read(operation, seconds))

    def run(self) -> list[float]:
        """When each operation ends."""
        return _Run(self).ends


class _Run:
    """One execution, from event to event: the host is free, or an operation ends."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.ends = [float("inf")] * len(program.operations)
        self.waiting = {stream: deque[int]() for stream in STREAMS}
        self.busy = dict.fromkeys(STREAMS, False)
        self.port: deque[int] = deque()
        self.sending = False
        self.reading: Read | None = None
        self.next = 0
        self.due: dict[int, float] = {}
        self.slowed: set[int] = set()
        # Of events at one time what ends comes before what the host does, and all in the order they were found.
        self.events: list[tuple[float, int, int, int | None]] = []
        self.found = 0
        self.host(0.0)
        while self.events:
            time, _, _, operation = heapq.heappop(self.events)
            if operation is None:
                self.host_free(time)
            elif self.due.get(operation) == time:
                self.ended(time, operation)
        if float("inf") in self.ends:
            raise RuntimeError("the schedule deadlocks")

    def post(self, time: float, operation: int | None) -> None:
        self.found += 1
        heapq.heappush(self.events, (time, operation is None, self.found, operation))

    def host(self, time: float) -> None:
        """Begin the next action of the host."""
        if self.next == len(self.program.actions):
            return
        action = self.program.actions[self.next]
        if isinstance(action, Read):
            if action.operation is None or self.ends[action.operation] <= time:
                self.post(time + action.seconds, None)
            else:
                self.reading = action
        else:
            self.post(time + self.program.operations[action].launch, None)

    def host_free(self, time: float) -> None:
        action = self.program.actions[self.next]
        self.next += 1
        if not isinstance(action, Read):
            self.waiting[self.program.operations[action].stream].append(action)
            self.start(time)
        self.host(time)

    def start(self, time: float) -> None:
        """Start what is first in its stream and has what it waits for."""
        for stream in STREAMS:
            if self.busy[stream] or not self.waiting[stream]:
                continue
            first = self.waiting[stream][0]
            if any(self.ends[each] > time for each in self.program.operations[first].after):
                continue
            self.waiting[stream].popleft()
            self.busy[stream] = True
            if stream == "compute":
                self.run(time, self.program.operations[first].seconds, first)
            else:
                self.port.append(first)
        if self.port and not self.sending:
            self.sending = True
            first = self.port.popleft()
            self.run(time, self.program.operations[first].seconds, first)
        self.pace(time)

    def run(self, time: float, seconds: float, operation: int) -> None:
        """End an operation in so many seconds, unless its pace changes."""
        self.due[operation] = time + seconds
        self.post(time + seconds, operation)

    def pace(self, time: float) -> None:
        """Slow computing and traffic of weights down where both have begun to run, or no more."""
        if not self.program.cost:
            return
        each = [at for at in self.due if self.program.operations[at].stream in ("compute", "weights")]
        for at in each:
            if (len(each) > 1) != (at in self.slowed):
                self.slowed ^= {at}
                slower = 1 + self.program.cost
                self.run(time, (self.due[at] - time) * (slower if at in self.slowed else 1 / slower), at)

    def ended(self, time: float, operation: int) -> None:
        self.ends[operation] = time
        del self.due[operation]
        self.slowed.discard(operation)
        stream = self.program.operations[operation].stream
        self.busy[stream] = False
        if stream != "compute":
            self.sending = False
        if self.reading is not None and self.reading.operation == operation:
            self.post(time + self.reading.seconds, None)
            self.reading = None
        self.start(time)


@dataclass(frozen=True)
class Part:
    """Computing of one part of a layer in one pass, as a number of kernels of equal length."""

    seconds: float
    launch: float = 0.0
    kernels: int = 1


@dataclass(frozen=True)
class Layer:
    """A layer in which tokens are dispatched after its attention and combined after its experts.

    A backward pass computes the experts first. Gradients of what was combined go the way of a dispatch.
    """

    attention: Part
    experts: Part
    attention_back: Part
    experts_back: Part
    dispatch: float
    combine: float
    count: float | None = None
    """Seconds in which the host reads counts before a dispatch; none are read without."""
    beside: float = 0.0
    """Share of each part that needs no exchange of its own layer and pass, and may run while one is under way."""
    hides: float = 1.0
    """Share of each exchange that leaves the device to another micro-batch; the rest of it takes the device, too."""

    def without_experts(self) -> Layer:
        """A layer that exchanges nothing, whose attention is split in two halves, for attention and feed-forward."""
        ahead, back = (
            Part(part.seconds / 2, part.launch / 2, part.kernels) for part in (self.attention, self.attention_back)
        )
        return Layer(ahead, ahead, back, back, 0.0, 0.0)


class Passes:
    """Micro-batches through layers; what each appends to a program depends on what it appended last."""

    def __init__(self, layers: list[Layer], head: float) -> None:
        self.program = Program()
        self.layers = layers
        self.head = head
        self.rest: dict[int | None, float] = {}

    def compute(self, part: Part, after: int | None, share: float = 1.0) -> int | None:
        """Launch the kernels of a part, or of a share of it, behind what an exchange before it leaves to the device."""
        if rest := self.rest.pop(after, 0.0):
            after = self.program.launch("compute", rest, after)
        if not share * (part.seconds + part.launch):
            return after
        for _ in range(part.kernels):
            each, launch = part.seconds * share / part.kernels, part.launch * share / part.kernels
            after = self.program.launch("compute", each, after, launch=launch)
        return after

    def exchange(self, stream: Stream, seconds: float, after: int | None, hides: float = 1.0) -> int | None:
        if not seconds:
            return after
        sent = self.program.launch(stream, hides * seconds, after)
        self.rest[sent] = (1 - hides) * seconds
        return sent

    def counted(self, layer: Layer, after: int | None) -> None:
        if layer.count is not None:
            self.program.read(after, layer.count)

    def forward(self, layer: Layer, after: int | None) -> int | None:
        """Attention, dispatch, experts, combination."""
        after = self.compute(layer.attention, after, 1 - layer.beside)
        self.counted(layer, after)
        return self.around(layer, layer.attention, layer.experts, None, after)

    def backward(self, layer: Layer, after: int | None) -> int | None:
        """Gradients of what was combined are dispatched, those of what was dispatched combined."""
        return self.around(layer, layer.attention_back, layer.experts_back, layer.attention_back, after)

    def around(self, layer: Layer, attention: Part, experts: Part, last: Part | None, after: int | None) -> int | None:
        """Send, compute experts, send back; what may run beside is shared by both in proportion to their lengths."""
        free = Part(attention.seconds + experts.seconds, attention.launch + experts.launch, experts.kernels)
        sent = self.exchange("dispatch", layer.dispatch, after)
        first = layer.dispatch / (layer.dispatch + layer.combine) if layer.dispatch + layer.combine else 1.0
        self.compute(free, None, layer.beside * first)
        done = self.compute(experts, sent, 1 - layer.beside)
        back = self.exchange("combine", layer.combine, done)
        self.compute(free, None, layer.beside * (1 - first))
        if last is not None:
            back = self.compute(last, back, 1 - layer.beside)
        # A layer is through when all of it is.
        return self.program.launch("compute", 0.0, back)

    def loss(self, after: int | None) -> int | None:
        """Head and loss; the host reads the loss."""
        after = self.compute(Part(self.head), after)
        self.program.read(after, 0.0)
        return after

    def beside_each_other(
        self, ahead: Layer, behind: Layer, one: int | None, other: int | None
    ) -> tuple[int | None, int | None]:
        """A layer forward for one micro-batch while another goes backward: each computes while the other sends."""
        other = self.exchange("dispatch", behind.dispatch, other, behind.hides)
        one = self.compute(ahead.attention, one)
        self.counted(ahead, one)
        one = self.exchange("dispatch", ahead.dispatch, one, ahead.hides)
        other = self.compute(behind.experts_back, other)
        other = self.exchange("combine", behind.combine, other, behind.hides)
        one = self.compute(ahead.experts, one)
        one = self.exchange("combine", ahead.combine, one, ahead.hides)
        return one, self.compute(behind.attention_back, other)


def one_at_a_time(layers: list[Layer], micro_batches: int, head: float = 0.0, *, recomputed: bool = False) -> float:
    """When all micro-batches are through, one after the other; layers may run forward again before they go back."""
    passes, last = Passes(layers, head), None
    for _ in range(micro_batches):
        for layer in layers:
            last = passes.forward(layer, last)
        last = passes.loss(last)
        for layer in reversed(layers):
            if recomputed:
                last = passes.forward(layer, last)
            last = passes.backward(layer, last)
    return max(passes.program.run())


def two_at_a_time(layers: list[Layer], micro_batches: int, head: float = 0.0) -> float:
    """When all are through, where each goes forward while the one before it goes back."""
    passes = Passes(layers, head)
    last: int | None = None
    for layer in layers:
        last = passes.forward(layer, last)
    last = passes.loss(last)
    for _ in range(micro_batches - 1):
        ahead: int | None = last
        for layer, behind in zip(layers, reversed(layers), strict=True):
            ahead, last = passes.beside_each_other(layer, behind, ahead, last)
        last = passes.loss(ahead)
    for layer in reversed(layers):
        last = passes.backward(layer, last)
    return max(passes.program.run())


def layers_held(layers: int, *, two: bool) -> int:
    """Most layers of one stage whose activations are held at once: from the forward pass to the end of the backward.

    With two micro-batches each layer of one goes forward beside a layer of the other that goes backward.
    """
    held = most = 0
    steps = [(1, 0)] * layers + ([(1, 1)] * layers if two else []) + [(0, 1)] * layers
    for begun, ended in steps:
        held += begun
        most = max(most, held)
        held -= ended
    return most
