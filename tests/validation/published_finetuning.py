"""Memory and time of adapters that others measured."""

from collections.abc import Iterator
from functools import cache

from validation.cases import CASES
from validation.checks import Check, Group

from mlsysim import DistributedModel, TrainingMemoryModel, TransformerWorkload, linked
from mlsysim.study.results.result import Result

CASE = CASES["qwen_finetuning"]
TOKENS = CASE["config"]["seq_len"]
#: Method, and what of it is no default.
METHODS = {
    "LoRA": {"finetuning": "lora"},
    "Q-LoRA": {"finetuning": "qlora", "weight_dtype": "int4_g128"},
    "LoRA, ZeRO-3": {"finetuning": "lora", "zero_stage": 3, "fleet_size": 4},
}
HELD = (
    "theirs is what the device holds, with its context and what the allocator reserves, which are a gigabyte or more "
    "beside small weights"
)
LOSS = "theirs grows by half as much a token beyond 4,096 as before, ours as before"
UNPACKED = (
    "their kernels for 4 bit take the same time at any length, several times what reading and writing the weights "
    "takes: ours counts the bytes alone"
)
GATHERED = "theirs takes the same time at any length here: weights are gathered without running ahead"
EAGER = "ours moves every intermediate of eager element-wise work; with fused kernels, which it offers, half is left"
#: Rows out of reach, by part, model and method: why, and at which lengths.
MISSED = {
    ("memory", "1.8B", "LoRA"): {HELD: TOKENS[:5]},
    ("memory", "1.8B", "Q-LoRA"): {HELD: TOKENS[:3], LOSS: TOKENS[5:]},
    ("memory", "7B", "Q-LoRA"): {HELD: TOKENS[:2]},
    ("memory", "14B", "Q-LoRA"): {HELD: TOKENS[:2], LOSS: TOKENS[5:]},
    ("time", "1.8B", "Q-LoRA"): {UNPACKED: TOKENS[:4]},
    ("time", "7B", "Q-LoRA"): {UNPACKED: TOKENS[:2]},
    ("time", "14B", "LoRA"): {EAGER: TOKENS[5:]},
    ("time", "14B", "Q-LoRA"): {UNPACKED: TOKENS[:3]},
    ("time", "72B", "Q-LoRA"): {UNPACKED: TOKENS[:3]},
    ("time", "72B", "LoRA, ZeRO-3"): {GATHERED: TOKENS[:2], EAGER: TOKENS[5:]},
}


@cache
def solved(size: str, method: str, tokens: int) -> Result:
    """A step of eight micro-batches on each device."""
    shape = {**CASE["config"]["all"], **CASE["config"]["models"][size]}
    more = {"fleet_size": 1, **METHODS[method]}
    return DistributedModel().solve(
        TransformerWorkload(name=f"Qwen {size}", **shape), hardware="A100", batch_size=8 * more["fleet_size"],
        gradient_accumulation_steps=8, seq_len=tokens, precision="bf16", lora_rank=64,
        activation_checkpointing="full", elementwise_kernels="eager", fabric_bandwidth="25 GB/s",
        fabric_latency="10 us", **more,
    )  # fmt: skip


def rows(part: str) -> Iterator[tuple[tuple[str, str, str], int, float, Result]]:
    """Every row with what was measured of one quantity."""
    for size, methods in CASE["measured"].items():
        for method, printed in methods.items():
            for tokens, theirs in zip(TOKENS, printed[part], strict=True):
                yield (part, size, method), tokens, theirs, solved(size, method, tokens)


def checks(part: str, ours: str, tolerance: float, unit: str, scale: float) -> list[Check]:
    """One quantity of every row; memory is that of all devices together."""
    found = []
    for key, tokens, theirs, step in rows(part):
        devices = step.fleet_size if part == "memory" else 1
        missed = next((why for why, at in MISSED.get(key, {}).items() if tokens in at), "")
        value = step.canonical(ours) * devices / scale
        found.append(Check(f"{key[1]}, {key[2]}, {tokens} tokens", theirs, value, tolerance, unit, missed=missed))
    return found


def memory() -> list[Check]:
    """What the devices hold."""
    return checks("memory", "total_memory", 0.15, "GB", 1e9)


def time() -> list[Check]:
    """One step."""
    return checks("time", "step_time", 0.25, "s", 1.0)


CONTEXTS = CASES["unsloth_contexts"]
#: Stack and kernels of each column of the table; their notebooks train with 8-bit Adam.
COLUMNS = {
    "cut cross-entropy": {"stack": "unsloth", "loss_kernel": "fused_linear", "optimizer": "adam_8bit"},
    "before": {"stack": "unsloth", "optimizer": "adam_8bit"},
    "Hugging Face": {"stack": "HF_Trainer", "optimizer": "adam_8bit"},
}
BESIDE_WEIGHTS = "about a gigabyte beside weights, of contexts and the allocator, is most of what is left here"
EARLIER = (
    "a token takes 2.6 MB by the slope of their table and 2.1 MB by ours: presumably transformers of 2024 copied "
    "logits once more than that of 2025, which the stack describes"
)
NOT_REACHED = {
    ("cut cross-entropy", "8B", 8): BESIDE_WEIGHTS,
    ("cut cross-entropy", "70B", 48): BESIDE_WEIGHTS,
}


def contexts() -> list[Check]:
    """Longest context of QLoRA by memory of the device."""
    found = []
    for column, models in CONTEXTS["measured"].items():
        for size, printed in models.items():
            sizes = [f"{gigabytes} GiB" for gigabytes in printed]
            ours = TrainingMemoryModel("per_operator").solve_for(
                "seq_len", feasible=True, model=CONTEXTS["config"]["models"][size], precision="bf16", batch_size=1,
                memory=linked(memory_capacity=sizes, driver_memory=sizes), finetuning="qlora", lora_rank=32,
                activation_checkpointing="full", **COLUMNS[column],
            ).seq_len.values  # fmt: skip
            for (gigabytes, theirs), value in zip(printed.items(), ours, strict=True):
                missed = NOT_REACHED.get((column, size, int(gigabytes)), EARLIER if column == "Hugging Face" else "")
                what = f"Llama 3 {size}, {gigabytes} GB, {column}"
                found.append(Check(what, theirs, float(value), 0.25, "token", missed=missed))
    return found


SETTING = (
    "Qwen (first release) on A100 of 80 GB: adapters of rank 64 on all products, eight micro-batches of one sequence, "
    "every layer recomputed, element-wise work eager, weights of Q-LoRA by GPTQ in groups of 128. Library defaults; "
    "nothing is calibrated on these rows."
)
GROUPS: tuple[Group, ...] = (
    Group(
        "finetuning_memory", "Adapters: memory of LoRA and Q-LoRA", f"{SETTING} 15%.", CASE["source"], memory,
        long=True, summary=True,
    ),
    Group(
        "finetuning_contexts", "Adapters: memory that bounds the context of QLoRA",
        "Adapters of rank 32 on all linear layers, a batch of one, GB of the table taken as GiB that the driver gives; "
        "as `what_fits` asks, without the length that a model is made for. Nothing is calibrated on these rows. 25%.",
        CONTEXTS["source"], contexts, summary=True,
    ),
    Group(
        "finetuning_time", "Adapters: time of LoRA and Q-LoRA", f"{SETTING} 25%.", CASE["source"], time,
        long=True, summary=True,
    ),
)  # fmt: skip
