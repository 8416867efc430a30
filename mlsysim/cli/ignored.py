"""Fields of a config.json that the command in hand ignores."""

from __future__ import annotations

from contextvars import ContextVar

IGNORED: ContextVar[tuple[str, ...]] = ContextVar("ignored", default=())


def keep_ignored(value: str | None) -> str | None:
    """Keep the fields that the files of this command may have, for whoever reads one."""
    IGNORED.set(tuple(filter(None, map(str.strip, (value or "").split(",")))))
    return value
