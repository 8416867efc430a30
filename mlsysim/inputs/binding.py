"""Binding of arguments to the inputs of a System: catalog entries, keywords, defaults, checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import sympy

from mlsysim import units
from mlsysim.backends import compiled_expression
from mlsysim.catalog import Accelerator, Choice, Engine, Entry, Stack, Value, builtin
from mlsysim.errors import InputError, MissingInputError, UnknownNameError
from mlsysim.formats import rate_format
from mlsysim.inputs import convert
from mlsysim.inputs.axes import Derived, DerivedInput, Linked, derived, derived_inputs, extended
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.inputs.engines import argument_of, assumed_engine, check_stack, stack_for
from mlsysim.inputs.plan import Plan, Plans
from mlsysim.inputs.recipe import FromRecipe, Origin, RecipeArguments, along_axis, given_by, name_of, recipe_argument
from mlsysim.inputs.refusal import (
    Reason,
    gap,
    mask_of,
    met,
    outside_domain,
    reason_function,
    refuse,
    unmet,
)
from mlsysim.inputs.slot import Slot
from mlsysim.inputs.spellings import names_for, unknown_argument
from mlsysim.symbolic import Requirement, System, Variable, variable_of
from mlsysim.symbolic.family import families_among

GIVEN, DEFAULT = "given", "default"
#: Origin of a link's speed that nothing depends on.
_UNCROSSED = "of no effect: nothing crosses it"

#: Arguments that choose the peak rate, and what each is for a model without it.
_CHOOSE_RATE = {"precision": "", "compute_dtype": "as_precision"}


def _choosing(prefix: str) -> dict[str, str]:
    """Arguments that choose the peak rate of a part of the model whose inputs have a prefix."""
    return {f"{prefix}{name}": absent for name, absent in _CHOOSE_RATE.items()}


_PLANS = Plans()

#: Names in the data set of a sweep that no linked axis can have.
RESERVED = ("refused", "variant", "input", "outputs")


@dataclass
class Binding:
    """Inputs ready for a compiled function.

    Attributes
    ----------
    model : DeclaredModel
        Model of the inputs.
    values : dict
        Canonical value per input, a float or an array over the axes. Derived inputs that vary over the grid are
        not among them: they are formulas of the system.
    origins : dict
        Origin of each value: a catalog value, a recipe, ``"given"`` or ``"default"``.
    axes : dict
        Dimensions of the grid in order.
    entries : dict
        Catalog entries used, by argument; a list where swept.
    system : System
        The formulas that can be evaluated with these inputs, with those of derived inputs.
    reasons : tuple
        Reasons to refuse points, in order. Reasons that depend on no axis have been checked.
    derived : tuple of DerivedInput
        Inputs that follow from others.
    by_recipe : tuple of str
        Arguments that a recipe gave.
    left_out : tuple of str
        Settings of the recipe for which the model has no argument.
    free : tuple of str
        Inputs whose values are solved for or drawn later. Those without a value are nan.
    plan : Plan or None
        Plan that later calls with the same names and entries share; None if nothing is kept.
    """

    model: DeclaredModel = field(repr=False)
    values: dict[str, Any]
    origins: dict[str, Origin]
    axes: dict[str, convert.Axis]
    entries: dict[str, Any]
    system: System = field(repr=False)
    reasons: tuple[Reason, ...] = field(default=(), repr=False)
    derived: tuple[DerivedInput, ...] = field(default=(), repr=False)
    by_recipe: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    free: tuple[str, ...] = ()
    plan: Plan | None = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the plan, whose compiled code stays in its process; formulas of the model by name."""
        own = self.model.system
        kept = [f.name if f.name in own and own[f.name] is f else f for f in self.system]
        return {**self.__dict__, "plan": None, "system": kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        own = state["model"].system
        self.__dict__.update(state, system=System(own[f] if isinstance(f, str) else f for f in state["system"]))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Points along each axis."""
        return tuple(len(axis) for axis in self.axes.values())

    def at(self, typed: Mapping[str, Any], point: Iterable[int]) -> dict[str, Any]:
        """All arguments at a point, as ``solve`` takes them, from those that were typed."""
        return {name: value for name, value in typed.items() if name not in self.axes} | self.swept(point)

    def swept(self, point: Iterable[int]) -> dict[str, Any]:
        """Swept arguments at a point, given by its index along every axis."""
        arguments: dict[str, Any] = {}
        for (name, axis), index in zip(self.axes.items(), point, strict=True):
            for member, part in (axis.members or {name: axis}).items():
                entries = self.entries.get(member)
                if isinstance(entries, list):
                    arguments[member] = entries[index]
                else:
                    value = np.asarray(part.coordinates)[index].item()
                    arguments[member] = units.Q_(value, units.unit(part.unit)) if part.unit else value
        return arguments

    def require(self, name: str) -> Variable:
        """Variable of an output, which these inputs must be able to compute.

        Raises
        ------
        UnknownNameError
            If the model has no output of that name.
        MissingInputError
            If it needs an input that was not given.
        """
        derived = any(entry.variable.name == name for entry in self.derived)
        variable = variable_of(name) if derived else self.model.output(name)
        if name not in self.system:
            needed = self.model.system.closure([name]).inputs
            missing = next(v.name for v in needed if v.name not in self.values)
            wanted = f"{missing} for {name}"
            raise MissingInputError(type(self.model).__name__, wanted, self.model.how_to_give(missing))
        return variable

    @property
    def conditions(self) -> tuple[sympy.Basic, ...]:
        """Condition of each reason, which holds at a point that it does not refuse."""
        return tuple(reason.condition for reason in self.reasons)

    @property
    def numbers(self) -> dict[str, Any]:
        """Numbers that compiled code needs: the values, and a mask for each gap in the catalog."""
        masks = {mask_of(*reason.inputs): reason.known for reason in self.reasons if reason.known is not None}
        return {**self.values, **masks}

    def refuse(self) -> None:
        """Raise the error of the first reason for which a point is refused.

        Raises
        ------
        InputError
            If one is.
        """
        refuse(self.reasons, self.system, self.numbers)


def bind(model: DeclaredModel, arguments: Mapping[str, Any]) -> Binding:
    """Turn the arguments of one point into the inputs of a model's system, or refuse them.

    Parameters
    ----------
    model : DeclaredModel
        Model of the inputs.
    arguments : mapping
        As typed; ``None`` counts as not given.

    Returns
    -------
    Binding

    Raises
    ------
    InputError
        If an argument is unknown, missing, of the wrong kind, outside its domain, or does not fit
        the others.
    UnitError
        If a quantity has the wrong dimension.
    """
    typed = _typed_arguments(model, arguments)
    for name, value in typed.items():
        if isinstance(value, Linked) or convert.is_axis(value):
            raise InputError(name, value, "solve() takes one value", f"use sweep({name}=...) for many")
    return _Binder(model, typed).run()


def bind_grid(model: DeclaredModel, arguments: Mapping[str, Any], free: Iterable[str] = ()) -> Binding:
    """Turn arguments, of which some are axes, into the inputs of a model's system.

    The grid may be of any size: nothing is evaluated over several axes. ``reasons`` say which points
    are refused; :meth:`Binding.refuse` tests all points.

    Parameters
    ----------
    model, arguments
        As for :func:`bind`.
    free : iterable of str
        Inputs whose values are solved for or drawn later. They need no value, and reasons that depend on them are kept.

    Returns
    -------
    Binding

    Raises
    ------
    InputError
        As for :func:`bind`, but for combinations along the axes; if a free input is an axis or no number.
    UnknownNameError
        If a free input is none of the model.
    """
    unknown = _free_inputs(model, free)
    return _Binder(model, _typed_arguments(model, arguments, unknown), unknown).run()


def _free_inputs(model: DeclaredModel, names: Iterable[str]) -> tuple[str, ...]:
    """Check that free inputs are numbers among the arguments of the model."""
    free = tuple(names)
    for name in free:
        if not isinstance(name, str) or name not in model.arguments:
            raise _not_an_argument(model, name, None)
        variable = model.arguments[name]
        if variable is None or variable.domain.kind == "choice":
            raise InputError("free", name, "must be an input that is a number, not an entry or a label")
    return free


def _typed_arguments(model: DeclaredModel, arguments: Mapping[str, Any], free: tuple[str, ...] = ()) -> dict[str, Any]:
    """Check that the model knows each argument, and add those that follow them."""
    known = model.arguments
    typed = {}
    for name, value in arguments.items():
        if isinstance(value, Linked):
            _refuse_name(model, name, value)
            typed[name] = value
            continue
        if name not in known and value is None and name in type(model).arguments:
            continue
        if name not in known:
            raise _not_an_argument(model, name, value)
        variable = known[name]
        if value is None and variable is not None and "none" in variable.domain.labels:
            raise InputError(name, None, f"must be {variable.domain.describe()}", "did you mean 'none'?")
        if value is not None:
            typed[name] = value if variable is None else convert.as_label(variable, value)
    for name, other in model.follows.items():
        if (other in typed or other in free) and name in known and name not in typed and name not in free:
            typed[name] = derived(other)
    return typed


def _refuse_name(model: DeclaredModel, name: str, value: Linked) -> None:
    """Refuse a linked axis with the name of something else, or with members that cannot be swept."""
    if name in type(model).arguments or name in model.system or name in RESERVED:
        raise InputError(name, value, "a linked axis has a name of its own", "as in layout=linked(...)")
    for member, values in value.axes.items():
        if member not in model.arguments:
            raise _not_an_argument(model, member, values)
        if not convert.is_axis(values):
            raise InputError(member, values, f"must be a list, as it is linked along {name}")


def _not_an_argument(model: DeclaredModel, name: str, value: Any) -> InputError | UnknownNameError:
    """Error for a keyword that this variant, or the model as a whole, does not take."""
    whole = type(model)
    if name not in whole.arguments:
        known = (*model.arguments, *families_among(model.arguments))
        nearest = next(iter(names_for(name, whole.arguments)), "")
        others = "" if nearest in known else " or ".join(whole.variants_using(nearest))
        if not others:
            output = any(name == variable.name for variable in model.outputs)
            hint = f"{name} is an output; solve_for(ARGUMENT, {name}=...) finds the argument that gives it"
            return unknown_argument(whole.__name__, name, known, hint if output else "")
        return unknown_argument(whole.__name__, name, whole.arguments, f"variant={others} has {nearest}")
    if name in model.system:
        return InputError(name, value, f"the variant {model.variant} computes it")
    return model.unused(name, name, value)


class _Binder:
    def __init__(self, model: DeclaredModel, typed: dict[str, Any], free: tuple[str, ...] = ()) -> None:
        self.model = model
        self.free = free
        self.typed = typed
        self.reasons: list[Reason] = []
        self.gaps: dict[str, Reason] = {}
        self.axes: dict[str, convert.Axis] = {}
        self.along: dict[str, str] = {}
        self.entries: dict[str, Any] = {}
        self.values: dict[str, Any] = {}
        self.origins: dict[str, Origin] = {}
        self.by_format: dict[str, tuple[str, str]] = {}
        self.derived: tuple[DerivedInput, ...] = ()
        self.recipe = RecipeArguments()
        self.recipe_argument = recipe_argument(type(model))
        self.implied: dict[str, convert.Axis] = {}
        self.of_device: set[str] = set()

    def run(self) -> Binding:
        if self.model.assumed and (engine := assumed_engine(self.model, self.typed)) is not None:
            self.typed = {**self.typed, argument_of(type(self.model), Engine): engine}
        self._take_recipe()
        for name, value in self.typed.items():
            if isinstance(value, Linked):
                self._bind_linked(name, value)
            elif name == self.recipe_argument and convert.is_axis(value):
                self._bind_recipes(name, value)
            elif name in self.model.slots:
                self._bind_entry(name, value)
            elif convert.is_axis(value):
                self.axes[name] = convert.axis(variable_of(name), value)
                self.along[name] = name
        self._match_devices()
        self._take_surroundings()
        self._take_stack()
        derived_arguments = {name: value for name, value in self.typed.items() if isinstance(value, Derived)}
        for name in self.free:
            if name in self.along or name in derived_arguments:
                raise InputError(name, self.typed.get(name), "is free: give it no axis and no formula")
        if (
            self.axes
            or self.free
            or any(self.model.follows.get(k) != v.expression for k, v in derived_arguments.items())
        ):
            return self._bind_all(derived_arguments)
        plan = _PLANS.find(self.model, self.typed, self.entries, self._formats, tuple(self.recipe.typed))
        if plan is None:
            bound = self._bind_all(derived_arguments)
            self._keep_plan(bound)
            return bound
        values, origins = plan.bound(self.typed, GIVEN)
        origins |= {name: self._from_recipe(GIVEN, name) for name in self.recipe.origins}
        return Binding(
            self.model,
            values,
            origins,
            {},
            self.entries,
            plan.system,
            plan.reasons,
            plan.derived,
            by_recipe=tuple(self.recipe.typed),
            left_out=self.recipe.left_out,
            plan=plan,
        )

    def _keep_plan(self, bound: Binding) -> None:
        """Keep the plan that later calls with the same names and entries share with this one."""
        names = {name for name, value in self.typed.items() if not isinstance(value, Derived)}
        typed = tuple(v for name, v in self.model.arguments.items() if v is not None and name in names)
        code = reason_function(bound.reasons, bound.system) if bound.reasons else None
        bound.plan = Plan(
            self.model, dict(self.model.defaults), dict(self.entries), self.by_format, self._formats,
            dict(bound.values), dict(bound.origins), typed, bound.by_recipe, bound.derived, bound.system,
            bound.reasons, code,
        )  # fmt: skip
        _PLANS.keep(self.typed, bound.plan)

    def _bind_all(self, derived_arguments: Mapping[str, Derived]) -> Binding:
        """Bind every input of the model."""
        self.derived = derived_inputs(self.model, derived_arguments)
        for name, variable in self.model.arguments.items():
            if variable is not None and name not in derived_arguments:
                self._bind_input(name, variable)
        for entry in self.derived:
            self._need_inputs(entry)
        self._bind_uncrossed()
        system = self._computable()
        known = {*self.values, *derived_arguments}
        self._limit()
        self.reasons += map(outside_domain, self.derived)
        self.reasons += (reason for reason in map(unmet, self.model.requirements) if known.issuperset(reason.inputs))
        self._refuse_constants(system)
        return Binding(
            self.model,
            self.values,
            self.origins,
            self.axes,
            {name: entry for name, entry in self.entries.items() if name not in self.implied},
            system,
            tuple(self.reasons),
            self.derived,
            tuple(self.recipe.typed),
            self.recipe.left_out,
            self.free,
        )

    def _bind_uncrossed(self) -> None:
        """Bind links without a value that nothing crosses; another layout under the same plan is refused."""
        for name, requirements in self.model.uncrossed.items():
            without = self.gaps.get(name)
            known = name not in self.model.arguments or (name in self.values and without is None)
            for reason in [] if known else map(unmet, requirements):
                sizes = {size: self.values.get(size, np.nan) for size in reason.inputs}
                if all(np.ndim(size) == 0 for size in sizes.values()) and met(reason, sizes):
                    any_speed = units.to_canonical(1.0, variable_of(name).unit)
                    if without is None:
                        self._put(name, any_speed, (), _UNCROSSED)
                        self.reasons.append(reason)
                    else:  # of the devices along an axis that have no links
                        self.values[name] = np.where(np.isnan(self.values[name]), any_speed, self.values[name])
                        self.reasons = [kept for kept in self.reasons if kept is not without]
                    break

    def _limit(self) -> None:
        """Refuse questions that the entries cannot answer, or keep the reason for the points of a grid."""
        for name, bound in self.entries.items():
            for entry in bound if isinstance(bound, list) else [bound]:
                for argument, (allowed, why) in entry.unanswered.items():
                    variable = self.model.arguments.get(argument)
                    if variable is not None and allowed is None:
                        raise InputError(name, entry.name, why)
                    if variable is not None:
                        only = Requirement(variable.symbol, sympy.Eq(variable.symbol, allowed), why)
                        self.reasons.append(unmet(only))

    def _refuse_constants(self, system: System) -> None:
        """Check the reasons that depend on no axis, and keep the others for the points of the grid."""
        swept = {name for name, value in self.values.items() if isinstance(value, np.ndarray)}.union(self.free)
        swept |= {entry.variable.name for entry in self.derived if swept.intersection(entry.inputs)}
        varying = [reason for reason in self.reasons if not swept.isdisjoint(reason.inputs)]
        fixed = {name: value for name, value in self.values.items() if name not in swept}
        refuse([reason for reason in self.reasons if reason not in varying], system, fixed)
        for entry in self.derived:
            name = entry.variable.name
            if name not in swept:
                self.values[name] = fixed[name] = float(compiled_expression(entry.formula.expression)(fixed)["value"])
                self.origins[name] = self._from_recipe(f"derived: {entry.text}", name)
        if self.axes or self.free:
            self.reasons = varying

    def _take_recipe(self) -> None:
        """Add the arguments of one recipe to those that were typed."""
        name = self.recipe_argument
        if name in self.typed and not convert.is_axis(self.typed[name]):
            recipe: Any = self._entry(name, self.model.slots[name], self.typed[name])
            self.recipe = given_by(recipe, self.model, self.typed)
            self.typed = {**self.typed, name: recipe, **self.recipe.typed}

    def _bind_recipes(self, name: str, value: Any) -> None:
        """Bind the arguments of several recipes along one axis, of which only the recipes are shown."""
        self.axes[name] = self._distinct_entries(name, value)
        implied = along_axis(self.entries[name], self.model, self.typed)
        self.recipe.left_out = implied.left_out
        for member, values in implied.typed.items():
            self.implied[member] = self._linked_axis(member, values)
        self.along |= dict.fromkeys((name, *self.implied), name)

    def _from_recipe(self, origin: Any, argument: str) -> Origin:
        """Origin of a value, with the recipe if that gave the argument."""
        if argument not in self.recipe.typed:
            return origin
        recipe = self.entries[self.recipe_argument]
        entry = argument if argument in self.model.slots else ""
        source: Any = self.recipe.origins.get(argument, origin)
        return FromRecipe(name_of(recipe), source, entry)

    def _bind_entry(self, name: str, value: Any) -> None:
        if convert.is_axis(value):
            self.axes[name] = self._distinct_entries(name, value)
            self.along[name] = name
        else:
            self.entries[name] = self._entry(name, self.model.slots[name], value)

    def _match_devices(self) -> None:
        """Refuse entries of another device than the one in question; each of several devices takes its own."""
        for name in [name for name in self.entries if self.model.slots[name].entry.of_one_device]:
            devices = {argument: _devices(self.entries[argument]) for argument in self.entries if argument != name}
            argument = next((argument for argument in self.model.slots if any(devices.get(argument, ()))), None)
            if argument is not None:
                self._match(name, argument, devices[argument])

    def _take_surroundings(self) -> None:
        """Take the link domain and the fabric from a device if the call gives neither."""
        slots = self.model.slots.items()
        argument = next((name for name, slot in slots if slot.entry is Accelerator and name in self.entries), None)
        devices = _devices(self.entries[argument]) if argument is not None else []
        if all(device is None or device.link_domain is None for device in devices):
            return
        for name, value in (("accelerators_per_node", "link_domain"), ("fabric", "fabric")):
            slot = self.model.slots.get(name)
            other = self.model.defaults.get(name) if slot is None else slot.default
            taken = name in {*self.typed, *self.along, *self.free}
            taken |= any(name in self.model.slots[argument].gives for argument in self.entries)
            if taken or not other or name not in self.model.arguments:
                continue
            values = [getattr(device, value) or other for device in devices]
            if argument not in self.along:
                self.typed[name] = values[0]
                self.of_device.add(name)
                self.entries |= {} if slot is None else {name: self._entry(name, slot, values[0])}
                continue
            self.implied[name], self.along[name] = self._linked_axis(name, values), self.along[argument]

    def _take_stack(self) -> None:
        """Take the newest stack of an engine that knows the device, if the call names an engine and no stack."""
        engine, stack = (argument_of(type(self.model), kind) for kind in (Engine, Stack))
        if engine not in self.entries or stack not in self.model.arguments:
            return
        engines, bound = self._several(engine), self.entries.get(stack)
        if bound is not None:
            if len(engines) == 1 and isinstance(bound, Stack):
                check_stack(engines[0], bound)
            return
        argument = next((name for name in self.model.slots if any(_devices(self.entries.get(name, [])))), "")
        devices = [device for device in _devices(self.entries.get(argument, [])) if device is not None]
        if min(len(engines), len(devices)) > 1 and self.along[engine] != self.along[argument]:
            names = [entry.key or entry.name for entry in engines]
            raise InputError(engine, names, f"must be one where {argument} varies", f"link them, or give {stack}")
        count = max(len(engines), len(devices)) if devices else 0
        pairs = zip(engines * (count // len(engines)), devices * (count // max(1, len(devices))), strict=False)
        stacks = [stack_for(entry, device) for entry, device in pairs]
        if stacks and all(entry is stacks[0] for entry in stacks):
            self.typed |= {} if stacks[0] is None else {stack: stacks[0]}
            self.entries |= {} if stacks[0] is None else {stack: stacks[0]}
        elif stacks:
            default = self.model.slots[stack].default
            self.implied[stack] = self._linked_axis(stack, [entry or default for entry in stacks])
            self.along[stack] = self.along[argument if len(devices) > 1 else engine]

    def _several(self, name: str) -> list[Any]:
        """Entries of an argument, as a list."""
        entries = self.entries[name]
        return entries if isinstance(entries, list) else [entries]

    def _match(self, name: str, argument: str, devices: list[Accelerator | None]) -> None:
        """Match the entries of one argument to devices; see :meth:`_match_devices`."""
        axis, along = self.along.get(name), self.along.get(argument)
        entries = self.entries[name]
        if along is not None and axis == name:
            self.entries[name] = entries = [_own(name, entries, device) for device in devices]
            labels = [entry.key or entry.name for entry in entries]
            codes = np.array([labels.index(label) for label in labels], float)
            shared = self.axes[along]
            members = {**(shared.members or {argument: shared}), name: convert.Axis(name, np.array(labels), codes)}
            self.axes[along] = replace(shared, members=members)
            self.along[name] = along
            del self.axes[name]
        elif axis is not None and axis == along:
            for entry, device in zip(entries, devices, strict=True):
                _own(name, [entry], device)
        else:
            for entry in entries if isinstance(entries, list) else [entries]:
                for device in devices:
                    _own(name, [entry], device)

    def _distinct_entries(self, name: str, value: Any) -> convert.Axis:
        axis = self._entry_axis(name, value)
        if not len(axis) or len(set(axis.coordinates.tolist())) != len(axis):
            raise InputError(name, value, "an axis has at least one entry, and each once")
        return axis

    def _entry_axis(self, name: str, values: Any) -> convert.Axis:
        entries = [self._entry(name, self.model.slots[name], item) for item in values]
        labels = [entry.key or entry.name for entry in entries]
        self.entries[name] = entries
        return convert.Axis(name, np.array(labels), np.array([labels.index(label) for label in labels], float))

    def _linked_axis(self, name: str, values: Any) -> convert.Axis:
        """Axis of the values of an argument that shares it with others."""
        if name in self.model.slots:
            return self._entry_axis(name, values)
        return convert.axis(variable_of(name), values, repeats=True)

    def _bind_linked(self, name: str, value: Linked) -> None:
        """Bind several arguments along one axis, whose own values are positions."""
        members: dict[str, convert.Axis] = {}
        for member, values in value.axes.items():
            if member == self.recipe_argument:
                raise InputError(member, values, "is not linked with others", "give one recipe, or a list of its own")
            if member in self.typed or member in self.along:
                raise InputError(member, values, "is given twice", f"it is linked along {name}")
            members[member] = self._linked_axis(member, values)
            self.along[member] = name
        lengths = {member: len(axis) for member, axis in members.items()}
        if len(set(lengths.values())) != 1 or not all(lengths.values()):
            hint = ", ".join(f"{length} of {member}" for member, length in lengths.items())
            raise InputError(name, value, "linked arguments have one length, of at least one value", hint)
        rows = np.stack([axis.canonical for axis in members.values()])
        if not value.repeats and len(np.unique(rows, axis=1).T) != rows.shape[1]:
            raise InputError(name, value, "a linked axis has each combination once")
        places = np.arange(rows.shape[1])
        self.axes[name] = convert.Axis(name, places, places.astype(float), members=members)

    def _swept(self, name: str) -> convert.Axis:
        """Axis of a swept argument: its own, or the linked axis it is a member of."""
        axis = self.axes[self.along[name]]
        return self.implied.get(name) or axis.members.get(name, axis)

    def _entry(self, name: str, slot: Slot, value: Any) -> Entry:
        if isinstance(value, str):
            value = builtin().find(slot.entry.what, value)
        if not isinstance(value, slot.entry):
            if isinstance(value, Entry) and slot.needs:
                raise InputError(name, value.name, f"{type(self.model).__name__} needs {slot.needs}")
            raise InputError(name, value, f"must be an entry of the catalog ({slot.entry.what}), or its name")
        return value

    def _bind_input(self, name: str, variable: Variable) -> None:
        if name in self.along:
            self._put(name, self._swept(name).canonical, (self.along[name],), GIVEN)
        elif name in self.typed:
            value = self.typed[name]
            origin = value if isinstance(value, Value) else GIVEN
            self._put(name, convert.scalar(variable, value), (), self._from_recipe(origin, name))
        elif not self._bind_from_entries(name):
            self._bind_default(name)

    def _bind_default(self, name: str) -> None:
        if name in self.model.defaults:
            self._put(name, self.model.canonical_default(name), (), DEFAULT)
            return
        if self._superseded(name):
            self._put(name, 0.0, (), DEFAULT)
            return
        value = self.model.fallback(name, self._rate_format(name))
        if value is not None and (depends := self._format_axes(name)):
            table = np.empty([len(self.axes[axis]) for axis in depends])
            for index in np.ndindex(*table.shape):
                precision = self._precision(_choosing(self.model.part(name)), dict(zip(depends, index, strict=True)))
                table[index] = (self.model.fallback(name, precision) or value).canonical
            self._put(name, table, tuple(depends), f"catalog, along {' and '.join(depends)}")
        elif value is not None:
            self._put(name, value.canonical, (), value)
        elif name in self.free:
            self._put(name, np.nan, (), GIVEN)

    def _format_axes(self, name: str) -> list[str]:
        """Axes of the number formats that choose the default of an input."""
        if not any(slot.default and slot.by_format(name) for _, slot in self.model.givers.get(name, ())):
            return []
        chosen = (argument for argument in _choosing(self.model.part(name)) if argument in self.along)
        return list(dict.fromkeys(self.along[argument] for argument in chosen))

    def _superseded(self, name: str) -> bool:
        """Tell if an argument is given to which the default of an input gives way."""
        return any(self._gives_way(slot, name, []) for _, slot in self.model.givers.get(name, ()) if slot.default)

    def _bind_from_entries(self, name: str) -> bool:
        for argument, slot in self.model.givers.get(name, ()):
            if argument not in self.entries or self._gives_way(slot, name, self.entries[argument]):
                continue
            depends = [argument] if argument in self.along else []
            if slot.by_format(name):
                depends += [chooser for chooser in _choosing(self.model.part(name)) if chooser in self.along]
            if depends and (self._silent(argument, name) or (name in slot.extras and self._lacks(argument, name))):
                continue
            if depends:
                return self._bind_table(name, argument, list(dict.fromkeys(self.along[key] for key in depends)))
            entry = self.entries[argument]
            value = slot.word(entry, name) or slot.value(entry, name, self._rate_format(name))
            if value is None:
                continue
            origin = self._from_recipe(value, argument)
            self._put(name, _checked(name, value, entry), (), origin)
            if slot.by_format(name):
                self.by_format[name] = argument, self._rate_format(name)
            return True
        return False

    def _gives_way(self, slot: Slot, name: str, entry: Any) -> bool:
        """Tell if the value of an entry is replaced by another argument that is given."""
        others = slot.entry.gives_way.get(name, ())
        if any(other in names for other in others for names in (self.along, self.free)):
            return True
        typed = {other: self.typed[other] for other in others if other in self.typed}
        return bool(typed) and (isinstance(entry, list) or not entry.stands_beside(name, typed))

    def _silent(self, argument: str, name: str) -> bool:
        """Tell if no entry has a value for an input that another entry gives by default."""
        return self.model.fallback(name, self._rate_format(name)) is not None and not any(self._values(argument, name))

    def _lacks(self, argument: str, name: str) -> bool:
        """Tell if an input has no default, and one of the entries no value for it."""
        known = name in self.model.defaults or self.model.fallback(name, self._rate_format(name)) is not None
        return not known and not all(self._values(argument, name))

    def _values(self, argument: str, name: str) -> Iterator[Value | Choice | None]:
        """Value of an input from each of the entries of an argument."""
        entries = self.entries[argument] if isinstance(self.entries[argument], list) else [self.entries[argument]]
        slot = self.model.slots[argument]
        return (slot.word(entry, name) or slot.value(entry, name, self._rate_format(name)) for entry in entries)

    def _bind_table(self, name: str, argument: str, depends: list[str]) -> bool:
        table = np.empty([len(self.axes[axis]) for axis in depends])
        missing: list[InputError] = []
        for index in np.ndindex(*table.shape):
            indices = dict(zip(depends, index, strict=True))
            entry = self.entries[argument]
            if self.along.get(argument) in indices:
                entry = entry[indices[self.along[argument]]]
            precision = self._precision(_choosing(self.model.part(name)), indices)
            try:
                table[index] = self._tabulated(name, self.model.slots[argument], entry, precision)
            except InputError as error:
                missing.append(error)
                table[index] = np.nan
        self._put(name, table, tuple(depends), f"catalog, along {' and '.join(depends)}")
        if missing:
            self.gaps[name] = gap(name, ~np.isnan(self.values[name]), missing[0])
            self.reasons.append(self.gaps[name])
        return True

    def _tabulated(self, name: str, slot: Slot, entry: Entry, precision: str) -> float:
        value = slot.word(entry, name) or slot.value(entry, name, precision)
        if value is not None:
            return _checked(name, value, entry)
        if name in self.model.defaults:
            return self.model.canonical_default(name)
        if (fallback := self.model.fallback(name, precision)) is not None:
            return fallback.canonical
        raise MissingInputError(type(self.model).__name__, name, f"{entry.name} has no value for it; give {name}=...")

    @cached_property
    def _rate_formats(self) -> dict[str, str]:
        """Number format that chooses rates, if it does not vary, by prefix of the part of the model."""
        return {prefix: self._precision(_choosing(prefix)) for prefix in self.model.prefixes}

    @property
    def _formats(self) -> tuple[str, ...]:
        return tuple(self._rate_formats.values())

    def _rate_format(self, name: str) -> str:
        return self._rate_formats[self.model.part(name)]

    def _precision(self, formats: Mapping[str, str], indices: Mapping[str, int] | None = None) -> str:
        """Number format that these arguments choose, at an index of the grid if they vary."""
        chosen = []
        for name, absent in formats.items():
            if indices is not None and self.along.get(name) in indices:
                chosen.append(str(self._swept(name).coordinates[indices[self.along[name]]]))
            else:
                chosen.append(str(self.typed.get(name, self.model.defaults.get(name, absent))))
        return rate_format(*chosen)

    def _put(self, name: str, value: Any, over: tuple[str, ...], origin: Origin) -> None:
        """Store a value; an array gets one dimension per axis, in the order of the axes."""
        if over:
            order = list(self.axes)
            ranked = sorted(over, key=order.index)
            value = np.transpose(value, [over.index(axis) for axis in ranked])
            value = value.reshape([len(self.axes[axis]) if axis in over else 1 for axis in order])
        self.values[name] = value
        self.origins[name] = origin

    def _need_inputs(self, entry: DerivedInput) -> None:
        """Refuse a derived input that needs an input without a value."""
        for needed in entry.inputs:
            if needed not in self.values:
                wanted = f"{needed} for {entry.variable.name}"
                raise MissingInputError(type(self.model).__name__, wanted, self._how_to_give(needed))

    def _computable(self) -> System:
        system = self.model.system
        derived = {entry.variable.name: entry.formula for entry in self.derived}
        missing = [v.name for v in system.inputs if v.name not in self.values and v.name not in derived]
        slots = self.model.slots.values()
        optional = {name for slot in slots for name in (slot.gives if slot.optional else slot.extras)}
        needed = [name for name in missing if name not in optional]
        if needed:
            self._refuse_missing(needed)
        if missing:
            system = self.model.without(frozenset(missing))
        return extended(system, tuple(derived.values())) if derived else system

    def _refuse_missing(self, needed: list[str]) -> None:
        """Refuse a call that lacks inputs: name all of them, first the entries that would give some."""
        model, groups = type(self.model).__name__, self._missing_entries(needed)
        alone = [name for name in needed if all(name not in lost for lost in groups.values())]
        if len(needed) == 1:
            raise MissingInputError(model, needed[0], self._how_to_give(needed[0]))
        recipe = f"{self.recipe_argument}=..." if groups and self.recipe_argument not in (*self.typed, "") else ""
        one = f", or what it gives one by one, as in {next(iter(groups.values()))[0]}=..." if groups else ""
        if len(groups) == 1 and not alone:
            ways = [*filter(None, [recipe]), *(f"{name}=..." for name in next(iter(groups)))]
            unread = getattr(self.entries.get(self.recipe_argument), "not_read", ())
            notes = "".join(f"; {note}" for note in unread if any(f"give {way}" in note for way in ways))
            raise MissingInputError(model, next(iter(groups))[0], f"give {' or '.join(ways)}{one}{notes}")
        ways = [" or ".join(f"{name}=..." for name in names) for names in groups]
        ways += self._ways_one_by_one(alone)
        more = "; or what an entry gives one by one" if groups else ""
        more += f", or {recipe}, which gives several of them" if recipe else ""
        wanted = ", ".join([*(names[0] for names in groups), *alone])
        raise MissingInputError(model, wanted, f"give {', '.join(ways)}{more}")

    def _ways_one_by_one(self, names: list[str]) -> list[str]:
        """List ways to give inputs by name, those together that the same entries would give."""
        by_givers: dict[tuple[str, ...], list[str]] = {}
        for name in names:
            givers = [argument for argument, slot in self.model.slots.items() if name in slot.gives]
            has_none = any(argument in self.entries for argument in givers)
            by_givers.setdefault(() if has_none else tuple(givers), []).append(name)
        return [
            " or ".join([*(f"{giver}=..." for giver in givers), " and ".join(f"{name}=..." for name in together)])
            for givers, together in by_givers.items()
        ]

    def _missing_entries(self, needed: list[str]) -> dict[tuple[str, ...], list[str]]:
        """Arguments that take an entry, with the inputs that it would give; most first.

        An argument is left out where one of its inputs is typed: the others are then wanted by name.
        """
        slots = {
            argument: slot
            for argument, slot in self.model.slots.items()
            if argument in self.model.arguments
            and not slot.default
            and argument not in self.entries
            and (self.typed.keys() - self.of_device).isdisjoint(set(slot.gives) - slot.entry.gives_way.keys())
        }
        groups: dict[tuple[str, ...], list[str]] = {}
        left = list(needed)
        while True:
            lost = {argument: [name for name in slot.gives if name in left] for argument, slot in slots.items()}
            most = max(lost.values(), key=len, default=[])
            if not most:
                return groups
            groups[tuple(argument for argument, names in lost.items() if names == most)] = most
            left = [name for name in left if name not in most]

    def _how_to_give(self, name: str) -> str:
        """Ways to give a missing input; the entries that were given have no value for it."""
        lacking = [entry.name for argument, entry in self.entries.items()
                   if isinstance(entry, Entry) and name in self.model.slots[argument].gives]  # fmt: skip
        if lacking:
            return f"{' and '.join(lacking)} has no value for it; give {name}=..."
        return self.model.how_to_give(name)


def _devices(entry: Any) -> list[Accelerator | None]:
    """Device of an entry, or of each of several."""
    return [one.device for one in (entry if isinstance(entry, list) else [entry])]


def _own(name: str, entries: list[Any], device: Accelerator | None) -> Any:
    """Select the one of several entries that is of a device; refused if there is none, or more than one."""
    if device is None:
        return entries[0]
    own = [entry for entry in entries if entry.device.name == device.name]
    if len(own) == 1:
        return own[0]
    wanted = device.key or device.name
    if own:
        names = ", ".join(entry.key or entry.name for entry in own)
        raise InputError(name, names, f"are several of {wanted}", "give one, or pairs by linked(...)")
    kind = f"Systems.{type(entries[0]).__name__}s."
    known = [path for path in builtin().paths() if path.startswith(kind)]
    known = [path.removeprefix(kind) for path in known if builtin().entry(path).device == device]
    named = " and ".join(
        f"{entry.key or entry.name} is of {entry.device.key or entry.device.name}" for entry in entries
    )
    hint = f"of {wanted} the catalog has {', '.join(known)}" if known else f"the catalog has none of {wanted}"
    raise InputError(name, entries[0].key or entries[0].name, f"must be of {wanted}; {named}", hint)


@lru_cache(maxsize=4096)
def _allow(name: str, canonical: float) -> None:
    """Check a number of the catalog; cached, because every call asks for it."""
    convert.check(variable_of(name), canonical)


def _checked(name: str, value: Value | Choice, entry: Entry) -> float:
    """A catalog value in canonical units, checked as if it were typed."""
    if isinstance(value, Choice):
        return convert.scalar(variable_of(name), value.value)
    try:
        _allow(name, value.canonical)
    except InputError as error:
        amount = f"{value.value:g} {value.unit}".strip()
        raise InputError(name, amount, error.allowed, f"given by {entry.name}") from None
    return value.canonical
