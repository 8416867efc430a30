"""The module says of one formula what its form, its plan and its range are, and so they are."""

import doctest

import numpy as np

from mlsysim import bounds


def test_the_formula_of_the_docstring():
    found = doctest.testmod(bounds)
    assert found.attempted >= 10
    assert not found.failed


def test_the_range_of_the_docstring_is_that_of_the_points():
    t, d = np.array([2.0, 4.0])[:, None], np.array([3.0, 4.0])
    memory = 8 / t + np.maximum(0, 3 * d - 8 / t)
    assert (memory.min(), memory.max()) == (9.0, 12.0)
