"""Answer of ``mlsysim what-fits``."""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mlsysim.advice.fit_table import ROWS
from mlsysim.advice.what_fits import FINETUNING, FORMATS, what_fits
from mlsysim.catalog import Catalog
from mlsysim.cli import output
from mlsysim.cli.words import in_options, shelf_of, typed_text
from mlsysim.errors import InputError, MlsysimError, UnknownNameError
from mlsysim.models import IterationModel, TrainingMemoryModel

#: Arguments of the function that are options of the command.
OPTIONS = ("memory", "context", "batch", "formats", "finetuning")


def answer(
    names: Sequence[str],
    *,
    context: str | None,
    formats: str | None,
    finetuning: str | None,
    serving_stack: str,
    training_stack: str,
    sort: str | None,
    everything: bool,
    as_json: bool,
    as_csv: bool,
    catalog: Path | None,
    **options: Any,
) -> None:
    """Print what fits, as a table, CSV or JSON."""
    shelf = shelf_of(catalog)
    entries, settings = _read(names, shelf)
    if not entries and options["memory"] is None:
        raise MlsysimError("name a device or a model, or give free memory, as in --memory 21GB")
    with in_options(OPTIONS, ("formats", "finetuning")):
        table = what_fits(
            **entries,
            **options,
            context=typed_text(None, context) if context else None,
            formats=_list(formats, FORMATS),
            finetuning=_list(finetuning, FINETUNING),
            serving_stack=shelf.find("stack", serving_stack),
            training_stack=shelf.find("stack", training_stack),
            catalog=shelf,
            **settings,
        )
    if as_json:
        print(table.to_json())
    elif as_csv:
        rows = table.records()
        writer = csv.DictWriter(sys.stdout, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    else:
        title, _, text = table.text(sort, None if everything else ROWS).partition("\n")
        output.heading(title)
        print(text)


def _read(words: Sequence[str], shelf: Catalog) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """Separate words into catalog entries, by argument, and further arguments."""
    entries: dict[str, list[Any]] = {}
    settings: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            for part in filter(None, word.split(",")):
                argument, entry = _entry(part, shelf)
                entries.setdefault(argument, []).append(entry)
            continue
        name = name.strip().replace("-", "_")
        if name in settings:
            raise InputError(name, text, "is given twice")
        variable = TrainingMemoryModel.arguments.get(name) or IterationModel.arguments.get(name)
        settings[name] = typed_text(variable, text.strip())
    return entries, settings


def _entry(word: str, shelf: Catalog) -> tuple[str, Any]:
    """Look up a device, or else a model, by name."""
    close: list[str] = []
    for argument in ("model",) if "/" in word else ("hardware", "model"):
        try:
            return argument, shelf.find(argument, word)
        except UnknownNameError as error:
            if "/" in word:
                raise
            close += error.suggestions[:2]
    raise UnknownNameError("device or model", word, close, close=close)


def _list(text: str | None, usual: tuple[str, ...]) -> tuple[str, ...]:
    return usual if text is None else tuple(part.strip() for part in text.split(",") if part.strip())
