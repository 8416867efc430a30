"""Budgets of a search: operations, which are counted, and time, if a user sets a limit."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

#: One call of NumPy takes as long as so many elements, however short its arrays are.
CALL = 1000


class SpentError(Exception):
    """Error that the current budget is used up."""


@dataclass
class Budget:
    """Operations and time that a search may take.

    Attributes
    ----------
    operations : float
        Most operations, as :func:`mlsysim.graph.passes.cost` counts them.
    deadline : float
        Time of ``time.perf_counter`` after which the search stops.
    done : float
        Operations so far.
    """

    operations: float = math.inf
    deadline: float = math.inf
    done: float = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count operations done inside, and leave at once when the budget is used up."""
        token = _running.set(self)
        try:
            yield
        except SpentError:
            pass
        finally:
            _running.reset(token)

    def narrow(self, more: float) -> None:
        """Leave at most so many operations."""
        self.operations = min(self.operations, self.done + more)


_running: ContextVar[Budget | None] = ContextVar("running", default=None)


def take(operations: float, elements: int) -> None:
    """Count operations that are about to be done against the current budget, if there is one.

    Parameters
    ----------
    operations : float
        Per element.
    elements : int
        Length of the arrays.

    Raises
    ------
    SpentError
        If the time is over, or the operations done before this exceed the budget.
    """
    budget = _running.get()
    if budget is None:
        return
    if budget.done > budget.operations or time.perf_counter() > budget.deadline:
        raise SpentError
    budget.done += operations * (elements + CALL)


@contextmanager
def aside() -> Iterator[Budget]:
    """Count operations done inside apart from the current budget, whose deadline still holds."""
    outer = _running.get()
    counted = Budget() if outer is None else Budget(deadline=outer.deadline)
    token = _running.set(counted)
    try:
        yield counted
    finally:
        _running.reset(token)


@contextmanager
def abandonable() -> Iterator[None]:
    """Run the inside under a budget of its own, if there is none, so that it can be abandoned."""
    token = _running.set(_running.get() or Budget())
    try:
        yield
    finally:
        _running.reset(token)


def abandon() -> None:
    """Stop work of other threads under the current budget the next time they look at the clock."""
    budget = _running.get()
    if budget is not None:
        budget.deadline = -math.inf


def look_at_the_clock() -> None:
    """Stop a loop of unknown length when the time is over.

    Raises
    ------
    SpentError
        If the deadline of the budget that is running has passed.
    """
    budget = _running.get()
    if budget is not None and time.perf_counter() > budget.deadline:
        raise SpentError
