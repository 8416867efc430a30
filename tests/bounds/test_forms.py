"""Forms mean what the formula means: read term by term they give the value of the compiled function."""

import math

import numpy as np
import pytest
import sympy
from bounds.expressions import INNER, A, B, Case, M, N, cases
from fuzz import fuzzing
from hypothesis import given
from hypothesis import strategies as st

from mlsysim.backends.floats import namespace
from mlsysim.bounds.forms import Forms
from mlsysim.bounds.tables import Table, Tables

FUZZ = fuzzing(150, derandomize=False)
FLOATS = namespace()


class Reader:
    """Value of forms at one point, by the words of their definition."""

    def __init__(self, point):
        self.point, self.parameters = point, {}

    def sum(self, of):
        return math.fsum(map(self.term, of.terms))

    def term(self, of):
        found = of.number
        for table in of.tables:
            found *= float(table.values[self.point[table.axis]])
        for atom, exponent in of.atoms:
            value = self.atom(atom)
            found *= value ** (int(exponent) if float(exponent).is_integer() else exponent)
        return found

    def atom(self, of):
        if of in self.parameters:
            return self.parameters[of]
        if of.kind == "case":
            return self.sum(of.args[1] if self.truth(of.args[0]) else of.args[2])
        if of.kind == "plane":
            plane = of.args[0]
            return float(plane.values[tuple(self.point[axis] for axis in plane.axes)])
        if of.kind == "least":
            return self.least(*of.args)
        if of.kind == "root":
            return self.root(*of.args)
        if of.kind == "truth":
            return float(self.truth(of.args[0]))
        if of.kind == "power":
            return self.sum(of.args[0]) ** of.args[1]
        args = [self.sum(arg) for arg in of.args]
        return {
            "sum": sum, "max": max, "ceil": lambda a: float(FLOATS["ceil"](a[0])), "exp": lambda a: math.exp(a[0]),
            "floor": lambda a: float(FLOATS["floor"](a[0])), "log": lambda a: math.log(a[0]),
            "absolute": lambda a: abs(a[0]),
            "mod": lambda a: a[0] % a[1], "erlang_c": lambda a: FLOATS["erlang_c"](*a),
            "slots_busy": lambda a: FLOATS["slots_busy"](*a), "normal_cdf": lambda a: FLOATS["normal_cdf"](*a),
            "normal_quantile": lambda a: FLOATS["normal_quantile"](*a),
        }[of.kind](args)  # fmt: skip

    def least(self, parameter, condition, upper):
        n, limit = 1, self.sum(upper)
        while n <= limit:
            self.parameters[parameter] = float(n)
            if self.truth(condition):
                return float(n)
            n += 1
        return math.inf

    def root(self, parameter, residual, lower, upper=None):
        def at(x):
            self.parameters[parameter] = float(x)
            return self.sum(residual)

        with np.errstate(all="ignore"):
            return float(FLOATS["root"](at, self.sum(lower), math.inf if upper is None else self.sum(upper), ()))

    def truth(self, of):
        if of.relation in ("compare", "equal"):
            difference = self.sum(of.args[0])
            return difference <= 0 if of.relation == "compare" else difference == 0
        if of.relation == "multiple":
            return FLOATS["ceil"](self.sum(of.args[0])) == FLOATS["floor"](self.sum(of.args[0]))
        if of.relation in ("and", "or", "not"):
            parts = [self.truth(arg) for arg in of.args]
            return {"and": all, "or": any, "not": lambda p: not p[0]}[of.relation](parts)
        if of.relation == "table":
            at = self.point[of.args[0]]
            return of.args[1][at + 1] > of.args[1][at]
        if of.relation == "pairs":
            i, j, counts = self.point[of.args[0]], self.point[of.args[1]], of.args[2]
            return counts[i + 1, j + 1] - counts[i, j + 1] - counts[i + 1, j] + counts[i, j] > 0
        return {"true": True, "false": False}[of.relation]


def jumps(expression):
    """Whether rounding may decide a value: a step or a comparison of what is rounded."""
    steps = (sympy.ceiling, sympy.floor, sympy.Mod, sympy.Piecewise)
    return expression.has(*steps) or any(type(part).__name__ == "LeastInteger" for part in expression.atoms(sympy.Expr))


@FUZZ
@given(data=st.data())
def test_a_form_has_the_value_of_the_formula(data):
    case = data.draw(cases())
    form = case.translator().sum(case.expression)
    values, rounding = case.at_all(case.expression), case.rounding()
    places = data.draw(st.lists(st.integers(0, case.count - 1), min_size=1, max_size=8))
    for place in places:
        if not np.isfinite(values[place]):
            continue
        try:
            found = Reader(case.points[:, place]).sum(form)
        except (ZeroDivisionError, OverflowError, ValueError, TypeError, KeyError):
            continue
        if np.isfinite(found):
            wrong = abs(found - values[place]) > rounding[place] + 1e-12 * abs(values[place])
            assert not wrong or near_a_step(case, place, values[place], found), (case.expression, case.system, place)


def conditions_of(of):
    """The conditions of all cases in a sum, inside other atoms, too."""
    for atom in {atom for term in of.terms for atom, _ in term.atoms}:
        if atom.kind == "case":
            yield atom.args[0]
        for arg in atom.args:
            if hasattr(arg, "terms"):
                yield from conditions_of(arg)


@FUZZ
@given(cases())
def test_a_case_that_is_settled_has_the_value_of_its_branch(case):
    translator = case.translator()
    form = translator.sum(case.expression)
    conditions = list(dict.fromkeys(conditions_of(form)))
    assert {c.number for c in conditions} == translator.forms.decided_by(form)
    for condition in conditions:
        branches = {holds: translator.forms.where(form, condition, holds) for holds in (True, False)}
        for point in case.points.T[:: max(1, case.count // 8)]:
            try:
                holds = Reader(point).truth(condition)
                value, found = Reader(point).sum(form), Reader(point).sum(branches[holds])
            except (ZeroDivisionError, OverflowError, ValueError, TypeError, KeyError):
                continue
            if np.isfinite(value) and np.isfinite(found):
                scale = max(abs(Reader(point).term(term)) for term in (*form.terms, *branches[holds].terms))
                assert abs(found - value) <= 1e-9 * scale, case.expression


STAGES = sympy.Piecewise((sympy.ceiling(60 / N), M > N), (sympy.ceiling(60 / N) + 1, True))


@pytest.mark.parametrize(
    ("inner", "apart"),
    [
        pytest.param(STAGES, True, id="steps beside a slope"),
        pytest.param(sympy.Piecewise((2, N > M), (3, True)), False, id="steps alone"),
        pytest.param(sympy.floor((N - 7) * M / 5), False, id="of either sign"),
        pytest.param(sympy.Piecewise((N * M, N > M), (N * M * 1, True)), True, id="a product"),
    ],
)
def test_steps_over_two_axes_are_tabulated(inner, apart):
    """A variable with cases or roundings is exact over two axes; where it falls steeply, its slope is a table."""
    case = Case(INNER, {N: range(1, 13), M: [1, 2, 3, 5]}, inner=inner)
    form = case.translator().sum(case.expression)
    (term,) = form.terms
    assert all(atom.kind == "plane" for atom, _ in term.atoms)
    assert bool(term.tables) == apart
    np.testing.assert_allclose(read(case, form), case.at_all(INNER), rtol=1e-12)


def test_cases_are_settled_inside_maxima():
    """A maximum whose arguments share a case becomes the maximum of their branches."""
    condition = N > 2 * B
    expression = sympy.Max(sympy.Piecewise((M, condition), (N, True)) + B, 3) + sympy.Piecewise(
        (B, condition), (1, True)
    )
    case = Case(expression, {B: [0.5, 3, 7], N: [1, 2, 3, 6], M: [2, 3, 5]})
    translator = case.translator()
    form = translator.sum(case.expression)
    (found,) = dict.fromkeys(conditions_of(form))
    settled = translator.forms.where(form, found, True)
    assert not translator.forms.decided_by(settled)
    np.testing.assert_allclose(read(case, settled), case.at_all(sympy.Max(M + B, 3) + B), rtol=1e-12)


@pytest.mark.parametrize(("rounded", "off"), [(sympy.ceiling, 1e-14), (sympy.floor, -1e-14)])
def test_whole_numbers_that_cancel_to_one_axis_stay_whole(rounded, off):
    """Tables that differ by roundings are one table; that makes no other whole number."""
    counts = np.arange(1.0, 50.0)
    case = Case(rounded(INNER * B * N / M), {B: [0.1, 0.3, 0.7], N: counts, M: [3.0, 7.0, 11.0]}, inner=M / B)
    translator = case.translator()
    translator.forms.table(2, counts * (1 + np.where(counts == 7, off, 0)))
    form = translator.sum(case.expression)
    assert not any(term.atoms for term in form.terms)
    np.testing.assert_allclose(read(case, form), case.at_all(N + 0 * M), rtol=1e-12)


def near_a_step(case, place, value, found):
    """Whether moving the inputs by a few roundings gives the other value: it is rounding that decides."""
    moved = Case(case.expression, {}).on(case, case.expression)
    for shift in (1e-13, -1e-13):
        for name in case.values:
            moved.values = {n: v * (1 + shift * (n == name)) for n, v in case.values.items()}
            there = moved.at_all(case.expression)[place]
            if abs(there - value) > 1e-9 * abs(value):
                return True
    return False


def read(case, form):
    return np.array([Reader(point).sum(form) for point in case.points.T])


@pytest.mark.parametrize(
    ("expression", "terms"),
    [
        (B * N * M, 1),
        (B * N + 2 * B * N, 1),
        (B * N - B * N + M, 1),
        (3 + N + N**2, 1),
        (B + N, 2),
        (1 + N / 2 + 3 * M, 2),
        (N + B * (1 + M), 2),
        ((B + M) * (N + 2), 2),
        (N * (1 / N) * B, 1),
        (sympy.Max(N * B, N * M) / N, 1),
        ((N - 1) / N * B, 1),
    ],
)
def test_terms_are_collected_and_keep_their_meaning(expression, terms):
    case = Case(expression, {B: [0.5, 3, 7], N: [1, 2, 3, 6], M: [2, 3, 5]})
    form = case.translator().sum(case.expression)
    assert len(form.terms) == terms
    np.testing.assert_allclose(read(case, form), case.at_all(case.expression), rtol=1e-12)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 0, 1, 2), (1, 0, 2, 3), (2, 1, 3, 0), (1, 2, 3, 0)])
def test_terms_of_three_axes_and_a_constant_stay_a_sum(order):
    """The constant joins one of them; what it was before must not take in the others."""
    forms = Forms((2, 3, 4))
    parts = [forms.number(5.0), *(forms.table(axis, np.arange(1.0, size + 1)) for axis, size in enumerate((2, 3, 4)))]
    total = forms.add([parts[place] for place in order])
    for point in np.ndindex(2, 3, 4):
        assert Reader(point).sum(total) == pytest.approx(5 + sum(point) + 3, rel=1e-12)


def test_what_names_an_axis_and_does_not_change_along_it_is_a_table():
    """Where no design has the case that needs M, steps of the rest stand in tables, too."""
    inner = sympy.Piecewise((N * M, N > 100), (N, True))
    case = Case(sympy.ceiling(INNER / 2) + M, {N: [1, 2, 3], M: [2, 3]}, inner=inner)
    translator = case.translator(INNER, N)
    assert translator.sum(INNER) is translator.sum(N)
    assert not any(term.atoms for term in translator.sum(case.expression).terms)
    case = Case(sympy.ceiling(INNER / 2), {N: [1, 2, 101], M: [2, 3]}, inner=inner)
    translator = case.translator(INNER, N)
    assert translator.sum(INNER) is not translator.sum(N)
    np.testing.assert_allclose(read(case, translator.sum(case.expression)), case.at_all(case.expression))


def test_equal_forms_are_one():
    asked = (B * (N + M), B * N + B * M, (N + M) * B, sympy.Max(B, N * M), -sympy.Min(-B, -N * M), B * N, B * M)
    translator = Case(B, {B: [1, 2], N: [1, 2], M: [2, 3]}).translator(*asked)
    product, expanded, turned, largest, smallest, *others = map(translator.sum, asked)
    assert product is expanded is turned
    assert largest is smallest
    assert others[0] is not others[1]


@pytest.mark.parametrize("exponent", [2.0, 3.0, -1.0, -2.0, 0.5, -0.5, 0.0, 1.0])
def test_powers(exponent):
    forms = Forms((3, 2))
    base = forms.add([forms.table(0, np.array([1.0, 2, 5])), forms.table(1, np.array([0.5, 3]))])
    for of in (base, forms.multiply(base, forms.table(1, np.array([4.0, 9]))), forms.scale(base, 0.25)):
        for point in np.ndindex(3, 2):
            assert Reader(point).sum(forms.power(of, exponent)) == pytest.approx(Reader(point).sum(of) ** exponent)


def test_a_sum_that_is_divided_by_twice_joins_what_it_is_multiplied_with():
    """Tokens per second divide by the time of a step, and what a token costs divides by tokens per second."""
    forms = Forms((3, 2))
    total = forms.add([forms.table(0, np.array([1.0, 2, 5])), forms.table(1, np.array([0.5, 3]))])
    amount = forms.table(0, np.array([4.0, 1, 7]))
    rate = forms.multiply(amount, forms.power(total, -1.0))
    cost = forms.multiply(amount, forms.power(rate, -1.0))
    assert [term.key for term in cost.terms] == [term.key for term in total.terms]
    for point in np.ndindex(3, 2):
        assert Reader(point).sum(forms.power(rate, -1.0)) == pytest.approx(1 / Reader(point).sum(rate))


@pytest.mark.parametrize("values", [[-2.0, 0, 3], [-1.0, -4, -9], [0.0, 2, 5]])
def test_even_powers_of_any_sign(values):
    """Max(0, a)**2 is not Max(0, a**2) where a is negative."""
    case = Case(sympy.Max(0, A * N - B) ** 2, {A: values, B: [0.5, 2], N: [1, 3]})
    form = case.translator().sum(case.expression)
    np.testing.assert_allclose(read(case, form), case.at_all(case.expression), rtol=1e-12)
    assert (case.at_all(case.expression) == 0).any()


def test_a_ceiling_of_a_quotient_is_that_of_one_division():
    """ceil(B * (1 / N) * (1 / M)) would be one too many where the quotient is whole."""
    counts = np.arange(1, 50)
    case = Case(sympy.ceiling(B / (N * M)), {B: [49.0, 147.0, 2401.0], N: counts, M: counts})
    b, n, m = (case.values[s.name] for s in (B, N, M))
    exact = -(-b.astype(int) // (n * m).astype(int))
    np.testing.assert_array_equal(case.at_all(case.expression), np.broadcast_to(exact, case.sizes).ravel())


@given(st.lists(st.sampled_from([-2.0, -1.0, 0.0, 0.5, 3.0, np.inf]), min_size=1, max_size=40), st.data())
def test_ends_of_a_stretch_of_a_table(values, data):
    table = Table(0, np.array(values), 0)
    low = data.draw(st.integers(0, len(values) - 1))
    high = data.draw(st.integers(low, len(values) - 1))
    with np.errstate(invalid="ignore"):
        least, greatest = table.range(np.array([low]), np.array([high]))
    assert (least[0], greatest[0]) == (min(values[low : high + 1]), max(values[low : high + 1]))


def test_tables_alike_but_for_scale_and_rounding_are_one():
    tables, values = Tables(), np.array([1.0, 2.0, 7.0]) / 3
    scale, table = tables.intern(0, values)
    again, other = tables.intern(0, values * 5 * (1 + 1e-16))
    assert table is other
    assert again == pytest.approx(5 * scale)
    assert tables.intern(1, values)[1] is not table
    assert tables.intern(0, values * [1, 1, 1 + 1e-9])[1] is not table
    assert tables.intern(0, np.full(3, 4.0)) == (4.0, None)
    least, negative = tables.intern(0, -values)
    assert negative is table
    assert least == -scale
