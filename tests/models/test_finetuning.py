"""Optimizers and adapters against published numbers, at their limits, and over ranks."""

import itertools
import random

import pytest

from mlsysim import DistributedModel, TrainingMemoryModel, TransformerWorkload
from mlsysim.errors import InputError
from mlsysim.optimizers import OPTIMIZERS

MEMORY, STEP = TrainingMemoryModel("per_operator"), DistributedModel()
LLAMA = {"model": "Llama3_8B", "hardware": "H100", "batch_size": 8, "precision": "bf16"}
RUN = {"model": "Llama3_8B", "fleet": "Research_256", "batch_size": 256, "seq_len": 4096, "precision": "bf16"}
LLAMA_65B = TransformerWorkload(
    name="LLaMA 65B", layers=80, hidden_dim=8192, heads=64, ffn_dim=22016, vocab_size=32000, gated=True
)


def memory(**more):
    return MEMORY.solve(**{**LLAMA, **more})


def step(**more):
    return STEP.solve(**{**RUN, **more})


@pytest.mark.parametrize(("rank", "printed"), [(1, 4.7e6), (8, 37.7e6)])
def test_adapters_of_gpt_3(rank, printed):
    """Hu et al., table 4: adapters of queries and values of all 96 layers."""
    found = memory(model="GPT3_175B", finetuning="lora", lora_rank=rank, lora_target_modules="query_value")
    assert found.trained_parameters_per_rank == pytest.approx(printed, rel=0.005)


def test_65_billion_parameters_on_one_gpu():
    """Dettmers et al., section 1: 65B on one GPU of 48 GB, adapters of rank 64 with 32-bit Adam, and above 780 GB
    with every weight trained at 16 bit."""
    one = {"model": LLAMA_65B, "batch_size": 1, "seq_len": 512, "activation_checkpointing": "full"}
    adapters = {"finetuning": "qlora", "lora_rank": 64, "optimizer": "adam_fp32", "master_weights": False}
    small = memory(**one, **adapters)
    assert 40e9 < small.canonical("total_memory") < 48e9
    whole = memory(**one, master_weights=True)
    states = sum(whole.canonical(part) for part in ("weights", "gradients", "optimizer_state"))
    assert states > 780e9


def test_qwen_7b_as_it_was_measured():
    """What a quick run looks at of tests/validation/published_finetuning.py: 1,024 tokens, 21.5 GB and 2.8 s."""
    qwen = TransformerWorkload(
        name="Qwen 7B", layers=32, hidden_dim=4096, heads=32, ffn_dim=11008, vocab_size=151936, gated=True,
        qkv_bias=True,
    )  # fmt: skip
    found = STEP.solve(
        qwen, hardware="A100", fleet_size=1, batch_size=8, gradient_accumulation_steps=8, seq_len=1024,
        precision="bf16", finetuning="lora", lora_rank=64, activation_checkpointing="full",
        elementwise_kernels="eager", fabric_bandwidth="25 GB/s", fabric_latency="10 us",
    )  # fmt: skip
    assert found.canonical("total_memory") == pytest.approx(21.5e9, rel=0.1)
    assert found.canonical("step_time") == pytest.approx(2.8, rel=0.15)


def test_states_of_llama_3_in_full():
    """Bytes per parameter of each optimizer, by hand where no shapes are needed."""
    P = 8_030_261_248
    by_hand = {"adam": 12, "adamw": 12, "adam_fp32": 12, "adam_8bit": 6 + 1 / 256, "adam_bf16": 8, "sgd": 4, "none": 0}
    for name, each in by_hand.items():
        assert memory(optimizer=name).canonical("optimizer_state") == each * P
    without = {"adam": 4, "adam_fp32": 8, "adam_8bit": 2 + 1 / 256, "adam_bf16": 4, "sgd": 0}
    for name, each in without.items():
        assert memory(optimizer=name, master_weights=False).canonical("optimizer_state") == each * P
    inside = 32 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336)
    assert memory(optimizer="muon").canonical("optimizer_state") == 4 * (P + inside + 2 * (P - inside))
    attention = 2 * (4096 + 4096) + 2 * (4096 + 1024)
    factors = 32 * (attention + 3 * (4096 + 14336)) + 2 * (128256 + 4096) + 65 * 4096
    assert memory(optimizer="adafactor").canonical("optimizer_state") == 4 * (P + factors)
    assert set(OPTIMIZERS) == {*by_hand, "muon", "adafactor"}


def test_weights_of_32_bit_have_no_copy():
    for name in OPTIMIZERS:
        kept, left = (memory(precision="fp32", optimizer=name, master_weights=flag) for flag in (True, False))
        assert kept.optimizer_state == left.optimizer_state


def test_adapters_of_experts():
    """Mixtral: every product of every expert and of attention; no router."""
    attention, expert = 2 * (4096 + 4096) + 2 * (4096 + 1024), 3 * (4096 + 14336)
    for ranks in (1, 2, 8):
        found = memory(model="Mixtral_8x7B", finetuning="lora", lora_rank=4, dp_size=8, ep_size=ranks)
        assert found.trained_parameters_per_rank == 4 * 32 * (attention + 8 // ranks * expert)


@pytest.mark.parametrize("seed", range(12))
def test_states_are_conserved_over_ranks(seed):
    """Every state is on as many ranks as there are copies of it: stages 1 to 3 cut it, and expert-parallel ranks."""
    rng = random.Random(f"states {seed}")
    ep = rng.choice([1, 2, 4, 8])
    ranks = ep * rng.choice([1, 2, 3, 8])
    chosen = {
        "model": rng.choice(["Mixtral_8x7B", "Qwen3_30B_A3B", "DeepSeek_V3"] + ["Llama3_8B"] * (ep == 1)),
        "optimizer": rng.choice([*OPTIMIZERS]),
        "master_weights": rng.random() < 0.5,
        **rng.choice([{"trainable_fraction": rng.random()}, {"finetuning": "lora"}, {"finetuning": "qlora"}]),
        "batch_size": ranks,
    }
    alone = memory(**chosen, dp_size=1)
    for stage, (state, sharded_from) in itertools.product(
        range(4), {"weights": 3, "gradients": 2, "optimizer_state": 1}.items()
    ):
        found = memory(**chosen, dp_size=ranks, ep_size=ep, zero_stage=stage)
        if stage >= sharded_from:
            assert ranks * found.canonical(state) == pytest.approx(alone.canonical(state), rel=1e-9)
        elif ep == 1:
            assert found.canonical(state) == alone.canonical(state)


def test_nothing_trained_by_full_training_is_the_limit_of_adapters_of_no_size():
    """Times of adapters approach those of a share of 0, where they are narrow beside their products."""
    frozen, thin = step(trainable_fraction=0.0), step(finetuning="lora", lora_rank=1)
    assert frozen.canonical("gradients") == frozen.canonical("optimizer_state") == frozen.canonical("dp_time") == 0
    for part in ("hardware_flops", "model_flops", "product_time"):
        assert thin.canonical(part) == pytest.approx(frozen.canonical(part), rel=1e-3)
        assert thin.canonical(part) > frozen.canonical(part)
    whole = step()
    assert frozen.canonical("product_time") / whole.canonical("product_time") == pytest.approx(2 / 3, rel=1e-12)
    assert frozen.score_time == whole.score_time


def test_only_adapters_travel():
    """Gradients reduced and weights gathered are those of adapters; ZeRO-3 still gathers the frozen weights."""
    for stage in (0, 1, 2):
        sent = [step(zero_stage=stage, finetuning=kind) for kind in ("full", "lora")]
        ratio = sent[1].canonical("dp_traffic_bytes") / sent[0].canonical("dp_traffic_bytes")
        trained = [each["trained_parameters_per_rank"] for each in sent]
        assert ratio == pytest.approx(trained[1] / trained[0], rel=1e-9)
    full, lora, qlora = (step(zero_stage=3, finetuning=kind) for kind in ("full", "lora", "qlora"))
    assert lora.canonical("dp_traffic_bytes") == pytest.approx(2 / 3 * full.canonical("dp_traffic_bytes"), rel=0.01)
    assert qlora.canonical("dp_traffic_bytes") < 0.5 * lora.canonical("dp_traffic_bytes")


def test_qlora_pays_for_its_memory_with_time():
    lora, qlora = step(finetuning="lora"), step(finetuning="qlora")
    assert qlora.canonical("total_memory") < lora.canonical("total_memory") < step().canonical("total_memory")
    assert lora.canonical("step_time") < qlora.canonical("step_time") < step().canonical("step_time")
    assert qlora.canonical("widening_traffic") > 0 == lora.canonical("widening_traffic")


def test_a_frozen_format_that_is_given_is_kept():
    found = memory(finetuning="qlora", weight_dtype="int8")
    assert found.canonical("weight_bytes") == 1
    assert memory(finetuning="qlora").canonical("weight_bytes") == 0.5 + (1 + 4 / 256) / 64


@pytest.mark.parametrize("variant", ["first_order", "korthikanti"])
@pytest.mark.parametrize("optimizer", ["adafactor", "muon"])
def test_forms_without_shapes_name_the_one_that_counts(variant, optimizer):
    with pytest.raises(InputError, match="variant='per_operator' counts"):
        TrainingMemoryModel(variant).solve(**LLAMA, optimizer=optimizer)


@pytest.mark.parametrize(
    ("more", "refusal"),
    [
        ({"trainable_fraction": 0.5}, "trainable_fraction=0.5: must be 1 with adapters, which alone are trained"),
        (
            {"model": "DeepSeek_V3", "lora_target_modules": "query_value"},
            "lora_target_modules='query_value': must be attention or all_linear with latent attention",
        ),
        ({"lora_rank": 0}, "lora_rank=0: must be a whole number >= 1"),
    ],
)
def test_refused(more, refusal):
    with pytest.raises(InputError, match=refusal):
        memory(finetuning="lora", **more)
