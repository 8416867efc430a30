"""The reference has every public name once, says what a call needs, and its examples print what they say."""

import doctest
import inspect
import re
import sys
from collections import Counter
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from numpydoc.docscrape import NumpyDocString
from printed import ROOT, differences
from web.chromium import installed, seen_by
from website import entry_tables, model_reference
from website.knowledge import Knowledge
from website.markup import with_html
from website.public_names import DATA, TASKS, VERB_NAMES, by_page, every_public, is_model, lookup, members

import mlsysim
from mlsysim.catalog import builtin
from mlsysim.catalog.loader import Group
from mlsysim.models import every_model
from mlsysim.symbolic import Variable

HERE, STATIC = Path(__file__).parent, ROOT / "docs/website/static"
NAMES = [name for names in by_page().values() for name in names]
DOCUMENTED = [name for name in NAMES if name not in DATA and not isinstance(lookup(name), Group)]
FUNCTIONS = [name for name in DOCUMENTED if not inspect.isclass(lookup(name))]
#: Hooks that sympy calls.
OF_SYMPY = ("fdiff",)
WITH_EXAMPLES = [name for name in DOCUMENTED if ">>>" in (inspect.getdoc(lookup(name)) or "")]


class Close(doctest.OutputChecker):
    """Outputs are compared number by number, as those of pages are."""

    def check_output(self, want, got, optionflags):
        same = super().check_output(want, got, optionflags)
        return same or not differences(want.replace("<BLANKLINE>", "").rstrip(), got.rstrip())


def test_every_public_name_stands_on_one_page():
    assert {name: count for name, count in Counter(NAMES).items() if count > 1} == {}
    assert set(every_public()) <= {*NAMES}
    models = {name for name in mlsysim.__all__ if name != "__version__" and is_model(name)}
    assert models == {model.__name__ for model in every_model()}


def test_what_public_functions_return_is_documented_too():
    documented = {lookup(name) for name in DOCUMENTED if inspect.isclass(lookup(name))}
    ours = {kind.__name__ for kind in documented if kind.__module__.startswith("mlsysim")}
    known = {kind.__name__ for module in ("symbolic", "catalog", "inputs", "study", "simulation", "advice")
             for kind in _classes(f"mlsysim.{module}")}  # fmt: skip
    for name in FUNCTIONS:
        returned = re.search(r"Returns\n-+\n(.+)", inspect.getdoc(lookup(name)) or "")
        words = set(re.findall(r"[A-Z]\w+", returned[1])) if returned else set()
        assert words & known <= ours, name


def _classes(prefix):
    for name, module in sys.modules.items():
        if name.startswith(prefix):
            yield from (value for value in vars(module).values() if inspect.isclass(value) and value.__module__ == name)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_says_what_it_takes_and_gives_and_shows_it(name):
    doc = inspect.getdoc(lookup(name)) or ""
    for section in ("Returns", "Examples"):
        assert f"{section}\n{'-' * len(section)}\n" in doc or (section, name) == ("Returns", "add_reference")
    told = {each.strip(" *") for part in NumpyDocString(doc)["Parameters"] for each in part.name.split(",")}
    taken = [name for name in inspect.signature(lookup(name)).parameters if name not in ("self", "cls", "model")]
    if name.startswith("PerformanceModel.") or name not in VERB_NAMES.values():
        assert {*taken} - told - {"entries", "inputs", "axes", "constants"} == set()


def test_methods_of_public_classes_say_what_they_take():
    for name in DOCUMENTED:
        kind = lookup(name)
        for member in members(kind) if inspect.isclass(kind) else ():
            method = getattr(kind, member)
            doc = inspect.getdoc(method) or ""
            if (
                not (inspect.isfunction(method) or inspect.ismethod(method))
                or doc.startswith("See :")
                or member in OF_SYMPY
            ):
                continue
            told = {each.strip(" *") for part in NumpyDocString(doc)["Parameters"] for each in part.name.split(",")}
            assert {*inspect.signature(method).parameters} - told <= {"self"}, f"{name}.{member}"


def test_public_classes_have_docstrings_and_examples():
    for name in DOCUMENTED:
        assert inspect.getdoc(lookup(name)), name
    shown = [name for name in mlsysim.__all__ if name in DOCUMENTED and inspect.isclass(lookup(name))]
    assert [name for name in shown if name not in WITH_EXAMPLES and not _is_plain_entry(name)] == []


def _is_plain_entry(name):
    """Tell whether a name is a class of entries, which all behave as the first of them that has an example."""
    return name in TASKS["catalog"].names or lookup(name).__module__.startswith("mlsysim.catalog")


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_print_what_they_say(name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    what = lookup(name)
    test = doctest.DocTestParser().get_doctest(inspect.getdoc(what), {}, name, name, 0)
    said = []
    runner = doctest.DocTestRunner(Close(), verbose=False, optionflags=doctest.ELLIPSIS)
    runner.run(test, out=said.append)
    plt.close("all")
    assert not said, "".join(said)


def test_members_of_classes_are_listed_and_verbs_stand_for_themselves():
    listed = members(mlsysim.PerformanceModel)
    assert [name for name in listed if not hasattr(mlsysim.PerformanceModel, name)] == []
    assert not {*VERB_NAMES} & {*listed}
    assert "explain" in members(mlsysim.Result)


@pytest.fixture(scope="module")
def known():
    return Knowledge()


@pytest.mark.parametrize("model", every_model(), ids=lambda model: model.__name__)
def test_the_page_of_a_model_has_all_that_a_call_takes_and_gives(known, model):
    page = with_html(model_reference.page(known, model, by_page())).replace("<wbr>", "")
    for name in model.arguments:
        assert f'notranslate">{name}</code>' in page
    instance = model()
    for variable in instance.outputs:
        assert f'notranslate">{variable.name}</code>' in page
    assert f"from mlsysim import {model.__name__}" in page


def test_defaults_units_and_variants_are_those_of_the_declaration(known):
    from mlsysim import TrainingMemoryModel as Memory

    page = with_html(model_reference.page(known, Memory, by_page())).replace("<wbr>", "")
    row = _row(page, "zero_stage")
    assert [_plain(cell) for cell in row[1:4]] == ["–", "0", "a whole number >= 0 and <= 3"]
    assert _plain(row[5]) == "all"
    assert _plain(_row(page, "memory_capacity")[2]).startswith("from hardware")
    variable = Memory.arguments["memory_capacity"]
    assert isinstance(variable, Variable)
    assert _plain(_row(page, "memory_capacity")[1]) == "GB"


def _row(page, name):
    found = re.search(rf"<tr>\s*<td><code[^>]*>{name}</code></td>\s*(.*?)</tr>", page, re.S)
    assert found
    return ["", *re.findall(r"<td>(.*?)</td>", found[1], re.S)]


def _plain(cell):
    return re.sub(r"<[^>]+>", "", cell).replace("&gt;", ">").replace("&lt;", "<").replace("&quot;", '"')


@pytest.mark.parametrize("about", [entry_tables.DEVICES, entry_tables.MODELS], ids=lambda about: about.name)
def test_a_table_has_every_entry_and_every_value_with_its_source_and_date(about):
    catalog = builtin()
    entries = {path: catalog.entry(path) for path in catalog.paths()}
    page = entry_tables.page(about, entries)
    mine = {path: entry for path, entry in entries.items() if path.startswith(f"{about.branch}.")}
    assert page.count('<th scope="row"') == len(mine)
    assert page.count("<li>") == sum(len(entry.values()) for entry in mine.values())
    row = next(line for line in page.splitlines() if 'data-words="Hardware.Cloud.H100"' in line or "Llama3_8B" in line)
    if about is entry_tables.DEVICES:
        assert 'data-value="80" title="datasheet, 2023-07' in row
        assert ">989</td>" in row
        assert "tdp 700 W: datasheet, 2023-07" in row
    else:
        assert 'data-value="8.03" title="paper, 2024-04' in row
        row = next(line for line in page.splitlines() if 'data-words="Models.Language.DeepSeek_V3_2"' in line)
        assert 'data-value="671.877944" title="counted from the shape of DeepSeek-V3.2">671.9</td>' in row
        assert 'data-value="38.403822"' in row


@pytest.fixture(scope="module")
def browsed(tmp_path_factory):
    """What a reader sees of the table of devices, step by step."""
    installed()
    catalog = builtin()
    page = entry_tables.page(entry_tables.DEVICES, {path: catalog.entry(path) for path in catalog.paths()})
    place = tmp_path_factory.mktemp("entries") / "page.html"
    script = (STATIC / "entries.js").read_text(encoding="utf-8")
    place.write_text(f"<!doctype html>{page}<script>{script}</script>", encoding="utf-8")
    return seen_by(HERE / "entries.js", place)


@pytest.mark.long
def test_a_table_is_sorted_and_filtered_by_keyboard(browsed):
    whole, filtered, down, up, unknown = browsed
    assert whole["status"] == "80 of 80"
    assert whole["sorted"] == []
    kept = set(filtered["names"])
    assert {"NVIDIA H200 SXM5 141 GB", "NVIDIA H100 NVL 94 GB"} <= kept
    assert not {"NVIDIA H100 SXM5 80 GB", "AMD Instinct MI300X"} & kept
    assert filtered["status"] == f"{len(kept)} of 80"
    assert (down["focused"], down["sorted"], up["sorted"]) == (
        "memory", [["memory", "descending"]], [["memory", "ascending"]]
    )  # fmt: skip
    assert {*down["names"]} == kept == {*up["names"]}
    assert up["names"][0] == "NVIDIA H100 NVL 94 GB"
    assert down["names"][0] == "NVIDIA GB300 NVL72, one GPU"
    assert unknown["status"].startswith("no column price: memory, bandwidth")
    assert len(unknown["names"]) == 80
