"""Variables, their domains, and the one registry of names."""

import math
import pickle

import pytest
import sympy

from mlsysim.errors import DuplicateError, FormulaError, UnitError, UnknownNameError
from mlsysim.symbolic import (
    Domain,
    Variable,
    at_least,
    between,
    boolean,
    choice,
    integer,
    nonnegative,
    positive,
    variable,
    variable_of,
)
from mlsysim.symbolic.variable import declaration_order

DOMAINS = {
    "a finite number": (Domain(), r"\mathbb{R}", {"real": True}),
    "a finite number > 0": (positive(), r"(0, \infty)", {"positive": True}),
    "a finite number >= 0": (nonnegative(), r"[0, \infty)", {"nonnegative": True}),
    "a finite number >= 1.5": (at_least(1.5), r"[1.5, \infty)", {"positive": True}),
    "a finite number >= 0 and <= 1": (between(0, 1), "[0, 1]", {"nonnegative": True}),
    "a finite number > 0 and <= 1": (between(0, 1, open_lower=True), "(0, 1]", {"positive": True}),
    "a whole number >= 1": (integer(), r"\mathbb{N}_{\ge 1}", {"integer": True, "positive": True}),
    "a whole number >= 0": (integer(0), r"\mathbb{N}_{\ge 0}", {"integer": True, "nonnegative": True}),
    "a whole number >= 0 and <= 3": (integer(0, 3), r"\{0, \dots, 3\}", {"integer": True, "nonnegative": True}),
    "a whole number": (integer(-math.inf), r"\mathbb{Z}", {"integer": True}),
    "one of red, green": (choice("red", "green"), r"\{\text{red}, \text{green}\}", {"integer": True}),
    "True or False": (boolean(), r"\{\text{false}, \text{true}\}", {}),
}


@pytest.mark.parametrize("words", DOMAINS)
def test_domain_in_words_latex_and_assumptions(words):
    domain, latex, facts = DOMAINS[words]
    assert domain.describe() == words
    assert domain.latex() == latex
    symbol = Variable("x", "x", "count", "X.", domain).symbol
    for fact, value in facts.items():
        assert getattr(symbol, f"is_{fact}") is value


def test_a_domain_that_admits_zero_does_not_decide_a_case():
    assert (Variable("x", "x", "count", "X.", integer(0)).symbol > 0) != True  # noqa: E712
    assert (Variable("x", "x", "count", "X.", integer(1)).symbol > 0) == True  # noqa: E712


@pytest.mark.parametrize("name", ["", "two words", "1x", "x-y", "lambda", "None", "class"])
def test_a_name_must_be_usable_in_python(name):
    with pytest.raises(FormulaError) as refused:
        Variable(name, "x", "count", "X.", positive())
    assert str(refused.value) == f"variable name {name!r} is not a Python identifier"


def test_a_unit_must_exist():
    with pytest.raises(UnitError, match="unknown unit 'parsecs'"):
        Variable("x", "x", "parsecs", "X.", positive())


def test_dimension_is_that_of_the_unit():
    assert Variable("x", "x", "GB/s", "X.", positive()).dimension == {"[information]": 1, "[time]": -1}
    assert Variable("x", "x", "count", "X.", positive()).dimension == {}


def test_labels_have_codes_by_position():
    colour = Variable("colour", "c", "", "Colour.", choice("red", "green"))
    assert [colour.code(label) for label in ("red", "green")] == [0, 1]
    with pytest.raises(UnknownNameError) as refused:
        colour.code("gren")
    assert str(refused.value) == "unknown colour 'gren': did you mean green, red?"


def test_the_same_declaration_again_is_the_same_symbol(declare):
    first = declare("var_again", "GB", positive())
    assert declare("var_again", "GB", positive()) is first
    assert variable_of(first) is variable_of("var_again")


def declared_in(module, name, unit):
    """A declaration as another module would make it."""
    scope = {"__name__": module, "variable": variable}
    exec(f"made = variable({name!r}, 'x', {unit!r}, 'X.')", scope)
    return scope["made"]


def test_another_module_may_repeat_a_declaration_but_not_change_it():
    first = declared_in("first", "var_shared", "GB")
    assert declared_in("second", "var_shared", "GB") is first
    with pytest.raises(DuplicateError) as refused:
        declared_in("second", "var_shared", "GB/s")
    assert str(refused.value) == "variable 'var_shared' is declared in first and, with another meaning, in second"
    assert variable_of("var_shared").unit == "GB"


def test_a_module_may_change_its_own_declaration_as_a_notebook_does():
    declared_in("__notebook__", "var_mine", "GB")
    changed = declared_in("__notebook__", "var_mine", "GB/s")
    assert variable_of("var_mine").unit == "GB/s"
    assert variable_of("var_mine").symbol is changed


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(UnknownNameError) as refused:
        variable_of("optimiser")
    assert str(refused.value).startswith("unknown variable 'optimiser': did you mean optimizer")


def test_declaration_order_is_kept(declare):
    for name in ("var_z", "var_a", "var_m"):
        declare(name)
    place = declaration_order()
    assert place["var_z"] < place["var_a"] < place["var_m"]


def test_a_variable_survives_pickling_as_itself(declare):
    entry = variable_of(declare("var_pickled", "GB", positive()))
    assert pickle.loads(pickle.dumps(entry)) is entry


def test_a_variable_that_is_not_declared_stays_so():
    entry = Variable("var_loose", "x", "GB", "X.", positive())
    copy = pickle.loads(pickle.dumps(entry))
    assert (copy.name, copy.symbol, copy.signature()) == (entry.name, entry.symbol, entry.signature())
    with pytest.raises(UnknownNameError):
        variable_of("var_loose")


def test_a_pickle_cannot_change_what_is_declared_here():
    declared_in("__notebook__", "var_moved", "GB")
    sent = pickle.dumps(variable_of("var_moved"))
    declared_in("__notebook__", "var_moved", "GB/s")
    with pytest.raises(DuplicateError) as refused:
        pickle.loads(sent)
    assert str(refused.value) == (
        "variable 'var_moved' is declared in __notebook__ and, with another meaning, in a pickle"
    )


def test_symbols_are_plain_and_named_alike(declare):
    symbol = declare("var_plain")
    assert type(symbol) is sympy.Symbol
    assert symbol.name == "var_plain"
