"""Slots: arguments that take a catalog entry, and the inputs the entry gives."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from mlsysim.backends import compiled
from mlsysim.catalog import Entry, Value, builtin
from mlsysim.catalog.value import Choice
from mlsysim.symbolic import Formula, System
from mlsysim.tracebacks import at_the_call


@dataclass(frozen=True, eq=False)
class Counted:
    """Inputs that follow from the others of an entry, by formula.

    Parameters
    ----------
    names : tuple of str
        Inputs that are counted.
    formulas : tuple of Formula
        Formulas that count them.
    absent : mapping
        For an input of these formulas, its value if an entry does not give it.
    parts : mapping
        Inputs that follow from an entry within the entry, by the name of the count there, and the field that holds it.
    rounding : float
        Share by which a published number of two digits may differ from the count; beyond it the number is a name, and
        the count holds.
    """

    names: tuple[str, ...]
    formulas: tuple[Formula, ...]
    absent: Mapping[str, Any]
    parts: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    rounding: float = math.inf

    def replaces(self, published: Value | None, entry: Entry, name: str) -> Value | None:
        """Count in place of no number, or of one that is a name; otherwise the number given."""
        if published is None:
            return self.value(entry, name)
        if name not in self.names or published.kind == "user" or not math.isfinite(self.rounding):
            return published
        counted = self.value(entry, name) if published.value == float(f"{published.value:.1e}") else None
        return published if counted is None or abs(published.value / counted.value - 1) <= self.rounding else counted

    def value(self, entry: Entry, name: str) -> Value | None:
        """Count that an entry does not give; None if the entry gives too little to count by."""
        if name in self.parts:
            count, holder = self.parts[name]
            part = getattr(entry, holder, None)
            return None if part is None else part.value_of(count, "") or self._counted(part, count)
        return self._counted(entry, name) if name in self.names else None

    def _counted(self, entry: Entry, name: str) -> Value | None:
        system = _system(self.formulas)
        inputs = {}
        for variable in system.inputs:
            value = entry.value_of(variable.name, "") or self.value(entry, variable.name)
            if value is None and variable.name not in self.absent:
                return None
            inputs[variable.name] = float(self.absent[variable.name]) if value is None else value.canonical
        return Value.of(compiled(system)(inputs)[name], source=f"counted from the shape of {entry.name}")


@lru_cache(maxsize=16)
def _system(formulas: tuple[Formula, ...]) -> System:
    return System(formulas)


@at_the_call
@dataclass(frozen=True)
class Slot:
    """Argument that takes a catalog entry.

    Parameters
    ----------
    entry : type
        Class of entry.
    provides : tuple of str
        Inputs it gives; each can be overridden by a keyword of the same name.
    needs : str
        Property that an entry of another class lacks, for the error.
    optional : bool
        True if it may be left out, together with the outputs that need it.
    extras : tuple of str
        Further inputs it gives. If an entry has no value for one, outputs that need it are left out.
    counted : Counted, optional
        Inputs that are counted from the others where an entry does not give them.
    default : str
        Name of the entry that gives inputs without a keyword, an entry that was given, or a default of the model;
        empty for none.
    strict : bool
        True if a variant refuses it unless a formula needs an input that it gives.
    asks : tuple of str
        For a strict one, or one with a default, inputs of which a variant must need one to take it; all inputs that
        it gives if left out.
    prefix : str
        Beginning of the names of inputs of a second part of the model, which has number formats of its own:
        ``rollout_efficiency`` is the ``efficiency`` of the entry at ``rollout_precision``.

    Examples
    --------
    >>> from mlsysim import KernelModel
    >>> slot = KernelModel.slots["hardware"]
    >>> slot.entry.__name__, slot.by_name
    ('Accelerator', False)
    """

    entry: type[Entry]
    provides: tuple[str, ...]
    needs: str = ""
    optional: bool = False
    extras: tuple[str, ...] = ()
    counted: Counted | None = None
    default: str = ""
    strict: bool = False
    asks: tuple[str, ...] = ()
    prefix: str = ""

    def part(self, name: str) -> str:
        """The prefix of an input of the second part of the model; empty for the others.

        Parameters
        ----------
        name : str
            Name of an input.

        Returns
        -------
        str
        """
        return self.prefix if name.startswith(self.prefix) else ""

    def field(self, name: str) -> str:
        """The name under which an entry has an input.

        Parameters
        ----------
        name : str
            Name of an input.

        Returns
        -------
        str
        """
        return name.removeprefix(self.prefix)

    def by_format(self, name: str) -> bool:
        """Tell whether a number format chooses what an entry gives for an input.

        Parameters
        ----------
        name : str
            Name of an input.

        Returns
        -------
        bool
        """
        return self.field(name) in self.entry.by_precision

    @cached_property
    def gives(self) -> tuple[str, ...]:
        """All inputs it gives."""
        return self.provides + self.extras

    @property
    def by_name(self) -> bool:
        """True if it is given by name alone: it has a default, or takes a recipe."""
        return bool(self.default) or not self.gives

    @property
    def described(self) -> str:
        """Inputs that it gives, in words; a recipe gives arguments."""
        return ", ".join(self.gives) or "arguments of the model that are left out"

    def value(self, entry: Entry, name: str, precision: str) -> Value | None:
        """The value of an input from an entry: given or counted, and None if it is neither.

        Parameters
        ----------
        entry : Entry
            An entry.
        name : str
            Name of an input.
        precision : str
            Number format at which a rate is looked up.

        Returns
        -------
        Value or None
        """
        value = entry.value_of(self.field(name), precision)
        return self.counted.replaces(value, entry, name) if self.counted else value

    def word(self, entry: Entry, name: str) -> Choice | None:
        """The label that an entry gives an input that is a choice; None if it has none.

        Parameters
        ----------
        entry : Entry
            An entry.
        name : str
            Name of an input that is a choice.

        Returns
        -------
        Choice or None
        """
        return entry.word_of(self.field(name))

    def fallback(self, name: str, precision: str) -> Value | None:
        """The value of an input from the default entry; None without one.

        Parameters
        ----------
        name : str
            Name of an input.
        precision : str
            Number format at which a rate is looked up.

        Returns
        -------
        Value or None
        """
        if not self.default or name not in self.gives:
            return None
        return _value_of_default(self.entry.what, self.default, self.field(name), precision)


@lru_cache(maxsize=4096)
def _value_of_default(kind: str, default: str, name: str, precision: str) -> Value | None:
    """Value of an input from a named entry; cached, because every call asks for it."""
    return builtin().find(kind, default).value_of(name, precision)
