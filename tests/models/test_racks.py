"""Runs that fill no whole racks take a segment of each, as 64 of 72."""

import pytest

from mlsysim import CollectiveModel, DistributedModel, MoERoutingModel, Systems
from mlsysim.catalog import Fleet
from mlsysim.errors import InputError

STEP = DistributedModel()
RUN = {"model": "Llama3_8B", "fleet": "SuperPOD_GB200", "batch_size": 9216, "tp_size": 8}


def rack_of(devices, segment, **changes):
    node = Systems.Nodes.GB300_NVL72.changed(accelerators_per_node=devices, accelerators_per_segment=segment, **changes)
    return Fleet(name="mine", node=node, count=16, fabric=Systems.Fabrics.InfiniBand_XDR)


@pytest.mark.parametrize("size", [128, 256, 512, 1024])
def test_a_run_of_a_power_of_two_takes_64_of_each_rack(size):
    found = STEP.solve(**RUN, fleet_size=size)
    assert found.step_time == STEP.solve(**RUN, fleet_size=size, accelerators_per_node=64).step_time


def test_a_part_of_a_rack_and_whole_ones_are_no_segments():
    for size, near in ((64, 64), (72, 72), (144, 72), (192, 64), (576, 72)):
        asked = {"fleet": "SuperPOD_GB200", "message_bytes": "1 MiB", "collective_ranks": size}
        assert CollectiveModel("all_reduce").solve(**asked).ranks_per_node == near


@pytest.mark.parametrize("size", [100, 250, 257])
def test_a_run_that_no_segment_divides_is_refused(size):
    allowed = (
        "must be at most accelerators_per_node=72 or a multiple of it, or of accelerators_per_segment=64; nearest: "
    )
    with pytest.raises(InputError, match=f"fleet_size={size}: {allowed}"):
        STEP.solve(**RUN | {"tp_size": 1, "batch_size": size}, fleet_size=size)


def test_so_it_is_for_a_rack_of_ones_own_and_for_other_models():
    run = {**RUN, "fleet": rack_of(36, 32), "fleet_size": 128}
    assert STEP.solve(**run).step_time == STEP.solve(**run, accelerators_per_node=32).step_time
    ranks = {"fleet": rack_of(36, 32), "message_bytes": "1 GiB", "collective_ranks": 128}
    reduced = CollectiveModel("all_reduce")
    assert reduced.solve(**ranks).ranks_per_node == 32
    assert reduced.solve(**ranks, rank_stride=1, accelerators_per_segment=16).ranks_per_node == 16
    experts = {"model": "DeepSeek_V3", "fleet": "SuperPOD_GB200", "ep_size": 128, "batch_size": 128}
    found = [MoERoutingModel("per_layer").solve(**experts, **each) for each in ({}, {"accelerators_per_node": 64})]
    assert found[0].all_to_all_latency == found[1].all_to_all_latency


def test_groups_must_not_straddle_segments_and_segments_are_parts_of_nodes():
    with pytest.raises(InputError, match="cp_size=3: times tp_size=1 must divide accelerators_per_segment=64 or be"):
        STEP.solve(**RUN | {"tp_size": 1, "batch_size": 192}, fleet_size=192, cp_size=3, seq_len=3072)
    with pytest.raises(InputError, match="accelerators_per_segment=80: must be at most accelerators_per_node=72"):
        STEP.solve(**RUN, fleet_size=256, accelerators_per_segment=80)
    # Nothing is known of the segments of a node of another size.
    with pytest.raises(
        InputError, match="fleet_size=256: must be at most accelerators_per_node=36 or a multiple of it; n"
    ):
        STEP.solve(**RUN, fleet_size=256, accelerators_per_node=36)


@pytest.mark.long
def test_searches_by_bounds_know_segments():
    run = {**RUN, "fleet_size": [64, 72, 128, 144, 192, 256, 576], "tp_size": [1, 2, 4, 8], "minimize": "step_time"}
    found = [STEP.search(**run, top=5, method=method) for method in ("bounds", "dense")]
    assert found[0].objectives == found[1].objectives
    assert found[0].places.tolist() == found[1].places.tolist()
