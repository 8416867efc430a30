"""Pools of engines with layouts of their own."""

import pytest

from mlsysim import IterationModel, ServingModel
from mlsysim.errors import InputError, MlsysimError

POOLS = ServingModel("disaggregated")
GIVEN = {
    "model": "Qwen3_32B", "hardware": "H200", "precision": "w8a8", "stack": "TensorRT_LLM_H100", "tp_size": 4,
    "isl": 4000, "osl": 500, "request_rate": 5, "num_replicas": 1, "prefill_workers": 2, "rental_price": 2, "tdp": 700,
}  # fmt: skip
WIDE = {
    "model": "DeepSeek_V3", "fleet": "DeepSeek_H800_2048", "precision": "fp8_deepseek", "two_batch_overlap": True,
    "num_redundant_experts": 32, "node_limit": 4, "ep_size": 144, "dp_attention_size": 144, "isl": 4000, "osl": 1000,
    "request_rate": 100, "num_replicas": 1, "prefill_workers": 9,
}  # fmt: skip
#: What is asked of the engines that decode.
DECODING = ("engine_slots", "kv_cache_tokens", "decode_batch", "step_time_at_load", "step_growth_at_load")


def prefill(layout, given=GIVEN, prompts=1):
    """Milliseconds of a prefill on engines of such a layout, by a model that knows no pools."""
    shared = {"tp_size", "pp_size", "ep_size", "dp_attention_size"}
    alone = {name: value for name, value in given.items() if name in IterationModel("iteration").arguments}
    plain = {name: value for name, value in alone.items() if name not in shared}
    found = IterationModel("iteration").solve(**plain, **layout, prompts=prompts, seq_len=given["isl"])
    return found.canonical("iteration_time")


def test_sizes_that_are_said_twice_change_nothing():
    plain = POOLS.solve(**GIVEN, pp_size=2)
    assert POOLS.solve(**GIVEN, pp_size=2, prefill_tp_size=4, prefill_pp_size=2, prefill_ep_size=1,
                       prefill_dp_attention_size=1).outputs == plain.outputs  # fmt: skip


@pytest.mark.parametrize(("ranks", "stages"), [(1, 1), (2, 1), (8, 1), (2, 2)])
def test_prompts_are_prefilled_in_the_layout_of_their_pool(ranks, stages):
    plain, found = POOLS.solve(**GIVEN), POOLS.solve(**GIVEN, prefill_tp_size=ranks, prefill_pp_size=stages)
    alone = prefill({"tp_size": ranks, "pp_size": stages})
    assert found.canonical("prompt_time") == alone
    full = prefill({"tp_size": ranks, "pp_size": stages}, prompts=stages)
    assert found.canonical("prompt_interval") == pytest.approx(full / stages, rel=1e-12)
    assert {name: found.canonical(name) for name in DECODING} == {name: plain.canonical(name) for name in DECODING}
    assert found["accelerators_per_replica"] == 2 * ranks * stages + 4
    assert found["goodput_per_accelerator"] == found["goodput"] / (2 * ranks * stages + 4)
    assert found["prefill_cost_share"] == pytest.approx(2 * ranks * stages / (2 * ranks * stages + 4))


def test_experts_of_either_pool_stand_on_ranks_of_their_own():
    """DeepSeek prefills over 32 ranks and decodes over 144."""
    sizes = {"ep_size": 32, "dp_attention_size": 32}
    found = POOLS.solve(**WIDE, **{f"prefill_{name}": size for name, size in sizes.items()})
    assert found.canonical("prompt_time") == prefill(sizes, WIDE, prompts=64)
    assert found["accelerators_per_replica"] == 9 * 32 + 144


def test_accelerators_work_for_their_share_of_the_time():
    found = POOLS.solve(**GIVEN, prefill_tp_size=2)
    busy = 4 * found["prompt_load"] + 4
    assert found["busy_share"] == pytest.approx(busy / 8, rel=1e-6)


def test_a_pool_without_memory_for_its_weights_is_named():
    given = {**GIVEN, "model": "Llama3_1_405B", "tp_size": 8}
    found = POOLS.solve(**given, prefill_tp_size=2)
    assert found["serving_bottleneck"] == "Memory"
    assert not found["feasible"]
    assert found.canonical("goodput") == found.canonical("tokens_per_second") == 0
    wider = "they fit with prefill_tp_size >= 4, or precision=w4a16"
    assert found.notes == (f"Llama3_1_405B and a prompt do not fit 2 H200: {wider}",)
    assert POOLS.solve(**given, prefill_tp_size=4)["serving_bottleneck"] != "Memory"


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({"prefill_tp_size": 3}, r"prefill_tp_size=3: \(0: tp_size=4\) must divide heads=64; nearest: 2, 4"),
        ({"prefill_tp_size": -1}, "prefill_tp_size=-1"),
        ({"prefill_pp_size": 65}, r"prefill_pp_size=65: \(0: pp_size=1\) must be at most layers=64"),
        ({"prefil_tp_size": 2}, "did you mean prefill_tp_size"),
    ],
)
def test_layouts_that_cannot_be_are_refused(sizes, said):
    with pytest.raises(MlsysimError, match=said):
        POOLS.solve(**GIVEN, **sizes)


def test_other_variants_have_one_layout():
    with pytest.raises(InputError, match="prefill_tp_size"):
        ServingModel("colocated").solve_example(prefill_tp_size=2)


def test_requests_of_a_closed_loop_wait_for_a_slot_after_their_first_token():
    """As those that come by themselves: 64 in flight on 16 slots, each its prefill and then its share of the slots."""
    loop = {"isl": 1024, "osl": 256, "max_num_seqs": 16, "concurrency": 64, "num_replicas": 1}
    found = ServingModel("disaggregated").solve(**{**ServingModel.example, "request_rate": 0, **loop})
    assert found["decode_batch"].magnitude == 16
    assert found.canonical("ttft_mean") == pytest.approx(found.canonical("prompt_time"))
    whole = 64 / found.canonical("replica_rate")
    assert found.canonical("ttft_mean") + 255 * found.canonical("tpot_mean") == pytest.approx(whole)
    assert found["slot_wait_probability"] == 0


@pytest.mark.parametrize("variant", ServingModel.variants)
def test_a_closed_loop_has_a_request_in_flight_at_least(variant):
    with pytest.raises(InputError, match=r"concurrency=0\.5: must be at least 1 in flight, or 0 for no closed loop"):
        ServingModel(variant).solve(model="Llama3_1_8B", hardware="H100", concurrency=0.5)
    alone = ServingModel(variant).solve(model="Llama3_1_8B", hardware="H100", concurrency=1)
    assert alone.replica_rate.magnitude == pytest.approx(1e3 / alone.e2e_mean.magnitude)
