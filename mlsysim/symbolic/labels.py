"""Short titles derived from names: ``dp_size`` becomes "Data-parallel size"."""

from __future__ import annotations

#: Meaning of abbreviations in names. A name whose derived label reads badly sets its own.
ABBREVIATIONS = {
    "cp": "context-parallel",
    "cv": "coefficient of variation",
    "dim": "width",
    "dp": "data-parallel",
    "edp": "expert-data-parallel",
    "ep": "expert-parallel",
    "etp": "expert-tensor-parallel",
    "ffn": "feed-forward",
    "flop": "FLOP",
    "flops": "FLOPs",
    "e2e": "end-to-end time",
    "fsdp": "FSDP",
    "func": "function",
    "hfu": "hardware FLOPs utilization",
    "itl": "inter-token latency",
    "kv": "KV",
    "len": "length",
    "lora": "LoRA",
    "mfu": "model FLOPs utilization",
    "mla": "latent attention",
    "proj": "projection",
    "mlp": "feed-forward",
    "num": "number of",
    "moe": "MoE",
    "p50": "P50",
    "p90": "P90",
    "p99": "P99",
    "pp": "pipeline-parallel",
    "pue": "power usage effectiveness",
    "qk": "query-key",
    "qkv": "query-key-value",
    "qps": "requests per second",
    "seq": "sequence",
    "seqs": "sequences",
    "slo": "target",
    "sync": "synchronization",
    "tdp": "thermal design power",
    "tp": "tensor-parallel",
    "tpot": "time per output token",
    "ttft": "time to first token",
    "vocab": "vocabulary",
    "zero": "ZeRO",
}


#: Parts of names that form one word.
COMPOUNDS = ("all gather", "all reduce", "all to all", "micro batch", "point to point", "reduce scatter")


def from_name(name: str) -> str:
    """Derive a title from a name: its parts as words, the first capitalised."""
    words = " ".join(ABBREVIATIONS.get(part, part) for part in name.split("_") if part)
    for compound in COMPOUNDS:
        words = words.replace(compound, compound.replace(" ", "-"))
    return words[:1].upper() + words[1:]
