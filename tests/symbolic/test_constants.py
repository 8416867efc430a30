"""Units and labels written into an expression."""

import pytest
import sympy

from mlsysim import units
from mlsysim.errors import UnitError, UnknownNameError
from mlsysim.symbolic import Label, UnitSymbol, byte, flop, label, lower, request, token, variable_of
from mlsysim.symbols.training import optimizer
from mlsysim.symbols.workload import h, precision

AMOUNTS = {
    "byte": 1, "FLOP": 1, "token": 1, "request": 1, "second": 1, "USD": 1, "GB": 10**9, "GiB": 2**30,
    "ms": sympy.Rational(1, 1000), "µs": sympy.Rational(1, 10**6), "GB/s": 10**9, "TFLOP/s": 10**12,
    "bit": sympy.Rational(1, 8), "percent": sympy.Rational(1, 100), "hour": 3600, "year": 31557600, "count": 1,
}  # fmt: skip


@pytest.mark.parametrize("name", AMOUNTS)
def test_a_unit_is_worth_its_canonical_amount_exactly(name):
    unit = UnitSymbol(name)
    assert unit.amount == AMOUNTS[name]
    assert float(unit.amount) == units.factor(name)
    assert unit.dimension == units.dimension(name)


def test_a_unit_must_exist():
    with pytest.raises(UnitError, match="unknown unit 'parsec'"):
        UnitSymbol("parsec")


def test_a_unit_is_a_symbol_of_its_own_kind():
    assert UnitSymbol("byte") == byte
    assert sympy.Symbol("byte", positive=True) != byte
    assert {type(unit) for unit in (byte, flop, token, request)} == {UnitSymbol}
    assert byte.is_positive


def test_lower_puts_the_numbers_in():
    assert lower(34 * byte / token) == 34
    assert lower(2 * UnitSymbol("GiB") / UnitSymbol("ms")) == 2**31 * 1000
    assert lower(h * UnitSymbol("GB")) == 10**9 * h
    assert lower(h + 1) == h + 1


def test_lower_puts_the_codes_of_labels_in():
    assert lower(sympy.Eq(precision, label(precision, "fp16"))) == sympy.Eq(precision, 3)
    assert lower(sympy.Piecewise((2 * byte, sympy.Eq(precision, label(precision, "fp8"))), (byte, True))) == (
        sympy.Piecewise((2, sympy.Eq(precision, 4)), (1, True))
    )


def test_a_label_knows_its_variable_and_code():
    fp16 = label(precision, "fp16")
    assert (fp16.variable_name, fp16.text, fp16.code) == ("precision", "fp16", 3)
    assert type(fp16) is Label
    assert label(optimizer, "none") != label(precision, "fp16")


def test_labels_may_hold_dots_and_spaces(declare):
    from mlsysim.symbolic import choice

    symbol = declare("const_version", "", choice("1.5 bit", "v2.0"))
    assert [label(symbol, text).text for text in ("1.5 bit", "v2.0")] == ["1.5 bit", "v2.0"]
    assert label(symbol, "v2.0").code == 1


def test_an_unknown_label_suggests_the_nearest():
    with pytest.raises(UnknownNameError) as refused:
        label(precision, "fp61")
    assert str(refused.value) == "unknown precision 'fp61': did you mean fp16, fp8, fp32?"


def test_a_lowered_table_is_what_sympy_makes_of_its_numbers():
    """Labels become numbers that are told apart without asking sympy."""
    chosen, other = sympy.Eq(precision, label(precision, "fp16")), sympy.Ne(optimizer, label(optimizer, "adam"))
    table = sympy.Piecewise((2 * byte, chosen & other), (h, other), (0, True))
    swaps = {each: sympy.Integer(variable_of(each.variable_name).code(each.text)) for each in table.atoms(Label)}
    assert lower(table) == table.xreplace({**swaps, byte: sympy.S.One})
