"""JavaScript of expressions and systems: what is printed, and what is refused."""

import pytest
import sympy

from mlsysim import ServingModel, TrainingMemoryModel
from mlsysim.backends.javascript import RUNTIME, Functions, source
from mlsysim.errors import FormulaError
from mlsysim.graph import lowered
from mlsysim.symbolic import LeastInteger, Max, Mod, Root, System

x, y = sympy.symbols("x y", positive=True)
n = sympy.Symbol("n", integer=True, positive=True)


def graph(expression):
    return lowered(System(()), (("value", expression),))


@pytest.mark.parametrize(
    ("expression", "printed"),
    [
        (x**2 / y, "(a,b)=>a*a/b"),
        (1 / x, "(a)=>1/a"),
        (1 / (x + y), "(a,b)=>1/(a+b)"),
        (sympy.sqrt(x) + sympy.log(y), "(a,b)=>sqrt(a)+log(b)"),
        (Max(x, y, 1), "(a,b)=>max(max(1,a),b)"),
        (Mod(n, 2 * n + 1), "(a)=>mod(a,1+2*a)"),
        (sympy.ceiling(x / y), "(a,b)=>ceil(a/b)"),
        (sympy.oo, "()=>Infinity"),
        (sympy.Integer(2**40) * x, "(a)=>1099511627776*a"),
        (sympy.Rational(1, 3) * x, "(a)=>0.3333333333333333*a"),
        (sympy.Piecewise((x, x > y), (y, True)), "(a,b)=>a>b?a:b"),
        (sympy.Piecewise((x, x > y)), "(a,b)=>a>b?a:NaN"),
        (LeastInteger(n, n * x > y, 8), "(a,b)=>least_integer(c=>a*c>b,8,b/a)"),
        (Root(sympy.Symbol("z"), x, y, 0, 1), "(a,b)=>{const c=a-b;return root(d=>c,0,1)}"),
    ],
    ids=str,
)
def test_an_expression_in_javascript(expression, printed):
    functions = Functions()
    functions.of(graph(expression))
    assert functions.script() == f"const f0={printed};\n"


def test_names_that_javascript_has_for_itself(system_of, pure):
    assert "case$ + new$" in source(system_of({pure("js_sum"): pure("new") + pure("case")}))


def test_a_function_without_a_rule_is_refused():
    with pytest.raises(FormulaError, match="no code for the function sin"):
        Functions().of(graph(sympy.sin(x)))


def test_a_markov_chain_is_refused_with_its_formula():
    with pytest.raises(FormulaError, match="chunked prefill is a Markov chain"):
        ServingModel("chunked").source_code("javascript")


def test_an_expression_is_printed_once_whatever_its_symbols():
    functions = Functions()
    assert functions.of(graph(x + 2 * y)) == functions.of(graph(n + 2 * x)) == "f0"
    assert functions.script() == "const f0=(a,b)=>a+2*b;\n"


def test_the_source_of_a_model_has_one_line_per_formula():
    model = TrainingMemoryModel()
    head, *lines, returned, end = model.source_code("javascript").splitlines()
    assert head == f"function compiled({', '.join(v.name for v in model.inputs)}) {{"
    named = [line.split()[1] for line in lines if not line.startswith("  const _")]
    assert named == [formula.name for formula in model.formulas]
    assert (returned, end) == (f"  return [{', '.join(f.name for f in model.formulas)}];", "}")
    assert "least_integer" in RUNTIME
    assert source(model.system) == model.source_code("javascript")
