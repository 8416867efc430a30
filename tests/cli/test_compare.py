"""``mlsysim compare`` says what the library says."""

import json

import pytest

from mlsysim import DistributedModel, TrainingMemoryModel, compare

WORDS = ("memory", "model=Llama3_8B", "hardware=H100", "dp_size=8")
GIVEN = {"model": "Llama3_8B", "hardware": "H100", "dp_size": 8}


def test_two_values(run):
    done = run("compare", *WORDS, "batch_size=64,128")
    assert done.exit_code == 0, done.output
    first, second = (TrainingMemoryModel("per_operator").solve(batch_size=size, **GIVEN) for size in (64, 128))
    assert done.stdout.startswith(f"{compare(first, second)}\nStack    none is used\nError    total_memory: ")


def test_two_variants_in_json(run):
    done = run(
        "compare", *WORDS, "batch_size=64", "--variant", "first_order,per_operator", "--output", "weights", "--json"
    )
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["output"] == "weights"
    assert [each["variant"] for each in found["models"]] == ["first_order", "per_operator"]


def test_linked_arguments(run):
    words = ("train", "model=Llama3_70B", "fleet=SuperPOD_H100", "batch_size=1024", "seq_len=8192")
    done = run("compare", *words, "layout=tp_size=4,8; pp_size=8,4", "gradient_accumulation_steps=8", "--json")
    assert done.exit_code == 0, done.output
    given = {"model": "Llama3_70B", "fleet": "SuperPOD_H100", "batch_size": 1024, "seq_len": 8192}
    given["gradient_accumulation_steps"] = 8
    first, second = (DistributedModel().solve(tp_size=t, pp_size=p, **given) for t, p in ((4, 8), (8, 4)))
    assert json.loads(done.stdout)["difference"] == pytest.approx(float((second.step_time - first.step_time).magnitude))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("batch_size=64",), "one argument, or --variant, has two values"),
        (("batch_size=64,128,256",), "batch_size has 3"),
        (("batch_size=64,128", "tp_size=1,2"), "batch_size has 2, tp_size has 2"),
        (("batch_size=64", "--variant", "first_order,per_operatr"), "did you mean per_operator"),
        (("tp_size=8", "x=tp_size=4,8; batch_size=64,128"), "tp_size=[4, 8]: is given twice; it is linked along x"),
        (("x=tp_size=1,2; zero_stage=1,2", "y=tp_size=1,2; batch_size=8,16"), "is given twice; it is linked along x"),
        (("batch_size=64,128", "--output", "total_memry"), "did you mean total_memory"),
        (("batch_size=64,128", "--output", "feasible"), "--output 'feasible': must be a number"),
    ],
)
def test_refused(run, words, said):
    done = run("compare", *WORDS, *words)
    assert done.exit_code == 2
    assert said in done.output


def test_quantities_of_one_kind_have_one_unit(run):
    words = ("train", "model=Llama3_70B", "fleet=SuperPOD_H100", "batch_size=1024", "seq_len=8192", "pp_size=4")
    done = run("compare", *words, "tp_size=4,8", "gradient_accumulation_steps=8")
    table = done.stdout.partition("\n\n")[2].partition("\n\n")[0].splitlines()
    times = [line for line in table if line.split()[0].endswith("_time") and not line.startswith("training_time")]
    assert len(times) > 5
    assert {word for line in times for word in line.split()[1:] if word.isalpha()} == {"s"}
