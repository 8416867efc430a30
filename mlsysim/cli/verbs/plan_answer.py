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

#: Options of one question, by the question.
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
    """Print the best layouts, and the commands of one."""
    question, words = (words[0], words[1:]) if "=" not in words[0] else ("serve", words)
    if question not in QUESTIONS:
        raise UnknownNameError("question of plan", question, QUESTIONS)
    chosen = {name: value for name, value in options.items() if value is not None}
    for name in chosen:
        if name not in OWN[question]:
            other = next(each for each in QUESTIONS if each != question)
            raise MlsysimError(f"--{name}: an option of `mlsysim plan {other}`")
    given = axes.arguments(ServingModel if question == "serve" else RunModel, words, shelf_of(catalog))
    places = {name: given.pop(name) for name in ("hardware", "fleet", "node") if name in given}
    for name, place in (("model", given.pop("model", None)), ("hardware", next(iter(places.values()), None))):
        if place is None:
            raise MissingInputError("plan", name, f"give {name}=...")
        chosen[name] = place
    if accelerators is not None:
        chosen["accelerators"] = accelerators
    elif question == "train":
        raise MissingInputError("plan", "--accelerators", "give how many there are")
    if "modes" in chosen:
        chosen["modes"] = [each.strip() for each in chosen["modes"].split(",")]
    found = (plan if question == "serve" else plan_training)(**chosen, top=top, **given)
    if found.layouts and not 1 <= show <= len(found):
        raise InputError("show", show, f"must be a layout of the table, from 1 to {len(found)}")
    basis = of_result(found[0].result, ["ttft_mean", "tpot_mean", "step_time"]) if found.layouts else None
    if as_json:
        print(json_text({**found.to_dict(), "basis": basis and basis.to_dict()}, 2))
    else:
        print(found.text())
        if found.layouts:
            print()
            print(printable(found.show(show)))
            print()
            print_basis(basis)
    if strict and not found.layouts:
        raise typer.Exit(Exit.INFEASIBLE)
