"""Calculator as one self-contained page: data, formulas, scripts, style and the fonts of its equations."""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Any

from mlsysim.errors import FormulaError
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.web.data import model_data
from mlsysim.web.formulas import PrintedModel

#: Scripts of a page in order; the last two need a document.
COMPUTING = ("runtime.js", "text.js", "calculator.js")
SHOWING = ("plot.js", "page.js")
#: Fonts used by equations of calculators; the site's equations also show domains and need AMS-Regular.
FONTS = ("Main-Regular", "Math-Italic", *(f"Size{size}-Regular" for size in (1, 2, 3, 4)))
_FACE = re.compile(r"@font-face\{[^}]*?src:url\(fonts/KaTeX_([\w-]+)\.woff2\)[^}]*\}")


def calculator(model: type[DeclaredModel], variant: str | None = None) -> str:
    """Build the calculator of a model as a self-contained HTML page.

    Parameters
    ----------
    model : type
        Model class, such as ``TrainingMemoryModel``.
    variant : str, optional
        Variant with which it opens; by default that of the model's example, else the measured one.

    Returns
    -------
    str

    Raises
    ------
    UnknownNameError
        If the model has no such variant.
    FormulaError
        If JavaScript can evaluate no variant of the model.

    Examples
    --------
    >>> from mlsysim import CollectiveModel
    >>> from mlsysim.web import calculator
    >>> calculator(CollectiveModel)[:15]
    '<!doctype html>'
    """
    contents = {
        "title": html.escape(f"{model.question()} {model.__name__} of mlsysim"),
        "style": style(),
        "notice": f"Equations by KaTeX: {' '.join(_text('katex/LICENSE').split())}",
        "digits": DIGITS,
        "scripts": _packed(f"{_styling()}\n{_text('katex/katex.min.js')}\n{embedded(model, variant)}"),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: contents[match[1]], _text("page.html"))


def embedded(model: type[DeclaredModel], variant: str | None = None) -> str:
    """Build the calculator as a script, for a page with KaTeX, :func:`style` and an element ``calculator``.

    Parameters and errors are those of :func:`calculator`.
    """
    if variant is not None:
        model(variant)
    printed = PrintedModel(model)
    if not printed.variants:
        raise FormulaError("; ".join(printed.without.values()))
    data = data_script(model_data(model, printed, variant))
    scripts = data + script(printed, COMPUTING) + "".join(map(_bare, SHOWING))
    return f"(() => {{\n'use strict';\n{scripts}}})();\n"


def style() -> str:
    """Return the style sheet of a calculator, without that of its equations."""
    return _text("page.css")


def script(printed: PrintedModel, names: Iterable[str] = COMPUTING) -> str:
    """Join scripts with the formulas of a model; all share one scope."""
    first, *rest = map(_bare, names)
    return "".join([first, printed.script(), *rest])


def data_script(data: Any) -> str:
    """Serialise the data of a page as the constant that its scripts read."""
    return f"const DATA = {json.dumps(data, ensure_ascii=False, separators=(',', ':'))};\n"


@cache
def _text(name: str) -> str:
    return (resources.files("mlsysim") / "web" / name).read_text(encoding="utf-8")


def _bare(name: str) -> str:
    """Load a script without comments and indents, each of which is on lines of its own."""
    return re.sub(r"^(?:\s*(?://|/\*\*).*\n|[ \n]+)", "", _text(name), flags=re.MULTILINE)


#: Base-85 digits that need no escape in HTML, in the order of Python's digits.
DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%:()*+-;.=,?@^_[{|}~"
_SAFE = str.maketrans("&<>`", ":.,[")


def _packed(text: str) -> str:
    """Compress text in the form that a page unpacks, five characters for four bytes: a third of the size."""
    return base64.b85encode(gzip.compress(text.encode(), mtime=0)).decode().translate(_SAFE)


def _styling() -> str:
    """Return the style sheet of equations as a script, so that it is compressed too."""
    element = f"Object.assign(document.createElement('style'), {{ textContent: {json.dumps(_equation_style())} }})"
    return f"document.head.prepend({element});"


@cache
def _equation_style() -> str:
    """Return KaTeX's style sheet with the needed fonts embedded, and without the others."""

    def face(match: re.Match[str]) -> str:
        name: Any = match[1]
        if name not in FONTS:
            return ""
        path = resources.files("mlsysim") / "web" / "katex" / "fonts" / f"KaTeX_{name}.woff2"
        data = base64.b64encode(path.read_bytes()).decode()
        head = match[0].partition("src:")[0]
        return f'{head}src:url(data:font/woff2;base64,{data}) format("woff2")}}'

    return _FACE.sub(face, _text("katex/katex.min.css"))
