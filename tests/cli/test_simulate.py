"""The command ``simulate``: options, files, errors in its own words."""

import csv
import json

import pytest

from mlsysim import ServingModel

ENGINE = ("serve", "model=Llama3_3_70B", "hardware=H100", "tp_size=4", "precision=w8a8", "isl=1024", "osl=64")
GIVEN = {"model": "Llama3_3_70B", "hardware": "H100", "tp_size": 4, "precision": "w8a8", "isl": 1024, "osl": 64}


def test_it_prints_what_the_library_says_and_ends_with_its_basis(run):
    done = run("simulate", *ENGINE, "request_rate=5", "num_replicas=1", "--requests", "500", "--seed", "3")
    assert done.exit_code == 0, done.output
    found = ServingModel.asked().simulate(**GIVEN, request_rate=5, num_replicas=1, requests=500, seed=3)
    assert [" ".join(each.split()) for each in found.text().splitlines()[1:19]] == [
        " ".join(each.split()) for each in done.stdout.splitlines()[2:20]
    ]
    assert "\nStack    vLLM_2026_Hopper:" in done.stdout
    assert "\nError    tpot_mean:" in done.stdout


def test_json_and_a_file_of_requests(run, tmp_path):
    file = tmp_path / "requests.csv"
    words = ("concurrency=4", "--num-rounds", "5", "--variant", "chunked_estimate", "--csv", str(file), "--json")
    done = run("simulate", *ENGINE, *words)
    assert done.exit_code == 0, done.output
    text = done.stdout.partition("\nWritten: ")
    told = json.loads(text[0])
    assert told["variant"] == "chunked_estimate"
    assert told["simulated"].startswith("20 requests, 4 in flight")
    assert told["basis"]["stack"] == "vLLM_2026_Hopper"
    rows = list(csv.DictReader(file.read_text().splitlines()))
    assert len(rows) == 20
    assert {"arrival", "first_token", "finish", "ttft", "tpot", "e2e", "preemptions"} <= {*rows[0]}


def test_a_trace_with_columns_of_its_own(run, tmp_path):
    file = tmp_path / "trace.csv"
    file.write_text("when,in,out,who\n0,100,5,a\n10,200,7,a\n")
    words = [each for each in ENGINE if not each.startswith(("isl", "osl"))]
    named = ("--prompt-tokens", "in", "--output-tokens", "out", "--arrival", "when", "--arrival-unit", "ms")
    done = run("simulate", *words, "num_replicas=1", "--trace", str(file), *named, "--session", "who")
    assert done.exit_code == 0, done.output
    assert "2 requests, from" in done.stdout
    assert "no sessions" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("memory", "model=Llama3_8B"), "memory: has no requests that come one by one; ask serve"),
        ((*ENGINE, "request_rate=1", "--turns", "0"), "--turns 0: must be a whole number from 1"),
        ((*ENGINE, "request_rate=1,2"), "request_rate=[1, 2]: a simulation takes one value of each argument"),
        ((*ENGINE, "request_rate=1", "--trace", "no.csv"), "no.csv: there is no such CSV or JSONL file"),
        ((*ENGINE, "request_rate=1", "--think-time", "3 GB"), "--think-time 3 GB: must be a time from 0 on"),
        ((*ENGINE, "request_rate=1", "--think-time", "2.5"), "--think-time 2.5: is of sessions; give turns"),
        ((*ENGINE, "isl=9", "--variant", "first_order"), "`mlsysim simulate serve`, not of its variant first_order"),
        ((*ENGINE, "request_rate=1", "--variant", "disaggregated"), "--variant disaggregated: is not simulated"),
        ((*ENGINE,), "ServingModel needs request_rate: give request_rate=, concurrency= or a trace"),
        ((*ENGINE, "concurrency=2.5"), "concurrency=2.5: must be a whole number of requests in flight"),
    ],
)
def test_bad_input(run, words, said):
    done = run("simulate", *words)
    assert done.exit_code == 2
    assert said in done.stderr
    assert done.stdout == ""


def test_help_fits_a_terminal(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    done = run("simulate", "--help")
    assert done.exit_code == 0
    assert [line for line in done.stdout.splitlines() if len(line) > 90] == []
    assert "mlsysim simulate serve" in done.stdout
