"""The model that counts parameters."""

from __future__ import annotations

from mlsysim.catalog import TransformerWorkload
from mlsysim.formulas import mixers, parameter_counts
from mlsysim.inputs.slot import Slot
from mlsysim.models.base import PerformanceModel
from mlsysim.models.shape import COUNTED, OPTIONAL_SHAPE, SHAPE, SHAPE_REQUIREMENTS


class ParameterCountModel(PerformanceModel):
    """How many parameters does a transformer have, and where?

    Parameters of a transformer by its shape, total and active, tensor by tensor.
    """

    command = "parameters"
    example = {"model": "DeepSeek_V3"}
    answer = "parameters"
    variants = {"counted": (*mixers.STORED, *parameter_counts.FORMULAS)}
    slots = {"model": Slot(TransformerWorkload, SHAPE, counted=COUNTED)}
    defaults = OPTIONAL_SHAPE
    requirements = SHAPE_REQUIREMENTS
    headline = (
        "parameters",
        "active_parameters",
        "embedding_parameters",
        "attention_parameters",
        "ffn_parameters",
        "expert_parameters",
        "shared_expert_parameters",
        "router_parameters",
        "norm_parameters",
        "head_parameters",
    )
