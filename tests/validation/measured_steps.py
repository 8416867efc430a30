"""Training steps timed by ``measure_steps.py`` on one device, beside those of `DistributedModel`."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from validation.checks import Check, Group, Spread

from mlsysim import DistributedModel
from mlsysim.study.results.result import Result

MEASURED: dict[str, Any] = json.loads(Path(__file__).with_name("steps_h200.json").read_text(encoding="utf-8"))
ENTRY = {
    "Llama-3.2-1B": "Llama3_2_1B",
    "Llama-3.1-8B": "Llama3_1_8B",
    "Llama-3.3-70B": "Llama3_3_70B",
    "Llama-2-7B": "Llama2_7B",
}
LOSS = "the loss of a small model with a wide vocabulary passes over its logits more often than is counted"
EAGER = "without compilation norms and gates move more than fused ones do, and less than all of eager"


def missed(row: dict[str, Any], error: float) -> str:
    """Why a row is more than a tenth off."""
    if abs(error) <= 0.1:
        return ""
    return LOSS if row["model"] == "Llama-3.2-1B" else EAGER


@cache
def solved(stack: str) -> tuple[Result, ...]:
    """The steps of all rows, by a stack."""
    found = []
    for row in MEASURED["rows"]:
        step = DistributedModel().solve(
            model=ENTRY[row["model"]], layers=row["layers"], tied_embeddings=False, hardware="H200", fleet_size=1,
            precision="bf16", batch_size=row["micro_batch_size"], seq_len=row["seq_len"], stack=stack,
            attention_kernel=row["attention"],
            activation_checkpointing="full" if row["recomputed"] else "none",
        )  # fmt: skip
        found.append(step)
    return tuple(found)


def seconds(stack: str) -> tuple[float, ...]:
    """Times of all rows, by a stack."""
    return tuple(step.canonical("step_time") for step in solved(stack))


def steps() -> list[Check]:
    """Every step by the defaults."""
    found = []
    for ours, row in zip(seconds("Generic"), MEASURED["rows"], strict=True):
        how = ("recomputed, " if row["recomputed"] else "") + ("compiled, " if row["compiled"] else "")
        what = f"{row['model']}, {row['layers']} layers, {row['micro_batch_size']} x {row['seq_len']}, "
        why = missed(row, ours / row["step_s"] - 1)
        found.append(Check(what + how + row["attention"], 1e3 * row["step_s"], 1e3 * ours, 0.1, "ms", None, why))
    return found


def spreads() -> list[Spread]:
    """The defaults and the stack of another Hopper device."""
    return [
        Spread(
            f"`Stacks.{stack}`, {len(MEASURED['rows'])} steps",
            [ours / row["step_s"] - 1 for ours, row in zip(seconds(stack), MEASURED["rows"], strict=True)],
            0.08,
        )
        for stack in ("Generic", "torchtitan_H100")
    ]


GROUPS: tuple[Group, ...] = (
    Group(
        "steps_h200",
        "Steps: one H200, measured by ourselves",
        f"15 steps of PyTorch {MEASURED['about']['torch']} with transformers and the fused AdamW, each over 2.5 s at "
        "the power limit, by `tests/validation/measure_steps.py`; layers are cut to what one device holds. No constant "
        "was calibrated on them. By the defaults, 10%.",
        "tests/validation/measure_steps.py on one H200, 2026-11-27",
        steps,
        spreads=spreads,
        summary=True,
    ),
)
