"""Declaring variables, formulas and systems: what is malformed is refused with a documented error."""

import math
from functools import partial

import pytest
import sympy
from fuzz import fuzzing
from hypothesis import example, given
from hypothesis import strategies as st

from mlsysim import Example, Formula, Source, System, TrainingMemoryModel, variable
from mlsysim.backends import compiled
from mlsysim.errors import MlsysimError
from mlsysim.symbolic import (
    ErlangC,
    LeastInteger,
    NormalCDF,
    NormalQuantile,
    Root,
    Variable,
    at_least,
    between,
    by_label,
    byte,
    choice,
    flop,
    integer,
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


def attempt(call):
    try:
        return call()
    except MlsysimError as error:
        refusal = str(error)
    assert refusal
    return None


UNITS = st.one_of(
    st.sampled_from(["GB", "GB/s", "", "count", "token", "QPS", "GX", "GB/", "9**9**9", "GB zork", "1/s", "%", " "]),
    st.text(max_size=6),
)
NAMES = st.one_of(
    st.text(max_size=5), st.from_regex(r"fuzz_[a-z]{1,6}", fullmatch=True), st.sampled_from(["class", "P"])
)
BOUNDS = st.one_of(st.floats(), st.integers(-3, 3))
#: How a domain is built; what is no domain is refused when it is.
DOMAINS = st.one_of(
    st.just(positive),
    st.just(nonnegative),
    BOUNDS.map(lambda end: partial(at_least, end)),
    st.tuples(BOUNDS, BOUNDS).map(lambda ends: partial(between, *ends)),
    st.tuples(BOUNDS, BOUNDS).map(lambda ends: partial(integer, *ends)),
    st.lists(st.text(max_size=3), max_size=3).map(lambda labels: partial(choice, *labels)),
)


@fuzzing(500)
@given(NAMES, st.text(max_size=6), UNITS, st.text(max_size=10), DOMAINS, st.booleans())
@example("A", "", "GB", "", partial(at_least, math.inf), False)
def test_variables(name, latex, unit, description, domain, named_unit):
    found = attempt(lambda: Variable(name, latex, unit, description, domain(), named_unit))
    if found is not None:
        assert found.symbol.name == name
        assert found.domain.describe()
        assert found.domain.latex()


SYMBOLS = (P, h, s, b, d, q, W, M_cap, F, qps, mu, Z, optimizer, byte, flop, token, request)
ODDITIES = (sympy.oo, -sympy.oo, sympy.nan, sympy.zoo, sympy.I, sympy.Symbol("undeclared"))
HEADS = {
    "+": sympy.Add,
    "*": sympy.Mul,
    "**": lambda x, y: sympy.Pow(x, y if y.free_symbols else 2),
    "sqrt": lambda x, _: sympy.sqrt(x),
    "max": sympy.Max,
    "min": sympy.Min,
    "mod": sympy.Mod,
    "==": lambda x, y: when(sympy.Eq(x, y), x),
    "<=": lambda x, y: when(x <= y, x, y),
    "C": ErlangC,
    "ceil": lambda x, _: sympy.ceiling(x),
    "floor": lambda x, _: sympy.floor(x),
    "log": lambda x, _: sympy.log(x),
    "exp": lambda x, _: sympy.exp(x) if x.free_symbols else x,  # sympy evaluates exp(2**40) to the last digit
    "f": lambda x, _: sympy.Function("f")(x),
    "sin": lambda x, _: sympy.sin(x),
    "when": lambda x, y: when(Z > 1, x, y),
    "if": lambda x, y: when(P > 2, x, y),
    "least": lambda x, y: LeastInteger(N, N * mu > x, y),
    "root": lambda x, y: Root(mu, mu * x, y, 0, sympy.oo),
    "root between": lambda x, y: Root(sympy.Symbol("x"), sympy.Symbol("x"), x, 0, y),
    "normal": lambda x, _: NormalCDF(x),
    "quantile": lambda x, _: NormalQuantile(x),
}
N = sympy.Dummy("n", integer=True, positive=True)
LEAVES = st.one_of(
    st.sampled_from(SYMBOLS),
    st.sampled_from(SYMBOLS),
    st.sampled_from(ODDITIES),
    st.integers(-3, 5).map(sympy.Integer),
    st.sampled_from([sympy.Rational(1, 2), sympy.Float(0.1), sympy.Float(1e300), sympy.Integer(2**40)]),
)
PLANS = st.recursive(LEAVES, lambda inner: st.tuples(st.sampled_from(sorted(HEADS)), inner, inner), max_leaves=5)
SYMPY_REFUSES = (TypeError, ValueError, NotImplementedError, ZeroDivisionError, AttributeError)


def build(plan):
    """The expression of a plan; sympy refuses some as they are written."""
    if not isinstance(plan, tuple):
        return plan
    head, left, right = plan
    return HEADS[head](build(left), build(right))


@fuzzing(400)
@given(PLANS, st.sampled_from([W, m, qps, b, bottleneck]))
def test_formulas(plan, left):
    try:
        expression = build(plan)
    except SYMPY_REFUSES:
        return
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


WRONG_KINDS = [3, b"x", ["P"], object()]


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


@pytest.mark.parametrize("wrong", [object(), ["P"], b"x", "a b", "P", math.nan, None], ids=lambda x: type(x).__name__)
def test_right_side_of_a_formula_that_is_no_expression(wrong):
    """Text least of all: sympy would evaluate it."""
    with pytest.raises(MlsysimError):
        Formula(b, wrong, title="t", source=SOURCE, no_example="none")
