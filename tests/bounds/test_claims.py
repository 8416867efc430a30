"""What is against a claim, box by box and point by point in loops."""

import math

import numpy as np
import pytest

from mlsysim.bounds.claims import Best, Undominated, WithinGap

SIZES = (3, 4)


def drawn(seed, objectives):
    """Points of a front with their index, and bounds of boxes with their first corner; many are alike."""
    random = np.random.default_rng(seed)
    front = random.integers(0, 4, (int(random.integers(0, 90)), objectives)).astype(float)
    indices = random.integers(0, math.prod(SIZES), len(front))
    values = random.choice(
        [-np.inf, 0.0, 1.0, 2.0, 3.0, np.inf], (objectives, 60), p=[0.05, 0.25, 0.25, 0.2, 0.2, 0.05]
    )
    first = np.array([random.integers(0, size, 60) for size in SIZES])
    return front, indices, values, first


@pytest.mark.parametrize("objectives", [2, 3])
@pytest.mark.parametrize("first_claimed", [True, False])
@pytest.mark.parametrize("seed", range(12))
def test_a_box_that_a_point_of_the_front_equals_or_betters(seed, first_claimed, objectives):
    front, indices, values, first = drawn(seed, objectives)
    claim = Undominated(front, indices, frozenset(), SIZES, first_claimed)
    found = claim.against(values, first).tolist()
    for box, against in enumerate(found):
        bound, corner = values[:, box].tolist(), first[0, box] * SIZES[1] + first[1, box]
        holds = math.inf in bound
        for row, index in zip(front.tolist(), indices.tolist(), strict=True):
            if all(a <= b for a, b in zip(row, bound, strict=True)):
                holds |= row != bound or not first_claimed or index <= corner
        assert against == (not holds)


def test_values_count_to_thirty_digits_and_with_slack_to_a_share():
    front, nowhere = np.array([[1.0, 1.0]]), np.zeros((2, 1), int)
    bounds = np.array([[1 - 1e-8], [1.0]])
    near = np.array([[1 - 1e-11], [1.0]])
    exact = Undominated(front, np.zeros(1, int), frozenset(), SIZES)
    assert exact.against(bounds, nowhere).all()
    assert not exact.against(near, nowhere).any()
    late = Undominated(front, np.full(1, 5), frozenset(), SIZES)
    assert late.against(near, nowhere).all()
    wide = Undominated(front, np.full(1, 5), frozenset(), SIZES, first=False, slack=1e-7)
    assert not wide.against(bounds, nowhere).any()


@pytest.mark.parametrize("seed", range(8))
def test_a_box_within_a_gap(seed):
    front, _, values, first = drawn(seed, 2)
    front = front[(front > 0).all(axis=1)]
    gap = 0.4
    found = WithinGap(front, gap, frozenset()).against(values, first).tolist()
    for box, against in enumerate(found):
        bound = values[:, box].tolist()
        holds = math.inf in bound
        for row in front.tolist():
            holds |= all(b >= a * (1 - gap) - 1e-8 for a, b in zip(row, bound, strict=True))
        assert against == (not holds)


def test_no_bound_is_not_taken_for_one():
    """A bound that is undefined shows nothing."""
    nowhere = np.zeros((2, 1), int)
    assert Best(1.0, 1.0, (), frozenset()).against(np.array([[np.nan]]), nowhere).all()
    assert (
        Undominated(np.ones((1, 2)), np.zeros(1, int), frozenset(), SIZES)
        .against(np.full((2, 1), np.nan), nowhere)
        .all()
    )
    assert WithinGap(np.ones((1, 2)), 0.1, frozenset()).against(np.full((2, 1), np.nan), nowhere).all()


def test_equal_points_count_against_the_best_where_they_come_earlier():
    claim = Best(1.0, 1.1, (1, 2), frozenset({(1, 2)}))
    first = np.array([[1, 1, 0, 2], [1, 2, 3, 0]])
    assert claim.against(np.full((1, 4), 1.05), first).tolist() == [True, False, True, False]
    assert claim.against(np.full((1, 4), 0.9), first).all()
    assert not claim.against(np.full((1, 4), 1.2), first).any()
