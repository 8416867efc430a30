"""``mlsysim what-fits``: the table, its options and what it refuses."""

import csv
import io
import json

import pytest

GPU = ("what-fits", "RTX_4090")


@pytest.mark.parametrize("columns", [60, 80])
def test_the_table_is_as_wide_as_the_terminal(run, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    done = run(*GPU)
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0] == "Models that fit RTX_4090 (25.4 GB)"
    assert max(map(len, lines)) <= columns
    assert any("smaller models fit too: --all lists them." in line for line in lines)


def test_all_rows_in_an_order(run):
    done = run(*GPU, "--all", "--sort", "name")
    names = [line.split()[0] for line in done.stdout.split("──\n")[1].partition("\n\n")[0].splitlines()]
    assert names == sorted(names)
    assert {"Llama3_1_8B", "Llama3_1_405B", "GPT2_XL"} <= {*names}


def test_a_model_lists_devices(run):
    done = run("what-fits", "Llama3_1_8B", "--formats", "w4a16", "--finetuning", "qlora")
    assert done.stdout.startswith("Devices that hold Llama3_1_8B\n")
    header, row = (done.stdout.splitlines()[at].split() for at in (4, 6))
    assert header == ["Device", "4", "bit", "QLoRA"]
    assert row[0].startswith("RTX_")


def test_a_memory_and_a_context_ask_for_batches(run):
    done = run(
        "what-fits", "--memory", "24GB", "--context", "8k", "Llama3_1_8B,Qwen3_8B", "kv_cache_dtype=fp8", "--json"
    )
    found = json.loads(done.stdout)
    assert (found["answer"], found["context"]) == ("batch", 8000)
    by_hand = (21.6e9 - 2 * 8.03e9) // (65_536 * 8000)
    assert [row["fits"][0]["value"] for row in found["rows"] if row["model"] == "Llama3_1_8B"] == [by_hand]


def test_csv_has_a_row_per_cell(run):
    done = run(*GPU, "Llama3_1_8B", "--training-stack", "unsloth", "lora_rank=32", "--csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["way"] for row in rows] == ["bf16", "fp8", "w4a16", "lora", "qlora", "full"]
    assert rows[0]["device"] == "RTX_4090"
    assert int(rows[4]["context"]) > int(rows[3]["context"]) > 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "name a device or a model, or give free memory, as in --memory 21GB"),
        (("H10",), "unknown device or model 'H10': did you mean H100"),
        (("H100", "loar_rank=8"), "did you mean lora_rank"),
        (("H100", "lora_rank=8", "lora_rank=4"), "is given twice"),
        (("H100", "--context", "8k", "--batch", "2"), "--batch 2: must be left out"),
        (("--memory", "21s"), "--memory '21 s': s is not a unit of GB"),
        (("H100", "--formats", "fp9"), "did you mean fp8"),
        (("H100", "--sort", "qlor"), "unknown column to sort by 'qlor': did you mean qlora"),
        (("H100", "--training-stack", "unslot"), "did you mean unsloth"),
    ],
)
def test_refused(run, words, said):
    done = run("what-fits", *words)
    assert done.exit_code == 2
    assert said in done.stderr
    assert not done.stdout
