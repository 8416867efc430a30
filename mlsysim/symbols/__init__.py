"""The vocabulary: one Variable per quantity, by family. One name, one symbol, one meaning.

The families are imported in one fixed order, because formulas print their symbols in the order of
declaration.
"""
# ruff: noqa: I001

from mlsysim.symbols import (
    workload,
    formats,
    parameters,
    hardware,
    training,
    trained,
    activations,
    serving,
    batching,
    routing,
    step,
    layers,
    network,
    groups,
    fsdp,
    break_even,
    roofline,
    iteration,
    costs,
    deployment,
    chunked,
    chunked_prefill,
    deployment_advice,
    varied_lengths,
    prefix_cache,
    offload,
)

__all__ = [
    "activations",
    "batching",
    "break_even",
    "chunked",
    "chunked_prefill",
    "costs",
    "deployment",
    "deployment_advice",
    "formats",
    "fsdp",
    "groups",
    "hardware",
    "iteration",
    "layers",
    "network",
    "offload",
    "parameters",
    "prefix_cache",
    "roofline",
    "routing",
    "serving",
    "step",
    "trained",
    "training",
    "varied_lengths",
    "workload",
]
