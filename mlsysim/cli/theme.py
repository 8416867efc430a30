"""Theme of the figures that the running command writes."""

from __future__ import annotations

from contextvars import ContextVar

THEME: ContextVar[str | None] = ContextVar("theme", default=None)


def keep_theme(value: str | None) -> str | None:
    """Store the theme for the code that draws."""
    THEME.set(value)
    return value
