"""Other spellings of names: in any case, and as other tools call them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

#: Other spellings of an argument, by its name; help and errors use the name.
SPELLINGS = {"moe_routing_imbalance_factor": "routing_imbalance_factor", "replicas": "num_replicas"}

#: Names of arguments in other tools, with the names that may be meant. They are suggested only: meanings may differ.
ELSEWHERE = {
    "tensor_parallel_size": ("tp_size",),
    "pipeline_parallel_size": ("pp_size",),
    "expert_parallel_size": ("ep_size",),
    "context_parallel_size": ("cp_size",),
    "data_parallel_size": ("dp_size", "num_replicas", "dp_attention_size"),
    "tp": ("tp_size",),
    "pp": ("pp_size",),
    "ep": ("ep_size",),
    "cp": ("cp_size",),
    "dp": ("dp_size", "num_replicas", "dp_attention_size"),
    "hardware": ("design",),
    "gpu": ("hardware", "design"),
    "device": ("hardware", "design"),
    "accelerator": ("hardware", "design"),
    "gpus": ("accelerators", "fleet_size", "dp_size", "tp_size", "num_replicas", "max_replicas"),
    "num_gpus": ("accelerators", "fleet_size", "dp_size", "tp_size", "num_replicas", "max_replicas"),
    "world_size": ("accelerators", "fleet_size", "dp_size", "tp_size", "num_replicas", "max_replicas"),
    "gpus_per_node": ("accelerators_per_node",),
    "context_length": ("seq_len", "context_tokens", "isl", "osl"),
    "max_model_len": ("seq_len", "context_tokens", "isl", "osl"),
    "max_seq_len": ("seq_len", "context_tokens", "isl", "osl"),
    "sequence_length": ("seq_len", "context_tokens", "isl"),
    "global_batch_size": ("batch_size",),
    "mfu": ("efficiency",),
    "mtbf": ("node_failure_rate",),
    "mttf": ("node_failure_rate",),
    "grad_accum": ("gradient_accumulation_steps",),
    "gradient_checkpointing": ("activation_checkpointing",),
    "recompute": ("activation_checkpointing",),
    "zero": ("zero_stage",),
    "max_concurrency": ("concurrency",),
    "qps": ("request_rate",),
    "rps": ("request_rate", "qps"),
    "input_len": ("isl",),
    "output_len": ("osl",),
    "prompt_len": ("isl", "context_tokens"),
    "max_tokens": ("osl", "output_tokens"),
    "random_input_len": ("isl",),
    "random_output_len": ("osl",),
    "max_batch_size": ("max_num_seqs",),
    "max_num_tokens": ("max_num_batched_tokens",),
    "speculative_tokens": ("num_speculative_tokens",),
    "dtype": ("precision", "weight_dtype"),
    "quantization": ("precision", "weight_dtype"),
    "memory": ("memory_capacity",),
    "vram": ("memory_capacity",),
    "bandwidth": ("memory_bandwidth",),
    "flops": ("peak_flops",),
    "num_layers": ("layers",),
    "num_hidden_layers": ("layers",),
    "hidden_size": ("hidden_dim",),
    "num_attention_heads": ("heads",),
    "num_key_value_heads": ("kv_heads",),
    "intermediate_size": ("ffn_dim",),
    "num_experts": ("experts",),
    "expert_efficiency": ("expert_product_ratio",),
    "exponential_rate": ("clock",),
    "attn_implementation": ("attention_kernel",),
    "attention_backend": ("attention_kernel",),
}

#: Other names of a value with exactly the same meaning; they are accepted.
VALUES = {
    "float32": "fp32",
    "single": "fp32",
    "float16": "fp16",
    "half": "fp16",
    "bfloat16": "bf16",
    "tensorfloat32": "tf32",
    "awq": "w4a16",
    "gptq": "w4a16",
    "H100 SXM": "H100",
    "H100 SXM5": "H100",
    "H100 80 GB": "H100",
    "H200 SXM": "H200",
    "A100 SXM": "A100",
    "A100 SXM4": "A100",
    "A100 80 GB": "A100",
}


def folded(name: str) -> str:
    """Fold case and drop separators, except between two digits."""
    text = re.sub(r"[\W_]+", "_", name.casefold()).strip("_")
    return re.sub(r"(?<!\d)_|_(?!\d)", "", text)


def known_as(name: object, known: Iterable[str]) -> str | None:
    """Return the one known name that typed text means, in any case; None if none or several match."""
    if not isinstance(name, str):
        return None
    by_fold: dict[str, list[str]] = {}
    for candidate in dict.fromkeys(known):
        by_fold.setdefault(folded(candidate), []).append(candidate)
    typed = folded(name)
    for wanted in (typed, _values().get(typed)):
        if wanted in by_fold:
            matches = by_fold[wanted]
            return matches[0] if len(matches) == 1 else None
    return None


@cache
def _values() -> dict[str, str]:
    return {folded(other): folded(name) for other, name in VALUES.items()}
