"""The imbalance factor out of counts per expert."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mlsysim import MoERoutingModel, dropped_tokens, expert_loads, routing_imbalance
from mlsysim.errors import InputError, UnknownNameError

fuzzing = settings(derandomize=True, deadline=None, max_examples=200)


def test_two_ranks_of_two_experts():
    assert routing_imbalance([10, 10, 10, 50], ep_size=2) == 1.5


@pytest.mark.parametrize(
    ("ep_size", "placement", "factor"),
    [
        (1, None, 1.0),
        (2, None, 1.5),
        (4, None, 2.5),
        (2, [0, 0, 1, 1], 1.5),
        (2, [0, 0, 0, 1], 1.25),
        (2, [1, 1, 1, 0], 1.25),
        (2, [0, 0, 0, 0], 2.0),
        (4, [0, 1, 2, 3], 2.5),
        (3, [0, 1, 2, 2], 2.25),
        (np.int64(2), np.array([0, 0, 1, 1], dtype=np.uint8), 1.5),
    ],
)
def test_placements(ep_size, placement, factor):
    found = routing_imbalance([10, 10, 10, 50], ep_size=ep_size, placement=placement)
    assert found == pytest.approx(factor)
    assert type(found) is float


def test_layers_and_steps_are_kept():
    counts = np.array([[[1, 1, 1, 1], [4, 0, 0, 0]], [[0, 2, 2, 0], [3, 1, 0, 0]], [[1, 0, 0, 3], [1, 2, 3, 4]]])
    found = routing_imbalance(counts, ep_size=2)
    assert found.shape == (3, 2)
    np.testing.assert_allclose(found, [[1, 2], [1, 2], [1.5, 1.4]])
    assert routing_imbalance(counts[:1, :1], ep_size=2).shape == (1, 1)


@pytest.mark.parametrize(
    ("counts", "given", "message"),
    [
        ([1, -1], {"ep_size": 2}, "counts=[1, -1]: must be finite and not negative"),
        ([1, float("nan")], {"ep_size": 2}, "counts=[1, nan]: must be finite and not negative"),
        ([1, float("inf")], {"ep_size": 2}, "counts=[1, inf]: must be finite and not negative"),
        ([0, 0], {"ep_size": 2}, "counts=[0, 0]: must have at least one token in every row"),
        ([[1, 2], [0, 0]], {"ep_size": 2}, "counts=[[1, 2], [0, 0]]: must have at least one token in every row"),
        ([], {"ep_size": 1}, "counts=[]: must have one number per expert"),
        (7, {"ep_size": 1}, "counts=7: must have one number per expert"),
        ("log", {"ep_size": 1}, "counts='log': must be numbers, experts along the last axis"),
        ([[1, 2], [3]], {"ep_size": 1}, "counts=[[1, 2], [3]]: must be numbers, experts along the last axis"),
        (None, {"ep_size": 1}, "counts=None: must have one number per expert"),
        ([1, 2, 3], {"ep_size": 2}, "ep_size=2: must divide experts=3, or give placement=..."),
        ([1, 2, 3], {"ep_size": 4}, "ep_size=4: must divide experts=3, or give placement=..."),
        ([1, 2], {"ep_size": 0}, "ep_size=0: must be a whole number >= 1"),
        ([1, 2], {"ep_size": -2}, "ep_size=-2: must be a whole number >= 1"),
        ([1, 2], {"ep_size": 2.0}, "ep_size=2.0: must be a whole number >= 1"),
        ([1, 2], {"ep_size": True}, "ep_size=True: must be a whole number >= 1"),
        ([1, 2], {"ep_size": "2"}, "ep_size='2': must be a whole number >= 1"),
        ([1, 2], {"ep_size": 2, "placement": [0]}, "placement=[0]: must be one whole rank for each of 2 experts"),
        (
            [1, 2],
            {"ep_size": 2, "placement": [0.0, 1.0]},
            "placement=[0.0, 1.0]: must be one whole rank for each of 2 experts",
        ),
        (
            [1, 2],
            {"ep_size": 2, "placement": [True, False]},
            "placement=[True, False]: must be one whole rank for each of 2 experts",
        ),
        ([1, 2], {"ep_size": 2, "placement": [0, 2]}, "placement=[0, 2]: must be ranks from 0 to 1"),
        ([1, 2], {"ep_size": 2, "placement": [-1, 1]}, "placement=[-1, 1]: must be ranks from 0 to 1"),
        ([1, 2], {"ep_size": 1, "placement": [0, 1]}, "placement=[0, 1]: must be ranks from 0 to 0"),
        (
            [1, 2],
            {"ep_size": 2, "placement": [[0], [1, 2]]},
            "placement=[[0], [1, 2]]: must be one whole rank for each of 2 experts",
        ),
    ],
)
def test_refused(counts, given, message):
    with pytest.raises(InputError) as refused:
        routing_imbalance(counts, **given)
    assert str(refused.value) == message


def test_a_masked_value_is_refused():
    hidden = np.ma.array([1, 2], mask=[0, 1])
    with pytest.raises(InputError, match=r"(?s)counts=.* has masked values"):
        routing_imbalance(hidden, ep_size=2)
    with pytest.raises(InputError, match=r"(?s)placement=.* has masked values"):
        routing_imbalance([1, 2], ep_size=2, placement=hidden)


def test_the_size_of_the_group_is_asked_for_by_name():
    with pytest.raises(TypeError):
        routing_imbalance([1, 2], 2)


@st.composite
def logs(draw):
    ranks, each = draw(st.integers(1, 8)), draw(st.integers(1, 8))
    rows = draw(st.integers(1, 4))
    shape = (rows, ranks * each)
    counts = np.array(draw(st.lists(st.integers(0, 10**6), min_size=rows * shape[1], max_size=rows * shape[1])))
    counts = counts.reshape(shape)
    assume((counts.sum(axis=-1) > 0).all())
    return counts, ranks


@fuzzing
@given(logs())
def test_a_factor_is_between_one_and_the_number_of_ranks(log):
    counts, ranks = log
    found = routing_imbalance(counts, ep_size=ranks)
    assert np.all(found >= 1 - 1e-12)
    assert np.all(found <= ranks * (1 + 1e-12))


@pytest.mark.long
@fuzzing
@given(logs(), st.integers(1, 1000))
def test_a_factor_does_not_depend_on_how_many_tokens_were_logged(log, times):
    counts, ranks = log
    np.testing.assert_allclose(
        routing_imbalance(times * counts, ep_size=ranks), routing_imbalance(counts, ep_size=ranks), rtol=1e-12
    )


@pytest.mark.long
@fuzzing
@given(logs(), st.randoms(use_true_random=False))
def test_moving_experts_with_their_ranks_changes_nothing(log, random):
    counts, ranks = log
    placement = np.arange(counts.shape[-1]) // (counts.shape[-1] // ranks)
    order = random.sample(range(counts.shape[-1]), counts.shape[-1])
    moved = routing_imbalance(counts[:, order], ep_size=ranks, placement=placement[order])
    np.testing.assert_allclose(moved, routing_imbalance(counts, ep_size=ranks), rtol=1e-12)


@fuzzing
@given(logs())
def test_balanced_routing_is_one_and_one_expert_alone_is_the_group(log):
    counts, ranks = log
    assert np.allclose(routing_imbalance(np.ones_like(counts), ep_size=ranks), 1)
    alone = np.zeros_like(counts)
    alone[:, 0] = 5
    assert np.allclose(routing_imbalance(alone, ep_size=ranks), ranks)


@fuzzing
@given(logs())
def test_every_factor_is_one_the_model_takes(log):
    """No float below one by rounding, which the model would refuse."""
    counts, ranks = log
    for factor in routing_imbalance(counts, ep_size=ranks):
        found = MoERoutingModel("per_layer").solve(
            "Mixtral_8x7B", batch_size=1, ep_size=1, routing_imbalance_factor=float(factor)
        )
        assert found.hot_rank_factor == 1


class TestLoads:
    def test_uniform_loads_are_balanced(self):
        assert routing_imbalance(expert_loads("uniform", 64, layers=3), ep_size=8) == pytest.approx(1)

    @pytest.mark.parametrize("distribution", ["zipf", "log_normal"])
    def test_what_is_further_apart_is_less_balanced(self, distribution):
        found = [
            routing_imbalance(expert_loads(distribution, 128, spread=spread, layers=100), ep_size=8).mean()
            for spread in (0, 0.3, 0.8, 1.5)
        ]
        assert found[0] == pytest.approx(1)
        assert found == sorted(found)

    def test_zipf_is_a_power_of_the_place(self):
        loads = expert_loads("zipf", 16, spread=1.2, layers=5, seed=4)
        assert loads.sum(axis=1) == pytest.approx(np.ones(5))
        for row in loads:
            assert np.sort(row)[::-1] / row.max() == pytest.approx(np.arange(1, 17) ** -1.2)
        assert len({tuple(row) for row in loads}) == 5

    def test_log_normal_has_its_spread(self):
        loads = expert_loads("log_normal", 20_000, spread=0.7)
        assert np.log(loads).std() == pytest.approx(0.7, rel=0.02)

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            (("zip", 8), "did you mean zipf"),
            (("zipf", 0), "experts=0: must be a whole number >= 1"),
        ],
    )
    def test_refused(self, given, message):
        with pytest.raises((InputError, UnknownNameError), match=message):
            expert_loads(*given)

    @pytest.mark.parametrize("spread", [-1, float("inf"), float("nan"), "wide", True])
    def test_a_spread_is_finite_and_not_negative(self, spread):
        with pytest.raises(InputError, match="spread"):
            expert_loads("zipf", 8, spread=spread)


class TestCopies:
    def test_a_copy_halves_the_busiest(self):
        """Loads of 5, 5, 5, 5 and 60: with three copies the busiest is four of 15, two ranks hold four experts each."""
        assert routing_imbalance([5, 5, 5, 5, 60], ep_size=2, redundant_experts=3) == pytest.approx(1)
        assert routing_imbalance([5, 5, 5, 5, 60], ep_size=5) == pytest.approx(3.75)

    def test_rows_are_kept(self):
        loads = expert_loads("zipf", 256, spread=1, layers=6).reshape(2, 3, 256)
        plain, copied = (routing_imbalance(loads, ep_size=32, redundant_experts=count) for count in (0, 32))
        assert copied.shape == plain.shape == (2, 3)
        assert (copied < plain).all()
        assert (copied >= 1).all()

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"ep_size": 2, "redundant_experts": 1}, "must fill ep_size=2 ranks evenly with 4 experts"),
            ({"ep_size": 2, "redundant_experts": -2}, "must be a whole number >= 0"),
            (
                {"ep_size": 2, "redundant_experts": 2, "placement": [0, 0, 1, 1]},
                "must be left out with redundant_experts",
            ),
        ],
    )
    def test_refused(self, given, message):
        with pytest.raises(InputError, match=message):
            routing_imbalance([1, 2, 3, 4], **given)


def routed_one_by_one(loads, tokens, top_k, factor, redundant=0, seed=0):
    """Tokens in order, each to different experts by their loads; who comes when an expert is full is dropped.

    Of an expert with copies, its tokens go to them by turns. Gives counts, what each copy took, and what was dropped.
    """
    random = np.random.default_rng(seed)
    experts = len(loads)
    keys = np.log(loads) + random.gumbel(size=(tokens, experts))
    chosen = np.argsort(-keys, axis=1)[:, :top_k]
    counts = np.bincount(chosen.ravel(), minlength=experts)
    copies = np.ones(experts, int)
    for _ in range(redundant):
        copies[np.argmax(counts / copies)] += 1
    room = np.ceil(tokens * top_k / (experts + redundant) * factor)
    taken = [[0] * number for number in copies]
    dropped, turn = 0, np.zeros(experts, int)
    for expert in chosen.ravel():
        place = turn[expert] % copies[expert]
        turn[expert] += 1
        if taken[expert][place] < room:
            taken[expert][place] += 1
        else:
            dropped += 1
    return counts, taken, dropped / chosen.size


class TestCapacity:
    @pytest.mark.parametrize(("distribution", "spread"), [("uniform", 0), ("zipf", 0.7), ("log_normal", 1)])
    @pytest.mark.parametrize("factor", [0.5, 1, 1.25, 2])
    @pytest.mark.parametrize("redundant", [0, 4])
    def test_equals_a_router_that_drops_what_comes_too_late(self, distribution, spread, factor, redundant):
        (loads,) = expert_loads(distribution, 12, spread=spread, seed=3)
        counts, taken, dropped = routed_one_by_one(loads, 500, 2, factor, redundant)
        found = dropped_tokens(counts, capacity_factor=factor, redundant_experts=redundant)
        assert found == pytest.approx(dropped, abs=1e-12)
        if not redundant:
            ranks = np.array([sum(each) for each in taken]).reshape(4, 3).sum(axis=1)
            assert routing_imbalance(counts, ep_size=4, capacity_factor=factor) == pytest.approx(
                ranks.max() / (counts.sum() / 4), rel=1e-12
            )

    def test_copies_of_a_busy_expert_drop_less(self):
        loads = expert_loads("zipf", 64, spread=1, layers=4)
        alone, copied = (
            dropped_tokens(loads, capacity_factor=1.25, redundant_experts=number).mean() for number in (0, 64)
        )
        assert copied < alone / 2

    def test_what_is_dropped_falls_as_capacity_grows(self):
        loads = expert_loads("log_normal", 64, spread=1, layers=20)
        shares = np.array([dropped_tokens(loads, capacity_factor=each) for each in (0.5, 1, 1.5, 4, 64)])
        assert shares.shape == (5, 20)
        assert (np.diff(shares, axis=0) <= 0).all()
        assert (shares[0] >= 0.5).all()
        assert (shares[-1] == 0).all()
        assert (dropped_tokens(loads, capacity_factor=0) == 0).all()

    @pytest.mark.parametrize("distribution", ["uniform", "zipf", "log_normal"])
    @pytest.mark.parametrize("ranks", [1, 4, 32])
    @pytest.mark.parametrize("factor", [0.75, 1, 1.5])
    def test_a_model_bounds_both(self, distribution, ranks, factor):
        """The hot rank has no more than the model says, just that where it holds one expert, and no less is dropped."""
        loads = expert_loads(distribution, 32, spread=0.8, layers=20)
        before, after = (routing_imbalance(loads, ep_size=ranks, capacity_factor=each) for each in (0, factor))
        exact = dropped_tokens(loads, capacity_factor=factor)
        model = MoERoutingModel("per_layer")
        for layer in range(0, 20, 5):
            found = model.solve(
                active_parameters=1e9, hidden_dim=64, layers=1, moe_layers=1, gated=True, expert_ffn_dim=64, experts=32,
                active_experts_per_token=1, batch_size=32, ep_size=ranks, accelerators_per_node=32,
                routing_imbalance_factor=max(1.0, before[layer]), capacity_factor=factor,
            )  # fmt: skip
            assert after[layer] <= found.hot_rank_factor * (1 + 1e-12)
            assert exact[layer] >= found.least_dropped_share - 1e-12
            if ranks == 32:
                assert after[layer] == pytest.approx(found.hot_rank_factor, rel=1e-12)

    def test_shares_have_no_rounding(self):
        assert dropped_tokens([2, 3], capacity_factor=1) == 0
        assert dropped_tokens([0.4, 0.6], capacity_factor=1) == pytest.approx(0.1)

    def test_whole_tokens_are_rounded_up(self):
        assert dropped_tokens([[1, 4], [5, 0]], capacity_factor=1) == pytest.approx([1 / 5, 2 / 5])

    @pytest.mark.parametrize("factor", [-1, float("nan"), float("inf"), "much", True, None])
    def test_refused(self, factor):
        with pytest.raises(InputError, match=r"capacity_factor=.*must be a finite number >= 0"):
            dropped_tokens([1, 2], capacity_factor=factor)


def test_loads_that_are_far_apart_are_still_shares():
    loads = expert_loads("log_normal", 8, spread=1e4)
    assert loads.sum() == pytest.approx(1)
    assert loads.max() == pytest.approx(1)
