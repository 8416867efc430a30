"""The per_layer routing system against plain Python that draws experts one by one, not against its formulas.

Inputs are canonical: byte, second, FLOP, token, request.
"""

import math
import random

import pytest

from formulas import plain_formats as formats
from mlsysim.models import MoERoutingModel

POINTS = 1500


def distinct(places, draws):
    """Places hit, on average: each draw finds a new one with the chance that what it hits was not hit before."""
    hit = 0.0
    for _ in range(draws):
        hit += 1 - hit / places
    return hit


def exchange_time(x, ranks, tokens, width):
    """One copy of a token for each node through the port, and one for each rank over the links, both at once.

    Where experts are padded to their capacity, one for each expert in both.
    """
    room = x["accelerators_per_node"]
    if ranks > room and ranks % room and x["accelerators_per_segment"]:
        room = x["accelerators_per_segment"]
    node = min(ranks, room)
    nodes = ranks / node
    within = min(nodes, x["node_limit"] or nodes)
    port = x["fabric_efficiency"] * x["fabric_bandwidth"] / x["congestion_factor"]
    if ranks > max(x["accelerators_per_node"], x["accelerators_per_pod"]):
        port /= x["oversubscription"]
    links = x["exchange_link_efficiency"] * x["node_bandwidth"]
    if x["direct_mesh"] > 1:
        links *= max(1, node - 1) / (x["direct_mesh"] - 1)
    elif x["torus_axes"] and ranks < x["accelerators_per_node"]:
        # A corner of the most compact part has one link for each axis that it has two devices of.
        links *= min(x["torus_axes"], max(1, math.log2(node))) / (2 * x["torus_axes"])
    copies, k = tokens * width, x["active_experts_per_token"]
    to_nodes, to_ranks = (k, k) if x["pad_to_capacity"] else (distinct(within, k), distinct(node * within, k))
    fabric = copies * to_nodes * (nodes - 1) / nodes
    near = copies * to_ranks * (node - 1) / node
    return (max(fabric / port, near / links) + x["exchange_latency"], fabric, near) if ranks > 1 else (0, fabric, near)


def per_layer(x):
    E, k, e, L_moe = x["experts"], x["active_experts_per_token"], x["ep_size"], x["moe_layers"]
    there, back = formats.bytes_of(x, "dispatch", "dispatch_dtype"), formats.bytes_of(x, "combine", "combine_dtype")
    width = x["expert_input_dim"] or x["hidden_dim"]
    token = width * (there + back) / 2
    tokens = x["batch_size"] * x["seq_len"]
    # A rank cannot receive more than every token, once for each expert it holds.
    load = min(x["routing_imbalance_factor"], min(k, E / e) * tokens / (tokens * k / e))
    room, padded = x["capacity_factor"] or math.inf, x["pad_to_capacity"]
    hot, mean = (room, room) if padded else (min(load, room), min(1, room))
    rest = (e - load) / (e - 1) if e > 1 else 0
    dropped = (max(0, load - room) + (e - 1) * max(0, rest - room)) / e
    expert = width * x["expert_ffn_dim"] * (3 if x["gated"] else 2)
    routed_work = L_moe * k * expert
    payload = tokens * k * token * mean
    parameters = x["active_parameters"] + (hot - 1) * routed_work
    dispatch = payload - payload / e
    exchanges = 4 + (2 if x["activation_checkpointing"] == "full" else 0)
    ways = {
        name: exchange_time(x, e, hot * tokens / e, width * each)
        for name, each in (("dispatch", there), ("combine", back))
    }
    once = (ways["dispatch"][0] + ways["combine"][0]) / 2
    exchanged = {
        f"{name}_{what}": value
        for name, found in ways.items()
        for what, value in zip(("time", "fabric_bytes", "link_bytes"), found, strict=True)
    }
    return {
        **exchanged,
        "tokens_per_rank": tokens / e,
        "hot_rank_factor": hot,
        "effective_active_experts": k * hot,
        "active_parameter_multiplier": parameters / x["active_parameters"],
        "effective_active_parameters": parameters,
        "routed_payload": payload,
        "token_dispatch_bytes": dispatch,
        "hot_rank_bytes": hot / mean * dispatch / e,
        "mean_rank_factor": mean,
        "least_dropped_share": dropped,
        "all_to_all_latency": once,
        "exchanges_per_layer": exchanges,
        "step_dispatch_bytes": sum(dispatch for _ in range(L_moe * exchanges)),
        "step_all_to_all_time": sum(once for _ in range(L_moe * exchanges)),
    }


def draw(r):
    node = r.choice([1, 2, 4, 8, 72])
    segment = r.choice([0, 0, max(1, node // 2)])
    e = r.choice([1, r.randint(1, node), (r.choice([0, segment]) or node) * r.choice([1, 2, 3, 8])])
    experts = e * r.choice([1, 2, 8])
    room = r.choice([0.0, 1.0, r.uniform(0.5, 3)])
    return {
        "experts": experts,
        "active_experts_per_token": r.randint(1, min(experts, 8)),
        "active_parameters": 10 ** r.uniform(8, 12),
        "batch_size": r.randint(1, 5000),
        "seq_len": r.randint(1, 100_000),
        "hidden_dim": r.randint(1, 20_000),
        "expert_input_dim": r.choice([0, r.randint(1, 5000)]),
        "precision": r.choice(list(formats.PRESETS)),
        **formats.draw(r, "dispatch_dtype", "combine_dtype"),
        "ep_size": e,
        "routing_imbalance_factor": r.choice([1.0, r.uniform(1, 10)]),
        "capacity_factor": room,
        "pad_to_capacity": r.randint(0, 1) if room else 0,
        "activation_checkpointing": r.choice(["none", "selective", "full"]),
        "gated": r.randint(0, 1),
        "moe_layers": r.randint(0, 100),
        "expert_bias": 0,
        "expert_ffn_dim": r.randint(1, 30_000),
        "fabric_bandwidth": 10 ** r.uniform(9, 12),
        "oversubscription": r.choice([1.0, r.uniform(1, 8)]),
        "accelerators_per_node": node,
        "accelerators_per_segment": segment,
        "node_bandwidth": 10 ** r.uniform(10, 12),
        "direct_mesh": r.choice([0, node]),
        "torus_axes": r.choice([0, 2, 3]),
        "accelerators_per_pod": r.choice([0, 4 * node]),
        "node_limit": r.choice([0, 1, 4]),
        "congestion_factor": r.choice([1.0, r.uniform(1, 3)]),
        "fabric_efficiency": r.uniform(0.5, 1),
        "exchange_link_efficiency": r.uniform(0.5, 1),
        "exchange_latency": r.choice([0.0, 10 ** r.uniform(-6, -4)]),
    }


@pytest.fixture(scope="module")
def case(plain_points):
    return plain_points(per_layer, draw, "per_layer", POINTS)


@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_equals_the_plain_implementation(case, backend, on_backend, assert_close):
    _, inputs, expected = case
    system = MoERoutingModel("per_layer").system
    assert set(inputs) == {v.name for v in system.inputs}
    assert_close(on_backend(system, inputs, expected, backend), expected)


def test_every_output_but_helpers_is_compared(case):
    system = MoERoutingModel("per_layer").system
    helpers = {
        "dispatch_element_bytes", "combine_element_bytes", "expert_parameters", "hidden_dim_in_experts", "ep_stride",
            "ep_ranks_per_node",
        "nodes_per_token", "ranks_per_token", "reachable_nodes", "port_bandwidth", "collective_link_bandwidth",
        "exchange_node_bandwidth", "reached_fabric_bandwidth",
    }  # fmt: skip
    assert {v.name for v in system.variables} - helpers == set(case[2])


def test_both_placements_are_drawn(case):
    points, _, _ = case
    within = sum(point["ep_size"] <= point["accelerators_per_node"] for point in points)
    assert 100 < within < POINTS - 100


@pytest.mark.parametrize("seed", range(20))
def test_bytes_and_factor_equal_those_of_a_simulated_router(seed):
    """Tokens sent one by one, expert by expert: totals exactly, the hot rank with its counted factor.

    A token's experts do not depend on where it starts, so what stays local is one in e up to chance; here
    every token is counted from every rank in turn, which leaves no chance.
    """
    r = random.Random(seed)
    e = r.choice([2, 4, 8])
    E, k = e * r.choice([1, 2, 4]), r.randint(1, 2)
    n, h = 60, 16
    popularity = [r.uniform(0.2, 1) ** 3 for _ in range(E)]
    received, left, into_hot = [0] * e, 0, [0] * e
    for _ in range(n):
        chosen = []
        while len(chosen) < k:
            (pick,) = r.choices(range(E), popularity)
            chosen += [pick] if pick not in chosen else []
        for expert in chosen:
            home = expert // (E // e)
            received[home] += 1
            left += e - 1
            into_hot[home] += e - 1
    factor = max(received) / (sum(received) / e)
    found = MoERoutingModel("per_layer").solve(
        active_parameters=1e9,
        hidden_dim=h,
        gated=True,
        layers=1,
        moe_layers=1,
        expert_ffn_dim=8,
        experts=E,
        active_experts_per_token=k,
        batch_size=n,
        seq_len=1,
        ep_size=e,
        routing_imbalance_factor=factor,
    )
    assert found.hot_rank_factor == pytest.approx(factor, rel=1e-12)
    assert found.token_dispatch_bytes.to("byte").magnitude == pytest.approx(left / e * 2 * h, rel=1e-12)
    assert found.hot_rank_bytes.to("byte").magnitude == pytest.approx(max(into_hot) / e * 2 * h, rel=1e-12)
