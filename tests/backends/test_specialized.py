"""A compiled function made for a grid gives the numbers of the compiled function."""

import numpy as np
import pytest
from fuzz import rest_long
from study.points import POINTS

import mlsysim
from mlsysim.backends import small

GRID = {"request_rate": np.linspace(1, 60, 8), "isl": [64, 1000, 4000], "tp_size": [1, 2, 4], "max_num_seqs": [8, 256]}
CASES = [case for case in POINTS if case[0] == "ServingModel" and case[1] != "chunked"]


@pytest.mark.parametrize(("name", "variant"), CASES)
@pytest.mark.parametrize("more", rest_long([{}, {"num_replicas": 8}, {"concurrency": [1, 64], "request_rate": 0}], 1))
def test_a_sweep_of_deployments_is_that_of_the_compiled_function(name, variant, more, monkeypatch):
    given = {**POINTS[name, variant], **GRID, **more}
    model = getattr(mlsysim, name)(variant)
    monkeypatch.setattr(small, "WORTHWHILE", np.inf)
    plain = model.sweep(**given)
    monkeypatch.setattr(small, "WORTHWHILE", 1)
    made = model.sweep(**given)
    for output in plain.data_vars:
        if plain[output].dtype.kind == "f":
            np.testing.assert_allclose(made[output], plain[output], rtol=1e-12, err_msg=output)
        else:
            np.testing.assert_array_equal(made[output], plain[output], err_msg=output)


def test_the_chain_is_solved_where_replicas_are_given_and_nowhere_else():
    model = mlsysim.ServingModel("chunked")
    given = {**POINTS["ServingModel", "chunked"], "num_replicas": 8, "request_rate": [1, 20]}
    found = model.sweep(**given, outputs="ttft_p99").ttft_p99
    alone = [model.solve(**{**given, "request_rate": rate})["ttft_p99"].to("ms").magnitude for rate in (1, 20)]
    np.testing.assert_allclose(found.values * (1000 if found.attrs["units"] == "s" else 1), alone, rtol=1e-9)


def test_roots_are_found_in_numpy_however_large_the_grid(monkeypatch):
    monkeypatch.setattr("mlsysim.backends.grid.SMALL", 0)
    monkeypatch.setattr("mlsysim.backends.grid._called", None)
    given = {**POINTS["ServingModel", "colocated"], "num_replicas": 8, "request_rate": [1, 20]}
    found = mlsysim.ServingModel("colocated").sweep(**given, outputs="ttft_mean").ttft_mean
    assert np.isfinite(found).all()
