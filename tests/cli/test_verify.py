"""``mlsysim verify``: a certificate that a command wrote, whole and changed."""

from __future__ import annotations

import json

import pytest

SEARCH = (
    "search", "memory", "model=Llama3_8B", "hardware=H100", "batch_size=1:64", "dp_size=1:64", "tp_size=1:8:x2",
    "zero_stage=0,1,2,3", "seq_len=1024:8192:x2", "--maximize", "batch_size", "--subject-to", "feasible",
)  # fmt: skip


@pytest.mark.long(quick=1)
@pytest.mark.parametrize("method", ["auto", "bounds"])
def test_what_search_wrote_holds(run, tmp_path, method):
    file = tmp_path / "best.json"
    done = run(*SEARCH, "--method", method, "--certificate", str(file))
    assert done.exit_code == 0
    assert f"Written: {file}" in done.stdout
    done = run("verify", str(file))
    assert done.exit_code == 0
    assert "holds, looked at in" in " ".join(done.stdout.split())
    assert "\nStack    none is used\n" in done.stdout
    done = run("verify", str(file), "--json")
    assert json.loads(done.stdout)["complete"]
    assert json.loads(done.stdout)["basis"]["expected_errors"]


def test_a_changed_one_ends_with_a_code_of_its_own(run, tmp_path):
    file = tmp_path / "best.json"
    run(*SEARCH, "--certificate", str(file))
    content = json.loads(file.read_text())
    content["designs"][0]["objectives"]["batch_size"]["value"] += 1
    file.write_text(json.dumps(content))
    done = run("verify", str(file))
    assert done.exit_code == 5
    assert done.stdout == ""
    assert "does not hold: design 1: batch_size is 64" in done.stderr
    file.write_text("garbage")
    done = run("verify", str(file))
    assert done.exit_code == 2
    assert "is no certificate of mlsysim" in done.stderr


FRONT = (
    "pareto", "memory", "model=Llama3_8B", "hardware=H100", "batch_size=1:64", "dp_size=1:64", "tp_size=1:8:x2",
    "zero_stage=0,1,2,3", "--maximize", "batch_size", "--minimize", "total_memory", "--minimize", "dp_size",
)  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("method", ["auto", "bounds"])
def test_what_pareto_wrote_holds_and_no_longer_without_a_design(run, tmp_path, method):
    file = tmp_path / "front.json"
    done = run(*FRONT, "--method", method, "--certificate", str(file))
    assert done.exit_code == 0
    assert f"Written: {file}" in done.stdout
    done = run("verify", str(file))
    assert done.exit_code == 0
    assert "None is as good as another one" in " ".join(done.stdout.split())
    content = json.loads(file.read_text())
    del content["designs"][-1]
    file.write_text(json.dumps(content))
    done = run("verify", str(file))
    assert done.exit_code == 5
    assert "which no design of the front equals or betters in every objective" in done.stderr


def test_an_option_that_is_refused_has_its_own_name(run, tmp_path):
    done = run(*SEARCH, "--certificate", str(tmp_path / "none" / "best.json"))
    assert done.exit_code == 2
    assert "--certificate" in done.stderr
