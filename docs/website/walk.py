"""What the pages of a built site hold: their links, their anchors and their mathematics."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

TAG = re.compile(r"<([a-z][\w-]*)((?:\s+[\w:@-]+(?:=(?:\"[^\"]*\"|'[^']*'|[^\s>]*))?)*)\s*/?>")
ATTRIBUTE = re.compile(r"([\w:-]+)=\"([^\"]*)\"")
#: Attributes by which a browser asks for something while it shows a page.
ASKED = {"img": "src", "script": "src", "link": "href", "source": "src", "iframe": "src", "video": "src"}
#: A link with what it shows.
LINK = re.compile(r"<a\b[^>]*>.*?</a>", re.DOTALL)
#: A role of Markdown or reStructuredText that nothing has read, before what it was to print.
ROLE = re.compile(r"(?:\{[\w:]+\}|:[\w:]*\w:)`")
#: Links of a head that say where a page belongs and load nothing.
TOLD = {"canonical", "next", "prev", "index", "search", "author", "copyright", "top"}


@dataclass(frozen=True)
class Page:
    """A page of the site.

    Parameters
    ----------
    path : str
        Below the folder of the site.
    anchors : frozenset of str
        What links into it may name.
    links : tuple of str
        Addresses of its links.
    asked : tuple of str
        Addresses of what it loads.
    equations : int
        Elements that hold mathematics.
    roles : tuple of str
        Roles that stand in its text as they were written.
    markdown : tuple of str
        Links to pages of the site whose address or text names a file of Markdown.
    """

    path: str
    anchors: frozenset[str]
    links: tuple[str, ...]
    asked: tuple[str, ...]
    equations: int
    roles: tuple[str, ...]
    markdown: tuple[str, ...]


def read(path: Path, name: str) -> Page:
    """A page as it is written; scripts inside it hold no tags."""
    text = re.sub(r"(<script\b[^>]*>).*?</script>", r"\1", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    anchors: set[str] = set()
    links: list[str] = []
    asked: list[str] = []
    equations = 0
    for tag, rest in TAG.findall(text):
        attributes = {key: unescape(value) for key, value in ATTRIBUTE.findall(rest)}
        anchors |= {attributes[key] for key in ("id", "name") if key in attributes}
        if tag == "a" and "href" in attributes:
            links.append(attributes["href"])
        elif (key := ASKED.get(tag)) in attributes and attributes.get("rel") not in TOLD:
            asked.append(attributes[key])
        equations += "math" in attributes.get("class", "").split()
    roles = ROLE.findall(re.sub(r"<(code|pre)\b.*?</\1>", "`", text, flags=re.DOTALL))
    return Page(name, frozenset(anchors), tuple(links), tuple(asked), equations, tuple(roles), tuple(_markdown(text)))


def _markdown(text: str) -> list[str]:
    """Links that name a file of Markdown; those to other sites may."""
    return [link for link in LINK.findall(text) if ".md" in link and "://" not in link.partition(">")[0]]


def pages(folder: Path) -> dict[str, Page]:
    """Every page by its path."""
    paths = sorted(folder.rglob("*.html"))
    return {name: read(path, name) for path in paths for name in [path.relative_to(folder).as_posix()]}


def outside(address: str) -> bool:
    """Whether an address is on another machine."""
    return bool(urlsplit(address).scheme or urlsplit(address).netloc)


def of_markdown(found: Mapping[str, Page]) -> list[tuple[str, str]]:
    """Links that name a file of Markdown, which the site has none of, with the pages that have them."""
    return [(page.path, link) for page in found.values() for link in page.markdown]


def broken(folder: Path, found: Mapping[str, Page]) -> list[tuple[str, str]]:
    """Links and files that lead nowhere, and what pages load from elsewhere, with the pages that have them."""
    wrong = []
    for page in found.values():
        for address in dict.fromkeys((*page.links, *page.asked)):
            if outside(address):
                if address in page.asked and not address.startswith("data:"):
                    wrong.append((page.path, address))
                continue
            target, anchor = urldefrag(urljoin(page.path, address))
            target, anchor = unquote(target.partition("?")[0]) or page.path, unquote(anchor)
            anchors = found[target].anchors if target in found else ()
            if not (folder / target).is_file() or (anchor and anchor not in anchors):
                wrong.append((page.path, address))
    return wrong
