"""Calibration: fit inputs of a model to measurements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mlsysim.errors import InputError
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.study.calibration.calibration import Calibration
from mlsysim.study.calibration.measured import measured, weighted
from mlsysim.study.calibration.problem import Problem, parameters
from mlsysim.study.calibration.table import read_table


def calibrate(
    model: DeclaredModel,
    /,
    free: str | Iterable[str],
    observations: Any,
    *entries: Any,
    weights: Sequence[float] | Mapping[str, Any] | None = None,
    outputs: str | Iterable[str] | None = None,
    ignore: str | Iterable[str] = (),
    space: str = "log",
    **constants: Any,
) -> Calibration:
    """Fit inputs to measurements by least squares with exact derivatives.

    A column of the table is an argument of the model or a measured output, with its unit in the header: ``step_time
    [ms]``. Empty cells of outputs are skipped. A column ``weight`` weights the rows.

    Parameters
    ----------
    free : str or iterable of str
        Inputs to fit. A value given for one is the starting point.
    observations : path, DataFrame, mapping or sequence of mappings
        The table: a CSV file, a DataFrame, columns by name, or rows.
    *entries : Entry or str
        As for ``solve``, the same in every row.
    weights : sequence of float, or mapping, optional
        Weights of the squared residuals: one per row, or by output one or one per row. Use the inverse square of the
        relative error of each measurement, if known.
    outputs : str or iterable of str, optional
        Measured columns to use; all by default.
    ignore : str or iterable of str
        Columns that are neither inputs nor outputs, kept as labels of the rows.
    space : {"log", "linear"}
        Compare by ratio, or by difference in the units of the outputs.
    **constants
        Inputs as for ``solve``, the same in every row.

    Returns
    -------
    Calibration
        Values, standard errors, correlations and intervals; residuals; and what the measurements do not determine.

    Raises
    ------
    InputError
        If a column is unknown, a row is refused, a free input is a whole number or has no effect, or nothing was
        measured.

    Examples
    --------
    >>> from mlsysim import KernelModel
    >>> rows = dict(product_rows=[1024, 2048, 4096], kernel_time=["232 us", "449 us", "881 us"])
    >>> found = KernelModel().calibrate("efficiency", rows, "H100", product_columns=8192, product_inner=8192)
    >>> print(f"{found.values['efficiency']:.2f}")
    0.84
    """
    names = _free(free)
    if not isinstance(space, str) or space not in ("log", "linear"):
        raise InputError("space", space, "must be 'log' or 'linear'")
    arguments = {name: value for name, value in model.named_arguments(entries, constants).items() if value is not None}
    rows = measured(model, read_table(observations), arguments, names, outputs=outputs, ignore=ignore)
    occurring = {variable.name for variable in rows.varied.binding.system.closure(list(rows.outputs)).inputs}
    free_parameters = parameters(rows.varied.binding, occurring, tuple(rows.outputs))
    problem = Problem(rows, free_parameters, weighted(rows, weights), space)
    _refuse_measurements(problem)
    end = problem.squares.fit(problem.starts())
    problem.refuse_rows(end.x)
    fixed = {name: value for name, value in arguments.items() if name not in names}
    return Calibration(problem, end, model, fixed)


def _free(free: Any) -> tuple[str, ...]:
    names = (free,) if isinstance(free, str) else free
    if not isinstance(names, Iterable) or not (names := tuple(names)):
        raise InputError("free", free, "name at least one input")
    if len(set(map(str, names))) != len(names):
        raise InputError("free", free, "name each input once")
    return names


def _refuse_measurements(problem: Problem) -> None:
    """Refuse measurements without a logarithm, and weights that leave no measurement."""
    if not any(used.any() for used in problem.used.values()):
        raise InputError("weights", problem.weights, "leave no measurement")
    for name, used in problem.used.items():
        not_positive = used & (problem.measured.outputs[name] <= 0)
        if problem.space == "log" and not_positive.any():
            allowed = "measured values are positive, to be compared by ratio"
            raise InputError(name, float(problem.measured.outputs[name][not_positive.argmax()]), allowed,
                             f"row {int(not_positive.argmax()) + 1}; space='linear' compares differences")  # fmt: skip
