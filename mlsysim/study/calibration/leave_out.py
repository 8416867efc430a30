"""Leave-one-out: every row predicted by parameters that were fitted without it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mlsysim.progress import looped
from mlsysim.study.calibration.estimates import Estimates
from mlsysim.study.calibration.parameters import values_of
from mlsysim.study.calibration.residuals import Residuals

#: Relative change at which a fit without one row has arrived; it begins where the whole one ended.
NEARBY = 1e-8


class LeaveOneOut(Residuals):
    """Rows as they are predicted by a calibration without them; :attr:`errors` says how well.

    Attributes
    ----------
    values : dict
        Canonical value of every parameter without each row.
    """

    values: dict[str, np.ndarray]


def leave_one_out(found: Estimates) -> LeaveOneOut:
    """Fit again without each row in turn, from where the whole fit ended.

    Parameters
    ----------
    found : Estimates
        The fit to all rows.

    Returns
    -------
    LeaveOneOut
        A row that is the only one to be measured has no prediction.
    """
    problem = found.problem
    rows = problem.measured.table.rows
    used = problem.used
    counts = sum(each.astype(int) for each in used.values())
    predicted = {name: np.full(rows, np.nan) for name in used}
    values = {name: np.full(rows, np.nan) for name in found.names}
    for row in looped(np.flatnonzero(counts).tolist()):
        weights = {name: np.where(np.arange(rows) == row, 0.0, each) for name, each in problem.weights.items()}
        without = replace(problem, weights=weights)
        if not any(each.any() for each in without.used.values()):
            continue
        end = Estimates(without, without.solved_from(found.fit.x, NEARBY))
        for name, value in end.canonical.items():
            values[name][row] = value
        answers = problem.measured.predicted(values_of(problem.parameters, end.fit.x))
        for name in used:
            predicted[name][row] = np.broadcast_to(answers[name], (rows,))[row]
    measured = {name: np.where(used[name], each, np.nan) for name, each in problem.measured.outputs.items()}
    result = LeaveOneOut(measured, predicted, problem.measured.labels)
    result.values = values
    return result
