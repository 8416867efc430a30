"""The front door: one class per question, each loaded with its formulas when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mlsysim.models.base import PerformanceModel

if TYPE_CHECKING:
    from mlsysim.models.distributed import DistributedModel
    from mlsysim.models.economics import EconomicsModel
    from mlsysim.models.memory_expansion import MemoryExpansionModel
    from mlsysim.models.moe_routing import MoERoutingModel
    from mlsysim.models.parameter_count import ParameterCountModel
    from mlsysim.models.serving_capacity import ServingCapacityModel
    from mlsysim.models.training_memory import TrainingMemoryModel

#: Module of each model, in the order of the book.
_MODELS = {
    "ParameterCountModel": "parameter_count",
    "TrainingMemoryModel": "training_memory",
    "ServingCapacityModel": "serving_capacity",
    "MoERoutingModel": "moe_routing",
    "DistributedModel": "distributed",
    "EconomicsModel": "economics",
    "MemoryExpansionModel": "memory_expansion",
}

__all__ = [
    "DistributedModel",
    "EconomicsModel",
    "MemoryExpansionModel",
    "MoERoutingModel",
    "ParameterCountModel",
    "PerformanceModel",
    "ServingCapacityModel",
    "TrainingMemoryModel",
]


def __getattr__(name: str) -> Any:
    if name not in _MODELS:
        raise AttributeError(f"module 'mlsysim.models' has no attribute {name!r}")
    found = getattr(import_module(f"mlsysim.models.{_MODELS[name]}"), name)
    globals()[name] = found
    return found


def every_model() -> tuple[type[PerformanceModel], ...]:
    """All models that come with the library, in the order of the book."""
    return tuple(__getattr__(name) for name in _MODELS)
