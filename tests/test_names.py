"""Names and numbers as people type them: any case, other tools' words, and 2T, 70B and 2k where a count is meant."""

import re

import pytest

from mlsysim import (
    DistributedModel,
    IterationModel,
    KernelModel,
    MemoryExpansionModel,
    ServingModel,
    TrainingMemoryModel,
)
from mlsysim.catalog import builtin
from mlsysim.errors import InputError, UnitError, UnknownNameError
from mlsysim.models import every_model
from mlsysim.names import ELSEWHERE, SPELLINGS, VALUES, folded, known_as

POINT = {"model": "Llama3_8B", "hardware": "H100", "batch_size": 8}
MEMORY = TrainingMemoryModel()


@pytest.mark.parametrize(
    ("argument", "typed", "key"),
    [
        ("hardware", "h100", "H100"),
        ("hardware", "RTX 4090", "RTX_4090"),
        ("hardware", "rtx4090", "RTX_4090"),
        ("hardware", "H100-SXM5", "H100"),
        ("hardware", "nvidia h100 sxm5 80 gb", "H100"),
        ("model", "Llama-3.1-8B", "Llama3_1_8B"),
        ("model", "qwen3 0.6b", "Qwen3_0_6B"),
    ],
)
def test_entries_are_found_whatever_their_case(argument, typed, key):
    assert MEMORY.solve(**{**POINT, argument: typed}).entries[argument].key == key


@pytest.mark.parametrize(
    ("typed", "label"),
    [("FP8", "fp8"), ("bf-16", "bf16"), ("float16", "fp16"), ("BFloat16", "bf16"), ("GPTQ", "w4a16"),
     ("Fp8 DeepSeek", "fp8_deepseek")],
)  # fmt: skip
def test_labels_are_found_whatever_their_case(typed, label):
    assert MEMORY.solve(**POINT, precision=typed).precision == label
    grid = MEMORY.sweep(**{**POINT, "precision": [typed, "fp32"]}, outputs=["weights"])
    assert grid.precision.values.tolist() == [label, "fp32"]
    found = MEMORY.search(
        **{**POINT, "precision": [label, "fp32"]},
        minimize="weights",
        subject_to=f"precision == '{typed}'",
        allow_infeasible=True,
    )
    assert found.best.precision == label


@pytest.mark.parametrize(
    ("typed", "label"),
    [("FP8", "fp8"), ("BF16 ", "bf16"), ("bf-16", "bf16"), ("half", "fp16"), ("float16", "fp16"), ("bfloat16", "bf16")],
)
def test_a_precision_chooses_its_rate_whatever_its_case(typed, label):
    asked = {"model": "Llama3_1_8B", "hardware": "H100", "request_rate": 1}
    found, same = (ServingModel().solve(**asked, precision=each) for each in (typed, label))
    assert found.precision == label
    assert found.outputs == same.outputs
    product = {"hardware": "H100", "product_rows": 64, "product_columns": 4096, "product_inner": 4096}
    for model, point in ((KernelModel(), product), (IterationModel(), {**asked, "decode_requests": 1})):
        point = {name: value for name, value in point.items() if name in model.arguments}
        assert model.solve(**point, precision=typed).outputs == model.solve(**point, precision=label).outputs
    step = {"model": "Llama3_8B", "fleet": "Research_256", "batch_size": 1024}
    by_format = DistributedModel().solve(**step, compute_dtype=typed)
    assert by_format.outputs == DistributedModel().solve(**step, compute_dtype=label).outputs
    best = KernelModel().search(**{**product, "product_rows": [64, 128]}, precision=typed, minimize="kernel_time").best
    assert best.precision == label


def test_variants_are_found_whatever_their_case():
    assert TrainingMemoryModel("Per_Operator").variant == "per_operator"


@pytest.mark.parametrize("typed", ["Qwen3_17B", "A10 0", "DeepSpeedMoE_2_47B_MoE_128", "H1000"])
def test_digits_are_never_joined_or_parted(typed):
    with pytest.raises(UnknownNameError):
        MEMORY.solve(**{**POINT, "model" if "B" in typed else "hardware": typed})


def test_no_two_names_of_one_kind_are_typed_alike():
    """Else neither would be found but as it is written."""
    kinds = {slot.entry.what for model in every_model() for slot in model.slots.values()}
    shelf = builtin()
    for kind in kinds:
        names = [path.rpartition(".")[2] for path in shelf.paths() if shelf.entry(path).what == kind]
        assert len({folded(name) for name in names}) == len(names), kind
        assert all(known_as(name.swapcase(), names) == name for name in names)


def test_every_other_name_leads_somewhere():
    """Each name of the table is one of an argument, a label or an entry, and no alias hides one."""
    arguments = {name: v for model in every_model() for name, v in model.arguments.items()}
    labels = {label for v in arguments.values() if v is not None for label in v.domain.labels}
    entries = {path.rpartition(".")[2] for path in builtin().paths()}
    assert set(SPELLINGS.values()) | {name for names in ELSEWHERE.values() for name in names} <= {*arguments}
    assert set(VALUES.values()) <= labels | entries
    assert not {*map(folded, VALUES)} & {*map(folded, labels | entries)}


@pytest.mark.parametrize(
    ("model", "typed", "said"),
    [
        (MEMORY, "context_length", "did you mean seq_len?"),
        (MEMORY, "gpus", "did you mean dp_size, tp_size?"),
        (MEMORY, "num_layers", "did you mean layers?"),
        (MEMORY, "num_hidden_layers", "did you mean layers?"),
        (ServingModel(), "max_model_len", "did you mean isl, osl?"),
        (DistributedModel(), "gpus", "did you mean fleet_size, tp_size?"),
        (DistributedModel(), "mfu", "did you mean efficiency?; mfu is an output"),
        (DistributedModel(), "step_time", "step_time is an output"),
    ],
)
def test_an_argument_of_other_tools_is_pointed_to(model, typed, said):
    with pytest.raises(UnknownNameError, match=re.escape(said)):
        model.solve("Llama3_8B", "H100", **{typed: 8})


def test_a_memory_expansion_takes_a_design_and_no_hardware():
    for name in ("hardware", "gpu"):
        with pytest.raises(UnknownNameError, match=r"did you mean design\?"):
            MemoryExpansionModel().solve("Llama3_8B", **{name: "H100"})


def test_a_condition_points_to_what_other_tools_call_an_argument():
    for typed, meant in (("num_layers", "layers"), ("gpus", "dp_size, tp_size")):
        with pytest.raises(UnknownNameError, match=rf"did you mean {meant}\?"):
            MEMORY.search(**{**POINT, "batch_size": [1, 2]}, minimize="weights", subject_to=f"{typed} <= 3")


def test_a_precision_without_a_rate_names_those_with_weights_as_small():
    for typed in ("int4", "INT4"):
        with pytest.raises(InputError, match="with weights of 4 bits it can run w4a16, mxfp4"):
            ServingModel().solve("Llama3_1_70B", "H100", request_rate=1, precision=typed)
    with pytest.raises(InputError, match="with weights of 8 bits it can run int8"):
        ServingModel().solve("Llama3_1_70B", "A100", request_rate=1, precision="fp8")


@pytest.mark.parametrize(
    ("argument", "typed", "value"),
    [
        ("parameters", "70B", 70e9),
        ("parameters", "1.5T", 1.5e12),
        ("batch_size", "2k", 2000),
        ("seq_len", "4K", 4000),
        ("seq_len", "4k tokens", 4000),
        ("seq_len", "2_0k token", 20000),
    ],
)
def test_a_count_may_be_typed_in_thousands(argument, typed, value):
    assert MEMORY.solve(**{**POINT, argument: typed}).canonical(argument) == value
    grid = MEMORY.sweep(**{**POINT, argument: [typed, value + 1]}, outputs=["weights"])
    assert grid[argument].values.tolist() == [value, value + 1]


def test_tokens_and_requests_are_counts_and_so_are_those_of_a_rate():
    run = DistributedModel().solve("Llama3_8B", fleet="Research_256", batch_size=1024, training_tokens="15T")
    assert run.canonical("training_tokens") == 15e12
    asked = {"model": "Llama3_8B", "hardware": "H100"}
    assert ServingModel().solve(**asked, concurrency="2k requests").canonical("concurrency") == 2000
    for typed in ("1.5k", "1.5k request/s", "1.5k QPS"):
        assert ServingModel().solve(**asked, request_rate=typed).canonical("request_rate") == 1500
    with pytest.raises(InputError, match="unknown unit 'k'"):
        ServingModel().solve(**asked, request_rate=1, ttft_slo="2k")


@pytest.mark.parametrize(
    ("text", "most"),
    [("batch_size <= 1.5k", 1500), ("2K >= batch_size", 2000), ("batch_size <= 1.5B / 1M", 1500),
     ("batch_size <= parameters / 4M and parameters < 9B", 2007), ("batch_size * seq_len <= 4M", 1953)],
)  # fmt: skip
def test_an_expression_reads_counts_in_thousands(text, most):
    asked = {**POINT, "memory_capacity": "1 PB", "seq_len": 2048, "batch_size": [1, most, most + 10]}
    found = MEMORY.search(**asked, maximize="batch_size", subject_to=text)
    assert found.best.batch_size == most


@pytest.mark.parametrize(
    ("text", "said"),
    [("batch_size <= 70b", "bit is not a unit of count: did you mean 70B"), ("total_memory <= 80k", "needs a unit"),
     ("batch_size <= 3 GB", "GB is not a unit of count$")],
)  # fmt: skip
def test_an_expression_points_to_the_capital_of_a_count(text, said):
    with pytest.raises(UnitError, match=said.replace("bit", "b")):
        MEMORY.search(**{**POINT, "batch_size": [1, 2]}, minimize="weights", subject_to=text)


@pytest.mark.parametrize(("typed", "value"), [("70B", 70), ("70 B", 70), ("70 GB", 70e9)])
def test_a_byte_stays_a_byte(typed, value):
    assert MEMORY.solve(**POINT, memory_capacity=typed).canonical("memory_capacity") == value


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("2G", "unknown unit 'G'"),
        ("k", "no"),
        ("1.2345k", "nearest: 1234, 1235"),
        ("2k GB", "GB is not a unit"),
        ("70b", r"must be a whole number >= 1; did you mean 70B\?"),
        ("7 m", r"did you mean 7M\?"),
    ],
)
def test_what_is_no_count_is_refused(typed, said):
    with pytest.raises((InputError, UnitError), match=said):
        MEMORY.solve(**{**POINT, "batch_size": typed})
