"""Blocks cover a grid once, in C order, in one shape but for what is left over."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlsysim.backends.blocks import all_within, blocks, shape
from mlsysim.errors import InputError


@settings(deadline=None, derandomize=True)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=5), st.integers(1, 500))
def test_blocks_tile_a_grid_in_c_order(sizes, points):
    parts = blocks(sizes, points)
    flat = np.arange(math.prod(sizes)).reshape(sizes)
    pieces = [flat[parts.region(number)] for number in range(parts.count)]
    assert np.concatenate([piece.ravel() for piece in pieces]).tolist() == list(range(flat.size))
    assert all(piece.size <= points for piece in pieces)
    assert [parts.start(number) for number in range(parts.count)] == [piece.ravel()[0] for piece in pieces]
    assert [parts.points(number) for number in range(parts.count)] == [piece.size for piece in pieces]
    assert len({piece.shape for piece in pieces}) <= 2
    assert pieces[0].shape == parts.shape
    assert all(shape(parts.region(number)) == piece.shape for number, piece in enumerate(pieces))


def test_a_grid_beyond_machine_words_is_cut_too():
    sizes = (10**8,) * 4
    parts = blocks(sizes)
    assert parts.start(parts.count - 1) + parts.points(parts.count - 1) == 10**32


def test_inputs_are_cut_along_the_axes_they_have():
    values = {"plain": 3.0, "first": np.arange(6.0).reshape(6, 1, 1), "both": np.arange(24.0).reshape(6, 1, 4)}
    part = all_within(values, (slice(2, 4), slice(0, 5), slice(0, 4)))
    assert part["plain"] == 3.0
    assert part["first"].ravel().tolist() == [2.0, 3.0]
    assert part["both"].shape == (2, 1, 4)


@pytest.mark.parametrize("points", [0, -1, 2.5, True, "many", None])
def test_a_block_has_at_least_one_point(points):
    with pytest.raises(InputError, match="block_points"):
        blocks((3, 4), points)
