"""Recipes: a training run as it was published, model, machines, layout, formats, batch and stack together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import pydantic

from mlsysim.catalog.entries import Accelerator, Entry, Fleet, TransformerWorkload
from mlsysim.catalog.stacks import Stack
from mlsysim.catalog.value import CALLER, Choice, Sourced, Value
from mlsysim.errors import CatalogError


def _setting(given: Any) -> Sourced:
    """A value of an argument: a number, with its unit as text, or a word; ``True`` and ``False`` are yes and no."""
    if isinstance(given, Sourced):
        return given
    if not isinstance(given, Mapping | str | bool):
        return Value.of(given)
    own = {"source": CALLER, "date": "", "kind": "user"}
    fields = dict(given) if isinstance(given, Mapping) else {**own, "value": given}
    value = fields.get("value")
    if isinstance(value, bool):
        return Choice(**{**fields, "value": "yes" if value else "no"})
    if not isinstance(value, str):
        return Value(**fields)
    number, _, unit = value.strip().partition(" ")
    try:
        return Value(**{"unit": unit.strip(), **fields, "value": float(number)})
    except ValueError as error:
        if isinstance(error, CatalogError):
            raise
        return Choice(**fields)


Setting = Annotated[Sourced, pydantic.BeforeValidator(_setting)]


class Recipe(Entry):
    """A training run: catalog entries, and values of the arguments of training models.

    What a call gives wins over the recipe, and the recipe wins over the entries it names and over defaults.

    Parameters
    ----------
    model : TransformerWorkload, optional
        What is trained.
    hardware, fleet : Accelerator and Fleet, optional
        What it is trained on; a fleet has accelerators of its own.
    stack : Stack, optional
        By which software.
    variants : dict
        For models by command, the variant that describes the run, where that is not their first.
    arguments : dict
        The rest by argument: numbers, quantities as text, words, yes and no.
    not_read : tuple of str
        Options of the file that it was read from which no argument expresses.

    Examples
    --------
    >>> from mlsysim import DistributedModel, Recipes
    >>> sorted(Recipes.torchtitan_issue_1624.entries)
    ['hardware', 'model', 'stack']
    """

    what: ClassVar[str] = "recipe"

    model: TransformerWorkload | None = None
    hardware: Accelerator | None = None
    fleet: Fleet | None = None
    stack: Stack | None = None
    variants: dict[str, str] = pydantic.Field(default_factory=dict)
    arguments: dict[str, Setting] = pydantic.Field(default_factory=dict)
    not_read: tuple[str, ...] = ()

    @property
    def entries(self) -> dict[str, Entry]:
        """The entries it names, by argument."""
        named = {"model": self.model, "hardware": self.hardware, "fleet": self.fleet, "stack": self.stack}
        return {name: entry for name, entry in named.items() if entry is not None}

    @property
    def accelerators(self) -> Value | None:
        """Number of devices it runs on, where it says so or its fleet does."""
        given = self.arguments.get("fleet_size")
        if isinstance(given, Value):
            return given
        return None if self.fleet is None else self.fleet.value_of("fleet_size", "")

    def keys(self) -> tuple[str, ...]:
        """The one argument that it is: ``solve(**run)`` is ``solve(recipe=run)``."""
        return ("recipe",)

    def __getitem__(self, name: str) -> Recipe:
        """Itself, as the argument of that name."""
        if name != "recipe":
            raise KeyError(name)
        return self

    def text(self, name: str, digits: int = 6) -> str:
        """See :meth:`Entry.text`."""
        return self.arguments[name].text(digits)

    def values(self) -> dict[str, Any]:
        """Its arguments by name, each a :class:`Value` or a :class:`Choice`; not those of the entries it names."""
        return dict(self.arguments)

    def __repr__(self) -> str:
        named = ", ".join(f"{name}={entry.key or entry.name}" for name, entry in self.entries.items())
        given = ", ".join(f"{name}={self.text(name)}" for name in self.arguments)
        return f"<Recipe {self.name}: {', '.join(filter(None, (named, given)))}>"

    __str__ = __repr__

    __hash__ = Entry.__hash__
