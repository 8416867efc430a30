"""The best of 1e12 layouts, for every objective of a training step: what cancels in it stands outside maxima."""

import math

import pytest

from mlsysim import DistributedModel, EconomicsModel
from mlsysim.study import search as module

AXES = {
    "tp_size": [1, 2, 4, 8],
    "zero_stage": [0, 1, 2, 3],
    "activation_checkpointing": ["none", "selective", "full"],
    "sequence_parallel": [False, True],
    "cp_size": [1, 2, 4, 8],
    "precision": ["bf16", "fp8"],
    "seq_len": 8192,
    "fleet_size": range(8, 1001, 8),
    "pp_size": range(1, 81),
    "gradient_accumulation_steps": range(1, 513),
    "batch_size": range(16, 4097, 16),
}
FITS = ["total_memory <= 0.9 * memory_capacity", "batch_size >= 1024"]
FABRIC = {"hardware": "H100", "fabric_bandwidth": "50 GB/s", "fabric_latency": "10 us"}
#: Boxes after which a proof must stand; a maximum in the way takes millions.
MOST_BOXES = 500_000


@pytest.mark.long
@pytest.mark.parametrize(
    "goal",
    [
        {"minimize": "step_time"},
        {"maximize": "tokens_per_second_per_accelerator"},
        {"minimize": "step_time * fleet_size / (batch_size * seq_len)"},
    ],
    ids=["step time", "throughput", "accelerator seconds"],
)
def test_a_proof_over_a_million_million_layouts(goal):
    found = DistributedModel().search(
        "Llama3_70B", **FABRIC, **AXES, **goal, subject_to=FITS, method="bounds", time_limit=120
    )
    assert found.certificate.points > 1e12
    assert found.certificate.proven
    assert found.certificate.boxes < MOST_BOXES


def test_a_quotient_that_cancels_is_bounded_before_any_axis_is_split():
    """Tokens per second and accelerator hardly depend on batch, micro-batches and fleet: a few boxes prove them."""
    axes = {"fleet_size": range(8, 1001, 8), "batch_size": range(1024, 4097, 16), "gradient_accumulation_steps": [8]}
    found = DistributedModel().search(
        "Llama3_8B", **FABRIC, **axes, seq_len=8192, maximize="tokens_per_second_per_accelerator", method="bounds"
    )
    assert found.certificate.proven
    assert found.certificate.boxes < 2_000


@pytest.mark.long
def test_a_price_that_divides_by_a_rate_is_bounded_as_what_it_stands_for():
    """Cost per token divides by tokens per second, which divide by the time of a step: both take the same boxes."""
    axes = {
        "fleet_size": range(8, 1001, 8),
        "batch_size": range(1024, 4097, 16),
        "gradient_accumulation_steps": range(1, 65),
        "zero_stage": [0, 1, 2, 3],
    }
    asked = {"subject_to": "total_memory <= 0.9 * memory_capacity", "method": "bounds", "time_limit": 60}
    price = EconomicsModel("rented_training").search(
        "Llama3_8B", **FABRIC, **axes, **asked, rental_price=2, tdp=700, minimize="cost_per_token"
    )
    time = DistributedModel().search(
        "Llama3_8B", **FABRIC, **axes, **asked, minimize="step_time * fleet_size / (batch_size * seq_len)"
    )
    assert price.certificate.proven
    assert time.certificate.proven
    assert price.certificate.boxes == time.certificate.boxes


#: Traffic that is hidden costs from ZeRO-2 on, so that memory and time pull at the micro-batch from both sides.
HIDING = {"model": "Llama3_1_70B", "fleet": "SuperPOD_H100", "seq_len": 8192, "precision": "bf16"}
FEW = {
    "fleet_size": [128, 256],
    "batch_size": range(256, 4097, 256),
    "tp_size": [4, 8],
    "pp_size": [1, 2, 4],
    "gradient_accumulation_steps": [4, 8, 16, 32, 64],
    "zero_stage": [0, 1, 2, 3],
    "activation_checkpointing": ["none", "selective", "full"],
    "dp_overlap": [0, 0.5, 1],
}
MANY = {
    **FEW,
    "fleet_size": [128, 256, 512, 1024, 2048],
    "batch_size": range(256, 8193, 256),
    "tp_size": [1, 2, 4, 8],
    "pp_size": [1, 2, 4, 5, 8, 10, 16],
    "cp_size": [1, 2, 4],
    "gradient_accumulation_steps": [1, 2, 4, 8, 16, 32, 64, 128],
    "activation_checkpointing": ["none", "selective", "full"],
    "interleaved_stages": [1, 2, 4, 5],
    "sequence_parallel": [False, True],
}


@pytest.mark.parametrize(
    "goal",
    [
        {"maximize": "tokens_per_second_per_accelerator"},
        pytest.param({"minimize": "step_time"}, marks=pytest.mark.long),
    ],
)
def test_bounds_beside_hidden_traffic_are_those_of_every_point(monkeypatch, goal):
    monkeypatch.setattr(module, "AT_ONCE", 0)
    bounds = DistributedModel().search(**HIDING, **FEW, **goal, method="bounds")
    monkeypatch.setattr(module, "AT_ONCE", math.inf)
    every = DistributedModel().search(**HIDING, **FEW, **goal)
    assert (bounds.certificate.method, every.certificate.method) == ("bounds", "enumeration")
    assert bounds.certificate.proven
    assert bounds.best.inputs == every.best.inputs
    assert bounds.best["step_time"] == every.best["step_time"]


@pytest.mark.long
def test_thirty_million_layouts_are_proven_before_every_point_is_looked_at():
    """A descent of several rounds takes more operations than all boxes, and with them more than streaming."""
    found = DistributedModel().search(**HIDING, **MANY, maximize="tokens_per_second_per_accelerator")
    assert found.certificate.points == 30_965_760
    assert found.certificate.method == "bounds"
    assert found.certificate.boxes < 25_000
