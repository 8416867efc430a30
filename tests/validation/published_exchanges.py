"""Expert-parallel exchanges that DeepEP timed, and the bill of a published serving fleet."""

from validation.checks import Check, Group

from mlsysim import EconomicsModel
from mlsysim.engine import compiled
from mlsysim.formulas.collectives import fabric_reached, links_reached, point_to_point
from mlsysim.symbolic import System

#: Dispatch in us and GB/s, combine in us and GB/s, per ranks: 128 tokens of 7168, eight experts each.
LOW_LATENCY = {
    8: (77, 98, 114, 127), 16: (118, 63, 195, 74), 32: (155, 48, 273, 53), 64: (173, 43, 314, 46),
    128: (192, 39, 369, 39), 256: (194, 39, 360, 40),
}  # fmt: skip
TOKENS, WIDTH, EXPERTS = 128, 7168, 8
#: Nominal: a port of 400 Gb/s in one direction, links of H800 at 160 GB/s; 5 us before the first byte, assumed.
PORT, LINK, LATENCY = 50e9, 160e9, 5e-6
BYTES = {"dispatch": TOKENS * EXPERTS * (WIDTH + WIDTH / 128 * 4), "combine": TOKENS * EXPERTS * WIDTH * 2}
LINKED = "eight ranks go over the links at less than their 160 GB/s: kernels of few tokens do not fill them"
PART = "two nodes send half over the links, which our port does not see"
MISSED: dict[tuple[int, str], str] = {
    (8, "dispatch"): LINKED,
    (16, "dispatch"): PART,
    (16, "combine"): PART,
}
SEND = compiled(System([links_reached, fabric_reached, point_to_point]))


def identity() -> list[Check]:
    """Bytes over time is the printed rate: routed bytes count the local share too."""
    found = []
    for ranks, (sent, sent_rate, back, back_rate) in LOW_LATENCY.items():
        for what, time, rate in (("dispatch", sent, sent_rate), ("combine", back, back_rate)):
            found.append(Check(f"{what}, {ranks} ranks", rate, BYTES[what] / time / 1e3, 0.021, "GB/s"))
    return found


def exchange() -> list[Check]:
    """A latency and all routed bytes through one port, or the links of a node."""
    found = []
    for ranks, (sent, _, back, _) in LOW_LATENCY.items():
        for what, theirs in (("dispatch", sent), ("combine", back)):
            given = {
                "collective_ranks": ranks, "accelerators_per_node": 8, "message_bytes": BYTES[what],
                "link_efficiency": 1.0, "node_bandwidth": LINK, "node_latency": LATENCY, "link_bandwidth": PORT,
                "fabric_latency": LATENCY, "congestion_factor": 1.0,
            }  # fmt: skip
            ours = 1e6 * float(SEND(given)["point_to_point_time"])
            found.append(Check(f"{what}, {ranks} ranks", theirs, ours, 0.25, "us", None, MISSED.get((ranks, what), "")))
    return found


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
        "deepep_times", "Exchanges: the times of DeepEP",
        "All routed bytes at the nominal rate of a port, or of the links of a node, after an assumed latency of 5 us; "
        "25%. Nothing is calibrated.", "DeepEP, low-latency kernels, docs/legacy.md", exchange,
    ),
    Group(
        "deepseek_bill", "Economics: a day of DeepSeek-V3 and R1", "The rent, 0.1%. Revenue is their price list times "
        "their tokens, and no output of ours.", "DeepSeek, open-infra-index, day 6", deepseek,
    ),
)  # fmt: skip
