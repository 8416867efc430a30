"""Plan shared by all calls with the same names and catalog entries, so that only typed values are bound anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mlsysim.backends import CompiledFunction
from mlsysim.catalog import Entry, Value
from mlsysim.errors import InputError
from mlsysim.inputs import convert
from mlsysim.inputs.axes import Derived, DerivedInput
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.inputs.recipe import FromRecipe, Origin
from mlsysim.inputs.refusal import Reason, refuse
from mlsysim.symbolic import System, Variable

#: Arguments that name a format of weights.
FORMATS = ("precision", "weight_dtype")
#: Plans that are kept; the oldest one goes first.
LARGEST_NUMBER = 256


@dataclass(frozen=True, eq=False)
class Plan:
    """Binding of one point, to be used again for other typed values.

    Attributes
    ----------
    model : DeclaredModel
        Model of the inputs.
    defaults : dict
        Its defaults at that time.
    entries : dict
        Catalog entries used, by argument.
    by_format : dict
        For each input that a number format chooses, the argument whose entry gave it, and that format.
    number_formats : tuple of str
        The formats that choose rates, of each part of the model.
    values, origins : dict
        Of every input.
    typed : tuple of Variable
        Inputs that were typed, in the order in which they are checked.
    by_recipe : tuple of str
        Arguments of them that a recipe gave.
    derived : tuple of DerivedInput
        Inputs that were not typed and equal one that was, as ``model.follows`` says.
    system : System
        The formulas that can be evaluated.
    reasons : tuple of Reason
        Reasons to refuse the point.
    reason_code : CompiledFunction or None
        The number of the first reason; None without reasons.
    """

    model: DeclaredModel
    defaults: dict[str, Any]
    entries: dict[str, Entry]
    by_format: dict[str, tuple[str, str]]
    number_formats: tuple[str, ...]
    values: dict[str, float]
    origins: dict[str, Origin]
    typed: tuple[Variable, ...]
    by_recipe: tuple[str, ...]
    derived: tuple[DerivedInput, ...]
    system: System
    reasons: tuple[Reason, ...]
    reason_code: CompiledFunction | None

    def fits(self, model: DeclaredModel) -> bool:
        """Tell if a model still declares the same, and the entries still give the same."""
        return (
            model.system is self.model.system
            and model.requirements == self.model.requirements
            and model.defaults == self.defaults
            and self._rates_hold()
        )

    def _rates_hold(self) -> bool:
        """Tell if the entries still give the same rates; a table of rates can be changed, unlike other fields."""
        try:
            for value_of, field, number_format, before in self._rates:
                if value_of(field, number_format) is not before:
                    return False
        except InputError:
            return False
        return True

    @cached_property
    def _rates(self) -> tuple[tuple[Callable[[str, str], Value | None], str, str, Origin], ...]:
        """Reader and last value of each input that a number format chooses."""
        rates = []
        for name, (argument, number_format) in self.by_format.items():
            origin = self.origins[name]
            before = origin.origin if isinstance(origin, FromRecipe) else origin
            field = self.model.slots[argument].field(name)
            rates.append((self.entries[argument].value_of, field, number_format, before))
        return tuple(rates)

    def bound(self, typed: Mapping[str, Any], default_origin: str) -> tuple[dict[str, float], dict[str, Origin]]:
        """Value and origin of every input with new typed values.

        Parameters
        ----------
        typed : mapping
            Typed values, by argument.
        default_origin : str
            Origin of values without a source of their own.

        Raises
        ------
        InputError
            If a value is not allowed, or does not fit the others.
        UnitError
            If a quantity has the wrong dimension.
        """
        values, origins = self.values.copy(), self.origins.copy()
        for variable in self.typed:
            value = typed[variable.name]
            values[variable.name] = convert.scalar(variable, value)
            origins[variable.name] = value if isinstance(value, Value) else default_origin
        for entry in self.derived:
            values[entry.variable.name] = values[entry.text]
        if self.reason_code is not None and self.reason_code(values)["code"]:
            refuse(self.reasons, self.system, values)
        return values, origins


class Plans:
    """Plans of recent calls, by model, typed names, entries and number formats."""

    def __init__(self) -> None:
        self._kept: dict[Any, Plan] = {}

    def find(
        self,
        model: DeclaredModel,
        typed: Mapping[str, Any],
        entries: Mapping[str, Entry],
        number_formats: tuple[str, ...],
        by_recipe: tuple[str, ...] = (),
    ) -> Plan | None:
        """Find the plan of such calls; None if there is none."""
        plan = self._kept.get(_key(model, typed, entries, number_formats, by_recipe))
        return plan if plan is not None and plan.fits(model) else None

    def keep(self, typed: Mapping[str, Any], plan: Plan) -> None:
        """Keep the plan of a call in which these arguments were typed."""
        if len(self._kept) >= LARGEST_NUMBER:
            self._kept.pop(next(iter(self._kept)), None)
        self._kept[_key(plan.model, typed, plan.entries, plan.number_formats, plan.by_recipe)] = plan


def _key(
    model: DeclaredModel,
    typed: Mapping[str, Any],
    entries: Mapping[str, Entry],
    number_formats: tuple[str, ...],
    by_recipe: tuple[str, ...],
) -> Any:
    """Key of a plan; it holds its entries, so that none of these numbers comes to stand for another one."""
    # What an entry gives beside a format follows from the format, see Entry.stands_beside.
    names = frozenset(typed), by_recipe, *(str(typed[name]) for name in FORMATS if name in typed)
    follow = tuple(name for name in model.follows if type(typed.get(name)) is Derived)
    return type(model), model.variant, names, follow, number_formats, *map(id, entries.values()), *entries
