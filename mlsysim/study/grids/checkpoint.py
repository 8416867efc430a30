"""Checkpoint of a long computation: a small file that detects damage to itself."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from mlsysim.errors import InputError, MlsysimError, StoreError
from mlsysim.extras import require
from mlsysim.files import regular, replacing

#: Most bytes of a line; a file that begins with a longer one is no checkpoint.
LONGEST = 2**26
#: Most differing facts named in an error.
TOLD = 3
#: Keys of the first line, and the reason given if they are missing.
PARTS, NO_CHECKPOINT = ("fingerprint", "facts", "state"), "is not a checkpoint of mlsysim, or is damaged"
T = TypeVar("T")


class Checkpoint:
    """A file that identifies a computation and holds its progress.

    The first line holds the fingerprint and a state, which are replaced as a whole. Records may follow, one per line.
    Every line begins with its own digest: a damaged first line is refused, and a damaged record, or one left unfinished
    by a lost process, is ignored.

    Parameters
    ----------
    path : path
        Path of the file.
    fingerprint : mapping
        Texts that identify the computation, by part.
    argument : str
        Name of the argument that named the file, for errors.
    data : path, optional
        Path that a user named, if the file lies beside it.
    facts : mapping, optional
        Facts for a reader, by name, to explain a differing fingerprint.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        fingerprint: Mapping[str, str],
        argument: str = "checkpoint",
        data: Path | None = None,
        facts: Mapping[str, str] | None = None,
    ) -> None:
        try:
            self.path = Path(path)
        except TypeError:
            raise InputError(argument, path, "must be a path", f"as in {argument}='search.json'") from None
        if not self.path.name:
            raise InputError(argument, str(path), "must be the path of a file", f"as in {argument}='search.json'")
        self.argument, self.named = argument, self.path if data is None else data
        self.fingerprint = {part: _digest(text) for part, text in fingerprint.items()}
        self.facts = dict(facts or {})

    @property
    def again(self) -> str:
        """Advice on how to start over."""
        files = dict.fromkeys([self.named, self.path])
        return f"delete {' and '.join(repr(str(file)) for file in files)} to begin again"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Lock the file against other calls while this process lives.

        Raises
        ------
        InputError
            If another call holds the lock, or no file of this name can exist.
        """
        require(f"a {self.argument}", "filelock")
        from filelock import FileLock, Timeout

        folder = self.path.parent
        if not os.path.isdir(folder):
            raise InputError(
                self.argument, self.named, f"{str(folder)!r} is not a directory", "make it, or name another"
            )
        lock_path = self.path.with_name(f"{self.path.name}.lock")
        lock = FileLock(lock_path, blocking=False)
        try:
            lock.acquire()
        except Timeout:
            if not os.path.exists(lock_path):
                allowed = f"cannot be created in {str(folder)!r}"
                raise InputError(self.argument, self.named, allowed, "name another file") from None
            raise InputError(
                self.argument, self.named, "is in use by another call", "wait until that ends, or name another file"
            ) from None
        except (OSError, ValueError) as error:
            raise InputError(
                self.argument, self.named, f"cannot be used: {reason_of(error)}", "name another file"
            ) from None
        try:
            yield
        finally:
            lock.release()

    def read(self, parse: Callable[[dict[str, Any], list[Any]], T]) -> T | None:
        """Read state and records and parse them; None if there is no file.

        Parameters
        ----------
        parse : callable
            Function of state and records; raises a Python error on invalid content.

        Raises
        ------
        InputError
            If the file is not a checkpoint, is damaged, or has another fingerprint.
        """
        try:
            with regular(self.path) as file:
                head = _content(file.readline(LONGEST))
                if not isinstance(head, dict) or not all(isinstance(head.get(part), dict) for part in PARTS):
                    raise self._refused(self.path, NO_CHECKPOINT)
                lines = iter(partial(file.readline, LONGEST), b"")
                records = [record for record in map(_content, lines) if record is not None]
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._refused(self.path, f"cannot be read: {reason_of(error)}") from None
        saved = head["fingerprint"]
        differing = [part for part in {**self.fingerprint, **saved} if self.fingerprint.get(part) != saved.get(part)]
        if differing:
            raise self._refused(self.named, f"was begun with other {' and '.join(differing)}{self._against(head)}")
        try:
            return parse(head["state"], records)
        except (LookupError, TypeError, ValueError, ArithmeticError):
            raise self._refused(self.path, NO_CHECKPOINT) from None

    def _against(self, head: Mapping[str, Any]) -> str:
        """Describe the facts that differ, saved and current; empty if none is known to."""
        saved = head["facts"]
        differing = [name for name in {**saved, **self.facts} if saved.get(name) != self.facts.get(name)]
        texts = [
            f"{name}: {saved.get(name, 'nothing')} there, {self.facts.get(name, 'nothing')} here"
            for name in differing[:TOLD]
        ]
        more = [f"and {len(differing) - TOLD} more"] if len(differing) > TOLD else []
        return f" ({'; '.join([*texts, *more])})" if differing else ""

    def _refused(self, path: Path, why: str) -> InputError:
        return InputError(self.argument, path, f"{why}; nothing was changed", f"name another file, or {self.again}")

    def save(self, state: Mapping[str, Any], records: Iterable[Any] = ()) -> None:
        """Replace the file."""
        with replacing(self.path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
            file.write(_line({"fingerprint": self.fingerprint, "facts": self.facts, "state": dict(state)}))
            file.writelines(map(_line, records))

    def append(self, record: Any) -> None:
        """Append a record."""
        with self.path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(_line(record))


def _line(content: Any) -> str:
    text = json.dumps(content)
    return f"{_digest(text)} {text}\n"


def _content(line: bytes) -> Any:
    """Parse a line; None if it is damaged."""
    try:
        digest, _, text = line.decode().removesuffix("\n").partition(" ")
        return json.loads(text) if digest == _digest(text) else None
    except (ValueError, RecursionError):
        return None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def reason_of(error: Exception) -> str:
    """Summarise the reason of a failure in a few words."""
    text = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
    return text.splitlines()[0][:200]


@contextmanager
def storage_errors(path: Path, problem: str, remedy: Callable[[], str]) -> Iterator[None]:
    """Turn errors of a storage library into one that names the file and how to resume."""
    try:
        yield
    except (MlsysimError, MemoryError):
        raise
    except Exception as error:
        raise StoreError(path, f"{problem}: {reason_of(error)}", remedy()) from error


@contextmanager
def resumable(reached: Callable[[], str]) -> Iterator[None]:
    """Add to an interrupt a note on how far the computation got."""
    try:
        yield
    except KeyboardInterrupt as stop:
        stop.add_note(reached())
        raise
