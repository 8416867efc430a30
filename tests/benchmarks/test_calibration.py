"""Three constants from 200 measured rows: seconds, and against scipy with differences through a loop over ``solve``."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy.optimize import least_squares

from mlsysim import IterationModel

MODEL = IterationModel()
HELD = {"model": "Llama3_8B", "hardware": "A100", "precision": "fp16"}
PLANTED = {"efficiency": 0.53, "kv_read_efficiency": 0.71, "layer_tax": 0.08}
#: Seconds that a warm calibration may take.
LIMIT = 0.3


def measured(rows, seed=0):
    """Steps of a server at planted constants, with noise of 5%."""
    random = np.random.default_rng(seed)
    columns = {
        "decode_requests": random.integers(1, 256, rows),
        "context_tokens": random.integers(100, 4000, rows),
        "tp_size": random.choice([1, 2, 4, 8], rows),
        "prompts": random.integers(0, 2, rows),
        "seq_len": random.integers(100, 4000, rows),
    }
    points = [dict(zip(columns, map(int, row), strict=True)) for row in zip(*columns.values(), strict=True)]
    times = np.array([MODEL.solve(**HELD, **PLANTED, **point).canonical("iteration_time") for point in points])
    noisy = times * np.exp(0.05 * random.standard_normal(rows))
    return [{**point, "iteration_time [s]": time} for point, time in zip(points, noisy.tolist(), strict=True)]


def by_differences(rows):
    """What one would write without slopes: least squares with differences, and a loop over the rows."""
    points = [{name: value for name, value in row.items() if name in MODEL.arguments} for row in rows]
    times = np.array([row["iteration_time [s]"] for row in rows])

    def residuals(x):
        given = dict(zip(PLANTED, np.exp(x).tolist(), strict=True))
        return np.log([MODEL.solve(**HELD, **given, **each).canonical("iteration_time") for each in points] / times)

    return np.exp(least_squares(residuals, np.log([0.6, 0.8, 0.01])).x).tolist()


def bare(found):
    return [getattr(value, "magnitude", value) for value in found.values.values()]


def seconds(work):
    start = time.perf_counter()
    return work(), time.perf_counter() - start


def test_warm_calibration(benchmark, against):
    tables = [measured(200, seed) for seed in range(5)]
    MODEL.calibrate(list(PLANTED), tables[0], **HELD)
    taken = [seconds(lambda table=table: MODEL.calibrate(list(PLANTED), table, **HELD))[1] for table in tables]
    benchmark.pedantic(MODEL.calibrate, (list(PLANTED), tables[0]), HELD, rounds=3)
    against("3 constants from 200 rows, warm", LIMIT, taken)


def test_against_differences_through_solve(benchmark):
    table = measured(200)
    found, ours = seconds(lambda: MODEL.calibrate(list(PLANTED), table, **HELD))
    theirs, other = seconds(lambda: by_differences(table))
    assert bare(found) == pytest.approx(theirs, rel=1e-4)
    benchmark.pedantic(MODEL.calibrate, (list(PLANTED), table), HELD, rounds=3)
    title = "3 constants from 200 rows, warm, against scipy with differences through a loop over solve"
    benchmark.extra_info.update(title=title, target=None, ours=ours, theirs=other, ratio=ours / other)


def test_leave_one_out(benchmark):
    table = measured(200)
    found, once = seconds(lambda: MODEL.calibrate(list(PLANTED), table, **HELD))
    _, ours = seconds(lambda: found.leave_one_out)
    benchmark.pedantic(MODEL.calibrate, (list(PLANTED), table), HELD, rounds=1)
    title = "200 calibrations with one row left out each, against 200 from scratch"
    benchmark.extra_info.update(title=title, target=None, ours=ours, theirs=200 * once, ratio=ours / 200 / once)
