"""The model of a step of post-training by reinforcement learning."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sympy import And, Eq

from mlsysim.catalog import Fabric
from mlsysim.formulas import economics, energy, post_training
from mlsysim.formulas.post_training import (
    ASYNCHRONOUS,
    COLOCATED,
    DISAGGREGATED,
    ONE_STEP_OFF,
    split_unit,
    trainer_unit,
)
from mlsysim.inputs.declaration import Caveat
from mlsysim.inputs.slot import Slot
from mlsysim.inputs.variant import Variant
from mlsysim.models.base import PerformanceModel
from mlsysim.models.distributed import DistributedModel
from mlsysim.models.energy import GRID, OF_STACK
from mlsysim.models.iteration import EFFECTIVE_WITH, IterationModel
from mlsysim.models.shape import (
    DECODES,
    FABRIC,
    SHARED_KV_HEADS,
    SHARED_MIXERS,
    STATE,
    STATE_DEFAULTS,
    divides,
    fills_nodes,
)
from mlsysim.models.stack import stack_slot
from mlsysim.symbolic import Mod, Requirement, request, token, variable_of
from mlsysim.symbolic.exchange import exchanged
from mlsysim.symbols.hardware import n_fleet
from mlsysim.symbols.post_training import (
    OF_ENGINE,
    B_pr,
    C_re,
    G_pr,
    L_re,
    S_giv,
    T_low,
    T_ro,
    e_R,
    k_op,
    m_re,
    s_pr,
    t_R,
    x_giv,
    x_pip,
)
from mlsysim.symbols.step import s_doc
from mlsysim.symbols.training import b, e, g, optimizer_in_backward, t
from mlsysim.symbols.workload import E, L_moe, d_e, d_ff, d_sh, s

#: Inputs of the engine that the trainer has as well, by name.
_OWN = {variable_of(plain).name: variable_of(own).name for plain, own in OF_ENGINE.items()}
#: Names of the engine, where the trainer has the same.
ROLLOUT = "rollout_"
_RATES = tuple(f"{ROLLOUT}{name}" for name in ("peak_flops", "attention_peak_flops"))
#: Constants of a stack for post-training.
STRETCHES = (
    "rollout_stretch", "update_stretch", "refit_time", "refit_bandwidth", "sync_bandwidth", "rest_stretch"
)  # fmt: skip
#: Constants of the law of power that are those of ``stack``, whatever rolls out.
_POWER = {*OF_STACK} - {*_OWN}
#: Arguments of a training step that follow from the samples here.
_FOLLOWING = (b, s, g, s_doc)
#: Those, and what a training step says beside its time and its memory.
_LEFT_OUT = {
    *(variable_of(symbol).name for symbol in _FOLLOWING), "training_tokens", "communication_buffer_fraction",
    "memory_spread", "memory_reading", "pool_share", "flop_convention", "active_parameters",
}  # fmt: skip


def _asked(names: Iterable[str]) -> tuple[str, ...]:
    """The names of a training step that are asked for here."""
    return tuple(name for name in names if name not in _LEFT_OUT)


def _rated(slot: Slot) -> Slot:
    """A slot that gives the rates of the engine's format beside those of the trainer's."""
    return replace(slot, provides=(*_asked(slot.provides), *_RATES), prefix=ROLLOUT)


def _of_engine(requirement: Requirement) -> Requirement:
    """The same of the engine."""
    words = requirement.allowed
    for plain in (t, e):
        words = words.replace(f"{{{plain.name}}}", f"{{{OF_ENGINE[plain].name}}}")
    blamed = OF_ENGINE.get(requirement.argument, requirement.argument)
    return Requirement(blamed, exchanged(requirement.condition, {t: t_R, e: e_R}), words)


def _of_pool(requirement: Requirement) -> Requirement:
    """The same of the accelerators that train, where others roll out."""
    condition = exchanged(requirement.condition, {n_fleet: n_fleet - x_giv})
    if requirement.argument != n_fleet:
        return replace(requirement, condition=condition)
    words = f"must leave a rest of {{fleet_size}} that {requirement.allowed.replace('must be', 'is', 1)}"
    return Requirement(x_giv, Eq(x_giv, 0) | condition, words)


_OF_TRAINER = tuple(
    own for own in DistributedModel.requirements if not own.condition.free_symbols.intersection(_FOLLOWING)
)
_OF_FLEET = tuple(own for own in _OF_TRAINER if n_fleet in own.condition.free_symbols)
_UNIT = exchanged(split_unit.expression, {x_pip: trainer_unit.expression})
_WORDS = "(a replica of {rollout_tp_size}, and a copy of the trainer's layout)"
_SPLIT = (
    Requirement(x_giv, x_giv < n_fleet, "must be less than {fleet_size}"),
    Requirement(x_giv, Eq(Mod(x_giv, t_R), 0), "must be a multiple of {rollout_tp_size}, or 0 for the best split"),
    Requirement(
        n_fleet,
        (x_giv > 0) | (Eq(Mod(n_fleet, _UNIT), 0) & (n_fleet >= 2 * _UNIT)),
        f"must be at least twice, and a multiple of, what may change pools {_WORDS}",
    ),
    *map(_of_pool, _OF_FLEET),
)
_SHARED = (
    *_OF_FLEET,
    Requirement(n_fleet, Eq(Mod(n_fleet, t_R), 0), "must be a multiple of {rollout_tp_size}"),
)
#: Power, energy and carbon of steps, by the laws of every model.
_DRAWN = (economics.training_accelerators, *energy.FORMULAS_OF_ANY, energy.node_power, energy.step_energy)
_HEADLINE = (
    "step_time",
    "rollout_time",
    "rollout_tail_time",
    "rollout_time_low",
    "logprob_time",
    "update_time",
    "sync_time",
    "phase_bottleneck",
    "longest_response_low",
    "longest_response_high",
    "cut_share",
    "rollout_batch",
    "rollout_pool",
    "update_pool",
    "samples_per_second",
    "tokens_per_second_per_accelerator",
    "mean_staleness",
    "device_power",
    "power_bottleneck",
    "energy_per_step",
    "energy_per_token",
    "rollout_memory",
    "trainer_memory",
    "host_memory",
    "feasible",
)
_POOLED = ("best_rollout_accelerators", "rollout_idle_share", "update_idle_share")


class PostTrainingModel(PerformanceModel):
    """How long does a step of reinforcement learning take?

    Rollout, log-probabilities, update and weight synchronization of a step of GRPO, PPO or DAPO, on the same
    accelerators or on two pools, with the best split of these and the memory of each phase.
    """

    command = "post-train"
    example = {
        "model": "Llama3_1_8B",
        "hardware": "H100",
        "fleet_size": 16,
        "stack": "NeMo_RL_H100",
        "rollout_stack": "vLLM_2026_Hopper",
        "num_prompts": 64,
        "num_generations": 32,
        "prompt_len": 127,
        "mean_response_length": 1019,
        "max_response_length": 3969,
        "optimizer_steps": 4,
        "logprob_passes": 2,
        "activation_checkpointing": "full",
        "zero_stage": 1,
    }
    answer = "step_time"
    effective_with = {**EFFECTIVE_WITH, **DistributedModel.effective_with}
    variants = {
        COLOCATED: Variant(
            (*post_training.SHARED, *_DRAWN),
            requirements=_SHARED,
            headline=_HEADLINE,
            about="The same accelerators roll out and train, one after the other, as in the hybrid engine of verl.",
        ),
        DISAGGREGATED: Variant(
            (*post_training.SYNCHRONOUS, *_DRAWN),
            requirements=_SPLIT,
            headline=(*_HEADLINE, *_POOLED),
            about="One pool of accelerators rolls out, then the other trains on the samples: one always waits.",
        ),
        ONE_STEP_OFF: Variant(
            (*post_training.OVERLAPPED, *_DRAWN),
            requirements=_SPLIT,
            headline=(*_HEADLINE, *_POOLED),
            about="One pool rolls out while the other trains on the samples of the step before.",
        ),
        ASYNCHRONOUS: Variant(
            (*post_training.STEADY, *_DRAWN),
            requirements=_SPLIT,
            headline=(*(name for name in _HEADLINE if name not in ("rollout_tail_time", "rollout_time_low")), *_POOLED),
            defaults={"staleness": 1.0},
            about="One pool rolls out without end, the other trains on what is ready.",
        ),
    }
    uncrossed = DistributedModel.uncrossed
    follows = DistributedModel.follows
    slots = {
        "model": replace(
            DistributedModel.slots["model"], provides=(*_asked(DistributedModel.slots["model"].provides), *STATE)
        ),
        "hardware": _rated(DistributedModel.slots["hardware"]),
        "fleet": _rated(DistributedModel.slots["fleet"]),
        "fabric": Slot(Fabric, FABRIC, default="InfiniBand_NDR"),
        "stack": stack_slot((*_asked(DistributedModel.slots["stack"].provides), *STRETCHES)),
        "rollout_stack": replace(
            stack_slot(
                (
                    *(_OWN.get(name, name) for name in IterationModel.slots["stack"].provides if name not in _POWER),
                    "max_num_seqs",
                    "max_num_batched_tokens",
                )
            ),
            prefix=ROLLOUT,
        ),
        **GRID,
        "recipe": DistributedModel.slots["recipe"],
    }
    keywords = {
        "fleet_size": ...,
        "num_prompts": ...,
        "num_generations": 8,
        "prompt_len": ...,
        "mean_response_length": ...,
        "max_response_length": ...,
        "longest_response": 0.0,
        "response_cv": 0.0,
        "optimizer_steps": 1,
        "pack_length": 0.0,
        "logprob_passes": 1,
        "critic": "none",
        "kept_group_share": 1.0,
        "staleness": 0.0,
        "rollout_accelerators": 0,
        "rollout_tp_size": 1,
        "rollout_ep_size": 1,
        "rollout_precision": "bf16",
        "kv_cache_dtype": "as_precision",
        "max_num_seqs": 256,
        "max_num_batched_tokens": 8192,
        "offload": "all",
        "duration": 1,
        **{name: DistributedModel.defaults.get(name, ...) for name in _asked(DistributedModel.keywords)},
        "precision": "bf16",
    }
    defaults = {
        **{name: DistributedModel.defaults[name] for name in _asked(DistributedModel.defaults)},
        **STATE_DEFAULTS,
    }
    automatic = {"rollout_accelerators": 0}
    requirements = (
        *(own for own in _OF_TRAINER if own not in _OF_FLEET),
        *(divides(t_R, width) for width in (d_ff, d_e, d_sh)),
        *map(_of_engine, (SHARED_KV_HEADS, *SHARED_MIXERS)),
        Requirement(e_R, Eq(Mod(t_R, e_R), 0), "must divide {rollout_tp_size}"),
        Requirement(e_R, Eq(e_R, 1) | (L_moe > 0), "must be 1 where {moe_layers}"),
        Requirement(e_R, Eq(Mod(E, e_R), 0), "must divide {experts}"),
        *fills_nodes(t_R, t_R),
        Requirement(
            optimizer_in_backward, Eq(optimizer_in_backward, 0), "must be False: gradients of several packs are summed"
        ),
        Requirement(m_re, m_re <= C_re, "must be at most {max_response_length}"),
        Requirement(C_re, C_re >= 1 * token, "must be at least 1"),
        Requirement(
            k_op,
            k_op <= B_pr * G_pr / request,
            "must be at most the samples of a step: {num_prompts} times {num_generations}",
        ),
        DECODES,
        Requirement(L_re, (L_re <= 0) | (L_re >= m_re), "must be at least {mean_response_length}, or 0 for the cap"),
        Requirement(L_re, L_re <= C_re, "must be at most {max_response_length}, or 0 for it"),
        Requirement(
            S_giv, (S_giv <= 0) | (S_giv >= s_pr + m_re), "must hold a sample: {prompt_len} and {mean_response_length}"
        ),
    )
    caveats = (
        *DistributedModel.caveats,
        Caveat(
            And(20 * T_low < 19 * T_ro, L_re <= 0),
            "the longest response is taken as the cap, and responses of {mean_response_length} leave it open: by the "
            "law of lengths a rollout takes {rollout_time_low} and not {rollout_time}; give longest_response",
        ),
    )
    common = (
        "tp_size", "pp_size", "ep_size", "optimizer", "activation_checkpointing", "rollout_accelerators",
        "rollout_tp_size", "rollout_precision", "gpu_memory_utilization", "longest_response", "staleness", "offload",
        "critic",
    )  # fmt: skip
