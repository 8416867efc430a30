"""What is typed into a calculator is read, and refused, as Python reads and refuses it."""

import json
import re

import numpy as np
import pytest
from fuzz import rest_long, tries
from study.points import POINTS
from web.node import has_node, run

from mlsysim import DistributedModel, IterationModel, ServingModel, formatting
from mlsysim.backends.javascript import Functions
from mlsysim.catalog import Entry
from mlsysim.cli.words import typed_text
from mlsysim.errors import MlsysimError
from mlsysim.inputs.binding import bind
from mlsysim.inputs.recipe import recipe_argument
from mlsysim.models import every_model
from mlsysim.study.results.basis import numbers, of_result
from mlsysim.study.results.display import as_text
from mlsysim.symbolic import variable_of
from mlsysim.web.data import model_data
from mlsysim.web.formulas import PrintedModel
from mlsysim.web.pages import data_script, script

#: Texts that are typed for numbers, and units behind them; many are refused.
NUMBERS = """1 2 3 4 5 7 8 12 16 64 100 1000 0 -1 0.5 .25 1e3 1e-3 2.5 1_000 inf nan -inf 1e400 9007199254740993 1e-40
    1e31 +3 007 2k 1.5k 70B 0.00025M 3.5e1k 12.5M 3b 2m -1k 00.5k 1,5 '' abc 1e 0x10 1.5.2 ∞ --2"""
UNITS = """GB GiB MB kB B bytes s ms µs us seconds minute GB/s GB/second TB/s Gbps B*s^-1 1/s TFLOP/s TFLOPS FLOP
    token tokens request QPS request/s % percent USD USD/hour W kW kilowatt Wh gibberish GBs EBs gigabyte gigabytes
    GB/ GB//s GB**2 GB^1 count param kilogram furlong/s $"""
#: A dimension that does not fit is told in the words of pint, which knows the quantity; the page tells what was typed.
DIMENSION = re.compile(r"is not a unit of")
UNKNOWN = re.compile(r"unknown unit")
DRIVER = """
const jobs = JSON.parse(require("fs").readFileSync(process.argv[2]));
console.log(JSON.stringify(jobs.map(([variant, typed]) => {
  const { values, refusals, missing } = bound(DATA, variant, typed);
  return { values, refusal: refusals.length ? refusals[0].message : "", missing: [...missing] };
})));
"""


@pytest.fixture(scope="module")
def functions():
    if reason := has_node():
        pytest.skip(reason)
    return Functions()


def text_of(value):
    return value.key if isinstance(value, Entry) else str(value)


def typed_points(model, variant, count, rng):
    """The point of a variant as text, with some of it left out or replaced."""
    point = {name: text_of(value) for name, value in POINTS[model.__name__, variant].items()}
    arguments = {name: v for name, v in model(variant).arguments.items() if v is not None}
    for _ in range(count):
        typed = {name: text for name, text in point.items() if rng.random() > 0.03}
        for name in rng.choice(sorted(arguments), size=rng.integers(0, 5)):
            variable = arguments[name]
            if variable.domain.labels:
                typed[name] = str(rng.choice(variable.domain.labels))
            elif variable.domain.is_flag:
                typed[name] = str(rng.choice(["True", "False"]))
            else:
                own = [variable.unit] if rng.random() < 0.6 else UNITS.split()
                unit = f" {rng.choice(own)}" if rng.random() < 0.5 else ""
                typed[name] = f"{rng.choice(NUMBERS.split())}{unit}"
        yield typed


def asked(model, variant, typed):
    """What Python binds or refuses, as on the command line."""
    instance = model(variant)
    given = {name: typed_text(instance.arguments[name], text) for name, text in typed.items()}
    try:
        found = bind(instance, given)
    except MlsysimError as error:
        return None, str(error)
    return found.values, ""


@pytest.mark.long(quick=1)
@pytest.mark.parametrize("kind", rest_long(every_model(), quick=2), ids=lambda kind: kind.__name__)
def test_what_is_typed_is_read_and_refused_as_python_does(kind, functions, tmp_path):
    printed = PrintedModel(kind, functions)
    data = model_data(kind, printed)
    rng = np.random.default_rng(41)
    each = tries(480, quick=60) // len(printed.variants) + 1
    jobs = [(variant, typed) for variant in printed.variants for typed in typed_points(kind, variant, each, rng)]
    (tmp_path / "jobs.json").write_text(json.dumps(jobs))
    answers = json.loads(run(data_script(data) + script(printed) + DRIVER, tmp_path, tmp_path / "jobs.json"))
    accepted = 0
    for (variant, typed), answer in zip(jobs, answers, strict=True):
        values, refusal = asked(kind, variant, typed)
        if values is None:
            assert answer["refusal"], (typed, refusal)
            if "needs" in refusal or DIMENSION.search(refusal) or UNKNOWN.search(refusal):
                assert answer["refusal"].split("=")[0].split(":")[0] == refusal.split("=")[0].split(":")[0], (
                    answer,
                    refusal,
                )
            else:
                assert answer["refusal"] == refusal, typed
            continue
        assert not answer["refusal"], typed
        assert set(values) == set(answer["values"]), typed
        for name, value in values.items():
            assert answer["values"][name] == pytest.approx(value, rel=1e-15, abs=0), (name, typed)
        accepted += 1
    assert accepted > len(jobs) / 20


@pytest.mark.long(quick=2)
@pytest.mark.parametrize(
    ("kind", "variant", "changed"),
    [
        (IterationModel, "iteration", {"hardware": "H100_PCIe", "tp_size": "8"}),
        (IterationModel, "iteration", {"hardware": "H100_NVL", "tp_size": "8", "fabric": "Ethernet_100G_TCP"}),
        (IterationModel, "iteration", {"hardware": "H100_PCIe", "accelerators_per_node": "8"}),
        (IterationModel, "iteration", {"hardware": "H100_PCIe", "fleet": "SuperPOD_H100"}),
        (ServingModel, "colocated", {"rent": "RunPod_A100"}),
        pytest.param(ServingModel, "colocated", {"rent": "RunPod_H100"}, marks=pytest.mark.long),
        pytest.param(
            DistributedModel,
            "per_operator",
            {"efficiency": "0.5", "attention_efficiency": "0.4", "tdp": "500 W", "memory_capacity": "90 GB"},
            marks=pytest.mark.long,
        ),
        pytest.param(ServingModel, "colocated", {"rent": "RunPod_H100", "hardware": "GB200"}, marks=pytest.mark.long),
    ],
)
def test_devices_bring_what_stands_beside_them_and_give_way_to_what_is_typed(
    kind, variant, changed, functions, tmp_path
):
    printed = PrintedModel(kind, functions)
    typed = {name: text_of(value) for name, value in kind.example.items() if name != "stack"} | changed
    (tmp_path / "jobs.json").write_text(json.dumps([(variant, typed)]))
    answered = run(data_script(model_data(kind, printed)) + script(printed) + DRIVER, tmp_path, tmp_path / "jobs.json")
    (answer,) = json.loads(answered)
    values, refusal = asked(kind, variant, typed)
    assert answer["refusal"] == refusal
    for name, value in (values or {}).items():
        assert answer["values"][name] == pytest.approx(value, rel=1e-15, abs=0), name


def test_numbers_are_shown_as_python_shows_them(functions, tmp_path):
    rng = np.random.default_rng(5)
    numbers = [
        *(10.0 ** rng.uniform(-12, 14, 3000)),
        16.125,
        0.0005,
        0.00049999,
        0.0625,
        2.5,
        99.995,
        1e6,
        999999.96,
        12345000.0,
    ]
    numbers += [
        *(rng.integers(0, 10**6, 500) / 1024),
        *(rng.integers(1, 10**4, 500) * 12.5),
        0.0,
        -1.5,
        1e16,
        1e22,
        1e-9,
    ]
    texts = [f"{value:.{digits}g}" for value in numbers for digits in (4, 6, 15)]
    driver = """
    const numbers = JSON.parse(require("fs").readFileSync(process.argv[2]));
    const general_ = numbers.flatMap((each) => [4, 6, 15].map((digits) => general(each, digits)));
    console.log(JSON.stringify([numbers.map((each) => readable(each)), general_, numbers.map((each) => repr(each))]));
    """
    (tmp_path / "numbers.json").write_text(json.dumps(numbers))
    printed = PrintedModel(every_model()[0], functions)
    whole = data_script(model_data(every_model()[0], printed)) + script(printed) + driver
    read, general, written = json.loads(run(whole, tmp_path, tmp_path / "numbers.json"))
    assert read == [formatting.number(float(value)) for value in numbers]
    assert general == texts
    assert written == [repr(float(value)) for value in numbers]


def test_every_output_is_shown_as_python_shows_it(functions, tmp_path):
    kind = every_model()[1]
    printed = PrintedModel(kind, functions)
    names = sorted({v.name for variant in kind.variants for v in (*kind(variant).outputs, *kind(variant).inputs)})
    names = [name for name in names if variable_of(name).domain.kind != "boolean"]
    values = [float(len(variable_of(name).domain.labels) - 1 if variable_of(name).domain.labels else 3 + 7 * place)
              for place, name in enumerate(names)]  # fmt: skip
    driver = """
    const given = JSON.parse(require("fs").readFileSync(process.argv[2]));
    console.log(JSON.stringify(given.map(([name, value]) => asText(DATA.variables[name], value))));
    """
    (tmp_path / "given.json").write_text(json.dumps([*zip(names, values, strict=True)]))
    whole = data_script(model_data(kind, printed)) + script(printed) + driver
    found = json.loads(run(whole, tmp_path, tmp_path / "given.json"))
    assert found == [as_text(variable_of(name), value) for name, value in zip(names, values, strict=True)]


@pytest.mark.parametrize("kind", rest_long(filter(recipe_argument, every_model()), quick=1), ids=lambda k: k.__name__)
def test_a_published_run_is_typed_as_its_recipe_gives_it(kind, functions, tmp_path):
    printed = PrintedModel(kind, functions)
    data = model_data(kind, printed)
    assert data["recipes"]
    jobs = [(recipe["variant"], recipe["typed"]) for recipe in data["recipes"].values()]
    (tmp_path / "jobs.json").write_text(json.dumps(jobs))
    answers = json.loads(run(data_script(data) + script(printed) + DRIVER, tmp_path, tmp_path / "jobs.json"))
    for (key, recipe), answer in zip(data["recipes"].items(), answers, strict=True):
        try:
            wanted = bind(kind(recipe["variant"]), {recipe_argument(kind): key}).values
        except MlsysimError:
            assert answer["refusal"], key
            continue
        assert not answer["refusal"], key
        assert answer["values"] == pytest.approx(wanted, rel=1e-15, abs=0), key


BASIS = """
const jobs = JSON.parse(require("fs").readFileSync(process.argv[2]));
console.log(JSON.stringify(jobs.map(([variant, typed]) => {
  const bind = bound(DATA, variant, typed);
  return basis(DATA, variant, typed, bind, evaluated(DATA, variant, bind));
})));
"""


@pytest.mark.long(quick=1)
@pytest.mark.parametrize("kind", rest_long(every_model(), quick=4), ids=lambda kind: kind.__name__)
def test_a_page_says_on_what_its_answer_rests_as_the_command_line_does(kind, functions, tmp_path):
    printed = PrintedModel(kind, functions)
    data = model_data(kind, printed)
    example = {name: value for name, value in kind.example.items() if name not in ("variant", recipe_argument(kind))}
    shares = [name for each in data["variants"].values() for name in each["basis"]["shares"]][:1]
    jobs, wanted = [], []
    for variant in printed.variants:
        for changed in (
            {},
            {"stack": "TensorRT_LLM_H100"},
            {"stack": "NCCL_A100"},
            {"hardware": "MI300X"},
            dict.fromkeys(shares, 0.5),
        ):
            given = {**example, **changed}
            try:
                found = kind(variant).solve(**given)
                answer = of_result(found, numbers(found.model, ()))  # a page says the error of the answer alone
            except MlsysimError:
                continue
            jobs.append((variant, {name: str(value) for name, value in given.items()}))
            ((_, stack), (_, error)) = answer.lines()
            wanted.append((stack, error.partition(": ")[2]))
    (tmp_path / "jobs.json").write_text(json.dumps(jobs))
    answers = json.loads(run(data_script(data) + script(printed) + BASIS, tmp_path, tmp_path / "jobs.json"))
    for job, answer, (stack, error) in zip(jobs, answers, wanted, strict=True):
        assert answer["stack"] == stack, job
        assert answer["error"] == re.sub(r"none measured .*", "none measured", error), job
