"""Files that are written whole, or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(file: Path) -> Iterator[Path]:
    """A path beside a file to write to, which takes the place of the file once all is written.

    What is read meanwhile is the file as it was, and so it stays where writing fails. A file that is a link stays one.

    Parameters
    ----------
    file : Path
        What is written in the end.

    Yields
    ------
    Path
        In the same folder, with the same ending; it is gone afterwards.

    Raises
    ------
    OSError
        If the file cannot be replaced.
    """
    place = Path(os.path.realpath(file))
    beside = place.with_name(f".{os.urandom(16).hex()}{place.suffix}")
    try:
        yield beside
        os.replace(beside, place)
    finally:
        beside.unlink(missing_ok=True)
