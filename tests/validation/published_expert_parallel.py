"""Training with expert parallelism against the report of torchtitan's issue 1624 and a traced step of it."""

from validation.checks import Check, Group

from mlsysim import ExpertParallelModel
from mlsysim.study.result import Result

GIB = 2**30
#: Reserved bytes of a step traced operation by operation, in a model of the allocator, in GiB.
TRACED = {
    ("accumulated", 1): 84.51,
    ("accumulated", 2): 109.20,
    ("accumulated", 4): 95.98,
    ("accumulated", 8): 83.11,
    ("released", 2): 82.58,
    ("released", 4): 82.29,
    ("released", 8): 82.37,
}
WHEN = {"accumulated": "PyTorch 2.9", "released": "after the fix"}


def solve(prefetch: str, ranks: int) -> Result:
    """The recipe of the report with so many expert-parallel ranks."""
    return ExpertParallelModel().solve(recipe="torchtitan_issue_1624", fsdp_prefetch=prefetch, ep_size=ranks)


def reported() -> list[Check]:
    """Memory and throughput as the report has them."""
    alone, four = (solve("accumulated", ranks) for ranks in (1, 4))
    plain = ExpertParallelModel("per_operator")
    first = [plain.solve(recipe="torchtitan_issue_1624", reserved_memory=0, ep_size=ranks) for ranks in (1, 4)]
    memory = [found.canonical("total_memory") / GIB for found in first]
    speed = [found.canonical("tokens_per_second_per_accelerator") for found in first]

    def tokens(found: Result) -> float:
        return found.canonical("tokens_per_second_per_accelerator")

    return [
        Check("Memory, EP 1", 84.57, alone.canonical("reported_memory") / GIB, 0.01, "GiB", memory[0]),
        Check("Memory, EP 4", 91.51, four.canonical("reported_memory") / GIB, 0.01, "GiB", memory[1], calibrated=True),
        Check("Tokens per second and device, EP 1", 2125, tokens(alone), 0.01, "", speed[0], calibrated=True),
        Check("Tokens per second and device, EP 4", 1121, tokens(four), 0.01, "", speed[1], calibrated=True),
    ]


def traced() -> list[Check]:
    """Memory before it is capped, in the order of the trace."""
    found = []
    for (prefetch, ranks), theirs in TRACED.items():
        ours = solve(prefetch, ranks).canonical("total_memory") / GIB
        found.append(Check(f"EP {ranks}, {WHEN[prefetch]}", theirs, ours, 0.015, "GiB"))
    return found


GROUPS: tuple[Group, ...] = (
    Group(
        "expert_parallel_report", "Expert parallelism: torchtitan on eight H20",
        '`ExpertParallelModel().solve(recipe="torchtitan_issue_1624", ...)`, 1%. 92 GiB that the allocator can have '
        "(`reserved_memory` of the recipe), the efficiency of products and the bandwidth at which pages are mapped are "
        "calibrated on the rows marked so. "
        "One pool for all streams (`per_operator`, nothing kept back) has the wrong sign.",
        "torchtitan, issue 1624", reported, beside="One pool",
    ),
    Group(
        "expert_parallel_traced", "Expert parallelism: a traced step",
        "Closed forms of the pools against the allocations of torchtitan's own step on meta tensors, put through a "
        "model of PyTorch's allocator, 1.5%. The trace is of PyTorch 2.13 with the fix switched off.",
        "allocations of torchtitan 2bfcdd8e1 in a model of the allocator of PyTorch 2.9", traced,
    ),
)  # fmt: skip
