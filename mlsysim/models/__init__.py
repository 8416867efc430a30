"""The front door: one class per question."""

from mlsysim.models.base import PerformanceModel
from mlsysim.models.moe_routing import MoERoutingModel
from mlsysim.models.result import Result
from mlsysim.models.serving_capacity import ServingCapacityModel
from mlsysim.models.training_memory import TrainingMemoryModel

__all__ = ["MoERoutingModel", "PerformanceModel", "Result", "ServingCapacityModel", "TrainingMemoryModel"]
