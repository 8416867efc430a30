"""Which models there are, and what is said where one of one's own cannot be used."""

import subprocess
import sys
from importlib.metadata import Distribution, EntryPoint
from pathlib import Path

import pytest

import mlsysim
from mlsysim.errors import InputError, ModelError, UnknownNameError
from mlsysim.models import Registry, every_model, registry

HERE = Path(__file__).parent
READ = HERE / "own" / "two_tiers.py"


def test_what_is_read_from_the_text_is_what_the_classes_say():
    listed = registry.ours()
    assert [each.load() for each in listed] == list(every_model())
    for each, model in zip(listed, every_model(), strict=True):
        assert (each.command, each.question, each.name) == (model.command, model.question(), model.__name__)


def test_models_of_one_command_have_variants_of_their_own_which_are_read_from_their_text():
    asked = registry.Registry().commands["serve"]
    assert [each.load() for each in asked] == [mlsysim.ServingModel, mlsysim.ServingCapacityModel]
    assert [each.variants for each in asked] == [tuple(each.load().variants) for each in asked]
    names = [name for each in asked for name in each.variants]
    assert len(set(names)) == len(names)


def test_the_variant_says_which_model_of_a_command_is_asked():
    known = registry.Registry()
    assert known.model("serve") is known.model("serve", "colocated,chunked") is mlsysim.ServingModel
    assert known.model("serve", "first_order, prefill_aware") is mlsysim.ServingCapacityModel
    assert [each.name for each in known.beside(known.listed("serve"))] == ["ServingCapacityModel"]
    assert registry.words_for(mlsysim.ServingCapacityModel) == "serve --variant first_order"
    assert registry.words_for(mlsysim.ServingModel) == "serve"
    with pytest.raises(UnknownNameError, match="unknown variant of serve 'colocate': did you mean colocated"):
        known.model("serve", "colocate")
    with pytest.raises(InputError, match="are of ServingModel and ServingCapacityModel; choose those of one model"):
        known.model("serve", "chunked,first_order")


def test_every_module_of_models_with_a_command_is_listed():
    folder = Path(registry.__file__).parent
    texts = {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.py")}
    assert {name for name, text in texts.items() if list(registry.declared_in(text))} == set(registry.OURS)


def test_a_list_of_commands_costs_no_import_of_sympy():
    code = "import sys; from mlsysim.models import Registry; print(*Registry().commands); print('sympy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines() == [" ".join(dict.fromkeys(model.command for model in every_model())), "False"]


def test_every_model_of_ours_is_a_public_name_with_an_example_that_answers():
    for model in every_model():
        assert getattr(mlsysim, model.__name__) is model
        found = model.solve_example()
        assert model.answer in found.outputs
        assert set(found.model.headline) & set(found.outputs)


@pytest.mark.parametrize(
    ("model", "variant"), [(model, variant) for model in every_model() for variant in model.variants]
)
def test_a_variant_has_an_example_of_its_own(model, variant):
    """It names no argument that the variant does not take, and answers."""
    asked = model(variant)
    assert asked.example.keys() <= asked.arguments.keys()
    assert asked.answer in model.solve_example(variant=variant).outputs


def test_a_file_brings_its_models_after_ours():
    found = Registry([READ])
    assert list(found.commands) == [*dict.fromkeys(model.command for model in every_model()), "read"]
    (model,) = found.own()
    assert model is found.model("read")
    assert model.__module__ == "two_tiers"
    assert found.others() == (model,)
    assert Registry([READ]).model("read") is model
    assert found.program("read") == f"mlsysim --with {READ}"
    assert found.program("memory") == "mlsysim"


def test_a_module_brings_its_models_and_not_those_it_imports(tmp_path, monkeypatch):
    (tmp_path / "brings_one.py").write_text(
        "from mlsysim import TrainingMemoryModel\n"
        "class Mine(TrainingMemoryModel):\n"
        "    'Does it fit on mine?'\n"
        "    command = 'mine'\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    found = Registry(["brings_one", READ])
    assert [model.__name__ for model in found.own()] == ["Mine", "CachedReadModel"]
    assert found.model("mine").solve_example().total_memory == mlsysim.TrainingMemoryModel.solve_example().total_memory


def test_an_unknown_command_gets_a_suggestion():
    with pytest.raises(UnknownNameError, match="unknown question 'memroy': did you mean memory"):
        Registry().model("memroy")


MODEL = """
from mlsysim import ParameterCountModel
class Mine(ParameterCountModel):
    {doc!r}
    command = {command!r}
"""


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("own_nothing", "x = 1\n", "brings no model; a model is a class of PerformanceModel with variants"),
        ("own_fails", "\n\nx = 1 / 0\n", ", line 3: does not import: ZeroDivisionError: division by zero"),
        ("own_syntax", "x = \n", ", line 1: does not import: SyntaxError"),
        ("own_lacks", "import no_such_module\n", ", line 1: does not import: ModuleNotFoundError: No module named"),
        ("own_memory", MODEL.format(doc="Q?", command="memory"), "Mine has the command 'memory', which "
         "TrainingMemoryModel of mlsysim has; choose another command"),
        ("own_sweep", MODEL.format(doc="Q?", command="sweep"), "Mine has the command 'sweep', which mlsysim itself"),
        ("own_word", MODEL.format(doc="Q?", command="My model"), "the command 'My model' of Mine must be a word"),
        ("own_silent", MODEL.format(doc="", command="silent"), "Mine has no docstring; its first line is the question"),
        ("own_nulls", "x = 1\0\n", "nulls.py: does not import: "),
        ("own_exits", "import sys\nsys.exit(0)\n", ", line 2: does not import: SystemExit: 0"),
        ("queue", "x = 1\n", "the name is that of a module of Python; rename the file"),
        ("pytest", "x = 1\n", "the name must be that of no other module; rename the file"),
        ("not-a-name", "x = 1\n", "the name must be that of no other module; rename the file"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used(tmp_path, name, text, said):
    file = tmp_path / f"{name}.py"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ModelError) as refused:
        Registry([str(file)], taken=["sweep"])
    assert str(refused.value).startswith(str(file))
    assert said in str(refused.value)


def test_a_file_named_like_a_module_of_python_is_refused_where_it_comes_first_on_the_path(tmp_path, monkeypatch):
    (tmp_path / "nntplib.py").write_text(MODEL.format(doc="Q?", command="mine"), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModelError, match="the name is that of a module of Python"):
        Registry([tmp_path / "nntplib.py"])


def test_a_package_beside_is_a_module_by_its_name(tmp_path, monkeypatch):
    for name in ("own_package", "own_package_out_of_reach"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(MODEL.format(doc="Q?", command="mine"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError, match="is no module that Python finds; put its folder on PYTHONPATH"):
        Registry(["own_package_out_of_reach"])
    monkeypatch.syspath_prepend(tmp_path)
    assert "mine" in Registry(["own_package"]).commands


def test_a_module_that_ends_python_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "own_module_ends.py").write_text("raise SystemExit(3)", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModelError, match="own_module_ends: does not import: SystemExit: 3"):
        Registry(["own_module_ends"])


def test_what_is_no_file_and_no_module(tmp_path):
    for where, said in {
        tmp_path / "nowhere.py": "there is no such file",
        tmp_path: "must be a file that ends in .py, or the name of a module",
        "nowhere.models": "there is no such file and no such module",
    }.items():
        with pytest.raises(ModelError, match=f"^{where}: {said}$"):
            Registry([where])


def test_two_files_with_one_command(tmp_path):
    files = [tmp_path / "own_first.py", tmp_path / "own_second.py"]
    for file in files:
        file.write_text(MODEL.format(doc="Q?", command="both"), encoding="utf-8")
    with pytest.raises(ModelError, match=f"^{files[1]}: Mine has the command 'both', which Mine of {files[0]} has"):
        Registry(files)


class Package(Distribution):
    """An installed package of one file."""

    def __init__(self, folder):
        self.folder = folder

    def read_text(self, filename):
        return "Name: some-package\n" if filename == "METADATA" else None

    def locate_file(self, path):
        return self.folder / path


@pytest.fixture
def install(tmp_path, monkeypatch):
    def put(module, text, value, command="mine"):
        (tmp_path / f"{module}.py").write_text(text, encoding="utf-8")
        monkeypatch.syspath_prepend(tmp_path)
        entry = EntryPoint(command, value, registry.GROUP)._for(Package(tmp_path))
        monkeypatch.setattr(registry, "entry_points", lambda group: [entry] if group == registry.GROUP else [])
        registry.installed.cache_clear()

    yield put
    registry.installed.cache_clear()


def test_an_installed_package_is_listed_and_imported_when_it_is_asked(install):
    install("packaged_one", MODEL.format(doc="What of mine?", command="mine"), "packaged_one:Mine")
    found = Registry()
    assert found.commands["mine"][0].question == "What of mine?"
    assert "packaged_one" not in sys.modules
    assert found.model("mine").solve_example().parameters > 0
    assert Registry(["packaged_one"]).model("mine") is found.model("mine")


@pytest.mark.parametrize(
    ("module", "text", "value", "said"),
    [
        ("packaged_two", "x = 1 / 0", "packaged_two:Mine", "does not import: ZeroDivisionError"),
        ("packaged_three", "", "packaged_three:Mine", "does not import: AttributeError"),
        ("packaged_four", MODEL.format(doc="Q?", command="other"), "packaged_four:Mine", "must name a model with that"),
        ("packaged_five", "Mine = 3", "packaged_five:Mine", "must name a model with that command"),
    ],
)
def test_a_broken_package_spoils_its_own_command_alone(install, module, text, value, said):
    install(module, text, value)
    found = Registry()
    assert found.model("memory") is mlsysim.TrainingMemoryModel
    with pytest.raises(ModelError, match=f"^the package some-package: .*{said}"):
        found.model("mine")
