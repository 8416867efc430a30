"""NCCL within a node, beside rings that no constant but two latencies was fitted on, and beside catalog entries."""

import json
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from validation.checks import Check, Group, Spread

from mlsysim import CollectiveModel, linked

#: Elements of two bytes and milliseconds, per device, collective and number of ranks.
MEASURED: dict[str, Any] = json.loads(Path(__file__).with_name("nccl.json").read_text(encoding="utf-8"))
#: Devices with the same links.
CLASSES = {"A100": ("A100",), "H100": ("H100", "H200"), "B200": ("B200",)}
RINGS = ("all_reduce", "all_gather", "reduce_scatter")
#: What a refit looks at: shares of the links, and in microseconds a start and a step.
SHARES, STARTS, STEPS = np.linspace(0.70, 1.0, 61), np.linspace(2, 14, 121), np.linspace(0.1, 2.0, 96)
#: Largest message in bytes that a latency is fitted on.
SMALL = 2**13
#: Lower end in bytes of the ranges of the tables, and the error allowed.
RANGES = {"up to 8 KiB": (0, 0.30), "to 1 MiB": (SMALL + 1, 0.40), "to 16 MiB": (2**20, 0.55), "beyond": (2**24, 0.25)}

OUTLIER = "a row of its own: one size of this table takes three times as long as its neighbours"
TWO = "between two ranks NCCL uses fewer channels and other protocols, which no single bandwidth covers"
MISSED: dict[tuple[str, str, int, str], str] = {
    ("H100", "all_to_all", 2, "beyond"): TWO,
    ("H200", "all_to_all", 2, "beyond"): TWO,
    ("H200", "all_to_all", 4, "up to 8 KiB"): OUTLIER,
    ("B200", "all_to_all", 2, "beyond"): TWO,
}


class Row(NamedTuple):
    """One collective that NVIDIA timed."""

    device: str
    kind: str
    ranks: int
    size: float
    ms: float


def rows() -> list[Row]:
    """All collectives; a size is that of the whole buffer."""
    found = []
    for key, collectives in MEASURED.items():
        for kind, by_ranks in collectives.items():
            for ranks, timed in by_ranks.items():
                name = "all_to_all" if kind == "alltoall" else kind
                found += [Row(key[:4].upper(), name, int(ranks), 2.0 * size, ms) for size, ms in timed]
    return found


ROWS = rows()
MS = np.array([row.ms for row in ROWS])
LINKS = {device: links for links, devices in CLASSES.items() for device in devices}


def where(devices: tuple[str, ...], kinds: tuple[str, ...], largest: float = np.inf) -> list[int]:
    """Places of the rows of some devices and kinds."""
    return [
        place for place, row in enumerate(ROWS) if row.device in devices and row.kind in kinds and row.size <= largest
    ]


def swept(places: list[int], **given: Any) -> np.ndarray:
    """Milliseconds of some rows of one device and kind, over axes that are given beside."""
    first = ROWS[places[0]]
    points = linked(
        collective_ranks=[ROWS[place].ranks for place in places],
        message_bytes=[ROWS[place].size / 1e6 for place in places],
    )
    model = CollectiveModel(first.kind)
    found = model.sweep(row=points, node=f"DGX_{first.device}", outputs="collective_time", **given)
    return found.collective_time.transpose("row", ...).values


def over(places: list[int], shape: tuple[int, ...], **given: Any) -> np.ndarray:
    """Logarithms of the errors of some rows, over the axes of a refit."""
    found = np.empty((len(places), *shape))
    for device, kind in dict.fromkeys((ROWS[place].device, ROWS[place].kind) for place in places):
        own = [i for i, place in enumerate(places) if (ROWS[place].device, ROWS[place].kind) == (device, kind)]
        ours = swept([places[i] for i in own], **given)
        theirs = MS[[places[i] for i in own]].reshape(-1, *[1] * len(shape))
        found[own] = np.abs(np.log(ours / theirs))
    return found


def fitted(places: list[int], names: tuple[str, str]) -> dict[str, float]:
    """Start and step that short messages take."""
    axes = dict(zip(names, (STARTS, STEPS), strict=True))
    mean = over(places, (len(STARTS), len(STEPS)), **axes).mean(axis=0)
    start, step = np.unravel_index(mean.argmin(), mean.shape)
    return {names[0]: float(STARTS[start]), names[1]: float(STEPS[step])}


@cache
def latencies(links: str) -> dict[str, float]:
    """Of one class of links, from its short messages alone."""
    devices = CLASSES[links]
    return {
        **fitted(where(devices, RINGS, SMALL), ("collective_latency", "node_latency")),
        **fitted(where(devices, ("all_to_all",), SMALL), ("all_to_all_start", "all_to_all_step")),
    }


def taken(kind: str, links: str) -> dict[str, float]:
    """The latencies that a kind of collective has."""
    return {
        name: value for name, value in latencies(links).items() if name.startswith("all_to") == (kind == "all_to_all")
    }


@cache
def share(left_out: str) -> float:
    """Of the links, fitted on the rings of the other classes."""
    parts = []
    for links, devices in CLASSES.items():
        if links != left_out:
            parts.append(over(where(devices, RINGS), (len(SHARES),), link_efficiency=SHARES, **taken("ring", links)))
    return float(SHARES[np.concatenate(parts).mean(axis=0).argmin()])


@cache
def predicted(stack: str = "") -> np.ndarray:
    """Milliseconds of all rows: by a stack, or left out of the fit where none is named."""
    found = np.empty(len(ROWS))
    for device, links in LINKS.items():
        for kind in (*RINGS, "all_to_all"):
            places = where((device,), (kind,))
            given: dict[str, Any] = {"stack": stack.format(links)}
            if not stack:
                given = {"link_efficiency": share(links), **taken(kind, links)}
            found[places] = swept(places, **given)
    return found


def errors(stack: str = "") -> np.ndarray:
    """Relative errors of all rows."""
    return np.abs(predicted(stack) / MS - 1)


def nccl(device: str) -> list[Check]:
    """The worst size of each range; the entry of the class beside."""
    ours, entry, found = predicted(), predicted("NCCL_{}"), []
    lower = [*(least for least, _ in RANGES.values()), np.inf]
    for kind in (*RINGS, "all_to_all"):
        for ranks in (2, 4, 8):
            for place, (words, (least, allowed)) in enumerate(RANGES.items()):
                each = [
                    i for i in where((device,), (kind,))
                    if ROWS[i].ranks == ranks and least <= ROWS[i].size < lower[place + 1]
                ]  # fmt: skip
                off = errors()[each]
                worst = each[int(off.argmax())]
                what = (
                    f"{kind}, {ranks} ranks, {words}: median {np.median(off):.1%}, worst at {ROWS[worst].size:,.0f} B"
                )
                missed = MISSED.get((device, kind, ranks, words), "")
                found.append(Check(what, MS[worst], ours[worst], allowed, "ms", entry[worst], missed))
    return found


def spreads() -> list[Spread]:
    """How far off rings and all-to-alls are, left out and not."""
    rings = np.array([row.kind in RINGS for row in ROWS])
    size = np.array([row.size for row in ROWS])
    links = np.array([LINKS[row.device] for row in ROWS])
    switched = (size >= 2**26) & np.array(
        [row.kind == "all_reduce" and row.ranks == 8 and row.device != "A100" for row in ROWS]
    )
    left, entry, generic = errors(), errors("NCCL_{}"), errors("Generic")
    found = [
        Spread("left out: rings", left[rings], 0.07),
        Spread("left out: rings from 16 MiB", left[rings & (size >= 2**24)], 0.07),
        Spread("left out: all-reduce in the switches, from 64 MiB", left[switched], 0.08),
        Spread("left out: all-to-all", left[~rings], 0.08),
    ]
    found += [Spread(f"left out: rings on {one}", left[rings & (links == one)], 0.08) for one in CLASSES]
    found += [
        Spread("`Stacks.NCCL_A100` and so on, calibrated here: rings", entry[rings], 0.05),
        Spread(
            "`Stacks.NCCL_A100` and so on, calibrated here: rings from 16 MiB", entry[rings & (size >= 2**24)], 0.05
        ),
        Spread("`Stacks.NCCL_A100` and so on, calibrated here: all-to-all", entry[~rings], 0.08),
        Spread("defaults (`Generic`), constants calibrated here: rings", generic[rings], 0.20),
        Spread("defaults (`Generic`): rings from 1 MiB", generic[rings & (size >= 2**20)], 0.10),
        Spread("defaults (`Generic`): all-to-all", generic[~rings], 0.20),
    ]
    return found


def about(device: str) -> str:
    """What was fitted on what."""
    links = LINKS[device]
    own = latencies(links)
    return (
        f"Worst size of each range. The share of the links, {share(links):.3f}, is fitted on the rings of other links; "
        f"latencies on messages up to 8 KiB of {' and '.join(CLASSES[links])}: {own['collective_latency']:.1f} us and "
        f"{own['node_latency']:.2f} us a step, of an all-to-all {own['all_to_all_start']:.1f} us and "
        f"{own['all_to_all_step']:.2f} us. Beside it `Stacks.NCCL_{links}`, which was calibrated on these rows and "
        "counts for nothing."
    )


GROUPS: tuple[Group, ...] = tuple(
    Group(
        f"nccl_{device.lower()}",
        f"Collectives: NCCL on {device}",
        partial(about, device),
        f"aiconfigurator, {next(key for key in MEASURED if key.startswith(device.lower())).split('|')[1]}",
        partial(nccl, device),
        beside="Entry",
        spreads=spreads if device == "A100" else None,
    )
    for device in LINKS
)

#: Bytes and microseconds of an all-reduce among 2 x 8 H100 on GPUDirect-TCPXO, out of place.
TWO_NODES = (
    (8, 135.8), (16, 123.2), (32, 123.3), (64, 123.4), (128, 123.0), (256, 123.6), (512, 126.6), (1024, 147.1),
    (2048, 125.8), (4096, 126.9), (8192, 131.6), (16384, 138.6), (32768, 155.2), (65536, 159.4), (131072, 159.3),
    (262144, 167.1), (524288, 174.2), (2**20, 203.2), (2**21, 254.0), (2**22, 364.6), (2**23, 571.9), (2**24, 977.6),
    (2**25, 1059.9), (2**26, 1261.6), (2**27, 1652.2), (2**28, 2360.9), (2**29, 3817.5), (2**30, 6759.0),
    (2**31, 12646.0), (2**32, 24361.0), (2**33, 47535.0),
)  # fmt: skip
#: GB/s of the bus that NVIDIA/nccl#1455 prints for 2 to 4 GiB, by ranks: where the switches of a node reduce.
SWITCHES = {2: 367.5, 3: 367.5, 4: 367.5, 5: 420.0, 6: 440.0, 7: 460.0, 8: 480.0}
#: Device, ranks, bytes and microseconds of RCCL.
RCCL = (
    ("MI300X", 8, 2**24, 149.9), ("MI300X", 8, 2**26, 432.5), ("MI300X", 8, 2**28, 1540.4),
    ("MI300X", 8, 2**30, 5990.7), ("MI300X", 8, 2**33, 47617.0), ("MI325X", 8, 2**33, 47217.0),
    ("MI300X", 16, 2**33, 45224.0), ("MI325X", 16, 2**33, 46123.0), ("MI325X", 32, 2**33, 47563.0),
    ("MI325X", 64, 2**33, 48321.0), ("MI355X", 16, 2**30, 5525.0), ("MI355X", 16, 2**33, 43643.0),
)  # fmt: skip


def all_reduce(ranks: int, size: float, **where: Any) -> Any:
    """One all-reduce of so many bytes."""
    return CollectiveModel("all_reduce").solve(collective_ranks=ranks, message_bytes=size / 1e6, **where)


def two_nodes() -> list[Check]:
    """Both protocols of a fabric, by constants that were calibrated on these rows."""
    return [
        Check(f"{size:,} B", us, all_reduce(16, size, fleet="A3_Mega_16", stack="NCCL_H100")
              .collective_time.to("us").magnitude, 0.151, "us")
        for size, us in TWO_NODES
    ]  # fmt: skip


def switches() -> list[Check]:
    """The faster of a ring and the switches of a node, by a stack that was calibrated on other rows."""
    return [
        Check(f"{ranks} ranks, 4 GiB", bus, all_reduce(ranks, 2**32, node="DGX_H100", stack="NCCL_H100")
              .bus_bandwidth.to("GB/s").magnitude, 0.09, "GB/s", missed=TWO if ranks == 2 else "")
        for ranks, bus in SWITCHES.items()
    ]  # fmt: skip


def meshes() -> list[Check]:
    """Rings over the links of a mesh, and over several nodes."""
    return [
        Check(f"{device}, {ranks} ranks, {size:,} B", us / 1e3,
              all_reduce(ranks, size, node=f"HGX_{device}", fabric="RoCE_400G", stack="RCCL_MI300X")
              .collective_time.to("ms").magnitude, 0.05 if ranks == 8 else 0.14, "ms")
        for device, ranks, size, us in RCCL
    ]  # fmt: skip


GROUPS += (
    Group(
        "nccl_two_nodes",
        "Collectives: NCCL over two nodes on TCP",
        "All-reduces among 16 H100 of two A3 Mega. Latency of the fabric, rate of short messages and start of long "
        "ones were calibrated on these rows; the factor of two nodes, ports and links were not. 15%.",
        "lessizzmore/create-a3mega-ztan-fork",
        two_nodes,
        spreads=lambda: [
            Spread("`Systems.Fabrics.GPUDirect_TCPXO`, calibrated here", [check.error for check in two_nodes()], 0.06)
        ],
    ),
    Group(
        "nccl_switches",
        "Collectives: NCCL in the switches of a node",
        "Bus bandwidth of an all-reduce by number of ranks; nothing was fitted on these rows. 9%.",
        "NVIDIA/nccl, issue 1455",
        switches,
        summary=True,
    ),
    Group(
        "rccl_meshes",
        "Collectives: RCCL on AMD's meshes",
        "All-reduces of one to eight nodes; nothing was fitted on these rows, the share of a link is AMD's own. 5% in "
        "a node, 14% between nodes.",
        "hisohara/ai-scripts",
        meshes,
        summary=True,
    ),
)
