"""Files read up to a size limit, and written whole or not at all by one writer at a time."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

#: Seconds to wait for another writer of a file, and between two attempts.
PATIENCE, POLL = 10.0, 0.01
#: Description of files that are not regular.
NO_FILE = "must be a file, not a device or a pipe"


@contextmanager
def regular(file: str | Path) -> Iterator[BinaryIO]:
    """Open a regular file for reading; a device or pipe could block or never end.

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
    """Read a regular file of limited size.

    Parameters
    ----------
    file : str or Path
        Path of the file.
    largest : int
        Largest size in bytes.

    Raises
    ------
    OSError
        If it cannot be read, is not a regular file, or is larger.
    """
    with regular(file) as opened:
        size = os.fstat(opened.fileno()).st_size
        if size > largest:
            raise OSError(f"has {size:,} bytes, and at most {largest:,} are read")
        # Some files report size zero and yet have content.
        content = opened.read(largest + 1)
    if len(content) > largest:
        raise OSError(f"has more than {largest:,} bytes, and at most that many are read")
    return content


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Exclude other writers that lock the same file, from before it is read until it is replaced.

    Raises
    ------
    OSError
        If no lock file can be created beside it, or another writer holds the lock for ten seconds.
    """
    path = Path(os.path.realpath(file))
    lock, until = path.with_name(f".{path.name}.lock"), time.monotonic() + PATIENCE
    while True:
        # Exclusive creation of a file works as a lock on every system and on network disks.
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
    """Yield a temporary path next to a file; it replaces the file once all is written.

    Concurrent readers see the old file, which also stays if writing fails. A link stays a link, and an existing file
    keeps its permissions and owner.

    Parameters
    ----------
    file : Path
        File to replace.
    mode : int, optional
        Permissions; by default those of the existing file, or of new files.

    Yields
    ------
    Path
        An empty file in the same folder with the same extension; it is removed afterwards.

    Raises
    ------
    OSError
        If the file cannot be replaced, or is a device, pipe or folder.
    """
    path = Path(os.path.realpath(file))
    temporary = path.with_name(f".{os.urandom(16).hex()}{path.suffix}")
    before = path.stat() if path.exists() else None
    if before is not None and not stat.S_ISREG(before.st_mode):
        raise OSError(NO_FILE)
    if before is not None and mode is None:
        mode = stat.S_IMODE(before.st_mode)
    # A restricted file is never readable for others, not even while it is written.
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666 if mode is None else mode | 0o600))
    try:
        yield temporary
        if mode is not None:
            temporary.chmod(mode)
        if before is not None and hasattr(os, "chown"):
            with suppress(PermissionError):
                os.chown(temporary, before.st_uid, before.st_gid)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
