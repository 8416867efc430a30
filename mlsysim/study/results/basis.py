"""Basis of an answer: the software stack, the efficiencies and overlaps used, and the expected errors."""

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

#: How the inputs are called that decide most: shares of a peak that are reached, and of traffic that is hidden.
DECIDING = ("efficiency", "overlap")
#: Entries whose values an expected error holds for.
DECIDING_ENTRIES = (Stack, Accelerator, Node, Fleet)
#: What a stack gives that was named for nothing.
UNUSED = "no value that is used"
#: Kinds of outputs that are no numbers.
WORDS = ("boolean", "choice")
#: Axes of numbers that are longer are looked at at their ends alone.
LOOKED_AT = 32


@dataclass(frozen=True)
class Basis:
    """Assumptions and expected errors that an answer rests on.

    Attributes
    ----------
    result : Result
        The answer, or one point of a grid.
    outputs : tuple of str
        The outputs that the answer is about.
    differs : mapping
        For ``"stack"`` and each output, the axes of a grid along which the stack or the expected error is another.
    """

    result: Result
    outputs: tuple[str, ...]
    differs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def _assumed(self) -> list[str]:
        """The assumptions of the outputs that have a value, and are used in something that is not zero."""
        has, known = {*self.result.input_names}, assumed(self.result.model, self.outputs)
        used = used_in(self.result.model.system)
        known = [name for name in known if name in has and not self._is_setting(name) and name not in self._replaced]
        return [name for name in known if any(map(self._is_there, used.get(name, (name,))))]

    def _is_setting(self, name: str) -> bool:
        """Tell whether an assumption is no share, and a default of the model or what was typed in its place."""
        typed = name in self.result.model.defaults and isinstance(self.result.origin(name), str)
        return typed and not is_share(name)

    @cached_property
    def _replaced(self) -> set[str]:
        """Shares that a law says, all of whose inputs are known; and laws whose share holds."""
        known = {name for name in self.result.input_names if self.result.canonical(name) != 0}
        return {share if known.issuperset(law) else law[0] for share, law in Stack.laws.items()}

    def _is_there(self, name: str) -> bool:
        return name not in self.result or self.result.canonical(name) != 0

    @cached_property
    def shares(self) -> dict[str, str]:
        """Efficiencies and overlaps that the outputs need, with where each came from: a stack, or ``"given"``."""
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
                return self._called(argument, entry)
        return next(f"{slot.default} (default)" for slot in result.model.slots.values() if name in slot.gives)

    def _called(self, argument: str, entry: Entry) -> str:
        """A stack, with the recipe if that named it."""
        recipe = self.result.entries.get(recipe_argument(type(self.result.model)))
        by = f" ({name_of(recipe)})" if isinstance(recipe, Recipe) and argument in self.result.by_recipe else ""
        return f"{entry.key or entry.name}{by}"

    @cached_property
    def errors(self) -> dict[str, ExpectedError | NotMeasuredError]:
        """The expected error of each output, or why there is none."""
        found: dict[str, ExpectedError | NotMeasuredError] = {}
        for name in self.outputs:
            try:
                found[name] = expected_error(self.result, name)
            except NotMeasuredError as missing:
                found[name] = missing
        return found

    @cached_property
    def by_stack(self) -> dict[str, dict[str, float]]:
        """Values that the outputs need and that a stack gives which was named, by that stack; in canonical units."""
        entries = self.result.entries.items()
        named = [self._called(argument, entry) for argument, entry in entries if isinstance(entry, Stack)]
        origins = {name: self._origin(name) for name in self._assumed} if named else {}
        return {
            each: {name: self.result.canonical(name) for name, origin in origins.items() if origin == each}
            for each in named
        }

    @property
    def stack(self) -> str:
        """Stack, efficiencies and overlaps in words; a stack that was named stands first, with all that it gives."""
        if not self._assumed:
            return "none is used"
        shown = {name: stack for stack, values in self.by_stack.items() for name in values} | self.shares
        groups: dict[str, list[str]] = {stack: [] for stack in self.by_stack}
        for name, origin in shown.items():
            value = self.result.canonical(name)
            text = name if isnan(value) else f"{name}={as_text(variable_of(name), value)}"
            groups.setdefault("varied" if isnan(value) else "typed" if origin == GIVEN else origin, []).append(text)
        rest = len(self._assumed) - len(shown)
        parts = [f"{origin}: {', '.join(each) or UNUSED}" for origin, each in groups.items()]
        return "; ".join([*parts, *([f"{rest} more value{'s' if rest > 1 else ''}"] if rest else [])])

    def lines(self) -> list[tuple[str, str]]:
        """Labels and texts for the end of an answer."""
        along = {name: f"; another along {', '.join(axes)}" for name, axes in self.differs.items() if axes}
        return [
            ("Error" if name in self.errors else "Stack", self.text(name) + along.get(name, ""))
            for name in ("stack", *self.errors)
        ]

    def text(self, name: str) -> str:
        """The stack in words, or the expected error of an output."""
        return f"{name}: {_said(self.errors[name])}" if name in self.errors else self.stack

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
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
                stack: {name: plain(variable_of(name), value) for name, value in given.items()}
                for stack, given in self.by_stack.items()
            },
            "shares": {
                name: {**{part: each for part, each in values[name].items() if each != ""}, "source": source}
                for name, source in self.shares.items()
            },
            "expected_errors": errors,
            "differs_along": {name: list(axes) for name, axes in self.differs.items() if axes},
        }


def of_result(result: Result, outputs: Iterable[str] = ()) -> Basis:
    """Basis of outputs of a result; without a number among them that of the answer to its question.

    Where that is a count whose error is not known, it is those of the headline whose error is.
    """
    asked = (*outputs,)
    basis = Basis(result, numbers(result.model, asked))
    unknown = [name for name, error in basis.errors.items() if isinstance(error, NotMeasuredError)]
    if asked or not any(variable_of(name).domain.kind == "integer" for name in unknown):
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
    """Basis of outputs of a grid at one of its points, and the axes along which it is another.

    Parameters
    ----------
    model : DeclaredModel
        What was asked.
    arguments : mapping
        As typed; lists are axes.
    outputs : iterable of str
        Outputs that the answer is about.
    free : iterable of str
        Inputs that are found or drawn, and need no value.
    places : mapping, optional
        Place of the point along each axis; the first where left out.
    variants : sequence of str
        Variants that are an axis.

    Returns
    -------
    Basis or None
        None where the point is refused.
    """
    names, start = numbers(model, outputs), dict(places or {})

    def found(model: DeclaredModel, where: Mapping[str, int]) -> Basis | None:
        unknown = [name for name in free if name in model.arguments]
        try:
            binding = bind_grid(model, arguments_at(arguments, where), unknown)
        except MlsysimError:
            return None
        binding.values |= dict.fromkeys(unknown, nan)
        binding.origins |= dict.fromkeys(unknown, GIVEN)
        return Basis(Result(model, binding, {}), names)

    first = found(model, start)
    if first is None:
        return None
    others = [(name, found(model, {**start, name: place})) for name, place in _looked_at(model, arguments)]
    others += [("variant", found(model.in_variant(each), start)) for each in variants]
    differs: dict[str, dict[str, None]] = {name: {} for name in ("stack", *names)}
    for axis, basis in others:
        for name in differs:
            if basis is not None and basis.text(name) != first.text(name):
                differs[name][axis] = None
    return replace(first, differs={name: tuple(axes) for name, axes in differs.items()})


def assumed(model: DeclaredModel, outputs: Iterable[str]) -> list[str]:
    """The inputs that outputs need and a stack can give, then efficiencies and overlaps that none gives."""
    needed = _needed(model.system, tuple(outputs))
    slots = (slot for slot in model.slots.values() if issubclass(slot.entry, Stack))
    by_stack = [name for slot in slots for name in slot.gives if name in needed]
    return list(dict.fromkeys((*by_stack, *filter(is_share, needed))))


@lru_cache(maxsize=64)
def used_in(system: System) -> dict[str, list[str]]:
    """The variables whose formulas an input stands in, by its name."""
    found: dict[str, list[str]] = {}
    for formula in system:
        for variable in formula.inputs:
            found.setdefault(variable.name, []).append(formula.name)
    return found


@lru_cache(maxsize=64)
def _needed(system: System, outputs: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(v.name for v in system.closure(outputs).inputs)


def numbers(model: DeclaredModel, outputs: Iterable[str] = ()) -> tuple[str, ...]:
    """Those of the outputs that are numbers; else the one that answers the question of the model."""
    names = [name for name in outputs if name in model.system and variable_of(name).domain.kind not in WORDS]
    answer = model.answer if model.answer in model.system else model.headline[0]
    return tuple(dict.fromkeys(names)) or (answer,)


def is_share(name: str) -> bool:
    """Tell whether an input is an efficiency or says it by a law, or the share of one time that another hides."""
    return name in Stack.gives_way or (name.endswith(DECIDING) and not variable_of(name).domain.is_flag)


def _looked_at(model: DeclaredModel, arguments: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Axes with the places along them at which a basis may be another."""
    given = (slot.gives for slot in model.slots.values() if issubclass(slot.entry, DECIDING_ENTRIES))
    deciding = {*model.slots, *chain.from_iterable(given), *(name for area in areas() for name in area["where"])}
    for name, value in arguments.items():
        members = value.axes if isinstance(value, Linked) else [name] if is_axis(value) else ()
        if any(each in deciding or is_share(each) for each in members):
            size = len(value)
            yield from ((name, place) for place in (range(size) if size <= LOOKED_AT else (0, size - 1)))


def arguments_at(arguments: Mapping[str, Any], places: Mapping[str, int]) -> dict[str, Any]:
    """The arguments of one point of a grid; along axes whose place is left out the first."""
    found = {}
    for name, value in arguments.items():
        if isinstance(value, Linked):
            found |= {member: list(values)[places.get(name, 0)] for member, values in value.axes.items()}
        else:
            found[name] = value[places.get(name, 0)] if is_axis(value) else value
    return found


def _said(error: ExpectedError | NotMeasuredError) -> str:
    """An error with what it was measured on, or that there is none."""
    if isinstance(error, ExpectedError):
        return f"{error.shares} ({error.about}; {error.page})"
    return "none measured" if error.reason.startswith("no error") else f"none measured ({_nearest(error)})"


def _nearest(missing: NotMeasuredError) -> str:
    """Why no error is known: by the first of what was measured, where something was."""
    return missing.hint.partition("; ")[0] if missing.reason == UNLIKE else missing.reason
