"""Calibration result: fitted inputs, their uncertainty, and the errors of predictions."""

from __future__ import annotations

import os
import textwrap
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim import formatting, show, units
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.jsontext import JsonAnswer
from mlsysim.study.calibration.entry import save
from mlsysim.study.calibration.estimates import Estimates, LeaveOneOut, leave_one_out
from mlsysim.study.calibration.measured import Measured, measured
from mlsysim.study.calibration.problem import values_of
from mlsysim.study.calibration.residuals import Residuals
from mlsysim.study.calibration.table import read_table
from mlsysim.study.results.basis import Basis, at_point
from mlsysim.study.results.display import amounts, plain
from mlsysim.study.results.result import Result
from mlsysim.study.solve import solve
from mlsysim.symbolic import variable_of
from mlsysim.tracebacks import at_the_call

if TYPE_CHECKING:
    import xarray

#: Elasticity of a prediction by a parameter from which a row counts as informative about it.
MATTERS = 0.01


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(Estimates, JsonAnswer):
    """Inputs of a model fitted to measurements; prints as a table.

    Attributes
    ----------
    model : DeclaredModel
        Calibrated model.
    held : dict
        Arguments that were constant over all rows.
    """

    model: DeclaredModel
    held: dict[str, Any]

    @property
    def basis(self) -> Basis | None:
        """Stack, assumptions and expected errors of the measured outputs, at the first row."""
        measured_rows = self.problem.measured
        return at_point(self.model, measured_rows.varied.arguments, measured_rows.outputs, free=self.free)

    @property
    def values(self) -> dict[str, Any]:
        """Fitted value of every input, with its unit."""
        return {
            parameter.name: parameter.shown(self.canonical[parameter.name]) for parameter in self.problem.parameters
        }

    @property
    def errors(self) -> dict[str, Any]:
        """Standard error of each input, with its unit; None at a bound or if not determined."""
        errors = {parameter: self.error(index) for index, parameter in enumerate(self.problem.parameters)}
        return {
            parameter.name: None if np.isnan(error) else parameter.shown(error) for parameter, error in errors.items()
        }

    @at_the_call
    def intervals(self, level: float = 0.95) -> dict[str, Any]:
        """Return confidence intervals: lower and upper end per input, within its domain; None without an error.

        Parameters
        ----------
        level : float
            Coverage: share of such intervals that contain the true value, if the formulas are right and all
            measurements scatter alike.
        """
        intervals = {}
        for index, parameter in enumerate(self.problem.parameters):
            ends = self.interval(index, level)
            intervals[parameter.name] = None if ends is None else tuple(parameter.shown(end) for end in ends)
        return intervals

    @property
    def covariance(self) -> xarray.DataArray:
        """Covariance of the inputs with an error, in the units of their variables."""
        slopes = [parameter.slope(self.canonical[parameter.name]) for parameter in self.problem.parameters]
        unit_sizes = [units.factor(parameter.variable.unit) for parameter in self.problem.parameters]
        scale = np.array(slopes) / np.array(unit_sizes)
        whole = self._matrix(self.spread * np.outer(scale, scale), "covariance")
        known = [name for name, error in self.errors.items() if error is not None]
        return whole.sel(input=known, other=known)

    @property
    def correlations(self) -> xarray.DataArray:
        """Correlation of each pair of inputs, by name; nan without an error."""
        spread = np.sqrt(np.diag(self.spread))
        with np.errstate(all="ignore"):
            return self._matrix(self.spread / np.outer(spread, spread), "correlation")

    def _matrix(self, values: np.ndarray, name: str) -> xarray.DataArray:
        import xarray

        names = list(self.free)
        return xarray.DataArray(values, coords={"input": names, "other": names}, dims=("input", "other"), name=name)

    @at_the_call
    def draws(self, count: int, *, seed: int = 0) -> dict[str, Any]:
        """Draw values of the inputs from their joint distribution given the measurements.

        Positive inputs are lognormal, others normal, all within their domains. Inputs without an error keep their
        value.

        Parameters
        ----------
        count : int
            Number of draws.
        seed : int
            Seed of the random numbers.

        Returns
        -------
        dict
            Array by name, in the unit of the variable; a quantity if it has one.
        """
        spread = np.nan_to_num(self.spread)
        drawn = np.random.default_rng(seed).multivariate_normal(self.fit.x, spread, count, method="eigh")
        squares = self.problem.squares
        values = values_of(self.problem.parameters, np.clip(drawn, squares.lower, squares.upper))
        return {name: amounts(variable_of(name), np.asarray(value)) for name, value in values.items()}

    @property
    def at_bound(self) -> dict[str, str]:
        """Inputs at the ``"lower"`` or ``"upper"`` bound of their domain, beyond which measurements push them."""
        sides = zip(self.free, self.sides, strict=True)
        return {name: "lower" if side < 0 else "upper" for name, side in sides if side}

    @cached_property
    def residuals(self) -> Residuals:
        """Ratio of predicted to measured outputs in every row."""
        return self._compared(self.problem.measured)

    @cached_property
    def leave_one_out(self) -> LeaveOneOut:
        """Prediction of every row by a calibration without it; computed on first access."""
        return leave_one_out(self)

    @cached_property
    def influence(self) -> xarray.DataArray:
        """Elasticity of every prediction by every input: which rows are informative about which input."""
        import xarray

        values = self.canonical
        slopes = self.problem.measured.slopes(values)
        outputs, rows = self.residuals.predicted, self.problem.measured.table.rows
        elastic = np.empty((len(outputs), len(self.free), rows))
        for output_index, output in enumerate(outputs):
            for input_index, name in enumerate(self.free):
                with np.errstate(all="ignore"):
                    elastic[output_index, input_index] = slopes[name][output] * values[name] / outputs[output]
        coords = {"output": list(outputs), "input": list(self.free), "observation": np.arange(1, rows + 1)}
        return xarray.DataArray(np.nan_to_num(elastic), coords=coords, dims=tuple(coords), name="elasticity")

    @at_the_call
    def solve(self, *entries: Any, **inputs: Any) -> Result:
        """Solve the model at another point with constant and fitted inputs, which arguments override.

        Parameters
        ----------
        *entries, **inputs
            Arguments as for ``solve`` of the model.

        Returns
        -------
        Result
        """
        typed = self.model.named_arguments(entries, inputs)
        return solve(self.model, **{**self.held, **self.values, **typed})

    @at_the_call
    def predict(self, observations: Any, *, ignore: Any = (), **changed: Any) -> Residuals:
        """Predict outputs of rows that the calibration has not seen, and compare them with measurements.

        Parameters
        ----------
        observations
            A table as for ``calibrate``.
        ignore : str or iterable of str
            Columns kept as labels.
        **changed
            Arguments that differ from the constants of the calibration.

        Returns
        -------
        Residuals
        """
        table = read_table(observations)
        columns = {column.name for column in table.columns}
        constants = {name: value for name, value in {**self.held, **changed}.items() if name not in columns}
        return self._compared(measured(self.model, table, constants, self.free, outputs=None, ignore=ignore))

    def _compared(self, rows: Measured) -> Residuals:
        predicted = rows.predicted(self.canonical)
        return Residuals(rows.outputs, {name: predicted[name] for name in rows.outputs}, rows.labels)

    @at_the_call
    def save(self, path: str | os.PathLike[str], name: str, *, base: Any = None, source: str = "own") -> None:
        """Save the values as a stack in a catalog file of one's own, and the rows as a CSV file beside it.

        The rows of ``own.toml`` and ``Ours`` are in ``own.Ours.csv``, which ``calibrate`` reads.

        Parameters
        ----------
        path : path
            A TOML file, created if there is none.
        name : str
            Name of the stack: ``load_catalog(path).Stacks.NAME``, or ``--catalog PATH --stack NAME``.
        base : Stack or str, optional
            Stack with all other values; by default the one used in the calibration.
        source : str
            Publication of the measurements: an address, or a key of the bibliography.

        Raises
        ------
        InputError
            If the file already has the name, the CSV file exists, a stack has no field for one of the inputs, or an
            input is not determined.
        """
        save(self, path, name, base=base, source=source)

    @property
    def observations(self) -> str:
        """Number and source of the rows, with the beginning of their SHA-256."""
        return self.problem.measured.table.described

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Headers and cells, as text."""
        headers = ["Input", "Value", "Error", "95% from", "to", "Rows that tell"]
        intervals, errors = self.intervals(), self.errors
        used = np.stack(list(self.problem.used.values()))
        informative = ((np.abs(self.influence.values) >= MATTERS) & used[:, None]).any(axis=0).sum(axis=-1)
        rows = []
        for index, (name, value) in enumerate(self.values.items()):
            ends, standing = intervals[name], self.standing(name)
            cells = [formatting.amount(value), standing, "-", "-", str(int(informative[index]))]
            if ends:
                cells[1:4] = map(formatting.amount, (errors[name], *ends))
            elif standing == "not determined":  # many values fit alike, and rounding chooses among them
                cells[0] = cells[-1] = "-"
            rows.append([name, *cells])
        return headers, rows

    def _lines(self) -> list[str]:
        """Lines printed under the table."""
        lines = [f"Not determined: {combination.text}." for combination in self.unidentifiable]
        lines += [
            f"At its {side} bound: {name}; the rows ask for {'less' if side == 'lower' else 'more'}."
            for name, side in self.at_bound.items()
        ]
        lines.append(f"Error of the predictions: {self.residuals.errors}.")
        if "leave_one_out" in self.__dict__:
            lines.append(f"Each row predicted without it: {self.leave_one_out.errors}.")
        return lines

    @property
    def _title(self) -> str:
        kind = type(self.model).__name__
        return f"Calibration of {kind}, variant {self.model.variant}, on {self.observations}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: inputs with errors and intervals, what is not determined, and the rows."""
        intervals, canonical = self.intervals(), self.canonical
        inputs = {}
        for index, name in enumerate(self.free):
            error, ends = self.error(index), intervals[name]
            inputs[name] = {
                **plain(variable_of(name), canonical[name]),
                "error": None if ends is None else float(units.magnitude(self.errors[name])),
                "interval": None if ends is None else [float(units.magnitude(end)) for end in ends],
                **({"standing": self.standing(name)} if np.isnan(error) else {}),
            }
        return {
            "model": type(self.model).__name__,
            "variant": self.model.variant,
            "observations": self.observations,
            "inputs": inputs,
            "unidentifiable": [
                {"parameters": list(combination.parameters), "changes": list(combination.changes)}
                for combination in self.unidentifiable
            ],
            "rows": self.residuals.to_dict(),
            **({"without_each_row": self.leave_one_out.to_dict()} if "leave_one_out" in self.__dict__ else {}),
        }

    def __repr__(self) -> str:
        wrapped = [
            wrapped_line
            for line in self._lines()
            for wrapped_line in textwrap.wrap(line, show.width(), subsequent_indent="  ")
        ]
        return "\n".join([self._title, show.fitted(*self.table()), *wrapped])

    def _repr_html_(self) -> str:
        return show.html_table(*self.table(), self._title, self._lines())
