"""The model of training with expert parallelism."""

from __future__ import annotations

from sympy import Ne

from mlsysim.formulas import break_even, fsdp, token_counts, unsplit_experts
from mlsysim.formulas.rank_parameters import DUALPIPE
from mlsysim.formulas.training_memory import DRIVER_MEMORY
from mlsysim.inputs.declaration import Foundation
from mlsysim.inputs.variant import Variant
from mlsysim.models.base import PerformanceModel
from mlsysim.models.distributed import BESIDE, DISTRIBUTED, LAWS, MEMORY, TIMED, DistributedModel
from mlsysim.models.shape import UNCROSSED
from mlsysim.models.stack import stack_slot
from mlsysim.symbolic import Requirement, System, label, swapped
from mlsysim.symbols.activations import schedule
from mlsysim.symbols.trained import finetuning
from mlsysim.symbols.training import M_ctx, reserve

#: Peaks of one allocator for all, whose place pools of streams take.
_ONE_POOL = (
    "gathered_weights",
    "gradients_at_loss_bytes",
    "resident_memory",
    "loss_memory",
    "head_memory",
    "layer_memory",
    "update_memory",
    "memory_after_step",
    "peak_moment",
    "peak_activations",
    "end_parameters",
    "end_expert_parameters",
    "end_activations",
    "end_memory",
)
FULLY_SHARDED = swapped(
    System(DISTRIBUTED),
    (*unsplit_experts.FORMULAS, *break_even.FORMULAS, *token_counts.FORMULAS, *fsdp.FORMULAS),
    dropped=_ONE_POOL,
)
_STEP = DistributedModel
#: What counts of tokens and the allocator of FSDP add to a step.
ALLOCATOR_PARTS = ("host_sync_time", "regather_time", "remap_time")
STEP_PARTS = (
    "step_product_time",
    "step_score_time",
    "step_elementwise_time",
    "step_loss_time",
    *BESIDE,
    *ALLOCATOR_PARTS,
    "straggler_time",
)
POOLS = ("compute_pool", "gather_pool", "reduction_pool")


class ExpertParallelModel(PerformanceModel):
    """What does expert parallelism cost, and where does it pay?

    Memory by pool and step time by part of training under FSDP, with experts on ranks of their own.
    """

    command = "ep"
    example = {"recipe": "torchtitan_issue_1624", "ep_size": 4}
    answer = "tokens_per_second_per_accelerator"
    foundations = (
        Foundation(_STEP, "per_operator", {name: name for name in TIMED}),
        Foundation(_STEP, "per_operator", {name: name for name in MEMORY}, ("per_operator",)),
    )
    savings = _STEP.savings
    effective_with = _STEP.effective_with
    variants = {
        "fsdp": Variant(
            FULLY_SHARDED,
            about="Memory as the streams of FSDP reserve it, from which no block passes to another; waiting for counts "
            "of tokens; pools that are given back and mapped again where they do not fit. Everything else is the step "
            "of DistributedModel.",
            requirements=(
                Requirement(
                    reserve,
                    reserve + M_ctx < DRIVER_MEMORY,
                    "plus {context_memory} must be less than what the driver gives ({driver_memory}; "
                    "0: {memory_capacity})",
                ),
                Requirement(schedule, ~DUALPIPE, "must be another under FSDP", ("per_operator", "counts both ends")),
                Requirement(
                    finetuning,
                    Ne(finetuning, label(finetuning, "qlora")),
                    "must be full or lora under FSDP",
                    ("per_operator", "counts weights that are widened"),
                ),
            ),
        ),
        "per_operator": Variant(
            DISTRIBUTED,
            about="The step and the memory of DistributedModel: one pool for all, nothing gathered twice, no waiting "
            "for counts.",
            headline=(
                *("step_time", *(part for part in STEP_PARTS if part not in ALLOCATOR_PARTS)),
                *(name for name in _STEP.headline if name not in ("step_time", *_STEP.parts["step_time"])),
            ),
        ),
    }
    uncrossed = UNCROSSED
    follows = _STEP.follows
    caveats = LAWS
    slots = {
        **_STEP.slots,
        "stack": stack_slot((*_STEP.slots["stack"].provides, "count_sync_time", "remap_bandwidth")),
    }
    keywords = {**dict.fromkeys(_STEP.keywords, ...), "fsdp_prefetch": "released"}
    defaults = _STEP.defaults
    requirements = _STEP.requirements
    parts = {"step_time": STEP_PARTS, "total_memory": POOLS}
    common = ("batch_size", "seq_len", "precision", "tp_size", "pp_size", "zero_stage", "activation_checkpointing")
    headline = (
        "tokens_per_second_per_accelerator",
        "step_time",
        *STEP_PARTS,
        "total_memory",
        *POOLS,
        "allocator_retries",
        "reported_memory",
        "live_memory",
        "usable_memory",
        "feasible",
        "least_dropped_share",
        "step_bottleneck",
        "rows_per_expert",
        "expert_parallel_gain",
        "break_even_imbalance",
        "break_even_bandwidth",
        "break_even_experts_per_token",
        "break_even_seq_len",
        "break_even_rows",
    )
