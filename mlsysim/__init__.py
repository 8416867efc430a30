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
    "Node": "mlsysim.catalog",
    "SparseTransformerWorkload": "mlsysim.catalog",
    "TransformerWorkload": "mlsysim.catalog",
    "load_catalog": "mlsysim.catalog",
    "DistributedModel": "mlsysim.models",
    "EconomicsModel": "mlsysim.models",
    "MemoryExpansionModel": "mlsysim.models.memory_expansion",
    "MoERoutingModel": "mlsysim.models",
    "ParameterCountModel": "mlsysim.models",
    "PerformanceModel": "mlsysim.models",
    "Result": "mlsysim.study.result",
    "ServingCapacityModel": "mlsysim.models",
    "TrainingMemoryModel": "mlsysim.models",
    "Variant": "mlsysim.inputs.variant",
    "derived": "mlsysim.inputs.axes",
    "linked": "mlsysim.inputs.axes",
    "Reference": "mlsysim.references",
    "add_reference": "mlsysim.references",
    "routing_imbalance": "mlsysim.study.routing_log",
    "Example": "mlsysim.symbolic",
    "Formula": "mlsysim.symbolic",
    "Index": "mlsysim.symbolic",
    "Source": "mlsysim.symbolic",
    "System": "mlsysim.symbolic",
    "by_member": "mlsysim.symbolic",
    "family": "mlsysim.symbolic",
    "total": "mlsysim.symbolic",
    "variable": "mlsysim.symbolic",
    "Q_": "mlsysim.units",
    "ureg": "mlsysim.units",
}
_CATALOG = ("Hardware", "Models", "Systems")
_ROOMS = (
    "book",
    "catalog",
    "engine",
    "errors",
    "formulas",
    "inputs",
    "models",
    "plot",
    "show",
    "study",
    "symbolic",
    "symbols",
    "units",
)

__all__ = [
    "Q_",
    "Accelerator",
    "Catalog",
    "DistributedModel",
    "EconomicsModel",
    "Example",
    "Fabric",
    "Fleet",
    "Formula",
    "Hardware",
    "Index",
    "MemoryDesign",
    "MemoryExpansionModel",
    "MemoryKind",
    "MoERoutingModel",
    "Models",
    "Node",
    "ParameterCountModel",
    "PerformanceModel",
    "Reference",
    "Result",
    "ServingCapacityModel",
    "Source",
    "SparseTransformerWorkload",
    "System",
    "Systems",
    "TrainingMemoryModel",
    "TransformerWorkload",
    "Variant",
    "__version__",
    "add_reference",
    "by_member",
    "derived",
    "family",
    "linked",
    "load_catalog",
    "routing_imbalance",
    "total",
    "ureg",
    "variable",
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
        SparseTransformerWorkload,
        TransformerWorkload,
        load_catalog,
    )
    from mlsysim.inputs.axes import derived, linked
    from mlsysim.inputs.variant import Variant
    from mlsysim.models import (
        DistributedModel,
        EconomicsModel,
        MemoryExpansionModel,
        MoERoutingModel,
        ParameterCountModel,
        PerformanceModel,
        ServingCapacityModel,
        TrainingMemoryModel,
    )
    from mlsysim.references import Reference, add_reference
    from mlsysim.study.result import Result
    from mlsysim.study.routing_log import routing_imbalance
    from mlsysim.symbolic import Example, Formula, Index, Source, System, by_member, family, total, variable
    from mlsysim.units import Q_, ureg

    Hardware: Group
    Models: Group
    Systems: Group


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
