"""Bounds of a System over boxes of a grid, and the exact search that rests on them.

A formula takes three steps to a bound. Take a rank that holds 8 / t GB of weights and, beside them, the part of its
3 d GB of activations that exceeds these, on a grid of three values of t and four of d:

>>> import numpy as np, sympy
>>> from mlsysim.bounds.ranges import Ranges
>>> from mlsysim.symbolic import System
>>> t, d = sympy.symbols("t d", positive=True)
>>> memory = 8 / t + sympy.Max(0, 3 * d - 8 / t)
>>> values = {"t": np.array([[1.0], [2.0], [4.0]]), "d": np.array([[1.0, 2.0, 3.0, 4.0]])}
>>> graph = GraphForms(System(()), values, (3, 4), (memory,))

**Form** (:mod:`~mlsysim.bounds.forms`). If everything but the axes is a number, the formula is a sum of terms. A
term is a number times a *table* per axis, which holds the values of a factor along the axis, times *atoms*: the
factors that do not separate by axis. Here 8 / t is a table over the axis of t, and the maximum is an atom:

>>> form = graph.sum(memory)
>>> print(form)
8 axis0[1, 0.5, 0.25] + 12 max(0, axis1[0.25, 0.5, 0.75, 1] + -0.667 axis0[1, 0.5, 0.25])

**Plan** (:mod:`~mlsysim.bounds.plans`). Term by term, the first term is smallest at the largest t and the maximum at
the smallest t, and no point is both. So each branch of the maximum is put in its place. The second branch subtracts
the weights, which then cancel. Either branch bounds the sum from below:

>>> print(graph.plans.lower(form))
any of: 8 axis0[1, 0.5, 0.25]; 12 axis1[0.25, 0.5, 0.75, 1]

**Range** (:mod:`~mlsysim.bounds.ranges`). A *box* is a stretch of every axis, given by the index of its
first and last value. The range of a table over a box is looked up; that of a term is a product of ends. In the
box of t = 2 or 4 and d = 3 or 4, term by term and by the plan:

>>> low, high = np.array([[1], [2]]), np.array([[2], [3]])
>>> [end.round(6).tolist() for end in Ranges(graph.plans, low, high, thorough=False).range(form)]
[[7.0], [24.0]]
>>> [end.round(6).tolist() for end in Ranges(graph.plans, low, high).range(form)]
[[9.0], [12.0]]

The formula lies between 9 and 12 there. :class:`Search` drops boxes whose lower bound is above its incumbent, the
best point so far, and splits the others.
"""

from mlsysim.bounds import claims
from mlsysim.bounds.branch import Progress, Search
from mlsysim.bounds.branch_tree import BranchTree
from mlsysim.bounds.from_graph import GraphForms
from mlsysim.bounds.incumbent import Best, Incumbent, Nondominated
from mlsysim.bounds.limits import Limited, inputs_of, split_limits
from mlsysim.bounds.points import Points
from mlsysim.bounds.recheck import CheckReport, Recheck

__all__ = [
    "Best",
    "BranchTree",
    "CheckReport",
    "GraphForms",
    "Incumbent",
    "Limited",
    "Nondominated",
    "Points",
    "Progress",
    "Recheck",
    "Search",
    "claims",
    "inputs_of",
    "split_limits",
]
