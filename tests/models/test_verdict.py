"""Whether a run fits, by the error of its memory: in words, as a probability, as a condition."""

import math

import pytest
from scipy.stats import norm

from mlsysim import (
    DistributedModel,
    ExpertParallelModel,
    IterationModel,
    ServingCapacityModel,
    ServingModel,
    TrainingMemoryModel,
)
from mlsysim.errors import InputError

MEMORY = TrainingMemoryModel("per_operator")
ASKED = {"model": "Llama3_8B", "batch_size": 8, "dp_size": 8, "zero_stage": 2, "precision": "bf16"}
#: Gigabytes of that run.
PEAK = MEMORY.solve(**ASKED, memory_capacity="1 TB").canonical("total_memory") / 1e9


@pytest.mark.parametrize(
    ("over", "verdict"),
    [(1.2, "fits"), (1.05, "too close to call"), (0.95, "too close to call"), (0.8, "does not fit")],
)
def test_a_verdict_is_given_where_the_error_leaves_no_doubt(over, verdict):
    found = MEMORY.solve(**ASKED, memory_capacity=f"{PEAK * over} GB", memory_spread=0.05)
    assert found.fit == verdict
    assert found.fit_probability == pytest.approx(norm.cdf(math.log(over) / 0.05), abs=1e-9)
    assert found.memory_margin.to("GB").magnitude == pytest.approx((over - 1) * PEAK)
    assert found.feasible == (over > 1)


@pytest.mark.parametrize(("over", "verdict"), [(1.001, "fits"), (0.999, "does not fit")])
def test_without_an_error_there_is_no_doubt(over, verdict):
    found = MEMORY.solve(**ASKED, memory_capacity=f"{PEAK * over} GB", memory_spread=0)
    assert (found.fit, found.fit_probability) == (verdict, float(over > 1))


def test_a_stack_has_the_spread_of_what_was_measured_of_it():
    asked = {**ASKED, "hardware": "H100"}
    spreads = {stack: MEMORY.solve(**asked, stack=stack)["memory_spread"] for stack in ("Megatron_LM", "HF_Trainer")}
    assert spreads["Megatron_LM"] < spreads["HF_Trainer"]


def test_a_search_takes_the_probability_as_a_condition():
    grid = {**ASKED, "dp_size": [4, 8, 16, 32], "memory_capacity": f"{PEAK} GB", "memory_spread": 0.05}
    found = MEMORY.search(**grid, minimize="dp_size", subject_to="fit_probability >= 0.95")
    points = [MEMORY.solve(**{**grid, "dp_size": ranks}) for ranks in grid["dp_size"]]
    fits = [ranks for ranks, point in zip(grid["dp_size"], points, strict=True) if point.fit_probability >= 0.95]
    assert found.best["dp_size"] == min(fits)
    assert found.certificate.proven


def test_a_spread_below_zero_is_refused():
    with pytest.raises(InputError, match="memory_spread"):
        MEMORY.solve(**ASKED, hardware="H100", memory_spread=-0.1)


@pytest.mark.parametrize("device", ["H100", "M2_Ultra"])
def test_what_programs_can_have_decides(device):
    """A run between what the driver gives and what the device shows does not fit; Apple gives three quarters."""
    found = MEMORY.solve(**ASKED, hardware=device)
    gives, shows = found.canonical("driver_memory"), found.canonical("memory_capacity")
    assert gives < shows
    beside = f"{(gives + shows) / 2 - found.canonical('total_memory')} byte"
    full = MEMORY.solve(**ASKED, hardware=device, reserved_memory=beside)
    assert full.canonical("total_memory") < shows
    assert not full.feasible
    assert full.canonical("memory_margin") == pytest.approx((gives - shows) / 2)
    assert full.memory_utilization > 1
    assert full.fit_probability < 0.5
    assert MEMORY.solve(**ASKED, hardware=device, memory_capacity=f"{shows} byte", reserved_memory=beside).feasible


@pytest.mark.parametrize("model", [DistributedModel(), ExpertParallelModel("fsdp")])
def test_a_step_uses_what_programs_can_have(model):
    asked = {name: value for name, value in ASKED.items() if name != "dp_size"}
    step = model.solve(**{**asked, "batch_size": 256}, fleet="SuperPOD_H100")
    assert step.canonical("usable_memory") == step.canonical("driver_memory") < step.canonical("memory_capacity")


def test_contexts_take_of_what_a_driver_gives():
    plain, beside = (MEMORY.solve(**ASKED, hardware="H100", context_memory=f"{each} GB") for each in (0, 2))
    assert beside.canonical("total_memory") == plain.canonical("total_memory")
    assert plain.canonical("memory_margin") - beside.canonical("memory_margin") == pytest.approx(2e9)


@pytest.mark.parametrize(("reading", "shown"), [("allocated", 1), ("reserved", 1.1), ("device", 1.1)])
def test_the_number_that_users_read(reading, shown):
    found = MEMORY.solve(**ASKED, hardware="H100", memory_reading=reading, pool_share=0.1, context_memory="2 GB")
    beside = 2e9 if reading == "device" else 0
    assert found.canonical("reported_memory") == pytest.approx(shown * found.canonical("total_memory") + beside)


def test_no_more_is_read_than_there_is():
    found = MEMORY.solve(**{**ASKED, "batch_size": 512}, hardware="H100", memory_reading="device")
    assert found.canonical("reported_memory") == found.canonical("driver_memory") < found.canonical("total_memory")


def test_a_stack_says_which_number_its_users_read():
    readings = {each: MEMORY.solve(**ASKED, hardware="H100", stack=each) for each in ("torchtitan", "DeepSpeed")}
    assert [each["memory_reading"] for each in readings.values()] == ["reserved", "device"]
    found = readings["DeepSpeed"]
    more = found.canonical("reported_memory") - found.canonical("total_memory")
    assert 1.5e9 <= more <= 2e9


@pytest.mark.parametrize(
    ("model", "asked"),
    [
        (MEMORY, {"batch_size": 1}),
        (DistributedModel(), {"batch_size": 1, "fleet_size": 1}),
        (IterationModel("saturated"), {}),
        (ServingCapacityModel("prefill_aware"), {"qps": 1, "target_p99_latency_ms": 60_000}),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_driver_that_gives_more_than_it_shows_is_refused(model, asked):
    given = {"model": "Llama3_2_1B", "hardware": "RTX_4090", "precision": "bf16", **asked}
    with pytest.raises(InputError, match=r"driver_memory='90 GB': must be at most memory_capacity=2.*, or 0"):
        model.solve(**given, driver_memory="90 GB")
    assert model.solve(**given, driver_memory="20 GB")["driver_memory"].magnitude == 20


def test_contexts_leave_something_of_what_the_driver_gives():
    with pytest.raises(InputError, match=r"context_memory='85.3 GB': must be .* \(driver_memory=85\.06"):
        MEMORY.solve(**ASKED, hardware="H100", context_memory="85.3 GB")
    given = {"model": "Mixtral_8x7B", "fleet": "SuperPOD_H100", "batch_size": 2048, "context_memory": "5 GB"}
    with pytest.raises(InputError, match=r"reserved_memory='80.5 GB': plus context_memory=5 GB must be .*=85\.06"):
        ExpertParallelModel("fsdp").solve(**given, reserved_memory="80.5 GB")


def test_an_unknown_reading_is_refused():
    with pytest.raises(InputError, match="memory_reading"):
        MEMORY.solve(**ASKED, hardware="H100", memory_reading="guessed")


@pytest.mark.parametrize(
    ("idle", "beside"),
    [
        ({"loss_chunks": 4}, {"loss_kernel": "chunked"}),
        (
            {"microbatch_group": 8},
            {"pp_size": 4, "interleaved_stages": 2, "gradient_accumulation_steps": 16, "batch_size": 256},
        ),
        ({"lora_rank": 8}, {"finetuning": "lora"}),
        ({"pool_share": 0.1}, {"memory_reading": "reserved"}),
        ({"gathered_layers": 3}, {"zero_stage": 3}),
        ({"peak_rank": "last"}, {"pp_size": 4, "gradient_accumulation_steps": 8, "batch_size": 64}),
        ({"memory_reading": "device"}, {"context_memory": "1 GB"}),
        ({"memory_reading": "reserved"}, {"pool_share": 0.1}),
    ],
)
def test_an_argument_without_effect_is_named(idle, beside):
    """It has one beside others, and then nothing is said."""
    (name,) = idle
    said = f"{name}={idle[name]} has no effect without "
    asked = {**ASKED, "hardware": "H100"}
    assert any(note.startswith(said) for note in MEMORY.solve(**asked, **idle).notes)
    assert not any(note.startswith(said) for note in MEMORY.solve(**{**asked, **beside}, **idle).notes)
    assert not any(" has no effect " in note for note in MEMORY.solve(**asked).notes)


@pytest.mark.parametrize("kind", [IterationModel, ServingModel])
@pytest.mark.parametrize(
    ("idle", "beside"),
    [
        ({"moe_layer_tax": 0.05}, "Qwen3_30B_A3B"),
        ({"expert_popularity": 1}, "Qwen3_30B_A3B"),
        ({"expert_efficiency": 0.2}, "Qwen3_30B_A3B"),
        ({"mla_layer_tax": 0.05}, "DeepSeek_V2_Lite"),
    ],
)
def test_times_of_layers_that_a_model_does_not_have_are_named(kind, idle, beside):
    (name,) = idle
    asked = {"hardware": "H100", **({"concurrency": 64} if kind is ServingModel else {"decode_requests": 64})}

    def named(model, **given):
        notes = kind().solve(model=model, **asked, **given).notes
        return [note for note in notes if note.startswith(f"{name}=") and " has no effect without " in note]

    assert named("Llama3_8B", **idle)
    assert not named(beside, **idle)
    assert not named("Llama3_8B")


def test_four_bit_weights_that_are_trained_are_named():
    asked = {**ASKED, "hardware": "H100", "weight_dtype": "nf4"}
    assert any("weights in nf4 cannot be trained" in note for note in MEMORY.solve(**asked).notes)
    assert not any("cannot be trained" in note for note in MEMORY.solve(**asked, finetuning="qlora").notes)


def test_a_step_names_what_has_no_effect():
    asked = {"model": "Llama3_8B", "fleet": "SuperPOD_H100", "batch_size": 256}
    notes = DistributedModel().solve(**asked, loss_chunks=4).notes
    assert "loss_chunks=4 has no effect without loss_kernel='chunked'" in notes
