"""Maxima, minima and remainders as they are written, and as sympy would write them."""

import ast
from pathlib import Path

import pytest
import sympy
from fuzz import rest_long

import mlsysim
from mlsysim.formulas import TOPICS, topic
from mlsysim.models import every_model
from mlsysim.symbolic import Max, Min, Mod
from mlsysim.symbols.training import Z, d
from mlsysim.symbols.workload import L, P, h


def shipped():
    """Every maximum and minimum of our formulas."""
    formulas = (formula for name in TOPICS for formula in topic(name).FORMULAS)
    return list(dict.fromkeys(node for formula in formulas for node in formula.expression.atoms(sympy.Max, sympy.Min)))


def test_they_are_those_of_sympy():
    assert Max(P, h) == sympy.Max(P, h) == sympy.Max(h, P)
    assert Min(P, Min(h, L)) == sympy.Min(P, h, L)
    assert Max(P, Min(h, L)).args == sympy.Max(P, sympy.Min(h, L)).args
    assert Max(P, P) == P
    assert Max(P) == P


def test_numbers_are_settled():
    assert Max(1, 2, Z) == sympy.Max(2, Z)
    assert Min(sympy.Rational(1, 2), 3) == sympy.Rational(1, 2)
    assert Max(sympy.oo, Z) == sympy.oo
    assert Min(sympy.oo, Z) == Z


def test_what_is_no_expression_is_refused():
    with pytest.raises(ValueError, match="not comparable"):
        Max(P, h > L)
    with pytest.raises(sympy.SympifyError):
        Max(P, "h")


def test_expressions_are_not_compared():
    assert Max(d, d + 1).args == (d, d + 1)


@pytest.mark.parametrize("every", rest_long([30, 1], 1))
def test_no_formula_lists_what_another_argument_covers(every):
    nodes = shipped()[::every]
    assert nodes
    for node in nodes:
        assert type(node)(*node.args) == node


def test_a_remainder_is_that_of_sympy():
    assert Mod(L, d) == sympy.Mod(L, d)
    assert Mod(7, 3) == 1
    assert Mod(L, 2) == sympy.Mod(L, 2)


def test_no_requirement_has_a_remainder_that_is_always_the_same():
    requirements = {each for model in every_model() for name in model.variants for each in model(name).requirements}
    nodes = {node for each in requirements for node in each.condition.atoms(sympy.Mod)}
    assert len(nodes) > 20
    for node in nodes:
        assert sympy.Mod(*node.args) == node


def test_formulas_take_them_from_here():
    """sympy's own compare every pair of arguments, which doubles the time of declaring all formulas."""
    for path in [*Path(mlsysim.__path__[0]).glob("formulas/*.py"), *Path(mlsysim.__path__[0]).glob("models/*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "sympy":
                assert not {each.name for each in node.names} & {"Max", "Min", "Mod"}, path.name
