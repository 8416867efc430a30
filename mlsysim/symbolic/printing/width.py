"""Width of an equation, estimated from its LaTeX: enough to tell where a line must break."""

from __future__ import annotations

import re
from functools import lru_cache

#: Widths in em of Computer Modern, in which papers and pages set mathematics.
LETTER, CAPITAL, DIGIT, UPRIGHT = 0.57, 0.73, 0.5, 0.47
SIGNS = {
    ",": 0.44, "(": 0.45, ")": 0.45, "[": 0.3, "]": 0.3, "|": 0.3, ".": 0.28, "&": 0.0, r"\{": 0.5, r"\}": 0.5,
    r"\,": 0.17, "\\ ": 0.25, r"\_": 0.5, r"\neg": 0.67, r"\infty": 1.0, r"\enspace": 0.5, r"\qquad": 2.0,
    r"\max": 1.95, r"\min": 1.78, r"\ln": 1.0, r"\lceil": 0.5, r"\rceil": 0.5, r"\lfloor": 0.5, r"\rfloor": 0.5,
}  # fmt: skip
#: Signs between two parts, with the space around them; in script style they lose it.
BETWEEN = {
    "+": 1.22, "-": 1.22, r"\wedge": 1.11, r"\vee": 1.11, r"\bmod": 2.8, ":": 0.83, "=": 1.33, ">": 1.33, "<": 1.33,
    r"\geq": 1.33, r"\leq": 1.33, r"\ge": 1.33, r"\le": 1.33, r"\neq": 1.33, r"\in": 1.22,
}  # fmt: skip
CLOSED_UP = 0.64
FENCE, BRACE, COLUMN, BAR, SUM = 0.2, 1.0, 1.0, 0.24, 1.6
#: Sizes of display, text, script and small script style.
SIZES = (1.0, 1.0, 0.71, 0.5)
_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\s+|.", re.DOTALL)


@lru_cache(maxsize=4096)
def width(source: str) -> float:
    """Width in em of LaTeX as this package prints it; right to about a tenth.

    Parameters
    ----------
    source : str
        An expression or an equation, without dollar signs.
    """
    return _Reader(source).row()


class _Reader:
    """Reads LaTeX from left to right and adds up widths."""

    def __init__(self, source: str) -> None:
        self.tokens = [token for token in _TOKEN.findall(source) if not token.isspace()]
        self.place = 0
        self.style = 0

    def row(self, *ends: str) -> float:
        """Width up to one of the tokens, which is left to read; a style set on the way ends there."""
        style, total = self.style, 0.0
        while self.place < len(self.tokens) and self.tokens[self.place] not in ends:
            total += self.part()
        self.style = style
        return total

    def part(self) -> float:
        """Width of the next token with its arguments."""
        token = self.next()
        if token == "{":
            inside = self.row("}")
            self.next()
            return inside
        if token in ("_", "^"):
            script = self.smaller(2)
            if self.tokens[self.place : self.place + 1] != ["^" if token == "_" else "_"]:
                return script
            self.next()
            return max(script, self.smaller(2))
        if token == r"\sum":
            self.next()
            return max(SUM, self.smaller(2))
        if token == r"\frac":
            return max(self.smaller(self.style + 1), self.smaller(self.style + 1)) + BAR
        if token in (r"\text", r"\mathrm"):
            return SIZES[self.style] * sum(CAPITAL if c.isupper() else UPRIGHT for c in self.word())
        if token in (r"\left", r"\right"):
            return FENCE + (0.0 if self.tokens[self.place : self.place + 1] == ["."] else self.part())
        if token == r"\begin":
            return self.rows(self.word())
        if token == r"\displaystyle":
            self.style = 0
            return 0.0
        if token in BETWEEN:
            return BETWEEN[token] * (CLOSED_UP * SIZES[self.style] if self.style > 1 else 1.0)
        return SIZES[self.style] * SIGNS.get(token, _letter(token))

    def smaller(self, style: int) -> float:
        """Width of the next part in a style at least as small."""
        before, self.style = self.style, min(max(style, self.style), len(SIZES) - 1)
        found = self.part()
        self.style = before
        return found

    def rows(self, environment: str) -> float:
        """Width of a table: its widest cells side by side."""
        style = self.style
        if style < 2:  # a table in a script is as small as that
            self.style = 0 if environment == "aligned" else 1
        if environment == "array":
            self.word()
        columns: list[float] = []
        column, end = 0, ""
        while end != r"\end" and self.place < len(self.tokens):
            columns += [0.0] * (column + 1 - len(columns))
            columns[column] = max(columns[column], self.row("&", r"\\", r"\end"))
            end = self.next()
            column = column + 1 if end == "&" else 0
        self.word()
        self.style = style
        gaps = 0.0 if environment == "aligned" else COLUMN * max(len(columns) - 1, 0)
        return sum(columns) + gaps + (BRACE if environment == "cases" else 0.0)

    def word(self) -> str:
        """The text of the group that follows."""
        rest = self.tokens[self.place :]
        end = self.place + (rest.index("}") if "}" in rest else len(rest))
        found = "".join(self.tokens[self.place + 1 : end])
        self.place = end + 1
        return found

    def next(self) -> str:
        """The next token, read; empty at the end, where LaTeX of one's own may lack something."""
        self.place += 1
        return self.tokens[self.place - 1] if self.place <= len(self.tokens) else ""


def _letter(token: str) -> float:
    if token.isdigit():
        return DIGIT
    if not token:
        return 0.0
    return CAPITAL if token.lstrip("\\")[:1].isupper() else LETTER
