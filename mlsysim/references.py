"""Bibliography: one entry per work that a formula or a catalog value cites."""

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
    """A cited work.

    Parameters
    ----------
    key : str
        Citation key.
    kind : str
        BibTeX entry type (``article``, ``book``, ``misc`` ...).
    authors, title, venue, year : str
        Title as printed.
    url, doi, arxiv, note : str
        Identifier or address; empty if unknown.

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
        """Build a reference to a web page that is the source of values.

        Parameters
        ----------
        address : str
            URL of the page.
        what : str
            Subject of the page, as a title.

        Returns
        -------
        Reference
        """
        return cls(key=address, kind="misc", authors=urlsplit(address).netloc, title=what, year="", url=address)

    @property
    def anchor(self) -> str:
        """Key with characters that BibTeX, LaTeX and links accept; for a URL, its words."""
        return re.sub(r"\W+", "-", self.key.partition("//")[2]).strip("-") if is_page(self.key) else self.key

    def text(self) -> str:
        """Format the work on one line, as a list of references does."""
        printed = ", ".join(part for part in (self.venue, self.year) if part)
        fields = [f"{self.authors.rstrip('.')}.", f"{self.title}.", f"{printed}." if printed else "", self.link()]
        return " ".join(text for text in fields if text)

    def link(self) -> str:
        """Best address: DOI, arXiv or URL."""
        if self.doi:
            return f"https://doi.org/{self.doi}"
        if self.arxiv:
            return f"https://arxiv.org/abs/{self.arxiv}"
        return self.url

    def bibtex(self) -> str:
        """Format the entry as BibTeX."""
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
    """Escape the characters that LaTeX reads as commands."""
    for character in "&%#_":
        value = value.replace(character, "\\" + character)
    return value


@cache
def bibliography() -> dict[str, Reference]:
    """Known works by citation key."""
    text = (resources.files("mlsysim") / "references.toml").read_text(encoding="utf-8")
    return {key: Reference(key=key, **fields) for key, fields in tomllib.loads(text).items()}


@at_the_call
def add_reference(work: Reference) -> None:
    """Add a work, so that user-defined formulas can cite it.

    Parameters
    ----------
    work : Reference
        Work; its key is the one that ``Source`` names.

    Raises
    ------
    DuplicateError
        If another work has the key.

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
    """Look up the work of a citation key, or build the reference to a URL.

    Raises
    ------
    UnknownNameError
        If it is neither a key nor a URL.
    """
    works = bibliography()
    if key not in works and is_page(key):
        return Reference.page(key, "Web page")
    if key not in works:
        raise UnknownNameError("reference", key, works)
    return works[key]
