"""Putting other symbols or numbers into an expression, with its maxima and minima taken over as they stand.

sympy compares the arguments of every maximum with each other whenever it builds one, and ``xreplace``
builds it anew: that took most of the time of printing and compiling.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy

from mlsysim.symbolic.extremes import as_written


def rebuilt(node: Any, args: Sequence[Any]) -> Any:
    """A node with other arguments."""
    if tuple(args) == node.args:
        return node
    return as_written(node.func, args) if isinstance(node, sympy.Max | sympy.Min) else node.func(*args)


def exchanged(expression: Any, swaps: Mapping[sympy.Basic, sympy.Basic]) -> Any:
    """The expression with every key of ``swaps`` exchanged for its value."""
    if expression in swaps:
        return swaps[expression]
    return rebuilt(expression, [exchanged(arg, swaps) for arg in expression.args]) if expression.args else expression
