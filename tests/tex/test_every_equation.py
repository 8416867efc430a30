"""Every equation renders in KaTeX and MathJax, in the spelling of each file of the book, and fits on a page."""

import re
from pathlib import Path

import pytest
from fuzz import is_long, sampled
from tex.renderers import RendererError, rendered

from mlsysim.book.markdown import math
from mlsysim.formulas import TOPICS, every_formula
from mlsysim.symbolic.indexed import ByMember
from mlsysim.symbolic.printing.width import width

#: A4 less margins of an inch, 159 mm, holds 45.3 em of ten-point type; a column of GitHub, 948 px, 59 em.
PAGE = 45.3

BROKEN = {
    "not TeX": r"\frac{a}{",
    "no such command": r"\fraction{a}{b}",
    "underscore in text": r"\text{as_precision}",
    "underscore as Markdown leaves it": r"\text{as\ _ weights}",
    "backslash shown by MathJax": r"\text{as\_weights}",
}
SEVEN_EM = r"\rule{3em}{1em}\rule{4em}{1em}"


@pytest.fixture(scope="module")
def topics():
    """Topics that are looked through."""
    return sampled(TOPICS, str)


@pytest.fixture(scope="module")
def read(topics, book_pages):
    """Files of the book that are looked through; all of them but in a quick run."""
    return {name: content for name, content in book_pages.items() if is_long() or Path(name).stem in topics}


@pytest.fixture(scope="module")
def equations(topics):
    return {formula.id: formula.latex() for topic, formula in every_formula() if topic in topics}


@pytest.fixture(scope="module")
def mathematics(read):
    """The files of the book that each piece of mathematics stands in."""
    found = {}
    for name, content in read.items():
        if name.endswith(".md"):
            for display, line in re.findall(r"^\$\$\n(.*)\n\$\$$|\$([^$\n]+)\$", content, re.MULTILINE):
                found.setdefault(display or line, set()).add(name)
        if name.endswith(".tex"):
            for equation in re.findall(r"\\begin{equation}\n(.*) \\label{.*}\n\\end{equation}", content):
                found.setdefault(equation, set()).add(name)
    return found


@pytest.fixture(scope="module")
def shown(mathematics):
    try:
        return rendered([*mathematics, *BROKEN.values(), SEVEN_EM])
    except RendererError as reason:
        pytest.skip(str(reason))


@pytest.mark.long
@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_equation_is_found(shown, what):
    assert shown[BROKEN[what]]["error"]


def test_a_width_is_measured(shown):
    assert shown[SEVEN_EM]["width"] == pytest.approx(7, abs=0.01)


def test_the_book_is_read_whole(read, equations, mathematics):
    with_mathematics = {name for name in read if name.endswith((".md", ".tex"))} - {"references.md"}
    assert set().union(*mathematics.values()) == with_mathematics
    tables = {formula.id for _, formula in every_formula() if isinstance(formula.expression, ByMember)}
    for name, latex in equations.items():
        assert latex in mathematics, name
        assert math(latex) in mathematics or name in tables, name


def test_every_equation_renders(shown, mathematics):
    wrong = [
        f"{min(files)}: {tex}\n  {shown[tex]['error']}" for tex, files in mathematics.items() if shown[tex]["error"]
    ]
    assert not wrong, "\n".join(wrong)


def test_every_equation_fits_on_a_page(shown, equations):
    found = {name: shown[latex]["width"] for name, latex in equations.items()}
    too_wide = {name: f"{measured:.1f} em" for name, measured in found.items() if measured > PAGE}
    assert not too_wide, f"wider than {PAGE} em: {too_wide}"


def test_estimated_widths_are_those_of_mathjax(shown, equations):
    for name, latex in equations.items():
        assert width(latex) == pytest.approx(shown[latex]["width"], rel=0.15, abs=1), name
