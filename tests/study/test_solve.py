"""Solving at one point, and on a grid: what has no value there is said, not shown."""

import numpy as np
import pytest

from mlsysim import Formula, PerformanceModel, Source, between, integer, nonnegative, variable
from mlsysim.errors import UndefinedError
from mlsysim.inputs.recurring import CALLS_BEFORE

share = variable("solve_share", "a", "", "Chance that a letter arrives.", between(0, 1))
letters = variable("solve_letters", "n", "", "Letters sent.", integer(1))
price = variable("solve_price", "p", "", "Price of a letter.", nonnegative())
answered = variable("solve_answered", "r", "", "Letters until one is lost.", nonnegative())
cost = variable("solve_cost", "c", "", "Cost of the letters.", nonnegative())
SERIES = Formula(answered, (1 - share**letters) / (1 - share), "Letters", Source("own"), no_example="a test")
COST = Formula(cost, price * answered, "Cost", Source("own"), no_example="a test")


class LettersModel(PerformanceModel):
    """How many letters arrive in a row?"""

    variants = {"series": (SERIES, COST)}


class CountedLettersModel(PerformanceModel):
    """What do letters cost?"""

    variants = {"series": (SERIES, Formula(cost, price * letters, "Cost", Source("own"), no_example="a test"))}
    headline = ("solve_cost",)


def test_zero_over_zero_is_refused_with_the_formula_and_what_it_was_given():
    with pytest.raises(UndefinedError) as caught:
        LettersModel().solve(solve_share=1, solve_letters=4, solve_price=0)
    assert str(caught.value) == (
        "solve_answered = (1 − a^n)/(1 − a) is not a number at solve_letters=4, solve_share=1.00; "
        "give the formula a case for it, or an input a domain without it"
    )


def test_elsewhere_it_has_its_value():
    found = LettersModel().solve(solve_share=0.5, solve_letters=4, solve_price=2)
    assert (found.solve_answered, found.solve_cost) == (1.875, 3.75)


def test_a_step_that_no_headline_needs_is_defined_too():
    """Also where the same call came often, with other numbers."""
    model = CountedLettersModel()
    for letters in range(1, 2 * CALLS_BEFORE):
        assert model.solve(solve_share=0.5, solve_letters=letters, solve_price=2).solve_cost == 2 * letters
    with pytest.raises(UndefinedError, match="solve_answered = "):
        model.solve(solve_share=1, solve_letters=4, solve_price=2)


def test_a_sweep_refuses_points_without_a_value_or_counts_them():
    given = {"solve_letters": [1, 4], "solve_share": [0.5, 1], "solve_price": 2}
    with pytest.raises(UndefinedError, match=r"solve_answered = .* at solve_letters=1, solve_share=1\.00"):
        LettersModel().sweep(**given)
    with pytest.raises(UndefinedError):
        LettersModel().sweep(**given, block_points=1)
    found = LettersModel().sweep(**given, refused="mask")
    assert (found.attrs["undefined_points"], found.attrs["refused_points"]) == (2, 0)
    assert np.isnan(found.solve_cost.values).sum() == 2
    assert "undefined_points" not in LettersModel().sweep(**{**given, "solve_share": [0.5]}, refused="mask").attrs
