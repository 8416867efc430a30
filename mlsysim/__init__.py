"""Costs of machine-learning systems as sympy equations: printed, evaluated, swept, differentiated.

Public names load when first used, so that ``import mlsysim`` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlsysim.version import __version__

_HOME = {
    "Accelerator": "mlsysim.catalog",
    "Catalog": "mlsysim.catalog",
    "Fabric": "mlsysim.catalog",
    "Fleet": "mlsysim.catalog",
    "MemoryDesign": "mlsysim.catalog",
    "MemoryKind": "mlsysim.catalog",
    "Recipe": "mlsysim.catalog",
    "Rent": "mlsysim.catalog",
    "Node": "mlsysim.catalog",
    "SparseTransformerWorkload": "mlsysim.catalog",
    "Traffic": "mlsysim.catalog",
    "TransformerWorkload": "mlsysim.catalog",
    "from_megatron_config": "mlsysim.catalog.run_configs",
    "from_torchtitan_toml": "mlsysim.catalog.run_configs",
    "from_trainer_arguments": "mlsysim.catalog.run_configs",
    "load_catalog": "mlsysim.catalog",
    "CollectiveModel": "mlsysim.models",
    "DistributedModel": "mlsysim.models",
    "EconomicsModel": "mlsysim.models",
    "ExpertParallelModel": "mlsysim.models",
    "KernelModel": "mlsysim.models",
    "MemoryExpansionModel": "mlsysim.models.memory_expansion",
    "IterationModel": "mlsysim.models",
    "MoERoutingModel": "mlsysim.models",
    "ParameterCountModel": "mlsysim.models",
    "PerformanceModel": "mlsysim.models",
    "Result": "mlsysim.study.results.result",
    "Simulation": "mlsysim.simulation.outcome",
    "Solution": "mlsysim.study.inverse.solution",
    "ServingCapacityModel": "mlsysim.models",
    "ServingModel": "mlsysim.models",
    "TrainingMemoryModel": "mlsysim.models",
    "compare": "mlsysim.study.results.comparison",
    "distributions": "mlsysim.study.uncertainties",
    "Slot": "mlsysim.inputs.slot",
    "Variant": "mlsysim.inputs.variant",
    "swapped": "mlsysim.symbolic",
    "derived": "mlsysim.inputs.axes",
    "linked": "mlsysim.inputs.axes",
    "Reference": "mlsysim.references",
    "add_reference": "mlsysim.references",
    "dropped_tokens": "mlsysim.study.routing_log",
    "expert_loads": "mlsysim.study.routing_log",
    "routing_imbalance": "mlsysim.study.routing_log",
    "Example": "mlsysim.symbolic",
    "Formula": "mlsysim.symbolic",
    "Index": "mlsysim.symbolic",
    "LeastInteger": "mlsysim.symbolic",
    "Requirement": "mlsysim.symbolic",
    "Root": "mlsysim.symbolic",
    "Source": "mlsysim.symbolic",
    "System": "mlsysim.symbolic",
    "UnitSymbol": "mlsysim.symbolic",
    "at_least": "mlsysim.symbolic",
    "between": "mlsysim.symbolic",
    "boolean": "mlsysim.symbolic",
    "by_label": "mlsysim.symbolic",
    "by_member": "mlsysim.symbolic",
    "byte": "mlsysim.symbolic",
    "choice": "mlsysim.symbolic",
    "evaluated_at": "mlsysim.symbolic",
    "family": "mlsysim.symbolic",
    "flag": "mlsysim.symbolic",
    "flop": "mlsysim.symbolic",
    "integer": "mlsysim.symbolic",
    "label": "mlsysim.symbolic",
    "nonnegative": "mlsysim.symbolic",
    "positive": "mlsysim.symbolic",
    "request": "mlsysim.symbolic",
    "sharded": "mlsysim.symbolic",
    "token": "mlsysim.symbolic",
    "total": "mlsysim.symbolic",
    "variable": "mlsysim.symbolic",
    "when": "mlsysim.symbolic",
    "verify": "mlsysim.models.verify",
    "Verification": "mlsysim.study.proofs.verification",
    "Q_": "mlsysim.units",
    "ureg": "mlsysim.units",
}
_CATALOG = ("Hardware", "Models", "Systems", "Stacks", "Recipes")
_ROOMS = (
    "backends",
    "book",
    "bounds",
    "catalog",
    "errors",
    "formulas",
    "graph",
    "inputs",
    "models",
    "plot",
    "show",
    "simulation",
    "study",
    "symbolic",
    "symbols",
    "units",
    "web",
)

__all__ = [
    "Q_",
    "Accelerator",
    "Catalog",
    "CollectiveModel",
    "DistributedModel",
    "EconomicsModel",
    "Example",
    "ExpertParallelModel",
    "Fabric",
    "Fleet",
    "Formula",
    "Hardware",
    "Index",
    "IterationModel",
    "KernelModel",
    "LeastInteger",
    "MemoryDesign",
    "MemoryExpansionModel",
    "MemoryKind",
    "MoERoutingModel",
    "Models",
    "Node",
    "ParameterCountModel",
    "PerformanceModel",
    "Recipe",
    "Recipes",
    "Reference",
    "Rent",
    "Requirement",
    "Result",
    "Root",
    "ServingCapacityModel",
    "ServingModel",
    "Simulation",
    "Slot",
    "Solution",
    "Source",
    "SparseTransformerWorkload",
    "Stacks",
    "System",
    "Systems",
    "Traffic",
    "TrainingMemoryModel",
    "TransformerWorkload",
    "UnitSymbol",
    "Variant",
    "Verification",
    "__version__",
    "add_reference",
    "at_least",
    "between",
    "boolean",
    "by_label",
    "by_member",
    "byte",
    "choice",
    "compare",
    "derived",
    "distributions",
    "dropped_tokens",
    "evaluated_at",
    "expert_loads",
    "family",
    "flag",
    "flop",
    "from_megatron_config",
    "from_torchtitan_toml",
    "from_trainer_arguments",
    "integer",
    "label",
    "linked",
    "load_catalog",
    "nonnegative",
    "positive",
    "request",
    "routing_imbalance",
    "sharded",
    "swapped",
    "token",
    "total",
    "ureg",
    "variable",
    "verify",
    "when",
]

if TYPE_CHECKING:
    from mlsysim.catalog import (
        Accelerator,
        Catalog,
        Fabric,
        Fleet,
        Group,
        MemoryDesign,
        MemoryKind,
        Node,
        Recipe,
        Rent,
        SparseTransformerWorkload,
        Traffic,
        TransformerWorkload,
        load_catalog,
    )
    from mlsysim.catalog.run_configs import from_megatron_config, from_torchtitan_toml, from_trainer_arguments
    from mlsysim.inputs.axes import derived, linked
    from mlsysim.inputs.slot import Slot
    from mlsysim.inputs.variant import Variant
    from mlsysim.models import (
        CollectiveModel,
        DistributedModel,
        EconomicsModel,
        ExpertParallelModel,
        IterationModel,
        KernelModel,
        MemoryExpansionModel,
        MoERoutingModel,
        ParameterCountModel,
        PerformanceModel,
        ServingCapacityModel,
        ServingModel,
        TrainingMemoryModel,
    )
    from mlsysim.models.verify import verify
    from mlsysim.references import Reference, add_reference
    from mlsysim.simulation.outcome import Simulation
    from mlsysim.study.inverse.solution import Solution
    from mlsysim.study.proofs.verification import Verification
    from mlsysim.study.results.comparison import compare
    from mlsysim.study.results.result import Result
    from mlsysim.study.routing_log import dropped_tokens, expert_loads, routing_imbalance
    from mlsysim.study.uncertainties import distributions
    from mlsysim.symbolic import (
        Example,
        Formula,
        Index,
        LeastInteger,
        Requirement,
        Root,
        Source,
        System,
        UnitSymbol,
        at_least,
        between,
        boolean,
        by_label,
        by_member,
        byte,
        choice,
        evaluated_at,
        family,
        flag,
        flop,
        integer,
        label,
        nonnegative,
        positive,
        request,
        sharded,
        swapped,
        token,
        total,
        variable,
        when,
    )
    from mlsysim.units import Q_, ureg

    Hardware: Group
    Models: Group
    Systems: Group
    Stacks: Group
    Recipes: Group


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _CATALOG:
        found = getattr(import_module("mlsysim.catalog").builtin(), name)
    elif name in _HOME:
        found = getattr(import_module(_HOME[name]), name)
    elif name in _ROOMS:
        return import_module(f"mlsysim.{name}")
    else:
        raise AttributeError(f"module 'mlsysim' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*__all__, *_ROOMS])
