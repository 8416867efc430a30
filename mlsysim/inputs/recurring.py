"""Calls that recur with other numbers: all that they have in common is kept, and the rest is one generated function.

A call is answered here if one with the same names, labels and catalog entries was answered before and its numbers are
plain and allowed. Whatever is odd about it is left to :func:`mlsysim.inputs.binding.bind`, which says what is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from threading import Lock
from typing import Any

import numpy as np

from mlsysim import units
from mlsysim.backends import CompiledFunction, graph_of, of_graph
from mlsysim.catalog import Entry, Recipe, builtin
from mlsysim.graph import Graph
from mlsysim.graph.passes import known
from mlsysim.inputs.binding import Binding
from mlsysim.inputs.convert import LARGEST, LARGEST_INTEGER, SMALLEST
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.inputs.plan import Plan
from mlsysim.inputs.refusal import Reason, code_of
from mlsysim.scaling import into_canonical
from mlsysim.symbolic import System, Variable, variable_of

#: Kinds of calls that are remembered, and calls of a kind after which a function is generated for the next ones.
LARGEST_NUMBER, CALLS_BEFORE = 256, 64

_NUMBERS = frozenset({float, int, np.float64, np.int64})
_PLAIN = frozenset({str, bool, type(None)})
#: Output for the reason code: no variable has the name.
_CODE = "_code"


@dataclass(frozen=True, eq=False)
class Recurring:
    """A call, to be asked again with other numbers.

    Attributes
    ----------
    plan : Plan
        Of such calls.
    values : dict
        Canonical values of the inputs in that call.
    computed : dict
        Every output in that call.
    numbers : tuple of str
        Inputs that were typed as plain numbers, and those that follow them.
    outputs : tuple of str
        Outputs that depend on them.
    solved : callable
        From arguments as typed: the canonical values of ``numbers``, then ``outputs``; None for whatever is odd.
    """

    plan: Plan
    values: dict[str, float]
    computed: dict[str, Any]
    numbers: tuple[str, ...]
    outputs: tuple[str, ...]
    solved: Callable[[Mapping[str, Any]], tuple[Any, ...] | None]

    def answer(self, model: DeclaredModel, arguments: Mapping[str, Any]) -> Answer | None:
        """Answer for other numbers; None where the model must be asked in the longer way."""
        if not self.plan.fits(model):
            return None
        found = self.solved(arguments)
        return None if found is None else Answer(self, found)


class Answer:
    """Answer to a recurring call: the numbers that were asked with, and what follows from them."""

    __slots__ = ("_call", "_found")

    def __init__(self, call: Recurring, found: tuple[Any, ...]) -> None:
        self._call = call
        self._found = found

    def binding(self, model: DeclaredModel) -> Binding:
        """The inputs as :func:`mlsysim.inputs.binding.bind` gives them."""
        call, plan = self._call, self._call.plan
        values = {**call.values, **dict(zip(call.numbers, self._found, strict=False))}
        return Binding(
            model, values, dict(plan.origins), {}, dict(plan.entries), plan.system, plan.reasons, plan.derived,
            plan=plan,
        )  # fmt: skip

    def computed(self) -> dict[str, Any]:
        """Every output, as compiled code returns it."""
        call = self._call
        found = self._found[len(call.numbers) :]
        typed = (np.bool_(x) if type(x) is bool else np.float64(x) for x in found)
        return {**call.computed, **dict(zip(call.outputs, typed, strict=True))}


class Calls:
    """Kinds of recent calls, with how often they came or, for those that recur, what answers them."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, int | Recurring] = {}
        self._lock = Lock()

    def find(self, kind: Hashable) -> Recurring | None:
        """Find what answers calls of this kind, if they recur."""
        found = self._kept.get(kind)
        return found if type(found) is Recurring else None

    def came(self, kind: Hashable, arguments: Mapping[str, Any], binding: Binding, computed: dict[str, Any]) -> None:
        """Remember a call that was answered in the longer way, and what it said."""
        with self._lock:
            before = self._kept.get(kind, 0)
            if not isinstance(before, int):
                return
            self._keep(kind, before + 1)
        if before + 1 == CALLS_BEFORE and (call := _recurring(arguments, binding, computed)) is not None:
            with self._lock:
                self._keep(kind, call)

    def _keep(self, kind: Hashable, what: int | Recurring) -> None:
        """Keep what is known of a kind; the oldest one goes first."""
        if kind not in self._kept and len(self._kept) >= LARGEST_NUMBER:
            del self._kept[next(iter(self._kept))]
        self._kept[kind] = what


def kind_of(model: DeclaredModel, arguments: Mapping[str, Any]) -> Hashable:
    """Key shared by calls that differ in plain numbers alone; None where one has something else.

    An entry counts by its identity, which is no other one's for as long as a recurring call holds the entry.
    """
    common = []
    for value in arguments.values():
        kind = type(value)
        if kind in _NUMBERS:
            common.append(0)
        elif kind in _PLAIN:
            common.append((value,))
        elif _is_entry(kind):
            common.append((kind, id(value)))
        else:
            return None
    return type(model), model.variant, model.assumed, tuple(arguments), tuple(common)


@lru_cache(maxsize=256)
def _is_entry(kind: type) -> bool:
    return issubclass(kind, Entry)


def _recurring(arguments: Mapping[str, Any], binding: Binding, computed: dict[str, Any]) -> Recurring | None:
    """Build what answers further calls of a kind; None where they have no plan, or a recipe."""
    plan = binding.plan
    if plan is None or not all(_is_fixed(plan, name, value) for name, value in arguments.items()):
        return None
    numbers = tuple(name for name, value in arguments.items() if type(value) in _NUMBERS)
    follow = {entry.variable.name: entry.text for entry in plan.derived if entry.text in numbers}
    moved = {*numbers, *follow}
    rest = known(_graph(plan.system, plan.reasons), {k: v for k, v in binding.values.items() if k not in moved})
    moving = {name: place for name, place in rest.outputs.items() if rest.nodes[place].op != "number"}
    code = rest.outputs[_CODE]
    function = of_graph(replace(rest, outputs={**moving, _CODE: code}), "numpy")
    outputs = tuple(name for name in moving if name != _CODE)
    return Recurring(plan, binding.values, computed, (*numbers, *follow), outputs, _solved(function, numbers, follow))


def _is_fixed(plan: Plan, name: str, value: Any) -> bool:
    """Tell whether an argument means the same in the next call: no file, and no recipe, whose ranks may change."""
    if value is None or name not in plan.model.slots:
        return True
    entry = plan.entries[name]
    is_file = isinstance(value, str) and builtin().find(entry.what, value) is not entry
    return not (is_file or isinstance(entry, Recipe))


@lru_cache(maxsize=64)
def _graph(system: System, reasons: tuple[Reason, ...]) -> Graph:
    """The graph of every output and of the reason code."""
    named = [(formula.name, formula.variable.symbol) for formula in system]
    return graph_of(system, None, (*named, (_CODE, code_of(reasons))))


def _solved(
    function: CompiledFunction, numbers: Sequence[str], follow: Mapping[str, str]
) -> Callable[[Mapping[str, Any]], Any]:
    """A function of arguments as typed; see :class:`Recurring`."""
    lines = [line for name in numbers for line in _reading(variable_of(name)).splitlines()]
    lines += [f"{name} = {other}" for name, other in follow.items()]
    read = "".join(f"{name}, " for name in (*numbers, *follow))
    text = [
        "def solved(_given):",
        "    try:",
        *(f"        {line}" for line in lines or ["pass"]),
        "    except OverflowError:  # of a whole number that no float holds",
        "        return None",
        f"    *_found, _code = _function({', '.join(function.inputs)})",
        f"    return None if _code or _undefined(_found) else ({read}*_found,)",
    ]
    space = {"_function": function.raw, "_undefined": _undefined, "inf": math.inf}
    exec(compile("\n".join(text), "<recurring>", "exec"), space)
    return space["solved"]


def _undefined(found: Sequence[float]) -> bool:
    """True if a number is nan; the sum tells in most cases, but for opposite infinities."""
    total = sum(found)
    return total != total and any(each != each for each in found)


def _reading(variable: Variable) -> str:
    """Statements that take a typed number to its canonical value, unless :mod:`mlsysim.inputs.convert` refuses it."""
    name, domain = variable.name, variable.domain
    lower = "<" if domain.open_lower else "<="
    inside = f"{domain.lower!r} {lower} {name} <= {domain.upper!r}"
    if domain.kind == "integer":
        allowed = f"{inside} and {name} < {LARGEST_INTEGER} and {name}.is_integer()"
    else:
        allowed = f"{inside} and ({name} == 0.0 or {SMALLEST!r} <= abs({name}) <= {LARGEST!r})"
    operator, amount = into_canonical(units.factor(variable.unit))
    scaled = "" if amount == 1.0 else f"\n{name} = {name} {operator} {amount!r}"
    return f"{name} = float(_given[{name!r}])\nif not ({allowed}): return None{scaled}"
