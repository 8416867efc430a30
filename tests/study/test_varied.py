"""Outputs as functions of free inputs: the same numbers, slopes and refusals as solve, and nothing of the rest."""

from __future__ import annotations

import numpy as np
import pytest

from mlsysim import TrainingMemoryModel
from mlsysim.errors import InputError, UnknownNameError
from mlsysim.study.varied import Varied

POINT = {"model": "Llama3_8B", "hardware": "H100", "seq_len": 8192, "dp_size": 8, "tp_size": 2}


def test_values_are_those_of_solve():
    model = TrainingMemoryModel()
    varied = Varied(model, POINT, ["batch_size"], ["total_memory", "feasible_memory"][:1])
    found = varied.values({"batch_size": [1, 3, 64]})["total_memory"]
    assert found.tolist() == [model.solve(batch_size=b, **POINT).canonical("total_memory") for b in (1, 3, 64)]


def test_axes_broadcast_with_free_inputs():
    varied = Varied(TrainingMemoryModel(), POINT | {"zero_stage": [0, 3]}, ["batch_size"], ["total_memory"])
    found = varied.values({"batch_size": np.array([[1.0, 2.0], [3.0, 4.0]])})["total_memory"]
    assert found.shape == (2, 2)
    assert found[1, 0] == TrainingMemoryModel().solve(batch_size=3, zero_stage=0, **POINT).canonical("total_memory")


def test_slopes_along_each_free_input():
    varied = Varied(TrainingMemoryModel(), POINT | {"batch_size": 4}, ["memory_capacity"], ["memory_utilization"])
    capacity = np.array([60e9, 80e9])
    slope = varied.slopes({"memory_capacity": capacity})["memory_capacity"]["memory_utilization"]
    share = varied.values({"memory_capacity": capacity})["memory_utilization"]
    assert slope == pytest.approx(-share / capacity)


def test_points_that_solve_refuses_are_not_allowed():
    varied = Varied(TrainingMemoryModel(), {**POINT, "batch_size": 4}, ["tp_size"], ["total_memory"])
    accepted = varied.allowed({"tp_size": [1, 2, 3, 2.5, 0, np.nan]})
    assert accepted.tolist() == [True, True, False, False, False, False]


def test_what_is_not_free_is_checked_at_once():
    with pytest.raises(InputError, match="batch_size"):
        Varied(TrainingMemoryModel(), {**POINT, "batch_size": -1}, ["memory_capacity"], ["total_memory"])


@pytest.mark.parametrize(
    ("free", "error"), [("batchsize", UnknownNameError), ("hardware", InputError), ("precision", InputError)]
)
def test_only_numbers_are_free(free, error):
    with pytest.raises(error, match=free):
        Varied(TrainingMemoryModel(), POINT, [free], ["total_memory"])


def test_a_free_input_has_no_axis():
    with pytest.raises(InputError, match="batch_size"):
        Varied(TrainingMemoryModel(), {**POINT, "batch_size": [1, 2]}, ["batch_size"], ["total_memory"])
