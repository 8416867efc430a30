"""The model of a memory in two tiers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from sympy import Eq, Ne

from mlsysim.catalog import Fleet, MemoryDesign, TransformerWorkload, builtin
from mlsysim.errors import InputError
from mlsysim.formulas import (
    energy,
    memory_expansion,
    mixer_times,
    mixers,
    number_formats,
    offloaded_training,
    step_time,
    tiered_serving,
    transformer_flops,
)
from mlsysim.formulas.training_memory import PER_OPERATOR
from mlsysim.inputs import convert
from mlsysim.inputs.slot import Slot
from mlsysim.inputs.variant import Variant
from mlsysim.models.base import PerformanceModel
from mlsysim.models.distributed import BOARD, LAWS, DistributedModel
from mlsysim.models.energy import GRID, OF_DEVICE, POWERED
from mlsysim.models.serving import ServingModel
from mlsysim.models.shape import (
    COUNTED_SERVED,
    FABRIC,
    LINKS,
    NO_SOURCES,
    NO_WINDOW,
    NODE,
    OPTIONAL_SHAPE,
    SAVED_DEFAULTS,
    SHAPE_REQUIREMENTS,
    UNCROSSED,
    WINDOW_REQUIREMENTS,
    divides,
)
from mlsysim.models.stack import stack_slot
from mlsysim.models.training_memory import CAPACITY, COUNTED_STATES, FINETUNING, LIVE, ROOM, ROUTED
from mlsysim.symbolic import Formula, Mod, Requirement, System, label, swapped, variable_of
from mlsysim.symbols.activations import schedule
from mlsysim.symbols.hardware import n_fleet
from mlsysim.symbols.mixers import a
from mlsysim.symbols.trained import finetuning
from mlsysim.symbols.training import b, c_cp, e, g, p, r_dp, t, t_e
from mlsysim.symbols.workload import E, L_mtp, d_e, d_ff, d_sh

_SEGMENTS = (
    "step_time",
    "compute_time",
    "exposed_local_time",
    "exposed_remote_time",
    "exposed_link_time",
    "longest_segment",
    "local_memory",
    "remote_memory",
    "remote_traffic",
    "feasible",
    "tokens_per_second_per_accelerator",
    "memory_cost",
    "tokens_per_second_per_dollar",
)
_STEP = DistributedModel()
_TIERED = {"model": "Llama3_8B", "design": "GH200", "fabric_bandwidth": "50 GB/s", "fabric_latency": "10 us",
           "fleet_size": 64, "batch_size": 512, "zero_stage": 3}  # fmt: skip
_PRICE = (memory_expansion.memory_price, memory_expansion.throughput_per_price)
#: State, layout and arithmetic are those of the plain training step.
_PLAIN = (*PER_OPERATOR, *number_formats.EXCHANGED, *mixers.TRAINED, *mixer_times.SHARDED, *transformer_flops.FORMULAS,
          step_time.data_parallel_ranks, step_time.throughput, step_time.device_throughput)  # fmt: skip


def _needed(formulas: Iterable[Formula], headline: tuple[str, ...]) -> tuple[Formula, ...]:
    """Formulas that the headline needs."""
    return System(formulas).closure(headline).formulas


def _expanded(policies: tuple[Formula, ...]) -> tuple[Formula, ...]:
    """The study of Heo et al. on the plain formulas of state and arithmetic."""
    ours = (*policies, *memory_expansion.SEGMENTS, memory_expansion.one_stage)
    names = {formula.name for formula in ours}
    return _needed((*(formula for formula in _PLAIN if formula.name not in names), *ours), _SEGMENTS)


_PARTS = tuple(name for name in _STEP.headline if name.endswith("_time") and name not in ("step_time", "training_time"))
_OFFLOADED = (
    "step_time",
    *_PARTS,
    "exposed_remote_time",
    "mfu",
    "local_memory",
    "remote_memory",
    "remote_traffic",
    "feasible",
    "tokens_per_second",
    "tokens_per_second_per_accelerator",
    "training_time",
    "energy_per_token",
    "memory_cost",
    "tokens_per_second_per_dollar",
)
_DRAWN = tuple(formula.name for formula in (*energy.FORMULAS_OF_ANY, energy.node_power))


def _offloaded(policies: tuple[Formula, ...]) -> tuple[Formula, ...]:
    """The plain training step with its state in two tiers."""
    ours = (*policies, *offloaded_training.FORMULAS, memory_expansion.fits_both, *_PRICE)
    return _needed(swapped(_STEP.system, ours), (*_OFFLOADED, *_DRAWN))


def _asked(formulas: Iterable[Formula], requirements: Iterable[Requirement]) -> set[str]:
    """Arguments of a variant: inputs of its formulas and of what it requires."""
    required = {variable.name for requirement in requirements for variable in requirement.inputs}
    return required.union(variable.name for variable in System(formulas).inputs)


def _tiered(plain: ServingModel, tiers: tuple[Formula, ...], about: str) -> Variant:
    """A deployment whose engines read from two tiers."""
    headline = tuple(name for name in plain.headline if not name.startswith("cost_"))
    headline = (*headline, "local_memory", "remote_memory", "memory_cost")
    formulas = _needed(swapped(plain.system, (*tiers, memory_expansion.memory_price)), (*headline, *_DRAWN))
    asked = _asked(formulas, plain.requirements)
    return Variant(
        formulas,
        requirements=plain.requirements,
        defaults={
            **{name: value for name, value in plain.defaults.items() if name in asked},
            "weights_offload": 0.0,
            "kv_offload": 0.0,
        },
        headline=headline,
        example={**{name: value for name, value in plain.example.items() if name != "hardware"}, "design": "GH200"},
        about=about,
    )


_SERVING = {
    "serving": _tiered(
        ServingModel("colocated"),
        tiered_serving.SHARED,
        "Engines that prefill and decode by turns, with weights or KV caches in the remote tier, equal to the plain "
        "deployment where there are none. ZeRO-Inference on one GPU at one bandwidth per tier: OPT-30B within 3%, "
        "models of 175 billion parameters 6 to 12% low.",
    ),
    "disaggregated_serving": _tiered(
        ServingModel("disaggregated"),
        tiered_serving.POOLS,
        "Pools of engines that either prefill or decode, both with the same shares of weights and of KV caches in the "
        "remote tier, equal to the plain pools where there are none. Nothing measured is held against it.",
    ),
    "chunked_serving": _tiered(
        ServingModel("chunked"),
        tiered_serving.SHARED,
        "Engines that prefill prompts in chunks beside their decoding, with weights or KV caches in the remote tier, "
        "by the Markov chain; equal to the plain deployment where there are none. Nothing measured is held against it.",
    ),
    "chunked_serving_estimate": _tiered(
        ServingModel("chunked_estimate"),
        tiered_serving.SHARED,
        "The same in closed form. Nothing measured is held against it.",
    ),
}
#: What engines take, and what the model gives a default where a call says nothing.
_ASKED = set().union(*(_asked(variant.formulas, variant.requirements) for variant in _SERVING.values()))
#: Recomputed activations stay where they are used.
_WITHOUT_ACTIVATIONS = tuple(formula for formula in memory_expansion.POLICY if formula.name != "activations_offload")

_ONE_STAGE = (
    divides(t, a),
    divides(t, d_ff),
    divides(t, d_e),
    divides(t, d_sh),
    divides(e, E, " (1 for a dense model)"),
    Requirement(p, Eq(p, 1), "must be 1: the phases are those of one stage"),
    Requirement(schedule, Eq(schedule, label(schedule, "1f1b")), "must be 1f1b: the phases are those of one stage"),
    Requirement(r_dp, Eq(r_dp, 1), "must be 1: the phases are those of one copy"),
    Requirement(t_e, Eq(t_e, 0), "must be 0: the phases cut experts as everything else"),
    Requirement(c_cp, Eq(c_cp, 1), "must be 1: the phases are those of whole sequences"),
    Requirement(n_fleet, Eq(Mod(n_fleet, t * e), 0), "must be a multiple of {tp_size} times {ep_size}"),
    Requirement(
        b,
        Eq(Mod(b * t, n_fleet * g), 0),
        "must fill {gradient_accumulation_steps} micro-batches on every data-parallel rank: of {fleet_size} "
        "accelerators, one in {tp_size}",
    ),
    Requirement(
        finetuning, Eq(finetuning, label(finetuning, "full")), "must be full: the phases are those of all weights"
    ),
    COUNTED_STATES,
    CAPACITY,
    ROOM,
    Requirement(L_mtp, Eq(L_mtp, 0), "must be 0: the phases are those of the layers"),
    *SHAPE_REQUIREMENTS,
    *WINDOW_REQUIREMENTS,
)


_TWO_TIERS = (
    *_STEP.requirements,
    Requirement(schedule, Ne(schedule, label(schedule, "dualpipe")), "must have one stage a rank in two tiers"),
)
#: What Heo et al. state, and where they state nothing what docs/memory_expansion.md says.
_STUDY = {
    "policy": "conservative",
    "driver_memory": 0,
    "weights_offload": 0.0,
    "checkpoints_offload": 0.0,
    "activations_offload": 1.0,
    "gradients_offload": 1.0,
    "optimizer_offload": 1.0,
    "weight_passes": 4,
    "checkpoint_passes": 3,
    "activation_passes": 2,
    "gradient_passes": 0,
    "optimizer_passes": 0,
    "batch_size": 64,
    "fleet_size": 256,
    "tp_size": 8,
    "ep_size": 32,
    "etp_size": 0,
    "dp_replicate_size": 1,
    "pp_size": 1,
    "pipeline_schedule": "1f1b",
    "interleaved_stages": 1,
    **LIVE,
    "cp_size": 1,
    "zero_stage": 3,
    "gradient_accumulation_steps": 1,
    "trainable_fraction": 1.0,
    **FINETUNING,
    "weight_dtype": "as_precision",
    "compute_dtype": "as_precision",
    "activation_dtype": "as_precision",
    "gradient_dtype": "both",
    "dispatch_dtype": "as_precision",
    "combine_dtype": "as_precision",
    "sequence_parallel": False,
    "attention_mask": "full",
    "efficiency": 1.0,
    "attention_efficiency": 1.0,
    "memory_efficiency": 1.0,
    # The study counts the matrices of the layers; DeepSpeed-MoE publishes no vocabulary.
    "vocab_size": 1,
    "tied_embeddings": True,
    "shared_ffn_dim": 0,
    "router_bias": False,
    "moe_layer_interval": 1,
}
_TRAINING = {
    **_STEP.defaults,
    "policy": "zero_offload",
    "weights_offload": 0.0,
    "checkpoints_offload": 0.0,
    "gradients_offload": 1.0,
    "optimizer_offload": 1.0,
    "update_place": "remote",
    "activation_checkpointing": "full",
    "zero_stage": 3,
    "gradient_dtype": "fp32",
    "prefetch_fraction": 1.0,
}


class MemoryExpansionModel(PerformanceModel):
    """How long does a step take with memory in two tiers, and what must each of them hold?

    A training step with part of its state in a remote memory: bytes by tier, exposed segments, cost.

    Parameters
    ----------
    variant : str, optional
        Name of the set of formulas to use.
    policy : str, optional
        What is kept in the remote tier, unless a call says otherwise.
    design : MemoryDesign or str, optional
        Accelerator and memories, unless a call says otherwise.
    """

    command = "offload"
    room, alone, caveats, automatic = (
        ServingModel.room,
        ServingModel.alone,
        (*ServingModel.caveats, *LAWS),
        ServingModel.automatic,
    )
    example = {"model": "DeepSpeedMoE_24B_MoE_128", "design": "GH200", "policy": "aggressive"}
    answer = "step_time"
    variants = {
        "by_policy": Variant(
            _expanded(memory_expansion.POLICY),
            requirements=_ONE_STAGE,
            defaults=_STUDY,
            about="The study of Heo et al.: a policy says which tensors are kept in the remote tier. Table 2 within "
            "1.4%, both published slowdowns within 1%; what was chosen knowing them stands in "
            "docs/memory_expansion.md.",
        ),
        "by_share": Variant(
            _expanded(()),
            requirements=_ONE_STAGE,
            defaults=_STUDY,
            about="The same with the share of each class of tensors kept remote as an input of its own.",
        ),
        "offloaded_training": Variant(
            _offloaded(_WITHOUT_ACTIVATIONS),
            requirements=_TWO_TIERS,
            defaults=_TRAINING,
            headline=_OFFLOADED,
            example={**_TIERED, "policy": "zero_infinity"},
            about="ZeRO-Offload and ZeRO-Infinity: the plain distributed step with its state in two tiers, equal to it "
            "where nothing is offloaded. Recomputed activations stay local, so conservative is zero_offload here, and "
            "aggressive zero_infinity. No published time is held against it.",
        ),
        "offloaded_by_share": Variant(
            _offloaded(()),
            requirements=_TWO_TIERS,
            defaults=_TRAINING,
            headline=_OFFLOADED,
            example={**_TIERED, "optimizer_offload": 1},
            about="The same with the share of each class of tensors kept remote as an input of its own.",
        ),
        **_SERVING,
    }
    uncrossed = UNCROSSED
    follows = DistributedModel.follows
    slots = {
        "model": Slot(
            TransformerWorkload,
            tuple(
                dict.fromkeys(
                    (*_STEP.slots["model"].provides, *ServingModel.slots["model"].provides),
                )
            ),
            counted=COUNTED_SERVED,
        ),
        "design": Slot(
            MemoryDesign,
            (
                "memory_bandwidth",
                "peak_flops",
                "attention_peak_flops",
                *BOARD,
                "remote_bandwidth",
                "remote_sharers",
                "link_bandwidth",
                *LINKS,
                "unified",
                *(name for name in OF_DEVICE if name not in BOARD),
            ),
            extras=(*POWERED, "memory_capacity", "driver_memory", "remote_capacity", "local_price", "remote_price"),
        ),
        "fleet": Slot(
            Fleet,
            (
                "fleet_size",
                *NODE,
                *LINKS[1:],
                *FABRIC,
            ),
        ),
        "fabric": replace(ServingModel.slots["fabric"], asks=("isl",)),
        "stack": stack_slot((*_STEP.slots["stack"].provides, *ServingModel.slots["stack"].provides)),
        **GRID,
    }
    keywords = tuple(
        dict.fromkeys(
            (
                "policy",
                "weights_offload",
                "checkpoints_offload",
                "activations_offload",
                "gradients_offload",
                "optimizer_offload",
                "kv_offload",
                "prefetch_fraction",
                "weight_passes",
                "checkpoint_passes",
                "activation_passes",
                "gradient_passes",
                "optimizer_passes",
                "update_place",
                "bare_price",
                *DistributedModel.keywords,
                *(name for name in ServingModel.keywords if name in _ASKED),
            )
        )
    )
    defaults = {
        "remote_sharers": 1,
        "unified": False,
        "prefetch_fraction": 0.0,
        "bare_price": 0.0,
        "seq_len": 2048,
        "precision": "fp16",
        "optimizer": "adam",
        **ROUTED,
        **OPTIONAL_SHAPE,
        **NO_WINDOW,
        **NO_SOURCES,
        **SAVED_DEFAULTS,
    }
    common = ("batch_size", "seq_len", "precision", "weights_offload", "kv_offload")
    headline = _SEGMENTS

    def __init__(
        self, variant: str | None = None, *, policy: str | None = None, design: MemoryDesign | str | None = None
    ) -> None:
        super().__init__(variant)
        self.chosen: Mapping[str, Any] = {}
        if policy is not None:
            if "policy" not in self.arguments:
                raise InputError("policy", policy, f"the variant {self.variant} does not use it")
            convert.scalar(variable_of("policy"), policy)
            self.chosen = {"policy": policy}
        if design is not None:
            found = builtin().find("design", design) if isinstance(design, str) else design
            if not isinstance(found, MemoryDesign):
                raise InputError("design", design, "must be an entry of the catalog (design), or its name")
            self.chosen = {**self.chosen, "design": found}

    def named_arguments(self, entries: tuple[Any, ...], inputs: Mapping[str, Any]) -> dict[str, Any]:
        """All arguments by name, with the policy and the design that the model was made with."""
        given = super().named_arguments(entries, inputs)
        return {**{name: value for name, value in self.chosen.items() if given.get(name) is None}, **given}
