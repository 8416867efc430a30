"""Compiles the machine and keeps it, so that the first search of an installation need not wait for it.

``python -m mlsysim.backends.programs`` does nothing where numba is not installed.
"""

import numpy as np

from mlsysim.backends.programs.program import Program
from mlsysim.extras import installed


def main() -> None:
    """Run a program of one instruction."""
    if installed("numba"):
        Program.written(lambda inputs: [inputs[0] + 1.0], 1)(np.zeros((1, 1), np.int64))


if __name__ == "__main__":
    main()
