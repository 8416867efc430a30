"""Whether a run fits, by the error of its memory: in words, as a probability, as a condition."""

import math

import pytest
from scipy.stats import norm

from mlsysim import TrainingMemoryModel
from mlsysim.errors import InputError

MEMORY = TrainingMemoryModel("per_operator")
ASKED = {"model": "Llama3_8B", "batch_size": 8, "dp_size": 8, "zero_stage": 2, "precision": "bf16"}
#: Gigabytes of that run.
PEAK = MEMORY.solve(**ASKED, memory_capacity="1 TB").canonical("total_memory") / 1e9


@pytest.mark.parametrize(
    ("over", "verdict"),
    [(1.2, "fits"), (1.05, "too close to call"), (0.95, "too close to call"), (0.8, "does not fit")],
)
def test_a_verdict_is_given_where_the_error_leaves_no_doubt(over, verdict):
    found = MEMORY.solve(**ASKED, memory_capacity=f"{PEAK * over} GB", memory_spread=0.05)
    assert found.fit == verdict
    assert found.fit_probability == pytest.approx(norm.cdf(math.log(over) / 0.05), abs=1e-9)
    assert found.memory_margin.to("GB").magnitude == pytest.approx((over - 1) * PEAK)
    assert found.feasible == (over > 1)


@pytest.mark.parametrize(("over", "verdict"), [(1.001, "fits"), (0.999, "does not fit")])
def test_without_an_error_there_is_no_doubt(over, verdict):
    found = MEMORY.solve(**ASKED, memory_capacity=f"{PEAK * over} GB", memory_spread=0)
    assert (found.fit, found.fit_probability) == (verdict, float(over > 1))


def test_a_stack_has_the_spread_of_what_was_measured_of_it():
    asked = {**ASKED, "hardware": "H100"}
    spreads = {stack: MEMORY.solve(**asked, stack=stack)["memory_spread"] for stack in ("Megatron_LM", "HF_Trainer")}
    assert spreads["Megatron_LM"] < spreads["HF_Trainer"]


def test_a_search_takes_the_probability_as_a_condition():
    grid = {**ASKED, "dp_size": [4, 8, 16, 32], "memory_capacity": f"{PEAK} GB", "memory_spread": 0.05}
    found = MEMORY.search(**grid, minimize="dp_size", subject_to="fit_probability >= 0.95")
    points = [MEMORY.solve(**{**grid, "dp_size": ranks}) for ranks in grid["dp_size"]]
    fits = [ranks for ranks, point in zip(grid["dp_size"], points, strict=True) if point.fit_probability >= 0.95]
    assert found.best["dp_size"] == min(fits)
    assert found.certificate.proven


def test_a_spread_below_zero_is_refused():
    with pytest.raises(InputError, match="memory_spread"):
        MEMORY.solve(**ASKED, hardware="H100", memory_spread=-0.1)
