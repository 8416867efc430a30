"""Arguments of a model's command as plain data; stored for built-in models, so that help does not import sympy."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from mlsysim.models.registry import Listed, Registry, ours

CATALOG, INPUTS, OVERRIDES, ANSWER = "From the catalog", "Inputs", "In place of the catalog", "Options"

#: Stored forms of the built-in models; ``python -m mlsysim.cli.form_of`` prints them.
STORED = Path(__file__).with_name("forms.json")


@dataclass(frozen=True)
class Choice:
    """One option of a command, standing for an argument of the model.

    Attributes
    ----------
    name : str
        Name of the argument.
    text, metavar : str
        Help text, and placeholder for a value.
    panel : str
        Heading under which help lists it.
    offered : tuple of str
        Values that have names: catalog entries, labels, or yes and no.
    """

    name: str
    text: str
    metavar: str
    panel: str
    offered: tuple[str, ...] = ()


@dataclass(frozen=True)
class Form:
    """A model's command as data, without the model.

    Attributes
    ----------
    command, help : str
        Name of the command, and text above its options.
    choices : tuple of Choice
        Arguments of the model.
    common : tuple of str
        Arguments that the short help lists.
    given : mapping
        Inputs supplied by a catalog entry, in words, per argument that takes an entry.
    variants, outputs : tuple of str
        Names of the variants, the default one first, and names of the outputs.
    strict : bool
        True if an answer can be infeasible.
    """

    command: str
    help: str
    choices: tuple[Choice, ...]
    common: tuple[str, ...]
    given: Mapping[str, str]
    variants: tuple[str, ...]
    outputs: tuple[str, ...]
    strict: bool

    def offered(self, argument: str) -> tuple[str, ...]:
        """List the values of an argument that have names."""
        return next((choice.offered for choice in self.choices if choice.name == argument), ())

    @property
    def arguments(self) -> tuple[str, ...]:
        """Names of the arguments."""
        return tuple(choice.name for choice in self.choices)


def form(listed: Listed, registry: Registry) -> Form:
    """Return a model's form: the stored one of a built-in model, else built from the model."""
    if listed in ours():
        return _stored()[listed.name]
    from mlsysim.cli.form_of import form_of

    return form_of(listed.load(), registry.program(listed.command), registry.beside(listed))


@cache
def _stored() -> Mapping[str, Form]:
    """Forms of the built-in models, by class."""
    return {name: _read(fields) for name, fields in json.loads(STORED.read_text(encoding="utf-8")).items()}


def _read(stored: dict[str, Any]) -> Form:
    choices = tuple(Choice(**{**fields, "offered": tuple(fields["offered"])}) for fields in stored["choices"])
    lists = {name: tuple(value) for name, value in stored.items() if isinstance(value, list)}
    return Form(**{**stored, **lists, "choices": choices})
