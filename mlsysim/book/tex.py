r"""The book for papers: a file of equations per topic to ``\input``, and the works they cite."""

from __future__ import annotations

import re

from mlsysim.book.contents import Book, Topic
from mlsysim.symbolic import Formula


def equations(topic: Topic) -> str:
    """The equations of a topic, each titled, cited and labelled ``eq:mlsysim:ID``; needs only amsmath."""
    head = f"% {topic.title}: needs amsmath; cites from references.bib.\n"
    body = "".join(f"\n{_equation(formula)}" for formula in topic.formulas)
    return head + (_MATHBB if r"\mathbb" in body else "") + body


def bibliography(book: Book) -> str:
    """The cited works as BibTeX."""
    return "\n".join(work.bibtex() for work in book.works)


def _equation(formula: Formula) -> str:
    place = f"[{{{_prose(formula.source.place)}}}]" if formula.source.place else ""
    return (
        rf"\noindent {_prose(formula.title)}~\cite{place}{{{formula.source.work.anchor}}}:" + "\n"
        r"\begin{equation}" + "\n"
        f"{formula.latex()} \\label{{eq:mlsysim:{formula.id}}}\n"
        r"\end{equation}" + "\n"
    )


# amsmath alone has no blackboard letters; where amssymb is loaded this line does nothing.
_MATHBB = r"\providecommand{\mathbb}[1]{\mathbf{#1}}" + "\n"
_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
} | {character: "\\" + character for character in "&%$#_"}  # fmt: skip


def _prose(text: str) -> str:
    """Plain text as LaTeX; double backticks mark code."""
    escaped = re.sub(r"[\\{}~^<>|&%$#_]", lambda m: _SPECIAL[m[0]], text)
    return re.sub(r"``(.+?)``", r"\\texttt{\1}", escaped)
