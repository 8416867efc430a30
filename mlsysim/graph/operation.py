"""Operations: all that is known of each, in one entry of one table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from mlsysim.graph.facts import ANY, Facts
from mlsysim.graph.floats import FLOATS, State

if TYPE_CHECKING:
    from mlsysim.graph.builder import Builder

#: ``partials(builder, operands, result)``: places of the derivatives by each operand, None where one vanishes.
Partials = Callable[["Builder", Sequence[int], int], Sequence[int | None]]
#: ``simplify(known)``: what simpler the result equals bit for bit (but for the sign of zero), given the operands that
#: are known numbers (None for the others).
Simplify = Callable[[Sequence[Any]], "Simpler | None"]


@dataclass(frozen=True)
class Simpler:
    """An equal result: the operand at a place, another operation on the same operands, or a number."""

    place: int | None = None
    number: Any = None
    op: str | None = None


class Arithmetic(Protocol):
    """Arithmetic of one backend, in which numerics are written; comparisons, sums and products are operators."""

    where: Any
    minimum: Any
    maximum: Any
    floor: Any
    nearest: Any
    log: Any
    sqrt: Any
    power: Any

    def together(self, *values: Any) -> tuple[Any, ...]:
        """Values as floats of one shape."""
        ...

    def constant(self, value: float, x: Any, /) -> Any:
        """A number of the shape of another."""
        ...

    def precision(self, x: Any, /) -> float:
        """Distance from one to the next larger number."""
        ...

    def largest(self, x: Any, /) -> float:
        """Number at which sums stop growing, well below the largest number."""
        ...

    def alike(self, truth: Any, x: Any, /) -> Any:
        """A truth value of the shape of a number."""
        ...

    def iterate(self, step: Callable[..., State], state: State, fixed: State, /) -> State:
        """Take steps at every point for as long as it is going.

        Parameters
        ----------
        step : callable
            ``step(*state, *fixed)``: the state after a step.
        state : tuple
            Of one shape; the first entry says where another step is taken.
        fixed : tuple
            Numbers of that shape that a step reads and leaves as they are.

        Returns
        -------
        tuple
            The last state of every point.
        """
        ...


@dataclass(frozen=True, eq=False)
class Operation:
    """An operation of the graph, with everything that is known about it.

    Attributes
    ----------
    name : str
        By which nodes, error messages and printed calls name it.
    text : str
        Its print in Python that runs on arrays, ``{0}`` for the first operand; a call of its name by default.
    floats : str
        Its print in Python of plain floats; ``text`` by default.
    javascript : str
        Its print in JavaScript; ``text`` by default.
    machine : str
        Its print as an instruction of the register machine, in Python for numba whose truth values are floats;
        ``floats`` or ``text`` by default. no instruction where all are empty.
    numerics : callable or None
        ``numerics(on, *operands)`` in the :class:`Arithmetic` of a backend, for what no library has.
    fold : callable or None
        The operation on Python numbers, after its subgraph if it has one. It never raises, and gives the bits of every
        backend that works in float64. ``numerics`` of single numbers by default.
    partials : callable or None
        The derivatives by the operands, as more nodes; None for what jumps.
    facts : callable
        Facts of the result from those of the operands.
    form : callable or None
        ``form(on, *operands)``: how bounds make sums of products of tables of it, after its subgraph if it has one;
        None for what they know the range of at most. ``on`` is :class:`mlsysim.bounds.GraphForms`.
    rises : tuple of int
        For bounds of what has no form, by operand: 1 where it rises with that, -1 where it falls, 0 where it must be
        fixed. Where empty, ``facts`` are all that is known.
    domain : tuple of Facts
        By operand, where it is a number; what lies beyond is taken for the end. Anywhere where empty.
    error : float
        Its relative error, so far as what rises or falls may do otherwise by it.
    simplify : callable or None
        An equal operand or number, where some operands are known.
    alike : int or None
        First of the operands that is the result where they are one from it on.
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
    alike: int | None = None
    risky: int | None = None
    cost: int = 1
    truth: bool = False

    @property
    def iterates(self) -> bool:
        """True if it takes steps of unknown number: what does costs hundreds of nanoseconds."""
        return self.cost >= 400


#: Every operation by name; :mod:`mlsysim.graph.operations` fills it.
TABLE: dict[str, Operation] = {}


def define(operation: Operation) -> Operation:
    """Put an operation into the table; numerics fold in the arithmetic of single numbers."""
    if operation.fold is None and operation.numerics is not None:
        operation = replace(operation, fold=partial(operation.numerics, FLOATS))
    TABLE[operation.name] = operation
    return operation
