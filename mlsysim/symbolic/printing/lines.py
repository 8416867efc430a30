"""Breaking an equation into lines: where it is too wide for a page, long sums and lists stand one part below another.

The printer marks the places where a line may break, and :func:`laid_out` chooses among them.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable

from mlsysim.symbolic.printing.width import width

#: Room for a right side, in em: a page of A4 with margins of an inch holds 45 em in ten-point type.
PAGE = 39.0
#: How a sum on several lines begins and ends.
BROKEN, END = r"\begin{aligned} & ", r" \end{aligned}"
#: Widths beyond which parts are put on lines of their own, tried in turn.
_LINES = (math.inf, PAGE, 32.0, 26.0, 20.0, 15.0, 10.0, 3.0)
_OPEN, _CUT, _CLOSE, _LAST_CUT = "\x01", "\x02", "\x03", "\x04"
_INNERMOST = re.compile(f"{_OPEN}([^{_OPEN}{_CLOSE}]*){_CLOSE}")


def breakable(parts: Iterable[str], *, last: bool = False) -> str:
    """Parts of a sum or a list, with a mark between them where a line may break, or may at last."""
    return f"{_OPEN}{(_LAST_CUT if last else _CUT).join(parts)}{_CLOSE}"


def laid_out(marked: str) -> str:
    """Marked LaTeX with as few of its parts on lines of their own as make it fit on a page."""
    tries = []
    for cut, line in itertools.product((" ", _CUT) if _LAST_CUT in marked else (" ",), _LINES):
        tries.append(_broken(marked.replace(_LAST_CUT, cut), line))
        if width(tries[-1]) <= PAGE:
            return tries[-1]
    return min(tries, key=width)


def unbroken(marked: str) -> str:
    """Marked LaTeX on one line, however wide."""
    return _broken(marked.replace(_LAST_CUT, " "), math.inf)


def _broken(marked: str, line: float) -> str:
    """Marked LaTeX with every sum and list wider than a line broken, the inner ones first."""

    def lines(match: re.Match[str]) -> str:
        first, *rest = match[1].split(_CUT)
        found = [first]
        for part in rest:
            if width(f"{found[-1]} {part}") <= line:
                found[-1] += f" {part}"
            else:
                found.append(part)
        rows = r" \\ & ".join(found)
        return rows if len(found) == 1 else f"{BROKEN}{rows}{END}"

    while _OPEN in marked:
        marked = _INNERMOST.sub(lines, marked)
    return marked.replace(rf"\displaystyle {BROKEN}", BROKEN)
