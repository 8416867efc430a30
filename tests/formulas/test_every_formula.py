"""What must hold for every Formula: source, title, branches that are drawn, example."""

import ast
import math
import operator
from decimal import Decimal
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import sympy
from formulas.every import FORMULAS, WRITTEN, as_columns, every, written
from sympy.functions.elementary.piecewise import Piecewise

from mlsysim import units
from mlsysim.backends import compiled, compiled_expression
from mlsysim.formulas import every_formula, post_training
from mlsysim.models import every_model
from mlsysim.references import bibliography
from mlsysim.symbolic import Assignment, EvaluatedAt, Root, System, lower, variable_of


@written
def test_has_a_title_a_source_of_the_bibliography_and_an_example_or_a_reason(formula):
    assert formula.title.strip() == formula.title != ""
    assert (formula.example is None) == bool(formula.no_example)
    assert formula.source.key in bibliography()
    assert formula.source.work.title
    if formula.example and formula.example.source:
        assert formula.example.source.key in bibliography()


def branching(node):
    """Every Piecewise but those of bound steps, which are those of formulas with draws of their own."""
    if isinstance(node, EvaluatedAt):
        return set().union(*map(branching, node.changed.values()))
    return set().union(*map(branching, node.args)) | ({node} if isinstance(node, Piecewise) else set())


@pytest.fixture(scope="module")
def known():
    """Symbol and expression of every formula, and of every input of a model within another one."""
    assigned = (each for each in (*post_training.ENGINE, *post_training.TRAINER) if isinstance(each, Assignment))
    return {(known.symbol, known.expression) for known in (*(known for _, known in WRITTEN), *assigned)}


@pytest.fixture(scope="module")
def is_known(known):
    """Whether a bound step is a formula; the same steps stand in many."""
    known_names = {symbol.name for symbol, _ in known}

    @cache
    def asked(symbol, expression):
        if expression.has(EvaluatedAt, Root):  # what stands in it is bound anew
            return symbol.name in known_names
        bound = {each: variable_of(each.name).symbol for each in (symbol, *expression.atoms(sympy.Dummy))}
        return (bound[symbol], expression.xreplace(bound)) in known

    return asked


@written
def test_bound_steps_are_formulas(formula, is_known):
    """So that their branches are drawn there."""
    nodes = formula.expression.atoms(EvaluatedAt)
    for step in {step for node in nodes for step in node.definitions[len(node.changed) :]}:
        assert is_known(*step), step


@pytest.mark.parametrize("formula", [pytest.param(formula, id=formula.id) for _, formula in every_formula()])
def test_no_formula_leaves_the_domain_of_its_variable(formula):
    formula.check_domain()


@every
def test_every_branch_is_drawn(formula, draw_points, to_canonical):
    """Else the tests beside this one would pass without having looked at a branch."""
    pieces = branching(lower(formula.expression))
    points = [to_canonical(point) for point in draw_points(formula)] if pieces else []
    for piecewise in pieces:
        symbols = sorted(piecewise.free_symbols, key=lambda s: s.name)
        conditions = [sympy.lambdify(symbols, case.cond, "math") for case in piecewise.args]
        taken = set()
        for point in points:
            values = [point[symbol.name] for symbol in symbols]
            taken.add(next(place for place, condition in enumerate(conditions) if condition(*values)))
        assert taken == set(range(len(piecewise.args)))


def pinned(requirement):
    """Whether a variant allows some values of one argument only: that says nothing of formulas other variants use."""
    return len(requirement.inputs) == 1


#: Names of the inputs of each condition.
REQUIREMENTS = {
    requirement.condition: frozenset(variable.name for variable in requirement.inputs)
    for kind in every_model()
    for name in kind.variants
    for requirement in kind(name).requirements
    if not pinned(requirement)
}


@every
def test_points_are_those_models_accept(formula, draw_points, to_canonical):
    """Sizes that divide, parts that are at most the whole: what no model lets through is not looked at."""
    names = {variable.name for variable in formula.inputs}
    apply = [condition for condition, needed in REQUIREMENTS.items() if needed <= names]
    points = as_columns([to_canonical(point) for point in draw_points(formula)]) if apply else {}
    for condition in apply:
        assert np.all(compiled_expression(condition)(points)["value"]), condition


# --- worked examples ------------------------------------------------------------------------------

EXAMPLES = [formula for formula in FORMULAS if formula.example]
DERIVED = [formula for formula in EXAMPLES if formula.example.derived]
ARITHMETIC = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: operator.pow, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
CALLS = {"max": max, "min": min, "ceil": math.ceil, "floor": math.floor, "sqrt": math.sqrt, "exp": math.exp,
         "log": math.log, "erf": math.erf}  # fmt: skip


def by_hand(node):
    """Written arithmetic, by Python's own rules and nothing of the library."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -by_hand(node.operand)
    if isinstance(node, ast.BinOp):
        return ARITHMETIC[type(node.op)](by_hand(node.left), by_hand(node.right))
    if isinstance(node, ast.Compare):
        terms = [by_hand(each) for each in (node.left, *node.comparators)]
        return all(ARITHMETIC[type(sign)](*pair) for sign, pair in zip(node.ops, pairwise(terms), strict=True))
    if isinstance(node, ast.BoolOp):
        return (all if isinstance(node.op, ast.And) else any)(by_hand(each) for each in node.values)
    assert isinstance(node, ast.Call), ast.dump(node)
    assert not node.keywords
    return CALLS[node.func.id](*map(by_hand, node.args))


@pytest.mark.parametrize("formula", DERIVED, ids=[formula.id for formula in DERIVED])
def test_derived_arithmetic_gives_the_result(formula):
    """A number in the unit of the result; for a label or a truth, the comparison that decides."""
    example = formula.example
    found = by_hand(ast.parse(example.derived, mode="eval").body)
    if formula.variable.domain.kind == "choice":
        assert found is True
    elif formula.variable.domain.kind == "boolean":
        assert str(found) == example.result
    else:
        printed, _, _ = example.result.partition(" ")
        half = Decimal(5).scaleb(int(Decimal(printed).as_tuple().exponent) - 1)
        assert abs(found - float(printed)) <= float(half) * (1 + 1e-9)


@pytest.mark.parametrize("formula", EXAMPLES, ids=[formula.id for formula in EXAMPLES])
def test_example_is_reproduced_to_its_last_printed_digit(formula):
    example, variable = formula.example, formula.variable
    assert {symbol.name for symbol in example.inputs} == {v.name for v in formula.inputs}
    values = {}
    for symbol, value in example.inputs.items():
        given = variable_of(symbol)
        if isinstance(value, str):
            values[given.name] = float(given.code(value))
        else:
            assert given.domain.lower <= value <= given.domain.upper
            values[given.name] = units.to_canonical(float(value), given.unit)
    found = compiled(System([formula]))(values)[formula.name]
    if variable.domain.kind == "choice":
        assert variable.domain.labels[int(found)] == example.result
    elif variable.domain.kind == "boolean":
        assert str(bool(found)) == example.result
    else:
        number, half = example.value()
        assert abs(float(found) - number) <= half * (1 + 1e-9)
        printed_unit = example.result.partition(" ")[2]
        assert units.ureg.Unit(printed_unit).is_compatible_with(variable.unit)
