"""Conditions and objectives on outputs that may be zero or negative are answered by what is computed."""

import pytest

from mlsysim import Formula, PerformanceModel, ServingModel, Source, TrainingMemoryModel, positive, variable

sold = variable("sold_units", r"s_{\mathrm{sold}}", "", "Units sold.", positive())
price = variable("unit_price", r"v_{\mathrm{unit}}", "USD", "Price of one.", positive())
cost = variable("fixed_cost", r"c_{\mathrm{fix}}", "USD", "What is paid anyhow.", positive())
gain = variable("profit", r"p_{\mathrm{profit}}", "USD", "What is earned.")


class Shop(PerformanceModel):
    """How much is earned?"""

    variants = {
        "plain": (Formula(gain, sold * price - cost, title="Profit", source=Source("own"), no_example="a test"),)
    }


ASKED = {"sold_units": [1, 2, 3], "unit_price": "1 USD", "fixed_cost": ["100 USD", "2 USD"]}


@pytest.mark.parametrize("method", ["bounds", "dense"])
@pytest.mark.parametrize(
    ("objective", "condition", "best"),
    [
        ("profit", "profit >= 0 USD", 0),
        ("profit", "abs(profit) <= 1 USD", -1),
        ("abs(profit)", "profit < 0 USD", -1),
        ("max(0 USD, profit) - profit", "not profit >= 0 USD", -1),
        ("profit", "max(0 USD, profit) == 0 USD", -99),
    ],
)
def test_a_loss_is_a_loss(method, objective, condition, best):
    found = Shop().search(**ASKED, minimize=objective, subject_to=condition, method=method)
    assert found.certificate.proven
    assert found[0]["profit"].magnitude == best


def test_an_output_that_is_zero_everywhere_meets_a_condition_of_zero():
    found = TrainingMemoryModel("per_operator").search(
        model="Llama3_70B", hardware="H200", precision="bf16", batch_size=[128, 256], dp_size=8, zero_stage=3,
        minimize="total_memory", subject_to="shared_parameters_per_rank == 0", allow_infeasible=True,
        method="bounds",
    )  # fmt: skip
    assert found.certificate.proven
    assert found[0]["batch_size"] == 128


def test_a_quantile_below_the_mean_is_found():
    point = {"model": "Llama3_1_8B", "hardware": "H200", "precision": "bf16", "isl": 512, "osl": 64}
    found = ServingModel("colocated").search(
        **point, tp_size=[1, 2], request_rate=2, num_replicas=2, max_num_seqs=64, minimize="e2e_p50",
        subject_to="e2e_p50_beyond <= 0 ms", method="bounds",
    )  # fmt: skip
    assert found.certificate.proven
    assert found[0]["e2e_p50_beyond"].magnitude < 0
