"""Measured power of devices under inference, as calls that a user can repeat.

Rows are those of the ML.ENERGY leaderboard (vLLM 0.11.1 and diffusers on H100 and B200, December 2025): watts of all
devices of a run by their own meters, tokens or pictures per second, and the mean batch. Prompts are not published.
"""

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

from mlsysim import Models
from mlsysim.catalog import SparseTransformerWorkload

HERE = Path(__file__).with_suffix(".json")
#: A sample of the rows, drawn by a fixed hash; the whole stands beside the project.
SAMPLE: dict[str, Any] = json.loads(HERE.read_text(encoding="utf-8")) if HERE.exists() else {}
WHOLE = Path(__file__).parents[3] / "shared" / "validation" / "data" / "power_rows_shown.json"

#: Catalog entries. Of Qwen3-VL-30B-A3B the text model is that of Qwen3-30B-A3B; towers are counted of none.
MODELS = {
    "Qwen/Qwen3-14B": "Qwen3_14B",
    "Qwen/Qwen3-235B-A22B-Thinking-2507-FP8": "Qwen3_235B_A22B",
    "Qwen/Qwen3-30B-A3B-Instruct-2507": "Qwen3_30B_A3B",
    "Qwen/Qwen3-8B": "Qwen3_8B",
    "Qwen/Qwen3-Coder-30B-A3B-Instruct": "Qwen3_Coder_30B_A3B",
    "Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8": "Qwen3_Coder_480B_A35B",
    "Qwen/Qwen3-VL-235B-A22B-Instruct-FP8": "Qwen3_VL_235B_A22B",
    "Qwen/Qwen3-VL-30B-A3B-Instruct": "Qwen3_30B_A3B",
    "Qwen/Qwen3-VL-32B-Instruct": "Qwen3_VL_32B",
    "deepseek-ai/DeepSeek-R1-0528": "DeepSeek_R1",
    "deepseek-ai/DeepSeek-V3.1": "DeepSeek_V3_1",
    "google/gemma-3-12b-it": "Gemma3_12B",
    "google/gemma-3-27b-it": "Gemma3_27B",
    "meta-llama/Llama-3.1-405B-Instruct": "Llama3_1_405B",
    "meta-llama/Llama-3.1-405B-Instruct-FP8": "Llama3_1_405B",
    "meta-llama/Llama-3.1-70B-Instruct": "Llama3_1_70B",
    "meta-llama/Llama-3.3-70B-Instruct": "Llama3_3_70B",
    "openai/gpt-oss-120b": "gpt_oss_120B",
}
STACKS = {"H100": "vLLM_2026_Hopper", "B200": "vLLM_2026_Blackwell"}
#: Tokens of a prompt, which are assumed; of Gemma's pictures fewer.
PROMPTS = {"lm-arena-chat": 200, "gpqa": 300, "image-chat": 1000, "video-chat": 1000, "sourcegraph-fim": 1500}
GEMMA_PICTURE = 400
COLUMNS = {
    "language": (
        "model_id", "t", "gpu_model", "num_gpus", "expert_parallel", "data_parallel", "weight_precision",
        "avg_batch_size", "avg_output_len", "output_throughput_tokens_per_sec", "avg_power_watts",
    ),
    "pictures": (
        "model_id", "t", "gpu_model", "num_gpus", "inference_steps", "flop_per_step", "batch_size", "batch_latency_s",
        "best_rate", "avg_power_watts",
    ),
}  # fmt: skip
#: Rows of each kind in the sample.
DRAWN = {"language": 70, "pictures": 30}
DIGITS = 6

Row = dict[str, Any]


def kind(row: Row) -> str:
    """Tell a row of a language model from one of pictures."""
    return "language" if "avg_output_len" in row else "pictures"


@cache
def rows(kind_of: str, whole: bool = False) -> tuple[Row, ...]:
    """Rows of a kind that can be asked: of the sample, or of the whole table."""
    if not whole:
        return tuple(dict(zip(COLUMNS[kind_of], row, strict=True)) for row in SAMPLE[kind_of])
    table = json.loads(WHOLE.read_text(encoding="utf-8"))
    best: dict[tuple[str, str], float] = {}
    for row in table:
        if kind(row) == "pictures" and row["num_gpus"] == 1:
            place, rate = (row["model_id"], row["gpu_model"]), row["batch_size"] / row["batch_latency_s"]
            best[place] = max(rate, best.get(place, 0))
    return tuple(
        row | ({"best_rate": best[row["model_id"], row["gpu_model"]]} if kind_of == "pictures" else {})
        for row in table
        if kind(row) == kind_of and (kind_of == "pictures" or row["model_id"] in MODELS)
    )


def unasked() -> int:
    """Rows of the whole table whose model is not in the catalog."""
    table = json.loads(WHOLE.read_text(encoding="utf-8"))
    return sum(kind(row) == "language" and row["model_id"] not in MODELS for row in table)


def watts(row: Row) -> float:
    """Measured power of one device."""
    return row["avg_power_watts"] / row["num_gpus"]


def energy(row: Row) -> float:
    """Measured joules of all devices for a token of an answer."""
    return row["avg_power_watts"] / row["output_throughput_tokens_per_sec"]


def experts(row: Row) -> bool:
    """True if the model of a row has experts."""
    return isinstance(getattr(Models.Language, MODELS[row["model_id"]]), SparseTransformerWorkload)


def asked(row: Row) -> dict[str, Any]:
    """Arguments of ``IterationModel.solve`` for a row of a language model, without its clock."""
    model, answer, batch = MODELS[row["model_id"]], row["avg_output_len"], row["avg_batch_size"]
    prompt = GEMMA_PICTURE if model.startswith("Gemma") and row["t"] == "image-chat" else PROMPTS[row["t"]]
    ranks, replicas = row["num_gpus"], row["data_parallel"]
    formats = {"precision": "fp8"} if row["weight_precision"] == "fp8" else {}
    return {
        "model": model, "hardware": row["gpu_model"], "stack": STACKS[row["gpu_model"]], **formats,
        "kv_cache_dtype": "bf16", "tp_size": ranks // replicas, "dp_attention_size": replicas,
        "ep_size": row["expert_parallel"], "decode_requests": batch, "context_tokens": prompt + answer / 2,
        "prompts": batch / answer, "seq_len": prompt,
    }  # fmt: skip


def clock(row: Row) -> float:
    """Measured milliseconds of an iteration: one token of every request."""
    return 1e3 * row["avg_batch_size"] / row["output_throughput_tokens_per_sec"]


def from_closed_loop(row: Row) -> dict[str, Any]:
    """Arguments of ``ServingModel.solve`` for a row: a closed loop of as many requests."""
    given = asked(row)
    engine = {name: given[name] for name in given if name not in ("decode_requests", "context_tokens", "prompts")}
    prompt = engine.pop("seq_len")
    return engine | {
        "concurrency": max(1, round(row["avg_batch_size"])), "isl": prompt, "osl": max(1, round(row["avg_output_len"])),
        "num_replicas": 1,
    }  # fmt: skip


def write(without: dict[str, list[float]] | None = None) -> None:
    """Draw the sample anew, beside the constants that were found without the rows of one model."""
    parts = []
    for name, columns in COLUMNS.items():
        drawn = sorted(rows(name, whole=True), key=lambda row: hashlib.sha256(json.dumps(row).encode()).hexdigest())
        cells = [[_short(row[column]) for column in columns] for row in drawn[: DRAWN[name]]]
        parts.append(f'"{name}": [\n ' + ",\n ".join(map(json.dumps, cells)) + "\n]")
    left = SAMPLE.get("without", {}) if without is None else without
    about = {"source": "chung2025, leaderboard of 2025-12: https://ml.energy/leaderboard", "without": left}
    HERE.write_text(json.dumps(about)[:-1] + ",\n" + ",\n".join(parts) + "}\n", encoding="utf-8")


def _short(value: Any) -> Any:
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


if __name__ == "__main__":
    write()
