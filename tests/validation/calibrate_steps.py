"""Calibrates values of software stacks that one row says: ``python tests/validation/calibrate_steps.py``.

Values that many rows say together (`calibrated_on` in the catalog counts them) are not found anew here. Prints each
value beside the one the catalog has; ``--write`` puts it into the catalog.
"""

import re
import statistics
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from validation.step_rows import ROWS, name, published, seconds_along, stack_of

CATALOG = Path(__file__).parents[2] / "mlsysim" / "catalog" / "data" / "stacks.toml"
BY_NAME = {name(row): row for row in ROWS}
#: For each stack its calibrated values: argument, rows (the median where there are several), limits of the search.
#: Each is found with the others as the catalog has them.
CALIBRATED: dict[str, tuple[tuple[str, tuple[str, ...], float, float], ...]] = {
    "DeepSpeed_A100": (("fabric_efficiency", ("narayanan2 ZeRO-3 174.6B 1536",), 0.02, 0.9),),
    "torchtitan_async_H100": (("tp_overlap", ("torchtitan 70B 256 asyncTP fp8",), 0.0, 1.0),),
    "torchtitan_H20": (("efficiency", ("llama4_ep EP=1",), 0.2, 1.0),),
}


def fitted(row: dict[str, Any], argument: str, lower: float, upper: float, **stack: Any) -> float:
    """The value at which our step is the one a row publishes, in ever finer steps; a limit where none is."""
    for _ in range(4):
        values = np.linspace(lower, upper, 1001)
        times = seconds_along(row, argument, values, **stack)
        inner = np.count_nonzero((times[1:-1] > published(row)) == (times[-1] < times[0]))
        lower, upper = values[inner], values[inner + 1]
    return float(lower + upper) / 2


def value_of(stack: str, argument: str, *, without: str = "", **given: Any) -> float:
    """One calibrated value, the median over its rows each with its own stack; ``without`` leaves a row out."""
    rows, lower, upper = next(rest for found, *rest in CALIBRATED[stack] if found == argument)
    found = [BY_NAME[row] for row in rows if row != without]
    return statistics.median(fitted(row, argument, lower, upper, stack=stack_of(row), **given) for row in found)


def calibrated_on(stack: str) -> set[str]:
    """Rows that values of a stack come from."""
    return {row for _, rows, *_ in CALIBRATED.get(stack, ()) for row in rows}


def written(text: str, stack: str, argument: str, value: float) -> str:
    """The catalog with another value of a stack."""
    entry = re.search(rf"(?ms)^\[Stacks\.{stack}\]$.*?(?=^\[|\Z)", text)
    assert entry, stack
    changed, times = re.subn(rf"(?m)^({argument} = {{ value = )[^,]+", rf"\g<1>{value:.3g}", entry[0])
    assert times == 1, (stack, argument)
    return text[: entry.start()] + changed + text[entry.end() :]


def main() -> None:
    """Print every calibrated value, and write it where that is asked for."""
    text = CATALOG.read_text(encoding="utf-8")
    for stack, values in CALIBRATED.items():
        # Values of one stack lean on each other; three rounds settle them.
        alone = {argument for argument, rows, *_ in values if len(rows) == 1}
        found: dict[str, float] = {}
        for _ in range(3 if len(alone) > 1 else 1):
            for argument in (argument for argument, *_ in values if argument in alone):
                others = {name: value for name, value in found.items() if name != argument}
                found[argument] = value_of(stack, argument, **others)
        for argument, rows, *_ in values:
            value = found.get(argument) or value_of(stack, argument)
            print(f"{stack}.{argument} = {value:.3g} on {', '.join(rows)}", flush=True)
            text = written(text, stack, argument, value)
    if "--write" in sys.argv:
        CATALOG.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
