"""The site as it is built: every warning an error, nothing asked of a network, every link leads somewhere."""

import json
from pathlib import Path

import pytest
from web.chromium import PHONE, installed, seen_by
from web.page_loads import KINDS
from website import accuracy, api, formulas
from website.knowledge import Knowledge
from website.markup import with_html
from website.walk import broken, pages, read

import mlsysim
from mlsysim.catalog import builtin
from mlsysim.formulas import every_formula
from mlsysim.models import every_model

HERE = Path(__file__).parent
#: What is searched for.
WORDS = "optimizer+state"


@pytest.mark.long
def test_every_link_leads_somewhere_and_nothing_is_loaded_from_elsewhere(site, found):
    assert broken(site, found) == []
    assert len(found) > 140
    assert {name: page.roles for name, page in found.items() if page.roles} == {}


@pytest.mark.long
def test_there_is_a_page_for_everything(site, found):
    for model in every_model():
        assert f"models/{model.__name__}.html" in found
        assert f"../_static/calculators/{model.__name__}.js" in found[f"calculators/{model.__name__}.html"].asked
    listed = "".join((site / name).read_text(encoding="utf-8") for name in found if name.startswith("catalog/"))
    listed = listed.replace("<wbr>", "")
    for path in builtin().paths():
        assert f">{path}<" in listed, path
    words = (site / "searchindex.js").read_text(encoding="utf-8")
    assert '"notebooks/tutorial"' in words


@pytest.mark.long
def test_a_formula_leads_to_its_symbols_its_models_and_its_checks(site, found):
    for topic, formula in every_formula():
        page = found[f"formulas/{topic}.html"]
        for variable in formula.inputs:
            assert f"symbol-{variable.name}" in page.anchors, formula.id
    page = found["formulas/training_memory.html"]
    assert "../models/TrainingMemoryModel.html" in page.links
    assert "#symbol-update_sequences" in found["formulas/post_training.html"].links
    assert "../docs/validation/memory_of_training.html#torchtitan-on-h100" in page.links


def test_every_public_name_has_a_page():
    for name in mlsysim.__all__:
        what = getattr(mlsysim, name)
        assert api.page_of(name) in ("", *api.TITLES)
        assert api.page_of(name) or not (isinstance(what, type) or callable(what)), name


def test_every_table_of_numbers_is_drawn_in_an_area():
    assert {row.area for row in accuracy.rows()} == {*accuracy.AREAS}
    assert len(accuracy.rows()) > 1500
    row = next(row for row in accuracy.rows() if row.section == "Parameters as published")
    assert (row.theirs, row.ours, row.unit) == (8.03, 8.03, "B")


def test_figures_are_the_same_whenever_they_are_drawn():
    rows = [row for row in accuracy.rows() if row.area == "validation/kernels.md"]
    assert accuracy.figure(rows) == accuracy.figure(rows)


def test_between_headings_stands_html():
    page = with_html(
        "# One\n\nTwo $a_b < 1$, `x_y` and [three](four.md#five).\n\n| a |\n| --- |\n| [b]{#symbol-b} |\n\n$$\nx\n$$\n"
    )
    head, _, rest = page.partition("\n\n")
    assert head == "# One"
    for part in (
        '<span class="math">a_b &lt; 1</span>', '<code class="docutils literal notranslate">x_<wbr>y</code>',
        'href="four.html#five"', '<span id="symbol-b">b</span>', '<div class="math display">x</div>',
    ):  # fmt: skip
        assert part in rest


def test_long_lists_are_folded_and_no_link_is_lost():
    known = Knowledge()
    formula = max((formula for _, formula in known.book.formulas), key=lambda each: len(known.needed_by(each)))
    users = known.needed_by(formula)
    text = formulas.notes(known, formula)["Needed by"]
    assert f"and {len(users) - formulas.FEW} more" in text
    assert text.count(".md#") == len(users)


def test_what_leads_nowhere_is_found(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "a.html").write_text(
        '<h1 id="top">A</h1> <a href="b/c.html#there">1</a> <a href="b/c.html#gone">2</a> <a href="gone.html">3</a>'
        '<a href="https://example.org/x">4</a> '
        '<script src="https://example.org/y.js">if (a < b) "<a href=no>";</script>'
    )
    (tmp_path / "b" / "c.html").write_text('<p id="there"><a href="../a.html#top">5</a><img src="no.png"></p>')
    assert broken(tmp_path, pages(tmp_path)) == [
        ("a.html", "b/c.html#gone"),
        ("a.html", "gone.html"),
        ("a.html", "https://example.org/y.js"),
        ("b/c.html", "no.png"),
    ]


@pytest.mark.parametrize("text", ["{py:class}`mlsysim.Model`", "{doc}<code>serving</code>", "the :math:`x`"])
def test_a_role_that_nothing_has_read_is_found(tmp_path, text):
    page = tmp_path / "a.html"
    page.write_text(f"<p>A: <code>b</code>, <code>{{c}}`d`</code>, {text}</p>")
    assert len(read(page, "a.html").roles) == 1
    page.write_text("<p>A: <code>b</code>, <code>{c}`d`</code></p>")
    assert read(page, "a.html").roles == ()


@pytest.fixture(scope="module")
def browsed(site, found, tmp_path_factory):
    """What Chromium sees of every page on a phone, and of a page of each kind on a desktop too."""
    installed()
    jobs = [{"page": name, "width": PHONE, "scheme": "light", "check": name in KINDS} for name in found]
    jobs += [{"page": name, "width": 1280, "scheme": "dark", "check": True} for name in KINDS]
    jobs += [{"page": f"search.html?q={WORDS}", "width": PHONE, "scheme": "light", "check": False}]
    path = tmp_path_factory.mktemp("jobs") / "jobs.json"
    path.write_text(json.dumps(jobs))
    return list(zip(jobs, seen_by(HERE / "browse.js", site, path), strict=True))


@pytest.mark.long
def test_every_page_renders_fits_a_phone_and_has_no_barrier(browsed):
    wrong = {}
    for job, seen in browsed:
        said = [*seen["wrong"], *seen["asked"], *seen["barriers"], *seen["raw"]]
        if seen["width"] > job["width"]:
            said.append(f"{seen['width']} pixels wide: {seen['wide']}")
        if job["width"] == PHONE:
            said += [f"reaches out of the screen: {each}" for each in seen["hidden"]]
        elif narrow := set(seen["widest"]) - {"Meaning"}:
            said.append(f"wider than what is said: {narrow}")
        if said:
            wrong[f"{job['page']} at {job['width']}"] = said
    assert not wrong


@pytest.mark.long
def test_pages_show_the_numbers_of_the_library(site, browsed):
    shown = {job["page"]: seen["text"] for job, seen in browsed}
    model = next(model for model in every_model() if model.__name__ == "TrainingMemoryModel")
    found = model.asked().solve(**model.example)
    assert f"{found.total_memory.magnitude:.4g} GB" in shown["calculators/TrainingMemoryModel.html"]
    named = next(seen["named"] for job, seen in browsed if job["page"] == "calculators/ServingModel.html")
    assert named == ["../docs/serving.html"]
    assert "3.35 TB/s" in shown["catalog/Hardware.Cloud.html"]
    assert "Optimizer states" in shown[f"search.html?q={WORDS}"]
