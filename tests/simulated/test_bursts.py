"""Arrivals in bursts and arrivals more even than Poisson's, against the simulation of the same engines."""

import numpy as np
import pytest
from simulated.serving.load import fixed_or_log_normal, renewals, requests
from simulated.serving_settings import COLOCATED, DISAGGREGATED, capacity, engine_of

from mlsysim import ServingModel

COUNT = 150_000
#: Coefficients of variation of the times between requests.
GAPS = (0.5, 1.4, 2)
#: What the models take of a setting.
TAKEN = {"model", "hardware", "precision", "tp_size", "isl", "osl", "isl_cv", "osl_cv", "max_num_seqs",
         "prefill_workers", "decode_workers", "kv_transfer_bandwidth"}  # fmt: skip
SETTINGS = [
    each
    for each in (*COLOCATED, *DISAGGREGATED)
    if set(each.keywords) <= TAKEN and each.keywords["max_num_seqs"] == 256 and "isl=1024 osl=512" not in each.name
]
#: Prompts keep the engine busy for most of the time, by length and load; bursts then fill the slots.
CROWDED = {(1024, 64, 0.8), (2048, 64, 0.9), (4096, 128, 0.8), (8192, 16, 0.7)}
QUICK = [each for each in SETTINGS if each.load == 0.5][:3]


def crowded(setting):
    """Whether prompts keep an engine that also decodes busy for most of the time."""
    asked = setting.keywords
    return setting.variant == "colocated" and (asked["isl"], asked["osl"], setting.load) in CROWDED


@pytest.mark.long(quick=1)
@pytest.mark.parametrize(
    "setting", [pytest.param(each, marks=() if each in QUICK else pytest.mark.long, id=each.name) for each in SETTINGS]
)
def test_bursts_are_near_the_simulated_ones(setting):
    asked, limit, pools = setting.keywords, capacity(setting), setting.variant == "disaggregated"
    near = {"decode_batch": 0.03, "tpot_mean": 0.05, "ttft_mean": 0.07, "ttft_p99": 0.2, "e2e_mean": 0.05}
    if not pools:
        near = {"decode_batch": 0.1, "tpot_mean": 0.09, "ttft_mean": 0.04, "ttft_p99": 0.13, "e2e_mean": 0.1}
    for gaps in GAPS:
        rng = np.random.default_rng(11)
        arrival = renewals(setting.load * limit, gaps, COUNT, rng)
        lengths = (fixed_or_log_normal(asked[name], asked[f"{name}_cv"], COUNT, rng) for name in ("isl", "osl"))
        seen = engine_of(setting).run(requests(arrival, *lengths, seed=11)).outcome()
        # The drawn arrivals themselves are up to a percent off their rate.
        rate = COUNT / arrival[-1]
        found = ServingModel(setting.variant).solve(**asked, request_rate=rate, num_replicas=1, burstiness=gaps**-2)
        if crowded(setting) and gaps > 1:
            assert found.canonical("ttft_mean") == pytest.approx(seen.ttft_mean, rel=0.2), gaps
            continue
        for name, within in near.items():
            simulated = seen.batch_size if name == "decode_batch" else getattr(seen, name)
            assert found.canonical(name) == pytest.approx(simulated, rel=within), (gaps, name)
