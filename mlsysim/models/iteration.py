"""The model of one iteration of an inference engine."""

from __future__ import annotations

from sympy import Eq

from mlsysim.catalog import Accelerator, Fabric, Fleet, Node, TransformerWorkload
from mlsysim.formulas import (
    collectives,
    continuous_batching,
    iteration,
    number_formats,
    parameter_counts,
    rank_groups,
    rank_parameters,
    transformer_flops,
)
from mlsysim.inputs.slot import Slot
from mlsysim.inputs.variant import Variant
from mlsysim.models.base import PerformanceModel
from mlsysim.models.shape import (
    COUNTED,
    NO_WINDOW,
    OPTIONAL_PASS_SHAPE,
    PASS_SHAPE,
    SHAPE_REQUIREMENTS,
    SHARED_KV_HEADS,
    WINDOW,
    WINDOW_REQUIREMENTS,
    divides,
)
from mlsysim.models.stack import stack_slot
from mlsysim.symbolic import Mod, Requirement
from mlsysim.symbols.hardware import n_node
from mlsysim.symbols.training import t
from mlsysim.symbols.workload import a, d_e, d_ff, d_sh

#: An all-reduce among tensor-parallel ranks, its message given.
_ALL_REDUCE = tuple(
    formula.only(("tp",))
    for formula in (
        rank_groups.stride,
        rank_groups.ranks_per_node,
        rank_groups.group_links,
        rank_groups.ring_bandwidth,
        rank_groups.ring_latency,
        rank_groups.chunk_start,
        rank_groups.ring_reduction,
        rank_groups.tree_reduction,
        rank_groups.switch_reduction,
        rank_groups.all_reduce_time,
    )
)
#: What the operators of a pass are counted by.
_OPERATORS = (
    *number_formats.SERVING,
    parameter_counts.attention_parameters,
    parameter_counts.ffn_parameters,
    parameter_counts.expert_parameters,
    parameter_counts.shared_expert_parameters,
    parameter_counts.router_parameters,
    rank_parameters.kv_heads_per_rank,
    rank_parameters.attention_parameters_per_rank,
    rank_parameters.ffn_parameters_per_rank,
    rank_parameters.shared_parameters_per_rank,
    transformer_flops.attention_work,
    transformer_flops.scores,
    transformer_flops.window_reach,
    transformer_flops.score_work,
    continuous_batching.kv_bytes_per_token,
    *collectives.REACHED,
    *_ALL_REDUCE,
)
_DEVICE = ("memory_bandwidth", "peak_flops", "attention_peak_flops", "memory_capacity")
_LINKS = ("node_bandwidth", "switch_reduces", "direct_mesh")
_FABRIC = ("fabric_bandwidth", "fabric_latency", "oversubscription", "accelerators_per_pod")
_PARTS = (
    "dense_product_time",
    "expert_product_time",
    "head_time",
    "activation_time",
    "decode_attention_time",
    "prefill_attention_time",
    "allreduce_time",
    "host_time",
    "iteration_bottleneck",
)


class IterationModel(PerformanceModel):
    """How long does one iteration of an inference engine take?

    A forward pass over prompts and decoding requests, operator by operator, on one or several accelerators;
    and the throughput of an engine that never runs out of requests.
    """

    command = "iterate"
    example = {
        "model": "Llama3_1_70B",
        "hardware": "H100",
        "stack": "TensorRT_LLM_H100",
        "precision": "w8a8",
        "tp_size": 2,
        "decode_requests": 50,
        "context_tokens": 5250,
    }
    answer = "iteration_time"
    variants = {
        "iteration": Variant(
            (*_OPERATORS, *iteration.ITERATION),
            headline=("iteration_time", "iteration_tokens", *_PARTS),
            about="One pass. Decode steps of OPT-66B on two to eight A100 within a median of 3%, calibrated on OPT-13B "
            "alone (docs/validation.md).",
        ),
        "saturated": Variant(
            (
                *_OPERATORS,
                continuous_batching.stored_weights,
                *iteration.ITERATION,
                *iteration.SATURATED,
            ),
            headline=(
                "output_tokens_per_second",
                "iteration_time",
                "decode_requests",
                "kv_cache_tokens",
                *_PARTS,
            ),
            about="The batch is what the memory holds, and a prompt joins for every answer that ends: the throughput "
            "at an infinite rate of requests.",
        ),
    }
    slots = {
        "model": Slot(
            TransformerWorkload,
            ("parameters", *PASS_SHAPE, *WINDOW),
            counted=COUNTED,
        ),
        "hardware": Slot(
            Accelerator,
            (*_DEVICE, *_LINKS),
        ),
        "node": Slot(Node, (*_DEVICE, *_LINKS, "accelerators_per_node")),
        "fleet": Slot(Fleet, (*_DEVICE, *_LINKS, "accelerators_per_node", *_FABRIC)),
        "fabric": Slot(Fabric, _FABRIC, default="InfiniBand_NDR"),
        "stack": stack_slot(
            (
                "efficiency",
                "memory_efficiency",
                "prefill_attention_efficiency",
                "kv_read_efficiency",
                "link_efficiency",
                "fabric_efficiency",
                "collective_latency",
                "node_latency",
                "switch_latency",
                "layer_tax",
                "host_layer_time",
                "iteration_overhead",
                "worker_overhead",
                "sequence_overhead",
                "gpu_memory_utilization",
                "kv_memory_fraction",
                "workspace_memory",
            )
        ),
    }
    keywords = (
        "precision",
        "weight_dtype",
        "compute_dtype",
        "kv_cache_dtype",
        "tp_size",
        "decode_requests",
        "context_tokens",
        "prompts",
        "seq_len",
        "output_tokens",
        "max_batch_size",
        "attention_mask",
        "congestion_factor",
    )
    defaults = {
        "precision": "bf16",
        "weight_dtype": "as_precision",
        "compute_dtype": "as_precision",
        "kv_cache_dtype": "as_precision",
        "tp_size": 1,
        "decode_requests": 0.0,
        "context_tokens": 0.0,
        "prompts": 0.0,
        "seq_len": 2048,
        "output_tokens": 128,
        "max_batch_size": 4096,
        "attention_mask": "causal",
        "congestion_factor": 1.0,
        "accelerators_per_node": 8,
        "accelerators_per_pod": 0,
        "switch_reduces": 0.0,
        "direct_mesh": 0,
        **OPTIONAL_PASS_SHAPE,
        **NO_WINDOW,
    }
    requirements = (
        divides(t, a),
        divides(t, d_ff),
        divides(t, d_e),
        divides(t, d_sh),
        SHARED_KV_HEADS,
        Requirement(
            t, (t <= n_node) | Eq(Mod(t, n_node), 0), "must be at most {accelerators_per_node} or a multiple of it"
        ),
        *SHAPE_REQUIREMENTS,
        *WINDOW_REQUIREMENTS,
    )
