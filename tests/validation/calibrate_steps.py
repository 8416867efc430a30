"""Calibrates the software stacks of training steps: ``python tests/validation/calibrate_steps.py``.

A value belongs to a software, on one device or on several, never to a set of rows. Those that many rows say together
are found by least squares of logarithms, where large errors count by their size and every value has an expectation
beforehand; one model of a device at a time is then left out. A value that a single row says is solved for. Prints each
beside the one the catalog has; ``--write`` puts it there, and what is found without a model into the sample of the
tests. The rows of many stand beside the project.
"""

import re
import statistics
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from validation import training_steps
from validation.step_rows import CALIBRATED, ROWS, name, published, seconds_along, stack_of
from validation.training_steps import STEP, Row

from mlsysim import Stacks
from mlsysim.backends import compiled
from mlsysim.inputs.binding import GIVEN

CATALOG = Path(__file__).parents[2] / "mlsysim" / "catalog" / "data" / "stacks.toml"
BY_NAME = {name(row): row for row in ROWS}
#: What is expected of each value before any row is seen, and how far off; shares are at most 1.
EXPECTED: dict[str, tuple[float, float]] = {
    "efficiency": (0.7, 0.1),
    "eight_bit_efficiency": (0.93, 0.1),
    "elementwise_efficiency": (0.7, 0.1),
    "attention_kernel_share": (0.7, 0.3),
    "tp_overlap": (0.4, 0.2),
    "hidden_traffic_cost": (0.5, 0.3),
    "slice_cost": (0.03, 0.03),
    "expert_product_ratio": (0.7, 0.2),
    "expert_operations.fp8": (7, 3),
    "captured_share": (0.2, 0.2),
    "exchange_link_efficiency": (0.8, 0.3),
    "ep_overlap": (0.3, 0.2),
}
ABOVE_ONE = ("expert_operations.fp8",)
#: A relative error of a step that counts as much as a value that is as far off as expected.
WIDTH = 0.02
#: How many times the median of its like a step may be.
APART = 1.25


@dataclass(frozen=True)
class Fit:
    """Values that stacks of one software have together.

    Attributes
    ----------
    name : str
        The software, and what of it.
    families : tuple of str
        Families of its rows.
    values : tuple of pairs
        Each an argument, with a number format where its value is of that alone, and the stacks that share it.
    cp : bool
        Whether rows with context parallelism count.
    """

    name: str
    families: tuple[str, ...]
    values: tuple[tuple[str, tuple[str, ...]], ...]
    cp: bool = True

    @property
    def stacks(self) -> set[str]:
        """Stacks whose values it finds."""
        return {stack for _, stacks in self.values for stack in stacks}

    def rows(self) -> list[Row]:
        """Its rows."""
        return [
            row for row in training_steps.counted()
            if row.family in self.families and row.stack in self.stacks
            and (self.cp or row.arguments.get("cp_size", 1) == 1) and row not in contradicted()
        ]  # fmt: skip


@cache
def contradicted() -> list[Row]:
    """Rows that others of the same arguments and stack contradict, which are asked and not fitted."""
    alike: dict[str, list[Row]] = {}
    for row in training_steps.rows(True):
        alike.setdefault(f"{row.stack} {sorted(row.arguments.items())}", []).append(row)
    return [
        row for rows in alike.values() for row in rows
        if abs(np.log(row.seconds / statistics.median(each.seconds for each in rows))) > np.log(APART)
    ]  # fmt: skip


def _on(software: str, *devices: str) -> tuple[str, ...]:
    return tuple(f"{software}_{device}" for device in devices)


_BRIDGE, _LATE = "Megatron_Bridge", ("GB200_26_06", "GB300_26_06")
_EARLY = _on(_BRIDGE, "H100", "B200", "B300", "GB200", "GB300")
_TPUS = ("TPU_v4", "TPU_v5e", "TPU_v5p", "TPU_v6e", "TPU7x")
_MAXTEXT = _on("MaxText", *_TPUS)
FITS: tuple[Fit, ...] = (
    Fit(
        "Megatron-Bridge, dense", ("Megatron-Bridge 25.11, dense", "Megatron-Bridge 26, dense", "MLPerf 5.0, 405B"),
        (
            *(("efficiency", _on(_BRIDGE, device, f"{device}_26_06")) for device in ("GB200", "GB300")),
            ("tp_overlap", _on(_BRIDGE, "H100", "B200", "B300")),
            ("tp_overlap", _on(_BRIDGE, "GB200", "GB300", *_LATE)),
            ("hidden_traffic_cost", (*_EARLY, *_on(_BRIDGE, *_LATE))),
        ),
    ),
    Fit(
        "Megatron-Bridge, experts",
        (
            "Megatron-Bridge 25.11, experts", "Megatron-Bridge 26.02 and 26.04, experts",
            "Megatron-Bridge 26.06 and 26.08, experts", "Megatron-MoE-ModelZoo, layouts on H100",
        ),
        (
            # Recipes capture parts of layers on Blackwell; on H100 they capture little or nothing, which is not fitted.
            ("captured_share", _EARLY[1:]),
            *((value, _EARLY) for value in (
                "expert_product_ratio", "expert_operations.fp8", "exchange_link_efficiency",
            )),
        ),
    ),
    Fit(
        "Megatron-Bridge from 26.06, experts", ("Megatron-Bridge 26.06 and 26.08, experts",),
        tuple((value, _on(_BRIDGE, *_LATE)) for value in (
            "expert_product_ratio", "elementwise_efficiency", "exchange_link_efficiency", "ep_overlap",
        )),
    ),
    Fit(
        "MaxText, dense", ("MaxText, tables of TPUs", "MaxText, logs, dense", "MaxText on TPU7x, dense"),
        (
            *(("efficiency", _on("MaxText", device)) for device in _TPUS),
            ("elementwise_efficiency", _MAXTEXT), ("hidden_traffic_cost", _MAXTEXT), ("slice_cost", _MAXTEXT),
            ("eight_bit_efficiency", _on("MaxText", "TPU7x")),
        ),
    ),
    Fit(
        "MaxText, experts", ("MaxText, logs, experts", "MaxText on TPU7x, experts"),
        (
            ("expert_product_ratio", _on("MaxText", "TPU_v6e")),
            ("expert_product_ratio", _on("MaxText", "TPU_v4", "TPU_v5e", "TPU_v5p", "TPU7x")),
        ),
    ),
    *(
        Fit(f"LLM Foundry on {device}", ("LLM Foundry",),
            tuple((value, (f"MPT_{device}",)) for value in ("attention_kernel_share", "hidden_traffic_cost")))
        for device in ("A100", "H100")
    ),
    Fit(
        "torchtitan", ("torchtitan",),
        (("attention_kernel_share", _on("torchtitan", "H100", "async_H100")),
         ("hidden_traffic_cost", _on("torchtitan", "A100", "H100", "async_H100"))),
        cp=False,
    ),
    Fit("PAX", ("PAX and MaxText on GPUs",), (("hidden_traffic_cost", _on("PAX", "A100", "H100")),)),
    Fit(
        "Megatron-LM on A100", ("Megatron-LM on A100", "vTrain, up to eight A100", "vTrain, 512 A100"),
        (("elementwise_efficiency", ("Megatron_LM_A100",)),),
    ),
)  # fmt: skip


class Steps:
    """Steps of rows as arrays, one place a call.

    Parameters
    ----------
    rows : list of Row
        Rows.
    by_stack : bool
        Whether with the stack of each, or with defaults.
    """

    def __init__(self, rows: list[Row], by_stack: bool = True) -> None:
        solved = [
            (place, STEP.solve(**call, stack=row.stack if by_stack else "Generic"))
            for place, row in enumerate(rows) for call in row.calls
        ]  # fmt: skip
        self.rows, self._row = rows, np.array([place for place, _ in solved])
        self._stacks = np.array([rows[place].stack if by_stack else "Generic" for place, _ in solved])
        names = [v.name for v in STEP.system.inputs]
        # A device without a printed power has a stack that says its share.
        self._values = {
            each: np.array([found.canonical(each) if each in found.input_names else 1.0 for _, found in solved])
            for each in names
        }
        self._typed = {
            each: np.array([found.origin(each) == GIVEN for _, found in solved])
            for each in {name.partition(".")[0] for name in EXPECTED}
        }
        self._formats = np.array([rows[place].arguments["precision"] for place, _ in solved])
        self._compute = compiled(STEP.system, ("step_time",), "vector")
        self._measured = np.log([row.seconds for row in rows])

    def settle(self, values: Iterable[tuple[tuple[str, tuple[str, ...]], float]]) -> None:
        """Take other values of stacks for all that follows."""
        for (argument, stacks), value in values:
            name, _, number_format = argument.partition(".")
            own = np.isin(self._stacks, stacks) & ~self._typed[name]
            if number_format:
                own &= self._formats == number_format
            self._values[name] = np.where(own, value, self._values[name])

    def far(self, values: Iterable[tuple[tuple[str, tuple[str, ...]], float]]) -> np.ndarray:
        """Logarithms of our steps over theirs, by other values of stacks."""
        kept = dict(self._values)
        self.settle(values)
        given, self._values = self._values, kept
        with np.errstate(all="ignore"):
            found = np.broadcast_to(self._compute(given)["step_time"], len(self._row))
        return np.log(np.bincount(self._row, found) / np.bincount(self._row)) - self._measured

    def fitted(self, values: tuple[tuple[str, tuple[str, ...]], ...], keep: Any = slice(None)) -> tuple[Any, Any]:
        """Values by some of the rows, and their standard errors."""
        from scipy.optimize import least_squares

        expected = np.array([EXPECTED[argument] for argument, _ in values])
        upper = [100.0 if argument in ABOVE_ONE else 1.0 for argument, _ in values]

        def residuals(found: Any) -> Any:
            far = self.far(zip(values, found, strict=True))[keep] / WIDTH
            # An error of many widths counts by its size and not by its square.
            bent = np.sign(far) * np.sqrt(2 * (np.sqrt(1 + far**2) - 1))
            return np.concatenate([bent, (found - expected[:, 0]) / expected[:, 1]])

        start = np.clip(expected[:, 0], 1e-3, np.array(upper) - 1e-3)
        best = least_squares(residuals, start, bounds=(0, upper), diff_step=1e-4)
        spread = np.linalg.pinv(best.jac.T @ best.jac)
        return best.x, np.sqrt(np.diag(spread))


@cache
def steps(fit: Fit) -> Steps:
    """Its rows as arrays."""
    return Steps(fit.rows())


def known(stack: str, argument: str) -> float:
    """The value that the catalog has."""
    return float(getattr(Stacks, stack).values()[argument].value)


def fitted(row: dict[str, Any], argument: str, lower: float, upper: float, **stack: Any) -> float:
    """The value at which our step is the one a row publishes, in ever finer steps; a limit where none is."""
    for _ in range(4):
        values = np.linspace(lower, upper, 1001)
        times = seconds_along(row, argument, values, **stack)
        inner = np.count_nonzero((times[1:-1] > published(row)) == (times[-1] < times[0]))
        lower, upper = values[inner], values[inner + 1]
    return float(lower + upper) / 2


def value_of(stack: str, argument: str, **given: Any) -> float:
    """One value that rows say alone, the median over them, with other values of their stack."""
    rows, lower, upper = next(rest for found, *rest in CALIBRATED[stack] if found == argument)
    found = [BY_NAME[row] for row in rows]
    return statistics.median(fitted(row, argument, lower, upper, stack=stack_of(row), **given) for row in found)


def written(text: str, stack: str, argument: str, value: float, rows: str = "") -> str:
    """The catalog with another value of a stack, and the rows that say it where it is not that of another stack."""
    entry = re.search(rf"(?ms)^\[Stacks\.{stack}\]$.*?(?=^\[|\Z)", text)
    assert entry, stack
    changed, times = re.subn(rf"(?m)^({argument} = {{ value = )[^,]+", rf"\g<1>{value:.3g}", entry[0])
    assert times == 1, (stack, argument)
    if rows:
        changed = re.sub(rf'(?m)^({argument} = .*calibrated_on = ")[^"]+', rf"\g<1>{rows}", changed)
    return text[: entry.start()] + changed + text[entry.end() :]


def main() -> None:
    """Print every calibrated value and what is off without a model, and write them where that is asked for."""
    text, without = CATALOG.read_text(encoding="utf-8"), {}
    settled: list[Any] = []
    for fit in FITS:
        every = steps(fit)
        every.settle(settled)
        found, errors = every.fitted(fit.values)
        far = every.far(zip(fit.values, found, strict=True))
        print(f"{fit.name}: {len(every.rows)} rows, {_shown(far)}; by the catalog {_shown(every.far(()))}", flush=True)
        for (argument, stacks), value, error in zip(fit.values, found, errors, strict=True):
            was = ", ".join(dict.fromkeys(f"{known(stack, argument):.3g}" for stack in stacks))
            print(f"  {argument} = {value:.3g} +- {error:.2g}, was {was}, of {', '.join(stacks)}", flush=True)
            for stack in stacks:
                text = written(text, stack, argument, value, f"{len(every.rows)} steps of {fit.name}")
        settled += zip(fit.values, found.tolist(), strict=True)
        keys, left = np.array([row.left_out for row in every.rows]), np.full(len(far), np.nan)
        of_stack = np.array([row.stack for row in every.rows])
        for key in dict.fromkeys(keys.tolist()):
            own = keys == key
            if not np.any(~own & (of_stack == of_stack[own][0])):
                # The only model of a device says its value alone.
                continue
            found, _ = every.fitted(fit.values, ~own)
            left[own] = every.far(zip(fit.values, found, strict=True))[own]
            stack = of_stack[own][0]
            without.setdefault(key, {}).update({
                argument: float(f"{value:.3g}")
                for (argument, stacks), value in zip(fit.values, found, strict=True) if stack in stacks
            })  # fmt: skip
        print(f"  a model of a device left out: {_shown(left[~np.isnan(left)])}", flush=True)
    for stack, values in CALIBRATED.items():
        for argument, rows, *_ in values:
            given = {other: value for (other, stacks), value in settled if stack in stacks and other != argument}
            value = value_of(stack, argument, **given)
            print(f"{stack}.{argument} = {value:.3g} on {', '.join(rows)}", flush=True)
            text = written(text, stack, argument, value)
    if "--write" in sys.argv:
        CATALOG.write_text(text, encoding="utf-8")
        training_steps.write(without=without)


def _shown(far: Any) -> str:
    middle, tail, worst = training_steps.spread(np.exp(far) - 1)
    return f"median {middle:.1%}, nine of ten {tail:.1%}, worst {worst:.0%}"


if __name__ == "__main__":
    main()
