"""Calibrates the two constants of the law of power: ``python tests/validation/calibrate_power.py``.

Rows are those of language models beside the project, with their measured clocks. The constants are those of the least
mean size of logarithms of errors on a grid, for all rows, for each device alone, and without the rows of each model.
Prints them beside those of the catalog, with the errors in the fit and left out; ``--write`` puts those without a model
into the sample of the tests.
"""

import statistics
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from validation import power_rows, published_power
from validation.power_rows import MODELS, Row

from mlsysim import EconomicsModel, Stacks, linked

BUSY, FLOP = np.linspace(0.70, 1.40, 36), np.linspace(3.0, 8.0, 51)


def errors(rows: list[Row]) -> np.ndarray:
    """Logarithms of ours over theirs, along rows and both constants."""
    shares = [published_power.drawn(row, power_rows.clock(row)) for row in rows]
    along = linked(
        hardware=[row["gpu_model"] for row in rows],
        busy_share=[each.busy for each in shares],
        flop_share=[each.flops for each in shares],
    )
    found = EconomicsModel("rented_fleet").sweep(
        row=along, busy_power=BUSY, flop_power=FLOP, accelerators=1, run_tokens=1, rental_price=1,
        outputs="device_power",
    )  # fmt: skip
    ours = found.device_power.transpose("row", "busy_power", "flop_power").values
    return np.log(ours / np.array([power_rows.watts(row) for row in rows])[:, None, None])


def fitted(found: np.ndarray) -> tuple[int, int]:
    """Place of the constants with the least mean error on some rows."""
    busy, flop = np.unravel_index(np.abs(found).mean(axis=0).argmin(), found.shape[1:])
    return int(busy), int(flop)


def median(found: np.ndarray) -> str:
    """Median of the sizes of relative errors, in words."""
    return f"{100 * statistics.median(np.abs(np.expm1(found)).tolist()):.1f}%"


def main() -> None:
    """Print all constants, and write those without a model."""
    rows = list(power_rows.rows("language", whole=True))
    every = errors(rows)
    device = np.array([row["gpu_model"] for row in rows])
    model = np.array([MODELS[row["model_id"]] for row in rows])
    known = [Stacks.Generic.values()[name].canonical for name in ("busy_power", "flop_power")]
    print(f"catalog: b {known[0]:.2f}, c {known[1]:.2f}")
    for words, picked in {"all rows": device != "", "H100": device == "H100", "B200": device == "B200"}.items():
        place = fitted(every[picked])
        print(f"{words}: b {BUSY[place[0]]:.2f}, c {FLOP[place[1]]:.1f}, in the fit {median(every[picked][:, *place])}")
    without, left = {}, np.empty(len(rows))
    for name in dict.fromkeys(model.tolist()):
        place = fitted(every[model != name])
        without[name] = [round(float(BUSY[place[0]]), 2), round(float(FLOP[place[1]]), 1)]
        left[model == name] = every[(model == name, *place)]
        print(
            f"without {name}: b {without[name][0]:.2f}, c {without[name][1]:.1f}, on it {median(left[model == name])}"
        )
    for words, picked in {"all rows": device != "", "H100": device == "H100", "B200": device == "B200"}.items():
        print(f"left out, {words}: {median(left[picked])}")
    if "--write" in sys.argv:
        power_rows.write(without)


if __name__ == "__main__":
    main()
