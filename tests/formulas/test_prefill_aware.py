"""The whole prefill_aware serving system against plain Python written from the mathematics of a batching replica.

Inputs are canonical: byte, second, FLOP, token, request.
"""

import math
import random
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest

from formulas import plain_formats as formats
from mlsysim.models import ServingCapacityModel
from mlsysim.models.shape import NO_SOURCES, NO_WINDOW, OPTIONAL_PASS_SHAPE, STATE_DEFAULTS

LABELS = ("Memory", "Base Latency", "Capacity", "Tail Latency", "Feasible")
Z99 = 2.326348
POINTS = 430


@dataclass(frozen=True)
class Replica:
    """What one replica does with a request, in seconds, and how much requests differ."""

    slots: int
    steps: int
    prefill: float
    read_all: float
    read_experts: float
    idle: float
    cache: float
    compute: float
    tax: float
    cv: float
    facts: dict

    def read(self, requests):
        """Experts no token goes to are not read."""
        return self.read_all - self.read_experts * self.idle**requests

    def step(self, requests):
        return max(self.read(requests) + self.cache * requests, self.compute * requests) + self.tax

    @property
    def alone(self):
        return self.prefill + self.steps * self.step(1)

    @property
    def occupied(self):
        """Time of the replica one request takes when the batch is full; infinite where none fits."""
        return self.prefill + self.steps * self.step(self.slots) / self.slots if self.slots else math.inf

    @property
    def large(self):
        """Size 99% of the requests stay below, by the cube of a normal variate."""
        return max(0.0, 1 + (Z99 - self.cv / 3) * self.cv / 3) ** 3


def room(x, weights):
    usable = x["driver_memory"] or x["memory_capacity"]
    used = x["gpu_memory_utilization"] * (usable - x["workspace_memory"])
    sampling = x["sampled_requests"] * x["sampling_bytes"] * x["vocab_size"]
    return x["kv_memory_fraction"] * (used - weights - x["runtime_memory"] - sampling)


def mixer(x):
    """Weights of the attention of one layer; norms of compressed vectors are counted as weights."""
    h, a = x["hidden_dim"], x["heads"]
    if x["kv_lora_rank"]:
        r, nope, rope, v = x["kv_lora_rank"], x["qk_nope_head_dim"], x["qk_rope_head_dim"], x["v_head_dim"]
        return h * a * (nope + rope) + h * (r + rope) + r + r * a * (nope + v) + a * v * h
    value = x["v_head_dim"] or x["head_dim"]
    return (a + x["kv_heads"]) * (x["head_dim"] + value) * h + x["gate_width"] * h


def passed(x):
    """Weights that one token is multiplied with, all layers; biases and norms of heads are counted as weights."""
    h, L, L_moe, attention = x["hidden_dim"], x["layers"], x["moe_layers"], mixer(x)
    matrices = 3 if x["gated"] else 2
    outer = x["expert_input_dim"] or h
    routed = matrices * outer * x["active_experts_per_token"] * x["expert_ffn_dim"]
    experts = (x["experts"] + 2 * x["expert_input_dim"]) * h + matrices * h * x["shared_ffn_dim"] + routed
    return L * attention + (L - L_moe) * matrices * h * x["ffn_dim"] + L_moe * experts


def served(x):
    """Bytes of a weight of an expert, and of all: embedding and head have two or more, parts may have their own."""
    wide, h = formats.bytes_of(x, "served", "weight_dtype"), x["hidden_dim"]
    table, block, outer = (
        x["vocab_size"] * (x["embedding_dim"] or h),
        (3 if x["gated"] else 2) * h,
        x["expert_input_dim"] or h,
    )
    edges = table * (1 if x["tied_embeddings"] else 2)
    sizes = {
        "mixer_bytes": x["layers"] * (mixer(x) - x["kv_lora_rank"]),
        "dense_bytes": (x["layers"] - x["moe_layers"]) * block * x["ffn_dim"],
        "expert_bytes": x["moe_layers"] * x["experts"] * block // h * outer * x["expert_ffn_dim"],
        "shared_expert_bytes": x["moe_layers"] * block * x["shared_ffn_dim"],
    }
    own, others = (sum(x[part] * size for part, size in sizes.items()),
                   x["parameters"] - sum(size for part, size in sizes.items() if x[part]))  # fmt: skip
    if x["head_bytes"]:
        own, others = own + x["head_bytes"] * (edges - table), others - (edges - table)
        edges = table
    # A count too small for its parts leaves one weight to the others.
    total = max(others, 1) * wide + edges * (max(wide, 2) - wide) + own
    return x["expert_bytes"] or wide, total


def replica(x):
    """The physics of one device: memory, bandwidth, arithmetic."""
    q, L, s, n = formats.bytes_of(x, "cache", "kv_cache_dtype"), x["layers"], x["seq_len"], x["output_tokens"]
    if x["kv_lora_rank"]:
        token_bytes = L * q * (x["kv_lora_rank"] + x["qk_rope_head_dim"])
        pair = 2 * L * x["heads"] * (x["qk_nope_head_dim"] + x["qk_rope_head_dim"] + x["v_head_dim"])
        absorbed = 2 * L * x["heads"] * (2 * x["kv_lora_rank"] + x["qk_rope_head_dim"])
    else:
        both = x["head_dim"] + (x["v_head_dim"] or x["head_dim"])
        token_bytes = L * x["kv_heads"] * both * q
        pair = absorbed = 2 * L * x["heads"] * both
    wide, weights = served(x)
    longest = math.ceil((s + n) / x["kv_page_size"]) * x["kv_page_size"]
    slots = max(0, min(x["max_batch_size"], math.floor(room(x, weights) / (token_bytes * longest))))
    E, k = x["experts"], x["active_experts_per_token"]
    touched = E * (1 - (1 - k / E) ** slots) if slots else k
    expert = (3 if x["gated"] else 2) * (x["expert_input_dim"] or x["hidden_dim"]) * x["expert_ffn_dim"]
    speed, context = x["peak_flops"] * x["efficiency"], s + n / 2
    through = 2 * passed(x)
    h, factor = x["hidden_dim"], x["embedding_dim"]
    head = 2 * x["vocab_size"] * (factor or h) + 4 * h * factor
    work = through * s + pair * s**2 * (1 if x["attention_mask"] else 0.5) + head
    reading = x["memory_bandwidth"] * x["memory_efficiency"]
    return Replica(
        slots=slots,
        steps=n - 1,
        prefill=max(work / speed, weights / reading) + x["dispatch_tax"],
        read_all=weights / reading,
        read_experts=wide * x["moe_layers"] * E * expert / reading,
        idle=1 - k / E,
        cache=token_bytes * context / (x["memory_bandwidth"] * x["kv_read_efficiency"]),
        compute=(through + head + absorbed * context) / speed,
        tax=x["layer_tax"] * L,
        cv=x["service_time_cv"],
        facts={
            "served_weights": weights,
            "kv_bytes_per_token": token_bytes,
            "kv_bytes_per_request": token_bytes * longest,
            "kv_bytes_read": token_bytes * context,
            "touched_experts": touched,
            "prefill_flops": work,
            "kv_cache_tokens": max(0.0, room(x, weights) / token_bytes),
        },
    )


def erlang_c(servers, load):
    below = 0.0
    for i in range(1, servers + 1):
        below = (below + 1) * i / load
    last = servers / (servers - load)
    return last / (below + last)


def all_taken(slots, a, b, exponent, tail):
    below = 0.0
    for i in range(1, slots + 1):
        below = (below + 1) / (a / i + b) ** exponent
    return tail / (below + tail)


@dataclass(frozen=True)
class Wait:
    """Zero, or with a probability exponential with this mean."""

    probability: float
    mean: float

    def cumulants(self):
        first = self.probability * self.mean
        second = 2 * self.probability * self.mean**2
        third = 6 * self.probability * self.mean**3
        return first, second - first**2, third - 3 * first * second + 2 * first**3


def latency(r, arriving, c):
    """Latency of a stable deployment of c replicas: the 99% quantile, and the parts other outputs need."""
    rate, n, spread = arriving / c, r.steps, 1 + r.cv**2

    def crowd(floor, slope):
        return rate * n * floor / (1 - rate * (r.prefill + n * slope))

    size = float(r.slots)
    for _ in range(3):
        size = max(1.0, min(r.slots, crowd(r.read(size) + r.tax, r.cache)))
    steeper = -r.read_experts * math.log(r.idle) * r.idle ** (size + 1) if r.idle else 0.0
    floor, slope = r.read(size + 1) - steeper * (size + 1) + r.tax, r.cache + steeper
    if rate * (r.prefill + n * r.compute) < 1 and crowd(r.tax, r.compute) > crowd(floor, slope):
        floor, slope = r.tax, r.compute
    mine, prefilling = r.prefill + n * slope, rate * r.prefill
    decoding = 1 - prefilling
    free = max(1 - rate * mine, (1 - rate * r.occupied) / r.slots) if n else 1.0
    bunch = prefilling / decoding
    noise = 1 + bunch + spread * bunch**2 / 2
    tail = 1 / ((1 - rate * r.occupied) * (1 - r.prefill / r.occupied)) if n else math.inf
    busy = 0.0
    if n:
        busy = all_taken(c * r.slots, arriving * n * floor / decoding, rate * n * slope / decoding, 1 / noise, tail)
    slot = Wait(busy, spread / 2 / (c / r.occupied - arriving))
    other = Wait(erlang_c(c, c * prefilling), spread / 2 * r.prefill / (c * decoding * free))
    own = 1 / c + (c - 1 / c) / 6 / max(arriving * (n * floor + mine), c)
    undisturbed = max(r.alone, n * floor + mine)
    stay = max(undisturbed, (n * floor + mine * own * (1 - busy)) / free)
    shots = spread * r.prefill**2 / decoding**2 + spread * r.prefill * n * slope / decoding**3
    shots += noise * (n * slope) ** 2 / (free * decoding)
    disturbed = (1 - busy) * rate * stay * shots / c if n else 0.0
    of_slot, of_prefill = slot.cumulants(), [(1 - busy) * part for part in other.cumulants()]
    mean = of_slot[0] + of_prefill[0] + stay
    variance = of_slot[1] + of_prefill[1] + (r.cv * stay) ** 2 + disturbed
    third = of_slot[2] + of_prefill[2] + 2 * r.cv**4 * stay**3 + 3 * r.cv**2 * stay * disturbed
    third += disturbed**2 / max(stay - undisturbed + of_prefill[0], mine)
    y = max(third / (6 * variance**1.5), 0.001)
    fitted = mean + math.sqrt(variance) * (max(0.0, 1 + (Z99 - y) * y) ** 3 - 1) / (3 * y)
    queueing = slot.mean * math.log(max(1.0, 100 * busy))
    full = r.slots * r.occupied * r.large
    return {
        "estimated_p99_latency": max(r.alone * r.large, min(fitted, full + queueing) if n else fitted),
        "queue_wait_p99": queueing,
        "wait_probability": busy,
        "itl": (stay - r.prefill) / n if n else 0.0,
        "ttft": r.prefill + of_slot[0] + of_prefill[0],
        "mean_latency": mean,
    }


def overloaded(r):
    """Nothing steady to describe: no arrivals are seen, waits have no end; steps read what two requests go to."""
    steeper = -r.read_experts * math.log(r.idle) * r.idle**2 if r.idle else 0.0
    alone = max(r.alone, r.prefill + r.steps * (r.read(2) - steeper + r.tax + r.cache))
    return {
        "estimated_p99_latency": math.inf,
        "queue_wait_p99": math.inf,
        "wait_probability": 1.0,
        "itl": ((alone - r.prefill) / r.steps if r.steps else 0.0) if r.slots else math.inf,
        "ttft": r.prefill if r.slots else math.inf,
        "mean_latency": math.inf,
    }


def at(r, arriving, c):
    return latency(r, arriving, c) if arriving * r.occupied < c else overloaded(r)


def prefill_aware(x):
    r, arriving, target, most = replica(x), x["qps"], x["target_p99_latency_ms"], x["max_replicas"]
    meeting = (c for c in range(1, most + 1) if at(r, arriving, c)["estimated_p99_latency"] <= target)
    required = next(meeting, math.inf)
    c = min(required, most)
    base = r.alone if r.slots else math.inf
    if not r.slots:
        bottleneck = "Memory"
    elif base * r.large > target:
        bottleneck = "Base Latency"
    elif required <= most:
        bottleneck = "Feasible"
    else:
        bottleneck = "Tail Latency" if arriving * r.occupied < most else "Capacity"
    return {
        **r.facts,
        **at(r, arriving, c),
        "required_replicas": required,
        "replicas": c,
        "per_replica_qps_capacity": 1 / r.occupied,
        "qps_capacity": c / r.occupied,
        "utilization": arriving * r.occupied / c,
        "base_request_latency": base,
        "prefill_time": r.prefill,
        "active_batch_size": r.slots,
        "bottleneck": LABELS.index(bottleneck),
        "feasible": bottleneck == "Feasible",
    }


def draw_formats(rng):
    """Formats, and a vocabulary that keeps 16 bits."""
    return {
        "precision": rng.choice(list(formats.PRESETS)),
        **formats.draw(rng, "weight_dtype", "compute_dtype", "kv_cache_dtype"),
        "vocab_size": rng.randint(1, 1000),
        "tied_embeddings": rng.randint(0, 1),
    }


def draw_parts(x, rng):
    """Bytes of a weight by part, some of which are those of the others."""
    wide = formats.bytes_of(x, "served", "weight_dtype")
    return {part: rng.choice([0, 0, 0.75 * wide, 1.5 * wide]) for part in formats.STORED_PARTS}


def draw(rng):
    """A dense, sparse or latent-attention model on some device, asked for more or less than it can do."""
    kind = rng.choice(["dense", "experts", "latent", "latent experts"])
    layers, kv_heads = rng.randint(1, 100), rng.choice([1, 2, 8, 16])
    heads = kv_heads * rng.choice([1, 4, 8])
    hidden, head_dim = heads * rng.choice([16, 64, 128]), rng.choice([64, 80, 128])
    experts = rng.choice([2, 8, 64, 256]) if "experts" in kind else 1
    chosen, gated, precision = rng.randint(1, min(experts, 8)), rng.randint(0, 1), rng.choice(list(formats.PRESETS)[:7])
    moe_layers, width = (rng.randint(1, layers), rng.randint(64, 4096)) if experts > 1 else (0, 0)
    one = moe_layers * (3 if gated else 2) * hidden * width
    rest = layers * 10 * hidden**2 + 10 ** rng.uniform(6, 9)
    x = {
        **OPTIONAL_PASS_SHAPE,
        **NO_WINDOW,
        **NO_SOURCES,
        **STATE_DEFAULTS,
        "scan_efficiency": 0.3,
        "scan_chunk_time": 2e-7,
        "parameters": rest + experts * one,
        "layers": layers,
        "hidden_dim": hidden,
        "heads": heads,
        "kv_heads": kv_heads,
        "head_dim": head_dim,
        "kv_lora_rank": 512 if "latent" in kind else 0,
        "qk_nope_head_dim": 128 if "latent" in kind else 0,
        "qk_rope_head_dim": 64 if "latent" in kind else 0,
        "v_head_dim": 128 if "latent" in kind else rng.choice([0, 0, 48]),
        "gate_width": 0 if "latent" in kind else heads * rng.choice([0, 0, 1, head_dim]),
        "gated": gated,
        "experts": experts,
        "active_experts_per_token": chosen,
        "moe_layers": moe_layers,
        "expert_ffn_dim": width,
        "expert_input_dim": rng.choice([0, hidden // 4]) if moe_layers else 0,
        "precision": precision,
        "vocab_size": rng.randint(1000, 250_000),
        "embedding_dim": 16 * (layers % 3 == 0),
        "ffn_dim": hidden * rng.randint(1, 5),
        "shared_ffn_dim": rng.choice([0, width]),
        "router_bias": 0,
        "attention_mask": rng.randint(0, 1),
        "memory_efficiency": rng.uniform(0.5, 1),
        "kv_read_efficiency": rng.uniform(0.5, 1),
        "gpu_memory_utilization": rng.choice([0.9, 1.0]),
        "seq_len": rng.choice([rng.randint(1, 512), rng.randint(512, 30_000)]),
        "output_tokens": rng.choice([1, rng.randint(2, 200), rng.randint(200, 3000)]),
        "max_batch_size": rng.choice([1, 4, 16, rng.randint(2, 64)]),
        "memory_bandwidth": 10 ** rng.uniform(11.5, 13),
        "peak_flops": 10 ** rng.uniform(13.5, 15.5),
        "efficiency": rng.uniform(0.1, 1),
        "service_time_cv": rng.choice([0.0, 0.0, 1.0, rng.uniform(0.05, 2)]),
        "kv_page_size": rng.choice([1, 16, 256]),
        "dispatch_tax": rng.choice([0.0, 10 ** rng.uniform(-5, -2)]),
        "layer_tax": rng.choice([0.0, 10 ** rng.uniform(-6, -4)]),
        "max_replicas": rng.choice([1, 4, rng.randint(2, 40), 40]),
    }
    apart = random.Random(x["parameters"])
    x |= draw_formats(apart)
    x |= draw_parts(x, apart)
    x["memory_capacity"] = served(x)[1] * rng.choice([0.9, 1.05, 1.3, 3.0, 20.0])
    x |= {
        "kv_memory_fraction": apart.choice([0.95, 1.0]),
        "workspace_memory": apart.choice([0, x["memory_capacity"] / 50]),
    }
    beside = random.Random(x["memory_capacity"])
    x |= {
        "driver_memory": beside.choice([0, 0.99 * x["memory_capacity"]]),
        "runtime_memory": beside.choice([0, x["memory_capacity"] / 100]),
        "sampled_requests": beside.choice([0, 4]),
        "sampling_bytes": 26,
        "expert_hidden_multiple": 0,
        "expert_width_multiple": 0,
    }
    r = replica(x)
    busy = rng.choice([rng.uniform(0.01, 0.95), rng.uniform(0.5, 1), rng.uniform(0.9, 0.999), rng.uniform(1, 3)])
    x["qps"] = busy * rng.randint(1, x["max_replicas"]) / (r.occupied if r.slots else r.alone)
    x["target_p99_latency_ms"] = r.alone * r.large * rng.choice([0.9, 1.0001, 1.1, 1.3, 1.6, 2.5, 6.0])
    return x


@pytest.fixture(scope="module")
def system(case):
    """The formulas of what the plain implementation gives; power is none of it."""
    return ServingCapacityModel("prefill_aware").system.closure(tuple(case[2]))


@pytest.fixture(scope="module")
def case(plain_points):
    return plain_points(prefill_aware, draw, "prefill_aware", POINTS)


@pytest.fixture(scope="module")
def stable(case):
    """P99 by number of replicas, for every deployment whose replicas do not just prefill."""
    tables = []
    for point in case[0]:
        r = replica(point)
        if r.slots and r.prefill < 0.9 * r.occupied:
            numbers = range(1, point["max_replicas"] + 1)
            tables.append([at(r, point["qps"], c)["estimated_p99_latency"] for c in numbers])
    return tables


@pytest.mark.long(quick=1)
@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_equals_the_plain_implementation(case, system, backend, on_backend):
    _, inputs, expected = case
    assert set(inputs) - {"compute_dtype"} == {v.name for v in system.inputs}
    assert set(ServingCapacityModel("prefill_aware").headline) <= set(expected)
    found = on_backend(system, inputs, expected, backend)
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-9, atol=1e-200, err_msg=name)


def test_every_kind_of_deployment_and_answer_is_drawn(case):
    points, _, expected = case
    assert all(count >= 20 for count in np.bincount(expected["bottleneck"].astype(int), minlength=5))
    required = expected["required_replicas"]
    assert len(set(required[np.isfinite(required)])) > 20
    kinds = {(bool(point["kv_lora_rank"]), point["experts"] > 1) for point in points}
    assert len(kinds) == 4
    computing = sum(r.compute * r.slots > r.read(r.slots) + r.cache * r.slots for r in map(replica, points))
    assert POINTS / 20 < computing < POINTS * 0.95
    assert np.sum((expected["wait_probability"] > 0.01) & (expected["wait_probability"] < 1)) > 50


def test_the_p99_falls_as_replicas_are_added(stable):
    """Bisection needs it. By up to a hundredth it rises, and by far more where replicas do little but prefill."""
    pairs = [pair for table in stable for pair in pairwise(table) if math.isfinite(pair[0])]
    assert len(pairs) > 1000
    assert max(more / fewer - 1 for fewer, more in pairs) <= 0.01


def test_solve_gives_the_same_as_the_compiled_system(case, system):
    """The way a user asks: with a catalog entry, and every number by its unit."""
    found = ServingCapacityModel("prefill_aware").solve(
        model="Llama3_8B", hardware="H100", qps=20, target_p99_latency_ms=8000
    )
    integers = {v.name for v in system.inputs if v.domain.kind == "integer"}
    inputs = {
        v.name: found.canonical(v.name) for v in system.inputs if not v.domain.labels or v.name == "attention_mask"
    }
    inputs |= {name: int(inputs[name]) for name in integers}
    plain = prefill_aware({**inputs, "precision": "fp16"})
    assert found.bottleneck == "Feasible"
    assert found.required_replicas == plain["required_replicas"] > 1
    for name in ("estimated_p99_latency", "queue_wait_p99", "ttft", "itl", "qps_capacity", "utilization"):
        assert found.canonical(name) == pytest.approx(plain[name], rel=1e-9)
