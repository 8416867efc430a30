"""What ``help()`` and an editor show of every model: names, defaults, units, order."""

import inspect

import pytest

from mlsysim import (
    MoERoutingModel,
    PerformanceModel,
    ServingCapacityModel,
    TrainingMemoryModel,
)

REQUIRED = inspect.Parameter.empty
MODEL_SHAPE = dict.fromkeys(("parameters", "layers", "hidden_dim", "heads"))

EXPECTED = {
    TrainingMemoryModel: (
        {"model": None, "hardware": None},
        {
            "batch_size": REQUIRED,
            "seq_len": 2048,
            "precision": "fp16",
            "optimizer": "adam",
            "activation_checkpointing": "selective",
            "zero_stage": 0,
            "dp_size": 1,
            "tp_size": 1,
            "pp_size": 1,
            "ep_size": 1,
            "gradient_accumulation_steps": 1,
            "trainable_fraction": 1.0,
            "communication_buffer_fraction": 0.05,
            **MODEL_SHAPE,
            "experts": None,
            "memory_capacity": None,
        },
    ),
    ServingCapacityModel: (
        {"model": None, "hardware": None},
        {
            "qps": REQUIRED,
            "target_p99_latency_ms": REQUIRED,
            "seq_len": 2048,
            "output_tokens": 128,
            "max_batch_size": 32,
            "precision": "fp16",
            "efficiency": 0.5,
            "max_replicas": 1024,
            "service_time_cv": 1.0,
            "kv_page_size": 16,
            "dispatch_tax": 0.01,
            "layer_tax": 0.01,
            **MODEL_SHAPE,
            "kv_heads": None,
            "kv_lora_rank": 0,
            "qk_rope_head_dim": 0,
            "memory_capacity": None,
            "memory_bandwidth": None,
            "peak_flops": None,
        },
    ),
    MoERoutingModel: (
        {"model": None, "fleet": None},
        {
            "batch_size": REQUIRED,
            "seq_len": 2048,
            "precision": "fp16",
            "ep_size": 1,
            "routing_imbalance_factor": 1.0,
            "active_parameters": None,
            "hidden_dim": None,
            "experts": None,
            "active_experts_per_token": None,
            "fabric_bandwidth": None,
            "fabric_latency": None,
            "oversubscription": 1,
        },
    ),
}
FIRST = {"solve": [], "sweep": [], "sensitivity": ["output"], "function": ["outputs"]}
VERBS = [(model, verb) for model in EXPECTED for verb in FIRST]
UNITS = {
    "seq_len": "token",
    "memory_capacity": "GB",
    "memory_bandwidth": "GB/s",
    "peak_flops": "TFLOP/s",
    "qps": "QPS",
    "target_p99_latency_ms": "ms",
    "output_tokens": "token",
    "max_batch_size": "request",
    "kv_page_size": "token",
    "dispatch_tax": "ms",
    "layer_tax": "ms",
    "fabric_bandwidth": "GB/s",
    "fabric_latency": "µs",
}


def parameters(model, verb):
    return inspect.signature(getattr(model(), verb)).parameters


@pytest.mark.parametrize(("model", "verb"), VERBS)
def test_entries_come_first_then_keywords_in_order(model, verb):
    entries, keywords = EXPECTED[model]
    extra = ["outputs", "refused"] if verb == "sweep" else []
    assert list(parameters(model, verb)) == [*FIRST[verb], *entries, *extra, *keywords]


@pytest.mark.parametrize(("model", "verb"), VERBS)
def test_defaults(model, verb):
    entries, keywords = EXPECTED[model]
    found = {name: p.default for name, p in parameters(model, verb).items() if name in {**entries, **keywords}}
    assert found == {**entries, **keywords}


@pytest.mark.parametrize(("model", "verb"), VERBS)
def test_only_catalog_entries_may_be_given_without_a_name(model, verb):
    found = parameters(model, verb)
    places = {p.name for p in found.values() if p.kind is p.POSITIONAL_OR_KEYWORD}
    assert places == {*FIRST[verb], *EXPECTED[model][0]}
    assert all(p.kind is p.KEYWORD_ONLY for name, p in found.items() if name not in places)


@pytest.mark.parametrize("model", EXPECTED)
def test_the_signature_of_the_class_has_self(model):
    assert next(iter(inspect.signature(model.solve).parameters)) == "self"


@pytest.mark.parametrize("model", EXPECTED)
def test_annotations_give_domain_and_unit(model):
    found = parameters(model, "solve")
    for name in EXPECTED[model][1]:
        unit = f" [{UNITS[name]}]" if name in UNITS else ""
        assert found[name].annotation == model.arguments[name].domain.describe() + unit


def test_annotations_of_a_few_arguments_in_full():
    found = parameters(TrainingMemoryModel, "solve")
    assert found["model"].annotation == "TransformerWorkload"
    assert found["hardware"].annotation == "Accelerator"
    assert found["batch_size"].annotation == "a whole number >= 1"
    assert found["seq_len"].annotation == "a whole number >= 1 [token]"
    assert found["optimizer"].annotation == "one of adam, adamw, sgd, none"
    assert found["trainable_fraction"].annotation == "a finite number >= 0 and <= 1"
    assert found["memory_capacity"].annotation == "a finite number > 0 [GB]"


@pytest.mark.parametrize(("model", "verb"), VERBS)
def test_help_describes_every_argument_with_its_default(model, verb):
    lines = inspect.getdoc(getattr(model, verb)).splitlines()
    entries, keywords = EXPECTED[model]
    for name in entries:
        assert any(line.startswith(f"{name} : ") and line.endswith(" or str, optional") for line in lines)
    for name, default in keywords.items():
        start = next(place for place, line in enumerate(lines) if line.startswith(f"{name} : "))
        annotation = f"{name} : {parameters(model, verb)[name].annotation}"
        if default is REQUIRED:
            assert lines[start] == annotation
        elif name in model.keywords:
            assert lines[start] == f"{annotation}, default {default!r}"
        else:
            slots = [slot for slot, gives in model.slots.items() if name in gives.provides]
            assert lines[start] == f"{annotation}, default from {' or '.join(slots)}"
        assert lines[start + 1] == f"    {model.arguments[name].description}"


@pytest.mark.parametrize("model", EXPECTED)
def test_help_of_the_class_starts_with_one_sentence(model):
    assert inspect.getdoc(model).splitlines()[0].endswith(".")


@pytest.mark.parametrize(("model", "verb"), VERBS)
def test_verbs_carry_their_own_names(model, verb):
    method = getattr(model, verb)
    assert method.__name__ == verb
    assert method.__qualname__ == f"{model.__name__}.{verb}"
    assert method.__module__ == model.__module__


@pytest.mark.parametrize("model", EXPECTED)
def test_a_model_names_its_parts(model):
    found = model()
    assert isinstance(found, PerformanceModel)
    assert repr(found) == f"{model.__name__}(variant='first_order')"
    defined = [formula.name for formula in found.formulas]
    assert len(set(defined)) == len(defined)
    assert [v.name for v in found.outputs][: len(model.headline)] == list(model.headline)
    assert {v.name for v in found.outputs} == set(defined)
    assert {v.name for v in found.inputs} <= set(model.arguments)
    assert not {v.name for v in found.inputs} & set(defined)


@pytest.mark.parametrize("model", EXPECTED)
def test_formulas_stand_after_what_they_need(model):
    seen = {v.name for v in model().inputs}
    for formula in model().formulas:
        assert {v.name for v in formula.inputs} <= seen
        seen.add(formula.name)
