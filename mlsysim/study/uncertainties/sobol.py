"""Sobol' indices: the share of the variance of an output that each uncertain input has, by SALib."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mlsysim import show
from mlsysim.errors import InputError
from mlsysim.extras import require
from mlsysim.study.uncertainties.draws import Uncertain, evaluated

#: Confidence of the intervals, and how often the draws are drawn again for them.
CONFIDENCE, RESAMPLES = 0.95, 100
#: An output that varies by less than this share of itself does not vary.
CONSTANT = 1e-12


@dataclass(frozen=True)
class Index:
    """The part of one input in the variance of an output.

    Attributes
    ----------
    name : str
        The input.
    first : float
        Share of the variance that would go if the input were known.
    total : float
        Share that would stay if all others were known; with what it does together with them.
    first_error, total_error : float
        Half the width of the interval that holds each with a confidence of 95%.
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
        The output.
    evaluations : int
        How often it was evaluated.
    """

    def __init__(self, output: str, rows: list[Index], evaluations: int) -> None:
        self.output = output
        self.rows = tuple(sorted(rows, key=lambda row: -row.total))
        self.evaluations = evaluations

    def __getitem__(self, name: str) -> Index:
        """The indices of an input."""
        return next(row for row in self.rows if row.name == name)

    def __iter__(self) -> Any:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Plain data by input."""
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


def indices(asked: Uncertain, outputs: list[str], samples: int, seed: int) -> dict[str, Indices]:
    """Sobol' indices of outputs at one point.

    Parameters
    ----------
    asked : Uncertain
        The uncertain inputs.
    outputs : list of str
        Names of numbers.
    samples : int
        Draws; every one is taken again for each input. A power of two.
    seed : int
        Of the draws.

    Raises
    ------
    InputError
        If inputs depend on each other, a draw is refused, or an output is infinite in one.
    """
    if asked.joint:
        raise InputError("sobol", True, f"needs independent inputs; {', '.join(asked.joint.names)} belong together")
    if asked.sizes:
        raise InputError("sobol", True, f"is asked at one point: give one value of {', '.join(asked.axes)}")
    require("sobol=True", "SALib")
    from SALib.analyze import sobol as analysis
    from SALib.sample import sobol as sampling

    names = list(asked.names)
    problem = {"num_vars": len(names), "names": names, "bounds": [[0.0, 1.0]] * len(names)}
    shares = sampling.sample(problem, samples, calc_second_order=False, seed=seed)
    values, _, good = evaluated(asked, outputs, shares)
    if not good.all():
        allowed = f"needs every draw; {1 - good.mean():.1%} are refused, as solve would refuse them"
        raise InputError("sobol", True, allowed, "narrow the distributions, or ask without sobol")
    found = {}
    for name, each in values.items():
        if not np.isfinite(each).all():
            raise InputError("sobol", True, f"needs a finite variance; {name} is infinite in some draws")
        if np.ptp(each) <= CONSTANT * np.abs(each).max():
            raise InputError("sobol", True, f"needs a variance; {name} is the same in every draw")
        # SALib takes a seed of 0 for none.
        answer = analysis.analyze(
            problem, each, calc_second_order=False, num_resamples=RESAMPLES, conf_level=CONFIDENCE, seed=seed + 1
        )
        columns = (answer[key] for key in ("S1", "ST", "S1_conf", "ST_conf"))
        rows = [Index(by, *map(float, numbers)) for by, *numbers in zip(names, *columns, strict=True)]
        found[name] = Indices(name, rows, len(shares))
    return found
