"""Answer of ``mlsysim solve-for``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from mlsysim.cli import axes, output
from mlsysim.cli.exits import Exit
from mlsysim.cli.foot import print_basis, with_basis
from mlsysim.cli.summary import print_sweep
from mlsysim.cli.words import as_choices, in_options, shelf_of
from mlsysim.errors import InputError, quoted
from mlsysim.inputs.recipe import as_run
from mlsysim.models import PerformanceModel
from mlsysim.study.inverse.solution import Solution
from mlsysim.study.inverse.targets import unknown_name, with_unit
from mlsysim.study.results.basis import at_point, of_result
from mlsysim.symbolic import variable_of
from mlsysim.symbolic.family import families_among

_WORD = re.compile(r"\s*([\w-]+)\s*(<=|>=|==|!=|<|>|=)\s*(.*)", re.S)


def answer(
    kind: type[PerformanceModel],
    words: Sequence[str],
    *,
    unknown: str,
    subject_to: Sequence[str] | None,
    variant: str | None,
    catalog: Path | None,
    as_json: bool,
    strict: bool,
    **options: Any,
) -> None:
    """Print the value of one argument that meets the targets; for a grid, a table of values."""
    name = unknown.replace("-", "_")
    replacements = {r"^unknown=": "the argument asked for, "}
    with in_options(["which", "subject_to"], ("which",), replacements):
        arguments, targets, conditions = _sorted(kind.asked(variant), words)
        # A condition typed as a word is called a target in errors.
        replacements |= {rf"--subject-to (?={re.escape(quoted(word))}: )": "target " for word in conditions}
        inputs = axes.arguments(kind, arguments, shelf_of(catalog))
        model = as_run(kind.asked(variant), inputs)
        solution = model.solve_for(name, subject_to=[*conditions, *(subject_to or ())], **options, **inputs, **targets)
    about = [*targets, *(name for condition in conditions for name in re.findall(r"\w+", condition))]
    if isinstance(solution, Solution):
        basis = of_result(solution.result, about) if solution.result else at_point(model, inputs, about, free=[name])
        if as_json:
            print(with_basis(solution.to_dict(), basis))
        else:
            output.block(as_choices(solution.text(), ("variant",)))
            print_basis(basis)
        missing = solution.value is None
    else:
        basis = at_point(model, inputs, about, free=[name])
        if as_json:
            print(with_basis(solution.to_dict(), basis))
        else:
            print_sweep(solution, name)
            print_basis(basis)
        missing = bool(solution[name].isnull().any())
    if strict and missing:
        raise typer.Exit(Exit.INFEASIBLE)


def _sorted(model: PerformanceModel, words: Sequence[str]) -> tuple[list[str], dict[str, Any], list[str]]:
    """Separate words into arguments, target values of outputs, and conditions."""
    arguments: list[str] = []
    targets: dict[str, Any] = {}
    conditions: list[str] = []
    names = {*type(model).arguments, *families_among(type(model).arguments)}
    for word in words:
        matched = _WORD.match(word)
        name = matched[1].replace("-", "_") if matched else ""
        if matched is None or name in model.arguments or (matched[2] == "=" and (name in names or ";" in matched[3])):
            arguments.append(word)
        elif matched[2] != "=" and name in model.system:
            conditions.append(f"{name} {with_unit(variable_of(name), f'{matched[2]} {matched[3]}')}")
        elif matched[2] != "=":
            conditions.append(word)
        elif name in targets:
            raise InputError(name, matched[3], "is given twice", "write both as conditions, in quotes")
        elif name in model.system:
            targets[name] = _values(matched[3])
        else:
            raise unknown_name(model, name)
    return arguments, targets, conditions


def _values(text: str) -> Any:
    """Parse target values of an output, separated by commas."""
    values = [_number(number.strip()) for number in text.split(",")]
    return values if len(values) > 1 else values[0]


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text
