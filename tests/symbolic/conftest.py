"""Declaring variables and formulas briefly."""

import pytest

from mlsysim.symbolic import Domain, Formula, Source, variable


@pytest.fixture(scope="session")
def declare():
    """``declare(name, unit)`` with the name as its LaTeX."""

    def make(name, unit="count", domain=None, latex=None):
        return variable(name, latex or name, unit, f"The quantity {name}.", domain or Domain())

    return make


@pytest.fixture(scope="session")
def formula():
    """``formula(symbol, expression)`` without an example."""

    def make(symbol, expression, **more):
        return Formula(
            symbol, expression, **{"title": "test", "source": Source("gross2008"), "no_example": "a test", **more}
        )

    return make
