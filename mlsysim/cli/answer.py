"""The answer of a model in a terminal: from the words that were typed to the table."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import typer

from mlsysim.cli import output
from mlsysim.cli.exits import Exit
from mlsysim.cli.foot import print_basis
from mlsysim.cli.words import as_choices, as_options, or_first, shelf_of, typed_text
from mlsysim.errors import MlsysimError, quoted
from mlsysim.inputs.binding import DEFAULT, GIVEN
from mlsysim.inputs.spellings import option_name
from mlsysim.jsontext import json_text
from mlsysim.models import PerformanceModel
from mlsysim.models.registry import words_for
from mlsysim.study.results.basis import of_result
from mlsysim.study.results.display import INFINITE, as_text, endless, listed
from mlsysim.study.results.result import Result
from mlsysim.symbolic import variable_of


def answer(
    model: type[PerformanceModel],
    /,
    *,
    variant: str | None,
    catalog: Path | None,
    as_json: bool,
    explain: bool,
    shown: list[str] | None = None,
    strict: bool = False,
    **arguments: str | None,
) -> None:
    """Solve the model at what was typed, and print the outputs that were asked for; by default the headline."""
    if as_json and explain:
        raise MlsysimError("--json and --explain: choose one")
    for word in shown or ():
        if "=" in word:
            grid = f"`mlsysim sweep {words_for(model)}` takes {word}"
            raise MlsysimError(f"{quoted(word)}: options are --name value; {grid}")
    shelf = shelf_of(catalog)
    given = {name: text for name, text in arguments.items() if text is not None}
    try:
        entries = {
            name: shelf.find(slot.entry.what, given[name]) for name, slot in model.slots.items() if name in given
        }
        typed = {name: typed_text(model.arguments[name], text) for name, text in given.items() if name not in entries}
        with or_first(model, variant, {**entries, **typed}):
            result = model.asked(variant).solve(**entries, **typed)
        names = result.model.named_outputs(shown) if shown else headline(result)
        explanation = result.explain(*names) if shown or explain else ""
    except MlsysimError as error:
        message = as_options(str(error), model.arguments)
        refused = getattr(error, "value", None)
        if isinstance(refused, str) and refused in given.values() and any(each in refused for each in ",:"):
            words = " ".join(shlex.quote(f"{name}={text}") for name, text in given.items())
            message += f"; several values: `mlsysim sweep {words_for(model)} {words}`"
        raise MlsysimError(message) from None
    basis = of_result(result, names if shown else ())
    if as_json:
        found = result.to_dict()
        outputs = {name: found["outputs"][name] for name in names} if shown else found["outputs"]
        print(json_text({**found, "outputs": outputs, "basis": basis.to_dict()}, 2))
    else:
        computed = {*result}
        lost = [name for name in result.model.headline if name not in computed]
        print_result(result, names, () if shown else lost, () if shown else endless(result, names))
        print_basis(basis)
        if explain:
            print()
            output.block(str(explanation))
    if strict and not result.feasible:
        raise typer.Exit(Exit.INFEASIBLE)


def headline(result: Result) -> tuple[str, ...]:
    """The headline outputs that this result has."""
    computed = {*result}
    return tuple(name for name in result.model.headline if name in computed)


def print_result(result: Result, names: Sequence[str], lost: Sequence[str], infinite: Sequence[str] = ()) -> None:
    """Print outputs of a result as a table, with what each means; first why it has none, if so, and last what it lacks.

    Parameters
    ----------
    result : Result
        Of ``solve``.
    names : sequence of str
        Its outputs to print.
    lost : sequence of str
        Outputs that it lacks for want of an argument.
    infinite : sequence of str
        Of the outputs those that are only named.
    """
    if result.entries:
        output.heading(", ".join(f"{argument}: {entry.name}" for argument, entry in result.entries.items()))
        if result.obstacle:
            output.paragraph(result.obstacle)
        print()
    told = [name for name in names if name not in infinite]
    values = {name: result.canonical(name) for name in told}
    output.listing(("Output", "Value", "Meaning"), listed(result.model, told, values), numbers=("Value",))
    if infinite:
        output.paragraph(INFINITE.format(", ".join(infinite)))
    _print_inputs(result, names)
    for note in result.notes:
        if note != result.obstacle:
            output.paragraph(as_choices(note, ("variant", "stack")))
    if lost:
        absent = dict.fromkeys(option_name(each) for name in lost for each in result.missing_for(name))
        output.paragraph(f"Left out for want of {', '.join(absent)}: {', '.join(lost)}")


def _print_inputs(result: Result, names: Sequence[str]) -> None:
    """Print what was given and what was assumed, as far as the outputs depend on it; what is nothing only counts."""
    known = {*result.input_names}
    needed = {v.name: v for v in result.model.system.closure(names).inputs if v.name in known}
    if traffic := result.entries.get("traffic"):
        told = [needed[name] for name in traffic.values() if name in needed]
        texts = [f"{v.name}={as_text(v, result.canonical(v.name))}" for v in told if result.origin(v.name) != GIVEN]
        output.paragraph(", ".join(texts), f"{'Traffic':<9}")
    for said, origin in (("Given", GIVEN), ("Assumed", DEFAULT)):
        found = result.inputs_as(origin)
        inputs = [(name, found[name]) for name in result.model.arguments if name in found and name in needed]
        shown = [f"{n}={text}" for n, text in inputs if origin == GIVEN or not _is_nothing(result, n, text)]
        rest = len(inputs) - len(shown)
        counted = [f"{rest} more that are 0, off or follow from others"] if rest else []
        if shown or counted:
            output.paragraph(", ".join([*shown, *counted]), f"{said:<9}")
    for (argument, entry), names in result.by_default_entry(needed).items():
        texts = ", ".join(f"{name}={as_text(needed[name], result.canonical(name))}" for name in names)
        output.paragraph(f"{entry} (default): {texts}", f"{argument.capitalize():<8} ")


def _is_nothing(result: Result, name: str, text: str) -> bool:
    """Tell whether an input is 0, off, or as others have it."""
    return text.startswith("as_") or (not variable_of(name).domain.labels and result.canonical(name) == 0)
