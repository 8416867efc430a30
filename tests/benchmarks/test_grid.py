"""A sweep against a Python loop over ``solve``, on the same points and in one run."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from statistics import median

import numpy as np
from benchmarks.conftest import ENVIRONMENT
from benchmarks.yardsticks import START

from mlsysim import ServingCapacityModel, TrainingMemoryModel

MEMORY = {"model": "Llama3_8B", "hardware": "H100", "dp_size": 8}
SERVING = {
    "model": "Llama3_8B",
    "hardware": "H100",
    "target_p99_latency_ms": 2000,
    "seq_len": 1024,
    "output_tokens": 64,
    "efficiency": 0.35,
}


def sweep_against_loop(benchmark, title, model, fixed, axes, output):
    """Time per point of a warm sweep and of a loop over some of its points."""
    model.sweep(**fixed, **axes, outputs=[output])
    points = list(itertools.product(*axes.values()))
    some = points[:: max(1, len(points) // 200)]
    pairs = []

    def once():
        start = time.perf_counter()
        dataset = model.sweep(**fixed, **axes, outputs=[output])
        middle = time.perf_counter()
        found = [getattr(model.solve(**fixed, **dict(zip(axes, point, strict=True))), output) for point in some]
        end = time.perf_counter()
        pairs.append(((middle - start) / len(points), (end - middle) / len(some)))
        return dataset, found

    dataset, found = benchmark.pedantic(once, rounds=7)
    swept = [dataset[output].sel(dict(zip(axes, point, strict=True))).item() for point in some]
    np.testing.assert_allclose(swept, [float(getattr(value, "magnitude", value)) for value in found], rtol=1e-12)
    benchmark.extra_info.update(
        title=title,
        target=None,
        ours=median(a for a, _ in pairs),
        theirs=median(b for _, b in pairs),
        ratio=median(a / b for a, b in pairs),
    )


def test_memory_sweep(benchmark):
    axes = {"batch_size": range(1, 513), "seq_len": range(256, 256 * 33, 256), "zero_stage": [0, 1, 2, 3]}
    sweep_against_loop(
        benchmark, "memory sweep of 65,536 points, per point", TrainingMemoryModel(), MEMORY, axes, "total_memory"
    )


def test_serving_sweep(benchmark):
    axes = {"qps": np.linspace(1, 2000, 500), "max_batch_size": range(1, 33)}
    sweep_against_loop(
        benchmark,
        "serving sweep of 16,000 points with the replica search, per point",
        ServingCapacityModel(),
        SERVING,
        axes,
        "required_replicas",
    )


def test_a_new_small_sweep(benchmark, against):
    """Ten thousand points of a grid that was not asked before, against 20 ms."""
    model, lengths, taken = TrainingMemoryModel("per_operator"), iter(range(90, 110)), []
    model.sweep(**MEMORY, batch_size=[8, 16])

    def once():
        axes = {"batch_size": range(8, 8 * next(lengths), 8), "seq_len": range(256, 256 * 26, 256)}
        start = time.perf_counter()
        model.sweep(**MEMORY, **axes, zero_stage=[0, 1, 2, 3])
        taken.append(time.perf_counter() - start)

    benchmark.pedantic(once, rounds=7)
    against("a new small sweep (1e4 points, `per_operator`, headline outputs) in a warm process", 0.02, taken)


def test_a_small_sweep_in_a_fresh_process(benchmark, against):
    """The same with everything that has to be imported and compiled, against 3 s."""
    command = (
        "from mlsysim import TrainingMemoryModel as M; M('per_operator').sweep(model='Llama3_8B', hardware='H100',"
    )
    command += " batch_size=range(1, 101), seq_len=range(256, 6656, 256), zero_stage=[0, 1, 2, 3])"
    taken = []

    def once():
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", command], check=True, env=ENVIRONMENT)
        taken.append(time.perf_counter() - start)

    benchmark.pedantic(once, rounds=5)
    against("a small sweep (1e4 points) in a fresh process, everything included", 3.0, taken, yardstick=START)
