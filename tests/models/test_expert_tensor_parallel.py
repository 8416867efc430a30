"""Experts cut over fewer tensor-parallel ranks than the rest of a layer."""

import pytest

from mlsysim import DistributedModel, ExpertParallelModel, TrainingMemoryModel
from mlsysim.errors import InputError

MEMORY, STEP = TrainingMemoryModel("per_operator"), DistributedModel()
RUN = {
    "model": "DeepSeek_V3", "fleet": "DeepSeek_H800_2048", "fleet_size": 256, "batch_size": 256, "seq_len": 4096,
    "precision": "bf16", "zero_stage": 1, "tp_size": 8, "ep_size": 16, "gradient_accumulation_steps": 8,
    "sequence_parallel": True,
}  # fmt: skip
LAYOUTS = (
    RUN,
    {**RUN, "sequence_parallel": False, "zero_stage": 3, "pp_size": 2},
    {**RUN, "model": "Mixtral_8x7B", "ep_size": 4, "cp_size": 2, "finetuning": "lora"},
    {**RUN, "model": "Qwen3_30B_A3B", "batch_size": 512, "tp_size": 4, "zero_stage": 2, "elementwise_kernels": "eager"},
    {**RUN, "model": "Llama3_8B", "ep_size": 1},
)


@pytest.mark.parametrize("run", LAYOUTS)
def test_all_tensor_parallel_ranks_are_the_default(run):
    """To the bit; the default follows the tensor-parallel ranks."""
    default, given = (STEP.solve(**run, **etp) for etp in ({}, {"etp_size": run["tp_size"]}))
    assert default.etp_ranks == given.etp_ranks == run["tp_size"]
    assert {v.name: default[v.name] for v in STEP.outputs} == {v.name: given[v.name] for v in STEP.outputs}


def test_without_tensor_parallelism_there_is_nothing_to_choose():
    run = {**RUN, "batch_size": 2048, "tp_size": 1, "sequence_parallel": False}
    default, given = STEP.solve(**run), STEP.solve(**run, etp_size=1)
    assert {v.name: default[v.name] for v in STEP.outputs} == {v.name: given[v.name] for v in STEP.outputs}


@pytest.mark.parametrize("zero", [0, 1, 2, 3])
def test_a_rank_holds_the_same_share_of_the_experts(zero):
    """Half as many ranks of an expert, twice as many experts in parallel: as many numbers, whole matrices."""
    run = {"model": "Mixtral_8x7B", "hardware": "H100", "batch_size": 8, "dp_size": 2, "tp_size": 4,
           "zero_stage": zero, "precision": "bf16"}  # fmt: skip
    found = [MEMORY.solve(**run, ep_size=8 // etp, etp_size=etp) for etp in (1, 2, 4)]
    assert {each.edp_ranks for each in found} == {1}
    for part in ("expert_parameters_per_rank", "weights", "gradients", "optimizer_state"):
        assert len({each.canonical(part) for each in found}) == 1, part


def test_shared_states_do_not_depend_on_how_experts_are_cut():
    """ZeRO-3 holds everything once, and whole experts among as many more ranks."""
    run = {"model": "Mixtral_8x7B", "hardware": "H100", "batch_size": 8, "dp_size": 2, "tp_size": 4, "ep_size": 2,
           "zero_stage": 3, "precision": "bf16"}  # fmt: skip
    for part in ("weights", "gradients", "optimizer_state"):
        held = [MEMORY.solve(**run, etp_size=etp).canonical(part) for etp in (1, 2, 4)]
        assert held == pytest.approx([held[0]] * 3, rel=1e-12), part
    ranks = [MEMORY.solve(**run, etp_size=etp).edp_ranks for etp in (1, 2, 4)]
    assert ranks == [4, 2, 1]


def test_experts_are_gathered_where_they_alone_are_shared():
    """One data-parallel rank: nothing else is cut by ZeRO-3."""
    run = {"model": "Mixtral_8x7B", "hardware": "H100", "batch_size": 8, "tp_size": 4, "precision": "bf16"}
    whole, shared = (MEMORY.solve(**run, zero_stage=zero, etp_size=1, ep_size=2) for zero in (0, 3))
    experts = whole.canonical("expert_parameters_per_rank")
    assert whole.edp_ranks == 2
    assert whole.canonical("weights") - shared.canonical("weights") == 2 * experts / 2
    assert shared.canonical("gathered_weights") == (2 + 1 / 2) * 2 * experts / 32
    assert shared.canonical("communication_buffers") == 2 * experts / 32
    assert MEMORY.solve(**run, zero_stage=3).canonical("gathered_weights") == 0


def test_experts_stand_as_their_own_layout_says():
    """Ranks of an expert are neighbours, then expert-parallel ones, then copies."""
    cut, whole = STEP.solve(**RUN), STEP.solve(**RUN, etp_size=1)
    assert (cut.ep_stride, cut.ep_ranks_per_node, cut.edp_stride, cut.edp_ranks) == (8, 1, 128, 2)
    assert (whole.ep_stride, whole.ep_ranks_per_node, whole.edp_stride, whole.edp_ranks) == (1, 8, 16, 16)
    # Half of the exchange stays within a node, and no port carries more than before.
    assert whole.canonical("dispatch_time") < cut.canonical("dispatch_time")
    assert whole.canonical("layer_experts_per_rank") == 8 * cut.canonical("layer_experts_per_rank")


def test_tokens_are_dispatched_once():
    """With a split sequence by each rank its own; without by each of those that no expert is cut over its share."""
    split = [STEP.solve(**RUN, etp_size=etp).canonical("tokens_per_rank") for etp in (1, 2, 8)]
    assert len(set(split)) == 1
    whole = [STEP.solve(**{**RUN, "sequence_parallel": False}, etp_size=etp).canonical("tokens_per_rank")
             for etp in (1, 2, 8)]  # fmt: skip
    assert whole == [split[0], 2 * split[0], 8 * split[0]]


def test_arithmetic_does_not_depend_on_how_experts_are_cut_and_buffers_do():
    cut, whole = STEP.solve(**RUN), STEP.solve(**RUN, etp_size=1)
    for part in ("product_time", "score_time", "inner_width", "hardware_flops"):
        assert whole.canonical(part) == pytest.approx(cut.canonical(part), rel=1e-15)
    # Copies of tokens on a rank: all of the group's where it has a slice of each expert, its own with whole experts.
    copies = 8 * 4096 * 7168 * 4
    assert cut.canonical("moe_activation") - whole.canonical("moe_activation") == pytest.approx(
        copies * (1 - 1 / 8) / 4096, rel=1e-12
    )
    assert whole.canonical("total_memory") > cut.canonical("total_memory")


def test_adapters_of_experts_are_cut_as_experts():
    """An adapter has two factors: cutting its matrix cuts one of them."""
    run = {**RUN, "model": "Mixtral_8x7B", "ep_size": 8, "finetuning": "lora", "lora_rank": 16}
    h, d = 4096, 14336
    for etp in (1, 2, 8):
        found = STEP.solve(**run, etp_size=etp)
        assert found.canonical("expert_adapter_parameters_per_rank") == 32 * 16 * 3 * (h + d / etp)
        # Two choices of each token, on as many ranks as share them.
        shared = found.adapted_edges - found.adapted_attention_edges
        assert shared == pytest.approx(2 * etp / 8 * 3 * (h + d / etp))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"etp_size": 3}, "etp_size=3: must divide tp_size=8, or be 0 for as many; nearest: "),
        ({"etp_size": 16}, "etp_size=16: must divide tp_size=8"),
        ({"etp_size": 4, "expert_ffn_dim": 2}, "etp_size=4: must divide expert_ffn_dim=2"),
        ({"etp_size": -1}, "etp_size=-1: must be a whole number >= 0"),
        (
            {"etp_size": 4, "fleet_size": 24, "batch_size": 24, "ep_size": 4},
            "fleet_size=24: must be a multiple of the ranks of an expert (etp_size=4; 0: as tp_size=8) times pp_size=1 "
            "times ep_size=4",
        ),
    ],
)
def test_layouts_that_do_not_fit_are_refused(bad, message):
    with pytest.raises(InputError) as refused:
        STEP.solve(**{**RUN, **bad})
    assert str(refused.value).startswith(message)


def test_wide_tensor_parallelism_asks_less_of_small_experts():
    """An expert of an odd width cannot be cut, and need not be."""
    run = {"model": "Mixtral_8x7B", "hardware": "H100", "batch_size": 8, "tp_size": 4, "expert_ffn_dim": 1001}
    with pytest.raises(InputError, match="tp_size=4: must divide expert_ffn_dim=1001 where etp_size=0"):
        MEMORY.solve(**run)
    assert MEMORY.solve(**run, etp_size=1).canonical("layer_experts_per_rank") == 8 * 3 * 4096 * 1001


def test_a_search_finds_how_far_to_cut():
    """Whole experts: their exchange stays within the node, where cut ones cross it."""
    found = STEP.search(
        minimize="step_time", allow_infeasible=True, **{**RUN, "batch_size": 2048, "etp_size": [0, 1, 2, 3, 8]}
    )
    assert found.best.inputs["etp_size"] == 1
    assert found.certificate.proven
    assert found.certificate.points == 5
    times = [STEP.solve(**{**RUN, "batch_size": 2048}, etp_size=etp).step_time for etp in (0, 1, 2, 8)]
    assert found.best.step_time == min(times) == times[1]


def test_what_a_cut_expert_gathers():
    """Eight copies of each token and hidden states for shared experts, where whole experts need hidden states alone.

    DeepSeek-V3 on eight tensor-parallel ranks that split the sequence, by bandwidth alone, ten micro-batches: 0.6 s a
    step with whole experts, 2.9 s with experts cut over all of them.
    """
    run = {**RUN, "fleet": "SuperPOD_H100", "batch_size": 320, "gradient_accumulation_steps": 10, "stack": "Ideal",
           "tp_overlap": 0}  # fmt: skip
    whole, cut = (STEP.solve(**run, etp_size=etp) for etp in (1, 8))
    rank = 4096 * 7168 * 2 * 7.5 / 8 / 450e9
    assert whole.canonical("tp_time") == pytest.approx(10 * 61 * 8 * rank, rel=1e-9)
    assert cut.canonical("tp_time") == pytest.approx(10 * (61 * 8 + 58 * 4 * 8) * rank, rel=1e-9)
    assert cut.canonical("tp_time") == pytest.approx(2.85, rel=0.01)
    assert whole.canonical("tp_time") == pytest.approx(0.59, rel=0.02)


def test_without_shared_experts_whole_ones_gather_nothing():
    """The sums behind attention are left."""
    run = {**RUN, "model": "Qwen3_30B_A3B", "tp_size": 4, "batch_size": 512}
    whole, plain = STEP.solve(**run, etp_size=1), STEP.solve(**{**run, "ep_size": 1})
    assert plain.slowest_stage_summing_layers == 48
    assert whole.slowest_stage_summing_layers == 24
    assert whole.etp_gather_time.magnitude == plain.etp_message_bytes.magnitude == 0


def test_tokens_that_all_ranks_hold_are_not_gathered():
    run = {**RUN, "sequence_parallel": False}
    assert {STEP.solve(**run, etp_size=etp).canonical("tp_time") for etp in (1, 2, 8)} == {
        STEP.solve(**run).canonical("tp_time")
    }


@pytest.mark.long(quick=1)
@pytest.mark.parametrize("model", [STEP, ExpertParallelModel()], ids=["train", "ep"])
def test_a_dense_model_is_refused_without_a_word_of_experts(model):
    dense = {"model": "Llama3_8B", "fleet": "SuperPOD_H100", "batch_size": 64, "seq_len": 4096, "precision": "bf16"}
    designs = model.search(**dense, fleet_size=[12, 16], tp_size=[8, 16, 32], minimize="step_time")
    printed = " ".join(str(designs).split())
    assert "fleet_size must be a multiple of tp_size" in printed
    assert "expert" not in printed.partition("Refused")[2]
