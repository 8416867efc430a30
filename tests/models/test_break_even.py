"""Break-evens of expert parallelism against sweeps of the whole step, on random models and fleets."""

import random
import statistics
from itertools import islice

import numpy as np
import pytest

from mlsysim import ExpertParallelModel
from mlsysim.errors import InputError

MODEL = ExpertParallelModel()
#: Tokens of a sequence: few, so that attention is a small part of what grows with the tokens.
LENGTH = 512


def setting(draw, *, host=False, cut=False):
    """A random model of experts on one node or many; with all memory it needs, so that no page is mapped again.

    Where it is cut it has tensor-parallel ranks, and its experts are cut over as many or fewer.
    """
    experts, layers = draw.choice([8, 16, 32, 64, 128, 256]), draw.choice([16, 32, 48, 64])
    width, ranks = draw.choice([1024, 2048, 4096, 6144]), draw.choice([8, 8, 16, 32, 64, 128, 256])
    heads = width // 128
    found = {
        "layers": layers, "moe_layers": layers, "moe_layer_interval": 1, "hidden_dim": width, "heads": heads,
        "kv_heads": draw.choice([4, 8, heads] if heads > 8 else [4, 8]), "head_dim": 128, "ffn_dim": 4 * width,
        "vocab_size": draw.choice([32000, 128256]), "gated": True, "tied_embeddings": False, "router_bias": False,
        "q_lora_rank": 0, "kv_lora_rank": 0, "qk_nope_head_dim": 0, "qk_rope_head_dim": 0, "v_head_dim": 0,
        "experts": experts, "active_experts_per_token": draw.choice([k for k in (1, 2, 4, 6, 8) if k <= experts // 2]),
        "expert_ffn_dim": draw.choice([512, 768, 1536, 2048, 4096]), "shared_ffn_dim": draw.choice([0, 0, 2048]),
        "hardware": draw.choice(["H100", "H200", "A100", "B200", "H20"]), "memory_capacity": "20 TB",
        "fleet_size": ranks, "accelerators_per_node": 8, "node_bandwidth": "450 GB/s",
        "fabric_bandwidth": f"{draw.choice([12.5, 25, 50, 100])} GB/s", "fabric_latency": "10 us",
        "ep_size": draw.choice([e for e in (2, 4, 8, 16, 32, 64, 128) if e <= ranks and experts % e == 0]),
        "seq_len": LENGTH, "batch_size": ranks * draw.choice([1, 2, 4, 8, 16, 32]), "precision": "bf16",
        "weight_dtype": draw.choice(["bf16", "fp32"]), "gradient_dtype": draw.choice(["bf16", "fp32"]),
        "zero_stage": 3, "activation_checkpointing": draw.choice(["none", "full"]),
        "grouped_experts": draw.choice([True, False]) if host else True,
        "host_operation_time": f"{draw.choice([5, 20, 50]) if host else 0} us",
        "count_sync_time": f"{draw.choice([0, 0.1, 0.3])} ms", "hidden_traffic_cost": 0,
    }  # fmt: skip
    if cut:
        tensor = draw.choice([2, 4, 8])
        found |= {"tp_size": tensor, "etp_size": draw.choice([e for e in (1, 2, 4, 8) if e <= tensor])}
        found |= {"sequence_parallel": draw.random() < 0.5, "kv_heads": 8}
    return found


def steps(given, **swept):
    return MODEL.sweep(**{**given, **swept}, outputs=["step_time"]).step_time.values


def crossing(values, saved):
    """Where what is saved falls through zero for the last time, between the points of a sweep."""
    if not (saved > 0).any() or saved[-1] > 0:
        return None
    place = np.flatnonzero(saved > 0)[-1]
    share = saved[place] / (saved[place] - saved[place + 1])
    return values[place] * (values[place + 1] / values[place]) ** share


def by_imbalance(given, alone):
    most = min(given["ep_size"], given["experts"] / given["active_experts_per_token"])
    loads = np.geomspace(1, most, 40)
    return crossing(loads, alone.canonical("step_time") - steps(given, routing_imbalance_factor=loads))


def by_tokens(given, alone):
    """By sequences of a micro-batch, up to eight times more or fewer."""
    ranks = given["fleet_size"] // given.get("tp_size", 1)
    at_hand = given["batch_size"] // ranks
    each = np.unique(np.geomspace(max(1, at_hand / 8), 8 * at_hand, 40).round().astype(int))
    batches = each * ranks
    saved = steps({**given, "ep_size": 1}, batch_size=batches) - steps(given, batch_size=batches)
    return crossing(each * float(LENGTH), saved)


def by_choices(given, alone):
    at_hand = given["active_experts_per_token"]
    choices = np.arange(1, min(given["experts"] // 2, 8 * at_hand) + 1)
    saved = steps({**given, "ep_size": 1}, active_experts_per_token=choices)
    return crossing(choices.astype(float), saved - steps(given, active_experts_per_token=choices))


def drifts(output, theirs, settings):
    """How far a break-even is from where sweeps cross, relative; where they cross in the range that is swept."""
    found = []
    for given in settings:
        asked, alone = MODEL.solve(**given), MODEL.solve(**{**given, "ep_size": 1})
        place = theirs(given, alone)
        if place is not None:
            found.append(abs(asked.canonical(output) / place - 1))
    return found


def gains(settings):
    """Seconds that a step saves beside those of the gain of a layer, over the step."""
    for given in settings:
        asked, alone = MODEL.solve(**given), MODEL.solve(**{**given, "ep_size": 1})
        saved = alone.canonical("step_time") - asked.canonical("step_time")
        ours = asked.canonical("expert_parallel_gain") * given["layers"]
        yield saved / alone.canonical("step_time"), ours / alone.canonical("step_time")


def is_possible(given):
    """Whether the layout is one, with and without expert parallelism."""
    try:
        MODEL.solve(**given)
        MODEL.solve(**{**given, "ep_size": 1})
    except InputError:
        return False
    return True


def drawn(count, seed, **options):
    """So many random settings whose layouts are possible."""
    draw = random.Random(seed)
    endless = (setting(draw, **options) for _ in iter(int, 1))
    return list(islice(filter(is_possible, endless), count))


@pytest.mark.parametrize("host", [False, True])
@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize("cost", [0.5, 0])
def test_the_gain_is_that_of_the_whole_step(host, cut, cost):
    """Whichever of device and host sets the pace, over however many ranks an expert is cut: one solve less another."""
    found = list(gains({**each, "hidden_traffic_cost": cost} for each in drawn(16, 5, host=host, cut=cut)))
    assert all((theirs > 0) == (ours > 0) for theirs, ours in found if abs(theirs) > 0.01)
    assert statistics.median(abs(theirs - ours) for theirs, ours in found) < 0.002


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_gathering_again_is_in_the_gain(ranks):
    """Where memory falls short, pools that are mapped again are left out."""
    given = {"recipe": "torchtitan_issue_1624", "fsdp_prefetch": "accumulated"}
    asked, alone = (MODEL.solve(**given, ep_size=each) for each in (ranks, 1))
    longer = asked.canonical("step_time") - asked.canonical("remap_time") - alone.canonical("step_time")
    assert asked.canonical("expert_parallel_gain") == pytest.approx(-longer / 48, rel=0.01)


def test_the_sign_with_weights_that_pile_up():
    settings = [
        {**given, "fsdp_prefetch": "accumulated", "activation_checkpointing": "full"} for given in drawn(40, 41)
    ]
    again = [MODEL.solve(**given).canonical("again_time") * given["layers"] for given in settings]
    alone = [MODEL.solve(**{**given, "ep_size": 1}).canonical("step_time") for given in settings]
    found = [(*gain, extra / step) for gain, extra, step in zip(gains(settings), again, alone, strict=True)]
    shown = [each for each in found if abs(each[0]) > 0.01]
    assert all((theirs > 0) == (ours > 0) for theirs, ours, _ in shown)
    assert any((theirs > 0) != (ours + extra > 0) for theirs, ours, extra in shown)


@pytest.mark.long
def test_break_evens_with_weights_that_pile_up():
    settings = [
        {**given, "fsdp_prefetch": "accumulated", "activation_checkpointing": "full"} for given in drawn(30, 11)
    ]
    found = drifts("break_even_tokens", by_tokens, settings)
    assert len(found) > 3
    assert statistics.median(found) < 0.06


def test_another_variant_says_which_has_it():
    with pytest.raises(InputError, match=r"ExpertParallelModel\(.fsdp.\) has it"):
        ExpertParallelModel("per_operator").solve(recipe="torchtitan_issue_1624")["break_even_imbalance"]


class TestDrift:
    @pytest.mark.long
    def test_of_a_few(self):
        found = drifts("break_even_tokens", by_tokens, drawn(10, 5))
        assert len(found) > 3
        assert statistics.median(found) < 0.06

    @pytest.mark.long
    @pytest.mark.parametrize("cut", [False, True])
    @pytest.mark.parametrize(
        ("output", "theirs", "median"),
        [
            ("break_even_imbalance", by_imbalance, 0.015),
            ("break_even_tokens", by_tokens, 0.03),
            ("break_even_experts_per_token", by_choices, 0.1),
        ],
    )
    def test_of_many(self, output, theirs, median, cut):
        found = drifts(output, theirs, drawn(240, 11, cut=cut))
        assert len(found) > 50
        assert statistics.median(found) < median

    @pytest.mark.long
    @pytest.mark.parametrize(
        ("output", "theirs", "median"),
        [("break_even_imbalance", by_imbalance, 0.01), ("break_even_tokens", by_tokens, 0.04)],
    )
    def test_where_hidden_traffic_costs(self, output, theirs, median):
        """Half of all computing then shows, of which what few rows cost was taken along a tangent."""
        found = drifts(output, theirs, [{**each, "hidden_traffic_cost": 0.5} for each in drawn(160, 11)])
        assert len(found) > 50
        assert statistics.median(found) < median

    @pytest.mark.long
    def test_asked_where_it_stands_the_tangent_is_right(self):
        """The break-even of a micro-batch as large as the break-even, in whole sequences."""
        found = []
        for given in ({**each, "hidden_traffic_cost": 0.5} for each in drawn(60, 11)):
            place = by_tokens(given, MODEL.solve(**{**given, "ep_size": 1}))
            if place is not None:
                there = {**given, "batch_size": given["fleet_size"] * max(1, round(place / LENGTH))}
                found.append(abs(MODEL.solve(**there).canonical("break_even_tokens") / place - 1))
        assert len(found) > 20
        assert statistics.median(found) < 0.03


class TestEnds:
    """Zero and infinity say different things."""

    GIVEN = drawn(1, 3)[0]
    OUTPUTS = ("break_even_imbalance", "break_even_tokens", "break_even_experts_per_token", "break_even_bandwidth")

    def test_where_nothing_is_exchanged_nothing_is_a_limit(self):
        found = MODEL.solve(**{**self.GIVEN, "ep_size": 1})
        assert all(found.canonical(name) == np.inf for name in self.OUTPUTS)
        assert found.canonical("expert_parallel_gain") == pytest.approx(0, abs=1e-12)

    def test_where_counts_cost_more_than_all_it_pays_nowhere(self):
        found = MODEL.solve(**{**self.GIVEN, "ep_size": 8, "count_sync_time": "10 s"})
        assert found.canonical("expert_parallel_gain") < 0
        assert all(found.canonical(name) == 0 for name in self.OUTPUTS[:-1])

    def test_where_rows_alone_pay_no_bandwidth_is_a_limit(self):
        """Experts of few rows on links as fast as memory."""
        few = {
            **self.GIVEN, "experts": 256, "active_experts_per_token": 1, "expert_ffn_dim": 4096, "hidden_dim": 4096,
            "heads": 32, "ep_size": 8, "fleet_size": 8, "batch_size": 8, "count_sync_time": "0 ms",
        }  # fmt: skip
        assert MODEL.solve(**few).canonical("break_even_bandwidth") == np.inf
        fast = MODEL.solve(**few, exchange_latency="0 us")
        assert fast.canonical("expert_parallel_gain") > 0


def test_fewer_experts_are_fewer_launches():
    """Where the host binds, what is saved is what it launches less."""
    given = {**drawn(1, 3)[0], "host_operation_time": "2 ms", "grouped_experts": False, "ep_size": 8}
    asked = MODEL.solve(**given)
    fewer = asked.canonical("unsplit_launch_time") - asked.canonical("layer_launch_time")
    shown = asked.canonical("expert_parallel_gain") + asked.canonical("count_time")
    assert fewer > 0
    assert shown == pytest.approx(fewer, rel=0.05)


def test_imbalance_leaves_what_balanced_work_takes():
    """Permutation, gates and casts of routed tokens are routed work, so what stands beside it does not grow."""
    given = {**drawn(1, 3)[0], "ep_size": 8, "hardware": "H100", "precision": "fp8"}
    even, hot = (MODEL.solve(**given, routing_imbalance_factor=load) for load in (1, 2))
    assert hot.canonical("besides_time") == pytest.approx(even.canonical("besides_time"), rel=1e-9)
    assert hot.canonical("routed_time") > even.canonical("routed_time")
