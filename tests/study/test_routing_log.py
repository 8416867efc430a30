"""The imbalance factor out of counts per expert."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mlsysim import MoERoutingModel, routing_imbalance
from mlsysim.errors import InputError

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


@fuzzing
@given(logs(), st.integers(1, 1000))
def test_a_factor_does_not_depend_on_how_many_tokens_were_logged(log, times):
    counts, ranks = log
    np.testing.assert_allclose(
        routing_imbalance(times * counts, ep_size=ranks), routing_imbalance(counts, ep_size=ranks), rtol=1e-12
    )


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
