"""Notes to read beside the numbers of a result, one line each."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Any

from mlsysim.catalog import Recipe, Stack, TransformerWorkload, Value, memory_as_typed, which_memory
from mlsysim.formats import STORED, STORED_WEIGHT
from mlsysim.inputs.binding import GIVEN
from mlsysim.inputs.declaration import Better, DeclaredModel
from mlsysim.inputs.recipe import FromRecipe, name_of, recipe_argument
from mlsysim.study.results.display import as_text
from mlsysim.study.results.infeasible import asked_again
from mlsysim.symbolic import variable_of

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
#: Most results of which notes are put together.
RESULTS = 8


def joint_notes(results: Sequence[Result], what: str = "design") -> tuple[str, ...]:
    """The notes of the first of several results, each once, with the numbers of those that it is of.

    Parameters
    ----------
    results : sequence of Result
        Of ``solve``, with one model.
    what : str
        What each of them is called.
    """
    first = results[:RESULTS]
    places: dict[str, list[int]] = {}
    for number, result in enumerate(first, start=1):
        for note in result.notes:
            places.setdefault(note, []).append(number)
    said = []
    for note, numbers in places.items():
        word = f"{what}{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"
        said.append(note if len(numbers) == len(results) else f"{note} ({word})")
    return tuple(said)


def notes(result: Result) -> tuple[str, ...]:
    """Collect the notes: what would fit, what is too long, which memory was meant, whose stack it is, and the rest.

    Parameters
    ----------
    result : Result
        Of ``solve``.
    """
    lines = (
        result.obstacle,
        _beyond_context(result),
        _memory(result),
        _elsewhere(result),
        *_of_file(result),
        left_out(result),
        _as_run(result),
        _contradiction(result),
        _before(result),
        *_caveats(result),
        *_vain(result),
    )
    return tuple(note for note in lines if note)


def _beyond_context(result: Result) -> str:
    """That sequences are longer than the model is made for; empty where they are not, or nobody says how long."""
    entry = result.entries.get("model")
    values = {name: result.canonical(name) for name in result.input_names} if entry is not None else {}
    for names, used, said in lengths(values):
        tokens = sum(values[name] for name in names)
        if used > 0 and tokens > longest(entry):
            name = entry.key or entry.name  # type: ignore[union-attr]
            return too_long(names, f"{tokens:,.0f} tokens, and {name} is made for", f"{longest(entry):,.0f}", said)
    return ""


def lengths(values: Mapping[str, Any]) -> list[tuple[tuple[str, ...], Any, str]]:
    """The inputs that add up to the tokens of a sequence, how many such sequences there are, and who minds."""
    return [(names, values[each], said) for names, each, said in lengths_of(values)]


def lengths_of(inputs: Collection[str]) -> list[tuple[tuple[str, ...], str, str]]:
    """The same for a model with these inputs, by their names."""
    found = [(names, each, said) for names, each, said in LENGTHS if all(name in inputs for name in (*names, each))]
    return [length for length in found if length[1] not in length[0]] or found[:1]


def longest(entry: Any) -> float:
    """The tokens that a model is made for; infinite where nobody says how many."""
    limit = entry.max_position_embeddings if isinstance(entry, TransformerWorkload) else None
    return inf if limit is None else float(limit.value)


def too_long(names: Sequence[str], tokens: str, limit: str, said: str) -> str:
    """A note on sequences that are too long."""
    return f"{' + '.join(names)} is {tokens} {limit} (max_position_embeddings): {said}"


def _memory(result: Result) -> str:
    """Say whether a memory of 80 GB is that many bytes, or 80 GiB; empty where a driver says it."""
    if "memory_capacity" not in result.input_names:
        return ""
    return meant(result.origin("memory_capacity"), result.canonical("memory_capacity"))


def meant(given: Any, capacity: float) -> str:
    """Say whether a memory from this origin is 80 GB or 80 GiB; empty where a driver says it."""
    origin = given.origin if isinstance(given, FromRecipe) else given
    if origin == GIVEN:
        origin = memory_as_typed(Value.of(capacity / 1e9, "GB"))
    said = which_memory(origin) if isinstance(origin, Value) else ""
    return f"memory_capacity: {said[0].lower()}{said[1:].rstrip('.')}" if said else ""


def _elsewhere(result: Result) -> str:
    """That the constants of a stack are those of other devices; empty where they are not, or nobody says of which."""
    stack = result.entries.get("stack")
    device = next((entry.device for entry in result.entries.values() if entry.device is not None), None)
    return of_others(stack, device)


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
    said = [f"{entry.name}: {entry.layers.note}"] if entry.layers.kind == "user" and entry.layers.note else []
    # Training keeps its own copies, whatever a checkpoint stores.
    for field, argument, elements, table, what in () if "zero_stage" in result.model.arguments else _STORED_AS:
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


def left_out(result: Result) -> str:
    """Name what a recipe gives and the model has no argument for; empty where that is nothing."""
    return without_arguments(result.model, result.left_out)


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


def _caveats(result: Result) -> list[str]:
    """Caveats of the model that such a result meets."""
    found = []
    for each in result.model.caveats:
        names = {symbol.name for symbol in each.where.free_symbols} | each.told
        if not all(name in result for name in names) or (each.variants and result.model.variant not in each.variants):
            continue
        values = {name: result.canonical(name) for name in names}
        if each.where.subs({symbol: values[symbol.name] for symbol in each.where.free_symbols}):
            told = {name: as_text(variable_of(name), value) for name, value in values.items()}
            found.append(each.said.format(**told))
    return found


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
