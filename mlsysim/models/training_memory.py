"""Does this training run fit on one accelerator?"""

from __future__ import annotations

from sympy import Eq, Mod

from mlsysim.catalog import Accelerator, TransformerWorkload
from mlsysim.formulas import number_formats, training_memory
from mlsysim.models.base import PerformanceModel
from mlsysim.models.binding import Slot
from mlsysim.symbolic import Requirement
from mlsysim.symbols.training import e, p, t
from mlsysim.symbols.workload import E, L, a


class TrainingMemoryModel(PerformanceModel):
    """Memory one accelerator needs to train a transformer, part by part."""

    variants = {"first_order": number_formats.FORMULAS + training_memory.FORMULAS}
    slots = {
        "model": Slot(TransformerWorkload, ("parameters", "layers", "hidden_dim", "heads", "experts")),
        "hardware": Slot(Accelerator, ("memory_capacity",)),
    }
    keywords = (
        "batch_size",
        "seq_len",
        "precision",
        "optimizer",
        "activation_checkpointing",
        "zero_stage",
        "dp_size",
        "tp_size",
        "pp_size",
        "ep_size",
        "gradient_accumulation_steps",
        "trainable_fraction",
        "communication_buffer_fraction",
    )
    defaults = {
        "seq_len": 2048,
        "precision": "fp16",
        "optimizer": "adam",
        "activation_checkpointing": "selective",
        "zero_stage": 0,
        "dp_size": 1,
        "tp_size": 1,
        "pp_size": 1,
        "ep_size": 1,
        "gradient_accumulation_steps": 1,
        "trainable_fraction": 1.0,
        "communication_buffer_fraction": 0.05,
    }
    requirements = (
        Requirement(t, Eq(Mod(a, t), 0), "must divide {heads}"),
        Requirement(e, Eq(Mod(E, e), 0), "must divide {experts} (1 for a dense model)"),
        Requirement(p, p <= L, "must be at most {layers}"),
    )
    headline = (
        "weights",
        "gradients",
        "optimizer_state",
        "activations",
        "communication_buffers",
        "total_memory",
        "memory_utilization",
        "feasible",
    )
