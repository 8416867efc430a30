"""The parts of a step that a model shows add up to the step, in its unit."""

import random

import pytest

from mlsysim import DistributedModel, ExpertParallelModel
from mlsysim.errors import InputError
from mlsysim.study.results.display import as_text, listed
from mlsysim.symbolic import variable_of

MODELS = {
    "fsdp": ExpertParallelModel(),
    "per_operator": ExpertParallelModel("per_operator"),
    "distributed": DistributedModel(),
}


def setting(draw):
    """A run with whatever can take time, on one node or many; some of them are refused."""
    stages, micro = draw.choice([1, 1, 2, 4]), draw.choice([1, 2, 4, 8])
    ranks, tensor = draw.choice([8, 16, 32]), draw.choice([1, 1, 2])
    two = draw.random() < 0.3
    return {
        "model": draw.choice(["Mixtral_8x7B", "Qwen3_30B_A3B", "Llama3_8B"]),
        "hardware": draw.choice(["H100", "H20"]),
        "fleet_size": ranks * stages * tensor,
        "tp_size": tensor,
        "pp_size": stages,
        "cp_size": draw.choice([1, 1, 2]),
        "ep_size": draw.choice([1, 2, 4, 8]),
        "interleaved_stages": 2 if stages > 1 and micro % stages == 0 else 1,
        "gradient_accumulation_steps": micro,
        "batch_size": ranks * micro,
        "seq_len": draw.choice([1024, 8192]),
        "precision": "bf16",
        "zero_stage": draw.choice([0, 2, 3]),
        "sequence_parallel": tensor > 1,
        "activation_checkpointing": draw.choice(["none", "selective", "full"]),
        "two_batch_overlap": two and micro > 1,
        "routing_imbalance_factor": draw.choice([1.0, 1.3]),
        "straggler_factor": draw.choice([1.0, 1.05, 1.5]),
        "fabric_bandwidth": "50 GB/s",
        "fabric_latency": "10 us",
        "host_operation_time": f"{draw.choice([0, 20, 60])} us",
        "memory_capacity": draw.choice(["40 GB", "4 TB"]),
        "ep_overlap": draw.choice([0.0, 0.5]),
    }


def solved(model, count, seed):
    draw, found = random.Random(seed), []
    while len(found) < count:
        given = setting(draw)
        if "fsdp_prefetch" in model.arguments:
            given["fsdp_prefetch"] = draw.choice(["released", "accumulated"])
        try:
            found.append(model.solve(**given))
        except InputError:
            continue
    return found


@pytest.mark.parametrize("name", MODELS)
def test_parts_of_a_step_add_up_to_it(name):
    model = MODELS[name]
    parts = model.parts_of("step_time")
    found = solved(model, 40, 7)
    for one in found:
        step = one.canonical("step_time")
        assert sum(one.canonical(part) for part in parts) == pytest.approx(step, rel=1e-13)
    assert {part for one in found for part in parts if one.canonical(part) > 0} == {*parts}


def test_parts_of_memory_under_fsdp_add_up_to_it():
    for one in solved(MODELS["fsdp"], 10, 8):
        whole = sum(one.canonical(part) for part in MODELS["fsdp"].parts_of("total_memory"))
        assert whole == pytest.approx(one.canonical("total_memory"), rel=1e-13)
    assert not MODELS["per_operator"].parts_of("total_memory")


def test_computing_by_kind_is_what_the_step_model_calls_computing():
    for one in solved(MODELS["per_operator"], 10, 9):
        kinds = ("step_product_time", "step_score_time", "step_elementwise_time", "step_loss_time")
        assert sum(map(one.canonical, kinds)) == pytest.approx(one.canonical("compute_time"), rel=1e-13)


@pytest.mark.parametrize("name", MODELS)
def test_they_are_shown_below_the_step_in_its_unit_and_with_its_decimals(name):
    model = MODELS[name]
    parts = model.parts_of("step_time")
    headline = model.headline
    start = headline.index("step_time") + 1
    assert headline[start : start + len(parts)] == parts
    for one in solved(model, 10, 10):
        lines = [line.split() for line in repr(one).splitlines() if line.startswith("    ")][: len(parts)]
        assert [line[0] for line in lines] == [*parts]
        assert {line[2] for line in lines} == {"s"}
        step = next(line.split()[1] for line in repr(one).splitlines() if line.split()[0] == "step_time")
        last = 10 ** -len(step.partition(".")[2])
        assert sum(float(line[1]) for line in lines) == pytest.approx(float(step), abs=0.51 * last * (len(parts) + 1))


def test_parts_alone_are_shown_in_their_own_unit():
    one = MODELS["fsdp"].solve_example()
    values = {name: one.canonical(name) for name in ("step_time", "ep_time")}
    shown = [(name, as_text(v := variable_of(name), value), v.description) for name, value in values.items()]
    assert listed(one.model, [*values], values) == shown
    whole = listed(one.model, one.model.headline, {name: one.canonical(name) for name in one.model.headline})
    assert whole[1][2] == "One training step, of these parts:"
    assert shown[1][1].endswith(" ms")
