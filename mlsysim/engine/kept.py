"""Source that was printed before: what ships with the library, and a directory of the user.

Sympy prints the equations of a deployment in seconds, and Python reads what was printed in a tenth of that.
``MLSYSIM_CACHE_DIR`` names the directory, or switches it off where it is ``off``. It holds nothing that cannot be
printed again, and may be deleted at any time. ``python -m mlsysim.models.shipped`` prints what ships.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import lzma
import marshal
import os
import sys
import zlib
from collections.abc import Mapping
from functools import cache, partial
from importlib import resources
from pathlib import Path
from typing import Any

from mlsysim.engine.source import SourceCode
from mlsysim.files import replacing

#: Name of the environment variable, and its value for no directory.
VARIABLE, OFF = "MLSYSIM_CACHE_DIR", "off"
#: Files that a directory holds; the oldest go first.
LARGEST_NUMBER = 400
#: What ships: lines, and for each key the names and the places of its lines.
SHIPPED = "shipped.json.xz"
#: The modules that decide how an expression is printed.
_PRINTING = (
    *(f"symbolic/{name}.py" for name in ("chunked_prefill", "constants", "exchange", "extremes", "functions")),
    *(f"engine/{name}.py" for name in ("guards", "laws", "printer", "source", "zeros")),
)
#: How names of files end. What was marshalled by another Python is not read.
_ENDING = f"-{sys.implementation.cache_tag}-{marshal.version}.mlsysim"
_DIGEST = 16


def key(*said: str) -> str:
    """The name of what is printed: what it is printed from, by this version of the printer."""
    return _digest("\n".join((_printer(), *said)).encode()).hex()


@cache
def _printer() -> str:
    """A digest of the code that prints."""
    package = Path(__file__).parents[1]
    return _digest(b"\0".join((package / name).read_bytes() for name in _PRINTING)).hex()


def _digest(said: bytes) -> bytes:
    return hashlib.blake2b(said, digest_size=_DIGEST).digest()


def directory() -> Path | None:
    """Where source is kept for this user; None where that is switched off."""
    named = os.environ.get(VARIABLE, "").strip()
    if named.lower() == OFF:
        return None
    if named:
        return Path(os.path.expanduser(named))
    import platformdirs

    return platformdirs.user_cache_path("mlsysim")


def find(name: str) -> SourceCode | None:
    """The source that was kept under a key, if there is one."""
    where = _file(name)
    if where is not None:
        with contextlib.suppress(OSError, ValueError, zlib.error):
            said = where.read_bytes()
            if _digest(said[_DIGEST:]) == said[:_DIGEST]:
                return SourceCode(*marshal.loads(zlib.decompress(said[_DIGEST:])))
    lines, functions = _shipped()
    if name not in functions:
        return None
    inputs, outputs, places = functions[name]
    found = SourceCode.of(inputs, outputs, "\n".join(lines[place] for place in places))
    _write(where, found)
    return found


def keep(name: str, source: SourceCode) -> None:
    """Keep source under a key; nothing happens where that is switched off or cannot be written."""
    _write(_file(name), source)


def _file(name: str) -> Path | None:
    place = directory()
    return None if place is None else place / f"{name}{_ENDING}"


def _write(where: Path | None, source: SourceCode) -> None:
    if where is None:
        return
    said = zlib.compress(marshal.dumps((source.inputs, source.outputs, source.text, source.code)), 1)
    with contextlib.suppress(OSError):
        where.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # For this user alone: what is read from here is run.
        with replacing(where) as beside, open(beside, "xb", opener=partial(os.open, mode=0o600)) as file:
            file.write(_digest(said) + said)
        files = [each for each in where.parent.glob("*.mlsysim") if each.is_file()]
        if len(files) > LARGEST_NUMBER:
            for old in sorted(files, key=lambda each: each.stat().st_mtime)[: LARGEST_NUMBER // 4]:
                old.unlink(missing_ok=True)


@cache
def _shipped() -> tuple[list[str], dict[str, Any]]:
    file = resources.files("mlsysim.engine") / SHIPPED
    if not file.is_file():
        return [], {}
    found = json.loads(lzma.decompress(file.read_bytes()))
    return found["lines"], found["functions"]


def packed(sources: Mapping[str, SourceCode]) -> bytes:
    """Sources by key as they ship; a line that several have is written once."""
    places: dict[str, int] = {}
    functions = {
        name: [
            source.inputs,
            source.outputs,
            [places.setdefault(line, len(places)) for line in source.text.split("\n")],
        ]
        for name, source in sorted(sources.items())
    }
    return lzma.compress(json.dumps({"lines": list(places), "functions": functions}).encode())
