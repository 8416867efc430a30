"""Roots of equations and the normal distribution, as sympy objects."""

import pickle

import pytest
import sympy

from mlsysim.errors import FormulaError, UnitError
from mlsysim.symbolic import NormalCDF, NormalQuantile, Root, System, evaluated_at, lower, nonnegative
from mlsysim.symbolic.dimensions import dimension_of
from mlsysim.symbolic.printing import latex, text

n = sympy.Symbol("n")
NAMES = ("found", "wait", "rate", "slots", "time", "arriving", "queue")


@pytest.fixture(scope="module")
def v(declare):
    """A queue of which the number inside is sought: number = arriving time(number)."""
    units = {"wait": "s", "rate": "1/s", "time": "s", "arriving": "1/s"}
    return {
        name: declare(f"root_{name}", units.get(name, "count"), nonnegative(), latex=rf"{name[0]}_{{\mathrm{{r}}}}")
        for name in NAMES
    }


@pytest.fixture(scope="module")
def root(v):
    return Root(v["found"], v["found"], v["arriving"] * (v["wait"] + v["found"] / v["rate"]), 0, v["slots"])


def test_its_parts(root, v):
    assert root.args == (root.x, root.left, root.right, 0, v["slots"])
    assert (root.lower, root.upper) == (0, v["slots"])
    assert root.left == root.x != v["found"]
    assert root.right == v["arriving"] * (v["wait"] + root.x / v["rate"])


def test_its_unknown_is_its_own(root, v):
    assert isinstance(root.x, sympy.Dummy)
    assert root.x.name == "root_found"
    assert root.free_symbols == {v[name] for name in ("arriving", "wait", "rate", "slots")}
    assert root.bound_symbols == [root.x]
    kept = sympy.Dummy("k", real=True)
    assert Root(kept, kept, 3, 0, 9).x is kept


def test_its_unknown_is_any_number_though_the_variable_is_whole(declare):
    from mlsysim.symbolic import integer

    whole = declare("root_whole", domain=integer(1))
    found = Root(whole, whole**2, 2, 0, 9)
    assert found.x.is_integer is None
    assert found.x.is_nonnegative


def test_symbols_of_the_ends_count_even_where_they_are_named_like_the_unknown(v):
    assert Root(n, n, v["slots"], 0, n).free_symbols == {v["slots"], n}


@pytest.mark.parametrize("replace", ["subs", "xreplace"])
def test_what_is_put_in_is_not_captured(root, v, replace):
    put = {"subs": root.subs, "xreplace": lambda old, new: root.xreplace({old: new})}[replace]
    assert put(v["slots"], v["found"]).upper == v["found"]
    by_wait = put(v["wait"], v["found"] * v["time"])
    assert by_wait.free_symbols == root.free_symbols - {v["wait"]} | {v["found"], v["time"]}
    assert put(v["found"], sympy.Integer(7)) == root


def test_the_unknown_cannot_be_replaced(root):
    assert root.subs(root.x, 5) == root
    with pytest.raises(FormulaError) as refused:
        root.xreplace({root.x: sympy.Integer(5)})
    assert str(refused.value) == "the unknown of a root is a symbol, not 5"


@pytest.mark.parametrize("end", [sympy.oo, -sympy.oo])
def test_the_lower_end_is_finite(end):
    with pytest.raises(FormulaError) as refused:
        Root(n, n, 3, end, 9)
    assert str(refused.value) == f"the lower end of a root is finite, not {end}"


def test_its_sign_is_that_of_its_lower_end(root, v):
    assert root.is_nonnegative
    assert root.is_positive is None
    assert Root(n, n, 3, 1, 9).is_positive
    assert Root(n, n, 3, -1, 9).is_nonnegative is None


def test_it_survives_pickling(root):
    again = pickle.loads(pickle.dumps(root))
    assert (again, hash(again), text(again)) == (root, hash(root), text(root))
    assert root.func(*root.args) == root


def test_two_of_them_do_not_mix(root, v):
    other = Root(v["found"], *(part.xreplace({root.x: v["found"]}) for part in root.args[1:]))
    assert other != root
    assert (root + other).free_symbols == root.free_symbols


def test_it_is_printed_in_the_symbol_of_its_variable(root):
    assert latex(root) == (
        r"\left\{f_{\mathrm{r}} \in \left[0, s_{\mathrm{r}}\right] :\enspace "
        r"f_{\mathrm{r}} = a_{\mathrm{r}} \left(w_{\mathrm{r}} + \frac{f_{\mathrm{r}}}{r_{\mathrm{r}}}\right)\right\}"
    )
    assert text(root) == "{f_r in [0, s_r] : f_r = a_r·(w_r + f_r/r_r)}"


def test_an_equation_wider_than_a_page_stands_on_two_lines(declare):
    a, b = (declare(f"root_wide_{x}", latex=rf"\mathrm{{{x * 50}}}") for x in "ab")
    rows = rf"\begin{{aligned}} & x {latex(a)} \\ & = {latex(b)} \end{{aligned}}"
    assert latex(Root(sympy.Symbol("x"), sympy.Symbol("x") * a, b, 0, sympy.oo)) == (
        rf"\left\{{x :\enspace {rows}\right\}}"
    )


def test_it_has_the_dimension_of_its_unknown(root, v):
    assert dimension_of(root) == {}
    seconds = Root(v["time"], v["time"] * v["rate"], v["slots"], 0, sympy.oo)
    assert dimension_of(seconds) == dimension_of(v["wait"])
    assert dimension_of(Root(v["time"], v["time"] * v["rate"], v["slots"], v["wait"], sympy.oo)) == dimension_of(
        v["wait"]
    )


@pytest.mark.parametrize(
    ("x", "left", "right", "upper", "says"),
    [
        ("found", "found", "wait", "slots", "_root_found is a pure number but root_wait is time in "),
        ("time", "time", "wait", "slots", "_root_time is time but root_slots is a pure number in "),
        ("slots", "slots", "found", "wait", "_root_slots is a pure number but root_wait is time in "),
    ],
)
def test_dimensions_must_agree(v, x, left, right, upper, says):
    with pytest.raises(UnitError) as refused:
        dimension_of(Root(v[x], v[left], v[right], 0, v[upper]))
    assert str(refused.value).startswith(says)


def test_it_may_hold_what_another_variable_would_be(v, formula):
    """The number inside a queue by Little's law, where the formulas give the time it takes."""
    by_number = [formula(v["time"], v["wait"] + v["queue"] / v["rate"])]
    at = evaluated_at(v["time"], {v["queue"]: n}, by_number)
    root = Root(n, n, v["arriving"] * at, 0, sympy.oo)
    assert root.free_symbols == {v["arriving"], v["wait"], v["rate"]}
    assert text(root) == "{n : n = a_r·t_r(q_r = n)}"
    system = System([*by_number, formula(v["queue"], root)])
    assert [f.name for f in system] == ["root_queue", "root_time"]
    assert system.steps() == ()
    assert lower(root) == root


def test_ceilings_within_it_are_relaxed(v, formula):
    root = Root(n, sympy.ceiling(n), v["slots"], 0, sympy.oo)
    system = System([formula(v["queue"], root)])
    assert system.steps() == ("root_queue",)
    assert not system.relax()["root_queue"].expression.has(sympy.ceiling)


# --- the normal distribution ----------------------------------------------------------------------


def test_slopes_of_the_normal_distribution():
    x = sympy.Symbol("x", real=True)
    assert NormalCDF(2 * x).diff(x) == 2 * sympy.exp(-2 * x**2) / sympy.sqrt(2 * sympy.pi)
    slope = NormalQuantile(x).diff(x)
    assert slope == sympy.sqrt(2 * sympy.pi) * sympy.exp(NormalQuantile(x) ** 2 / 2)
    assert NormalCDF(x).is_nonnegative
    assert NormalQuantile(x).is_nonnegative is None


@pytest.mark.parametrize("function", [NormalCDF, NormalQuantile])
def test_the_normal_distribution_takes_pure_numbers(function, v):
    assert dimension_of(function(v["slots"])) == {}
    with pytest.raises(UnitError) as refused:
        dimension_of(function(v["wait"]))
    assert str(refused.value) == (f"root_wait is time, not a pure number, in {function.__name__}(root_wait)")
