"""Every calculator in headless Chromium: what is typed is answered, and nothing is wrong with the page."""

import base64
import gzip
import json
import re
import shlex
from math import inf
from pathlib import Path

import pytest
from fuzz import rest_long
from tex.renderers import INSTALLED as TEX
from typer.testing import CliRunner
from web.chromium import PHONE, installed, seen_by
from web.node import has_node, run

import mlsysim
from mlsysim import ParameterCountModel, TrainingMemoryModel
from mlsysim.cli.app import app
from mlsysim.errors import InputError, UnknownNameError
from mlsysim.models import every_model
from mlsysim.study.results.display import listed
from mlsysim.symbolic import variable_of
from mlsysim.symbolic.printing.template import template
from mlsysim.web import calculator
from mlsysim.web.data import model_data, parts_shown
from mlsysim.web.formulas import PrintedModel
from mlsysim.web.pages import FONTS

HERE = Path(__file__).parent
#: Bytes of a page, milliseconds from a key to the numbers.
LARGEST, SOON = 500_000, 50


@pytest.fixture(scope="module")
def browsed(tmp_path_factory):
    """What Chromium sees of pages, typed into."""
    installed()
    folder = tmp_path_factory.mktemp("pages")

    def browse(page, *jobs):
        (folder / "page.html").write_text(page, encoding="utf-8")
        (folder / "jobs.json").write_text(json.dumps([{"file": str(folder / "page.html"), **job} for job in jobs]))
        return seen_by(HERE / "browse.js", folder / "jobs.json")

    return browse


class Parted:
    """Stands for a model with the parts of totals that pages show."""

    def __init__(self, parts):
        self.parts = parts

    def parts_of(self, name):
        return self.parts.get(name, ())


def shown(result):
    """The headline as a page shows it: as a table does, but for truth values and infinities in words."""
    names = [name for name in result.model.headline if name in result.outputs]
    values = {name: result.canonical(name) for name in names}
    parts = {
        total: each
        for total, each in parts_shown(result.model).items()
        if {total, *each} <= {*names} and sum(map(values.get, each)) <= values[total] * (1 + 1e-9) < inf
    }
    found = {name.strip(): text for name, text, _ in listed(Parted(parts), names, values)}
    for name, value in values.items():
        if variable_of(name).domain.is_flag:
            found[name] = "yes" if value else "no"
        if value == inf:
            found[name] = "infinite"
    return found


def fine(found, width):
    """Nothing is wrong with a page: no error, no request, no barrier, nothing too wide, raw or without a label."""
    assert not found["wrong"]
    assert not found["asked"]
    assert not found["barriers"]
    for seen in found["seen"]:
        assert seen["width"] <= width
        assert not seen["unlabelled"]
        assert seen["raw"] == 0
        assert seen["equations"]
        assert all(seen["equations"])
        assert seen["curve"] == 1


@pytest.mark.parametrize("kind", every_model(), ids=lambda kind: kind.__name__)
def test_a_page_answers_what_is_typed(kind, browsed):
    page = calculator(kind)
    assert len(page.encode()) < LARGEST
    example = {name: value for name, value in kind.example.items() if name != "variant"}
    name = next((each for each, value in example.items() if not isinstance(value, str)), None)
    steps = [] if name is None else [[f"in-{name}", str(2 * example[name])], [f"in-{name}", "abc"]]
    desktop, phone = browsed(
        page,
        {"width": 1280, "scheme": "light", "steps": steps, "check": True},
        {"width": PHONE, "scheme": "dark", "steps": [], "check": True},
    )
    fine(desktop, 1280)
    fine(phone, PHONE)
    opened = {"variant": kind.measured(), **kind.example}
    result = kind.solve_example(**opened)
    for found in (desktop, phone):
        assert found["seen"][0]["numbers"] == shown(result)
    space = {}
    exec(phone["copies"][0].partition("print(")[0], space)
    assert shown(space["result"]) == shown(result)
    if name is not None:
        _, doubled, refused = desktop["seen"]
        assert doubled["numbers"] == shown(kind.solve_example(**{**opened, name: 2 * example[name]}))
        assert f"{name}={2 * example[name]}" in doubled["hash"]
        with pytest.raises(InputError) as error:
            kind.solve_example(**{**opened, name: "abc"})
        assert refused["refusal"] == str(error.value)
        assert refused["numbers"] == doubled["numbers"]
        assert refused["old"]
        assert min(seen["milliseconds"] for seen in desktop["seen"]) < SOON


def test_a_copied_command_and_a_link_give_the_same(browsed, tmp_path):
    page = calculator(TrainingMemoryModel, "per_operator")
    steps = [["in-tp_size", "2"], ["in-seq_len", "4 kilotoken"], ["variant", "korthikanti"]]
    (found,) = browsed(page, {"width": 1280, "scheme": "light", "steps": steps, "check": True})
    last = found["seen"][-1]
    words = shlex.split(found["copies"][1])
    assert words[0] == "mlsysim"
    answer = CliRunner().invoke(app, [*words[1:], "--json"])
    told = json.loads(answer.stdout)["outputs"]["total_memory"]
    assert last["numbers"]["total_memory"] == f"{told['value']:.3f} {told['unit']}"
    (again,) = browsed(page, {"width": 1280, "scheme": "light", "steps": [], "check": False, "hash": last["hash"]})
    assert again["seen"][0]["numbers"] == last["numbers"]


def test_a_page_opens_with_the_variant_that_was_asked():
    page = calculator(TrainingMemoryModel, "korthikanti")
    packed = page.partition('id="packed">')[2].partition("<")[0]
    unpacked = gzip.decompress(base64.b85decode(packed.translate(str.maketrans(":.,[", "&<>`"))))
    assert b'"first":"korthikanti"' in unpacked
    with pytest.raises(UnknownNameError, match="variant of TrainingMemoryModel"):
        calculator(TrainingMemoryModel, "nonsense")


def test_a_page_says_how_a_variant_that_it_leaves_out_is_asked(monkeypatch):
    monkeypatch.setattr(TrainingMemoryModel, "without_calculator", ("korthikanti",))
    printed = PrintedModel(TrainingMemoryModel)
    data = model_data(TrainingMemoryModel, printed, "korthikanti")
    assert set(data["variants"]) == set(TrainingMemoryModel.variants) - {"korthikanti"}
    assert data["without"] == {"korthikanti": "ask mlsysim memory --variant korthikanti, or Python"}
    assert data["first"] == "per_operator"


def test_variants_that_pages_leave_out_are_those_of_the_model():
    left_out = {kind.__name__: kind.without_calculator for kind in every_model() if kind.without_calculator}
    assert left_out == {"EconomicsModel": ("owned_post_training", "rented_post_training")}
    for kind in every_model():
        assert {*kind.without_calculator} < {*kind.variants}


def test_the_command_prints_a_page():
    answer = CliRunner().invoke(app, ["calculator", ParameterCountModel.command])
    assert answer.stdout == calculator(ParameterCountModel)


#: Classes of KaTeX whose characters are of faces that calculators do not have.
ELSEWHERE = "amsrm mathbb textbb mathbf textbf mathit boldsymbol mathcal mathfrak mathscr mathsf mathtt"


#: Renders commands alone, or on arguments where they take some.
RENDER = """
const katex = require(process.argv[2]), drawn = (text) => {
  try { return katex.renderToString(text, { output: "html" }); } catch { return ""; }
};
console.log(JSON.stringify(process.argv.slice(3).map((each) => [each, drawn(each) || drawn(each + "{N}{N}")])));
"""


@pytest.mark.parametrize("kind", rest_long(every_model(), quick=2), ids=lambda kind: kind.__name__)
def test_equations_need_no_other_face(kind, tmp_path):
    if reason := has_node():
        pytest.skip(reason)
    systems = [kind(variant).system for variant in kind.variants]
    texts = {template(formula.expression)[0] for system in systems for formula in system}
    texts |= {variable.latex for system in systems for variable in (*system.variables, *system.inputs)}
    commands = sorted({command for text in texts for command in re.findall(r"\\[A-Za-z]+", text)})
    katex = Path(mlsysim.__file__).parent / "web" / "katex" / "katex.min.js"
    rendered = dict(json.loads(run(RENDER, tmp_path, katex, *commands, r"\mathbb")))
    wrong = [each for each, html in rendered.items() if set(re.findall(r"[a-z]+", html)) & set(ELSEWHERE.split())]
    assert wrong == [r"\mathbb"]


def test_equations_are_those_of_one_version():
    """Script, style and fonts are the files of the KaTeX with which the book is checked."""
    if not (own := TEX / "node_modules" / "katex").is_dir():
        pytest.skip("KaTeX of npm is not installed: python tests/tex/renderers.py")
    shipped = Path(mlsysim.__file__).parent / "web" / "katex"
    names = [path.relative_to(shipped) for path in shipped.rglob("*") if path.is_file()]
    assert len(names) == 4 + len(FONTS)
    for name in names:
        there = own / name if name.name == "LICENSE" else own / "dist" / name
        assert (shipped / name).read_bytes() == there.read_bytes(), name
