"""Tables: the rules for numbers, the shared units and the alignment."""

import math
from fractions import Fraction

import numpy as np
import pint
import pytest

from mlsysim import Q_, formatting, ureg
from mlsysim.errors import InputError
from mlsysim.show import narrowed, render, table

NUMBERS = [
    (0, "0"),
    (7, "7"),
    (-3, "-3"),
    (8030261248, "8030261248"),
    (0.0, "0.000"),
    (-0.25, "-0.250"),
    (0.0005, "0.0005"),
    (0.003789, "0.00379"),
    (0.00996, "0.010"),
    (0.1, "0.100"),
    (0.43480557, "0.435"),
    (0.994, "0.994"),
    (1.0, "1.00"),
    (1.25, "1.25"),
    (12.045, "12.04"),
    (16.06, "16.06"),
    (99.994, "99.99"),
    (100.0, "100.0"),
    (1299.00147, "1299.0"),
    (-234.88, "-234.9"),
    (999_999.0, "999999.0"),
    (1e6, "1e6"),
    (8.03e9, "8.03e9"),
    (70_553_706_496.0, "7.055e10"),
    (-1e300, "-1e300"),
    (4.9e-4, "0.00049"),
    (5e-5, "5e-5"),
    (3.415e-7, "3.415e-7"),
    (math.inf, "∞"),
    (-math.inf, "-∞"),
    (math.nan, "nan"),
    (np.float64(1.25), "1.25"),
    (np.float32(123.456), "123.5"),
    (np.int64(5), "5"),
    (Fraction(1, 3), "0.333"),
]


@pytest.mark.parametrize(("value", "text"), NUMBERS)
def test_one_decimal_from_100_two_from_1_three_below(value, text):
    assert formatting.number(value) == text


@pytest.mark.parametrize(("value", "text"), NUMBERS)
def test_a_cell_follows_the_same_rule(value, text):
    assert render(["x"], [[value]]).splitlines()[2] == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (Q_(16.06, "GB"), None, "16.06 GB"),
        (Q_(16.06, "GB"), "MB", "16060.0 MB"),
        (Q_(0.100375, "GB"), None, "0.100 GB"),
        (Q_(16, "request"), None, "16 request"),
        (Q_(131.072, "kB/token"), None, "131.1 kB/token"),
        (Q_(0.5, ""), None, "0.500"),
        (Q_(3, "count"), None, "3 count"),
        (Q_(math.inf, "ms"), None, "∞ ms"),
    ],
)
def test_a_quantity_keeps_its_unit_or_takes_the_one_given(value, unit, text):
    assert formatting.quantity(value, unit) == text


def test_canonical_values_print_in_the_unit_asked_for():
    assert formatting.canonical(16.06e9, "GB") == "16.06 GB"
    assert formatting.canonical(0.009754288, "ms") == "9.75 ms"
    assert formatting.canonical(8.03e9, "") == "8.03e9"


def test_first_column_left_others_right_under_a_rule():
    assert render(["Component", "Memory", "n"], [["W", "16.06 GB", 1], ["Buffers", "x", 100]]) == (
        "Component    Memory    n\n────────────────────────\nW          16.06 GB    1\nBuffers           x  100"
    )


def test_cells_wider_than_their_header_widen_the_column():
    assert render(["a", "b"], [["long first cell", "also long"]]) == (
        "a                        b\n──────────────────────────\nlong first cell  also long"
    )


def test_the_rule_is_one_unicode_line_as_wide_as_the_table():
    header, rule, row = render(["Component", "Memory"], [["Weights", Q_(16.06, "GB")]]).splitlines()
    assert set(rule) == {"\u2500"}
    assert len(rule) == len(header) == len(row)


def test_one_column_and_no_rows():
    assert render(["Only"], []) == "Only\n────"
    assert render(["Only"], [["x"]]) == "Only\n────\nx"


def test_no_line_ends_in_blanks():
    assert all(line == line.rstrip() for line in render(["a", "b"], [["x", ""], ["", "y"]]).splitlines())


def test_quantities_of_a_column_share_the_unit_of_the_largest():
    column = [["a", Q_(16.06e9, "byte")], ["b", Q_(100.375, "MB")], ["c", Q_(32.9, "GB")]]
    assert render(["x", "y"], column).splitlines()[2:] == ["a  16.06 GB", "b  0.100 GB", "c  32.90 GB"]


def test_a_quantity_that_would_vanish_takes_its_own_unit():
    column = [["a", Q_(16.06, "GB")], ["b", Q_(4.0, "kB")], ["c", Q_(0.0, "GB")]]
    assert render(["x", "y"], column).splitlines()[2:] == ["a  16.06 GB", "b   4.00 kB", "c  0.000 GB"]


def test_columns_and_dimensions_do_not_share():
    rows = [["a", Q_(2.0, "TB"), Q_(3.0, "MB")], ["b", Q_(9.75e-3, "s"), Q_(5.0, "kB")]]
    assert render(["x", "y", "z"], rows).splitlines()[2:] == ["a  2.00 TB   3.00 MB", "b  9.75 ms  0.005 MB"]


def test_days_and_hours_stay():
    rows = [["a", Q_(4.9123, "day"), Q_(2.87, "hour")], ["b", Q_(12, "hour").to("day"), Q_(0, "hour")]]
    assert render(["x", "y", "z"], rows).splitlines()[2:] == ["a   4.91 d  2.87 h", "b  0.500 d     0 h"]


def test_units_without_prefixes_stay():
    rows = [["a", Q_(131.072, "kB/token")], ["b", Q_(20.0, "QPS")], ["c", 3 * ureg.count], ["d", Q_(4.0, "GB") ** 0.5]]
    assert [line.split("  ", 1)[1].strip() for line in render(["x", "y"], rows).splitlines()[2:]] == [
        "131.1 kB/token",
        "20.00 QPS",
        "3 count",
        "2.00 GB⁰⋅⁵",
    ]


def test_quantities_of_a_foreign_registry_print_like_ours():
    foreign = pint.UnitRegistry()
    assert render(["x", "y"], [["a", foreign.Quantity(16.06e9, "byte")]]).splitlines()[2] == "a  16.06 GB"


def test_text_booleans_and_none_stay_as_they_are():
    rows = [["a", "2.50"], ["b", True], ["c", None], ["d", "Feasible"]]
    assert [line.split()[-1] for line in render(["x", "y"], rows).splitlines()[2:]] == [
        "2.50",
        "True",
        "None",
        "Feasible",
    ]


def test_infinite_and_missing_times_print():
    rows = [["a", Q_(math.inf, "ms")], ["b", Q_(9.75, "ms")]]
    assert render(["x", "y"], rows).splitlines()[2:] == ["a     ∞ ms", "b  9.75 ms"]
    assert render(["x", "y"], [["a", Q_(math.inf, "ms")]]).splitlines()[2:] == ["a  ∞ ms"]
    assert render(["x", "y"], [["a", Q_(math.nan, "ms")]]).splitlines()[2:] == ["a  nan ms"]


def test_table_prints_what_render_says(capsys):
    headers, rows = ["Component", "Memory"], [["Weights", Q_(16.06, "GB")]]
    assert table(headers, rows) is None
    assert capsys.readouterr().out == render(headers, rows) + "\n"


def test_headers_may_be_any_objects():
    assert render([1, None], [["a", "b"]]).splitlines()[0] == "1  None"


@pytest.mark.parametrize(
    ("row", "count"),
    [(["a"], 2), (["a", "b", "c"], 2), ([], 1)],
)
def test_a_row_of_the_wrong_length_is_refused(row, count):
    with pytest.raises(InputError) as caught:
        render(["x"] * count, [["fine"] * count, row])
    assert str(caught.value) == f"rows={row!r}: every row must have {count} cells, one per header"


def test_a_table_without_columns_is_refused():
    with pytest.raises(InputError) as caught:
        render([], [])
    assert str(caught.value) == "headers=[]: a table has at least one column"


@pytest.mark.parametrize("cell", [Q_(np.array([1.0, 2.0]), "GB"), Q_(1j, "GB")])
def test_a_cell_that_is_not_one_real_number_is_refused(cell):
    with pytest.raises(InputError, match="a cell holds one real number, not an array"):
        render(["x"], [[cell]])


def test_a_header_of_several_lines_stands_on_the_rule():
    assert render(["a", "long_\nname"], [["x", 1]]).splitlines() == [
        "   long_",
        "a   name",
        "────────",
        "x      1",
    ]


def test_headers_are_broken_only_as_far_as_they_must():
    headers, rows = ["", "gradient_accumulation_steps", "zero_stage"], [["1", 16, 3]]
    assert narrowed(headers, rows, 100) == headers
    broken = narrowed(headers, rows, 30)
    assert broken == ["", "gradient_\naccumulation_\nsteps", "zero_stage"]
    assert max(map(len, render(broken, rows).splitlines())) <= 30
    assert [header.replace("\n", "") for header in narrowed(headers, rows, 1)] == headers


def test_an_expression_breaks_at_blanks_too():
    (header,) = narrowed(["step_time / batch_size"], [["13.73 ms"]], 12)
    assert header == "step_time /\nbatch_size"
