"""Serving capacity

Capacity of one replica: the KV cache that fits beside the weights sets the active batch, the batch sets the decode
step, and the step sets the requests per second. Latency adds the prefill of the prompt, and fixed overheads per request
and per layer.
"""

from __future__ import annotations

from sympy import ceiling, floor, oo

from mlsysim.symbolic import Example, Formula, Max, Min, Source, flop, request, token, when
from mlsysim.symbols.hardware import B_mem, F, M_cap, eta, tau_dispatch, tau_layer
from mlsysim.symbols.serving import (
    B_a,
    B_max,
    T_base,
    W_s,
    flops_prefill,
    itl,
    kv_request,
    kv_token,
    mu,
    n_out,
    page,
    s_pad,
    t_step,
    ttft,
)
from mlsysim.symbols.workload import L, P, h, q, s

TUTORIAL = Source("mlsysim_tutorial", "section 2")

served_weights = Formula(
    W_s,
    P * q,
    title="Weights one replica keeps in memory",
    source=Source("pope2023", "section 2"),
    variant="first_order",
    assumes="One accelerator per replica holds the whole model in one precision.",
    example=Example({P: 8.03e9, q: 2}, "16.06 GB", Source("mlsysim_tutorial", "section 1")),
)

padded_seq_len = Formula(
    s_pad,
    ceiling(s / page) * page,
    title="Sequence length in whole pages",
    source=Source("kwon2023", "section 4.1"),
    example=Example({s: 1000, page: 16}, "1008 token", derived="ceil(1000 / 16) * 16"),
)

kv_bytes_per_request = Formula(
    kv_request,
    kv_token * s_pad / request,
    title="KV cache of one request",
    source=Source("kwon2023", "section 3"),
    variant="first_order",
    assumes="Every request is charged its prompt; tokens generated later are not added.",
    example=Example(
        {kv_token: 819.2, s_pad: 2048}, "1.6 GiB/request", Source("kwon2023", "section 3: OPT-13B, printed as 1.6 GB")
    ),
)

active_batch_size = Formula(
    B_a,
    Max(0, Min(B_max, floor((M_cap - W_s) / kv_request))),
    title="Requests one replica decodes together",
    source=TUTORIAL,
    variant="one_tier",
    assumes="All memory beside the weights holds KV cache.",
    example=Example({B_max: 16, M_cap: 85.899345920, W_s: 16.06, kv_request: 0.134217728}, "16 request", TUTORIAL),
)

prefill_flops = Formula(
    flops_prefill,
    (2 * flop * P * (s / token) + 4 * flop * L * h * (s / token) ** 2) * (B_a / request),
    title="Arithmetic to prefill the active batch",
    source=Source("kaplan2020", "section 2.1"),
    variant="first_order",
    assumes="Two FLOPs per parameter and token, and attention over the full square: twice the causal "
    "attention term of the source. All parameters work, also where experts leave most of them idle: "
    "3.6 times too much for Mixtral 8x7B.",
    convention="All parameters count, embedding and logits too; the source counts those without embeddings.",
    example=Example(
        {P: 8.03e9, s: 1024, L: 32, h: 4096, B_a: 16},
        "271.92 TFLOP",
        derived="(2 * 8.03e9 * 1024 + 4 * 32 * 4096 * 1024**2) * 16 / 1e12",
    ),
)

time_to_first_token = Formula(
    ttft,
    when(B_a >= request, flops_prefill / (F * eta) + tau_dispatch, oo),
    title="Time to first token",
    source=TUTORIAL,
    variant="first_order",
    assumes="Prefill is bound by arithmetic and the whole active batch is prefilled at once. Infinite where "
    "not one request fits beside the weights.",
    example=Example(
        {B_a: 16, flops_prefill: 272, F: 989, eta: 0.35, tau_dispatch: 2},
        "787.79 ms",
        derived="272 / (989 * 0.35) * 1000 + 2",
    ),
)

decode_step_time = Formula(
    t_step,
    when(B_a >= request, (W_s + B_a * kv_request) / B_mem, oo),
    title="One decode step of the batch",
    source=Source("pope2023", "section 2"),
    variant="first_order",
    assumes="Bound by memory bandwidth: weights and KV cache are read once per step. Used for throughput. "
    "Infinite where not one request fits.",
    example=Example(
        {B_a: 16, W_s: 16, kv_request: 0.125, B_mem: 3600}, "5.000 ms", derived="(16 + 16 * 0.125) / 3600 * 1000"
    ),
)

inter_token_latency = Formula(
    itl,
    t_step + tau_layer * L,
    title="Inter-token latency",
    source=TUTORIAL,
    variant="first_order",
    assumes="A fixed time per layer on top of the step. Used for latency only.",
    example=Example({t_step: 5.4, tau_layer: 0.01, L: 32}, "5.720 ms", derived="5.4 + 0.01 * 32"),
)

request_rate = Formula(
    mu,
    when(B_a >= request, (B_a * token / t_step) / n_out, 0),
    title="Requests one replica completes per second",
    source=TUTORIAL,
    variant="first_order",
    assumes="Decoding alone occupies the replica. Prefill is left out, which overstates the rate: on the "
    "tutorial's deployment 46 QPS here against 14.2 QPS with prefill counted.",
    example=Example({B_a: 16, t_step: 5.435069754626866, n_out: 64}, "46.0 QPS", TUTORIAL),
)

base_latency = Formula(
    T_base,
    ttft + itl * (n_out / token),
    title="Latency of a request that does not queue",
    source=TUTORIAL,
    variant="first_order",
    example=Example({ttft: 786, itl: 5.72, n_out: 64}, "1152.08 ms", derived="786 + 5.72 * 64"),
)

FORMULAS = (
    served_weights,
    padded_seq_len,
    kv_bytes_per_request,
    active_batch_size,
    prefill_flops,
    time_to_first_token,
    decode_step_time,
    inter_token_latency,
    request_rate,
    base_latency,
)
