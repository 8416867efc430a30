"""With which code a command ends."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes, each with its meaning."""

    ANSWERED = 0, "answered"
    STALE = 1, "the book is out of date (with --check)"
    REFUSED = 2, "bad input, or a file that cannot be read or written"
    INFEASIBLE = 3, "infeasible, or no answer (with --strict)"
    UNPROVEN = 4, "the time limit came before the proof (with --strict), or a certificate cannot be verified whole"
    REFUTED = 5, "a certificate does not hold"
    FAULT = 70, "a fault of mlsysim"
    INTERRUPTED = 130, "interrupted"
    UNREAD = 141, "what reads the output closed it"

    meaning: str

    def __new__(cls, code: int, meaning: str) -> Exit:
        """A code with its meaning."""
        found = int.__new__(cls, code)
        found._value_ = code
        found.meaning = meaning
        return found


#: All codes in one line, for the help.
EXIT_CODES = ", ".join(f"{int(code)} {code.meaning}" for code in Exit)
