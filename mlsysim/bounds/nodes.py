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
#: Most points on which the effective axes of a node are looked for.
LARGEST_EFFECTIVE = 512
#: Most nanoseconds for evaluating a condition at more pairs than those.
AFFORDABLE = 5e7
#: Operations that are zero where an operand is zero.
PRODUCTS = ("multiply", "lawful", "chained")


@dataclass(slots=True, eq=False)
class Quantity:
    """Value, axes and form of a node on a grid.

    Attributes
    ----------
    value : float, bool, ndarray or None
        Its values, in the shape of its axes; None if it is not tabulated.
    axes : int
        Axes along which it changes, as bits; one more bit if it depends on a bound input.
    form : Sum, Condition, Deferred or None
        Its form, built on demand.
    """

    value: Any
    axes: int
    form: Any = None


class Nodes:
    """Nodes of a graph on a grid: the values of those along few axes, and the forms that are asked for.

    Parameters
    ----------
    on : mlsysim.bounds.GraphForms
        Builds the forms.
    graph : Graph
        Any graph.
    inputs : sequence of Quantity
        In order.
    """

    def __init__(self, on: Any, graph: Graph, inputs: Sequence[Quantity]) -> None:
        self.on, self.graph = on, graph
        self._inputs = dict(zip(graph.inputs, inputs, strict=True))
        self._on: dict[tuple[int, ...], dict[int, Any]] = {}
        self._functions: dict[int, Callable[..., Any]] = {}
        self._known: list[Quantity] = []
        with np.errstate(all="ignore"):
            for index, node in enumerate(graph.nodes):
                self._known.append(self._read(index, node))

    def parts(self, index: int) -> list[int]:
        """Conjuncts of a condition, all of which must hold."""
        node = self.graph.nodes[index]
        return [part for arg in node.args for part in self.parts(arg)] if node.op == "both" else [index]

    def quantity(self, index: int) -> Quantity:
        """Node with its form."""
        needed, pending = set[int](), [index]
        while pending:
            current = pending.pop()
            if current not in needed and self._known[current].form is None:
                self._known[current].form = self._tabulated(current)
                if self._known[current].form is None:
                    needed.add(current)
                    pending += self._operands(current)
        for current in sorted(needed):
            self._known[current].form = self._build(current)
        return self._known[index]

    def _read(self, index: int, node: Node) -> Quantity:
        if node.op == "input":
            return self._inputs[node.data]
        if node.op == "number":
            return Quantity(node.data, 0)
        operands = [self._known[arg] for arg in self._operands(index)]
        if len(operands) < len(node.args):
            (selected,) = operands
            return Quantity(selected.value, selected.axes)
        if node.op in PRODUCTS and any(operand.axes == 0 and operand.value == 0 for operand in operands):
            return Quantity(0.0, 0)
        axes = reduce(int.__or__, [operand.axes for operand in operands])
        if axes >> len(self.on.sizes) or (axes & (axes - 1) and self._points(_axes_of(axes)) > LARGEST_EFFECTIVE):
            return Quantity(None, axes)
        return self._effective(self._value(index, [operand.value for operand in operands]), axes)

    def _operands(self, index: int) -> tuple[int, ...]:
        """Indices of the operands; of a case that is decided, that of the value alone."""
        node = self.graph.nodes[index]
        if node.op == "where" and self._known[node.args[0]].axes == 0:
            return (node.args[1 if self._known[node.args[0]].value else 2],)
        return node.args

    def _points(self, axes: Iterable[int]) -> int:
        return math.prod([self.on.sizes[axis] for axis in axes])

    def _effective(self, value: Any, axes: int) -> Quantity:
        """Reduce a value to the axes along which it changes."""
        if axes == 0 or type(value) is tuple:
            return Quantity(value, axes)
        for axis in range(value.ndim):
            if axes >> axis & 1:
                first = value.take([0], axis)
                same = value == first
                if same.all() or (same | ((value != value) & (first != first))).all():
                    value, axes = first, axes & ~(1 << axis)
        return Quantity(value if axes else value.ravel()[0].item(), axes)

    def _value(self, index: int, operands: list[Any]) -> Any:
        """Evaluate a node from its operands: Python numbers, or arrays with a dimension per axis."""
        op, _, data = self.graph.nodes[index]
        if op == "chunked":
            return tuple(operands)
        if data is not None:
            return self._function(index)(*(operands[0] if type(operands[0]) is tuple else operands))
        if any(isinstance(operand, np.ndarray) for operand in operands):
            return vector.FUNCTIONS[op](*operands)
        return TABLE[op].fold(*operands)  # type: ignore[misc]

    def _function(self, index: int) -> Callable[..., Any]:
        """Compile a node with a subgraph, or an output of a law, to a function of its operands."""
        if index not in self._functions:
            node, nodes = self.graph.nodes[index], self.graph.nodes
            chain = [nodes[node.args[0]], node] if node.data.__class__ is tuple else [node]
            names = [f"_o{position}" for position in range(len(chain[0].args))]
            count = len(names)
            built = [Node("input", (), name) for name in names] + [chain[0]._replace(args=tuple(range(count)))]
            built += [last._replace(args=(count,)) for last in chain[1:]]
            facts = (*[self.graph.facts[arg] for arg in chain[0].args], *[self.graph.facts[index]] * len(chain))
            graph = Graph(tuple(names), tuple(built), {"value": len(built) - 1}, {}, facts)
            raw = of_graph(graph, "vector").raw

            def evaluate(*operands: Any) -> Any:
                (result,) = raw(*operands)
                return result if np.ndim(result) else float(result)

            self._functions[index] = evaluate
        return self._functions[index]

    def _tabulated(self, index: int) -> Any:
        """Form of a node from its values: over one axis, or over two where that is worth it; else None."""
        quantity, forms = self._known[index], self.on.forms
        axes = self._axes(index)
        if quantity.value is not None and len(axes) <= 1:
            if not axes:
                if isinstance(quantity.value, bool):
                    return forms.true if quantity.value else forms.false
                return forms.number(quantity.value)
            row = np.broadcast_to(quantity.value.ravel(), self.on.sizes[axes[0]])
            return _table(forms, axes[0], row) if row.dtype == bool else forms.table(axes[0], row)
        if self.graph.nodes[index].op == "input":
            return self._grid(quantity.value, axes)
        joined = self.graph.nodes[index].op in ("both", "either", "where")
        return None if joined or not is_truth(self.graph, index) else self._pairs(index)

    def _pairs(self, index: int) -> Condition | None:
        """Truth table of a condition over two axes, if it is small enough."""
        axes = self._axes(index)
        if len(axes) != 2 or self._known[index].axes >> len(self.on.sizes) or self._points(axes) > LARGEST_PAIRS:
            return None
        mask = self._over(index, axes)
        return None if mask is None else self.on.forms.pairs(*axes, mask)

    def _plane(self, index: int, of: Sum) -> Sum:
        """Table of a variable over two axes, if its bounds are loose and its values few and all finite."""
        axes = self._axes(index)
        if len(axes) != 2 or self._points(axes) > LARGEST_PLANE or not _steps(of):
            return of
        values = self._over(index, axes)
        return of if values is None or not np.isfinite(values).all() else self.on.forms.plane(*axes, values)

    def _axes(self, index: int) -> list[int]:
        return _axes_of(self._known[index].axes)

    def _over(self, index: int, axes: list[int]) -> np.ndarray | None:
        """Values of a node at all pairs of two axes; None if that takes too long, or a bound input has none."""
        values = self._on.setdefault(tuple(axes), {}) if self._points(axes) <= LARGEST_PLANE else {}
        needed, pending = set[int](), [index]
        while pending:
            current = pending.pop()
            if current not in needed and current not in values and self._known[current].value is None:
                needed.add(current)
                pending += self._operands(current)
        if any(self.graph.nodes[current].op == "input" for current in needed):
            return None
        nanoseconds = sum([cost_of(self.graph.nodes[current]) for current in needed]) * self._points(axes)
        if self._points(axes) > LARGEST_PLANE and nanoseconds > AFFORDABLE:
            return None
        for current in sorted(needed):
            operands = [values[arg] if arg in values else self._known[arg].value for arg in self._operands(current)]
            values[current] = (
                operands[0] if len(operands) < len(self.graph.nodes[current].args) else self._value(current, operands)
            )
        value = values.get(index, self._known[index].value)
        shape = [size if axis in axes else 1 for axis, size in enumerate(self.on.sizes)]
        return np.broadcast_to(value, shape).reshape([self.on.sizes[axis] for axis in axes])

    def _grid(self, value: Any, axes: list[int]) -> Sum:
        """Form of an input over several axes: one table along the longest per combination of the others."""
        forms, sizes = self.on.forms, self.on.sizes
        longest = max(axes, key=lambda axis: sizes[axis])
        others = [axis for axis in axes if axis != longest]
        rows = []
        for row_position in np.ndindex(*(sizes[axis] for axis in others)):
            fixed_indices = dict(zip(others, row_position, strict=True))
            row = value[tuple(slice(None) if a == longest else fixed_indices.get(a, 0) for a in range(value.ndim))]
            row_form = forms.table(longest, row)
            for axis, row_index in fixed_indices.items():
                row_form = forms.masked(row_form, axis, np.arange(sizes[axis]) == row_index)
            rows.append(row_form)
        return forms.add(rows)

    def _build(self, index: int) -> Any:
        """Build the form of a node from those of its operands."""
        node, on = self.graph.nodes[index], self.on
        operands = [self._known[arg] for arg in self._operands(index)]
        form = TABLE[node.op].form
        if len(operands) < len(node.args):
            result = operands[0].form
        elif form is None:
            result = on.atom(node.op, *operands, data=node.data)
        else:
            result = form(on, *((node.data,) if isinstance(node.data, Graph) else ()), *operands)
        result = result.form if type(result) is Quantity else result
        if type(result) is Condition:
            # Each part by itself may be one of one axis, or hold everywhere.
            return (result.relation in ("and", "or") and self._pairs(index)) or result
        name = self.graph.names.get(index)
        if name is None:
            return result
        result = self._plane(index, on.settled(result))
        return on.in_domain(result) if declared(name).low >= 0 else result


def _axes_of(bits: int) -> list[int]:
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
