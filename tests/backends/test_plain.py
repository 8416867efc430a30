"""Code rewritten for plain floats gives the bits of NumPy's scalars, or no answer."""

import itertools
import math
import struct

import numpy as np
import pytest
import sympy

from mlsysim.backends import compiled, plain, plain_function, scalar
from mlsysim.symbolic import LeastInteger, NormalCDF, NormalQuantile, Root

NUMBERS = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 1e-300, 1e300, -1e300, 710.0, -800.0, math.inf]
#: Functions that plain code need not have: they work on arrays, or are written out.
WRITTEN_OUT = {"where", "maximum", "minimum", "mod"}


@pytest.fixture(scope="module")
def names(pure):
    return [pure(f"plain_{name}") for name in "abcyn"]


def rewritten(system, moving):
    """The code of a system of which these inputs move."""
    reading = {name: f"{name} = float(_given[{name!r}])" for name in moving}
    found = plain_function(compiled(system), reading, None)
    assert found is not None
    return found


def outputs(found, system, values):
    """What it says at one point, where the other inputs are known."""
    known = {**values, **compiled(system)(values)}
    numbers = found.make(*(known[name] for name in found.known))(values)
    return None if numbers is None else dict(zip(found.outputs, numbers[-len(found.outputs) :], strict=True))


def bits(value):
    return "nan" if value != value else struct.pack("<d", value)


EXPRESSIONS = {
    "sum": lambda a, b, c: a + b * c - c / 3,
    "quotient": lambda a, b, c: a / b + c,
    "whole power": lambda a, b, c: a**2 + b**-3,
    "real power": lambda a, b, c: sympy.Pow(a, b, evaluate=False) + c,
    "root": lambda a, b, c: sympy.sqrt(a) + b / sympy.sqrt(c),
    "logarithm": lambda a, b, c: sympy.log(a) * sympy.exp(b),
    "extremes": lambda a, b, c: sympy.Max(a, b, c) - sympy.Min(a * b, c, 2),
    "rounding": lambda a, b, c: sympy.ceiling(a / 7) + sympy.floor(b) * sympy.Mod(a, 3),
    "size": lambda a, b, c: sympy.Abs(a - b),
    "cases": lambda a, b, c: sympy.Piecewise((a / b, (b > 0) & (c >= 1)), (a * c, sympy.Or(a < 0, b < 0)), (c, True)),
    "no case": lambda a, b, c: sympy.Piecewise((a, b > 1), (c, b < -1)),
    "infinite": lambda a, b, c: c * sympy.Piecewise((a, b > 0), (sympy.oo, True)),
    "normal": lambda a, b, c: NormalCDF(a) + NormalQuantile(b) * c,
}


@pytest.mark.parametrize("name", EXPRESSIONS)
@pytest.mark.parametrize("moving", [(0, 1, 2), (0,), (1,)])
def test_the_bits_are_those_of_scalars(names, system_of, name, moving):
    *inputs, y, _ = names
    system = system_of({y: EXPRESSIONS[name](*inputs)})
    found = rewritten(system, [inputs[place].name for place in moving])
    answered = 0
    for numbers in itertools.product(NUMBERS, repeat=3):
        values = {symbol.name: value for symbol, value in zip(inputs, numbers, strict=True)}
        said = outputs(found, system, values) if found.outputs else None
        if said is not None:
            answered += 1
            assert bits(said[y.name]) == bits(compiled(system)(values)[y.name]), values
    assert answered > 200 or not found.outputs


@pytest.mark.parametrize(("load", "limit"), [(0.5, 10.0), (7.3, 50.0), (7.3, 5.0), (9.0, 1.0)])
def test_least_integers_and_roots(names, system_of, load, limit):
    a, b, _, y, n = names
    for expression in (LeastInteger(n, n * 0.9 > a, upper=b), Root(n, n**2 - 3, a / 7, lower=0, upper=b)):
        system = system_of({y: expression})
        values = {a.name: load, b.name: limit}
        found = outputs(rewritten(system, [a.name]), system, values)
        assert bits(found[y.name]) == bits(compiled(system)(values)[y.name])


def test_what_is_no_number_is_no_answer(names, system_of):
    a, b, c, y, _ = names
    system = system_of({y: c * sympy.Piecewise((a / b, b > 0), (a, b < 0))})
    values = {a.name: 1.0, b.name: 0.0, c.name: 1.0}
    assert outputs(rewritten(system, [a.name, b.name]), system, values) is None


def test_a_known_division_by_zero_is_that_of_scalars(names, system_of):
    a, b, c, y, _ = names
    values = {a.name: 2.0, b.name: 0.0, c.name: 3.0}
    system = system_of({y: a + c / b})
    found = outputs(rewritten(system, [a.name]), system, values)
    assert found[y.name] == math.inf


def test_every_function_of_scalars_has_a_plain_form():
    assert scalar.NAMESPACE.keys() - plain.NAMESPACE.keys() == WRITTEN_OUT | plain._OF_ARRAYS


def test_no_warning_leaves(names, system_of):
    a, _, _, y, _ = names
    system = system_of({y: sympy.exp(a) + sympy.log(a)})
    solved = rewritten(system, [a.name]).make()
    with np.errstate(all="warn"):
        answers = [solved({a.name: number}) is not None for number in NUMBERS]
    assert answers == [number >= 0 for number in NUMBERS]  # of others there is no logarithm
