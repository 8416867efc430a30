"""Writes what Sphinx reads: pages of the repository, and pages printed from the code."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from website import accuracy, api, calculators, catalog, formulas, front, models
from website.knowledge import Knowledge
from website.markup import with_html

ROOT = Path(__file__).parents[2]
BOOK = ROOT / "formulas"
#: Files of the repository that are pages, and that pages show.
PAGES = ("CONTRIBUTING.md", "SECURITY.md", "docs/*.md", "docs/how_to/*.md", "docs/validation/*.md", "notebooks/*.ipynb")
SHOWN = ("docs/*.png", "docs/*.svg")
#: Pages of tables, which are put in as HTML.
TABLES = ("docs/validation/*.md",)

Sources = dict[str, str | bytes]


def sources() -> Sources:
    """Every source by its path."""
    with ProcessPoolExecutor(1) as beside:
        scripts = beside.submit(calculators.scripts)
        known = Knowledge()
        found: Sources = {name: path.read_text(encoding="utf-8") for name, path in _files(PAGES)}
        found |= {name: with_html(path.read_text(encoding="utf-8")) for name, path in _files(TABLES)}
        found |= {name: path.read_bytes() for name, path in _files(SHOWN)}
        found |= {f"extra/formulas/{path.name}": path.read_bytes() for path in BOOK.glob("*.*") if path.suffix != ".md"}
        for room in (formulas, models, catalog):
            found |= {name: with_html(page) for name, page in room.pages(known).items()}
        for room in (calculators, accuracy, api):
            found |= room.pages(known)
        return found | front.pages(known, found) | scripts.result()


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
