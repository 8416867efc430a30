"""Line breaks in equations too wide for a page: long sums and lists are split, one part below another.

The printer marks the places where a line may break, and :func:`laid_out` chooses among them.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable

from mlsysim.symbolic.printing.width import width

#: Width available to a right side, in em: A4 with margins of an inch holds 45 em in ten-point type.
PAGE = 39.0
#: Delimiters of a sum on several lines.
BROKEN, END = r"\begin{aligned} & ", r" \end{aligned}"
#: Widths tried in turn; parts beyond them go on lines of their own.
_LINES = (math.inf, PAGE, 32.0, 26.0, 20.0, 15.0, 10.0, 3.0)
_OPEN, _CUT, _CLOSE, _LAST_CUT = "\x01", "\x02", "\x03", "\x04"
_INNERMOST = re.compile(f"{_OPEN}([^{_OPEN}{_CLOSE}]*){_CLOSE}")


def breakable(parts: Iterable[str], *, last: bool = False) -> str:
    """Join the parts of a sum or list with marks at possible line breaks; with ``last`` they break last."""
    return f"{_OPEN}{(_LAST_CUT if last else _CUT).join(parts)}{_CLOSE}"


def laid_out(marked: str) -> str:
    """Lay out marked LaTeX with as few line breaks as make it fit on a page."""
    tries = []
    for cut, line in itertools.product((" ", _CUT) if _LAST_CUT in marked else (" ",), _LINES):
        tries.append(_broken(marked.replace(_LAST_CUT, cut), line))
        if width(tries[-1]) <= PAGE:
            return tries[-1]
    return min(tries, key=width)


def unbroken(marked: str) -> str:
    """Print marked LaTeX on one line, however wide."""
    return _broken(marked.replace(_LAST_CUT, " "), math.inf)


def _broken(marked: str, line: float) -> str:
    """Break every sum and list of marked LaTeX that is wider than a line, inner ones first."""

    def lines(match: re.Match[str]) -> str:
        first, *rest = match[1].split(_CUT)
        rows_so_far = [first]
        for part in rest:
            if width(f"{rows_so_far[-1]} {part}") <= line:
                rows_so_far[-1] += f" {part}"
            else:
                rows_so_far.append(part)
        rows = r" \\ & ".join(rows_so_far)
        return rows if len(rows_so_far) == 1 else f"{BROKEN}{rows}{END}"

    while _OPEN in marked:
        marked = _INNERMOST.sub(lines, marked)
    return marked.replace(rf"\displaystyle {BROKEN}", BROKEN)
