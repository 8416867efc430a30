"""Inputs as measurements imply them: what is known of each, how well, and how far predictions are off."""

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

#: Percent of a prediction per percent of a parameter from which a row counts as one that says something of it.
MATTERS = 0.01


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(Estimates, JsonAnswer):
    """Inputs of a model as measurements imply them; prints as a table.

    Attributes
    ----------
    model : DeclaredModel
        The model.
    held : dict
        Arguments that had one value for all rows.
    """

    model: DeclaredModel
    held: dict[str, Any]

    @property
    def basis(self) -> Basis | None:
        """Stack, assumptions and expected errors of the measured outputs, those of the first row."""
        found = self.problem.measured
        return at_point(self.model, found.varied.arguments, found.outputs, free=self.free)

    @property
    def values(self) -> dict[str, Any]:
        """Value of every input that was found, with its unit."""
        return {each.name: each.shown(self.canonical[each.name]) for each in self.problem.parameters}

    @property
    def errors(self) -> dict[str, Any]:
        """Standard error of each, with its unit; None where it is at a bound or not determined."""
        errors = {each: self.error(place) for place, each in enumerate(self.problem.parameters)}
        return {each.name: None if np.isnan(error) else each.shown(error) for each, error in errors.items()}

    @at_the_call
    def intervals(self, level: float = 0.95) -> dict[str, Any]:
        """Confidence intervals: lower and upper end of each, within its domain; None where it has no error.

        Parameters
        ----------
        level : float
            Share of such intervals that hold the true value, where the formulas are right and measurements
            scatter alike.
        """
        found = {}
        for place, each in enumerate(self.problem.parameters):
            ends = self.interval(place, level)
            found[each.name] = None if ends is None else tuple(each.shown(end) for end in ends)
        return found

    @property
    def covariance(self) -> xarray.DataArray:
        """Covariance of the inputs that have an error, in the units of their variables."""
        slopes = [each.slope(self.canonical[each.name]) for each in self.problem.parameters]
        one = [units.factor(each.variable.unit) for each in self.problem.parameters]
        scale = np.array(slopes) / np.array(one)
        whole = self._matrix(self.spread * np.outer(scale, scale), "covariance")
        known = [name for name, error in self.errors.items() if error is not None]
        return whole.sel(input=known, other=known)

    @property
    def correlations(self) -> xarray.DataArray:
        """Correlation of each pair of inputs, by name; nan for what has no error."""
        spread = np.sqrt(np.diag(self.spread))
        with np.errstate(all="ignore"):
            return self._matrix(self.spread / np.outer(spread, spread), "correlation")

    def _matrix(self, values: np.ndarray, name: str) -> xarray.DataArray:
        import xarray

        names = list(self.free)
        return xarray.DataArray(values, coords={"input": names, "other": names}, dims=("input", "other"), name=name)

    @at_the_call
    def draws(self, count: int, *, seed: int = 0) -> dict[str, Any]:
        """Values of the inputs as they may be in view of the measurements, drawn together.

        Normal in the logarithm of what is positive, within the domains. What has no error keeps its value.

        Parameters
        ----------
        count : int
            How many of each.
        seed : int
            Of the random numbers.

        Returns
        -------
        dict
            Array by name, in the unit of the variable; a quantity where it has one.
        """
        spread = np.nan_to_num(self.spread)
        drawn = np.random.default_rng(seed).multivariate_normal(self.fit.x, spread, count, method="eigh")
        squares = self.problem.squares
        found = values_of(self.problem.parameters, np.clip(drawn, squares.lower, squares.upper))
        return {name: amounts(variable_of(name), np.asarray(value)) for name, value in found.items()}

    @property
    def at_bound(self) -> dict[str, str]:
        """Inputs at the ``"lower"`` or ``"upper"`` bound of their domain, beyond which the rows would go."""
        sides = zip(self.free, self.sides, strict=True)
        return {name: "lower" if side < 0 else "upper" for name, side in sides if side}

    @cached_property
    def residuals(self) -> Residuals:
        """Predicted over measured in every row."""
        return self._compared(self.problem.measured)

    @cached_property
    def leave_one_out(self) -> LeaveOneOut:
        """Every row as a calibration without it predicts it; computed when it is first asked for."""
        return leave_one_out(self)

    @cached_property
    def influence(self) -> xarray.DataArray:
        """Percent of a prediction per percent of an input, in every row: which rows say something of what."""
        import xarray

        values = self.canonical
        slopes = self.problem.measured.slopes(values)
        outputs, rows = self.residuals.predicted, self.problem.measured.table.rows
        elastic = np.empty((len(outputs), len(self.free), rows))
        for at, output in enumerate(outputs):
            for place, name in enumerate(self.free):
                with np.errstate(all="ignore"):
                    elastic[at, place] = slopes[name][output] * values[name] / outputs[output]
        coords = {"output": list(outputs), "input": list(self.free), "observation": np.arange(1, rows + 1)}
        return xarray.DataArray(np.nan_to_num(elastic), coords=coords, dims=tuple(coords), name="elasticity")

    @at_the_call
    def solve(self, *entries: Any, **inputs: Any) -> Result:
        """The model at another point, with what was held and found here; arguments as for ``solve`` win over both.

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
        """Outputs of other rows, beside what was measured there: rows that the calibration has not seen.

        Parameters
        ----------
        observations
            A table as for ``calibrate``.
        ignore : str or iterable of str
            Columns that are carried along.
        **changed
            Arguments that differ from those that were held.

        Returns
        -------
        Residuals
        """
        table = read_table(observations)
        columns = {column.name for column in table.columns}
        held = {name: value for name, value in {**self.held, **changed}.items() if name not in columns}
        return self._compared(measured(self.model, table, held, self.free, outputs=None, ignore=ignore))

    def _compared(self, rows: Measured) -> Residuals:
        predicted = rows.predicted(self.canonical)
        return Residuals(rows.outputs, {name: predicted[name] for name in rows.outputs}, rows.labels)

    @at_the_call
    def save(self, path: str | os.PathLike[str], name: str, *, base: Any = None, source: str = "own") -> None:
        """Add the values to a catalog file of one's own, as a stack, and the rows to a CSV file beside it.

        The rows of ``own.toml`` and ``Ours`` are in ``own.Ours.csv``, which ``calibrate`` reads.

        Parameters
        ----------
        path : path
            A TOML file, which is made if there is none.
        name : str
            Of the stack: ``load_catalog(path).Stacks.NAME``, or ``--catalog PATH --stack NAME``.
        base : Stack or str, optional
            The stack that gives what was not calibrated; by default the one that was held.
        source : str
            Where the measurements are published: an address, or a key of the bibliography.

        Raises
        ------
        InputError
            If the file has the name already, the CSV file exists, a stack cannot have one of the inputs, or one is
            not determined.
        """
        save(self, path, name, base=base, source=source)

    @property
    def observations(self) -> str:
        """Number and source of the rows, with the first letters of their SHA-256."""
        return self.problem.measured.table.described

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Headers and cells, as text."""
        headers = ["Input", "Value", "Error", "95% from", "to", "Rows that tell"]
        intervals, errors = self.intervals(), self.errors
        used = np.stack(list(self.problem.used.values()))
        telling = ((np.abs(self.influence.values) >= MATTERS) & used[:, None]).any(axis=0).sum(axis=-1)
        rows = []
        for place, (name, value) in enumerate(self.values.items()):
            ends, standing = intervals[name], self.standing(name)
            cells = [formatting.amount(value), standing, "-", "-", str(int(telling[place]))]
            if ends:
                cells[1:4] = map(formatting.amount, (errors[name], *ends))
            elif standing == "not determined":  # many values fit alike, and rounding chooses among them
                cells[0] = cells[-1] = "-"
            rows.append([name, *cells])
        return headers, rows

    def _lines(self) -> list[str]:
        """Lines under the table."""
        lines = [f"Not determined: {each.text}." for each in self.unidentifiable]
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
        """Plain data: inputs with errors and intervals, what is not determined, and the rows."""
        intervals, canonical = self.intervals(), self.canonical
        inputs = {}
        for place, name in enumerate(self.free):
            error, ends = self.error(place), intervals[name]
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
                {"parameters": list(each.parameters), "changes": list(each.changes)} for each in self.unidentifiable
            ],
            "rows": self.residuals.to_dict(),
            **({"without_each_row": self.leave_one_out.to_dict()} if "leave_one_out" in self.__dict__ else {}),
        }

    def __repr__(self) -> str:
        under = [part for line in self._lines() for part in textwrap.wrap(line, show.width(), subsequent_indent="  ")]
        return "\n".join([self._title, show.fitted(*self.table()), *under])

    def _repr_html_(self) -> str:
        return show.html_table(*self.table(), self._title, self._lines())
