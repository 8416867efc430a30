"""Every answer ends with its stack, efficiencies and overlaps, and the expected error of its headline."""

from __future__ import annotations

import json

import pytest

from mlsysim import CollectiveModel, DistributedModel, EconomicsModel, KernelModel, ServingModel, TrainingMemoryModel
from mlsysim.models import every_model
from mlsysim.models.registry import words_for
from mlsysim.study.results.basis import at_point, of_result
from mlsysim.study.results.expected_error import ExpectedError

STEP = ("model=Llama3_70B", "fleet=SuperPOD_H100", "batch_size=1024", "seq_len=8192", "pp_size=4",
        "gradient_accumulation_steps=8")  # fmt: skip
#: The end of a step by library defaults.
DEFAULTS = "Generic (default): step_flop_energy=0.330 pJ/FLOP, attention_kernel_share=0.700, memory_efficiency=0.800,"
VERBS = (
    ("train", *(word for each in (*STEP, "tp_size=8") for word in (f"--{each.partition('=')[0].replace('_', '-')}",
                                                                    each.partition("=")[2]))),
    ("sweep", "train", *STEP, "tp_size=4,8"),
    ("search", "train", *STEP, "tp_size=4,8", "--minimize", "step_time"),
    ("pareto", "train", *STEP, "tp_size=4,8", "--minimize", "step_time", "--minimize", "total_memory"),
    ("solve-for", "train", "straggler_factor", *STEP, "tp_size=8", "step_time <= 60 s"),
    ("solve-for", "train", "straggler_factor", *STEP, "tp_size=4,8", "step_time <= 60 s"),
    ("compare", "train", *STEP, "tp_size=4,8"),
    ("sensitivity", "train", *STEP, "tp_size=8"),
    ("sensitivity", "train", *STEP, "tp_size=4,8"),
    ("uncertainty", "train", *STEP, "tp_size=8", "straggler_factor=uniform(1, 1.1)", "--samples", "64"),
)  # fmt: skip


@pytest.mark.long(quick=2)
@pytest.mark.parametrize("words", VERBS, ids=[" ".join(words[:1]) + f"-{place}" for place, words in enumerate(VERBS)])
def test_every_verb_ends_with_what_its_answer_rests_on(run, words):
    done = run(*words)
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    stack = max(place for place, line in enumerate(lines) if line.startswith("Stack    "))
    foot = " ".join(" ".join(lines[stack:]).split())
    assert foot.startswith(f"Stack {DEFAULTS}")
    measured = DistributedModel.solve_example().expected_error("step_time")
    assert f"Error step_time: {measured.shares} (steps of dense models by library defaults" in foot
    found = json.loads(run(*words, "--json").stdout)["basis"]
    found = found.get("first", found)
    assert (found["stack"], found["shares"]["dp_overlap"]) == ("Generic", {"value": 1.0, "source": "Generic (default)"})
    assert found["expected_errors"]["step_time"]["rows"] == measured.rows


@pytest.mark.parametrize("model", every_model(), ids=lambda model: words_for(model))
def test_every_model_says_an_error_or_that_none_was_measured(model):
    result = model.solve_example()
    labels, texts = zip(*of_result(result).lines(), strict=True)
    assert labels == ("Stack", *["Error"] * len(texts[1:]))
    assert texts[1:]
    assert all(("rows (" in text and "; docs/validation/" in text) or ": none measured" in text for text in texts[1:])


def test_a_count_without_an_error_gives_way_to_times_that_have_one():
    asked = {"model": "Llama3_1_70B", "hardware": "H100", "tp_size": 4, "concurrency": 32, "num_rounds": 10}
    served = ServingModel("chunked_estimate").solve(**asked, osl_cv=0.064, isl=922, osl=922, stack="vLLM_2026_Hopper")
    errors = of_result(served).errors
    assert {"ttft_mean", "tpot_mean", "tokens_per_second"} <= set(errors)
    assert all(isinstance(error, ExpectedError) for error in errors.values())
    assert set(of_result(served, ["deployed_replicas"]).errors) == {"deployed_replicas"}


def test_a_law_or_the_share_that_it_says_is_shown_and_never_both():
    asked = {"model": "Llama3_8B", "fleet": "SuperPOD_H100", "batch_size": 256, "zero_stage": 3}
    shown = of_result(DistributedModel().solve(**asked)).shares
    assert {"step_flop_energy", "attention_kernel_share"} <= set(shown)
    assert not {"efficiency", "attention_efficiency"} & set(shown)
    for changed in ({"efficiency": 0.5, "attention_efficiency": 0.5}, {"stack": "Primus_MI300X"},
                    {"power_limit": 0, "clock": 0}):  # fmt: skip
        shown = of_result(DistributedModel().solve(**asked, **changed)).shares
        assert {"efficiency", "attention_efficiency"} <= set(shown), changed
        assert not {"step_flop_energy", "attention_kernel_share"} & set(shown), changed


def test_origins_are_the_stack_the_default_the_recipe_or_what_was_typed():
    trainer = TrainingMemoryModel.solve_example(variant="per_operator", stack="HF_Trainer", gradient_dtype="fp32")
    assert of_result(trainer).stack.startswith("HF_Trainer: loss_kernel=eager_referenced, update_buffer=foreach, ")
    assert "gradient_dtype" not in of_result(trainer).stack
    given = DistributedModel.solve_example(stack="MPT_H100", memory_efficiency=0.7)
    text = of_result(given).stack
    assert text.startswith("MPT_H100: ")
    assert {"attention_kernel_share", "hidden_traffic_cost"} <= set(of_result(given).by_stack["MPT_H100"])
    assert "Generic (default): step_flop_energy=0.330 pJ/FLOP, link_efficiency=0.860, " in text
    assert "; typed: memory_efficiency=0.700, elementwise_efficiency=0.700; " in text
    run = DistributedModel().solve(recipe="torchtitan_issue_1624")
    named = "torchtitan_H20 (torchtitan_issue_1624): efficiency=0.622, expert_product_ratio=1.00, "
    assert of_result(run).stack.startswith(named)
    assert "default: efficiency=1.00" in of_result(KernelModel.solve_example()).stack


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (CollectiveModel, "NCCL_A100: collective_latency=8.60 µs, node_latency=0.900 µs; Generic (default): link_"),
        (DistributedModel, "NCCL_A100: collective_latency=8.60 µs, node_latency=0.900 µs; Generic (default): step_"),
        (EconomicsModel, "NCCL_A100: collective_latency=8.60 µs, node_latency=0.900 µs; Generic (default): step_"),
        (KernelModel, "NCCL_A100: no value that is used; Generic (default): "),
    ],
)
def test_a_stack_that_was_named_stands_first_with_all_that_it_gives(model, text):
    basis = of_result(model.solve_example(stack="NCCL_A100"))
    assert basis.stack.startswith(text)
    told = basis.to_dict()
    assert told["stack"] == "NCCL_A100"
    values = {"collective_latency": 8.6, "node_latency": 0.9} if "collective" in text else {}
    assert {name: each["value"] for name, each in told["by_stack"]["NCCL_A100"].items()} == pytest.approx(values)


def test_a_grid_names_the_axes_along_which_another_holds():
    model = DistributedModel()
    given = {**DistributedModel.example, "stack": ["Generic", "MPT_H100"], "batch_size": range(2048, 8193, 2048)}
    basis = at_point(model, given)
    assert basis.differs == {"stack": ("stack",), "step_time": ("stack",)}
    assert all(text.endswith("; another along stack") for _, text in basis.lines())
    assert basis.to_dict()["differs_along"] == {"stack": ["stack"], "step_time": ["stack"]}
    drawn = at_point(model, DistributedModel.example, free=["efficiency"])
    assert drawn.stack.startswith("varied: efficiency; ")
    assert drawn.text("step_time").startswith(
        "step_time: none measured (steps of dense models by library defaults: by the values of the stack"
    )


def test_outputs_that_are_words_give_way_to_the_answer():
    result = EconomicsModel.solve_example()
    assert of_result(result, ["feasible"]).outputs == ("total_cost",)
    assert of_result(result, ["energy", "feasible"]).text("energy") == "energy: none measured"
