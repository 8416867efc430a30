"""Serving from two tiers

A replica that keeps part of its weights, or of its KV caches, in a remote tier and reads them from there in
every decode step. Local and remote reading take turns, computing runs beside both, so that with all weights
remote and a large batch a step is the weights over the remote bandwidth: ZeRO-Inference. With nothing remote
it is the plain replica, formula by formula.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from sympy import Integer, Piecewise, floor

from mlsysim.formulas import continuous_batching as plain
from mlsysim.symbolic import Example, Formula, Min, Source
from mlsysim.symbolic.exchange import exchanged
from mlsysim.symbols.hardware import B_mem, M_cap
from mlsysim.symbols.iteration import M_kv, M_work, eta_kv, f_kv, u_gpu
from mlsysim.symbols.offload import (
    B_far,
    B_kv,
    B_near,
    B_rem,
    B_w,
    M_far,
    M_far_need,
    M_near_need,
    W_rem,
    kv_rem,
    n_share,
    omega_kv,
    omega_w,
    unified,
)
from mlsysim.symbols.serving import B_a, B_max, W_s, kv_request
from mlsysim.symbols.step import eta_mem

INFERENCE = Source("aminabadi2022", "section 6")
NAME = "two_tiers"


def _read_at(share: Any, reached: Any) -> Any:
    """Bandwidth of reading with this share remote; what is reached of the local memory where there is none."""
    local = reached * B_mem
    return local / (1 - share + share * n_share * local / B_far)


weights_bandwidth = Formula(
    B_w,
    _read_at(omega_w, eta_mem),
    title="Reading weights from two tiers",
    source=INFERENCE,
    assumes="One tier after the other.",
    example=Example(
        {omega_w: 0.5, eta_mem: 1, B_mem: 2000, n_share: 1, B_far: 50},
        "97.561 GB/s",
        derived="1 / (0.5 / 2000 + 0.5 / 50)",
    ),
)

kv_bandwidth = Formula(
    B_kv,
    _read_at(omega_kv, eta_kv),
    title="Reading KV caches from two tiers",
    source=Source("aminabadi2022", "section 4"),
    assumes="One tier after the other.",
    example=Example(
        {omega_kv: 0.25, eta_kv: 1, B_mem: 2000, n_share: 2, B_far: 50},
        "96.386 GB/s",
        derived="1 / (0.75 / 2000 + 0.25 * 2 / 50)",
    ),
)


def _room(left: Any, cache: Any) -> Any:
    """Requests whose part of the cache fits in what weights leave of a tier, up to those asked for."""
    return Piecewise((0, left < 0), (B_max, cache * B_max <= left), (floor(left / cache), True))


remote_weights = Formula(
    W_rem,
    (1 - unified) * omega_w * W_s,
    title="Weights kept apart in a remote tier",
    source=INFERENCE,
    assumes="Nothing is apart where both tiers are one memory.",
    example=Example({unified: 0, omega_w: 0.5, W_s: 40}, "20 GB", derived="0.5 * 40"),
)

remote_cache = Formula(
    kv_rem,
    (1 - unified) * omega_kv * kv_request,
    title="Cache of one request kept apart in a remote tier",
    source=INFERENCE,
    example=Example({unified: 0, omega_kv: 0.5, kv_request: 0.9}, "0.45 GB/request", derived="0.5 * 0.9"),
)

kv_memory = Formula(
    M_kv,
    plain.cache_memory(W_s - W_rem),
    title="Local memory for keys and values",
    source=INFERENCE,
    variant=NAME,
    assumes="All memory beside the weights of a tier holds KV cache; the layer at work is not counted apart.",
    example=Example({f_kv: 1, u_gpu: 1, M_cap: 32, M_work: 0, W_s: 40, W_rem: 20}, "12 GB", derived="32 - (40 - 20)"),
)

local_batch = Formula(
    B_near,
    _room(M_kv, kv_request - kv_rem),
    title="Requests the local memory has room for",
    source=INFERENCE,
    example=Example(
        {B_max: 64, M_kv: 12, kv_request: 0.9, kv_rem: 0.45},
        "26 request",
        derived="min(64, floor(12 / 0.45))",
    ),
)

remote_batch = Formula(
    B_rem,
    _room(M_far - W_rem, kv_rem),
    title="Requests the remote memory has room for",
    source=INFERENCE,
    example=Example(
        {B_max: 1024, M_far: 256, W_rem: 20, kv_rem: 0.45},
        "524 request",
        derived="min(1024, floor((256 - 20) / 0.45))",
    ),
)

active_batch_size = Formula(
    B_a,
    Min(B_near, B_rem),
    title="Requests one replica decodes together, caches in two tiers",
    source=INFERENCE,
    variant=NAME,
    example=Example({B_near: 26, B_rem: 64}, "26 request", derived="min(26, 64)"),
)


def _tiered(formula: Formula, bandwidth: Any) -> Formula:
    """A formula of the plain replica that reads from both tiers; its example is worked at that bandwidth."""
    reached = dict.fromkeys((eta_mem, eta_kv), Integer(1))
    inputs = dict(formula.example.inputs) if formula.example else {}
    share = math.prod(inputs.pop(each, 1) for each in reached)
    if B_mem in inputs:
        inputs[bandwidth] = inputs.pop(B_mem) * share
    return replace(
        formula,
        expression=exchanged(formula.expression, {B_mem: bandwidth, **reached}),
        title=f"{formula.title}, from two tiers",
        variant=NAME,
        example=formula.example and replace(formula.example, inputs=inputs),
    )


prefill_time = _tiered(plain.prefill_time, B_w)
step_weights_time = _tiered(plain.step_weights_time, B_w)
step_kv_time = _tiered(plain.step_kv_time, B_kv)
base_latency = _tiered(plain.base_latency, B_w)
required_replicas = _tiered(plain.required_replicas, B_w)
first_batch_estimate = _tiered(plain.first_batch_estimate, B_w)
second_batch_estimate = _tiered(plain.second_batch_estimate, B_w)
mean_batch = _tiered(plain.mean_batch, B_w)
step_experts_time = _tiered(plain.step_experts_time, B_w)
weights_at_load = _tiered(plain.weights_at_load, B_w)

_caches = B_a * kv_request

local_memory = Formula(
    M_near_need,
    (1 - omega_w) * W_s + (1 - omega_kv) * _caches,
    title="Local memory of a replica",
    source=INFERENCE,
    variant=NAME,
    example=Example(
        {omega_w: 0.5, W_s: 40, omega_kv: 0.25, B_a: 26, kv_request: 0.9},
        "37.55 GB",
        derived="0.5 * 40 + 0.75 * 26 * 0.9",
    ),
)

remote_memory = Formula(
    M_far_need,
    omega_w * W_s + omega_kv * _caches,
    title="Remote memory of a replica",
    source=INFERENCE,
    variant=NAME,
    example=Example(
        {omega_w: 0.5, W_s: 40, omega_kv: 0.25, B_a: 26, kv_request: 0.9},
        "25.85 GB",
        derived="0.5 * 40 + 0.25 * 26 * 0.9",
    ),
)

FORMULAS = (
    weights_bandwidth,
    kv_bandwidth,
    remote_weights,
    remote_cache,
    kv_memory,
    local_batch,
    remote_batch,
    active_batch_size,
    prefill_time,
    step_weights_time,
    step_kv_time,
    base_latency,
    required_replicas,
    first_batch_estimate,
    second_batch_estimate,
    mean_batch,
    step_experts_time,
    weights_at_load,
    local_memory,
    remote_memory,
)
