"""A million unknowns against a loop of ``scipy.optimize.brentq`` over the compiled function, in one run."""

from __future__ import annotations

import time
from statistics import median

import numpy as np
import pytest
from scipy.optimize import brentq

from mlsysim import DistributedModel, IterationModel, MoERoutingModel
from mlsysim.backends import compiled

UNKNOWNS = 1_000_000
LOOPED = 100
TRAINED = {
    "model": "Mixtral_8x7B", "hardware": "H100", "batch_size": 64, "precision": "bf16", "tp_size": 2, "pp_size": 2,
    "gradient_accumulation_steps": 4, "interleaved_stages": 2, "fabric_bandwidth": "50 GB/s", "fleet_size": 16,
}  # fmt: skip
ROUTED = {"model": "DeepSeek_V3", "fleet": "Research_256", "batch_size": 64, "ep_size": 8}
CASES = [
    (IterationModel, {"model": "Mixtral_8x7B", "hardware": "H100", "tp_size": 2, "seq_len": 1024, "decode_requests": 16,
                      "prompts": 1}, "context_tokens", np.linspace(100, 4000, UNKNOWNS), "iteration_time"),
    (DistributedModel, TRAINED, "fabric_latency", np.linspace(1, 50, UNKNOWNS), "step_time"),
    (MoERoutingModel, ROUTED, "routing_imbalance_factor", np.linspace(1, 2, UNKNOWNS), "all_to_all_latency"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "fixed", "axis", "values", "output"), CASES)
def test_a_million_unknowns(benchmark, kind, fixed, axis, values, output):
    """The bandwidth at which an output takes nine tenths of its time; the loop knows brackets around the answer."""
    model = kind()
    unknown = "fabric_bandwidth" if kind is MoERoutingModel else "memory_bandwidth"
    result = model.solve(**fixed, **{axis: values[UNKNOWNS // 2]})
    target = 0.9 * result[output]
    model.solve_for(unknown, **fixed, **{axis: values[:1000], output: target}, allow_infeasible=True)
    function = compiled(model.system.closure([output]))
    canonical = {name: result.canonical(name) for name in result.inputs}
    scale, goal = canonical[axis] / values[UNKNOWNS // 2], 0.9 * result.canonical(output)
    pairs = []

    def once():
        start = time.process_time()
        found = model.solve_for(unknown, **fixed, **{axis: values, output: target}, allow_infeasible=True)
        middle = time.process_time()
        places = np.linspace(0, UNKNOWNS - 1, LOOPED).astype(int)
        looped = [root(scale * values[place]) for place in places]
        end = time.process_time()
        pairs.append(((middle - start) / UNKNOWNS, (end - middle) / LOOPED))
        return found[unknown].values[places] * 1e9, looped

    def root(at):
        at_axis = {**canonical, axis: at}
        usual = canonical[unknown]
        return brentq(lambda x: function({**at_axis, unknown: x})[output] - goal, usual / 100, usual * 100, rtol=1e-12)

    grid, looped = benchmark.pedantic(once, rounds=3, iterations=1)
    assert grid == pytest.approx(looped, rel=1e-9)
    benchmark.extra_info.update(
        title=f"solve_for on 1e6 points against brentq, {kind.__name__}, per point",
        target=1 / 200,
        ours=median(a for a, _ in pairs),
        theirs=median(b for _, b in pairs),
        ratio=median(a / b for a, b in pairs),
    )
