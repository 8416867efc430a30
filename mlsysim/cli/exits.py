"""With which code a command ends."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes, each with its meaning."""

    ANSWERED = 0, "answered"
    STALE = 1, "the book is out of date"
    REFUSED = 2, "bad input"
    INFEASIBLE = 3, "infeasible (with --strict)"
    INTERRUPTED = 130, "interrupted"

    meaning: str

    def __new__(cls, code: int, meaning: str) -> Exit:
        """A code with its meaning."""
        found = int.__new__(cls, code)
        found._value_ = code
        found.meaning = meaning
        return found


#: All codes in one line, for the help.
EXIT_CODES = ", ".join(f"{int(code)} {code.meaning}" for code in Exit)
