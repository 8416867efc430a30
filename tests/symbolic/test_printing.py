"""Exact strings of LaTeX and text, in the field's symbols and in the order of declaration."""

import os
import subprocess
import sys

import pytest
import sympy
from fuzz import rest_long, sampled

from mlsysim.formulas import every_formula
from mlsysim.symbolic import (
    ErlangC,
    LeastInteger,
    NormalCDF,
    NormalQuantile,
    Root,
    UnitSymbol,
    by_label,
    byte,
    choice,
    positive,
    request,
    sharded,
    token,
    variable,
    variable_of,
    when,
    words_latex,
)
from mlsysim.symbolic.printing import constants, equation, latex, latex_to_text, listed, symbol_text, text
from mlsysim.symbols.hardware import B_mem, M_cap
from mlsysim.symbols.serving import T99, B_a, W_s, c, kv_request, load, mu, qps, s_pad, t_step
from mlsysim.symbols.training import P_r, W, Z, b, d, ell, feasible, g, m, p, t
from mlsysim.symbols.workload import L, P, h, q, s

n = sympy.Symbol("n")
optimizer = variable(
    "printed_optimizer", r"\mathrm{optimizer}", "", "Optimizer.", choice("adam", "adamw", "sgd", "none")
)
OPTIMIZER_BYTES = {"adam": 12 * byte, "adamw": 12 * byte, "sgd": 4 * byte, "none": 0}

PRINTED = {
    "symbols in declared order": (P * q * h, "P h q", "P·h·q"),
    "fraction": (b / (d * g), r"\frac{b}{d g}", "b/(d·g)"),
    "one divisor": (P / h, r"\frac{P}{h}", "P/h"),
    "sum above a divisor": ((W_s + B_a * kv_request) / B_mem,
        r"\frac{W_{\mathrm{s}} + \kappa_{\mathrm{req}} B_{\mathrm{a}}}{B}", "(W_s + κ_req·B_a)/B"),
    "added before subtracted": (-W_s + M_cap, r"M_{\mathrm{cap}} - W_{\mathrm{s}}", "M_cap − W_s"),
    "cases after the other terms": (when(t > 1, P) + h,
        r"h + \begin{cases} P & \text{if}\ t > 1 \\ 0 & \text{otherwise} \end{cases}", "h + {P if t > 1; 0 otherwise}"),
    "minus": (-P / h, r"- \frac{P}{h}", "-P/h"),
    "difference in a product": (P * (L - h) - 3, r"P \left(L - h\right) - 3", "P·(L − h) − 3"),
    "rational factor": (sympy.Rational(3, 4) * P / h, r"\frac{3 P}{4 h}", "3·P/(4·h)"),
    "float": (sympy.Float(0.5) * P, "0.5 P", "0.5·P"),
    "square": ((P + L) ** 2, r"\left(P + L\right)^{2}", "(P + L)²"),
    "power": (P ** (L + 1), "P^{L + 1}", "P^(L + 1)"),
    "ceiling": (sympy.ceiling(L / p), r"\left\lceil{\frac{L}{p}}\right\rceil", "⌈L/p⌉"),
    "floor": (sympy.floor(M_cap / W), r"\left\lfloor{\frac{M_{\mathrm{cap}}}{W}}\right\rfloor", "⌊M_cap/W⌋"),
    "absolute": (sympy.Abs(P - h), r"\left|{P - h}\right|", "|P − h|"),
    "modulus": (sympy.Mod(P, h), r"P \bmod h", "(P mod h)"),
    "greatest": (sympy.Max(0, sympy.Min(P - h, L)), r"\max\left(0, \min\left(L, P - h\right)\right)",
        "max(0, min(L, P − h))"),
    "logarithm": (sympy.log(P / h), r"\ln{\left(\frac{P}{h} \right)}", "ln(P/h)"),
    "infinity": (when(P > 1, h, sympy.oo),
        r"\begin{cases} h & \text{if}\ P > 1 \\ \infty & \text{otherwise} \end{cases}",
        "{h if P > 1; ∞ otherwise}"),
    "erlang": (ErlangC(c, load), r"C\left(c, \Lambda\right)", "C(c, Λ)"),
    "erlang squared": (ErlangC(c, load) ** 2, r"C^{2}\left(c, \Lambda\right)", "C(c, Λ)²"),
    "slope of erlang": (ErlangC(c, load).diff(load), r"\frac{\partial C}{\partial \Lambda}\left(c, \Lambda\right)",
        "∂C/∂Λ(c, Λ)"),
    "least integer": (LeastInteger(n, sympy.And(qps < n * mu, n * h >= P), L),
        r"\min\left\{n = 1, 2, \dots :\enspace "
        r"\begin{array}{l} n \le L \\ n h \geq P \\ \lambda < n \mu \end{array}\right\}",
        "min{n ≤ L : n·h ≥ P and λ < n·μ}"),
    "root": (Root(c, c * mu * T99, qps * P, 0, sympy.oo),
        r"\left\{c :\enspace \mu T_{99} c = P \lambda\right\}", "{c : μ·T_99·c = P·λ}"),
    "root of a variable without a unit of its own": (2 * Root(n, n * h, P, 1, sympy.oo),
        r"2 \left\{n \in \left[1, \infty\right) :\enspace n h = P\right\}", "2·{n in [1, ∞) : n·h = P}"),
    "root between ends": (Root(n, n * h, P, 0, L) ** 2,
        r"\left\{n \in \left[0, L\right] :\enspace n h = P\right\}^{2}", "{n in [0, L] : n·h = P}²"),
    "normal distribution": (NormalCDF(P / h), r"\Phi\left(\frac{P}{h}\right)", "Φ(P/h)"),
    "normal distribution squared": (NormalCDF(h) ** 2, r"\Phi^{2}\left(h\right)", "Φ(h)²"),
    "normal quantile": (P * NormalQuantile(h), r"P \Phi^{-1}\left(h\right)", "P·Φ⁻¹(h)"),
    "normal quantile squared": (NormalQuantile(h) ** 2,
        r"{\left(\Phi^{-1}\left(h\right)\right)}^{2}", "Φ⁻¹(h)²"),
    "sharded": (q * P_r / sharded(Z >= 3, d),
        r"\frac{q P_{\mathrm{r}}}{\begin{cases} d & \text{if}\ Z \geq 3 \\ 1 & \text{otherwise} \end{cases}}",
        "q·P_r/{d if Z ≥ 3; 1 otherwise}"),
    "table": (by_label(optimizer, OPTIMIZER_BYTES),
        r"\begin{cases} 12 & \text{if}\ \mathrm{optimizer} \in \{\text{adam}, \text{adamw}\} \\ "
        r"4 & \text{if}\ \mathrm{optimizer} = \text{sgd} \\ 0 & \text{otherwise} \end{cases}",
        "{12 if optimizer in {adam, adamw}; 4 if optimizer = sgd; 0 otherwise}"),
    "constant to the right": (sympy.Lt(sympy.Integer(3), Z, evaluate=False), "Z > 3", "Z > 3"),
    "unequal": (sympy.Ne(Z, 3), r"Z \neq 3", "Z ≠ 3"),
    "and, as declared": (sympy.And(p >= 2, t > 1), r"t > 1 \wedge p \geq 2", "t > 1 and p ≥ 2"),
    "and, the shorter first": (sympy.And(t > p, Z >= 2), r"Z \geq 2 \wedge t > p", "Z ≥ 2 and t > p"),
    "or inside and": (sympy.And(sympy.Or(t > 1, p > 1), d > 1), r"d > 1 \wedge \left(t > 1 \vee p > 1\right)",
        "d > 1 and (t > 1 or p > 1)"),
    "not": (sympy.Not(sympy.And(t > 1, feasible)), r"\neg \left(t > 1 \wedge \mathrm{feasible}\right)",
        "not (t > 1 and feasible)"),
    "coherent units are left out": (34 * byte / token * s, "34 s", "34·s"),
    "other units are not": (2 * UnitSymbol("GiB") * P, r"2 P \,\mathrm{GiB}", "2·P·GiB"),
}  # fmt: skip


@pytest.mark.parametrize("case", PRINTED)
def test_latex(case):
    expression, expected, _ = PRINTED[case]
    assert latex(expression) == expected


@pytest.mark.parametrize("case", PRINTED)
def test_text(case):
    expression, _, expected = PRINTED[case]
    assert text(expression) == expected


def test_latex_with_units():
    assert latex(34 * byte / token * s, units=True) == r"\frac{34 s \,\mathrm{byte}}{\,\mathrm{token}}"
    assert latex(kv_request * s_pad / request, units=True) == (
        r"\frac{\hat{s} \kappa_{\mathrm{req}}}{\,\mathrm{request}}"
    )


@pytest.fixture
def wide(declare):
    """Symbols of 25 em each, of which a page holds one to a line."""
    return [declare(f"wide_{x}", latex=rf"\mathrm{{{x * 50}}}") for x in "abc"]


def test_a_sum_wider_than_a_page_stands_on_several_lines(wide):
    a, b, c = wide
    broken = r"\begin{aligned} & " + r" \\ & ".join([latex(a), f"+ {latex(b)}", f"- {latex(c)}"]) + r" \end{aligned}"
    assert latex(a + b - c) == broken
    assert latex((a + b - c) / s) == rf"\frac{{{broken}}}{{s}}"


def test_a_list_wider_than_a_page_stands_on_several_lines(wide):
    a, b, _ = wide
    rows = rf"\begin{{aligned}} & {latex(a)}, \\ & {latex(b)} \end{{aligned}}"
    assert latex(sympy.Max(a, b)) == rf"\max\left({rows}\right)"
    assert latex(sympy.Max(a, b) ** 2) == rf"\max\left({rows}\right)^{{2}}"


def test_an_equation_alone_and_among_others(wide):
    a, b, _ = wide
    assert equation("X", P * h) == "X = P h"
    assert equation("X", P * h, aligned=True) == "X &= P h"
    rows = rf"X &= {latex(a)} \\ & + {latex(b)}"
    assert equation("X", a + b, aligned=True) == rows
    assert equation("X", a + b) == rf"\begin{{aligned}} {rows} \end{{aligned}}"
    over = r"i \in \{" + ", ".join(["1"] * 20) + r"\}"
    assert equation("X", P * h, over=over) == rf"X = P h, \qquad {over}"
    assert equation("X", a, over=over) == rf"\begin{{aligned}} X &= {latex(a)}, \\ & {over} \end{{aligned}}"
    assert equation("X", a + b, over=over, aligned=True) == rf"{rows}, \\ & {over}"


def test_words_keep_the_signs_tex_reads():
    assert words_latex("zero_offload, 50% & more") == (r"\text{zero}\_\text{offload, 50}\%\text{ }\&\text{ more}")


def test_text_with_numbers_for_symbols():
    assert text(ell * m / 2, {"layers_per_stage": "32", "local_micro_batch": "1"}) == "1·32/2"
    assert text(W / M_cap, {"weights": "16.06 GB"}) == "16.06 GB/M_cap"
    assert text(t_step**2, {"decode_step_time": "5.44 ms"}) == "(5.44 ms)²"


CONSTANTS = {
    (): P * h,
    ("34 byte/token",): 34 * byte / token * s,
    ("2 byte",): h * q / (2 * byte),
    ("2 FLOP/token",): 2 * UnitSymbol("FLOP") / token * P * s,
    ("12 byte", "4 byte"): by_label(optimizer, OPTIMIZER_BYTES),
    ("1/2 GiB",): UnitSymbol("GiB") * P / 2,
}


@pytest.mark.parametrize("expected", CONSTANTS)
def test_constants_that_carry_a_unit(expected):
    assert constants(CONSTANTS[expected]) == expected


def test_bare_counts_are_no_constants():
    assert constants(kv_request * s_pad / request + 3 * s / token) == ()


SYMBOLS = {
    r"T^{\ast}": "T*",
    r"\varepsilon_{\mathrm{f}}": "ε_f",
    r"\eta": "η",
    r"P_{\mathrm{r}}": "P_r",
    r"\hat{s}": "s\u0302",
    r"T^{*}": "T*",
    r"\lambda_{\max}": "λ_max",
    r"\Lambda": "Λ",
    r"\ell": "ℓ",
    r"\Phi_{\mathrm{pre}}": "Φ_pre",
    r"\mathrm{feasible}": "feasible",
    "c_v": "c_v",
    r"\rho_M": "ρ_M",
}


@pytest.mark.parametrize("source", SYMBOLS)
def test_symbols_as_text(source):
    assert latex_to_text(source) == SYMBOLS[source]


def test_no_symbol_of_the_vocabulary_leaves_latex_in_its_text():
    for _, formula in every_formula():
        for each in (formula.variable, *formula.inputs):
            shown = symbol_text(each)
            assert not set(shown) & set("\\{}"), each.name
            assert shown


def test_no_python_name_leaks_into_print():
    """A field's letter stands for every variable; the long name is for code."""
    for _, formula in sampled(every_formula(), lambda each: each[1].id):
        factors, latex = formula.text().split(" = ", 1)[1].split("·"), formula.latex()
        for each in (formula.variable, *formula.inputs):
            if each.latex not in (rf"\mathrm{{{each.name}}}", each.name):
                assert each.name not in factors
                assert each.name not in latex


def test_a_symbol_is_printed_by_its_variable(declare):
    symbol = declare("print_long_name", "GB", latex=r"\omega_{\mathrm{x}}")
    assert latex(symbol / W) == r"\frac{\omega_{\mathrm{x}}}{W}"
    assert text(symbol / W) == "ω_x/W"
    assert symbol_text(variable_of(symbol)) == "ω_x"


def test_cases_that_sympy_turns_over_for_ever_in_the_order_of_declaration(declare):
    second, first = declare("turned_b", latex="v", domain=positive()), declare("turned_a", latex="u", domain=positive())
    cases = sympy.Piecewise((first, 2 * second - 2 * first <= first - 2 * second), (second, True))
    assert text(cases) == "{u if 2·v − u ≤ 2·u − 2·v; v otherwise}"
    in_order = {first: sympy.Symbol("b", positive=True), second: sympy.Symbol("a", positive=True)}
    with pytest.raises(RecursionError):
        cases.xreplace(in_order)


def test_an_extreme_with_other_arguments_keeps_their_order(declare):
    first, second, third = (declare(f"listed_{name}", latex=name) for name in "abn")
    cases = sympy.Piecewise((first, third > 1), (second, True))
    for extreme, name in ((sympy.Max, "max"), (sympy.Min, "min")):
        whole = extreme(second - first, cases)
        taken = listed(whole, [first if arg == cases else arg for arg in whole.args])
        assert text(whole) == f"{name}(b − a, {{a if n > 1; b otherwise}})"
        assert text(taken) == f"{name}(b − a, a)"
        assert latex(taken) == rf"\{name}\left(b - a, a\right)"
        assert latex(taken**2) == rf"\{name}\left(b - a, a\right)^{{2}}"


@pytest.mark.parametrize("extreme", [sympy.Max, sympy.Min])
def test_both_printers_list_arguments_in_one_order(declare, extreme):
    first, second, third = (declare(f"ordered_{name}", latex=name) for name in "abn")
    whole = extreme(first + second, first * second * third, evaluate=False)
    name = extreme.__name__.lower()
    assert [arg.func for arg in whole.args] == [sympy.Add, sympy.Mul]
    for each in (whole, listed(whole, whole.args)):
        assert text(each) == f"{name}(a·b·n, a + b)"
        assert latex(each) == rf"\{name}\left(a b n, a + b\right)"


PRINT_ALL = """
from mlsysim.formulas import every_formula
for topic, formula in every_formula():
    print(topic, formula.id, formula.latex(), formula.text(), formula.constants())
"""


@pytest.mark.parametrize("seed", rest_long(["1", "2"], quick=0))
def test_printing_does_not_depend_on_the_hash_seed(seed):
    """It must not change from run to run; a quick run shows it for the book, which has every formula."""
    run = subprocess.run(
        [sys.executable, "-c", PRINT_ALL], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
    )
    lines = [f"{topic} {f.id} {f.latex()} {f.text()} {f.constants()}" for topic, f in every_formula()]
    assert run.stdout.decode().splitlines() == lines
