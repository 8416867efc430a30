"""Time against the mlsysim 0.3.0 of PyPI, in turn and in one run; ratios below 1 mean we are faster."""

from __future__ import annotations

from statistics import median

import pytest

ROUNDS = 9
IMPORT = ("-c", "import mlsysim")


def side_by_side(benchmark, title, target, ours, theirs, rounds=ROUNDS):
    """Run both in turn, record both medians and the median of the pairwise ratios."""
    pairs = []
    benchmark.pedantic(lambda: pairs.append((ours(), theirs())), rounds=rounds, warmup_rounds=1)
    benchmark.extra_info.update(
        title=title,
        target=target,
        ours=median(a for a, _ in pairs),
        theirs=median(b for _, b in pairs),
        ratio=median(a / b for a, b in pairs),
    )
    assert all(seconds > 0 for pair in pairs for seconds in pair)


def test_import(benchmark, ours, theirs):
    side_by_side(
        benchmark,
        "`import mlsysim` in a fresh process",
        1 / 8,
        lambda: ours.process_seconds(*IMPORT),
        lambda: theirs.process_seconds(*IMPORT),
    )


@pytest.mark.parametrize(
    ("question", "title", "target"),
    [
        ("memory", "warm `TrainingMemoryModel().solve`", 1 / 2),
        ("serving", "warm `ServingCapacityModel().solve`, 1 replica", 1 / 2),
        ("serving_44_replicas", "warm `ServingCapacityModel().solve`, 44 replicas", 1 / 20),
        ("moe", "warm `MoERoutingModel().solve`", 1 / 2),
    ],
)
def test_warm_solve(benchmark, ours, theirs, question, title, target):
    side_by_side(benchmark, title, target, lambda: ours.seconds(question), lambda: theirs.seconds(question))


@pytest.mark.parametrize("question", ["memory", "serving", "moe"])
def test_first_solve_against_import(benchmark, ours, theirs, question):
    side_by_side(
        benchmark,
        f"first `solve` ({question}) in a fresh process that makes all four questions, against their `import` alone",
        1,
        lambda: ours.process_seconds("worker.py", "first", question),
        lambda: theirs.process_seconds(*IMPORT),
    )
