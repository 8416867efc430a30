"""The search index: every section of the built pages with its heading and text, and the synonyms of the field.

It is a script, because a page that is opened from a disk may not fetch files. The browser inverts it when the page of
results opens.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

#: Kinds of pages by the beginning of their path: the words shown beside a result, the weight of a match, and the
#: characters kept of a section.
KINDS = {
    "docs/how_to/": ("How do I ...?", 1.4, 1500),
    "docs/how_to.html": ("How do I ...?", 0.7, 300),
    "docs/further.html": ("Topics", 0.5, 300),
    "docs/validation": ("Checks", 0.5, 500),
    "docs/accuracy": ("Checks", 0.6, 500),
    "docs/benchmarks": ("Checks", 0.5, 500),
    "docs/de": ("Design", 0.5, 800),
    "docs/paper": ("Paper", 0.5, 800),
    "docs/": ("Topics", 1.2, 1500),
    "catalog/": ("Catalog", 1.1, 500),
    "models/": ("Models", 1.1, 1000),
    "calculators/": ("Calculators", 1.0, 800),
    "formulas/README": ("Formula book", 0.5, 500),
    "formulas/symbols": ("Formula book", 0.5, 500),
    "formulas/variants": ("Formula book", 0.5, 300),
    "formulas/references": ("Formula book", 0.5, 300),
    "formulas/": ("Formula book", 1.0, 800),
    "notebooks/": ("Notebooks", 0.8, 800),
    "api/": ("Python", 0.7, 600),
    "reference/": ("Python", 0.6, 600),
    "CHANGELOG": ("Changelog", 0.4, 800),
    "": ("", 0.8, 800),
}
#: Parts of a section of a formula that hold numbers and links to other formulas, up to the next part.
ASIDE = re.compile(
    r"(?:Constants|(?:No e|E)xample|Other forms|Needed by|In models|Checked): .*?"
    r"(?=(?:Assumes|Convention|Accuracy|Source|Symbols): |$)"
)
SYNONYMS = Path(__file__).with_name("synonyms.toml")
#: Elements whose text is not read, by tag or class.
UNREAD_TAGS = {"script", "style", "svg", "thead"}
UNREAD_CLASSES = {"math", "headerlink", "toctree-wrapper", "linenos", "gp", "highlight-text"}
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
HEADINGS = {"h1", "h2", "h3", "h4"}


@dataclass
class Section:
    """A heading of a page, its anchor, the first name in code below it, its text and its blocks of code."""

    anchor: str
    heading: list[str] = field(default_factory=list)
    name: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)

    def as_row(self, longest: int) -> tuple[str, str, str, str, str]:
        """Anchor, heading, name, text and code on single lines, the last two cut at a word."""
        text = ASIDE.sub("", _line(self.text))
        return self.anchor, _line(self.heading), _line(self.name), _cut(text, longest), _cut(_line(self.code), longest)


class Reader(HTMLParser):
    """Reads the sections of the article of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.sections: list[Section] = []
        self._anchor, self._unread, self._article, self._heading = "", 0, False, False
        self._cell, self._named, self._code = False, False, False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open a section at its heading or at a name of the API."""
        attributes = dict(attrs)
        if tag == "article":
            self._article = True
        if not self._article or tag in VOID:
            return
        classes = set((attributes.get("class") or "").split())
        if self._unread or tag in UNREAD_TAGS or UNREAD_CLASSES & classes or (self._cell and "external" in classes):
            self._unread += 1
        elif tag == "td":
            self._cell = True
        elif tag == "pre":
            self._code = True
        elif tag == "code":
            self._named = bool(self.sections) and not self.sections[-1].name
        elif tag == "section":
            self._anchor = attributes.get("id") or ""
        elif tag in HEADINGS:
            self._heading = True
            self.sections.append(Section(self._anchor))
        elif tag == "dt" and (anchor := attributes.get("id")):
            name = [anchor.removeprefix("mlsysim.")]
            self.sections.append(Section(anchor, name, name))

    def handle_endtag(self, tag: str) -> None:
        """Close what was opened; a block ends a word."""
        if not self._article or tag in VOID:
            return
        if self._unread:
            self._unread -= 1
        elif tag == "article":
            self._article = False
        elif tag in HEADINGS:
            self._heading = False
        elif tag == "code":
            self._named = False
        elif tag == "pre":
            self._code = False
        elif self.sections and tag not in {"a", "b", "code", "em", "i", "span", "strong", "sub", "sup"}:
            self._cell = self._cell and tag != "td"
            self.sections[-1].text.append(" ")

    def handle_data(self, data: str) -> None:
        """Add words to the heading or the text of the section."""
        if self._article and not self._unread and self.sections:
            section = self.sections[-1]
            (section.heading if self._heading else section.code if self._code else section.text).append(data)
            if self._named and not self._heading:
                section.name.append(data)


def _line(parts: list[str]) -> str:
    return " ".join("".join(parts).split())


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[:longest].rpartition(" ")[0]


def sections(page: str) -> list[Section]:
    """Sections of a page of HTML."""
    reader = Reader()
    reader.feed(page)
    return reader.sections


def kind_of(path: str) -> tuple[str, float, int]:
    """Words, weight and length of the kind of a page."""
    return next(kind for start, kind in KINDS.items() if path.startswith(start))


def synonyms() -> list[list[str]]:
    """Groups of phrases with one meaning."""
    return tomllib.loads(SYNONYMS.read_text(encoding="utf-8"))["groups"]


def index(folder: Path) -> dict[str, list]:
    """Pages with their title and kind, sections with the place of their page, and synonyms."""
    pages, rows = [], []
    for path, page in _pages(folder):
        words, weight, longest = kind_of(path)
        title = page[0].as_row(longest)[1]
        page[0].name = [Path(path).stem]
        rows += [(len(pages), *section.as_row(longest)) for section in page]
        pages.append((path, title, words, weight))
    return {"pages": pages, "sections": rows, "synonyms": synonyms()}


def _pages(folder: Path) -> Iterator[tuple[str, list[Section]]]:
    for path in sorted(folder.rglob("*.html")):
        name = path.relative_to(folder).as_posix()
        if name not in ("search.html", "genindex.html") and (page := sections(path.read_text(encoding="utf-8"))):
            yield name, page


def write(folder: Path) -> Path:
    """Write the index of the pages of a folder as a script beside them."""
    script = folder / "_static" / "search-index.js"
    text = json.dumps(index(folder), ensure_ascii=False, separators=(",", ":"))
    script.write_text(f"const INDEX = {text};\n", encoding="utf-8")
    return script
