"""What is done ahead of a loop over tiles, and what is left to it: together the function."""

import jax
import numpy as np
import pytest
import sympy

from mlsysim.backends.ahead import Rest, done_ahead
from mlsysim.backends.dense import smallest
from mlsysim.backends.front import GridFront
from mlsysim.backends.tiling import Tiling
from mlsysim.inputs.binding import bind
from mlsysim.models import DistributedModel, ServingCapacityModel
from mlsysim.symbolic import variable_of

SIZES = (5, 4, 3, 2)
NAMES = ("batch_size", "gradient_accumulation_steps", "pp_size", "tp_size")
LISTS = ([256.0, 512, 1024, 2048, 4096], [1.0, 2, 4, 8], [1.0, 2, 4], [2.0, 8])
STEP = {"model": "Llama3_70B", "fleet": "SuperPOD_H100", "fleet_size": 64, "seq_len": 4096}


def grid(sequence_parallel=True, seq_len=4096):
    """A model's system and its inputs, four of them axes."""
    model = DistributedModel("per_operator")
    asked = {**STEP, "sequence_parallel": sequence_parallel, "seq_len": seq_len}
    binding = bind(model, {**asked, **dict(zip(NAMES, (2048, 1, 2, 8), strict=True))})
    axes = {
        name: np.array(values).reshape([-1 if at == place else 1 for at in range(4)])
        for place, (name, values) in enumerate(zip(NAMES, LISTS, strict=True))
    }
    return binding.system, {**binding.values, **axes}


def symbols(*names):
    return [variable_of(name).symbol for name in names]


@pytest.mark.parametrize("widths", [(5, 4, 3, 2), (1, 1, 1, 1), (1, 1, 3, 2), (5, 1, 1, 1), (2, 1, 3, 2)])
def test_a_model_at_every_point_of_a_grid(widths):
    system, values = grid()
    time, memory, batch = symbols("step_time", "total_memory", "batch_size")
    swept = DistributedModel("per_operator").sweep(
        **STEP,
        sequence_parallel=True,
        **dict(zip(NAMES, LISTS, strict=True)),
        outputs=["step_time", "total_memory"],
    )
    held = swept.total_memory.values * 1e9
    limit = float(np.median(held)) * (1 + 1e-6)
    function, given = done_ahead(system, [time, memory < limit, batch >= 512], values, Tiling(SIZES, widths))
    assert isinstance(function, Rest)
    with jax.enable_x64(True):
        found = [np.broadcast_to(each, SIZES) for each in function.raw(*(given[name] for name in function.inputs))]
    # The same operations in the same order: JAX and NumPy differ in the last bits of roots and logarithms.
    np.testing.assert_allclose(found[0], swept.step_time.values, rtol=1e-13)
    np.testing.assert_array_equal(found[1], held < limit)
    np.testing.assert_array_equal(found[2], np.broadcast_to(values["batch_size"] >= 512, SIZES))
    assert found[1].any()
    assert not found[1].all()


def test_other_numbers_leave_the_same_function():
    asked = [*symbols("step_time"), sympy.Lt(*symbols("total_memory", "memory_capacity"))]
    tiling = Tiling(SIZES, (1, 1, 3, 2))
    found = [done_ahead(*grid_of, tiling) for grid_of in (
        (system, asked, values) for system, values in (grid(), grid(seq_len=5120), grid(sequence_parallel=False))
    )]  # fmt: skip
    functions = [function for function, _ in found]
    assert functions[0] is functions[1]
    assert functions[0] is not functions[2]
    assert any((a != b).any() for a, b in zip(found[0][1].values(), found[1][1].values(), strict=True))


def test_fewer_operations_than_the_formulas_have():
    system, values = grid()
    function, _ = done_ahead(system, symbols("step_time"), values, Tiling(SIZES, (1, 1, 3, 2)))
    assert isinstance(function, Rest)
    assert 0 < len(function.steps) < len(system)
    whole, given = done_ahead(system, symbols("step_time"), values, Tiling(SIZES, SIZES))
    assert isinstance(whole, Rest)
    assert (whole.steps, [value.size for value in given.values()]) == ((), [120])


def test_a_search_inside_is_left_whole():
    binding = bind(ServingCapacityModel(), {"model": "Llama3_8B", "hardware": "H100", "qps": 10,
                                            "target_p99_latency_ms": 4000})  # fmt: skip
    values = {**binding.values, "qps": np.linspace(1, 400, 50)}
    function, given = done_ahead(binding.system, symbols("required_replicas"), values, Tiling((50,), (50,)))
    assert not isinstance(function, Rest)
    assert set(given) == set(function.inputs)


def test_fronts_of_which_objectives_and_conditions_are_decided(pure, system_of):
    u, v, limit = (pure(f"fronted_{name}") for name in ("u", "v", "limit"))
    system = system_of({pure("fronted_total"): u * v})
    values = {"fronted_u": np.arange(1.0, 8).reshape(-1, 1), "fronted_v": np.arange(1.0, 6).reshape(1, -1)}
    whole, part = (slice(0, 7), slice(0, 5)), (slice(2, 7), slice(1, 3))
    for number, feasible in ((1.0, 35), (-1.0, 0)):
        front = GridFront(system, [u * v, -v], [limit > 0], {**values, "fronted_limit": number})
        found = front.of(whole)
        assert (found.feasible, found.points) == (feasible, 35)
        assert found.values.tolist() == ([[v, -v] for v in range(1, 6)] if feasible else [])
        assert front.of(part).values.tolist() == ([[6, -2], [9, -3]] if feasible else [])
    found = GridFront(system, [limit, v - u], [u * v > 5], {**values, "fronted_limit": 2.0}).of(whole)
    assert (found.values.tolist(), found.indices.tolist()) == ([[2.0, -6.0]], [30])
    assert found.feasible == 25


def test_conditions_that_are_decided(pure, system_of):
    u, v, limit = (pure(f"ahead_{name}") for name in ("u", "v", "limit"))
    system = system_of({pure("ahead_total"): u * v})
    values = {"ahead_u": np.arange(1.0, 8).reshape(-1, 1), "ahead_v": np.arange(1.0, 6).reshape(1, -1)}
    for number, feasible in ((1.0, 35), (-1.0, 0)):
        found = smallest(system, u * v, [limit > 0], {**values, "ahead_limit": number}, (7, 5), 2)
        assert (found.feasible, found.indices.tolist()) == (feasible, [0, 1] if feasible else [])
    found = smallest(system, limit, [sympy.Eq(u, v)], {**values, "ahead_limit": 3.0}, (7, 5), 9)
    assert (found.feasible, found.values.tolist()) == (5, [3.0] * 5)
    found = smallest(system, (u - 4) ** 2 + 1 / v**2, [sympy.Or(u > 6, v > 4)], values, (7, 5), 1)
    assert found.indices.tolist() == [19]
