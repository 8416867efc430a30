"""Whatever is typed into a model, only documented errors come out, and no number that is none."""

import math
from decimal import Decimal

import numpy as np
import pint
import pytest
from fuzz import fuzzing, tries
from hypothesis import event, given
from hypothesis import strategies as st
from study.points import POINTS as EVERY_POINT

from mlsysim import (
    Q_,
    Accelerator,
    Hardware,
    Models,
    MoERoutingModel,
    ParameterCountModel,
    ServingCapacityModel,
    SparseTransformerWorkload,
    Systems,
    TrainingMemoryModel,
    TransformerWorkload,
    units,
)
from mlsysim.catalog import Value, builtin
from mlsysim.errors import MlsysimError, UndefinedError
from mlsysim.models import every_model

MEMORY, SERVING, ROUTING = TrainingMemoryModel(), ServingCapacityModel(), MoERoutingModel()
KORTHIKANTI, PER_OPERATOR = TrainingMemoryModel("korthikanti"), TrainingMemoryModel("per_operator")
PER_LAYER, COUNT = MoERoutingModel("per_layer"), ParameterCountModel()
POINTS = {
    MEMORY: {"model": "Mixtral_8x7B", "hardware": "H100", "batch_size": 8},
    SERVING: {"model": "Llama3_8B", "hardware": "H100", "qps": 20, "target_p99_latency_ms": 4000},
    ROUTING: {"model": "Mixtral_8x7B", "fleet": "Research_256", "batch_size": 4, "ep_size": 8},
    KORTHIKANTI: {"model": "GPT3_175B", "hardware": "A100", "batch_size": 64, "tp_size": 8, "pp_size": 8},
    PER_OPERATOR: {"model": "Mixtral_8x7B", "hardware": "H100", "batch_size": 8, "dp_size": 8, "ep_size": 2},
    PER_LAYER: {"model": "DeepSeek_V3", "fleet": "Research_256", "batch_size": 64, "ep_size": 64},
    COUNT: {"model": "DeepSeek_V3"},
}
#: An output of each variant that is not the first of its model.
OTHERS = {
    KORTHIKANTI: "total_memory",
    PER_OPERATOR: "total_memory",
    PER_LAYER: "token_dispatch_bytes",
    COUNT: "parameters",
}
other = pytest.mark.parametrize("model", OTHERS, ids=[model.variant for model in OTHERS])
#: Infinite where nothing is served, no replica count helps, or the queue grows without bound.
MAY_BE_INFINITE = {
    "ttft",
    "decode_step_time",
    "itl",
    "base_request_latency",
    "offered_load",
    "required_replicas",
    "utilization",
    "queue_wait_p99",
    "estimated_p99_latency",
    # What a fleet draws of which no number is enough.
    "accelerators",
    "average_power",
    "energy",
    "energy_per_token",
    "energy_per_request",
    "operational_carbon",
    "embodied_carbon",
    "carbon",
    "site_water_use",
    "grid_water_use",
    "water",
}
FOREIGN = pint.UnitRegistry()


class Odd:
    """An object of no use, whose repr fails."""

    def __repr__(self):
        raise RuntimeError("no")


OF_NO_USE = st.one_of(
    st.none(),
    st.booleans(),
    st.binary(max_size=8),
    st.complex_numbers(),
    st.decimals(),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
    st.builds(object),
    st.builds(Odd),
    st.sampled_from([Decimal, float, print, math, Ellipsis, NotImplemented]),
    st.sampled_from([np.datetime64("2024-01-01"), np.array("x"), np.array(True), np.array([[1]]), np.bool_(False)]),
    st.sampled_from([Hardware, Hardware.Cloud, Hardware.Cloud.H100, Models.Language.Llama3_8B, Systems.Nodes.DGX_H100]),
    st.builds(lambda: (i for i in range(3))),
)
NUMBERS = st.one_of(
    st.integers(),
    st.integers(-3, 70),
    st.floats(),
    st.floats(1e-30, 1e30),
    st.fractions(),
    st.sampled_from([0, -0.0, math.nan, math.inf, -math.inf, 2**53, 2**53 + 1, 10**400, 1e308, 5e-324, 1e30, 1e-30]),
    st.floats(width=32).map(np.float32),
    st.integers(0, 200).map(np.int16),
    st.integers(1, 64).map(np.array),
)
UNIT_NAMES = ("GB", "GiB", "s", "ms", "GB/s", "TFLOP/s", "token", "request", "QPS", "count", "%", "", "USD", "kB/token")
QUANTITIES = st.one_of(
    st.builds(Q_, st.one_of(st.integers(1, 100), st.floats(), st.fractions()), st.sampled_from(UNIT_NAMES)),
    st.builds(FOREIGN.Quantity, st.floats(), st.sampled_from(["GB", "s", "meter", "degC", ""])),
    st.lists(st.floats(), max_size=3).map(lambda values: Q_(np.array(values), "GB")),
)
TEXTS = st.one_of(
    st.text(max_size=8),
    st.text("0123456789eE+-*/^. ()[]{}GBsµ%;#,_", max_size=10),
    st.builds("{} {}".format, st.one_of(st.integers(), st.floats()), st.sampled_from(UNIT_NAMES)),
    st.sampled_from(["fp16", "int4", "fp8", "adam", "none", "full", "H100", "A100", "Llama3_8B", "Mixtral_8x7B"]),
    st.sampled_from(
        ["DeepSeek_V3", "GPT3_175B", "Research_256", "Cloud.H100", "9**9**9", "80,5 GB", "nan", "1e999 GB"]
    ),
)
LISTS = st.one_of(
    st.lists(st.one_of(NUMBERS, TEXTS, OF_NO_USE), max_size=3),
    st.lists(NUMBERS, max_size=3).map(tuple),
    st.sets(st.integers(1, 8), max_size=3),
    st.builds(range, st.integers(-2, 4), st.integers(-2, 8)),
    st.lists(st.floats(), max_size=3).map(np.array),
)
ANYTHING = st.one_of(NUMBERS, TEXTS, QUANTITIES, LISTS, OF_NO_USE)
SCALARS = st.one_of(NUMBERS, TEXTS, QUANTITIES, OF_NO_USE)


@st.composite
def arguments(draw, model, values=ANYTHING):
    """The good point of a model with one to four arguments replaced, now and then one of an unknown name."""
    names = st.one_of(st.sampled_from(sorted(model.arguments)), st.text("abcdefg_", min_size=1, max_size=6))
    return {**POINTS[model], **draw(st.dictionaries(names, values, min_size=1, max_size=4))}


def check_result(result):
    """Every number is finite or of those that may be infinite, and the result can speak."""
    for name in (*result.inputs, *result.outputs):
        value = result.canonical(name)
        assert not math.isnan(value), name
        assert math.isfinite(value) or name in MAY_BE_INFINITE, name
        assert value >= 0 or name == "memory_margin", name
    assert result.explain().steps()
    assert str(result.explain())
    assert result.to_json()
    assert result.latex()
    assert result._repr_html_()
    assert repr(result)


def attempt(call):
    """What a call returns, or None where it refuses as documented; a formula of ours has a value everywhere."""
    try:
        found = call()
    except UndefinedError:
        raise
    except MlsysimError as error:
        event(type(error).__name__)
        refusal = str(error)
    else:
        event("an answer")
        return found
    assert refusal
    assert "\n" not in refusal or "array(" in refusal
    return None


def fuzz_solve(model, examples):
    @fuzzing(examples)
    @given(arguments(model, SCALARS))
    def check(typed):
        found = attempt(lambda: model.solve(**typed))
        if found is not None:
            check_result(found)

    check()


def test_solve_of_the_memory_model():
    fuzz_solve(MEMORY, 400)


def test_solve_of_the_serving_model():
    fuzz_solve(SERVING, 400)


def test_solve_of_the_routing_model():
    fuzz_solve(ROUTING, 300)


@other
def test_solve_of_the_other_variants(model):
    fuzz_solve(model, 150)


def sizes(model):
    """Valid and nearly valid values of every argument, over all magnitudes: mostly answers, some extreme."""
    whole = st.one_of(st.integers(1, 100), st.integers(1, 2**53 - 1), st.sampled_from([1, 2, 4, 8, 2**52]))
    real = st.one_of(st.floats(1e-3, 1e3), st.floats(1e-30, 1e30), st.just(0.0))
    labels = {
        "precision": st.sampled_from(["fp32", "fp16", "fp8", "int8", "int4"]),
        "optimizer": st.sampled_from(["adam", "sgd", "none"]),
        "activation_checkpointing": st.sampled_from(["none", "full"]),
    }
    pools = {}
    for name, variable in model.arguments.items():
        if variable is None:
            continue
        usual = st.booleans() if variable.domain.is_flag else whole if variable.domain.kind == "integer" else real
        if variable.domain.labels:
            usual = st.sampled_from(variable.domain.labels)
        pools[name] = labels.get(name, usual)
    return st.lists(st.sampled_from(sorted(pools)), min_size=1, max_size=8, unique=True).flatmap(
        lambda names: st.fixed_dictionaries({name: pools[name] for name in names})
    )


def fuzz_sizes(model, examples):
    answers = []

    @fuzzing(examples)
    @given(sizes(model))
    def check(typed):
        found = attempt(lambda: model.solve(**{**POINTS[model], **typed}))
        if found is not None:
            answers.append(found)
            check_result(found)

    check()
    assert len(answers) > tries(examples) / 20


def test_extreme_sizes_of_the_memory_model():
    fuzz_sizes(MEMORY, 120)


def test_extreme_sizes_of_the_serving_model():
    fuzz_sizes(SERVING, 150)


def test_extreme_sizes_of_the_routing_model():
    fuzz_sizes(ROUTING, 100)


@pytest.mark.long
@other
def test_extreme_sizes_of_the_other_variants(model):
    fuzz_sizes(model, 40)


def edges(model):
    """Values at the ends of every domain and far from them: where rates are zero and nothing fits."""
    pools = {}
    for name, variable in model.arguments.items():
        domain = None if variable is None else variable.domain
        if domain is None:
            continue
        if domain.labels:
            pools[name] = st.sampled_from(domain.labels)
            continue
        ends = [] if domain.open_lower else [domain.lower]
        around = [*ends, domain.upper, 0, 1, 2, 64, 1e-3, 0.5, 1e6]
        inside = [value for value in around if math.isfinite(value) and domain.lower <= value <= domain.upper]
        whole = domain.kind in ("integer", "boolean")
        pools[name] = st.sampled_from([int(v) for v in inside if v == int(v)] if whole else inside)
    return st.dictionaries(st.sampled_from(sorted(pools)), st.none(), min_size=1, max_size=6).flatmap(
        lambda names: st.fixed_dictionaries({name: pools[name] for name in names})
    )


@pytest.mark.long(quick=2)
@pytest.mark.parametrize(("kind", "variant"), EVERY_POINT, ids=str)
def test_no_model_gives_what_is_no_number(kind, variant):
    """Not for any output, wherever the point lies in the domains."""
    model = next(each for each in every_model() if each.__name__ == kind)(variant)

    @fuzzing(240, quick=4 if "chunked" in variant else 8)
    @given(edges(model))
    def check(typed):
        found = attempt(lambda: model.solve(**{**EVERY_POINT[kind, variant], **typed}))
        if found is not None:
            assert not [name for name in found.outputs if math.isnan(found.canonical(name))], typed

    check()


@other
def test_sweep_and_sensitivity_of_the_other_variants(model):
    @fuzzing(25)
    @given(arguments(model))
    def check(typed):
        found = attempt(lambda: model.sweep(**{**typed, "outputs": OTHERS[model]}))
        if found is not None:
            assert np.isfinite(found[OTHERS[model]].values).all()
        found = attempt(lambda: model.sensitivity(OTHERS[model], **typed))
        assert found is None or "nan" not in repr(found)

    check()


@fuzzing(150)
@given(st.data())
def test_sweep(data):
    model = data.draw(st.sampled_from([MEMORY, ROUTING]))
    typed = data.draw(arguments(model))
    outputs = data.draw(st.one_of(st.none(), st.just("weights"), st.lists(st.text(max_size=3), max_size=2), SCALARS))
    found = attempt(lambda: model.sweep(**{**typed, "outputs": outputs}))
    if found is not None:
        for name, values in found.data_vars.items():
            assert np.isfinite(values.values.astype(float)).all(), name


def test_sweep_of_the_serving_model():
    @fuzzing(40)
    @given(arguments(SERVING, st.one_of(LISTS, SCALARS)))
    def check(typed):
        found = attempt(lambda: SERVING.sweep(**{**typed, "outputs": ["estimated_p99_latency", "utilization"]}))
        if found is not None:
            assert not np.isnan(found.estimated_p99_latency).any()

    check()


@fuzzing(200)
@given(st.data())
def test_sensitivity(data):
    model = data.draw(st.sampled_from([MEMORY, ROUTING]))
    names = st.sampled_from([v.name for v in model.outputs])
    output = data.draw(st.one_of(names, names, SCALARS))
    found = attempt(lambda: model.sensitivity(output, **data.draw(arguments(model, SCALARS))))
    if found is not None:
        assert repr(found)
        for row in found:
            assert row.elasticity is None or math.isfinite(row.elasticity)
            assert row.gradient is None or math.isfinite(row.gradient.magnitude)


@fuzzing(60)
@given(sizes(SERVING))
def test_sensitivity_of_the_serving_model(typed):
    found = attempt(lambda: SERVING.sensitivity("estimated_p99_latency", **{**POINTS[SERVING], **typed}))
    if found is not None:
        assert "nan" not in repr(found)


@fuzzing(200)
@given(st.data())
def test_function(data):
    model = data.draw(st.sampled_from(list(POINTS)))
    names = st.sampled_from([v.name for v in model.outputs])
    outputs = data.draw(st.one_of(names, st.lists(names, max_size=3), ANYTHING))
    found = attempt(lambda: model.function(outputs, **data.draw(arguments(model, SCALARS))))
    if found is not None:
        assert all(math.isfinite(value) for value in found.inputs.values())
        attempt(
            lambda: found(data.draw(st.one_of(SCALARS, st.dictionaries(st.text(max_size=3), st.floats(), min_size=1))))
        )


@fuzzing(300)
@given(st.data())
def test_derivative(data):
    model = data.draw(st.sampled_from(list(POINTS)))
    names = st.sampled_from([v.name for v in (*model.outputs, *model.inputs)])
    output, by = data.draw(st.one_of(names, names, ANYTHING)), data.draw(st.one_of(names, names, ANYTHING))
    found = attempt(lambda: model.derivative(output, by, relax=data.draw(st.booleans())))
    if found is not None:
        assert found.text()
        assert found.latex()
        slope = attempt(lambda: found.at(**POINTS[model]))
        assert math.isfinite(slope.magnitude)


@fuzzing(150)
@given(st.data())
def test_names_asked_of_models_and_results(data):
    model = data.draw(st.sampled_from(list(POINTS)))
    result = model.solve(**POINTS[model])
    name = data.draw(st.one_of(ANYTHING, st.sampled_from(["_", "_private", "__len__"])))
    for ask in (
        lambda: result[name],
        lambda: result.source(name),
        lambda: result.canonical(name),
        lambda: result.explain(name),
        lambda: model.output(name),
        lambda: model.source_code(name),
        lambda: type(model)(name),
        lambda: model.latex(name),
    ):
        attempt(ask)


@fuzzing(100)
@given(ANYTHING)
def test_names_asked_of_the_catalog(name):
    for ask in (
        lambda: Hardware[name],
        lambda: Models.Language[name],
        lambda: builtin().find("hardware", name),
        lambda: builtin().entry(name),
    ):
        attempt(ask)


@fuzzing(400)
@given(st.one_of(TEXTS, st.text(max_size=30), st.text("0123456789.eE+-*/^ ()GBkMTinsfµ%²", max_size=30)))
def test_texts_with_units(text):
    found = attempt(lambda: units.parsed(text))
    if found is not None:
        assert isinstance(found.magnitude, int | float)
        assert math.isfinite(found.to_base_units().magnitude) or "inf" in text or "nan" in text or "e" in text.lower()


@fuzzing(400)
@given(st.one_of(st.text(max_size=12), st.text("GBkMTins/*^ 12.-²³µ%tokenrequest", max_size=20)))
def test_names_of_units(text):
    found = attempt(lambda: units.unit(text))
    if found is not None:
        assert units.factor(text) > 0


FIELDS = {
    Accelerator: {"name": "x", "memory_capacity": 80, "memory_bandwidth": 3000, "peak_flops": {"fp16": 900}},
    TransformerWorkload: {"name": "x", "parameters": 1e9, "layers": 16, "hidden_dim": 2048, "heads": 16},
    SparseTransformerWorkload: {
        "name": "x",
        "parameters": 1e9,
        "layers": 16,
        "hidden_dim": 2048,
        "heads": 16,
        "active_parameters": 1e8,
        "experts": 8,
        "active_experts_per_token": 2,
    },
    Value: {"value": 80, "unit": "GB", "source": "https://example.org", "date": "2024-01", "kind": "paper"},
}


@fuzzing(400)
@given(st.data())
def test_entries_built_by_hand(data):
    """Construction refuses, or what it lets through a model answers or refuses."""
    kind = data.draw(st.sampled_from(list(FIELDS)))
    names = st.one_of(st.sampled_from(sorted(kind.model_fields)), st.text("abc", min_size=1, max_size=3))
    fields = {**FIELDS[kind], **data.draw(st.dictionaries(names, ANYTHING, min_size=1, max_size=3))}
    built = attempt(lambda: kind(**fields))
    if built is None or kind is Value:
        return
    slot = "hardware" if kind is Accelerator else "model"
    for model in (MEMORY, SERVING, *([ROUTING] if kind is SparseTransformerWorkload else [])):
        found = attempt(lambda model=model: model.solve(**{**POINTS[model], "precision": "fp16", slot: built}))
        if found is not None:
            check_result(found)


@fuzzing(300)
@given(ANYTHING, st.sampled_from(UNIT_NAMES))
def test_values_of_the_caller(given_, unit):
    found = attempt(lambda: Value.of(given_, unit))
    if found is not None:
        assert math.isfinite(found.value)
