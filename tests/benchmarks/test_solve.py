"""A warm solve against what is wanted of it, and against the function generated for it, called by itself."""

from __future__ import annotations

import itertools
import timeit
from importlib import import_module
from statistics import median

import pytest

from mlsysim import DistributedModel, IterationModel, ServingModel, TrainingMemoryModel
from mlsysim.backends import compiled
from mlsysim.formulas import energy
from mlsysim.inputs.recurring import CALLS_BEFORE, kind_of
from mlsysim.symbolic import System

TRAINING = {"model": "Mixtral_8x7B", "hardware": "H100", "batch_size": 64, "precision": "bf16", "tp_size": 2}
LAYOUT = {"pp_size": 2, "gradient_accumulation_steps": 4, "interleaved_stages": 2}
NETWORK = {"fabric_bandwidth": "50 GB/s", "fabric_latency": "10 us", "fleet_size": 16}
CASES = {
    "TrainingMemoryModel": (
        TrainingMemoryModel(),
        {"model": "Llama3_8B", "hardware": "H100", "batch_size": 8, "seq_len": 2048, "dp_size": 8, "zero_stage": 2},
        4e-6,
    ),
    "TrainingMemoryModel, per_operator": (
        TrainingMemoryModel("per_operator"),
        {**TRAINING, **LAYOUT, "dp_size": 4, "ep_size": 2},
        40e-6,
    ),
    "DistributedModel": (DistributedModel(), {**TRAINING, **LAYOUT, **NETWORK}, 25e-6),
    "ServingModel": (
        ServingModel(),
        {"model": "Mixtral_8x7B", "hardware": "H100", "tp_size": 2, "request_rate": 20, "isl": 1024, "max_num_seqs": 24,
         "ttft_slo": 500, "tpot_slo": 40, "rental_price": 2},
        None,
    ),
}  # fmt: skip
ROUNDS, REPEATS = 9, 5


def seconds(call, number):
    """Seconds of one call, the best of some runs."""
    return min(timeit.repeat(call, number=number, repeat=REPEATS)) / number


def warm(model, point):
    """The function generated for calls like this one, once there were enough of them."""
    for _ in range(CALLS_BEFORE + 1):
        model.solve(**point)
    return import_module("mlsysim.study.solve")._CALLS.find(kind_of(model, point)).solved


def each_taken(benchmark, call, number):
    """Seconds of a call, by round."""
    taken = []
    benchmark.pedantic(lambda: taken.append(seconds(call, number)), rounds=ROUNDS, warmup_rounds=1)
    return taken


@pytest.mark.parametrize("name", [name for name, (_, _, wanted) in CASES.items() if wanted])
def test_other_numbers(benchmark, against, name):
    """The same arguments as in calls before, one of them with another number."""
    model, point, wanted = CASES[name]
    warm(model, point)
    points = itertools.cycle([{**point, "batch_size": k * point["batch_size"]} for k in range(1, 17)])
    taken = each_taken(benchmark, lambda: model.solve(**next(points)), 500)
    against(f"warm `{name}`, one point, the same arguments with other numbers", wanted, taken)


@pytest.mark.parametrize(
    ("name", "argument", "unit", "wanted"),
    [("TrainingMemoryModel", "memory_capacity", "GB", 60e-6), ("DistributedModel", "fabric_latency", "us", 200e-6)],
)
def test_any_other_call(benchmark, against, name, argument, unit, wanted):
    """A quantity is text that no call had before."""
    model, point, _ = CASES[name]
    texts = (f"{90 + number / 1000} {unit}" for number in itertools.count())
    taken = each_taken(benchmark, lambda: model.solve(**{**point, argument: next(texts)}), 50)
    against(f"warm `{name}`, one point, any other call", wanted, taken)


@pytest.mark.parametrize("name", CASES)
def test_against_the_function_alone(benchmark, name):
    model, point, wanted = CASES[name]
    alone, number, pairs = warm(model, point), 10 if wanted is None else 500, []
    assert alone(point) is not None

    def once():
        floor = seconds(lambda: alone(point), number)
        pairs.append((seconds(lambda: model.solve(**point), number), floor))

    benchmark.pedantic(once, rounds=ROUNDS, warmup_rounds=1)
    benchmark.extra_info.update(
        title=f"warm `{name}`, one point, against the generated function alone",
        target=None,
        ours=median(a for a, _ in pairs),
        theirs=median(b for _, b in pairs),
        ratio=median(a / b for a, b in pairs),
    )


def test_energy_beside_a_time(benchmark):
    """An iteration with its power, energy, carbon and water, and the same formulas without them."""
    model = IterationModel()
    asked = {"model": "Llama3_1_70B", "hardware": "H100", "tp_size": 2, "decode_requests": 64, "context_tokens": 2000}
    solved, pairs = model.solve(**asked), []
    point = {variable.name: solved.canonical(variable.name) for variable in model.system.inputs}
    plain = System(tuple(each for each in model.system.formulas if each not in energy.FORMULAS))
    whole, alone = compiled(model.system), compiled(plain)
    without = {variable.name: point[variable.name] for variable in plain.inputs}
    assert whole(point)["iteration_time"] == alone(without)["iteration_time"]

    def once():
        floor = seconds(lambda: alone(without), 200)
        pairs.append((seconds(lambda: whole(point), 200), floor))

    benchmark.pedantic(once, rounds=ROUNDS, warmup_rounds=1)
    benchmark.extra_info.update(
        title="`IterationModel`, one point, with power and energy against without them",
        target=1.25,
        ours=median(a for a, _ in pairs),
        theirs=median(b for _, b in pairs),
        ratio=median(a / b for a, b in pairs),
    )
