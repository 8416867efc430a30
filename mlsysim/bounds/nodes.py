"""Nodes of a graph on a grid, in which everything but the axes is a number: values of those along few axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from mlsysim.backends import vector
from mlsysim.backends.compiled import of_graph
from mlsysim.bounds.forms import Condition, Forms, Sum
from mlsysim.bounds.implied import LARGEST_PAIRS
from mlsysim.graph import TABLE, Graph, Node
from mlsysim.graph.lowering import declared
from mlsysim.graph.passes import cost_of, is_truth

#: Most pairs of values of two axes for which a variable is tabulated.
LARGEST_PLANE = 1 << 15
#: Most points on which it is seen along which of its axes a node changes.
LARGEST_FELT = 512
#: Most nanoseconds in which a condition is evaluated at more pairs than those.
AFFORDABLE = 5e7
#: Operations that are nothing where an operand is.
PRODUCTS = ("multiply", "lawful", "chained")


@dataclass(slots=True, eq=False)
class Quantity:
    """A node on a grid.

    Attributes
    ----------
    value : float, bool, ndarray or None
        What it is worth, of the shape of its axes; None where it is not tabulated.
    axes : int
        The axes along which it changes, as bits; another bit where it depends on a bound input.
    form : Sum, Condition, Gathered or None
        Once somebody has asked for it.
    """

    value: Any
    axes: int
    form: Any = None


class Nodes:
    """Nodes of a graph on a grid: the values of those along few axes, and the forms that are asked for.

    Parameters
    ----------
    on : mlsysim.bounds.GraphForms
        What makes forms.
    graph : Graph
        Any graph.
    inputs : sequence of Quantity
        In order.
    """

    def __init__(self, on: Any, graph: Graph, inputs: Sequence[Quantity]) -> None:
        self.on, self.graph = on, graph
        self._given = dict(zip(graph.inputs, inputs, strict=True))
        self._on: dict[tuple[int, ...], dict[int, Any]] = {}
        self._functions: dict[int, Callable[..., Any]] = {}
        self._known: list[Quantity] = []
        with np.errstate(all="ignore"):
            for place, node in enumerate(graph.nodes):
                self._known.append(self._read(place, node))

    def parts(self, place: int) -> list[int]:
        """The parts of a condition, all of which must hold."""
        node = self.graph.nodes[place]
        return [part for arg in node.args for part in self.parts(arg)] if node.op == "both" else [place]

    def quantity(self, place: int) -> Quantity:
        """A node with its form."""
        needed, pending = set[int](), [place]
        while pending:
            at = pending.pop()
            if at not in needed and self._known[at].form is None:
                self._known[at].form = self._tabulated(at)
                if self._known[at].form is None:
                    needed.add(at)
                    pending += self._operands(at)
        for at in sorted(needed):
            self._known[at].form = self._made(at)
        return self._known[place]

    def _read(self, place: int, node: Node) -> Quantity:
        if node.op == "input":
            return self._given[node.data]
        if node.op == "number":
            return Quantity(node.data, 0)
        operands = [self._known[arg] for arg in self._operands(place)]
        if len(operands) < len(node.args):
            (taken,) = operands
            return Quantity(taken.value, taken.axes)
        if node.op in PRODUCTS and any(each.axes == 0 and each.value == 0 for each in operands):
            return Quantity(0.0, 0)
        axes = reduce(int.__or__, [each.axes for each in operands])
        if axes >> len(self.on.sizes) or (axes & (axes - 1) and self._points(_set(axes)) > LARGEST_FELT):
            return Quantity(None, axes)
        return self._felt(self._value(place, [each.value for each in operands]), axes)

    def _operands(self, place: int) -> tuple[int, ...]:
        """Places of the operands; of a case that is decided, that of the value alone."""
        node = self.graph.nodes[place]
        if node.op == "where" and self._known[node.args[0]].axes == 0:
            return (node.args[1 if self._known[node.args[0]].value else 2],)
        return node.args

    def _points(self, axes: Iterable[int]) -> int:
        return math.prod([self.on.sizes[axis] for axis in axes])

    def _felt(self, value: Any, axes: int) -> Quantity:
        """A node by its value, with the axes along which that changes."""
        if axes == 0 or type(value) is tuple:
            return Quantity(value, axes)
        for axis in range(value.ndim):
            if axes >> axis & 1:
                first = value.take([0], axis)
                same = value == first
                if same.all() or (same | ((value != value) & (first != first))).all():
                    value, axes = first, axes & ~(1 << axis)
        return Quantity(value if axes else value.ravel()[0].item(), axes)

    def _value(self, place: int, operands: list[Any]) -> Any:
        """Value of a node from those of its operands: Python's numbers, or arrays with a dimension per axis."""
        op, _, data = self.graph.nodes[place]
        if op == "chunked":
            return tuple(operands)
        if data is not None:
            return self._function(place)(*(operands[0] if type(operands[0]) is tuple else operands))
        if any(isinstance(each, np.ndarray) for each in operands):
            return vector.FUNCTIONS[op](*operands)
        return TABLE[op].fold(*operands)  # type: ignore[misc]

    def _function(self, place: int) -> Callable[..., Any]:
        """A node with a subgraph, or an answer of a law, as a compiled function of its operands."""
        if place not in self._functions:
            node, nodes = self.graph.nodes[place], self.graph.nodes
            chain = [nodes[node.args[0]], node] if node.data.__class__ is tuple else [node]
            names = [f"_o{at}" for at in range(len(chain[0].args))]
            count = len(names)
            built = [Node("input", (), name) for name in names] + [chain[0]._replace(args=tuple(range(count)))]
            built += [each._replace(args=(count,)) for each in chain[1:]]
            facts = (*[self.graph.facts[arg] for arg in chain[0].args], *[self.graph.facts[place]] * len(chain))
            graph = Graph(tuple(names), tuple(built), {"value": len(built) - 1}, {}, facts)
            raw = of_graph(graph, "vector").raw

            def evaluate(*operands: Any) -> Any:
                (found,) = raw(*operands)
                return found if np.ndim(found) else float(found)

            self._functions[place] = evaluate
        return self._functions[place]

    def _tabulated(self, place: int) -> Any:
        """The form of a node by its values: over one axis, or over two where that is worth it; else None."""
        quantity, forms = self._known[place], self.on.forms
        axes = self._axes(place)
        if quantity.value is not None and len(axes) <= 1:
            if not axes:
                if isinstance(quantity.value, bool):
                    return forms.true if quantity.value else forms.false
                return forms.number(quantity.value)
            row = np.broadcast_to(quantity.value.ravel(), self.on.sizes[axes[0]])
            return _table(forms, axes[0], row) if row.dtype == bool else forms.table(axes[0], row)
        if self.graph.nodes[place].op == "input":
            return self._grid(quantity.value, axes)
        joined = self.graph.nodes[place].op in ("both", "either", "where")
        return None if joined or not is_truth(self.graph, place) else self._pairs(place)

    def _pairs(self, place: int) -> Condition | None:
        """A condition on two axes by its truth at all pairs of their values, if these are few."""
        axes = self._axes(place)
        if len(axes) != 2 or self._known[place].axes >> len(self.on.sizes) or self._points(axes) > LARGEST_PAIRS:
            return None
        mask = self._over(place, axes)
        return None if mask is None else self.on.forms.pairs(*axes, mask)

    def _plane(self, place: int, of: Sum) -> Sum:
        """A variable over two axes by its values, where its bounds are loose and these are few and all numbers."""
        axes = self._axes(place)
        if len(axes) != 2 or self._points(axes) > LARGEST_PLANE or not _steps(of):
            return of
        values = self._over(place, axes)
        return of if values is None or not np.isfinite(values).all() else self.on.forms.plane(*axes, values)

    def _axes(self, place: int) -> list[int]:
        return _set(self._known[place].axes)

    def _over(self, place: int, axes: list[int]) -> np.ndarray | None:
        """The values of a node at all pairs of two axes; None where that takes too long, or a bound input has none."""
        found = self._on.setdefault(tuple(axes), {}) if self._points(axes) <= LARGEST_PLANE else {}
        needed, pending = set[int](), [place]
        while pending:
            at = pending.pop()
            if at not in needed and at not in found and self._known[at].value is None:
                needed.add(at)
                pending += self._operands(at)
        if any(self.graph.nodes[at].op == "input" for at in needed):
            return None
        nanoseconds = sum([cost_of(self.graph.nodes[at]) for at in needed]) * self._points(axes)
        if self._points(axes) > LARGEST_PLANE and nanoseconds > AFFORDABLE:
            return None
        for at in sorted(needed):
            operands = [found[arg] if arg in found else self._known[arg].value for arg in self._operands(at)]
            found[at] = operands[0] if len(operands) < len(self.graph.nodes[at].args) else self._value(at, operands)
        value = found.get(place, self._known[place].value)
        shape = [size if axis in axes else 1 for axis, size in enumerate(self.on.sizes)]
        return np.broadcast_to(value, shape).reshape([self.on.sizes[axis] for axis in axes])

    def _grid(self, value: Any, axes: list[int]) -> Sum:
        """An input over several axes: one table along the longest of them per combination of the others."""
        forms, sizes = self.on.forms, self.on.sizes
        longest = max(axes, key=lambda axis: sizes[axis])
        others = [axis for axis in axes if axis != longest]
        parts = []
        for place in np.ndindex(*(sizes[axis] for axis in others)):
            at = dict(zip(others, place, strict=True))
            row = value[tuple(slice(None) if a == longest else at.get(a, 0) for a in range(value.ndim))]
            part = forms.table(longest, row)
            for axis, index in at.items():
                part = forms.masked(part, axis, np.arange(sizes[axis]) == index)
            parts.append(part)
        return forms.add(parts)

    def _made(self, place: int) -> Any:
        """The form of a node, of those of its operands."""
        node, on = self.graph.nodes[place], self.on
        operands = [self._known[arg] for arg in self._operands(place)]
        form = TABLE[node.op].form
        if len(operands) < len(node.args):
            found = operands[0].form
        elif form is None:
            found = on.atom(node.op, *operands, data=node.data)
        else:
            found = form(on, *((node.data,) if isinstance(node.data, Graph) else ()), *operands)
        found = found.form if type(found) is Quantity else found
        if type(found) is Condition:
            # Each part by itself may be one of one axis, or hold everywhere.
            return (found.relation in ("and", "or") and self._pairs(place)) or found
        name = self.graph.names.get(place)
        if name is None:
            return found
        found = self._plane(place, on.settled(found))
        return on.in_domain(found) if declared(name).low >= 0 else found


def _set(bits: int) -> list[int]:
    return [axis for axis in range(bits.bit_length()) if bits >> axis & 1]


def _table(forms: Forms, axis: int, mask: np.ndarray) -> Condition:
    if mask.all():
        return forms.true
    if not mask.any():
        return forms.false
    return forms.condition("table", axis, np.concatenate([[0], np.cumsum(mask)]))


def _steps(of: Sum) -> bool:
    """True if a sum has cases or roundings, whose bounds are loose, in any depth."""
    return any(
        atom.kind in ("case", "ceil", "floor", "mod", "truth")
        or any(_steps(arg) for arg in atom.args if isinstance(arg, Sum))
        for term in of.terms
        for atom, _ in term.atoms
    )
