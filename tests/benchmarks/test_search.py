"""The exact optimum of layouts too many to enumerate: seconds against what was asked, and against streaming."""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import pytest

from mlsysim import DistributedModel, TrainingMemoryModel, verify

HERE = Path(__file__).parent
FIXED = {"model": "Llama3_70B", "hardware": "H100", "fabric_bandwidth": "50 GB/s"}
#: Seconds after which a search by bounds answers with a gap, and seconds that are wanted, by the number of layouts.
LIMIT = 10
WANTED = {1e12: 0.5, 1e17: 1.0}
#: Objectives of a training layout: the fastest, the fastest per accelerator, the cheapest per token.
OBJECTIVES = {
    "step_time": {"minimize": "step_time"},
    "throughput": {"maximize": "tokens_per_second_per_accelerator"},
    "accelerator_seconds": {"minimize": "step_time * fleet_size / (batch_size * seq_len)"},
}


def layouts(points):
    """Axes of a training layout with at least so many points together, the axes always the same."""
    axes = {
        "tp_size": [1, 2, 4, 8],
        "zero_stage": [0, 1, 2, 3],
        "activation_checkpointing": ["none", "selective", "full"],
        "sequence_parallel": [False, True],
        "cp_size": [1, 2, 4, 8],
        "precision": ["bf16", "fp8"],
        "interleaved_stages": [1],
        "seq_len": [8192],
        "fleet_size": [512],
        "pp_size": [1, 2, 4, 8],
        "gradient_accumulation_steps": [2**n for n in range(7)],
        "batch_size": [1024],
    }
    longer = (
        ("batch_size", lambda n: [16 * i for i in range(1, n + 1)], 256),
        ("pp_size", lambda n: range(1, n + 1), 80),
        ("gradient_accumulation_steps", lambda n: range(1, n + 1), 512),
        ("fleet_size", lambda n: [8 * i for i in range(1, n + 1)], 512),
        ("seq_len", lambda n: [1024 * i for i in range(1, n + 1)], 32),
        ("interleaved_stages", lambda n: range(1, n + 1), 8),
        ("batch_size", lambda n: range(1, n + 1), 8192),
        ("seq_len", lambda n: [128 * i for i in range(1, n + 1)], 1024),
        ("fleet_size", lambda n: range(8, 8 * n + 1, 8), 4096),
    )
    for name, values, most in longer:
        missing = math.ceil(points / math.prod(map(len, axes.values())))
        if missing <= 1:
            break
        axes[name] = values(min(most, missing * len(axes[name])))
    return axes


#: Share of the memory that may be taken.
SHARE = 0.9
#: What has been asked before: nothing like it, so that all is made anew; the same with another share; or just that.
ASKED = ("a new question", "another budget", "asked again")


def constraints(share=SHARE):
    return f"total_memory <= {share!r} * memory_capacity", "batch_size >= 1024"


def search(points, objective, share=SHARE, fresh=0, **how):
    asked = {**FIXED, **layouts(points), **OBJECTIVES[objective], "subject_to": constraints(share)}
    return DistributedModel().search(**asked, fabric_latency=f"{10 + 1e-6 * fresh!r} us", **how)


def rounds(asked):
    """What differs in the question of each round."""
    for number in itertools.count():
        share = SHARE - 1e-6 * number if asked == "another budget" else SHARE
        yield {"share": share, "fresh": number if asked == "a new question" else 0}


def seconds_of(points, objective, **how):
    start = time.perf_counter()
    found = search(points, objective, **how)
    return time.perf_counter() - start, found.certificate


def said_of(certificate):
    """Whether the answer is proven, in words."""
    return "proven" if certificate.proven else f"gap {100 * certificate.gap:.2g}%"


def fewest(points, share=SHARE, fresh=0):
    """The fewest accelerators on which steps of four million tokens fit, out of so many layouts."""
    axes = {
        "tp_size": [1, 2, 4, 8],
        "zero_stage": [0, 1, 2, 3],
        "activation_checkpointing": ["none", "selective", "full"],
        "sequence_parallel": [False, True],
        "gradient_accumulation_steps": [2**n for n in range(4)],
        "pp_size": range(1, 41),
        "seq_len": range(1024, 32 * 1024 + 1, 1024),
        "dp_size": range(1, 513),
    }
    left = max(1, math.ceil(points / math.prod(map(len, axes.values()))))
    axes["batch_size"] = range(1, min(left, 8192) + 1)
    left = max(1, math.ceil(left / 8192))
    axes["interleaved_stages"] = range(1, min(left, 8) + 1)
    left = max(1, math.ceil(left / 8))
    axes["seq_len"] = range(128, 32 * 128 * min(left, 8) + 1, 128) if left > 1 else axes["seq_len"]
    axes["dp_size"] = range(1, 512 * max(1, math.ceil(left / 8)) + 1)
    return TrainingMemoryModel("per_operator").search(
        model="Llama3_70B",
        hardware="H100",
        precision="bf16",
        **axes,
        minimize="tp_size * pp_size * dp_size",
        subject_to=[f"total_memory <= {share!r} * memory_capacity", f"batch_size * seq_len >= {4194304 + fresh}"],
        method="bounds",
        time_limit=LIMIT,
    )


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("points", [1e12, 1e17])
def test_warm_search_for_what_fits(benchmark, against, points, asked):
    taken, question = [], rounds(asked)

    def once():
        start = time.perf_counter()
        certificate = fewest(points, **next(question)).certificate
        taken.append((time.perf_counter() - start, certificate))

    benchmark.pedantic(once, rounds=3, warmup_rounds=1)
    seconds, (certificate, *_) = zip(*taken, strict=True)
    layouts = f"{certificate.points:.1e} layouts of `TrainingMemoryModel`"
    what = f"warm search by bounds, {layouts}, fewest accelerators, {asked}"
    against(f"{what} ({said_of(certificate)})", WANTED[points], seconds)


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("points", [1e12, 1e17])
def test_warm_search(benchmark, against, points, objective, asked):
    taken, question = [], rounds(asked)

    def once():
        seconds, certificate = seconds_of(points, objective, **next(question), method="bounds", time_limit=LIMIT)
        taken.append((seconds, certificate))

    benchmark.pedantic(once, rounds=5, warmup_rounds=1)
    seconds, (certificate, *_) = zip(*taken, strict=True)
    what = f"warm search by bounds, {certificate.points:.1e} layouts of `DistributedModel`, {objective}, {asked}"
    against(f"{what} ({said_of(certificate)})", WANTED[points], seconds)


@pytest.mark.parametrize("objectives", [("step_time", "fleet_size"), ("step_time", "total_memory")], ids="-".join)
@pytest.mark.parametrize("points", [1e12, 1e17])
def test_warm_front(benchmark, against, points, objectives):
    taken = []

    def once():
        start = time.perf_counter()
        found = DistributedModel().pareto(
            objectives,
            **FIXED,
            **layouts(points),
            fabric_latency="10 us",
            subject_to=constraints(),
            method="bounds",
            time_limit=3 * LIMIT,
        )
        taken.append((time.perf_counter() - start, found))

    benchmark.pedantic(once, rounds=2, warmup_rounds=1)
    seconds, (found, *_) = zip(*taken, strict=True)
    what = f"warm front by bounds, {found.certificate.points:.1e} layouts, {' and '.join(objectives)}"
    against(f"{what}, {len(found)} designs ({said_of(found.certificate)})", 30.0, seconds)


def test_a_search_cut_short(benchmark, against):
    """Of 1e18 layouts nothing is proven in two seconds; the answer comes when they are over."""
    limit, taken = 2.0, []

    def once():
        seconds, certificate = seconds_of(1e18, "step_time", method="bounds", time_limit=limit)
        assert not certificate.proven
        taken.append(seconds)

    benchmark.pedantic(once, rounds=3, warmup_rounds=1)
    against("search by bounds of 1e18 layouts with a time limit", limit, taken, target=1.2, yardstick=None)


@pytest.mark.parametrize("points", [1e12])
def test_verifying_a_saved_certificate(benchmark, against, points, tmp_path):
    path = tmp_path / "best.json"
    search(points, "step_time", method="bounds", certificate=path)
    taken = []

    def once():
        start = time.perf_counter()
        assert verify(path).complete
        taken.append(time.perf_counter() - start)

    benchmark.pedantic(once, rounds=2, warmup_rounds=1)
    size = f"{path.stat().st_size / 1e3:.0f} kB"
    against(f"verifying a saved certificate of {points:.0e} layouts, {size}", 10.0, taken)


@pytest.mark.parametrize("points", [1e12, 1e17])
def test_search_in_a_fresh_process(benchmark, against, points):
    # The process imports this file, and has no folder of tests.
    from benchmarks.conftest import ENVIRONMENT
    from benchmarks.yardsticks import START

    question = f"{points}, 'throughput', method='bounds', time_limit={3 * LIMIT}"
    command = [sys.executable, "-c", f"import test_search as t; print(t.said_of(t.search({question}).certificate))"]
    taken, said = [], []

    def once():
        start = time.perf_counter()
        done = subprocess.run(command, check=True, cwd=HERE, env=ENVIRONMENT, capture_output=True, text=True)
        said.append(done.stdout.strip())
        taken.append(time.perf_counter() - start)

    benchmark.pedantic(once, rounds=3)
    what = f"search by bounds in a fresh process, everything included, {points:.0e} layouts, throughput"
    against(f"{what} ({said[-1]})", 4.0, taken, yardstick=START)


def test_points_per_second_against_0_3_0(benchmark, theirs):
    """Points settled per second of a constrained search, against the exhaustive search of mlsysim 0.3.0."""
    each = theirs.seconds("dse", number=1) / 256
    taken = []

    def once():
        seconds, certificate = seconds_of(1e8, "step_time", method="dense")
        taken.append(seconds / certificate.points)

    benchmark.pedantic(once, rounds=3, warmup_rounds=1)
    ours = median(taken)
    benchmark.extra_info.update(
        title="streaming 1e8 layouts of a step, against the DSE of mlsysim 0.3.0 over `TrainingMemoryModel`, per point",
        target=1 / 50_000,
        ours=ours,
        theirs=each,
        ratio=ours / each,
    )


def test_time_against_grid_size(benchmark):
    """Drawn in docs/benchmarks.md; streaming as far as it takes seconds."""
    rows = []

    def once():
        for exponent in range(6, 19, 2):
            by_bounds = {
                objective: seconds_of(10.0**exponent, objective, method="bounds", time_limit=LIMIT)
                for objective in OBJECTIVES
            }
            row = {
                "points": next(iter(by_bounds.values()))[1].points,
                "bounds": {name: seconds for name, (seconds, _) in by_bounds.items()},
                "proven": {name: certificate.proven for name, (_, certificate) in by_bounds.items()},
            }
            if exponent <= 9:
                search(10.0**exponent, "step_time", method="dense")
                row["dense"] = seconds_of(10.0**exponent, "step_time", method="dense")[0]
            rows.append(row)

    benchmark.pedantic(once, rounds=1)
    benchmark.extra_info.update(scaling=json.dumps(rows))
