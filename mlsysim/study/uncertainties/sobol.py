"""Sobol' indices: the share of an output's variance due to each uncertain input, by SALib."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mlsysim import show
from mlsysim.errors import InputError
from mlsysim.extras import require
from mlsysim.study.uncertainties.draws import Uncertain, evaluated

#: Confidence level of the intervals, and bootstrap resamples for them.
CONFIDENCE, RESAMPLES = 0.95, 100
#: Relative variation below which an output counts as constant.
CONSTANT = 1e-12


@dataclass(frozen=True)
class Index:
    """Sobol' indices of one input for one output.

    Attributes
    ----------
    name : str
        Name of the input.
    first : float
        First-order index: share of the variance that would vanish if the input were known.
    total : float
        Total index: share that would remain if all other inputs were known, interactions included.
    first_error, total_error : float
        Half width of the 95% confidence interval of each index.
    """

    name: str
    first: float
    total: float
    first_error: float
    total_error: float


class Indices:
    """Sobol' indices of the inputs for one output, largest total first.

    Attributes
    ----------
    output : str
        Name of the output.
    evaluations : int
        Number of evaluations of the output.
    """

    def __init__(self, output: str, rows: list[Index], evaluations: int) -> None:
        self.output = output
        self.rows = tuple(sorted(rows, key=lambda row: -row.total))
        self.evaluations = evaluations

    def __getitem__(self, name: str) -> Index:
        """Return the indices of an input."""
        return next(row for row in self.rows if row.name == name)

    def __iter__(self) -> Any:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return plain data by input."""
        keys = ("first", "first_error", "total", "total_error")
        return {row.name: {key: getattr(row, key) for key in keys} for row in self.rows}

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Headers and cells, as text."""
        cells = [
            [row.name, f"{row.first:.3f} ± {row.first_error:.3f}", f"{row.total:.3f} ± {row.total_error:.3f}"]
            for row in self.rows
        ]
        return ["Input", "First order", "Total"], cells

    def __repr__(self) -> str:
        return f"Sobol' indices of {self.output}, {self.evaluations} evaluations\n" + show.fitted(*self.table())

    def _repr_html_(self) -> str:
        headers, rows = self.table()
        return show.html_table(headers, rows, f"Sobol' indices of {self.output}")


def indices(uncertain_inputs: Uncertain, outputs: list[str], samples: int, seed: int) -> dict[str, Indices]:
    """Compute the Sobol' indices of outputs at one point.

    Parameters
    ----------
    uncertain_inputs : Uncertain
        Uncertain inputs of the call.
    outputs : list of str
        Names of numeric outputs.
    samples : int
        Number of draws, each repeated for every input. A power of two.
    seed : int
        Seed of the draws.

    Raises
    ------
    InputError
        If inputs are correlated, a draw is refused, or an output is infinite in a draw.
    """
    if uncertain_inputs.joint:
        raise InputError(
            "sobol", True, f"needs independent inputs; {', '.join(uncertain_inputs.joint.names)} belong together"
        )
    if uncertain_inputs.sizes:
        raise InputError("sobol", True, f"is asked at one point: give one value of {', '.join(uncertain_inputs.axes)}")
    require("sobol=True", "SALib")
    from SALib.analyze import sobol as analysis
    from SALib.sample import sobol as sampling

    names = list(uncertain_inputs.names)
    problem = {"num_vars": len(names), "names": names, "bounds": [[0.0, 1.0]] * len(names)}
    shares = sampling.sample(problem, samples, calc_second_order=False, seed=seed)
    values, _, accepted = evaluated(uncertain_inputs, outputs, shares)
    if not accepted.all():
        allowed = f"needs every draw; {1 - accepted.mean():.1%} are refused, as solve would refuse them"
        raise InputError("sobol", True, allowed, "narrow the distributions, or ask without sobol")
    by_output = {}
    for name, drawn in values.items():
        if not np.isfinite(drawn).all():
            raise InputError("sobol", True, f"needs a finite variance; {name} is infinite in some draws")
        if np.ptp(drawn) <= CONSTANT * np.abs(drawn).max():
            raise InputError("sobol", True, f"needs a variance; {name} is the same in every draw")
        # SALib treats a seed of 0 as none.
        analysed = analysis.analyze(
            problem, drawn, calc_second_order=False, num_resamples=RESAMPLES, conf_level=CONFIDENCE, seed=seed + 1
        )
        columns = (analysed[key] for key in ("S1", "ST", "S1_conf", "ST_conf"))
        rows = [Index(by, *map(float, numbers)) for by, *numbers in zip(names, *columns, strict=True)]
        by_output[name] = Indices(name, rows, len(shares))
    return by_output
