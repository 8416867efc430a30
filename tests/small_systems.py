"""Fixtures of small systems to compile, for the tests of several rooms."""

import pytest

from mlsysim.symbolic import Domain, Formula, Source, System, variable

REAL = Domain()


def number(name):
    """A declared pure number of any sign."""
    return variable(name, name.replace("_", r"\_"), "count", f"The number {name}.", REAL)


@pytest.fixture(scope="session")
def pure():
    """``pure(name)`` declares a variable without a unit."""
    return number


@pytest.fixture(scope="session")
def formula():
    """``formula(symbol, expression)`` without a source of its own."""

    def make(symbol, expression):
        return Formula(symbol, expression, title="test", source=Source("gross2008"), no_example="a test")

    return make


@pytest.fixture(scope="session")
def system_of(formula):
    """``system_of({symbol: expression})``."""

    def make(equations):
        return System([formula(symbol, expression) for symbol, expression in equations.items()])

    return make
