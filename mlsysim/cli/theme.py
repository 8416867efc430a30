"""Colours of the figures that the command in hand writes."""

from __future__ import annotations

from contextvars import ContextVar

THEME: ContextVar[str | None] = ContextVar("theme", default=None)


def keep_theme(value: str | None) -> str | None:
    """Keep the theme for whoever draws."""
    THEME.set(value)
    return value
