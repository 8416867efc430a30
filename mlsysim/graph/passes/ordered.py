"""Reassociation of sums and products of arrays to the cheapest order: operands of few axes are joined first.

Results differ from the written order by rounding alone. Differences stay as written, since rounding may be a large part
of them; and so does everything that a rounding or a decision reads, because it would jump.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, reduce
from typing import Any, NamedTuple

from mlsysim.graph.builder import Builder
from mlsysim.graph.graph import Graph, Node
from mlsysim.graph.operation import TABLE
from mlsysim.graph.passes.axes import axes

#: Elements of an array that take as long as one call of NumPy; and most sets of axes of which every order is compared.
CALL, COMPARED = 700, 6
SUMS, PRODUCTS = ("add", "subtract", "negative"), ("multiply", "divide")
COMPARISONS = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
#: Operations that map finite operands to finite results.
FINITE = frozenset(("number", *SUMS, "multiply", "lawful", "absolute", "maximum", "minimum", "where", "ceil", "floor"))
#: Joins two values.
Join = Callable[[Any, Any], Any]


class _Known(NamedTuple):
    """Axes of a node, and flags: finite at every point, possibly zero."""

    axes: int
    finite: bool
    zero: bool


class Product(NamedTuple):
    """Product of nodes over a product of others, with a sign."""

    sign: int
    above: tuple[int, ...]
    below: tuple[int, ...] = ()

    def times(self, other: Product, power: int = 1) -> Product:
        """Multiply by another product, or divide by it."""
        above, below = (other.above, other.below)[::power]
        return Product(self.sign * other.sign, self.above + above, self.below + below)


def ordered(graph: Graph, inputs: Mapping[str, int], sizes: tuple[int, ...], *, finite: bool) -> Graph:
    """Reassociate sums and products to the order in which arrays are smallest.

    Parameters
    ----------
    graph : Graph
        Any graph.
    inputs : mapping
        Axes of each input, as bits.
    sizes : tuple of int
        Length of each axis.
    finite : bool
        True if every input is finite at every point: zero times any finite value is zero.

    Returns
    -------
    Graph
        Graph of the same outputs.
    """
    ordering = _Ordering(inputs, sizes, finite)
    copies = ordering.copied(graph)
    return ordering.builder.graph({name: copies[index] for name, index in graph.outputs.items()})


class _Ordering:
    """Builder that joins sums and products in the cheapest order."""

    def __init__(self, inputs: Mapping[str, int], sizes: tuple[int, ...], finite: bool) -> None:
        self.builder = Builder()
        self._inputs, self._sizes, self._finite = inputs, sizes, finite
        self._known: list[_Known] = []
        #: Sums and products that their readers may take apart, by index.
        self._terms: dict[int, list[Product]] = {}
        self._products: dict[int, Product] = {}

    def copied(self, graph: Graph) -> list[int]:
        """Copy a graph; return the index of each node."""
        copies: list[int] = []
        kept, loose = _kept(graph), _loose(graph, self._inputs)
        for index, node in enumerate(graph.nodes):
            if node.op == "input":
                copy = self.builder.input(node.data, graph.facts[index])
            elif node.op == "number":
                copy = self.builder.number(node.data)
            else:
                args = [copies[arg] for arg in node.args]
                make = self._made if kept[index] else self._rules.get(node.op, self._made)
                copy = make(node, args, loose[index])
            if index in graph.names and self.builder.value(copy) is None:
                self.builder.names.setdefault(copy, graph.names[index])
            copies.append(copy)
        return copies

    def _made(self, node: Node, args: Sequence[int], _loose: bool = False) -> int:
        """Build a node as written, or a simpler one that is equal if numbers are finite."""
        if node.op == "add":
            for arg, other in (args, args[::-1]):
                if self.builder.value(arg) == 0:
                    return other
                if self.builder.nodes[arg].op == "negative":
                    return self.builder.make("subtract", other, *self.builder.nodes[arg].args)
        if len(args) == 2 and self._are_finite(args):
            (a, b), (first, second) = args, [self.builder.facts[arg] for arg in args]
            if node.op in PRODUCTS and self._is_nothing(Product(1, *_sides(node.op, args))):
                return self.builder.number(0.0)
            # Only signs of facts count, so that points outside the domains keep the values of the formulas.
            if node.op in ("maximum", "minimum") and (first.low >= 0 >= second.high or second.low >= 0 >= first.high):
                return a if (first.low >= 0 >= second.high) == (node.op == "maximum") else b
        return self.builder.make(node.op, *args, data=node.data)

    def _added(self, node: Node, args: Sequence[int], loose: bool) -> int:
        """Build a sum, a difference or the opposite of a number."""
        signs = {"add": (1, 1), "subtract": (1, -1), "negative": (-1,)}[node.op]
        terms = [
            term._replace(sign=sign * term.sign)
            for sign, arg in zip(signs, args, strict=True)
            for term in self._terms.get(arg) or [self._product(arg)]
            if not self._is_nothing(term)
        ]
        if len({term.sign for term in terms}) != 1:
            return self._made(node, args)
        total, _ = self._sum(terms)
        if loose:
            self._terms.setdefault(total, terms)
        return total

    def _multiplied(self, node: Node, args: Sequence[int], loose: bool) -> int:
        """Build a product or a quotient; of a sum, the sum of products if that takes less time."""
        left, right = map(self._product, args)
        product = left.times(right, 1 if node.op == "multiply" else -1)
        if self._is_nothing(product):
            return self.builder.number(0.0)
        result, cost = self._value(product)
        whole = next((factor for factor in product.above if factor in self._terms), None)
        if whole is not None and self._are_finite(product.above + product.below):
            index = product.above.index(whole)
            rest = product._replace(above=product.above[:index] + product.above[index + 1 :])
            terms = [rest.times(term) for term in self._terms[whole]]
            spread, less = self._sum(terms)
            if less < cost + self._sum(self._terms[whole])[1]:
                if loose:
                    self._terms.setdefault(spread, terms)
                return spread
        if loose:
            self._products.setdefault(result, product)
        return result

    @property
    def _rules(self) -> dict[str, Callable[..., int]]:
        return dict.fromkeys(SUMS, self._added) | dict.fromkeys(PRODUCTS, self._multiplied)

    def _product(self, index: int) -> Product:
        return self._products.get(index) or Product(1, (index,))

    def _sum(self, terms: Sequence[Product]) -> tuple[int, float]:
        """Build a sum of terms of one sign; return its index and time."""
        values = [self._value(term._replace(sign=1)) for term in terms]
        groups: dict[int, list[int]] = {}
        for index, _ in values:
            groups.setdefault(self._axes(index), []).append(index)
        make, spent = self.builder.make, sum(cost for _, cost in values)

        def join(a: int, b: int) -> int:
            return make("add", a, b)

        total, cost = self._join({bits: reduce(join, group) for bits, group in groups.items()}, join)
        spent += cost + sum((len(group) - 1) * self._cost(bits) for bits, group in groups.items())
        return (total if terms[0].sign > 0 else make("negative", total)), spent

    def _value(self, product: Product) -> tuple[int, float]:
        """Build a product; return its index and time."""
        make, spent = self.builder.make, 0.0
        groups: dict[int, tuple[list[int], list[int]]] = {}
        for which, factors in enumerate(product[1:]):
            for index in factors:
                groups.setdefault(self._axes(index), ([], []))[which].append(index)

        def multiply(a: int, b: int) -> int:
            return make("multiply", a, b)

        def join(a: tuple[int, bool], b: tuple[int, bool]) -> tuple[int, bool]:
            """Join two values, each with a flag that says whether it divides."""
            if a[1] == b[1]:
                return make("multiply", a[0], b[0]), a[1]
            (above, _), (below, _) = (b, a) if a[1] else (a, b)
            return make("divide", above, below), False

        by_axes = {}
        for bits, group in groups.items():
            sides = [(reduce(multiply, side), bool(which)) for which, side in enumerate(group) if side]
            by_axes[bits] = reduce(join, sides)
            spent += (sum(map(len, group)) - 1) * self._cost(bits)
        (result, divides), cost = self._join(by_axes, join)
        if divides:
            result = make("divide", self.builder.number(1.0), result)
        return (result if product.sign > 0 else make("negative", result)), spent + cost

    def _join(self, by_axes: Mapping[int, Any], join: Join) -> tuple[Any, float]:
        """Join values by their axes; return the result and its time."""

        def follow(tree: Any) -> Any:
            return by_axes[tree] if isinstance(tree, int) else join(*map(follow, tree))

        cost, tree = _best(tuple(by_axes), self._sizes)
        return follow(tree), cost

    def _cost(self, bits: int) -> float:
        return _cost(bits, self._sizes)

    def _is_nothing(self, product: Product) -> bool:
        """True if a product is zero at every point."""
        if all(self.builder.value(index) != 0 for index in product.above):
            return False
        return self._are_finite(product.above + product.below) and not any(
            self._know(index).zero for index in product.below
        )

    def _axes(self, index: int) -> int:
        return self._know(index).axes

    def _are_finite(self, places: Sequence[int]) -> bool:
        return all(self._know(index).finite for index in places)

    def _know(self, index: int) -> _Known:
        for position in range(len(self._known), index + 1):
            node, facts = self.builder.nodes[position], self.builder.facts[position]
            read = [self._known[arg] for arg in node.args]
            if node.op == "input":
                self._known.append(_Known(self._inputs.get(node.data, 0), self._finite, facts.zero))
                continue
            finite = math.isfinite(node.data) if node.op == "number" else all(operand.finite for operand in read)
            if node.op == "divide":
                finite = finite and not read[1].zero
            elif node.op == "sqrt":
                finite = finite and self.builder.facts[node.args[0]].low >= 0
            else:
                finite = finite and (node.op in FINITE or TABLE[node.op].truth)
            zero = any(operand.zero for operand in read) if finite and node.op in PRODUCTS else facts.zero
            self._known.append(_Known(reduce(int.__or__, [operand.axes for operand in read], 0), finite, zero))
        return self._known[index]


def _sides(op: str, args: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Factors and divisors of a product or quotient."""
    return ((args[0],), (args[1],)) if op == "divide" else (tuple(args), ())


def _kept(graph: Graph) -> list[bool]:
    """Mark nodes that something reads which would jump: a rounding, or a comparison that decides.

    A nonnegative number may be compared with zero, which no order changes.
    """
    read = {arg for node in graph.nodes for arg in node.args}
    kept = [False] * len(graph.nodes)
    for index in range(len(graph.nodes) - 1, -1, -1):
        node, operation = graph.nodes[index], TABLE[graph.nodes[index].op]
        if node.op in COMPARISONS:
            signs = any(graph.nodes[arg].op == "number" and graph.nodes[arg].data == 0 for arg in node.args)
            jumps = index in read and not (signs and all(graph.facts[arg].low >= 0 for arg in node.args))
        else:
            smooth = operation.partials is not None and not operation.iterates and node.op != "mod"
            jumps = not (smooth or operation.truth)
        for arg in node.args if jumps or kept[index] else ():
            kept[arg] = True
    return kept


def _loose(graph: Graph, inputs: Mapping[str, int]) -> list[bool]:
    """True for each node that what reads it may take apart: nothing else does, or it then takes no longer."""
    readers: list[list[str]] = [[] for _ in graph.nodes]
    for node in graph.nodes:
        for arg in node.args:
            readers[arg].append(node.op)
    shown, over = set(graph.outputs.values()), axes(graph, inputs)

    def is_loose(index: int, node: Node) -> bool:
        if index in shown or len(readers[index]) == 1:
            return index not in shown
        large = [arg for arg in node.args if over[arg] == over[index]]
        return node.op in PRODUCTS and len(large) == 1 and all(op in PRODUCTS for op in readers[index])

    return [is_loose(index, node) for index, node in enumerate(graph.nodes)]


@lru_cache(maxsize=4096)
def _cost(bits: int, sizes: tuple[int, ...]) -> float:
    """Time of an operation on arrays over some axes."""
    return CALL + math.prod(size for axis, size in enumerate(sizes) if bits >> axis & 1)


@lru_cache(maxsize=4096)
def _best(sets: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[float, Any]:
    """Least time to join arrays over some sets of axes, and the binary tree in which they are joined."""
    trees: list[tuple[float, int, Any]] = [(0.0, bits, bits) for bits in sets]
    while len(trees) > COMPARED:
        trees.sort(key=lambda tree: _cost(tree[1], sizes))
        (a, left, first), (b, right, second), *rest = trees
        trees = [(a + b + _cost(left | right, sizes), left | right, (first, second)), *rest]
    best_tree = {1 << index: tree for index, tree in enumerate(trees)}
    for subset in range(1, 1 << len(trees)):
        part = (subset - 1) & subset
        while part:
            (a, left, first), (b, right, second) = best_tree[part], best_tree[subset ^ part]
            cost = a + b + _cost(left | right, sizes)
            if subset not in best_tree or cost < best_tree[subset][0]:
                best_tree[subset] = cost, left | right, (second, first)
            part = (part - 1) & subset
    cost, _, tree = best_tree[(1 << len(trees)) - 1]
    return cost, tree
