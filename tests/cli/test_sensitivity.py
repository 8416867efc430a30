"""``mlsysim sensitivity``: the table, the map of regimes, figures, JSON and refusals."""

from __future__ import annotations

import json
import re

import pytest
from typer.testing import CliRunner

from mlsysim.cli import app

SERVED = ["--variant", "first_order", "model=Llama3_8B", "hardware=H100", "qps=20", "target_p99_latency_ms=4000"]
PRODUCT = ["hardware=H100", "product_columns=8192", "product_inner=4096"]


def run(*words):
    return CliRunner().invoke(app, ["sensitivity", *words], prog_name="mlsysim")


def test_a_table():
    answer = run("serve", "estimated-p99-latency", *SERVED, "--second")
    assert answer.exit_code == 0
    assert answer.output.startswith("Sensitivity of estimated_p99_latency = ")
    assert "Cross-elasticities" in answer.output


def test_ten_rows_of_each_table_unless_all_are_asked(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    words = "train", "step_time", "model=Llama3_70B", "fleet=SuperPOD_H100", "batch_size=1024", "tp_size=8", "pp_size=4"
    short, whole = (run(*words, *more).output.partition("\nStack ")[0] for more in ((), ("--all",)))
    assert max(len(table.splitlines()) for table in short.split("\n\n")) == 3 + 10
    assert re.search(r"\n(\d+) more rows, and \d+ inputs that leave it unchanged: --all has them\.$", short)
    assert "more rows" not in whole
    assert "No effect here: " in whole
    rows = [line.split()[0] for line in whole.splitlines() if line and not line.startswith("─")]
    assert {line.split()[0] for line in short.splitlines()[:-1] if line and line[0] != "─"} <= {*rows}
    assert len(rows) > 100


def test_without_an_output_it_is_the_answer():
    assert run("kernel", *PRODUCT, "product_rows=256").output.startswith("Sensitivity of kernel_time = ")
    attention = "hardware=H100", "batch_size=4", "seq_len=4096", "heads=32", "head_dim=128"
    found = run("kernel", "--variant", "attention", *attention)
    assert found.output.startswith("Sensitivity of attention_forward_time = "), found.output


def test_a_recipe_alone():
    assert run("ep", "recipe=Megatron_Mixtral_8x7B_H100").output.startswith("Sensitivity of tokens_per_second_per_acc")


def test_json():
    data = json.loads(run("kernel", "kernel_time", *PRODUCT, "product_rows=256", "--json").output)
    assert data["inputs"]["memory_bandwidth"]["elasticity"] < 0


def test_a_grid():
    answer = run("kernel", "kernel_time", *PRODUCT, "product_rows=128,256")
    assert answer.exit_code == 0
    assert answer.output.startswith("Elasticities of kernel_time\n")
    assert answer.output.count("+") + answer.output.count("-") >= 4


def test_a_grid_in_json():
    data = json.loads(run("kernel", *PRODUCT, "product_rows=128,256", "--json").output)
    assert data["data_vars"]["elasticity"]["dims"] == ["input", "product_rows"]
    assert data["coords"]["product_rows"]["data"] == [128, 256]


def test_the_output_is_not_required():
    answer = run("--help").output
    assert "[OUTPUT]" in answer
    assert not [line for line in answer.splitlines() if "by default the answer" in line and "required" in line]


def test_regimes_with_a_figure(tmp_path):
    answer = run("kernel", *PRODUCT, "product_rows=1:4096:x2", "--regimes", "--plot", str(tmp_path / "map.png"))
    assert answer.exit_code == 0
    assert "Memory bandwidth" in answer.output
    assert (tmp_path / "map.png").stat().st_size > 1000


def test_a_tornado_diagram(tmp_path):
    answer = run("serve", "estimated_p99_latency", *SERVED, "--plot", str(tmp_path / "tornado.svg"))
    assert answer.exit_code == 0
    assert answer.output.endswith("tornado.svg\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["latency", *SERVED], "unknown output of ServingCapacityModel 'latency'"),
        (["bottleneck", *SERVED], "must be a number"),
        (["estimated_p99_latency", *SERVED, "--regimes"], "is over one or two axes"),
        (["estimated_p99_latency", *SERVED, "efficency=0.5"], "did you mean efficiency"),
        (["estimated_p99_latency", *SERVED, "efficiency=0.3,0.5", "--plot", "x.png"], "draws one point"),
        (["estimated_p99_latency", *SERVED, "--plot", "x.gif"], "must end in"),
        (["estimated_p99_latency", *SERVED, "--plot", "x.png", "--change", "2"], "--change 2.0: must be a share"),
    ],
)
def test_refused_in_one_line(words, said):
    answer = run("serve", *words)
    assert answer.exit_code == 2
    assert said in answer.output
    assert "Traceback" not in answer.output
