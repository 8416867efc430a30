"""Hybrid sharding: ZeRO within groups of ranks, copies across them."""

import pytest

from mlsysim import DistributedModel, TrainingMemoryModel
from mlsysim.errors import InputError

STEP, MEMORY = DistributedModel(), TrainingMemoryModel("per_operator")
RUN = {"model": "Llama3_8B", "batch_size": 64, "seq_len": 4096, "precision": "bf16", "zero_stage": 3}
FLEET = {"fleet": "SuperPOD_H100", "fleet_size": 64}
EXPERTS = {**RUN, "model": "Mixtral_8x7B", "ep_size": 4}


@pytest.mark.parametrize("stage", [1, 2, 3])
@pytest.mark.parametrize("run", [RUN, EXPERTS])
def test_a_rank_holds_what_it_would_among_those_of_one_copy(run, stage):
    """Eight ranks shard what 64 would, and hold eight times as much."""
    hybrid, all_of_them, small = (
        MEMORY.solve(**{**run, "hardware": "H100", "zero_stage": stage, **given})
        for given in ({"dp_size": 64, "dp_replicate_size": 8}, {"dp_size": 64}, {"dp_size": 8, "batch_size": 8})
    )
    for part in ("weights", "gradients", "optimizer_state"):
        assert hybrid.canonical(part) == small.canonical(part) >= all_of_them.canonical(part)
    assert hybrid.canonical("optimizer_state") == pytest.approx(8 * all_of_them.canonical("optimizer_state"), rel=1e-12)
    assert hybrid.canonical("activations") == all_of_them.canonical("activations")


def test_weights_stay_within_a_node():
    """Of three passes of all weights over the fabric two passes of the shards of gradients are left."""
    slow = {"fabric_bandwidth": "5 GB/s", "dp_overlap": 0}
    sharded, hybrid = (STEP.solve(**RUN, **FLEET, **slow, dp_replicate_size=copies) for copies in (1, 8))
    assert sharded.dp_ranks_per_node == hybrid.zero_ranks == 8
    assert hybrid.rep_stride == 8
    moved = hybrid.canonical("rep_summed_bytes")
    assert moved == pytest.approx(2 * hybrid.canonical("dense_parameters_per_rank") / 8, rel=1e-12)
    # Through a port go two passes of a rank's shard, where eight rings of three passes shared what a node gets.
    through_port = 2 * 7 / 8 * moved
    assert through_port / (3 * 7 / 8 * 8 * moved / 8) == pytest.approx(2 / 3)
    assert 2 / 3 < hybrid.canonical("dp_time") / sharded.canonical("dp_time") < 0.75


@pytest.mark.parametrize("stage", [1, 2])
def test_copies_that_are_whole_reduce_as_without_zero(stage):
    """Every rank a copy: nothing is sharded, and gradients are all-reduced."""
    whole = STEP.solve(**{**RUN, "zero_stage": stage}, **FLEET, dp_replicate_size=64, hidden_traffic_cost=0)
    plain = STEP.solve(**{**RUN, "zero_stage": 0}, **FLEET)
    for part in ("total_memory", "dp_traffic_bytes", "dp_traffic_time", "dp_time"):
        if part != "total_memory" or stage < 2:
            assert whole.canonical(part) == pytest.approx(plain.canonical(part), rel=1e-12)


def test_copies_of_experts_are_summed_with_the_rest():
    """One all-reduce over the copies, where ZeRO-0 has one of dense gradients and one of those of experts."""
    run = {**EXPERTS, "ep_size": 1}
    whole = STEP.solve(**{**run, "zero_stage": 1}, **FLEET, dp_replicate_size=64)
    plain = STEP.solve(**{**run, "zero_stage": 0}, **FLEET)
    assert whole.rep_summed_bytes == plain.dp_summed_bytes + plain.edp_summed_bytes
    assert whole.canonical("dp_traffic_bytes") == pytest.approx(plain.canonical("dp_traffic_bytes"), rel=1e-12)
    assert 0.99 < whole.canonical("dp_traffic_time") / plain.canonical("dp_traffic_time") < 1


def test_copies_must_divide_the_ranks():
    with pytest.raises(InputError, match="must be a multiple"):
        STEP.solve(**RUN, **FLEET, dp_replicate_size=3)
    with pytest.raises(InputError, match=r"times dp_replicate_size=4 .* must divide the ranks of a stage"):
        MEMORY.solve(**EXPERTS, hardware="H100", dp_size=8, dp_replicate_size=4)
