"""Calculators say of an answer what Python says of it."""

import json

import pytest
from web.node import has_node, run

from mlsysim import IterationModel, MoERoutingModel, ServingModel, TrainingMemoryModel
from mlsysim.backends.javascript import Functions
from mlsysim.cli.words import typed_text
from mlsysim.study.results.infeasible import shortfall
from mlsysim.web.data import model_data
from mlsysim.web.formulas import PrintedModel
from mlsysim.web.pages import data_script, script

DRIVER = """
const [variant, typed] = JSON.parse(require("fs").readFileSync(process.argv[2]));
const bind = bound(DATA, variant, typed);
console.log(JSON.stringify(notes(DATA, variant, typed, evaluated(DATA, variant, bind))));
"""
LLAMA = {"model": "Llama3_8B", "hardware": "H100", "precision": "bf16"}


@pytest.mark.long(quick=1)
@pytest.mark.parametrize(
    ("model", "variant", "typed", "said"),
    [
        (TrainingMemoryModel, "first_order", {**LLAMA, "batch_size": "24", "seq_len": "16384", "dp_size": "8",
                                               "zero_stage": "3"},
         ["seq_len is 16,384 tokens", "per_operator, the measured variant: 3"]),
        (TrainingMemoryModel, "first_order", {**LLAMA, "batch_size": "8", "seq_len": "4096", "dp_size": "8",
                                               "zero_stage": "3"},
         ["per_operator, the measured variant: 44.28 GB, fits"]),
        (MoERoutingModel, "first_order", {n: str(v) for n, v in MoERoutingModel.example.items()},
         ["per_layer, the measured variant: 117.4 MB token"]),
        (TrainingMemoryModel, "per_operator", {**LLAMA, "batch_size": "8", "activation_checkpointing": "none"}, []),
        (IterationModel, "iteration", {**LLAMA, "tp_size": "16", "decode_requests": "8", "context_tokens": "20000",
                                       "fabric": "InfiniBand_NDR"},
         ["context_tokens is 20,000 tokens", "tensor parallelism over 16 ranks leaves a node of 8"]),
        (ServingModel, "colocated", {**LLAMA, "concurrency": "8", "request_rate": "2", "burstiness": "0.5"},
         ["request_rate, 2.00 request/s, is not used: concurrency", "burstiness, 0.500, is not used",
          "itl_p99, 6.77 ms, is below the mean time per token, 8.36 ms"]),
    ],
)  # fmt: skip
def test_the_notes_of_a_page_are_those_of_a_result(model, variant, typed, said, tmp_path):
    if reason := has_node():
        pytest.skip(reason)
    printed = PrintedModel(model, Functions())
    data = data_script(model_data(model, printed))
    (tmp_path / "job.json").write_text(json.dumps([variant, typed]))
    found = json.loads(run(data + script(printed) + DRIVER, tmp_path, tmp_path / "job.json"))
    assert [note[: len(start)] for note, start in zip(found, said, strict=True)] == said
    instance = model(variant)
    result = instance.solve(**{name: typed_text(instance.arguments[name], text) for name, text in typed.items()})
    # A page asks no other layouts: neither for one that fits, nor for what the one given saves.
    layouts = {result.obstacle, shortfall(result)}
    assert found == [note for note in result.notes if note not in layouts and " saves " not in note]
