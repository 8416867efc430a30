"""Domains of outputs: derived from those of what they are made of, and held against what is declared."""

import pytest
import sympy
from sympy import Eq, Mod, ceiling, exp, floor

from mlsysim.errors import FormulaError, InputError, ModelError
from mlsysim.models import PerformanceModel
from mlsysim.symbolic import (
    ErlangC,
    LeastInteger,
    Max,
    Min,
    NormalCDF,
    Requirement,
    System,
    at_least,
    between,
    integer,
    nonnegative,
    positive,
    request,
    variable,
    variable_of,
    when,
)
from mlsysim.symbolic.ranges import range_of

x = variable("range_x", "x_{rg}", "", "Any real number.")
p = variable("range_p", "p_{rg}", "", "Above zero.", positive())
u = variable("range_u", "u_{rg}", "", "A share.", between(0, 1))
n = variable("range_n", "n_{rg}", "", "A number of things.", integer(1))
k = variable("range_k", "k_{rg}", "", "Some of these.", integer(1), not_above=n)
s = variable("range_s", "s_{rg}", "", "Sold units.", positive())


def test_a_variable_without_a_domain_is_any_real_number():
    assert variable_of(x).domain.describe() == "a finite number"
    assert (x.is_real, x.is_positive, x.is_nonnegative) == (True, None, None)


@pytest.mark.parametrize(
    ("expression", "lower", "upper"),
    [
        (p * u + 2, 2, sympy.oo),
        (1 - u, 0, 1),
        (u * (1 - u), 0, 1),
        (x**2, 0, sympy.oo),
        (1 / (1 + p), 0, 1),
        (p / (p + n), 0, 1),
        (k / n, 0, 1),
        (n - k, 0, sympy.oo),
        (1 - k / n, 0, 1),
        (n / k - 1, 0, sympy.oo),
        (Max(x, p) - x, 0, sympy.oo),
        (p - Min(p, x), 0, sympy.oo),
        (ceiling(p) - p, 0, 1),
        (n - ceiling(n / k), 0, sympy.oo),
        (exp(-p), 0, 1),
        (1 - (1 - 1 / n) ** k, 0, 1),
        (when(x > 3, x - 3, u), 0, sympy.oo),
        (when(x < p, p - x, 0), 0, sympy.oo),
        (u * (p - n) + n, 0, sympy.oo),
        (ErlangC(n, p), 0, 1),
        (1 - 2 * NormalCDF(-p), 0, 1),
        (LeastInteger(sympy.Symbol("m"), sympy.Symbol("m") > p, 100), 1, sympy.oo),
        (Mod(n, k), 0, sympy.oo),
        (floor(u), 0, 1),
        (s * p - n, -sympy.oo, sympy.oo),
    ],
)
def test_the_range_of_an_expression(expression, lower, upper):
    found = range_of(expression)
    assert (found.lower, found.upper) == (float(lower), float(upper))


def test_an_output_outside_its_declared_domain_is_refused(formula):
    gain = variable("range_gain", "g_{rg}", "", "What is left.", nonnegative())
    with pytest.raises(FormulaError) as refused:
        formula(gain, s * p - n)
    said = (
        "formula for range_gain: the right side could not be shown to be >= 0, as range_gain is declared (a finite "
        "number >= 0); from the domains of its inputs follows any real number. Declare range_gain without a domain"
    )
    assert str(refused.value).startswith(said)
    assert formula(gain, Max(0, s * p - n)).variable.domain == nonnegative()


@pytest.mark.parametrize(
    ("domain", "right"), [(integer(1), p), (between(0, 1), 2 * u), (positive(), u), (at_least(2), n)]
)
def test_whole_numbers_shares_and_open_ends_are_checked(formula, domain, right):
    out = variable(f"range_out_{domain.kind}_{right}".replace("*", "_"), rf"o_{{{right}}}", "", "An output.", domain)
    with pytest.raises(FormulaError, match="the right side could not be shown to be"):
        formula(out, right)


@pytest.mark.parametrize(
    ("domain", "right", "not_shown", "derived"),
    [
        (nonnegative(), x**2 - 2 * x * p + p**2, ">= 0", "any real number"),
        (integer(1), n * (n + 1) / 2, "whole", ">= 1"),
        (positive(), p * (x + 1) ** 2, "> 0", ">= 0"),
        (between(0, 1), x, ">= 0 and <= 1", "any real number"),
        (integer(1), x, "whole and >= 1", "any real number"),
    ],
)
def test_a_refusal_claims_no_more_than_was_derived(formula, domain, right, not_shown, derived):
    out = variable(f"range_out_{sympy.count_ops(right)}_{domain.kind}", f"o_{{{right}}}", "", "An output.", domain)
    with pytest.raises(FormulaError) as refused:
        formula(out, right)
    assert f"the right side could not be shown to be {not_shown}, as " in str(refused.value)
    assert f"follows {derived}. Declare " in str(refused.value)
    assert " may be " not in str(refused.value)


def test_a_count_over_one_of_a_unit_is_whole():
    assert range_of(n / request).whole
    assert not range_of(n / 2).whole
    assert not range_of(1 / n).whole


def test_an_order_of_two_variables_is_checked_and_required(formula):
    with pytest.raises(FormulaError, match="range_k is declared never to exceed range_n, but here it may"):
        formula(k, 2 * n)
    assert formula(k, Min(n, 7)).name == "range_k"
    rest = variable("range_rest", "r_{rg}", "", "The others.", integer(0))
    variants = {"v": (formula(rest, n - k),)}
    unsaid = type("Unordered", (PerformanceModel,), {"__doc__": "How many?", "variants": variants})
    with pytest.raises(InputError, match="range_k=6: must be at most range_n=5"):
        unsaid().solve(range_n=5, range_k=6)
    held = (Requirement(k, k <= n, "must be at most {range_n}"),)
    model = type("Ordered", (PerformanceModel,), {"__doc__": "How many?", "variants": variants, "requirements": held})
    assert model().requirements == held
    assert model().solve(range_n=5, range_k=2)["range_rest"] == unsaid().solve(range_n=5, range_k=2)["range_rest"] == 3


def test_a_premise_on_what_a_formula_computes_is_refused(formula):
    some = variable("range_some", "s_{rg}", "", "Some.", integer(1))
    ways = variable("range_ways", "w_{rg}", "", "Groups.", integer(1))
    variants = {"v": (formula(some, k + 1), formula(ways, n / some, given=Eq(Mod(n, some), 0)))}
    with pytest.raises(ModelError, match=r"range_ways stays in its domain only where .*: add a Requirement of it"):
        type("Computed", (PerformanceModel,), {"__doc__": "How many?", "variants": variants})


def test_a_whole_quotient_is_given_where_a_model_requires_it(formula):
    ways = variable("range_ways", "w_{rg}", "", "Groups.", integer(1))
    given = Eq(Mod(n, k), 0)
    assert formula(ways, n / k, given=given).given == given
    with pytest.raises(FormulaError, match=r"could not be shown to be whole, as .* follows >= 1"):
        formula(ways, n / k)


def test_a_relaxed_formula_may_lie_between_whole_numbers(formula):
    whole = variable("range_whole", "W_{rg}", "", "Whole.", integer(1))
    assert System([formula(whole, ceiling(p))]).relax()["range_whole"].expression == p
