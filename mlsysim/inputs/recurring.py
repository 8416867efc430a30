"""Recurring calls with other numbers: shared work is kept, and the rest is one generated function.

A call is answered here if one with the same names, labels and catalog entries was answered before and its numbers are
plain and allowed. All other calls are left to :func:`mlsysim.inputs.binding.bind`, which raises the errors.
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
    """Recurring call, which answers for other numbers.

    Attributes
    ----------
    plan : Plan
        Plan of such calls.
    values : dict
        Canonical values of the inputs in that call.
    computed : dict
        Every output in that call.
    numbers : tuple of str
        Inputs that were typed as plain numbers, and those that follow them.
    outputs : tuple of str
        Outputs that depend on them.
    solved : callable
        Maps arguments as typed to the canonical values of ``numbers``, then ``outputs``; None for any other call.
    """

    plan: Plan
    values: dict[str, float]
    computed: dict[str, Any]
    numbers: tuple[str, ...]
    outputs: tuple[str, ...]
    solved: Callable[[Mapping[str, Any]], tuple[Any, ...] | None]

    def answer(self, model: DeclaredModel, arguments: Mapping[str, Any]) -> Answer | None:
        """Answer for other numbers; None if the model must be asked in the longer way."""
        if not self.plan.fits(model):
            return None
        numbers = self.solved(arguments)
        return None if numbers is None else Answer(self, numbers)


class Answer:
    """Answer to a recurring call: the typed numbers, and the outputs that follow from them."""

    __slots__ = ("_call", "_numbers")

    def __init__(self, call: Recurring, numbers: tuple[Any, ...]) -> None:
        self._call = call
        self._numbers = numbers

    def binding(self, model: DeclaredModel) -> Binding:
        """Inputs as :func:`mlsysim.inputs.binding.bind` returns them."""
        call, plan = self._call, self._call.plan
        values = {**call.values, **dict(zip(call.numbers, self._numbers, strict=False))}
        return Binding(
            model, values, dict(plan.origins), {}, dict(plan.entries), plan.system, plan.reasons, plan.derived,
            plan=plan,
        )  # fmt: skip

    def computed(self) -> dict[str, Any]:
        """Every output, as compiled code returns it."""
        call = self._call
        outputs = self._numbers[len(call.numbers) :]
        typed = (np.bool_(x) if type(x) is bool else np.float64(x) for x in outputs)
        return {**call.computed, **dict(zip(call.outputs, typed, strict=True))}


class Calls:
    """Recent kinds of calls, with their count or, for those that recur, their recurring call."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, int | Recurring] = {}
        self._lock = Lock()

    def find(self, kind: Hashable) -> Recurring | None:
        """Find the recurring call of a kind, if there is one."""
        kept = self._kept.get(kind)
        return kept if type(kept) is Recurring else None

    def came(self, kind: Hashable, arguments: Mapping[str, Any], binding: Binding, computed: dict[str, Any]) -> None:
        """Remember a call that was answered in the longer way, and its outputs."""
        with self._lock:
            before = self._kept.get(kind, 0)
            if not isinstance(before, int):
                return
            self._keep(kind, before + 1)
        if before + 1 == CALLS_BEFORE and (call := _recurring(arguments, binding, computed)) is not None:
            with self._lock:
                self._keep(kind, call)

    def _keep(self, kind: Hashable, what: int | Recurring) -> None:
        """Keep an entry of a kind; the oldest one goes first."""
        if kind not in self._kept and len(self._kept) >= LARGEST_NUMBER:
            del self._kept[next(iter(self._kept))]
        self._kept[kind] = what


def kind_of(model: DeclaredModel, arguments: Mapping[str, Any]) -> Hashable:
    """Key shared by calls that differ in plain numbers alone; None if an argument is something else.

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
    """Build the recurring call of a kind; None without a plan, or with a recipe."""
    plan = binding.plan
    if plan is None or not all(_is_fixed(plan, name, value) for name, value in arguments.items()):
        return None
    numbers = tuple(name for name, value in arguments.items() if type(value) in _NUMBERS)
    follow = {entry.variable.name: entry.text for entry in plan.derived if entry.text in numbers}
    moved = {*numbers, *follow}
    rest = known(_graph(plan.system, plan.reasons), {k: v for k, v in binding.values.items() if k not in moved})
    moving = {name: index for name, index in rest.outputs.items() if rest.nodes[index].op != "number"}
    code = rest.outputs[_CODE]
    function = of_graph(replace(rest, outputs={**moving, _CODE: code}), "numpy")
    outputs = tuple(name for name in moving if name != _CODE)
    return Recurring(plan, binding.values, computed, (*numbers, *follow), outputs, _solved(function, numbers, follow))


def _is_fixed(plan: Plan, name: str, value: Any) -> bool:
    """Tell if an argument means the same in the next call: no file, and no recipe, whose ranks may change."""
    if value is None or name not in plan.model.slots:
        return True
    entry = plan.entries[name]
    is_file = isinstance(value, str) and builtin().find(entry.what, value) is not entry
    return not (is_file or isinstance(entry, Recipe))


@lru_cache(maxsize=64)
def _graph(system: System, reasons: tuple[Reason, ...]) -> Graph:
    """Graph of every output and of the reason code."""
    named = [(formula.name, formula.variable.symbol) for formula in system]
    return graph_of(system, None, (*named, (_CODE, code_of(reasons))))


def _solved(
    function: CompiledFunction, numbers: Sequence[str], follow: Mapping[str, str]
) -> Callable[[Mapping[str, Any]], Any]:
    """Generate a function of arguments as typed; see :class:`Recurring`."""
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


def _undefined(numbers: Sequence[float]) -> bool:
    """True if a number is nan; the sum tells in most cases, but for opposite infinities."""
    total = sum(numbers)
    return total != total and any(value != value for value in numbers)


def _reading(variable: Variable) -> str:
    """Statements that convert a typed number to canonical units, unless :mod:`~mlsysim.inputs.convert` refuses it."""
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
