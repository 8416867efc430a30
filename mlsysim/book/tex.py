r"""Formula book for papers: a file of equations per topic to ``\input``, and the cited works."""

from __future__ import annotations

from mlsysim.book.contents import Book, Topic
from mlsysim.symbolic import Formula
from mlsysim.symbolic.tex import prose_latex


def equations(topic: Topic) -> str:
    """Write the equations of a topic, each titled, cited and labelled ``eq:mlsysim:ID``; needs only amsmath."""
    head = f"% {topic.title}: needs amsmath; cites from references.bib.\n"
    body = "".join(f"\n{_equation(formula)}" for formula in topic.formulas)
    return head + (_MATHBB if r"\mathbb" in body else "") + body


def bibliography(book: Book) -> str:
    """Write the cited works as BibTeX."""
    return "\n".join(work.bibtex() for work in book.works)


def _equation(formula: Formula) -> str:
    place = f"[{{{prose_latex(formula.source.place)}}}]" if formula.source.place else ""
    return (
        rf"\noindent {prose_latex(formula.title)}~\cite{place}{{{formula.source.work.anchor}}}:" + "\n"
        r"\begin{equation}" + "\n"
        f"{formula.latex()} \\label{{eq:mlsysim:{formula.id}}}\n"
        r"\end{equation}" + "\n"
    )


# amsmath alone has no blackboard letters; where amssymb is loaded this line does nothing.
_MATHBB = r"\providecommand{\mathbb}[1]{\mathbf{#1}}" + "\n"
