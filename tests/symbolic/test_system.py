"""Systems: order, closure, replacement, expansion, relaxation, pickling."""

import itertools
import pickle
import subprocess
import sys

import pytest
import sympy
from fuzz import rest_long

from mlsysim.backends import compiled
from mlsysim.backends.compiled import compiled_expression
from mlsysim.errors import CycleError, DuplicateError, UnknownNameError
from mlsysim.models import MoERoutingModel, ServingCapacityModel, TrainingMemoryModel
from mlsysim.symbolic import LeastInteger, System, by_label, choice


@pytest.fixture(scope="module")
def x(declare):
    """Five declared numbers, x[0] to x[4]."""
    return [declare(f"sys_{letter}") for letter in "abcde"]


@pytest.fixture(scope="module")
def diamond(x, formula):
    """d = b + c, b = 2 a, c = a**2."""
    a, b, c, d, _ = x
    return [formula(d, b + c), formula(b, 2 * a), formula(c, a**2)]


def names(items):
    return [item.name for item in items]


def test_each_formula_follows_what_it_needs(diamond):
    for arrangement in itertools.permutations(diamond):
        seen = set()
        for made in System(arrangement):
            assert {v.name for v in made.inputs} - {"sys_a"} <= seen
            seen.add(made.name)


def test_inputs_outputs_and_variables(diamond):
    system = System(diamond)
    assert names(system.inputs) == ["sys_a"]
    assert names(system.outputs) == ["sys_d"]
    assert names(system.variables) == ["sys_b", "sys_c", "sys_d"]
    assert names(system.formulas) == names(system)
    assert len(system) == 3
    assert "sys_b" in system
    assert "sys_a" not in system
    assert repr(system) == "<System of 3 formulas: sys_d>"


def test_the_order_given_is_kept_where_nothing_speaks_against_it(x, formula):
    a, b, c, d, e = x
    assert names(System([formula(e, a), formula(c, a), formula(d, c), formula(b, a)])) == [
        "sys_e", "sys_c", "sys_d", "sys_b",
    ]  # fmt: skip


def test_a_formula_is_found_by_name(diamond):
    system = System(diamond)
    assert system["sys_b"] is diamond[1]
    with pytest.raises(UnknownNameError) as refused:
        system["sys_bb"]
    assert str(refused.value) == "unknown formula 'sys_bb': did you mean sys_b, sys_d, sys_c?"


def test_two_formulas_for_one_variable_are_refused(x, formula):
    a, b, *_ = x
    with pytest.raises(DuplicateError) as refused:
        System([formula(b, a), formula(b, 2 * a, variant="twice")])
    assert str(refused.value) == (
        "two formulas define sys_b: sys_b and sys_b[twice]; use replace() to swap one for the other"
    )


def test_a_cycle_is_named_as_a_loop(x, formula):
    a, b, c, d, e = x
    with pytest.raises(CycleError) as refused:
        System([formula(e, b), formula(b, c + a), formula(c, d), formula(d, b)])
    assert str(refused.value) == "formulas need each other: sys_b -> sys_c -> sys_d -> sys_b"


def test_closure_takes_what_the_outputs_need_and_no_more(diamond, x, formula):
    *_, d, e = x
    system = System([*diamond, formula(e, 3 * d)])
    assert names(system.closure(["sys_c"])) == ["sys_c"]
    assert names(system.closure(["sys_b", "sys_c"])) == ["sys_b", "sys_c"]
    assert names(system.closure(["sys_e"])) == ["sys_b", "sys_c", "sys_d", "sys_e"]
    assert len(system.closure([])) == 0
    with pytest.raises(UnknownNameError, match="unknown formula 'sys_a'"):
        system.closure(["sys_a"])


def test_replace_swaps_one_form_for_another(diamond, x, formula):
    a, b, *_ = x
    system = System(diamond)
    other = formula(b, 3 * a, variant="thrice")
    changed = system.replace(other)
    assert changed["sys_b"] is other
    assert system["sys_b"] is diamond[1]
    assert compiled(changed)({"sys_a": 2.0})["sys_d"] == 10


def test_replace_may_bring_in_new_inputs_and_new_order(diamond, x, formula):
    _, b, c, _, e = x
    changed = System(diamond).replace(formula(b, c + e))
    assert names(changed.inputs) == ["sys_a", "sys_e"]
    assert names(changed).index("sys_c") < names(changed).index("sys_b")


def test_replace_refuses_a_variable_that_is_new(diamond, x, formula):
    with pytest.raises(UnknownNameError) as refused:
        System(diamond).replace(formula(x[4], x[0]))
    assert str(refused.value) == "unknown formula 'sys_e': did you mean sys_d, sys_b, sys_c?"


def test_replace_refuses_a_cycle(diamond, x, formula):
    a, b, _, d, _ = x
    with pytest.raises(CycleError):
        System(diamond).replace(formula(b, d + a))


def test_extend_adds_a_variable_and_refuses_one_that_is_there(diamond, x, formula):
    a, b, _, d, e = x
    system = System(diamond)
    assert names(system.extend(formula(e, d**2)).outputs) == ["sys_e"]
    assert names(system.extend(formula(a, e)).inputs) == ["sys_e"]
    with pytest.raises(DuplicateError, match="two formulas define sys_b"):
        system.extend(formula(b, a))


def test_expand_leaves_inputs_alone(diamond, x):
    a = x[0]
    assert System(diamond).expand("sys_d") == 2 * a + a**2
    assert System(diamond).expand("sys_b") == 2 * a


EXPANDED = [
    (TrainingMemoryModel, "total_memory"),
    (TrainingMemoryModel, "feasible"),
    (ServingCapacityModel, "per_replica_qps_capacity"),
    (ServingCapacityModel, "base_request_latency"),
    (MoERoutingModel, "all_to_all_latency"),
]


@pytest.mark.long(quick=2)
@pytest.mark.parametrize(("model", "output"), EXPANDED)
def test_an_expanded_output_has_the_value_of_the_system(model, output):
    system = model().system
    values = {v.name: 2.0 + i for i, v in enumerate(system.inputs)}
    values |= {"memory_capacity": 1e9, "zero_stage": 2.0, "precision": 3.0, "optimizer": 0.0}
    values |= {"activation_checkpointing": 1.0}
    expression = system.expand(output)
    assert {s.name for s in expression.free_symbols if "." not in s.name} <= {v.name for v in system.inputs} | {
        "byte", "token", "request", "FLOP",
    }  # fmt: skip
    found = compiled_expression(expression)(values)["value"]
    assert float(found) == pytest.approx(float(compiled(system)(values)[output]), rel=1e-12)


def test_expand_does_not_touch_the_bound_variable(x, formula):
    a, b, c, *_ = x
    n = sympy.Symbol("n")
    system = System([formula(c, LeastInteger(n, n >= b, 100)), formula(b, 3 * a)])
    expanded = system.expand("sys_c")
    assert expanded.free_symbols == {a}
    assert compiled_expression(expanded)({"sys_a": 2.5})["value"] == 8


# --- relaxation -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def steps(x, formula):
    a, b, c, d, e = x
    n = sympy.Symbol("n")
    return System(
        [
            formula(b, sympy.ceiling(a / 3) * 3 + sympy.Piecewise((sympy.floor(a), a > 1), (0, True))),
            formula(c, sympy.Max(b, a)),
            formula(d, LeastInteger(n, n >= sympy.ceiling(c), 100) + sympy.ceiling(a / 2)),
            formula(e, sympy.ceiling(sympy.floor(c / 2) / 3)),
        ]
    )


def test_relax_drops_every_ceiling_and_floor(steps, x):
    a, _, c, *_ = x
    relaxed = steps.relax()
    assert relaxed["sys_b"].expression == a + sympy.Piecewise((a, a > 1), (0, True))
    assert relaxed["sys_e"].expression == c / 6
    assert (
        relaxed["sys_d"].expression == LeastInteger(*steps["sys_d"].expression.atoms(LeastInteger).pop().args) + a / 2
    )


def test_relax_keeps_what_does_not_jump_and_says_what_it_changed(steps):
    relaxed = steps.relax()
    assert relaxed["sys_c"] is steps["sys_c"]
    assert relaxed["sys_b"].variant == "relaxed"
    assert relaxed["sys_b"].title == "test (relaxed)"
    assert relaxed["sys_b"].source == steps["sys_b"].source
    assert relaxed["sys_b"].no_example


def test_steps_are_named_and_a_least_integer_stays_one(steps):
    assert steps.steps() == ("sys_b", "sys_d", "sys_e")
    assert steps.steps("sys_c") == ("sys_b",)
    assert steps.relax().steps() == ("sys_d",)
    with pytest.raises(UnknownNameError):
        steps.steps("sys_a")


@pytest.mark.parametrize("jump", [sympy.ceiling, sympy.floor])
def test_a_step_is_named_whichever_way_it_rounds(x, formula, jump):
    a, b, *_ = x
    assert System([formula(b, 1 + jump(a / 2))]).steps() == ("sys_b",)
    assert System([formula(b, 1 + a / 2)]).steps() == ()


def test_relaxed_models_bound_their_steps():
    system = TrainingMemoryModel().system
    assert system.steps() == ("local_micro_batch", "layers_per_stage")
    assert system.relax().steps() == ()
    assert ServingCapacityModel().system.relax().steps() == ("required_replicas",)
    values = dict.fromkeys((v.name for v in system.inputs), 1.0) | {"layers": 10.0, "pp_size": 4.0, "zero_stage": 0.0}
    stepped, relaxed = compiled(system)(values), compiled(system.relax())(values)
    assert (stepped["layers_per_stage"], relaxed["layers_per_stage"]) == (3, 2.5)


# --- pickling -------------------------------------------------------------------------------------

MODELS = [TrainingMemoryModel, ServingCapacityModel, MoERoutingModel]
IN_ANOTHER_PROCESS = """
import pickle, sys
system = pickle.load(sys.stdin.buffer)
from mlsysim.backends import compiled
sys.stdout.buffer.write("\\n".join([compiled(system).source, *(f.text() for f in system)]).encode())
"""


@pytest.mark.parametrize("model", MODELS)
def test_a_system_survives_pickling(model):
    """As dask and multiprocessing send it to a worker."""
    system = model().system
    copy = pickle.loads(pickle.dumps(system))
    assert [f.id for f in copy] == [f.id for f in system]
    assert [f.expression for f in copy] == [f.expression for f in system]
    assert [f.latex() for f in copy] == [f.latex() for f in system]
    assert compiled(copy).source == compiled(system).source


@pytest.mark.parametrize("model", rest_long(MODELS, quick=1))
def test_a_pickled_system_compiles_and_prints_alike_in_a_fresh_process(model):
    """Labels are looked up by name, so variables must be declared again where they arrive."""
    system = model().system
    run = subprocess.run(
        [sys.executable, "-c", IN_ANOTHER_PROCESS], input=pickle.dumps(system), capture_output=True, check=True
    )
    assert run.stdout.decode() == "\n".join([compiled(system).source, *(f.text() for f in system)])


def test_variables_of_a_pickled_system_are_the_declared_ones():
    system = ServingCapacityModel().system
    copy = pickle.loads(pickle.dumps(system))
    assert all(mine is theirs for mine, theirs in zip(copy.variables, system.variables, strict=True))
    assert all(mine is theirs for mine, theirs in zip(copy.inputs, system.inputs, strict=True))


@pytest.mark.long
def test_a_users_own_variables_arrive_with_a_pickled_system(declare, formula):
    colour, size = declare("sys_colour", "", choice("red", "green")), declare("sys_size")
    system = System([formula(size, by_label(colour, {"red": 1, "green": 2}))])
    source = compiled(system).source
    run = subprocess.run(
        [sys.executable, "-c", IN_ANOTHER_PROCESS], input=pickle.dumps(system), capture_output=True, check=True
    )
    assert run.stdout.decode().startswith(source)
