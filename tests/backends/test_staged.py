"""Grids in stages: the numbers of the compiled function at every point, however they are split."""

import jax
import numpy as np
import pytest
import sympy
from backends.test_dense import smallest
from fuzz import rest_long, tries
from study.points import CHAINS, POINTS

import mlsysim
from mlsysim.backends import OutputSpec, compiled, evaluate_outputs, graph_of
from mlsysim.backends.front import GridFront
from mlsysim.backends.staged import Staged, graph_of_expressions, on_jax
from mlsysim.backends.sweep import is_worth_compiling
from mlsysim.inputs.binding import bind
from mlsysim.models import DistributedModel, ServingCapacityModel
from mlsysim.symbolic import variable_of

SIZES = (5, 4, 3, 2)
NAMES = ("batch_size", "gradient_accumulation_steps", "pp_size", "tp_size")
LISTS = ([256.0, 512, 1024, 2048, 4096], [1.0, 2, 4, 8], [1.0, 2, 4], [2.0, 8])
SERVED = {"model": "Llama3_8B", "hardware": "H100", "qps": 10, "target_p99_latency_ms": 4000}
RATES = {"qps": np.linspace(1, 400, 50)}
STEP = {"model": "Llama3_70B", "fleet": "SuperPOD_H100", "fleet_size": 64, "seq_len": 4096}
EVERY = [case for case in POINTS if case not in CHAINS and case[1] != "counted" and "fleet" not in case[1]]
FIRST = ["TrainingMemoryModel", "DistributedModel", "ServingCapacityModel", "MoERoutingModel", "KernelModel"]
CASES = sorted(EVERY, key=lambda case: case[0] not in FIRST)


def drawn(values, random):
    """Inputs of a model on a grid of two real inputs, one whole one and one label or condition, where there are any."""
    given, axes = dict(values), []
    for kinds in (("real",), ("real",), ("integer",), ("choice", "boolean")):
        names = [n for n, v in values.items() if variable_of(n).domain.kind in kinds and 0 < v < np.inf]
        axes += [str(name) for name in random.permutation([name for name in names if name not in axes])[:1]]
    for place, name in enumerate(axes):
        count, one = SIZES[place] - 1, given[name]
        kind = variable_of(name).domain.kind
        axis = {
            "real": one * np.exp(random.uniform(-1, 1, count)),
            "integer": np.maximum(1, np.rint(one * 2.0 ** random.integers(-1, 3, count))),
        }.get(kind, np.arange(count) % 2.0)
        given[name] = axis.reshape([-1 if at == place else 1 for at in range(len(axes))])
    return given, np.broadcast_shapes(*(np.shape(value) for value in given.values()))


@pytest.mark.parametrize(("name", "variant"), rest_long(CASES, quick=5))
@pytest.mark.parametrize("seed", range(tries(3, 1)))
def test_every_number_of_a_sweep_is_that_of_the_point(name, variant, seed, monkeypatch):
    monkeypatch.setattr("mlsysim.backends.sweep.BLOCK", 16)
    monkeypatch.setattr("mlsysim.backends.sweep.PAGE", 16)
    binding = bind(getattr(mlsysim, name)(variant), POINTS[name, variant])
    system, function = binding.system, compiled(binding.system)
    given, shape = drawn({n: binding.values[n] for n in function.inputs}, np.random.default_rng(seed))
    outputs = [variable.name for variable in system.variables]
    found = evaluate_outputs(system, [OutputSpec(output) for output in outputs], given, shape)
    whole = {n: np.broadcast_to(value, shape) for n, value in given.items()}
    points = np.random.default_rng(seed).permutation(int(np.prod(shape)))[:24]
    for index in zip(*np.unravel_index(points, shape), strict=True):
        one = function({n: float(value[index]) for n, value in whole.items()})
        for output in outputs:
            np.testing.assert_allclose(found[output][index], float(one[output]), rtol=1e-12, err_msg=output)


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


@pytest.mark.long
@pytest.mark.parametrize("most", rest_long([12, 120, 0], quick=1))
def test_a_model_at_every_point_of_a_grid_on_jax(most):
    system, values = grid()
    time, memory, batch = symbols("step_time", "total_memory", "batch_size")
    swept = evaluate_outputs(system, [OutputSpec("step_time"), OutputSpec("total_memory")], values, SIZES)
    limit = float(np.median(swept["total_memory"])) * (1 + 1e-6)
    asked = [time, memory < limit, batch >= 512]
    function, given = on_jax(graph_of_expressions(system, asked), values, lambda shape: np.prod(shape) <= most)
    with jax.enable_x64(True):
        found = [np.broadcast_to(each, SIZES) for each in function.raw(*(given[name] for name in function.inputs))]
    # The same operations in the same order: JAX and NumPy differ in the last bits of roots and logarithms.
    np.testing.assert_allclose(found[0], swept["step_time"], rtol=1e-13)
    np.testing.assert_array_equal(found[1], swept["total_memory"] < limit)
    np.testing.assert_array_equal(found[2], np.broadcast_to(values["batch_size"] >= 512, SIZES))


def test_other_numbers_leave_the_same_function():
    asked = [*symbols("step_time"), sympy.Lt(*symbols("total_memory", "memory_capacity"))]
    found = [
        on_jax(graph_of_expressions(system, asked), values, lambda shape: np.prod(shape) <= 12)
        for system, values in (grid(), grid(seq_len=5120), grid(sequence_parallel=False))
    ]
    functions = [function for function, _ in found]
    assert functions[0] is functions[1]
    assert functions[0] is not functions[2]
    assert any((a != b).any() for a, b in zip(found[0][1].values(), found[1][1].values(), strict=True))


def test_less_is_left_than_the_formulas_have():
    system, values = grid()
    graph = graph_of(system, ("step_time",))
    left = Staged(graph, values, lambda shape: np.prod(shape) <= 12)
    assert len(left.last.graph.nodes) < len(graph.nodes) / 2
    whole = Staged(graph, values, lambda shape: True)
    assert all(node.op in ("input", "truth", "number") for node in whole.last.graph.nodes)
    assert whole.nanoseconds < left.nanoseconds


def test_xla_compiles_what_has_operations_for_so_many_points():
    system, values = grid()
    (time,), (tensor, stages) = symbols("step_time"), symbols("tp_size", "pp_size")
    graphs = [graph_of(system, None, (("asked", expression),)) for expression in (time, tensor * stages)]
    left = [Staged(graph, values, lambda shape: np.prod(shape) <= 12).last.graph for graph in graphs]
    worth = [[is_worth_compiling(graph, points) for points in (10**4, 10**7, 10**12)] for graph in left]
    assert worth == [[False, True, True], [False, False, False]]
    binding = bind(ServingCapacityModel(), SERVED)
    searched = Staged(graph_of(binding.system, ("required_replicas",)), binding.values | RATES, lambda _: False)
    assert not is_worth_compiling(searched.last.graph, 10**12)


def test_roots_are_found_where_they_depend_on_axes_and_nowhere_else():
    binding = bind(ServingCapacityModel(), SERVED)
    graph = graph_of(binding.system, ("required_replicas",))
    assert Staged(graph, binding.values | RATES, lambda _: True).has("least_integer")
    assert not Staged(graph, dict(binding.values), lambda _: True).has("least_integer")


@pytest.mark.long
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
        found = smallest(system, u * v, [limit > 0], {**values, "ahead_limit": number}, (7, 5), k=2)
        assert (found.feasible, found.indices.tolist()) == (feasible, [0, 1] if feasible else [])
    found = smallest(system, limit, [sympy.Eq(u, v)], {**values, "ahead_limit": 3.0}, (7, 5), k=9)
    assert (found.feasible, found.values.tolist()) == (5, [3.0] * 5)
    found = smallest(system, (u - 4) ** 2 + 1 / v**2, [sympy.Or(u > 6, v > 4)], values, (7, 5))
    assert found.indices.tolist() == [19]


@pytest.mark.long
def test_the_chain_is_solved_where_replicas_are_given_and_nowhere_else():
    model = mlsysim.ServingModel("chunked")
    given = {**POINTS["ServingModel", "chunked"], "num_replicas": 8, "request_rate": [1, 20]}
    found = model.sweep(**given, outputs="ttft_p99").ttft_p99
    alone = [model.solve(**{**given, "request_rate": rate})["ttft_p99"].to("ms").magnitude for rate in (1, 20)]
    np.testing.assert_allclose(found.values * (1000 if found.attrs["units"] == "s" else 1), alone, rtol=1e-9)
