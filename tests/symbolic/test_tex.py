"""LaTeX of one's own that no renderer takes is refused where it is declared."""

import pytest

from mlsysim.errors import FormulaError
from mlsysim.symbolic import variable
from mlsysim.symbolic.printing.width import width
from mlsysim.symbolic.tex import slip_in

SLIPS = {
    "t_a_b": "a second _", "t_{a}_{b}": "a second _", "t^2^3": "a second ^", "t_a^b_c": "a second _",
    "t_{x_a_b}": "a second _", r"t_\text{a}_b": "a second _", r"\hat{t_a_b}": "a second _", r"\frac{": "braces",
    "t_{a": "braces", "t}a{": "braces", "t_": "nothing follows", r"\frac{a}": r"\frac lacks", r"\left(t": "do not pair",
    "$t$": "dollar signs",
}  # fmt: skip


@pytest.mark.parametrize("latex", SLIPS)
def test_a_slip_is_refused_where_the_variable_is_declared(latex):
    with pytest.raises(FormulaError, match="variable tex_slip: latex=") as refused:
        variable("tex_slip", latex, "GB", "A slip.")
    assert SLIPS[latex] in str(refused.value)
    assert width(latex) >= 0


GOOD = ["t", "t_a", "t_a^b", "t^{2}_{a}", "t_{a_b}", "x_a y_b", r"\text{a\_b}_c", r"t_\text{a}", r"\frac{a_b}{c_d}_e",
        r"\{t_a\}", "{t_a}_b", r"\hat{t}_a", r"t_{\mathrm{x}}"]  # fmt: skip


@pytest.mark.parametrize("latex", GOOD)
def test_what_renderers_take_is_taken(latex):
    assert not slip_in(latex)


@pytest.mark.parametrize("latex", [r"\frac", r"\begin{array", r"\left", r"\text", r"\begin{array}{cc}a & b", "", "_"])
def test_the_width_of_half_an_equation_is_a_number(latex):
    assert width(latex) >= 0
