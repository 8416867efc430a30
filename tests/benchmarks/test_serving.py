"""Processor time of a sweep over deployments, each of which is the root of an equation."""

import time

import numpy as np
import pytest
from benchmarks.yardsticks import LOOP, processor_time

from mlsysim import ServingModel
from mlsysim.backends import OutputSpec, evaluate_outputs, slopes
from mlsysim.inputs.binding import bind_grid

#: Microseconds of one processor a point at most, at the yardstick; two to three times what was measured.
LIMITS = {"colocated": 10, "disaggregated": 12, "chunked_estimate": 20}


@pytest.mark.parametrize("variant", LIMITS)
def test_a_point_takes_microseconds(variant):
    given = {name: value for name, value in ServingModel.example.items() if name not in ("request_rate", "isl", "osl")}

    def sweep(size):
        return ServingModel(variant).sweep(
            **given,
            request_rate=np.linspace(1, 20, size),
            num_replicas=np.arange(4, 4 + size),
            isl=np.linspace(100, 3000, size).astype(int),
            osl=np.linspace(16, 600, size).astype(int),
            outputs=["ttft_mean", "tpot_mean", "tpot_p99"],
        )

    sweep(3)
    start = time.process_time()
    points = sweep(16)["tpot_mean"].size
    taken = (time.process_time() - start) / points
    assert taken < LIMITS[variant] * 1e-6 * LOOP.seconds(processor_time) / LOOP.reference


def test_gradient_of_the_chain():
    """By all inputs, against the points themselves; less than twice what was measured."""
    model, outputs = ServingModel("chunked"), ["ttft_mean", "tpot_mean"]
    given = {**ServingModel.example, "isl_cv": 0.5, "osl_cv": 0.5, "num_replicas": 4}
    binding = bind_grid(model, {**given, "request_rate": np.linspace(2, 14, 20)})
    system = binding.system.closure(outputs)
    inputs = [variable.name for variable in system.inputs if variable.domain.kind == "real"]
    specs = [OutputSpec(output) for output in outputs]

    def taken(*, gradient):
        start = time.process_time()
        if gradient:
            slopes(system, outputs, inputs, binding.values)
        else:
            evaluate_outputs(system, specs, binding.values, binding.sizes)
        return time.process_time() - start

    taken(gradient=False)
    assert len(inputs) > 30
    assert taken(gradient=True) / taken(gradient=False) < 6
