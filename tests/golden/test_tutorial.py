"""The tutorial's scripts, verbatim and as calls of our own, against the whole of what they print."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from mlsysim import (
    Hardware,
    Models,
    MoERoutingModel,
    ServingCapacityModel,
    SparseTransformerWorkload,
    Systems,
    TrainingMemoryModel,
    ureg,
)
from mlsysim.show import table

HERE = Path(__file__).parent
DOCUMENT = HERE.parents[2] / "shared" / "sources" / "tutorial.txt"


def parses(lines):
    try:
        ast.parse("\n".join(lines))
    except SyntaxError:
        return False
    return True


def scripts_and_outputs(document):
    """Each script is the longest run of lines from its import that parses; its output runs to the next empty line."""
    lines = document.splitlines()
    found = []
    for start, line in enumerate(lines):
        if not line.startswith("from mlsysim import") or (start and lines[start - 1].startswith("from ")):
            continue
        end = max(stop for stop in range(start + 1, min(start + 80, len(lines)) + 1) if parses(lines[start:stop]))
        close = next(place for place in range(end, len(lines)) if not lines[place].strip())
        found.append(("\n".join(lines[start:end]) + "\n", "\n".join(lines[end:close]) + "\n"))
    return found


def test_extraction_separates_code_from_output():
    document = (
        "Prose.\n\nfrom mlsysim import ureg\n\nfor i in [1]:\n    print(f'N: {i} x')\nN: 1 x\n─────\n\nMore prose.\n"
    )
    assert scripts_and_outputs(document) == [
        ("from mlsysim import ureg\n\nfor i in [1]:\n    print(f'N: {i} x')\n", "N: 1 x\n─────\n")
    ]


@pytest.mark.skipif(not DOCUMENT.exists(), reason="the tutorial's text is not in this checkout")
def test_the_documents_scripts_run_verbatim_and_print_its_output():
    found = scripts_and_outputs(DOCUMENT.read_text(encoding="utf-8"))
    assert len(found) == 3
    code = "".join(script for script, _ in found)
    run = subprocess.run(
        [sys.executable, "-W", "error", "-X", "utf8", "-c", code],
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )
    assert run.stderr == ""
    assert run.stdout == "".join(output for _, output in found)
    assert run.returncode == 0


def expected(name):
    return (HERE / f"{name}.txt").read_text(encoding="utf-8")


def test_memory_table(capsys):
    found = TrainingMemoryModel().solve(
        Models.Language.Llama3_8B, Hardware.Cloud.H100, batch_size=8, seq_len=2048, dp_size=8, zero_stage=2
    )
    parts = {
        "Weights": found.weights,
        "Gradients": found.gradients,
        "Optimizer": found.optimizer_state,
        "Activations": found.activations,
        "Buffers": found.communication_buffers,
        "Total": found.total_memory,
    }
    table(["Component", "Per-GPU Memory"], list(parts.items()))
    print(f"Fits on H100: {found.feasible}")
    assert capsys.readouterr().out == expected("memory")


def test_capacity_lines(capsys):
    found = ServingCapacityModel().solve(
        "Llama3_8B",
        "H100",
        qps=20,
        target_p99_latency_ms=2000,
        seq_len=1024,
        output_tokens=64,
        max_batch_size=16,
        efficiency=0.35,
    )
    print(
        f"{found.required_replicas} | {found.qps_capacity:.1f} QPS | {found.utilization:.1%} | "
        f"{found.estimated_p99_latency:~.1f} | {found.bottleneck}"
    )
    assert capsys.readouterr().out == expected("capacity")


def test_routing_table(capsys):
    moe = SparseTransformerWorkload(
        name="64B in 8 experts",
        parameters=64e9 * ureg.count,
        active_parameters=8e9 * ureg.count,
        experts=8,
        active_experts_per_token=2,
        layers=32,
        hidden_dim=4096,
        heads=32,
    )
    rows = []
    for factor in (1.0, 1.25, 1.5, 2.0):
        found = MoERoutingModel().solve(
            moe, Systems.Clusters.Research_256, batch_size=4, ep_size=8, routing_imbalance_factor=factor
        )
        rows.append(
            [
                factor,
                f"{found.effective_active_experts:.2f}",
                found.token_dispatch_bytes,
                found.all_to_all_latency,
            ]
        )
    table(["Imbalance", "Effective Experts", "Routed Bytes", "All-to-All"], rows)
    assert capsys.readouterr().out == expected("routing")
