"""Fields of a ``config.json`` that the running command ignores."""

from __future__ import annotations

from contextvars import ContextVar

IGNORED: ContextVar[tuple[str, ...]] = ContextVar("ignored", default=())


def keep_ignored(value: str | None) -> str | None:
    """Store the fields that this command ignores, for the reader of a file."""
    IGNORED.set(tuple(filter(None, map(str.strip, (value or "").split(",")))))
    return value
