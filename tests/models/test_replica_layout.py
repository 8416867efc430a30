"""Engines on several accelerators: attention ranks, experts over them, two micro-batches, stages."""

import pytest

from mlsysim import CollectiveModel, IterationModel, ServingModel
from mlsysim.errors import InputError

MODEL, FULL = IterationModel(), IterationModel("saturated")
QWEN = {"model": "Qwen3_235B_A22B", "fleet": "SuperPOD_H100", "stack": "DeepEP", "precision": "w8a8"}
LLAMA = {"model": "Llama3_1_70B", "fleet": "SuperPOD_H100", "stack": "NCCL_H100", "precision": "w8a8"}
WIDE = {**QWEN, "ep_size": 16, "dp_attention_size": 16}
DECODING = {"decode_requests": 512, "context_tokens": 2000}
LAYOUTS = ({"tp_size": 8}, {"tp_size": 2, "dp_attention_size": 4}, {"dp_attention_size": 8, "ep_size": 8},
           {"tp_size": 4, "dp_attention_size": 4, "ep_size": 16}, {"tp_size": 4, "dp_attention_size": 2, "ep_size": 2},
           {"tp_size": 2, "pp_size": 2, "dp_attention_size": 2, "ep_size": 4})  # fmt: skip


def solved(**inputs):
    return MODEL.solve(**inputs)


def test_sizes_of_one_change_nothing():
    given = {**QWEN, "tp_size": 4, **DECODING, "prompts": 1}
    plain = MODEL.solve(**given)
    one = MODEL.solve(**given, pp_size=1, ep_size=1, dp_attention_size=1, two_batch_overlap=False,
                      num_redundant_experts=0, routing_imbalance_factor=1.5, node_limit=1)  # fmt: skip
    unseen = {"reachable_nodes", "ranks_per_token", "nodes_per_token"}
    assert {**plain.outputs, **dict.fromkeys(unseen)} == {**one.outputs, **dict.fromkeys(unseen)}


@pytest.mark.parametrize("variant", ["colocated", "disaggregated"])
def test_sizes_of_one_change_no_deployment(variant):
    plain = ServingModel.solve_example(variant=variant)
    assert (
        ServingModel.solve_example(variant=variant, pp_size=1, ep_size=1, dp_attention_size=1).outputs == plain.outputs
    )


@pytest.mark.parametrize("layout", LAYOUTS)
def test_weights_of_all_ranks_are_those_of_their_copies(layout):
    """An attention rank has everything but experts, an expert group each expert of a layer once."""
    found = FULL.solve(**QWEN, **layout)
    t, d, e = (layout.get(name, 1) for name in ("tp_size", "dp_attention_size", "ep_size"))
    experts = 94 * 128 * found.canonical("expert_parameters") * found.canonical("weight_bytes")
    copies = t * d / max(t, e)
    held = found.canonical("replica_weights")
    assert held == pytest.approx(d * (found.canonical("served_weights") - experts) + copies * experts, rel=1e-12)
    # Enough tokens touch every expert, and the ranks of one stage read their layers between them.
    read = MODEL.solve(**QWEN, **layout, prompts=64, seq_len=8000).canonical("touched_expert_weights")
    assert read * t * d == pytest.approx(copies * 94 * 128 * found.canonical("expert_parameters"), rel=1e-9)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_tokens_are_spread_over_ranks(layout):
    found = solved(**QWEN, **layout, **DECODING)
    t, p, d, e = (layout.get(name, 1) for name in ("tp_size", "pp_size", "dp_attention_size", "ep_size"))
    assert found.canonical("iteration_tokens") * p * d == pytest.approx(512)
    assert found.canonical("expert_group_tokens") * p * t * d / max(t, e) == pytest.approx(512)


def test_independent_ranks_are_engines_of_their_own():
    """Without experts in common a rank knows nothing of the others."""
    many = solved(**QWEN, tp_size=4, dp_attention_size=4, **DECODING)
    one = solved(**QWEN, tp_size=4, decode_requests=128, context_tokens=2000)
    assert many.canonical("iteration_time") == pytest.approx(one.canonical("iteration_time"), rel=1e-12)
    room, single = (FULL.solve(**QWEN, tp_size=4, dp_attention_size=d).canonical("kv_cache_tokens") for d in (4, 1))
    assert room == pytest.approx(4 * single, rel=1e-12)


@pytest.mark.parametrize(("inputs", "kind"), [(DECODING, "low_latency_"), ({"prompts": 16, "seq_len": 2000}, "")])
def test_experts_are_exchanged_by_the_law_of_exchanges(inputs, kind):
    """At low latency in a decode step, one copy a node where prompts are prefilled."""
    found = solved(**WIDE, **inputs, node_limit=2)
    given = {"fleet": "SuperPOD_H100", "stack": "DeepEP", "precision": "w8a8", "collective_ranks": 16,
             "hidden_dim": 4096, "active_experts_per_token": 8}  # fmt: skip
    tokens = found.canonical("iteration_tokens")
    each = [
        CollectiveModel(kind + way).solve(
            **given, tokens_per_rank=tokens, **({} if kind else {"node_limit": 2})
        ).canonical("collective_time")
        for way in ("dispatch", "combine")
    ]  # fmt: skip
    assert found.canonical("expert_exchange_time") == pytest.approx(94 * sum(each), rel=1e-12)


def test_infinite_links_leave_latencies_alone():
    found = solved(**WIDE, **DECODING, fabric_bandwidth="1e20 GB/s", node_bandwidth="1e20 GB/s")
    assert found.canonical("expert_exchange_time") == pytest.approx(94 * 2 * 30e-6)


def test_the_hot_rank_sets_the_time_of_experts():
    even, hot = (solved(**WIDE, decode_requests=160_000, routing_imbalance_factor=f) for f in (1, 1.5))
    assert hot.canonical("hot_rank_factor") == 1.5
    assert hot.canonical("dispatch_fabric_bytes") == pytest.approx(1.5 * even.canonical("dispatch_fabric_bytes"))
    assert hot.canonical("expert_product_time") > 1.4 * even.canonical("expert_product_time")


def test_two_micro_batches_hide_the_shorter_part():
    found = solved(**WIDE, **DECODING, two_batch_overlap=True)
    computed, exchanged = found.canonical("computed_time"), found.canonical("expert_exchange_time")
    assert found.canonical("device_time") == pytest.approx(2 * max(computed, exchanged))
    half = solved(**WIDE, decode_requests=256, context_tokens=2000)
    assert computed == pytest.approx(half.canonical("computed_time"), rel=1e-12)
    assert exchanged == pytest.approx(half.canonical("expert_exchange_time"), rel=1e-12)


def test_experts_held_twice_take_room():
    plain, twice = (FULL.solve(**WIDE, num_redundant_experts=n).canonical("replica_weights") for n in (0, 32))
    assert twice - plain == pytest.approx(94 * 32 * 3 * 4096 * 1536, rel=1e-12)


def test_stages_take_turns():
    """Four groups of requests pass four stages of twenty layers; a token comes out once they all have."""
    found = solved(**LLAMA, tp_size=2, pp_size=4, **DECODING)
    group = solved(**LLAMA, tp_size=2, decode_requests=128, context_tokens=2000)
    sends = 4 * (2 * 8192 * 128 / 2 / (0.86 * 450e9) + 0.88e-6)
    assert found.canonical("stage_send_time") == pytest.approx(sends, rel=1e-12)
    waits = 3 * group.canonical("head_time")
    assert found.canonical("uneven_stage_time") == pytest.approx(waits, rel=1e-9)
    expected = group.canonical("iteration_time") + sends + waits
    assert found.canonical("iteration_time") == pytest.approx(expected, rel=1e-12)


def test_a_stage_with_more_layers_holds_up_the_others():
    """Of 80 layers three stages have 27, 27 and 26."""
    found = solved(**LLAMA, pp_size=3, prompts=3, seq_len=1000)
    layers = found.canonical("computed_time") - sum(
        found.canonical(name) for name in ("head_time", "uneven_stage_time", "stage_send_time")
    )
    head = found.canonical("head_time")
    slowest = max(27 / 80 * layers, 26 / 80 * layers + head)
    assert found.canonical("uneven_stage_time") == pytest.approx(3 * slowest - layers - head, rel=1e-9)


def test_prompts_in_stages_come_out_as_many_times_as_fast():
    """A stage takes the next prompt while the others work: the rate is that of the slowest stage, which has the head.
    A prompt that finds them idle passes one after the other."""
    given = {**LLAMA, "tp_size": 2, "isl": 4000, "osl": 2, "request_rate": 1e-3}
    one, four = (ServingModel("disaggregated").solve(**given, pp_size=p) for p in (1, 4))
    head = solved(**LLAMA, tp_size=2, prompts=1, seq_len=4000).canonical("head_time")
    assert four.canonical("prompt_interval") == pytest.approx(four.canonical("prompt_time") / 4 + 3 / 4 * head)
    sends = 3 * (2 * 8192 * 4000 / 2 / (0.86 * 450e9) + 0.88e-6)
    assert four.canonical("prompt_time") == pytest.approx(one.canonical("prompt_time") + sends)


@pytest.mark.parametrize("stages", [4, 8])
def test_a_request_alone_passes_the_sum_of_the_stages(stages):
    """Fewer groups than stages wait for the slowest one as often as they are many, and never take less than the sum."""
    whole = solved(**LLAMA, decode_requests=1, context_tokens=2000)
    head, layers = (whole.canonical(name) for name in ("head_time", "computed_time"))
    times = []
    for requests in range(1, stages + 1):
        found = solved(**LLAMA, pp_size=stages, decode_requests=requests, context_tokens=2000)
        assert found.canonical("busy_stages") == requests
        slowest = (layers - head) / stages + head
        bare = found.canonical("computed_time") - found.canonical("stage_send_time")
        assert bare == pytest.approx(max(layers, requests * slowest), rel=1e-12)
        times.append(bare)
    assert times[0] == pytest.approx(layers, rel=1e-12)
    prompt = [solved(**LLAMA, pp_size=p, prompts=1, seq_len=1000) for p in (1, stages)]
    assert prompt[1].canonical("uneven_stage_time") == 0
    assert prompt[1].canonical("dense_product_time") == prompt[0].canonical("dense_product_time")


def test_experts_see_the_tokens_of_a_request_alone_however_many_the_stages():
    one, four = (solved(**QWEN, pp_size=p, prompts=1, seq_len=1000) for p in (1, 4))
    assert four.canonical("expert_group_tokens") == one.canonical("expert_group_tokens") == 1000
    assert four.canonical("expert_product_time") == one.canonical("expert_product_time")


def test_a_lone_request_is_whole_on_its_rank():
    """It reads its cache alone, whatever the other ranks have."""
    one, many = (solved(**QWEN, tp_size=4, dp_attention_size=d, decode_requests=1, context_tokens=9e4) for d in (1, 4))
    assert many.canonical("decode_attention_time") == one.canonical("decode_attention_time")


@pytest.mark.parametrize(
    ("layout", "words"),
    [
        ({"ep_size": 3, "dp_attention_size": 4}, "ep_size.*must divide tp_size"),
        ({"ep_size": 6, "tp_size": 4, "dp_attention_size": 3}, "or be a multiple of it"),
        ({"ep_size": 48, "dp_attention_size": 48}, "must divide experts"),
        ({"pp_size": 95}, "pp_size.*must be at most layers"),
        ({"tp_size": 3}, "tp_size.*must divide"),
        ({"two_batch_overlap": True, "tp_size": 4}, "must be False where no experts are exchanged"),
        ({"num_redundant_experts": 200}, "must be at most experts"),
    ],
)
def test_layouts_that_cannot_be_are_refused(layout, words):
    with pytest.raises(InputError, match=words):
        solved(**QWEN, **layout, **DECODING)


def test_a_dense_model_has_no_experts_to_spread():
    with pytest.raises(InputError, match="ep_size"):
        solved(**LLAMA, dp_attention_size=4, ep_size=4, **DECODING)
    with pytest.raises(InputError, match="must be 0 where moe_layers"):
        solved(**LLAMA, num_redundant_experts=1, **DECODING)
