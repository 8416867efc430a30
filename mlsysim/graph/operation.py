"""Operations: everything known of each, in one entry of one table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from mlsysim.graph.facts import ANY, Facts
from mlsysim.graph.floats import FLOATS, State

if TYPE_CHECKING:
    from mlsysim.graph.builder import Builder

#: ``partials(builder, operands, result)``: indices of the derivatives by each operand, None if one vanishes.
Partials = Callable[["Builder", Sequence[int], int], Sequence[int | None]]
#: ``simplify(known)``: a simpler result that is equal bit for bit (but for the sign of zero), from the operands that
#: are known numbers (None for the others).
Simplify = Callable[[Sequence[Any]], "Simpler | None"]


@dataclass(frozen=True)
class Simpler:
    """Equal result: one of the operands, another operation on the same operands, or a number."""

    operand: int | None = None
    number: Any = None
    op: str | None = None


class Arithmetic(Protocol):
    """Arithmetic of a backend, in which numerics are written; comparisons, sums and products are operators."""

    where: Any
    minimum: Any
    maximum: Any
    floor: Any
    nearest: Any
    log: Any
    sqrt: Any
    power: Any

    def together(self, *values: Any) -> tuple[Any, ...]:
        """Broadcast values to floats of one shape."""
        ...

    def constant(self, value: float, x: Any, /) -> Any:
        """Number in the shape of another."""
        ...

    def eps(self, x: Any, /) -> float:
        """Machine epsilon: distance from one to the next larger number."""
        ...

    def largest(self, x: Any, /) -> float:
        """Bound below overflow at which sums stop growing."""
        ...

    def broadcast_mask(self, truth: Any, x: Any, /) -> Any:
        """Truth value in the shape of a number."""
        ...

    def iterate(self, step: Callable[..., State], state: State, fixed: State, /) -> State:
        """Take steps at every point that goes on.

        Parameters
        ----------
        step : callable
            ``step(*state, *fixed)``: the state after a step.
        state : tuple
            Arrays of one shape; the first is the mask of the points that go on.
        fixed : tuple
            Numbers of that shape that a step reads only.

        Returns
        -------
        tuple
            Last state of every point.
        """
        ...


@dataclass(frozen=True, eq=False)
class Operation:
    """Operation of the graph, with everything that is known about it.

    Attributes
    ----------
    name : str
        Name in nodes, error messages and printed calls.
    text : str
        Code in Python that runs on arrays, ``{0}`` for the first operand; a call of its name by default.
    floats : str
        Code in Python of plain floats; ``text`` by default.
    javascript : str
        Code in JavaScript; ``text`` by default.
    machine : str
        Code of an instruction of the register machine, in Python for numba whose truth values are floats;
        ``floats`` or ``text`` by default. No instruction if all are empty.
    numerics : callable or None
        ``numerics(on, *operands)`` in the :class:`Arithmetic` of a backend, for functions that no library has.
    fold : callable or None
        Constant folding: the operation on Python numbers, after its subgraph if it has one. It never raises, and
        gives the bits of every backend that works in float64. ``numerics`` of single numbers by default.
    partials : callable or None
        Derivatives by the operands, as more nodes; None if it jumps.
    facts : callable
        Facts of the result from those of the operands.
    form : callable or None
        ``form(on, *operands)``: its form in bounds, as a sum of products of tables, after its subgraph if it has one;
        None if bounds know a range at most. ``on`` is :class:`mlsysim.bounds.GraphForms`.
    rises : tuple of int
        Monotonicity for bounds without a form, by operand: 1 if it rises, -1 if it falls, 0 if the operand must be
        fixed. If empty, ``facts`` are all that is known.
    domain : tuple of Facts
        Domain of each operand; values beyond are clipped to its ends. Unbounded if empty.
    error : float
        Relative error, by which it may fail to be monotone.
    simplify : callable or None
        Rule that returns an equal operand or number if some operands are known.
    idempotent_from : int or None
        First of the operands that, if all equal from it on, are the result.
    risky : int or None
        Operand whose zero makes the result, or its slope, infinite.
    cost : int
        Nanoseconds of NumPy for each point.
    truth : bool
        True if the result is a truth value.
    """

    name: str
    text: str = ""
    floats: str = ""
    javascript: str = ""
    machine: str = ""
    numerics: Callable[..., Any] | None = None
    fold: Callable[..., Any] | None = None
    partials: Partials | None = None
    facts: Callable[..., Facts] = lambda *_: ANY
    form: Callable[..., Any] | None = None
    rises: tuple[int, ...] = ()
    domain: tuple[Facts, ...] = ()
    error: float = 0.0
    simplify: Simplify | None = None
    idempotent_from: int | None = None
    risky: int | None = None
    cost: int = 1
    truth: bool = False

    @property
    def iterates(self) -> bool:
        """True if it takes an unknown number of steps, which costs hundreds of nanoseconds."""
        return self.cost >= 400


#: Every operation by name; :mod:`mlsysim.graph.operations` fills it.
TABLE: dict[str, Operation] = {}


def define(operation: Operation) -> Operation:
    """Put an operation into the table; numerics fold in the arithmetic of single numbers."""
    if operation.fold is None and operation.numerics is not None:
        operation = replace(operation, fold=partial(operation.numerics, FLOATS))
    TABLE[operation.name] = operation
    return operation
