"""The site as it is built: every warning an error, nothing asked of a network, every link leads somewhere."""

import json
import re
import shutil
import struct
import tomllib
from pathlib import Path

import pytest
import sphinx.search
from tex.renderers import node
from web.chromium import PHONE, installed, seen_by
from web.page_loads import KINDS
from website import accuracy, example, formulas, front, search
from website.head import LONGEST
from website.knowledge import Knowledge
from website.markup import with_html
from website.sources import in_themes, with_titles
from website.walk import broken, of_markdown, pages, read

from mlsysim.catalog import builtin
from mlsysim.formulas import every_formula
from mlsysim.models import every_model

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
#: What is searched for in a browser.
WORDS = "optimizer+states"
#: What people type, and the pages they mean.
QUERIES = tomllib.loads((HERE / "queries.toml").read_text(encoding="utf-8"))["queries"]
#: Results that people read, and bytes of an index that a page may load.
FIRST, HEAVY = 3, 3e6


@pytest.mark.long
def test_every_link_leads_somewhere_and_nothing_is_loaded_from_elsewhere(site, found):
    assert broken(site, found) == []
    assert of_markdown(found) == []
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
    assert {"notebooks/tutorial.html", "CHANGELOG.html", "docs/citing.html"} <= set(found)


def asked(site, queries, folder, count=FIRST):
    """What the search finds for queries, and milliseconds it takes to open and to answer."""
    path = folder / "queries.json"
    path.write_text(json.dumps(queries))
    done = node("node", str(HERE / "find.js"), str(site), str(path), str(count))
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def answers(site, tmp_path_factory):
    """What the search of the site finds for each of the forty queries, by its words."""
    words = [each["query"] for each in QUERIES]
    found = asked(site, words, tmp_path_factory.mktemp("queries"))["answers"]
    return dict(zip(words, (each["found"] for each in found), strict=True))


@pytest.mark.long
@pytest.mark.parametrize("wanted", QUERIES, ids=lambda wanted: wanted["query"])
def test_the_right_page_is_among_the_first_three_results(answers, wanted):
    found = [each["path"].removesuffix(".html") for each in answers[wanted["query"]]]
    assert set(found) & set(wanted["pages"]), found


def test_there_are_forty_queries():
    assert len(QUERIES) == len({each["query"] for each in QUERIES}) == 40


@pytest.mark.long
@pytest.mark.parametrize(
    ("query", "page", "anchor"),
    [
        ("H100", "catalog/Hardware.Cloud.html", "h100"),
        ("Hardware.Cloud.H100", "catalog/Hardware.Cloud.html", "h100"),
        ("Llama3_8B", "catalog/Models.Language.html", "llama-3-8b"),
        ("decode_step_time", "formulas/continuous_batching.html", ""),
    ],
)
def test_an_entry_or_a_name_leads_to_its_section(site, tmp_path, query, page, anchor):
    (answer,) = asked(site, [query], tmp_path)["answers"]
    assert page in [each["path"] for each in answer["found"]]
    best = next(each for each in answer["found"] if each["path"] == page)
    assert anchor in best["anchor"]


@pytest.mark.long
def test_the_index_is_light_and_nothing_else_is_loaded(site, found):
    assert (site / "_static" / "search-index.js").stat().st_size < HEAVY
    assert not (site / "searchindex.js").exists()
    assert "_static/search-index.js" in found["search.html"].asked
    assert not any("search-index" in address for address in found["index.html"].asked)


@pytest.mark.long
def test_every_page_says_what_it_is_and_shows_a_picture_where_it_is_shared(site, found):
    for name in found:
        head = (site / name).read_text(encoding="utf-8").partition("</head>")[0]
        assert "favicon.svg" in head
        if name in ("search.html", "genindex.html"):
            continue
        about = re.findall(r'<meta name="description" content="([^"]+)">', head)
        assert len(about) == 1, name
        assert 0 < len(about[0]) <= 2 * LONGEST
        assert re.search(r'<meta property="og:image" content="[./]*_static/preview\.png">', head), name
    size = struct.unpack(">II", (site / "_static" / "preview.png").read_bytes()[16:24])
    assert size == (example.WIDTH, example.HEIGHT)


@pytest.mark.long
def test_the_first_page_begins_with_an_equation_its_number_its_picture_and_how_to_install(site):
    page = (site / "index.html").read_text(encoding="utf-8")
    places = [page.index(each) for each in (
        r"T_{\mathrm{step}} = ", "= 19.53 ms", "decode_step.png", "git+&lt;URL of the repository&gt;",
        'href="notebooks/tutorial.html"><span', 'href="calculators/ServingModel.html"',
    ) if each in page]  # fmt: skip
    assert len(places) == 6
    assert places[:4] == sorted(places[:4])


def tiny(folder, **texts):
    """The search of a site of a few pages."""
    static = folder / "_static"
    static.mkdir()
    for name, text in texts.items():
        (folder / f"{name}.html").write_text(f"<body><nav>menu</nav><article>{text}</article></body>")
    for stemmer in ("base", "english"):
        shutil.copy(Path(sphinx.search.__file__).parent / "minified-js" / f"{stemmer}-stemmer.js", static)
    for script in ("minisearch/minisearch.js", "static/search.js"):
        shutil.copy(ROOT / "docs" / "website" / script, static)
    return search.write(folder)


def test_titles_come_before_text_and_synonyms_are_found(tmp_path):
    tiny(
        tmp_path,
        a="<section id='roof'><h1>Rooflines</h1><p>A kernel below two ceilings.</p></section>",
        b="<section id='text'><h1>Kernels</h1><p>Rooflines are elsewhere, and rooflines again.</p></section>",
        c="<section id='first'><h1>Latency</h1><p>Words.</p><section id='mean'><h2>Time to first token</h2><p>Mean"
        " <span class='math'>T_{hidden}</span></p></section></section>",
        d="<section id='x'><h1>Names</h1><dl><dt id='mlsysim.Model.solve_for'>solve_for(x)</dt><dd>Inverse</dd></dl>",
    )
    queries = ["roofline", "TTFT", "solve_for", "solv", "hidden menu", "of the", ""]
    found = [each["found"] for each in asked(tmp_path, queries, tmp_path)["answers"]]
    assert [each["path"] for each in found[0]] == ["a.html", "b.html"]
    assert [(each["path"], each["anchor"]) for each in found[1]] == [("c.html", "mean")]
    assert [(each["path"], each["anchor"]) for each in found[2]] == [("d.html", "mlsysim.Model.solve_for")]
    assert [each["path"] for each in found[3]] == ["d.html"]
    assert found[4:] == [[], [], []]


def test_a_phrase_stands_in_one_group_of_synonyms_once():
    groups = search.synonyms()
    for group in groups:
        assert len(group) > 1
        assert len({phrase.lower() for phrase in group}) == len(group), group


def test_a_section_of_the_readme_is_on_the_first_page():
    assert example.section("One equation").startswith("How long does a decode step take")
    assert "git+<URL of the repository>" in example.section("Install")
    assert set(re.findall(r"\$(\w+)", front.FRONT.template)) == {"example", "install", "questions", "try_it"}


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


def test_a_link_shows_the_title_of_its_page():
    found = with_titles({
        "docs/a.md": "# Of A\n", "docs/serving.md": "# A long question?\n", "docs/x.png": b"[a.md](a.md)",
        "formulas/b.md": "See [docs/a.md](../docs/a.md#why), [`serving.md`](../docs/serving.md), [c.md](c.md), `d.md`.",
    })  # fmt: skip
    assert found["formulas/b.md"] == (
        "See [Of A](../docs/a.md#why), [Serving deployments](../docs/serving.md), [c.md](c.md), `d.md`."
    )
    assert found["docs/x.png"] == b"[a.md](a.md)"


def test_a_page_shows_a_figure_in_the_theme_of_the_reader_and_links_plots_to_their_reference():
    page = in_themes("docs/how_to/a.md", "![A curve](../figures/a.png)\n\n`plot.lines`, `plot.lines(a)`")
    assert page == (
        "![A curve](../figures/a.png){.only-light} ![A curve](../figures/a_dark.png){.only-dark}\n\n"
        "{py:func}`plot.lines <mlsysim.plot.lines>`, `plot.lines(a)`"
    )
    assert in_themes("docs/figures/a.png", b"`plot.lines`") == b"`plot.lines`"


def test_a_link_that_names_a_file_of_markdown_is_found(tmp_path):
    page = tmp_path / "a.html"
    page.write_text(
        '<a href="b.html">b</a> <a href="c.md">c</a> <a href="d.html"><code>docs/d.md</code></a> README.md '
        '<a href="https://example.org/e.md">e.md</a>'
    )
    assert [link for _, link in of_markdown(pages(tmp_path))] == [
        '<a href="c.md">c</a>',
        '<a href="d.html"><code>docs/d.md</code></a>',
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
    for width, scheme in ((PHONE, "light"), (1280, "dark")):
        jobs += [{"page": f"search.html?q={WORDS}", "width": width, "scheme": scheme, "check": True}]
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
    assert "Optimizer states" in shown[f"search.html?q={WORDS}"].partition("›")[0]
    assert "pages for “optimizer states”" in shown[f"search.html?q={WORDS}"]
