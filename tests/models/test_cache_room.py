"""Room for the cache: what engines print when they start, and that nothing else takes of it unless a stack says so."""

import pytest

from mlsysim import Hardware, IterationModel, ServingCapacityModel, ServingModel
from mlsysim.catalog import Accelerator, Node, builtin
from mlsysim.errors import CatalogError, InputError, UnitError

GIB = 2**30
FULL = IterationModel("saturated")
#: As vLLM prints them: device, stack, ranks, and GiB on each for caches.
LOGGED = {
    "one H100": ("H100", "vLLM_2024", 1, 53.29),
    "two H100": ("H100", "vLLM_2024", 2, 58.97),
    "L40S, 1,024 requests": ("L40S", "vLLM_2025", 1, 158_656 * 131_072 / GIB),
}


def _room(device, **more):
    return FULL.solve("Llama3_1_8B", device, precision="bf16", **more)


@pytest.mark.parametrize("case", LOGGED)
def test_rooms_that_vllm_prints(case):
    device, stack, ranks, printed = LOGGED[case]
    found = _room(device, stack=stack, tp_size=ranks)
    assert found.canonical("kv_memory") / ranks / GIB == pytest.approx(printed, rel=0.03)


def test_a_room_on_24_gigabytes():
    found = _room("A10", stack="vLLM_2024")
    assert found.canonical("kv_memory") / GIB == pytest.approx(37_696 * 131_072 / GIB, abs=2)


@pytest.mark.parametrize(("share", "printed"), [(0.9, -2.14), (0.95, 1.71)])
def test_padded_experts_leave_no_room_on_one_card(share, printed):
    found = FULL.solve("gpt_oss_120B", "H100", stack="vLLM_2025", gpu_memory_utilization=share)
    assert found.canonical("served_weights") == pytest.approx(65.25e9, rel=1e-3)
    assert found.canonical("kv_memory") / GIB == pytest.approx(printed, abs=0.4)
    alike = FULL.solve("gpt_oss_120B", "H100", stack="vLLM_2025", expert_width_multiple=2880, expert_hidden_multiple=0)
    whole = FULL.solve("gpt_oss_120B", "H100", stack="vLLM_2025", expert_width_multiple=0, expert_hidden_multiple=0)
    assert alike.canonical("kv_memory") == whole.canonical("kv_memory")


def test_a_room_of_four_that_was_not_used():
    """Qwen3 235B in fp8 on four H100: 8.11 GiB in vLLM, and twice as much where sampling takes of the rest."""
    given = {"model": "Qwen3_235B_A22B", "hardware": "H100", "tp_size": 4, "precision": "w8a8"}
    vllm = FULL.solve(**given, stack="vLLM_2025").canonical("kv_memory") / 4 / GIB
    sglang = FULL.solve(**given, stack="SGLang_2025", gpu_memory_utilization=0.93).canonical("kv_memory") / 4 / GIB
    assert vllm == pytest.approx(8.11, abs=1)
    assert sglang == pytest.approx(16.46, abs=3)


def test_wide_weights_are_not_padded():
    padded = {"expert_hidden_multiple": 4096, "expert_width_multiple": 4096}
    given = {"model": "Mixtral_8x7B", "hardware": "H200", "precision": "bf16"}
    assert FULL.solve(**given, **padded).canonical("kv_memory") == FULL.solve(**given).canonical("kv_memory")


def test_models_agree_on_the_room():
    stack = {"stack": "vLLM_2024", "precision": "bf16"}
    one = _room("L40S", stack="vLLM_2024").canonical("kv_cache_tokens")
    capacity = ServingCapacityModel("prefill_aware").solve(
        "Llama3_1_8B", "L40S", qps=1, target_p99_latency_ms=60_000, **stack
    )
    served = ServingModel("colocated").solve("Llama3_1_8B", "L40S", isl=512, osl=64, request_rate=0.1, **stack)
    assert capacity.canonical("kv_cache_tokens") == pytest.approx(one, rel=1e-14)
    assert served.canonical("kv_cache_tokens") == one


def test_of_a_device_without_it_the_driver_gives_all_that_it_shows():
    own = {
        "name": "Own",
        "memory_bandwidth": "1 TB/s",
        "peak_flops": {"bf16": "100 TFLOP/s"},
        "link_bandwidth": "32 GB/s",
    }
    plain = Accelerator(**own, memory_capacity="24 GiB")
    less = Accelerator(**own, memory_capacity="24 GiB", driver_memory="23 GiB")
    rooms = [_room(each, gpu_memory_utilization=1).canonical("kv_memory") for each in (plain, less)]
    assert rooms[0] - rooms[1] == GIB
    assert _room(less, memory_capacity="24 GiB", gpu_memory_utilization=1).canonical("kv_memory") == rooms[0]
    assert less.changed(memory_capacity="20 GiB").driver_memory is None
    assert less.changed(driver_memory="22 GiB").memory_capacity.text() == "24 GiB"
    assert less.changed(price=1000).driver_memory.text() == "23 GiB"
    node = Node(name="Box", accelerator=less, accelerators_per_node=2)
    found = FULL.solve("Llama3_1_8B", node=node, precision="bf16", gpu_memory_utilization=1)
    assert found.canonical("kv_memory") == rooms[1]


def test_a_driver_gives_no_more_than_it_shows():
    with pytest.raises(CatalogError, match="driver_memory: 25 GiB is more than its memory, 24 GiB"):
        Hardware.Cloud.A10.changed(memory_capacity="24 GiB", driver_memory="25 GiB")
    for path in builtin().paths():
        device = builtin().entry(path)
        if isinstance(device, Accelerator) and device.driver_memory is not None:
            assert device.driver_memory.canonical > 0.74 * device.memory_capacity.canonical


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("driver_memory", -1, ">= 0"),
        ("runtime_memory", "3 s", "s is not a unit of GB"),
        ("sampling_bytes", -2, ">= 0"),
        ("sampled_requests", -1, ">= 0"),
        ("expert_hidden_multiple", 1.5, "whole"),
    ],
)
def test_bad_inputs_are_named(name, value, said):
    with pytest.raises((InputError, UnitError), match=name) as refused:
        _room("A10", **{name: value})
    assert said in str(refused.value)


#: Tokens that fit over those that would if every layer kept them, in requests of 4,608 tokens: at least, at most.
HELD = {
    "gpt_oss_20B": (1.2, 2),
    "Gemma3_12B": (1.2, 6),
    "Llama3_1_8B": (1, 1),
    "Nemotron_3_Nano_30B_A3B": (0.2, 0.5),
    "Qwen3_5_27B": (0.5, 0.8),
    "EncoderDecoders.Whisper_large_v3": (0.7, 0.8),
}


@pytest.mark.parametrize("model", HELD)
def test_tokens_and_slots_agree_whatever_a_request_keeps(model):
    """Tokens over the length of a request are the slots, with windows, states and a source, and whoever is asked."""
    length = {"seq_len": 4096, "output_tokens": 512}
    many = {"max_batch_size": 10**6, "precision": "fp8"}
    found = FULL.solve(model, "H200", **length, **many)
    assert found.canonical("kv_cache_tokens") / 4608 == pytest.approx(found.canonical("decode_requests"), rel=1e-12)
    capacity = ServingCapacityModel("prefill_aware").solve(
        model, "H200", qps=1, target_p99_latency_ms=60_000, kv_page_size=1, **length, **many
    )
    assert capacity.canonical("kv_cache_tokens") == pytest.approx(found.canonical("kv_cache_tokens"), rel=1e-12)
    assert capacity.canonical("active_batch_size") == int(found.canonical("decode_requests"))
    served = ServingModel("colocated").solve(model, "H200", isl=4096, osl=512, request_rate=0.1, precision="fp8")
    assert served.canonical("kv_cache_tokens") == found.canonical("kv_cache_tokens")
    least, most = HELD[model]
    assert least <= found.canonical("kv_cache_tokens") / found.canonical("cache_tokens_of_all_layers") <= most
