"""Answer of ``mlsysim plan``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from mlsysim.advice.plan import plan
from mlsysim.advice.plan_training import plan_training
from mlsysim.cli import axes
from mlsysim.cli.exits import Exit
from mlsysim.cli.foot import print_basis
from mlsysim.cli.verbs.plan import QUESTIONS
from mlsysim.cli.words import in_options, shelf_of
from mlsysim.errors import InputError, MissingInputError, MlsysimError, UnknownNameError, printable
from mlsysim.jsontext import json_text
from mlsysim.models import RunModel, ServingModel
from mlsysim.study.results.basis import of_result

#: Options that only one question has, by question.
OWN = {"serve": ("engine", "modes"), "train": ("framework", "confidence")}


@in_options(("accelerators", "engine", "modes", "framework", "confidence", "top", "show"))
def answer(
    words: Sequence[str],
    accelerators: int | None,
    options: Mapping[str, Any],
    *,
    top: int,
    show: int,
    as_json: bool,
    strict: bool,
    catalog: Path | None,
) -> None:
    """Print the best layouts, and the launch commands of one."""
    question, words = (words[0], words[1:]) if "=" not in words[0] else ("serve", words)
    if question not in QUESTIONS:
        raise UnknownNameError("question of plan", question, QUESTIONS)
    chosen = {name: value for name, value in options.items() if value is not None}
    for name in chosen:
        if name not in OWN[question]:
            other = next(name for name in QUESTIONS if name != question)
            raise MlsysimError(f"--{name}: an option of `mlsysim plan {other}`")
    arguments = axes.arguments(ServingModel if question == "serve" else RunModel, words, shelf_of(catalog))
    machines = {name: arguments.pop(name) for name in ("hardware", "fleet", "node") if name in arguments}
    for name, entry in (("model", arguments.pop("model", None)), ("hardware", next(iter(machines.values()), None))):
        if entry is None:
            raise MissingInputError("plan", name, f"give {name}=...")
        chosen[name] = entry
    if accelerators is not None:
        chosen["accelerators"] = accelerators
    elif question == "train":
        raise MissingInputError("plan", "--accelerators", "give how many there are")
    if "modes" in chosen:
        chosen["modes"] = [mode.strip() for mode in chosen["modes"].split(",")]
    layouts = (plan if question == "serve" else plan_training)(**chosen, top=top, **arguments)
    if layouts.layouts and not 1 <= show <= len(layouts):
        raise InputError("show", show, f"must be a layout of the table, from 1 to {len(layouts)}")
    basis = of_result(layouts[0].result, ["ttft_mean", "tpot_mean", "step_time"]) if layouts.layouts else None
    if as_json:
        print(json_text({**layouts.to_dict(), "basis": basis and basis.to_dict()}, 2))
    else:
        print(layouts.text())
        if layouts.layouts:
            print()
            print(printable(layouts.show(show)))
            print()
            print_basis(basis)
    if strict and not layouts.layouts:
        raise typer.Exit(Exit.INFEASIBLE)
