"""Seconds of a search against the size of its grid, for every model."""

from __future__ import annotations

import json
import math
import time

import numpy as np
import pytest
from benchmarks.test_search import said_of

from mlsysim import ServingCapacityModel
from mlsysim.models import every_model

#: Sizes of the grids, and seconds after which a search answers with a gap.
SIZES, LIMIT = (1e4, 1e6, 1e8, 1e10, 1e12), 3
DENSE = {"model": "Llama3_70B", "hardware": "H100"}
EXPERTS = {"model": "Mixtral_8x7B", "hardware": "H100", "precision": "bf16"}
NETWORK = {"fabric_bandwidth": "50 GB/s", "fabric_latency": "10 us"}
TRAINED = {
    "tp_size": [1, 2, 4, 8],
    "zero_stage": [0, 1, 2, 3],
    "activation_checkpointing": ["none", "selective", "full"],
    "pp_size": range(1, 33),
    "gradient_accumulation_steps": range(1, 257),
    "batch_size": range(16, 8193, 16),
    "seq_len": range(1024, 32769, 1024),
}
FLEETS = {**TRAINED, "fleet_size": range(8, 4097, 8)}
SHARES = np.round(np.arange(0.3, 0.9, 0.005), 3).tolist()
FITS = ("total_memory <= 0.9 * memory_capacity", "batch_size >= 64")
#: Model: its variant, what is given, the axes at their longest, and what is asked for.
QUESTIONS = {
    "ParameterCountModel": ("counted", {"model": "DeepSeek_V3"}, {
        "layers": range(4, 260), "hidden_dim": range(1024, 17408, 128), "heads": [8, 16, 32, 64, 128],
        "experts": range(8, 520), "expert_ffn_dim": range(256, 8448, 64), "vocab_size": range(32768, 163840, 1024),
    }, {"maximize": "parameters", "subject_to": "active_parameters <= 4e10"}),
    "TrainingMemoryModel": ("per_operator", DENSE, {**TRAINED, "dp_size": range(1, 513)}, {
        "minimize": "tp_size * pp_size * dp_size", "subject_to": (*FITS, "batch_size * seq_len >= 4194304")}),
    "DistributedModel": ("per_operator", {**DENSE, **NETWORK}, FLEETS, {"minimize": "step_time", "subject_to": FITS}),
    "EconomicsModel": ("rented_training", {**DENSE, **NETWORK, "rental_price": 2, "tdp": 700}, FLEETS, {
        "minimize": "cost_per_token", "subject_to": FITS}),
    "ExpertParallelModel": ("fsdp", {**EXPERTS, "zero_stage": 3, **NETWORK}, {
        "ep_size": [1, 2, 4, 8], "tp_size": [1, 2, 4, 8], "cp_size": [1, 2, 4, 8],
        "gradient_accumulation_steps": range(1, 129), "batch_size": range(16, 8193, 16),
        "seq_len": range(128, 65537, 128), "fleet_size": range(8, 4097, 8),
    }, {"maximize": "tokens_per_second_per_accelerator", "subject_to": FITS}),
    "MemoryExpansionModel": ("by_policy", {"model": "DeepSpeedMoE_24B_MoE_128", "design": "GH200"}, {
        "policy": ["conservative", "aggressive"], "batch_size": range(1, 4097), "seq_len": range(64, 65537, 64),
        "tp_size": [1, 2, 4, 8], "prefetch_fraction": np.round(np.arange(0, 1, 0.004), 3).tolist(),
        "efficiency": SHARES,
    }, {"maximize": "tokens_per_second_per_accelerator", "subject_to": "feasible"}),
    "MoERoutingModel": ("per_layer", {"model": "DeepSeek_V3", "fleet": "Research_256"}, {
        "ep_size": [1, 2, 4, 8, 16, 32], "batch_size": range(1, 8193), "seq_len": range(64, 65537, 64),
        "routing_imbalance_factor": np.round(np.arange(1, 4, 0.003), 3).tolist(),
        "congestion_factor": np.round(np.arange(1, 4, 0.003), 3).tolist(),
    }, {"minimize": "all_to_all_latency", "subject_to": "batch_size * seq_len >= 4096"}),
    "ServingCapacityModel": ("first_order", {"model": "Llama3_8B", "target_p99_latency_ms": 4000}, {
        "hardware": ["H100", "H200", "A100"], "qps": range(1, 513), "max_batch_size": range(1, 257),
        "seq_len": range(64, 8193, 16), "output_tokens": range(16, 4097, 16), "efficiency": SHARES,
    }, {"maximize": "qps / required_replicas", "subject_to": ("feasible", "output_tokens >= 64")}),
    "IterationModel": ("iteration", EXPERTS, {
        "tp_size": [1, 2, 4, 8], "decode_requests": range(1, 513), "context_tokens": range(64, 65537, 64),
        "prompts": range(1, 65), "seq_len": range(16, 65537, 16), "efficiency": SHARES,
    }, {"maximize": "decode_requests / iteration_time", "subject_to": "iteration_time <= 40 ms"}),
    "ServingModel": ("colocated", {"model": "Mixtral_8x7B", "hardware": "H100", "ttft_slo": 500, "tpot_slo": 40,
                                   "rental_price": 2, "tdp": 700}, {
        "tp_size": [2, 4, 8], "request_rate": range(1, 513), "isl": range(64, 8193, 64), "osl": range(16, 4097, 16),
        "max_num_seqs": range(1, 257), "num_replicas": range(1, 257),
    }, {"minimize": "cost_per_token", "subject_to": "feasible"}),
    "KernelModel": ("waves", {"hardware": "H100"}, {
        "product_rows": range(16, 65537, 16), "product_columns": range(16, 65537, 16),
        "product_inner": range(16, 65537, 16), "efficiency": SHARES,
    }, {"maximize": "kernel_rate"}),
    "CollectiveModel": ("all_reduce", {"fleet": "SuperPOD_H100"}, {
        "collective_ranks": range(8, 257, 8), "message_bytes": range(1 << 20, 1 << 30, 1 << 18),
        "node_bandwidth": [f"{n} GB/s" for n in range(100, 900)],
        "fabric_bandwidth": [f"{n} GB/s" for n in range(10, 410)],
        "link_efficiency": SHARES,
    }, {"minimize": "collective_time", "subject_to": "message_bytes >= 64 MiB"}),
}  # fmt: skip


def thinned(axes, points):
    """Values of every axis from its first to its last, about so many points together, by one power of its length."""

    def lengths(power):
        return [min(len(values), max(2, round(len(values) ** power))) for values in axes.values()]

    least, most = 0.0, 1.0
    for _ in range(40):
        power = (least + most) / 2
        least, most = (power, most) if math.prod(lengths(power)) < points else (least, power)
    return {
        name: [values[round(place)] for place in np.linspace(0, len(values) - 1, n)]
        for (name, values), n in zip(axes.items(), lengths(most), strict=True)
    }


def test_every_model_has_a_question():
    assert {model.__name__ for model in every_model()} == QUESTIONS.keys()


def test_serving_deployments(benchmark, against):
    """As many as were unproven after 15 s once."""
    variant, given, axes, asked = QUESTIONS["ServingCapacityModel"]
    taken, points = [], thinned(axes, 2.6e10)

    def once():
        start = time.perf_counter()
        found = ServingCapacityModel(variant).search(**given, **points, **asked)
        taken.append((time.perf_counter() - start, found.certificate))

    benchmark.pedantic(once, rounds=3, warmup_rounds=1)
    seconds, (certificate, *_) = zip(*taken, strict=True)
    against(f"warm search of {certificate.points:.1e} serving deployments ({said_of(certificate)})", 5.0, seconds)


@pytest.mark.parametrize("name", QUESTIONS)
def test_time_against_size(benchmark, name):
    variant, given, axes, asked = QUESTIONS[name]
    model = next(each for each in every_model() if each.__name__ == name)(variant)
    rows = []

    def once():
        model.search(**given, **thinned(axes, 1e3), **asked)
        for points in SIZES:
            start = time.perf_counter()
            certificate = model.search(**given, **thinned(axes, points), **asked, time_limit=LIMIT).certificate
            taken = time.perf_counter() - start
            rows.append({"points": certificate.points, "seconds": taken, "proven": certificate.proven})

    benchmark.pedantic(once, rounds=1)
    benchmark.extra_info.update(every_model=json.dumps({"model": name, "limit": LIMIT, "rows": rows}))
