"""``mlsysim solve-for``: targets as words, the same refusals and exit codes as other commands."""

from __future__ import annotations

import json
import re

import pytest
from typer.testing import CliRunner

from mlsysim.cli import app

POINT = ["model=Llama3_8B", "hardware=H100", "seq_len=8192", "dp_size=8", "tp_size=2", "zero_stage=3"]
FIRST = ["--variant", "first_order"]
SERVED = [*FIRST, "model=Llama3_8B", "qps=20", "target_p99_latency_ms=4000", "max_batch_size=16"]


def run(*words):
    return CliRunner().invoke(app, ["solve-for", *words], prog_name="mlsysim")


def test_the_answer_with_its_formula():
    counted, first = (run("memory", "batch_size", *POINT, *more, "feasible=true") for more in ((), FIRST))
    assert counted.output.startswith("batch_size = 16, the largest that holds\n")
    assert first.output.startswith("batch_size = 56, the largest that holds\n")
    assert "formula" in first.output


def test_a_condition_is_a_word_in_quotes():
    answer = run("serve", "memory-bandwidth", *SERVED, "hardware=H100", "estimated_p99_latency <= 2 s", "--json")
    found = json.loads(answer.output)
    assert (found["status"], found["which"], found["unit"]) == ("solved", "smallest", "GB/s")
    assert found["result"]["outputs"]["estimated_p99_latency"]["value"] == pytest.approx(2000)


def test_a_bare_number_of_a_target_is_in_the_unit_of_the_output():
    bare, typed = (run("memory", "batch_size", *POINT, f"total_memory <= {most}") for most in ("80", "80 GB"))
    assert bare.exit_code == 0
    assert bare.output == typed.output
    assert "a bare number is in the unit of the output" in " ".join(run("--help").output.split())


def test_a_grid_is_a_table():
    answer = run("serve", "memory_bandwidth", *SERVED, "hardware=H100,A100", "estimated_p99_latency=2000,3000")
    assert answer.exit_code == 0
    assert (answer.output.count("solved"), answer.output.count("several")) == (1, 1)


def test_strict_fails_without_a_value():
    answer = run("memory", "batch_size", "model=Llama3_8B", "hardware=H100", "seq_len=8192", "feasible=1", "--strict")
    assert answer.exit_code == 3
    assert answer.output.startswith(
        "no batch_size holds feasible: total_memory is at least 177.7 GB, at batch_size = 1"
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["batch", *POINT, "feasible=true"], "did you mean batch_size"),
        (["batch_size", *POINT, "feasble=true"], "did you mean feasible"),
        (["batch_size", *POINT, "total_memory <= 3 s"], "target 'total_memory <= 3 s': s is not a unit of GB"),
        (["batch_size", *POINT, "feasible=1", "--subject-to", "dp_size <= 3 s"], "--subject-to 'dp_size <= 3 s': s is"),
        (["batch_size", *POINT, "feasible=true", "--which", "best"], "--which 'best': must be"),
        (["batch_size", *POINT, "feasible=true", "total_memory=1", "total_memory=2"], "is given twice"),
        (["capacity_factor", *POINT, *FIRST, "feasible=true"], "--variant per_operator does"),
        (["batch_size", *POINT, "--total-memory", "80 GB"], "'total_memory=80 GB'`"),
    ],
)
def test_refused_in_one_line(words, said):
    answer = run("memory", *words)
    assert answer.exit_code == 2
    assert said in answer.output


def test_infeasible_answers_are_allowed_by_an_option(run):
    words = ("memory", "batch_size", "model=Llama3_8B", "hardware=H100", "dp_size=8", "total_memory >= 100 GB")
    found, strict, more = (
        run("solve-for", *words),
        run("solve-for", *words, "--strict"),
        run("solve-for", *words, "--allow-infeasible", "--strict"),
    )
    assert "it is not feasible where the rest holds" in " ".join(found.stdout.split())
    assert "feasible (--allow-infeasible keeps what is not)" in found.stdout
    assert (found.exit_code, strict.exit_code, more.exit_code) == (0, 3, 0)


def test_the_whole_numbers_beside_what_is_asked(run):
    words = ("memory", "--variant", "per_operator", "seq_len", "model=Llama3_8B", "hardware=H100", "batch_size=1",
             "dp_size=8", "zero_stage=3")  # fmt: skip
    done = run("solve-for", *words, "total_memory=80 GB", "--strict")
    assert done.exit_code == 0
    assert re.match(r"seq_len = (\d+) token \(79\.\d+ GB\); \d+ token is 80\.\d+ GB\n", done.stdout)
    plain = json.loads(run("solve-for", *words, "total_memory=80 GB", "--json").stdout)
    assert plain["status"] == "nearest"
    assert plain["nearest"][1]["value"] == plain["value"] + 1
