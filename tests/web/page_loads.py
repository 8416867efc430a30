"""Writes docs/page_loads.md: what pages of a built site cost in Chromium, beside what they cost before.

``python tests/web/page_loads.py build/site/html`` measures a page of each kind and the heaviest ones.
"""

import json
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent)]

from web.chromium import seen_by  # noqa: E402

PAGE = HERE.parents[1] / "docs" / "page_loads.md"
#: Nodes, milliseconds and kB of each page while every equation was typeset as the page opened.
BEFORE = json.loads((HERE / "loads_before.json").read_text(encoding="utf-8"))
#: A page of each kind, which is looked through for barriers and opened on a desktop too.
KINDS = (
    "index.html", "search.html", "notebooks/tutorial.html", "docs/how_to.html", "docs/how_to/bottleneck.html",
    "calculators/TrainingMemoryModel.html", "models/KernelModel.html", "formulas/expert_products.html",
    "docs/accuracy.html", "catalog/Systems.Fabrics.html", "api/ask.html", "docs/design.html",
    "reference/KernelModel.html", "catalog/devices.html",
)  # fmt: skip
#: Most nodes, most kB of a page with what it loads, and most milliseconds of the processor.
NODES, WEIGHT, TIME = 50_000, 2_000, 1_000
HEAD = """\
# Page loads

What pages of the site cost in Chromium at 1280 pixels: nodes of the document, time of the processor until the page is
idle, and the size of the page with all that it loads, fonts and scripts included. Before, every equation was
typeset as the page opened; now each is when it comes near the view, and parts out of view have no layout. Times are
of one opening, on {machine}. No page may have more than {nodes:,} nodes or weigh more
than {weight:,} kB, which `tests/site/test_load.py` holds; {time:,} ms are wanted, and of these pages {over} missed.

| page | nodes before | now | ms before | now | kB before | now |
|---|---:|---:|---:|---:|---:|---:|
"""


def loads(site, pages):
    """Nodes, milliseconds of the processor and kB of each page."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as jobs:
        json.dump(pages, jobs)
        jobs.flush()
        seen = seen_by(HERE / "load.js", Path(site).resolve(), jobs.name)
    return [(round(each["Nodes"]), round(1e3 * each["TaskDuration"]), round(each["weight"] / 1e3)) for each in seen]


def main():
    """Measure and write."""
    rows, over = [], []
    for page, now in zip(BEFORE, loads(sys.argv[1], list(BEFORE)), strict=True):
        over += [page] if now[1] > TIME else []
        cells = [f"{number:,}" for pair in zip(BEFORE[page], now, strict=True) for number in pair]
        rows.append(f"| `{page.removesuffix('.html')}` | {' | '.join(cells)} |\n")
    said = ", ".join(over) or "none"
    head = HEAD.format(
        machine="two cores that others use too", nodes=NODES, weight=WEIGHT, time=TIME,
        over=f"{said} has" if not over else f"{said} have",
    )  # fmt: skip
    PAGE.write_text(head + "".join(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
