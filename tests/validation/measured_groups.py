"""Products of a batch and of experts, timed by ``measure_kernels.py`` on H200."""

from functools import cache
from typing import Any

import numpy as np
from validation.checks import Check, Group, Spread
from validation.measured_kernels import DEVICE, MEASURED, STACK

from mlsysim import KernelModel, linked

BATCHES, EXPERTS = ([row for row in MEASURED["rows"] if row["kernel"] == kernel] for kernel in ("batch", "experts"))
#: Matrices of the experts of each model.
MODELS = {
    "Mixtral": ((8, 28672, 4096), (8, 4096, 14336)),
    "DeepSeek-V3": ((32, 4096, 7168), (32, 7168, 2048)),
    "GPT-OSS": ((32, 5760, 2880), (32, 2880, 2880)),
    "Qwen3-30B": ((128, 1536, 2048), (128, 2048, 768)),
}
#: Constants that a refit looks at.
GRID = {
    "flop_energy": np.linspace(0.30, 0.42, 13),
    "memory_efficiency": np.linspace(0.64, 0.94, 16),
    "launch_time": np.linspace(20, 60, 11),
}
WHOLE = "256 rows of each expert fill the tiles of this kernel, which are larger than ours, exactly"
SLOW = "the kernel reaches less of bandwidth and power than those of dense products, and starts later"


def seconds(rows: list[dict[str, Any]], **given: Any) -> np.ndarray:
    """Times of rows, over axes that are given beside."""
    shapes = linked(
        product_groups=[row["groups"] for row in rows],
        product_rows=[row["m"] * (row["groups"] if row["kernel"] == "batch" else 1) for row in rows],
        product_columns=[row["n"] for row in rows],
        product_inner=[row["k"] for row in rows],
        group_imbalance=[row.get("imbalance", 1) for row in rows],
    )
    found = KernelModel().sweep(row=shapes, hardware=DEVICE, outputs="kernel_time", **given)
    return found.kernel_time.transpose("row", ...).values / 1e3


def off(rows: list[dict[str, Any]], **given: Any) -> np.ndarray:
    """Relative errors of rows."""
    theirs = np.array([row["burst_s"] for row in rows])
    ours = seconds(rows, **given)
    return ours / theirs.reshape(-1, *[1] * (ours.ndim - 1)) - 1


@cache
def left_out() -> np.ndarray:
    """Errors of the products of each model's experts, by constants fitted on those of the others."""
    every = off(EXPERTS, **GRID)
    of = np.array([next(m for m, all_ in MODELS.items() if (r["groups"], r["n"], r["k"]) in all_) for r in EXPERTS])
    found = np.empty(len(EXPERTS))
    for model in MODELS:
        mean = np.abs(np.log1p(every[of != model])).mean(axis=0)
        found[of == model] = every[(of == model, *np.unravel_index(mean.argmin(), mean.shape))]
    return found


def batches() -> list[Check]:
    """Every shape."""
    return [
        Check(
            f"{row['groups']} of {row['m']} x {row['n']} x {row['k']}",
            1e3 * row["burst_s"], 1e3 * row["burst_s"] * (1 + error), 0.25, "ms",
        )
        for row, error in zip(BATCHES, off(BATCHES, stack=STACK), strict=True)
    ]  # fmt: skip


def batch_spreads() -> list[Spread]:
    """All shapes, by constants of dense products."""
    return [Spread(f"`Stacks.{STACK}`", off(BATCHES, stack=STACK), 0.10)]


def alike() -> np.ndarray:
    """Which experts have as many rows as others."""
    return np.array([row["imbalance"] == 1 for row in EXPERTS])


def experts() -> list[Check]:
    """The worst number of rows of each matrix, where experts have as many and where they differ."""
    found, errors = [], left_out()
    for model, matrices in MODELS.items():
        for groups, n, k in matrices:
            for same, how in ((True, "alike"), (False, "different")):
                where = [
                    place
                    for place, row in enumerate(EXPERTS)
                    if (row["groups"], row["n"], row["k"]) == (groups, n, k) and alike()[place] == same
                ]
                worst = max(where, key=lambda place: abs(errors[place]))
                row, error = EXPERTS[worst], errors[worst]
                what = f"{model}, {groups} of {n} x {k}, {how}: worst {row['m'] // groups} rows in the mean"
                why = WHOLE if abs(error) > 0.25 else ""
                theirs = 1e3 * row["burst_s"]
                found.append(Check(what, theirs, theirs * (1 + error), 0.25, "ms", missed=why))
    return found


def expert_spreads() -> list[Spread]:
    """Left out, by the entry that was calibrated on these rows, and by dense products."""
    entry, dense = off(EXPERTS, stack="PyTorch_grouped_H200"), off(EXPERTS, stack=STACK)
    return [
        Spread("left out: constants fitted without the model", left_out(), 0.07),
        Spread("left out: experts with as many rows", left_out()[alike()], 0.15),
        Spread("left out: rows that differ", left_out()[~alike()], 0.07),
        Spread("`Stacks.PyTorch_grouped_H200`, calibrated here", entry, 0.06),
        Spread(f"`Stacks.{STACK}`, of dense products", dense, 0.10, missed=SLOW),
    ]


SOURCE = "tests/validation/measure_kernels.py on one H200, 2026-11-27"
GROUPS: tuple[Group, ...] = (
    Group(
        "batches_h200",
        "Kernels: products of a batch on H200, measured by ourselves",
        "24 batches of heads and of experts, `torch.bmm` at bf16, by the constants of dense products on H100; nothing "
        "was calibrated on them. 25%.",
        SOURCE,
        batches,
        spreads=batch_spreads,
    ),
    Group(
        "experts_h200",
        "Kernels: grouped products of experts on H200, measured by ourselves",
        "112 products of `torch._grouped_mm` at bf16: 8 to 128 experts of 16 to 4,096 rows in the mean, alike or lying "
        "evenly around it up to 1.5, 2 and 4 times the mean. Ours is by constants fitted on the other models. The "
        "worst row of each matrix, 25%. By the constants of dense products these are a fifth too fast.",
        SOURCE,
        experts,
        spreads=expert_spreads,
    ),
)
