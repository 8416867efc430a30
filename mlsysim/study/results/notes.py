"""Notes printed with the numbers of a result, one line each."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim.backends import compiled_expression
from mlsysim.catalog import (
    Engine,
    Recipe,
    SparseTransformerWorkload,
    Stack,
    Traffic,
    TransformerWorkload,
    Value,
    memory_as_typed,
    stacks_of,
    which_memory,
)
from mlsysim.formats import STORED, STORED_WEIGHT, WEIGHT_PARTS
from mlsysim.inputs.binding import GIVEN, Binding
from mlsysim.inputs.declaration import Better, Caveat, DeclaredModel
from mlsysim.inputs.engines import argument_of, stack_for
from mlsysim.inputs.recipe import FromRecipe, name_of, recipe_argument
from mlsysim.study.results.display import as_text
from mlsysim.study.results.infeasible import solved_again
from mlsysim.symbolic import Label, variable_of

if TYPE_CHECKING:
    from mlsysim.study.results.result import Result

#: Relative saving below which a setting saves nothing.
NOTHING = 0.01
#: Relative difference from which two answers disagree.
MUCH = 0.05
#: Consequence of requests that are too long.
ENGINES = "engines refuse longer requests unless told otherwise"
#: Arguments that add up to the tokens of a sequence, the count of sequences, and the consequence of too long ones.
LENGTHS = (
    (("isl", "osl"), "isl", ENGINES),
    (("seq_len", "output_tokens"), "seq_len", ENGINES),
    (("context_tokens",), "decode_requests", ENGINES),
    (("seq_len",), "prompts", ENGINES),
    (("seq_len",), "seq_len", "a model must be made fit for longer sequences"),
)
#: Error of a time per token if the experts have another shape than those that a stack was calibrated on: models left
#: out of a fit were up to a quarter off.
GUESS = "+-25%"
#: Most combinations of axes at which a condition is evaluated, and most models named.
LARGEST, NAMED = 1 << 16, 3


def notes(result: Result) -> tuple[str, ...]:
    """Collect the notes: what would fit, sequences too long, the reading of memory, the stack, and others.

    Parameters
    ----------
    result : Result
        Result of ``solve``.
    """
    binding = result._binding
    lines = (
        result.obstacle,
        *input_notes(binding),
        *_file_notes(result),
        left_out(result),
        *_not_read(result),
        _recipe_variant_note(result),
        _engine_variant_note(result),
        _measured_variant_note(result),
        _first_variant_note(result),
        *caveats(binding, result._values),
        *_without_saving(result),
        *_without_effect(result),
    )
    return tuple(note for note in lines if note)


def input_notes(binding: Binding) -> Iterator[str]:
    """Yield notes on the inputs: too long, reading of memory, stack; on a grid with the number of points."""
    yield from islice(_beyond_context(binding), None if binding.axes else 1)
    yield from _memory(binding)
    yield from _other_devices(binding)
    yield from _without_stack(binding)
    yield from _other_experts(binding)


def _beyond_context(binding: Binding) -> Iterator[str]:
    """Say that sequences are longer than the model supports; on a grid, at how many points."""
    if "model" not in binding.entries:
        return
    entries = entries_over_axes(binding, "model")
    most = np.asarray(np.frompyfunc(longest, 1, 1)(entries), float)
    for names, count_name, consequence in lengths_of(binding.values):
        used = binding.values[count_name]
        tokens = sum(np.asarray(binding.values[name], float) for name in names)
        points = ""
        if _size(tokens, most, used) <= LARGEST:
            points = _points(binding, (tokens > most) & (np.asarray(used) > 0))
        if points and not binding.axes:
            (entry,) = entries.flat
            has = f"{tokens:,.0f} tokens, and {entry.key or entry.name} is made for"
            yield too_long(names, has, f"{most:,.0f}", consequence)
        elif points:
            made = [
                f"{workload.key or workload.name} ({longest(workload):,.0f})"
                for workload in entries.flat
                if longest(workload) < np.max(tokens)
            ]
            limit = ", ".join(made[:NAMED]) + f" and {len(made) - NAMED} others" * (len(made) > NAMED)
            yield f"{points}: {too_long(names, 'longer than the positions of', limit, consequence)}"


def lengths_of(inputs: Collection[str]) -> list[tuple[tuple[str, ...], str, str]]:
    """Return the inputs that add up to the tokens of a sequence, the count of sequences, and the consequence."""
    lengths = [
        (names, count_name, consequence)
        for names, count_name, consequence in LENGTHS
        if all(name in inputs for name in (*names, count_name))
    ]
    return [length for length in lengths if length[1] not in length[0]] or lengths[:1]


def longest(entry: Any) -> float:
    """Return the most tokens that a model supports; infinite if not stated."""
    limit = entry.max_position_embeddings if isinstance(entry, TransformerWorkload) else None
    return math.inf if limit is None else float(limit.value)


def too_long(names: Sequence[str], tokens: str, limit: str, consequence: str) -> str:
    """Build a note on sequences that are too long."""
    return f"{' + '.join(names)} is {tokens} {limit} (max_position_embeddings): {consequence}"


def _memory(binding: Binding) -> Iterator[str]:
    """Name the reading of a memory size that was used, as typed or from an entry."""
    if "memory_capacity" not in binding.values:
        return
    capacity, origin = np.asarray(binding.values["memory_capacity"], float), binding.origins["memory_capacity"]
    givers = {name: slot for name, slot in binding.model.givers["memory_capacity"] if name in binding.entries}
    if not capacity.ndim or origin == GIVEN:
        if capacity.size <= LARGEST:
            yield from _with_point_counts(binding, _map_text(lambda size: memory_reading(origin, size), capacity))
    elif givers:
        name, slot = next(iter(givers.items()))
        readings = _map_text(
            lambda entry: memory_reading(slot.value(entry, "memory_capacity", ""), 0.0),
            entries_over_axes(binding, name),
        )
        yield from _with_point_counts(binding, readings)


def memory_reading(origin_or_recipe: Any, capacity: float) -> str:
    """Say whether a memory of this origin is read as 80 GB or 80 GiB; empty if a driver reports it."""
    origin = origin_or_recipe.origin if isinstance(origin_or_recipe, FromRecipe) else origin_or_recipe
    if origin == GIVEN:
        origin = memory_as_typed(Value.of(capacity / 1e9, "GB"))
    reading = which_memory(origin) if isinstance(origin, Value) else ""
    return f"memory_capacity: {reading[0].lower()}{reading[1:].rstrip('.')}" if reading else ""


def _other_devices(binding: Binding) -> Iterator[str]:
    """Say that the constants of a stack are those of other devices."""
    entries = {name: entries_over_axes(binding, name) for name in binding.entries} if "stack" in binding.entries else {}
    device = next((over_axes for over_axes in entries.values() if over_axes.flat[0].device is not None), None)
    if device is not None:
        yield from _with_point_counts(
            binding,
            _map_text(lambda stack, entry: stack_of_other_devices(stack, entry.device), entries["stack"], device),
        )


def stack_of_other_devices(stack: Any, device: Any) -> str:
    """Say that a stack was calibrated on other devices; empty if not, or if its devices are unknown."""
    if not isinstance(stack, Stack) or not stack.devices or device is None:
        return ""
    known = {stack_device.name: stack_device.key or stack_device.name for stack_device in stack.devices}
    if device.name in known:
        return ""
    return (
        f"{stack.key or stack.name} is a stack of {' and '.join(known.values())}: how far off its constants are on "
        f"{device.key or device.name} was not measured"
    )


def _without_stack(binding: Binding) -> Iterator[str]:
    """Say that an engine has no stack for a device."""
    argument = argument_of(type(binding.model), Engine)
    if argument not in binding.entries or "stack" in binding.entries or "stack" not in binding.model.arguments:
        return
    entries = {name: entries_over_axes(binding, name) for name in binding.entries}
    devices = next(
        (over_axes for over_axes in entries.values() if over_axes.flat[0].device is not None), np.array(None, object)
    )
    yield from _with_point_counts(binding, _map_text(_no_stack_note, entries[argument], devices))


def _no_stack_note(engine: Any, entry: Any) -> str:
    """Say that an engine has no stack for the device of an entry; empty where it has one."""
    if entry is not None and stack_for(engine, entry.device) is not None:
        return ""
    known = ", ".join(stack.key for stack in stacks_of(engine.name) if stack.devices)
    device = "no device" if entry is None else entry.device.key or entry.device.name
    note = f"no stack of {engine.name} knows {device}: its times are those of Generic"
    return f"{note} (it has {known})" if known else note


def _other_experts(binding: Binding) -> Iterator[str]:
    """Say that the experts of a model have another shape than those that a stack was calibrated on."""
    if "stack" in binding.entries and "model" in binding.entries:
        yield from _with_point_counts(
            binding, _map_text(_guess_note, entries_over_axes(binding, "stack"), entries_over_axes(binding, "model"))
        )


def _guess_note(stack: Any, model: Any) -> str:
    """Say that expert times of a model are a guess; empty if the stack was calibrated on this shape, or on none."""
    known = stack.expert_models if isinstance(stack, Stack) else ()
    if not known or not isinstance(model, SparseTransformerWorkload):
        return ""
    if any(_experts(known_model) == _experts(model) for known_model in known):
        return ""
    names = ", ".join(known_model.key or known_model.name for known_model in known)
    return (
        f"experts of {model.key or model.name} are of another shape than those of {names}, on which "
        f"{stack.key or stack.name} rests: a guess of {GUESS}"
    )


def _experts(model: Any) -> tuple[float | None, ...]:
    """Return the shape of the experts of a model."""
    named = (getattr(model, name, None) for name in ("experts", "active_experts_per_token", "expert_ffn_dim"))
    return tuple(None if value is None else value.value for value in named)


#: Format fields of a checkpoint, their arguments, the outputs with their bytes, their tables, and what is stored.
_STORED_AS = (
    ("weight_format", "weight_dtype", ("weight_bytes", "bytes_per_element"), STORED_WEIGHT, "weights"),
    ("kv_cache_format", "kv_cache_dtype", ("kv_cache_bytes",), STORED, "keys and values"),
)


def _file_notes(result: Result) -> list[str]:
    """Say what the file of a model leaves out, and where its formats differ from those counted."""
    entry = result.entries.get("model")
    if not isinstance(entry, TransformerWorkload):
        return []
    has_note = entry.layers.note and (entry.layers.kind == "user" or entry.measured_by)
    lines = [f"{entry.name}: {entry.layers.note}"] if has_note else []
    known = ((name, getattr(entry, name, None)) for name in WEIGHT_PARTS if name in result.model.arguments)
    stored_parts = {name: value for name, value in known if value is not None and value.canonical}
    # Training keeps its own copies, whatever a checkpoint stores.
    for field, argument, elements, table, what in () if "zero_stage" in result.model.arguments else _STORED_AS:
        if stored_parts and what == "weights":
            lines += _overridden_formats(result, entry.name, stored_parts)
            continue
        named, element = getattr(entry, field), next((name for name in elements if name in result), "")
        if named is None or named.value not in table or not element:
            continue
        stored, counted = float(table[named.value]), result.canonical(element)
        remark = f" ({named.note})" if named.note else ""
        if abs(counted / stored - 1) < NOTHING and not remark:
            continue
        remedy = f"; {argument}={named.value!r} counts them so" if argument in result.model.arguments else ""
        lines.append(
            f"the file of {entry.name} stores {what} as {named.value}, {stored:.4g} B each{remark}; "
            f"here each is {counted:.4g} B, {counted / stored:.3g} times as much{remedy}"
        )
    return lines


def _overridden_formats(result: Result, name: str, parts: Mapping[str, Value]) -> list[str]:
    """Say what a checkpoint stores if an argument overrides it."""
    counted = result.canonical("weight_bytes")
    differing = {part: value for part, value in parts.items() if abs(counted / value.canonical - 1) >= NOTHING}
    stored = ", ".join(
        f"{part.removesuffix('_bytes').replace('_', ' ')} {value.canonical:.4g} B" for part, value in differing.items()
    )
    if any(result.canonical(part) for part in parts):
        return [f"weights are counted as {name} stores them ({stored}; others {counted:.4g} B)"] if differing else []
    if not differing:
        return []
    return [
        f"the file of {name} stores weights otherwise ({stored}); here each is {counted:.4g} B, as precision or "
        "weight_dtype says: without both they are counted as stored"
    ]


def left_out(result: Result) -> str:
    """Name what a recipe sets and the model has no argument for; empty if nothing."""
    return without_arguments(result.model, result.left_out)


def _not_read(result: Result) -> list[str]:
    """Name what files of recipes and traffic contain and no argument expresses."""
    read = [entry for entry in result.entries.values() if isinstance(entry, Recipe | Traffic) and entry.not_read]
    return [f"of {name_of(entry)} is not read: {', '.join(entry.not_read)}" for entry in read]


def without_arguments(model: DeclaredModel, left_out: Sequence[str]) -> str:
    """Say that a model has no argument for some settings of a recipe; empty if it has all."""
    names = ", ".join(left_out)
    return f"{type(model).__name__} ({model.variant}) takes no {names}, which the recipe gives" if names else ""


def _recipe_variant(result: Result) -> str:
    """Return the variant that the recipe names; empty if none."""
    recipe = result.entries.get(recipe_argument(type(result.model)))
    return recipe.variants.get(result.model.command, "") if isinstance(recipe, Recipe) else ""


def _recipe_variant_note(result: Result) -> str:
    """Say that the variant of the recipe was used, or what it answers if another was chosen."""
    model, named = result.model, _recipe_variant(result)
    if not named:
        return ""
    recipe: Any = result.entries[recipe_argument(type(model))]
    if model.variant == named:
        return "" if model.is_chosen else f"{type(model).__name__} answers by {named}, as {name_of(recipe)} was run"
    other = solved_again(result, named)
    if other is None or abs(other.canonical(model.answer) / result.canonical(model.answer) - 1) < MUCH:
        return ""
    answer = as_text(variable_of(model.answer), other.canonical(model.answer))
    return f"{named}, as {name_of(recipe)} was run: {answer} {variable_of(model.answer).label.lower()}"


def _engine_variant_note(result: Result) -> str:
    """Say which engine selected the variant, and how to get the earlier default."""
    model, engine = result.model, result.entries.get(argument_of(type(result.model), Engine))
    if not isinstance(engine, Engine) or model.is_chosen or model.variant != engine.variant.value:
        return ""
    note = f"{type(model).__name__} answers by {model.variant}, as {engine.name} schedules"
    first = next(iter(model.variants))
    if not model.assumed or model.variant == first:
        return note
    before = f"before, by {first}, with Generic where no stack is named: variant={first!r}, stack='Generic' ask so"
    return f"{note}; {before}"


def _measured_variant_note(result: Result) -> str:
    """Give the answer of the measured variant if it decides otherwise, or is far off."""
    model = result.model
    if model.better is None or model.variant == model.measured():
        return ""
    other = solved_again(result, model.measured())
    if other is None or not _disagree(result, other, model.better):
        return ""
    return f"{model.measured()}, the measured variant: {_answer_text(other, model.better)}"


def _first_variant_note(result: Result) -> str:
    """Give the answer of the first variant if the measured one answers by default."""
    model, first = result.model, next(iter(result.model.variants))
    if model.better is None or model.is_chosen or model.variant in (first, _recipe_variant(result)):
        return ""
    other = solved_again(result, first)
    if other is None or not _disagree(result, other, model.better):
        return ""
    answer = _answer_text(other, model.better)
    return f"answered by {model.variant}, the measured variant; variant={first!r}, the tutorial's form: {answer}"


def _disagree(first: Result, second: Result, better: Better) -> bool:
    """Tell whether two results differ in the decision of a variant, or by much in its number."""
    if first.canonical(better.decides) != second.canonical(better.decides):
        return True
    before, after = first.canonical(better.shows), second.canonical(better.shows)
    return abs(before - after) > MUCH * abs(before)


def _answer_text(result: Result, better: Better) -> str:
    """Format the number that a variant shows, and whether it fits."""
    variable, decided = variable_of(better.shows), result[better.decides]
    text = as_text(variable, result.canonical(better.shows))
    if isinstance(decided, bool):
        return f"{text}, {'fits' if decided else 'does not fit'}"
    return f"{text} {variable.label.lower()}"


def caveats(binding: Binding, known: Mapping[str, Any]) -> Iterator[str]:
    """Yield the caveats that apply at values of inputs and outputs; on a grid, with those of the first such point."""
    for caveat in binding.model.caveats:
        if caveat.variants and binding.model.variant not in caveat.variants:
            continue
        names = _names(caveat)
        values = {name: np.asarray(known[name], float) for name in names if name in known}
        unused = names - values.keys() if caveat.stored else ()
        values |= {name: stored for name in unused if (stored := _stored(binding, name)) is not None}
        if len(values) < len(names):
            continue
        if _size(*values.values()) > LARGEST:
            continue
        met = np.asarray(compiled_expression(caveat.where)(values)["value"], bool)  # type: ignore[arg-type]
        if points := _points(binding, met):
            at = np.unravel_index(int(np.argmax(met)), met.shape)
            texts = {name: as_text(variable_of(name), element(values[name], at)) for name in caveat.told}
            yield f"{points}: {caveat.said.format(**texts)}" if binding.axes else caveat.said.format(**texts)


def _stored(binding: Binding, name: str) -> np.ndarray | None:
    """Return fields of entries that no argument of the variant takes, 0 if unset; None without such a field."""
    for argument in binding.entries:
        entries = entries_over_axes(binding, argument)
        if name not in binding.model.arguments and any(name in type(entry).model_fields for entry in entries.flat):
            numbers = np.frompyfunc(lambda entry: _number(getattr(entry, name, None)), 1, 1)(entries)
            return np.asarray(numbers, float)
    return None


def _number(value: Any) -> float:
    return 0.0 if value is None else value.canonical


@lru_cache(maxsize=256)
def _names(caveat: Caveat) -> frozenset[str]:
    """Return the inputs and outputs that a caveat depends on."""
    symbols = (symbol for symbol in caveat.where.free_symbols if not isinstance(symbol, Label))
    return frozenset({symbol.name for symbol in symbols} | caveat.told)


def _without_saving(result: Result) -> list[str]:
    """Say which settings save nothing of what they are meant to save."""
    lines = []
    for name, (without, output) in result.model.savings.items():
        if name not in result or output not in result or result[name] == without:
            continue
        other = solved_again(result, result.model.variant, **{name: without})
        if other is None:
            continue
        saved, whole = other.canonical(output) - result.canonical(output), other.canonical(output)
        if saved < NOTHING * whole:
            variable = variable_of(output)
            saved_text, whole_text = as_text(variable, max(saved, 0.0)), as_text(variable, whole)
            lines.append(f"{name}={result[name]} saves {saved_text} of {whole_text} {output}")
    return lines


def _without_effect(result: Result) -> Iterator[str]:
    """Say which typed arguments change no number, and which argument they would need."""
    model = result.model
    for name, needed in model.effective_with.items():
        if name not in result.input_names or result.origin(name) != GIVEN:
            continue
        other = solved_again(result, model.variant, **{name: model.defaults.get(name, 0)})
        shown = [output for output in model.headline if output in result]
        if other is None or other.canonical(name) == result.canonical(name):
            continue
        if all(other.canonical(output) == result.canonical(output) for output in shown):
            yield f"{name}={result[name]} has no effect without {needed}"


def entries_over_axes(binding: Binding, argument: str) -> np.ndarray:
    """Arrange the entries of an argument over the axes."""
    entries = binding.entries[argument]
    along = [argument == name or argument in (axis.members or {}) for name, axis in binding.axes.items()]
    array = np.empty(len(entries) if isinstance(entries, list) else 1, object)
    array[:] = entries
    return array.reshape([-1 if own else 1 for own in along] if isinstance(entries, list) else ())


def _map_text(text: Callable[..., str], *entries_over_axes: np.ndarray) -> np.ndarray:
    """Apply a text function to every element of arrays."""
    return np.asarray(np.frompyfunc(text, len(entries_over_axes), 1)(*entries_over_axes), object)


def _with_point_counts(binding: Binding, texts: np.ndarray) -> Iterator[str]:
    """Yield each distinct text, on a grid with the number of its points."""
    for text in dict.fromkeys(texts.flat):
        if text:
            yield f"{_points(binding, texts == text)}: {text}" if binding.axes else text


def _size(*values: Any) -> int:
    return math.prod(np.broadcast_shapes(*map(np.shape, values)))


def _points(binding: Binding, met: np.ndarray) -> str:
    """Count the points of the grid at which a condition holds; empty if none."""
    total = math.prod(binding.sizes)
    count = int(np.count_nonzero(met)) * (total // max(met.size, 1))
    return f"{count:,} of {total:,} points" if count else ""


def element(value: np.ndarray, at: tuple[Any, ...]) -> Any:
    """Return an element of an array at an index of the full grid; dimensions of size 1 are broadcast."""
    index = tuple(
        position if size > 1 else 0 for position, size in zip(at[len(at) - value.ndim :], value.shape, strict=True)
    )
    return value[index]
