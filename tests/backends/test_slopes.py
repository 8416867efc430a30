"""Derivatives on grids are those of their points, however a grid is evaluated."""

import sys

import numpy as np
import pytest

from mlsysim import ServingCapacityModel
from mlsysim.backends import derivatives
from mlsysim.inputs.binding import bind_grid

SERVED = {"model": "Llama3_8B", "hardware": "H100", "target_p99_latency_ms": 4000, "max_batch_size": 16}


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("limits", [{}, {"WORTHWHILE": 1}, {"BLOCK": 40}, {"WORTHWHILE": 1, "BLOCK": 7}], ids=str)
def test_a_grid_has_the_derivatives_of_its_points(monkeypatch, limits, order):
    """At once, in stages and in blocks."""
    for name, number in limits.items():
        monkeypatch.setattr(sys.modules["mlsysim.backends.slopes"], name, number)
    binding = bind_grid(ServingCapacityModel(), SERVED | {"qps": np.linspace(1, 40, 9), "efficiency": [0.3, 0.5, 0.7]})
    outputs, by = ("estimated_p99_latency", "qps_capacity"), ("efficiency", "memory_bandwidth", "qps", "output_tokens")
    whole = derivatives(binding.system, outputs, by, binding.values, order)
    for place in np.ndindex(9, 3):
        point = {name: np.broadcast_to(value, (9, 3))[place] for name, value in binding.values.items()}
        alone = derivatives(binding.system, outputs, by, point, order)
        for output in outputs:
            assert whole[output].keys() == alone[output].keys()
            for names, value in alone[output].items():
                found = np.broadcast_to(whole[output][names], (9, 3))[place]
                np.testing.assert_allclose(found, value, rtol=1e-13, err_msg=f"{output} by {names}")
