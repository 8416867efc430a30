"""The NumPy that benchmarks hold sweeps against computes what the sweeps do."""

import numpy as np
import pytest
from benchmarks.by_hand import QUESTIONS

import mlsysim


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_the_numbers_are_those_of_a_sweep(question):
    random = np.random.default_rng(0)
    axes = question.axes_of((1, 1, 4, 4, 5))
    for name in ("batch_size", "seq_len"):
        axes[name] = axes[name] * np.unique([1, *np.round(2 ** random.uniform(0, 8, 3))])
    eight, one = question.whole(axes, 8), question.whole(axes, 1)
    swept = getattr(mlsysim, question.model)().sweep(**question.fixed, **axes, outputs=list(eight))
    assert len(eight) == 8
    assert len(one) == 1
    for name, numbers in (*eight.items(), *one.items()):
        np.testing.assert_allclose(numbers, swept[name], rtol=1e-12)
