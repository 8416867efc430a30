"""Certified fits of NIST through the same calls as any other model."""

from __future__ import annotations

import numpy as np
import pytest
from study.calibrated_models import CERTIFIED


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.long) if n == "MGH09" else n for n in CERTIFIED])
def test_values_errors_and_squares_are_those_certified(name):
    problem = CERTIFIED[name]
    start = dict(zip(problem.free, problem.start, strict=True))
    found = problem.model.calibrate(problem.free, problem.table, space="linear", **start)
    assert list(found.values.values()) == pytest.approx(problem.values, rel=1e-7)
    assert list(found.errors.values()) == pytest.approx(problem.errors, rel=1e-6)
    off = found.residuals.predicted["nist_y"] - found.residuals.measured["nist_y"]
    assert float(np.sum(off**2)) == pytest.approx(problem.squares, rel=1e-9)
    assert found.unidentifiable == ()
