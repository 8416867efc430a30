"""Costs of machine-learning systems as sympy equations: printed, evaluated, swept, differentiated.

Public names load when first used, so that ``import mlsysim`` costs nothing.
"""

from __future__ import annotations

from typing import Any

from mlsysim.version import __version__ as __version__

_HOME = {
    "Accelerator": "mlsysim.catalog",
    "Catalog": "mlsysim.catalog",
    "Fabric": "mlsysim.catalog",
    "Failures": "mlsysim.catalog",
    "Fleet": "mlsysim.catalog",
    "Grid": "mlsysim.catalog",
    "MemoryDesign": "mlsysim.catalog",
    "MemoryKind": "mlsysim.catalog",
    "Recipe": "mlsysim.catalog",
    "Rent": "mlsysim.catalog",
    "Node": "mlsysim.catalog",
    "SparseTransformerWorkload": "mlsysim.catalog",
    "Storage": "mlsysim.catalog",
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
    "RunModel": "mlsysim.models",
    "PostTrainingModel": "mlsysim.models",
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
    "what_fits": "mlsysim.advice.what_fits",
    "Fits": "mlsysim.advice.fit_table",
    "Plans": "mlsysim.advice.plans",
    "plan": "mlsysim.advice.plan",
    "plan_training": "mlsysim.advice.plan_training",
    "verify": "mlsysim.models.verify",
    "Verification": "mlsysim.study.proofs.verification",
    "Q_": "mlsysim.units",
    "ureg": "mlsysim.units",
}
_CATALOG = ("Hardware", "Models", "Systems", "Stacks", "Recipes")
_ROOMS = (
    "advice",
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

#: Static types of these names are in ``__init__.pyi``.
__all__ = sorted([*_HOME, *_CATALOG, "__version__"])  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _CATALOG:
        value = getattr(import_module("mlsysim.catalog").builtin(), name)
    elif name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in _ROOMS:
        return import_module(f"mlsysim.{name}")
    else:
        raise AttributeError(f"module 'mlsysim' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *_ROOMS])
