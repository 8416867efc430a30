"""Open boxes: the foremost are taken, no other is lost, and those with the lowest keys come first."""

from __future__ import annotations

import numpy as np

from mlsysim.bounds.boxes import Boxes


def listed(low, high, lower, key):
    return sorted(zip(low.T.tolist(), high.T.tolist(), lower.T.tolist(), key.tolist(), strict=True))


def test_boxes_that_are_taken_and_put_are_all_there():
    random = np.random.default_rng(5)
    whole = np.zeros((3, 1), np.int64), np.full((3, 1), 9), np.zeros((2, 1)), np.zeros(1)
    boxes, expected = Boxes(whole), listed(*whole)
    for _ in range(200):
        before = len(boxes)
        width = int(random.integers(1, 20))
        taken = boxes.take(width)
        assert taken[-1].size == min(width, before)
        for box in listed(*taken):
            expected.remove(box)
        assert not expected or taken[-1].max() <= min(key for *_, key in expected)
        count = int(random.integers(0, 25))
        low = random.integers(0, 5, (3, count))
        more = low, low + random.integers(0, 5, (3, count)), random.random((2, count)), random.random(count)
        boxes.put(more)
        expected += listed(*more)
        if random.random() < 0.1:
            keep = boxes.all[-1] < 0.8
            boxes.all = [array[..., keep] for array in boxes.all]
            expected = [box for box in expected if box[-1] < 0.8]
        assert len(boxes) == len(expected)
    assert listed(*boxes.take(len(boxes))) == sorted(expected)


def test_of_equal_keys_the_smallest_boxes_are_taken():
    low, high = np.zeros((1, 4), np.int64), np.array([[9, 2, 5, 1]])
    taken = Boxes([low, high, np.ones((1, 4)), np.ones(4)]).take(2)
    assert sorted(taken[1][0].tolist()) == [1, 2]
