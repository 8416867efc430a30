"""Notes to read beside the numbers of a result, one line each."""

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
from mlsysim.study.results.infeasible import asked_again
from mlsysim.symbolic import Label, variable_of

if TYPE_CHECKING:
    from mlsysim.study.results.result import Result

#: A saving below this share of the whole is none.
NOTHING = 0.01
#: From this share on, two answers disagree.
MUCH = 0.05
#: What becomes of requests that are too long.
ENGINES = "engines refuse longer requests unless told otherwise"
#: Arguments for the tokens of a sequence, how many of those there are, and what becomes of ones that are too long.
LENGTHS = (
    (("isl", "osl"), "isl", ENGINES),
    (("seq_len", "output_tokens"), "seq_len", ENGINES),
    (("context_tokens",), "decode_requests", ENGINES),
    (("seq_len",), "prompts", ENGINES),
    (("seq_len",), "seq_len", "a model must be made fit for longer sequences"),
)
#: Error of a time per token where experts are of another shape than those that a stack was calibrated on: models left
#: out of a fit were up to a quarter off.
GUESS = "+-25%"
#: Most combinations of the axes that a condition depends on at which it is looked at, and most models that are named.
LARGEST, NAMED = 1 << 16, 3


def notes(result: Result) -> tuple[str, ...]:
    """Collect the notes: what would fit, what is too long, which memory was meant, whose stack it is, and the rest.

    Parameters
    ----------
    result : Result
        Of ``solve``.
    """
    binding = result._binding
    lines = (
        result.obstacle,
        *input_notes(binding),
        *_of_file(result),
        left_out(result),
        *_not_read(result),
        _as_run(result),
        _as_scheduled(result),
        _contradiction(result),
        _before(result),
        *caveats(binding, result._values),
        *_vain(result),
        *_idle(result),
    )
    return tuple(note for note in lines if note)


def input_notes(binding: Binding) -> Iterator[str]:
    """The notes that inputs give: too long, which memory is meant, whose stack; on a grid with the number of points."""
    yield from islice(_beyond_context(binding), None if binding.axes else 1)
    yield from _memory(binding)
    yield from _elsewhere(binding)
    yield from _without_stack(binding)
    yield from _other_experts(binding)


def _beyond_context(binding: Binding) -> Iterator[str]:
    """Say that sequences are longer than the model is made for; on a grid at how many points."""
    if "model" not in binding.entries:
        return
    entries = over(binding, "model")
    most = np.asarray(np.frompyfunc(longest, 1, 1)(entries), float)
    for names, each, said in lengths_of(binding.values):
        used = binding.values[each]
        tokens = sum(np.asarray(binding.values[name], float) for name in names)
        points = ""
        if _size(tokens, most, used) <= LARGEST:
            points = _points(binding, (tokens > most) & (np.asarray(used) > 0))
        if points and not binding.axes:
            (entry,) = entries.flat
            has = f"{tokens:,.0f} tokens, and {entry.key or entry.name} is made for"
            yield too_long(names, has, f"{most:,.0f}", said)
        elif points:
            made = [f"{e.key or e.name} ({longest(e):,.0f})" for e in entries.flat if longest(e) < np.max(tokens)]
            limit = ", ".join(made[:NAMED]) + f" and {len(made) - NAMED} others" * (len(made) > NAMED)
            yield f"{points}: {too_long(names, 'longer than the positions of', limit, said)}"


def lengths_of(inputs: Collection[str]) -> list[tuple[tuple[str, ...], str, str]]:
    """The inputs that add up to the tokens of a sequence, the one that says how many there are, and who minds."""
    found = [(names, each, said) for names, each, said in LENGTHS if all(name in inputs for name in (*names, each))]
    return [length for length in found if length[1] not in length[0]] or found[:1]


def longest(entry: Any) -> float:
    """The tokens that a model is made for; infinite where nobody says how many."""
    limit = entry.max_position_embeddings if isinstance(entry, TransformerWorkload) else None
    return math.inf if limit is None else float(limit.value)


def too_long(names: Sequence[str], tokens: str, limit: str, said: str) -> str:
    """A note on sequences that are too long."""
    return f"{' + '.join(names)} is {tokens} {limit} (max_position_embeddings): {said}"


def _memory(binding: Binding) -> Iterator[str]:
    """Name the reading of a memory that was taken, as it was typed or an entry has it."""
    if "memory_capacity" not in binding.values:
        return
    capacity, origin = np.asarray(binding.values["memory_capacity"], float), binding.origins["memory_capacity"]
    givers = {name: slot for name, slot in binding.model.givers["memory_capacity"] if name in binding.entries}
    if not capacity.ndim or origin == GIVEN:
        if capacity.size <= LARGEST:
            yield from _counted(binding, _each(lambda each: meant(origin, each), capacity))
    elif givers:
        name, slot = next(iter(givers.items()))
        found = _each(lambda each: meant(slot.value(each, "memory_capacity", ""), 0.0), over(binding, name))
        yield from _counted(binding, found)


def meant(given: Any, capacity: float) -> str:
    """Say whether a memory from this origin is 80 GB or 80 GiB; empty where a driver says it."""
    origin = given.origin if isinstance(given, FromRecipe) else given
    if origin == GIVEN:
        origin = memory_as_typed(Value.of(capacity / 1e9, "GB"))
    said = which_memory(origin) if isinstance(origin, Value) else ""
    return f"memory_capacity: {said[0].lower()}{said[1:].rstrip('.')}" if said else ""


def _elsewhere(binding: Binding) -> Iterator[str]:
    """That the constants of a stack are those of other devices."""
    found = {name: over(binding, name) for name in binding.entries} if "stack" in binding.entries else {}
    device = next((each for each in found.values() if each.flat[0].device is not None), None)
    if device is not None:
        yield from _counted(binding, _each(lambda stack, entry: of_others(stack, entry.device), found["stack"], device))


def of_others(stack: Any, device: Any) -> str:
    """That a stack is of other devices than this one; empty where it is not, or nobody says of which."""
    if not isinstance(stack, Stack) or not stack.devices or device is None:
        return ""
    known = {each.name: each.key or each.name for each in stack.devices}
    if device.name in known:
        return ""
    return (
        f"{stack.key or stack.name} is a stack of {' and '.join(known.values())}: how far off its constants are on "
        f"{device.key or device.name} was not measured"
    )


def _without_stack(binding: Binding) -> Iterator[str]:
    """That an engine has no stack for a device."""
    argument = argument_of(type(binding.model), Engine)
    if argument not in binding.entries or "stack" in binding.entries or "stack" not in binding.model.arguments:
        return
    found = {name: over(binding, name) for name in binding.entries}
    devices = next((each for each in found.values() if each.flat[0].device is not None), np.array(None, object))
    yield from _counted(binding, _each(_unknown, found[argument], devices))


def _unknown(engine: Any, entry: Any) -> str:
    """That an engine has no stack for the device of an entry; empty where it has one."""
    if entry is not None and stack_for(engine, entry.device) is not None:
        return ""
    known = ", ".join(stack.key for stack in stacks_of(engine.name) if stack.devices)
    device = "no device" if entry is None else entry.device.key or entry.device.name
    return f"no stack of {engine.name} knows {device}: its times are those of Generic" + f" (it has {known})" * bool(
        known
    )


def _other_experts(binding: Binding) -> Iterator[str]:
    """That the experts of a model are of another shape than those that a stack was calibrated on."""
    if "stack" in binding.entries and "model" in binding.entries:
        yield from _counted(binding, _each(_guessed, over(binding, "stack"), over(binding, "model")))


def _guessed(stack: Any, model: Any) -> str:
    """That times of the experts of a model are a guess; empty where a stack rests on such experts, or names none."""
    known = stack.expert_models if isinstance(stack, Stack) else ()
    if not known or not isinstance(model, SparseTransformerWorkload):
        return ""
    if any(_experts(each) == _experts(model) for each in known):
        return ""
    names = ", ".join(each.key or each.name for each in known)
    return (
        f"experts of {model.key or model.name} are of another shape than those of {names}, on which "
        f"{stack.key or stack.name} rests: a guess of {GUESS}"
    )


def _experts(model: Any) -> tuple[float | None, ...]:
    """Shape of the experts of a model."""
    named = (getattr(model, name, None) for name in ("experts", "active_experts_per_token", "expert_ffn_dim"))
    return tuple(None if value is None else value.value for value in named)


#: Fields for formats that a checkpoint names, arguments for them, outputs with their bytes, and what they are bytes of.
_STORED_AS = (
    ("weight_format", "weight_dtype", ("weight_bytes", "bytes_per_element"), STORED_WEIGHT, "weights"),
    ("kv_cache_format", "kv_cache_dtype", ("kv_cache_bytes",), STORED, "keys and values"),
)


def _of_file(result: Result) -> list[str]:
    """Say what the file of a model leaves out, and where its formats are not those that were counted."""
    entry = result.entries.get("model")
    if not isinstance(entry, TransformerWorkload):
        return []
    told = entry.layers.note and (entry.layers.kind == "user" or entry.measured_by)
    said = [f"{entry.name}: {entry.layers.note}"] if told else []
    known = ((name, getattr(entry, name, None)) for name in WEIGHT_PARTS if name in result.model.arguments)
    parts = {name: value for name, value in known if value is not None and value.canonical}
    # Training keeps its own copies, whatever a checkpoint stores.
    for field, argument, elements, table, what in () if "zero_stage" in result.model.arguments else _STORED_AS:
        if parts and what == "weights":
            said += _replaced(result, entry.name, parts)
            continue
        named, element = getattr(entry, field), next((name for name in elements if name in result), "")
        if named is None or named.value not in table or not element:
            continue
        stored, counted = float(table[named.value]), result.canonical(element)
        but = f" ({named.note})" if named.note else ""
        if abs(counted / stored - 1) < NOTHING and not but:
            continue
        remedy = f"; {argument}={named.value!r} counts them so" if argument in result.model.arguments else ""
        said.append(
            f"the file of {entry.name} stores {what} as {named.value}, {stored:.4g} B each{but}; "
            f"here each is {counted:.4g} B, {counted / stored:.3g} times as much{remedy}"
        )
    return said


def _replaced(result: Result, name: str, parts: Mapping[str, Value]) -> list[str]:
    """Say what a checkpoint stores where an argument says otherwise."""
    counted = result.canonical("weight_bytes")
    far = {part: value for part, value in parts.items() if abs(counted / value.canonical - 1) >= NOTHING}
    stored = ", ".join(
        f"{part.removesuffix('_bytes').replace('_', ' ')} {value.canonical:.4g} B" for part, value in far.items()
    )
    if any(result.canonical(part) for part in parts):
        return [f"weights are counted as {name} stores them ({stored}; others {counted:.4g} B)"] if far else []
    if not far:
        return []
    return [
        f"the file of {name} stores weights otherwise ({stored}); here each is {counted:.4g} B, as precision or "
        "weight_dtype says: without both they are counted as stored"
    ]


def left_out(result: Result) -> str:
    """Name what a recipe gives and the model has no argument for; empty where that is nothing."""
    return without_arguments(result.model, result.left_out)


def _not_read(result: Result) -> list[str]:
    """Name what files of recipes and traffic have and no argument expresses."""
    read = [entry for entry in result.entries.values() if isinstance(entry, Recipe | Traffic) and entry.not_read]
    return [f"of {name_of(entry)} is not read: {', '.join(entry.not_read)}" for entry in read]


def without_arguments(model: DeclaredModel, left_out: Sequence[str]) -> str:
    """That a model has no argument for some of what a recipe gives; empty where that is nothing."""
    names = ", ".join(left_out)
    return f"{type(model).__name__} ({model.variant}) takes no {names}, which the recipe gives" if names else ""


def _run_by(result: Result) -> str:
    """The variant that the recipe names; empty where there is none."""
    recipe = result.entries.get(recipe_argument(type(result.model)))
    return recipe.variants.get(result.model.command, "") if isinstance(recipe, Recipe) else ""


def _as_run(result: Result) -> str:
    """The variant that the recipe names: that it was taken, or what it says where another was chosen."""
    model, named = result.model, _run_by(result)
    if not named:
        return ""
    recipe: Any = result.entries[recipe_argument(type(model))]
    if model.variant == named:
        return "" if model.is_chosen else f"{type(model).__name__} answers by {named}, as {name_of(recipe)} was run"
    other = asked_again(result, named)
    if other is None or abs(other.canonical(model.answer) / result.canonical(model.answer) - 1) < MUCH:
        return ""
    said = as_text(variable_of(model.answer), other.canonical(model.answer))
    return f"{named}, as {name_of(recipe)} was run: {said} {variable_of(model.answer).label.lower()}"


def _as_scheduled(result: Result) -> str:
    """Say which engine chose the variant, and what the command line answered before it asked one."""
    model, engine = result.model, result.entries.get(argument_of(type(result.model), Engine))
    if not isinstance(engine, Engine) or model.is_chosen or model.variant != engine.variant.value:
        return ""
    said = f"{type(model).__name__} answers by {model.variant}, as {engine.name} schedules"
    first = next(iter(model.variants))
    if not model.assumed or model.variant == first:
        return said
    before = f"before, by {first}, with Generic where no stack is named: variant={first!r}, stack='Generic' ask so"
    return f"{said}; {before}"


def _contradiction(result: Result) -> str:
    """Answer of the measured variant where it decides otherwise, or is far off."""
    model = result.model
    if model.better is None or model.variant == model.measured():
        return ""
    other = asked_again(result, model.measured())
    if other is None or not _disagree(result, other, model.better):
        return ""
    return f"{model.measured()}, the measured variant: {_said(other, model.better)}"


def _before(result: Result) -> str:
    """Answer of the first variant where the one that was measured answers a call that names none."""
    model, first = result.model, next(iter(result.model.variants))
    if model.better is None or model.is_chosen or model.variant in (first, _run_by(result)):
        return ""
    other = asked_again(result, first)
    if other is None or not _disagree(result, other, model.better):
        return ""
    said = _said(other, model.better)
    return f"answered by {model.variant}, the measured variant; variant={first!r}, the tutorial's form: {said}"


def _disagree(one: Result, other: Result, better: Better) -> bool:
    """Tell whether two results differ in what a variant decides, or much in the number that it shows."""
    if one.canonical(better.decides) != other.canonical(better.decides):
        return True
    return abs(one.canonical(better.shows) - other.canonical(better.shows)) > MUCH * abs(one.canonical(better.shows))


def _said(result: Result, better: Better) -> str:
    """The number that a variant shows, in words, and whether it fits."""
    variable, decided = variable_of(better.shows), result[better.decides]
    text = as_text(variable, result.canonical(better.shows))
    if isinstance(decided, bool):
        return f"{text}, {'fits' if decided else 'does not fit'}"
    return f"{text} {variable.label.lower()}"


def caveats(binding: Binding, known: Mapping[str, Any]) -> Iterator[str]:
    """Caveats of the model that values of inputs and outputs meet, on a grid with those of the first such point."""
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
            told = {name: as_text(variable_of(name), element(values[name], at)) for name in caveat.told}
            yield f"{points}: {caveat.said.format(**told)}" if binding.axes else caveat.said.format(**told)


def _stored(binding: Binding, name: str) -> np.ndarray | None:
    """Fields of entries that no argument of the variant takes, 0 where one leaves it out; None without such a field."""
    for argument in binding.entries:
        entries = over(binding, argument)
        if name not in binding.model.arguments and any(name in type(entry).model_fields for entry in entries.flat):
            numbers = np.frompyfunc(lambda entry: _number(getattr(entry, name, None)), 1, 1)(entries)
            return np.asarray(numbers, float)
    return None


def _number(value: Any) -> float:
    return 0.0 if value is None else value.canonical


@lru_cache(maxsize=256)
def _names(caveat: Caveat) -> frozenset[str]:
    """Inputs and outputs that a caveat is about."""
    symbols = (symbol for symbol in caveat.where.free_symbols if not isinstance(symbol, Label))
    return frozenset({symbol.name for symbol in symbols} | caveat.told)


def _vain(result: Result) -> list[str]:
    """Arguments at a value that leaves what they are there for as it is."""
    found = []
    for name, (without, output) in result.model.savings.items():
        if name not in result or output not in result or result[name] == without:
            continue
        other = asked_again(result, result.model.variant, **{name: without})
        if other is None:
            continue
        saved, whole = other.canonical(output) - result.canonical(output), other.canonical(output)
        if saved < NOTHING * whole:
            variable = variable_of(output)
            much, all_of_it = as_text(variable, max(saved, 0.0)), as_text(variable, whole)
            found.append(f"{name}={result[name]} saves {much} of {all_of_it} {output}")
    return found


def _idle(result: Result) -> Iterator[str]:
    """Arguments that were typed and leave every number as it is without them, and what it takes that they do not."""
    model = result.model
    for name, asked in model.effective_with.items():
        if name not in result.input_names or result.origin(name) != GIVEN or name not in model.defaults:
            continue
        other = asked_again(result, model.variant, **{name: model.defaults[name]})
        shown = [each for each in model.headline if each in result]
        same = other is not None and all(other.canonical(each) == result.canonical(each) for each in shown)
        if same and other.canonical(name) != result.canonical(name):
            yield f"{name}={result[name]} has no effect without {asked}"


def over(binding: Binding, argument: str) -> np.ndarray:
    """The entries of an argument over the axes."""
    entries = binding.entries[argument]
    along = [argument == name or argument in (axis.members or {}) for name, axis in binding.axes.items()]
    found = np.empty(len(entries) if isinstance(entries, list) else 1, object)
    found[:] = entries
    return found.reshape([-1 if own else 1 for own in along] if isinstance(entries, list) else ())


def _each(text: Callable[..., str], *over: np.ndarray) -> np.ndarray:
    """A text at every place of arrays."""
    return np.asarray(np.frompyfunc(text, len(over), 1)(*over), object)


def _counted(binding: Binding, texts: np.ndarray) -> Iterator[str]:
    """Each of several texts, on a grid with how many points it is of."""
    for text in dict.fromkeys(texts.flat):
        if text:
            yield f"{_points(binding, texts == text)}: {text}" if binding.axes else text


def _size(*values: Any) -> int:
    return math.prod(np.broadcast_shapes(*map(np.shape, values)))


def _points(binding: Binding, met: np.ndarray) -> str:
    """At how many points of the grid a condition holds; empty where at none."""
    total = math.prod(binding.sizes)
    count = int(np.count_nonzero(met)) * (total // max(met.size, 1))
    return f"{count:,} of {total:,} points" if count else ""


def element(value: np.ndarray, at: tuple[Any, ...]) -> Any:
    """An element of an array that was broadcast to more dimensions, or the number where it is one."""
    index = tuple(place if size > 1 else 0 for place, size in zip(at[len(at) - value.ndim :], value.shape, strict=True))
    return value[index]
