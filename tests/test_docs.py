"""The README runs as typed, in Python and in a shell, and prints what it says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from format_tables import PAGE, written
from printed import FENCE, PAGES, PICTURE, PROSE, ROOT, commands, outputs
from typer.testing import CliRunner

from mlsysim import plot
from mlsysim.cli import app
from mlsysim.symbols import formats as vocabulary

LINK = re.compile(r"\]\(([^)\s]+)\)")
SAYS = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("notebooks/*.ipynb"), *ROOT.glob("mlsysim/**/*.py")]


@pytest.mark.parametrize("page", PAGES)
def test_page_prints_what_it_says(page):
    """``python tests/printed.py --write`` writes it."""
    for output in outputs((ROOT / page).read_text(encoding="utf-8"), page):
        assert not output.old


def test_the_gallery_shows_every_plot_in_five_lines():
    text = (ROOT / "docs/gallery.md").read_text(encoding="utf-8")
    assert {name for name in plot.__all__ if f"`plot.{name}`" not in text} == set()
    sections = text.split("\n## ")[1:]
    assert len(sections) == len({*plot.__all__} - {"themed"})
    for section in sections:
        (block,) = (block for kind, block in FENCE.findall(section) if kind == "python")
        lines = [line for line in block.splitlines() if line]
        assert len(lines) <= 5 + 1, section
        assert max(map(len, lines)) <= 88
        assert PICTURE.search(section) or "`plot.interactive`" in section


@pytest.mark.parametrize("page", PAGES)
def test_a_picture_has_a_dark_one_beside_it_and_loads_quickly(page):
    for name in PICTURE.findall((ROOT / page).read_text(encoding="utf-8")):
        light = (ROOT / page).parent / name
        for path in (light, light.with_stem(f"{light.stem}_dark")):
            assert 0 < path.stat().st_size <= 60_000


def test_every_figure_is_on_a_page():
    shown = {Path(name).stem for path in PROSE for name in PICTURE.findall(path.read_text(encoding="utf-8"))}
    assert {path.stem.removesuffix("_dark") for path in ROOT.glob("docs/figures/*")} == shown


def test_every_page_that_shows_an_output_is_run():
    """Listings of files alone are nobody's output."""
    showing = {path for path in PROSE if "\n```text\n" in path.read_text(encoding="utf-8")}
    assert {path.relative_to(ROOT).as_posix() for path in showing} - {*PAGES} == {"docs/design.md"}


COMMANDS = [
    *dict.fromkeys(
        command
        for path in PROSE
        for kind, block in FENCE.findall(path.read_text(encoding="utf-8"))
        if kind == "sh"
        for command in commands(block)
    )
]
#: What writes the certificates that other commands read.
WRITERS = {file: command for command in COMMANDS for file in re.findall(r"--certificate (\S+)", command)}


@pytest.mark.parametrize("command", COMMANDS)
def test_command_answers(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for file in re.findall(r"verify (\S+)", command):
        CliRunner().invoke(app, shlex.split(WRITERS[file])[1:], prog_name="mlsysim")
    answer = CliRunner().invoke(app, shlex.split(command.partition(" > ")[0])[1:], prog_name="mlsysim")
    assert answer.exit_code == 0, answer.output
    files = re.findall(r"--(?:plot|output|certificate) (\S+)", command)
    assert {path.name for path in tmp_path.iterdir()} >= set(files)


LINKING = {*PROSE, *ROOT.glob("*.md"), *ROOT.glob(".github/**/*.md")}


@pytest.mark.parametrize("page", sorted(path.relative_to(ROOT).as_posix() for path in LINKING))
def test_links_lead_somewhere(page):
    links = [link.partition("#")[0] for link in LINK.findall((ROOT / page).read_text(encoding="utf-8"))]
    files = [link for link in links if link and "://" not in link and not link.startswith("mailto:")]
    assert not [link for link in files if not ((ROOT / page).parent / link).exists()]


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/how_to/*.md")), ids=lambda path: path.stem)
def test_a_how_to_asks_a_question_says_when_it_comes_up_and_reads_its_output(page):
    title, when, *_ = page.read_text(encoding="utf-8").split("\n\n")
    assert title.startswith("# ")
    assert title.endswith("?")
    assert when.startswith("Use this when ")
    below = re.search(r"\n```text\n.*?\n```\n\n(.+)", page.read_text(encoding="utf-8"), re.S)
    assert below
    assert not below[1].startswith(("More:", "```"))


def test_the_design_names_every_room():
    """The listing of rooms is the package as it stands."""
    listing = (ROOT / "docs/design.md").read_text(encoding="utf-8").partition("```text")[2].partition("```")[0]
    named = {word for line in listing.splitlines()[2:] for word in re.findall(r"^  (\w+(?:/|\.py))", line)}
    stands = {f"{path.name}/" for path in (ROOT / "mlsysim").iterdir() if (path / "__init__.py").exists()}
    stands |= {path.name for path in (ROOT / "mlsysim").glob("*.py") if not path.name.startswith("__")}
    assert named == stands


def test_nobody_is_sent_to_the_other_package_of_that_name():
    """The mlsysim of PyPI is not ours: extras are installed from the folder."""
    assert SAYS
    assert not [str(path) for path in SAYS if re.search(r"""["' ]mlsysim\[""", path.read_text(encoding="utf-8"))]


def test_the_readme_says_how_its_commands_are_reached():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    install = text.partition("## Install\n")[2].partition("\n## ")[0]
    assert "source .venv/bin/activate" in install
    assert ".venv/bin/mlsysim" in install
    assert 'pip install "mlsysim @ git+<URL of the repository>"' in install
    assert len(text.splitlines()) <= 120
    assert '-e ".[fast,plot]"' in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_the_tables_of_formats_are_those_of_the_presets():
    """``python tests/format_tables.py`` writes them."""
    page = PAGE.read_text(encoding="utf-8")
    assert page == written(page)
    arguments = set(re.findall(r"`(\w+_dtype)`", page))
    assert arguments == {name for name in vocabulary.__dict__ if name.endswith("_dtype")}
