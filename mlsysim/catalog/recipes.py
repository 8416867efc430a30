"""Recipes: a published training run with its model, machines, layout, formats, batch and stack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import pydantic

from mlsysim.catalog.entries import Accelerator, Entry, Fleet, TransformerWorkload
from mlsysim.catalog.stacks import Stack
from mlsysim.catalog.value import CALLER, Choice, Sourced, Value
from mlsysim.errors import CatalogError


def _setting(content: Any) -> Sourced:
    """Convert an argument's value: a number, text with a unit, or a word; ``True`` and ``False`` become yes and no."""
    if isinstance(content, Sourced):
        return content
    if not isinstance(content, Mapping | str | bool):
        return Value.of(content)
    own = {"source": CALLER, "date": "", "kind": "user"}
    fields = dict(content) if isinstance(content, Mapping) else {**own, "value": content}
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
    """A training run: catalog entries, and arguments of training models.

    Arguments of a call override the recipe, and the recipe overrides its entries and defaults.

    Parameters
    ----------
    model : TransformerWorkload, optional
        Trained model.
    hardware, fleet : Accelerator and Fleet, optional
        Machines of the run; a fleet includes its accelerators.
    stack : Stack, optional
        Software stack.
    variants : dict
        Variant that describes the run, by command, for models whose first variant does not.
    arguments : dict
        Further arguments by name: numbers, quantities as text, words, yes and no.
    not_read : tuple of str
        Options of the source file that no argument expresses.

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
        """Catalog entries of the recipe, by argument."""
        entries = {"model": self.model, "hardware": self.hardware, "fleet": self.fleet, "stack": self.stack}
        return {name: entry for name, entry in entries.items() if entry is not None}

    @property
    def accelerators(self) -> Value | None:
        """Number of devices, if stated by the recipe or its fleet."""
        size = self.arguments.get("fleet_size")
        if isinstance(size, Value):
            return size
        return None if self.fleet is None else self.fleet.value_of("fleet_size", "")

    def keys(self) -> tuple[str, ...]:
        """Return the name of the argument that the recipe stands for: ``solve(**run)`` is ``solve(recipe=run)``."""
        return ("recipe",)

    def __getitem__(self, name: str) -> Recipe:
        """Return the recipe itself, as the argument ``recipe``."""
        if name != "recipe":
            raise KeyError(name)
        return self

    def text(self, name: str, digits: int = 6) -> str:
        """See :meth:`Entry.text`."""
        return self.arguments[name].text(digits)

    def values(self) -> dict[str, Any]:
        """Return the arguments by name, each a :class:`Value` or a :class:`Choice`, without those of its entries."""
        return dict(self.arguments)

    def __repr__(self) -> str:
        entries = ", ".join(f"{name}={entry.key or entry.name}" for name, entry in self.entries.items())
        arguments = ", ".join(f"{name}={self.text(name)}" for name in self.arguments)
        return f"<Recipe {self.name}: {', '.join(filter(None, (entries, arguments)))}>"

    __str__ = __repr__

    __hash__ = Entry.__hash__
