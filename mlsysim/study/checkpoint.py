"""What is finished of a long computation, in a small file that is replaced as a whole."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mlsysim.errors import InputError


class Checkpoint:
    """A file that keeps the fingerprint of a computation, and how far it got.

    Parameters
    ----------
    path : path
        Of the file.
    fingerprint : mapping
        Text per part of what is computed; its digests must be those of the file.
    argument : str
        What a user named the file by, for errors.
    """

    def __init__(
        self, path: str | os.PathLike[str], fingerprint: Mapping[str, str], argument: str = "checkpoint"
    ) -> None:
        self.path, self.argument = Path(path), argument
        self.fingerprint = {part: _digest(text) for part, text in fingerprint.items()}

    def read(self) -> dict[str, Any] | None:
        """What was saved last; None where nothing was.

        Raises
        ------
        InputError
            If the file is not a checkpoint, or that of another computation.
        """
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        try:
            saved = json.loads(text)
            fingerprint, state = saved["fingerprint"], saved["state"]
        except (ValueError, TypeError, KeyError):
            raise InputError(
                self.argument, str(self.path), "is not a checkpoint of mlsysim", "name another file"
            ) from None
        other = [part for part, digest in self.fingerprint.items() if fingerprint.get(part) != digest]
        if other:
            allowed = f"was begun with other {' and '.join(other)}"
            raise InputError(
                self.argument, str(self.path), allowed, "name another file, or delete this one and its data"
            )
        return state

    def save(self, state: Mapping[str, Any]) -> None:
        """Replace the file."""
        beside = self.path.with_name(self.path.name + ".new")
        beside.write_text(json.dumps({"fingerprint": self.fingerprint, "state": state}) + "\n", encoding="utf-8")
        os.replace(beside, self.path)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def text_of_values(values: Mapping[str, Any]) -> str:
    """Inputs of a grid as text that is the same for the same numbers."""
    parts = []
    for name in sorted(values):
        array = np.ascontiguousarray(values[name], float)
        parts.append(f"{name} {array.shape} {hashlib.sha256(array.tobytes()).hexdigest()}")
    return "\n".join(parts)


def ranges(numbers: Iterable[int]) -> list[list[int]]:
    """Whole numbers as ``[first, after the last]`` of each run."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and found[-1][1] == number:
            found[-1][1] = number + 1
        else:
            found.append([number, number + 1])
    return found


def members(runs: Iterable[Iterable[int]]) -> set[int]:
    """Inverse of :func:`ranges`."""
    return {number for start, stop in runs for number in range(start, stop)}
