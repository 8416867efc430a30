"""Draws through the compiled function against a Python loop over ``solve``, on the same draws and in one run."""

from __future__ import annotations

import time
from statistics import median

import numpy as np
import pytest

from mlsysim import DistributedModel, KernelModel, ServingCapacityModel

PRODUCT = {"hardware": "H100", "product_rows": 4096, "product_columns": 8192, "product_inner": 8192}
SERVING = {"model": "Llama3_8B", "hardware": "H100", "target_p99_latency_ms": 4000, "qps": 20}
TRAINED = {"model": "Llama3_70B", "fleet": "SuperPOD_H100", "batch_size": 1024, "seq_len": 8192, "tp_size": 8,
           "pp_size": 4, "gradient_accumulation_steps": 8}  # fmt: skip
DRAWN = {"memory_efficiency": "uniform(0.7, 0.9)", "peak_flops": "relative(0.05)"}


@pytest.mark.parametrize(
    ("title", "model", "fixed", "output"),
    [
        ("a kernel", KernelModel(), PRODUCT, "kernel_time"),
        ("serving", ServingCapacityModel("prefill_aware"), SERVING, "qps_capacity"),
        ("a training step", DistributedModel(), TRAINED, "step_time"),
    ],
    ids=["kernel", "serving", "training"],
)
def test_draws(benchmark, title, model, fixed, output):
    options = {"distributions": DRAWN, "samples": 8192, "first_order": False}
    answer = model.uncertainty(output, **options, **fixed)
    points = list(zip(*(answer.draws(name)[:100] for name in DRAWN), strict=True))
    pairs = []

    def once():
        start = time.process_time()
        found = model.uncertainty(output, **options, **fixed)
        middle = time.process_time()
        solved = [model.solve(**fixed, **dict(zip(DRAWN, point, strict=True)))[output] for point in points]
        pairs.append(((middle - start) / 8192, (time.process_time() - middle) / len(points)))
        return found, solved

    found, solved = benchmark.pedantic(once, rounds=5)
    drawn = found.draws(output)[:100]
    np.testing.assert_allclose([float(a / b) for a, b in zip(drawn, solved, strict=True)], 1, rtol=1e-12)
    benchmark.extra_info.update(
        title=f"uncertainty of {title}, 8,192 draws, per draw",
        target=None,
        ours=median(a for a, _ in pairs),
        theirs=median(b for _, b in pairs),
        ratio=median(a / b for a, b in pairs),
    )
