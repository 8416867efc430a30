"""Exit codes of the commands."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes, each with a meaning."""

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
        """Create a code with its meaning."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member


#: All codes in one line, for the help.
EXIT_CODES = ", ".join(f"{int(code)} {code.meaning}" for code in Exit)
