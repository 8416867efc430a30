"""Closed loops of engines that InferenceX and NVIDIA measured, asked as they were run."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any

from validation.checks import Check, Group, Spread
from validation.silicon_rows import (
    DENSE,
    DEVICES,
    MODELS,
    SAMPLE,
    WHOLE,
    asked,
    cold,
    contradicted,
    origin,
    reasons,
    rows,
    stack_of,
    variant_of,
)

from mlsysim import Models, ServingModel

SOURCE = "InferenceX (SemiAnalysis) and NVIDIA's own runs, in the silicon sample of aiconfigurator"
TOKEN, FIRST, RATE = "tpot_mean", "ttft_mean", "tokens_per_second"
#: Values of a stack that the catalog has under another argument than the calibration names them.
ENGINES = {"trtllm": "TensorRT-LLM", "vllm": "vLLM", "sglang": "SGLang"}


def measured(row: dict[str, Any]) -> dict[str, float]:
    """Seconds of both columns, and the tokens per second that follow from them."""
    token, first = row["tpot_mean_ms"] / 1e3, row["ttft_mean_ms"] / 1e3
    answered = asked(row)["osl"]
    return {TOKEN: token, FIRST: first, RATE: row["concurrency"] * answered / (first + (answered - 1) * token)}


def solved(row: dict[str, Any], **given: Any) -> dict[str, float]:
    """Ours for a row, in canonical units."""
    served = ServingModel(variant_of(row)).solve(**asked(row), **given)
    return {name: served.canonical(name) for name in (TOKEN, FIRST, RATE)}


def values_without(row: dict[str, Any]) -> dict[str, Any] | None:
    """Values of the stack of a row that were found without the rows of its model; None where there are none."""
    found = SAMPLE["without"].get(stack_of(row), {}).get(MODELS[row["model"]])
    if found is None:
        return None
    number_format = format_of(row)
    given: dict[str, Any] = {}
    for name, value in found.items():
        name, _, of_format = name.partition(".")
        if of_format in ("", number_format):
            given[name] = f"{value} {unit}" if (unit := _unit(name)) else value
    return given | {"node_latency": f"{found['collective_latency'] / 10} us"}


def _unit(name: str) -> str:
    ends = {"_latency": "us", "_token_time": "us/token", "_time": "ms", "_tax": "ms", "_overhead": "ms"}
    return next((unit for end, unit in ends.items() if name.endswith(end)), "")


@cache
def by_stack(whole: bool) -> list[dict[str, float]]:
    """Ours for all rows, by stacks as they are."""
    return [solved(row) for row in rows(whole)]


@cache
def left_out(whole: bool) -> list[dict[str, float] | None]:
    """Ours for all rows, by stacks that were calibrated without the model of the row."""
    given = [values_without(row) for row in rows(whole)]
    return [None if each is None else solved(row, **each) for row, each in zip(rows(whole), given, strict=True)]


def errors(
    found: list[Any], output: str, whole: bool, picked: Callable[[dict[str, Any]], bool]
) -> list[float]:
    """Errors of one output on the rows that are picked; first tokens of a cold engine are left out."""
    return [
        ours[output] / measured(row)[output] - 1 for row, ours in zip(rows(whole), found, strict=True)
        if ours is not None and picked(row) and not (output != TOKEN and cold(row))
    ]  # fmt: skip


def kind_errors(stack: str, dense: bool, output: str, checks: Iterable[Check]) -> list[float]:
    """Errors with the model left out, on the rows of InferenceX of one stack and kind of model."""
    return errors(
        left_out(True), output, True,
        lambda row: stack_of(row) == stack and origin(row) == "InferenceX" and (MODELS[row["model"]] in DENSE) == dense,
    )  # fmt: skip


#: Largest medians on InferenceX's rows: by stacks as they are, and with the model left out.
ALLOWED = {TOKEN: (0.08, 0.13), FIRST: (0.15, 0.25)}
WORDS = {TOKEN: "time per token", FIRST: "first token"}
CLIENT = "another client than InferenceX's, which the rows do not describe; first tokens of it count a tenth in the fit"
#: Why medians are larger than allowed.
MISSED: dict[str, str] = {}


def _kinds() -> list[tuple[str, Callable[[dict[str, Any]], bool]]]:
    """Rows of InferenceX by what they have in common."""
    found: list[tuple[str, Callable[[dict[str, Any]], bool]]] = [("all", lambda row: True)]
    stacks = dict.fromkeys(stack_of(row) for row in rows(True if WHOLE.exists() else False))
    found += [(stack, lambda row, stack=stack: stack_of(row) == stack) for stack in stacks]
    devices = dict.fromkeys(DEVICES[row["system"]] for row in rows())
    found += [(device, lambda row, device=device: DEVICES[row["system"]] == device) for device in devices]
    models = dict.fromkeys(MODELS[row["model"]] for row in rows())
    found += [
        (getattr(Models.Language, model).name, lambda row, model=model: MODELS[row["model"]] == model)
        for model in models
    ]
    return found


def spreads(whole: bool) -> list[Spread]:
    """Errors of both columns, by engine, device, model and origin."""
    found = []
    for words, picked in _kinds():
        for place, of in enumerate((by_stack(whole), left_out(whole))):
            for output, allowed in ALLOWED.items():
                own = errors(of, output, whole, lambda row: origin(row) == "InferenceX" and picked(row))
                if len(own) >= 4:
                    what = f"InferenceX, {words}{', model left out' if place else ''}: {WORDS[output]}"
                    found.append(Spread(what, own, allowed[place], missed=MISSED.get(what, "")))
    return found
