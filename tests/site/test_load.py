"""What pages cost a browser: nodes and weight of each, equations that wait until they come into view, anchors."""

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest
from web.chromium import PHONE, installed, seen_by
from web.page_loads import KINDS, NODES, WEIGHT, loads

HERE = Path(__file__).parent

#: The heaviest pages of a kind.
HEAVY = (
    "formulas/mixers.html", "formulas/chunked_chain.html", "formulas/post_training.html", "formulas/README.html",
    "formulas/symbols.html", "formulas/variants.html", "models/EconomicsModel.html", "catalog/Models.Language.html",
)  # fmt: skip
#: A page, and an anchor deep in it.
DEEP = "formulas/post_training.html", "optimizer-step-on-packed-samples"


class Nodes(HTMLParser):
    """Elements and texts of a page as it is written."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def handle_starttag(self, _tag, _attributes):
        self.count += 1

    def handle_data(self, _text):
        self.count += 1


@pytest.mark.long
def test_no_page_has_too_many_nodes_as_it_is_written(site, found):
    heavy = {}
    for name in found:
        reader = Nodes()
        reader.feed((site / name).read_text(encoding="utf-8"))
        if reader.count > NODES:
            heavy[name] = reader.count
    assert not heavy


@pytest.mark.long
def test_heavy_pages_open_light(site):
    installed()
    pages = [*KINDS, *HEAVY]
    # The index, which the search page alone loads, has a limit of its own (test_site.py).
    own = {"search.html": (site / "_static" / "search-index.js").stat().st_size / 1000}
    over = {page: (nodes, weight) for page, (nodes, _, weight) in zip(pages, loads(site, pages), strict=True)
            if nodes > NODES or weight - own.get(page, 0) > WEIGHT}  # fmt: skip
    assert not over


@pytest.mark.long
@pytest.mark.parametrize("width", [PHONE, 1280])
def test_equations_wait_for_the_view_and_an_anchor_stays_in_it(site, tmp_path, width):
    installed()
    page, anchor = DEEP
    jobs = tmp_path / "jobs.json"
    jobs.write_text(json.dumps({"page": page, "anchor": anchor, "width": width, "printed": "notebooks/tutorial.html"}))
    seen = seen_by(HERE / "view.js", site, jobs)
    assert 0 < seen["first"] < seen["equations"] / 10
    assert 0 <= seen["top"] < 150
    assert seen["here"], "the equation of the anchor is typeset"
    assert seen["printing"] == seen["equations"]
    assert "$$" not in seen["tutorial"]
    assert seen["outputs"] >= 9, "five of an explanation, four in LaTeX"
