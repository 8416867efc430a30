"""Least integers, Erlang C, sharding and tables, as sympy objects."""

import pickle

import pytest
import sympy
from fuzz import rest_long

from mlsysim.errors import FormulaError, UnknownNameError
from mlsysim.symbolic import ErlangC, LeastInteger, by_label, byte, choice, label, lower, sharded, variable, when
from mlsysim.symbolic.functions import ErlangCSlope, erlang_c_slope
from mlsysim.symbols.serving import c, load
from mlsysim.symbols.training import Z, d
from mlsysim.symbols.workload import L, P, h

n = sympy.Symbol("n")
LEAST = LeastInteger(n, n * h >= P, L)


def test_a_least_integer_has_its_parts():
    assert (LEAST.n.name, LEAST.upper) == ("n", L)
    assert LEAST.condition == (LEAST.n * h >= P)
    assert LEAST.is_integer
    assert LEAST.is_positive


def test_its_bound_variable_is_its_own():
    assert isinstance(LEAST.n, sympy.Dummy)
    assert LEAST.n != n
    assert LEAST.free_symbols == {h, P, L}
    assert LEAST.bound_symbols == [LEAST.n]
    kept = sympy.Dummy("k", integer=True, positive=True)
    assert LeastInteger(kept, kept > P, L).n is kept


def test_free_symbols_of_the_limit_count_even_where_they_are_named_like_the_bound_one():
    assert LeastInteger(n, n * h >= P, n).free_symbols == {h, P, n}


@pytest.mark.parametrize("replace", ["subs", "xreplace"])
def test_what_is_put_in_is_not_captured(replace):
    put = {"subs": lambda new: LEAST.subs(P, new), "xreplace": lambda new: LEAST.xreplace({P: new})}[replace]
    assert put(n + 1).free_symbols == {h, L, n}
    assert put(n + 1).condition == (LEAST.n * h >= n + 1)
    assert put(2 * h).condition == (LEAST.n * h >= 2 * h)


def test_the_bound_variable_cannot_be_replaced():
    assert LEAST.subs(n, 5) == LEAST
    assert LEAST.subs(LEAST.n, 5) == LEAST
    assert LEAST.xreplace({n: sympy.Integer(5)}) == LEAST
    with pytest.raises(FormulaError) as refused:
        LEAST.xreplace({LEAST.n: sympy.Integer(5)})
    assert str(refused.value) == "the bound variable of a least integer is a symbol, not 5"


def test_replacing_limit_and_condition_keeps_the_rest():
    assert LEAST.subs(L, 7).upper == 7
    assert LEAST.xreplace({h: d}).free_symbols == {d, P, L}
    assert LEAST.func(*LEAST.args) == LEAST
    assert (1 + 2 * LEAST).xreplace({P: h}) == 1 + 2 * LEAST.xreplace({P: h})


def test_its_derivative_is_zero():
    assert LEAST.diff(P) == 0
    assert (P * LEAST).diff(P) == LEAST


def test_two_of_them_in_one_expression_do_not_mix():
    other = LeastInteger(n, n**2 >= P, L)
    assert other != LEAST
    assert (LEAST + other).free_symbols == {h, P, L}


def test_it_survives_pickling():
    assert pickle.loads(pickle.dumps(LEAST)) == LEAST


# --- Erlang C -------------------------------------------------------------------------------------


def test_erlang_c_is_differentiated_by_the_load_alone():
    assert ErlangC(c, load).diff(load) == ErlangCSlope(c, load)
    assert ErlangC(c, load**2).diff(load) == 2 * load * ErlangCSlope(c, load**2)
    assert ErlangC(c, load).diff(c) == sympy.Derivative(ErlangC(c, load), c)
    assert ErlangC(c, load).is_nonnegative


def exact(servers, a):
    """Erlang C as a rational function of the load."""
    last = a**servers / sympy.factorial(servers) * servers / (servers - a)
    return last / (sum(a**k / sympy.factorial(k) for k in range(servers)) + last)


@pytest.mark.parametrize("servers", rest_long([1, 2, 3, 7], quick=3))
def test_the_closed_form_of_its_slope_is_the_derivative(servers):
    """As rational functions, so for every load at once."""
    a = sympy.Symbol("a", positive=True)
    slope = erlang_c_slope(servers, a, exact(servers, a))
    assert sympy.cancel(sympy.together(slope - exact(servers, a).diff(a))) == 0


# --- small words ----------------------------------------------------------------------------------


def test_a_flag_holds_in_a_comparison_of_another_case():
    flag, size = sympy.symbols("flag size", nonnegative=True)
    found = when(size < when(flag, 1, 3), 10, 20)
    assert [found.subs({flag: value, size: 2}) for value in (0, 1)] == [10, 20]


def test_when_is_nothing_otherwise():
    assert when(P > 1, h) == sympy.Piecewise((h, P > 1), (0, True))
    assert when(P > 1, h, 2) == sympy.Piecewise((h, P > 1), (2, True))


optimizer = variable("table_optimizer", "o", "", "Optimizer.", choice("adam", "adamw", "sgd", "none"))


@pytest.mark.parametrize(
    "condition",
    [
        *(Z >= 3, Z >= 3, 2 * Z > 6, sympy.Eq(Z, 1), sympy.Eq(Z, d), sympy.Or(d > h, Z < 1), sympy.true, sympy.false),
        *(sympy.And(Z >= 2, 2 * d > 4), sympy.Not(sympy.And(Z >= 2, d > 1)), sympy.Ne(3, Z)),
    ],
)
def test_its_cases_are_those_that_sympy_writes(condition):
    for values in ((P, 0), (P, P), (sharded(Z >= 3, P), 0), (1, sharded(Z >= 3, P))):
        assert when(condition, *values) == sympy.Piecewise((values[0], condition), (values[1], True))


def test_sharded_is_a_divisor():
    assert sharded(Z >= 3, d) == sympy.Piecewise((d, Z >= 3), (1, True))


def test_a_table_follows_the_declared_labels():
    values = {"none": 0, "sgd": 4 * byte, "adamw": 12 * byte, "adam": 12 * byte}
    table = lower(by_label(optimizer, values))
    found = [table.subs(optimizer, label(optimizer, name).code) for name in values]
    assert found == [0, 4, 12, 12]


@pytest.mark.parametrize(
    "values",
    [
        {"adam": 1, "adamw": 1, "sgd": 1, "none": 1},
        {"adam": 1, "adamw": 1, "sgd": h, "none": h},
        {"adam": h, "adamw": 1, "sgd": 1, "none": P},
        {"adam": h, "adamw": when(P > 1, h), "sgd": when(P > 1, h), "none": 0},
        {"adam": by_label(optimizer, {"adam": h, "adamw": 2, "sgd": 3, "none": 4}), "adamw": 2, "sgd": 3, "none": 4},
        {"adam": 1, "adamw": 2, "sgd": 3, "none": when(sympy.Ne(optimizer, label(optimizer, "adam")), h, P)},
    ],
)
def test_a_table_is_what_sympy_makes_of_its_cases(values):
    *some, last = [(value, sympy.Eq(optimizer, label(optimizer, name))) for name, value in values.items()]
    names = sorted(values, key=["adam", "adamw", "sgd", "none"].index)
    assert names == list(values)
    assert by_label(optimizer, values) == sympy.Piecewise(*some, (last[0], True))


def test_a_table_follows_labels_that_are_declared_anew():
    for labels in (("plain", "ruled"), ("ruled", "plain")):
        paper = variable("paper", "p_1", "", "Paper.", choice(*labels))
        values = {"plain": 2, "ruled": 3}
        table = lower(by_label(paper, values))
        assert [table.subs(paper, code) for code in (0, 1)] == [values[text] for text in labels]


def test_a_table_must_give_every_label_and_no_other():
    with pytest.raises(FormulaError) as refused:
        by_label(optimizer, {"adam": 1, "adamw": 1, "sgd": 1})
    expected = "table over table_optimizer must give exactly adam, adamw, sgd, none; got adam, adamw, sgd"
    assert str(refused.value) == expected
    with pytest.raises(FormulaError, match="must give exactly"):
        by_label(optimizer, {"adam": 1, "adamw": 1, "sgd": 1, "none": 1, "lion": 1})


def test_a_table_needs_a_declared_variable():
    with pytest.raises(UnknownNameError, match="unknown variable 'colour'"):
        by_label(sympy.Symbol("colour"), {"red": 1})
