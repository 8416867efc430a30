"""Arguments by the names that a shell and others have for them."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from mlsysim.errors import UnknownNameError, nearest

#: Other spellings of an argument, by its name; help and errors have the name.
SPELLINGS = {"moe_routing_imbalance_factor": "routing_imbalance_factor", "replicas": "num_replicas"}

#: What other tools call an argument, and the names that may be meant. They are told, not taken: meanings may differ.
ELSEWHERE = {
    "tensor_parallel_size": ("tp_size",),
    "pipeline_parallel_size": ("pp_size",),
    "expert_parallel_size": ("ep_size",),
    "data_parallel_size": ("dp_size", "num_replicas", "dp_attention_size"),
    "max_concurrency": ("concurrency",),
    "qps": ("request_rate",),
    "input_len": ("isl",),
    "output_len": ("osl",),
    "random_input_len": ("isl",),
    "random_output_len": ("osl",),
    "max_batch_size": ("max_num_seqs",),
    "max_num_tokens": ("max_num_batched_tokens",),
    "speculative_tokens": ("num_speculative_tokens",),
    "dtype": ("precision", "weight_dtype"),
    "quantization": ("precision", "weight_dtype"),
}


def option_name(argument: str) -> str:
    """The option of an argument: ``batch_size`` is ``--batch-size``."""
    return f"--{argument.replace('_', '-')}"


def own_name(typed: str, known: Collection[str]) -> str:
    """The name of an argument from another spelling of it; what is a name itself, or no spelling of one, as it is."""
    return typed if typed in known or SPELLINGS.get(typed) not in known else SPELLINGS[typed]


def names_for(typed: str, known: Iterable[str]) -> list[str]:
    """The names that an argument of another tool has among those known, else those that are spelled nearly so."""
    names = list(known)
    return [each for each in ELSEWHERE.get(typed, ()) if each in names] or nearest(typed, names)


def unknown_argument(model: str, name: str, known: Iterable[str], hint: str = "") -> UnknownNameError:
    """The error for a keyword that a model does not take."""
    names = list(known)
    return UnknownNameError(f"argument of {model}", name, names, hint, close=names_for(name, names))
