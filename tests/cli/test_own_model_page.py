"""The page on models of one's own does what it says, from its file to its commands."""

import contextlib
import sys
from pathlib import Path

import pytest
from printed import FENCE

PAGE = (Path(__file__).parents[2] / "docs" / "your_own_model.md").read_text(encoding="utf-8")
FILE = FENCE.findall(PAGE)[0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the file of the page, in which Python and the command line run."""
    place = tmp_path_factory.mktemp("own")
    (place / "speculative.py").write_text(FILE[1], encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch, contextlib.chdir(place):
        patch.syspath_prepend(place)
        yield place
    sys.modules.pop("speculative", None)


def test_the_file_is_about_twenty_lines():
    statements = [line for line in FILE[1].splitlines() if line.strip() and line.lstrip()[0] not in '#"']
    assert len(statements) <= 30


@pytest.mark.long
def test_its_command_writes_the_page_of_the_book(run, folder):
    assert "$ mlsysim book --with speculative.py --out pages\n```" in PAGE
    assert run("book", "--with", "speculative.py", "--out", "pages").exit_code == 0
    assert "## Tokens per step" in (folder / "pages" / "speculative.md").read_text(encoding="utf-8")


def test_what_the_page_says_its_command_has(run, folder):
    text = run("--with", "speculative.py", "speculate", "--help").stdout
    assert "How much faster is decoding with a draft model?" in text
    for option in ("--accepted-share", "--draft-tokens", "--draft-share", "--explain", "--json"):
        assert option in text


def test_no_rate_of_acceptance_gives_what_is_no_number(folder):
    from speculative import SpeculativeDecodingModel

    model = SpeculativeDecodingModel()
    slope = model.derivative("tokens_per_step", "accepted_share")
    for rate in (0.0, 1e-9, 0.5, 1 - 1e-9, 1.0):
        point = {"accepted_share": rate, "draft_tokens": 5, "draft_share": 0.05}
        terms = [rate**place for place in range(6)]
        assert model.solve(**point).tokens_per_step == pytest.approx(sum(terms), rel=1e-6)
        moved = [place * rate ** (place - 1) for place in range(1, 6)]
        if rate != 1 - 1e-9:  # the quotient loses its digits so near to 0/0
            assert float(slope.at(**point)) == pytest.approx(sum(moved), rel=1e-6)
