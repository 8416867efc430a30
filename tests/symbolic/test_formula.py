"""Formulas: what is checked as they are declared, and what they answer."""

import pytest
import sympy

from mlsysim.errors import FormulaError, UnitError, UnknownNameError
from mlsysim.symbolic import Example, Formula, Source, byte, label, token, variable_of, when
from mlsysim.symbols.hardware import M_cap, eta
from mlsysim.symbols.serving import T_base, ttft
from mlsysim.symbols.training import G, M, W, feasible, optimizer
from mlsysim.symbols.workload import L, P, h, q, s

SOURCE = Source("rajbhandari2020", "section 5")


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        (W, P, "the right side is a pure number, but weights is declared in GB (information)"),
        (P, q, "the right side is information, but parameters is declared in count (a pure number)"),
        (ttft, q * P, "the right side is information, but ttft is declared in ms (time)"),
        (optimizer, q, "the right side is information, but optimizer is declared in pure numbers (a pure number)"),
        (W, 10 + q * P, "10 is a pure number but bytes_per_element*parameters is information in "
                        "bytes_per_element*parameters + 10"),
        (W, sympy.sin(P) * q, "no dimension rule for sin in sin(parameters)"),
    ],
)  # fmt: skip
def test_units_are_checked_as_it_is_declared(formula, left, right, message):
    with pytest.raises(UnitError) as refused:
        formula(left, right)
    assert str(refused.value) == f"formula for {left.name}: {message}"


def test_a_magic_constant_must_say_what_it_counts(formula):
    with pytest.raises(UnitError):
        formula(W, 10)
    assert formula(W, 10 * byte).constants() == ("10 byte",)
    assert formula(W, 34 * byte / token * s * h).constants() == ("34 byte/token",)


def test_zero_needs_no_unit(formula):
    assert formula(G, 0).expression == 0
    assert formula(G, when(P > 1, q * P)).inputs == (variable_of(q), variable_of(P))


def test_a_variable_cannot_stand_on_both_sides(formula):
    with pytest.raises(FormulaError) as refused:
        formula(W, W + q * P)
    assert str(refused.value) == "formula for weights: weights stands on both sides"


def test_an_undeclared_name_suggests_the_nearest(formula):
    with pytest.raises(UnknownNameError) as refused:
        formula(P, sympy.Symbol("hiden_dim"))
    assert str(refused.value).startswith("unknown variable 'hiden_dim': did you mean hidden_dim")
    with pytest.raises(UnknownNameError, match="unknown variable 'weight': did you mean weights"):
        formula(sympy.Symbol("weight"), q)


@pytest.mark.parametrize("stranger", [sympy.Symbol("parameters"), sympy.Symbol("parameters", integer=True)])
def test_a_symbol_made_by_hand_is_not_the_declared_one(formula, stranger):
    """sympy would not substitute or differentiate it: the formula would look right and be another."""
    message = "is not the symbol that variable() gave for that name"
    with pytest.raises(FormulaError) as refused:
        formula(W, q * stranger)
    assert str(refused.value) == f"formula for weights: parameters {message}"
    with pytest.raises(FormulaError) as refused:
        formula(stranger, L)
    assert str(refused.value) == f"formula for parameters: parameters {message}"


def test_an_example_or_a_reason_is_required():
    with pytest.raises(FormulaError) as refused:
        Formula(W, q * P, title="Weights", source=SOURCE)
    assert str(refused.value) == "formula for weights: give an example, or say why there is none"


def test_inputs_are_variables_by_name_without_units_and_labels(formula):
    made = formula(W, sympy.Piecewise((2 * byte * P, sympy.Eq(optimizer, label(optimizer, "adam"))), (q * P, True)))
    assert [v.name for v in made.inputs] == ["bytes_per_element", "optimizer", "parameters"]


def test_names_and_ids(formula):
    assert (formula(W, q * P).name, formula(W, q * P).id) == ("weights", "weights")
    assert formula(W, q * P, variant="exact").id == "weights[exact]"
    assert formula(W, q * P).variable is variable_of("weights")


def test_formulas_are_themselves_not_their_equations(formula):
    assert formula(W, q * P) != formula(W, q * P)


def test_it_prints(formula):
    made = formula(M, W + 3 * byte)
    assert made.latex() == "M = W + 3"
    assert made.latex(units=True) == r"M = W + 3 \,\mathrm{byte}"
    assert made.text() == "M = W + 3"
    assert repr(made) == "<Formula total_memory: M = W + 3>"
    assert made._repr_latex_() == r"$\displaystyle M = W + 3$"


def test_a_comparison_may_be_the_right_side(formula):
    assert formula(feasible, sympy.Le(M, M_cap)).text() == "feasible = M ≤ M_cap"
    with pytest.raises(UnitError, match="total_memory is information but efficiency is a pure number"):
        formula(feasible, sympy.Le(M, eta))


# --- sources and examples -------------------------------------------------------------------------


def test_a_source_is_a_work_and_a_place():
    assert SOURCE.text() == "rajbhandari2020, section 5"
    assert Source("gross2008").text() == "gross2008"
    assert SOURCE.work.arxiv == "1910.02054"
    with pytest.raises(UnknownNameError, match=r"unknown reference 'rajbhandari2019': did you mean .*rajbhandari2020"):
        _ = Source("rajbhandari2019").work


def test_a_source_may_be_a_page_or_ones_own_work():
    page = Source("https://arxiv.org/abs/2211.17192", "theorem 3.8")
    assert page.text() == "https://arxiv.org/abs/2211.17192, theorem 3.8"
    assert page.work.text() == "arxiv.org. Web page. https://arxiv.org/abs/2211.17192"
    assert page.work.bibtex().startswith("@misc{arxiv-org-abs-2211-17192,\n")
    assert Source("own", "counted by hand").text() == "own, counted by hand"
    assert Source("own").work.text() == "The author of the formula. Own work."
    for key in ("owm", "https://", "http://[", "ftp://example.org/a", "example.org", "https://a b", 3, None):
        with pytest.raises(UnknownNameError, match="unknown reference"):
            Source(key)


VALUES = {
    "0.234 GB": (0.234e9, 0.0005e9),
    "15 GB": (15e9, 0.5e9),
    "32.90 GB": (32.90e9, 0.005e9),
    "8.03e9": (8.03e9, 0.005e9),
    "1.6 GiB/request": (1.6 * 2**30, 0.05 * 2**30),
    "46.0 QPS": (46.0, 0.05),
    "9.75 ms": (9.75e-3, 0.005e-3),
    "-2": (-2, 0.5),
    "0.2387": (0.2387, 0.00005),
    "1e-3 s": (1e-3, 0.5e-3),
    "43.5 %": (0.435, 0.0005),
    "100": (100, 0.5),
}


@pytest.mark.parametrize("printed", VALUES)
def test_an_example_claims_its_last_printed_digit(printed):
    value, half = Example({}, printed, SOURCE).value()
    assert value == pytest.approx(VALUES[printed][0], rel=1e-15)
    assert half == pytest.approx(VALUES[printed][1], rel=1e-15)


@pytest.mark.parametrize("printed", ["Feasible", "True", "", "GB 3", "~3 GB", "nan"])
def test_an_example_that_is_no_number_says_so(printed):
    with pytest.raises(FormulaError) as refused:
        Example({}, printed, SOURCE).value()
    assert str(refused.value) == f"example result {printed!r} is not a number with a unit"


@pytest.mark.parametrize("origin", [{}, {"source": SOURCE, "derived": "1 + 1"}], ids=["none", "both"])
def test_an_example_is_printed_or_derived(origin):
    with pytest.raises(FormulaError) as refused:
        Example({}, "2 s", **origin)
    assert str(refused.value) == "example '2 s': give the source that prints it, or how it is derived"


def test_an_example_in_an_unknown_unit_says_so():
    with pytest.raises(UnitError, match="unknown unit 'parsec'"):
        Example({}, "3 parsec", SOURCE).value()
    with pytest.raises(UnitError, match="unknown unit ',000 GB'"):
        Example({}, "1,000 GB", SOURCE).value()


def test_unused_but_declared_names_stay_out(formula):
    assert formula(T_base, ttft).inputs == (variable_of(ttft),)
