"""Text files a user names: of a limited size, and never a device or a pipe that has no end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from mlsysim.errors import CatalogError
from mlsysim.files import read_bytes

#: The largest file that is read. The largest ``config.json`` known, with a label for each of 22,000 classes, has 2 MB.
LARGEST = 16 * 2**20


def content_of(file: Path, language: str, parse: Callable[[str], Any]) -> Any:
    """Content of a file, whose mark of UTF-8 is left out.

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
        return parse(read_bytes(file, LARGEST).decode("utf-8-sig"))
    except OSError as error:
        raise CatalogError(f"{file}: cannot be read: {error.strerror or error}") from None
    except CatalogError:
        raise
    except (ValueError, RecursionError) as error:
        raise CatalogError(f"{file}: not {language}: {error}") from None
