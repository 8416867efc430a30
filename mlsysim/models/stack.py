"""The software stack as inputs: what a framework reaches of the hardware."""

from __future__ import annotations

from collections.abc import Iterable

from mlsysim.catalog import Stack
from mlsysim.inputs.slot import Slot

#: The entry whose values are the defaults of every model.
GENERIC = "Generic"


def stack_slot(provides: Iterable[str]) -> Slot:
    """An argument that takes a software stack, and the inputs it gives.

    Parameters
    ----------
    provides : iterable of str
        Inputs of the model that a stack gives.
    """
    return Slot(Stack, tuple(dict.fromkeys(provides)), default=GENERIC)


#: What a stack says of the memory of a training step.
MEMORY = (
    "loss_kernel",
    "loss_chunks",
    "update_buffer",
    "gradients_at_loss",
    "gradient_dtype",
    "optimizer_in_backward",
    "optimizer_device",
    "activation_offload",
    "attention_kernel",
    "elementwise_kernels",
    "residual_dtype",
    "routing_weights",
    "workspace",
    "loaded_mask",
    "vocab_multiple",
    "memory_spread",
    "adapter_dtype",
    "memory_reading",
    "context_memory",
    "pool_share",
)
