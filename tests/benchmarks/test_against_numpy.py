"""Sweeps against NumPy of the same formulas written by hand, warm, from ten thousand points to 17 million."""

from __future__ import annotations

import math

import numpy as np
import pytest
from benchmarks.by_hand import QUESTIONS

import mlsysim
from mlsysim.backends import evaluate_outputs
from mlsysim.inputs.binding import bind_grid
from mlsysim.study.grids.dataset import output_spec
from mlsysim.symbolic import variable_of

#: Lengths of the five axes.
SIZES = {
    "1e4": (25, 5, 4, 4, 5),
    "1e5": (50, 25, 4, 4, 5),
    "2^20": (128, 128, 4, 4, 4),
    "2^20 + 1": (61_681, 17, 1, 1, 1),
    "1e7": (500, 250, 4, 4, 5),
    "1.7e7": (512, 512, 4, 4, 4),
}


def rounds(points):
    return 9 if math.prod(SIZES[points]) < 2e6 else 3


def said(name, points, number):
    return f"{name} at {points} points, {number} output{'s' * (number > 1)}, against NumPy by hand"


def asked(name, points, number):
    """The model, a sweep's arguments, the outputs by hand, and the numbers of its last batch size to compare."""
    question = QUESTIONS[name]
    axes = question.axes_of(SIZES[points])
    last = question.whole({**axes, "batch_size": axes["batch_size"][-1:]}, number)
    model, arguments = getattr(mlsysim, question.model)(), {**question.fixed, **axes}
    return model, arguments, lambda: question.whole(axes, number), last


@pytest.mark.parametrize("number", [1, 8])
@pytest.mark.parametrize("points", SIZES)
@pytest.mark.parametrize("name", QUESTIONS)
def test_evaluation(in_turn, name, points, number):
    """Inputs are read and points are allowed beforehand, as by hand."""
    model, arguments, by_hand, last = asked(name, points, number)
    binding, outputs = bind_grid(model, arguments), [output_spec(variable_of(output)) for output in last]

    def ours():
        return evaluate_outputs(binding.system, outputs, binding.values, binding.sizes)

    found = ours()
    for output, numbers in last.items():
        np.testing.assert_allclose(found[output][-1:], numbers, rtol=1e-12)
    del found
    in_turn(said(name, points, number), 1, ours, by_hand, rounds=rounds(points))


@pytest.mark.parametrize("number", [1, 8])
@pytest.mark.parametrize("points", ["1e4", "2^20"])
@pytest.mark.parametrize("name", QUESTIONS)
def test_sweep(in_turn, name, points, number):
    """Everything included: inputs are read, every point is asked whether it is allowed, and the answer has labels."""
    model, arguments, by_hand, last = asked(name, points, number)
    title = f"`sweep`: {said(name, points, number)}"
    in_turn(title, None, lambda: model.sweep(**arguments, outputs=list(last)), by_hand, rounds=rounds(points))
