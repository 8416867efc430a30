"""A total that people draw in parts has no part without a name."""

import math

import pytest
import sympy

from mlsysim.models import every_model

TOTALS = ("total_memory", "step_time", "total_cost")
#: Multiply every part of a step alike.
FACTORS = {"slowest_factor", "rest_stretch"}
CASES = [
    (model, variant, name)
    for model in every_model()
    for variant in model.variants
    for name in TOTALS
    if name in model(variant).system
]


def parts(system, name):
    """Names of the terms of a total, and the common factors of each."""
    total = system[name].expression
    if isinstance(total, sympy.Max):  # of a rank between the ends of a pipeline, and of one with both
        assert all(arg.is_Symbol for arg in total.args)
        return dict.fromkeys(map(str, total.args), frozenset())
    terms = sympy.Add.make_args(sympy.expand(total))
    named = {}
    for term in terms:
        symbols = {str(symbol) for symbol in sympy.Mul.make_args(term) if symbol.is_Symbol}
        assert len(symbols) == len(sympy.Mul.make_args(term)), f"{term} has no name"
        (part,) = symbols - FACTORS
        named[part] = symbols & FACTORS
    assert len(named) == len(terms)
    return named


@pytest.mark.parametrize(("model", "variant", "name"), CASES)
def test_every_term_of_a_total_is_a_named_quantity(model, variant, name):
    assert parts(model(variant).system, name)


#: The example of a deployment has no rent, of which none is assumed.
PRICED = [model for model, _, _ in CASES if model.__name__ != "ServingModel"]


@pytest.mark.parametrize("model", dict.fromkeys(PRICED))
def test_the_named_parts_add_up_to_the_total(model):
    found = model.solve_example()
    seen = [name for name in TOTALS if name in found.outputs]
    assert seen
    for name in seen:
        terms = parts(found.model.system, name)
        values = [math.prod(map(found.canonical, (part, *factors))) for part, factors in terms.items()]
        either = isinstance(found.model.system[name].expression, sympy.Max)
        assert math.isclose((max if either else sum)(values), found.canonical(name), rel_tol=1e-12)
