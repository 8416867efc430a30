"""DeepSeek-V3 on 2,048 H800, as its report describes the run, by a recipe of the catalog."""

from itertools import product

import pytest

from mlsysim import DistributedModel, TrainingMemoryModel
from mlsysim.errors import InputError

MEMORY, STEP = TrainingMemoryModel("per_operator"), DistributedModel()
RUN = {"recipe": "DeepSeek_V3_2048_H800"}
RECOMPUTED = ("recompute_layernorm", "recompute_mla_up_proj", "recompute_activation_func")


def test_memory_of_a_rank_between_the_ends():
    """Counted by hand: two stages of four layers, seventeen micro-batches of 156,160 bytes a token and layer."""
    found = MEMORY.solve(**RUN)
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
    found = MEMORY.solve(**RUN)
    assert found.end_layers == 5
    assert found.canonical("end_memory") == pytest.approx(57.8e9, rel=0.06)
    assert found.canonical("end_memory") < found.canonical("total_memory")


def test_without_what_is_recomputed_and_both_directions_it_does_not_fit():
    plain = {**dict.fromkeys(RECOMPUTED, False), "pipeline_schedule": "1f1b", "two_batch_overlap": False}
    assert MEMORY.solve(**RUN, **plain).canonical("total_memory") > 135e9


@pytest.mark.parametrize("flags", list(product([False, True], repeat=3)))
def test_what_is_recomputed_is_kept_no_more(flags):
    none, some = (STEP.solve(**RUN, **dict(zip(RECOMPUTED, given, strict=True))) for given in ((False,) * 3, flags))
    if any(flags):
        assert some.canonical("activations") < none.canonical("activations")
    assert (some.canonical("product_time") > none.canonical("product_time")) == flags[1]
    assert (some.canonical("elementwise_time") > none.canonical("elementwise_time")) == (flags[0] or flags[2])


def test_nothing_more_is_recomputed_where_all_is():
    full = STEP.solve(**RUN, activation_checkpointing="full", two_batch_overlap=False)
    assert full.recomputed_flops.magnitude == 0
    assert full.recomputed_traffic.magnitude == 0


def test_dualpipe_waits_for_seven_of_fifteen_stages():
    """(p/2 - 1) (F&B + B - 3 W), where a backward pass is two thirds of a micro-batch and W one third."""
    found = STEP.solve(**RUN, recompute_mla_up_proj=False)
    step = found.canonical("micro_batch_time")
    assert found.canonical("bubble_time") == pytest.approx(7 * (1 + 2 / 3 - 1) * step, rel=1e-9)


def test_the_ends_do_no_more_than_the_others():
    """Five layers, one that predicts further tokens and two heads, in the mean of both directions."""
    found = STEP.solve(**RUN, stack="Generic", two_batch_overlap=False)
    assert (found.last_stage_layers, found.other_stage_layers) == (2.5, 4)
    layer = found.canonical("layer_time") / found.slowest_stage_layers
    assert found.canonical("micro_batch_time") == pytest.approx(4 * layer, rel=0.05)


@pytest.mark.parametrize(
    ("given", "message"), [({"pp_size": 15, "dp_size": 128}, "even"), ({"gradient_accumulation_steps": 24}, "twi")]
)
def test_layouts_without_two_directions_are_refused(given, message):
    with pytest.raises(InputError, match=message):
        MEMORY.solve(**RUN, **given)


def test_the_stack_takes_a_seventh_of_the_processors():
    """A rank that exchanges nothing has them all."""
    taken, left = (STEP.solve(**RUN, **given) for given in ({}, {"exchange_multiprocessor_share": 0}))
    for part in ("product_time", "score_time", "elementwise_time"):
        assert taken.canonical(part) == pytest.approx(left.canonical(part) * 132 / 112, rel=1e-3)
    assert STEP.solve(**RUN, ep_size=1).computing_share == 1


def test_exchanges_hide_behind_the_other_micro_batch():
    """All but a fiftieth, and what fills and drains the pipeline; as the report says, all of them."""
    found, exposed = (STEP.solve(**RUN, two_batch_overlap=two, ep_overlap=0) for two in (True, False))
    sent = exposed.canonical("ep_exposed_time")
    assert 0 < found.canonical("ep_exposed_time") < 0.07 * sent
    assert found.canonical("ep_time") < 0.03 * found.canonical("step_time")


@pytest.mark.parametrize("layers", range(16, 90, 7))
def test_every_layer_stands_on_a_stage(layers):
    found = STEP.solve(**RUN, layers=layers, moe_layers=layers - 3)
    assert 2 * found.last_stage_layers + 14 * found.other_stage_layers >= layers
