"""Calibrates the stacks of post-training: ``python tests/validation/calibrate_post_training.py``.

A rollout is so many times what the engine's law says (by device), an update so many times pre-training's (by training
software), and an exchange of weights has a time and bandwidths that all share. Least squares of logarithms of steps and
of printed phases, four of which count as one step; large errors count by their size, every value has a wide expectation
beforehand. Prints each beside the one the catalog has; ``--write`` puts it there, and what is found without a model
into the sample of the tests. Needs all rows, which stand beside the project.
"""

import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from validation import post_training_rows
from validation.calibrate_steps import CATALOG, written
from validation.checks import spread
from validation.post_training_rows import STACKS, Row

from mlsysim import PostTrainingModel, Stacks
from mlsysim.backends import compiled

ENTRIES = tuple(STACKS.values())
#: What is expected of a value before any row is seen, in the unit of the catalog; its logarithm is half a unit wide.
EXPECTED = {
    "rollout_stretch": 1.25,
    "update_stretch": 1.45,
    "refit_time": 7.0,
    "refit_bandwidth": 20.0,
    "sync_bandwidth": 52.0,
}
UNITS = {"refit_bandwidth": 1e9, "sync_bandwidth": 1e9}
#: Values and the stacks that share each.
VALUES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("rollout_stretch", ("NeMo_RL_H100", "NeMo_RL_DTensor_H100")),
    ("rollout_stretch", ("NeMo_RL_GB200",)),
    ("update_stretch", ("NeMo_RL_H100", "NeMo_RL_GB200")),
    ("update_stretch", ("NeMo_RL_DTensor_H100",)),
    *((name, ENTRIES) for name in ("refit_time", "refit_bandwidth", "sync_bandwidth")),
)
WIDTH, EXPECTED_WIDTH = 0.1, 0.5
#: Four phases of a step weigh as much as a step.
PHASE_WEIGHT = 0.5
OUTPUTS = ("step_time", "rollout_time", "update_time", "logprob_time", "sync_time")


class Steps:
    """Rows of one variant as arrays.

    Parameters
    ----------
    rows : list of Row
        Rows.
    """

    def __init__(self, rows: list[Row]) -> None:
        model = PostTrainingModel(rows[0].variant)
        solved = [row.solve() for row in rows]
        self.rows = rows
        self._stacks = np.array([row.stack for row in rows])
        self._values = {v.name: np.array([each.canonical(v.name) for each in solved]) for v in model.system.inputs}
        self._compute = compiled(model.system, OUTPUTS, "vector")

    def logarithms(self, values: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Logarithms of our steps over theirs, and of phases with the place of their row."""
        given = dict(self._values)
        for (name, stacks), value in zip(VALUES, values, strict=True):
            if name not in given:
                continue
            given[name] = np.where(np.isin(self._stacks, stacks), value * UNITS.get(name, 1), given[name])
        found = {name: np.broadcast_to(each, len(self.rows)) for name, each in self._compute(given).items()}
        steps = np.log(found["step_time"] / [row.seconds for row in self.rows])
        phases = [
            (np.log(found[name][place] / seconds), place)
            for place, row in enumerate(self.rows) for name, seconds in row.phases.items()
        ]  # fmt: skip
        return steps, np.array([far for far, _ in phases]), np.array([place for _, place in phases], int)


@cache
def steps() -> list[Steps]:
    """All rows, by variant."""
    every = post_training_rows.rows(True)
    return [
        Steps([row for row in every if row.variant == variant])
        for variant in dict.fromkeys(row.variant for row in every)
    ]


def models() -> np.ndarray:
    """The model of each row, in the order of ``steps``."""
    return np.array([row.model for each in steps() for row in each.rows])


def errors(values: Any) -> np.ndarray:
    """Relative errors of steps."""
    return np.expm1(np.concatenate([each.logarithms(values)[0] for each in steps()]))


def fitted(without: str = "") -> np.ndarray:
    """Values by all rows but those of a model."""
    from scipy.optimize import least_squares

    expected = np.log([EXPECTED[name] for name, _ in VALUES])

    def residuals(logarithms: Any) -> Any:
        far = []
        for each in steps():
            found, phases, places = each.logarithms(np.exp(logarithms))
            kept = np.array([row.model != without for row in each.rows])
            far += [found[kept], PHASE_WEIGHT * phases[kept[places]]] if len(places) else [found[kept]]
        scaled = np.concatenate(far) / WIDTH
        # An error of many widths counts by its size and not by its square.
        bent = np.sign(scaled) * np.sqrt(2 * (np.sqrt(1 + scaled**2) - 1))
        return np.concatenate([bent, (logarithms - expected) / EXPECTED_WIDTH])

    return np.exp(least_squares(residuals, expected, diff_step=1e-4).x)


def known() -> np.ndarray:
    """Values that the catalog has."""
    found = [Stacks[stacks[0]].values()[name] for name, stacks in VALUES]
    return np.array([float(each.value) for each in found])


def main() -> None:
    """Print every value and what is off without a model, and write them where that is asked for."""
    text, without = CATALOG.read_text(encoding="utf-8"), {}
    found, was = fitted(), known()
    print(f"{len(models())} rows: {_shown(errors(found))}; by the catalog {_shown(errors(was))}")
    for (name, stacks), value, old in zip(VALUES, found, was, strict=True):
        print(f"  {name} = {value:.3g}, was {old:.3g}, of {', '.join(stacks)}")
        for stack in stacks:
            text = written(text, stack, name, value)
    left = np.empty(len(models()))
    for model in dict.fromkeys(models()):
        values = fitted(model)
        left[models() == model] = errors(values)[models() == model]
        for stack in ENTRIES:
            own = [(name, value) for (name, stacks), value in zip(VALUES, values, strict=True) if stack in stacks]
            without[f"{model} by {stack}"] = {name: float(f"{value:.3g}") for name, value in own}
        print(f"  without {model}: {_shown(errors(values)[models() == model])}")
    print(f"  a model left out: {_shown(left)}")
    if "--write" in sys.argv:
        CATALOG.write_text(text, encoding="utf-8")
        asked = {f"{row.model} by {row.stack}" for row in post_training_rows.rows(True)}
        post_training_rows.write(
            rows=post_training_rows.drawn(),
            phases=post_training_rows.drawn_phases(),
            syncs=post_training_rows.syncs(True),
            lengths=post_training_rows.lengths(True),
            without={key: each for key, each in without.items() if key in asked},
        )


def _shown(far: Any) -> str:
    middle, tail, worst = spread(far)
    return f"median {middle:.1%}, nine of ten {tail:.1%}, worst {worst:.0%}"


if __name__ == "__main__":
    main()
