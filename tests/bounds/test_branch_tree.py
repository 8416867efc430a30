"""The tree of halvings: what it holds, how it is read again, and what is no tree of a grid."""

import numpy as np
import pytest

from mlsysim.bounds.branch_tree import BOUND, EVALUATED, INFEASIBLE, OPEN, BranchTree, TreeError, leaves, volumes

FATES = (BOUND, INFEASIBLE, EVALUATED, OPEN)


def halved_at_random(random, sizes):
    """Boxes that tile a grid, by halving one after the other at random."""
    boxes, done = [([0] * len(sizes), [size - 1 for size in sizes])], []
    while boxes:
        low, high = boxes.pop(random.integers(len(boxes)))
        axes = [axis for axis in range(len(sizes)) if high[axis] > low[axis]]
        if not axes or random.random() < 0.2:
            done.append((low, high, random.choice(FATES)))
            continue
        axis = random.choice(axes)
        middle = (low[axis] + high[axis]) // 2
        left, right = list(high), list(low)
        left[axis], right[axis] = middle, middle + 1
        boxes += [(low, left), (right, high)]
    return done


@pytest.mark.parametrize("seed", range(30))
def test_boxes_in_any_order_come_back_from_the_tree(seed):
    random = np.random.default_rng(seed)
    sizes = tuple(int(size) for size in random.integers(1, 40, random.integers(1, 5)))
    boxes = halved_at_random(random, sizes)
    tree = BranchTree()
    for place in random.permutation(len(boxes)):
        low, high, fate = boxes[place]
        tree.add(np.array([low]).T, np.array([high]).T, fate)
    low, high, fates = leaves(tree.encode(sizes), sizes)
    found = sorted(zip(low.T.tolist(), high.T.tolist(), fates.tolist(), strict=True))
    assert found == sorted((list(low), list(high), int(fate)) for low, high, fate in boxes)
    seen = np.zeros(sizes, int)
    for a, b, _ in found:
        seen[tuple(slice(x, y + 1) for x, y in zip(a, b, strict=True))] += 1
    assert (seen == 1).all()
    assert sum(volumes(low, high)) == seen.size


def test_what_is_not_committed_is_forgotten():
    tree, low, high = BranchTree(), np.array([[0]]), np.array([[1]])
    tree.add(low, high, BOUND)
    tree.commit()
    tree.add(low + 2, high + 2, OPEN)
    tree.rollback()
    assert list(tree.encode((2,))) == [BOUND]


@pytest.mark.parametrize("boxes", [[((0,), (1,))], [((0,), (1,)), ((1,), (3,))], [((0,), (0,)), ((1,), (3,))]])
def test_boxes_that_do_not_tile_the_grid(boxes):
    tree = BranchTree()
    for low, high in boxes:
        tree.add(np.array([low]).T, np.array([high]).T, BOUND)
    with pytest.raises(TreeError, match="do not tile the grid by halvings"):
        tree.encode((4,))


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        ([0, BOUND], "ends after 2 nodes"),
        ([], "ends after 0 nodes"),
        ([BOUND, BOUND], "has 1 nodes more"),
        ([1, BOUND, BOUND], "node 0 of the tree halves a box along axis 1"),
        ([0, 0, BOUND, 0, BOUND, BOUND, BOUND], "node 3 of the tree halves a box along axis 0"),
    ],
)
def test_what_is_no_tree(tree, said):
    with pytest.raises(TreeError, match=said):
        leaves(bytes(tree), (3,))
