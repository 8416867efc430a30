"""Models that fit a device, and devices that hold a model, for serving and fine-tuning."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mlsysim.advice.fit_table import Fit, Fits, Row
from mlsysim.catalog import Accelerator, Catalog, Entry, TransformerWorkload, builtin
from mlsysim.errors import InputError, UnitError, UnknownNameError
from mlsysim.formats import PRESETS
from mlsysim.inputs import convert
from mlsysim.inputs.axes import linked
from mlsysim.inputs.refusal import Reason, met
from mlsysim.inputs.spellings import unknown_argument
from mlsysim.models.base import PerformanceModel
from mlsysim.models.registry import loaded
from mlsysim.names import known_as
from mlsysim.study.inverse.monotone import largest_whole
from mlsysim.study.inverse.target_function import TargetFunction
from mlsysim.study.inverse.targets import read
from mlsysim.symbolic import variable_of
from mlsysim.tracebacks import at_the_call

#: Formats that a model is served in, and ways to fine-tune it, unless a call says otherwise.
FORMATS, FINETUNING = ("bf16", "fp8", "w4a16"), ("lora", "qlora", "full")
#: Numbers of devices tried, and the most devices of a tensor-parallel group.
DEVICES, NODE = tuple(2**power for power in range(10)), 8
#: Shortest context, in tokens, that counts as a fit.
SHORTEST = 512
#: Rates of a device, which do not affect memory: they are set so that a device without a rate can be asked, too.
RATES = {
    "peak_flops": "1 TFLOP/s", "attention_peak_flops": "1 TFLOP/s", "memory_bandwidth": "1 TB/s",
    "node_bandwidth": "1 GB/s",
}  # fmt: skip
#: Device whose other values are used if only a memory is given.
STAND_IN = "H100"
#: Axis of the number of devices.
COUNT = "devices"


@dataclass(frozen=True)
class Use:
    """One use of devices, as a question to a model.

    Attributes
    ----------
    name : str
        ``"serve"`` or ``"tune"``.
    model : PerformanceModel
        Model that is solved.
    axis : str
        Argument that distinguishes the ways of use.
    ways : tuple of str
        Values of that argument.
    layout : dict
        Arguments that lay the model out on each number of devices.
    batch : str
        Argument for the number of sequences at a time.
    answer : int
        Tokens of the context in addition to ``seq_len``.
    each : bool
        True if every device has its own batch.
    targets, subject_to : mapping, str
        Conditions under which the model fits.
    fixed : dict
        Further arguments.
    """

    name: str
    model: PerformanceModel
    axis: str
    ways: tuple[str, ...]
    layout: dict[str, list[int]]
    batch: str
    answer: int
    each: bool
    targets: dict[str, Any]
    subject_to: str | None
    fixed: dict[str, Any] = field(default_factory=dict)

    @property
    def taken(self) -> frozenset[str]:
        """Arguments that the table sets itself."""
        return frozenset(
            {"model", "hardware", "stack", "seq_len", "output_tokens", self.axis, self.batch, *self.layout}
        )

    @property
    def free(self) -> frozenset[str]:
        """Further arguments that a call may set."""
        return frozenset(self.model.arguments) - self.taken


def _serving(formats: Sequence[str], stack: Any) -> Use:
    """Define inference: weights, and the KV cache of the requests in flight."""
    return Use(
        name="serve", model=loaded("iteration", "IterationModel")("saturated"), axis="precision", ways=tuple(formats),
        layout={"tp_size": [min(n, NODE) for n in DEVICES], "pp_size": [max(1, n // NODE) for n in DEVICES]},
        batch="max_batch_size", answer=1, each=False, targets={}, subject_to="decode_requests >= max_batch_size",
        fixed={"stack": stack, "output_tokens": 1, **RATES},
    )  # fmt: skip


def _tuning(methods: Sequence[str], stack: Any) -> Use:
    """Define fine-tuning with full recomputation, and full sharding over several devices."""
    return Use(
        name="tune", model=loaded("training_memory", "TrainingMemoryModel")("per_operator"), axis="finetuning",
        ways=tuple(methods), layout={"dp_size": [*DEVICES], "zero_stage": [0 if n == 1 else 3 for n in DEVICES]},
        batch="batch_size", answer=0, each=True, targets={"feasible": True}, subject_to=None,
        fixed={"stack": stack, "precision": "bf16", "activation_checkpointing": "full"},
    )  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """Models and devices of a table, the memory that replaces a device, and the fixed context or batch."""

    models: list[Any]
    devices: list[Any]
    memory: float
    context: int
    batch: int


@at_the_call
def what_fits(
    hardware: Any = None,
    model: Any = None,
    *,
    memory: Any = None,
    context: Any = None,
    batch: Any = None,
    formats: Sequence[str] = FORMATS,
    finetuning: Sequence[str] = FINETUNING,
    serving_stack: Any = "Generic",
    training_stack: Any = "HF_Trainer",
    catalog: Catalog | None = None,
    **settings: Any,
) -> Fits:
    """Tabulate the models that fit a device, or the devices that hold a model, for serving and fine-tuning.

    Give a device or its free memory for a table of models, or a model for a table of devices. A cell is the longest
    context that fits one device or, if ``context`` is given, the largest batch; otherwise the number of devices
    required.

    Parameters
    ----------
    hardware : Accelerator, str or sequence of them, optional
        Devices, by catalog entry or name; all of the catalog if only a model is given.
    model : TransformerWorkload, str or sequence of them, optional
        Models, likewise; all language models of the catalog if only a device is given.
    memory : quantity or str, optional
        Memory available to programs, such as ``"21 GB"``, instead of a device.
    context : int or str, optional
        Tokens of a prompt with its answer, or of a training sequence, such as ``"32k"``; the answer is then the largest
        batch.
    batch : int, optional
        Requests in flight, or sequences per device in a training step, at the longest context; by default 1.
    formats : sequence of str
        Precisions for serving.
    finetuning : sequence of {"lora", "qlora", "full"}
        Methods of fine-tuning.
    serving_stack, training_stack : Stack or str
        Software whose memory counts. An engine uses its share of the memory: 0.9 unless its stack says otherwise.
    catalog : Catalog, optional
        Catalog in which names are looked up first; by default that of the package.
    **settings
        Further arguments of :class:`~mlsysim.IterationModel` and :class:`~mlsysim.TrainingMemoryModel`, such as
        ``kv_cache_dtype``, ``lora_rank`` or ``optimizer``.

    Returns
    -------
    Fits
        The table; ``records()`` has a dictionary per cell.

    Raises
    ------
    InputError
        If an argument is refused, or the question is not about one device or one model.
    UnknownNameError
        If a name is unknown; the message suggests the nearest.

    Examples
    --------
    >>> from mlsysim import what_fits
    >>> fits = what_fits("H100", ["Llama3_8B", "Llama3_1_70B"], formats=["bf16"], finetuning=[])
    >>> print(fits)
    Models that fit H100 (85.1 GB)
    longest context in tokens, one at a time; else the devices it takes
    <BLANKLINE>
                   serve
    Model           bf16
    ────────────────────
    Llama3_1_70B   2 dev
    Llama3_8B     8.19k*
    <BLANKLINE>
    * The model is made for no longer context; memory has room for more.
    2 dev: one device is too small, 2 hold it.
    Software: Generic (serve).
    Llama3_1_70B lacks on one: bf16 64.6 GB.
    """
    if context is not None and batch is not None:
        raise InputError("batch", batch, "must be left out where context is given: the largest batch is the answer")
    if memory is not None and hardware is not None:
        raise InputError("memory", memory, "must be left out where hardware is given")
    if hardware is None and memory is None and model is None:
        raise InputError("hardware", None, "must be a device", "or give its free memory (memory='21 GB'), or a model")
    shelf = catalog or builtin()
    served, tuned = _words("formats", formats, PRESETS), _words("finetuning", finetuning, FINETUNING)
    if not served and not tuned:
        raise InputError("formats", list(formats), "must name a precision, or finetuning a way")
    uses = [_serving(served, serving_stack)] if served else []
    uses = _with_settings([*uses, *([_tuning(tuned, training_stack)] if tuned else [])], settings)
    question = Asked(
        _entries("model", model, TransformerWorkload, shelf),
        [] if memory is not None else _entries("hardware", hardware, Accelerator, shelf),
        _number("memory", "driver_memory", memory),
        int(_number("context", "seq_len", context)),
        int(_number("batch", "batch_size", batch)) or 1,
    )
    if len(question.devices) > 1 and len(question.models) > 1:
        raise InputError("hardware", _names(question.devices), "must be one device where several models are asked")
    rows: dict[tuple[int, int], Row] = {}
    for use in uses:
        for (m, d), parameters, fit in _fits(use, question):
            device = question.devices[d] if question.devices else None
            usable = _usable(device) if device else question.memory
            named = _name(question.models[m]), _name(device) if device else ""
            row = rows.get((m, d)) or Row(*named, parameters, usable)
            rows[m, d] = replace(row, fits=(*row.fits, fit), parameters=max(row.parameters, parameters))
    ways = tuple((use.name, way) for use in uses for way in use.ways)
    stacks = tuple(
        _name(stack) if isinstance(stack, Entry) else str(stack) for stack in (serving_stack, training_stack)
    )
    listed = model is None or (hardware is None and memory is None)
    return Fits(tuple(rows.values()), ways, question.context, question.batch, stacks, listed)


def _fits(use: Use, asked: Asked) -> Iterator[tuple[tuple[int, int], float, Fit]]:
    """Yield position of model and device, parameters of the model, and the cell, for every way of one use."""
    conditions = _conditions(use, asked)
    points = np.arange(np.prod(conditions.sizes))
    at = dict(zip(conditions.dims, np.unravel_index(points, conditions.sizes), strict=True))
    index = {name: at.get(name, np.zeros(len(points), int)) for name in ("model", "hardware", use.axis)}
    count = np.array(DEVICES)[at[COUNT]]
    block = conditions.block(points)
    shortest = np.full(len(points), float(SHORTEST - use.answer))
    least = (count if use.each else np.ones(len(points))) if asked.context else shortest
    known = {name: np.broadcast_to(value, points.shape) for name, value in block.known(least, points).items()}
    accepted, fits = block.accepts(least, points), block.at(least, points).all_hold
    single = np.flatnonzero(count == 1)
    largest = largest_whole(block, least[single], single)
    for point, most in zip(single.tolist(), largest.tolist(), strict=True):
        own = np.logical_and.reduce([column == column[point] for column in index.values()])
        fit = Fit(use.name, use.ways[index[use.axis][point]])
        longest = _longest(asked.models[index["model"][point]])
        if not accepted[point]:
            fit = replace(fit, refused=_reason(conditions.binding.reasons, known, point))
        elif asked.context > longest:
            fit = replace(fit, refused=f"made for at most {longest:,.0f} tokens")
        elif fits[point]:
            value = most + (0 if asked.context else use.answer)
            limited = not asked.context and value >= longest
            fit = replace(fit, value=int(longest if limited else value), limited=limited, devices=1)
        else:
            enough = count[own & fits]
            lacks = max(0.0, float(_missing(known)[point]))
            fit = replace(fit, devices=int(enough.min()) if len(enough) else None, missing=lacks)
        yield (int(index["model"][point]), int(index["hardware"][point])), _parameters(known, point), fit


def _conditions(use: Use, asked: Asked) -> TargetFunction:
    """Build the conditions under which a use fits, along the context or batch, for all models, devices and layouts."""
    arguments: dict[str, Any] = {"model": asked.models, "hardware": asked.devices or STAND_IN}
    arguments |= {use.axis: [*use.ways], **use.fixed}
    if asked.memory:
        arguments |= dict.fromkeys(("memory_capacity", "driver_memory"), f"{asked.memory!r} B")
    layout = dict(use.layout)
    if asked.context:
        arguments["seq_len"] = asked.context - use.answer
    elif use.each:
        layout[use.batch] = [n * asked.batch for n in DEVICES]
    else:
        arguments[use.batch] = asked.batch
    arguments[COUNT] = linked(**layout)
    unknown = use.batch if asked.context else "seq_len"
    targets = read(use.model, use.targets, use.subject_to, unknown)
    return TargetFunction(use.model, arguments, variable_of(unknown), targets, True)


def _missing(values: Mapping[str, Any]) -> Any:
    """Return the bytes that a device lacks: for a whole training step, or for the weights when serving."""
    if "total_memory" in values:
        return values["total_memory"] - values["usable_memory"]
    return -values["kv_memory"]


def _reason(reasons: Sequence[Reason], values: Mapping[str, Any], point: int) -> str:
    """Return the first reason for which a model refuses a point."""
    for reason in reasons:
        needed = {str(symbol) for symbol in reason.condition.free_symbols}
        if not met(reason, {name: float(values[name][point]) for name in needed}):
            return reason.text
    return ""


def _with_settings(uses: list[Use], settings: Mapping[str, Any]) -> list[Use]:
    """Pass further arguments to the uses whose model takes them."""
    known = {name for use in uses for name in use.free}
    for name, value in settings.items():
        if name not in known:
            hint = "what_fits sets it itself" if any(name in use.taken for use in uses) else ""
            raise unknown_argument("what_fits", name, sorted(known), hint)
        if convert.is_axis(value):
            raise InputError(name, value, "must be one value")
    return [
        replace(
            use,
            fixed=use.fixed | {name_given: settings[name_given] for name_given in settings if name_given in use.free},
        )
        for use in uses
    ]


def _entries(argument: str, typed: Any, kind: type[Entry], shelf: Catalog) -> list[Any]:
    """Look up entries by name; without names return all that the table lists."""
    if typed is None:
        root = "Models.Language." if kind is TransformerWorkload else "Hardware."
        return [*_listed(shelf, root)]
    several = [typed] if isinstance(typed, str | Entry) or not convert.is_axis(typed) else list(typed)
    entries = []
    for item in several:
        entry = shelf.find(kind.what, item) if isinstance(item, str) else item
        if not isinstance(entry, kind):
            raise InputError(argument, item, f"must be an entry of the catalog ({kind.what}), or its name")
        if entry not in entries:
            entries.append(entry)
    if not entries:
        raise InputError(argument, typed, "must name at least one entry")
    return entries


def _listed(shelf: Catalog, root: str) -> Iterator[Entry]:
    """Yield entries under a root, those of a user's own catalog first."""
    own = [shelf.entry(path) for path in shelf.paths() if path.startswith(root) and path.count(".") == 2]
    names = {entry.name for entry in own}
    yield from own
    if shelf is not builtin():
        yield from (entry for entry in _listed(builtin(), root) if entry.name not in names)


def _words(argument: str, typed: Any, allowed: Collection[str]) -> tuple[str, ...]:
    """Match names against those allowed, ignoring case."""
    words = (typed,) if isinstance(typed, str) else tuple(typed)
    names = []
    for word in words:
        name = known_as(word, list(allowed)) if isinstance(word, str) else None
        if name is None:
            raise UnknownNameError(argument, word, allowed)
        names.append(name)
    return tuple(dict.fromkeys(names))


def _number(argument: str, variable: str, typed: Any) -> float:
    """Convert a number to canonical units; 0 for None."""
    if typed is None:
        return 0.0
    try:
        value = convert.scalar(variable_of(variable), typed)
    except InputError as error:
        raise InputError(argument, error.value, error.allowed, error.hint) from None
    except UnitError as error:
        raise UnitError(str(error).replace(variable, argument, 1)) from None
    if value < (least := 2 if argument == "context" else 1):
        raise InputError(argument, typed, f"must be at least {least}")
    return value


def _name(entry: Entry) -> str:
    return entry.key or entry.name


def _parameters(values: Mapping[str, Any], point: int) -> float:
    """Return the parameters of the model; 0 if they are not computed."""
    return float(values["parameters"][point]) if "parameters" in values else 0.0


def _longest(model: TransformerWorkload) -> float:
    """Return the most tokens that a model supports; infinite if the catalog does not say."""
    return math.inf if model.max_position_embeddings is None else model.max_position_embeddings.canonical


def _usable(device: Accelerator) -> float:
    """Return the bytes that the driver gives to programs, or all of them if unknown."""
    return (device.driver_memory or device.memory_capacity).canonical


def _names(entries: Sequence[Entry]) -> list[str]:
    return [_name(entry) for entry in entries]
