"""The model of a run that fails: from a step to days and dollars."""

from __future__ import annotations

from dataclasses import replace

from sympy import Eq

from mlsysim.catalog import Failures, Rent, Storage
from mlsysim.formulas import failure_rates, run_saves, run_spares, runs
from mlsysim.inputs.declaration import Foundation
from mlsysim.inputs.slot import Slot
from mlsysim.inputs.variant import Variant
from mlsysim.models.base import PerformanceModel
from mlsysim.models.distributed import MEMORY, TIMED, DistributedModel
from mlsysim.models.energy import GRID
from mlsysim.models.recipe import RECIPE
from mlsysim.symbolic import Formula, Requirement, swapped
from mlsysim.symbols.runs import N_0, k_shr, n_el, x_f

_STEP = DistributedModel()

_ALONE = (run_saves.priced_save, run_saves.best_interval)
_SHARED = (run_saves.priced_save, run_saves.shared_interval, run_saves.best_shared_interval)
_PRICED = (run_saves.shared_price, run_saves.best_interval)
_PERIODIC = (*failure_rates.PERIODIC, *run_saves.PERIODIC, *run_spares.FORMULAS, *runs.PERIODIC)
_TWO_LEVEL = (*failure_rates.TWO_LEVEL, *run_saves.TWO_LEVEL, *run_spares.FORMULAS, *runs.TWO_LEVEL)
_ELASTIC = (*failure_rates.ELASTIC, *run_spares.COVERED, *runs.ELASTIC_REPLICAS)
_OVERLAPPED = (*run_saves.TIERS, *run_saves.OVERLAPPED, *_SHARED, *_PERIODIC)
_BLOCKING = (*run_saves.TIERS, *run_saves.BLOCKING, *_PRICED, *_PERIODIC)

#: Days of a run, by what they go to.
DAYS = ("time_in_work", "time_in_stalls", "time_in_rework", "time_in_recovery", "time_in_absence", "time_down")
_HEADLINE = (
    "run_time",
    *DAYS,
    "run_time_deviation",
    "run_time_p90",
    "run_goodput",
    "ettr",
    "stall_share",
    "rework_share",
    "recovery_share",
    "absent_share",
    "mean_time_between_interruptions",
    "mttf",
    "expected_failures",
    "recovery_time",
    "best_save_interval",
    "best_memory_interval",
    "save_stall",
    "memory_save_stall",
    "save_latency",
    "save_bytes",
    "host_memory_per_node",
    "spare_nodes_needed",
    "spare_wait_share",
    "accelerators",
    "run_cost",
    "run_cost_deviation",
    "run_cost_p90",
    "failure_cost",
    "feasible",
    "step_time",
    "mfu",
    "total_memory",
)
#: What a run is asked for beside its step.
_RENTED = {"rental_price": 2}
_SAVED = {"placement_time": 60, **_RENTED}
_WRITTEN = {"storage_bandwidth": 100, **_SAVED}
_TYPED = {"training_time": 48.6, "fleet_size": 16384, "accelerators_per_node": 8}


def _variant(formulas: tuple[Formula, ...], about: str, **example: object) -> Variant:
    known = {formula.name for formula in formulas}
    return Variant(
        formulas,
        headline=tuple(name for name in _HEADLINE if name in known),
        defaults={"step_spread": 0},
        example={**_TYPED, **example},
        about=about,
    )


def _trained(formulas: tuple[Formula, ...], about: str, **example: object) -> Variant:
    """The formulas of a training step with those of its run behind them, as one system."""
    chained = swapped(_STEP.system, (*run_saves.STATE, *formulas))
    made = _variant(chained, about)
    return replace(
        made,
        requirements=_STEP.requirements,
        defaults=_STEP.defaults,
        example={**DistributedModel.example, **example},
    )


class RunModel(PerformanceModel):
    """How long does a run take where devices fail, and what does it cost?

    Days and dollars of a training run with failures, saves, spares and restarts, from its step or from a time without.
    """

    command = "run"
    example = {**DistributedModel.example, **_WRITTEN}
    answer = "run_time"
    foundations = (
        Foundation(
            DistributedModel,
            _STEP.variant,
            {**{name: name for name in (*TIMED, *MEMORY)}, **dict.fromkeys(("run_time", "run_cost"), "training_time")},
            ("overlapped", "blocking", "two_level", "elastic"),
        ),
    )
    savings, effective_with = DistributedModel.savings, DistributedModel.effective_with
    variants = {
        "overlapped": _trained(
            (*_OVERLAPPED, *runs.TRAINING, run_saves.feasible_training),
            "Saves are copied to hosts and written while training goes on.",
            **_WRITTEN,
        ),
        "blocking": _trained(
            (*_BLOCKING, *runs.TRAINING, run_saves.feasible_blocking),
            "Training waits until a save is written.",
            **_WRITTEN,
        ),
        "two_level": _trained(
            (
                *run_saves.TIERS,
                *run_saves.FROM_MEMORY,
                *_TWO_LEVEL,
                *runs.TRAINING,
                run_saves.feasible_training,
            ),
            "Copies in host memory restore most failures, and saves in storage the rest.",
            **_WRITTEN,
        ),
        "elastic": _trained(
            (*_ELASTIC, *runs.ELASTIC_TRAINING),
            "A replica leaves at a failure and comes back while the others go on; no saves are counted.",
            dp_replicate_size=8,
            elastic_stall=180,
            away_time=900,
            **_RENTED,
        ),
        "given": _variant(
            (*_ALONE, *_PERIODIC, run_saves.feasible_given),
            "The time without failures, stall and latency of a save are given; without a latency it blocks.",
            save_stall=60,
            load_time=130,
            **_SAVED,
        ),
        "given_overlapped": _variant(
            (run_saves.even_bytes, *_OVERLAPPED, run_saves.feasible_saves),
            "The time without failures and the bytes of a save are given; saves are written while training goes on.",
            save_bytes=5670,
            **_WRITTEN,
        ),
        "given_blocking": _variant(
            (run_saves.even_bytes, *_BLOCKING, run_saves.feasible_given),
            "The time without failures and the bytes of a save are given; training waits until a save is written.",
            save_bytes=5670,
            **_WRITTEN,
        ),
        "given_two_level": _variant(
            (*run_saves.OF_LEVELS, *_TWO_LEVEL, run_saves.feasible_given),
            "The time without failures is given, and stalls of copies in host memory and of saves in storage.",
            save_stall=60,
            memory_save_stall=0.6,
            load_time=130,
            **_SAVED,
        ),
        "given_elastic": replace(
            _variant(
                _ELASTIC,
                "The time without failures is given; one that fails leaves and comes back while the others go on.",
                elastic_replicas=48,
                elastic_stall=180,
                away_time=900,
                **_RENTED,
            ),
            requirements=(Requirement(k_shr, k_shr < n_el, "must be below {elastic_replicas}"),),
        ),
    }
    uncrossed, follows = DistributedModel.uncrossed, DistributedModel.follows
    slots = {
        "model": replace(DistributedModel.slots["model"], strict=True),
        "hardware": replace(
            DistributedModel.slots["hardware"],
            provides=(*DistributedModel.slots["hardware"].provides, "host_copy_bandwidth"),
            strict=True,
        ),
        "fleet": replace(
            DistributedModel.slots["fleet"],
            provides=(*DistributedModel.slots["fleet"].provides, "host_copy_bandwidth"),
        ),
        "failures": Slot(
            Failures,
            (
                "node_failure_rate",
                "failure_clock",
                "measured_nodes",
                "failures_observed",
                "failure_size_exponent",
                "planned_rate",
                "restart_share",
                "detection_time",
                "placement_time",
                "initialization_time",
                "warmup_time",
                "memory_survival",
                "repair_time",
                "elastic_stall",
                "away_time",
            ),
            default="Llama3_405B",
        ),
        "storage": Slot(
            Storage,
            ("storage_bandwidth", "storage_read_bandwidth", "node_storage_bandwidth", "metadata_time"),
            strict=True,
        ),
        "rent": Slot(Rent, ("rental_price",), optional=True),
        "stack": replace(
            DistributedModel.slots["stack"],
            provides=(*DistributedModel.slots["stack"].provides, "step_spread"),
            asks=("efficiency",),
        ),
        **{name: DistributedModel.slots[name] for name in (*GRID, *RECIPE)},
    }
    keywords = {
        "training_time": ...,
        "save_interval": 0.0,
        "interval_rule": "daly",
        "memory_save_interval": 0.0,
        "spare_nodes": 0,
        "spare_coverage": 0.99,
        "scheduled_share": 1.0,
        "restarts_fail": False,
        "corruption_rate": 0.0,
        "corruption_lost_time": 0.0,
        "save_bytes": ...,
        "save_stall": ...,
        "save_latency": 0.0,
        "memory_save_stall": ...,
        "load_time": ...,
        "memory_load_time": 0.0,
        "save_barrier": 0.5,
        "save_writers": 0,
        "writer_bandwidth": 0.0,
        "storage_share": 1.0,
        "other_save_pressure": 0.0,
        "storage_multiplier": 0.0,
        "host_buffers": 2,
        "memory_copies": 0,
        "host_memory_capacity": 0.0,
        "lost_nodes": 0,
        "elastic_replicas": ...,
        "shrunk_replicas": 0,
        "recovery_deviation": 0.0,
        **dict.fromkeys(DistributedModel.keywords, ...),
    }
    defaults = {
        **DistributedModel.defaults,
        "host_copy_bandwidth": 0,
        "node_storage_bandwidth": 0,
        "storage_read_bandwidth": 0,
        "metadata_time": 0,
        "failure_clock": "wall",
        "measured_nodes": 0,
        "failures_observed": 0,
        "failure_size_exponent": 0,
        "restart_share": 0,
        "warmup_time": 0,
        "memory_survival": 0.75,
        "repair_time": 0,
        "accelerators_per_node": 8,
    }
    requirements = (
        Requirement(
            x_f, Eq(x_f, 0) | (N_0 > 0), "must be 0 where no size is known that the rate holds of: give measured_nodes"
        ),
    )
    common = ("save_interval", "spare_nodes", *DistributedModel.common)
    headline = _HEADLINE
    parts = {"run_time": DAYS, **DistributedModel.parts}
