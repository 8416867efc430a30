"""Models whose layers differ, against plain Python that goes layer by layer and lists the tensors of each.

What is counted by kinds must be the sum over the layers, wherever a kind stands: parameters, whole and on one rank,
adapters, cache and state, arithmetic, and what a layer keeps for the backward pass.
"""

import random

import pytest

from mlsysim import IterationModel, MoERoutingModel, ParameterCountModel, ServingCapacityModel, TrainingMemoryModel
from mlsysim.errors import InputError, UnknownNameError
from mlsysim.study.results.result import Result

COUNT, CACHE = ParameterCountModel(), ServingCapacityModel("prefill_aware")
DRAWS = range(40)
#: Shapes of attention, by the kinds of mixers that have it; the shared kinds read the keys and values of other layers.
ATTENDS = {"full": "full", "both": "full", "window": "window", "shared": "full", "shared window": "window"}
#: Attention to a window with one vector as key and value; and to entries, of which an indexer picks some, or to all.
ENTRIES = ("near entries", "picked entries", "all entries")
DEVICE = {"memory_capacity": "1e6 GB", "memory_bandwidth": "3000 GB/s", "peak_flops": "1000 TFLOP/s"}


def size(tensors):
    return sum(rows * columns for rows, columns in tensors)


def draw(seed):
    """Layers with a mixer or two and a block or none, the shapes of their kinds, and ranks that share them."""
    r = random.Random(seed)
    t, layers = r.choice([1, 2, 4]), r.randint(3, 24)
    latent = r.random() < 0.3
    kinds = ["state", "both", "none"] if latent else ["state", "both", "none", *ATTENDS]
    kinds += ENTRIES if not latent and r.random() < 0.5 else ()
    mixers = ["full", *([] if latent else ["window"]), *r.choices(kinds, k=layers - 1)]
    layers = len(mixers)
    blocks = ["dense", *r.choices(["dense", "sparse", "empty"], k=layers - 1)]
    heads = {
        "full": (t * r.choice([1, 2, 4]), r.choice([1, 2]), r.choice([64, 128]), r.choice([64, 96])),
        "window": (t * r.choice([2, 4]), r.choice([1, 2]), r.choice([32, 256]), r.choice([32, 64])),
    }
    heads = {kind: (a * kv, kv * r.choice([1, t]), d, v) for kind, (a, kv, d, v) in heads.items()}
    heads = {kind: (a if a % kv == 0 else a * kv, kv, d, v) for kind, (a, kv, d, v) in heads.items()}
    state = dict(
        zip(
            ("key_heads", "key_dim", "heads", "value_dim", "gates", "scalars"),
            (t * r.choice([0, 1, 2]), 64, 2 * t, r.choice([1, 32]), r.choice([0, 1]), r.choice([0, 1, 2])),
            strict=True,
        )
    )
    return {
        "t": t, "h": 256, "mixers": mixers, "blocks": blocks, "heads": heads, "state": state, "latent": latent,
        "conv": (r.choice([0, 512]), 4), "matrices": t * r.choice([0, 1000]), "vectors": t * r.choice([0, 128]),
        "values": r.random() < 0.7, "window": r.choice([16, 100]), "chunk": r.choice([0, 16, 64]),
        "delta": r.random() < 0.5, "operations": r.choice([4, 8]), "index": r.random() < 0.5 if latent else False,
        "given": t * r.choice([0, 48]),
        "rates": (r.choice([2, 4]), r.choice([7, 32])), "picks": r.choice([5, 1000]),
        "gate": 0 if latent else r.choice([0, 1, 64]), "tokens": r.choice([10, 64, 300]), "further": r.choice([0, 77]),
        "narrow": r.choice([0, 96]), "again": 640 * t * r.choice([0, 3]), "scale": r.random() < 0.7,
    }  # fmt: skip


def shape(x):
    """The same as arguments: how many layers there are of each kind."""
    a, kv, d, v = x["heads"]["full"]
    of = x["mixers"].count
    mixers = {
        "heads": a, "kv_heads": kv, "head_dim": d, "v_head_dim": v, "gate_width": a * x["gate"],
        "value_projections": x["values"], "sliding_window": x["window"],
        "sliding_layers": of("window") + of("shared window"),
        "shared_cache_layers": of("shared"), "sliding_shared_layers": of("shared window"),
        "mixerless_layers": of("none"), "state_layers": of("state") + of("both"), "parallel_layers": of("both"),
        "conv_channels": x["conv"][0], "conv_kernel": x["conv"][1], "state_matrices": x["matrices"],
        "state_vectors": x["vectors"], "state_chunk": x["chunk"], "delta_rule": x["delta"],
        "state_matrix_width": x["given"], "state_operations": x["operations"],
        **{f"state_{name}": value for name, value in x["state"].items()},
    }  # fmt: skip
    names = ("sliding_heads", "sliding_kv_heads", "sliding_head_dim", "sliding_v_head_dim")
    mixers |= dict(zip(names, x["heads"]["window"], strict=True))
    if x["latent"]:
        mixers |= {"kv_lora_rank": 64, "q_lora_rank": 96, "qk_nope_head_dim": 32, "qk_rope_head_dim": 16}
        mixers |= {"v_head_dim": 48, "value_projections": True, "sliding_window": 0}
    if not x["latent"]:
        mixers |= {"compressed_layers": sum(map(of, ENTRIES)), "heavily_compressed_layers": of("all entries")}
        mixers |= {"q_lora_rank": 96, "o_lora_rank": 20, "o_groups": x["t"], "heavy_compression": x["rates"][1]}
        mixers |= {} if mixers["compressed_layers"] else {"q_lora_rank": 0}
    if of("picked entries"):
        mixers |= {"index_layers": of("picked entries"), "index_heads": 4, "index_head_dim": 24}
        mixers |= {"index_topk": x["picks"], "index_compression": x["rates"][0]}
    if x["index"]:
        mixers |= {"index_layers": of("full"), "index_heads": 4, "index_head_dim": 24, "index_topk": 40}
    for layers, prefixes in (("sliding_layers", "sliding_"), ("state_layers", ("state_", "conv_"))):
        if not mixers[layers]:
            mixers |= {name: 0 for name in mixers if name.startswith(prefixes)}
    if not mixers.get("index_layers"):
        mixers |= {name: 0 for name in mixers if name.startswith("index_")}
    return {
        **mixers, "layers": len(x["mixers"]), "hidden_dim": x["h"], "vocab_size": 1000, "ffn_dim": 512, "gated": True,
        **({"experts": 4, "active_experts_per_token": 2} if "sparse" in x["blocks"] else {}),
        "expert_ffn_dim": 128, "shared_ffn_dim": 64, "router_bias": False, "moe_layers": x["blocks"].count("sparse"),
        "blockless_layers": x["blocks"].count("empty"),
        "further_matrices": x["further"], "expert_input_dim": x["narrow"] if "sparse" in x["blocks"] else 0,
        "reused_parameters": x["again"], "norm_scale": x["scale"],
    }  # fmt: skip


def attention(x, kind, t=1):
    """Matrices of one attention on one of so many ranks."""
    h = x["h"]
    a, kv, d, v = x["heads"][ATTENDS[kind]]
    a, copied = a // t, -(-kv // t)
    if x["latent"]:
        return [(h, 96), (96, a * 48), (h, 80), (64, a * 80), (a * 48, h)]
    queries = [(h, a * d + a * x["gate"]), (a * v, h)]
    if kind.startswith("shared"):
        return queries
    keys = [*queries, (h, copied * d)]
    return [*keys, (h, copied * v)] if x["values"] or kind == "window" else keys


def compressed(x, t=1):
    """Matrices of one attention to a window and entries on one of so many ranks, with a group of heads a rank."""
    a, _, d, _ = x["heads"]["full"]
    groups = [(a * d // x["t"], 20)] * (x["t"] // t)
    return [(x["h"], 96), (96, a * d // t), (x["h"], d), *groups, (20 * x["t"] // t, x["h"])]


def compressor(x, kind):
    """Elements of what makes entries in one layer, of their keys and of the indexer."""
    h, d, (picked, heavy) = x["h"], x["heads"]["full"][2], x["rates"]
    if kind == "all entries":
        return 2 * h * d + heavy * d + d
    if kind == "picked entries":
        return sum(4 * h * w + picked * 2 * w + w for w in (d, 24)) + 96 * 4 * 24 + h * 4
    return 0


def recurrent(x, t=1):
    """Matrices of one recurrent mixer, and everything else that it stores."""
    h, s = x["h"], x["state"]
    inner = (1 + s["gates"]) * s["heads"] * s["value_dim"] + s["scalars"] * s["heads"]
    matrices = [(h, 2 * s["key_heads"] * s["key_dim"] // t + inner // t), (s["heads"] * s["value_dim"] // t, h)]
    return matrices, (x["matrices"] + x["vectors"] + x["conv"][0] * x["conv"][1]) / t


def mixer(x, kind, t=1):
    """Elements of the mixers of a layer on one of so many ranks."""
    total = 0
    if kind in ATTENDS:
        total += size(attention(x, kind, t))
        total += 96 + 64 if x["latent"] else 0  # norms of the compressed vectors
    if kind == "full" and x["index"]:
        total += 96 * 4 * 24 + x["h"] * (24 + 4) + 2 * 24
    if kind in ENTRIES:
        total += size(compressed(x, t)) + compressor(x, kind) + 96 + x["heads"]["full"][2]
    if kind in ("state", "both"):
        matrices, rest = recurrent(x, t)
        total += size(matrices) + rest
    return total


def block(x, kind, experts=4):
    h, narrow = x["h"], x["narrow"]
    if kind == "empty":
        return 0
    around = 4 * h + 2 * h * narrow + 3 * h * 64
    return 3 * h * 512 if kind == "dense" else around + experts * 3 * (narrow or h) * 128


def whole(x, experts):
    layers = zip(x["mixers"], x["blocks"], strict=True)
    ends = 2 * 1000 * x["h"] + x["scale"] * x["h"] + x["further"]
    return ends + sum(mixer(x, m) + block(x, b, experts) + 2 * x["scale"] * x["h"] for m, b in layers)


@pytest.mark.parametrize("seed", DRAWS)
def test_parameters_are_those_of_all_layers(seed):
    x = draw(seed)
    found = COUNT.solve(**{name: value for name, value in shape(x).items() if name in COUNT.arguments})
    assert found.parameters == whole(x, 4) - x["again"]
    assert found.active_parameters == whole(x, 2)


def serving(x, **changed) -> Result:
    given = {name: value for name, value in shape(x).items() if name in CACHE.arguments}
    asked = {"qps": 1e-3, "target_p99_latency_ms": 1e9, "kv_page_size": 1, "output_tokens": 1, "seq_len": x["tokens"]}
    return CACHE.solve(**given, **DEVICE, **asked | changed, precision="bf16", parameters=whole(x, 4))


def of_token(x, kind, t=1):
    """Numbers of the keys and values of a token that one layer reads on one of so many ranks."""
    _, kv, d, v = x["heads"][ATTENDS[kind]]
    return 80 if x["latent"] else -(-kv // t) * (d + v)


def state(x, kind):
    """Bytes that a recurrent mixer keeps of a request."""
    s = x["state"]
    total = 2 * x["conv"][0] * x["conv"][1] + 4 * s["heads"] * s["key_dim"] * s["value_dim"]
    return total if kind in ("state", "both") else 0


def cache(x, kind, tokens, reach):
    """Bytes of the cache that one layer reads, of so many tokens that are all in reach or so many that are picked."""
    total = 0
    if kind in ATTENDS:
        near = ATTENDS[kind] == "window"
        total += 2 * of_token(x, kind) * (min(tokens, x["window"]) if near else min(tokens, reach))
    if kind == "full" and x["index"]:
        total += 2 * 24 * tokens
    if kind in ENTRIES:
        d, (picked, heavy) = x["heads"]["full"][2], x["rates"]
        total += 2 * d * min(tokens, x["window"])
        total += 2 * d * tokens / heavy if kind == "all entries" else 0
        total += 2 * (d * min(tokens / picked, x["picks"]) + 24 * tokens / picked) if kind == "picked entries" else 0
    return total


def entries(x, kind, tokens):
    """Numbers of one layer that stand for the tokens before its window, and those that wait to be joined."""
    d, (picked, heavy) = x["heads"]["full"][2], x["rates"]
    if kind == "all entries":
        return d * (tokens // heavy) + 2 * d * (tokens % heavy)
    made, waiting = divmod(tokens, picked)
    before = picked if made else 0
    return sum(width * made + 4 * width * waiting + 2 * width * before for width in (d, 24))


def kept(x, kind, tokens):
    """Bytes that one layer keeps of a request of so many tokens."""
    if kind in ENTRIES:
        window = cache(x, "near entries", tokens, tokens)
        return window if kind == "near entries" else window + 2 * entries(x, kind, tokens)
    return state(x, kind) + (0 if kind.startswith("shared") else cache(x, kind, tokens, tokens))


@pytest.mark.parametrize("seed", DRAWS)
def test_a_request_keeps_the_cache_and_the_state_of_every_layer(seed):
    x = draw(seed)
    found = serving(x).canonical("kv_bytes_per_request")
    assert found == pytest.approx(sum(kept(x, kind, x["tokens"] + 1) for kind in x["mixers"]), rel=1e-12)


@pytest.mark.parametrize("seed", DRAWS)
def test_a_decode_step_reads_the_cache_of_every_layer_and_its_state_twice(seed):
    x = draw(seed)
    picked = 40 if x["index"] else 10**9
    # Midway through an answer of one token.
    tokens = x["tokens"] + 1 / 2
    expected = sum(cache(x, kind, tokens, picked) + 2 * state(x, kind) for kind in x["mixers"])
    assert serving(x).canonical("kv_bytes_read") == pytest.approx(expected, rel=1e-12)


def scored(x, kind, tokens):
    """Arithmetic of the core of a layer over a sequence, pair by pair, half of the diagonal left out."""
    s, total = x["state"], 0.0
    if kind in ATTENDS:
        a, _, d, v = x["heads"][ATTENDS[kind]]
        pair = 2 * a * (48 + 48 if x["latent"] else d + v)
        # An indexer is a property of the model: where there is one, all attention reads what it picks.
        reach = x["window"] if ATTENDS[kind] == "window" else 40 if x["index"] and "full" in x["mixers"] else tokens
        total += pair * sum(min(place + 1 / 2, reach) for place in range(tokens))
    if kind == "full" and x["index"]:
        total += 2 * 4 * 24 * tokens**2 / 2
    if kind in ENTRIES:
        a, _, d, _ = x["heads"]["full"]
        picked, heavy = x["rates"]
        half = [place + 1 / 2 for place in range(tokens)]
        total += 4 * a * d * sum(min(place, x["window"]) for place in half)
        total += 4 * a * d * tokens**2 / heavy / 2 if kind == "all entries" else 0
        if kind == "picked entries":
            # Entries come gradually.
            end, most = tokens / picked, min(x["picks"], tokens / picked)
            total += 4 * a * d * tokens * (most - most**2 / 2 / end) + 2 * 4 * 24 * tokens**2 / picked / 2
    if kind in ("state", "both"):
        N, D, Q, H = s["key_dim"], s["value_dim"], x["chunk"], s["heads"]
        products = 3 * Q * N + 2 * Q * D + 3 * N * D if x["delta"] else Q * N + Q * D + 2 * N * D
        scan = 2 * H * products if Q else x["operations"] * H * N * D
        total += tokens * (2 * x["conv"][0] * x["conv"][1] + scan)
    return total


@pytest.mark.parametrize("seed", DRAWS)
def test_arithmetic_is_that_of_every_layer(seed):
    x = draw(seed)
    found = serving(x)
    expected = sum(scored(x, kind, x["tokens"]) for kind in x["mixers"])
    assert found.canonical("score_flops") * x["tokens"] == pytest.approx(expected, rel=1e-12)
    layers = zip(x["mixers"], x["blocks"], strict=True)
    products = sum(mixer(x, m) + block(x, b, 2) for m, b in layers) + x["further"]
    assert found.canonical("product_flops") == pytest.approx(2 * products, rel=1e-12)


@pytest.mark.parametrize("seed", DRAWS)
def test_ranks_hold_their_share_of_every_layer(seed):
    x = draw(seed)
    asked = {"batch_size": 1, "tp_size": x["t"], "moe_layer_interval": 1, "seq_len": 64, "lora_rank": 8}
    model = TrainingMemoryModel("per_operator")
    given = {name: value for name, value in shape(x).items() if name in model.arguments}
    found = model.solve(**given, **asked, memory_capacity="1e6 GB", finetuning="lora", lora_target_modules="attention")
    assert found.canonical("mixer_parameters_per_rank") == sum(mixer(x, kind, x["t"]) for kind in x["mixers"])
    h, t = x["h"], x["t"]
    layer = 2 * x["scale"] * h
    plain, sparse = layer + 3 * h * 512 / t, layer + 4 * h + 2 * h * x["narrow"] + 3 * h * 64 / t
    dense = x["blocks"].count("dense") * plain + x["blocks"].count("sparse") * sparse
    dense += x["blocks"].count("empty") * layer + sum(mixer(x, kind, t) for kind in x["mixers"])
    ends = 2 * -(-1000 // t) * h + x["scale"] * h + x["further"]
    assert found.canonical("dense_parameters_per_rank") == pytest.approx(dense + ends - x["again"] / t, rel=1e-12)
    routed = x["blocks"].count("sparse") * 4 * 3 * (x["narrow"] or h) * 128 / t
    assert found.canonical("expert_parameters_per_rank") == routed
    matrices = [attention(x, kind, x["t"]) for kind in x["mixers"] if kind in ATTENDS]
    matrices += [compressed(x, x["t"]) for kind in x["mixers"] if kind in ENTRIES]
    if not x["gate"]:
        adapters = 8 * sum(rows + columns for layer in matrices for rows, columns in layer)
        assert found.canonical("adapter_parameters_per_rank") == pytest.approx(adapters, rel=1e-12)
    engine = IterationModel()
    given = {name: value for name, value in shape(x).items() if name in engine.arguments}
    device = {name: value for name, value in DEVICE.items() if name != "memory_capacity"}
    held = engine.solve(
        **given, **device, attention_peak_flops="1000 TFLOP/s", node_bandwidth="450 GB/s", tp_size=x["t"],
        decode_requests=2, context_tokens=x["tokens"], precision="bf16"
    )  # fmt: skip
    keeps = [kind for kind in x["mixers"] if kind in ATTENDS and not kind.startswith("shared")]
    numbers = sum(of_token(x, kind, x["t"]) + (24 if kind == "full" and x["index"] else 0) for kind in keeps)
    numbers += sum(x["heads"]["full"][2] for kind in x["mixers"] if kind in ENTRIES)
    assert held.canonical("kv_bytes_per_token_per_rank") == pytest.approx(2 * numbers, rel=1e-12)


def saved(x, kind):
    """Numbers of a token that the mixers of one layer keep for the backward pass on one rank, outside their cores."""
    h, t, s, total = x["h"], x["t"], x["state"], 0.0
    if kind in ATTENDS and x["latent"]:
        a = x["heads"]["full"][0] // t
        # Compressed vectors, norms and statistics, the rotary key, queries, keys as assembled, values, output.
        return (
            2 * 96
            + 2 * 64
            + 4
            + 16
            + a * (2 * 48 + 80 + 48)
            + (saved({**x, "latent": False}, "state") if kind == "both" else 0)
        )
    if kind in ATTENDS:
        a, kv, d, v = x["heads"][ATTENDS[kind]]
        own = 0 if kind.startswith("shared") else -(-kv // t) * (d + v)
        total += a // t * (d + v) + own + (a // t * (x["gate"] + v) if x["gate"] else 0)
    if kind in ENTRIES:
        a, _, d, _ = x["heads"]["full"]
        # A norm keeps a statistic of four bytes.
        total += 2 * 96 + 2 + 2 * d + 2 + 2 * a // t * d + 20
        total += 2 * d if kind == "all entries" else 4 * (d + 24) + 4 * 24 + 4 if kind == "picked entries" else 0
    if kind in ("state", "both"):
        columns, given = s["heads"] * s["value_dim"], x["given"] or x["matrices"] / h
        keys = 2 * s["key_heads"] * s["key_dim"] + s["scalars"] * s["heads"]
        total += (2 * x["conv"][0] + keys + (2 + s["gates"]) * columns + given + x["chunk"] * s["heads"]) / t
    return total


@pytest.mark.parametrize("seed", DRAWS)
def test_what_mixers_keep_for_the_backward_pass_is_that_of_every_layer(seed):
    x = draw(seed)
    model = TrainingMemoryModel("per_operator")
    given = {name: value for name, value in shape(x).items() if name in model.arguments}
    asked = {"batch_size": 1, "tp_size": x["t"], "moe_layer_interval": 1, "seq_len": 64, "precision": "bf16"}
    found = model.solve(**given, **asked, memory_capacity="1e6 GB")
    expected = 2 * sum(saved(x, kind) for kind in x["mixers"])
    assert found.canonical("attention_activation") * len(x["mixers"]) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"state_layers": 33}, "state_layers=33: must be at most layers=32"),
        ({"parallel_layers": 1}, "parallel_layers=1: must be at most state_layers=0"),
        ({"blockless_layers": 33}, "blockless_layers=33: must leave"),
        ({"mixerless_layers": 20, "sliding_layers": 20}, "sliding_layers=20: must be at most"),
        ({"compressed_layers": 4}, "q_lora_rank=0: must be above 0 where compressed_layers=4"),
        ({"heavily_compressed_layers": 4}, "heavily_compressed_layers=4: must be at most compressed_layers=0"),
        ({"o_groups": 5}, "o_groups=5: must divide heads=32"),
        ({"shared_cache_layers": 32}, "shared_cache_layers=32: must leave a layer without a window"),
        ({"sliding_layers": 4, "sliding_shared_layers": 4}, "sliding_shared_layers=4: must be less than"),
        (
            {"shared_cache_layers": 4, "kv_lora_rank": 64, "v_head_dim": 64},
            "shared_cache_layers=4: must be 0 with latent",
        ),
        ({"sliding_layers": 16, "sliding_kv_heads": 3}, "sliding_kv_heads=3: must divide"),
        ({"state_key_heads": 4}, "state_heads=0: must be above 0"),
        ({"index_layers": 1}, "index_layers=1: must be 0 where index_heads=0"),
        ({"index_layers": 40, "index_heads": 4, "index_head_dim": 8}, "index_layers=40: must be at most layers=32"),
        ({"state_layers": 8}, "state_layers=8: must be 0 where a recurrent mixer has state_heads=0"),
        ({"state_gate": 1}, "did you mean state_gates"),
        ({"conv_kernel": -1}, "conv_kernel=-1: must be"),
    ],
)
def test_layers_that_cannot_be_are_refused(changed, message):
    given = {"sliding_layers": 0, **changed}
    with pytest.raises((InputError, UnknownNameError), match=message):
        COUNT.solve("Llama3_8B", **given)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"index_topk": 10}, "index_topk=10: must be 0 where index_layers=0"),
        (
            {"index_layers": 2, "index_heads": 4, "index_head_dim": 8},
            "index_topk=0: must be above 0 where index_layers=2",
        ),
        ({"state_layers": 8}, "state_layers=8: must be 0 where a recurrent mixer has state_heads=0"),
        ({"mixerless_layers": 16, "sliding_layers": 20, "sliding_window": 64}, "sliding_layers=20: must be at most"),
    ],
)
def test_every_model_of_serving_refuses_them(changed, message):
    asked = {"qps": 1, "target_p99_latency_ms": 1e6}
    with pytest.raises(InputError, match=message):
        CACHE.solve("Llama3_8B", "H100", **asked, **changed)
    with pytest.raises(InputError, match=message):
        IterationModel().solve("Llama3_8B", "H100", decode_requests=1, context_tokens=100, **changed)


def test_layers_of_several_stages_share_nothing():
    with pytest.raises(InputError, match="pp_size=2: must be 1 where layers share reused_parameters=1000"):
        TrainingMemoryModel("per_operator").solve("Llama3_8B", "H100", batch_size=8, pp_size=2, reused_parameters=1000)


def test_tokens_travel_at_the_width_of_experts():
    """A quarter of the width, a quarter of the bytes; what stands around experts is passed by every token."""
    asked = {"batch_size": 8, "ep_size": 8, "seq_len": 4096}
    sent = [
        MoERoutingModel(variant).solve("Mixtral_8x7B", fleet="SuperPOD_H100", **asked, expert_input_dim=width)
        for variant in ("first_order", "per_layer")
        for width in (0, 1024)
    ]
    found = [each.token_dispatch_bytes for each in sent]
    assert found[0] == 4 * found[1]
    assert found[2] == 4 * found[3]
    held = [COUNT.solve("Mixtral_8x7B", expert_input_dim=width).canonical("parameters") for width in (0, 1024)]
    assert held[0] - held[1] == 32 * (8 * 3 * 3072 * 14336 - 2 * 4096 * 1024)


def test_a_dense_model_has_no_width_of_experts():
    with pytest.raises(InputError, match="expert_input_dim=64: must be 0 where moe_layers=0"):
        COUNT.solve("Llama3_8B", expert_input_dim=64)


def test_a_form_that_takes_all_layers_to_be_alike_says_so():
    asked = {"qps": 1, "target_p99_latency_ms": 60_000}
    simple, exact = ServingCapacityModel("first_order"), ServingCapacityModel("prefill_aware")
    for model, said in (("Qwen3_Next_80B_A3B", "state_layers=36"), ("Gemma3n_E4B", "sliding_shared_layers=12")):
        (note,) = (note for note in simple.solve(model, "B300", **asked).notes if "each kind" in note)
        assert said in note
        assert "variant=prefill_aware" in note
        assert not any("each kind" in note for note in exact.solve(model, "B300", **asked).notes)
    assert not any("each kind" in note for note in simple.solve("Llama3_8B", "B300", **asked).notes)
    both = simple.sweep(["Llama3_8B", "Gemma3n_E4B"], "B300", **asked)
    assert "1 of 2 points: each of 35 layers" in str(both.notes)


@pytest.mark.parametrize("changed", [{"cp_size": 2}, {"tp_size": 16}, {"lora_target_modules": "query_value"}])
def test_layers_with_compressed_entries_are_not_shared_in_ways_that_are_not_counted(changed):
    asked = {"batch_size": 32, "finetuning": "lora", "lora_target_modules": "attention", **changed}
    with pytest.raises(InputError, match=r"compressed_layers=43|o_groups=8|latent attention"):
        TrainingMemoryModel("per_operator").solve("DeepSeek_V4_Flash", "B300", **asked)


def test_a_sequence_with_recurrent_layers_is_not_split():
    with pytest.raises(InputError, match="cp_size=2: must be 1 where state_layers="):
        TrainingMemoryModel("per_operator").solve("Nemotron_H_8B", "H100", batch_size=8, cp_size=2)


@pytest.mark.parametrize("latent", [False, True])
def test_decoding_within_a_window_takes_as_long_however_long_the_context(latent):
    shape = {"kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128} if latent else {}
    near = {"sliding_layers": 32, "sliding_window": 1024, **shape}
    solve = IterationModel().solve
    times = [
        solve("Llama3_8B", "B200", decode_requests=64, context_tokens=tokens, **near).decode_attention_time
        for tokens in (1024, 131_072)
    ]
    assert times[0] == times[1]
