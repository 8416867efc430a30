"""A stack calibrated on a published table: its rows, and rows it has not seen, are predicted as well as promised."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mlsysim import IterationModel

PAGE = json.loads((Path(__file__).parents[1] / "validation/engines.json").read_text(encoding="utf-8"))
TABLE = PAGE["trtllm_max_throughput"]
MODELS = {"Llama-3.1-8B": "Llama3_1_8B", "Llama-3.3-70B": "Llama3_3_70B"}
FREE = ["efficiency", "kv_read_efficiency", "layer_tax"]
HELD = {"precision": "w8a8", "gpu_memory_utilization": 1.0, "kv_memory_fraction": 0.95, "workspace_memory": "2 GB"}


def rows():
    """Forty rows of TensorRT-LLM's page: two dense models on H100 and H200, ten lengths each."""
    for title, column in TABLE["tables"].items():
        name, _, hardware, ranks = title.split()
        for lengths, tokens in zip(TABLE["io"], column, strict=True):
            prompt, answer = map(int, lengths.split("/"))
            given = {"model": MODELS.get(name), "hardware": hardware, "tp_size": int(ranks.removeprefix("TP"))}
            if name in MODELS:
                yield {**given, "seq_len": prompt, "output_tokens": answer, "output_tokens_per_second": tokens}


ROWS = list(rows())


def calibrated(places):
    """On so many of the rows, with the others."""
    found = IterationModel("saturated").calibrate(FREE, [ROWS[place] for place in places], **HELD)
    return found, found.predict([row for place, row in enumerate(ROWS) if place not in set(places)])


def test_24_rows_are_repeated_as_well_as_their_leave_one_out_error_says():
    found, others = calibrated([place for place in range(40) if place % 10 < 6])
    repeated, promised = found.residuals.errors, found.leave_one_out.errors
    assert len(found.residuals.ratios["output_tokens_per_second"]) == 24
    assert repeated.median <= promised.median < 0.05
    assert repeated.worst <= promised.worst < 0.10
    assert found.at_bound == {}
    assert found.unidentifiable == ()
    assert others.errors.worst < 0.15


@pytest.mark.long
def test_rows_left_out_at_random_are_predicted_as_leave_one_out_promises():
    """Of 40 rows 24 at random, thirty times: the root mean square of the other 16 over the one that was promised."""
    shares = []
    for seed in range(30):
        found, others = calibrated(np.random.default_rng(seed).choice(40, 24, replace=False).tolist())
        both = (each.ratios["output_tokens_per_second"] for each in (others, found.leave_one_out))
        seen, promised = (np.sqrt(np.mean(np.log(ratios) ** 2)) for ratios in both)
        shares.append(seen / promised)
    assert 0.9 < np.mean(shares) < 1.15
