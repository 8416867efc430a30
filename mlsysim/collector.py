"""Pause of Python's garbage collector, which finds nothing while formulas are built or searched but costs a tenth."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused(*, settled: bool = False) -> Iterator[None]:
    """Pause the collection of reference cycles; reference counting still frees unused objects at once.

    Parameters
    ----------
    settled : bool
        Freeze objects created meanwhile: neither the next collection nor interpreter shutdown traverses them.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if settled and not gc.get_freeze_count():
            # Unfrozen objects join the oldest generation, which is traversed seldom.
            gc.freeze()
            gc.unfreeze()
            # The collections at interpreter shutdown take as long as a quarter of a first answer.
            atexit.unregister(gc.freeze)
            atexit.register(gc.freeze)
        if running:
            gc.enable()
