"""A warm solve against what is wanted of it, and against the function generated for it, called by itself."""

from __future__ import annotations

import timeit
from importlib import import_module
from statistics import median

import pytest

from mlsysim import DistributedModel, ServingModel, TrainingMemoryModel
from mlsysim.inputs.recurring import CALLS_BEFORE, kind_of

TRAINING = {"model": "Mixtral_8x7B", "hardware": "H100", "batch_size": 64, "precision": "bf16", "tp_size": 2}
LAYOUT = {"pp_size": 2, "gradient_accumulation_steps": 4, "interleaved_stages": 2}
NETWORK = {"fabric_bandwidth": "50 GB/s", "fabric_latency": "10 us", "fleet_size": 16}
CASES = {
    "TrainingMemoryModel": (
        TrainingMemoryModel(),
        {"model": "Llama3_8B", "hardware": "H100", "batch_size": 8, "seq_len": 2048, "dp_size": 8, "zero_stage": 2},
        15e-6,
    ),
    "TrainingMemoryModel, per_operator": (
        TrainingMemoryModel("per_operator"),
        {**TRAINING, **LAYOUT, "dp_size": 4, "ep_size": 2},
        40e-6,
    ),
    "DistributedModel": (DistributedModel(), {**TRAINING, **LAYOUT, **NETWORK}, 60e-6),
    "ServingModel": (
        ServingModel(),
        {"model": "Mixtral_8x7B", "hardware": "H100", "tp_size": 2, "request_rate": 20, "isl": 1024, "max_num_seqs": 24,
         "ttft_slo": 500, "tpot_slo": 40, "rental_price": 2},
        None,
    ),
}  # fmt: skip
ROUNDS, REPEATS = 9, 5


def seconds(call, number):
    """Seconds of one call, the best of some runs."""
    return min(timeit.repeat(call, number=number, repeat=REPEATS)) / number


@pytest.mark.parametrize(
    ("name", "against"),
    [
        *((name, "what is wanted") for name, (_, _, wanted) in CASES.items() if wanted),
        *((name, "the generated function alone") for name in CASES),
    ],
)
def test_warm_solve(benchmark, name, against):
    model, point, wanted = CASES[name]
    for _ in range(CALLS_BEFORE + 1):
        model.solve(**point)
    alone = import_module("mlsysim.study.solve")._CALLS.find(kind_of(model, point)).solved
    assert alone(point) is not None
    number = 10 if wanted is None else 500
    pairs = []

    def once():
        floor = wanted if against == "what is wanted" else seconds(lambda: alone(point), number)
        pairs.append((seconds(lambda: model.solve(**point), number), floor))

    benchmark.pedantic(once, rounds=ROUNDS, warmup_rounds=1)
    benchmark.extra_info.update(
        title=f"warm `{name}`, one point, against {against}",
        target=1 if against == "what is wanted" else None,
        ours=median(a for a, _ in pairs),
        theirs=median(b for _, b in pairs),
        ratio=median(a / b for a, b in pairs),
    )
