"""Read text files named by a user: of limited size, and never from a device or an endless pipe."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from mlsysim.errors import CatalogError
from mlsysim.files import read_bytes

#: Largest file size in bytes. The largest known ``config.json``, with labels for 22,000 classes, has 2 MB.
LARGEST = 16 * 2**20


def content_of(file: Path, language: str, parse: Callable[[str], Any]) -> Any:
    """Read and parse a file; a UTF-8 byte order mark is dropped.

    Parameters
    ----------
    file : Path
        Path named by the user.
    language : str
        Name of the file's language for the error, such as ``"JSON"``.
    parse : callable
        Parser of the language; raises ValueError on malformed text.

    Returns
    -------
    object

    Raises
    ------
    CatalogError
        If it cannot be read or parsed, is no regular file, or is larger than ``LARGEST`` bytes (then it is not read).
    """
    try:
        return parse(read_bytes(file, LARGEST).decode("utf-8-sig"))
    except OSError as error:
        raise CatalogError(f"{file}: cannot be read: {error.strerror or error}") from None
    except CatalogError:
        raise
    except (ValueError, RecursionError) as error:
        raise CatalogError(f"{file}: not {language}: {error}") from None
