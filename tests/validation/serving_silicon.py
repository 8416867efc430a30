"""Closed loops of engines that InferenceX and NVIDIA measured, asked as they were run."""

from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any

from validation.checks import Check, Group, Spread
from validation.silicon_rows import (
    DENSE,
    DEVICES,
    MODELS,
    SAMPLE,
    asked,
    cold,
    contradicted,
    format_of,
    origin,
    reasons,
    rows,
    stack_of,
    variant_of,
)

from mlsysim import Models, ServingModel, Stacks

SOURCE = "InferenceX (SemiAnalysis) and NVIDIA's own runs, in the silicon sample of aiconfigurator"
TOKEN, FIRST, RATE = "tpot_mean", "ttft_mean", "tokens_per_second"
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
    found = SAMPLE.get("without", {}).get(stack_of(row), {}).get(MODELS[row["model"]])
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


def errors(found: list[Any], output: str, whole: bool, picked: Callable[[dict[str, Any]], bool]) -> list[float]:
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


#: Largest medians on the rows of InferenceX: by stacks as they are, and with the model of a row left out.
ALLOWED = {TOKEN: (0.08, 0.13), FIRST: (0.15, 0.25)}
WORDS = {TOKEN: "time per token", FIRST: "first token"}
#: The same of NVIDIA's runs, which were no nearer before these stacks.
NVIDIA = {TOKEN: 0.13, FIRST: 0.78}
#: Why medians are larger than that.
MISSED: dict[str, str] = {}


def _kinds(whole: bool) -> dict[str, Callable[[dict[str, Any]], bool]]:
    """Rows by what they have in common: who measured, and of InferenceX's also stack, device and model."""
    asked_of = [row for row in rows(whole) if origin(row) == "InferenceX"]

    def own(of: Callable[[dict[str, Any]], str], word: str) -> Callable[[dict[str, Any]], bool]:
        return lambda row: origin(row) == "InferenceX" and of(row) == word

    found: dict[str, Callable[[dict[str, Any]], bool]] = {"InferenceX": lambda row: origin(row) == "InferenceX"}
    for of in (_stack, _device, _model):
        found |= {word: own(of, word) for word in dict.fromkeys(map(of, asked_of))}
    return found


def _stack(row: dict[str, Any]) -> str:
    return getattr(Stacks, stack_of(row)).name


def _device(row: dict[str, Any]) -> str:
    return DEVICES[row["system"]]


def _model(row: dict[str, Any]) -> str:
    return getattr(Models.Language, MODELS[row["model"]]).name


def spreads(whole: bool) -> list[Spread]:
    """Errors of both columns, by engine, device, model and origin."""
    found = []
    for words, picked in _kinds(whole).items():
        for place, (of, how) in enumerate(((by_stack, ""), (left_out, ", model left out"))):
            for output, allowed in ALLOWED.items():
                own = errors(of(whole), output, whole, picked)
                if len(own) >= 5:
                    what = f"{words}{how}: {WORDS[output]}"
                    found.append(Spread(what, own, allowed[place], missed=MISSED.get(what, "")))
    for engine, words in ENGINES.items():
        for output in ALLOWED:
            own = errors(
                by_stack(whole), output, whole, lambda row, engine=engine: theirs(row) and row["engine"] == engine
            )
            if len(own) >= 5:
                what = f"NVIDIA's runs of {words}: {WORDS[output]}"
                found.append(Spread(what, own, NVIDIA[output], missed=MISSED.get(what, "")))
    return found


def theirs(row: dict[str, Any]) -> bool:
    """Whether NVIDIA measured a row, and others do not contradict it."""
    return origin(row) == "NVIDIA" and not contradicted(row)


#: How far off one row may be; beyond it the reason is said.
FURTHEST = {TOKEN: 0.4, FIRST: 0.6}
CLIENT = "another client than InferenceX's, which the rows do not describe; its first tokens count a tenth in the fit"
COLD = "the engine was not warm: up to 75 seconds of the first wave are in the mean"
KERNELS = "experts of another kernel class than those of the other models of its stack"
STARTED = "several hundred in flight: what the engine does as so many start is not described"


def why(row: dict[str, Any], output: str) -> str:
    """Reason of a row that is further off; empty where none is known."""
    if output == FIRST and cold(row):
        return COLD
    if contradicted(row):
        return contradicted(row)
    if output == FIRST and origin(row) == "NVIDIA":
        return CLIENT
    if output == FIRST and row["concurrency"] >= 256:
        return STARTED
    return KERNELS if MODELS[row["model"]] not in DENSE and values_without(row) else ""


def checks() -> list[Check]:
    """Both columns of every row of the sample, with its model left out where that can be."""
    found = []
    for row, stack, left in zip(rows(), by_stack(False), left_out(False), strict=True):
        run = (
            f"{ENGINES[row['engine']]}, {_device(row)}, {_model(row)} {row['quant']}, {row['isl']}/{row['osl']}, "
            f"{row['concurrency']} in flight on {row['attention_tp'] * row['attention_dp']}"
        )
        for output, words in WORDS.items():
            known, ours = 1e3 * measured(row)[output], 1e3 * (left or stack)[output]
            far = abs(ours / known - 1) > FURTHEST[output]
            found.append(Check(f"{run}: {words}", known, ours, FURTHEST[output], "ms", 1e3 * stack[output],
                               why(row, output) if far else ""))  # fmt: skip
    return found


#: Rows of the whole table that are not asked.
COUNTED = {
    "disaggregated: the table has no number of workers": 685,
    "drafts may be on: the table does not say": 203,
    "attention ranks with chunked prefill": 38,
}


def counted() -> list[Check]:
    """Rows that are left out, by reason."""
    found = reasons()
    return [Check(f"left out, {reason}", number, found.pop(reason, 0), 0, "rows") for reason, number in COUNTED.items()]


ASKED = (
    "Every row is asked as its scripts ran it: ten rounds with the start in a burst, lengths that spread over a fifth "
    "of their label, tokens of an iteration, polls, waits and slots by engine and day "
    "(`tests/validation/silicon_rows.py`). InferenceX's rows with the model left out are asked of stacks that were "
    "calibrated without any row of that model (`tests/validation/calibrate_engines.py`). Time per token and to the "
    "first one are means over all requests. "
)
GROUPS = (
    Group(
        "serving_silicon",
        "Servers: engines of 2025 and 2026, a sample",
        ASKED + "Here a sample, drawn by a hash; ours is by the stack without the model of the row where there is one.",
        SOURCE,
        checks,
        spreads=partial(spreads, False),
        beside="Stack as it is",
        long=True,
    ),
    Group(
        "serving_silicon_whole",
        "Servers: engines of 2025 and 2026, all rows",
        ASKED
        + "Here all rows that were shown. Rows that are not asked are counted below. First tokens of engines that "
        "were not warm are left out of the errors.",
        SOURCE,
        counted,
        spreads=partial(spreads, True),
        beside_project=True,
        long=True,
    ),
)
