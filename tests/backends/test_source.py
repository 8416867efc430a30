"""The generated source: one readable line per formula, the same names, nothing outside the rules."""

import re

import numpy as np
import pytest
import sympy
from on_jax import evaluate

from mlsysim.backends import compiled
from mlsysim.backends.compiled import compiled_expression
from mlsysim.errors import FormulaError
from mlsysim.formulas import every_formula
from mlsysim.models import MoERoutingModel, ServingCapacityModel, TrainingMemoryModel
from mlsysim.symbolic import LeastInteger, Root, System

MODELS = [TrainingMemoryModel, ServingCapacityModel, MoERoutingModel]


@pytest.fixture(scope="module")
def small(pure, system_of):
    u, v, first, second, third = (pure(f"code_{name}") for name in ("u", "v", "first", "second", "third"))
    n = sympy.Dummy("n", integer=True, positive=True)
    return system_of(
        {
            third: second / first + sympy.ceiling(u),
            first: sympy.Piecewise((u / v, u > 0), (sympy.Max(u, v, 1), True)),
            second: LeastInteger(n, n * first >= v, 2**31),
        }
    )


SOURCE = """\
def compiled(code_u, code_v):
    code_first = where(code_u > 0.0, code_u / code_v, maximum(maximum(1.0, code_u), code_v))
    def _f10(_x0, _k0, _k1):
        return _k0 * _x0 >= _k1
    code_second = least_integer(_f10, 2147483648.0, (code_first, code_v, ), 0.0)
    code_third = code_second / code_first + ceil(code_u)
    return [code_third, code_first, code_second]"""


def lines_of(source):
    return [re.sub(r"_f\d+", "_f", line) for line in source.splitlines()]


def test_source_is_readable(small):
    assert lines_of(compiled(small, None, "vector").source)[:-1] == lines_of(SOURCE)[:-1]


def test_plain_floats_evaluate_the_branch_that_is_taken_and_never_raise(small):
    (first,) = (line for line in compiled(small).source.splitlines() if "code_first =" in line)
    assert " if code_u > 0.0 else " in first
    assert "divided(code_u, code_v)" in first


def test_quotients_of_many_digits_are_rounded_once(pure, system_of):
    u, limit = pure("code_u"), 55.004420775971305
    expression = u - sympy.Rational(str(limit))
    assert compiled_expression(expression)({"code_u": limit})["value"] == 0


def test_source_is_what_runs(small):
    function = compiled(small)
    names = {}
    exec(function.source, dict(function.raw.__globals__), names)
    assert names["compiled"](2.0, 10.0) == function.raw(2.0, 10.0) == [0.2, 50.0, 252.0]


@pytest.mark.parametrize("backend", ["numpy", "vector"])
@pytest.mark.parametrize("model", MODELS)
def test_one_line_per_formula_in_order(model, backend):
    """And one for what several share, which has no name; none for what is another quantity by another name."""
    system = model().system
    function = compiled(system, None, backend)
    head, *lines, last = function.source.strip().splitlines()
    assert head == f"def compiled({', '.join(v.name for v in system.inputs)}):"
    named = [line.split(" = ")[0].strip() for line in lines if re.match(r"    [a-z]\w* = ", line)]
    alias = {formula.name: formula.expression.name for formula in system if formula.expression.is_Symbol}
    assert named == [formula.name for formula in system if formula.name not in alias]
    assert last == f"    return [{', '.join(alias.get(name, name) for name in function.outputs)}]"


def test_compiled_once_per_system_outputs_and_backend(small):
    assert compiled(small) is compiled(small)
    assert compiled(small, ("code_second",)) is compiled(small, ("code_second",))
    assert compiled(small, None, "jax") is compiled(small, None, "jax")
    assert compiled(small, None, "jax") is not compiled(small)


def test_only_what_the_outputs_need_is_compiled(small):
    assert compiled(small, ("code_first",)).outputs == ("code_first",)
    assert "least_integer" not in compiled(small, ("code_first",)).source


def test_every_intermediate_is_returned(small):
    assert compiled(small)({"code_u": 2.0, "code_v": 10.0, "unused": 1.0}) == {
        "code_first": 0.2,
        "code_second": 50.0,
        "code_third": 252.0,
    }


@pytest.mark.long
def test_nothing_is_printed_outside_the_namespace():
    """Every name of the generated code is an argument, a left side, or has a rule; ``math`` has none."""
    for _, formula in every_formula():
        for backend in ("numpy", "jax"):
            function = compiled(System([formula]), None, backend)
            known = set(function.raw.__globals__)
            assert set(function.raw.__code__.co_names) <= known - {"math"}, function.source


X = sympy.Symbol("code_x", real=True)


@pytest.mark.parametrize(
    "function",
    [sympy.loggamma, sympy.erf, sympy.factorial, sympy.gamma, sympy.sin, sympy.sign, sympy.Heaviside, sympy.besselj],
)
def test_a_function_without_a_rule_is_refused(function):
    arguments = (X, X) if function is sympy.besselj else (X,)
    expression = function(*arguments)
    with pytest.raises(FormulaError) as refused:
        compiled_expression(1 + expression)
    assert str(refused.value) == f"no code for the function {function.__name__} in {expression}"


def test_a_name_that_generated_code_calls_is_refused(pure, system_of):
    for name in ("exp", "where", "maximum", "least_integer"):
        taken = system_of({pure("code_first"): sympy.exp(pure(name))})
        with pytest.raises(FormulaError) as refused:
            compiled(taken)
        assert str(refused.value) == f"variable {name!r} has the name of a function that compiled code calls"


def test_other_names_of_operations_are_free(pure, system_of):
    system = system_of({pure("code_sum"): pure("above") + pure("known") * pure("number") - pure("either")})
    assert compiled(system)({"above": 1.0, "known": 2.0, "number": 3.0, "either": 4.0})["code_sum"] == 3


NUMBERS = {
    "2**31": (2**31, "2147483648.0 * code_x"),
    "-2**40": (-(2**40), "-(1099511627776.0 * code_x)"),
    "10**30": (10**30, "1e+30 * code_x"),
    "1/3": (sympy.Rational(1, 3), "0.3333333333333333 * code_x"),
    "1/2**33": (sympy.Rational(1, 2**33), "1.1641532182693481e-10 * code_x"),
    "0.1": (sympy.Float(0.1), "0.1 * code_x"),
    "pi": (sympy.pi, "3.141592653589793 * code_x"),
    "gamma": (sympy.EulerGamma, "code_x * 0.5772156649015329"),
}


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers(pure, system_of, number):
    value, printed = NUMBERS[number]
    x, y = pure("code_x"), pure("code_y")
    system = system_of({y: value * x})
    assert f"code_y = {printed}\n" in compiled(system).source
    at = {"code_x": 3.0}
    assert compiled(system)(at)["code_y"] == pytest.approx(float(3 * value), rel=4e-16)
    assert evaluate(system, ["code_y"], at)["code_y"] == pytest.approx(float(3 * value), rel=4e-16)


def test_logic_and_relations_work_on_axes_that_broadcast(pure, system_of):
    x, y, z = pure("code_x"), pure("code_y"), pure("code_z")
    conditions = {
        sympy.And(x > 1, y > 1): [[False, True], [False, False]],
        sympy.Or(x > 1, y > 1): [[True, True], [False, True]],
        sympy.Not(sympy.And(x > 1, y > 1)): [[True, False], [True, True]],
        sympy.Ne(x, y): [[True, False], [False, True]],
        sympy.Xor(x > 1, y > 1): [[True, False], [False, True]],
    }
    values = {"code_x": np.array([0.5, 2.0]), "code_y": np.array([[2.0], [0.5]])}
    for condition, expected in conditions.items():
        system = system_of({z: sympy.Piecewise((1, condition), (0, True))})
        assert (evaluate(system, ["code_z"], values)["code_z"] == 1).tolist() == expected
        function = compiled(system)
        scalar = [[function({"code_x": u, "code_y": v})["code_z"] == 1 for u in (0.5, 2.0)] for v in (2.0, 0.5)]
        assert scalar == expected


def test_a_case_distinction_that_does_not_cover_all_is_not_a_number_outside(pure, system_of):
    x, z = pure("code_x"), pure("code_z")
    system = system_of({z: sympy.Piecewise((x, x > 1), (2 * x, x > 0))})
    found = evaluate(system, ["code_z"], {"code_x": [2.0, 0.5, -1.0]})["code_z"]
    np.testing.assert_array_equal(found, [2, 1, np.nan])
    assert np.isnan(compiled(system)({"code_x": -1.0})["code_z"])


def test_greatest_and_least_let_what_is_not_a_number_through(pure, system_of):
    """Else a grid would show a number where a scalar shows none."""
    x, y, high, low = (pure(f"code_{name}") for name in ("x", "y", "high", "low"))
    system = system_of({high: sympy.Max(x, y), low: sympy.Min(x, y)})
    nan = np.nan
    values = {"code_x": np.array([nan, 1.0, nan, 1.0]), "code_y": np.array([1.0, nan, nan, 2.0])}
    found = evaluate(system, ["code_high", "code_low"], values)
    np.testing.assert_array_equal(found["code_high"], [nan, nan, nan, 2])
    np.testing.assert_array_equal(found["code_low"], [nan, nan, nan, 1])
    for i in range(4):
        scalar = compiled(system)({name: column[i] for name, column in values.items()})
        np.testing.assert_array_equal(scalar["code_high"], found["code_high"][i])
        np.testing.assert_array_equal(scalar["code_low"], found["code_low"][i])


def test_scalars_give_no_warnings_where_numbers_overflow(pure, system_of):
    x, z = pure("code_x"), pure("code_z")
    assert compiled(system_of({z: 1 / x}))({"code_x": 0.0})["code_z"] == np.inf
    assert compiled(system_of({z: sympy.log(x)}))({"code_x": 0.0})["code_z"] == -np.inf
    assert compiled(system_of({z: sympy.exp(x)}))({"code_x": 1e4})["code_z"] == np.inf


def test_a_condition_with_cases_leaves_the_unknown_of_a_root_inside(pure):
    """Sympy prints such a condition as cases, and would ask of the unknown outside of its root."""
    u, v = pure("code_u"), pure("code_v")
    z = sympy.Dummy("z", nonnegative=True)
    crossing = Root(z, z + sympy.Max(0, z - u), sympy.Abs(v), 0, 9)
    asked = sympy.Piecewise((1, sympy.ITE(u > 0, v >= sympy.Abs(u - crossing), v < 0)), (2, True))
    for point in ((1.0, 3.0), (2.0, 0.25), (-1.0, -3.0), (-1.0, 3.0)):
        values = dict(zip(("code_u", "code_v"), point, strict=True))
        at = abs(point[1]) if abs(point[1]) <= point[0] else (abs(point[1]) + point[0]) / 2
        holds = point[1] >= abs(point[0] - at) if point[0] > 0 else point[1] < 0
        assert compiled_expression(asked)(values)["value"] == (1 if holds else 2)
