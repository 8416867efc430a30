"""Every answer can be kept: pickled and read back, it says the same and answers on."""

import copy
import pickle

import numpy as np
import pytest
import xarray

from mlsysim import Hardware, KernelModel, ServingModel, TrainingMemoryModel, compare, verify
from mlsysim.study.results.comparison import Comparison
from mlsysim.study.sensitivities.table import Sensitivity

TRAIN, KERNEL = TrainingMemoryModel(), KernelModel("roofline")
GIVEN = {"model": "Llama3_8B", "hardware": "H100"}
GRID = {"model": "Llama3_8B", "hardware": ["H100", "A100"], "batch_size": [1, 2]}
PRODUCT = {"product_rows": 8, "product_columns": 1024, "product_inner": 1024, "hardware": "H100", "precision": "bf16"}
TABLE = {
    "product_rows": [8, 8, 8],
    "product_columns": [1024, 2048, 4096],
    "product_inner": [1024] * 3,
    "kernel_time [us]": [10, 20, 44],
}


def calibrated():
    return KERNEL.calibrate("memory_efficiency", TABLE, hardware="H100", precision="bf16")


def certified(folder):
    TRAIN.search(**GRID, minimize="total_memory", method="bounds", certificate=folder / "best.json")
    return verify(folder / "best.json")


ANSWERS = {
    "result": lambda folder: TRAIN.solve(**GIVEN, batch_size=8),
    "explanation": lambda folder: TRAIN.solve(**GIVEN, batch_size=8).explain(),
    "sensitivity": lambda folder: TRAIN.sensitivity("total_memory", **GIVEN, batch_size=8),
    "second order": lambda folder: KERNEL.sensitivity("kernel_time", **PRODUCT, second=True),
    "sensitivities": lambda folder: TRAIN.sensitivity("total_memory", **GRID),
    "sweep": lambda folder: TRAIN.sweep(**GRID),
    "search": lambda folder: TRAIN.search(**GRID, minimize="total_memory"),
    "bounds": lambda folder: TRAIN.search(**GRID, minimize="total_memory", method="bounds"),
    "front": lambda folder: TRAIN.pareto(**GRID, minimize="total_memory", maximize="batch_size"),
    "solution": lambda folder: TRAIN.solve_for("batch_size", **GIVEN, total_memory="80 GB"),
    "derivative": lambda folder: TRAIN.derivative("total_memory", "batch_size"),
    "regimes": lambda folder: KERNEL.regimes("product_rows", **{**PRODUCT, "product_rows": [1, 10_000]}),
    "calibration": lambda folder: calibrated(),
    "residuals": lambda folder: calibrated().residuals,
    "left out": lambda folder: calibrated().leave_one_out,
    "uncertainty": lambda folder: KERNEL.uncertainty(
        "kernel_time", **PRODUCT, distributions={"memory_efficiency": "uniform(0.3, 0.5)"}, samples=64
    ),
    "comparison": lambda folder: compare(TRAIN.solve(**GIVEN, batch_size=8), TRAIN.solve(**GIVEN, batch_size=4)),
    "verification": certified,
    "entry": lambda folder: Hardware.Cloud.H100,
    "value": lambda folder: Hardware.Cloud.H100.memory_capacity,
    "model": lambda folder: ServingModel("colocated"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_comes_back_as_it_was(name, tmp_path):
    answer = ANSWERS[name](tmp_path)
    for again in (pickle.loads(pickle.dumps(answer)), copy.deepcopy(answer)):
        assert type(again) is type(answer)
        if isinstance(answer, xarray.Dataset):
            assert again.identical(answer)
        else:
            assert str(again) == str(answer)


def test_what_comes_back_answers_on():
    found: Sensitivity = TRAIN.sensitivity("total_memory", **GIVEN, batch_size=8)
    again = pickle.loads(pickle.dumps(found))
    assert [bar.name for bar in again.tornado(0.2)] == [bar.name for bar in found.tornado(0.2)]
    result = pickle.loads(pickle.dumps(TRAIN.solve(**GIVEN, batch_size=8)))
    assert isinstance(compare(result, TRAIN.solve(**GIVEN, batch_size=4)), Comparison)
    calibration = pickle.loads(pickle.dumps(calibrated()))
    assert np.isfinite(calibration.solve(**{**PRODUCT, "memory_efficiency": None}).canonical("kernel_time"))
