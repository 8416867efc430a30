"""Topics, names and symbols: what keeps the book one book."""

import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from collections import Counter

import pytest
import sympy

import mlsysim.formulas
import mlsysim.symbols
from mlsysim import units
from mlsysim.errors import FormulaError
from mlsysim.formulas import TOPICS, every_formula, topic
from mlsysim.symbolic import Example, Family, Formula, Source, variable_of
from mlsysim.symbolic.variable import declaration_order
from mlsysim.symbols import training, workload

MODULES = [importlib.import_module(f"mlsysim.symbols.{name}") for name in mlsysim.symbols.__all__]


def symbols_of(module):
    """Symbols declared in a module, in order of declaration; of a family the generic one and those it declares."""
    found = []
    for value in vars(module).values():
        found += [value.symbol, *value.members.values()] if isinstance(value, Family) else [value]
    return [symbol for symbol in found if isinstance(symbol, sympy.Symbol) and declared_in(symbol) == module.__name__]


def declared_in(symbol):
    """The module that a pickle of the variable imports."""
    return variable_of(symbol).__reduce__()[1][0]


SYMBOLS = [symbol for module in MODULES for symbol in symbols_of(module)]
every_module = pytest.mark.parametrize("module", MODULES, ids=mlsysim.symbols.__all__)


# --- formulas -------------------------------------------------------------------------------------


def test_every_module_of_the_package_is_a_topic():
    found = {module.name for module in pkgutil.iter_modules(mlsysim.formulas.__path__)}
    assert found == set(TOPICS)
    assert len(TOPICS) == len(set(TOPICS))


def is_set(value):
    return isinstance(value, tuple) and bool(value) and all(isinstance(item, Formula) for item in value)


def written_in(name):
    return [value for value in vars(topic(name)).values() if isinstance(value, Formula)]


@pytest.mark.parametrize("name", TOPICS)
def test_every_formula_of_a_module_is_printed_under_it(name):
    """A formula that is not in FORMULAS would be in no book, no model and no test."""
    printed = Counter(map(id, topic(name).FORMULAS))
    assert printed == Counter(map(id, written_in(name)))
    assert set(printed.values()) == {1}


@pytest.mark.parametrize("name", TOPICS)
def test_formulas_stand_in_the_order_they_are_written(name):
    """Within the formulas of one variant, or of the topic where it has one set only."""
    sets = {key: value for key, value in vars(topic(name)).items() if key == "FORMULAS" or is_set(value)}
    written = list(map(id, written_in(name)))
    for key, formulas in sets.items():
        places = [written.index(id(formula)) for formula in formulas]
        assert places == sorted(places) or (key == "FORMULAS" and len(sets) > 1), key


def test_every_formula_stands_in_one_topic():
    seen = Counter(id(formula) for _, formula in every_formula())
    assert set(seen.values()) == {1}


def test_ids_are_unique():
    seen = Counter(formula.id for _, formula in every_formula())
    assert [name for name, count in seen.items() if count > 1] == []


def test_variants_of_one_variable_are_told_apart():
    by_name = {}
    for _, formula in every_formula():
        by_name.setdefault(formula.name, []).append(formula.variant)
    for name, variants in by_name.items():
        assert len(variants) == 1 or "" not in variants, name


@pytest.mark.parametrize("name", TOPICS)
def test_a_topic_has_a_title_and_says_what_it_is_about(name):
    title, blank, *text = inspect.getdoc(topic(name)).splitlines()
    assert title
    assert not title.endswith(".")
    assert blank == ""
    assert text


DECLARATION = {"title": "test", "source": Source("rajbhandari2020")}


def test_a_formula_without_an_example_is_refused_unless_it_says_why():
    with pytest.raises(FormulaError) as refused:
        Formula(training.W, workload.q * workload.P, **DECLARATION)
    assert str(refused.value) == "formula for weights: give an example, or say why there is none"
    Formula(training.W, workload.q * workload.P, **DECLARATION, no_example="a test")
    Formula(
        training.W,
        workload.q * workload.P,
        **DECLARATION,
        example=Example({workload.q: 2, workload.P: 7.5e9}, "15 GB", Source("rajbhandari2020", "section 3.1")),
    )


def test_no_hardware_number_stands_in_a_formula():
    """Rates, capacities and prices come from the catalog; a constant with a unit counts bytes, operations or tokens."""
    for _, formula in every_formula():
        for constant in formula.constants():
            value, unit = constant.split(" ", 1)
            counted = set(re.findall("[A-Za-z]+", unit))
            assert counted <= {"byte", "FLOP", "token"}, f"{formula.id}: {constant}"
            assert abs(sympy.Rational(value)) < 100, f"{formula.id}: {constant}"


# --- symbols --------------------------------------------------------------------------------------


@every_module
def test_a_symbol_is_a_declared_variable(module):
    for symbol in symbols_of(module):
        variable = variable_of(symbol)
        assert variable.symbol is symbol
        assert variable.name == symbol.name
        assert variable.name.isidentifier()
        assert variable.latex.strip() == variable.latex != "", variable.name


@every_module
def test_a_variable_is_described_in_one_sentence(module):
    for variable in map(variable_of, symbols_of(module)):
        text = variable.description
        assert text[0].isupper(), variable.name
        assert text.endswith("."), variable.name
        assert "\n" not in text, variable.name
        assert len(text) > 5, variable.name


@every_module
def test_a_unit_is_known_and_a_domain_fits_it(module):
    for variable in map(variable_of, symbols_of(module)):
        units.unit(variable.unit)
        domain = variable.domain
        assert domain.lower <= domain.upper, variable.name
        if domain.kind in ("choice", "boolean"):
            assert variable.unit == "", variable.name
        else:
            assert variable.unit != "", f"{variable.name}: a pure number is in 'count'"
        if domain.kind == "choice":
            assert len(set(domain.labels)) == len(domain.labels) > 1, variable.name
        if domain.kind == "integer":
            assert domain.lower == int(domain.lower), variable.name
            assert units.factor(variable.unit) == 1, f"{variable.name}: whole numbers are canonical as typed"


@every_module
def test_a_name_says_its_unit_only_where_results_are_plain_numbers(module):
    said = {"qps": "QPS", "ms": "ms"}
    for variable in map(variable_of, symbols_of(module)):
        last = [said[part] for part in variable.name.split("_") if part in said]
        assert variable.named_unit == bool(last), variable.name
        assert not last or last[-1] == variable.unit, variable.name


def test_names_are_distinct():
    """One name, one symbol: no module may declare what another has."""
    seen = Counter(symbol.name for symbol in SYMBOLS)
    assert [name for name, count in seen.items() if count > 1] == []


def test_printed_symbols_are_distinct():
    """Two quantities must not print alike."""
    seen = {}
    for symbol in SYMBOLS:
        seen.setdefault(variable_of(symbol).latex, []).append(symbol.name)
    assert {latex: names for latex, names in seen.items() if len(names) > 1} == {}


def test_every_module_of_symbols_is_listed():
    assert {module.name for module in pkgutil.iter_modules(mlsysim.symbols.__path__)} == set(mlsysim.symbols.__all__)


def test_every_variable_of_a_formula_is_in_the_vocabulary():
    known = {symbol.name for symbol in SYMBOLS}
    for _, formula in every_formula():
        assert {formula.name, *(v.name for v in formula.inputs)} <= known


#: Printing sorts by declaration, so families must be declared in one order whoever is imported first.
FAMILIES = (
    "workload",
    "mixers",
    "sources",
    "formats",
    "parameters",
    "hardware",
    "training",
    "trained",
    "activations",
    "serving",
    "batching",
    "routing",
    "step",
    "layers",
    "network",
    "groups",
    "fsdp",
    "break_even",
    "roofline",
    "iteration",
    "costs",
    "energy",
    "deployment",
    "chunked",
    "chunked_prefill",
    "deployment_advice",
    "varied_lengths",
    "prefix_cache",
    "lora",
    "closed_loops",
    "offload",
    "runs",
    "post_training",
)
ORDER = """
import importlib, sys
importlib.import_module(sys.argv[1])
from mlsysim.symbolic.variable import declaration_order
import mlsysim.symbols
print(*declaration_order())
"""


def test_symbols_are_declared_in_the_order_of_the_families():
    place = declaration_order()
    modules = [importlib.import_module(f"mlsysim.symbols.{family}") for family in FAMILIES]
    expected = [symbol.name for module in modules for symbol in symbols_of(module)]
    assert set(FAMILIES) == set(mlsysim.symbols.__all__)
    assert sorted(expected, key=place.__getitem__) == expected


@pytest.mark.long
@pytest.mark.parametrize("first", ["mlsysim.symbols.routing", "mlsysim.formulas.moe_routing", "mlsysim.models"])
def test_the_order_does_not_depend_on_what_is_imported_first(first):
    ours = [name for name in declaration_order() if name in {symbol.name for symbol in SYMBOLS}]
    run = subprocess.run([sys.executable, "-c", ORDER, first], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ours
