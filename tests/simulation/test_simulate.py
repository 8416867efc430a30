"""The verb ``simulate``: what it answers, what it refuses, and what must hold of any run."""

import csv
import inspect
import json
import math
import pickle
import time

import numpy as np
import pytest

from mlsysim import ServingModel, TrainingMemoryModel
from mlsysim.errors import CatalogError, InfeasibleError, InputError, MissingInputError, UnknownNameError

ENGINE = {
    "model": "Llama3_3_70B",
    "hardware": "H100",
    "tp_size": 4,
    "precision": "w8a8",
    "stack": "TensorRT_LLM_H100",
}
LENGTHS = {"isl": 1024, "osl": 256}
ONE = {**ENGINE, **LENGTHS, "num_replicas": 1}


def ask(variant="colocated", **more):
    return ServingModel(variant).simulate(**{**ONE, **more})


def seconds(found, name):
    return found[name].to("s").magnitude


@pytest.mark.parametrize("variant", ["colocated", "chunked_estimate", "chunked"])
def test_the_law_holds_where_it_says_so(variant):
    rate = 3.0
    found = ask(variant, request_rate=rate, requests=20_000)
    law = ServingModel(variant).solve(**ONE, request_rate=rate)
    allowed = 0.06 if variant == "colocated" else 0.08
    assert seconds(found, "tpot_mean") == pytest.approx(law.canonical("tpot_mean"), rel=allowed)
    assert seconds(found, "ttft_mean") == pytest.approx(law.canonical("ttft_mean"), rel=0.1)
    assert found.decode_batch.magnitude == pytest.approx(law.canonical("decode_batch"), rel=allowed)
    assert found.requests_per_second.magnitude == pytest.approx(rate, rel=0.05)
    assert found.notes == ()
    assert found.step_error < 1e-12


def test_replicas_share_requests_at_random():
    one = ask(request_rate=4, requests=20_000)
    three = ask(request_rate=12, requests=60_000, num_replicas=3)
    assert seconds(three, "ttft_mean") == pytest.approx(seconds(one, "ttft_mean"), rel=0.05)
    assert three.tokens_per_second.magnitude == pytest.approx(3 * one.tokens_per_second.magnitude, rel=0.05)
    assert np.bincount(three.requests.replica).min() > 19_000


def test_as_many_replicas_as_solve_deploys_and_what_is_promised():
    promised = {"ttft_slo": "1 s", "tpot_slo": "50 ms"}
    law = ServingModel("colocated").solve(**ENGINE, **LENGTHS, request_rate=20, **promised)
    found = ServingModel("colocated").simulate(**ENGINE, **LENGTHS, request_rate=20, **promised)
    assert found.requests.replica.max() + 1 == law["deployed_replicas"]
    assert found.slo_attainment > 0.9
    assert "num_replicas is left out: 3, as solve says" in found.notes


def test_a_closed_loop_has_as_many_in_flight():
    found = ask(concurrency=16, requests=2000)
    table = found.requests
    for at in np.linspace(1, table.finish.max() * 0.9, 50):
        assert ((table.arrival <= at) & (at < table.finish)).sum() == 16
    # Little's law
    assert found.requests_per_second.magnitude * seconds(found, "e2e_mean") == pytest.approx(16, rel=0.02)


def test_rounds_of_a_benchmark_count_their_start():
    found = ask("chunked_estimate", concurrency=64, num_rounds=10, isl_cv=0.2, osl_cv=0.2)
    steady = ask("chunked_estimate", concurrency=64, requests=5000, isl_cv=0.2, osl_cv=0.2)
    assert len(found.requests.arrival) == 640
    assert (found.requests.arrival[:64] == 0).all()
    assert seconds(found, "ttft_mean") > 1.5 * seconds(steady, "ttft_mean")
    assert found.law.canonical("ttft_mean") == pytest.approx(seconds(found, "ttft_mean"), rel=0.03)


def test_bursts_wait_longer_under_every_variant():
    for variant in ("colocated", "chunked_estimate"):
        even = ask(variant, request_rate=6, requests=20_000)
        bursts = ask(variant, request_rate=6, requests=20_000, burstiness=0.25)
        assert seconds(bursts, "ttft_mean") > 1.2 * seconds(even, "ttft_mean")
    assert any("burstiness is 0.25" in note for note in bursts.notes)


def test_waits_grow_where_more_come_than_are_completed():
    found = ask(request_rate=50, requests=3000)
    assert any("waits grow by" in note for note in found.notes)


def test_the_same_seed_is_the_same_run_and_errors_are_those_of_seeds():
    again = [ask(request_rate=6, isl_cv=0.5, osl_cv=0.5, requests=4000, seed=seed) for seed in (1, 1, *range(2, 14))]
    assert (again[0].requests.finish == again[1].requests.finish).all()
    means = [seconds(each, "tpot_mean") for each in again[1:]]
    told = np.mean([each.standard_error("tpot_mean").to("s").magnitude for each in again[1:]])
    assert 0.4 < told / np.std(means, ddof=1) < 2.5


def test_a_trace_and_its_table(tmp_path):
    file = tmp_path / "trace.csv"
    file.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n0.5,100,4\n0,2000,1\n7,50,3\n")
    found = ServingModel("chunked_estimate").simulate(**ENGINE, num_replicas=1, trace=file)
    assert found.requests.prompt_tokens.tolist() == [2000, 100, 50]
    assert found.requests.arrival.tolist() == [0, 0.5, 7]
    assert math.isnan(found.requests.tpot[0])
    written = tmp_path / "requests.csv"
    found.to_csv(written)
    rows = list(csv.DictReader(written.read_text().splitlines()))
    assert [row["output_tokens"] for row in rows] == ["1", "4", "3"]
    assert float(rows[2]["ttft"]) == pytest.approx(float(rows[2]["first_token"]) - 7)
    assert rows[0]["tpot"] == ""
    plain = json.loads(found.to_json())
    assert plain["values"]["ttft_mean"]["unit"] == "ms"
    assert plain["values"]["ttft_mean"]["value"] == pytest.approx(found.ttft_mean.magnitude)
    assert f"from {file}" in plain["simulated"]


def test_a_long_prompt_is_cut_and_a_short_one_behind_it_waits():
    columns = {"arrival": [0, 0.001], "isl": [32_768, 16], "osl": [2, 2]}
    cut = ServingModel("chunked_estimate").simulate(**ENGINE, num_replicas=1, trace=columns)
    whole = ServingModel("colocated").simulate(**ENGINE, num_replicas=1, trace=columns)
    assert cut.requests.first_token[0] == pytest.approx(whole.requests.first_token[0], rel=0.1)
    assert (np.diff(cut.requests.first_token) >= 0).all()


def test_priorities_go_first():
    count = 200
    columns = {"isl": [1024] * count, "osl": [8] * count, "priority": [2.5, -1] * (count // 2)}
    found = ServingModel("colocated").simulate(**ENGINE, num_replicas=1, trace={**columns, "arrival": [0.0] * count})
    waits = found.requests.ttft
    first, last = found.requests.priority == 0, found.requests.priority == 1
    assert first.sum() == last.sum() == count // 2
    # All are there at once: each of the one kind is served before any of the other.
    assert waits[first].max() < waits[last].min()
    assert any("priority" in note for note in found.notes)


def test_requests_put_off_are_those_that_came_last_and_lose_nothing():
    small = {"model": "Llama3_1_70B", "hardware": "H100", "precision": "bf16", "tp_size": 2}
    found = ServingModel("chunked_estimate").simulate(
        **small, isl=1024, osl=512, request_rate=20, num_replicas=1, requests=500
    )
    table = found.requests
    assert found.preemptions > 0
    assert (table.finish > table.first_token).all()
    assert (table.first_token > table.arrival).all()
    assert table.preemptions[0] == 0
    assert any("preempted" in note for note in found.notes)


def test_turns_of_a_session_follow_each_other_and_find_what_was_said():
    found = ask("chunked_estimate", request_rate=1, requests=400, turns=4, think_time="2 s")
    table = found.requests
    for session in range(100):
        own = np.flatnonzero(table.session == session)
        assert table.arrival[own][1:] == pytest.approx(table.finish[own][:-1] + 2)
        assert len(own) == 4
        said = table.prompt_tokens[own][:-1] + table.output_tokens[own][:-1]
        assert table.cached_tokens[own].tolist() == [0, *said]
        assert table.prompt_tokens[own].tolist() == [1024, 2304, 3584, 4864]
    assert any("no sessions" in note for note in found.notes)


def test_what_was_said_is_forgotten_where_others_need_the_room():
    small = {"model": "Llama3_1_70B", "hardware": "H100", "precision": "bf16", "tp_size": 2}
    asked = {**small, "isl": 1024, "osl": 64, "num_replicas": 1, "request_rate": 2, "requests": 2000, "turns": 2}
    soon, late = (ServingModel("chunked_estimate").simulate(**asked, think_time=pause) for pause in (0.1, 60))
    assert soon.cached_share > 0.2 > 2 * late.cached_share


def test_sessions_of_a_trace():
    columns = {"arrival": [0, 0, 0.1, 0.1], "isl": [1000, 1000, 3000, 500], "osl": [50] * 4, "session": list("abac")}
    found = ServingModel("colocated").simulate(**ENGINE, num_replicas=1, trace=columns)
    table = found.requests
    turns = table.request == 2
    assert table.cached_tokens[turns] == 1050
    assert table.arrival[turns] == table.finish[table.request == 0]


def test_prefixes_and_windows():
    assert seconds(ask(request_rate=2, prefix_hit_rate=0.9, requests=2000), "ttft_mean") < 0.5 * seconds(
        ask(request_rate=2, requests=2000), "ttft_mean"
    )
    found = ServingModel("chunked_estimate").simulate(
        model="Gemma3_27B", hardware="H100", request_rate=1, num_replicas=1, requests=500
    )
    assert found.step_error < 1e-3


def test_stages_and_attention_ranks():
    for layout in ({"tp_size": 2, "pp_size": 2}, {"tp_size": 2, "dp_attention_size": 2}):
        found = ask(request_rate=2, requests=2000, **layout)
        law = ServingModel("colocated").solve(**{**ONE, **layout}, request_rate=2)
        assert found.step_error < 1e-9
        assert seconds(found, "tpot_mean") == pytest.approx(law.canonical("tpot_mean"), rel=0.12)
        assert found.notes == ("a prompt stops all stages and attention ranks here; in the law only its own",)


def test_drafted_tokens_are_the_mean_of_the_law():
    drafts = {"num_speculative_tokens": 3, "acceptance_rate": 0.7, "draft_cost": 0.05}
    for variant in ("colocated", "chunked_estimate"):
        found = ask(variant, request_rate=3, requests=5000, **drafts)
        law = ServingModel(variant).solve(**ONE, request_rate=3, **drafts)
        assert seconds(found, "tpot_mean") == pytest.approx(law.canonical("tpot_mean"), rel=0.06)
        assert seconds(found, "tpot_mean") < 0.6 * seconds(ask(variant, request_rate=3, requests=5000), "tpot_mean")
        assert found.step_error < 1e-9


def test_a_trace_in_bursts_says_what_the_chunked_law_takes():
    rng = np.random.default_rng(5)
    columns = {"arrival": np.cumsum(rng.gamma(0.2, 2, 2000)), "isl": [500] * 2000, "osl": [50] * 2000}
    found = ServingModel("chunked_estimate").simulate(**ENGINE, num_replicas=1, trace=columns)
    assert any("has Poisson's arrivals" in note for note in found.notes)
    assert not any("burstiness is" in note for note in ask(request_rate=1, requests=100).notes)


def test_a_trace_without_times_comes_at_a_rate_or_in_a_closed_loop():
    columns = {"isl": [500] * 400, "osl": [50] * 400}
    open_loop = ServingModel("colocated").simulate(**ENGINE, num_replicas=1, trace=columns, request_rate=2)
    assert "400 requests, from the table, 2 request/s, on 1 replica" in open_loop.describe()
    assert open_loop.requests.arrival[-1] == pytest.approx(200, rel=0.2)
    closed = ServingModel("colocated").simulate(**ENGINE, trace=columns, concurrency=8)
    assert "400 requests, from the table, 8 in flight, on 1 replica" in closed.describe()
    assert (closed.requests.arrival[:8] == 0).all()


def test_its_signature_is_that_of_solve_with_its_own_keywords_before():
    own = ["requests", "seed", "trace", "prompt_tokens", "output_tokens", "arrival", "arrival_unit", "session",
           "priority", "turns", "think_time", "warm_up"]  # fmt: skip
    theirs = [*inspect.signature(ServingModel.solve).parameters]
    entries = [*ServingModel.positional()]
    found = inspect.signature(ServingModel.simulate).parameters
    assert [*found] == ["self", *entries, *own, *theirs[1 + len(entries) :]]
    assert "request_rate : a finite number >= 0 [request/s], default 0.0" in inspect.getdoc(ServingModel.simulate)


def test_it_is_pickled_with_its_answers():
    found = ask(request_rate=3, requests=500)
    again = pickle.loads(pickle.dumps(found))
    assert again.text() == found.text()


def test_a_hundred_thousand_requests_take_less_than_a_fifth_of_a_second():
    took = []
    for seed in range(4):
        began = time.process_time()
        ask("chunked_estimate", request_rate=5, requests=100_000, seed=seed)
        took.append(time.process_time() - began)
    assert min(took) < 0.2


def test_text_names_its_values_errors_and_the_law():
    text = repr(ask(request_rate=3, requests=2000))
    assert "2,000 requests, 3 request/s, on 1 replica" in text
    assert [line.split()[0] for line in text.splitlines()[3:]] == [*ask(request_rate=3, requests=100)]
    assert "simulated" in text
    assert "law" in text


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"requests": 0}, "requests=0: must be a whole number from 1 to 10,000,000"),
        ({"seed": -1}, "seed=-1"),
        ({"turns": 1.5}, "turns=1.5"),
        ({"num_rounds": 3}, "num_rounds=3: is of a closed loop"),
        ({"num_rounds": 9_999_999, "concurrency": 2}, "must be a whole number from 0 to 5,000,000"),
        ({"think_time": "2 GB"}, "2 GB"),
        ({"think_time": 2}, "think_time=2: is of sessions; give turns"),
        ({"warm_up": 0.9}, "warm_up=0.9: must be a number from 0 to 0.5"),
        ({"arrival": "t"}, "arrival='t': is of a trace"),
        ({"prefix_cache_memory": "10 GB"}, "prefix_cache_memory='10 GB': must be 0"),
        ({"concurrency": 2, "num_replicas": 3}, "concurrency=2: must be at least 3"),
        ({"isl": 3_000_000}, "isl=3000000: a request of 3,000,000 . 256 tokens has no room"),
        ({"trace": 3}, "trace=3"),
        ({"trace": {"isl": [1], "osl": [2]}}, "isl=1024: must be left out: the trace says it"),
        ({"trace": {"isl": [1], "osl": [2, 3]}}, "columns of one length"),
    ],
)
def test_bad_input(more, said):
    with pytest.raises((InputError, ValueError), match=said.replace("(", r"\(")):
        ask(**{"request_rate": 2, **more})


def test_what_is_missing_or_has_no_room():
    with pytest.raises(MissingInputError, match="give request_rate=, concurrency= or a trace"):
        ask()
    with pytest.raises(InfeasibleError, match="weights leave nothing"):
        ServingModel().simulate("Llama3_1_405B", "H100", request_rate=1, num_replicas=1)
    with pytest.raises(InputError, match="variant='disaggregated': is not simulated"):
        ask("disaggregated", request_rate=1)
    with pytest.raises(MissingInputError, match="request_rate"):
        ServingModel().simulate(**ENGINE, trace={"isl": [1, 2], "osl": [2, 3]})
    with pytest.raises(CatalogError, match="priority='urgent': must be a number"):
        ServingModel().simulate(**ENGINE, trace={"isl": [1], "osl": [2], "time": [0], "priority": ["urgent"]})
    with pytest.raises(UnknownNameError, match="value of this simulation"):
        ask(request_rate=1, requests=10)["ttft_p98"]
    assert not hasattr(TrainingMemoryModel, "simulate")
