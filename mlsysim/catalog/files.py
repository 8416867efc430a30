"""Text files a user names: of a limited size, and never a device or a pipe that has no end."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mlsysim.errors import CatalogError

#: The largest file that is read. The largest ``config.json`` known, with a label for each of 22,000 classes, has 2 MB.
LARGEST = 16 * 2**20


def content_of(file: Path, language: str, parse: Callable[[str], Any]) -> Any:
    """What a file holds.

    Parameters
    ----------
    file : Path
        What a user named.
    language : str
        What it is written in, for the error: ``"JSON"``.
    parse : callable
        Reads the language; raises ValueError on what is not of it.

    Returns
    -------
    object

    Raises
    ------
    CatalogError
        If it cannot be read or parsed, is no regular file, or has more than ``LARGEST`` bytes; it is not read then.
    """
    try:
        return parse(_bytes(file).decode("utf-8"))
    except OSError as error:
        raise CatalogError(f"{file}: cannot be read: {error.strerror or error}") from None
    except CatalogError:
        raise
    except (ValueError, RecursionError) as error:
        raise CatalogError(f"{file}: not {language}: {error}") from None


def _bytes(file: Path) -> bytes:
    found = file.stat()
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
        raise CatalogError(f"{file}: must be a file, not a device or a pipe")
    if found.st_size > LARGEST:
        raise CatalogError(f"{file}: has {found.st_size:,} bytes, and at most {LARGEST:,} are read")
    with file.open("rb") as opened:
        # Some files say a size of zero and go on for long.
        content = opened.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise CatalogError(f"{file}: has more than {LARGEST:,} bytes, and at most that many are read")
    return content
