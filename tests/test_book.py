"""The formula book: complete, deterministic, readable by every Markdown processor, and up to date."""

import errno
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from fuzz import rest_long, sampled
from markdown_it import MarkdownIt

from mlsysim import book
from mlsysim.book.contents import read_book
from mlsysim.book.markdown import math, prose, topic_page
from mlsysim.book.tex import equations
from mlsysim.errors import InputError, StoreError
from mlsysim.formulas import TOPICS, every_formula, topic
from mlsysim.references import bibliography
from mlsysim.symbolic import family_of, variable_of
from mlsysim.symbolic.indexed import ByMember
from mlsysim.units import factor

COMMITTED = Path(__file__).parent.parent / "formulas"
FORMULAS = [formula for _, formula in every_formula()]
#: Formulas that are a table over the members of an index, which a page prints as one.
TABLES = [formula for formula in FORMULAS if isinstance(formula.expression, ByMember)]


pytestmark = pytest.mark.usefixtures("printed_book")


@pytest.fixture(scope="session")
def pages(book_pages):
    return book_pages


@pytest.fixture(scope="module")
def index(pages):
    return json.loads(pages["index.json"])


@pytest.fixture
def written(tmp_path):
    book.write(tmp_path)
    return tmp_path


def section(page, formula):
    """The part of a page under the heading of a formula."""
    title = formula.title + (rf" \[{formula.variant}\]" if formula.variant else "")
    parts = page.split(f"\n## {title}\n")
    assert len(parts) == 2, title
    return parts[1].partition("\n## ")[0]


def headings(page):
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)|\\(.)", r"\1\2", h) for h in re.findall(r"^#+ (.*)$", page, re.MULTILINE)]
    return [re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in plain]


@pytest.mark.long
def test_the_committed_folder_is_up_to_date():
    assert book.check(COMMITTED) == [], "run `mlsysim book`"


def test_committed_pages_are_up_to_date(pages):
    """A few topics in a quick run, which takes all other pages as they are committed."""
    whole = read_book()
    for each in sampled(whole.topics, lambda each: each.name, one_in=16):
        assert pages[f"{each.name}.md"].endswith(topic_page(whole, each)), "run `mlsysim book`"
        assert pages[f"{each.name}.tex"].endswith(equations(each)), "run `mlsysim book`"


def test_files(pages):
    expected = {"README.md", "variants.md", "references.md", "references.bib", "index.json"}
    expected |= {f"{name}{suffix}" for name in TOPICS for suffix in (".md", ".tex")}
    assert {name for name in pages if not name.startswith("variants/")} == expected
    assert "variants/training_memory.md" in pages
    for content in pages.values():
        assert book.MARK in content[:200]
        assert content.endswith("\n")
        assert not content.endswith("\n\n")


def test_write_returns_the_files_and_check_agrees(tmp_path, pages, files_in):
    folder = tmp_path / "new" / "formulas"
    assert book.check(folder) == sorted(pages)
    assert book.write(folder) == [folder / name for name in pages]
    assert book.check(folder) == []
    assert files_in(folder) == pages


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda folder: (folder / "queueing.md").write_text("stale"), "queueing.md"),
        (lambda folder: (folder / "index.json").write_bytes(b"\xff\xfe"), "index.json"),
        (lambda folder: (folder / "collectives.tex").unlink(), "collectives.tex"),
        (lambda folder: (folder / "queueing.md").rename(folder / "old.md") and None, "old.md"),
        (lambda folder: (folder / "queueing.md").rename(folder / "variants" / "old.md") and None, "variants/old.md"),
    ],
    ids=["changed", "not text", "missing", "extra", "extra below"],
)
def test_check_finds_a_file_that_differs(written, change, name):
    change(written)
    assert name in book.check(written)


def test_write_removes_its_own_old_files_and_no_others(written):
    (written / "queueing.md").rename(written / "old_topic.md")
    (written / "notes.md").write_text("mine")
    (written / "data").mkdir()
    book.write(written)
    assert not (written / "old_topic.md").exists()
    assert (written / "notes.md").read_text() == "mine"
    assert (written / "data").is_dir()
    assert book.check(written) == []


def test_what_could_not_be_written_whole_does_not_stop_the_next_call(tmp_path, pages, monkeypatch):
    """A file cut off on a full disk would not say that it is of a book."""

    def full(path, text, **_):
        with open(path, "w") as file:
            file.write(text[:1])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_text", full)
        with pytest.raises(StoreError, match="No space left on device; the same call begins again"):
            book.write(tmp_path)
    assert not list(tmp_path.iterdir())
    assert len(book.write(tmp_path)) == len(pages)


def test_write_never_replaces_a_file_of_another_origin(tmp_path):
    (tmp_path / "README.md").write_text("# My project\n")
    with pytest.raises(InputError, match=r"holds a README\.md of another origin; choose another folder"):
        book.write(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]


@pytest.mark.parametrize("verb", [book.write, book.check])
def test_a_file_is_no_folder(tmp_path, verb):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"directory=.*must be a folder"):
        verb(tmp_path / "file")


SEEDS = [
    ("4242", ["mlsysim.symbolic.printing", "mlsysim.formulas.queueing"]),
    ("0", ["mlsysim.symbols.routing", "mlsysim.symbols.serving"]),
    ("1", ["mlsysim.formulas.moe_routing", "mlsysim.symbols.workload"]),
]


@pytest.mark.long
@pytest.mark.parametrize(("seed", "first"), rest_long(SEEDS, quick=1))
def test_the_same_bytes_in_every_process_and_no_jax(pages, seed, first):
    script = (
        "import hashlib, importlib, json, sys\n"
        f"for name in {first}: importlib.import_module(name)\n"
        "from mlsysim import book\n"
        "text = json.dumps(book.pages(), sort_keys=True)\n"
        "heavy = {'jax', 'xarray', 'matplotlib'} & set(sys.modules)\n"
        "print(hashlib.sha256(text.encode()).hexdigest(), sorted(heavy))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    expected = hashlib.sha256(json.dumps(pages, sort_keys=True).encode()).hexdigest()
    assert done.stdout.split(maxsplit=1) == [expected, "[]\n"]


def test_importing_the_book_costs_no_sympy():
    script = "import sys, mlsysim.book; sys.exit('sympy' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize("name", TOPICS)
def test_a_page_has_each_of_its_formulas_with_all_it_says(pages, name):
    page, tex = pages[f"{name}.md"], pages[f"{name}.tex"]
    assert page.split("\n")[2] == f"# {(topic(name).__doc__ or '').splitlines()[0]}"
    for formula in topic(name).FORMULAS:
        text = section(page, formula)
        assert (f"$$\n{math(formula.latex())}\n$$" in text) == (formula not in TABLES)
        assert f"`{formula.name}`" in text
        assert f"**Source:** [{formula.source.key}](references.md#{formula.source.key})" in text
        assert ("**Example:**" in text) == (formula.example is not None)
        assert ("**No example:**" in text) == bool(formula.no_example)
        assert ("**Assumes:**" in text) == bool(formula.assumes)
        assert ("**Convention:**" in text) == bool(formula.convention)
        assert ("**Constants:**" in text) == bool(formula.constants())
        assert tex.count(rf"\label{{eq:mlsysim:{formula.id}}}") == 1


def test_every_formula_stands_on_one_page(pages):
    labels = [label for name in TOPICS for label in re.findall(r"\\label\{eq:mlsysim:(.*)\}", pages[f"{name}.tex"])]
    assert sorted(labels) == sorted(formula.id for formula in FORMULAS)
    assert len(set(labels)) == len(labels)
    shown = [name for name in TOPICS for line in pages[f"{name}.md"].splitlines() if line == "$$"]
    assert len(shown) == 2 * (len(FORMULAS) - len(TABLES))


def test_the_overview_links_every_formula(pages):
    rows = [line for line in pages["README.md"].splitlines() if line.startswith("| [")]
    assert len(rows) == len(FORMULAS)


@pytest.mark.parametrize("name", TOPICS)
def test_the_symbol_table_explains_every_symbol_once(pages, name):
    table = pages[f"{name}.md"].partition("\n## Symbols\n")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.strip().splitlines()[2:]]
    assert all(len(row) == 6 for row in rows)
    needed = {v.name for formula in topic(name).FORMULAS for v in (formula.variable, *formula.inputs)}
    assert sorted(row[1] for row in rows) == sorted(f"`{name}`" for name in needed)
    symbols = [row[0] for row in rows]
    assert len(set(symbols)) == len(symbols), "one symbol with two meanings on a page"
    defined = {part.name for formula in FORMULAS for part in (formula, *formula.members)}
    here = {part.name for formula in topic(name).FORMULAS for part in (formula, *formula.members)}
    for _, code, *_, given_by in rows:
        variable = code.strip("`")
        assert given_by.startswith("[this page](#") == (variable in here)
        assert (given_by == "input") == (variable not in defined and family_of(variable) is None)


def test_a_page_names_the_members_of_its_families_once(pages):
    page = pages["rank_groups.md"]
    table = page.partition("\n## By group\n")[2]
    assert table.splitlines()[1].startswith(
        r"| $j$ | group | $n_j$ | $\delta_j$ | $\nu_j$ | $\beta_{\mathrm{near},j}$ |"
    )
    row = next(line for line in table.splitlines() if line.startswith(r"| $\mathrm{edp}$ | expert-data-parallel |"))
    assert "| `edp_ranks` | `edp_stride` | `edp_ranks_per_node` | `edp_link_bandwidth` |" in row
    ep = next(line for line in table.splitlines() if line.startswith(r"| $\mathrm{ep}$ |"))
    assert ep.endswith("| `ep_ranks_per_node`" + 4 * " | –" + 9 * " | –" + " |")
    assert "## By group" not in pages["collectives.md"]


def test_what_an_equation_calls_leads_to_its_formula(pages):
    text = pages["post_training.md"].partition("\n## Optimizer step on packed samples\n")[2].partition("\n## ")[0]
    assert "- **Calls:** $T$ [`step_time`](step_time.md#" in text
    assert "**Constants:**" not in text


def test_forms_stand_side_by_side_once_with_the_models_that_have_them(pages):
    index, page = pages["variants.md"], pages["variants/training_memory.md"]
    assert "### `weights` of TrainingMemoryModel" in index
    assert "- [their equations side by side](variants/training_memory.md#weights)" in index
    assert "$$" not in index
    assert page.count("\n## `weights`\n") == 1
    forms = re.findall(r"^\[.*\]\((\.\./\S+)\)$", page, re.MULTILINE)
    assert len(set(forms)) == len(forms)
    assert "- TrainingMemoryModel: `first_order`" in page


def test_an_indexed_equation_stands_once_and_a_table_is_a_table(pages):
    page = pages["rank_groups.md"]
    assert page.count(r"t_{\mathrm{ag},j} &= ") == 1
    assert "| $\\mathrm{edp}$ | expert-data-parallel | $e n_{\\mathrm{etp}}$ | `edp_stride` |" in page
    assert r"\delta_j =" not in page
    assert "Gives `group_stride`, [by group](#by-group)." in page
    assert r"- **Example:** for $\mathrm{edp}$, $n_{\mathrm{etp}}$ = 8, $e$ = 4 gives 32; derived: `8 * 4`" in page


def test_the_index_has_the_members_of_a_family(index):
    entry = index["formulas"]["group_gather_time"]
    assert entry["members"] == {m: f"{m}_gather_time" for m in ("tp", "cp", "dp", "etp", "edp")}
    assert entry["inputs"] == [
        "collective_latency", "group_bandwidth", "group_chunk_latency", "group_latency", "group_message_bytes",
        "group_ranks",
    ]  # fmt: skip
    assert {*entry["members"].values(), "zero_ranks", "group_ranks"} <= set(index["variables"])
    assert index["formulas"]["weight_gather_time"]["members"] == {}
    assert index["formulas"]["group_stride"]["example"]["member"] == "edp"


def test_every_link_leads_somewhere(pages):
    anchors = {name: headings(content) for name, content in pages.items() if name.endswith(".md")}
    for name, found in anchors.items():
        assert len(set(found)) == len(found), f"two headings of {name} share an anchor"
        for target in re.findall(r"\]\(([^)\s]+)\)", pages[name]):
            file, _, anchor = target.partition("#")
            path = os.path.normpath(Path(name).parent / file) if file else name
            if path.startswith("../"):
                assert (COMMITTED / path).is_file(), target
                continue
            assert path in pages, target
            assert not anchor or anchor in anchors[path], target


def test_markdown_leaves_the_mathematics_alone(pages):
    """GitHub looks for mathematics after Markdown has run: nothing in it may mean anything to Markdown."""
    reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    for name, content in sampled(pages.items(), lambda page: page[0]):
        if name.endswith(".md"):
            blocks = [token for token in reader.parse(content) if token.type == "inline"]
            read = "\n".join("".join("\n" if c.type == "softbreak" else c.content for c in b.children) for b in blocks)
            written = re.findall(r"\$\$\n.*\n\$\$|\$[^$\n]+\$", content)
            assert re.findall(r"\$\$\n.*\n\$\$|\$[^$\n]+\$", read) == written, name


@pytest.mark.parametrize(
    ("source", "safe"),
    [
        (r"\begin{cases} 1 \\ 0 \end{cases}", r"\begin{cases} 1 \cr 0 \end{cases}"),
        (r"\min\left\{n : n\right\}", r"\min\left\lbrace n : n\right\rbrace"),
        (r"\text{a}\_\text{b}", r"\text{a}\underline{\enspace}\text{b}"),
        (r"34 \,\mathrm{byte}", r"34 \thinspace\mathrm{byte}"),
        (r"T^{*} a*b", r"T^{\ast} a\ast b"),
        (r"\mathbb{N}_{\ge 1}", r"\mathbb{N} _ {\ge 1}"),
        (r"a<b", "a < b"),
        (r"P_{\mathrm{r}},\ c_v^{2}", r"P_{\mathrm{r}},\ c_v^{2}"),
    ],
)
def test_spelling_of_mathematics_in_markdown(source, safe):
    assert math(source) == safe


@pytest.mark.parametrize(
    ("formula", "latex"),
    [
        ("parameters_per_rank[first_order]", r"P_{\mathrm{r}} = \frac{P}{t p e}"),
        ("local_micro_batch", r"m = \left\lceil{\frac{b}{d g}}\right\rceil"),
        ("total_memory[first_order]", "M = W + G + O + A + C"),
        ("padded_seq_len", r"\hat{s} = s_{\mathrm{page}} \left\lceil{\frac{s}{s_{\mathrm{page}}}}\right\rceil"),
        ("prefill_flops[first_order]", r"\Phi_{\mathrm{pre}} = B_{\mathrm{a}} \left(2 P s + 4 L h s^{2}\right)"),
        ("qps_capacity", r"\lambda_{\max} = \mu c"),
        ("effective_active_experts[first_order]", r"k_{\mathrm{eff}} = \min\left(E, k \gamma\right)"),
    ],
)
def test_equations_as_printed(pages, index, formula, latex):
    entry = index["formulas"][formula]
    assert entry["latex"] == latex
    assert f"$$\n{latex}\n$$" in pages[f"{entry['topic']}.md"]


def test_the_index_is_complete_and_sorted(pages, index):
    assert index["about"] == book.MARK
    assert list(index["formulas"]) == sorted(formula.id for formula in FORMULAS)
    assert json.dumps(index, ensure_ascii=False, indent=1, sort_keys=True) + "\n" == pages["index.json"]
    for name, formula in every_formula():
        entry = index["formulas"][formula.id]
        assert entry["topic"] == name
        assert entry["text"] == formula.text()
        assert entry["unit"] == index["variables"][formula.name]["unit"] == formula.variable.unit
        assert entry["inputs"] == [variable.name for variable in formula.inputs]
        assert set(entry["inputs"]) <= set(index["variables"])
        assert entry["source"]["key"] in index["references"]
        assert (entry["example"] is None) == bool(entry["no_example"])


def with_example():
    return [pytest.param(formula, id=formula.id) for formula in FORMULAS if formula.example]


@pytest.mark.parametrize("formula", with_example())
def test_an_example_line_agrees_with_its_source(pages, index, formula):
    entry = index["formulas"][formula.id]
    example = entry["example"]
    assert example["printed"] == formula.example.result
    assert example["inputs"] == {symbol.name: value for symbol, value in formula.example.inputs.items()}
    line = next(x for x in section(pages[f"{entry['topic']}.md"], formula).splitlines() if "**Example:**" in x)
    result = example["printed"].replace("^2", "²").replace("^3", "³")
    origin = f"printed **{result}** in [{example['source'].get('key')}]"
    if example["derived"]:
        origin = f"derived: `{example['derived']}` = **{result}**"
    assert f"gives {example['computed']}; {origin}" in line
    for symbol in formula.example.inputs:
        assert f"${math(variable_of(symbol).latex)}$ = " in line
    if formula.variable.domain.kind in ("choice", "boolean"):
        assert example["computed"] == example["printed"]
    else:
        number, _, unit = example["computed"].partition(" ")
        printed, half = formula.example.value()
        assert float(number) * factor(unit) == pytest.approx(printed, abs=1.1 * half)


def test_large_numbers_and_units_are_readable(pages):
    assert "$P$ = 8.03e9, $q$ = 2 byte gives 16.060 GB; printed **16.06 GB**" in pages["serving_capacity.md"]
    assert "2 FLOP/token, 4 FLOP/token²" in pages["serving_capacity.md"]


def test_every_citation_is_in_the_bibliography_and_no_other_work(pages):
    entries = re.findall(r"^@(\w+)\{(\w+),$", pages["references.bib"], re.MULTILINE)
    keys = [key for _, key in entries]
    assert keys == sorted(keys)
    linked = set(re.findall(r"references\.md#(\w+)", "".join(pages[f"{name}.md"] for name in TOPICS)))
    in_papers = set(re.findall(r"\\cite(?:\[\{.*?\}\])?\{(\w+)\}", "".join(pages[f"{name}.tex"] for name in TOPICS)))
    assert in_papers <= linked == set(keys)
    assert re.findall(r"^## (\w+)$", pages["references.md"], re.MULTILINE) == keys


def test_the_bibliography_parses(pages):
    text = pages["references.bib"]
    entries = re.findall(r"^@(\w+)\{(\w+),\n(.*?)^\}$", text, re.MULTILINE | re.DOTALL)
    assert len(entries) == text.count("\n@")
    for kind, key, body in entries:
        fields = dict(re.findall(r"^  (\w+) = \{(.*)\},$", body, re.MULTILINE))
        assert len(fields) == body.count("\n")
        assert kind == bibliography()[key].kind
        assert {"author", "title", "year"} - ({"year"} if key == "own" else set()) <= set(fields)
        for name, value in fields.items():
            assert value.count("{") == value.count("}")
            assert name in ("url", "doi") or not re.search(r"(?<!\\)[&%#$]", value), f"{key}: {name} is not escaped"


@pytest.mark.parametrize("name", TOPICS)
def test_the_equations_for_papers_are_well_formed(pages, name):
    text = pages[f"{name}.tex"]
    for opening, closing in (("{equation}", "{equation}"), ("{cases}", "{cases}"), ("{aligned}", "{aligned}")):
        assert text.count(rf"\begin{opening}") == text.count(rf"\end{closing}")
    assert text.count(r"\left") == text.count(r"\right")
    unescaped = re.sub(r"\\[{}]", "", text)
    assert unescaped.count("{") == unescaped.count("}")
    assert (r"\mathbb" in text) == (r"\providecommand{\mathbb}" in text)
    assert not re.search(r"\\noindent .*(?<!\\)[%&#]", text)


def test_pages_that_a_text_names_are_links():
    assert prose("Near (docs/a_b.md).") == "Near ([docs/a_b.md](../docs/a_b.md))."
    for text in ("``docs/a.md``", "https://example.org/docs/a.md", "docs/a.toml"):
        assert "](" not in prose(text)


def test_functions_of_a_page_have_no_raw_roles(book_pages):
    listed = [page for name, page in book_pages.items() if name.endswith(".md") and "## Functions" in page]
    assert listed
    assert any(r"$\Phi(x)$" in page for page in listed)
    assert not [page for page in listed if re.search(r":\w+:.?`", page)]
