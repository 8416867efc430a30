"""Sums and products of arrays in the order that takes the least time: what has few axes is joined first.

Results differ from those as they are written by rounding alone. Differences stay as they are written, of which rounding
may be a large part; and so does what a rounding or a decision reads, because it would jump.
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

#: Numbers of an array that take as long as calling NumPy once; most sets of axes of which every order is compared.
CALL, COMPARED = 700, 6
SUMS, PRODUCTS = ("add", "subtract", "negative"), ("multiply", "divide")
COMPARISONS = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
#: Operations of which nothing infinite comes of what is finite.
FINITE = frozenset(("number", *SUMS, "multiply", "lawful", "absolute", "maximum", "minimum", "where", "ceil", "floor"))
#: Joins the values at two places, and counts the time.
Join = Callable[[Any, Any], Any]


class _Known(NamedTuple):
    """Axes of a node; whether it is finite at every point; whether it may be zero."""

    axes: int
    finite: bool
    zero: bool


class Product(NamedTuple):
    """A product of nodes over a product of others, with a sign."""

    sign: int
    above: tuple[int, ...]
    below: tuple[int, ...] = ()

    def times(self, other: Product, power: int = 1) -> Product:
        """The product with another one, or the quotient."""
        above, below = (other.above, other.below)[::power]
        return Product(self.sign * other.sign, self.above + above, self.below + below)


def ordered(graph: Graph, inputs: Mapping[str, int], sizes: tuple[int, ...], *, finite: bool) -> Graph:
    """Put the operands of sums and products in the order in which arrays are smallest.

    Parameters
    ----------
    graph : Graph
        Any graph.
    inputs : mapping
        Axes of each input, as bits.
    sizes : tuple of int
        Length of each axis.
    finite : bool
        True if every input is finite at every point: nothing times what follows from them is nothing.

    Returns
    -------
    Graph
        Of the same outputs.
    """
    ordering = _Ordering(inputs, sizes, finite)
    places = ordering.placed(graph)
    return ordering.builder.graph({name: places[place] for name, place in graph.outputs.items()})


class _Ordering:
    """A builder in which sums and products are joined in the best order."""

    def __init__(self, inputs: Mapping[str, int], sizes: tuple[int, ...], finite: bool) -> None:
        self.builder = Builder()
        self._inputs, self._sizes, self._given = inputs, sizes, finite
        self._known: list[_Known] = []
        #: By place, sums and products that may be taken apart by what reads them.
        self._terms: dict[int, list[Product]] = {}
        self._products: dict[int, Product] = {}

    def placed(self, graph: Graph) -> list[int]:
        """Place of each node of a graph."""
        places: list[int] = []
        kept, loose = _kept(graph), _loose(graph, self._inputs)
        for place, node in enumerate(graph.nodes):
            if node.op == "input":
                at = self.builder.input(node.data, graph.facts[place])
            elif node.op == "number":
                at = self.builder.number(node.data)
            else:
                args = [places[arg] for arg in node.args]
                make = self._made if kept[place] else self._rules.get(node.op, self._made)
                at = make(node, args, loose[place])
            if place in graph.names and self.builder.value(at) is None:
                self.builder.names.setdefault(at, graph.names[place])
            places.append(at)
        return places

    def _made(self, node: Node, args: Sequence[int], _loose: bool = False) -> int:
        """A node as it is written, or a simpler one that it equals where numbers are finite."""
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
            # Of facts signs alone count: who asks about points beside the domains finds what formulas say.
            if node.op in ("maximum", "minimum") and (first.low >= 0 >= second.high or second.low >= 0 >= first.high):
                return a if (first.low >= 0 >= second.high) == (node.op == "maximum") else b
        return self.builder.make(node.op, *args, data=node.data)

    def _added(self, node: Node, args: Sequence[int], loose: bool) -> int:
        """A sum, a difference or the opposite of a number."""
        signs = {"add": (1, 1), "subtract": (1, -1), "negative": (-1,)}[node.op]
        terms = [
            term._replace(sign=sign * term.sign)
            for sign, arg in zip(signs, args, strict=True)
            for term in self._terms.get(arg) or [self._product(arg)]
            if not self._is_nothing(term)
        ]
        if len({term.sign for term in terms}) != 1:
            return self._made(node, args)
        at, _ = self._sum(terms)
        if loose:
            self._terms.setdefault(at, terms)
        return at

    def _multiplied(self, node: Node, args: Sequence[int], loose: bool) -> int:
        """A product or a quotient; of a sum, the sum of products where that takes less time."""
        left, right = map(self._product, args)
        product = left.times(right, 1 if node.op == "multiply" else -1)
        if self._is_nothing(product):
            return self.builder.number(0.0)
        at, cost = self._value(product)
        whole = next((each for each in product.above if each in self._terms), None)
        if whole is not None and self._are_finite(product.above + product.below):
            place = product.above.index(whole)
            rest = product._replace(above=product.above[:place] + product.above[place + 1 :])
            terms = [rest.times(term) for term in self._terms[whole]]
            spread, less = self._sum(terms)
            if less < cost + self._sum(self._terms[whole])[1]:
                if loose:
                    self._terms.setdefault(spread, terms)
                return spread
        if loose:
            self._products.setdefault(at, product)
        return at

    @property
    def _rules(self) -> dict[str, Callable[..., int]]:
        return dict.fromkeys(SUMS, self._added) | dict.fromkeys(PRODUCTS, self._multiplied)

    def _product(self, place: int) -> Product:
        return self._products.get(place) or Product(1, (place,))

    def _sum(self, terms: Sequence[Product]) -> tuple[int, float]:
        """Place of a sum of terms that are all added or all subtracted, and the time that it takes."""
        values = [self._value(term._replace(sign=1)) for term in terms]
        groups: dict[int, list[int]] = {}
        for place, _ in values:
            groups.setdefault(self._axes(place), []).append(place)
        make, spent = self.builder.make, sum(cost for _, cost in values)

        def join(a: int, b: int) -> int:
            return make("add", a, b)

        found, cost = self._joined({bits: reduce(join, group) for bits, group in groups.items()}, join)
        spent += cost + sum((len(group) - 1) * self._cost(bits) for bits, group in groups.items())
        return (found if terms[0].sign > 0 else make("negative", found)), spent

    def _value(self, product: Product) -> tuple[int, float]:
        """Place of a product, and the time that it takes."""
        make, spent = self.builder.make, 0.0
        groups: dict[int, tuple[list[int], list[int]]] = {}
        for which, places in enumerate(product[1:]):
            for place in places:
                groups.setdefault(self._axes(place), ([], []))[which].append(place)

        def multiply(a: int, b: int) -> int:
            return make("multiply", a, b)

        def join(a: tuple[int, bool], b: tuple[int, bool]) -> tuple[int, bool]:
            """Join two values, each with a flag that says whether it divides."""
            if a[1] == b[1]:
                return make("multiply", a[0], b[0]), a[1]
            (above, _), (below, _) = (b, a) if a[1] else (a, b)
            return make("divide", above, below), False

        parts = {}
        for bits, group in groups.items():
            sides = [(reduce(multiply, side), bool(which)) for which, side in enumerate(group) if side]
            parts[bits] = reduce(join, sides)
            spent += (sum(map(len, group)) - 1) * self._cost(bits)
        (found, divides), cost = self._joined(parts, join)
        if divides:
            found = make("divide", self.builder.number(1.0), found)
        return (found if product.sign > 0 else make("negative", found)), spent + cost

    def _joined(self, parts: Mapping[int, Any], join: Join) -> tuple[Any, float]:
        """Values by their axes as one, and the time that joining takes."""

        def follow(tree: Any) -> Any:
            return parts[tree] if isinstance(tree, int) else join(*map(follow, tree))

        cost, tree = _best(tuple(parts), self._sizes)
        return follow(tree), cost

    def _cost(self, bits: int) -> float:
        return _cost(bits, self._sizes)

    def _is_nothing(self, product: Product) -> bool:
        """True if it is zero at every point."""
        if all(self.builder.value(place) != 0 for place in product.above):
            return False
        return self._are_finite(product.above + product.below) and not any(
            self._know(place).zero for place in product.below
        )

    def _axes(self, place: int) -> int:
        return self._know(place).axes

    def _are_finite(self, places: Sequence[int]) -> bool:
        return all(self._know(place).finite for place in places)

    def _know(self, place: int) -> _Known:
        for at in range(len(self._known), place + 1):
            node, facts = self.builder.nodes[at], self.builder.facts[at]
            read = [self._known[arg] for arg in node.args]
            if node.op == "input":
                self._known.append(_Known(self._inputs.get(node.data, 0), self._given, facts.zero))
                continue
            finite = math.isfinite(node.data) if node.op == "number" else all(each.finite for each in read)
            if node.op == "divide":
                finite = finite and not read[1].zero
            elif node.op == "sqrt":
                finite = finite and self.builder.facts[node.args[0]].low >= 0
            else:
                finite = finite and (node.op in FINITE or TABLE[node.op].truth)
            zero = any(each.zero for each in read) if finite and node.op in PRODUCTS else facts.zero
            self._known.append(_Known(reduce(int.__or__, [each.axes for each in read], 0), finite, zero))
        return self._known[place]


def _sides(op: str, args: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Factors and divisors."""
    return ((args[0],), (args[1],)) if op == "divide" else (tuple(args), ())


def _kept(graph: Graph) -> list[bool]:
    """True for each node that something reads which would jump: a rounding, or a comparison that decides.

    What is never negative may be compared with zero, which it is in any order.
    """
    read = {arg for node in graph.nodes for arg in node.args}
    kept = [False] * len(graph.nodes)
    for place in range(len(graph.nodes) - 1, -1, -1):
        node, operation = graph.nodes[place], TABLE[graph.nodes[place].op]
        if node.op in COMPARISONS:
            signs = any(graph.nodes[arg].op == "number" and graph.nodes[arg].data == 0 for arg in node.args)
            jumps = place in read and not (signs and all(graph.facts[arg].low >= 0 for arg in node.args))
        else:
            smooth = operation.partials is not None and not operation.iterates and node.op != "mod"
            jumps = not (smooth or operation.truth)
        for arg in node.args if jumps or kept[place] else ():
            kept[arg] = True
    return kept


def _loose(graph: Graph, inputs: Mapping[str, int]) -> list[bool]:
    """True for each node that what reads it may take apart: nothing else does, or it then takes no longer."""
    readers: list[list[str]] = [[] for _ in graph.nodes]
    for node in graph.nodes:
        for arg in node.args:
            readers[arg].append(node.op)
    shown, over = set(graph.outputs.values()), axes(graph, inputs)

    def is_loose(place: int, node: Node) -> bool:
        if place in shown or len(readers[place]) == 1:
            return place not in shown
        large = [arg for arg in node.args if over[arg] == over[place]]
        return node.op in PRODUCTS and len(large) == 1 and all(op in PRODUCTS for op in readers[place])

    return [is_loose(place, node) for place, node in enumerate(graph.nodes)]


@lru_cache(maxsize=4096)
def _cost(bits: int, sizes: tuple[int, ...]) -> float:
    """Time of an operation on arrays over some axes."""
    return CALL + math.prod(size for axis, size in enumerate(sizes) if bits >> axis & 1)


@lru_cache(maxsize=4096)
def _best(sets: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[float, Any]:
    """Least time to join arrays over some sets of axes, and the pairs of pairs in which they are joined."""
    trees: list[tuple[float, int, Any]] = [(0.0, bits, bits) for bits in sets]
    while len(trees) > COMPARED:
        trees.sort(key=lambda tree: _cost(tree[1], sizes))
        (a, left, first), (b, right, second), *rest = trees
        trees = [(a + b + _cost(left | right, sizes), left | right, (first, second)), *rest]
    found = {1 << place: tree for place, tree in enumerate(trees)}
    for some in range(1, 1 << len(trees)):
        part = (some - 1) & some
        while part:
            (a, left, first), (b, right, second) = found[part], found[some ^ part]
            cost = a + b + _cost(left | right, sizes)
            if some not in found or cost < found[some][0]:
                found[some] = cost, left | right, (second, first)
            part = (part - 1) & some
    cost, _, tree = found[(1 << len(trees)) - 1]
    return cost, tree
