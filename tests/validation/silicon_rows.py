"""Measured closed loops of engines of 2025 and 2026, as calls that a user can repeat."""

import hashlib
import json
import math
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

from mlsysim.formats import rate_format

#: A sample of the rows that can be asked, drawn by a fixed hash; the whole stands beside the project.
SAMPLE: dict[str, Any] = json.loads(Path(__file__).with_name("silicon.json").read_text(encoding="utf-8"))
WHOLE = Path(__file__).parents[3] / "shared" / "validation" / "data" / "serving_silicon_shown.json"

MODELS = {
    "MiniMaxAI/MiniMax-M2.5": "MiniMax_M2_5",
    "Qwen/Qwen3-235B-A22B-FP8": "Qwen3_235B_A22B",
    "Qwen/Qwen3-32B": "Qwen3_32B",
    "Qwen/Qwen3.5-397B-A17B": "Qwen3_5_397B_A17B",
    "deepseek-ai/DeepSeek-R1": "DeepSeek_R1",
    "deepseek-ai/DeepSeek-V3": "DeepSeek_V3",
    "meta-llama/Llama-3.1-70B": "Llama3_1_70B",
    "meta-llama/Llama-3.1-8B-Instruct": "Llama3_1_8B",
    "nvidia/DeepSeek-V3.1-NVFP4": "DeepSeek_V3_1",
    "nvidia/Llama-3.1-8B-Instruct-FP8": "Llama3_1_8B",
    "nvidia/Qwen3-32B-NVFP4": "Qwen3_32B",
    "openai/gpt-oss-120b": "gpt_oss_120B",
    "zhipuai/GLM-5": "GLM_5",
}
DEVICES = {"h100_sxm": "H100", "h200_sxm": "H200", "b200_sxm": "B200", "gb200": "GB200", "b300_sxm": "B300",
           "gb300": "GB300"}  # fmt: skip
HOPPER = {"h100_sxm", "h200_sxm"}
STACKS = {
    ("trtllm", True): "TensorRT_LLM_H100",
    ("trtllm", False): "TensorRT_LLM_1_2_Blackwell",
    ("vllm", True): "vLLM_2026_Hopper",
    ("vllm", False): "vLLM_2026_Blackwell",
    ("sglang", True): "SGLang_2026_Hopper",
    ("sglang", False): "SGLang_2026_Blackwell",
}
DENSE = {"Llama3_1_70B", "Llama3_1_8B", "Qwen3_32B"}
LATENT = {"DeepSeek_R1", "DeepSeek_V3", "DeepSeek_V3_1", "GLM_5"}
#: Coefficient of variation of lengths that are uniform on 0.8 to 1 of their label.
SPREAD = 0.2 / math.sqrt(12) / 0.9
#: First day of warm-up requests, and that of other flags.
WARM, FLAGS = "2026-01-21", "2026-01-29"


def stack_of(row: dict[str, Any]) -> str:
    """The stack that a row is asked with."""
    return STACKS[row["engine"], row["system"] in HOPPER]


def origin(row: dict[str, Any]) -> str:
    """Who measured a row: InferenceX, in whatever dump, or NVIDIA."""
    return "NVIDIA" if row["origin"] == "NVIDIA" else "InferenceX"


def left_out(row: dict[str, Any]) -> str:
    """Why a row is not asked; empty where it is."""
    if row["mode"] != "colocated":
        return "disaggregated: the table has no number of workers"
    if row["speculation"] != "off":
        return "drafts may be on: the table does not say"
    if row["attention_dp"] > 1 and row["engine"] != "sglang":
        return "attention ranks with chunked prefill"
    return ""


def contradicted(row: dict[str, Any]) -> str:
    """Why a row is not fitted, though it is asked; empty where it is."""
    model, device = MODELS[row["model"]], DEVICES[row["system"]]
    if row["origin"] == "NVIDIA" and (
        (model == "Llama3_1_8B" and row["engine"] == "vllm")
        or (row["isl"] == 4000 and row["osl"] == 1000 and row["engine"] != "sglang")
        or (model in ("Qwen3_32B", "DeepSeek_V3_1") and device == "GB200")
        or (model == "gpt_oss_120B" and device == "H100")
    ):
        return "contradicts other rows by 1.6 to 4 times"
    if device == "B300" and model.startswith("DeepSeek") and row["isl"] == 8192:
        return "two to three times slower than the version before"
    return ""


def cold(row: dict[str, Any]) -> bool:
    """Whether the first tokens of the start are those of an engine that was not warm."""
    return row["engine"] == "sglang" and "DeepSeek" in row["model"] and row.get("measured", "") < WARM


def formats(row: dict[str, Any]) -> dict[str, Any]:
    """Number formats that a row was run in."""
    model, hopper = MODELS[row["model"]], row["system"] in HOPPER
    theirs = row["origin"] == "NVIDIA"
    if model == "gpt_oss_120B":
        return {"kv_cache_dtype": "bf16" if hopper else "fp8"}
    if row["quant"] == "bf16":
        return {"precision": "bf16"}
    wide = theirs or (hopper and row["engine"] == "sglang")
    precision = {"fp8": "fp8", "nvfp4": "nvfp4"}[row["quant"]]
    found = {"precision": precision, "kv_cache_dtype": "bf16" if wide else "fp8"}
    if precision == "nvfp4" and model in LATENT:
        found["mixer_bytes"] = 1
    return found


def budget(row: dict[str, Any]) -> int:
    """Tokens that an iteration may take."""
    model, requests, recent = MODELS[row["model"]], row["concurrency"], row.get("measured", "") >= WARM
    if row["engine"] == "vllm":
        return 2 * row["isl"] if model == "MiniMax_M2_5" and row["system"] not in HOPPER else 8192
    if row["engine"] == "trtllm":
        if model == "gpt_oss_120B":
            return 20000
        if not model.startswith("DeepSeek"):
            return 16384
        return max(64 * math.ceil((requests + row["isl"] + 64) / 64), 8192 if recent else 0)
    narrow = model.startswith("DeepSeek") and row["quant"] == "nvfp4"
    narrow |= model == "Qwen3_5_397B_A17B" and row["quant"] == "fp8" and row["system"] == "b300_sxm"
    return 16384 if narrow else 32768


def polls(row: dict[str, Any]) -> int:
    """Iterations between two looks at the queue."""
    model = MODELS[row["model"]]
    if row["engine"] != "sglang" or row["system"] in HOPPER or model == "GLM_5" or row["origin"] == "NVIDIA":
        return 0
    late, fp8 = row.get("measured", "") >= "2026-04", row["quant"] == "fp8"
    if (
        late
        and fp8
        and (
            (model.startswith("DeepSeek") and row["attention_tp"] == 4)
            or (model == "Qwen3_5_397B_A17B" and row["system"] == "b300_sxm")
        )
    ):
        return 10
    return 10 if row["concurrency"] < 16 else 30


def waits(row: dict[str, Any]) -> int:
    """Iterations that a batch of prompts is waited for."""
    model, short = MODELS[row["model"]], row["isl"] == row["osl"] == 1024
    if row["engine"] != "trtllm" or not short or row["origin"] == "NVIDIA":
        return 0
    if model == "Llama3_1_70B" and row["attention_tp"] < 8:
        return 20
    slow = model.startswith("DeepSeek") and row["quant"] == "fp8" and row["concurrency"] >= 64
    return 40 if slow and row.get("measured", "") >= FLAGS else 0


def slots(row: dict[str, Any]) -> int:
    """Requests that an engine lets decode together."""
    model, hopper = MODELS[row["model"]], row["system"] in HOPPER
    if row["engine"] == "sglang" and model.startswith("DeepSeek"):
        if hopper:
            return 512 if row["isl"] == 1024 else 256
        return 256 if row["quant"] == "nvfp4" else 32 if row["attention_tp"] == 4 else 128
    if row["engine"] == "vllm" and not hopper:
        return {"gpt_oss_120B": 512, "MiniMax_M2_5": 1024}.get(model, 4096)
    return 4096


def arguments(row: dict[str, Any]) -> dict[str, Any]:
    """Arguments of the engine of a row."""
    ranks = row["attention_tp"] * row["attention_dp"]
    return {
        "model": MODELS[row["model"]], "hardware": DEVICES[row["system"]], "stack": stack_of(row), **formats(row),
        "tp_size": row["attention_tp"], "dp_attention_size": row["attention_dp"],
        "ep_size": ranks if row["attention_dp"] > 1 else row["ep"],
    }  # fmt: skip


def variant_of(row: dict[str, Any]) -> str:
    """The variant that serves as the engine of a row does."""
    return "colocated" if row["engine"] == "sglang" else "chunked_estimate"


def asked(row: dict[str, Any]) -> dict[str, Any]:
    """Arguments of ``ServingModel.solve`` for a row."""
    mean = 0.9 if origin(row) == "InferenceX" else 1
    # Requests of NVIDIA's runs of one model go round in step, those of the others of its engine do not.
    run = origin(row) == "InferenceX" or (row["engine"] == "sglang" and MODELS[row["model"]] != "Qwen3_32B")
    found = arguments(row) | {
        "concurrency": row["concurrency"], "isl": round(mean * row["isl"]), "osl": round(mean * row["osl"]),
        "max_num_seqs": slots(row), "poll_interval": polls(row), "batch_wait": waits(row), "num_replicas": 1,
    }  # fmt: skip
    if row["engine"] != "sglang":
        found["max_num_batched_tokens"] = max(budget(row), slots(row))
    return found | ({"num_rounds": 10, "isl_cv": SPREAD, "osl_cv": SPREAD} if run else {})


def format_of(row: dict[str, Any]) -> str:
    """Format of the products of a row."""
    return rate_format(asked(row).get("precision", "bf16"))


@cache
def rows(whole: bool = False) -> tuple[dict[str, Any], ...]:
    """Rows that are asked: of the sample, or of the whole table."""
    if whole:
        return tuple(row for row in json.loads(WHOLE.read_text(encoding="utf-8"))["rows"] if not left_out(row))
    return tuple(dict(zip(SAMPLE["columns"], row, strict=True)) for row in SAMPLE["rows"])


def reasons() -> Counter[str]:
    """Rows of the whole table that are not asked, by reason."""
    return Counter(filter(None, map(left_out, json.loads(WHOLE.read_text(encoding="utf-8"))["rows"])))


def write(count: int = 100, without: dict[str, Any] | None = None) -> None:
    """Draw the sample anew, beside what was found without the rows of one model."""
    drawn = sorted(rows(True), key=lambda row: hashlib.sha256(json.dumps(row, sort_keys=True).encode()).hexdigest())
    columns = [
        "model", "system", "engine", "version", "measured", "origin", "isl", "osl", "quant", "concurrency",
        "attention_tp", "attention_dp", "ep", "ttft_mean_ms", "tpot_mean_ms",
    ]  # fmt: skip
    lines = [json.dumps([row.get(name) or "" for name in columns]) for row in drawn[:count]]
    head = json.dumps({"source": json.loads(WHOLE.read_text(encoding="utf-8"))["about"]["source"], "columns": columns})
    left = json.dumps(SAMPLE.get("without", {}) if without is None else without)
    text = head[:-1] + f', "without": {left}, ' + '"rows": [\n ' + ",\n ".join(lines) + "\n]}\n"
    Path(__file__).with_name("silicon.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
