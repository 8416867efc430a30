"""Arithmetic of NumPy arrays written down once as a straight-line program, and a machine that runs it quickly.

NumPy passes over whole arrays for every operation of a formula. Run once on :class:`~.recording.Value` in their
place, the same Python code records what it does, every common part once:

>>> import numpy as np
>>> from mlsysim.backends.programs.program import Program
>>> from mlsysim.backends.programs.recording import Recorder
>>> recorder = Recorder()
>>> x, y = recorder.inputs(2)
>>> program = Program(recorder, [np.maximum(x * y, 1.0) + x * y])
>>> print(program)
2 = multiply(0, 1)
3 = maximum(2, 1)
4 = add(3, 2)

The machine of :mod:`~.machine` runs it on blocks of elements that stay in the processor's cache. It needs numba
(``pip install -e ".[fast]"``). What cannot be recorded, such as a search for a whole number, raises
:class:`~.recording.UnrecordableError` and is left to NumPy.
"""
