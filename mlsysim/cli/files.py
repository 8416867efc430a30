"""Write files whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mlsysim.errors import StoreError, printable
from mlsysim.files import replacing
from mlsysim.study.grids.checkpoint import reason_of


@contextmanager
def replaced(file: Path) -> Iterator[Path]:
    """Yield a temporary path next to a file; it replaces the file once all is written.

    Parameters
    ----------
    file : Path
        File to write.

    Raises
    ------
    StoreError
        If it cannot be written; the file's previous content is kept.
    """
    try:
        with replacing(file) as beside:
            yield beside
    except OSError as error:
        remedy = "what it held before is kept" if file.exists() else "nothing was written"
        raise StoreError(file, f"cannot be written: {reason_of(error)}", remedy) from None


def written(*files: Path) -> None:
    """Report the files that a command wrote."""
    print(printable(f"Written: {', '.join(map(str, files))}"))
