"""Python's collector of cycles, which finds nothing while formulas are built or searched, and takes a tenth of that."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused(*, settled: bool = False) -> Iterator[None]:
    """Collect no cycles meanwhile; what is no longer used is freed at once all the same.

    Parameters
    ----------
    settled : bool
        What is made meanwhile stays: the next collection need not look through it, nor Python when it ends.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if settled and not gc.get_freeze_count():
            # Frozen objects come back as old ones, and what is old is looked through seldom.
            gc.freeze()
            gc.unfreeze()
            # The collections with which Python ends take as long as a quarter of a first answer.
            atexit.unregister(gc.freeze)
            atexit.register(gc.freeze)
        if running:
            gc.enable()
