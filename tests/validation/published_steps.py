"""Training steps that others measured, beside ours: with the stack of their software, and with library defaults.

Everything of ours is ``DistributedModel().solve(...)`` on catalog entries; ``step_rows`` has the call of each row,
``calibrate_steps`` what each stack was calibrated on, which is left out here.
"""

from collections.abc import Iterable
from functools import cache, partial
from typing import Any

import numpy as np
from validation.checks import Check, Group, spread
from validation.step_rows import (
    CALIBRATED,
    ROWS,
    calibrated_on,
    measured,
    name,
    published,
    seconds,
    seconds_along,
    stack_of,
)

UNITS = {"s": "s", "tps": "token/s", "TFLOPS": "TFLOP/s"}
USED = {row for stack in CALIBRATED for row in calibrated_on(stack)}
DENSE = [row for row in ROWS if row["shape"].get("E", 1) == 1]
SPARSE = [row for row in ROWS if row["shape"].get("E", 1) > 1]
SOURCES = tuple(dict.fromkeys(row["group"] for row in DENSE))
#: Energies of an operation, in pJ/FLOP, that the default is chosen among where a source is left out.
CHOICES = tuple(round(0.25 + 0.015 * step, 3) for step in range(11))

RING = "ring attention works on blocks of a sequence, whose kernels are slower"
SMALL = "products of a small model are short, and slower than those efficiency is calibrated on"
HIDDEN = "with four sequences on a rank its traffic hides otherwise than a ring of 2021 is taken to hide"
SCALE = "over eight replicas more of their traffic is left exposed than one all-reduce behind the last micro-batch"
NODES = "exchanges between nodes of eight take longer than their bytes, and no value was fitted on any"
EXPOSED = "over 128 ranks the largest model leaves more traffic exposed than smaller ones, which the stack rests on"
SHARE = "its share of the memory bandwidth is that of vTrain's machine, which is larger than this table's"
LIMIT = "the layout just fits, and its allocator frees and asks again"
#: Why a row is further off than allowed. A row that comes within its tolerance must leave this table.
MISSED = {
    "korthikanti5 530B dp8": SCALE,
    "korthikanti5 175B present": SHARE,
    "narayanan2 ZeRO-3 529.6B 1120": HIDDEN,
    "megatron_bridge DSV3 B200 fp8": NODES,
    "torchtitan 8B s131072 cp4": RING,
    "torchtitan 8B s262144 cp8": RING,
    "torchtitan 405B s262144 cp8": RING,
    "torchtitan 405B h100_128 None": EXPOSED,
    "mpt 1b s2048 32 a100_40gb m10x1": LIMIT,
    "mpt 30b s8192 8 a100_80gb m1x21": LIMIT,
    "mpt 760m s512 8 a100_80gb m96x2": SMALL,
    "llama4_ep EP=4": LIMIT,
}


def is_missed(row: dict[str, Any]) -> str:
    """Why a row is further off than allowed; empty where it is not."""
    return MISSED.get(name(row), "")


@cache
def _ours(place: int, stack: str) -> float:
    return seconds(ROWS[place], stack=stack)


def ours(row: dict[str, Any], stack: str = "Generic") -> float:
    """Our step in seconds."""
    return _ours(ROWS.index(row), stack)


def speed_errors(rows: Iterable[dict[str, Any]], *, stacks: bool) -> list[float]:
    """Our throughput over theirs, less one; with stacks the rows they were calibrated on are left out."""
    return [
        published(row) / ours(row, stack_of(row) if stacks else "Generic") - 1
        for row in rows
        if not (stacks and name(row) in USED)
    ]


@cache
def _errors_by_energy() -> np.ndarray:
    """Errors of dense rows (rows) with each default energy that is tried (columns)."""
    energies = [f"{energy} pJ/FLOP" for energy in CHOICES]
    return np.array([published(row) / seconds_along(row, "step_flop_energy", energies) - 1 for row in DENSE])


def left_out(source: str) -> list[float]:
    """Errors of a source with the one default energy that fits the other sources best."""
    errors, own = _errors_by_energy(), np.array([row["group"] == source for row in DENSE])
    best = min(range(len(CHOICES)), key=lambda choice: spread(errors[~own, choice])[0])
    return errors[own, best].tolist()


def experts_left_out() -> dict[str, float]:
    """Errors of the rows with experts, by stacks whose values of experts come from later editions of the software."""
    return {name(row): published(row) / ours(row, stack_of(row)) - 1 for row in SPARSE if name(row) not in USED}


def steps(group: str, *devices: str) -> list[Check]:
    """Our steps beside the rows of a group, those its stack is calibrated on left out."""
    found = []
    for row in ROWS:
        if row["group"] != group or (devices and row["dev"] not in devices) or name(row) in USED:
            continue
        by_stack, by_default = (measured(row, ours(row, stack)) for stack in (stack_of(row), "Generic"))
        found.append(
            Check(row["name"], row["val"], by_stack, row["tol"], UNITS[row["unit"]], by_default, is_missed(row))
        )
    return found


def _cells(title: str, errors: list[float]) -> str:
    return f"{title}: {len(errors)} rows, " + ", ".join(
        f"{word} {100 * value:.1f}%"
        for word, value in zip(("median", "90th percentile", "worst"), spread(errors), strict=True)
    )


def about_errors() -> str:
    """Errors by area in words, with stacks and with defaults."""
    lines = [
        "Errors of throughput by area. Every number is `DistributedModel().solve(...)` on catalog entries "
        "(`tests/validation/step_rows.py`), once with the `stack` of the software and once with library defaults; rows "
        "that say a value of a stack alone are not counted for stacks. Values that many rows say together "
        "(`tests/validation/calibrate_steps.py`) rest on these rows too; with a model left out they are below.",
        "",
        "- " + _cells("Dense, with stacks", speed_errors(DENSE, stacks=True)) + ".",
        "- " + _cells("Dense, with defaults", speed_errors(DENSE, stacks=False)) + ".",
        "- " + _cells("With experts, with stacks", speed_errors(SPARSE, stacks=True)) + ".",
        "- " + _cells("With experts, by values of later editions", list(experts_left_out().values())) + ".",
        "- " + _cells("With experts, with defaults", speed_errors(SPARSE, stacks=False)) + ".",
    ]
    for source in SOURCES:
        lines.append("- " + _cells(f"Defaults, energy chosen without {source}", left_out(source)) + ".")
    return "\n".join(lines)


def _group(key: str, title: str, about: str, source: str, group: str, *devices: str) -> Group:
    return Group(key, title, about, source, partial(steps, group, *devices), beside="Defaults")


GROUPS: tuple[Group, ...] = (
    _group(
        "steps_korthikanti", "Steps: Megatron-LM, 22B to 1T",
        about_errors, "Korthikanti et al., table 5 (A100)", "korthikanti5",
    ),
    _group(
        "steps_narayanan_1", "Steps: Megatron-LM, 1.7B to 1T on up to 3,072 devices",
        "TFLOP/s per device by their equation 3, 15%. Micro-batches are not in the table: the largest that fit are "
        "taken.", "Narayanan et al., table 1 (A100)", "narayanan1",
    ),
    _group(
        "steps_narayanan_2", "Steps: pipeline and tensor parallelism against ZeRO-3",
        "TFLOP/s per device, 15%.", "Narayanan et al., table 2 (A100)", "narayanan2",
    ),
    _group(
        "steps_torchtitan", "Steps: torchtitan",
        "Tokens per second and device, 15%. Degrees and micro-batches that the notes leave out are assumed.",
        "torchtitan, benchmarks and docs/performance.md", "torchtitan",
    ),
    _group(
        "steps_mpt_h100", "Steps: MPT on H100", "Tokens per second and device, 25%.",
        "llm-foundry, scripts/train/benchmarking, without its 8-bit rows", "mpt", "H100",
    ),
    _group(
        "steps_mpt_a100", "Steps: MPT on A100", "Tokens per second and device, 25%.",
        "llm-foundry, scripts/train/benchmarking", "mpt", "A100",
    ),
    _group(
        "steps_mpt_a100_40", "Steps: MPT on A100 with 40 GB", "Tokens per second and device, 25%.",
        "llm-foundry, scripts/train/benchmarking", "mpt", "A100_40",
    ),
    _group(
        "steps_megatron_bridge", "Steps: Megatron-Bridge and Megatron-LM",
        "Tokens per second and device, 20%. Micro-batches of GPT-OSS and Qwen3-30B on H100 are those of the "
        "recipes, one sequence, where the table prints the columns of another edition.",
        "Megatron-Bridge 25.11, performance summary; Megatron-LM, examples", "megatron_bridge",
    ),
    _group(
        "steps_idefics", "Steps: an 80B model with ZeRO-3 over slow fabric",
        "A published case where plain estimates are far off: their own gives 29 s for 49 s. 50%.",
        "stas00, ml-engineering, training/model-parallelism", "idefics",
    ),
    _group(
        "steps_llama4_ep", "Steps: expert parallelism that did not pay",
        "Tokens per second and device; the sign of the change is what the report shows.", "torchtitan, issue 1624",
        "llama4_ep",
    ),
)  # fmt: skip
