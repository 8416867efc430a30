"""The model of energy, carbon and cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from mlsysim.catalog import Accelerator, Fleet, Rent, TransformerWorkload
from mlsysim.formulas import economics, energy
from mlsysim.inputs.declaration import Foundation
from mlsysim.inputs.slot import Slot
from mlsysim.inputs.variant import Variant
from mlsysim.models.base import PerformanceModel
from mlsysim.models.distributed import LAWS, MEMORY, TIMED, DistributedModel
from mlsysim.models.energy import DEFAULTS, GRID, KEYWORDS, UNKNOWN
from mlsysim.models.post_training import ROLLOUT, PostTrainingModel
from mlsysim.models.recipe import RECIPE
from mlsysim.models.run import RunModel
from mlsysim.models.serving import ServingModel
from mlsysim.models.serving_capacity import ServingCapacityModel
from mlsysim.models.shape import COUNTED_SERVED, UNCROSSED
from mlsysim.models.stack import stack_slot
from mlsysim.symbolic import Formula, Requirement, System, swapped
from mlsysim.symbols.costs import n_out_run

#: Ways to hold accelerators: the formulas of their bill, and what an example pays for one.
TENURES = {
    "owned": (economics.OWNED, {"price": 30000}),
    "rented": (economics.RENTED, {"rental_price": 2}),
}
_PRICES = {name for _, price in TENURES.values() for name in price}
#: Energy, and what a token costs.
_SHARED = System((*energy.FORMULAS_OF_ANY, economics.token_cost))
_COSTS = ("total_cost", "hardware_cost", "cost_per_hour", "cost_per_token", "cost_per_input_token",
          "cost_per_output_token", "cost_per_request")  # fmt: skip


@dataclass(frozen=True)
class Paid:
    """Use of accelerators that is paid for: its formulas, those that lead to its bill, and the source of its errors.

    Parameters
    ----------
    use : PerformanceModel or Variant
        Formulas of the use itself, with their requirements, defaults and example.
    about : str
        Name of the use, for the book.
    formulas : tuple of Formula
        Formulas between those of the use and its bill.
    basis : str
        Measured output of the use whose error its costs take over.
    sizes : tuple of str
        Further outputs that take over that error.
    measured : tuple of str
        Outputs that keep an error of their own.
    costs : tuple of str
        Costs that take over the error of the basis.
    without : tuple of str
        Outputs of energy that it has not.
    """

    use: PerformanceModel | Variant
    about: str
    formulas: tuple[Formula, ...] = ()
    basis: str = ""
    sizes: tuple[str, ...] = ()
    measured: tuple[str, ...] = ()
    costs: tuple[str, ...] = _COSTS
    without: tuple[str, ...] = ()


def _measured(use: type[PerformanceModel]) -> tuple[str, ...]:
    """Outputs of a use that take over the error of another model."""
    return tuple(name for foundation in use.foundations for name in foundation.outputs)


def _deployment(engine: str, about: str) -> Paid:
    sizes, measured = ("accelerators",), _measured(ServingModel)
    return Paid(ServingModel(engine), about, (economics.request_cost,), "deployed_replicas", sizes, measured)


_LOADED = Variant(
    (),
    # Given tokens are some; a deployment may answer none.
    requirements=(Requirement(n_out_run, n_out_run > 0, "must be above 0"),),
    example={"hardware": "H100", "accelerators": 8, "run_tokens": 1e12},
)

#: Uses that are paid for, by the name that follows the tenure in that of a variant.
PAID = {
    "training": Paid(
        DistributedModel(), "A distributed training run", (), "training_time", ("duration",), (*TIMED, *MEMORY)
    ),
    "serving": Paid(
        ServingCapacityModel("prefill_aware"),
        "Replicas of one accelerator each that meet a latency target",
        (economics.request_cost,),
        "qps_capacity",
        ("accelerators", "required_replicas"),
        ("estimated_p99_latency",),
    ),
    "deployment": _deployment(
        "colocated", "Replicas of several accelerators that prefill and decode by turns and meet latency targets"
    ),
    "disaggregated_deployment": _deployment(
        "disaggregated", "Pools of engines that either prefill or decode and meet latency targets"
    ),
    "chunked_deployment": _deployment(
        "chunked",
        "Replicas of several accelerators that prefill in chunks beside their decoding and meet latency targets, by a "
        "Markov chain",
    ),
    "chunked_deployment_estimate": _deployment(
        "chunked_estimate",
        "Replicas of several accelerators that prefill in chunks beside their decoding and meet latency targets, in "
        "closed form",
    ),
    "run": Paid(
        RunModel(),
        "A distributed training run whose devices fail, with its spare nodes",
        (economics.run_cost,),
        "run_time",
        ("duration", "run_cost", "run_cost_p90", "failure_cost"),
        _measured(RunModel),
    ),
    "post_training": Paid(
        PostTrainingModel(),
        "Steps of post-training by reinforcement learning on the same accelerators, for a time that is given",
        (),
        "step_time",
        ("samples_per_second",),
        ("step_time",),
        ("cost_per_token",),
    ),
    "fleet": Paid(_LOADED, "Accelerators with load and tokens given"),
    f"fleet_{energy.LOAD_LINE}": Paid(
        replace(_LOADED, formulas=(energy.load_line,), defaults={"idle_power_fraction": 0.3}),
        "The same, with power in proportion to the load",
        without=energy.BY_ARITHMETIC,
    ),
}
_USES = tuple(dict.fromkeys(type(paid.use) for paid in PAID.values() if isinstance(paid.use, PerformanceModel)))

_HEADLINE = ("total_cost", "hardware_cost", "energy_cost", "maintenance_cost", "cost_per_hour", "cost_per_token",
             "cost_per_input_token", "cost_per_output_token", "cost_per_request", "run_cost_deviation", "run_cost_p90",
             "failure_cost", "accelerators", "duration", "run_time_p90", "run_goodput", "ettr", "average_power",
             "energy", "energy_per_token", "carbon", "step_time", "samples_per_second", "mfu", "total_memory",
             "required_replicas", "estimated_p99_latency", "deployed_replicas", "ttft_p99", "tpot_p99",
             "slo_attainment", "feasible")  # fmt: skip


def _billed(paid: Paid, tenure: str) -> Variant:
    """The formulas of a use with those of its bill behind them, as one system."""
    bill, price = TENURES[tenure]
    formulas = swapped(swapped(_SHARED, paid.use.formulas, paid.without), (*paid.formulas, *bill))
    known = {formula.name for formula in formulas}
    asked = {name: value for name, value in paid.use.example.items() if name not in _PRICES}
    return Variant(
        formulas,
        requirements=paid.use.requirements,
        defaults=paid.use.defaults,
        headline=tuple(name for name in _HEADLINE if name in known),
        example={**asked, **price},
        about=f"{paid.about}; {tenure}.",
    )


def _foundations() -> Iterator[Foundation]:
    """The models that costs follow from."""
    for name, paid in PAID.items():
        if isinstance(paid.use, PerformanceModel):
            outputs = {each: each for each in paid.measured} | dict.fromkeys((*paid.costs, *paid.sizes), paid.basis)
            variants = tuple(f"{tenure}_{name}" for tenure in TENURES)
            yield Foundation(type(paid.use), paid.use.variant, outputs, variants)


def _given(slot: str) -> tuple[str, ...]:
    """Inputs that an entry gives to any of these uses."""
    return tuple(dict.fromkeys(name for use in _USES if slot in use.slots for name in use.slots[slot].provides))


class EconomicsModel(PerformanceModel):
    """What does a training run or a serving fleet cost?

    Energy, carbon and dollars of a training run or a serving fleet, from its formulas to its price. A variant names
    the tenure of the accelerators, ``owned`` or ``rented``, and what is paid for.
    """

    command = "cost"
    example = {"variant": "rented_training", **DistributedModel.example, "rental_price": 2}
    answer = "total_cost"
    foundations = tuple(_foundations())
    variants = {f"{tenure}_{name}": _billed(paid, tenure) for name, paid in PAID.items() for tenure in TENURES}
    without_calculator = tuple(f"{tenure}_post_training" for tenure in TENURES)
    uncrossed = UNCROSSED
    follows = DistributedModel.follows
    caveats = (*LAWS, UNKNOWN)
    defaults = DEFAULTS
    slots = {
        "model": Slot(TransformerWorkload, _given("model"), counted=COUNTED_SERVED),
        "hardware": Slot(Accelerator, (*_given("hardware"), "tdp", "price"), prefix=ROLLOUT),
        "fleet": Slot(Fleet, (*_given("fleet"), "tdp", "price", "accelerators"), prefix=ROLLOUT),
        "fabric": replace(ServingModel.slots["fabric"], asks=("isl", "num_prompts")),
        "rent": Slot(Rent, ("rental_price",), strict=True),
        **{name: RunModel.slots[name] for name in ("failures", "storage")},
        "rollout_stack": replace(PostTrainingModel.slots["rollout_stack"], strict=True),
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
        **dict.fromkeys((name for use in _USES for name in use.keywords), ...),
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
