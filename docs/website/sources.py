"""Writes what Sphinx reads: pages of the repository, and pages printed from the code."""

from __future__ import annotations

import re
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from posixpath import dirname, join, normpath

from website import accuracy, api, calculators, catalog, example, formulas, front, models, try_it
from website.knowledge import Knowledge
from website.markup import with_html

ROOT = Path(__file__).parents[2]
BOOK = ROOT / "formulas"
#: Files of the repository that are pages, and that pages show.
PAGES = (
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "docs/*.md",
    "docs/how_to/*.md",
    "docs/validation/*.md",
    "notebooks/*.ipynb",
)
SHOWN = ("docs/figures/*.png", "docs/*.svg")
#: Pages of tables and equations, which are put in as HTML.
PRINTED = re.compile(r"(formulas|models|reference|catalog|docs/validation)/.*\.md")
#: The title of a page, and a link in Markdown that shows the name of a file.
TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
#: A picture in Markdown, and the name of a plot.
PICTURE = re.compile(r"(!\[[^\]]*\]\(\S*figures/\w+)\.png\)")
PLOT = re.compile(r"(?<!`)`(plot\.\w+)`")
NAMED = re.compile(r"\[`?[\w./-]+\.md`?\]\((?P<page>[\w./-]+\.md)(?P<anchor>#[^)\s]*|)\)")

Sources = dict[str, str | bytes]


def sources() -> Sources:
    """Every source by its path."""
    with ProcessPoolExecutor(1) as beside:
        scripts = beside.submit(calculators.scripts)
        known = Knowledge()
        found: Sources = {name: path.read_text(encoding="utf-8") for name, path in _files(PAGES)}
        for room in (formulas, models, catalog, calculators, accuracy, api):
            found |= room.pages(known)
        found = with_titles(found)
        found |= {name: with_html(str(text)) for name, text in found.items() if PRINTED.fullmatch(name)}
        found |= {name: path.read_bytes() for name, path in _files(SHOWN)}
        found |= {f"extra/formulas/{path.name}": path.read_bytes() for path in BOOK.glob("*.*") if path.suffix != ".md"}
        found["static/preview.png"] = example.preview()
        found |= try_it.pages()
        found |= front.pages(known, found)
        return {name: in_themes(name, text) for name, text in found.items()} | scripts.result()


def in_themes(name: str, text: str | bytes) -> str | bytes:
    """A page with the light and the dark picture of each figure, and with links from plots to their reference."""
    if isinstance(text, bytes):
        return text
    text = PICTURE.sub(r"\1.png){.only-light} \1_dark.png){.only-dark}", text)
    return PLOT.sub(r"{py:func}`\1 <mlsysim.\1>`", text) if name.startswith("docs/") else text


def with_titles(found: Sources) -> Sources:
    """Pages whose links show the title of a page instead of the name of its file."""
    texts = {name: text for name, text in found.items() if isinstance(text, str)}
    titles = {name: front.SHORT.get(name.removesuffix(".md")) or title[1]
              for name, text in texts.items() if (title := TITLE.search(text))}  # fmt: skip

    def shown(name: str, link: re.Match[str]) -> str:
        title = titles.get(normpath(join(dirname(name), link["page"])))
        return f"[{title}]({link['page']}{link['anchor']})" if title else link[0]

    return found | {name: NAMED.sub(partial(shown, name), text) for name, text in texts.items()}


def _files(patterns: tuple[str, ...]) -> list[tuple[str, Path]]:
    paths = [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]
    return [(path.relative_to(ROOT).as_posix(), path) for path in paths]


def write(folder: Path) -> None:
    """Write the sources that changed, and remove those that are gone."""
    found = {name: text.encode() if isinstance(text, str) else text for name, text in sources().items()}
    for path in [*folder.rglob("*")]:
        if path.is_file() and path.relative_to(folder).as_posix() not in found:
            path.unlink()
    for name, content in found.items():
        path = folder / name
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
