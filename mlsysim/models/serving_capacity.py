"""The model of serving capacity."""

from __future__ import annotations

from sympy import Eq

from mlsysim.catalog import Accelerator, TransformerWorkload
from mlsysim.formulas import (
    continuous_batching,
    economics,
    energy,
    mixer_times,
    mixers,
    number_formats,
    parameter_counts,
    queueing,
    serving_capacity,
    sources,
    transformer_flops,
)
from mlsysim.inputs.declaration import Better
from mlsysim.inputs.slot import Slot
from mlsysim.inputs.variant import Variant
from mlsysim.models.base import PerformanceModel
from mlsysim.models.energy import DEFAULTS, FOLLOWS, GRID, KEYWORDS, OF_DEVICE, OF_STACK, POWERED
from mlsysim.models.shape import (
    ANSWERS_AT_ONCE,
    ATTENDS,
    CHECKPOINT,
    CHECKPOINT_DEFAULTS,
    COUNTED_SERVED,
    DRIVEN,
    KIND_REQUIREMENTS,
    NO_SOURCES,
    NO_WINDOW,
    OPTIONAL_PASS_SHAPE,
    PASS_SHAPE,
    SOURCE_REQUIREMENTS,
    SOURCES,
    STATE,
    STATE_DEFAULTS,
    WINDOW,
    WINDOW_REQUIREMENTS,
    alike_caveats,
    prefill_caveats,
)
from mlsysim.models.stack import stack_slot
from mlsysim.symbolic import Mod, Requirement, System, swapped
from mlsysim.symbols.mixers import a, a_kv, d_rope, r_kv
from mlsysim.symbols.serving import cv
from mlsysim.symbols.workload import E, L, L_moe, P, d_e, h, k, s

FIRST_ORDER = System(
    (
        *number_formats.FIRST_ORDER,
        mixers.kv_bytes_by_width,
        *serving_capacity.FORMULAS,
        *queueing.FORMULAS,
        *economics.SERVED,
        energy.first_order_request,
        *energy.SERVED,
        energy.request_energy,
    )
)


class ServingCapacityModel(PerformanceModel):
    """How many replicas meet a latency target?

    Replicas a serving deployment needs for a rate of requests and a P99 latency.
    """

    command = "serve"
    example = {
        "model": "Llama3_8B",
        "hardware": "H100",
        "qps": 20,
        "target_p99_latency_ms": 2000,
        "seq_len": 1024,
        "output_tokens": 64,
        "max_batch_size": 16,
        "efficiency": 0.35,
    }
    answer = "required_replicas"
    better = Better("prefill_aware", decides="required_replicas", shows="required_replicas")
    variants = {
        "first_order": Variant(
            FIRST_ORDER,
            requirements=(Requirement(h, Eq(Mod(h, a), 0), "must be a multiple of {heads}"),),
            defaults={"efficiency": 0.5},
            about="The tutorial's form: decoding alone occupies a replica, and the P99 is the mean service plus the "
            "quantile of the wait. On the tutorial's deployment a replica serves 46 QPS by this form, 14.2 with "
            "prefill counted.",
        ),
        "prefill_aware": Variant(
            swapped(
                FIRST_ORDER,
                (
                    *number_formats.SERVING,
                    *mixers.WHOLE,
                    parameter_counts.ffn_parameters,
                    parameter_counts.embedding_width,
                    parameter_counts.expert_width,
                    parameter_counts.expert_parameters,
                    parameter_counts.shared_expert_parameters,
                    parameter_counts.router_parameters,
                    transformer_flops.scores,
                    *mixers.COMPUTED,
                    transformer_flops.routed_work,
                    transformer_flops.product_work,
                    transformer_flops.logit_work,
                    *mixers.DECODED,
                    *mixers.CACHED,
                    mixers.mixer_matrices,
                    *mixers.CROSSED,
                    *sources.OF_REQUEST,
                    *mixer_times.WHOLE,
                    *continuous_batching.FORMULAS,
                    energy.replica_request,
                ),
                dropped=("padded_seq_len", "bytes_per_element"),
            ),
            requirements=(
                *WINDOW_REQUIREMENTS,
                *KIND_REQUIREMENTS,
                *SOURCE_REQUIREMENTS,
                ANSWERS_AT_ONCE,
                ATTENDS,
                DRIVEN,
                Requirement(k, k <= E, "must be at most {experts}"),
                Requirement(L_moe, L_moe <= L, "must be at most {layers}"),
                Requirement(L_moe, Eq(L_moe, 0) | (E > 1), "must be 0 where {experts}"),
                Requirement(
                    P,
                    L_moe * E * parameter_counts.feed_forward(1, d_e, 0, parameter_counts.EXPERT_WIDTH) <= P,
                    "must hold the experts of {moe_layers} layers, {experts}, {expert_ffn_dim}",
                ),
                Requirement(cv, cv <= 2, "must be at most 2, beyond which the quantile is not held against anything"),
            ),
            defaults={"service_time_cv": 0.0},
            about="Measured to be right: prefill in the service time, both ceilings in prefill and decode, growing "
            "context, active experts, and the P99 of the whole stay. Capacity within 0.3% and P99 within 10% of a "
            "simulation on 44 of 45 settings. Requests are all alike unless service_time_cv says otherwise. "
            "Replicas of several accelerators, by the steps of a stack: ServingModel.",
        ),
    }
    slots = {
        "model": Slot(
            TransformerWorkload,
            ("parameters", *PASS_SHAPE, *WINDOW, *STATE, *CHECKPOINT, *SOURCES),
            counted=COUNTED_SERVED,
        ),
        "hardware": Slot(
            Accelerator,
            ("memory_capacity", "driver_memory", "memory_bandwidth", "peak_flops", *OF_DEVICE),
            extras=("attention_peak_flops", *POWERED),
        ),
        "stack": stack_slot(
            (
                "efficiency",
                "memory_efficiency",
                "kv_read_efficiency",
                "scan_efficiency",
                "scan_chunk_time",
                "dispatch_tax",
                "layer_tax",
                "gpu_memory_utilization",
                "kv_memory_fraction",
                "workspace_memory",
                "runtime_memory",
                "sampled_requests",
                "sampling_bytes",
                "expert_hidden_multiple",
                "expert_width_multiple",
                *OF_STACK,
            )
        ),
        **GRID,
    }
    keywords = {
        "qps": ...,
        "target_p99_latency_ms": ...,
        "seq_len": 2048,
        "output_tokens": 128,
        "max_batch_size": 32,
        "precision": "fp16",
        "weight_dtype": "as_precision",
        "compute_dtype": "as_precision",
        "kv_cache_dtype": "as_precision",
        "max_replicas": 1024,
        "service_time_cv": 1.0,
        "kv_page_size": 16,
        "attention_mask": "causal",
        "images": 0,
        "duration": 365,
        **KEYWORDS,
    }
    defaults = {
        "gated": False,
        "driver_memory": 0,
        **DEFAULTS,
        **OPTIONAL_PASS_SHAPE,
        **NO_WINDOW,
        **NO_SOURCES,
        **STATE_DEFAULTS,
        **CHECKPOINT_DEFAULTS,
    }
    follows = FOLLOWS
    requirements = (
        Requirement(a_kv, Eq(Mod(a, a_kv), 0), "must divide {heads}"),
        Requirement(d_rope, Eq(d_rope, 0) | (r_kv > 0), "must be 0 where {kv_lora_rank}"),
    )
    caveats = (*alike_caveats("first_order", "prefill_aware"), *prefill_caveats(s))
    common = ("precision", "max_replicas")
    headline = (
        "required_replicas",
        "qps_capacity",
        "utilization",
        "estimated_p99_latency",
        "base_request_latency",
        "queue_wait_p99",
        "ttft",
        "itl",
        "active_batch_size",
        "bottleneck",
        "feasible",
    )
