"""The law of chunked prefill, as a sympy object."""

import pickle

import pytest
import sympy

from mlsysim.errors import FormulaError, UnitError, UnknownNameError
from mlsysim.symbolic import ChunkedPrefill, chunked_prefill, lower, positive
from mlsysim.symbolic.dimensions import dimension_of
from mlsysim.symbolic.printing import latex, text

UNITS = {"rate": "request/s", "prompt": "token", "answer": "token", "budget": "token", "fixed": "s", "each": "s"}
n, c = sympy.Dummy("n"), sympy.Dummy("c")


@pytest.fixture(scope="module")
def v(declare):
    return {name: declare(f"law_{name}", unit, positive(), latex=name[0].upper()) for name, unit in UNITS.items()}


@pytest.fixture(scope="module")
def arguments(v):
    return {"request_rate": v["rate"], "isl": v["prompt"], "osl": v["answer"], "token_budget": v["budget"]}


@pytest.fixture(scope="module")
def law(v, arguments):
    return chunked_prefill("ttft", (n, c, v["fixed"] + v["each"] * (n + c)), sympy.Rational(9, 10), **arguments)


def test_its_parts(law, v):
    assert (law.output, law.share) == ("ttft", sympy.Rational(9, 10))
    assert law.bound_symbols == [n, c]
    assert law.arguments["isl"] == v["prompt"]
    assert law.arguments["isl_cv"] == 0
    assert law.arguments["max_num_seqs"] == sympy.oo
    assert law.free_symbols == set(v.values())
    assert law.is_nonnegative


def test_its_iteration_is_its_own(law, v):
    """Neither the requests nor the tokens of an iteration are captured from outside."""
    assert law.subs(n, 5) == law
    assert law.subs(v["fixed"], 2).tau == 2 + v["each"] * (n + c)
    assert law.diff(v["fixed"]) == sympy.Derivative(law, v["fixed"])
    assert law.diff(sympy.Symbol("other")) == 0


def test_nodes_of_equal_arguments_are_one_law(law, v, arguments):
    other = chunked_prefill("tpot_mean", (n, c, law.tau), **arguments)
    assert other.law == law.law
    assert other != law
    assert chunked_prefill("tpot_mean", (n, c, law.tau), **{**arguments, "isl": v["answer"]}).law != law.law


def test_its_dimension_is_that_of_what_is_asked(law, arguments):
    def dimension(output):
        return dimension_of(chunked_prefill(output, (n, c, law.tau), **arguments))

    assert dimension_of(law) == {"[time]": 1}
    assert dimension("slo_attainment") == {}
    assert list(dimension("batch_size").values()) == [1]


def test_an_argument_of_another_dimension_is_refused(law, v, arguments):
    wrong = chunked_prefill("ttft_mean", (n, c, law.tau), **{**arguments, "isl": v["rate"]})
    with pytest.raises(UnitError, match=r"isl of chunked_prefill is .*token.* but law_rate is .*request"):
        dimension_of(wrong)
    with pytest.raises(UnitError, match="tau of chunked_prefill is time but law_prompt is"):
        dimension_of(chunked_prefill("ttft_mean", (n, c, v["prompt"]), **arguments))


@pytest.mark.parametrize(
    ("kind", "output", "share", "more", "message"),
    [
        (UnknownNameError, "ttft_man", 0, {}, "unknown output of chunked_prefill 'ttft_man': did you mean ttft_mean"),
        (UnknownNameError, "ttft_mean", 0, {"is1": 3}, "unknown argument of chunked_prefill 'is1': did you mean isl"),
        (FormulaError, "ttft", 0, {}, "share=0 with ttft; only ttft, tpot, e2e take one"),
        (FormulaError, "tpot_mean", 0.5, {}, "share=0.5 with tpot_mean"),
        (FormulaError, "tpot_mean", 0, {"token_budget": None}, "chunked_prefill needs token_budget"),
    ],
)
def test_what_cannot_be_asked_is_refused(law, arguments, kind, output, share, more, message):
    with pytest.raises(kind, match=message):
        chunked_prefill(output, (n, c, law.tau), share, **{**arguments, **more})


def test_it_prints_what_is_asked_and_the_iteration(law):
    given = "request rate = R, isl = P, osl = A, token budget = B"
    assert text(law) == f"chunked[ttft 9/10]({given}; τ(n, c) = F + E·(c + n))"
    assert latex(law).startswith(r"\mathrm{chunked}_{\text{ttft},\,\frac{9}{10}}\left(")
    assert r"\text{request rate} = R, \text{isl} = P" in latex(law)
    assert r"\tau(n, c) = " in latex(law)


def test_it_is_pickled_and_rebuilt(law):
    assert pickle.loads(pickle.dumps(law)) == law
    assert law.func(*law.args) == law
    assert isinstance(lower(law), ChunkedPrefill)
