"""The front door: one class per question, each loaded with its formulas when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlsysim.models.registry import Registry, home_of, loaded, ours

if TYPE_CHECKING:
    from mlsysim.models.base import PerformanceModel
    from mlsysim.models.collective import CollectiveModel
    from mlsysim.models.distributed import DistributedModel
    from mlsysim.models.economics import EconomicsModel
    from mlsysim.models.expert_parallel import ExpertParallelModel
    from mlsysim.models.iteration import IterationModel
    from mlsysim.models.kernel import KernelModel
    from mlsysim.models.memory_expansion import MemoryExpansionModel
    from mlsysim.models.moe_routing import MoERoutingModel
    from mlsysim.models.parameter_count import ParameterCountModel
    from mlsysim.models.post_training import PostTrainingModel
    from mlsysim.models.run import RunModel
    from mlsysim.models.serving import ServingModel
    from mlsysim.models.serving_capacity import ServingCapacityModel
    from mlsysim.models.training_memory import TrainingMemoryModel

__all__ = [
    "CollectiveModel",
    "DistributedModel",
    "EconomicsModel",
    "ExpertParallelModel",
    "IterationModel",
    "KernelModel",
    "MemoryExpansionModel",
    "MoERoutingModel",
    "ParameterCountModel",
    "PerformanceModel",
    "PostTrainingModel",
    "Registry",
    "RunModel",
    "ServingCapacityModel",
    "ServingModel",
    "TrainingMemoryModel",
    "every_model",
]


def __getattr__(name: str) -> Any:
    module = home_of(name) if name != "PerformanceModel" else "base"
    if not module:
        raise AttributeError(f"module 'mlsysim.models' has no attribute {name!r}")
    value = globals()[name] = loaded(module, name)
    return value


def every_model() -> tuple[type[PerformanceModel], ...]:
    """All models that come with the library, in the order of the book.

    Returns
    -------
    tuple of type

    Examples
    --------
    >>> from mlsysim.models import every_model
    >>> [model.__name__ for model in every_model()][:2]
    ['ParameterCountModel', 'TrainingMemoryModel']
    """
    return tuple(listed.load() for listed in ours())
