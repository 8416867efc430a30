"""Gradients of one output by all inputs beside the values, on grids of a million points and at a point."""

from __future__ import annotations

import time
from statistics import median

import numpy as np
import pytest
from benchmarks.yardsticks import processor_time

from mlsysim import DistributedModel, KernelModel, ServingCapacityModel, ServingModel, TrainingMemoryModel
from mlsysim.backends import OutputSpec, evaluate_outputs, slopes
from mlsysim.inputs.binding import bind_grid

SERVED = {"model": "Llama3_8B", "hardware": "H100", "target_p99_latency_ms": 4000, "max_batch_size": 16}
TRAINED = {"model": "Llama3_70B", "fleet": "SuperPOD_H100", "seq_len": 8192, "tp_size": 8, "pp_size": 4}
SHARES = np.linspace(0.3, 0.7, 1000)
CASES = {
    "kernel time": (
        KernelModel("roofline"), "kernel_time",
        {"hardware": "H100", "product_columns": 8192, "product_inner": 4096, "product_rows": range(1, 1001),
         "efficiency": SHARES},
    ),
    "training memory": (
        TrainingMemoryModel("per_operator"), "total_memory",
        {"model": "Llama3_8B", "hardware": "H100", "batch_size": range(1, 1001), "seq_len": range(8, 8001, 8)},
    ),
    "P99 latency": (
        ServingCapacityModel("first_order"), "estimated_p99_latency",
        {**SERVED, "qps": np.linspace(1, 40, 1000), "efficiency": SHARES},
    ),
    "step time": (
        DistributedModel(), "step_time",
        {**TRAINED, "batch_size": range(64, 64001, 64), "fabric_bandwidth": np.linspace(10, 100, 1000)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_gradient_by_all_inputs(benchmark, case):
    """At most 4 times the values per three inputs is wanted."""
    model, output, arguments = CASES[case]
    binding = bind_grid(model, arguments)
    system = binding.system.closure([output])
    inputs = [variable.name for variable in system.inputs if variable.domain.kind == "real"]
    pairs = []

    def once():
        start = time.process_time()
        evaluate_outputs(system, [OutputSpec(output)], binding.values, binding.sizes)
        middle = time.process_time()
        slopes(system, [output], inputs, binding.values)
        pairs.append((middle - start, time.process_time() - middle))

    once()
    pairs.clear()
    benchmark.pedantic(once, rounds=5)
    ours, values = median(b / a for a, b in pairs), len(inputs) / 3
    benchmark.extra_info.update(
        title=f"{case}: gradient by {len(inputs)} inputs on 1,000,000 points, over the values per three inputs",
        target=4.0,
        ours=median(b for _, b in pairs),
        theirs=median(a for a, _ in pairs),
        ratio=ours / values,
    )


def test_at_a_point(benchmark, against):
    """A warm table of sensitivities of the step time, half a second of a processor at the most."""
    model, point = DistributedModel(), {**TRAINED, "batch_size": 1024}
    model.sensitivity("step_time", **point)
    taken = []

    def once():
        start = time.process_time()
        model.sensitivity("step_time", **point)
        taken.append(time.process_time() - start)

    benchmark.pedantic(once, rounds=5)
    what = "sensitivity of the step time at a point, warm, processor time"
    against(what, 0.5, taken, target=0.5, clock=processor_time)


@pytest.mark.parametrize(
    ("what", "case", "wanted"),
    [
        ("step time on 1,000,000 points", CASES["step time"], 0.2),
        ("99% of the first tokens (colocated) at a point", (ServingModel(), "ttft_p99", ServingModel.example), 0.02),
    ],
    ids=["step time", "first tokens"],
)
def test_by_every_input(benchmark, against, what, case, wanted):
    """Processor time of a warm gradient by every real input."""
    model, output, arguments = case
    binding = bind_grid(model, arguments)
    system = binding.system.closure([output])
    inputs = [variable.name for variable in system.inputs if variable.domain.kind == "real"]
    slopes(system, [output], inputs, binding.values)
    taken = []

    def once():
        start = time.process_time()
        slopes(system, [output], inputs, binding.values)
        taken.append(time.process_time() - start)

    benchmark.pedantic(once, rounds=5)
    against(f"{what}: gradient by {len(inputs)} inputs, processor time", wanted, taken, clock=processor_time)
