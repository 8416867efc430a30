"""The public simulation against the one of the tests, which shares no code with it: the same requests, one by one."""

import numpy as np
import pytest
from simulated import serving_settings
from simulated.serving_settings import CHUNKED, COLOCATED, VARIED, Setting, drawn, engine_of

from mlsysim import ServingModel
from mlsysim.simulation import load as loads

#: Requests of a run, and as a share of the whole run how far two clocks may differ that add in another order.
COUNT, ROUNDING = 3000, 1e-6
#: Share of requests that may be a step apart.
MISSED = 0.01
WHOLE = [each for each in (*CHUNKED, *COLOCATED, *VARIED) if each.variant != "disaggregated"]
DRAFTED = [each for each in WHOLE if "num_speculative_tokens" in each.keywords]
OPEN = [each for each in WHOLE if each not in DRAFTED]


def trace_of(load):
    """Columns of the requests of the other simulation."""
    return {"arrival": load.arrival, "prompt_tokens": load.prompt, "output_tokens": load.answer}


def asked(setting):
    """Keywords that a trace does not say."""
    said = ("isl", "osl", "isl_cv", "osl_cv")
    return {name: value for name, value in setting.keywords.items() if name not in said}


@pytest.mark.parametrize("setting", OPEN, ids=lambda each: each.name)
def test_each_request_of_an_open_loop_is_served_at_the_same_times(setting):
    rate = setting.load * serving_settings.capacity(setting)
    load = drawn(setting, rate, 7, COUNT)
    theirs = engine_of(setting).run(load)
    found = ServingModel(setting.variant).simulate(**asked(setting), trace=trace_of(load), num_replicas=1)
    for mine, other in ((found.requests.first_token, theirs.first), (found.requests.finish, theirs.finish)):
        apart = np.abs(mine + load.arrival.min() - other)
        # One that comes as a step begins may just miss it here or there.
        assert np.mean(apart > ROUNDING * other.max()) < MISSED
        assert apart.mean() < MISSED * (other - load.arrival).mean()


@pytest.mark.parametrize("setting", DRAFTED, ids=lambda each: each.name)
def test_requests_with_drafts_take_as_long(setting, monkeypatch):
    load = drawn(setting, setting.load * serving_settings.capacity(setting), 7, COUNT)
    theirs = engine_of(setting).run(load, warm_up=0, cool_down=0)
    monkeypatch.setattr(loads, "drafted_steps", lambda *drawn: load.steps)
    found = ServingModel(setting.variant).simulate(**asked(setting), trace=trace_of(load), num_replicas=1)
    # The other one leaves out what attention computes for drafted tokens beside what it reads.
    for name in ("ttft", "tpot", "e2e"):
        assert found[f"{name}_mean"].to("s").magnitude == pytest.approx(np.mean(getattr(theirs, name)), rel=0.01)


@pytest.mark.parametrize("concurrency", [1, 8, 100])
@pytest.mark.parametrize("setting", [CHUNKED[1], CHUNKED[5], COLOCATED[2], COLOCATED[4]], ids=lambda each: each.name)
def test_each_request_of_a_closed_loop_is_served_at_the_same_times(setting, concurrency):
    load = drawn(setting, 0.0, 7, COUNT, concurrency)
    columns = {name: column for name, column in trace_of(load).items() if name != "arrival"}
    theirs = engine_of(setting).run(load)
    found = ServingModel(setting.variant).simulate(**asked(setting), trace=columns, concurrency=concurrency)
    assert np.sort(found.requests.finish) == pytest.approx(np.sort(theirs.finish), rel=ROUNDING)
    assert np.sort(found.requests.first_token) == pytest.approx(np.sort(theirs.first), rel=ROUNDING)


def test_requests_that_do_not_fit_are_preempted_alike():
    keywords = {**serving_settings.ENGINES["70B full"], "isl": 1024, "osl": 512, "isl_cv": 1, "osl_cv": 1}
    setting = Setting("chunked", 0.95, {**keywords, "max_num_seqs": 256, "max_num_batched_tokens": 2048})
    load = drawn(setting, serving_settings.capacity(setting), 3, COUNT)
    theirs = engine_of(setting).run(load, warm_up=0, cool_down=0)
    found = ServingModel("chunked").simulate(**asked(setting), trace=trace_of(load), num_replicas=1)
    assert theirs.totals.preemptions > 100
    assert found.preemptions == theirs.totals.preemptions
    assert found.ttft_mean.to("s").magnitude == pytest.approx(theirs.ttft.mean(), rel=1e-6)
    assert found.e2e_mean.to("s").magnitude == pytest.approx(theirs.e2e.mean(), rel=1e-6)
