"""JavaScript of expressions and systems: what is printed, and what is refused."""

import pytest
import sympy

from mlsysim import ServingModel, TrainingMemoryModel
from mlsysim.backends.javascript import RUNTIME, Functions, JavaScriptPrinter, source
from mlsysim.errors import FormulaError
from mlsysim.symbolic import LeastInteger, Max, Mod, Root

x, y = sympy.symbols("x y", positive=True)
n = sympy.Symbol("n", integer=True, positive=True)


@pytest.mark.parametrize(
    ("expression", "printed"),
    [
        (x**2 / y, "power(x, 2)/y"),
        (1 / x, "1/x"),
        (1 / (x + y), "1/(x + y)"),
        (sympy.sqrt(x) + sympy.log(y), "Math.sqrt(x) + Math.log(y)"),
        (Max(x, y, 1), "Math.max(1, x, y)"),
        (Mod(x, y), "mod(x, y)"),
        (sympy.ceiling(x / y), "ceil(x/y)"),
        (sympy.oo, "Infinity"),
        (sympy.Integer(2**40), "1099511627776.0"),
        (sympy.Rational(1, 3) * x, "(1/3)*x"),
        (sympy.Piecewise((x, x > y), (y, True)), "((x > y) ? x : y)"),
        (sympy.Piecewise((x, x > y)), "((x > y) ? x : NaN)"),
        (sympy.Or(x > 1, sympy.Eq(y, 2)), "((y == 2) || (x > 1))"),
        (LeastInteger(n, n * x > y, 8), "least_integer(_n => (_n*x > y), 8, y/x)"),
        (Root(sympy.Symbol("z"), x, y, 0, 1), "root(_z => x - y, 0, 1)"),
        (sympy.Symbol("new") + sympy.Symbol("root"), "new$ + root$"),
    ],
    ids=str,
)
def test_an_expression_in_javascript(expression, printed):
    assert JavaScriptPrinter().printed(expression) == printed


def test_a_function_without_a_rule_is_refused():
    with pytest.raises(FormulaError, match="no code for the function sin"):
        Functions().of(sympy.sin(x))


def test_a_markov_chain_is_refused_with_its_formula():
    with pytest.raises(FormulaError, match="chunked prefill is a Markov chain"):
        ServingModel("chunked").source_code("javascript")


def test_an_expression_is_printed_once_whatever_its_symbols():
    functions = Functions()
    assert functions.of(x + 2 * y) == functions.of(n + 2 * x) == "f0"
    assert functions.script() == "const f0=(a,b)=>a+2*b;\n"


def test_the_source_of_a_model_has_one_line_per_formula():
    model = TrainingMemoryModel()
    head, *lines, returned, end = model.source_code("javascript").splitlines()
    assert head == f"function compiled({', '.join(v.name for v in model.inputs)}) {{"
    assert [line.split()[1] for line in lines] == [formula.name for formula in model.formulas]
    assert (returned, end) == (f"  return [{', '.join(f.name for f in model.formulas)}];", "}")
    assert "least_integer" in RUNTIME
    assert source(model.system) == model.source_code("javascript")
