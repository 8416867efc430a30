"""The first minute: what ``make demo`` prints and writes."""

import re

import matplotlib.figure
import pytest

from mlsysim.cli import demo


@pytest.fixture(scope="module")
def shown(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("COLUMNS", "80")
        done = run("demo")
    assert done.exit_code == 0, done.output
    return done.stdout, folder


def test_it_fits_a_screen_or_two(shown):
    lines = shown[0].splitlines()
    assert len(lines) <= 60
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("table", ["memory", "serving", "routing"])
def test_the_tables_of_the_tutorial_stand_there_verbatim(shown, printed_in_the_tutorial, table):
    assert f"\n{printed_in_the_tutorial[table]}" in shown[0]


def test_a_formula_stands_there_with_its_numbers(shown):
    assert "  G = q·f·P_r/{d if Z ≥ 2; 1 otherwise}\n    = 2.00 B·1.00·8.03e9/8\n    = 2.01 GB\n" in shown[0]


def test_a_search_stands_there_with_its_proof(shown):
    said = " ".join(shown[0].split())
    assert re.search(r"of 3\.6e\+10 layouts 22 of hardware NVIDIA H200 .* Proven best of the 3\.6e\+10 accepted", said)


def test_a_figure_is_written(shown):
    assert "Written: mlsysim_demo.png" in shown[0]
    assert (shown[1] / "mlsysim_demo.png").read_bytes().startswith(b"\x89PNG")


def test_a_figure_of_ones_own_stays(shown, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    own, second = tmp_path / "mlsysim_demo.png", tmp_path / "mlsysim_demo_2.png"
    assert demo._free_place().name == own.name
    own.write_bytes((shown[1] / own.name).read_bytes())
    assert demo._free_place().name == own.name
    mine = matplotlib.figure.Figure()
    mine.savefig(own)
    kept = own.read_bytes()
    demo._figure()
    said = " ".join(capsys.readouterr().out.split())
    assert "Written: mlsysim_demo_2.png; mlsysim_demo.png was not written by this command and stays" in said
    assert own.read_bytes() == kept
    assert demo._is_ours(second)
    assert demo._free_place().name == second.name


@pytest.mark.long(quick=1)
@pytest.mark.parametrize("place", range(4))
def test_what_to_type_next_answers(shown, run, place):
    commands = re.findall(r"^mlsysim .*?(?:  |$)", shown[0].partition("What to type next")[2], re.M)
    assert len(commands) == 4
    assert run(*commands[place].split()[1:]).exit_code == 0
