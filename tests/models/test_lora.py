"""Adapters of low rank beside shared weights: against counted tensors, drawn requests, sums over every adapter."""

import numpy as np
import pytest
from simulated.serving.prefix_cache import zipf

from mlsysim import IterationModel, MemoryExpansionModel, ServingModel
from mlsysim.backends import compiled, derivatives
from mlsysim.errors import InputError
from mlsysim.inputs.binding import bind

MODEL, FULL = IterationModel(), IterationModel("saturated")
LLAMA = {"model": "Llama3_8B", "hardware": "H100", "decode_requests": 16, "context_tokens": 1000}
#: Rows (outputs) and columns (inputs) of the linear layers of a block, and how many blocks, as a framework lists them.
ATTENTION_8B = {"q": (4096, 4096), "k": (1024, 4096), "v": (1024, 4096), "o": (4096, 4096)}
BLOCK_8B = {"gate": (14336, 4096), "up": (14336, 4096), "down": (4096, 14336)}
LATENT = {"q_a": (1536, 7168), "q_b": (24576, 1536), "kv_a": (576, 7168), "kv_b": (32768, 512), "o": (7168, 16384)}
DEEPSEEK = [
    (61, LATENT),
    (3, {"gate": (18432, 7168), "up": (18432, 7168), "down": (7168, 18432)}),
    (58 * 257, {"gate": (2048, 7168), "up": (2048, 7168), "down": (7168, 2048)}),
]
COUNTS = [
    ("Llama3_8B", "all_linear", 16, [(32, ATTENTION_8B | BLOCK_8B)], 41_943_040),
    ("Llama3_8B", "attention", 16, [(32, ATTENTION_8B)], 13_631_488),
    ("Llama3_8B", "query_value", 8, [(32, {name: ATTENTION_8B[name] for name in "qv"})], 3_407_872),
    ("Mixtral_8x7B", "all_linear", 8, [(32, ATTENTION_8B), (32 * 8, BLOCK_8B)], None),
    ("DeepSeek_V3", "all_linear", 4, DEEPSEEK, None),
]


def tensors(rank, layers, ways=1):
    """Numbers of both factors; with several ways, of one rank: columns of ``o`` and ``down``, rows of the others."""
    found = 0
    for times, shapes in layers:
        for name, (rows, columns) in shapes.items():
            split = (rows, columns / ways) if name in ("o", "down") else (rows / ways, columns)
            found += times * rank * sum(split)
    return found


@pytest.mark.parametrize(("model", "targets", "rank", "layers", "printed"), COUNTS)
def test_parameters_are_those_of_the_tensors(model, targets, rank, layers, printed):
    """What is printed for Llama 3 8B is what peft prints."""
    found = MODEL.solve(**{**LLAMA, "model": model}, num_loras=2, lora_rank=rank, lora_target_modules=targets)
    assert found["lora_parameters"] == tensors(rank, layers)
    assert printed in (None, found["lora_parameters"])
    assert found.canonical("lora_memory") == 2 * 2 * found["lora_parameters"]


@pytest.mark.parametrize("ways", [2, 4, 8])
def test_a_rank_has_one_factor_split_and_one_whole(ways):
    found = MODEL.solve(**LLAMA, tp_size=ways, num_loras=5)
    assert found["lora_parameters_per_rank"] == tensors(16, COUNTS[0][3], ways)
    assert found["lora_parameters"] == 41_943_040
    assert found.canonical("lora_memory") == 2 * 5 * ways * tensors(16, COUNTS[0][3], ways)


def test_experts_of_an_adapter_stand_where_their_experts_do():
    """Cut over tensor-parallel ranks, or whole on expert-parallel ones."""
    given = {**LLAMA, "model": "Mixtral_8x7B", "num_loras": 3}
    attention = tensors(16, [(32, ATTENTION_8B)], 4)
    for layout, cut, held in [({}, 4, 8), ({"ep_size": 4}, 1, 2), ({"ep_size": 2}, 2, 4)]:
        found = MODEL.solve(**given, tp_size=4, **layout)
        experts = tensors(16, [(32 * held, BLOCK_8B)], cut)
        assert found.canonical("lora_memory") == 2 * 3 * 4 * (attention + experts), layout
        assert found["lora_parameters"] == tensors(16, COUNTS[3][3])
    spread = MODEL.solve(**given, dp_attention_size=4, ep_size=4)
    assert spread.canonical("lora_memory") == 2 * 3 * 4 * (tensors(16, [(32, ATTENTION_8B), (32 * 2, BLOCK_8B)]))


def asked_for(requests, count, exponent):
    return (1 - (1 - zipf(count, exponent)) ** requests).sum()


@pytest.mark.parametrize("count", [1, 2, 5, 30, 1000, 100_000])
@pytest.mark.parametrize("exponent", [0.0, 0.7, 1.0, 1.5])
def test_adapters_of_an_iteration_are_the_sum_over_every_adapter(count, exponent):
    for requests in (1, 2.5, 16, 300):
        found = MODEL.solve(**{**LLAMA, "decode_requests": requests}, num_loras=count, lora_zipf=exponent)
        expected = asked_for(requests, count, exponent)
        assert found["iteration_loras"] == pytest.approx(expected, rel=0.002), (requests, expected)


def test_adapters_of_an_iteration_are_those_of_drawn_requests():
    rng = np.random.default_rng(3)
    for count, exponent, requests in [(50, 0.0, 32), (200, 1.0, 64), (1000, 1.2, 128)]:
        drawn = rng.choice(count, size=(4000, requests), p=zipf(count, exponent))
        seen = np.mean([len(set(batch)) for batch in drawn.tolist()])
        found = MODEL.solve(**{**LLAMA, "decode_requests": requests}, num_loras=count, lora_zipf=exponent)
        assert found["iteration_loras"] == pytest.approx(seen, rel=0.01)


@pytest.mark.parametrize(("count", "exponent", "high"), [(4, 0.0, 0.08), (50, 0.0, 0.08), (50, 1.0, 0.35)])
@pytest.mark.parametrize("requests", [4, 32, 128])
def test_pairs_of_adapters_and_experts_are_those_of_drawn_requests(count, exponent, high, requests):
    """Where some adapters have more tokens than others there are fewer pairs than the model says."""
    rng = np.random.default_rng(5)
    asked = rng.choice(count, size=(500, requests), p=zipf(count, exponent))
    picked = np.argsort(rng.random((500, requests, 8)), axis=-1)[:, :, :2]
    pairs = asked[:, :, None] * 8 + picked
    seen = np.mean([len(np.unique(batch)) for batch in pairs])
    given = {**LLAMA, "model": "Mixtral_8x7B", "decode_requests": requests}
    found = MODEL.solve(**given, num_loras=count, lora_zipf=exponent)["lora_expert_pairs"]
    assert -0.02 * seen < found - seen < high * seen


def test_a_prefill_has_one_adapter_a_prompt():
    given = {**LLAMA, "decode_requests": 0, "num_loras": 40}
    assert MODEL.solve(**given, prompts=1)["iteration_loras"] == pytest.approx(1, rel=1e-12)
    assert MODEL.solve(**given, prompts=3)["iteration_loras"] == pytest.approx(asked_for(3, 40, 0), rel=1e-9)
    ranks = {"model": "Mixtral_8x7B", "dp_attention_size": 2}
    assert MODEL.solve(**{**given, **ranks}, prompts=2)["iteration_loras"] == pytest.approx(1, rel=1e-12)


def test_an_iteration_reads_and_computes_its_adapters():
    given = {**LLAMA, "num_loras": 16, "memory_efficiency": 1.0, "efficiency": 1.0}
    plain, found = MODEL.solve(**{**given, "num_loras": 0}), MODEL.solve(**given)
    parameters, edges = 41_943_040, 41_943_040 / 16
    bandwidth, peak = (found.canonical(name) for name in ("memory_bandwidth", "attention_peak_flops"))
    read, computed = 2 * asked_for(16, 16, 0) * parameters / bandwidth, 2 * 16 * parameters / peak
    expected = (read**2 + computed**2) ** 0.5 + 16 * 3 * edges / bandwidth
    assert found.canonical("lora_time") == pytest.approx(expected, rel=1e-9)
    added = found.canonical("iteration_time") - plain.canonical("iteration_time")
    assert added == pytest.approx(expected, rel=1e-9)
    taxed = MODEL.solve(**given, lora_layer_tax="0.06 ms")
    assert taxed.canonical("lora_time") == pytest.approx(expected + 32 * 60e-6, rel=1e-9)


@pytest.mark.parametrize("variant", ServingModel.variants)
def test_adapters_take_room_and_time(variant):
    given = {"model": "Llama3_8B", "hardware": "H100", "request_rate": 4, "isl": 1024, "osl": 128, "num_replicas": 1}
    plain, found = (ServingModel(variant).solve(**given, num_loras=count) for count in (0, 64))
    taken = plain.canonical("kv_memory") - found.canonical("kv_memory")
    assert taken == pytest.approx(found.canonical("lora_memory"), rel=1e-9)
    assert found.canonical("lora_memory") == 2 * 64 * 41_943_040
    for name in ("tpot_mean", "ttft_mean", "e2e_mean"):
        assert found.canonical(name) > plain.canonical(name)
    assert found.canonical("goodput") < plain.canonical("goodput")


def test_chunks_follow_the_same_law():
    """A full iteration of chunked prefill is that of the iteration model, adapters with it."""
    shared = {"model": "Llama3_8B", "hardware": "H100", "num_loras": 30, "lora_zipf": 0.8}
    chunked = ServingModel("chunked_estimate").solve(**shared, request_rate=4, isl=1000, osl=200)
    requests = chunked["full_batch"].magnitude
    prompts = (8192 - requests) / 1000
    alone = MODEL.solve(**shared, seq_len=1000, decode_requests=requests, prompts=prompts,
                        context_tokens=chunked["context_tokens"])  # fmt: skip
    assert chunked.canonical("saturated_iteration_time") == pytest.approx(alone.canonical("iteration_time"), rel=1e-12)
    assert alone["iteration_loras"] == pytest.approx(asked_for(requests + prompts, 30, 0.8), rel=0.002)


#: What the examples gave before there were adapters; goodputs and tails by the law of waits for slots since.
BEFORE = {
    "colocated": {
        "tpot_mean": "0x1.95ce8fb8e82f1p-6",
        "ttft_p99": "0x1.9a32aaf761c52p-3",
        "e2e_mean": "0x1.998766196604cp+2",
        "goodput": "0x1.d2688ff326afep+4",
        "kv_cache_tokens": "0x1.7203d0c5c28f6p+20",
        "decode_batch": "0x1.50d9f64cfcbb1p+5",
    },
    "disaggregated": {
        "tpot_mean": "0x1.e897ccb4d5a1cp-7",
        "ttft_p99": "0x1.2f024acf6dadbp-2",
        "e2e_mean": "0x1.f304a2c01949ap+1",
        "goodput": "0x1.039bd927c4f05p+5",
        "kv_cache_tokens": "0x1.7203d0c5c28f6p+20",
        "decode_batch": "0x1.2f4f57908f7e5p+5",
    },
    "chunked": {
        "tpot_mean": "0x1.0382b0001f5afp-5",
        "ttft_p99": "0x1.537a32d5dd5c1p-2",
        "e2e_mean": "0x1.0655596d97927p+3",
        "goodput": "0x1.7452ce2de932dp+4",
        "kv_cache_tokens": "0x1.7203d0c5c28f6p+20",
        "decode_batch": "0x1.431ef74456bfep+6",
    },
    "chunked_estimate": {
        "tpot_mean": "0x1.03748d872f042p-5",
        "ttft_p99": "0x1.099a493f40f8ap-2",
        "e2e_mean": "0x1.0643767a48f44p+3",
        "goodput": "0x1.75425223db925p+4",
        "kv_cache_tokens": "0x1.7203d0c5c28f6p+20",
        "decode_batch": "0x1.430d5f3811ca2p+6",
    },
}
BEFORE_ITERATION = "0x1.c8047e4826f1fp-6"


@pytest.mark.parametrize("variant", ServingModel.variants)
def test_without_adapters_nothing_changes(variant):
    unused = {
        "lora_rank": 64,
        "lora_zipf": 1.3,
        "max_loras": 3,
        "lora_layer_tax": 5,
        "lora_target_modules": "attention",
    }
    # All that the driver shows, as engines were counted then.
    asked = {**ServingModel.example, "memory_capacity": "81559 MiB"}
    plain = ServingModel(variant).solve(**asked)
    told = ServingModel(variant).solve(**asked, num_loras=0, **unused)
    for name, expected in BEFORE[variant].items():
        assert plain.canonical(name) == told.canonical(name) == pytest.approx(float.fromhex(expected), rel=1e-9), name


def test_without_adapters_an_iteration_is_what_it_was():
    found = MODEL.solve(**MODEL.example)
    assert found.canonical("iteration_time") == pytest.approx(float.fromhex(BEFORE_ITERATION), rel=1e-12)


def test_adapters_that_do_not_fit_are_told():
    given = {"model": "Llama3_8B", "hardware": "H100", "request_rate": 1, "num_loras": 1000}
    full = ServingModel("colocated").solve(**given)
    assert full["serving_bottleneck"] == "Memory"
    assert not full["feasible"]
    assert any("adapters take 83.89 GB" in note and "max_loras" in note for note in full.notes)
    held = ServingModel("colocated").solve(**given, max_loras=32)
    assert held["feasible"]
    assert held.canonical("lora_memory") == 2 * 32 * 41_943_040
    assert any(note.startswith("32 of 1000 adapters are held at a time") for note in held.notes)


def test_no_more_adapters_are_read_than_are_held():
    found = MODEL.solve(**LLAMA, num_loras=1000, max_loras=8)
    assert found["iteration_loras"] > 15
    assert found["touched_lora_parameters"] == 8 * 41_943_040


@pytest.mark.parametrize("count", [1, 2, 40])
@pytest.mark.parametrize("by", ["decode_requests", "lora_zipf"])
def test_slopes_are_finite_and_those_of_differences(count, by):
    outputs = ("iteration_loras", "lora_time")
    binding = bind(MODEL, {**LLAMA, "num_loras": count, "lora_zipf": 0.9})
    values = {name: float(value) for name, value in binding.values.items()}
    found = derivatives(binding.system, outputs, (by,), values)
    at = values[by]
    ends = compiled(binding.system, outputs, "vector")({**values, by: np.array([at * (1 - 1e-4), at * (1 + 1e-4)])})
    for name in outputs:
        low, high = ends[name]
        assert found[name][(by,)].item() == pytest.approx((high - low) / (2e-4 * at), rel=1e-4, abs=1e-9), name


def test_a_second_tier_leaves_adapters_local():
    tiers = MemoryExpansionModel("serving", design="GH200")
    given = {"model": "Llama3_3_70B", "precision": "fp8", "kv_offload": 0.5, "request_rate": 1}
    plain, found = (tiers.solve(**given, num_loras=count) for count in (0, 20))
    assert found.canonical("lora_memory") == 2 * 20 * 207_093_760
    assert found.canonical("kv_memory") == pytest.approx(plain.canonical("kv_memory") - 2 * 20 * 207_093_760, rel=1e-9)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"num_loras": -1}, "num_loras"),
        ({"num_loras": 2.5}, "num_loras"),
        ({"lora_rank": 0}, "lora_rank"),
        ({"lora_zipf": -0.1}, "lora_zipf"),
        ({"lora_target_modules": "everything"}, "query_value, attention, all_linear"),
        ({"model": "DeepSeek_V3", "lora_target_modules": "query_value"}, "must be attention or all_linear"),
    ],
)
def test_wrong_adapters_are_refused(wrong, said):
    with pytest.raises(InputError, match=said):
        ServingModel("colocated").solve(**{"model": "Llama3_8B", "hardware": "H100", "num_loras": 4, **wrong})


#: Requests per second of an overloaded A100 by number of adapters, as S-LoRA's authors measured them, and their ranks.
S_LORA = [
    ("Llama2_13B", 65_000, (64, 32, 16), {2: 4.491, 5: 4.430, 100: 4.283, 1000: 3.903}),
    ("Llama2_13B", 65_000, (64, 32, 16), {1: 4.429, 100: 4.301, 200: 4.172, 400: 4.056}),
    ("Llama2_7B", 125_000, (64, 32, 16, 8), {20: 7.926, 50: 7.837, 100: 7.742, 200: 7.517}),
]


def overloaded(model, tokens, ranks, count):
    """Requests per second where adapters share the memory of so many cached tokens, those of a step alone held."""
    given = {"model": model, "hardware": "A100", "stack": "DistServe_A100", "precision": "fp16", "seq_len": 260,
             "output_tokens": 260, "lora_target_modules": "attention"}  # fmt: skip
    plain = FULL.solve(**given)
    memory = tokens * plain.canonical("kv_bytes_per_token") + plain.canonical("replica_weights")
    share = memory / plain.canonical("memory_capacity")
    rank = round(np.mean([ranks[place % len(ranks)] for place in range(count)]))
    asked = {**given, "num_loras": count, "lora_rank": rank, "gpu_memory_utilization": share}
    held = count
    for _ in range(8):
        found = FULL.solve(**asked, max_loras=held)
        held = min(count, int(np.ceil(found["iteration_loras"])))
    return found["output_tokens_per_second"].magnitude / 260


@pytest.mark.parametrize(("model", "tokens", "ranks", "measured"), S_LORA)
def test_many_adapters_cost_what_was_measured(model, tokens, ranks, measured):
    """What a rate falls by from few adapters to many: up to 8 points more than it did."""
    few, *more = measured
    base = overloaded(model, tokens, ranks, few)
    for count in more:
        fallen = 1 - overloaded(model, tokens, ranks, count) / base
        assert -0.015 < fallen - (1 - measured[count] / measured[few]) < 0.08, (count, fallen)
