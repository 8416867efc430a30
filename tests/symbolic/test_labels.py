"""Short labels: made of names where those read well, given where they do not."""

import re

import pytest

import mlsysim.symbols
from mlsysim.errors import DuplicateError
from mlsysim.symbolic import variable, variable_of
from mlsysim.symbolic.labels import ABBREVIATIONS, from_name
from mlsysim.symbolic.variable import declaration_order

DECLARED = [set(map(str, vars(getattr(mlsysim.symbols, module)).values())) for module in mlsysim.symbols.__all__]
OURS = [name for names in DECLARED for name in declaration_order() if name in names]
#: Short parts of names that are words.
WORDS = {
    "all", "at", "away", "axes", "bare", "base", "best", "bias", "bit", "bulk", "bus", "busy", "by", "cap",
    "cast", "copy", "core", "cost", "cut", "down", "edge", "end", "even", "fail", "fill", "fit", "free", "full",
    "gain", "gap", "grid", "half", "head", "high", "hit", "host", "hot", "idle", "in", "is", "job", "kept",
    "key", "lag", "last", "link", "live", "load", "loop", "loss", "lost", "low", "mask", "max", "mean", "mesh",
    "near", "node", "norm", "of", "one", "only", "own", "pack", "pad", "page", "pair", "part", "pass", "peak",
    "per", "pod", "poll", "pool", "port", "rank", "rate", "read", "rest", "ring", "room", "row", "rows", "rule",
    "run", "save", "scan", "send", "sent", "site", "size", "slot", "step", "stop", "swap", "tail", "tax",
    "tied", "tile", "time", "to", "tree", "two", "unit", "up", "use", "used", "wait", "wall", "wide", "wire",
    "with", "work", "zipf",
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("dp_size", "Data-parallel size"),
        ("batch_size", "Batch size"),
        ("mfu", "Model FLOPs utilization"),
        ("ttft", "Time to first token"),
        ("kv_bytes_per_token", "KV bytes per token"),
        ("qps", "Arrival rate"),
        ("moe_layers", "MoE layers"),
        ("zero_stage", "ZeRO stage"),
        ("step_all_to_all_time", "Step all-to-all time"),
        ("target_p99_latency_ms", "Target P99 latency"),
        ("qk_nope_head_dim", "Unrotated head width"),
        ("total_memory", "Total memory"),
    ],
)
def test_a_label_is_read_as_people_say_it(name, label):
    assert variable_of(name).label == label


def test_no_label_of_ours_has_an_abbreviation_that_nobody_explained():
    assert len(OURS) > 300
    for name in OURS:
        entry = variable_of(name)
        assert re.fullmatch(r"[A-Z]\S*( \S+)*", entry.label), name
        assert len(entry.label) <= 45, name
        if entry.label == from_name(name):
            short = {part for part in name.split("_") if len(part) <= 4}
            assert short <= WORDS | set(ABBREVIATIONS), name


def test_two_variables_of_ours_never_share_a_label():
    labels = [variable_of(name).label for name in OURS]
    assert len(set(labels)) == len(set(OURS))


def test_ones_own_label_is_taken_and_belongs_to_the_declaration():
    symbol = variable("labelled_quantity", r"\lambda_{\mathrm{q}}", "count", "For tests.", label="My quantity")
    assert variable_of(symbol).label == "My quantity"
    space = {"__name__": "elsewhere", "variable": variable}
    with pytest.raises(DuplicateError, match="labelled_quantity"):
        exec(r"variable('labelled_quantity', r'\lambda_{\mathrm{q}}', 'count', 'For tests.')", space)
