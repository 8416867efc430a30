"""Peaks of training steps on one GPU, measured with PyTorch, transformers and peft; prints a JSON row a run.

Needs nothing of this project and downloads nothing: models are built from their shapes with random weights.

    python tests/validation/measure_peaks.py --out rows.json --seconds 280
    python tests/validation/measure_peaks.py --device cpu --smallest
"""

import argparse
import contextlib
import gc
import itertools
import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM

LLAMA = {
    "model_type": "llama", "vocab_size": 128256, "num_key_value_heads": 8, "rms_norm_eps": 1e-5,
    "max_position_embeddings": 131072, "rope_parameters": {"rope_type": "default", "rope_theta": 500000.0},
}  # fmt: skip
#: Shapes as their publishers give them; each may be asked with fewer layers.
SHAPES: dict[str, dict[str, Any]] = {
    "Llama-3.2-1B": {
        **LLAMA, "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 32, "head_dim": 64,
        "intermediate_size": 8192, "tie_word_embeddings": True,
    },
    "Llama-3.1-8B": {
        **LLAMA, "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "head_dim": 128,
        "intermediate_size": 14336, "tie_word_embeddings": False,
    },
    "Qwen2.5-7B": {
        "model_type": "qwen2", "vocab_size": 152064, "hidden_size": 3584, "num_hidden_layers": 28,
        "num_attention_heads": 28, "num_key_value_heads": 4, "intermediate_size": 18944,
        "max_position_embeddings": 131072, "tie_word_embeddings": False,
    },
    "Qwen3-30B-A3B": {
        "model_type": "qwen3_moe", "vocab_size": 151936, "hidden_size": 2048, "num_hidden_layers": 48,
        "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128, "intermediate_size": 6144,
        "moe_intermediate_size": 768, "num_experts": 128, "num_experts_per_tok": 8, "norm_topk_prob": True,
        "max_position_embeddings": 40960, "tie_word_embeddings": False,
    },
    "GPT2-XL": {
        "model_type": "gpt2", "vocab_size": 50257, "n_positions": 1024, "n_embd": 1600, "n_layer": 48, "n_head": 25,
    },
    "Tiny": {
        "model_type": "llama", "vocab_size": 512, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "intermediate_size": 128, "max_position_embeddings": 4096,
    },
}  # fmt: skip
ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
BLOCKS = (*ATTENTION, "gate_proj", "up_proj", "down_proj")


@dataclass(frozen=True, slots=True)
class Run:
    """One run: a model, how its step is trained, and its batch."""

    model: str
    layers: int
    micro_batch_size: int
    seq_len: int
    #: Format of parameters; products are in bf16, by autocast where parameters are in fp32.
    parameters: str = "bf16"
    autocast: bool = False
    checkpointing: bool = True
    attention: str = "sdpa"
    update: str = "foreach"
    micro_batches: int = 1
    lora_rank: int = 0
    lora_modules: tuple[str, ...] = ()


ONE = Run("Llama-3.2-1B", 16, 4, 4096)
EIGHT = Run("Llama-3.1-8B", 32, 1, 4096)
FOUR = replace(EIGHT, layers=4)
QWEN = Run("Qwen2.5-7B", 28, 1, 2048)
EXPERTS = Run("Qwen3-30B-A3B", 4, 1, 4096)
GPT = Run("GPT2-XL", 48, 4, 1024)
MIXED: dict[str, Any] = {"parameters": "fp32", "autocast": True}
NO: dict[str, Any] = {"checkpointing": False}
LORA: dict[str, Any] = {"lora_rank": 16, "lora_modules": ATTENTION, "autocast": True}

#: Runs by worth: kinds of training first, then what each changes by, then other sizes.
RUNS = (
    ONE,
    replace(ONE, micro_batch_size=2, **NO),
    replace(ONE, **MIXED),
    replace(EIGHT, **LORA),
    replace(EIGHT, update="fused"),
    replace(FOUR, micro_batch_size=2, **NO),
    replace(GPT, **MIXED, **NO),
    replace(EXPERTS, **NO),
    replace(ONE, micro_batch_size=1, attention="eager", **NO),
    replace(FOUR, micro_batch_size=1, attention="eager", **NO),
    replace(ONE, micro_batches=2, micro_batch_size=2),
    replace(ONE, micro_batch_size=2, **MIXED, **NO),
    replace(EIGHT, micro_batch_size=1, seq_len=2048, **LORA, **NO),
    replace(EIGHT, lora_rank=16, lora_modules=ATTENTION),
    replace(EIGHT, **{**LORA, "lora_modules": BLOCKS}),
    replace(QWEN, update="fused"),
    replace(QWEN, layers=4, micro_batch_size=2, **NO),
    replace(EIGHT, seq_len=1024),
    replace(GPT),
    replace(GPT, micro_batch_size=2, attention="eager", **NO),
    replace(EXPERTS, micro_batch_size=2),
    replace(ONE, micro_batch_size=1, seq_len=8192),
    replace(ONE, micro_batch_size=1, seq_len=1024),
    replace(ONE, micro_batch_size=1, seq_len=1024, update="fused"),
    replace(ONE, micro_batch_size=8, seq_len=2048, update="fused"),
    replace(EIGHT, micro_batch_size=8, seq_len=2048, **LORA),
    replace(FOUR, micro_batch_size=4, seq_len=2048),
    replace(FOUR, micro_batch_size=1, seq_len=8192, **NO),
    replace(FOUR, layers=2, micro_batch_size=2, **NO),
    replace(FOUR, layers=8, micro_batch_size=2, **NO),
    replace(FOUR, micro_batch_size=2, **MIXED),
    replace(FOUR, micro_batch_size=2, **MIXED, **NO),
    replace(ONE, micro_batch_size=8, seq_len=4096),
    replace(QWEN, **LORA),
    replace(QWEN, seq_len=1024),
    replace(EXPERTS, layers=2, micro_batch_size=2, **NO),
    replace(EXPERTS, layers=2, **MIXED, **NO),
    replace(GPT, micro_batch_size=8),
    replace(GPT, layers=12, micro_batch_size=8, **NO),
    replace(FOUR, micro_batch_size=1, seq_len=2048, attention="eager"),
    replace(EIGHT, micro_batch_size=8, seq_len=4096, **LORA),
    replace(EIGHT, micro_batch_size=4),
)
SMALLEST = tuple(
    replace(Run("Tiny", 2, 2, 64), **each)
    for each in (
        {}, {**MIXED, **NO}, {**LORA}, {"micro_batches": 2, "attention": "eager", **NO},
    )
)  # fmt: skip


def built(run: Run, device: str) -> Any:
    """Return a model with random weights, on its device, in training mode."""
    shape = dict(SHAPES[run.model])
    kind = shape.pop("model_type")
    shape["n_layer" if kind == "gpt2" else "num_hidden_layers"] = run.layers
    config = AutoConfig.for_model(kind, **shape, use_cache=False)
    dtype = torch.float32 if run.parameters == "fp32" else torch.bfloat16
    with torch.device(device):
        model = AutoModelForCausalLM.from_config(config, dtype=dtype, attn_implementation=run.attention)
    if run.lora_rank:
        from peft import LoraConfig, get_peft_model

        model.enable_input_require_grads()
        adapters = LoraConfig(r=run.lora_rank, lora_alpha=16, target_modules=list(run.lora_modules), lora_dropout=0.0)
        model = get_peft_model(model, adapters)
    if run.checkpointing:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    return model.train()


class Memory:
    """What PyTorch and the driver say of the device; zeros on a CPU."""

    def __init__(self, device: str) -> None:
        self.cuda = device == "cuda"
        self.most_reserved = 0

    def allocated(self) -> int:
        return torch.cuda.memory_allocated() if self.cuda else 0

    def peak(self) -> int:
        """Return the most allocated since the last call."""
        if not self.cuda:
            return 0
        torch.cuda.synchronize()
        found = torch.cuda.max_memory_allocated()
        self.most_reserved = max(self.most_reserved, torch.cuda.max_memory_reserved())
        torch.cuda.reset_peak_memory_stats()
        return found

    def read(self) -> dict[str, int]:
        """Return what is reserved, and what the driver and nvidia-smi show of the whole device."""
        if not self.cuda:
            return {}
        free, total = torch.cuda.mem_get_info()
        shown = subprocess.run(
            ["nvidia-smi", "--query-gpu=memory.used,memory.total", "--format=csv,noheader,nounits"],
            capture_output=True, text=True, check=False,
        ).stdout  # fmt: skip
        used = [int(each) for each in shown.splitlines()[0].split(",")] if shown.strip() else []
        return {
            "reserved": torch.cuda.memory_reserved(),
            "driver_used": total - free,
            "driver_total": total,
            **({"nvidia_smi_used_mib": used[0], "nvidia_smi_total_mib": used[1]} if used else {}),
        }


def synchronize(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def steps(run: Run, device: str, memory: Memory, found: dict[str, Any]) -> None:
    """Train three steps and put what was measured into `found`, also of a run that ends early."""
    model = built(run, device)
    trained = [each for each in model.parameters() if each.requires_grad]
    found["parameters_all"] = sum(each.numel() for each in model.parameters())
    found["parameters_trained"] = sum(each.numel() for each in trained)
    found["model_allocated"] = memory.allocated()
    chosen = {"foreach": True} if run.update == "foreach" else {"fused": True}
    optimizer = torch.optim.AdamW(trained, lr=1e-5, **chosen)
    vocabulary = SHAPES[run.model]["vocab_size"]
    tokens = torch.randint(vocabulary, (run.micro_batch_size, run.seq_len), device=device)
    peaks = found["peaks"] = []
    for step in range(3):
        synchronize(device)
        start = time.perf_counter()
        moments: dict[str, int] = {}
        peaks.append(moments)
        for micro_batch in range(run.micro_batches):
            wide = torch.autocast(device, dtype=torch.bfloat16) if run.autocast else contextlib.nullcontext()
            with wide:
                output = model(input_ids=tokens, labels=tokens)
            moments[f"forward_{micro_batch}"] = memory.peak()
            moments[f"after_forward_{micro_batch}"] = memory.allocated()
            (output.loss / run.micro_batches).backward()
            moments[f"backward_{micro_batch}"] = memory.peak()
            moments[f"after_backward_{micro_batch}"] = memory.allocated()
            del output
        optimizer.step()
        moments["update"] = memory.peak()
        optimizer.zero_grad(set_to_none=True)
        synchronize(device)
        found[f"seconds_{step + 1}"] = round(time.perf_counter() - start, 5)
        moments["after_step"] = memory.allocated()


def measured(run: Run, device: str) -> dict[str, Any]:
    """Return one row: the run, what it held at each moment of its three steps, and what the driver showed."""
    memory = Memory(device)
    found: dict[str, Any] = {"run": asdict(run), "before": memory.allocated()}
    memory.peak()
    try:
        steps(run, device, memory, found)
        found["out_of_memory"] = False
    except torch.OutOfMemoryError as error:
        found["out_of_memory"] = True
        found["error"] = str(error)[:400]
        found.setdefault("peaks", []).append({"at_failure": memory.peak()})
    except Exception as error:  # a row that cannot run must not end the others
        found["error"] = f"{type(error).__name__}: {error}"[:400]
    found["max_memory_allocated"] = max(
        (value for moments in found.get("peaks", []) for name, value in moments.items() if "after" not in name),
        default=0,
    )
    memory.peak()
    if device == "cuda":
        found["max_memory_reserved"] = memory.most_reserved
        found["allocation_retries"] = torch.cuda.memory_stats()["num_alloc_retries"]
    found.update(memory.read())
    return found


def freed(device: str) -> None:
    """Give back what the last run held, also the workspaces of its products."""
    gc.collect()
    if device == "cuda":
        torch.cuda.synchronize()
        if clear := getattr(torch._C, "_cuda_clearCublasWorkspaces", None):
            clear()
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--out", default="", help="file that holds all rows so far, written after each")
    parser.add_argument("--seconds", type=float, default=280.0, help="no run is started after this time")
    parser.add_argument("--smallest", action="store_true", help="a tiny model only")
    parser.add_argument("--first", type=int, default=None, help="so many of the runs")
    asked = parser.parse_args()
    start = time.monotonic()
    about: dict[str, Any] = {
        "torch": torch.__version__, "transformers": transformers.__version__, "cuda": torch.version.cuda,
        "device": torch.cuda.get_device_name() if asked.device == "cuda" else "CPU",
    }  # fmt: skip
    if asked.device == "cuda":
        torch.zeros(1, device="cuda")
        about["idle"] = Memory("cuda").read()
    with contextlib.suppress(ImportError):
        import peft

        about["peft"] = peft.__version__
    rows: list[dict[str, Any]] = []
    for run in itertools.islice(SMALLEST if asked.smallest else RUNS, asked.first):
        freed(asked.device)
        if time.monotonic() - start > asked.seconds:
            break
        began = time.monotonic()
        row = measured(run, asked.device)
        row["wall_s"] = round(time.monotonic() - began, 2)
        rows.append(row)
        print(json.dumps(row), flush=True)
        if asked.out:
            Path(asked.out).write_text(json.dumps({"about": about, "rows": rows}, indent=1), encoding="utf-8")
    print(f"{len(rows)} rows in {time.monotonic() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
