"""The front door: one class per question.

The model of two memories, which holds the formulas of three others, loads when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlsysim.models.base import PerformanceModel
from mlsysim.models.distributed import DistributedModel
from mlsysim.models.economics import EconomicsModel
from mlsysim.models.moe_routing import MoERoutingModel
from mlsysim.models.parameter_count import ParameterCountModel
from mlsysim.models.result import Result
from mlsysim.models.serving_capacity import ServingCapacityModel
from mlsysim.models.training_memory import TrainingMemoryModel
from mlsysim.models.variant import Variant

if TYPE_CHECKING:
    from mlsysim.models.memory_expansion import MemoryExpansionModel

__all__ = [
    "DistributedModel",
    "EconomicsModel",
    "MemoryExpansionModel",
    "MoERoutingModel",
    "ParameterCountModel",
    "PerformanceModel",
    "Result",
    "ServingCapacityModel",
    "TrainingMemoryModel",
    "Variant",
]


def __getattr__(name: str) -> Any:
    if name != "MemoryExpansionModel":
        raise AttributeError(f"module 'mlsysim.models' has no attribute {name!r}")
    from mlsysim.models.memory_expansion import MemoryExpansionModel

    return MemoryExpansionModel


def every_model() -> tuple[type[PerformanceModel], ...]:
    """All models that come with the library, in the order of the book."""
    from mlsysim.models.memory_expansion import MemoryExpansionModel

    return (
        ParameterCountModel,
        TrainingMemoryModel,
        ServingCapacityModel,
        MoERoutingModel,
        DistributedModel,
        EconomicsModel,
        MemoryExpansionModel,
    )
