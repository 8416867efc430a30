"""Source that was printed before: what ships with the library, and a directory of the user.

Sympy prints the equations of a deployment in seconds, and Python reads what was printed in a tenth of that.
``MLSYSIM_CACHE_DIR`` names the directory, or switches it off where it is ``off``. It holds nothing that cannot be
printed again, and may be deleted at any time. ``python -m mlsysim.models.shipped`` prints what ships.

A directory or file that others can write to is not read, and text that does more than arithmetic is never run.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import keyword
import lzma
import os
import re
import zlib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from types import CodeType
from typing import Any

from mlsysim.backends.scalar import NAMESPACE
from mlsysim.backends.source import SourceCode
from mlsysim.errors import StoreError
from mlsysim.files import read_bytes, replacing

#: Name of the environment variable, and its value for no directory.
VARIABLE, OFF = "MLSYSIM_CACHE_DIR", "off"
#: Files that a directory holds; the oldest go first.
LARGEST_NUMBER = 400
#: What ships: lines, and for each key the names and the places of its lines.
SHIPPED = "shipped.json.xz"
#: The modules that decide how an expression is printed.
_PRINTING = (
    *(f"symbolic/{name}.py" for name in ("chunked_prefill", "constants", "exchange", "extremes", "functions")),
    *(f"backends/{name}.py" for name in ("guards", "laws", "printer", "source", "zeros")),
)
#: How names of files end, most bytes of a file, and most letters of its text; the longest that ships has 0.1 million.
_ENDING, _LARGEST, _LONGEST = ".mlsysim", 2**23, 2**24
_DIGEST = 16
#: Keywords that printed source has.
_KEYWORDS = frozenset({"def", "return", "lambda", "False", "True"})


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
    """The source that was kept under a key, if there is one.

    Raises
    ------
    StoreError
        If the named directory is not the user's alone, or a file in it has source that nothing of ours printed.
    """
    where = _file(name)
    if where is not None:
        try:
            found = _read(where)
        except StoreError:
            raise
        except (OSError, ValueError, zlib.error):
            found = None
        if found is not None:
            return found
    lines, functions = _shipped()
    if name not in functions:
        return None
    inputs, outputs, places = functions[name]
    found = SourceCode.of(inputs, outputs, "\n".join(lines[place] for place in places))
    _write(where, found)
    return found


def _read(file: Path) -> SourceCode | None:
    if not _is_private(file):
        return None
    said = read_bytes(file, _LARGEST)
    if _digest(said[_DIGEST:]) != said[:_DIGEST]:
        return None
    return _checked(file, json.loads(zlib.decompressobj().decompress(said[_DIGEST:], _LONGEST)))


def _is_private(place: Path) -> bool:
    """Whether nobody but the user can write to a file or directory, as far as the system knows users."""
    found = place.stat()
    return not hasattr(os, "geteuid") or (found.st_uid == os.geteuid() and not found.st_mode & 0o022)


def _checked(file: Path, content: Any) -> SourceCode:
    """Source as it was kept, read by Python; it is not run unless all it can do is arithmetic."""
    with contextlib.suppress(TypeError, ValueError, SyntaxError, RecursionError, MemoryError):
        inputs, outputs, text = content
        found = SourceCode.of(inputs, outputs, text)
        if _is_arithmetic(found):
            return found
    raise StoreError(file, "holds source that mlsysim has not printed", "it was not run; delete the file")


def _is_arithmetic(source: SourceCode) -> bool:
    """Whether a text is one function of its inputs that uses no name but those of compiled code."""
    if not all(map(str.isidentifier, source.inputs)):
        return False
    header = re.escape(f"def compiled({', '.join(source.inputs)}):\n")
    words = {*re.findall(r"[^\W\d]\w*", source.text)}
    return (
        re.fullmatch(rf"{header}(?:    [^\n]*\n)+", source.text) is not None
        and not (words & {*keyword.kwlist}) - _KEYWORDS
        and all({*code.co_names} <= NAMESPACE.keys() for code in _functions(source.code))
    )


def _functions(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _functions(constant)


def keep(name: str, source: SourceCode) -> None:
    """Keep source under a key; nothing happens where that is switched off or cannot be written."""
    _write(_file(name), source)


def _file(name: str) -> Path | None:
    place = directory()
    if place is None:
        return None
    try:
        private = _is_private(place)
    except OSError:  # nothing is there, or nothing can be
        private = True
    if private:
        return place / f"{name}{_ENDING}"
    if os.environ.get(VARIABLE, "").strip():
        remedy = f"make it yours alone (chmod go-w), or switch it off by {VARIABLE}={OFF}"
        raise StoreError(place, f"{VARIABLE} names a directory of another user, or that others can write to", remedy)
    return None


def _write(where: Path | None, source: SourceCode) -> None:
    if where is None:
        return
    said = zlib.compress(json.dumps((source.inputs, source.outputs, source.text)).encode(), 1)
    with contextlib.suppress(OSError):
        where.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # A link is not followed, and the file is for this user alone, as the directory is.
        where.unlink(missing_ok=True)
        with replacing(where, 0o600) as beside:
            beside.write_bytes(_digest(said) + said)
        files = [each for each in where.parent.glob("*.mlsysim") if each.is_file()]
        if len(files) > LARGEST_NUMBER:
            for old in sorted(files, key=lambda each: each.stat().st_mtime)[: LARGEST_NUMBER // 4]:
                old.unlink(missing_ok=True)


@cache
def _shipped() -> tuple[list[str], dict[str, Any]]:
    file = resources.files("mlsysim.backends") / SHIPPED
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
