"""What is printed fits the width there is; only what cannot be broken, such as an address, is longer."""

import pytest

QUESTIONS = {
    "memory": ("memory", "--model", "Llama3_8B", "--hardware", "H100", "--batch-size", "8", "--explain"),
    "serve": ("serve", "--model", "Llama3_3_70B", "--hardware", "H100", "--tp-size", "4", "--request-rate", "5"),
    "points": ("sweep", "memory", "model=Llama3_8B", "hardware=A100,H100", "batch_size=8", "zero_stage=0,1,2,3"),
    "extents": ("sweep", "memory", "model=Llama3_8B", "hardware=A100,H100", "batch_size=1:256"),
    "pareto": (
        "pareto", "train", "model=Llama3_8B", "fleet=SuperPOD_H100", "batch_size=256", "zero_stage=0,1,2,3",
        "gradient_accumulation_steps=1:8:x2", "--minimize", "step_time", "--minimize", "total_memory",
    ),
    "sensitivity": ("sensitivity", "memory", "model=Llama3_8B", "hardware=H100", "batch_size=8"),
    "simulate": (
        "simulate", "serve", "model=Llama3_3_70B", "hardware=H100", "tp_size=4", "request_rate=5", "--requests", "500",
        "--variant", "chunked_estimate",
    ),
    "compare": ("compare", "memory", "model=Llama3_8B", "hardware=H100", "batch_size=8,16"),
    "formula": ("formula", "total_memory"),
    "formulas": ("formula",),
    "catalog": ("catalog", "H100"),
}  # fmt: skip


@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize("name", QUESTIONS)
def test_it_fits(run, monkeypatch, name, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    done = run(*QUESTIONS[name])
    assert done.exit_code == 0, done.output
    wide = [line for line in done.stdout.splitlines() if len(line) > columns]
    assert not [line for line in wide if len(line.split()) > 1]


def test_a_meaning_with_little_room_stands_below(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    lines = run(*QUESTIONS["memory"]).stdout.splitlines()
    place = next(at for at, line in enumerate(lines) if line.startswith("total_memory "))
    assert lines[place + 1] == "    Memory one rank needs."
