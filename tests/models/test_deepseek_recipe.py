"""DeepSeek-V3 on 2,048 H800, as its report describes the run, by catalog entries and arguments."""

from itertools import product

import pytest

from mlsysim import DistributedModel, TrainingMemoryModel
from mlsysim.errors import InputError

MEMORY = TrainingMemoryModel("per_operator")
RUN = {
    "model": "DeepSeek_V3", "mtp_layers": 1, "hardware": "H800", "batch_size": 15360, "seq_len": 4096,
    "gradient_accumulation_steps": 120, "precision": "fp8_deepseek", "weight_dtype": "bf16", "zero_stage": 1,
    "pp_size": 16, "ep_size": 64, "pipeline_schedule": "dualpipe", "recompute_layernorm": True,
    "recompute_mla_up_proj": True, "recompute_activation_func": True,
}  # fmt: skip
RANKS = {"dp_size": 128}
FLEET = {"fleet_size": 2048, "fabric_bandwidth": "400 Gbit/s", "fabric_latency": "10 us", "node_limit": 4}


def test_memory_of_a_rank_between_the_ends():
    """Counted by hand: two stages of four layers, seventeen micro-batches of 156,160 bytes a token and layer."""
    found = MEMORY.solve(**RUN, **RANKS)
    assert found.canonical("weights") == pytest.approx(6.5e9, rel=0.01)
    assert found.canonical("gradients") == pytest.approx(13.1e9, rel=0.01)
    assert found.in_flight_micro_batches == 17
    assert found.canonical("moe_layer_activation") == pytest.approx(156_160, rel=0.005)
    assert found.canonical("dense_layer_activation") == pytest.approx(96_000, rel=0.01)
    assert found.canonical("activations") == pytest.approx(43.5e9, rel=0.01)
    assert found.feasible
    assert found.canonical("total_memory") < 80e9


def test_memory_of_the_ends():
    """4.93 billion parameters, of them a third with experts; sixteen micro-batches of three layers without experts."""
    found = MEMORY.solve(**RUN, **RANKS)
    assert found.end_layers == 5
    assert found.canonical("end_memory") == pytest.approx(57.8e9, rel=0.06)
    assert found.canonical("end_memory") < found.canonical("total_memory")


def test_without_the_recipe_it_does_not_fit():
    plain = {name: value for name, value in RUN.items() if not name.startswith(("recompute", "pipeline"))}
    assert MEMORY.solve(**plain, **RANKS).canonical("total_memory") > 150e9


@pytest.mark.parametrize("flags", list(product([False, True], repeat=3)))
def test_what_is_recomputed_is_kept_no_more(flags):
    names = ("recompute_layernorm", "recompute_mla_up_proj", "recompute_activation_func")
    step = DistributedModel()
    none, some = (
        step.solve(**{**RUN, **FLEET, **dict(zip(names, given, strict=True))}) for given in ((False,) * 3, flags)
    )
    if any(flags):
        assert some.canonical("activations") < none.canonical("activations")
    assert (some.canonical("product_time") > none.canonical("product_time")) == flags[1]
    assert (some.canonical("elementwise_time") > none.canonical("elementwise_time")) == (flags[0] or flags[2])


def test_nothing_more_is_recomputed_where_all_is():
    step, full = DistributedModel(), {**RUN, **FLEET, "activation_checkpointing": "full"}
    assert step.solve(**full).recomputed_flops.magnitude == 0
    assert step.solve(**full).recomputed_traffic.magnitude == 0


def test_dualpipe_waits_for_seven_of_fifteen_stages():
    """(p/2 - 1) (F&B + B - 3 W), where a backward pass is two thirds of a micro-batch and W one third."""
    found = DistributedModel().solve(**{**RUN, **FLEET, "recompute_mla_up_proj": False})
    step = found.canonical("micro_batch_time")
    assert found.canonical("bubble_time") == pytest.approx(7 * (1 + 2 / 3 - 1) * step, rel=1e-9)


def test_the_ends_do_no_more_than_the_others():
    """Five layers, one that predicts further tokens and two heads, in the mean of both directions."""
    found = DistributedModel().solve(**RUN, **FLEET)
    assert (found.last_stage_layers, found.other_stage_layers) == (2.5, 4)
    layer = found.canonical("layer_time") / found.slowest_stage_layers
    assert found.canonical("micro_batch_time") == pytest.approx(4 * layer, rel=0.05)


@pytest.mark.parametrize(
    ("given", "message"), [({"pp_size": 15}, "even"), ({"gradient_accumulation_steps": 24}, "twi")]
)
def test_layouts_without_two_directions_are_refused(given, message):
    with pytest.raises(InputError, match=message):
        MEMORY.solve(**{**RUN, **RANKS, **given})


def test_the_stack_takes_a_seventh_of_the_processors():
    """A rank that exchanges nothing has them all."""
    stack = {"stack": "DeepSeek_H800"}
    taken, left = (
        DistributedModel().solve(**RUN, **FLEET, **stack, **given)
        for given in ({}, {"exchange_multiprocessor_share": 0})
    )
    assert taken.canonical("ep_time") == 0
    for part in ("product_time", "score_time", "elementwise_time"):
        assert taken.canonical(part) == pytest.approx(left.canonical(part) * 132 / 112, rel=1e-3)
    alone = {**RUN, **FLEET, **stack, "ep_size": 1}
    assert DistributedModel().solve(**alone).computing_share == 1


@pytest.mark.parametrize("layers", range(16, 90, 7))
def test_every_layer_stands_on_a_stage(layers):
    found = DistributedModel().solve(**{**RUN, **FLEET, "layers": layers, "moe_layers": layers - 3})
    assert 2 * found.last_stage_layers + 14 * found.other_stage_layers >= layers
