"""Kernels timed by ``measure_kernels.py`` on a device whose rows no constant was calibrated on."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from validation.checks import Check, Group, Spread

from mlsysim import KernelModel

MEASURED: dict[str, Any] = json.loads(Path(__file__).with_name("kernels_h200.json").read_text(encoding="utf-8"))
DEVICE, STACK = "H200", "cuBLAS_H100"
PRODUCTS = [row for row in MEASURED["rows"] if row["kernel"] == "product"]
CORES = [row for row in MEASURED["rows"] if row["kernel"] == "attention"]
SHORT = "below 2,048 tokens the backward pass of FlashAttention 2 and cuDNN starts slower than the law of its figures"
WIDE = "products forward reach a little more on H200 than the figures of H100 say"
PASSES = [row for row in MEASURED["rows"] if row["kernel"] in ("copy", "add")]


@cache
def seconds(variant: str, stack: str) -> tuple[float, ...]:
    """All products; the factors were stored at 8 bit before, so that nothing is quantised."""
    model, found = KernelModel(variant), []
    for row in PRODUCTS:
        shape = {"product_rows": row["m"], "product_columns": row["n"], "product_inner": row["k"]}
        apart = {"quantization_time": 0} if row["precision"] == "fp8" else {}
        solved = model.solve(hardware=DEVICE, precision=row["precision"], stack=stack, **shape, **apart)
        found.append(solved.canonical("kernel_time"))
    return tuple(found)


def errors(variant: str, stack: str, measured: str, precision: str) -> list[float]:
    """Relative errors of the products that were measured so, in a burst or over a second."""
    both = zip(seconds(variant, stack), PRODUCTS, strict=True)
    return [ours / row[measured] - 1 for ours, row in both if measured in row and row["precision"] == precision]


@cache
def cores() -> tuple[tuple[float, float], ...]:
    """Forward and backward times of attention; the second is what is left of both passes."""
    model, found = KernelModel("attention"), []
    for row in CORES:
        solved = model.solve(
            hardware=DEVICE, seq_len=row["tokens"], batch_size=row["batch"], heads=row["heads"],
            head_dim=row["head_dim"],
            attention_kernel=row["software"], attention_mask="causal" if row["causal"] else "full",
        )  # fmt: skip
        found.append(tuple(solved.canonical(f"attention_{way}_time") for way in WAYS))
    return tuple(found)


WAYS = "forward", "backward"


def attention() -> list[Check]:
    """Every shape, forward and backward."""
    found = []
    for ours, row in zip(cores(), CORES, strict=True):
        mask = "causal" if row["causal"] else "full"
        for way, time in zip(WAYS, ours, strict=True):
            theirs = row[f"{way}_s"]
            why = (SHORT if row["tokens"] <= 2048 else WIDE) if abs(time / theirs - 1) > 0.2 else ""
            what = f"{row['software']}, {row['batch']} x {row['tokens']}, {row['heads']} heads of {row['head_dim']}"
            kv = f" on {row['kv_heads']}" if row["kv_heads"] < row["heads"] else ""
            found.append(Check(f"{what}{kv}, {mask}, {way}", 1e3 * theirs, 1e3 * time, 0.2, "ms", None, why))
    return found


def attention_spreads() -> list[Spread]:
    """By kernel and pass, from 2,048 tokens."""
    return [
        Spread(
            f"{software}, {way}, 18 shapes of 2,048 tokens and more",
            [
                ours[place] / row[f"{way}_s"] - 1
                for ours, row in zip(cores(), CORES, strict=True)
                if row["software"] == software and row["tokens"] >= 2048
            ],
            0.09,
        )
        for software in ("fa2", "cudnn")
        for place, way in enumerate(WAYS)
    ]


def products() -> list[Check]:
    """Every shape in a burst: the worst number of rows."""
    found = []
    for precision, n, k in dict.fromkeys((row["precision"], row["n"], row["k"]) for row in PRODUCTS):
        both = [
            (ours, row)
            for ours, row in zip(seconds("waves", STACK), PRODUCTS, strict=True)
            if (row["precision"], row["n"], row["k"]) == (precision, n, k)
        ]
        ours, row = max(both, key=lambda each: abs(each[0] / each[1]["burst_s"] - 1))
        median = np.median([abs(ours / row["burst_s"] - 1) for ours, row in both])
        what = f"{precision}, {n} x {k}: median {median:.1%}, worst {row['m']} rows"
        found.append(Check(what, 1e3 * row["burst_s"], 1e3 * ours, 0.4, "ms"))
    model = KernelModel("elementwise")
    for row in PASSES:
        ours = 1e3 * model.solve(hardware=DEVICE, kernel_bytes=row["bytes"] / 1e6).canonical("kernel_time")
        found.append(Check(f"{row['kernel']} of {row['bytes'] / 1e9:.1f} GB", 1e3 * row["burst_s"], ours, 0.15, "ms"))
    return found


def spreads() -> list[Spread]:
    """Bursts and runs of a second, by precision and form."""
    ways = {"in a burst": "burst_s", "over a second, at the power limit": "sustained_s"}
    return [
        Spread(
            f"`{variant}`, `Stacks.{stack}`, {precision}, {words}", errors(variant, stack, measured, precision), 0.15
        )
        for variant, stack in (("waves", STACK), ("waves", "Generic"), ("smooth", "cuBLAS"))
        for precision in ("bf16", "fp8")
        for words, measured in ways.items()
    ]


GROUPS: tuple[Group, ...] = (
    Group(
        "products_h200",
        "Kernels: matrix products on H200, measured by ourselves",
        f"47 products, bf16 and fp8, of {MEASURED['about']['device']} with PyTorch {MEASURED['about']['torch']}, by "
        "`tests/validation/measure_kernels.py`; no constant was calibrated on this device. Over a second the power "
        "limit of 700 W holds the clock near 1,440 MHz of 1,980, and products at bf16 take an eighth longer than in "
        "the law of bursts. The worst row of each shape, 40%.",
        "tests/validation/measure_kernels.py on one H200, 2026-11-27",
        products,
        spreads=spreads,
    ),
    Group(
        "attention_h200",
        "Kernels: attention on H200, measured by ourselves",
        "48 shapes of FlashAttention 2 and cuDNN, forward and backward, by products and exponentials; constants are "
        "those of the figures of FlashAttention 3 on H100. 20%.",
        "tests/validation/measure_kernels.py on one H200, 2026-11-27",
        attention,
        spreads=attention_spreads,
    ),
)
