"""Files of a project: the citation, the walks, the paper and the templates say what the repository holds."""

import re
import tomllib

import pytest
import yaml
from printed import ROOT

from mlsysim import ServingModel
from mlsysim.formulas import every_formula
from mlsysim.references import bibliography
from mlsysim.version import __version__

#: Keys of the Citation File Format 1.2.0.
CFF = {
    "abstract", "authors", "cff-version", "commit", "contact", "date-released", "doi", "identifiers", "keywords",
    "license", "license-url", "message", "preferred-citation", "references", "repository", "repository-artifact",
    "repository-code", "title", "type", "url", "version",
}  # fmt: skip
PATH = re.compile(r"`((?:mlsysim|tests|docs|formulas|notebooks)/[\w./-]*|[A-Z]\w+\.(?:md|cff))`")


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_citation_is_a_valid_one_of_this_version():
    cited = yaml.safe_load(text("CITATION.cff"))
    assert cited["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(cited) <= CFF
    assert str(cited["version"]) == __version__
    assert cited["license"] == tomllib.loads(text("pyproject.toml"))["project"]["license"]
    assert cited["authors"] == [{"name": author["name"]} for author in _project()["authors"]]
    assert f"version = {{{__version__}}}" in text("docs/citing.md")


def _project():
    return tomllib.loads(text("pyproject.toml"))["project"]


def test_an_archive_of_sources_holds_them():
    included = tomllib.loads(text("pyproject.toml"))["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert {path.name for pattern in ("*.md", "*.cff", "LICENSE") for path in ROOT.glob(pattern)} <= set(included)


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "SECURITY.md", "docs/releasing.md", "docs/citing.md"])
def test_files_that_are_named_exist(page):
    named = [name for name in PATH.findall(text(page)) if not re.search(r"NAME|MAKER|FAMILY|_answer", name)]
    assert not [name for name in named if not (ROOT / name).exists()]
    tests = re.findall(r"(?<=[ \n])tests/\S+\.py|(?<=[ \n])tests/\w+(?= |\n)", text(page))
    assert not [name for name in tests if not (ROOT / name).exists()]


@pytest.mark.parametrize(
    "template", sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")), ids=lambda path: path.stem
)
def test_a_template_of_issues_has_what_a_form_needs(template):
    form = yaml.safe_load(template.read_text(encoding="utf-8"))
    if template.stem == "config":
        return
    assert {"name", "description", "body"} <= set(form)
    ids = [field["id"] for field in form["body"]]
    assert len(set(ids)) == len(ids)
    assert {field["type"] for field in form["body"]} <= {"input", "textarea", "dropdown", "checkboxes", "markdown"}
    assert all(field["attributes"]["label"] for field in form["body"])


def test_the_paper_cites_works_of_the_bibliography():
    keys = set(re.findall(r"@(\w+)", text("docs/paper.md")))
    assert len(keys) > 10
    assert keys <= set(bibliography())


def test_numbers_of_the_paper_stand_on_the_pages_they_come_from():
    """Written anew by hand where ``make validation`` or ``make bench`` writes those pages."""
    paper = text("docs/paper.md")
    rows = re.findall(r"^\| \[.*\| ([\d,]+) \| (\S+) \| (\S+) \|$", paper, re.M)
    assert len(rows) == 8
    assert not [row for row in rows if f"| {' | '.join(row)} |" not in text("docs/validation.md")]
    times = paper.partition("On two cores")[2].partition("\n\n")[0]
    numbers = re.findall(r"[\d.]+ (?:ms|s|kB)\b|\d\.\de\+\d\d|\d+ designs", times)
    assert len(numbers) > 10
    assert not [number for number in numbers if number not in text("docs/benchmarks.md")]


@pytest.mark.parametrize("page", ["README.md", "docs/paper.md", "docs/serving.md"])
def test_equations_of_a_page_are_those_of_the_library(page):
    printed = {formula.latex() for _, formula in every_formula()}
    printed |= {formula.latex() for formula in ServingModel("colocated").system.printed}
    typed = re.findall(r"^\$\$\n(.*?)\n\$\$$", text(page), re.M | re.S)
    assert typed
    assert not [equation for equation in typed if equation not in printed]
