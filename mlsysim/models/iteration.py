"""The model of one iteration of an inference engine."""

from __future__ import annotations

from sympy import And, Eq

from mlsysim.catalog import Accelerator, Fabric, Fleet, Node, TransformerWorkload
from mlsysim.formulas import (
    continuous_batching,
    energy,
    iteration,
    mixers,
    prefix_cache,
    replica_layout,
    static_batches,
)
from mlsysim.inputs.declaration import Caveat, Room
from mlsysim.inputs.slot import Slot
from mlsysim.inputs.variant import Variant
from mlsysim.models.base import PerformanceModel
from mlsysim.models.energy import DEFAULTS, FOLLOWS, GRID, KEYWORDS, OF_DEVICE, OF_STACK, POWERED
from mlsysim.models.shape import (
    ATTENDS,
    BEYOND_NODE,
    CHECKPOINT,
    CHECKPOINT_DEFAULTS,
    COUNTED_SERVED,
    DECODES,
    DRIVEN,
    FABRIC,
    LATENT_ADAPTERS,
    LINKS,
    NO_SOURCES,
    NO_WINDOW,
    NODE,
    OPTIONAL_PASS_SHAPE,
    PASS_SHAPE,
    PLACED,
    SEGMENT,
    SHAPE_REQUIREMENTS,
    SHARED_KV_HEADS,
    SHARED_MIXERS,
    SOURCE_LAYOUT,
    SOURCE_REQUIREMENTS,
    SOURCES,
    STATE,
    STATE_DEFAULTS,
    UNCROSSED,
    WINDOW,
    WINDOW_REQUIREMENTS,
    divides,
    fills_nodes,
    prefill_caveats,
)
from mlsysim.models.stack import stack_slot
from mlsysim.symbolic import Mod, Requirement
from mlsysim.symbols.iteration import E_red, M_kv, d_a, n_dec, n_kv, n_pro
from mlsysim.symbols.layers import two
from mlsysim.symbols.lora import G_lo, K_lo, M_lo, N_lo
from mlsysim.symbols.mixers import a
from mlsysim.symbols.serving import n_out
from mlsysim.symbols.sources import bidirectional
from mlsysim.symbols.training import e, p, t
from mlsysim.symbols.workload import E, L, L_moe, d_e, d_ff, d_sh, s

_DEVICE = ("memory_bandwidth", "peak_flops", "attention_peak_flops", "memory_capacity", "driver_memory")
_HELD = (
    mixers.mixer_matrices,
    continuous_batching.stored_weights,
    continuous_batching.expert_padding,
    replica_layout.replica_weights,
    prefix_cache.given_share,
)
_PARTS = (
    "dense_product_time",
    "expert_product_time",
    "head_time",
    "activation_time",
    "decode_attention_time",
    "prefill_attention_time",
    "allreduce_time",
    "lora_time",
    "expert_exchange_time",
    "host_time",
    "iteration_bottleneck",
)
_POWER = ("device_power", "power_bottleneck", "energy_per_token")
#: Number formats of an engine.
FORMATS = {
    "precision": "bf16",
    "weight_dtype": "as_precision",
    "compute_dtype": "as_precision",
    "kv_cache_dtype": "as_precision",
}
#: What entries leave out of what an engine asks of them.
ENGINE_DEFAULTS = {
    "driver_memory": 0,
    **PLACED,
    **OPTIONAL_PASS_SHAPE,
    **NO_WINDOW,
    **NO_SOURCES,
    **STATE_DEFAULTS,
    **CHECKPOINT_DEFAULTS,
}
#: Adapters that requests ask for.
ADAPTERS = {
    "num_loras": 0,
    "lora_rank": 16,
    "lora_target_modules": "all_linear",
    "lora_zipf": 0.0,
    "max_loras": 0,
    "lora_layer_tax": 0.0,
}
#: What a reader must know where not all adapters are held, or their memory leaves none.
ADAPTER_CAVEATS = (
    Caveat(
        And(G_lo > 0, G_lo < N_lo, K_lo > 0),
        "{max_loras} of {num_loras} adapters are held at a time, and the requests of a step ask for {iteration_loras}: "
        "loading the others is left out, and so is the wait of requests for them",
    ),
    Caveat(
        And(M_lo > 0, M_kv <= 0),
        "adapters take {lora_memory}, and nothing is left for caches: max_loras says how many are held at a time",
    ),
)
ENGINE_CAVEATS = (*ADAPTER_CAVEATS, BEYOND_NODE)
#: How an engine stands on accelerators, and how its experts exchange.
LAYOUT = {
    "tp_size": 1,
    "pp_size": 1,
    "ep_size": 1,
    "dp_attention_size": 1,
    "two_batch_overlap": False,
    "num_redundant_experts": 0,
    "routing_imbalance_factor": 1.0,
    "node_limit": 0,
    "dispatch_dtype": "as_precision",
    "combine_dtype": "as_precision",
}


EFFECTIVE_WITH = {
    "expert_efficiency": "routed experts that take longer to compute than to read",
    "weight_only_expert_efficiency": "routed experts that are narrower than their products, and take longer to compute",
    "expert_popularity": "routed experts of which an iteration reads some",
    "moe_layer_tax": "routed experts",
    "mla_layer_tax": "latent attention",
    "index_layer_tax": "an indexer",
    "prompt_host_moe_time": "routed experts, and prompts that take less",
    "prompt_host_mla_time": "latent attention, and prompts that take less",
}


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
            (
                *iteration.operators(),
                prefix_cache.given_share,
                *iteration.ITERATION,
                energy.iterated_tokens,
                *energy.ITERATION,
            ),
            headline=("iteration_time", "iteration_tokens", *_PARTS, *_POWER),
            requirements=(
                Requirement(
                    n_dec, Eq(bidirectional, 0) | Eq(n_dec, 0), "must be 0 where {bidirectional}: none decodes"
                ),
            ),
            about="One pass. Decode steps of OPT-66B on two to eight A100 within a median of 3%, calibrated on OPT-13B "
            "alone (docs/validation.md).",
        ),
        "capped": Variant(
            (
                *iteration.operators(),
                prefix_cache.given_share,
                *iteration.ITERATION,
                *energy.ITERATION,
                energy.capped_time,
                energy.capped_tokens,
            ),
            headline=("capped_iteration_time", "clock_stretch", "iteration_time", *_POWER),
            about="The same under a power_limit below that of the device, which stretches arithmetic; energy per token "
            "is that of the longer time.",
        ),
        "saturated": Variant(
            (
                *iteration.operators(),
                *_HELD,
                *iteration.ITERATION,
                *iteration.SATURATED,
                energy.saturated_tokens,
                *energy.ITERATION,
            ),
            headline=(
                "output_tokens_per_second",
                "iteration_time",
                "decode_requests",
                "kv_cache_tokens",
                *_PARTS,
                *_POWER,
            ),
            requirements=(DECODES,),
            about="The batch is what the memory holds, and a prompt joins for every answer that ends: the throughput "
            "at an infinite rate of requests.",
        ),
        "static": Variant(
            (
                *iteration.operators(),
                *_HELD,
                *iteration.ITERATION,
                iteration.kv_memory,
                iteration.cache_tokens,
                iteration.held_tokens,
                iteration.saturated_context,
                *static_batches.FORMULAS,
                *energy.BATCH,
            ),
            headline=(
                "output_tokens_per_second",
                "ttft_mean",
                "tpot_mean",
                "e2e_mean",
                "iteration_time",
                "prefill_batch",
                "prefill_batch_time",
                "kv_cache_tokens",
                *_PARTS,
                *_POWER,
            ),
            requirements=(DECODES,),
            defaults={"decode_requests": 1.0},
            about="Requests that come together: prompts are prefilled together up to the token budget, then all decode "
            "to the end, as in tables of fixed batches and lengths.",
        ),
    }
    uncrossed = UNCROSSED
    follows = FOLLOWS
    slots = {
        "model": Slot(
            TransformerWorkload,
            ("parameters", *PASS_SHAPE, *WINDOW, *STATE, *CHECKPOINT, *SOURCES),
            counted=COUNTED_SERVED,
        ),
        "hardware": Slot(
            Accelerator,
            (*_DEVICE, *LINKS, *OF_DEVICE),
            extras=POWERED,
        ),
        "node": Slot(Node, (*_DEVICE, *LINKS, *NODE, *OF_DEVICE), extras=POWERED),
        "fleet": Slot(Fleet, (*_DEVICE, *LINKS, *NODE, *FABRIC, *OF_DEVICE), extras=POWERED),
        "fabric": Slot(Fabric, FABRIC, default="InfiniBand_NDR"),
        "stack": stack_slot(
            (
                "efficiency",
                "expert_efficiency",
                "weight_only_expert_efficiency",
                "memory_efficiency",
                "expert_popularity",
                "weight_read_efficiency",
                "prefill_attention_efficiency",
                "kv_read_efficiency",
                "scan_efficiency",
                "scan_chunk_time",
                "link_efficiency",
                "fabric_efficiency",
                "exchange_link_efficiency",
                "exchange_latency",
                "collective_latency",
                "node_latency",
                "switch_latency",
                "layer_tax",
                "moe_layer_tax",
                "mla_layer_tax",
                "index_layer_tax",
                "host_layer_time",
                "prompt_host_layer_time",
                "prompt_host_mla_time",
                "prompt_host_moe_time",
                "iteration_overhead",
                "worker_overhead",
                "sequence_overhead",
                "gpu_memory_utilization",
                "kv_memory_fraction",
                "workspace_memory",
                "runtime_memory",
                "communication_memory",
                "sampled_requests",
                "sampling_bytes",
                "expert_hidden_multiple",
                "expert_width_multiple",
                "busy_bandwidth_share",
                "busy_peak_share",
                "kernel_gap",
                *OF_STACK,
            )
        ),
        **GRID,
    }
    common = ("pp_size", "ep_size", "prompts", "seq_len")
    keywords = {
        **FORMATS,
        **LAYOUT,
        "decode_requests": 0.0,
        "context_tokens": 0.0,
        "prompts": 0.0,
        "seq_len": 2048,
        "prefix_hit_rate": 0.0,
        "num_speculative_tokens": 0,
        **ADAPTERS,
        "output_tokens": 128,
        "max_batch_size": 4096,
        "max_num_batched_tokens": 8192,
        "sent_one_by_one": False,
        "attention_mask": "causal",
        "congestion_factor": 1.0,
        "images": 0,
        "measured_iteration_time": 0.0,
        "measured_busy_share": 0.0,
        "duration": 1,
        **KEYWORDS,
    }
    defaults = {**ENGINE_DEFAULTS, **DEFAULTS}
    room = (
        Room(
            "kv_cache_tokens",
            ("tp_size", "pp_size"),
            "dp_attention_size",
            "accelerators_per_node",
            "a cache",
            variant="saturated",
        ),
    )
    effective_with = EFFECTIVE_WITH
    caveats = (
        *ENGINE_CAVEATS,
        *prefill_caveats(s, n_pro > 0),
        Caveat(
            n_dec * (s + n_out) > n_kv,
            "{decode_requests} of {seq_len} and {output_tokens} do not fit into {kv_cache_tokens}, for which there is "
            "room: they would wait for each other, which is left out",
            ("static",),
        ),
    )
    requirements = (
        divides(t, a),
        divides(t, d_ff),
        divides(t, d_e),
        divides(t, d_sh),
        DRIVEN,
        SHARED_KV_HEADS,
        *SHARED_MIXERS,
        ATTENDS,
        Requirement(p, p <= L, "must be at most {layers}"),
        Requirement(
            e,
            Eq(Mod(t * d_a, e), 0) & (Eq(Mod(t, e), 0) | Eq(Mod(e, t), 0)),
            "must divide {tp_size} times {dp_attention_size}, and {tp_size} or be a multiple of it",
        ),
        Requirement(e, Eq(Mod(E + E_red, e), 0), "must divide {experts} and {num_redundant_experts} together"),
        SEGMENT,
        *fills_nodes(e, e),
        Requirement(E_red, Eq(E_red, 0) | (L_moe > 0), "must be 0 where {moe_layers}"),
        Requirement(E_red, E_red <= E, "must be at most {experts}"),
        Requirement(
            two,
            Eq(two, 0) | ((e > t) & (d_a > 1)),
            "must be False where no experts are exchanged ({ep_size} over {tp_size}, {dp_attention_size})",
        ),
        *fills_nodes(t, t),
        LATENT_ADAPTERS,
        *SHAPE_REQUIREMENTS,
        *WINDOW_REQUIREMENTS,
        *SOURCE_REQUIREMENTS,
        *SOURCE_LAYOUT,
    )
