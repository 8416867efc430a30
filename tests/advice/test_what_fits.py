"""Tables of what fits, against arithmetic by hand, the models asked one by one, and what others report."""

import math
import random

import pytest

from mlsysim import IterationModel, Models, TrainingMemoryModel, TransformerWorkload, what_fits
from mlsysim.advice.fit_table import short
from mlsysim.advice.what_fits import FINETUNING, FORMATS
from mlsysim.errors import InputError, UnitError, UnknownNameError

SERVED, TRAINED = IterationModel("saturated"), TrainingMemoryModel("per_operator")
#: Parameters of Llama 3.1 8B, of which embedding and head, and bytes of keys and values of a token at 16 bit.
P, ENDS, KV = 8.03e9, 2 * 128_256 * 4_096, 2 * 32 * 8 * 128 * 2
LLAMA_65B = TransformerWorkload(
    name="LLaMA 65B", layers=80, hidden_dim=8192, heads=64, ffn_dim=22016, vocab_size=32000, gated=True
)


def fits(**asked):
    """The ways of the only row, by name."""
    (row,) = what_fits(**asked).rows
    return {fit.way: fit for fit in row.fits}


@pytest.fixture(scope="module")
def on_a_4090():
    return what_fits("RTX_4090")


def test_contexts_by_hand():
    """Nine tenths of 24 GB, less weights, over the bytes of a token; embedding and head stay at 16 bit."""
    found = fits(memory="24 GB", model="Llama3_1_8B", finetuning=())
    assert found["bf16"].value == (21.6e9 - 2 * P) // KV
    assert found["fp8"].value == pytest.approx((21.6e9 - P - ENDS) / KV, abs=10)
    four = (4 + 20 / 128) / 8  # a scale of 16 bit and a zero point of four for 128 weights
    assert found["w4a16"].value == pytest.approx((21.6e9 - four * (P - ENDS) - 2 * ENDS) / KV, abs=10)


def test_batches_by_hand():
    found = fits(memory="24 GB", model="Llama3_1_8B", finetuning=(), context=8192)
    assert found["bf16"].value == (21.6e9 - 2 * P) // (KV * 8192) == 5
    half = fits(memory="24 GB", model="Llama3_1_8B", finetuning=(), context="8192 token", kv_cache_dtype="fp8")
    assert half["bf16"].value == (21.6e9 - 2 * P) // (KV * 8192 / 2) == 10


def test_states_of_full_training_by_hand():
    """16 bytes a parameter: two of weights, two of gradients, and twelve of Adam; four more of Adam's buffers in HF."""
    found = fits(memory="24 GB", model="Llama3_1_8B", formats=(), training_stack="torchtune")["full"]
    assert found.missing == pytest.approx(16 * P - 24e9, rel=0.02)
    assert found.devices == 8  # 128.5 GB over four are 32
    buffered = fits(memory="24 GB", model="Llama3_1_8B", formats=())["full"]
    assert buffered.missing == pytest.approx(20 * P - 24e9, rel=0.02)


@pytest.mark.parametrize("seed", range(6))
def test_one_token_more_does_not_fit(on_a_4090, seed):
    """Every cell, asked of its model alone at its context and beyond."""
    rng = random.Random(f"contexts {seed}")
    row = rng.choice([row for row in on_a_4090.rows if row.fitting])
    fit = rng.choice([fit for fit in row.fits if fit.value])
    more = range(1) if fit.limited else range(2)
    for beyond in more:
        asked = {"model": row.model, "hardware": "RTX_4090", "seq_len": fit.value + beyond}
        if fit.use == "serve":
            asked |= {"seq_len": asked["seq_len"] - 1, "output_tokens": 1, "max_batch_size": 1, "precision": fit.way}
            assert (SERVED.solve(**asked).canonical("decode_requests") >= 1) == (not beyond)
        else:
            asked |= {"precision": "bf16", "finetuning": fit.way, "batch_size": 1, "stack": "HF_Trainer"}
            assert TRAINED.solve(**asked, activation_checkpointing="full").feasible == (not beyond)


@pytest.mark.parametrize("seed", range(4))
def test_half_the_devices_do_not_hold_it(on_a_4090, seed):
    rng = random.Random(f"devices {seed}")
    row = rng.choice([row for row in on_a_4090.rows if row.counted])
    fit = rng.choice([fit for fit in row.fits if fit.devices and not fit.value and fit.devices <= 8] or [None])
    for devices in (fit.devices, fit.devices // 2) if fit else ():
        asked = {"model": row.model, "hardware": "RTX_4090"}
        if fit.use == "serve":
            asked |= {"seq_len": 511, "output_tokens": 1, "tp_size": devices, "precision": fit.way}
            held = SERVED.solve(**asked).canonical("decode_requests") >= 1
        else:
            asked |= {"precision": "bf16", "finetuning": fit.way, "seq_len": 512, "stack": "HF_Trainer"}
            asked |= {"dp_size": devices, "batch_size": devices, "zero_stage": 3 if devices > 1 else 0}
            held = TRAINED.solve(**asked, activation_checkpointing="full").feasible
        assert held == (devices == fit.devices)


def test_the_inverse_says_the_same():
    """Longest contexts of training, by solve_for over models and ways."""
    models = ["Llama3_1_8B", "Qwen3_14B", "Mixtral_8x7B"]
    found = what_fits("H100", models, formats=())
    inverse = TRAINED.solve_for(
        "seq_len", feasible=True, model=models, hardware="H100", precision="bf16", batch_size=1, stack="HF_Trainer",
        activation_checkpointing="full", finetuning=[*FINETUNING],
    )  # fmt: skip
    for row in found.rows:
        for fit in row.fits:
            other = float(inverse.seq_len.sel(model=row.model, finetuning=fit.way))
            longest = Models.Language[row.model].max_position_embeddings.value
            assert fit.value == (None if math.isnan(other) or other < 512 else min(other, longest))


def test_a_model_gives_its_devices():
    found = what_fits(model="Llama3_1_8B", finetuning=("qlora",))
    assert found.by_device
    rows = {row.device: row for row in found.rows}
    for device in ("L4", "H100", "Jetson_Orin_Nano"):
        (alone,) = what_fits(device, "Llama3_1_8B", finetuning=("qlora",)).rows
        assert rows[device].fits == alone.fits
    assert "Device" in str(found)


def test_more_memory_never_holds_less():
    sizes = [fits(memory=f"{size} GB", model="Llama3_1_8B") for size in (12, 16, 24, 48, 80)]
    for way in (*FORMATS, *FINETUNING):
        values = [size[way].value or 0 for size in sizes]
        devices = [size[way].devices for size in sizes]
        assert values == sorted(values)
        assert devices == sorted(devices, reverse=True)


#: Who says so, the question, and how many devices it takes.
CHOICES = {
    "vLLM issue 5711: 70B in 16 bit is at least two A100": ("A100", "Llama3_70B", "bf16", 512, 2),
    "vLLM issue 5711: 70B by GPTQ is one A100": ("A100", "Llama3_70B", "w4a16", 512, 1),
    "vLLM issue 6689: 405B in fp8 with 4,096 tokens is eight A100": ("A100", "Llama3_1_405B", "fp8", 4096, 8),
    "vLLM issue 6689: 405B by AWQ with 8,192 tokens is eight A6000": ("RTX_A6000", "Llama3_1_405B", "w4a16", 8192, 8),
    "vLLM issue 6689: 8B with 1,024 tokens is one L4": ("L4", "Llama3_1_8B", "bf16", 1024, 1),
    "Dettmers et al.: 65B by QLoRA is one GPU of 48 GB": ("RTX_A6000", LLAMA_65B, "qlora", 512, 1),
}


@pytest.mark.parametrize("who", CHOICES)
def test_choices_that_others_report(who):
    device, model, way, context, devices = CHOICES[who]
    assert fits(hardware=device, model=model, context=context, lora_rank=64)[way].devices == devices


def test_contexts_of_unsloth():
    """Its page of benchmarks: Llama 3.1 8B by QLoRA of rank 32 on 24 GB, cut cross-entropy and 8-bit Adam."""
    kernels = {"loss_kernel": "fused_linear", "optimizer": "adam_8bit", "lora_rank": 32}
    unsloth = fits(memory="24 GiB", model="Llama3_1_8B", training_stack="unsloth", formats=(), **kernels)
    assert unsloth["qlora"].value == pytest.approx(78_475, rel=0.15)


def test_a_cache_that_vllm_prints():
    """Issue 10517: 1,952 blocks of 16 tokens on an RTX 3090, where prompts of 20,000 tokens are prefilled whole; their
    activations, 2 GiB of the log, are not counted: 25% more, and 74% by any engine."""
    rooms = [fits(hardware="RTX_3090", model="Llama3_1_8B", finetuning=(), serving_stack=stack)["bf16"].value
             for stack in ("vLLM_2024", "Generic")]  # fmt: skip
    assert rooms == [39_183, 54_419]
    assert rooms[0] / (1952 * 16) == pytest.approx(1.25, abs=0.01)


def test_missing_memory_is_printed_for_a_few():
    assert "Llama3_1_405B lacks on one: bf16 733.4 GB, fp8 332.6 GB" in str(what_fits("H100", "Llama3_1_405B"))
    assert "lacks" not in str(what_fits("H100", finetuning=()))


def test_what_a_model_is_not_made_for():
    found = fits(hardware="H100", model="Llama3_8B", context=16384)
    assert {fit.refused for fit in found.values()} == {"made for at most 8,192 tokens"}
    assert fits(hardware="H100", model="Llama3_8B")["bf16"].limited
    table = what_fits("H100", "DeepSpeedMoE_24B_MoE_128")
    assert table.rows[0].fits[0].refused == "vocab_size is not in the catalog"


def test_columns_and_records(on_a_4090):
    assert len(on_a_4090.records()) == 6 * len(on_a_4090.rows)
    record = next(each for each in on_a_4090.records() if each["model"] == "Llama3_1_8B" and each["way"] == "bf16")
    assert {"device": "RTX_4090", "use": "serve", "devices": 1, "missing": 0.0}.items() <= record.items()
    assert on_a_4090.to_dict()["answer"] == "context"
    by_name = [row.model for row in on_a_4090.sorted("name")]
    assert by_name == sorted(by_name)
    assert on_a_4090.sorted("qlora")[0].fits[4].value == max(row.fits[4].value or 0 for row in on_a_4090.rows)
    assert "<table>" in on_a_4090._repr_html_()
    with pytest.raises(UnknownNameError, match="did you mean qlora"):
        on_a_4090.sorted("qlor")


@pytest.mark.parametrize(
    ("number", "text"), [(950, "950"), (1024, "1.02k"), (131_072, "131k"), (999_800, "1M"), (1_048_576, "1.05M")]
)
def test_short_numbers(number, text):
    assert short(number) == text


@pytest.mark.parametrize(
    ("asked", "error", "said"),
    [
        ({}, InputError, "must be a device; or give its free memory"),
        ({"hardware": "H10"}, UnknownNameError, "did you mean H100"),
        ({"hardware": ["H100", "A100"]}, InputError, "must be one device where several models are asked"),
        ({"hardware": "H100", "memory": "21 GB"}, InputError, "memory='21 GB': must be left out"),
        ({"memory": "21 s"}, UnitError, "memory='21 s'"),
        ({"memory": -1}, InputError, "memory=-1"),
        ({"hardware": "H100", "model": "Lama3_8B"}, UnknownNameError, "Llama3_8B"),
        ({"hardware": "H100", "context": 8192, "batch": 2}, InputError, "batch=2: must be left out"),
        ({"hardware": "H100", "context": 1}, InputError, "context=1: must be at least 2"),
        ({"hardware": "H100", "batch": 0}, InputError, "batch=0"),
        ({"hardware": "H100", "formats": ["fp9"]}, UnknownNameError, "did you mean fp8"),
        ({"hardware": "H100", "finetuning": "qlra"}, UnknownNameError, "did you mean qlora"),
        ({"hardware": "H100", "formats": (), "finetuning": ()}, InputError, "must name a precision"),
        ({"hardware": "H100", "lora_rnk": 8}, UnknownNameError, "did you mean lora_rank"),
        ({"hardware": "H100", "seq_len": 8}, UnknownNameError, "what_fits sets it itself"),
        ({"hardware": "H100", "lora_rank": [8, 16]}, InputError, "must be one value"),
        ({"hardware": "H100", "model": []}, InputError, "must name at least one entry"),
        ({"hardware": 3}, InputError, "must be an entry of the catalog"),
    ],
)
def test_refused(asked, error, said):
    with pytest.raises(error, match=said.replace("(", r"\(")):
        what_fits(**asked)
