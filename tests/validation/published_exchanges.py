"""Expert-parallel exchanges that DeepEP timed, and the bill of a published serving fleet."""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from validation.checks import Check, Group, Spread

from mlsysim import CollectiveModel, EconomicsModel

#: Dispatch in us and GB/s, combine in us and GB/s, per ranks: 128 tokens of 7168, eight experts each.
LOW_LATENCY = {
    8: (77, 98, 114, 127), 16: (118, 63, 195, 74), 32: (155, 48, 273, 53), 64: (173, 43, 314, 46),
    128: (192, 39, 369, 39), 256: (194, 39, 360, 40),
}  # fmt: skip
#: Logical GB/s of dispatch and combine: version, device, tokens, ranks.
NORMAL = {
    ("V1", "H800", 4096, 8): (153, 158), ("V1", "H800", 4096, 16): (43, 43),
    ("V1", "H800", 4096, 32): (58, 57), ("V1", "H800", 4096, 64): (51, 50),
    ("V2", "H100", 8192, 16): (90, 81), ("V2", "H100", 8192, 32): (61, 61),
    ("V2", "B200", 8192, 16): (90, 91), ("V2", "B200", 8192, 8): (726, 740),
}  # fmt: skip
WIDTH, EXPERTS, NODES, FEW = 7168, 8, 4, 128
BYTES = {"dispatch": FEW * EXPERTS * (WIDTH + WIDTH / 128 * 4), "combine": FEW * EXPERTS * WIDTH * 2}
#: What a refit looks at.
SHARES, FLOORS = np.linspace(0.5, 1.0, 101), np.linspace(5, 60, 111)
#: The dispatch travels at 8 bit with scales, the combine at 16.
GIVEN: dict[str, dict[str, Any]] = {"dispatch": {"dispatch_dtype": "fp8_block"}, "combine": {}}


LINKED = "a node of B200 reaches more of its links than those of H800 that the share is then fitted on"


class Row(NamedTuple):
    """One exchange: its configuration, its kind, and logical GB/s or microseconds."""

    configuration: tuple[Any, ...]
    kind: str
    theirs: float


ROWS = [
    Row(configuration, kind, rate)
    for configuration, rates in NORMAL.items()
    for kind, rate in zip(("dispatch", "combine"), rates, strict=True)
]
QUICK = [
    Row((ranks,), kind, time)
    for ranks, (sent, _, back, _) in LOW_LATENCY.items()
    for kind, time in (("dispatch", sent), ("combine", back))
]


def identity() -> list[Check]:
    """Bytes over time is the printed rate: routed bytes count the local share too."""
    found = []
    for ranks, (sent, sent_rate, back, back_rate) in LOW_LATENCY.items():
        for what, time, rate in (("dispatch", sent, sent_rate), ("combine", back, back_rate)):
            found.append(Check(f"{what}, {ranks} ranks", rate, BYTES[what] / time / 1e3, 0.021, "GB/s"))
    return found


def logical(row: Row, **given: Any) -> Any:
    """GB/s as DeepEP counts it, the local share too: per node beyond one, per rank within."""
    _, device, tokens, ranks = row.configuration
    found = CollectiveModel(row.kind).sweep(
        hardware=device, collective_ranks=ranks, tokens_per_rank=[tokens], hidden_dim=WIDTH,
        active_experts_per_token=EXPERTS, node_limit=NODES, outputs=["collective_time", "fabric_bytes", "link_bytes"],
        **GIVEN[row.kind], **given,
    )  # fmt: skip
    near = min(ranks, 8)
    sent = found.fabric_bytes / (1 - near / ranks) if ranks > near else found.link_bytes / (1 - 1 / near)
    return (sent / found.collective_time).isel(tokens_per_rank=0).values


def microseconds(row: Row, **given: Any) -> Any:
    """Of an exchange of few tokens by H800 in low-latency kernels."""
    found = CollectiveModel(f"low_latency_{row.kind}").sweep(
        hardware="H800", collective_ranks=row.configuration[0], tokens_per_rank=[FEW], hidden_dim=WIDTH,
        active_experts_per_token=EXPERTS, outputs="collective_time", **GIVEN[row.kind], **given,
    )  # fmt: skip
    return 1e3 * found.collective_time.isel(tokens_per_rank=0).values


@cache
def left_out() -> list[float]:
    """GB/s of every row by shares fitted on the other configurations."""
    axes = {"fabric_efficiency": SHARES, "exchange_link_efficiency": SHARES}
    off = np.array([np.abs(np.log(logical(row, **axes) / row.theirs)) for row in ROWS])
    found = []
    for row in ROWS:
        others = [place for place, other in enumerate(ROWS) if other.configuration != row.configuration]
        mean = off[others].mean(axis=0)
        x, a = np.unravel_index(mean.argmin(), mean.shape)
        found.append(float(logical(row, fabric_efficiency=SHARES[x], exchange_link_efficiency=SHARES[a])))
    return found


@cache
def left_out_quick() -> list[float]:
    """Microseconds of every row by a floor fitted on the other numbers of ranks."""
    off = np.array([np.abs(np.log(microseconds(row, exchange_latency=FLOORS) / row.theirs)) for row in QUICK])
    found = []
    for row in QUICK:
        others = [place for place, other in enumerate(QUICK) if other.configuration != row.configuration]
        best = FLOORS[off[others].mean(axis=0).argmin()]
        found.append(float(microseconds(row, exchange_latency=best)))
    return found


def normal() -> list[Check]:
    """Logical rates of the normal kernels."""
    found = []
    for row, ours in zip(ROWS, left_out(), strict=True):
        version, device, _, ranks = row.configuration
        entry = float(logical(row, stack="DeepEP"))
        missed = LINKED if (device, ranks) == ("B200", 8) else ""
        found.append(
            Check(f"{version}, {device}, {row.kind}, {ranks} ranks", row.theirs, ours, 0.15, "GB/s", entry, missed)
        )
    return found


def low_latency() -> list[Check]:
    """Times of the low-latency kernels."""
    return [
        Check(
            f"{row.kind}, {row.configuration[0]} ranks",
            row.theirs,
            ours,
            0.15,
            "us",
            float(microseconds(row, stack="DeepEP")),
        )
        for row, ours in zip(QUICK, left_out_quick(), strict=True)
    ]


def of_normal() -> list[Spread]:
    """Errors of the normal kernels; of a time, which is what a rate is over."""
    theirs = np.array([row.theirs for row in ROWS])
    entry = np.array([float(logical(row, stack="DeepEP")) for row in ROWS])
    return [
        Spread(
            "left out: shares fitted on the other configurations",
            np.abs(theirs / np.array(left_out()) - 1),
            0.06,
        ),
        Spread("`Stacks.DeepEP` and the defaults (`Generic`), calibrated here", np.abs(theirs / entry - 1), 0.05),
    ]


def of_low_latency() -> list[Spread]:
    """Errors of the low-latency kernels."""
    theirs = np.array([row.theirs for row in QUICK])
    ours = np.array(left_out_quick())
    entry = np.array([float(microseconds(row, stack="DeepEP")) for row in QUICK])
    return [
        Spread(
            "left out: floor fitted on the other numbers of ranks",
            np.abs(ours / theirs - 1),
            0.04,
        ),
        Spread("`Stacks.DeepEP` and the defaults (`Generic`), calibrated here", np.abs(entry / theirs - 1), 0.04),
    ]


def deepseek() -> list[Check]:
    """A day on 226.75 nodes of eight at two dollars an hour."""
    bill = EconomicsModel("rented_fleet").solve(
        accelerators=1814, duration=1, run_tokens=168e9, rental_price=2, tdp=700
    )
    return [Check("cost of a day", 87_072, bill.canonical("total_cost"), 0.001, "USD")]


GROUPS: tuple[Group, ...] = (
    Group(
        "deepep_bytes", "Exchanges: the bytes of DeepEP", "Routed bytes over printed time against printed rate, 2.1%.",
        "DeepEP, low-latency kernels, docs/legacy.md", identity,
    ),
    Group(
        "deepep_rates", "Exchanges: the normal kernels of DeepEP",
        "Logical rates, which count the local share, through ports of 50 GB/s, dispatch at 8 bit. Ours is by two "
        "shares fitted on the other configurations; `Stacks.DeepEP` beside it was calibrated on these rows and counts "
        "for nothing. 15%.",
        "DeepEP, docs/legacy.md and README", normal, beside="Entry", spreads=of_normal,
    ),
    Group(
        "deepep_times", "Exchanges: the low-latency kernels of DeepEP",
        "128 tokens a rank. The share of the port is that of the normal kernels; the floor is fitted on the other "
        "numbers of ranks. `Stacks.DeepEP` beside it was calibrated on these rows and counts for nothing. 15%.",
        "DeepEP, docs/legacy.md", low_latency, beside="Entry", spreads=of_low_latency,
    ),
    Group(
        "deepseek_bill", "Economics: a day of DeepSeek-V3 and R1", "The rent, 0.1%. Revenue is their price list times "
        "their tokens, and no output of ours. Their tokens per second and node stand below, with the servers.",
        "DeepSeek, open-infra-index, day 6", deepseek,
    ),
)  # fmt: skip
