"""``mlsysim derivative`` prints what the library does."""

import json

import pytest

from mlsysim import TrainingMemoryModel

POINT = {"model": "Llama3_8B", "hardware": "H100", "precision": "bf16"}
WORDS = ("derivative", "memory", "loss-buffer", "batch_size", "--relax")


def at(point):
    return ("--at", " ".join(f"{name}={value}" for name, value in point.items()))


def test_at_a_point(run):
    slope = TrainingMemoryModel("per_operator").derivative("loss_buffer", "batch_size", relax=True, at=POINT)
    done = run(*WORDS, *at(POINT))
    assert (done.exit_code, done.stdout) == (0, f"{slope}\n")
    assert run(*WORDS, *at(POINT), "--latex").stdout == f"{slope.latex()}\n"
    data = json.loads(run(*WORDS, *at(POINT), "--json").stdout)
    assert (data["text"], data["unit"], data["conditions"]) == (slope.text(), slope.unit, [])


def test_a_whole_point_gives_the_number(run):
    words = ("derivative", "memory", "total_memory", "batch_size", "--relax", *at(POINT | {"batch_size": 2}))
    slope = TrainingMemoryModel("per_operator").derivative("total_memory", "batch_size", relax=True)
    value = slope.at(**POINT, batch_size=2)
    assert run(*words).stdout.splitlines()[-1] == f"  = {value.magnitude:.4g} {slope.unit} at the point"
    assert json.loads(run(*words, "--json").stdout)["value"] == pytest.approx(value.magnitude)


def test_without_a_point_every_case_is_there(run):
    done = run(*WORDS)
    assert done.exit_code == 0
    assert "otherwise" in done.stdout


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--at", "model=Llama3_8B,Llama3_70B"), "--at 'model': a point has one value each"),
        (("--at", "precison=bf16"), "did you mean precision"),
        (("--at", "bf16"), "must be NAME=VALUE"),
        (("--latex", "--json"), "choose one"),
    ],
)
def test_refused(run, more, said):
    done = run(*WORDS, *more)
    assert done.exit_code == 2
    assert said in done.stderr
