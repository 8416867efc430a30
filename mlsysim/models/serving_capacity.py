"""How many replicas hold a latency target?"""

from __future__ import annotations

from sympy import Eq, Mod

from mlsysim.catalog import Accelerator, TransformerWorkload
from mlsysim.formulas import number_formats, queueing, serving_capacity
from mlsysim.models.base import PerformanceModel
from mlsysim.models.binding import Slot
from mlsysim.symbolic import Requirement
from mlsysim.symbols.workload import a, a_kv, d_rope, h, r_kv


class ServingCapacityModel(PerformanceModel):
    """Replicas a serving deployment needs for a rate of requests and a P99 latency."""

    variants = {"first_order": number_formats.FORMULAS + serving_capacity.FORMULAS + queueing.FORMULAS}
    slots = {
        "model": Slot(
            TransformerWorkload,
            ("parameters", "layers", "hidden_dim", "heads", "kv_heads", "kv_lora_rank", "qk_rope_head_dim"),
        ),
        "hardware": Slot(Accelerator, ("memory_capacity", "memory_bandwidth", "peak_flops")),
    }
    keywords = (
        "qps",
        "target_p99_latency_ms",
        "seq_len",
        "output_tokens",
        "max_batch_size",
        "precision",
        "efficiency",
        "max_replicas",
        "service_time_cv",
        "kv_page_size",
        "dispatch_tax",
        "layer_tax",
    )
    defaults = {
        "seq_len": 2048,
        "output_tokens": 128,
        "max_batch_size": 32,
        "precision": "fp16",
        "efficiency": 0.5,
        "max_replicas": 1024,
        "service_time_cv": 1.0,
        "kv_page_size": 16,
        "dispatch_tax": 0.01,
        "layer_tax": 0.01,
        "kv_lora_rank": 0,
        "qk_rope_head_dim": 0,
    }
    requirements = (
        Requirement(a_kv, Eq(Mod(a, a_kv), 0), "must divide {heads}"),
        Requirement(h, Eq(Mod(h, a), 0), "must be a multiple of {heads}"),
        Requirement(d_rope, Eq(d_rope, 0) | (r_kv > 0), "must be 0 where {kv_lora_rank}"),
    )
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
