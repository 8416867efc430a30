"""Basis of an answer: its software stack, efficiencies, overlaps and expected errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import chain
from math import isnan, nan
from typing import Any

from mlsysim.catalog import Accelerator, Entry, Fleet, Node, Recipe, Stack
from mlsysim.catalog.value import Sourced
from mlsysim.errors import MlsysimError, NotMeasuredError
from mlsysim.inputs.axes import Linked
from mlsysim.inputs.binding import GIVEN, bind_grid
from mlsysim.inputs.convert import is_axis
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.inputs.recipe import FromRecipe, name_of, recipe_argument
from mlsysim.study.results.display import as_text, plain
from mlsysim.study.results.expected_error import UNLIKE, ExpectedError, areas, expected_error
from mlsysim.study.results.result import Result
from mlsysim.symbolic import System, variable_of

#: Suffixes of the most influential inputs: shares of a peak that are reached, and of traffic that is hidden.
DECIDING = ("efficiency", "overlap")
#: Entries on whose values an expected error depends.
DECIDING_ENTRIES = (Stack, Accelerator, Node, Fleet)
#: Text for a named stack none of whose values is used.
UNUSED = "no value that is used"
#: Kinds of outputs that are not numbers.
WORDS = ("boolean", "choice")
#: Longest numeric axis that is examined at every value; longer ones only at their ends.
LOOKED_AT = 32


@dataclass(frozen=True)
class Basis:
    """Assumptions and expected errors behind an answer.

    Attributes
    ----------
    result : Result
        The answer, or one point of a grid.
    outputs : tuple of str
        Outputs that the answer consists of.
    differs : mapping
        Axes of a grid along which the stack or an expected error changes, for ``"stack"`` and each output.
    """

    result: Result
    outputs: tuple[str, ...]
    differs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def _assumed(self) -> list[str]:
        """Assumptions of the outputs that have a value and affect something that is not zero."""
        has, known = {*self.result.input_names}, assumed(self.result.model, self.outputs)
        used = used_in(self.result.model.system)
        known = [name for name in known if name in has and not self._is_setting(name) and name not in self._replaced]
        return [name for name in known if any(map(self._has_effect, used.get(name, (name,))))]

    def _is_setting(self, name: str) -> bool:
        """Tell whether an assumption is a default or a typed value rather than a share."""
        typed = name in self.result.model.defaults and isinstance(self.result.origin(name), str)
        return typed and not is_share(name)

    @cached_property
    def _replaced(self) -> set[str]:
        """Shares replaced by a law whose inputs are all known, and laws replaced by a share."""
        known = {name for name in self.result.input_names if self.result.canonical(name) != 0}
        return {share if known.issuperset(law) else law[0] for share, law in Stack.laws.items()}

    def _has_effect(self, name: str) -> bool:
        return name not in self.result or self.result.canonical(name) != 0

    @cached_property
    def shares(self) -> dict[str, str]:
        """Efficiencies and overlaps that the outputs need, with their origin: a stack, or ``"given"``."""
        return {name: self._origin(name) for name in self._assumed if is_share(name)}

    def _origin(self, name: str) -> str:
        result, origin = self.result, self.result.origin(name)
        if result.model.follows.get(name) in result and origin == f"derived: {result.model.follows[name]}":
            return self._origin(result.model.follows[name])
        value = origin.origin if isinstance(origin, FromRecipe) else origin
        if not isinstance(value, Sourced) or (isinstance(origin, FromRecipe) and not origin.entry):
            return "recipe" if isinstance(origin, FromRecipe) else str(origin)
        for argument, entry in result.entries.items():
            slot = result.model.slots[argument]
            if (
                isinstance(entry, Stack)
                and name in slot.gives
                and (slot.value(entry, name, "") or slot.word(entry, name))
            ):
                return self._stack_name(argument, entry)
        return next(f"{slot.default} (default)" for slot in result.model.slots.values() if name in slot.gives)

    def _stack_name(self, argument: str, entry: Entry) -> str:
        """Name a stack, with the recipe if that selected it."""
        recipe = self.result.entries.get(recipe_argument(type(self.result.model)))
        recipe_name = (
            f" ({name_of(recipe)})" if isinstance(recipe, Recipe) and argument in self.result.by_recipe else ""
        )
        return f"{entry.key or entry.name}{recipe_name}"

    @cached_property
    def errors(self) -> dict[str, ExpectedError | NotMeasuredError]:
        """Expected error of each output, or the reason why there is none."""
        errors: dict[str, ExpectedError | NotMeasuredError] = {}
        for name in self.outputs:
            try:
                errors[name] = expected_error(self.result, name)
            except NotMeasuredError as missing:
                errors[name] = missing
        return errors

    @cached_property
    def by_stack(self) -> dict[str, dict[str, float]]:
        """Values that the outputs take from each named stack, in canonical units."""
        entries = self.result.entries.items()
        named = [self._stack_name(argument, entry) for argument, entry in entries if isinstance(entry, Stack)]
        origins = {name: self._origin(name) for name in self._assumed} if named else {}
        return {
            stack: {name: self.result.canonical(name) for name, origin in origins.items() if origin == stack}
            for stack in named
        }

    @property
    def stack(self) -> str:
        """Stack, efficiencies and overlaps as text; named stacks come first, with all their values."""
        if not self._assumed:
            return "none is used"
        shown = {name: stack for stack, values in self.by_stack.items() for name in values} | self.shares
        groups: dict[str, list[str]] = {stack: [] for stack in self.by_stack}
        for name, origin in shown.items():
            value = self.result.canonical(name)
            text = name if isnan(value) else f"{name}={as_text(variable_of(name), value)}"
            groups.setdefault("varied" if isnan(value) else "typed" if origin == GIVEN else origin, []).append(text)
        rest = len(self._assumed) - len(shown)
        texts = [f"{origin}: {', '.join(values) or UNUSED}" for origin, values in groups.items()]
        return "; ".join([*texts, *([f"{rest} more value{'s' if rest > 1 else ''}"] if rest else [])])

    def lines(self) -> list[tuple[str, str]]:
        """Return labels and texts for the end of an answer."""
        along = {name: f"; another along {', '.join(axes)}" for name, axes in self.differs.items() if axes}
        return [
            ("Error" if name in self.errors else "Stack", self.text(name) + along.get(name, ""))
            for name in ("stack", *self.errors)
        ]

    def text(self, name: str) -> str:
        """Return the stack as text, or the expected error of an output."""
        return f"{name}: {_error_text(self.errors[name])}" if name in self.errors else self.stack

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        entry = next((entry for entry in self.result.entries.values() if isinstance(entry, Stack)), None)
        values = {name: plain(variable_of(name), self.result.canonical(name)) for name in self.shares}
        errors = {
            name: {"measured": True, **error.to_dict()}
            if isinstance(error, ExpectedError)
            else {"measured": False, "reason": _nearest(error)}
            for name, error in self.errors.items()
        }
        return {
            "stack": None if not self._assumed else "Generic" if entry is None else entry.key or entry.name,
            "by_stack": {
                stack: {name: plain(variable_of(name), value) for name, value in values.items()}
                for stack, values in self.by_stack.items()
            },
            "shares": {
                name: {**{key: item for key, item in values[name].items() if item != ""}, "source": source}
                for name, source in self.shares.items()
            },
            "expected_errors": errors,
            "differs_along": {name: list(axes) for name, axes in self.differs.items() if axes},
        }


def of_result(result: Result, outputs: Iterable[str] = ()) -> Basis:
    """Build the basis of outputs of a result; without a number among them, of the answer to its question.

    If that answer is a count of unknown error, the headline outputs of known error are used instead.
    """
    names = (*outputs,)
    basis = Basis(result, numbers(result.model, names))
    unknown = [name for name, error in basis.errors.items() if isinstance(error, NotMeasuredError)]
    if names or not any(variable_of(name).domain.kind == "integer" for name in unknown):
        return basis
    errors = Basis(result, numbers(result.model, result.model.headline)).errors
    known = tuple(name for name, error in errors.items() if isinstance(error, ExpectedError))
    return Basis(result, known) if known else basis


def at_point(
    model: DeclaredModel,
    arguments: Mapping[str, Any],
    outputs: Iterable[str] = (),
    *,
    free: Iterable[str] = (),
    places: Mapping[str, int] | None = None,
    variants: Sequence[str] = (),
) -> Basis | None:
    """Build the basis of outputs at one point of a grid, and find the axes along which it changes.

    Parameters
    ----------
    model : DeclaredModel
        Model that was solved.
    arguments : mapping
        Arguments as typed; lists are axes.
    outputs : iterable of str
        Outputs that the answer consists of.
    free : iterable of str
        Inputs that are solved for or drawn, and need no value.
    places : mapping, optional
        Position of the point along each axis; by default the first.
    variants : sequence of str
        Variants that form an axis.

    Returns
    -------
    Basis or None
        None if the point is refused.
    """
    names, start = numbers(model, outputs), dict(places or {})

    def basis_at(model: DeclaredModel, positions: Mapping[str, int]) -> Basis | None:
        unknown = [name for name in free if name in model.arguments]
        try:
            binding = bind_grid(model, arguments_at(arguments, positions), unknown)
        except MlsysimError:
            return None
        binding.values |= dict.fromkeys(unknown, nan)
        binding.origins |= dict.fromkeys(unknown, GIVEN)
        return Basis(Result(model, binding, {}), names)

    first = basis_at(model, start)
    if first is None:
        return None
    others = [
        (name, basis_at(model, {**start, name: position})) for name, position in _where_it_may_change(model, arguments)
    ]
    others += [("variant", basis_at(model.in_variant(variant), start)) for variant in variants]
    differs: dict[str, dict[str, None]] = {name: {} for name in ("stack", *names)}
    for axis, basis in others:
        for name in differs:
            if basis is not None and basis.text(name) != first.text(name):
                differs[name][axis] = None
    return replace(first, differs={name: tuple(axes) for name, axes in differs.items()})


def assumed(model: DeclaredModel, outputs: Iterable[str]) -> list[str]:
    """Return the inputs that outputs need and a stack can set, then the other efficiencies and overlaps."""
    needed = _needed(model.system, tuple(outputs))
    slots = (slot for slot in model.slots.values() if issubclass(slot.entry, Stack))
    by_stack = [name for slot in slots for name in slot.gives if name in needed]
    return list(dict.fromkeys((*by_stack, *filter(is_share, needed))))


@lru_cache(maxsize=64)
def used_in(system: System) -> dict[str, list[str]]:
    """Map each input to the variables whose formulas contain it."""
    users: dict[str, list[str]] = {}
    for formula in system:
        for variable in formula.inputs:
            users.setdefault(variable.name, []).append(formula.name)
    return users


@lru_cache(maxsize=64)
def _needed(system: System, outputs: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(variable.name for variable in system.closure(outputs).inputs)


def numbers(model: DeclaredModel, outputs: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the numeric outputs; if there is none, the one that answers the question of the model."""
    names = [name for name in outputs if name in model.system and variable_of(name).domain.kind not in WORDS]
    answer = model.answer if model.answer in model.system else model.headline[0]
    return tuple(dict.fromkeys(names)) or (answer,)


def is_share(name: str) -> bool:
    """Tell whether an input is an efficiency, a law for one, or the share of one time that another hides."""
    return name in Stack.gives_way or (name.endswith(DECIDING) and not variable_of(name).domain.is_flag)


def _where_it_may_change(model: DeclaredModel, arguments: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield axes with the positions along them at which the basis may change."""
    set_by_entries = (slot.gives for slot in model.slots.values() if issubclass(slot.entry, DECIDING_ENTRIES))
    deciding = {
        *model.slots,
        *chain.from_iterable(set_by_entries),
        *(name for area in areas() for name in area["where"]),
    }
    for name, value in arguments.items():
        members = value.axes if isinstance(value, Linked) else [name] if is_axis(value) else ()
        if any(member in deciding or is_share(member) for member in members):
            size = len(value)
            yield from ((name, position) for position in (range(size) if size <= LOOKED_AT else (0, size - 1)))


def arguments_at(arguments: Mapping[str, Any], places: Mapping[str, int]) -> dict[str, Any]:
    """Return the arguments of one point of a grid; the first value along axes without a position."""
    point = {}
    for name, value in arguments.items():
        if isinstance(value, Linked):
            point |= {member: list(values)[places.get(name, 0)] for member, values in value.axes.items()}
        else:
            point[name] = value[places.get(name, 0)] if is_axis(value) else value
    return point


def _error_text(error: ExpectedError | NotMeasuredError) -> str:
    """Format an error with what it was measured on, or say that there is none."""
    if isinstance(error, ExpectedError):
        return f"{error.shares} ({error.about}; {error.page})"
    return "none measured" if error.reason.startswith("no error") else f"none measured ({_nearest(error)})"


def _nearest(missing: NotMeasuredError) -> str:
    """Say why no error is known, by the nearest measured case if there is one."""
    return missing.hint.partition("; ")[0] if missing.reason == UNLIKE else missing.reason
