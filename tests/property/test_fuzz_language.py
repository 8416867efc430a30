"""Declaring variables, formulas and systems: what is malformed is refused with a documented error."""

import math
from decimal import Decimal

import pytest
import sympy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mlsysim import Example, Formula, Source, System, TrainingMemoryModel, variable
from mlsysim.engine import compiled
from mlsysim.errors import MlsysimError
from mlsysim.symbolic import (
    ErlangC,
    LeastInteger,
    Variable,
    at_least,
    between,
    by_label,
    byte,
    choice,
    flop,
    integer,
    label,
    nonnegative,
    positive,
    request,
    token,
    variable_of,
    when,
)
from mlsysim.symbols.hardware import F, M_cap
from mlsysim.symbols.serving import bottleneck, mu, qps
from mlsysim.symbols.training import W, Z, b, d, m, optimizer
from mlsysim.symbols.workload import P, h, q, s

SOURCE = Source("kaplan2020", "section 2")


def fuzzing(examples):
    return settings(derandomize=True, deadline=None, max_examples=examples, suppress_health_check=list(HealthCheck))


def attempt(call):
    try:
        return call()
    except MlsysimError as error:
        assert str(error)
        return None


UNITS = st.one_of(
    st.sampled_from(["GB", "GB/s", "", "count", "token", "QPS", "GX", "GB/", "9**9**9", "GB zork", "1/s", "%", " "]),
    st.text(max_size=6),
)
NAMES = st.one_of(
    st.text(max_size=5), st.from_regex(r"fuzz_[a-z]{1,6}", fullmatch=True), st.sampled_from(["class", "P"])
)
BOUNDS = st.one_of(st.floats(), st.integers(-3, 3))
DOMAINS = st.one_of(
    st.builds(positive),
    st.builds(nonnegative),
    st.builds(at_least, BOUNDS),
    st.builds(between, BOUNDS, BOUNDS),
    st.builds(integer, BOUNDS, BOUNDS),
    st.lists(st.text(max_size=3), max_size=3).map(lambda labels: choice(*labels)),
)


@fuzzing(500)
@given(NAMES, st.text(max_size=6), UNITS, st.text(max_size=10), DOMAINS, st.booleans())
def test_variables(name, latex, unit, description, domain, named_unit):
    found = attempt(lambda: Variable(name, latex, unit, description, domain, named_unit))
    if found is not None:
        assert found.symbol.name == name
        assert found.domain.describe()
        assert found.domain.latex()


LEAVES = st.one_of(
    st.sampled_from([P, h, s, b, d, q, W, M_cap, F, qps, mu, Z, optimizer, bottleneck, byte, flop, token, request]),
    st.sampled_from([label(optimizer, "adam"), sympy.oo, -sympy.oo, sympy.nan, sympy.zoo, sympy.pi, sympy.I]),
    st.integers(-3, 5).map(sympy.Integer),
    st.fractions(max_denominator=9).map(lambda x: sympy.Rational(x.numerator, x.denominator)),
    st.floats(allow_nan=True).map(sympy.Float),
    st.sampled_from([sympy.Symbol("undeclared"), sympy.true, sympy.Function("f")(P), sympy.sin(P)]),
)
HEADS = st.sampled_from(
    [sympy.Add, sympy.Mul, sympy.Pow, sympy.Max, sympy.Min, sympy.Mod, sympy.Eq, sympy.Le, sympy.Lt, ErlangC]
)
SINGLE = st.sampled_from([sympy.ceiling, sympy.floor, sympy.log, sympy.exp, sympy.sqrt, sympy.Abs, lambda x: -x])


@st.composite
def expressions(draw, depth=3):
    if depth == 0 or draw(st.booleans()):
        return draw(LEAVES)
    inner = expressions(depth=depth - 1)
    shape = draw(st.sampled_from(["pair", "pair", "single", "when", "least"]))
    if shape == "pair":
        return draw(HEADS)(draw(inner), draw(inner))
    if shape == "single":
        return draw(SINGLE)(draw(inner))
    if shape == "when":
        return when(draw(st.sampled_from([sympy.Gt(Z, 1), sympy.Le(P, 2), sympy.true])), draw(inner), draw(inner))
    n = sympy.Dummy("n", integer=True, positive=True)
    return LeastInteger(n, n * mu > qps, draw(inner))


SYMPY_REFUSES = (TypeError, ValueError, NotImplementedError, ZeroDivisionError, AttributeError, RecursionError)


@fuzzing(800)
@given(st.data())
def test_formulas(data):
    """Sympy itself refuses some combinations as they are written; those never reach us."""
    try:
        expression = data.draw(expressions())
    except SYMPY_REFUSES:
        return
    left = data.draw(st.sampled_from([W, m, qps, b, bottleneck]))
    found = attempt(lambda: Formula(left, expression, title="t", source=SOURCE, no_example="none"))
    if found is None:
        return
    assert found.text()
    assert found.latex()
    assert found.latex(units=True)
    assert found.constants() is not None
    system = attempt(lambda: System([found]))
    function = attempt(lambda: compiled(system))
    assert function is None or function.outputs == (found.name,)


@fuzzing(300)
@given(st.text(max_size=10), st.one_of(st.floats(), st.text(max_size=3)))
def test_results_of_examples(result, value):
    found = attempt(lambda: Example({P: value}, result, SOURCE).value())
    assert found is None or all(math.isfinite(number) for number in found) or "e" in result


@fuzzing(200)
@given(st.lists(st.sampled_from(TrainingMemoryModel().formulas), max_size=8))
def test_systems(formulas):
    found = attempt(lambda: System(formulas))
    if found is None:
        assert len({formula.name for formula in formulas}) < len(formulas)
        return
    assert len(found) == len(formulas)
    assert {v.name for v in found.inputs}.isdisjoint(formula.name for formula in found)
    for formula in found:
        assert len(found.closure([formula.name])) <= len(found)
    attempt(lambda: found.closure(["nonsense"]))
    attempt(lambda: found.expand("nonsense"))
    attempt(lambda: found.extend(*formulas))
    attempt(lambda: found.replace(*TrainingMemoryModel().formulas))


@fuzzing(200)
@given(
    st.dictionaries(st.one_of(st.sampled_from(["adam", "adamw", "sgd", "none"]), st.text(max_size=4)), st.integers())
)
def test_tables_over_labels(values):
    found = attempt(lambda: by_label(optimizer, values))
    assert (found is not None) == (set(values) == {"adam", "adamw", "sgd", "none"})


WRONG_KINDS = [3, 1.5, b"x", [], ["P"], {"a": 1}, object(), 1 + 2j, Decimal(3)]


@pytest.mark.parametrize("wrong", WRONG_KINDS, ids=lambda wrong: type(wrong).__name__)
class TestWrongKinds:
    """A declaration with an argument of another kind names the argument."""

    def test_name_of_a_variable(self, wrong):
        with pytest.raises(MlsysimError):
            variable(wrong, "x", "GB", "d")

    def test_unit_of_a_variable(self, wrong):
        with pytest.raises(MlsysimError):
            variable("fuzz_kind", "x", wrong, "d")

    def test_variable_asked_for(self, wrong):
        with pytest.raises(MlsysimError):
            variable_of(wrong)

    def test_left_side_of_a_formula(self, wrong):
        with pytest.raises(MlsysimError):
            Formula(wrong, P, title="t", source=SOURCE, no_example="none")

    def test_formulas_of_a_system(self, wrong):
        with pytest.raises(MlsysimError):
            System([wrong])

    def test_outputs_of_a_closure(self, wrong):
        with pytest.raises(MlsysimError):
            TrainingMemoryModel().system.closure([wrong])


@pytest.mark.parametrize("wrong", [object(), [], {"a": 1}, b"x", "a b", "", "P", math.nan, None], ids=repr)
def test_right_side_of_a_formula_that_is_no_expression(wrong):
    """Text least of all: sympy would evaluate it."""
    with pytest.raises(MlsysimError):
        Formula(b, wrong, title="t", source=SOURCE, no_example="none")
