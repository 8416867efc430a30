"""Files that are read within limits, and written whole or not at all, by one writer at a time."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

#: Seconds to wait for another writer of a file, and between two looks.
PATIENCE, POLL = 10.0, 0.01
#: What is said of everything else.
NO_FILE = "must be a file, not a device or a pipe"


@contextmanager
def regular(file: str | Path) -> Iterator[BinaryIO]:
    """Open a regular file for reading; a device or a pipe may have no end, or wait for ever.

    Parameters
    ----------
    file : str or Path
        Path of the file.

    Yields
    ------
    BinaryIO

    Raises
    ------
    OSError
        If it cannot be opened, or is a device, a pipe or a folder.
    """
    with open(file, "rb", opener=_without_waiting) as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            raise OSError(NO_FILE)
        yield opened


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def read_bytes(file: str | Path, largest: int) -> bytes:
    """Bytes of a regular file of limited size.

    Parameters
    ----------
    file : str or Path
        Path of the file.
    largest : int
        Most bytes that are read.

    Raises
    ------
    OSError
        If it cannot be read, is no regular file, or is larger.
    """
    with regular(file) as opened:
        size = os.fstat(opened.fileno()).st_size
        if size > largest:
            raise OSError(f"has {size:,} bytes, and at most {largest:,} are read")
        # Some files say a size of zero and go on for long.
        found = opened.read(largest + 1)
    if len(found) > largest:
        raise OSError(f"has more than {largest:,} bytes, and at most that many are read")
    return found


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Keep other writers that lock the same file away, from before it is read until it is replaced.

    Raises
    ------
    OSError
        If there can be no lock beside the file, or another writer holds it for ten seconds.
    """
    place = Path(os.path.realpath(file))
    lock, until = place.with_name(f".{place.name}.lock"), time.monotonic() + PATIENCE
    while True:
        # A file that only one can create is a lock on every system and on network disks.
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            break
        except FileExistsError:
            if time.monotonic() > until:
                raise OSError(f"another writer holds it; delete {str(lock)!r} if there is none") from None
            time.sleep(POLL)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)


@contextmanager
def replacing(file: Path, mode: int | None = None) -> Iterator[Path]:
    """A path beside a file to write to, which takes the place of the file once all is written.

    What is read meanwhile is the file as it was, and so it stays where writing fails. A file that is a link stays one,
    and a file that was there keeps its permissions and owner.

    Parameters
    ----------
    file : Path
        What is written in the end.
    mode : int, optional
        Its permissions; those that it had, or that new files have, where left out.

    Yields
    ------
    Path
        An empty file in the same folder, with the same ending; it is gone afterwards.

    Raises
    ------
    OSError
        If the file cannot be replaced, or is a device, a pipe or a folder.
    """
    place = Path(os.path.realpath(file))
    beside = place.with_name(f".{os.urandom(16).hex()}{place.suffix}")
    before = place.stat() if place.exists() else None
    if before is not None and not stat.S_ISREG(before.st_mode):
        raise OSError(NO_FILE)
    if before is not None and mode is None:
        mode = stat.S_IMODE(before.st_mode)
    # What only some may read is never there for others, not even while it is written.
    os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666 if mode is None else mode | 0o600))
    try:
        yield beside
        if mode is not None:
            beside.chmod(mode)
        if before is not None and hasattr(os, "chown"):
            with suppress(PermissionError):
                os.chown(beside, before.st_uid, before.st_gid)
        os.replace(beside, place)
    finally:
        beside.unlink(missing_ok=True)
