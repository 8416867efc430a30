"""Behaviour of sympy 1.14 that the symbolic room and the compiler lean on, or work around."""

import sympy
from sympy.core.function import ArgumentIndexError

x, y = sympy.symbols("x y", real=True)


def test_symbols_of_one_name_and_other_assumptions_are_not_equal():
    # Why variable() keeps one Symbol per name: a second one would silently be another input.
    assert sympy.Symbol("x", positive=True) != sympy.Symbol("x")


def test_conditions_that_assumptions_decide_are_evaluated_at_once():
    # Why a domain that admits zero is declared nonnegative: with positive, the case r > 0 would vanish.
    assert (sympy.Symbol("r", positive=True) > 0) == True  # noqa: E712
    assert (sympy.Symbol("r", nonnegative=True) > 0) != True  # noqa: E712


def test_substitution_reaches_bound_variables():
    # Why LeastInteger makes its bound variable a Dummy and answers _eval_subs itself:
    # sympy treats the arguments of a plain Expr as free.
    class Bound(sympy.Expr):
        pass

    assert Bound(x, x > y).subs(x, 3).args[0] == 3


def test_a_function_that_refuses_to_be_differentiated_leaves_a_derivative_unevaluated():
    # Erlang C has no derivative by its whole number of servers; whoever differentiates must look for Derivative.
    class Whole(sympy.Function):
        def fdiff(self, argindex=1):
            raise ArgumentIndexError(self, argindex)

    assert Whole(x).diff(x) == sympy.Derivative(Whole(x), x)
