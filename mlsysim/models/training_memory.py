"""The model of training memory."""

from __future__ import annotations

from typing import Any

from sympy import And, Eq, Ne, ceiling

from mlsysim.catalog import Accelerator, TransformerWorkload
from mlsysim.formulas import (
    activations,
    mixers,
    number_formats,
    training_memory,
)
from mlsysim.formulas.rank_parameters import DUALPIPE, expert_tensor_ranks
from mlsysim.formulas.trained_parameters import FULL
from mlsysim.inputs.declaration import Better, Caveat
from mlsysim.inputs.slot import Slot
from mlsysim.inputs.variant import Variant
from mlsysim.models.base import PerformanceModel
from mlsysim.models.recipe import RECIPE
from mlsysim.models.shape import (
    COUNTED,
    DRIVEN,
    LATENT_ADAPTERS,
    OPTIONAL_SHAPE,
    SAVED,
    SAVED_DEFAULTS,
    SHAPE,
    SHAPE_REQUIREMENTS,
    SHARED_KV_HEADS,
    SHARED_MIXERS,
    TEXT_ALONE,
    divides,
)
from mlsysim.models.stack import MEMORY, stack_slot
from mlsysim.optimizers import OPTIMIZERS
from mlsysim.symbolic import Max, Min, Mod, Requirement, System, label, swapped
from mlsysim.symbols.activations import L_first, L_last, k_def, peak_rank, schedule, selective_policy, v_chunks
from mlsysim.symbols.formats import q_w
from mlsysim.symbols.layers import two
from mlsysim.symbols.mixers import L_c, L_st, a, r_kv
from mlsysim.symbols.routing import c_f, pad
from mlsysim.symbols.training import (
    M_ctx,
    c_cp,
    checkpointing,
    d,
    e,
    f,
    g,
    optimizer,
    optimizer_in_backward,
    p,
    r_dp,
    t,
    t_e,
)
from mlsysim.symbols.workload import E, L, L_moe, P_re, d_e, d_ff, d_sh, gated, k

FIRST_ORDER = System(number_formats.FIRST_ORDER + training_memory.FIRST_ORDER)


KORTHIKANTI = swapped(
    FIRST_ORDER,
    (
        *number_formats.KEPT,
        mixers.attention_layers,
        mixers.unbounded_attention_layers,
        mixers.near_heads,
        mixers.heads_per_rank,
        *activations.KORTHIKANTI_FORMULAS,
        *training_memory.STORED,
    ),
    dropped=("activation_bytes", "bytes_per_element"),
)

CHUNK_REQUIREMENTS = (
    Requirement(
        v_chunks, v_chunks <= ceiling(L / p), "must be at most the layers of a stage ({layers} over {pp_size})"
    ),
    Requirement(v_chunks, Eq(v_chunks, 1) | (p > 1), "must be 1 where {pp_size}"),
    Requirement(v_chunks, Eq(v_chunks, 1) | Eq(schedule, label(schedule, "1f1b")), "must be 1 but with 1F1B"),
    Requirement(p, ~DUALPIPE | (Eq(Mod(p, 2), 0)), "must be even with DualPipe"),
    Requirement(
        g, ~DUALPIPE | (Eq(Mod(g, 2), 0) & (g >= 2 * p)), "must be even, and at least twice {pp_size} with DualPipe"
    ),
)
#: Ends of a pipeline that have other numbers of layers than the stages between.
END_REQUIREMENTS = (
    Requirement(L_first, Eq(L_first, 0) | (p > 1), "must be 0 without a pipeline ({pp_size})"),
    Requirement(L_last, Eq(L_last, 0) | (p > 1), "must be 0 without a pipeline ({pp_size})"),
    Requirement(
        L_first,
        L - L_first - L_last >= p - Min(1, L_first) - Min(1, L_last),
        "and {layers_last_stage} must leave layers of {layers} to the other stages ({pp_size})",
    ),
    Requirement(
        L_first,
        Ne(p, 2) | Eq(L_first, 0) | Eq(L_last, 0) | Eq(L_first + L_last, L),
        "and {layers_last_stage} must be all {layers} where {pp_size}",
    ),
    Requirement(k_def, Eq(k_def, 0) | (p > 1), "must be 0 without a pipeline ({pp_size})"),
    Requirement(
        peak_rank,
        ~DUALPIPE | Eq(peak_rank, label(peak_rank, "fullest")),
        "must be fullest with DualPipe, whose ranks hold two stages",
    ),
)
#: Contexts leave something.
CONTEXTS = Requirement(
    M_ctx,
    M_ctx < training_memory.DRIVER_MEMORY,
    "must be less than what the driver gives ({driver_memory}; 0: {memory_capacity})",
)
#: Sums of micro-batches need every gradient until the last one.
UPDATED_AT_ONCE = Requirement(
    optimizer_in_backward,
    Eq(optimizer_in_backward, 0) | Eq(g, 1),
    "must be False where micro-batches are summed ({gradient_accumulation_steps})",
)
#: A forward and a backward pass at a time need two micro-batches, and a stage with chunks of its own for each.
PAIR_REQUIREMENTS = (
    Requirement(two, Eq(two, 0) | (g > 1), "must be False with one micro-batch ({gradient_accumulation_steps})"),
    Requirement(
        two,
        Eq(two, 0) | Ne(checkpointing, label(checkpointing, "full")),
        "must be False where whole layers are recomputed ({activation_checkpointing})",
    ),
    Requirement(
        two,
        Eq(two, 0) | Eq(p, 1) | (v_chunks > 1) | DUALPIPE,
        "must be False in a pipeline that is neither interleaved nor DualPipe ({interleaved_stages})",
    ),
)
#: Forms that divide every part by every kind of rank would hold fewer experts than there are.
UNSPLIT_EXPERTS = Requirement(e, Eq(e, 1), "must be 1 in this variant", ("per_operator", "counts what ranks hold"))
#: Forms without shapes know no rows and columns.
_BY_SHAPE = [name for name, optimizer in OPTIMIZERS.items() if optimizer.factored or optimizer.elsewhere]
_PER_PARAMETER: Any = [Ne(optimizer, label(optimizer, name)) for name in _BY_SHAPE]
COUNTED_STATES = Requirement(
    optimizer, And(*_PER_PARAMETER), "has a state by the shapes of matrices", ("per_operator", "counts it")
)
#: What is trained unless a call says otherwise.
FINETUNING: dict[str, Any] = {
    "master_weights": True,
    "finetuning": "full",
    "lora_rank": 16,
    "lora_target_modules": "all_linear",
    "adapter_dtype": "as_precision",
}
#: What adapters ask of the rest.
ADAPTER_REQUIREMENTS = (
    Requirement(f, Eq(f, 1) | FULL, "must be 1 with adapters, which alone are trained"),
    LATENT_ADAPTERS,
)
#: What a rank with both ends of a pipeline holds is counted by parameters alone.
ENDS = Requirement(
    schedule,
    ~DUALPIPE | And(FULL, *_PER_PARAMETER),
    "must be another with adapters and with states by the shapes of matrices (muon, adafactor)",
)
#: What lives at the moments of a step unless a call or a stack says otherwise.
LIVE: dict[str, Any] = {
    "peak_rank": "fullest",
    "loss_kernel": "eager",
    "loss_chunks": 8,
    "vocab_multiple": 1,
    "gradients_at_loss": True,
    "update_buffer": "none",
    "optimizer_in_backward": False,
    "optimizer_device": "accelerator",
    "activation_offload": False,
    "residual_dtype": "as_precision",
    "workspace": 0.0,
    "token_dispatcher": "alltoall",
    "loaded_mask": False,
    "deferred_head_gradients": 0,
    "layers_first_stage": 0,
    "layers_last_stage": 0,
    "microbatch_group": 0,
    "memory_spread": 0.08,
    "memory_reading": "allocated",
    "context_memory": 0.0,
    "pool_share": 0.0,
}
#: What it takes that an argument has an effect.
EFFECTIVE_WITH = {
    "loss_chunks": "loss_kernel='chunked'",
    "peak_rank": "another stage that holds more",
    "memory_reading": "context_memory or pool_share",
    "microbatch_group": "interleaved_stages above 1",
    "pool_share": "memory_reading='reserved' or 'device'",
    "gradients_at_loss": "a single micro-batch",
    "gathered_layers": "zero_stage=3 on several ranks",
    "zero_stage": "several data-parallel ranks",
    "sequence_parallel": "tp_size above 1",
    "selective_policy": "activation_checkpointing='selective'",
    "lora_rank": "finetuning='lora' or 'qlora'",
    "lora_target_modules": "finetuning='lora' or 'qlora'",
    "adapter_dtype": "finetuning='lora' or 'qlora'",
    "optimizer_device": "an optimizer with states",
    "vocab_multiple": "a vocabulary that it does not divide",
    "routing_weights": "experts",
    "routing_imbalance_factor": "experts",
    "capacity_factor": "experts",
    "expert_row_padding": "experts",
    "token_dispatcher": "experts on several ranks",
}
#: Formats below a byte have no gradients.
UNTRAINABLE = Caveat(
    And(FULL, q_w < 1),
    "weights in {weight_dtype} cannot be trained, and finetuning is {finetuning}: 'qlora' trains adapters beside them",
)
#: How tokens are spread over experts unless a call says otherwise.
ROUTED: dict[str, Any] = {"routing_imbalance_factor": 1.0, "capacity_factor": 0.0, "pad_to_capacity": False}
CAPACITY = Requirement(pad, Eq(pad, 0) | (c_f > 0), "must be False where experts take what comes ({capacity_factor})")
ROOM = Requirement(
    c_f,
    Eq(pad, 0) | (c_f * k <= E) | (E <= 1),
    "must be at most {experts} over {active_experts_per_token} where experts are padded to it: that has room for every "
    "token in every expert",
)
#: Ranks that an expert is cut over, in words that show both arguments it follows from.
EXPERT_RANKS = expert_tensor_ranks.expression
EXPERT_RANKS_WORDS = "the ranks of an expert ({etp_size}; 0: as {tp_size})"
#: What a layout of ranks asks of a model that is counted tensor by tensor.
LAYOUT_REQUIREMENTS = (
    divides(t, d_ff),
    Requirement(t_e, Eq(t_e, 0) | Eq(Mod(t, Max(1, t_e)), 0), "must divide {tp_size}, or be 0 for as many"),
    Requirement(t, (t_e > 0) | Eq(Mod(d_e, t), 0), "must divide {expert_ffn_dim} where {etp_size}"),
    Requirement(t_e, Eq(Mod(d_e, Max(1, t_e)), 0), "must divide {expert_ffn_dim}"),
    divides(t, d_sh),
    SHARED_KV_HEADS,
    *SHARED_MIXERS,
    Requirement(c_cp, Eq(c_cp, 1) | Eq(L_st, 0), "must be 1 where {state_layers} pass their state along the sequence"),
    Requirement(p, Eq(p, 1) | Eq(P_re, 0), "must be 1 where layers share {reused_parameters}"),
    Requirement(c_cp, Eq(c_cp, 1) | Eq(L_c, 0), "must be 1 where {compressed_layers} read entries of the sequence"),
    *CHUNK_REQUIREMENTS,
    *END_REQUIREMENTS,
    UPDATED_AT_ONCE,
    DRIVEN,
    CONTEXTS,
    *PAIR_REQUIREMENTS,
    *SHAPE_REQUIREMENTS,
    *TEXT_ALONE,
    CAPACITY,
    ROOM,
    *ADAPTER_REQUIREMENTS,
    ENDS,
    Requirement(
        selective_policy,
        Eq(selective_policy, label(selective_policy, "core_attention")) | (Eq(L_moe, 0) & Eq(gated, 1) & Eq(r_kv, 0)),
        "must be core_attention but for dense layers with a gate and without latent attention",
    ),
)


class TrainingMemoryModel(PerformanceModel):
    """Does this training run fit on one accelerator?

    Memory one accelerator needs to train a transformer, part by part.
    """

    command = "memory"
    example = {
        "model": "Llama3_8B",
        "hardware": "H100",
        "batch_size": 8,
        "seq_len": 2048,
        "dp_size": 8,
        "zero_stage": 2,
    }
    answer = "total_memory"
    better = Better("per_operator", decides="feasible", shows="total_memory")
    savings = {"activation_checkpointing": ("none", "total_memory")}
    effective_with = EFFECTIVE_WITH
    caveats = (UNTRAINABLE,)
    variants = {
        "first_order": Variant(
            FIRST_ORDER,
            requirements=(UNSPLIT_EXPERTS, COUNTED_STATES),
            about="The tutorial's form: one constant of activations per policy, and every part split evenly over all "
            "ranks. Model states of a dense model on data-parallel ranks are right; activations are up to 87% low.",
        ),
        "korthikanti": Variant(
            KORTHIKANTI,
            about="The first-order form with the activations of Korthikanti et al. and gradients in the format they "
            "are kept in. Within 0.5% of their figures, for GPT layers with dropout and one-byte masks.",
            requirements=(
                *CHUNK_REQUIREMENTS,
                *PAIR_REQUIREMENTS,
                UNSPLIT_EXPERTS,
                COUNTED_STATES,
                Requirement(schedule, ~DUALPIPE, "must have one stage a rank", ("per_operator", "counts both")),
            ),
        ),
        "per_operator": Variant(
            training_memory.PER_OPERATOR,
            about="Measured to be right: every tensor of the model on its own group of ranks, every operator of the "
            "layer, and what lives at the loss, in the backward pass and in the update of the fullest rank. "
            "States equal counted tensors, activations are within 0.2% of saved tensors; median errors of peaks are "
            "0.6% of Megatron-LM's own tests and 2.3% of Hugging Face's Trainer.",
            requirements=(
                *LAYOUT_REQUIREMENTS,
                Requirement(r_dp, Eq(Mod(d, r_dp), 0), "must divide {dp_size}"),
                Requirement(
                    e,
                    Eq(e, 1) | Eq(Mod(t * c_cp * d, EXPERT_RANKS * e * r_dp), 0),
                    f"times {{dp_replicate_size}} times {EXPERT_RANKS_WORDS} must divide the ranks of a stage: "
                    "{tp_size} times {cp_size} times {dp_size}",
                ),
            ),
            headline=(
                "parameters_per_rank",
                "weights",
                "gradients",
                "optimizer_state",
                "activations",
                "backward_buffer",
                "loss_buffer",
                "peak_activations",
                "gathered_weights",
                "communication_buffers",
                "loss_memory",
                "head_memory",
                "layer_memory",
                "update_memory",
                "binding_rank",
                "peak_moment",
                "total_memory",
                "usable_memory",
                "reported_memory",
                "memory_utilization",
                "memory_margin",
                "fit_probability",
                "fit",
                "feasible",
            ),
        ),
    }
    slots = {
        "model": Slot(
            TransformerWorkload, ("parameters", *SHAPE, "state_chunk", *SAVED, "moe_layer_interval"), counted=COUNTED
        ),
        "hardware": Slot(Accelerator, ("memory_capacity", "driver_memory")),
        "stack": stack_slot(MEMORY),
        **RECIPE,
    }
    keywords = {
        "batch_size": ...,
        "seq_len": 2048,
        "precision": "fp16",
        "weight_dtype": "as_precision",
        "compute_dtype": "as_precision",
        "activation_dtype": "as_precision",
        "saved_dtype": "as_precision",
        "gradient_dtype": "as_precision",
        "optimizer": "adam",
        **FINETUNING,
        "activation_checkpointing": "selective",
        "zero_stage": 0,
        "dp_size": 1,
        "tp_size": 1,
        "pp_size": 1,
        "cp_size": 1,
        "ep_size": 1,
        "etp_size": 0,
        "dp_replicate_size": 1,
        "gradient_accumulation_steps": 1,
        "trainable_fraction": 1.0,
        "communication_buffer_fraction": 0.05,
        "sequence_parallel": False,
        "interleaved_stages": 1,
        "pipeline_schedule": "1f1b",
        "two_batch_overlap": False,
        "attention_kernel": "flash",
        "elementwise_kernels": "fused",
        "selective_policy": "core_attention",
        "recompute_layernorm": False,
        "recompute_mla_up_proj": False,
        "recompute_activation_func": False,
        "dropout_mask_bytes": 0.0,
        **ROUTED,
        "routing_weights": "after",
        "expert_row_padding": 0,
        "gathered_layers": 2,
        "reserved_memory": 0.0,
        **LIVE,
    }
    defaults = {"driver_memory": 0, **OPTIONAL_SHAPE, "moe_layer_interval": 1, "state_chunk": 0, **SAVED_DEFAULTS}
    requirements = (
        divides(t, a),
        divides(e, E, " (1 for a dense model)"),
        Requirement(p, p <= L, "must be at most {layers}"),
    )
    common = (
        "precision",
        "optimizer",
        "activation_checkpointing",
        "tp_size",
        "pp_size",
        "ep_size",
        "gradient_accumulation_steps",
    )
    headline = (
        "weights",
        "gradients",
        "optimizer_state",
        "activations",
        "communication_buffers",
        "total_memory",
        "memory_utilization",
        "feasible",
    )
