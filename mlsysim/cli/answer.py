"""Answer of a model's command, from the typed words to the printed table."""

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
    """Solve the model for the typed arguments and print the requested outputs, by default the headline."""
    if as_json and explain:
        raise MlsysimError("--json and --explain: choose one")
    for word in shown or ():
        if "=" in word:
            grid = f"`mlsysim sweep {words_for(model)}` takes {word}"
            raise MlsysimError(f"{quoted(word)}: options are --name value; {grid}")
    shelf = shelf_of(catalog)
    typed_options = {name: text for name, text in arguments.items() if text is not None}
    try:
        entries = {
            name: shelf.find(slot.entry.what, typed_options[name])
            for name, slot in model.slots.items()
            if name in typed_options
        }
        typed = {
            name: typed_text(model.arguments[name], text) for name, text in typed_options.items() if name not in entries
        }
        with or_first(model, variant, {**entries, **typed}):
            result = model.asked(variant).solve(**entries, **typed)
        names = result.model.named_outputs(shown) if shown else headline(result)
        explanation = result.explain(*names) if shown or explain else ""
    except MlsysimError as error:
        message = as_options(str(error), model.arguments)
        refused = getattr(error, "value", None)
        if (
            isinstance(refused, str)
            and refused in typed_options.values()
            and any(separator in refused for separator in ",:")
        ):
            words = " ".join(shlex.quote(f"{name}={text}") for name, text in typed_options.items())
            message += f"; several values: `mlsysim sweep {words_for(model)} {words}`"
        raise MlsysimError(message) from None
    basis = of_result(result, names if shown else ())
    if as_json:
        content = result.to_dict()
        outputs = {name: content["outputs"][name] for name in names} if shown else content["outputs"]
        print(json_text({**content, "outputs": outputs, "basis": basis.to_dict()}, 2))
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
    """List the headline outputs that the result has."""
    computed = {*result}
    return tuple(name for name in result.model.headline if name in computed)


def print_result(result: Result, names: Sequence[str], lost: Sequence[str], infinite: Sequence[str] = ()) -> None:
    """Print outputs as a table with their meanings, after any obstacle and before the outputs left out.

    Parameters
    ----------
    result : Result
        Result of ``solve``.
    names : sequence of str
        Outputs to print.
    lost : sequence of str
        Outputs that lack an argument.
    infinite : sequence of str
        Outputs that are only named, because they are infinite.
    """
    if result.entries:
        output.heading(", ".join(f"{argument}: {entry.name}" for argument, entry in result.entries.items()))
        if result.obstacle:
            output.paragraph(result.obstacle)
        print()
    finite = [name for name in names if name not in infinite]
    values = {name: result.canonical(name) for name in finite}
    output.listing(("Output", "Value", "Meaning"), listed(result.model, finite, values), numbers=("Value",))
    if infinite:
        output.paragraph(INFINITE.format(", ".join(infinite)))
    _print_inputs(result, names)
    for note in result.notes:
        if note != result.obstacle:
            output.paragraph(as_choices(note, ("variant", "stack")))
    if lost:
        absent = dict.fromkeys(option_name(argument) for name in lost for argument in result.missing_for(name))
        output.paragraph(f"Left out for want of {', '.join(absent)}: {', '.join(lost)}")


def _print_inputs(result: Result, names: Sequence[str]) -> None:
    """Print the given and assumed inputs on which the outputs depend; those at zero or off are only counted."""
    known = {*result.input_names}
    needed = {v.name: v for v in result.model.system.closure(names).inputs if v.name in known}
    if traffic := result.entries.get("traffic"):
        from_traffic = [needed[name] for name in traffic.values() if name in needed]
        texts = [
            f"{v.name}={as_text(v, result.canonical(v.name))}" for v in from_traffic if result.origin(v.name) != GIVEN
        ]
        output.paragraph(", ".join(texts), f"{'Traffic':<9}")
    for label, origin in (("Given", GIVEN), ("Assumed", DEFAULT)):
        printed = result.inputs_as(origin)
        inputs = [(name, printed[name]) for name in result.model.arguments if name in printed and name in needed]
        listed_inputs = [
            f"{name}={text}" for name, text in inputs if origin == GIVEN or not _is_nothing(result, name, text)
        ]
        hidden = len(inputs) - len(listed_inputs)
        counted = [f"{hidden} more that are 0, off or follow from others"] if hidden else []
        if listed_inputs or counted:
            output.paragraph(", ".join([*listed_inputs, *counted]), f"{label:<9}")
    for (argument, entry), names in result.by_default_entry(needed).items():
        texts = ", ".join(f"{name}={as_text(needed[name], result.canonical(name))}" for name in names)
        output.paragraph(f"{entry} (default): {texts}", f"{argument.capitalize():<8} ")


def _is_nothing(result: Result, name: str, text: str) -> bool:
    """Tell whether an input is 0, off, or follows another."""
    return text.startswith("as_") or (not variable_of(name).domain.labels and result.canonical(name) == 0)
