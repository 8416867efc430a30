"""Processor time of a sweep over deployments, each of which is the root of an equation."""

import time

import numpy as np
import pytest

from mlsysim import ServingModel

#: Microseconds of one processor a point at most; two to three times what was measured.
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
    assert (time.process_time() - start) / points < LIMITS[variant] * 1e-6
