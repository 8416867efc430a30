"""The model of energy, carbon and cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mlsysim.catalog import Accelerator, Fleet, Rent, TransformerWorkload
from mlsysim.formulas import economics, energy
from mlsysim.inputs.declaration import Foundation
from mlsysim.inputs.slot import Slot
from mlsysim.inputs.variant import Variant
from mlsysim.models.base import PerformanceModel
from mlsysim.models.distributed import LAWS, MEMORY, TIMED, DistributedModel
from mlsysim.models.energy import DEFAULTS, GRID, KEYWORDS, UNKNOWN
from mlsysim.models.recipe import RECIPE
from mlsysim.models.serving import ServingModel
from mlsysim.models.serving_capacity import ServingCapacityModel
from mlsysim.models.shape import COUNTED_SERVED, UNCROSSED
from mlsysim.models.stack import stack_slot
from mlsysim.symbolic import Formula, Requirement, System, swapped
from mlsysim.symbols.costs import n_out_run

#: Energy, and what a token costs.
_SHARED = (*energy.FORMULAS_OF_ANY, economics.token_cost)
_RUN, _FLEET = DistributedModel(), ServingCapacityModel("prefill_aware")
_PARTS = ("hardware_cost", "energy_cost", "maintenance_cost")
#: Given tokens are some; a deployment may answer none.
_SOME_TOKENS = (Requirement(n_out_run, n_out_run > 0, "must be above 0"),)


#: What examples pay for an accelerator, and what they are given of one with load and tokens.
_BOUGHT, _RENTED = {"price": 30000}, {"rental_price": 2}
_LOADED = {"hardware": "H100", "accelerators": 8, "run_tokens": 1e12}


def _chained(model: PerformanceModel, economy: tuple[Formula, ...], about: str) -> Variant:
    """The formulas of a model with those of its cost behind them, as one system."""
    formulas = swapped(model.system, (*_SHARED, *economy))
    known = {formula.name for formula in formulas}
    first = ("total_cost", *_PARTS, "cost_per_hour", "cost_per_token", "cost_per_input_token", "cost_per_output_token",
             "cost_per_request", "accelerators", "duration", "average_power", "energy", "energy_per_token", "carbon",
             "step_time", "mfu", "total_memory", "required_replicas", "estimated_p99_latency", "deployed_replicas",
             "ttft_p99", "tpot_p99", "slo_attainment", "feasible")  # fmt: skip
    return Variant(
        formulas,
        requirements=model.requirements,
        defaults=model.defaults,
        headline=tuple(name for name in first if name in known),
        example={**model.example, **(_BOUGHT if set(economics.BOUGHT) <= set(economy) else _RENTED)},
        about=about,
    )


#: Deployments, by the variant of the model that says how their engines work.
_ENGINES = {
    "deployment": (
        "colocated",
        "Replicas of several accelerators that prefill and decode by turns and hold what is promised",
    ),
    "disaggregated_deployment": (
        "disaggregated",
        "Pools of engines that either prefill or decode and hold what is promised",
    ),
    "chunked_deployment": (
        "chunked",
        "Replicas of several accelerators that prefill in chunks beside their decoding and hold what is promised, by a "
        "Markov chain",
    ),
    "chunked_deployment_estimate": (
        "chunked_estimate",
        "Replicas of several accelerators that prefill in chunks beside their decoding and hold what is promised, in "
        "closed form",
    ),
}


def _deployments() -> Iterator[tuple[str, Variant]]:
    """Formulas of the costs of deployments on accelerators that were bought, and on rented ones."""
    for name, (engine, about) in _ENGINES.items():
        replicas = ServingModel(engine)
        yield name, _chained(replicas, (economics.request_cost, *economics.BOUGHT), f"{about}; bought.")
        yield f"rented_{name}", _chained(replicas, (economics.request_cost,), f"{about}; rented.")


#: What is as far off as the time of a run, or as what a fleet completes.
_COSTS = ("total_cost", "hardware_cost", "cost_per_hour", "cost_per_token", "cost_per_input_token",
          "cost_per_output_token", "cost_per_request")  # fmt: skip


def _foundations() -> Iterator[Foundation]:
    """The models that costs follow from."""
    step = {name: name for name in (*TIMED, *MEMORY)}
    costs = dict.fromkeys(("duration", *_COSTS), "training_time")
    yield Foundation(DistributedModel, _RUN.variant, {**step, **costs}, ("training", "rented_training"))
    fleet = dict.fromkeys((*_COSTS, "accelerators", "required_replicas"), "qps_capacity")
    p99 = {"estimated_p99_latency": "estimated_p99_latency"}
    yield Foundation(ServingCapacityModel, _FLEET.variant, {**fleet, **p99}, ("serving", "rented_serving"))
    for name, (engine, _) in _ENGINES.items():
        outputs = {each: each for foundation in ServingModel.foundations for each in foundation.outputs}
        outputs |= dict.fromkeys((*_COSTS, "accelerators"), "deployed_replicas")
        yield Foundation(ServingModel, engine, outputs, (name, f"rented_{name}"))


def _given(slot: str) -> tuple[str, ...]:
    """Inputs that an entry gives to any of these models."""
    return tuple(dict.fromkeys(name for model in (_RUN, _FLEET, ServingModel) for name in model.slots[slot].provides))


class EconomicsModel(PerformanceModel):
    """What does a training run or a serving fleet cost?

    Energy, carbon and dollars of a training run or a serving fleet, from its formulas to its price.
    """

    command = "cost"
    example = {"variant": "rented_training", **DistributedModel.example, "rental_price": 2}
    answer = "total_cost"
    foundations = tuple(_foundations())
    variants = {
        "training": _chained(_RUN, economics.BOUGHT, "A distributed training run on accelerators that were bought."),
        "rented_training": _chained(_RUN, economics.RENTED, "A distributed training run on rented accelerators."),
        "serving": _chained(
            _FLEET,
            (economics.request_cost, *economics.BOUGHT),
            "Replicas that hold a latency target, one accelerator each, bought.",
        ),
        "rented_serving": _chained(
            _FLEET,
            (economics.request_cost, *economics.RENTED),
            "Replicas that hold a latency target, one rented accelerator each.",
        ),
        **dict(_deployments()),
        "fleet": Variant(
            _SHARED + economics.BOUGHT,
            requirements=_SOME_TOKENS,
            headline=("total_cost", *_PARTS, "cost_per_token", "average_power", "energy", "energy_per_token", "carbon"),
            example={**_LOADED, **_BOUGHT},
            about="Accelerators that were bought, with load and tokens given.",
        ),
        energy.LOAD_LINE: Variant(
            swapped(
                System((*_SHARED, *economics.BOUGHT)),
                (energy.load_line,),
                energy.BY_ARITHMETIC,
            ),
            requirements=_SOME_TOKENS,
            defaults={"idle_power_fraction": 0.3},
            headline=("total_cost", *_PARTS, "cost_per_token", "average_power", "energy", "energy_per_token", "carbon"),
            example={**_LOADED, **_BOUGHT},
            about="The same, with power in proportion to the load.",
        ),
        "rented_fleet": Variant(
            _SHARED + economics.RENTED,
            requirements=_SOME_TOKENS,
            headline=("total_cost", "cost_per_token", "average_power", "energy", "energy_per_token", "carbon"),
            example={**_LOADED, **_RENTED},
            about="Rented accelerators, with load and tokens given.",
        ),
    }
    uncrossed = UNCROSSED
    follows = DistributedModel.follows
    caveats = (*LAWS, UNKNOWN)
    defaults = DEFAULTS
    slots = {
        "model": Slot(
            TransformerWorkload,
            _given("model"),
            counted=COUNTED_SERVED,
        ),
        "hardware": Slot(Accelerator, (*_RUN.slots["hardware"].provides, "tdp", "price")),
        "fleet": Slot(Fleet, (*_RUN.slots["fleet"].provides, "tdp", "price", "accelerators")),
        "fabric": replace(ServingModel.slots["fabric"], asks=("isl",)),
        "rent": Slot(Rent, ("rental_price",), strict=True),
        "traffic": replace(ServingModel.slots["traffic"], strict=True, asks=("isl",)),
        "stack": stack_slot(_given("stack")),
        **GRID,
        **RECIPE,
    }
    room, alone, automatic = ServingModel.room, ServingModel.alone, ServingModel.automatic
    common = (
        "tp_size",
        "pp_size",
        "ep_size",
        "optimizer",
        "activation_checkpointing",
        "price",
        "electricity_price",
        "amortization",
    )
    keywords = {
        **dict.fromkeys((*DistributedModel.keywords, *ServingCapacityModel.keywords, *ServingModel.keywords), ...),
        "accelerators": ...,
        "duration": 365,
        "busy_share": 1.0,
        "flop_share": 0.35,
        "run_tokens": ...,
        "rental_price": ...,
        **KEYWORDS,
        "electricity_price": 0.08,
        "infrastructure_fraction": 0.5,
        "amortization": 4 * 365,
        "maintenance_rate": 0.05 / 365,
    }
