"""Prose as LaTeX, and a check of a symbol's LaTeX for errors that no renderer accepts."""

from __future__ import annotations

import re

_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\S", re.DOTALL)
#: Commands that take arguments in braces, and their number.
_TAKES = {r"\frac": 2, r"\sqrt": 1, r"\text": 1, r"\mathrm": 1, r"\bar": 1, r"\hat": 1, r"\tilde": 1, r"\overline": 1}

_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
} | {character: "\\" + character for character in "&%$#_"}  # fmt: skip


def prose_latex(text: str) -> str:
    """Escape plain text for LaTeX; double backticks mark code."""
    escaped = re.sub(r"[\\{}~^<>|&%$#_]", lambda m: _SPECIAL[m[0]], text)
    return re.sub(r"``(.+?)``", r"\\texttt{\1}", escaped)


def slip_in(latex: str) -> str:
    """Describe the error in a symbol's LaTeX; empty if there is none.

    Parameters
    ----------
    latex : str
        LaTeX without dollar signs.
    """
    tokens = _TOKEN.findall(latex)
    depth = 0
    for token in tokens:
        depth += {"{": 1, "}": -1}.get(token, 0)
        if depth < 0:
            break
    if depth:
        return "its braces do not pair"
    if tokens.count(r"\left") != tokens.count(r"\right"):
        return r"\left and \right do not pair"
    if "$" in tokens:
        return "it stands between dollar signs already"
    return _scripts(tokens)


def _scripts(tokens: list[str]) -> str:
    """Describe the error in subscripts, superscripts and arguments of commands; empty if there is none."""
    start, on_base = 0, set[str]()
    while start < len(tokens):
        token = tokens[start]
        if token not in ("_", "^"):
            on_base = set()
            end = _after(tokens, start)
            if end > len(tokens):
                return f"{token} lacks what it takes"
            inside = tokens[start + 1 : end - 1] if token == "{" else tokens[start + 1 : end]
            if (token == "{" or token in _TAKES) and (error := _scripts(inside)):
                return error
            start = end
            continue
        if token in on_base:
            return f"a second {token} follows the first; put both in one pair of braces"
        on_base.add(token)
        end = _after(tokens, start + 1)
        if end > len(tokens):
            return f"nothing follows the {token}"
        if tokens[start + 1] == "{" and (error := _scripts(tokens[start + 2 : end - 1])):
            return error
        start = end
    return ""


def _after(tokens: list[str], start: int) -> int:
    """Return the end of the group that begins at a token; a position beyond the last token if it is incomplete."""
    if start >= len(tokens):
        return len(tokens) + 1
    if tokens[start] == "{":
        depth = 0
        for end in range(start, len(tokens)):
            depth += {"{": 1, "}": -1}.get(tokens[end], 0)
            if not depth:
                return end + 1
        return len(tokens) + 1
    end = start + 1
    for _ in range(_TAKES.get(tokens[start], 0)):
        end = _after(tokens, end)
    return end
