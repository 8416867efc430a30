"""A variable at another value of another: as a sympy object, in a system, and compiled inside a search."""

import pickle

import numpy as np
import pytest
import sympy
from on_jax import evaluate

from mlsysim.backends import compiled
from mlsysim.errors import CycleError, FormulaError, UnitError
from mlsysim.symbolic import EvaluatedAt, LeastInteger, System, byte, evaluated_at, lower, when
from mlsysim.symbolic.dimensions import dimension_of
from mlsysim.symbolic.printing import latex, text
from mlsysim.symbols.serving import T99, c

n = sympy.Dummy("n", integer=True, positive=True)
NAMES = ("servers", "arriving", "rate", "share", "delay", "target", "most", "fewest")


@pytest.fixture(scope="module")
def v(declare):
    """A small queue: share = arriving / (servers rate), delay = 1 / rate / (1 - share)."""
    units = {"arriving": "1/s", "rate": "1/s", "delay": "s", "target": "s"}
    return {name: declare(f"ev_{name}", units.get(name, "count"), latex=f"{name[0]}") for name in NAMES}


@pytest.fixture(scope="module")
def queue(v, formula):
    return (
        formula(v["share"], v["arriving"] / (v["servers"] * v["rate"])),
        formula(v["delay"], when(v["share"] < 1, 1 / (v["rate"] * (1 - v["share"])), sympy.oo)),
    )


@pytest.fixture(scope="module")
def at(v, queue):
    return evaluated_at(v["delay"], {v["servers"]: n + 1}, queue)


@pytest.fixture(scope="module")
def search(v, queue, formula):
    """The fewest servers whose delay is small enough, and the delay of as many as there are."""
    delay = evaluated_at(v["delay"], {v["servers"]: n}, queue)
    return System([*queue, formula(v["fewest"], LeastInteger(n, delay <= v["target"], v["most"]))])


def test_its_parts(at, v):
    assert (at.target, at.changed) == ("ev_delay", {"ev_servers": n + 1})
    assert [symbol.name for symbol in at.bound_symbols] == ["ev_servers", "ev_share", "ev_delay"]
    (servers, value), (share, by_servers), (_, by_share) = at.definitions
    assert value == n + 1
    assert by_servers == v["arriving"] / (servers * v["rate"])
    assert by_share.free_symbols == {share, v["rate"]}
    assert all(isinstance(symbol, sympy.Dummy) for symbol in at.bound_symbols)
    assert at.is_real


def test_values_of_other_values_share_their_steps_and_do_not_mix(v, queue, formula):
    """Numbers of servers are 2, 3 and 3 plus the share of 2."""
    two, three = (evaluated_at(v["share"], {v["servers"]: servers}, queue) for servers in (2, 3))
    within = evaluated_at(v["share"], {v["servers"]: 3 + two}, queue)
    assert two.definitions[1:] == three.definitions[1:] == within.definitions[1:]
    assert within.free_symbols == {v["arriving"], v["rate"]}
    system = System([formula(v["target"], (1000 * two + 10 * three + within) / v["rate"])])
    found = compiled(system)({"ev_arriving": 3.0, "ev_rate": 1.0})["ev_target"]
    assert found == pytest.approx(1000 * 3 / 2 + 10 * 3 / 3 + 3 / (3 + 3 / 2))


def test_free_symbols_are_those_no_step_defines(at, v):
    assert at.free_symbols == {n, v["arriving"], v["rate"]}
    assert LeastInteger(n, at <= v["target"], v["most"]).free_symbols == {
        v[name] for name in ("arriving", "rate", "target", "most")
    }


def test_only_what_moves_is_carried_along(v, queue, formula):
    """What does not depend on what is changed keeps its present value, and so does what no formula gives."""
    moving = evaluated_at(v["delay"], {v["rate"]: 5}, [formula(v["arriving"], 3 / v["target"]), *queue])
    assert [symbol.name for symbol in moving.bound_symbols] == ["ev_rate", "ev_share", "ev_delay"]
    assert moving.free_symbols == {v["arriving"], v["servers"]}
    direct = evaluated_at(v["delay"], {v["rate"]: 5}, queue[1:])
    assert direct.free_symbols == {v["share"]}


def test_formulas_may_come_in_any_order_and_be_too_many(v, queue, formula):
    many = [formula(v["target"], 2 * v["delay"]), *reversed(queue), formula(v["servers"], 7 * v["most"])]
    at = evaluated_at(v["delay"], {v["servers"]: 3}, many)
    assert [symbol.name for symbol in at.bound_symbols] == ["ev_servers", "ev_share", "ev_delay"]
    assert at.definitions[0][1] == 3


def test_several_may_be_changed_at_once(v, queue):
    """All at once: what one is changed to speaks of the present value of the others."""
    at = evaluated_at(v["delay"], {v["servers"]: 2 * v["servers"], v["arriving"]: v["servers"] * v["arriving"]}, queue)
    assert at.changed == {"ev_servers": 2 * v["servers"], "ev_arriving": v["servers"] * v["arriving"]}
    assert at.free_symbols == {v["servers"], v["arriving"], v["rate"]}
    assert text(at) == "d(s = 2·s, a = s·a)"
    assert text(evaluated_at(v["delay"], {v["servers"]: sympy.Dummy("s"), v["rate"]: 1}, queue)) == "d(s, r = 1)"
    assert latex(at) == r"d\left(s = 2 s, a = s a\right)"
    again = pickle.loads(pickle.dumps(at))
    assert (again, again.changed) == (at, at.changed)


def test_it_is_printed_as_a_value_at_a_value(at, v, queue):
    assert latex(at) == r"d\left(s = 1 + n\right)"
    assert text(at) == "d(s = 1 + n)"
    assert text(2 * at + v["target"]) == "2·d(s = 1 + n) + t"
    least = LeastInteger(n, at <= v["target"], v["most"])
    assert text(least) == "min{n ≤ m : d(s = 1 + n) ≤ t}"
    assert latex(evaluated_at(v["delay"], {v["servers"]: v["most"] / 2}, queue)) == (r"d\left(s = \frac{m}{2}\right)")


def test_sympy_prints_the_call_without_its_steps(at):
    assert sympy.latex(at) == r"d\left(s = n + 1\right)"
    assert sympy.latex(2 * at) == r"2 d\left(s = n + 1\right)"


def test_a_formula_names_what_it_calls_and_the_constants_of_its_own_equation(v, formula, declare):
    """Constants of the steps stand beside the equations of the steps."""
    size, read = declare("ev_size", "B", latex="z"), declare("ev_read", "B", latex="y_8")
    step = formula(size, 10 * byte * v["servers"])
    share = evaluated_at(v["share"], {v["most"]: 3}, [formula(v["share"], v["most"] / 2)])
    twice = formula(read, 2 * evaluated_at(size, {v["servers"]: 2 * share}, [step]))
    assert [each.name for each in twice.calls] == ["ev_share", "ev_size"]
    assert step.calls == ()
    assert (step.constants(), twice.constants()) == (("10 byte",), ())


def test_it_has_the_dimension_of_its_target(at, v):
    assert dimension_of(at) == dimension_of(v["delay"]) != {}
    assert dimension_of(at + v["target"]) == dimension_of(v["delay"])
    with pytest.raises(UnitError):
        dimension_of(at + v["most"])


def test_it_survives_pickling(at):
    again = pickle.loads(pickle.dumps(at))
    assert again == at
    assert hash(again) == hash(at)
    assert again.definitions == at.definitions
    assert at.func(*at.args) == at


@pytest.mark.parametrize("replace", ["subs", "xreplace"])
def test_what_is_put_in_is_not_captured(at, v, replace):
    put = {"subs": lambda old, new: at.subs(old, new), "xreplace": lambda old, new: at.xreplace({old: new})}[replace]
    by_servers = put(v["rate"], v["servers"] + v["share"])
    assert by_servers.free_symbols == {n, v["arriving"], v["servers"], v["share"]}
    found = put(n, v["servers"])
    assert found.changed["ev_servers"] == v["servers"] + 1
    assert found.free_symbols == {v["servers"], v["arriving"], v["rate"]}
    for name in ("servers", "share", "delay"):
        assert put(v[name], sympy.Integer(7)) == at


def test_what_is_bound_cannot_be_substituted(at):
    for symbol in at.bound_symbols:
        assert at.subs(symbol, 5) == at


def test_formulas_must_lead_from_what_is_changed_to_the_target(v, queue):
    def refused(target, changed, formulas):
        with pytest.raises(FormulaError) as refused:
            evaluated_at(target, changed, formulas)
        return str(refused.value)

    assert refused(v["delay"], {v["servers"]: n}, queue[:1]) == "no formulas lead from ev_servers to ev_delay"
    assert refused(v["delay"], {v["servers"]: n}, ()) == "no formulas lead from ev_servers to ev_delay"
    assert refused(v["delay"], {v["most"]: 1, v["target"]: 2}, queue) == (
        "no formulas lead from ev_most or ev_target to ev_delay"
    )
    assert refused(v["delay"], {v["delay"]: 1}, queue) == "no formulas lead from ev_delay to ev_delay"
    assert refused(v["delay"], {}, queue) == "no formulas lead from nothing to ev_delay"
    with pytest.raises(sympy.SympifyError):
        evaluated_at(v["delay"], {v["servers"]: "n"}, queue)


def test_formulas_that_need_each_other_are_refused(v, queue, formula):
    with pytest.raises(CycleError) as refused:
        evaluated_at(v["delay"], {v["servers"]: n}, [*queue, formula(v["rate"], v["servers"] / v["delay"])])
    assert str(refused.value).startswith("formulas need each other: ev_delay -> ")


def test_what_is_put_in_has_the_dimension_of_what_it_replaces(v, queue):
    with pytest.raises(UnitError) as refused:
        dimension_of(evaluated_at(v["delay"], {v["servers"]: v["target"]}, queue))
    assert str(refused.value).startswith("ev_servers is a pure number but ev_target is time in ")


# --- in a system ----------------------------------------------------------------------------------


def test_a_formula_with_it_needs_what_is_free(search, v):
    needed = {variable.name for variable in search["ev_fewest"].inputs}
    assert needed == {"ev_arriving", "ev_rate", "ev_target", "ev_most"}
    assert len(search.closure(["ev_fewest"])) == 1
    assert search.steps() == ("ev_fewest",)


def test_what_it_would_be_does_not_need_what_it_is(search, v, formula):
    """So the number searched for may itself be the one the system is evaluated at."""
    whole = search.extend(formula(v["servers"], sympy.Min(v["fewest"], v["most"])))
    assert [f.name for f in whole] == ["ev_fewest", "ev_servers", "ev_share", "ev_delay"]


def test_what_it_tries_cannot_be_expanded(search, v, formula, declare):
    half = declare("ev_half", "1/s")
    whole = search.extend(formula(v["rate"], half / 2), formula(v["servers"], v["fewest"]))
    with pytest.raises(FormulaError) as refused:
        whole.expand("ev_fewest")
    assert str(refused.value) == "ev_fewest cannot be expanded: ev_fewest tries values of another variable"
    with pytest.raises(FormulaError, match="ev_delay cannot be expanded: ev_fewest tries"):
        whole.expand("ev_delay")


def test_relax_drops_roundings_in_the_steps_but_not_in_a_search(v, queue, formula, declare):
    rounded = (formula(v["share"], sympy.ceiling(queue[0].expression)), queue[1])
    at = evaluated_at(v["delay"], {v["servers"]: v["most"]}, rounded)
    elsewhere = declare("ev_elsewhere", "s")
    least = formula(v["fewest"], LeastInteger(n, at * n >= v["target"], 9))
    relaxed = System([formula(elsewhere, at), least]).relax()
    assert not relaxed["ev_elsewhere"].expression.has(sympy.ceiling)
    assert relaxed["ev_elsewhere"].expression.definitions[1][1] == v["arriving"] / (at.bound_symbols[0] * v["rate"])
    assert relaxed["ev_fewest"] is least


def test_it_lowers_and_compares_by_value(at):
    assert lower(at) == at


# --- compiled -------------------------------------------------------------------------------------


@pytest.mark.long(quick=1)
@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_a_search_equals_a_loop_over_the_system(search, v, queue, backend):
    rng = np.random.default_rng(5)
    count = 60
    values = {
        "ev_arriving": 10 ** rng.uniform(-1, 2, count),
        "ev_rate": 10 ** rng.uniform(0, 1, count),
        "ev_most": rng.integers(1, 200, count).astype(float),
    }
    values["ev_target"] = rng.uniform(0.9, 3, count) / values["ev_rate"]
    rows = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
    delay = compiled(System(queue))

    def least(row):
        numbers = range(1, int(row["ev_most"]) + 1)
        return next((k for k in numbers if delay({**row, "ev_servers": k})["ev_delay"] <= row["ev_target"]), np.inf)

    expected = [least(row) for row in rows]
    assert len(set(expected)) > 10
    assert 5 < sum(np.isinf(expected)) < count - 20
    system = search.closure(["ev_fewest"])
    if backend == "jax":
        found = evaluate(system, ["ev_fewest"], values)["ev_fewest"]
    else:
        function = compiled(system)
        found = [function(row)["ev_fewest"] for row in rows]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_it_compiles_outside_a_search_beside_the_present_value(v, queue, formula, declare, backend):
    gain = declare("ev_gain", "s")
    more = [evaluated_at(v["delay"], {v["servers"]: v["servers"] + k}, queue) for k in (1, 2)]
    system = System([*queue, formula(gain, v["delay"] + 10 * more[0] + 100 * more[1])])
    point = {"ev_servers": 3.0, "ev_arriving": 5.0, "ev_rate": 2.0}
    run = compiled(system) if backend == "numpy" else lambda given: evaluate(system, ["ev_gain"], given)
    plain = [1 / 2 / (1 - 5 / (2 * servers)) for servers in (3, 4, 5)]
    assert run(point)["ev_gain"] == pytest.approx(plain[0] + 10 * plain[1] + 100 * plain[2], rel=1e-14)


def test_one_inside_another(v, queue, formula, declare):
    """The delay at as many servers as the delay at twice the present number asks for."""
    again = declare("ev_again", "s")
    inner = evaluated_at(v["delay"], {v["servers"]: 2 * v["servers"]}, queue)
    outer = evaluated_at(v["delay"], {v["servers"]: 4 + inner * v["rate"]}, queue)
    point = {"ev_servers": 3.0, "ev_arriving": 5.0, "ev_rate": 2.0}
    found = compiled(System([formula(again, outer)]))(point)["ev_again"]
    inside = 1 / 2 / (1 - 5 / (2 * 6))
    assert found == pytest.approx(1 / 2 / (1 - 5 / (2 * (4 + 2 * inside))), rel=1e-14)


def test_the_whole_capacity_search_is_one(formula):
    """The library's own: its condition carries the P99 of the deployment, not the number of replicas."""
    from mlsysim.formulas.continuous_batching import required_replicas

    (at,) = required_replicas.expression.atoms(EvaluatedAt)
    assert (at.target, *at.changed) == (T99.name, c.name)
    assert c not in required_replicas.expression.free_symbols
    assert T99 not in required_replicas.expression.free_symbols
