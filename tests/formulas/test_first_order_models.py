"""The whole first-order systems against plain Python written from the mathematics, not from the formulas.

Inputs are canonical: byte, second, FLOP, token, request.
"""

import math
import random

import numpy as np
import pytest
from on_jax import evaluate

from mlsysim.backends import compiled
from mlsysim.models import MoERoutingModel, ServingCapacityModel, TrainingMemoryModel
from mlsysim.symbolic import variable_of

BYTES = {"fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2, "fp8": 1, "int8": 1, "int4": 0.5}
POINTS = 3000


def training_memory(x):
    P, q, f, d, Z = x["parameters"], BYTES[x["precision"]], x["trainable_fraction"], x["dp_size"], x["zero_stage"]
    rank = P / (x["tp_size"] * x["pp_size"] * x["ep_size"])
    state = {"adam": 12, "adamw": 12, "sgd": 4, "none": 0}[x["optimizer"]]
    weights, gradients, optimizer = q * rank, q * f * rank, state * f * rank
    if Z >= 3:
        weights /= d
    if Z >= 2:
        gradients /= d
    if Z >= 1:
        optimizer /= d
    m = max(1, -(-x["batch_size"] // (d * x["gradient_accumulation_steps"])))
    deepest = max(1, -(-x["layers"] // x["pp_size"]))
    kept = {"none": 34, "selective": 10, "full": 2}[x["activation_checkpointing"]]
    activations = kept * (q / 2) * deepest * m * x["seq_len"] * x["hidden_dim"]
    buffers = x["communication_buffer_fraction"] * gradients
    if x["pp_size"] > 1:
        buffers += 2 * m * x["seq_len"] * x["hidden_dim"] * q
    total = weights + gradients + optimizer + activations + buffers
    return {
        "weights": weights,
        "gradients": gradients,
        "optimizer_state": optimizer,
        "local_micro_batch": m,
        "layers_per_stage": deepest,
        "activations": activations,
        "communication_buffers": buffers,
        "total_memory": total,
        "memory_utilization": total / x["memory_capacity"],
        "feasible": total <= x["memory_capacity"],
    }


def waits(x, mu, base):
    """Queueing time 99% stay below, for c = 1, 2, ...; infinite on an unstable queue."""
    load, blocking = x["qps"] / mu if mu else math.inf, 1.0
    for c in range(1, x["max_replicas"] + 1):
        blocking = load * blocking / (c + load * blocking) if mu else 1.0
        if not x["qps"] / c < mu:
            yield c, 1.0, math.inf
            continue
        wait_probability = c * blocking / (c - load * (1 - blocking))
        spread = (x["service_time_cv"] ** 2 + 1) / 2
        excess = math.log(wait_probability / 0.01) if wait_probability > 0 else -math.inf
        yield c, wait_probability, max(0.0, excess / (c * mu - x["qps"])) * spread


def serving_capacity(x):
    P, q, L, s, out = x["parameters"], BYTES[x["precision"]], x["layers"], x["seq_len"], x["output_tokens"]
    if x["kv_lora_rank"]:
        per_token = L * (x["kv_lora_rank"] + x["qk_rope_head_dim"]) * q
    else:
        per_token = 2 * L * x["kv_heads"] * (x["hidden_dim"] / x["heads"]) * q
    per_request = per_token * (-(-s // x["kv_page_size"]) * x["kv_page_size"])
    batch = max(0, min(x["max_batch_size"], math.floor((x["memory_capacity"] - P * q) / per_request)))
    prefill = 2 * P * s * batch + 4 * L * x["hidden_dim"] * s**2 * batch
    ttft = prefill / (x["peak_flops"] * x["efficiency"]) + x["dispatch_tax"]
    step = (P * q + batch * per_request) / x["memory_bandwidth"]
    if batch < 1:  # the page is silent; what cannot hold one request serves none
        ttft = step = math.inf
    itl = step + x["layer_tax"] * L
    mu = batch / step / out
    base = ttft + itl * out
    required, at = math.inf, None
    for at in waits(x, mu, base):
        if base + at[2] <= x["target_p99_latency_ms"] and at[2] < math.inf:
            required = at[0]
            break
    c, wait_probability, wait = at
    if batch < 1:
        bottleneck = "Memory"
    elif base > x["target_p99_latency_ms"]:
        bottleneck = "Base Latency"
    elif required < math.inf:
        bottleneck = "Feasible"
    else:
        bottleneck = "Tail Latency" if x["qps"] < c * mu else "Capacity"
    return {
        "served_weights": P * q,
        "kv_bytes_per_token": per_token,
        "kv_bytes_per_request": per_request,
        "active_batch_size": batch,
        "prefill_flops": prefill,
        "ttft": ttft,
        "decode_step_time": step,
        "itl": itl,
        "per_replica_qps_capacity": mu,
        "base_request_latency": base,
        "offered_load": x["qps"] / mu if mu else math.inf,
        "required_replicas": required,
        "replicas": c,
        "qps_capacity": c * mu,
        "utilization": x["qps"] / (c * mu) if mu else math.inf,
        "wait_probability": wait_probability,
        "queue_wait_p99": wait,
        "estimated_p99_latency": base + wait,
        "bottleneck": bottleneck,
        "feasible": bottleneck == "Feasible",
    }


def moe_routing(x):
    E, k, e = x["experts"], x["active_experts_per_token"], x["ep_size"]
    effective = min(E, k * x["routing_imbalance_factor"])
    width = x["expert_input_dim"] or x["hidden_dim"]
    payload = x["batch_size"] * x["seq_len"] * width * BYTES[x["precision"]] * effective
    beta = x["fabric_bandwidth"] / x["oversubscription"]
    return {
        "effective_active_experts": effective,
        "active_parameter_multiplier": effective / k,
        "effective_active_parameters": x["active_parameters"] * effective / k,
        "routed_payload": payload,
        "token_dispatch_bytes": payload * (e - 1) / e,
        "all_to_all_latency": (e - 1) / e * payload / beta + (e - 1) * x["fabric_latency"],
    }


def draw_training(r):
    ranks, steps = r.choice([1, r.randint(1, 600)]), r.choice([1, r.randint(1, 16)])
    return {
        "parameters": 10 ** r.uniform(7, 12),
        "layers": r.randint(1, 130),
        "hidden_dim": r.choice([r.randint(1, 20000), 4096]),
        "batch_size": r.choice([r.randint(1, 5000), ranks * steps * r.randint(1, 50)]),
        "seq_len": r.randint(1, 100_000),
        "precision": r.choice(list(BYTES)),
        "optimizer": r.choice(["adam", "adamw", "sgd", "none"]),
        "activation_checkpointing": r.choice(["none", "selective", "full"]),
        "zero_stage": r.randint(0, 3),
        "dp_size": ranks,
        "tp_size": r.choice([1, 2, 4, 8]),
        "pp_size": r.choice([1, r.randint(1, 16)]),
        "ep_size": r.choice([1, 2, 8]),
        "gradient_accumulation_steps": steps,
        "trainable_fraction": r.choice([0.0, 1.0, r.random()]),
        "communication_buffer_fraction": r.choice([0.05, r.random()]),
        "memory_capacity": 10 ** r.uniform(9, 13),
    }


def draw_serving(r):
    heads = r.choice([8, 16, 24, 32, 40, 64])
    x = {
        "parameters": 10 ** r.uniform(8, 11),
        "layers": r.randint(1, 130),
        "hidden_dim": heads * r.choice([64, 80, 96, 128]),
        "heads": heads,
        "kv_heads": r.choice([1, 2, 4, 8]),
        "kv_lora_rank": r.choice([0, 0, 512, r.randint(1, 1024)]),
        "qk_rope_head_dim": r.choice([0, 64, r.randint(0, 128)]),
        "precision": r.choice(list(BYTES)),
        "seq_len": r.randint(1, 10_000),
        "output_tokens": r.randint(1, 500),
        "max_batch_size": r.choice([1, r.randint(1, 256)]),
        "kv_page_size": r.choice([1, 16, r.randint(1, 100)]),
        "memory_capacity": 10 ** r.uniform(10, 12),
        "memory_bandwidth": 10 ** r.uniform(11, 13),
        "peak_flops": 10 ** r.uniform(13, 16),
        "efficiency": r.uniform(0.01, 1.0),
        "dispatch_tax": r.choice([0.0, 1e-5, r.random()]),
        "layer_tax": r.choice([0.0, 1e-5, r.random() / 1000]),
        "service_time_cv": r.choice([0.0, 1.0, r.uniform(0, 4)]),
        "max_replicas": r.choice([1, 2, 3, 7, 100, 1024, r.randint(1, 1024)]),
        "qps": 1.0,
        "target_p99_latency_ms": 1.0,
    }
    # Rate and target follow the deployment, so that every bottleneck is met often.
    alone = serving_capacity({**x, "max_replicas": 1})
    x["qps"] = (alone["per_replica_qps_capacity"] or 1.0) * 10 ** r.uniform(-3, 3)
    base = alone["base_request_latency"] if alone["active_batch_size"] else 1.0
    x["target_p99_latency_ms"] = base * r.choice([0.9, 1.0001, 1.01, 1.1, 2.0, 10.0])
    return x


def draw_routing(r):
    experts = r.choice([1, 8, 16, 64, 160, 256])
    ranks = r.choice([n for n in (1, 2, 4, 8, 16, 32) if experts % n == 0])
    return {
        "experts": experts,
        "active_experts_per_token": r.randint(1, min(experts, 8)),
        "active_parameters": 10 ** r.uniform(8, 12),
        "batch_size": r.randint(1, 5000),
        "seq_len": r.randint(1, 100_000),
        "hidden_dim": r.randint(1, 20_000),
        "expert_input_dim": r.choice([0, r.randint(1, 5000)]),
        "precision": r.choice(list(BYTES)),
        "ep_size": ranks,
        "routing_imbalance_factor": r.choice([1.0, r.uniform(1, 10)]),
        "fabric_bandwidth": 10 ** r.uniform(9, 12),
        "oversubscription": r.choice([1.0, r.uniform(1, 8)]),
        "fabric_latency": r.choice([0.0, 10 ** r.uniform(-7, -4)]),
    }


def coded(name, value):
    return float(variable_of(name).code(value)) if isinstance(value, str) else float(value)


CASES = {
    "training_memory": (TrainingMemoryModel, training_memory, draw_training),
    "serving_capacity": (ServingCapacityModel, serving_capacity, draw_serving),
    "moe_routing": (MoERoutingModel, moe_routing, draw_routing),
}


@pytest.fixture(scope="module", params=CASES)
def case(request):
    """The formulas of its outputs, random inputs (coded) and what the plain implementation makes of them."""
    model, plain, draw = CASES[request.param]
    rng = random.Random(request.param)
    points = [draw(rng) for _ in range(POINTS)]
    found = [plain(point) for point in points]
    inputs = {name: np.array([coded(name, point[name]) for point in points]) for name in points[0]}
    expected = {name: np.array([coded(name, result[name]) for result in found]) for name in found[0]}
    return model().system.closure(tuple(expected)), inputs, expected


#: A wait is the logarithm of a probability; where it starts at zero only its size beside the latency counts.
BESIDE = {"queue_wait_p99": "estimated_p99_latency"}
#: Probabilities below are held at 1e-300 by the library and underflow here.
NEVER = 1e-285


def compare(found, expected):
    for name, values in expected.items():
        scale = np.where(np.isfinite(expected[BESIDE[name]]), expected[BESIDE[name]], 0) if name in BESIDE else 0
        np.testing.assert_array_equal(np.isfinite(found[name]), np.isfinite(values), err_msg=name)
        finite = np.isfinite(values)
        size = np.maximum(np.abs(values), scale)[finite].clip(NEVER)
        off = np.abs(found[name][finite] - values[finite]) / size
        assert off.max(initial=0) <= 1e-12, f"{name} is off by {off.max()} at {np.flatnonzero(finite)[off.argmax()]}"


def test_scalar_backend_equals_the_plain_implementation(case):
    system, inputs, expected = case
    assert set(inputs) == {v.name for v in system.inputs}
    function = compiled(system)
    rows = [function({name: values[i] for name, values in inputs.items()}) for i in range(POINTS)]
    compare({name: np.array([float(row[name]) for row in rows]) for name in expected}, expected)


def test_grid_backend_equals_the_plain_implementation(case):
    system, inputs, expected = case
    found = evaluate(system, list(expected), inputs)
    compare({name: np.asarray(values, float) for name, values in found.items()}, expected)


@pytest.mark.long(quick=1)
def test_a_broadcast_grid_equals_the_plain_implementation(case):
    """Axes of different directions, as a sweep lays them out, and scalars beside them."""
    system, inputs, expected = case
    first = {name: values[0] for name, values in inputs.items()}
    plain = next(plain for model, plain, _ in CASES.values() if all(name in model().system for name in expected))
    names = [name for name in ("batch_size", "dp_size", "qps", "seq_len", "hidden_dim") if name in inputs][:2]
    axes = [np.unique(inputs[name][::50]) for name in names]
    grid = {names[0]: axes[0][:, None], names[1]: axes[1][None, :]}
    found = evaluate(system, list(expected), {**first, **grid})

    def label(name, value):
        labels = variable_of(name).domain.labels
        return labels[int(value)] if labels else int(value) if variable_of(name).domain.kind == "integer" else value

    corner = {name: label(name, value) for name, value in first.items()}
    rows = [
        [plain({**corner, names[0]: label(names[0], u), names[1]: label(names[1], v)}) for v in axes[1]]
        for u in axes[0]
    ]
    shape = (len(axes[0]), len(axes[1]))
    table = {name: np.array([[coded(name, cell[name]) for cell in row] for row in rows]) for name in expected}
    compare({name: np.broadcast_to(np.asarray(v, float), shape) for name, v in found.items()}, table)


def test_the_draws_reach_every_answer(case):
    _, _, expected = case
    if "bottleneck" in expected:
        codes, counts = np.unique(expected["bottleneck"], return_counts=True)
        assert set(codes) == {0, 1, 2, 3, 4}
        assert counts.min() >= 20
        required = expected["required_replicas"]
        assert len(np.unique(required)) > 50
    if "feasible" in expected:
        assert 0.1 < expected["feasible"].mean() < 0.9
