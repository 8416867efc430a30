"""What bounds make of a problem is kept for when it is asked again, and changes no answer."""

import gc
import importlib
import math
import weakref
from dataclasses import replace

import pytest
from study.search_cases import random_problem, searched

from mlsysim import TrainingMemoryModel
from mlsysim.backends.budget import Budget
from mlsysim.backends.programs import lazily
from mlsysim.backends.programs.program import Program
from mlsysim.backends.refused import Refusals
from mlsysim.bounds import Best
from mlsysim.collector import paused
from mlsysim.study import search as module
from mlsysim.study.searches.problem import read_problem
from mlsysim.study.searches.solver import _kept, solver

counting = importlib.import_module("mlsysim.study.searches.refused")
POINT = {"model": "Llama3_8B", "hardware": "H100"}
AXES = {"batch_size": range(1, 90), "tp_size": [1, 2, 4, 8], "zero_stage": range(4), "seq_len": range(512, 9000, 512)}


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    monkeypatch.setattr(module, "AT_ONCE", -1.0)
    _kept.clear()


def asked(objective="total_memory", constraint="batch_size >= 17", allow_infeasible=False, **axes):
    model = TrainingMemoryModel("per_operator")
    return read_problem(model, {**POINT, **AXES, **axes}, objective, None, constraint, allow_infeasible)


def taken(of, budget=None):
    with solver(of, budget or Budget()) as found:
        return found


def test_the_same_problem_is_solved_by_the_same_bounds():
    assert taken(asked()) is taken(asked())


def test_a_front_is_found_by_bounds_that_are_kept_too():
    both = ["total_memory", "1 / batch_size"]
    assert taken(asked(both)) is taken(asked(both))
    assert taken(asked(both)) is not taken(asked(both[:1]))


@pytest.mark.parametrize(
    "other",
    [
        {"objective": "-total_memory"},
        {"constraint": "batch_size >= 18"},
        {"batch_size": range(2, 91)},
        {"batch_size": range(1, 91)},
        {"precision": "fp8"},
        {"hardware": "H200"},
    ],
    ids=str,
)
def test_another_problem_is_not(other):
    assert taken(asked()) is not taken(asked(**other))


@pytest.mark.long
def test_what_is_kept_no_longer_is_freed_without_the_collector_of_cycles(monkeypatch):
    for name in ("BUILDING", "LOADING"):
        monkeypatch.setattr(lazily, name, 0)
    before = {id(each) for each in gc.get_objects()}
    with paused():
        with solver(asked(), Budget()) as found:
            found.run(Best(1))
        bounds = found._bounds[0]
        held = (found, found.evaluate, bounds, bounds.plans, bounds.plans.forms)
        made = [each for each in gc.get_objects() if id(each) not in before]
        programs = [each for each in made if type(each) is Program]
        left = [weakref.ref(each) for each in (*held, *programs)]
        assert programs
        del found, held, bounds, made, programs
        _kept.clear()
        assert not [each() for each in left if each() is not None]


def test_another_number_that_a_variable_is_held_to_is_met_by_the_same_bounds():
    first = taken(asked(constraint="total_memory <= 60 GB", allow_infeasible=True))
    assert taken(asked(constraint="total_memory <= 50 GB", allow_infeasible=True)) is first
    for other in ("total_memory >= 50 GB", "total_memory < 50 GB", "total_memory <= batch_size * 1 GB"):
        assert taken(asked(constraint=other, allow_infeasible=True)) is not first


def test_that_designs_are_feasible_is_one_more_condition_beside_another_number():
    fitting = taken(asked(constraint="total_memory <= 60 GB"))
    assert taken(asked(constraint="total_memory <= 50 GB")) is fitting
    assert taken(asked(constraint="total_memory <= 60 GB", allow_infeasible=True)) is not fitting


@pytest.mark.parametrize("share", [0.9, 0.4, 0.2, 0.001])
def test_another_number_changes_answer_and_certificate_as_if_nothing_were_kept(share):
    constraint = f"total_memory <= {share} * memory_capacity"
    searching = {**POINT, **AXES, "maximize": "batch_size * seq_len", "method": "bounds", "top": 3}
    model = TrainingMemoryModel("per_operator")
    alone = model.search(**searching, subject_to=constraint)
    _kept.clear()
    model.search(**searching, subject_to="total_memory <= 0.7 * memory_capacity")
    after = model.search(**searching, subject_to=constraint)
    assert len(_kept) == 1
    assert repr(replace(after.certificate, seconds=0.0)) == repr(replace(alone.certificate, seconds=0.0))
    assert (after.places.tolist(), after.objectives) == (alone.places.tolist(), alone.objectives)


def test_bounds_that_are_in_use_are_left_alone():
    with solver(asked(), Budget()) as first, solver(asked(), Budget()) as second:
        assert first is not second


def test_bounds_that_a_deadline_broke_off_are_made_again():
    assert taken(asked(), Budget(deadline=-math.inf)) is not taken(asked())


@pytest.mark.long
def test_few_are_kept_and_none_that_are_large(monkeypatch):
    for n in range(9):
        taken(asked(constraint=f"batch_size >= {n}"))
    assert len(_kept) == 4
    monkeypatch.setattr("mlsysim.study.searches.problem.LARGEST_KEPT", 100)
    large = asked(constraint="batch_size >= 50")
    assert taken(large) is not taken(large)


def test_what_is_refused_is_counted_once_on_a_grid(monkeypatch):
    made = []
    monkeypatch.setattr(counting, "Refusals", lambda *of: made.append(of) or Refusals(*of))
    axes = {"pp_size": range(1, 41), "gradient_accumulation_steps": [1, 2, 4, 8]}
    first = counting.refused(asked(**axes))
    assert counting.refused(asked("-total_memory", "batch_size >= 3", **axes)) == first
    assert first[1]
    assert len(made) == 1
    assert counting.refused(asked(**axes, sequence_parallel=True)) == first
    assert len(made) == 1  # no reason knows of it
    other = counting.refused(asked(**{**axes, "pp_size": range(1, 42)}))
    assert len(made) == 2
    assert other != first


@pytest.mark.long(quick=1)
@pytest.mark.parametrize("seed", [3, 7, 11])
def test_asked_again_the_answer_and_its_certificate_are_the_same(seed):
    case = random_problem(seed, 20_000)
    found = [searched(case, method="bounds", top=3) for _ in range(3)]
    assert len({repr(replace(each.certificate, seconds=0.0)) for each in found}) == 1
    assert len({repr((each.places.tolist(), each.objectives)) for each in found}) == 1
