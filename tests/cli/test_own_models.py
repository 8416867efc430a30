"""A formula, a variant, a model, a command and a book page out of a file that is not of the package."""

import json
import re
from pathlib import Path

import pytest

FILE = Path(__file__).parents[1] / "models" / "own" / "two_tiers.py"
WITH = ("--with", str(FILE))
POINT = ("--file-bytes", "8 GB", "--cache-hit-share", "0.5", "--cache-bandwidth", "8", "--disk-bandwidth", "2")
GRID = ("file_bytes=8", "cache_hit_share=0:1:0.25", "cache_bandwidth=8", "disk_bandwidth=2")


def test_its_command_is_listed_with_its_question(run):
    listed = re.compile(r"^  read +How long does it take to read a file through a cache\?$", re.MULTILINE)
    assert listed.search(run(*WITH, "--help").stdout)
    assert not listed.search(run("--help").stdout)


def test_its_help_names_its_arguments_in_the_order_of_its_file(run):
    text = run(*WITH, "read", "--help").stdout
    options = [line.split()[0] for line in text.splitlines() if line.startswith("  --")]
    assert options[:4] == ["--cache-hit-share", "--file-bytes", "--cache-bandwidth", "--disk-bandwidth"]
    assert f"\n  mlsysim --with {FILE} read" in text


@pytest.mark.parametrize(
    "words", [(*WITH, "read", *POINT), ("read", *POINT, *WITH), ("read", *POINT, f"--with={FILE}")]
)
def test_it_answers_wherever_the_file_is_named(run, words):
    done = run(*words, "--json")
    assert done.exit_code == 0, done.output
    outputs = json.loads(done.stdout)["outputs"]
    assert outputs == {"read_time": {"value": 2.5, "unit": "s"}, "read_bandwidth": {"value": 3.2, "unit": "GB/s"}}


def test_its_variant_answers_and_explains(run):
    text = run(*WITH, "read", *POINT[:4], "--disk-bandwidth", "2", "--variant", "at_once", "--explain").stdout
    assert "T_r = F·(1 − h)/B_d\n" in text
    assert " = 2.00 s\n" in text


def test_sweep_search_and_pareto_take_it(run):
    rows = run("sweep", "read", *GRID, *WITH).stdout.splitlines()
    assert [line.split()[:2] for line in rows[5:10]] == [["0.000", "4.00"], ["0.250", "3.25"], ["0.500", "2.50"],
                                                        ["0.750", "1.75"], ["1.00", "1.00"]]  # fmt: skip
    best = run("search", "read", *GRID, "--minimize", "read_time", "--json", *WITH)
    assert json.loads(best.stdout)["designs"][0]["inputs"]["cache_hit_share"]["value"] == 1.0
    front = run("pareto", "read", *GRID, "--minimize", "read_time", "--minimize", "cache_hit_share * file_bytes", *WITH)
    assert front.exit_code == 0, front.output


def test_its_formulas_have_a_card(run):
    text = run("formula", "read_time", *WITH).stdout
    assert "read_time[in_turn]  One after the other" in text
    assert "read_time[at_once]  The cache behind the disk" in text
    assert run("formula", "read_time").exit_code == 2


@pytest.mark.long
def test_the_book_has_a_page_of_it_and_ours_are_as_before(run, tmp_path, book_pages, files_in):
    done = run("book", *WITH, "--out", str(tmp_path / "pages"))
    assert done.exit_code == 0, done.output
    written = files_in(tmp_path / "pages")
    ours = book_pages
    assert set(written) - set(ours) == {"two_tiers.md", "two_tiers.tex", "variants/two_tiers.md"}
    changed = {name for name in ours if written[name] != ours[name]}
    assert changed == {"README.md", "variants.md", "references.md", "references.bib", "index.json"}
    page = written["two_tiers.md"]
    for anchor in ("own", "example-org-caches-page-2", "williams2009"):
        assert f"[{anchor}](references.md#{anchor})" in page
        assert f"\n## {anchor}\n" in written["references.md"]
        assert f"{{{anchor},\n" in written["references.bib"]
        assert f"{{{anchor}}}" in written["two_tiers.tex"]
    assert "\n# Reading a file through a cache\n\nA file that a package outside" in page
    assert "T_r = F \\left(\\frac{h}{B_c} + \\frac{1 - h}{B_d}\\right)" in page
    assert "| How long does it take to read a file through a cache? | `mlsysim read` |" in written["README.md"]
    assert "### `read_time` of CachedReadModel" in written["variants.md"]
    assert run("book", *WITH, "--out", str(tmp_path / "pages"), "--check").exit_code == 0
    assert run("book", "--out", str(tmp_path / "pages"), "--check").exit_code == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--with", "nowhere.py", "memory", "--help"), "error: nowhere.py: there is no such file\n"),
        (("--help", "--with", "nowhere.models"), "error: nowhere.models: there is no such file and no such module\n"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line_and_code_2(run, words, said):
    done = run(*words)
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", said)


def test_a_name_without_its_file_is_unknown(run):
    done = run("sweep", "read", *GRID)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: unknown question 'read'")


def test_the_option_needs_a_value(run):
    done = run("memory", "--help", "--with")
    assert done.exit_code == 2
    assert "--with" in done.stderr


def test_a_grid_of_one_point_is_refused_in_the_words_of_the_model(run):
    done = run("sweep", "read", "file_bytes=8", "cache_hit_share=0.5", "cache_bandwidth=8", "disk_bandwidth=2", *WITH)
    assert done.exit_code == 2
    assert (
        "each has one value; give one of them several values, with commas between them; "
        "for one point there is mlsysim read" in done.stderr
    )
