"""Random formulas over four axes, and what they give at every point of the grid."""

import math

import numpy as np
import sympy
from hypothesis import assume, reject
from hypothesis import strategies as st
from sympy.core.relational import _canonical_coeff

from mlsysim.backends import compiled
from mlsysim.backends.compiled import compiled_expression
from mlsysim.bounds import GraphForms
from mlsysim.bounds.ranges import Ranges
from mlsysim.symbolic import (
    Domain,
    ErlangC,
    Formula,
    LeastInteger,
    NormalCDF,
    NormalQuantile,
    Root,
    SlotsBusy,
    Source,
    System,
    integer,
    lower,
    positive,
    variable,
)

#: Any real, positive, whole, whole, and an input over two axes: the first and the third.
A = variable("bounds_a", "a", "count", "Any number.", Domain())
B = variable("bounds_b", "b", "count", "A positive number.", positive())
N = variable("bounds_n", "n", "count", "A whole number.", integer())
M = variable("bounds_m", "m", "count", "Another whole number.", integer())
TABLE = variable("bounds_t", "t", "count", "A number over two axes.", Domain())
INNER = variable("bounds_inner", r"u_{\mathrm{inner}}", "count", "A formula inside.", Domain())
LEAST = sympy.Dummy("k", integer=True, positive=True)
UNKNOWN = sympy.Dummy("z", nonnegative=True)
SYMBOLS = (A, B, N, M)


def settled(compared):
    """What a case compares; no expression where sympy would turn it over for ever, in minutes that get longer."""
    found = compared
    for _ in range(8):
        turned = _canonical_coeff(found)
        if turned == found or not turned.is_Relational:
            return compared
        found = turned
    return reject()


HEADS = {
    "+": sympy.Add,
    "-": lambda x, y: x - y,
    "*": sympy.Mul,
    "/": lambda x, y: x / y,
    "a/b": lambda x, y: x / (sympy.Abs(y) + 1),
    "**2": lambda x, y: x**2 * y,
    "**-2": lambda x, y: x + y**-2,
    "**3": lambda x, y: x**3 - y,
    "sqrt": lambda x, y: sympy.sqrt(x) * y,
    "**-0.5": lambda x, y: x / sympy.sqrt(sympy.Abs(y) + 1),
    "max": sympy.Max,
    "min": sympy.Min,
    "max0": lambda x, y: sympy.Max(0, x - y),
    "max0 squared": lambda x, y: sympy.Max(0, x - y) ** 2,
    "ceil": lambda x, y: sympy.ceiling(x / (sympy.Abs(y) + 1)),
    "floor": lambda x, y: sympy.floor(x / 3) * y,
    "mod": lambda x, y: sympy.Mod(x, sympy.Abs(y) + 1),
    "log": lambda x, y: sympy.log(sympy.Abs(x) + 1) * y,
    "exp": lambda x, y: sympy.exp(-sympy.Abs(x)) * y,
    "abs": lambda x, y: sympy.Abs(x - y),
    "case": lambda x, y: sympy.Piecewise((x, settled(x <= y)), (y, True)),
    "case of one axis": lambda x, y: sympy.Piecewise((x, A > 0), (y, True)),
    "case of two axes": lambda x, y: sympy.Piecewise((x, A < N), (y, True)),
    "guarded": lambda x, y: sympy.Piecewise((y / A, A > 0), (x, True)),
    "equal": lambda x, y: sympy.Piecewise((x, sympy.Eq(sympy.Mod(N, M), 0)), (y, True)),
    "erlang": lambda x, y: ErlangC(N, sympy.Abs(x)) * y,
    "slots": lambda x, y: SlotsBusy(N, B, sympy.Abs(x) / 9, 1, 1 + sympy.Abs(y)),
    "least": lambda x, y: LeastInteger(LEAST, x <= LEAST * B, 12) + y,
    "root": lambda x, y: Root(UNKNOWN, UNKNOWN * B + sympy.Max(0, UNKNOWN - y), sympy.Abs(x), 0, 9),
    "open root": lambda x, y: Root(UNKNOWN, UNKNOWN**2 + UNKNOWN * sympy.Abs(y), x + M, 0, sympy.oo) + N,
    "normal": lambda x, y: NormalCDF(x) * y,
    "quantile": lambda x, y: NormalQuantile(1 / (2 + sympy.Abs(x))) + y,
    "share": lambda x, y: sympy.Abs(x) / (sympy.Abs(x) + sympy.Abs(y) + 1),
    "all but one": lambda x, y: (sympy.Abs(x) + N - 1) / (sympy.Abs(x) + N) * y,
}
LEAVES = st.one_of(
    st.sampled_from(SYMBOLS),
    st.sampled_from(SYMBOLS),
    st.just(TABLE),
    st.integers(-2, 3).map(sympy.Integer),
    st.sampled_from([sympy.Rational(1, 2), sympy.Rational(1, 1000), sympy.Integer(2**20)]),
)
PLANS = st.recursive(LEAVES, lambda inner: st.tuples(st.sampled_from(sorted(HEADS)), inner, inner), max_leaves=6)


def build(plan):
    """The expression of a plan; those that sympy knows to be infinite or complex are not drawn."""
    if not isinstance(plan, tuple):
        return plan
    head, left, right = plan
    return joined(head, build(left), build(right))


def joined(head, left, right):
    """Two expressions as one."""
    try:
        found = HEADS[head](left, right)
    except (TypeError, ValueError, ZeroDivisionError):
        reject()
    assume(not lower(found).has(sympy.zoo, sympy.nan, sympy.oo, -sympy.oo, sympy.I))
    return found


def formula(symbol, expression):
    return Formula(symbol, expression, title="test", source=Source("gross2008"), no_example="a test")


class Case:
    """An expression in a system, the inputs on a grid, and the value at every point of it, in C order."""

    def __init__(self, expression, axes, table=1.0, inner=None):
        self.expression = lower(sympy.sympify(expression))
        self.sizes = tuple(len(axes.get(symbol, [1])) for symbol in SYMBOLS)
        shapes = np.eye(4, dtype=int) * (np.array(self.sizes) - 1) + 1
        self.values = {
            symbol.name: np.reshape(np.asarray(axes.get(symbol, [1]), float), shape)
            for symbol, shape in zip(SYMBOLS, shapes, strict=True)
        }
        spread = np.broadcast_to(np.asarray(table, float), (self.sizes[0], self.sizes[2]))
        self.values[TABLE.name] = spread.reshape(self.sizes[0], 1, self.sizes[2], 1)
        self.system = System([] if inner is None else [formula(INNER, inner)])
        self.count = math.prod(self.sizes)

    @property
    def points(self):
        """Index per axis (rows) of every point (columns)."""
        return np.array(np.unravel_index(np.arange(self.count), self.sizes))

    def on(self, other, difference):
        """The same expression on the grid of another case, and the difference that decides it."""
        self.sizes, self.values, self.system = other.sizes, other.values, other.system
        self.count, self.difference = other.count, lower(difference)
        return self

    def translator(self, *more):
        return GraphForms(self.system, self.values, self.sizes, (self.expression, *more))

    def at_all(self, expression, dtype=float):
        """Value of an expression at every point, by the compiled function."""
        function = compiled(self.system, None, "vector", (("value", lower(expression)),))
        with np.errstate(all="ignore"):
            (found,) = function.raw(*(self.values[name] for name in function.inputs))
        return np.broadcast_to(np.asarray(found, dtype), self.sizes).ravel()

    def rounding(self):
        """How far rounding may take the value at every point: 1e-11 of the largest number on the way."""
        largest = np.zeros(self.count)
        inputs = {name: np.broadcast_to(value, self.sizes).ravel() for name, value in self.values.items()}
        steps = [formula.expression for formula in self.system]
        for expression in (*steps, self.expression):
            if steps:
                inputs[INNER.name] = self.at_all(INNER)
            for part in sympy.preorder_traversal(lower(expression)):
                if isinstance(part, sympy.Expr) and not part.free_symbols & {LEAST, UNKNOWN}:
                    names = {symbol.name for symbol in part.free_symbols}
                    with np.errstate(all="ignore"):
                        found = compiled_expression(part)({name: inputs[name] for name in names})["value"]
                    found = np.broadcast_to(np.abs(np.asarray(found, float)), self.count)
                    largest = np.maximum(largest, np.where(np.isfinite(found), found, 0.0))
        return 1e-11 * largest


@st.composite
def cases(draw, plans=PLANS):
    """A random expression, half of the time with a formula inside, on up to 3 values per axis."""
    real = st.one_of(st.integers(-3, 4), st.sampled_from([-0.75, 0.1, 0.5, 2.5, 7.0]))
    whole = st.integers(1, 9)
    positives = st.sampled_from([0.001, 0.25, 0.7, 1.0, 2.0, 3.0, 1000.0])
    axes = {}
    for symbol, value in zip(SYMBOLS, (real, positives, whole, whole), strict=True):
        axes[symbol] = draw(st.lists(value, min_size=1, max_size=4))
    table = draw(st.lists(real, min_size=16, max_size=16))
    sizes = (len(axes[A]), len(axes[N]))
    inner = build(draw(PLANS)) if draw(st.booleans()) else None
    expression = build(draw(plans))
    if inner is not None:
        expression = joined(draw(st.sampled_from(["+", "*", "max0", "case", "-"])), expression, INNER)
    return Case(expression, axes, np.resize(table, sizes), inner)


@st.composite
def boxes(draw, sizes, count=6):
    """Some boxes of a grid as first and last index per axis, the whole grid and a point among them."""
    low, high = np.zeros((4, count), int), np.array(sizes)[:, None] - np.ones((4, count), int)
    for box in range(1, count):
        for axis, size in enumerate(sizes):
            ends = sorted((draw(st.integers(0, size - 1)), draw(st.integers(0, size - 1))))
            low[axis, box], high[axis, box] = ends if box > 1 else ends[:1] * 2
    return low, high


def ranged(translator, form, low, high, thorough=True):
    """Range of a sum over boxes."""
    with np.errstate(all="ignore"):
        return Ranges(translator.plans, low, high, thorough=thorough).range(form)


def whole(case, thorough=True):
    """Range of the expression of a case over the whole grid, as two numbers."""
    translator = case.translator()
    last = np.array(case.sizes)[:, None] - 1
    low, high = ranged(translator, translator.sum(case.expression), np.zeros_like(last), last, thorough)
    return float(low[0]), float(high[0])


def inside(points, low, high):
    """Which points lie in which boxes: one row per box."""
    return ((points[:, None] >= low[:, :, None]) & (points[:, None] <= high[:, :, None])).all(axis=0)
