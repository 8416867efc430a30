"""NCCL within a node, and expert-parallel exchanges, beside collectives of ours."""

import json
import math
from functools import partial
from pathlib import Path
from typing import Any

from validation.checks import Check, Group

from mlsysim.engine import compiled
from mlsysim.formulas import collectives
from mlsysim.symbolic import System

#: Elements of two bytes and milliseconds, per device, collective and number of ranks.
MEASURED: dict[str, Any] = json.loads(Path(__file__).with_name("nccl.json").read_text(encoding="utf-8"))
FORMULAS = {
    "all_reduce": collectives.ring_all_reduce,
    "all_gather": collectives.all_gather,
    "reduce_scatter": collectives.reduce_scatter,
    "alltoall": collectives.pairwise_all_to_all,
}
FUNCTIONS = {
    name: compiled(System([collectives.links_reached, collectives.fabric_reached, *collectives.PLACED, formula]))
    for name, formula in FORMULAS.items()
}
#: Lower and upper end in bytes, and the error allowed.
RANGES = {"64 kB to 4 MB": (2**16, 2**22, 0.40), "16 MB and up": (2**24, math.inf, 0.15)}
CALIBRATED = "all_gather", 8
SMALL, LARGE = 512, 2**29

TWO = "between two ranks NCCL uses fewer channels and other protocols, which no single bandwidth covers"
SWITCH = "the switch reduces (NVLS), which needs half the traffic of a ring"
FOUR = "among four ranks a step costs more than the latency of the smallest message among eight"
SHORT = "for short messages NCCL starts steps together, or goes by trees"


#: Why the worst size is further off than allowed.
MISSED: dict[tuple[str, str, int, str], str] = {
    ("a100", "all_reduce", 2, "64 kB to 4 MB"): TWO,
    ("a100", "all_reduce", 8, "64 kB to 4 MB"): SHORT,
    ("a100", "all_gather", 2, "64 kB to 4 MB"): TWO,
    ("a100", "all_gather", 2, "16 MB and up"): TWO,
    ("a100", "all_gather", 4, "64 kB to 4 MB"): FOUR,
    ("a100", "all_gather", 4, "16 MB and up"): FOUR,
    ("a100", "reduce_scatter", 2, "64 kB to 4 MB"): TWO,
    ("a100", "reduce_scatter", 2, "16 MB and up"): TWO,
    ("a100", "reduce_scatter", 4, "64 kB to 4 MB"): FOUR,
    ("a100", "alltoall", 2, "64 kB to 4 MB"): TWO,
    ("a100", "alltoall", 2, "16 MB and up"): TWO,
    ("h100", "all_reduce", 8, "64 kB to 4 MB"): SHORT,
    ("h100", "all_reduce", 8, "16 MB and up"): SWITCH,
    ("h100", "all_gather", 2, "64 kB to 4 MB"): TWO,
    ("h100", "all_gather", 2, "16 MB and up"): TWO,
    ("h100", "reduce_scatter", 2, "64 kB to 4 MB"): TWO,
    ("h100", "reduce_scatter", 2, "16 MB and up"): TWO,
    ("h100", "alltoall", 2, "64 kB to 4 MB"): TWO,
    ("h100", "alltoall", 2, "16 MB and up"): TWO,
    ("h100", "alltoall", 4, "64 kB to 4 MB"): FOUR,
    ("h200", "all_reduce", 8, "64 kB to 4 MB"): SHORT,
    ("h200", "all_reduce", 8, "16 MB and up"): SWITCH,
    ("h200", "all_gather", 2, "64 kB to 4 MB"): TWO,
    ("h200", "all_gather", 2, "16 MB and up"): TWO,
    ("h200", "reduce_scatter", 2, "64 kB to 4 MB"): TWO,
    ("h200", "reduce_scatter", 2, "16 MB and up"): TWO,
    ("h200", "alltoall", 2, "64 kB to 4 MB"): TWO,
    ("h200", "alltoall", 2, "16 MB and up"): TWO,
    ("h200", "alltoall", 4, "64 kB to 4 MB"): FOUR,
    ("b200", "all_reduce", 2, "64 kB to 4 MB"): TWO,
    ("b200", "all_reduce", 8, "64 kB to 4 MB"): SHORT,
    ("b200", "all_gather", 2, "64 kB to 4 MB"): TWO,
    ("b200", "all_gather", 2, "16 MB and up"): TWO,
    ("b200", "all_gather", 4, "16 MB and up"): FOUR,
    ("b200", "reduce_scatter", 2, "64 kB to 4 MB"): TWO,
    ("b200", "reduce_scatter", 2, "16 MB and up"): TWO,
    ("b200", "reduce_scatter", 4, "16 MB and up"): FOUR,
    ("b200", "alltoall", 2, "64 kB to 4 MB"): TWO,
    ("b200", "alltoall", 2, "16 MB and up"): TWO,
    ("b200", "alltoall", 4, "16 MB and up"): FOUR,
    ("b200", "alltoall", 8, "64 kB to 4 MB"): SHORT,
}


def seconds(collective: str, ranks: int, size: float, bandwidth: float, latency: float) -> float:
    """One collective among ranks of a node."""
    function = FUNCTIONS[collective]
    given = {
        "collective_ranks": ranks, "message_bytes": size, "link_efficiency": 1.0, "node_bandwidth": bandwidth,
        "node_latency": latency, "accelerators_per_node": 8, "link_bandwidth": 1.0, "congestion_factor": 1.0,
        "fabric_latency": 0.0,
    }  # fmt: skip
    return float(function(given)[FORMULAS[collective].name])


def fitted(device: str) -> tuple[float, float]:
    """Bandwidth and latency at which ours is the all-gather of eight ranks at 512 MiB and at 512 B."""
    rows = {2 * size: ms / 1e3 for size, ms in MEASURED[device]["all_gather"]["8"]}
    latency = rows[SMALL] / 7
    lower, upper = 1e9, 1e13
    for _ in range(200):
        middle = math.sqrt(lower * upper)
        slow = seconds("all_gather", 8, LARGE, middle, latency) > rows[LARGE]
        lower, upper = (middle, upper) if slow else (lower, middle)
    return lower, latency


def nccl(device: str) -> list[Check]:
    """The worst size of each range; without chunks beside it."""
    bandwidth, latency = fitted(device)
    found = []
    for collective in FORMULAS:
        for ranks in (2, 4, 8):
            if (collective, ranks) == CALIBRATED:
                continue
            rows = [(2.0 * size, ms / 1e3) for size, ms in MEASURED[device][collective][str(ranks)]]
            for words, (lower, upper, allowed) in RANGES.items():
                each = [(size, time, seconds(collective, ranks, size, bandwidth, latency)) for size, time in rows
                        if lower <= size <= upper]  # fmt: skip
                size, theirs, ours = max(each, key=lambda row: abs(row[2] / row[1] - 1))
                within = sum(abs(ours / theirs - 1) <= allowed for _, theirs, ours in each)
                what = f"{collective}, {ranks} ranks, {words}: {within} of {len(each)} within, worst at {size:,.0f} B"
                missed = MISSED.get((device.split("_")[0], collective, ranks, words), "")
                found.append(Check(what, theirs * 1e3, ours * 1e3, allowed, "ms", None, missed))
    return found


def about(device: str) -> str:
    """What was calibrated."""
    bandwidth, latency = fitted(device)
    return (
        f"Worst size of each range. {bandwidth / 1e9:.1f} GB/s and {latency * 1e6:.2f} us calibrated on the all-gather "
        "of eight ranks at 512 MiB and at 512 B, which is left out."
    )


GROUPS: tuple[Group, ...] = tuple(
    Group(
        f"nccl_{device.split('_')[0]}",
        f"Collectives: NCCL on {device.split('_')[0].upper()}",
        about(device),
        f"aiconfigurator, {device.split('|')[1]}",
        partial(nccl, device),
    )
    for device in MEASURED
)
