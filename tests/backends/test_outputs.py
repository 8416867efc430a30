"""Outputs in the form asked for: units, missing values and reasons in one pass, as a pass by hand gives them."""

import numpy as np
import pytest
import sympy
from fuzz import rest_long
from on_jax import evaluate

from mlsysim.backends import OutputSpec, ReasonCode, evaluate_outputs
from mlsysim.inputs.binding import bind
from mlsysim.models import ServingCapacityModel
from mlsysim.symbolic import reason_code, variable_of

#: More points than a block of points with loops inside has.
SHAPE = (40, 60, 2)
AXES = {"qps": np.linspace(1, 20, 40), "max_batch_size": np.arange(1.0, 61), "seq_len": np.array([512.0, 2048])}
NAMES = ["required_replicas", "bottleneck", "feasible", "estimated_p99_latency"]
OUTPUTS = [
    OutputSpec(NAMES[0]),
    OutputSpec(NAMES[1], kind="label"),
    OutputSpec(NAMES[2], kind="truth"),
    OutputSpec(NAMES[3], 1e-3),
]


@pytest.fixture(scope="module")
def asked():
    point = {"model": "Llama3_8B", "hardware": "H100", "qps": 10, "target_p99_latency_ms": 4000}
    binding = bind(ServingCapacityModel(), point)
    values = dict(binding.values)
    for place, (name, axis) in enumerate(AXES.items()):
        values[name] = axis.reshape([-1 if a == place else 1 for a in range(3)])
    return binding.system, values


@pytest.fixture
def backend(request, monkeypatch):
    """Either backend of a grid, with blocks smaller than the grid."""
    monkeypatch.setattr("mlsysim.backends.sweep.BLOCK", 1000)
    if request.param == "jax":
        monkeypatch.setattr("mlsysim.backends.sweep.is_worth_compiling", lambda *_: True)


@pytest.mark.parametrize("backend", ["numpy", pytest.param("jax", marks=pytest.mark.long)], indirect=True)
@pytest.mark.usefixtures("backend")
def test_points_computed_in_blocks_are_those_of_the_whole(asked):
    """A system with loops inside goes block by block; the plain pass over the whole grid does not."""
    system, values = asked
    whole = evaluate(system, NAMES, values)
    found = evaluate_outputs(system, OUTPUTS, values, SHAPE)
    assert list(found) == NAMES
    assert [array.dtype for array in found.values()] == [np.float64, np.int8, np.bool_, np.float64]
    for name, scale in zip(NAMES, (1, 1, 1, 1000), strict=True):
        assert found[name].shape == SHAPE
        np.testing.assert_allclose(found[name], np.broadcast_to(whole[name], SHAPE) * scale, rtol=1e-13)


@pytest.mark.parametrize("backend", rest_long(["numpy", "jax"], quick=1), indirect=True)
@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("names", rest_long([slice(None), slice(1, 3)], quick=1))
def test_the_first_reason_wins_and_values_are_missing(asked, names):
    system, values = asked
    qps, batch = (variable_of(name).symbol for name in ("qps", "max_batch_size"))
    table = np.ones((1, 60, 1))
    table[0, 7] = 0
    conditions = [(1, sympy.Eq(sympy.Symbol("known"), 1)), (2, qps <= 15), (1, sympy.Ne(batch, 3))]
    reason = ReasonCode("why", reason_code(conditions))
    found = evaluate_outputs(system, OUTPUTS[names], {**values, "known": table}, SHAPE, reason=reason)
    rate, most = np.broadcast_arrays(AXES["qps"][:, None, None], AXES["max_batch_size"][:, None])
    why = np.where(most == 8, 1, np.where(rate > 15, 2, np.where(most == 3, 1, 0)))
    np.testing.assert_array_equal(found["why"], np.broadcast_to(why, SHAPE))
    plain = evaluate_outputs(system, OUTPUTS[names], values, SHAPE)
    for output in OUTPUTS[names]:
        missing = {"number": np.nan, "label": -1, "truth": False}[output.kind]
        np.testing.assert_array_equal(found[output.name], np.where(found["why"] == 0, plain[output.name], missing))
