"""The front door: one class per question."""

from mlsysim.models.base import PerformanceModel
from mlsysim.models.distributed import DistributedModel
from mlsysim.models.economics import EconomicsModel
from mlsysim.models.moe_routing import MoERoutingModel
from mlsysim.models.parameter_count import ParameterCountModel
from mlsysim.models.result import Result
from mlsysim.models.serving_capacity import ServingCapacityModel
from mlsysim.models.training_memory import TrainingMemoryModel
from mlsysim.models.variant import Variant

__all__ = [
    "DistributedModel",
    "EconomicsModel",
    "MoERoutingModel",
    "ParameterCountModel",
    "PerformanceModel",
    "Result",
    "ServingCapacityModel",
    "TrainingMemoryModel",
    "Variant",
]


def every_model() -> tuple[type[PerformanceModel], ...]:
    """All models that come with the library, in the order of the book."""
    return (
        ParameterCountModel,
        TrainingMemoryModel,
        ServingCapacityModel,
        MoERoutingModel,
        DistributedModel,
        EconomicsModel,
    )
