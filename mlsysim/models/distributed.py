"""The model of a distributed training step."""

from __future__ import annotations

from sympy import And, Eq, Or, false

from mlsysim.catalog import Accelerator, Fleet, TransformerWorkload
from mlsysim.formulas import (
    attention_core,
    economics,
    energy,
    step_time,
)
from mlsysim.inputs.declaration import Caveat, Foundation
from mlsysim.inputs.slot import Slot
from mlsysim.inputs.variant import Variant
from mlsysim.models import stack
from mlsysim.models.base import PerformanceModel
from mlsysim.models.energy import DEFAULTS, FOLLOWS, GRID, KEYWORDS, OF_DEVICE, OF_STACK, POWERED
from mlsysim.models.kernel import KERNEL_ELSEWHERE
from mlsysim.models.recipe import RECIPE
from mlsysim.models.shape import (
    BEYOND_NODE,
    COUNTED,
    FABRIC,
    LINKS,
    NO_WINDOW,
    NODE,
    PLACED,
    SAVED,
    SAVED_DEFAULTS,
    SEGMENT,
    SHAPE,
    UNCROSSED,
    WINDOW,
    WINDOW_REQUIREMENTS,
    divides_nodes,
    fills_nodes,
)
from mlsysim.models.training_memory import (
    EXPERT_RANKS,
    EXPERT_RANKS_WORDS,
    LAYOUT_REQUIREMENTS,
    TrainingMemoryModel,
)
from mlsysim.symbolic import Mod, Requirement, System, swapped, token
from mlsysim.symbols.activations import v_chunks
from mlsysim.symbols.hardware import P_lim, X_exp, f_clk, n_cc, n_fleet, n_node
from mlsysim.symbols.layers import e_step
from mlsysim.symbols.mixers import L_st
from mlsysim.symbols.roofline import S_mp
from mlsysim.symbols.step import s_doc, x_a
from mlsysim.symbols.training import b, c_cp, e, g, p, r_dp, t, t_e
from mlsysim.symbols.workload import s

DISTRIBUTED = (
    *step_time.PER_OPERATOR,
    *economics.TRAINING,
    energy.training_flop_share,
    *energy.FORMULAS_OF_ANY,
    energy.node_power,
    energy.step_energy,
)
_MEMORY = TrainingMemoryModel
#: What a board says of the rate of products and exponentials, with its value where that is not known.
BOARD = {"power_limit": 0, "clock": 0, "multiprocessors": 1, "exponentials_per_clock": 16, "compute_capability": 0}
#: What a reader must know where the rate of products is that of other makes of boards.
POWER_LAW = Caveat(
    And(e_step > 0, P_lim > 0, n_cc <= 0),
    "matrix products are limited by power as on A100, H100 and Blackwell, which was not measured here: a stack of this "
    "device or efficiency=... says what they reach",
)
#: The same where attention is not computed by its exponentials.
ANY_KERNEL = Caveat(
    And(Or(X_exp <= 0, x_a <= 0), attention_core.named("fa2", "fa3", "fa4", "cudnn", "triton")),
    "attention takes attention_efficiency, {attention_efficiency}, of the rate of products and not the time of "
    "{attention_kernel}: it was given, or exponentials of the device are not known",
)
LAWS = (POWER_LAW, KERNEL_ELSEWHERE, ANY_KERNEL)
#: Memory of a rank that was measured, and rates and times of a step that were.
MEMORY = ("weights", "gradients", "optimizer_state", "activations", "total_memory")
TIMED = ("step_time", "training_time", "tokens_per_second", "tokens_per_second_per_accelerator", "mfu")
#: What a step is made of beside its computing; each hides what it can.
BESIDE = (
    "tp_time",
    "ep_time",
    "cp_time",
    "host_wait_time",
    "bubble_time",
    "pp_time",
    "dp_time",
    "optimizer_time",
)


class DistributedModel(PerformanceModel):
    """How long does a step take on many accelerators?

    Step time of a transformer on a fleet, part by part, with the memory of a rank by the same formulas.
    """

    command = "train"
    example = {
        "model": "Llama3_8B",
        "fleet": "SuperPOD_H100",
        "batch_size": 2048,
        "seq_len": 4096,
        "precision": "bf16",
        "gradient_accumulation_steps": 8,
        "zero_stage": 2,
        "training_tokens": 10**12,
    }
    answer = "step_time"
    foundations = (Foundation(TrainingMemoryModel, "per_operator", {name: name for name in MEMORY}),)
    savings = {"activation_checkpointing": ("none", "total_memory")}
    effective_with = {
        **TrainingMemoryModel.effective_with,
        "document_len": "a kernel of attention that skips what lies between documents",
        "hidden_traffic_cost": "zero_stage=2 or more on several ranks",
        "two_batch_hidden_share": "two_batch_overlap",
        "slice_cost": "several nodes",
        "dispatcher": "routed experts",
        "flash_kernel": "attention_kernel='flash'",
        "captured_share": "host_operation_time",
    }
    headline = (
        "step_time",
        "compute_time",
        *BESIDE,
        "straggler_time",
        "mfu",
        "hfu",
        "tokens_per_second",
        "tokens_per_second_per_accelerator",
        "scaling_efficiency",
        "training_time",
        "device_power",
        "energy_per_token",
        "dp_size",
        "total_memory",
        "usable_memory",
        "memory_utilization",
        "feasible",
        "step_bottleneck",
        "power_bottleneck",
    )
    variants = {
        "per_operator": DISTRIBUTED,
        energy.LOAD_LINE: Variant(
            swapped(System(DISTRIBUTED), (energy.load_line,), energy.BY_ARITHMETIC),
            defaults={"idle_power_fraction": 0.3},
            headline=tuple(name for name in headline if name not in energy.BY_ARITHMETIC),
            about="The same step, with power in proportion to the time that accelerators compute.",
        ),
    }
    uncrossed = UNCROSSED
    follows = {**FOLLOWS, "elementwise_efficiency": "memory_efficiency"}
    slots = {
        "model": Slot(
            TransformerWorkload,
            ("parameters", "active_parameters", *SHAPE, *WINDOW, *SAVED, "moe_layer_interval"),
            counted=COUNTED,
        ),
        "hardware": Slot(
            Accelerator,
            (
                "memory_capacity",
                "driver_memory",
                "memory_bandwidth",
                "peak_flops",
                "attention_peak_flops",
                *BOARD,
                *LINKS,
                *OF_DEVICE,
            ),
            extras=POWERED,
        ),
        "fleet": Slot(
            Fleet,
            (
                "fleet_size",
                "memory_capacity",
                "driver_memory",
                "memory_bandwidth",
                "peak_flops",
                "attention_peak_flops",
                *BOARD,
                *NODE,
                *LINKS,
                *FABRIC,
                *OF_DEVICE,
            ),
            extras=POWERED,
        ),
        "stack": stack.stack_slot(
            (
                "efficiency",
                "step_flop_energy",
                "expert_product_ratio",
                "attention_efficiency",
                "attention_kernel_share",
                "flash_kernel",
                "memory_efficiency",
                "elementwise_efficiency",
                "scan_efficiency",
                "scan_chunk_time",
                "link_efficiency",
                "fabric_efficiency",
                "exchange_link_efficiency",
                "collective_latency",
                "node_latency",
                "switch_latency",
                "exchange_latency",
                "dp_overlap",
                "tp_overlap",
                "cp_overlap",
                "ep_overlap",
                "two_batch_hidden_share",
                "hidden_traffic_cost",
                "slice_cost",
                "exchange_multiprocessor_share",
                "eight_bit_efficiency",
                "host_operation_time",
                "layer_operations",
                "moe_layer_operations",
                "all_to_all_operations",
                "dispatcher",
                "expert_operations",
                "grouped_experts",
                "captured_share",
                *stack.MEMORY,
                *OF_STACK,
            )
        ),
        **GRID,
        **RECIPE,
    }
    keywords = {
        **dict.fromkeys((name for name in _MEMORY.keywords if name != "dp_size"), ...),
        "pipeline_split": "auto",
        "reduce_dtype": "as_gradients",
        "dispatch_dtype": "as_precision",
        "combine_dtype": "as_precision",
        "attention_mask": "causal",
        "document_len": 0,
        "flop_convention": "counted",
        "node_limit": 0,
        "congestion_factor": 1.0,
        "straggler_factor": 1.0,
        "training_tokens": 1e12,
        **KEYWORDS,
    }
    defaults = {
        **{name: value for name, value in _MEMORY.defaults.items() if name != "dp_size"},
        **NO_WINDOW,
        **SAVED_DEFAULTS,
        "activation_checkpointing": "none",
        "dispatcher": "fused",
        "flash_kernel": "cudnn",
        **BOARD,
        **DEFAULTS,
        "oversubscription": 1,
        **PLACED,
    }
    requirements = (
        *_MEMORY.requirements,
        *LAYOUT_REQUIREMENTS,
        *WINDOW_REQUIREMENTS,
        Requirement(
            n_fleet,
            Eq(Mod(n_fleet, t * p * c_cp * r_dp), 0),
            "must be a multiple of {tp_size} times {pp_size} times {cp_size} times {dp_replicate_size}",
        ),
        Requirement(
            n_fleet,
            Eq(e, 1) | Eq(Mod(n_fleet, EXPERT_RANKS * p * e * r_dp), 0),
            f"must be a multiple of {EXPERT_RANKS_WORDS} times {{pp_size}} times {{ep_size}} times "
            "{dp_replicate_size}",
        ),
        Requirement(
            b,
            Eq(Mod(b * t * p * c_cp, n_fleet * g), 0),
            "must fill {gradient_accumulation_steps} micro-batches on every data-parallel rank: of {fleet_size} "
            "accelerators, one in {tp_size} times {pp_size} times {cp_size}",
        ),
        Requirement(
            g,
            Eq(v_chunks, 1) | Eq(Mod(g, p), 0),
            "must be a multiple of {pp_size} where stages are interleaved ({interleaved_stages})",
        ),
        Requirement(s, Eq(Mod(s, c_cp), 0), "must be a multiple of {cp_size}"),
        Requirement(
            s_doc,
            Eq(s_doc, 0) | ((s_doc >= 1 * token) & (s_doc <= s)),
            "must be between 1 and {seq_len}, or 0 where a sequence is one document",
        ),
        Requirement(S_mp, Or(f_clk <= 0, S_mp > 1), "must be above 1 where clock is given"),
        SEGMENT,
        *fills_nodes(n_fleet, n_fleet),
        *(
            requirement
            for blamed, ranks, free, words in (
                (t, t, false, ""),
                (c_cp, t * c_cp, false, "times {tp_size} "),
                (t_e, EXPERT_RANKS, Eq(t_e, 0), "(0: {tp_size}) "),
                (e, EXPERT_RANKS * e, Eq(e, 1), f"times {EXPERT_RANKS_WORDS} "),
            )
            for requirement in divides_nodes(
                blamed, ranks, n_fleet, free | (n_fleet <= n_node), words, ": a group would straddle nodes"
            )
        ),
    )
    caveats = (
        *TrainingMemoryModel.caveats,
        BEYOND_NODE,
        *LAWS,
        Caveat(
            L_st > 0,
            "scans of {state_layers} recurrent mixers take the time of the bytes that they move, by a law of prefills; "
            "backward is taken as twice that, which nothing measured is held against",
        ),
    )
    common = (
        "tp_size",
        "pp_size",
        "cp_size",
        "ep_size",
        "optimizer",
        "activation_checkpointing",
        "sequence_parallel",
        "interleaved_stages",
    )
    parts = {"step_time": ("compute_time", *BESIDE, "straggler_time")}
