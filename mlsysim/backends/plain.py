"""Compiled code rewritten for the floats of Python: what depends on some of the inputs, in one function.

NumPy's scalars never raise and cost several times as much. Plain floats give the same bits or raise, as where one is
divided by zero; then the function has no answer and the caller takes the longer way. Only the branch that is taken
is evaluated. What does not depend on those inputs is known from a first call and is not computed again.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from mlsysim.backends import functions
from mlsysim.backends.compiled import CompiledFunction
from mlsysim.backends.floats import FLOATS
from mlsysim.backends.scalar import NAMESPACE as SCALARS
from mlsysim.backends.scalar import normal_cdf, normal_quantile, root

#: Up to where the exponential function of NumPy neither overflows nor underflows, of which it might warn.
LARGEST_EXPONENT = 700.0

#: What plain floats raise where NumPy's give infinity or nan, or what is no plain float at all.
_ODD = (ArithmeticError, ValueError, TypeError, AttributeError)

#: Functions that work on arrays, for which there is no rule here.
_OF_ARRAYS = frozenset({"chunked_prefill", "erlang_c_slope", "slots_busy_slope"})

#: Expressions whose parts may be known, and where these stand.
_OPERANDS: dict[type, tuple[str, ...]] = {
    ast.BinOp: ("left", "right"),
    ast.Call: ("args",),
    ast.Compare: ("left", "comparators"),
    ast.UnaryOp: ("operand",),
}


@dataclass(frozen=True, eq=False)
class PlainFunction:
    """What depends on some inputs of a system, in plain floats.

    Attributes
    ----------
    known : tuple of str
        Inputs and outputs that do not depend on them and are needed.
    outputs : tuple of str
        What is computed.
    make : callable
        From the values of ``known``: a function of a mapping with those inputs as they were typed. It returns their
        canonical values and then the outputs, or None where it has no answer.
    """

    known: tuple[str, ...]
    outputs: tuple[str, ...]
    make: Callable[..., Callable[[Mapping[str, Any]], tuple[float, ...] | None]]


def plain_function(
    function: CompiledFunction, reading: Mapping[str, str], code: CompiledFunction | None
) -> PlainFunction | None:
    """Rewrite compiled code for plain floats.

    Parameters
    ----------
    function : CompiledFunction
        A system, compiled for NumPy scalars.
    reading : mapping
        For each input that varies, statements that make it a canonical float from ``_given[name]``, or return None.
    code : CompiledFunction or None
        The reason code of the same inputs.

    Returns
    -------
    PlainFunction or None
        None where a function that it needs has no plain form.
    """
    moving = set(reading)
    lines, _ = _statements(function)
    moved = []
    for name, expression in lines:
        if not moving.isdisjoint(_names(expression)):
            moving.add(name)
            moved.append((name, expression))
    outputs = tuple(name for name in function.outputs if name in moving)
    refused = _conditions(code, moving)
    if refused is None or len(outputs) != len(moved) or any(_OF_ARRAYS & _names(each) for _, each in moved):
        return None
    used = set().union(*map(_names, [*refused, *(each for _, each in moved)])) - moving
    parts = _KnownParts(moving)
    conditions = [parts.put(condition) for condition in refused]
    moved = [(name, parts.put(expression)) for name, expression in moved]
    plain = _Plain()
    body = ast.parse("\n".join(reading.values())).body
    body += [_leave_if(plain.visit(condition)) for condition in conditions]
    body += [ast.Assign([ast.Name(name, ast.Store())], plain.visit(expression)) for name, expression in moved]
    body += ast.parse("\n".join(f"if {name} != {name}: return None" for name in outputs)).body
    body.append(ast.Return(_tuple(_loaded(name) for name in (*reading, *outputs))))
    known = tuple(sorted(used & {*function.inputs, *function.outputs, *(code.inputs if code else ())}))
    return PlainFunction(known, outputs, _made(known, parts, body))


def _statements(function: CompiledFunction) -> tuple[list[tuple[str, ast.expr]], list[ast.expr]]:
    """The lines of compiled code, a name and an expression each, and what it returns."""
    definition: Any = ast.parse(function.source).body[0]
    *lines, returned = definition.body
    return [(line.targets[0].id, line.value) for line in lines], returned.value.elts


def _names(expression: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}


def _conditions(code: CompiledFunction | None, moving: Collection[str]) -> list[ast.expr] | None:
    """The conditions under which a reason code is not zero, as far as they depend on what moves; None if unreadable."""
    if code is None:
        return []
    lines, (chain,) = _statements(code)
    found = []
    while isinstance(chain, ast.Call) and isinstance(chain.func, ast.Name) and chain.func.id == "where":
        condition, _, chain = chain.args
        found.append(condition)
    if lines or not isinstance(chain, ast.Constant) or chain.value != 0:
        return None
    return [condition for condition in found if not _names(condition).isdisjoint(moving)]


def _leave_if(condition: ast.expr) -> ast.stmt:
    return ast.If(condition, [ast.Return(ast.Constant(None))], [])


def _loaded(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _tuple(elements: Iterable[ast.expr]) -> ast.expr:
    return ast.Tuple(list(elements), ast.Load())


def _made(known: Sequence[str], parts: _KnownParts, body: list[ast.stmt]) -> Any:
    """The statements as a function within one of what is known, of which NumPy's scalars compute parts once."""
    names = (*known, *parts.names)
    module = ast.parse(
        f"def _make({', '.join(names)}):\n"
        "    def _solved(_given):\n"
        "        try:\n"
        "            pass\n"
        "        except _odd:\n"
        "            return None\n"
        "    return _solved"
    )
    solved: Any = module.body[0].body[0]  # type: ignore[attr-defined]
    solved.body[0].body = body
    make = _executed(module, NAMESPACE)["_make"]
    module = ast.parse(f"def _computed({', '.join(known)}): pass")
    module.body[0].body = [ast.Return(_tuple(parts.expressions))]  # type: ignore[attr-defined]
    computed = _executed(module, SCALARS)["_computed"]

    def made(*values: Any) -> Any:
        with np.errstate(all="ignore"):
            found = computed(*(np.float64(value) if type(value) is float else value for value in values))
        return make(*map(_plainly, (*values, *found)))

    return made


def _executed(module: ast.Module, namespace: Mapping[str, Any]) -> dict[str, Any]:
    names = dict(namespace)
    exec(compile(ast.fix_missing_locations(module), "<plain>", "exec"), names)
    return names


def _plainly(value: Any) -> bool | float:
    return bool(value) if isinstance(value, bool | np.bool_) else float(value)


def _listed(operands: Any) -> list[ast.expr]:
    return operands if isinstance(operands, list) else [operands]


class _KnownParts:
    """Parts of expressions that depend on nothing that moves, each once.

    Attributes
    ----------
    names : list of str
        What stands for them.
    expressions : list of ast.expr
        The parts.
    """

    def __init__(self, moving: Collection[str]) -> None:
        self._moving = moving
        self._places: dict[str, str] = {}
        self.expressions: list[ast.expr] = []

    @property
    def names(self) -> list[str]:
        """What stands for the parts, in their order."""
        return list(self._places.values())

    def put(self, expression: ast.expr) -> ast.expr:
        """The expression with names in place of its known parts."""
        return self._named(expression) if self._is_fixed(expression) else expression

    def _is_fixed(self, node: ast.expr) -> bool:
        """Whether an expression is known; of one that is not, the known parts get names."""
        if isinstance(node, ast.Constant):
            return True
        if isinstance(node, ast.Name):
            return node.id not in self._moving
        fields = _OPERANDS.get(type(node), ())
        operands = [each for field in fields for each in _listed(getattr(node, field))]
        fixed = {id(each) for each in operands if self._is_fixed(each)}
        if len(fixed) == len(operands) > 0:
            return True
        for field in fields:
            found = [self._named(each) if id(each) in fixed else each for each in _listed(getattr(node, field))]
            setattr(node, field, found if isinstance(getattr(node, field), list) else found[0])
        return False

    def _named(self, part: ast.expr) -> ast.expr:
        if isinstance(part, ast.Constant | ast.Name):
            return part
        text = ast.dump(part)
        if text not in self._places:
            self._places[text] = f"_known_{len(self._places) + 1}"
            self.expressions.append(part)
        return _loaded(self._places[text])


class _Plain(ast.NodeTransformer):
    """Rewrites an expression for plain floats, in the same order of operations."""

    def __init__(self) -> None:
        self._places = count(1)

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """Whole numbers as floats: a sum or power of them would else be exact."""
        return ast.Constant(float(node.value)) if type(node.value) is int else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """A place in a list stays a whole number."""
        return ast.Subscript(self.visit(node.value), node.slice, node.ctx)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """Truth values are joined lazily, and a power that may be no real number is a call."""
        left, right = self.visit(node.left), self.visit(node.right)
        if isinstance(node.op, ast.BitAnd | ast.BitOr):
            return ast.BoolOp(ast.And() if isinstance(node.op, ast.BitAnd) else ast.Or(), [left, right])
        if isinstance(node.op, ast.Pow) and not _is_whole(right):
            return _call("_power", left, right)
        return ast.BinOp(left, node.op, right)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Choices are written out, which is faster than a call."""
        arguments = [self.visit(argument) for argument in node.args]
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "where":
            return ast.IfExp(*arguments)
        if name == "mod":
            return ast.BinOp(arguments[0], ast.Mod(), arguments[1])
        if name in ("maximum", "minimum"):
            return self._extreme(ast.GtE() if name == "maximum" else ast.LtE(), *arguments)
        return ast.Call(node.func, arguments, [])

    def _extreme(self, better: ast.cmpop, left: ast.expr, right: ast.expr) -> ast.expr:
        """One of two numbers, nan where either is; as in :mod:`mlsysim.backends.scalar`."""
        first, left = self._named(left)
        second, right = self._named(right)
        test: ast.expr = ast.Compare(left, [better], [right])
        if not isinstance(first, ast.Constant):
            test = ast.BoolOp(ast.Or(), [test, ast.Compare(first, [ast.NotEq()], [first])])
        return ast.IfExp(test, first, second)

    def _named(self, expression: ast.expr) -> tuple[ast.expr, ast.expr]:
        """What stands for an expression later, and the expression with that name where it is first met."""
        if isinstance(expression, ast.Constant | ast.Name):
            return expression, expression
        name = f"_either_{next(self._places)}"
        return ast.Name(name, ast.Load()), ast.NamedExpr(ast.Name(name, ast.Store()), expression)


def _is_whole(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant) and isinstance(node.value, float) and node.value.is_integer()


def _call(name: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _power(base: float, exponent: float) -> float:
    """A power of a number that is not negative; of another one Python gives a complex number."""
    if not base >= 0.0:
        raise ArithmeticError
    return base**exponent


def _log(x: float) -> float:
    """NumPy's logarithm, which may differ from that of Python in the last bit."""
    if x > 0.0:
        return float(np.log(x))
    with np.errstate(all="ignore"):
        return float(np.log(x))


def _exp(x: float) -> float:
    """NumPy's exponential function, as for the logarithm."""
    if abs(x) < LARGEST_EXPONENT:
        return float(np.exp(x))
    with np.errstate(all="ignore"):
        return float(np.exp(x))


def _beside(quantity: float, *factors: float) -> float:
    return 0.0 if abs(quantity) == math.inf and 0.0 in factors else quantity


def _ceil(x: float) -> float:
    return x + 0.0 if x.is_integer() else functions.ceil(_ROUNDED, x)


def _floor(x: float) -> float:
    return x if x.is_integer() else functions.floor(_ROUNDED, x)


class _Rounded(type(FLOATS)):
    """Floats whose nearest whole number is a plain float, too."""

    @staticmethod
    def nearest(x: float) -> float:
        """The nearest whole number, the even one of two."""
        return float(round(x)) if math.isfinite(x) else x


_ROUNDED = _Rounded()


def _erlang_c(servers: float, load: float) -> float:
    return functions.erlang_c(FLOATS, servers, load)


def _slots_busy(*arguments: float) -> float:
    return functions.slots_busy(FLOATS, *arguments)


def _least_integer(condition: Callable[..., Any], limit: float, given: Iterable[float], beyond: float = 0.0) -> float:
    return functions.least_integer(FLOATS, condition, limit, tuple(given), beyond)


def _root(
    residual: Callable[..., float], lower: float, upper: float, given: tuple[float, ...], within: float = 0.0
) -> float:
    def plainly(*arguments: float) -> float:
        return residual(*map(float, arguments))

    with np.errstate(all="ignore"):
        return float(root(plainly, lower, upper, given, within))


#: What the rewritten code calls; each gives the bits of its namesake in :mod:`mlsysim.backends.scalar`, or raises.
NAMESPACE: dict[str, Any] = {
    "absolute": abs,
    "beside": _beside,
    "ceil": _ceil,
    "erlang_c": _erlang_c,
    "exp": _exp,
    "floor": _floor,
    "inf": math.inf,
    "least_integer": _least_integer,
    "log": _log,
    "nan": math.nan,
    "normal_cdf": lambda x: float(normal_cdf(x)),
    "normal_quantile": lambda p: float(normal_quantile(p)),
    "_odd": _ODD,
    "_power": _power,
    "root": _root,
    "slots_busy": _slots_busy,
    "sqrt": math.sqrt,
}
