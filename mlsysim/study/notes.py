"""What a reader must know beside the numbers of a result, one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlsysim.catalog import Recipe
from mlsysim.errors import MlsysimError
from mlsysim.inputs.binding import GIVEN
from mlsysim.inputs.recipe import name_of, recipe_argument
from mlsysim.study.display import as_text, presented
from mlsysim.symbolic import variable_of

if TYPE_CHECKING:
    from mlsysim.study.result import Result

#: A saving below this share of the whole is none.
NOTHING = 0.01
#: From this share on, two answers disagree.
MUCH = 0.05


def notes(result: Result) -> tuple[str, ...]:
    """What a recipe gave in vain, what a better variant says, and arguments that cost time and save nothing.

    Parameters
    ----------
    result : Result
        Of ``solve``.
    """
    return tuple(note for note in (left_out(result), _as_run(result), _contradiction(result), *_vain(result)) if note)


def left_out(result: Result) -> str:
    """What a recipe gives and the model has no argument for; empty where that is nothing."""
    model, names = result.model, ", ".join(result.left_out)
    return f"{type(model).__name__} ({model.variant}) takes no {names}, which the recipe gives" if names else ""


def _as_run(result: Result) -> str:
    """The variant that the recipe names: that it was taken, or what it says where another was chosen."""
    model = result.model
    recipe = result.entries.get(recipe_argument(type(model)))
    if not isinstance(recipe, Recipe) or model.command not in recipe.variants:
        return ""
    named = recipe.variants[model.command]
    if model.variant == named:
        return "" if model.is_chosen else f"{type(model).__name__} answers by {named}, as {name_of(recipe)} was run"
    other = _asked_again(result, named)
    if other is None or abs(other.canonical(model.answer) / result.canonical(model.answer) - 1) < MUCH:
        return ""
    said = as_text(variable_of(model.answer), other.canonical(model.answer))
    return f"{named}, as {name_of(recipe)} was run: {said} {variable_of(model.answer).label.lower()}"


def _contradiction(result: Result) -> str:
    """What the better variant says where it decides otherwise."""
    better = result.model.better
    if better is None or result.model.variant == better.variant:
        return ""
    other = _asked_again(result, better.variant)
    if other is None or other.canonical(better.decides) == result.canonical(better.decides):
        return ""
    decided = other[better.decides]
    if isinstance(decided, bool):
        said = "fits" if decided else "does not fit"
        return f"{better.variant}: {as_text(variable_of(better.shows), other.canonical(better.shows))}, {said}"
    variable = variable_of(better.decides)
    return f"{better.variant}: {as_text(variable, other.canonical(better.decides))} {variable.label.lower()}"


def _vain(result: Result) -> list[str]:
    """Arguments at a value that leaves what they are there for as it is."""
    found = []
    for name, (without, output) in result.model.savings.items():
        if name not in result.inputs or output not in result.outputs or result.inputs[name] == without:
            continue
        other = _asked_again(result, result.model.variant, **{name: without})
        if other is None:
            continue
        saved, whole = other.canonical(output) - result.canonical(output), other.canonical(output)
        if saved < NOTHING * whole:
            variable = variable_of(output)
            much, all_of_it = as_text(variable, max(saved, 0.0)), as_text(variable, whole)
            found.append(f"{name}={result.inputs[name]} saves {much} of {all_of_it} {output}")
    return found


def _asked_again(result: Result, variant: str, **changed: Any) -> Result | None:
    """The same question to another variant, or with other arguments; None where that has no answer."""
    model: Any = type(result.model)(variant)
    given = {
        name: presented(variable_of(name), result.canonical(name))
        for name in result.inputs
        if result.origin(name) == GIVEN and name in model.arguments
    }
    typed = [name for name in result.entries if name not in result.by_recipe]
    entries = {name: result.entries[name] for name in typed if name in model.arguments}
    try:
        return model.solve(**{**entries, **given, **changed})
    except MlsysimError:
        return None
