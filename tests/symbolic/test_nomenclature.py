"""A nomenclature has each symbol of the formulas once, with its unit, and renders."""

import re

import pytest
from typer.testing import CliRunner

from mlsysim import IterationModel, TrainingMemoryModel
from mlsysim.cli import app
from mlsysim.errors import UnknownNameError
from mlsysim.models import registry
from mlsysim.symbolic import variable_of
from mlsysim.symbolic.printing.nomenclature import unit_latex

FIRST = TrainingMemoryModel("first_order")
EVERY = [(listed.load(), variant) for models in registry.Registry().commands.values() for listed in models[:1]
         for variant in listed.load().variants]  # fmt: skip


def rows(latex):
    """Cells of each row of a table."""
    lines = [line.removesuffix(r"\\") for line in latex.splitlines() if line.startswith("$")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)&", line)] for line in lines]


def test_of_an_output():
    text = FIRST.nomenclature("gradients")
    assert text.startswith("% Needs longtable.\n\\begin{longtable}{lp{0.6\\linewidth}l}\n")
    assert text.endswith("\\end{longtable}")
    table = {symbol: tuple(rest) for symbol, *rest in rows(text)}
    assert table["$G$"] == ("Gradients held by one rank", r"$\mathrm{GB}$")
    assert table["$q$"][1] == r"$\mathrm{byte}$"
    assert set(table) == {f"${v.latex}$" for f in FIRST.system.closure(("gradients",)) for v in (f.variable, *f.inputs)}
    assert next(iter(table)) == "$d$"


@pytest.mark.parametrize(("kind", "variant"), EVERY)
def test_symbols_are_distinct(kind, variant):
    shown = [row[0] for row in rows(kind(variant).nomenclature())]
    assert len(shown) == len({*shown}) > 5


def test_an_indexed_formula_is_one_row():
    names = {variable.name for variable in IterationModel().symbols("iteration_time")}
    assert "group_latency" in names
    assert variable_of("group_latency").latex in IterationModel().nomenclature("iteration_time")


@pytest.mark.parametrize(
    ("unit", "latex"),
    [
        ("", ""),
        ("count", ""),
        ("GB/s", r"\mathrm{GB}/\mathrm{s}"),
        ("1/day", r"1/\mathrm{day}"),
        ("FLOP/token^2", r"\mathrm{FLOP}/\mathrm{token}^2"),
        ("token**2", r"\mathrm{token}^2"),
        ("token*ms", r"\mathrm{token}\,\mathrm{ms}"),
        ("µs/token", r"\mathrm{\mu s}/\mathrm{token}"),
    ],
)
def test_units(unit, latex):
    assert unit_latex(unit) == latex


def test_unknown_output():
    with pytest.raises(UnknownNameError, match="did you mean gradients"):
        FIRST.nomenclature("gradnts")


@pytest.mark.long
def test_it_renders():
    from tex.renderers import RendererError, rendered

    cells = [cell.strip("$") for row in rows(IterationModel().nomenclature()) for cell in (row[0], row[-1])]
    cells = [cell for cell in dict.fromkeys(cells) if cell]
    try:
        shown = rendered(cells)
    except RendererError as reason:
        pytest.skip(str(reason))
    assert {cell: shown[cell]["error"] for cell in cells if shown[cell]["error"]} == {}


def test_in_a_shell():
    def run(*words):
        return CliRunner().invoke(app, ["symbols", *words], prog_name="mlsysim")

    asked = "memory", "gradients", "--variant", "first_order"
    assert run(*asked, "--latex").stdout == f"{FIRST.nomenclature('gradients')}\n"
    assert re.search(r"(?m)^G +gradients +GB +Gradients held by one rank\.$", run(*asked).stdout)
    assert '"gradients"' in run(*asked, "--json").stdout
    assert run("weight_bytes", "--latex").stdout.count("$q_{\\mathrm{w}}$") == 1
    for words in (("wieghts",), ("memory", "gradnts")):
        done = run(*words)
        assert done.exit_code == 2
        assert "did you mean" in done.stderr
