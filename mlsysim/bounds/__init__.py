"""Bounds of a System over boxes of a grid, and the exact search that rests on them.

A formula takes three steps to a bound. Take a rank that holds 8 / t GB of weights, and beside them what of its
3 d GB of activations exceeds these, on a grid of three values of t and four of d:

>>> import numpy as np, sympy
>>> from mlsysim.bounds.ranges import Ranges
>>> from mlsysim.symbolic import System
>>> t, d = sympy.symbols("t d", positive=True)
>>> memory = 8 / t + sympy.Max(0, 3 * d - 8 / t)
>>> values = {"t": np.array([[1.0], [2.0], [4.0]]), "d": np.array([[1.0, 2.0, 3.0, 4.0]])}
>>> graph = GraphForms(System(()), values, (3, 4), (memory,))

**Form** (:mod:`~mlsysim.bounds.forms`). With all but the axes a number, the formula is a sum of terms. A
term is a number times a *table* per axis, which holds what a factor is worth at each value of the axis, times
*atoms*, which are what does not factor. Here 8 / t is a table over the axis of t, and the maximum is an atom:

>>> form = graph.sum(memory)
>>> print(form)
8 axis0[1, 0.5, 0.25] + 12 max(0, axis1[0.25, 0.5, 0.75, 1] + -0.667 axis0[1, 0.5, 0.25])

**Plan** (:mod:`~mlsysim.bounds.plans`). Bounded term by term, the first term would be small where t is
large, and the maximum where t is small: no point is both. So each branch of the maximum is put in its place.
The second branch takes the weights away, which then cancel, and either branch bounds the sum from below:

>>> print(graph.plans.lower(form))
any of: 8 axis0[1, 0.5, 0.25]; 12 axis1[0.25, 0.5, 0.75, 1]

**Range** (:mod:`~mlsysim.bounds.ranges`). A *box* is a stretch of every axis, given by the index of its
first and last value. Over it the range of a table is looked up and that of a term is a product of ends. In the
box of t = 2 or 4 and d = 3 or 4, term by term and by the plan:

>>> low, high = np.array([[1], [2]]), np.array([[2], [3]])
>>> [end.round(6).tolist() for end in Ranges(graph.plans, low, high, thorough=False).range(form)]
[[7.0], [24.0]]
>>> [end.round(6).tolist() for end in Ranges(graph.plans, low, high).range(form)]
[[9.0], [12.0]]

The formula is 9 at the least and 12 at the most there. :class:`Search` drops boxes whose lower bound is above
the best point it knows, and splits the others.
"""

from mlsysim.bounds import claims
from mlsysim.bounds.branch import Progress, Search
from mlsysim.bounds.cuts import Cuts
from mlsysim.bounds.from_graph import GraphForms
from mlsysim.bounds.incumbent import Best, Incumbent, Nondominated
from mlsysim.bounds.limits import Limited, inputs_of, parted
from mlsysim.bounds.points import Points
from mlsysim.bounds.recheck import Recheck, Shown

__all__ = [
    "Best",
    "Cuts",
    "GraphForms",
    "Incumbent",
    "Limited",
    "Nondominated",
    "Points",
    "Progress",
    "Recheck",
    "Search",
    "Shown",
    "claims",
    "inputs_of",
    "parted",
]
