"""Dimensional analysis: the algebra, and every way two parts can disagree."""

from fractions import Fraction

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from mlsysim import units
from mlsysim.errors import UnitError, UnknownNameError
from mlsysim.symbolic import ErlangC, LeastInteger, UnitSymbol, byte, flop, label, request, token
from mlsysim.symbolic.dimensions import ANY, describe, dimension_of, same
from mlsysim.symbols.hardware import B_mem, F, M_cap, alpha
from mlsysim.symbols.serving import T_base, kv_request, n_out, qps, ttft
from mlsysim.symbols.training import W, Z, d
from mlsysim.symbols.workload import L, P, h, precision, s

EXHAUSTIVE = settings(deadline=None, derandomize=True, database=None, max_examples=150)
SYMBOLS = [P, h, M_cap, B_mem, F, ttft, qps, n_out, kv_request, byte, flop, token, request, UnitSymbol("USD")]

#: Products of powers, with the dimension pint gives them.
monomials = st.dictionaries(st.sampled_from(SYMBOLS), st.integers(-3, 3), max_size=5).map(
    lambda powers: sympy.Mul(*(symbol**power for symbol, power in powers.items()))
)


def by_pint(expression):
    """Dimension of a product of powers, from pint."""
    from mlsysim.symbolic import variable_of

    total = units.Q_(1.0, "")
    for base, power in expression.as_powers_dict().items():
        if base.is_Number:
            continue
        unit = base.name if isinstance(base, UnitSymbol) else variable_of(base).unit
        total = total * units.Q_(1.0, unit) ** float(power)
    return {name: power for name, power in dict(total.dimensionality).items() if abs(power) > 1e-9}


@EXHAUSTIVE
@given(monomials)
def test_products_agree_with_pint(expression):
    assert dimension_of(expression) == by_pint(expression)


@EXHAUSTIVE
@given(monomials, monomials)
def test_a_product_adds_exponents_and_a_quotient_subtracts_them(left, right):
    over, under = dimension_of(left), dimension_of(right)
    names = set(over) | set(under)
    assert dimension_of(left * right) == {n: p for n in names if (p := over.get(n, 0) + under.get(n, 0))}
    assert dimension_of(left / right) == {n: p for n in names if (p := over.get(n, 0) - under.get(n, 0))}


@EXHAUSTIVE
@given(monomials, st.fractions(-3, 3, max_denominator=4))
def test_a_power_multiplies_exponents(expression, power):
    found = dimension_of(expression ** sympy.Rational(power.numerator, power.denominator))
    assert found == {n: p * power for n, p in dimension_of(expression).items() if p * power}


@EXHAUSTIVE
@given(monomials, monomials)
def test_a_sum_needs_equal_dimensions_and_keeps_them(left, right):
    total = sympy.Add(left, 2 * right)
    if dimension_of(left) == dimension_of(right):
        assert dimension_of(total) == dimension_of(left)
    else:
        with pytest.raises(UnitError):
            dimension_of(total)


@EXHAUSTIVE
@given(monomials, monomials)
def test_what_may_be_added_may_be_compared_and_chosen_between(left, right):
    alike = dimension_of(left) == dimension_of(right)
    for build in (
        lambda: sympy.Max(left, right, evaluate=False),
        lambda: sympy.Lt(left, right, evaluate=False),
        lambda: sympy.Piecewise((left, P > 1), (right, True)),
    ):
        if alike:
            dimension_of(build())
        else:
            with pytest.raises(UnitError):
                dimension_of(build())


def test_what_assumptions_decide_is_decided_before_units_are_looked_at():
    """A limit of checking expressions sympy has built: Max(1, tokens) is tokens by then."""
    assert dimension_of(sympy.Max(1, n_out)) == {"[token]": 1}
    with pytest.raises(UnitError):
        dimension_of(sympy.Max(2, n_out))


def test_zero_and_infinity_fit_every_dimension():
    assert dimension_of(sympy.Integer(0)) is ANY
    assert dimension_of(sympy.oo) is ANY
    assert dimension_of(-sympy.oo * M_cap) is ANY
    assert dimension_of(sympy.Max(0, M_cap)) == {"[information]": 1}
    assert dimension_of(sympy.Piecewise((0, P > 1), (ttft, P > 2), (sympy.oo, True))) == {"[time]": 1}
    assert same(ANY, {"[time]": 1})
    assert same({"[time]": 1}, ANY)
    assert not same({"[time]": 1}, {})


n = sympy.Dummy("n")
PURE = {
    "log": sympy.log(M_cap / W),
    "exp": sympy.exp(-ttft * qps / request),
    "power": 2 ** (ttft * qps / request),
    "erlang": ErlangC(d, qps * ttft / request),
    "erlang slope": ErlangC(d, P).diff(P),
    "comparison": M_cap > W,
    "label": sympy.Eq(precision, label(precision, "fp16")),
    "logic": sympy.And(M_cap > W, sympy.Or(ttft < T_base, sympy.Not(P > 1))),
    "ceiling": sympy.ceiling(P / h),
    "modulus": sympy.Mod(P, h),
    "least": LeastInteger(n, n * h > P, L),
    "numbers": sympy.pi + sympy.Rational(1, 2) + sympy.Float(0.1) + sympy.E,
    "absolute": sympy.Abs(P - h),
}


@pytest.mark.parametrize("case", PURE)
def test_pure_numbers(case):
    assert dimension_of(PURE[case]) == {}


CARRIED = {
    "ceiling of tokens": (sympy.ceiling(s / 3), {"[token]": 1}),
    "floor of requests": (sympy.floor(qps * ttft), {"[request]": 1}),
    "modulus of tokens": (sympy.Mod(s, 16 * token), {"[token]": 1}),
    "root": (sympy.sqrt(M_cap * W), {"[information]": 1}),
    "half power": (sympy.sqrt(M_cap), {"[information]": Fraction(1, 2)}),
    "constant with a unit": (34 * byte / token * s, {"[information]": 1}),
    "absolute": (sympy.Abs(M_cap - W), {"[information]": 1}),
}


@pytest.mark.parametrize("case", CARRIED)
def test_dimensions_that_carry_through(case):
    expression, expected = CARRIED[case]
    assert dimension_of(expression) == expected


REFUSED = {
    "sum": (M_cap + ttft, "ttft is time but memory_capacity is information in memory_capacity + ttft"),
    "sum with a number": (M_cap + 1, "1 is a pure number but memory_capacity is information in memory_capacity + 1"),
    "max": (sympy.Max(s, P), "parameters is a pure number but seq_len is token in Max(parameters, seq_len)"),
    "comparison": (W > P, "weights is information but parameters is a pure number in weights > parameters"),
    "cases": (
        sympy.Piecewise((W, P > 1), (ttft, True)),
        "weights is information but ttft is time in Piecewise((weights, parameters > 1), (ttft, True))",
    ),
    "condition of a case": (
        sympy.Piecewise((W, ttft > P), (M_cap, True)),
        "parameters is a pure number but ttft is time in parameters < ttft",
    ),
    "logic": (
        sympy.And(P > 1, M_cap > ttft),
        "memory_capacity is information but ttft is time in memory_capacity > ttft",
    ),
    "exponent": (2**ttft, "exponent ttft is time, not a pure number, in 2**ttft"),
    "power by a variable": (W**P, "weights is information and cannot have the exponent parameters"),
    "logarithm": (sympy.log(W), "weights is information, not a pure number, in log(weights)"),
    "erlang": (ErlangC(d, qps), "qps is request / time, not a pure number, in ErlangC(dp_size, qps)"),
    "rounded bytes": (sympy.ceiling(W), "ceiling(weights) rounds information, which is not a count"),
    "rounded rate": (sympy.floor(qps), "floor(qps) rounds request / time, which is not a count"),
    "modulus": (sympy.Mod(s, P), "seq_len is token but parameters is a pure number in Mod(seq_len, parameters)"),
    "least integer": (LeastInteger(n, n > ttft, 3), "_n is a pure number but ttft is time in _n > ttft"),
    "limit": (LeastInteger(n, n > P, ttft), "limit ttft of a least integer is not a pure number"),
    "tokens are not requests": (s + qps * ttft, "seq_len is token but qps*ttft is request in qps*ttft + seq_len"),
    "bytes are not operations": (byte + flop, "FLOP is operation but byte is information in FLOP + byte"),
    "no rule": (sympy.sin(P), "no dimension rule for sin in sin(parameters)"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_disagreement_names_both_sides(case):
    expression, message = REFUSED[case]
    with pytest.raises(UnitError) as refused:
        dimension_of(expression)
    assert str(refused.value) == message


def test_an_undeclared_symbol_is_named():
    with pytest.raises(UnknownNameError, match="unknown variable 'paramters': did you mean parameters"):
        dimension_of(sympy.Symbol("paramters") + P)


DESCRIBED = {
    "a pure number": {},
    "time": {"[time]": 1},
    "information / time": {"[information]": 1, "[time]": -1},
    "1 / time^2": {"[time]": -2},
    "information * token^2 / request / time": {"[information]": 1, "[token]": 2, "[request]": -1, "[time]": -1},
    "information^1/2": {"[information]": Fraction(1, 2)},
}


@pytest.mark.parametrize("words", DESCRIBED)
def test_a_dimension_in_words(words):
    assert describe(DESCRIBED[words]) == words


def test_any_dimension_in_words():
    assert describe(ANY) == "any dimension"


def test_zero_stage_is_a_number_not_a_unit():
    assert dimension_of(Z + 1) == {}
    assert dimension_of(alpha) == {"[time]": 1}
