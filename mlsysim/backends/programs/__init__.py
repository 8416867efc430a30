"""Straight-line programs of graphs, and a register machine that runs them fast on integer indices.

NumPy passes over whole arrays for every operation of a formula. The machine of :mod:`~.machine` runs the operations of
a :class:`~mlsysim.graph.Graph` on blocks of elements that stay in the processor's cache:

>>> import numpy as np
>>> from mlsysim.backends.programs.program import Program
>>> program = Program.written(lambda x: [np.maximum(x[0] * x[1], 1.0) + x[0] * x[1]], 2)
>>> len(program)
3
>>> program(np.array([[0, 2], [3, 4]]))
array([[ 1., 16.]])

It needs numba (``pip install -e ".[fast]"``). An operation without an instruction, such as a search for a whole number,
raises :class:`~mlsysim.graph.operand.NoOperationError` and is left to NumPy.
"""
