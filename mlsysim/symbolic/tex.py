"""Prose as LaTeX, and slips in the LaTeX of a symbol that no renderer gets over, found by its braces and scripts."""

from __future__ import annotations

import re

_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\S", re.DOTALL)
#: Commands that take braces after them, and how many.
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
    """Describe what is wrong with the LaTeX of a symbol; empty where nothing is.

    Parameters
    ----------
    latex : str
        Without dollar signs.
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
    """Describe what is wrong with subscripts and superscripts, and with what commands take."""
    place, on_base = 0, set[str]()
    while place < len(tokens):
        token = tokens[place]
        if token not in ("_", "^"):
            on_base = set()
            end = _after(tokens, place)
            if end > len(tokens):
                return f"{token} lacks what it takes"
            inside = tokens[place + 1 : end - 1] if token == "{" else tokens[place + 1 : end]
            if (token == "{" or token in _TAKES) and (found := _scripts(inside)):
                return found
            place = end
            continue
        if token in on_base:
            return f"a second {token} follows the first; put both in one pair of braces"
        on_base.add(token)
        end = _after(tokens, place + 1)
        if end > len(tokens):
            return f"nothing follows the {token}"
        if tokens[place + 1] == "{" and (found := _scripts(tokens[place + 2 : end - 1])):
            return found
        place = end
    return ""


def _after(tokens: list[str], place: int) -> int:
    """Position where the part that begins here ends; beyond the end if something lacks."""
    if place >= len(tokens):
        return len(tokens) + 1
    if tokens[place] == "{":
        depth = 0
        for end in range(place, len(tokens)):
            depth += {"{": 1, "}": -1}.get(tokens[end], 0)
            if not depth:
                return end + 1
        return len(tokens) + 1
    end = place + 1
    for _ in range(_TAKES.get(tokens[place], 0)):
        end = _after(tokens, end)
    return end
