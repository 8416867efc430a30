"""Software stacks of training steps give the rows they were calibrated on, and errors stay where they are printed."""

import numpy as np
import pytest
from validation.calibrate_steps import BY_NAME, FITS, known, steps
from validation.published_steps import DENSE, experts_left_out, speed_errors, spread
from validation.step_rows import CALIBRATED, name, seconds, speed_error, stack_of
from validation.training_steps import FAMILIES, SAMPLE, WHOLE, drawn, errors, left_out, orders, rows, spreads, worse

SINGLE = [(stack, rows[0]) for stack, values in CALIBRATED.items() for _, rows, *_ in values if len(rows) == 1]


@pytest.mark.parametrize(("stack", "row"), SINGLE)
def test_a_stack_gives_the_row_it_was_calibrated_on(stack, row):
    """To the digits its values are written with; a row that no value reaches is as near as a limit gets."""
    reached = 0.06 if row.endswith("L3 70B fp8 h100") else 0.01
    assert abs(speed_error(BY_NAME[row], stack=stack_of(BY_NAME[row]))) < reached


def test_dense_steps():
    assert spread(speed_errors(DENSE, stacks=True))[0] < 0.05
    assert spread(speed_errors(DENSE, stacks=False))[0] < 0.11


def test_steps_that_the_host_binds():
    """The device alone would be a quarter as fast again to more than twice as fast."""
    errors = experts_left_out()
    for case, slower in (("GPTOSS h100", 1.2), ("Qwen30 fp8 h100", 2)):
        row = BY_NAME[f"megatron_bridge {case}"]
        assert abs(errors[name(row)]) < 0.1
        with_host, without = (seconds(row, stack=stack_of(row), **clock) for clock in ({}, {"host_operation_time": 0}))
        assert with_host > slower * without


def test_steps_with_experts():
    """Values of experts come from later editions of Megatron-Bridge than these rows."""
    assert spread(error for row, error in experts_left_out().items() if row.startswith("megatron_bridge"))[0] < 0.06


def medians(whole):
    return {each.what: each.median for each in spreads(whole)}


def test_every_family_is_in_the_sample_and_layouts_are_in_order():
    assert all(errors(family, False, True) for family in FAMILIES)
    assert len(rows(False)) < 130
    assert medians(False)["Dense, with stacks"] < 0.05
    assert np.mean(orders(False, "vtrain_single")) >= 0.7
    assert orders(False, "moe zoo layouts")[0] >= 0.7


@pytest.mark.long
@pytest.mark.skipif(not WHOLE.exists(), reason="its rows are not here")
def test_all_rows_that_were_shown():
    found = medians(True)
    assert found["Dense, with stacks"] < 0.05
    assert found["Experts of Megatron-Bridge, with stacks"] < 0.06
    assert found["MaxText, with stacks"] < 0.04
    assert found["vTrain, up to eight A100: stack"] < 0.09
    assert found["All, with defaults"] < 0.11
    assert found["All but vTrain's nodes, with defaults"] < 0.11
    assert np.mean(orders(True, "vtrain_single")) >= 0.83
    assert orders(True, "moe zoo layouts")[0] >= 0.7
    assert spread(left_out("Megatron_Bridge", experts=True))[0] < 0.08
    assert len(worse()) <= 2


@pytest.mark.long
@pytest.mark.skipif(not WHOLE.exists(), reason="its rows are not here")
@pytest.mark.parametrize("fit", FITS, ids=lambda fit: fit.name)
def test_stacks_have_the_values_that_their_rows_say(fit):
    found, errors = steps(fit).fitted(fit.values)
    for (argument, stacks), value, error in zip(fit.values, found, errors, strict=True):
        for stack in stacks:
            assert abs(known(stack, argument) - value) < max(0.3 * error, 0.006 * value), (stack, argument)


@pytest.mark.long
@pytest.mark.skipif(not WHOLE.exists(), reason="its rows are not here")
def test_the_sample_is_drawn_from_all_rows():
    whole = drawn()
    for each, table in SAMPLE["sets"].items():
        assert table["rows"] == whole[each]["rows"], each
