"""Files that a command writes: whole, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mlsysim.errors import StoreError, printable
from mlsysim.files import replacing
from mlsysim.study.grids.checkpoint import reason_of


@contextmanager
def replaced(file: Path) -> Iterator[Path]:
    """A path beside a file to write to, which takes the place of the file once all is written.

    Parameters
    ----------
    file : Path
        What is written in the end.

    Raises
    ------
    StoreError
        If it cannot be written; what it held before is kept.
    """
    try:
        with replacing(file) as beside:
            yield beside
    except OSError as error:
        remedy = "what it held before is kept" if file.exists() else "nothing was written"
        raise StoreError(file, f"cannot be written: {reason_of(error)}", remedy) from None


def written(*files: Path) -> None:
    """Say which files a command wrote."""
    print(printable(f"Written: {', '.join(map(str, files))}"))
