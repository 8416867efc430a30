"""Kernels that others timed, beside two ceilings and a launch; nothing is calibrated."""

import json
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

from validation.checks import Check, Group

from mlsysim.engine import compiled
from mlsysim.formulas import roofline
from mlsysim.symbolic import System

HERE = Path(__file__)
#: Rows and milliseconds, per device, format, columns and inner width.
PRODUCTS: dict[str, Any] = json.loads(HERE.with_name("gemm.json").read_text(encoding="utf-8"))
#: Milliseconds of the operations of a Llama 2 70B layer on H100, per ranks and tokens.
LAYER: list[dict[str, float]] = json.loads(HERE.with_name("vidur.json").read_text(encoding="utf-8"))
#: Peak at 16 bit in FLOP/s and memory in byte/s.
DEVICES = {"a100_sxm": (312e12, 2.039e12), "h100_sxm": (989e12, 3.35e12), "b200_sxm": (2250e12, 7.7e12)}
#: Given beside the measurements: shares of the ceilings, and a launch.
REACHED = {"efficiency": 0.75, "memory_efficiency": 0.80, "dispatch_tax": 3e-6}
PRODUCT = compiled(System(roofline.FORMULAS))
KERNEL = compiled(System([roofline.kernel_time]))

CACHED = "what the kernel before has just written is still in the cache"
FIXED = "short kernels take a microsecond or two, less than the launch we assume"
NORM = "the kernel of this profile reaches a third of the memory bandwidth"
QUANTUM = "ranks of this profile pad their heads, and its blocks fill part of the device only"
MISSED = {"input_layernorm": NORM, "add": FIXED, "mlp_act": CACHED, "attn_pre_proj": QUANTUM}


def product(device: str, bits: int, rows: float, columns: float, inner: float) -> float:
    """Milliseconds of a matrix product; the result is 16 bit."""
    rate, memory = DEVICES[device]
    given = {
        "product_rows": rows, "product_columns": columns, "product_inner": inner, "bytes_per_element": bits / 8,
        "output_bytes": 2.0, "peak_flops": rate * 16 / bits, "memory_bandwidth": memory, **REACHED,
    }  # fmt: skip
    return 1e3 * float(PRODUCT(given)["kernel_time"])


def timed(key: str) -> list[tuple[float, float, float]]:
    """Rows, theirs and ours of one shape."""
    device, kind, columns, inner = key.split("|")
    bits = 16 if kind == "bfloat16" else 8
    return [(m, ms, product(device, bits, m, float(columns[1:]), float(inner[1:]))) for m, ms in PRODUCTS[key]]


def products() -> list[Check]:
    """The mean error over everything, and the worst number of rows of every shape."""
    errors = [abs(ours / theirs - 1) for key in PRODUCTS for _, theirs, ours in timed(key)]
    found = [Check(f"mean of {len(errors)} products, as 1 and its error", 1.0, 1.0 + statistics.mean(errors), 0.25)]
    for key in PRODUCTS:
        rows = timed(key)
        mean = statistics.mean(abs(ours / theirs - 1) for _, theirs, ours in rows)
        m, theirs, ours = max(rows, key=lambda row: abs(row[2] / row[1] - 1))
        device, kind, columns, inner = key.split("|")
        what = f"{device.split('_')[0].upper()}, {kind}, {columns[1:]} x {inner[1:]}: mean {mean:.0%}, worst {m} rows"
        found.append(Check(what, theirs, ours, 0.75, "ms"))
    return found


def layer() -> list[Check]:
    """The worst of all ranks and numbers of tokens, per operation."""
    h, inner, heads, kv, width = 8192, 28672, 64, 8, 128
    rate, memory = DEVICES["h100_sxm"]
    each = defaultdict(list)
    for row in LAYER:
        tp, n = int(row["tp"]), row["tokens"]
        matrices = {
            "attn_pre_proj": ((heads + 2 * max(kv, tp)) * width / tp, h),
            "attn_post_proj": (h, heads * width / tp),
            "mlp_up_proj": (2 * inner / tp, h),
            "mlp_down_proj": (h, inner / tp),
        }
        for name, (columns, depth) in matrices.items():
            each[name].append((tp, n, row[name], product("h100_sxm", 16, n, columns, depth)))
        for name, moved in (("mlp_act", 6 * n * inner / tp), ("add", 6 * n * h), ("input_layernorm", 4 * n * h)):
            given = {
                "kernel_flops": 1.0, "kernel_bytes": moved, "peak_flops": rate, "memory_bandwidth": memory, **REACHED
            }  # fmt: skip
            each[name].append((tp, n, row[name], 1e3 * float(KERNEL(given)["kernel_time"])))
    found = []
    for name, rows in each.items():
        within = sum(abs(ours / theirs - 1) <= 0.3 for *_, theirs, ours in rows)
        tp, n, theirs, ours = max(rows, key=lambda row: abs(row[3] / row[2] - 1))
        what = f"{name}: {within} of {len(rows)} within, worst at {n:g} tokens on {tp} ranks"
        found.append(Check(what, theirs, ours, 0.3, "ms", None, MISSED.get(name, "")))
    return found


GROUPS: tuple[Group, ...] = (
    Group(
        "products",
        "Kernels: matrix products on A100, H100 and B200",
        "Three quarters of the peak, four fifths of the memory bandwidth, 3 us for a launch: 25% in the mean, 75% for "
        "the worst row of a shape. Small products at 8 bit are launched in less than 3 us.",
        "aiconfigurator, gemm",
        products,
    ),
    Group(
        "kernels_vidur",
        "Kernels: a layer of Llama 2 70B on H100",
        "The same three numbers, 30%; the worst of 28 ranks and numbers of tokens.",
        "vidur, profiling of Llama-2-70b, medians",
        layer,
    ),
)
