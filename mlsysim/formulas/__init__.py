"""Formulas: one module per topic, each readable like a page of a textbook.

A topic module has a docstring (title line, then what it is about) and ``FORMULAS``.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from mlsysim.symbolic import Formula

#: Topics in the order the book prints them.
TOPICS = (
    "number_formats",
    "mixers",
    "mixer_times",
    "sources",
    "parameter_counts",
    "training_memory",
    "rank_parameters",
    "trained_parameters",
    "optimizer_states",
    "routed_activations",
    "activations",
    "step_moments",
    "roofline",
    "transformer_flops",
    "serving_capacity",
    "queueing",
    "continuous_batching",
    "iteration",
    "replica_layout",
    "collectives",
    "expert_exchange",
    "rank_groups",
    "static_batches",
    "prefix_cache",
    "lora",
    "varied_lengths",
    "serving_engines",
    "benchmark_runs",
    "serving_load",
    "serving_waits",
    "serving_latencies",
    "deployment",
    "answer_times",
    "closed_loops",
    "chunked_chain",
    "chunked_prefill",
    "deployment_advice",
    "moe_routing",
    "pipeline_schedule",
    "data_parallel_traffic",
    "expert_products",
    "layer_time",
    "attention_core",
    "exchange_overlap",
    "step_time",
    "token_counts",
    "fsdp",
    "unsplit_experts",
    "break_even",
    "energy",
    "economics",
    "failure_rates",
    "run_saves",
    "run_spares",
    "runs",
    "deployment_costs",
    "memory_expansion",
    "offloaded_training",
    "tiered_serving",
    "post_training",
)


def topic(name: str) -> ModuleType:
    """Import the module of a topic.

    Parameters
    ----------
    name : str
        One of ``TOPICS``.

    Returns
    -------
    module
        With ``FORMULAS``.

    Examples
    --------
    >>> from mlsysim.formulas import topic
    >>> topic("roofline").FORMULAS[0].title
    'Arithmetic of a matrix product'
    """
    return import_module(f"mlsysim.formulas.{name}")


def every_formula() -> tuple[tuple[str, Formula], ...]:
    """List all formulas with their topics, in the order of the book.

    Returns
    -------
    tuple of (str, Formula)

    Examples
    --------
    >>> from mlsysim.formulas import every_formula
    >>> len(every_formula()) > 500
    True
    """
    return tuple((name, formula) for name in TOPICS for formula in topic(name).FORMULAS)
