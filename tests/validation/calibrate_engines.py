"""Calibrates the stacks of engines of 2026 on measured closed loops: ``python tests/validation/calibrate_engines.py``.

One value per engine and generation, never by model: least squares of logarithms of both columns through compiled
serving models, where large errors count by their size and not by its square, and every value has a wide expectation
beforehand. Prints each beside the one the catalog has; ``--write`` puts them into the catalog, and what is found
without the rows of one model into the sample of the tests. Needs the whole table, which stands beside the project.
"""

import json
import re
import sys
import time
from collections import Counter
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import least_squares

sys.path.insert(0, str(Path(__file__).parents[1]))

from validation import silicon_rows
from validation.silicon_rows import DENSE, LATENT, asked, contradicted, format_of, origin, stack_of, variant_of

from mlsysim import Models, ServingModel, Stacks
from mlsysim.backends import compiled
from mlsysim.errors import UnknownNameError

CATALOG = Path(__file__).parents[2] / "mlsysim" / "catalog" / "data" / "stacks.toml"
FITTED = tuple(dict.fromkeys(stack for stack in silicon_rows.STACKS.values() if stack != "TensorRT_LLM_H100"))
COLUMNS = ("tpot_mean", "ttft_mean")
#: What is expected of each value before any row is seen, and how far off as a logarithm; times as the catalog has them.
EXPECTED: dict[str, tuple[float, float]] = {
    "efficiency.bf16": (0.65, 0.3),
    "efficiency.fp8": (0.63, 0.3),
    "efficiency.fp4": (0.55, 0.3),
    "expert_efficiency.bf16": (0.3, 0.5),
    "expert_efficiency.fp8": (0.08, 0.5),
    "expert_efficiency.fp4": (0.12, 0.5),
    "weight_only_expert_efficiency": (0.4, 0.5),
    "weight_read_efficiency": (0.74, 0.15),
    "expert_popularity": (2, 0.5),
    "kv_read_efficiency": (0.77, 0.12),
    "prefill_attention_efficiency": (0.42, 0.3),
    "layer_tax": (0.035, 0.5),
    "moe_layer_tax": (0.018, 0.5),
    "mla_layer_tax": (0.025, 0.6),
    "index_layer_tax": (0.065, 0.5),
    "prompt_host_layer_time": (0.4, 0.3),
    "prompt_host_mla_time": (0.7, 0.5),
    "prompt_host_moe_time": (0.2, 0.6),
    "sequence_overhead": (0.014, 0.5),
    "collective_latency": (6, 0.5),
    "exchange_latency": (7, 0.5),
    "frontend_time": (30, 0.7),
    "frontend_token_time": (4, 0.3),
}
UNITS = {"_latency": 1e-6, "_token_time": 1e-6, "_time": 1e-3, "_tax": 1e-3, "_overhead": 1e-3}
#: Errors beyond which a row counts by their size, of time per token and to the first one.
WIDTHS = (0.08, 0.16)
#: Values that the rows move less than this from what was expected are not measured.
MOVED = 0.8


def canonical(name: str, value: float) -> float:
    """A value as compiled models take it."""
    return value * next((factor for end, factor in UNITS.items() if name.endswith(end)), 1.0)


def searched(rows: list[dict[str, Any]]) -> list[str]:
    """Values that some rows say something of."""
    models = {silicon_rows.MODELS[row["model"]] for row in rows}
    routed = [row for row in rows if silicon_rows.MODELS[row["model"]] not in DENSE]
    formats = {format_of(row) for row in rows}
    found = {
        "layer_tax", "sequence_overhead", "collective_latency", "kv_read_efficiency", "prefill_attention_efficiency",
        "prompt_host_layer_time", "frontend_time", "frontend_token_time", *(f"efficiency.{each}" for each in formats),
    }  # fmt: skip
    if routed:
        found |= {"moe_layer_tax", "expert_popularity", "prompt_host_moe_time"}
        found |= {experts_of(row) for row in routed}
    found |= {"mla_layer_tax", "prompt_host_mla_time"} if models & LATENT else set()
    found |= {"index_layer_tax"} if "GLM_5" in models else set()
    found |= {"weight_read_efficiency"} if "fp4" in formats else set()
    found |= {"exchange_latency"} if any(row["attention_dp"] > 1 for row in rows) else set()
    return [name for name in EXPECTED if name in found]


def experts_of(row: dict[str, Any]) -> str:
    """What products with routed experts of a row reach."""
    narrow = silicon_rows.MODELS[row["model"]] == "gpt_oss_120B"
    return "weight_only_expert_efficiency" if narrow else f"expert_efficiency.{format_of(row)}"


class Loops:
    """Closed loops of one stack as arrays, one place a row.

    Parameters
    ----------
    rows : list of dict
        Rows of one stack, all asked of one variant.
    """

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = rows
        self.measured = np.log([[row[f"{name}_ms"] / 1e3 for row in rows] for name in COLUMNS])
        self.formats = np.array([format_of(row) for row in rows])
        served = [(_solved(json.dumps(asked(row), sort_keys=True), variant_of(row))) for row in rows]
        model = ServingModel(variant_of(rows[0]))
        names = [v.name for v in model.system.inputs if v.name in served[0]]
        self._values = {name: np.array([each[name] for each in served]) for name in names}
        self._compute = compiled(
            model.without(frozenset(v.name for v in model.system.inputs) - {*names}), COLUMNS, "vector"
        )

    def __call__(self, values: dict[str, float]) -> Any:
        """Logarithms of both columns, by other values of a stack."""
        given: dict[str, Any] = {}
        for name, value in values.items():
            name, _, number_format = name.partition(".")
            whole = np.full(len(self.rows), canonical(name, value))
            known = given.get(name, self._values[name])
            given[name] = np.where(self.formats == number_format, whole, known) if number_format else whole
        if "collective_latency" in given:
            given["node_latency"] = given["collective_latency"] / 10
        with np.errstate(all="ignore"):
            found = self._compute({**self._values, **given})
        return np.log([np.broadcast_to(np.asarray(found[name], float), len(self.rows)) for name in COLUMNS])

    def weights(self) -> Any:
        """How much each column counts: first tokens of another client a tenth, those of a cold engine nothing."""
        first = [0.0 if silicon_rows.cold(row) else 1.0 if origin(row) == "InferenceX" else 0.1 for row in self.rows]
        first = [0.0 if "Llama-3.1-8B" in row["model"] else each for row, each in zip(self.rows, first, strict=True)]
        return np.array([np.ones(len(self.rows)), first]) / np.array(WIDTHS)[:, None]


@cache
def _solved(arguments: str, variant: str) -> dict[str, float]:
    model = ServingModel(variant)
    served, found = model.solve(**json.loads(arguments)), {}
    for each in model.system.inputs:
        with suppress(UnknownNameError):
            found[each.name] = float(served.canonical(each.name))
    return found


def fitted(
    loops: Loops, start: dict[str, float] | None = None, rounds: int = 8
) -> tuple[dict[str, float], dict[str, float]]:
    """Values that rows imply, and their standard errors as logarithms."""
    names, weights = searched(loops.rows), loops.weights()
    expected = np.log([EXPECTED[name][0] for name in names])
    widths = np.array([EXPECTED[name][1] for name in names])

    def errors(found: Any) -> Any:
        far = (loops(dict(zip(names, np.exp(found), strict=True))) - loops.measured) * weights
        far = np.nan_to_num(far, nan=9.0, posinf=9.0, neginf=-9.0)
        return np.append(np.sign(far) * np.sqrt(2 * (np.sqrt(1 + far**2) - 1)), (found - expected) / widths)

    upper = np.array([0.0 if "efficiency" in name else np.inf for name in names])
    first = np.log([(start or {}).get(name, EXPECTED[name][0]) for name in names])
    found = least_squares(
        errors, np.minimum(first, upper - 1e-3), bounds=(-np.inf, upper), x_scale="jac", max_nfev=rounds, diff_step=1e-4
    )
    spread = np.sqrt(np.diag(np.linalg.inv(found.jac.T @ found.jac)))
    return dict(zip(names, np.exp(found.x).tolist(), strict=True)), dict(zip(names, spread.tolist(), strict=True))


def known(stack: str) -> dict[str, float]:
    """Values that the catalog has."""
    values = getattr(Stacks, stack).values()
    return {name: values[name].value for name in EXPECTED if name in values}


def described(rows: list[dict[str, Any]]) -> str:
    """Which rows a stack rests on."""
    counts = Counter(getattr(Models.Language, silicon_rows.MODELS[row["model"]]).name for row in rows)
    return f"{len(rows)} closed loops of InferenceX and NVIDIA: " + ", ".join(
        f"{name} {n}" for name, n in counts.most_common()
    )


def written(text: str, stack: str, name: str, value: float, error: float, rows: str) -> str:
    """The catalog with another value of a stack."""
    entry = re.search(rf"(?ms)^\[Stacks\.{stack}\]$.*?(?=^\[|\Z)", text)
    assert entry, stack
    unit = re.search(rf'(?m)^{re.escape(name)} = .*?(unit = "[^"]+", )', entry[0])
    sure = error < MOVED * EXPECTED[name][1]
    said = (
        f'calibrated_on = "{rows}"'
        if sure
        else f'kind = "assumed", note = "Its {rows.split(":")[0]} do not determine it."'
    )
    low, high = (f"{value * np.exp(sign * error):.3g}" for sign in (-1, 1))
    if "efficiency" in name:
        high = f"{min(1.0, float(high)):g}"
    line = f"{name} = {{ value = {value:.3g}, {unit[1] if unit else ''}{said}, low = {low}, high = {high} }}"
    changed, times = re.subn(rf"(?m)^{re.escape(name)} = .*$", lambda _: line, entry[0])
    assert times == 1, (stack, name)
    if name == "collective_latency":
        changed = re.sub(
            r"(?m)^node_latency = \{ value = [^,]+", f"node_latency = {{ value = {value / 10:.3g}", changed
        )
    return text[: entry.start()] + changed + text[entry.end() :]


def saying(text: str, stack: str, words: str) -> str:
    """The catalog with another last sentence of the description of a stack."""
    entry = re.search(rf'(?ms)^\[Stacks\.{stack}\]$.*?^description = "([^.]*\.)[^"]*"', text)
    assert entry, stack
    start = entry.start(1)
    return text[:start] + f"{entry[1]} {words}" + text[entry.end() - 1 :]


def medians(loops: Loops, far: Any, rows: Any) -> tuple[float, float]:
    """Median errors of both columns on some rows; first tokens of engines that were warm."""
    warm = np.array([not silicon_rows.cold(row) for row in loops.rows]) & rows
    sizes = np.abs(np.exp(far) - 1)
    return float(np.median(sizes[0][rows])), float(np.median(sizes[1][warm])) if warm.any() else np.nan


def main() -> None:
    """Print every calibrated value, and write it where that is asked for."""
    without: dict[str, Any] = {}
    for stack in [each for each in sys.argv[1:] if not each.startswith("-")] or FITTED:
        began = time.monotonic()
        rows = [row for row in silicon_rows.rows(True) if stack_of(row) == stack and not contradicted(row)]
        loops, models = Loops(rows), np.array([silicon_rows.MODELS[row["model"]] for row in rows])
        run = np.array([origin(row) == "InferenceX" for row in rows])
        values, errors = fitted(loops, known(stack))
        text, far = CATALOG.read_text(encoding="utf-8"), loops(values) - loops.measured
        print(f"{stack}: {described(rows)}; InferenceX {_shown(medians(loops, far, run))}", flush=True)
        for name, value in values.items():
            was = known(stack).get(name)
            print(f"  {name} = {value:.3g} +-{errors[name]:.0%}" + (f", was {was:.3g}" if was is not None else ""))
            text = written(text, stack, name, value, errors[name], described(rows))
        left = np.full_like(far, np.nan)
        for model in dict.fromkeys(models):
            own = models == model
            said = f"  {model} ({own.sum()}): {_shown(medians(loops, far, own))}"
            if "--quick" not in sys.argv and not own.all():
                others = Loops([row for row, out in zip(rows, own, strict=True) if not out])
                found = {**{name: EXPECTED[name][0] for name in values}, **fitted(others, values, 4)[0]}
                without.setdefault(stack, {})[model] = {name: float(f"{each:.3g}") for name, each in found.items()}
                left[:, own] = (loops(found) - loops.measured)[:, own]
                said += f"; left out {_shown(medians(loops, left, own))}"
            print(said, flush=True)
        if without.get(stack):
            found = _shown(medians(loops, left, run))
            print(f"  InferenceX, left out: {found}")
            words = f"With a model left out {found} off in the median; other kernels of experts are a guess of 25%."
            text = saying(text, stack, words)
        print(f"  {time.monotonic() - began:.0f} s", flush=True)
        if "--write" in sys.argv:
            CATALOG.write_text(text, encoding="utf-8")
            silicon_rows.write(without={**silicon_rows.SAMPLE.get("without", {}), **without})


def _shown(found: tuple[float, float]) -> str:
    return f"time per token {found[0]:.0%}, first token {found[1]:.0%}"


if __name__ == "__main__":
    main()
