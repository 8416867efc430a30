"""The bibliography: one entry per work a formula or a catalog value cites."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from urllib.parse import urlsplit

from mlsysim.errors import DuplicateError, UnknownNameError
from mlsysim.tracebacks import at_the_call


@at_the_call
@dataclass(frozen=True, slots=True)
class Reference:
    """One cited work.

    Parameters
    ----------
    key : str
        Citation key.
    kind : str
        BibTeX entry type (``article``, ``book``, ``misc`` ...).
    authors, title, venue, year : str
        As printed.
    url, doi, arxiv, note : str
        Where it is found; empty when unknown.

    Examples
    --------
    >>> from mlsysim import Source
    >>> Source("rajbhandari2020").work.year
    '2020'
    """

    key: str
    kind: str
    authors: str
    title: str
    year: str
    venue: str = ""
    url: str = ""
    doi: str = ""
    arxiv: str = ""
    note: str = ""

    @classmethod
    def page(cls, address: str, what: str) -> Reference:
        """A page on the web, as the source of some values.

        Parameters
        ----------
        address : str
            Address of the page.
        what : str
            What it says, as a title.

        Returns
        -------
        Reference
        """
        return cls(key=address, kind="misc", authors=urlsplit(address).netloc, title=what, year="", url=address)

    @property
    def anchor(self) -> str:
        """The key in letters that BibTeX, LaTeX and links take: of an address, its words."""
        return re.sub(r"\W+", "-", self.key.partition("//")[2]).strip("-") if is_page(self.key) else self.key

    def text(self) -> str:
        """One line, as a list of references prints it."""
        printed = ", ".join(part for part in (self.venue, self.year) if part)
        parts = [f"{self.authors.rstrip('.')}.", f"{self.title}.", f"{printed}." if printed else "", self.link()]
        return " ".join(part for part in parts if part)

    def link(self) -> str:
        """The best address: DOI, arXiv or URL."""
        if self.doi:
            return f"https://doi.org/{self.doi}"
        if self.arxiv:
            return f"https://arxiv.org/abs/{self.arxiv}"
        return self.url

    def bibtex(self) -> str:
        """The entry as BibTeX."""
        venue_field = {"article": "journal", "inproceedings": "booktitle", "book": "publisher"}.get(
            self.kind, "howpublished"
        )
        fields = {
            "author": self.authors.replace("; ", " and "),
            "title": "{" + self.title + "}",
            venue_field: self.venue,
            "year": self.year,
            "doi": self.doi,
            "eprint": self.arxiv,
            "archiveprefix": "arXiv" if self.arxiv else "",
            "url": self.url,
            "note": self.note,
        }
        verbatim = ("url", "doi", "eprint")
        body = "".join(
            f"  {name} = {{{value if name in verbatim else _escaped(value)}}},\n"
            for name, value in fields.items()
            if value
        )
        return f"@{self.kind}{{{self.anchor},\n{body}}}\n"


def is_page(key: object) -> bool:
    """Tell whether a citation key is the address of a page."""
    return isinstance(key, str) and re.fullmatch(r"https?://[\w.-]+(:\d+)?([/?#]\S*)?", key) is not None


def _escaped(value: str) -> str:
    """Text with the characters LaTeX reads as commands escaped."""
    for character in "&%#_":
        value = value.replace(character, "\\" + character)
    return value


@cache
def bibliography() -> dict[str, Reference]:
    """Every known work by citation key."""
    text = (resources.files("mlsysim") / "references.toml").read_text(encoding="utf-8")
    return {key: Reference(key=key, **fields) for key, fields in tomllib.loads(text).items()}


@at_the_call
def add_reference(work: Reference) -> None:
    """Add a work of one's own, so that formulas can cite it.

    Parameters
    ----------
    work : Reference
        The work; its key is what ``Source`` names.

    Raises
    ------
    DuplicateError
        If another work has its key.

    Examples
    --------
    >>> from mlsysim import Reference, Source, add_reference
    >>> add_reference(Reference("doe2026", "misc", "J. Doe", "Disks of examples", year="2026"))
    >>> Source("doe2026", "table 1").text()
    'doe2026, table 1'
    """
    if bibliography().setdefault(work.key, work) != work:
        raise DuplicateError(f"reference {work.key!r} is another work: {bibliography()[work.key].text()}")


def reference(key: str) -> Reference:
    """The work of a citation key, or the page of a URL.

    Raises
    ------
    UnknownNameError
        If it is neither.
    """
    works = bibliography()
    if key not in works and is_page(key):
        return Reference.page(key, "Web page")
    if key not in works:
        raise UnknownNameError("reference", key, works)
    return works[key]
