"""The README runs as typed, in Python and in a shell, and prints what it says."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest
from format_tables import PAGE, written
from typer.testing import CliRunner

from mlsysim.cli import app
from mlsysim.symbols import formats as vocabulary

ROOT = Path(__file__).parents[1]
PAGES = (
    "README.md",
    *(path.relative_to(ROOT).as_posix() for path in sorted(ROOT.glob("docs/how_to/*.md"))),
    "docs/tour.md",
    "docs/grids.md",
    "docs/catalog.md",
    "docs/expert_parallel.md",
    "docs/inverse.md",
    "docs/function.md",
    "docs/uncertainty.md",
    "docs/calibration.md",
    "docs/sensitivity.md",
)
FENCE = re.compile(r"^```(python|text)\n(.*?)^```$", re.M | re.S)
SHELL = re.compile(r"^```sh\n(.*?)^```$", re.M | re.S)
PROSE = [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]
LINK = re.compile(r"\]\(([^)\s]+)\)")
SAYS = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("notebooks/*.ipynb"), *ROOT.glob("mlsysim/**/*.py")]


def commands(page: str) -> list[str]:
    """Commands of mlsysim on a page, each on one line."""
    lines = "".join(SHELL.findall((ROOT / page).read_text(encoding="utf-8"))).replace("\\\n", " ").splitlines()
    return [line for line in lines if line.startswith("mlsysim ")]


def blocks(page: str) -> list[tuple[str, str]]:
    """Python blocks of a page, each with the output printed under it."""
    found = FENCE.findall((ROOT / page).read_text(encoding="utf-8"))
    pairs = []
    for place, (kind, body) in enumerate(found):
        if kind == "python":
            follows = found[place + 1] if place + 1 < len(found) else ("", "")
            pairs.append((body, follows[1] if follows[0] == "text" else ""))
    return pairs


@pytest.mark.parametrize("page", PAGES)
def test_page_prints_what_it_says(page):
    namespace: dict[str, object] = {}
    pairs = blocks(page)
    assert pairs
    for code, expected in pairs:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, page, "exec"), namespace)
        assert printed.getvalue() == expected


COMMANDS = [
    *dict.fromkeys(command for page in (*PAGES, "docs/command_line.md", "docs/search.md") for command in commands(page))
]
#: What writes the certificates that other commands read.
WRITERS = {file: command for command in COMMANDS for file in re.findall(r"--certificate (\S+)", command)}


@pytest.mark.parametrize("command", COMMANDS)
def test_command_answers(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for file in re.findall(r"verify (\S+)", command):
        CliRunner().invoke(app, shlex.split(WRITERS[file])[1:], prog_name="mlsysim")
    answer = CliRunner().invoke(app, shlex.split(command)[1:], prog_name="mlsysim")
    assert answer.exit_code == 0, answer.output
    files = re.findall(r"--(?:plot|output|certificate) (\S+)", command)
    assert {path.name for path in tmp_path.iterdir()} >= set(files)


@pytest.mark.parametrize("page", sorted(path.relative_to(ROOT).as_posix() for path in PROSE))
def test_links_lead_somewhere(page):
    links = [link.partition("#")[0] for link in LINK.findall((ROOT / page).read_text(encoding="utf-8"))]
    files = [link for link in links if link and "://" not in link and not link.startswith("mailto:")]
    assert not [link for link in files if not ((ROOT / page).parent / link).exists()]


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
    assert "source .venv/bin/activate" in text.partition("## One equation")[0]
    assert ".venv/bin/mlsysim" in text.partition("## One equation")[0]
    assert len(text.splitlines()) <= 150
    assert '-e ".[fast,plot]"' in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_the_tables_of_formats_are_those_of_the_presets():
    """``python tests/format_tables.py`` writes them."""
    page = PAGE.read_text(encoding="utf-8")
    assert page == written(page)
    arguments = set(re.findall(r"`(\w+_dtype)`", page))
    assert arguments == {name for name in vocabulary.__dict__ if name.endswith("_dtype")}
