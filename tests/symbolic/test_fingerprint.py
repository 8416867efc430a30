"""The digest of expressions: the same in every process, another for whatever would be printed otherwise."""

import os
import subprocess
import sys

import pytest
import sympy
from fuzz import rest_long

from mlsysim.models import TrainingMemoryModel
from mlsysim.symbolic import LeastInteger, UnitSymbol, label, variable_of
from mlsysim.symbolic.fingerprint import fingerprint

x, y = sympy.symbols("x y", positive=True)
SCRIPT = """
from mlsysim.models import TrainingMemoryModel
from mlsysim.symbolic.fingerprint import fingerprint
print(fingerprint([formula.expression for formula in TrainingMemoryModel("per_operator").system]))
"""


def of_memory():
    return fingerprint([formula.expression for formula in TrainingMemoryModel("per_operator").system])


@pytest.mark.parametrize("seed", rest_long(["1", "2"], quick=1))
def test_another_process_gives_the_same(seed):
    env = {**os.environ, "PYTHONHASHSEED": seed}
    found = subprocess.run([sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == of_memory()


optimizer = variable_of("optimizer").symbol
OTHERS = [
    x + y,
    x - y,
    x + 1,
    x + 1.0,
    x + sympy.Rational(1, 2),
    x * y,
    x**y,
    sympy.Symbol("x") + y,
    sympy.Symbol("x", nonnegative=True) + y,
    sympy.Max(x, y),
    sympy.Min(x, y),
    sympy.Piecewise((x, x > y), (y, True)),
    sympy.Piecewise((x, x >= y), (y, True)),
    sympy.Piecewise((y, x > y), (x, True)),
    x * UnitSymbol("byte"),
    x * UnitSymbol("GB"),
    sympy.Eq(optimizer, label(optimizer, "adam")),
    sympy.Eq(optimizer, label(optimizer, "sgd")),
    sympy.oo,
    -sympy.oo,
    sympy.true,
    sympy.pi * x,
    sympy.E * x,
]


def test_what_differs_has_another():
    found = [fingerprint([each]) for each in OTHERS]
    assert all(found)
    assert len({*found}) == len(found)
    assert fingerprint([x, y]) != fingerprint([y, x])
    assert fingerprint([x, y]) != fingerprint([x + y])


def test_bound_symbols_count_by_where_they_stand():
    def least(name, load):
        n = sympy.Dummy(name, integer=True, positive=True)
        return LeastInteger(n, n * x >= load, 100)

    assert fingerprint([least("n", y)]) == fingerprint([least("n", y)])
    assert fingerprint([least("n", y)]) != fingerprint([least("m", y)])
    assert fingerprint([least("n", y)]) != fingerprint([least("n", 2 * y)])
    first, second = (sympy.Dummy("n", integer=True, positive=True) for _ in range(2))
    assert fingerprint([first, second, first]) != fingerprint([first, second, second])


def test_functions_of_somebody_else_have_none():
    class Mine(sympy.Function):
        """Its name says nothing of what it prints."""

    assert fingerprint([x + Mine(y)]) == ""
    assert fingerprint([sympy.Function("f")(x)]) == ""
