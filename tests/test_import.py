"""Importing the package is free, and every public name is there when it is asked for."""

import json
import subprocess
import sys
from functools import cache

import pytest

import mlsysim

HEAVY = ("jax", "matplotlib", "numpy", "pint", "pydantic", "scipy", "scipy.special", "sympy", "xarray")


@cache
def loaded_after(code):
    """Which heavy packages a fresh interpreter has imported after running some code."""
    probe = f"{code}\nimport json, sys\nprint(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"
    run = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True, timeout=120)
    return json.loads(run.stdout.splitlines()[-1])


def test_the_probe_sees_an_import():
    assert loaded_after("import numpy") == ["numpy"]


def test_import_loads_nothing_heavy():
    assert loaded_after("import mlsysim") == []


def test_units_load_no_symbols_and_no_backend():
    assert "pint" in loaded_after("from mlsysim import ureg")
    assert not {"sympy", "jax", "xarray", "pydantic"} & set(loaded_after("from mlsysim import ureg"))


def test_the_catalog_loads_no_symbols_and_no_backend():
    assert not {"sympy", "jax", "xarray"} & set(loaded_after("from mlsysim import Hardware; Hardware.Cloud.H100"))


SOLVE = """
from mlsysim import MoERoutingModel, ServingCapacityModel, TrainingMemoryModel
found = [
    TrainingMemoryModel().solve("Llama3_8B", "H100", batch_size=8),
    ServingCapacityModel().solve("Llama3_8B", "H100", qps=500, target_p99_latency_ms=9000),
    MoERoutingModel().solve("Mixtral_8x7B", "Research_256", batch_size=4, ep_size=8),
]
for result in found:
    str(result.explain()), result.to_json(), result.latex(), result._repr_html_()

import sympy
from mlsysim import backends, symbolic
x = sympy.Symbol("x")
root = symbolic.Root(x, symbolic.NormalCDF(x), symbolic.NormalCDF(symbolic.NormalQuantile(sympy.Float(0.7))), 0, 9)
assert abs(backends.compiled_expression(root)({})["value"] - 0.5244) < 1e-4
"""


PRINTED = """
from mlsysim import TrainingMemoryModel
result = TrainingMemoryModel().solve("Llama3_8B", "H100", batch_size=8)
str(result), str(result.explain()), result.to_json(), result.latex(), result._repr_html_(), result.canonical("weights")
"""


@pytest.mark.long
def test_no_model_loads_pint():
    loaded = loaded_after("from mlsysim.models import every_model; every_model()")
    assert "sympy" in loaded
    assert not {"pint", "jax", "xarray"} & {*loaded}


def test_pint_is_loaded_with_the_first_quantity():
    before = "import sys\nassert 'pint' not in sys.modules"
    assert "pint" in loaded_after(f"{PRINTED}\n{before}\nresult.weights")


@pytest.mark.long
def test_quantities_as_text_need_no_pint():
    given = "fabric_bandwidth='400 Gbit/s', fabric_latency='10 us', memory_capacity='80 GiB', fleet_size=8"
    asked = (
        f"from mlsysim import DistributedModel\nDistributedModel().solve('Llama3_8B', 'H100', batch_size=8, {given})"
    )
    assert "pint" not in loaded_after(asked)


def test_an_answer_in_a_terminal_loads_neither_pint_nor_scipy():
    words = ["mlsysim", "memory", "--model", "Llama3_8B", "--hardware", "H100", "--batch-size", "8", "--dp-size", "8"]
    loaded = loaded_after(f"import sys\nsys.argv = {words!r}\nfrom mlsysim.cli import app\napp(standalone_mode=False)")
    assert "sympy" in loaded
    assert not {"pint", "scipy", "jax", "xarray"} & {*loaded}


def test_a_scalar_solve_and_its_explanation_load_neither_jax_nor_xarray():
    loaded = loaded_after(SOLVE)
    assert "sympy" in loaded
    assert not {"jax", "xarray", "matplotlib", "scipy.special"} & set(loaded)


@pytest.mark.parametrize("name", mlsysim.__all__)
def test_every_public_name_can_be_had(name):
    assert getattr(mlsysim, name) is not None


@pytest.mark.parametrize("name", mlsysim.__all__)
def test_every_public_name_can_be_imported(name):
    space = {}
    exec(f"from mlsysim import {name}", space)
    assert space[name] is getattr(mlsysim, name)


def test_the_names_a_user_needs_are_public():
    needed = {
        "Hardware",
        "Models",
        "Systems",
        "TrainingMemoryModel",
        "ServingCapacityModel",
        "MoERoutingModel",
        "SparseTransformerWorkload",
        "TransformerWorkload",
        "Accelerator",
        "load_catalog",
        "Formula",
        "System",
        "variable",
        "ureg",
        "Q_",
    }
    assert needed <= set(mlsysim.__all__)


def test_what_an_author_of_a_model_needs_is_public():
    needed = {
        *("variable", "family", "Index", "total", "by_member", "label", "when", "by_label"),
        *("LeastInteger", "Root", "evaluated_at"),
        *("positive", "nonnegative", "at_least", "between", "integer", "flag", "choice", "boolean"),
        *("byte", "flop", "token", "request", "UnitSymbol"),
        *("Formula", "Source", "Example", "System", "Requirement", "Slot", "Variant", "swapped", "PerformanceModel"),
        *("add_reference", "Reference", "Accelerator", "TransformerWorkload"),
    }
    assert needed <= set(mlsysim.__all__)


def test_dir_lists_every_public_name_in_a_fresh_process():
    code = "import json, mlsysim; print(json.dumps([dir(mlsysim), sorted(mlsysim.__all__)]))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    listed, public = json.loads(run.stdout)
    assert set(public) <= set(listed)
    assert {"show", "errors", "units"} <= set(listed)


def test_rooms_are_reached_from_the_package_alone():
    code = "import mlsysim; mlsysim.show.table(['a'], [[1]])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert run.stdout == "a\n─\n1\n"


def test_star_import_takes_all_names():
    space = {}
    exec("from mlsysim import *", space)
    assert set(mlsysim.__all__) - {"__version__"} <= set(space)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"^module 'mlsysim' has no attribute 'Hardwear'$"):
        _ = mlsysim.Hardwear
    with pytest.raises(ImportError, match="cannot import name 'Hardwear' from 'mlsysim'"):
        exec("from mlsysim import Hardwear")
    assert not hasattr(mlsysim, "Hardwear")


def test_the_version_is_one_of_pep_440():
    from packaging.version import Version

    assert str(Version(mlsysim.__version__)) == mlsysim.__version__


def test_the_package_says_it_is_typed():
    from importlib import resources

    assert (resources.files("mlsysim") / "py.typed").is_file()
