"""Kernels that others timed: products beside constants fitted without their device, and beside catalog entries."""

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from validation.checks import Check, Group, Spread

from mlsysim import KernelModel, linked

HERE = Path(__file__)
#: Rows and milliseconds, per device, format, columns and inner width.
PRODUCTS: dict[str, Any] = json.loads(HERE.with_name("gemm.json").read_text(encoding="utf-8"))
#: Milliseconds of the operations of a Llama 2 70B layer on H100, per ranks and tokens.
LAYER: list[dict[str, float]] = json.loads(HERE.with_name("vidur.json").read_text(encoding="utf-8"))
#: Rows, columns, inner width and TFLOP/s of products on GB200, by format.
GB200: dict[str, Any] = json.loads(HERE.with_name("gemm_gb200.json").read_text(encoding="utf-8"))
WIDTH, INNER, HEADS, KV, HEAD = 8192, 28672, 64, 8, 128
#: What a refit of the constants of a product looks at, and of the quantising of activations.
ENERGY, MEMORY, LAUNCH = np.linspace(0.10, 0.30, 21), np.linspace(0.76, 1.0, 25), np.linspace(2, 6, 17)
QUANTISING = np.linspace(4, 18, 29)

CACHED = "what the kernel before has just written is still in the cache"
FIXED = "short kernels take a microsecond or two, less than the launch we assume"
NORM = "the kernel of this profile reaches a third of the memory bandwidth"
SLOWER = "short products at 4 bit take longer than at 8 bit, which no ceiling explains"
BURST = "the run ends before power holds it down: twice as wide it reaches a quarter less"
MISSED = {"input_layernorm": NORM, "add": FIXED, "mlp_act": CACHED}


class Row(NamedTuple):
    """One product that somebody timed."""

    shape: str
    device: str
    precision: str
    m: int
    n: int
    k: int
    ms: float


def rows() -> list[Row]:
    """All products of both sources."""
    found = []
    for key, timed in PRODUCTS.items():
        device, kind, n, k = key.split("|")
        device, precision = device.split("_")[0].upper(), "fp8" if kind == "fp8" else "bf16"
        shape = f"{device}, {precision}, {n[1:]} x {k[1:]}"
        found += [Row(shape, device, precision, m, int(n[1:]), int(k[1:]), ms) for m, ms in timed]
    for row in LAYER:
        tp, m = int(row["tp"]), int(row["tokens"])
        for name, n, k in (
            ("attn_pre_proj", (HEADS + 2 * KV) * HEAD // tp, WIDTH),
            ("attn_post_proj", WIDTH, HEADS * HEAD // tp),
            ("mlp_up_proj", 2 * INNER // tp, WIDTH),
            ("mlp_down_proj", WIDTH, INNER // tp),
        ):
            found.append(Row(f"vidur, H100, {name}", "H100", "bf16", m, n, k, row[name]))
    return found


ROWS = rows()
DEVICES = tuple(dict.fromkeys(row.device for row in ROWS))


def places(device: str, precision: str) -> list[int]:
    """Where the products of a device and format stand among all."""
    return [place for place, row in enumerate(ROWS) if (row.device, row.precision) == (device, precision)]


def swept(variant: str, device: str, precision: str, **given: Any) -> np.ndarray:
    """Milliseconds of the products of a device and format, over axes that are given beside."""
    shapes = [ROWS[place][3:6] for place in places(device, precision)]
    once = list(dict.fromkeys(shapes))
    m, n, k = zip(*once, strict=True)
    products = linked(product_rows=m, product_columns=n, product_inner=k)
    model = KernelModel(variant)
    found = model.sweep(row=products, hardware=device, precision=precision, outputs="kernel_time", **given)
    return found.kernel_time.transpose("row", ...).values[[once.index(shape) for shape in shapes]]


def predicted(variant: str, stack: str = "", **given: Any) -> np.ndarray:
    """Milliseconds of all products by a stack; ``{}`` in its name stands for the device."""
    found = np.full(len(ROWS), np.nan)
    for device in DEVICES:
        for precision in ("bf16", "fp8"):
            if where := places(device, precision):
                entry = {"stack": stack.format(device)} if stack else {}
                found[where] = swept(variant, device, precision, **entry, **given)
    return found


def errors(ours: np.ndarray) -> np.ndarray:
    """Relative errors of all products."""
    return np.abs(ours / np.array([row.ms for row in ROWS]) - 1)


def off(ours: np.ndarray, where: list[int]) -> np.ndarray:
    """Logarithms of the errors of some products, over the axes of a refit."""
    theirs = np.array([ROWS[place].ms for place in where])
    return np.abs(np.log(ours / theirs.reshape(-1, *[1] * (ours.ndim - 1))))


@cache
def left_out(variant: str) -> np.ndarray:
    """All products, each by constants fitted on those of the other devices."""
    grid = {"flop_energy": ENERGY, "memory_efficiency": MEMORY, "launch_time": LAUNCH}
    wide = {device: off(swept(variant, device, "bf16", **grid), places(device, "bf16")) for device in DEVICES}
    found = np.full(len(ROWS), np.nan)
    for device in DEVICES:
        others = [other for other in DEVICES if other != device]
        mean = np.concatenate([wide[other] for other in others]).mean(axis=0)
        e, b, t = np.unravel_index(mean.argmin(), mean.shape)
        fitted = {"flop_energy": ENERGY[e], "memory_efficiency": MEMORY[b], "launch_time": LAUNCH[t]}
        found[places(device, "bf16")] = swept(variant, device, "bf16", **fitted)
        if where := places(device, "fp8"):
            narrow = [
                off(swept(variant, other, "fp8", quantization_time=QUANTISING, **fitted), places(other, "fp8"))
                for other in others
                if places(other, "fp8")
            ]
            best = QUANTISING[np.concatenate(narrow).mean(axis=0).argmin()]
            found[where] = swept(variant, device, "fp8", quantization_time=best, **fitted)
    return found


def products() -> list[Check]:
    """The worst number of rows of every shape, by constants fitted without its device; the device's entry beside."""
    ours, entry = left_out("waves"), predicted("waves", "cuBLAS_{}")
    found = []
    for shape in dict.fromkeys(row.shape for row in ROWS):
        where = [place for place, row in enumerate(ROWS) if row.shape == shape]
        worst = max(where, key=lambda place: errors(ours)[place])
        what = f"{shape}: median {np.median(errors(ours)[where]):.1%}, worst {ROWS[worst].m} rows"
        found.append(Check(what, ROWS[worst].ms, ours[worst], 0.4, "ms", entry[worst]))
    return found


def spreads() -> list[Spread]:
    """How far off each form is, left out and not."""
    ours = errors(left_out("waves"))
    found = [Spread("left out: constants fitted without the device", ours, 0.08)]
    for device in DEVICES:
        for precision in ("bf16", "fp8"):
            if where := places(device, precision):
                found.append(Spread(f"left out: {device}, {precision}", ours[where], 0.10))
    for words, fits in (
        ("up to 64 rows", lambda m: m <= 64),
        ("65 to 1024 rows", lambda m: 64 < m <= 1024),
        ("more rows", lambda m: m > 1024),
    ):
        found.append(Spread(f"left out: {words}", ours[[fits(row.m) for row in ROWS]], 0.10))
    found += [
        Spread("left out: `smooth`", errors(left_out("smooth")), 0.10),
        Spread("defaults (`Generic`), constants calibrated here", errors(predicted("waves")), 0.10),
        Spread("`Stacks.cuBLAS`, calibrated here", errors(predicted("waves", "cuBLAS")), 0.06),
        Spread("`Stacks.cuBLAS_A100` and so on, calibrated here", errors(predicted("waves", "cuBLAS_{}")), 0.06),
        Spread("`smooth`, `Stacks.cuBLAS`, calibrated here", errors(predicted("smooth", "cuBLAS")), 0.07),
        Spread(
            "`roofline` at shares 0.75 and 0.80, 3 us",
            errors(predicted("roofline", efficiency=0.75, memory_efficiency=0.8, launch_time=3)),
            0.15,
        ),
    ]
    return found


@cache
def on_gb200() -> tuple[tuple[str, tuple[int, ...], float, float], ...]:
    """Format, shape, their rate and ours."""
    model, found = KernelModel(), []
    for precision in ("fp8", "nvfp4"):
        for m, n, k, theirs in GB200[precision]:
            solved = model.solve(
                hardware="GB200", stack="cuBLAS_B200", precision=precision, product_rows=m, product_columns=n,
                product_inner=k, dynamic_quantization=False,
            )  # fmt: skip
            found.append((precision, (m, n, k), theirs, solved.canonical("kernel_rate") / 1e12))
    return tuple(found)


def gb200() -> list[Check]:
    """Every shape."""
    found = []
    for precision, (m, n, k), theirs, ours in on_gb200():
        error = ours / theirs - 1
        why = "" if abs(error) <= 0.25 else SLOWER if error > 0 else BURST
        fitted = precision == "nvfp4" and k >= 16384
        found.append(Check(f"{precision}, {m} x {n} x {k}", theirs, ours, 0.25, "TFLOP/s", None, why, fitted))
    return found


def gb200_spreads() -> list[Spread]:
    """By format."""
    return [
        Spread(precision, [ours / theirs - 1 for each, _, theirs, ours in on_gb200() if each == precision], allowed)
        for precision, allowed in (("fp8", 0.08), ("nvfp4", 0.35))
    ]


def layer() -> list[Check]:
    """The worst of all ranks and numbers of tokens, per kernel without products."""
    model, found = KernelModel("elementwise"), []
    for name, per_token in (("mlp_act", 6 * INNER), ("add", 6 * WIDTH), ("input_layernorm", 4 * WIDTH)):
        moved = [per_token * row["tokens"] / (row["tp"] if name == "mlp_act" else 1) for row in LAYER]
        ours = np.array(
            [1e3 * model.solve(hardware="H100", kernel_bytes=each / 1e6).canonical("kernel_time") for each in moved]
        )
        theirs = np.array([row[name] for row in LAYER])
        each = np.abs(ours / theirs - 1)
        worst = int(each.argmax())
        what = f"{name}: {(each <= 0.3).sum()} of {len(each)} within, worst at {LAYER[worst]['tokens']:g} tokens on "
        what += f"{LAYER[worst]['tp']:g} ranks"
        found.append(Check(what, theirs[worst], ours[worst], 0.3, "ms", None, MISSED[name]))
    return found


GROUPS: tuple[Group, ...] = (
    Group(
        "products",
        "Kernels: matrix products on A100, H100 and B200",
        "392 products, bf16 and fp8. Ours is by constants fitted on the other devices alone (energy of an operation, "
        "share of the memory bandwidth, launch, and the quantising of activations on the products at 8 bit), each by a "
        "sweep of `KernelModel`; the entry of the device stands beside, which was calibrated on these rows and counts "
        "for nothing. The worst row of each shape, 40%.",
        "aiconfigurator, gemm; vidur, profiling of Llama-2-70b, medians",
        products,
        beside="Entry",
        spreads=spreads,
    ),
    Group(
        "products_gb200",
        "Kernels: matrix products on GB200 at 8 and 4 bit",
        "17 products of Azure by the entry of B200, nothing fitted but that an operation at 4 bit takes half the "
        "energy, which is of the two largest. 25%.",
        "Azure, AI-benchmarking-guide, ND GB200 v6",
        gb200,
        spreads=gb200_spreads,
    ),
    Group(
        "kernels_vidur",
        "Kernels: a layer of Llama 2 70B on H100, what is no product",
        'The defaults of `KernelModel("elementwise")`, 30%; the worst of 28 ranks and numbers of tokens.',
        "vidur, profiling of Llama-2-70b, medians",
        layer,
    ),
)
