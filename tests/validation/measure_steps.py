"""Times training steps on one CUDA device, with what it draws, and writes a JSON list of rows.

``python tests/validation/measure_steps.py ROWS.json`` needs PyTorch with CUDA, transformers and ``nvidia-ml-py``, and
nothing of mlsysim. Weights are random, every run lasts several seconds, and the second half of it counts, so that the
clock is the one the power limit leaves.
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import time
from pathlib import Path

import pynvml
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from transformers import AutoModelForCausalLM, LlamaConfig

BACKENDS = {"fa2": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}
#: Hidden size, layers, heads, heads of keys, width of the block, vocabulary.
SHAPES = {
    "Llama-3.2-1B": (2048, 16, 32, 8, 8192, 128256),
    "Llama-3.1-8B": (4096, 32, 32, 8, 14336, 128256),
    "Llama-3.3-70B": (8192, 80, 64, 8, 28672, 128256),
    "Llama-2-7B": (4096, 32, 32, 32, 11008, 32000),
}
#: Model, layers, micro-batch, tokens, recomputed, compiled, attention.
RUNS = (
    ("Llama-3.2-1B", 16, 4, 4096, True, False, "fa2"),
    ("Llama-3.2-1B", 16, 4, 4096, False, False, "fa2"),
    ("Llama-3.2-1B", 16, 4, 4096, False, False, "cudnn"),
    ("Llama-3.2-1B", 16, 4, 4096, False, True, "cudnn"),
    ("Llama-3.1-8B", 8, 2, 4096, False, False, "fa2"),
    ("Llama-3.1-8B", 8, 2, 4096, False, True, "cudnn"),
    ("Llama-3.1-8B", 8, 2, 4096, True, True, "cudnn"),
    ("Llama-3.1-8B", 8, 1, 16384, True, False, "cudnn"),
    ("Llama-3.1-8B", 8, 1, 32768, True, False, "cudnn"),
    ("Llama-3.1-8B", 8, 1, 32768, True, False, "fa2"),
    ("Llama-2-7B", 12, 4, 2048, False, False, "fa2"),
    ("Llama-3.3-70B", 4, 2, 4096, False, False, "cudnn"),
    ("Llama-3.3-70B", 4, 2, 4096, False, True, "cudnn"),
    ("Llama-3.2-1B", 16, 1, 512, False, False, "fa2"),
    ("Llama-3.2-1B", 16, 1, 128, False, False, "fa2"),
)


def stepped(model: str, layers: int, batch: int, tokens: int, recomputed: bool, compiled: bool, attention: str) -> dict:
    """Mean times of a step and of its micro-batch, mean power and clock."""
    hidden, _, heads, kv_heads, width, vocabulary = SHAPES[model]
    config = LlamaConfig(
        hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads, num_key_value_heads=kv_heads,
        intermediate_size=width, vocab_size=vocabulary, max_position_embeddings=tokens, use_cache=False,
    )  # fmt: skip
    with torch.device("cuda"):
        trained = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).train()
    if recomputed:
        trained.gradient_checkpointing_enable({"use_reentrant": False})
    optimizer = torch.optim.AdamW(trained.parameters(), lr=1e-5, fused=True)
    called = torch.compile(trained, dynamic=False) if compiled else trained
    ids = torch.randint(vocabulary, (batch, tokens), device="cuda")
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)

    def step() -> tuple[float, float]:
        start = time.perf_counter()
        with sdpa_kernel(BACKENDS[attention]):
            called(input_ids=ids, labels=ids).loss.backward()
        torch.cuda.synchronize()
        passed = time.perf_counter()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        return passed - start, time.perf_counter() - start

    for _ in range(2):
        step()
    begun, kept = time.perf_counter(), []
    while (passed := time.perf_counter() - begun) < 5:
        times = step()
        if passed > 2.5:
            power, clock = pynvml.nvmlDeviceGetPowerUsage(handle), pynvml.nvmlDeviceGetClockInfo(handle, 1)
            kept.append((*times, power / 1e3, clock))
    names = ("micro_batch_s", "step_s", "power_w", "clock_mhz")
    means = (statistics.mean(column) for column in zip(*kept, strict=True))
    return dict(zip(names, means, strict=True)) | {"steps": len(kept), "peak": torch.cuda.max_memory_allocated()}


def main(path: str) -> None:
    """Writes the rows after each of them, so that an interruption loses none."""
    pynvml.nvmlInit()
    about = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda}
    rows, names = [], ("model", "layers", "micro_batch_size", "seq_len", "recomputed", "compiled", "attention")
    for run in RUNS:
        row = dict(zip(names, run, strict=True))
        try:
            row |= stepped(*run)
        except Exception as error:  # a row that cannot run must not end the others
            row["error"] = f"{type(error).__name__}: {error}"[:300]
        rows.append(row)
        print(json.dumps(row), flush=True)
        Path(path).write_text(json.dumps({"about": about, "rows": rows}))
        torch.compiler.reset()
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


if __name__ == "__main__":
    main(sys.argv[1])
