"""What must hold for every Formula: units, source, example, both backends, derivatives."""

import ast
import math
import operator
from decimal import Decimal
from functools import cache
from itertools import pairwise
from statistics import NormalDist

import jax
import numpy as np
import pytest
import sympy
from fuzz import rest_long, tries
from scipy.optimize import brentq
from sympy.functions.elementary.piecewise import Piecewise

from mlsysim import units
from mlsysim.engine import compiled, compiled_expression, evaluate, pure_function, slopes
from mlsysim.formulas import every_formula
from mlsysim.models import every_model
from mlsysim.references import bibliography
from mlsysim.symbolic import (
    ChunkedPrefill,
    ErlangC,
    EvaluatedAt,
    LeastInteger,
    NormalCDF,
    NormalQuantile,
    Root,
    SlotsBusy,
    System,
    lower,
    variable_of,
)
from mlsysim.symbolic.constants import Label, UnitSymbol
from mlsysim.symbolic.functions import Unknown

#: As compiled: one with an index for each of its members.
WRITTEN = [(name, member) for name, formula in every_formula() for member in formula.members]
#: A chain is solved for arguments that belong together, which are not drawn one by one: see tests/engine/test_laws.py.
PLACED = [(name, member) for name, member in WRITTEN if not member.expression.has(ChunkedPrefill)]
FORMULAS = [member for _, member in PLACED]
#: Roots around roots.
GOODPUTS = {"replica_goodput", "colocated_goodput_per_accelerator"}
every = pytest.mark.parametrize("formula", FORMULAS, ids=[formula.id for formula in FORMULAS])
written = pytest.mark.parametrize("formula", [f for _, f in WRITTEN], ids=[f.id for _, f in WRITTEN])


def formula_of(name):
    """The formula of an id, or the first-order one of a variable."""
    return next(formula for formula in FORMULAS if formula.id in (name, f"{name}[first_order]"))


def as_columns(points):
    return {name: np.array([point[name] for point in points]) for name in points[0]}


@written
def test_source_stands_in_the_bibliography(formula):
    assert formula.source.key in bibliography()
    assert formula.source.work.title
    if formula.example and formula.example.source:
        assert formula.example.source.key in bibliography()


@written
def test_has_a_title_and_an_example_or_a_reason(formula):
    assert formula.title.strip() == formula.title != ""
    assert (formula.example is None) == bool(formula.no_example)


# --- units, checked by pint instead of by the library's own rules ---------------------------------


def erlang_c(servers, load):
    """Erlang C by the recurrence of Erlang B; one where the queue is not stable."""
    if load >= servers:
        return 1.0
    blocking = 1.0
    for k in range(1, round(servers) + 1):
        blocking = load * blocking / (k + load * blocking)
    return servers * blocking / (servers - load * (1 - blocking))


def slots_busy(slots, a, b, e, tail):
    """The ratio of all smaller terms to the last, term by term from an empty queue on."""
    if a + b == 0:
        return 0.0
    below = 0.0
    for i in range(1, round(slots) + 1):
        below = (below + 1) / ((a + b * i) / i) ** e
    return tail / (below + tail)


def root(node, values):
    """Where the sides of an equation are equal: by halving, or by Brent's method where they take long."""
    unit = units.Q_(1.0, node.x.variable.unit if isinstance(node.x, Unknown) else "")
    ends = (with_unit(pint_value(end, values), [unit]).to(unit.units) for end in (node.lower, node.upper))
    low, high = (end.magnitude for end in ends)

    def beyond(number):
        sides = [pint_value(side, {**values, node.x: number * unit}) for side in (node.left, node.right)]
        left, right = (with_unit(side, sides) for side in sides)
        gap = left - right
        return gap.to_base_units().magnitude if isinstance(gap, units.Q_) else gap

    if not beyond(low) < 0:
        return low * unit
    tried = high if high < math.inf else abs(low) + 1.0
    while high == math.inf and beyond(tried) < 0 and tried < 1e300:
        low, tried = tried, 2 * tried
    if beyond(tried) < 0:
        return high * unit
    high = tried
    if sum(1 for _ in sympy.preorder_traversal(node)) > 1000:
        return brentq(lambda number: max(-1e300, min(1e300, beyond(number))), low, high, xtol=1e-300) * unit
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if beyond(middle) < 0 else (low, middle)
    return high * unit


def with_unit(node, like):
    """Zero and infinity take the unit of what they are compared or added with."""
    if isinstance(node, units.Q_):
        return node
    others = [other for other in like if isinstance(other, units.Q_)]
    fits_any = node == 0 or math.isinf(node)
    return units.Q_(float(node), others[0].units if others and fits_any else "")


def pure(quantity):
    return units.Q_(quantity, "").to("").magnitude if not isinstance(quantity, units.Q_) else quantity.to("").magnitude


COMPARISONS = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne
}  # fmt: skip


def pint_value(node, values):
    """An expression evaluated with pint quantities; pint objects where units do not agree."""

    def visit(child):
        return pint_value(child, values)

    def agreeing(children):
        found = [visit(child) for child in children]
        return [with_unit(value, found) for value in found]

    if isinstance(node, UnitSymbol):
        return units.Q_(1.0, node.name)
    if isinstance(node, Label):
        return units.Q_(float(variable_of(node.variable_name).domain.labels.index(node.text)), "")
    if isinstance(node, sympy.Symbol):
        return values[node if isinstance(node, sympy.Dummy) else node.name]
    if node.is_Number:
        return float(node)
    if node in (sympy.true, sympy.false):
        return bool(node)
    if node.is_Add:
        first, *rest = agreeing(node.args)
        return sum(rest, start=first)
    if node.is_Mul:
        below = [arg for arg in node.args if arg.is_Pow and arg.exp == -1]
        found = math.prod(visit(arg) for arg in node.args if arg not in below)
        for arg in below:  # divided, for 196 times the reciprocal of 196 is less than one
            value = visit(arg.base)
            found = found / value if getattr(value, "magnitude", value) else found * visit(arg)
        return found
    if node.is_Pow:
        base, exponent = visit(node.base), pure(visit(node.exp))
        if exponent < 0 and base.magnitude == 0:
            return math.inf / (1 * base.units) ** -exponent
        return base**exponent
    if isinstance(node, sympy.Max | sympy.Min):
        return (max if isinstance(node, sympy.Max) else min)(agreeing(node.args))
    if isinstance(node, sympy.ceiling | sympy.floor):
        inner = with_unit(visit(node.args[0]), []).to_base_units()
        assert set(inner.dimensionality) <= {"[token]", "[request]"}
        if not math.isfinite(inner.magnitude):
            return inner  # of a branch that is not taken
        return units.Q_((math.ceil if isinstance(node, sympy.ceiling) else math.floor)(inner.magnitude), inner.units)
    if isinstance(node, Piecewise):
        branches = agreeing([case.expr for case in node.args])
        for branch in branches:
            branches[0].to(branch.units)
        return next(branch for branch, case in zip(branches, node.args, strict=True) if visit(case.cond))
    if isinstance(node, sympy.Rel):
        left, right = agreeing(node.args)
        return COMPARISONS[node.rel_op](left, right.to(left.units))
    if isinstance(node, sympy.And | sympy.Or):
        return (all if isinstance(node, sympy.And) else any)([visit(arg) for arg in node.args])
    if isinstance(node, sympy.log):
        inner = pure(visit(node.args[0]))
        return units.Q_(math.log(inner) if inner > 0 else -math.inf, "")
    if isinstance(node, sympy.exp):
        power = pure(visit(node.args[0]))
        return units.Q_(math.exp(power) if power < 700 else math.inf, "")
    if isinstance(node, sympy.Abs):
        return abs(visit(node.args[0]))
    if node == sympy.pi:
        return units.Q_(math.pi, "")
    if isinstance(node, ErlangC):
        return units.Q_(erlang_c(*(pure(visit(arg)) for arg in node.args)), "")
    if isinstance(node, LeastInteger):
        limit = pure(visit(node.upper))
        for n in range(1, int(limit) + 1):
            if pint_value(node.condition, {**values, node.n: units.Q_(float(n), "")}):
                return units.Q_(float(n), "")
        return units.Q_(math.inf, "")
    if isinstance(node, SlotsBusy):
        return units.Q_(slots_busy(*(pure(visit(arg)) for arg in node.args)), "")
    if isinstance(node, NormalCDF):
        return units.Q_(math.erfc(-pure(visit(node.args[0])) / math.sqrt(2)) / 2, "")
    if isinstance(node, NormalQuantile):
        return units.Q_(NormalDist().inv_cdf(pure(visit(node.args[0]))), "")
    if isinstance(node, Root):
        return root(node, values)
    if isinstance(node, EvaluatedAt):
        defined = dict(values)
        for symbol, expression in node.definitions:
            unit = units.Q_(1.0, variable_of(symbol.name).unit)
            defined[symbol] = with_unit(pint_value(expression, defined), [unit])
            assert defined[symbol].is_compatible_with(unit.units)
        return defined[node.definitions[-1][0]]
    raise TypeError(f"no rule for {type(node).__name__}")


@every
def test_units_and_value_agree_with_pint(formula, draw_points, to_canonical):
    function = compiled(System([formula]))
    points = draw_points(formula, tries(20, quick=8))
    if formula.expression.has(LeastInteger):  # they are counted up one by one
        points = [p for p in draw_points(formula) if function(to_canonical(p))[formula.name] < 1000][:4]
    if formula.name in GOODPUTS:  # pint takes seconds for a root around a root
        points = points[:2]
    assert points
    for point in points:
        quantities = {name: units.Q_(value, variable_of(name).unit) for name, value in point.items()}
        value = with_unit(pint_value(formula.expression, quantities), [units.Q_(1.0, formula.variable.unit)])
        assert value.is_compatible_with(formula.variable.unit or "")
        ours = float(function(to_canonical(point))[formula.name])
        near = 1e-10 if formula.expression.has(EvaluatedAt) else 1e-12  # experts untouched: one less nearly one
        given_up = 1e-290 if formula.expression.has(SlotsBusy, ErlangC, Root) else 0
        if formula.name == "step_growth_at_load":  # the difference of two steps, which are nearly equal
            given_up = 1e-11
        if formula.name == "closed_step":  # as well, and multiplied by the requests
            near = 1e-7
        if formula.id == "replica_goodput[chunked_estimate]":  # a root around roots: 1e-13 of an input moves it by 1e-9
            near = 1e-8
        if formula.name in ("late_share", "weights_read_stretch", "kv_read_stretch"):  # a difference of shares
            given_up = 1e-15
        if math.isnan(ours) and formula.name in GOODPUTS:
            continue  # inputs that are drawn apart have no queue
        assert float(value.to_base_units().magnitude) == pytest.approx(ours, rel=near, abs=given_up)


TOPIC = {member.id: name for name, member in PLACED}
#: Topics that a quick run compiles formula by formula: those of the tutorial. A long run compiles all.
QUICK_TOPICS = {"training_memory", "serving_capacity", "queueing", "moe_routing"}


def quick_first(formulas):
    """The formulas as parameters; long, but for those of quick topics."""
    marks = {True: (), False: pytest.mark.long}
    return [pytest.param(f, id=f.id, marks=marks[TOPIC[f.id] in QUICK_TOPICS]) for f in formulas]


# --- the two backends -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def on_jax(draw_points, to_canonical):
    """``on_jax(topic)``: every formula of a topic at its points; one compilation takes a fifth of one per formula."""

    @cache
    def values(name):
        formulas = [member for place, member in PLACED if place == name]
        columns = {f.id: as_columns([to_canonical(point) for point in draw_points(f)]) for f in formulas}
        pure = {f.id: (pure_function(System([f]), (f.name,)), f.name) for f in formulas}

        def all_of(given):
            return {key: function(given[key])[name] for key, (function, name) in pure.items()}

        with jax.enable_x64(True):
            return jax.tree.map(np.asarray, jax.jit(all_of)(jax.tree.map(jax.numpy.asarray, columns)))

    return values


#: Differences of numbers that may be nearly equal, and how near the two backends come.
CANCELLING = {
    **dict.fromkeys(("tpot_p50", "gathered_tokens", "clearing_ratio", "e2e_p50"), 1e-10),
    "replica_goodput": 1e-8,
    "closed_step": 1e-8,
}


@pytest.mark.parametrize("formula", quick_first(FORMULAS))
def test_numpy_equals_jax(formula, on_jax, draw_points, to_canonical):
    function = compiled(System([formula]))
    scalar = np.array([float(function(to_canonical(point))[formula.name]) for point in draw_points(formula)])
    grid = on_jax(TOPIC[formula.id])[formula.id]
    assert grid.dtype in (np.float64, np.bool_, np.int64)
    normal = (scalar == 0) | ~(np.abs(scalar) < np.finfo(float).tiny)  # XLA takes smaller numbers for zero
    near = CANCELLING.get(formula.name, 1e-10 if formula.expression.has(Root) else 1e-12)
    on_grid = np.broadcast_to(np.asarray(grid, float), scalar.shape)
    # Steps of up to minutes, nearly equal; and rates of one request in a billion years.
    least = {"step_growth_at_load": 1e-12, "replica_goodput": 1e-15}.get(formula.name, 0)
    np.testing.assert_allclose(on_grid[normal], scalar[normal], rtol=near, atol=least)


def branching(node):
    """Every Piecewise but those of bound steps, which are those of formulas with draws of their own."""
    if isinstance(node, EvaluatedAt):
        return set().union(*map(branching, node.changed.values()))
    return set().union(*map(branching, node.args)) | ({node} if isinstance(node, Piecewise) else set())


@written
def test_bound_steps_are_formulas(formula):
    """So that their branches are drawn there."""
    known = {(known.symbol, known.expression) for _, known in WRITTEN}
    nodes = formula.expression.atoms(EvaluatedAt)
    for node in nodes:
        names = {symbol: variable_of(symbol.name).symbol for each in nodes for symbol in each.bound_symbols}
        for symbol, expression in node.definitions[len(node.changed) :]:
            if expression.has(EvaluatedAt, Root):  # what stands in it is bound anew
                assert names[symbol].name in {formula.name for _, formula in WRITTEN}
            else:
                assert (names[symbol], expression.xreplace(names)) in known


@every
def test_every_branch_is_drawn(formula, draw_points, to_canonical):
    """Else the tests beside this one would pass without having looked at a branch."""
    points = [to_canonical(point) for point in draw_points(formula)]
    for piecewise in branching(lower(formula.expression)):
        symbols = sorted(piecewise.free_symbols, key=lambda s: s.name)
        conditions = [sympy.lambdify(symbols, case.cond, "math") for case in piecewise.args]
        taken = set()
        for point in points:
            values = [point[symbol.name] for symbol in symbols]
            taken.add(next(place for place, condition in enumerate(conditions) if condition(*values)))
        assert taken == set(range(len(piecewise.args)))


def pinned(requirement):
    """Whether a variant allows some values of one argument only: that says nothing of formulas other variants use."""
    return len(requirement.inputs) == 1


REQUIREMENTS = [
    requirement
    for kind in every_model()
    for name in kind.variants
    for requirement in kind(name).requirements
    if not pinned(requirement)
]


@every
def test_points_are_those_models_accept(formula, draw_points, to_canonical):
    """Sizes that divide, parts that are at most the whole: what no model lets through is not looked at."""
    names = {variable.name for variable in formula.inputs}
    apply = [r for r in REQUIREMENTS if {v.name for v in r.inputs} <= names]
    points = as_columns([to_canonical(point) for point in draw_points(formula)])
    for requirement in apply:
        assert np.all(compiled_expression(requirement.condition)(points)["value"]), requirement


def continuous(formula):
    return tuple(v.name for v in formula.inputs if v.domain.kind in ("real", "integer"))


#: A hundred directions through roots within roots take XLA minutes and twelve gigabytes to fuse.
UNFUSED = {"xla_backend_optimization_level": 0, "xla_disable_hlo_passes": "fusion"}
NUMERIC = [formula for formula in FORMULAS if continuous(formula)]
#: A goodput is a root around roots: by each of a hundred inputs XLA takes 20 s. test_every_slope has its slopes.
#: A case of closed loops stands beside formulas that are here; tests/simulated/test_closed_loops.py has its slopes.
SLOPED = [formula for formula in NUMERIC if formula.name not in GOODPUTS and formula.variant != "closed_loop"]


@pytest.fixture(scope="module")
def drawn_slopes(draw_points, to_canonical):
    """``drawn_slopes(formula)``: derivative by every continuous input at its points; a topic is compiled at once."""

    @cache
    def of_topic(topic):
        formulas = [formula for formula in SLOPED if TOPIC[formula.id] == topic]
        columns = {f.id: as_columns([to_canonical(point) for point in draw_points(f)]) for f in formulas}
        pure = {f.id: jax_slopes(System([f]), f.name, continuous(f)) for f in formulas}
        with jax.enable_x64(True):
            given = jax.tree.map(lambda column: jax.numpy.asarray(column, float), columns)
            all_of = jax.jit(lambda given: {key: slopes_of(given[key]) for key, slopes_of in pure.items()})
            return jax.tree.map(np.asarray, all_of.lower(given).compile(UNFUSED)(given))

    @cache
    def found(formula):
        together = of_topic(TOPIC[formula.id])[formula.id]
        if not any(np.isnan(along).any() for along in together.values()):
            return together
        columns = as_columns([to_canonical(point) for point in draw_points(formula)])
        # A direction that leaves an input alone still multiplies the input's slope, which may be infinite, by zero.
        with jax.enable_x64(True):
            given = jax.tree.map(lambda column: jax.numpy.asarray(column, float), columns)
            each = [jax_slopes(System([formula]), formula.name, (name,))(given) for name in continuous(formula)]
            return jax.tree.map(np.asarray, {name: along for found in each for name, along in found.items()})

    return found


def jax_slopes(system, output, wrt):
    """Derivatives of an output by inputs as a function of a dict of inputs, by JAX."""
    pure = pure_function(system, (output,))

    def along_each(given):
        at = {name: given[name] for name in wrt}
        none = {name: jax.numpy.zeros((len(wrt), *value.shape)) for name, value in at.items()}
        directions = {name: none[name].at[place].set(1.0) for place, name in enumerate(wrt)}

        def value(x):
            return jax.numpy.asarray(pure({**given, **x})[output], float)

        found = jax.vmap(lambda direction: jax.jvp(value, (at,), (direction,))[1])(directions)
        return {name: found[place] for place, name in enumerate(wrt)}

    return along_each


@pytest.mark.parametrize("formula", quick_first(SLOPED))
def test_derivatives_are_finite(formula, drawn_slopes):
    found = drawn_slopes(formula)
    for name in continuous(formula):
        assert found[name].dtype == np.float64
        assert np.all(np.isfinite(found[name])), f"d {formula.name} / d {name}"


@pytest.mark.parametrize("formula", quick_first(SLOPED))
def test_carried_derivatives_equal_those_of_jax(formula, drawn_slopes, draw_points, to_canonical):
    columns = as_columns([to_canonical(point) for point in draw_points(formula)])
    found, by_jax = slopes(System([formula]), [formula.name], continuous(formula), columns), drawn_slopes(formula)
    value = np.abs(compiled(System([formula]), None, "vector")(columns)[formula.name])
    for name in continuous(formula):
        shares = value / np.maximum(np.abs(columns[name]), 1e-30)
        noise = 1e-12 * np.max(shares, where=np.isfinite(shares), initial=0.0)
        near = 1e-5 if formula.expression.has(Root) else 1e-9  # its slope is taken where each backend found it
        np.testing.assert_allclose(found[name][formula.name], by_jax[name], rtol=near, atol=noise, err_msg=name)


SINGULAR = [
    ("weights[first_order]", {"zero_stage": 2, "dp_size": 0.0}),
    ("weights[per_operator]", {"zero_stage": 2, "zero_ranks": 0.0}),
    ("gradients[first_order]", {"zero_stage": 1, "dp_size": 0.0}),
    ("gradients[korthikanti]", {"zero_stage": 1, "dp_size": 0.0}),
    ("gradients[per_operator]", {"zero_stage": 1, "zero_ranks": 0.0}),
    ("optimizer_state[first_order]", {"zero_stage": 0, "dp_size": 0.0}),
    ("optimizer_state[per_operator]", {"zero_stage": 0, "zero_ranks": 0.0}),
    ("in_flight_micro_batches", {"pp_size": 4.0, "interleaved_stages": 0.0}),
    ("break_even_tokens", {"swap_time": 0.0}),
    ("break_even_bandwidth", {"swap_time": 1.0, "break_even_slowdown": 0.0}),
    ("kv_bytes_per_token", {"kv_lora_rank": 512.0, "heads": 0.0}),
    ("wait_probability", {"utilization": 1.0, "offered_load": 3.0, "replicas": 3.0}),
    ("wait_probability", {"utilization": 4.0, "offered_load": 12.0, "replicas": 3.0}),
    ("queue_wait_p99", {"qps": 6.0, "replicas": 3.0, "per_replica_qps_capacity": 2.0, "offered_load": 3.0}),
    ("queue_wait_p99", {"qps": 60.0, "replicas": 3.0, "per_replica_qps_capacity": 2.0, "offered_load": 30.0}),
]


def test_a_replica_that_serves_nothing_gives_an_infinite_load():
    formula = formula_of("offered_load")
    idle = {"qps": 5.0, "per_replica_qps_capacity": 0.0}
    assert compiled(System([formula]))(idle)["offered_load"] == math.inf
    assert evaluate(System([formula]), ["offered_load"], idle)["offered_load"] == math.inf


@pytest.mark.long
@pytest.mark.parametrize("name", ["wait_probability", "queue_wait_p99"])
def test_rounding_at_the_edge_of_stability_gives_a_number(name):
    """Arrivals may round below the capacity where the load rounds to the number of replicas.

    The room left is then one rounding, so backends need not agree on the wait, only that there is one.
    """
    formula = formula_of(name)
    rng = np.random.default_rng(0)
    mu, servers = rng.uniform(1, 100, 4000), rng.integers(1, 50, 4000).astype(float)
    qps = np.nextafter(servers * mu, 0)
    edge = (qps < servers * mu) & (qps / mu >= servers)
    assert edge.sum() > 100
    values = {
        "per_replica_qps_capacity": mu,
        "replicas": servers,
        "qps": qps,
        "offered_load": qps / mu,
        "utilization": qps / (servers * mu),
        "service_time_cv": np.ones_like(mu),
    }
    values = {variable.name: values[variable.name][edge] for variable in formula.inputs}
    system = System([formula])
    grid = evaluate(system, [name], values)[name]
    function = compiled(system)
    scalar = [function(dict(zip(values, row, strict=True)))[name] for row in zip(*values.values(), strict=True)]
    for waits in (grid, np.array(scalar)):
        assert np.all((waits > 0) & np.isfinite(waits))
    found = slopes(system, [name], continuous(formula), values)
    assert all(np.all(np.isfinite(found[wrt][name])) for wrt in continuous(formula))


@pytest.mark.parametrize(
    ("name", "singular"), rest_long(SINGULAR, quick=5), ids=[f"{name}-{i}" for i, (name, _) in enumerate(SINGULAR)]
)
def test_derivatives_are_finite_where_an_untaken_branch_divides_by_zero(name, singular, draw_points, to_canonical):
    formula = formula_of(name)
    drawn = to_canonical(draw_points(formula, 1)[0])
    assert set(singular) <= set(drawn)
    point = {**drawn, **singular}
    found = slopes(System([formula]), [formula.name], continuous(formula), point)
    assert all(np.isfinite(found[wrt][formula.name]) for wrt in continuous(formula))


#: Inputs that are drawn as zero more often than not.
RARE = {"concurrency", "prefill_cost_share", "ttft_slo", "isl_cv", "osl_cv", "prompt_time_cv"}
SMOOTH = [f for f in SLOPED if f.variable.domain.kind == "real" and not f.expression.has(sympy.ceiling, sympy.floor)]


@pytest.mark.parametrize("formula", quick_first(SMOOTH))
def test_derivatives_equal_central_differences(formula, drawn_slopes, draw_points, to_canonical):
    """Finite is not enough: the slopes must be those of the values the numpy backend returns."""
    function = compiled(System([formula]))
    # Most deployments are drawn without a closed loop.
    count = 120 if RARE & {v.name for v in formula.inputs} else 40
    points = [to_canonical(point) for point in draw_points(formula, count)]
    for name in (v.name for v in formula.inputs if v.domain.kind == "real"):
        agreed = 0
        for point, slope in zip(points, drawn_slopes(formula)[name][:count], strict=True):
            step = 1e-5 * point[name]
            values = [function({**point, name: point[name] + k * step})[formula.name] for k in (-2, -1, 0, 1, 2)]
            if step == 0 or not all(map(math.isfinite, values)):
                continue
            below, above = (values[2] - values[0]) / (2 * step), (values[4] - values[2]) / (2 * step)
            if not math.isclose(below, above, rel_tol=1e-2, abs_tol=1e-300):
                continue  # a kink of Max, Min or a branch lies within the step
            difference = (values[0] - 8 * values[1] + 8 * values[3] - values[4]) / (12 * step)
            if 0 < max(map(abs, values)) < 1e-290:
                continue  # a probability that is held above zero, or given up
            noise = 1e-10 * max(map(abs, values)) / abs(step)
            if formula.name == "late_share":  # a difference of shares is rounded as these are
                noise = max(noise, 1e-15 / abs(step))
            assert slope == pytest.approx(difference, rel=1e-6, abs=noise)
            agreed += 1
        # Of these it matters whether they are zero, not how large they are.
        enough = agreed >= 15 or name in ("concurrency", "replica_goodput")
        assert enough, f"only {agreed} points of {name} could be checked"


# --- worked examples ------------------------------------------------------------------------------

EXAMPLES = [formula for formula in FORMULAS if formula.example]
DERIVED = [formula for formula in EXAMPLES if formula.example.derived]
ARITHMETIC = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: operator.pow, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
CALLS = {"max": max, "min": min, "ceil": math.ceil, "floor": math.floor, "sqrt": math.sqrt, "exp": math.exp,
         "log": math.log}  # fmt: skip


def by_hand(node):
    """Written arithmetic, by Python's own rules and nothing of the library."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -by_hand(node.operand)
    if isinstance(node, ast.BinOp):
        return ARITHMETIC[type(node.op)](by_hand(node.left), by_hand(node.right))
    if isinstance(node, ast.Compare):
        terms = [by_hand(each) for each in (node.left, *node.comparators)]
        return all(ARITHMETIC[type(sign)](*pair) for sign, pair in zip(node.ops, pairwise(terms), strict=True))
    if isinstance(node, ast.BoolOp):
        return (all if isinstance(node.op, ast.And) else any)(by_hand(each) for each in node.values)
    assert isinstance(node, ast.Call), ast.dump(node)
    assert not node.keywords
    return CALLS[node.func.id](*map(by_hand, node.args))


@pytest.mark.parametrize("formula", DERIVED, ids=[formula.id for formula in DERIVED])
def test_derived_arithmetic_gives_the_result(formula):
    """A number in the unit of the result; for a label or a truth, the comparison that decides."""
    example = formula.example
    found = by_hand(ast.parse(example.derived, mode="eval").body)
    if formula.variable.domain.kind == "choice":
        assert found is True
    elif formula.variable.domain.kind == "boolean":
        assert str(found) == example.result
    else:
        printed, _, _ = example.result.partition(" ")
        half = Decimal(5).scaleb(int(Decimal(printed).as_tuple().exponent) - 1)
        assert abs(found - float(printed)) <= float(half) * (1 + 1e-9)


@pytest.mark.parametrize("formula", EXAMPLES, ids=[formula.id for formula in EXAMPLES])
def test_example_is_reproduced_to_its_last_printed_digit(formula):
    example, variable = formula.example, formula.variable
    assert {symbol.name for symbol in example.inputs} == {v.name for v in formula.inputs}
    values = {}
    for symbol, value in example.inputs.items():
        given = variable_of(symbol)
        if isinstance(value, str):
            values[given.name] = float(given.code(value))
        else:
            assert given.domain.lower <= value <= given.domain.upper
            values[given.name] = units.to_canonical(float(value), given.unit)
    found = compiled(System([formula]))(values)[formula.name]
    if variable.domain.kind == "choice":
        assert variable.domain.labels[int(found)] == example.result
    elif variable.domain.kind == "boolean":
        assert str(bool(found)) == example.result
    else:
        number, half = example.value()
        assert abs(float(found) - number) <= half * (1 + 1e-9)
        printed_unit = example.result.partition(" ")[2]
        assert units.ureg.Unit(printed_unit).is_compatible_with(variable.unit)
