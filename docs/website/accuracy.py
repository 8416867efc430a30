"""Ours against theirs, drawn from the tables of the validation pages, which tests hold equal to what they compute."""

from __future__ import annotations

import io
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mlsysim.book.markdown import joined, prose, slug
from mlsysim.plot.style import COLOURS
from website.knowledge import Knowledge

DOCS = Path(__file__).parents[1]
#: Pages of the areas that are drawn, in the order of the summary.
LINK = re.compile(r"^\| \[.*?\]\((validation/\w+\.md)\)", re.M)
AREAS = tuple(dict.fromkeys(LINK.findall((DOCS / "validation.md").read_text(encoding="utf-8"))))
#: Tables of an order alone.
NOT_DRAWN = ("Memory expansion: stated",)
#: Within this factor of theirs a point lies in the shaded band.
BAND = 1.25
#: Units that are drawn as one, with what one of them is in it.
_UNITS = {
    "kB": ("bytes", 1e3), "KiB": ("bytes", 2**10), "MB": ("bytes", 1e6), "GB": ("bytes", 1e9), "GiB": ("bytes", 2**30),
    "us": ("seconds", 1e-6), "ms": ("seconds", 1e-3), "s": ("seconds", 1),
    "days": ("seconds", 86400), "": ("counts", 1),
}  # fmt: skip
#: More units than these are drawn as others.
_COLOURED = 4


@dataclass(frozen=True)
class Row:
    """One number of ours against one of theirs, both in ``unit``."""

    area: str
    section: str
    theirs: float
    ours: float
    unit: str

    @property
    def drawn(self) -> tuple[str, float]:
        """The unit in which it is drawn, and what one of its own is in that."""
        if self.unit == "B":
            return ("counts", 1e9) if self.area == "validation/parameters.md" else ("bytes", 1)
        return _UNITS.get(self.unit, (self.unit, 1))


@cache
def rows() -> tuple[Row, ...]:
    """The rows of all tables that have numbers of both."""
    found = []
    sections = [(area, section) for area in AREAS for section in _text(area).split("\n## ")[1:]]
    for area, section in sections:
        title, _, body = section.partition("\n")
        if title.startswith(NOT_DRAWN):
            continue
        for line in body.partition("| Case | Theirs | Ours |")[2].splitlines()[2:]:
            cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
            if len(cells) < 3:
                break
            number, _, unit = cells[1].partition(" ")
            theirs, ours = (_number(text) for text in (number, cells[2]))
            if theirs and ours:
                found.append(Row(area, title, theirs, ours, unit))
    return tuple(found)


def _number(text: str) -> float | None:
    """A number above zero; a logarithm shows no other."""
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None
    return value if value > 0 and value != float("inf") else None


def _text(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def pages(known: Knowledge) -> dict[str, str | bytes]:
    """The accuracy page with a figure for each area, and the figures."""
    lines = [
        (DOCS / "accuracy.md").read_text(encoding="utf-8"), "",
        "## Ours against theirs", "",
        "A point for each row of [the tables](validation.md) with a number of ours and one of theirs above zero. "
        f"The band holds what is off by at most a factor of {BAND:g}. Rows that a constant was calibrated on are among "
        "them.",
        "",
    ]  # fmt: skip
    found: dict[str, str | bytes] = {}
    for area in AREAS:
        drawn = [row for row in rows() if row.area == area]
        title = _text(area).partition("\n")[0].removeprefix("# ")
        inside = sum(1 / BAND <= row.ours / row.theirs <= BAND for row in drawn)
        name = f"{slug(title)}.svg"
        found[f"docs/accuracy/{name}"] = figure(drawn)
        tables = ", ".join(
            f"[{prose(table)}]({area}#{slug(table)})" for table in dict.fromkeys(row.section for row in drawn)
        )
        lines += [f"### {title}", "", f"{inside} of {len(drawn)} rows are within the band: {tables}.", "",
                  f"![Ours against theirs on logarithmic axes, {title.lower()}](accuracy/{name})", ""]  # fmt: skip
    return {"docs/accuracy.md": joined(lines), **found}


def figure(drawn: list[Row]) -> bytes:
    """Ours over theirs as SVG; the same rows give the same bytes."""
    import matplotlib
    from matplotlib.figure import Figure

    labelled = [(*row.drawn, row) for row in drawn]
    common = [label for label, _ in Counter(label for label, _, _ in labelled).most_common(_COLOURED)]
    points: dict[str, list[tuple[float, float]]] = {label: [] for label in [*common, "others"]}
    for label, factor, row in labelled:
        points[label if label in common else "others"].append((row.theirs * factor, row.ours * factor))
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "mlsysim", "font.family": "sans-serif"}):
        fig = Figure(figsize=(5, 4.6), layout="constrained")
        axes = fig.subplots()
        ends = [min(min(pair) for each in points.values() for pair in each) / 2,
                max(max(pair) for each in points.values() for pair in each) * 2]  # fmt: skip
        axes.fill_between(ends, [end / BAND for end in ends], [end * BAND for end in ends], color="0.9", linewidth=0)
        axes.plot(ends, ends, color="0.4", linewidth=0.8)
        for colour, (label, each) in zip(COLOURS, points.items(), strict=False):
            if each:
                axes.scatter(*zip(*each, strict=True), s=12, color=colour, alpha=0.6, linewidths=0, label=label)
        axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends, xlabel="Theirs", ylabel="Ours", aspect="equal")
        axes.legend(loc="upper left", frameon=False)
        written = io.BytesIO()
        fig.savefig(written, format="svg", metadata={"Date": None})
    return written.getvalue()
