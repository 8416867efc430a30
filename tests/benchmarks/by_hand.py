"""Training memory and the time of a training step as one writes them in NumPy, to hold sweeps against.

Labels are those of one question and their branches are resolved, numbers are worked out beforehand, and an intermediate
keeps the axes it hangs on. Nothing here is of mlsysim; ``tests/test_by_hand.py`` holds both against each other.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

# Llama-3 70B in 16 bit with Adam and selective checkpointing, on a device of 80 GB.
P, LAYERS, HIDDEN, BYTES, STATE, KEPT, BUFFERS, CAPACITY = 70.6e9, 80.0, 8192.0, 2.0, 12.0, 10.0, 0.05, 80e9


def memory(xp, b, s, d, z, t, p=1.0, g=1.0, ceil=None):
    """The first-order form of every part of the memory of training, and last of their sum, in bytes."""
    ceil = ceil or xp.ceil
    rank = P / (t * p)
    weights = BYTES * rank / xp.where(z >= 3, d, 1.0)
    gradients = BYTES * rank / xp.where(z >= 2, d, 1.0)
    state = STATE * rank / xp.where(z >= 1, d, 1.0)
    micro = ceil(b / (d * g))
    activations = KEPT / 2 * BYTES * HIDDEN * ceil(LAYERS / p) * micro * s
    buffers = BUFFERS * gradients + xp.where(p > 1, 2 * BYTES * HIDDEN * micro * s, 0.0)
    total = weights + gradients + state + activations + buffers
    return weights, gradients, state, activations, buffers, total


def memory_outputs(b, s, t, z, d, number=8):
    """Total memory in GB alone, or all eight headline outputs; the pipeline has one stage."""
    rank, micro = P / t, np.ceil(b / d)
    weights = BYTES * rank / np.where(z >= 3, d, 1.0) / 1e9
    gradients = BYTES * rank / np.where(z >= 2, d, 1.0) / 1e9
    state = STATE * rank / np.where(z >= 1, d, 1.0) / 1e9
    buffers = BUFFERS * gradients
    activations = (KEPT / 2 * BYTES * HIDDEN * LAYERS / 1e9) * micro * s
    total = (weights + gradients + state + buffers) + activations
    if number == 1:
        return {"total_memory": total}
    used = total / (CAPACITY / 1e9)
    return {
        "weights": weights,
        "gradients": gradients,
        "optimizer_state": state,
        "activations": activations,
        "communication_buffers": buffers,
        "total_memory": total,
        "memory_utilization": used,
        "feasible": used <= 1,
    }


# Llama-3 8B in bfloat16 with ZeRO stage 2 on 256 H100 in nodes of eight: the example of `DistributedModel`.
FLEET, NODE, DEPTH, WIDTH, KEYS, FFN, VOCABULARY = 256, 8, 32, 4096, 1024, 14336, 128256
#: FLOP/s at the peak, and those of products where each takes 0.33 pJ; exponentials/s, and the share of attention alone.
PEAK, PRODUCTS, EXPONENTIALS, ATTENTION = 989e12, 989e12 / (1 + 0.33e-12 * 989e12 / 700), 3706.56e9, 0.7
#: Bytes/s that element-wise code, the update and links reach.
ELEMENTWISE, HBM, LINK, FABRIC = 0.6 * 3.35e12, 0.8 * 3.35e12, 0.86 * 450e9, 0.885 * 50e9
#: Seconds to launch a collective, of hops in and between nodes, of a reduction in the switch, to launch a layer.
LAUNCH, HOP, FABRIC_HOP, SWITCH, LAYER = 6.1e-6, 0.98e-6, 10e-6, 25e-6, 55 * 50.5e-6
#: Shares of tensor-parallel traffic that is hidden, and of the time of hidden traffic of weights that hiding saves.
OVERLAP, SAVED = 0.3, 0.5


def chunked(latency, seconds, chunk=LAUNCH):
    """Seconds of a collective whose bytes take so long on the wire, cut into the best number of chunks."""
    return LAUNCH + latency + seconds + np.sqrt(2 * chunk * seconds)


def all_reduce(message, t):
    """Seconds to sum so many bytes over the ranks of a node: the fastest of a ring, the switch and a tree."""
    hops, wire = (t - 1) * HOP, message / LINK
    ring = chunked(2 * hops, wire * ((2 * t - 1.5) / t))
    switch = chunked(SWITCH, wire * ((t + 1) / t / 0.85 / 0.9375))
    tree = chunked(2 * hops, wire * (2 / 0.92))
    return np.where(t > 1, np.minimum(np.minimum(ring, switch), tree), 0.0)


def data_parallel(n, t, p, forward):
    """Seconds of traffic of ZeRO stage 2 that computing does not hide, and of the update."""
    d, layers, ranks = FLEET / (t * p), np.ceil(DEPTH / p), NODE / t
    weights = layers * ((2 * WIDTH * WIDTH + 3 * FFN * WIDTH) / t + 2 * 128 * WIDTH * np.ceil(8 / t) + 2 * WIDTH)
    weights = weights + WIDTH * (np.where(p > 1, 1, 2) * np.ceil(VOCABULARY / t) + 1)
    latency = (d / ranks - 1) * FABRIC_HOP + (d - d / ranks) * HOP
    traffic = chunked(latency, 2 * weights * (d - 0.5) / d / (FABRIC * ranks), LAUNCH + FABRIC_HOP)
    saved = SAVED * (1 - 1 / layers)
    gather = np.maximum(traffic * (1 - saved), traffic - forward * saved)
    reduction = np.maximum(traffic * (1 - saved), traffic - 2 * forward * saved)
    return gather + n * reduction, 28 * weights / d / HBM


def step_outputs(b, s, t, p, g, number=8):
    """The time of a step in seconds alone, or with its parts in milliseconds and tokens per second."""
    d = FLEET / (t * p)
    micro = np.ceil(b / (d * g))
    n = np.ceil(b / (d * micro))
    tokens = micro * s
    # Per token and layer: matrix products, scores of causal attention, and what goes through memory.
    products = 2 * (2 * WIDTH * WIDTH + 2 * WIDTH * KEYS + 3 * WIDTH * FFN)
    scores, logits = 2 * WIDTH * s, 2 * VOCABULARY * WIDTH
    # Forward and backward, as the kernel takes alone; as if each sequence were 450 tokens longer.
    attention = (1 + 450 / s) * ((1 + 2.5 / 0.645) * scores / PEAK + (1.27 + 1.76) * 16 * s / EXPONENTIALS)
    layer = (3 * products / PRODUCTS + attention / ATTENTION) / t + 3 * 2 * (15 * WIDTH + 3 * FFN / t) / ELEMENTWISE
    loss = (3 * logits / PRODUCTS + 20 * VOCABULARY / ELEMENTWISE) / t * tokens
    stage = DEPTH / p
    layers = stage * layer * tokens
    exposed = 4 * stage * (1 - OVERLAP) * all_reduce(2 * WIDTH * tokens, t)
    busy = layers + exposed
    wait = np.sqrt(np.sqrt(busy**4 + (LAYER * stage) ** 4)) - busy
    micro_time = busy + loss + wait
    bubble = micro_time * (p - 1)
    sends = np.where(p > 1, 2 * np.maximum(0, n + p - 2 - np.ceil((n - 1) / p)), 0.0)
    pipeline = sends * (FABRIC_HOP + 2 * WIDTH / FABRIC * tokens)
    computing = layers + loss
    traffic, update = data_parallel(n, t, p, (computing + wait) / 3)
    step = n * micro_time + bubble + pipeline + traffic + update
    if number == 1:
        return {"step_time": step}
    return {
        "step_time": step,
        "compute_time": 1e3 * n * computing,
        "tp_time": 1e3 * n * exposed,
        "bubble_time": 1e3 * bubble,
        "pp_time": 1e3 * pipeline,
        "dp_time": 1e3 * traffic,
        "optimizer_time": 1e3 * update,
        "tokens_per_second": b * s / step,
    }


def multiples(step):
    """An axis of so many multiples of a number."""
    return lambda size: step * np.arange(1, size + 1)


def last_of(*values):
    """An axis of so many of these values, the last ones."""
    return lambda size: np.array(values[len(values) - size :])


@dataclass(frozen=True)
class Question:
    """A sweep of a model of mlsysim over five axes, and NumPy that answers it.

    Attributes
    ----------
    model : str
        Name of the model's class.
    fixed : dict
        Arguments that are no axes.
    axes : dict
        An axis of a given length, by its argument.
    answer : callable
        Outputs by name, of one array per axis: one output or eight of them.
    """

    model: str
    fixed: dict[str, Any]
    axes: dict[str, Callable[[int], np.ndarray]]
    answer: Callable[..., dict[str, np.ndarray]]

    def axes_of(self, sizes: Sequence[int]) -> dict[str, np.ndarray]:
        """The axes at these lengths, by argument."""
        return {name: axis(size) for (name, axis), size in zip(self.axes.items(), sizes, strict=True)}

    def whole(self, axes: dict[str, np.ndarray], number: int) -> dict[str, np.ndarray]:
        """Every output at every point, as a sweep has them."""
        found = self.answer(*np.ix_(*(axis.astype(float) for axis in axes.values())), number=number)
        sizes = tuple(map(len, axes.values()))
        return {
            name: array if array.shape == sizes else np.broadcast_to(array, sizes).copy()
            for name, array in found.items()
        }


QUESTIONS = {
    "training memory": Question(
        "TrainingMemoryModel",
        {"model": "Llama3_70B", "hardware": "H100", "parameters": P, "layers": 80, "hidden_dim": 8192,
         "memory_capacity": "80 GB"},
        {"batch_size": multiples(16), "seq_len": multiples(64), "tp_size": last_of(1, 2, 4, 8),
         "zero_stage": last_of(0, 1, 2, 3), "dp_size": last_of(1, 2, 4, 8, 16)},
        memory_outputs,
    ),
    "step time": Question(
        "DistributedModel",
        {"model": "Llama3_8B", "fleet": "SuperPOD_H100", "precision": "bf16", "zero_stage": 2},
        {"batch_size": multiples(4096), "seq_len": multiples(64), "tp_size": last_of(1, 2, 4, 8),
         "pp_size": last_of(1, 2, 4, 8), "gradient_accumulation_steps": last_of(1, 2, 4, 8, 16)},
        step_outputs,
    ),
}  # fmt: skip
