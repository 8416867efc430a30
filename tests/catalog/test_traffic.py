"""Traffic out of traces: means, spreads and rates, detected columns, and what is refused."""

import json
import re
import time

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from mlsysim import EconomicsModel, ServingModel, Systems, Traffic, load_catalog
from mlsysim.catalog import builtin, read_trace
from mlsysim.cli import app
from mlsysim.errors import CatalogError, InputError, UnknownNameError

ENGINE = {"model": "Llama3_1_8B", "hardware": "H100", "num_replicas": 2}
AZURE = """TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:15:46.6805900,374,44
2023-11-16 18:15:47.6805900,396,109
2023-11-16 18:15:50.6805900,879,55
2023-11-16 18:15:50.9805900,91,16
"""


@pytest.fixture
def trace(tmp_path):
    file = tmp_path / "conversations.csv"
    file.write_text(AZURE)
    return file


def test_a_published_layout_is_known(trace):
    found = Traffic.from_trace(trace)
    prompts, answers = np.array([374, 396, 879, 91]), np.array([44, 109, 55, 16])
    assert found.name == "conversations"
    assert found.isl.canonical == prompts.mean()
    assert found.osl.canonical == answers.mean()
    assert found.isl_cv.value == pytest.approx(prompts.std() / prompts.mean(), rel=1e-12)
    assert found.osl_cv.value == pytest.approx(answers.std() / answers.mean(), rel=1e-12)
    assert found.request_rate.canonical == pytest.approx(3 / 4.3, rel=1e-6)
    gaps = np.array([1.0, 2.0 + 1.0, 0.3])
    assert f"variation of {gaps.std() / gaps.mean():.2f}" in found.description
    assert found.burstiness.value == pytest.approx((gaps.mean() / gaps.std()) ** 2, rel=1e-6)
    assert "4 requests of" in found.isl.source


@pytest.fixture(params=["UTC", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe"])
def zone(request, monkeypatch):
    """The time zone of the machine."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the system does not change its time zone")
def test_a_trace_is_the_same_in_any_time_zone(tmp_path, zone):
    """An hour before and after clocks are put forward or back, in New York and on Lord Howe Island."""
    days = ("2023-11-05", "2023-03-12", "2023-04-02", "2023-10-01")
    for day in days:
        times = [f"{day} {hour:02}:{minute:02}:00" for hour in range(4) for minute in (0, 30)]
        (tmp_path / "even.csv").write_text("time,isl,osl\n" + "".join(f"{at},10,2\n" for at in times))
        read = Traffic.from_trace(tmp_path / "even.csv")
        table = Traffic.from_trace(pd.read_csv(tmp_path / "even.csv", parse_dates=["time"]))
        for found in (read, table):
            assert found.burstiness.value == 100
            assert found.request_rate.canonical == pytest.approx(1 / 1800, rel=1e-12)


def test_times_may_name_their_zone_but_then_all_do(tmp_path):
    file = tmp_path / "zoned.csv"
    times = ["2023-11-05 08:00:00+02:00", "2023-11-05T06:00:01Z", "2023-11-05 01:00:02-05:00"]
    file.write_text("time,isl,osl\n" + "".join(f"{at},10,2\n" for at in times))
    assert Traffic.from_trace(file).request_rate.canonical == pytest.approx(1)
    file.write_text(file.read_text() + "2023-11-05 06:00:03,10,2\n")
    with pytest.raises(
        CatalogError, match=r"time: all times must be of one kind; line 2 is a date with a time zone, line 5"
    ):
        Traffic.from_trace(file)
    file.write_text("time,isl,osl\n1,10,2\n2023-11-05 06:00:03,10,2\n")
    with pytest.raises(CatalogError, match=r"line 2 is a number, line 3 is a date without a time zone"):
        Traffic.from_trace(file)
    mixed = pd.DataFrame({"time": [pd.Timestamp(times[1]), pd.Timestamp("2023-11-05")], "isl": [1, 1], "osl": [1, 1]})
    with pytest.raises(CatalogError, match=r"line 1 is a date with a time zone, line 2 is a date without"):
        Traffic.from_trace(mixed)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("2023-11-16 18:15:52,1e300,5", "ContextTokens='1e300': must be a whole number of tokens >= 1, below 2**53"),
        (f"2023-11-16 18:15:52,{'9' * 400},5", "ContextTokens='9999"),
        (f"2023-11-16 18:15:52,{'9' * 2**18},5", "not CSV: field larger than field limit (131072)"),
        (f"{'9' * 400},5,5", "TIMESTAMP='9999"),
        ("1e300,5,5", "TIMESTAMP='1e300': must be seconds"),
        ("-inf,5,5", "TIMESTAMP='-inf': must be seconds"),
    ],
    ids=["1e300 tokens", "400 digits of tokens", "128 KiB", "400 digits of time", "1e300 s", "infinite"],
)
def test_numbers_out_of_all_proportion_are_named(trace, line, said):
    trace.write_text(AZURE + line + "\n")
    with pytest.raises(CatalogError, match=re.escape(said)):
        Traffic.from_trace(trace)


@pytest.mark.parametrize("odd", [pd.NaT, None, pd.NA, 10**400, float("nan"), np.datetime64("NaT")])
def test_a_time_that_is_none_is_named(odd):
    frame = pd.DataFrame({"time": pd.Series([0, odd], dtype=object), "isl": [1, 1], "osl": [1, 1]})
    with pytest.raises(CatalogError, match=r"line 2: time=.*must be seconds, or a date"):
        Traffic.from_trace(frame)


@pytest.mark.parametrize("first", ["0001-01-01 00:00:00", "0001-01-01T00:00:00+14:00", "9999-12-31 23:59:59"])
def test_the_first_and_last_year_are_times(tmp_path, zone, first):
    file = tmp_path / "old.csv"
    file.write_text(f"time,isl,osl\n{first},1,1\n{first[:17]}29{first[19:]},1,1\n")
    assert Traffic.from_trace(file).request_rate.canonical == pytest.approx(1 / 29 if first[17:19] == "00" else 1 / 30)


def test_times_too_near_are_one(tmp_path):
    file = tmp_path / "near.csv"
    file.write_text("time,isl,osl\n0,1,1\n0,1,1\n5e-324,1,1\n")
    with pytest.raises(CatalogError, match=r"must hold two different times"):
        Traffic.from_trace(file)


def test_a_table_is_a_trace(trace):
    table = pd.read_csv(trace, parse_dates=["TIMESTAMP"])
    found, read = Traffic.from_trace(table, name="conversations"), Traffic.from_trace(trace)
    for name in ("request_rate", "isl", "osl", "isl_cv", "osl_cv", "burstiness"):
        assert getattr(found, name).value == pytest.approx(getattr(read, name).value, rel=1e-12)


def test_columns_may_be_named(tmp_path):
    file = tmp_path / "own.csv"
    file.write_text("when,a,b\n0,10,2\n4,30,4\n")
    found = Traffic.from_trace(file, prompt_tokens="a", output_tokens="b", arrival="when")
    assert (found.isl.value, found.osl.value, found.request_rate.canonical) == (20, 3, 0.25)
    assert Traffic.from_trace(file, prompt_tokens="a", output_tokens="b").request_rate is None
    with pytest.raises(
        CatalogError, match=r"no column is known to hold the tokens of prompts; give prompt_tokens=, one of: when, a, b"
    ):
        Traffic.from_trace(file)
    with pytest.raises(UnknownNameError, match=r"nearest|Did you mean|wen"):
        Traffic.from_trace(file, prompt_tokens="a", output_tokens="b", arrival="wen")


@pytest.mark.parametrize(("unit", "times"), [("s", 1), ("ms", 1e3), ("us", 1e6), ("ns", 1e9)])
def test_times_since_1970_are_known_in_any_unit(tmp_path, unit, times):
    file = tmp_path / "epoch.csv"
    file.write_text("timestamp,isl,osl\n" + "".join(f"{int((1.7e9 + n) * times)},10,2\n" for n in (0, 1, 4)))
    found = Traffic.from_trace(file)
    assert found.request_rate.canonical == pytest.approx(0.5, rel=1e-6)
    assert ("times are in" in found.description) == (unit != "s")
    # From any other moment on a number has to be told.
    file.write_text("timestamp,isl,osl\n" + "".join(f"{int(n * times)},10,2\n" for n in (0, 1, 4)))
    assert Traffic.from_trace(file, arrival_unit=unit).request_rate.canonical == pytest.approx(0.5)
    assert Traffic.from_trace(file).request_rate.canonical == pytest.approx(0.5 / times)


def test_a_unit_is_known_and_not_of_dates(trace):
    with pytest.raises(InputError, match=r"arrival_unit='min': must be one of s, ms, us, ns"):
        Traffic.from_trace(trace, arrival_unit="min")
    with pytest.raises(CatalogError, match=r"line 2: TIMESTAMP='2023.*': is a date; leave out arrival_unit"):
        Traffic.from_trace(trace, arrival_unit="ms")


def test_a_file_is_read_by_its_name(trace):
    asked = {"model": "Llama3_8B", "hardware": "H100"}
    by_name = ServingModel("colocated").solve(**asked, traffic=str(trace))
    assert by_name.to_dict() == ServingModel("colocated").solve(**asked, traffic=Traffic.from_trace(trace)).to_dict()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("2023-11-16 18:15:52,0,5", "line 6: ContextTokens='0': must be a whole number of tokens >= 1"),
        ("2023-11-16 18:15:52,7,x", "line 6: GeneratedTokens='x': must be a whole number of tokens >= 1"),
        ("2023-11-16 18:15:52,7,1.5", "line 6: GeneratedTokens='1.5'"),
        ("soon,7,5", "line 6: TIMESTAMP='soon': must be seconds, or a date and time"),
        ("2023-11-16 18:15:52,7", "line 6: has 2 cells and the header 3"),
    ],
)
def test_a_wrong_row_is_named(trace, line, said):
    trace.write_text(AZURE + line + "\n")
    with pytest.raises(CatalogError, match=re.escape(said)):
        Traffic.from_trace(trace)


def test_what_is_no_trace_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"trace=3.*path of a CSV or JSONL file, a DataFrame"):
        Traffic.from_trace(3)
    with pytest.raises(CatalogError, match=r"none.csv: there is no such CSV or JSONL file"):
        Traffic.from_trace(tmp_path / "none.csv")
    for text, said in (
        ("", "must name the columns"),
        ("isl,osl\n", "no row below"),
        ("time,isl,osl\n1,2,3\n1,2,3\n", "time: must hold two different times"),
    ):
        (tmp_path / "short.csv").write_text(text)
        with pytest.raises(CatalogError, match=said):
            Traffic.from_trace(tmp_path / "short.csv")
    with pytest.raises(CatalogError, match=r"isl.*not a whole number"):
        Traffic(name="odd", isl=12.5, osl=3)


def test_a_deployment_takes_it_and_keywords_win(trace):
    traffic = Traffic.from_trace(trace)
    model = ServingModel("colocated")
    found = model.solve(**ENGINE, traffic=traffic)
    told = model.solve(
        **ENGINE,
        request_rate=traffic.request_rate.quantity,
        isl=435,
        osl=56,
        isl_cv=traffic.isl_cv.value,
        osl_cv=traffic.osl_cv.value,
        burstiness=traffic.burstiness.value,
    )
    assert found.outputs == told.outputs
    assert "4 requests of" in found.source("isl")
    longer = model.solve(**ENGINE, traffic=traffic, osl=500, osl_cv=0)
    assert longer.canonical("output_tokens") == 500
    assert longer.canonical("prompt_time") == found.canonical("prompt_time")
    priced = EconomicsModel("rented_deployment").solve(**ENGINE, traffic=traffic, rental_price=2)
    assert priced.canonical("ttft_mean") == found.canonical("ttft_mean")


def test_a_catalog_of_ones_own_holds_it(tmp_path):
    file = tmp_path / "own.toml"
    file.write_text(
        '[Systems.Traffic.Ours]\nname = "Ours"\nsource = "own"\ndate = "2026-01-01"\nkind = "measured"\n'
        'request_rate = "2 request/s"\nisl = "500 token"\nosl = "100 token"\n'
    )
    ours = load_catalog(file).Systems.Traffic.Ours
    found = ServingModel("colocated").solve(**ENGINE, traffic=ours)
    assert found.canonical("tokens_per_second") == pytest.approx(200)


def test_the_command_line_reads_it(trace):
    asked = [
        "serve",
        "--variant",
        "colocated",
        "--model",
        "Llama3_1_8B",
        "--hardware",
        "H100",
        "--num-replicas",
        "2",
        "--traffic",
        str(trace),
    ]
    ran = CliRunner().invoke(app, asked)
    assert ran.exit_code == 0, ran.output
    trace.write_text(AZURE + "never,1,1\n")
    ran = CliRunner().invoke(app, asked)
    assert ran.exit_code != 0
    assert "line 6" in ran.output


#: Two or three rows in the layouts of published traces, and their unit, rate, sessions and what is not used.
MOONCAKE = [
    {"timestamp": 0, "input_length": 6758, "output_length": 500, "hash_ids": [0, 1, 2]},
    {"timestamp": 3052, "input_length": 7322, "output_length": 490, "hash_ids": [0, 14]},
]
BAILIAN = [
    {"chat_id": n, "parent_chat_id": -1, "timestamp": 2.0 * n, "input_length": 521, "output_length": 132,
     "type": "text", "turn": 1, "hash_ids": [1089, 1090]}
    for n in range(2)
]  # fmt: skip
BURST = """Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type
5,a,1.5,ChatGPT,472,18,490,Conversation log
45,,,ChatGPT,1087,230,1317,API log
118,a,,GPT-4,417,0,417,Conversation log
"""
LMM = "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n2024-10-15 00:00:00,2,900,30\n2024-10-15 00:00:04,0,30,9\n"
LAYOUTS = {
    "mooncake.jsonl": (MOONCAKE, "ms", 1 / 3.052, [], ("hash_ids",), 0),
    "bailian.jsonl": (BAILIAN, "s", 0.5, [], ("chat_id", "parent_chat_id", "type", "turn", "hash_ids"), 0),
    "burst.csv": (BURST, "s", 1 / 40, ["a", ""], ("Elapsed time", "Model", "Total tokens", "Log Type"), 1),
    "azure.csv": (AZURE, "s", 3 / 4.3, [], (), 0),
    "multimodal.csv": (LMM, "s", 0.25, [], ("NumImages",), 0),
}


@pytest.fixture(params=LAYOUTS)
def published(request, tmp_path):
    """A file in the layout of a published trace, and what is to be read of it."""
    content, *told = LAYOUTS[request.param]
    file = tmp_path / request.param
    file.write_text(content if isinstance(content, str) else "".join(f"{json.dumps(row)}\n\n" for row in content))
    return file, *told


def test_published_layouts_are_read_by_their_columns(published):
    file, unit, rate, sessions, unused, failed = published
    rows, traffic = read_trace(file), Traffic.from_trace(file)
    assert (rows.unit, rows.sessions, rows.unused, rows.failed) == (unit, sessions, unused, failed)
    assert traffic.request_rate.canonical == pytest.approx(rate, rel=1e-6)
    assert traffic.not_read == (*unused, *(["session"] * bool(sessions)))
    assert f"{failed} more have no answer" in traffic.description or not failed
    if unit == "ms":
        assert Traffic.from_trace(file, arrival_unit="s").request_rate.canonical == pytest.approx(rate / 1000)


def test_what_is_not_read_of_a_trace_is_named(published):
    file, *_, unused, _ = published
    said = f"is not read: {', '.join(unused)}"
    asked = {"model": "Llama3_1_8B", "hardware": "H100"}
    notes = ServingModel("colocated").solve(**asked, traffic=str(file)).notes
    ran = ServingModel("colocated").simulate(**asked, trace=file, num_replicas=1).notes
    assert any(said in note for note in notes) == any(said in note for note in ran) == bool(unused)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1: must name the columns"),
        ("[1, 2]\n", 'line 1: must be an object, as in {"input_length": 6955}'),
        (
            '{"input_length": 3, "output_length": 4}\n{"input_length": 3}\n',
            "line 2: has no output_length, which line 1",
        ),
        ("input_length,output_length\n3,4\n", "not JSONL: "),
        ('{"input_length": 3, "output_length": "x"}\n', "line 1: output_length='x': must be a whole number"),
        ('{"input_length": 3, "output_length": 0}\n', "line 1: output_length=0: must be a whole number"),
        ('{"input": 3, "output_length": 4}\n', "no column is known to hold the tokens of prompts; give prompt_tokens="),
    ],
)
def test_a_wrong_line_is_named(tmp_path, text, said):
    file = tmp_path / "odd.jsonl"
    file.write_text(text)
    with pytest.raises(CatalogError, match=re.escape(said)):
        Traffic.from_trace(file)


def test_a_trace_of_failures_alone_has_no_row(tmp_path):
    file = tmp_path / "burst.csv"
    file.write_text("Timestamp,Request tokens,Response tokens\n1,5,0\n")
    with pytest.raises(CatalogError, match="has no row below its header"):
        Traffic.from_trace(file)


PUBLISHED = [path.rpartition(".")[2] for path in builtin().paths() if path.startswith("Systems.Traffic.")]


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_traffic_says_where_it_is_from_and_serves(name):
    traffic = builtin().find("traffic", name)
    for field in set(traffic.model_fields_set) - {"name", "description", "not_read"}:
        assert getattr(traffic, field).source.startswith("https://")
        assert getattr(traffic, field).date
    given = {"model": "Qwen3_Next_80B_A3B", "hardware": "H200", "tp_size": 8} if traffic.isl.value > 1e5 else ENGINE
    load = {"concurrency": 4} if traffic.num_rounds else {} if traffic.request_rate else {"request_rate": 0.01}
    found = ServingModel("chunked_estimate").solve(**given, traffic=name, **load)
    assert found.canonical("isl") == traffic.isl.value
    assert found.canonical("prefix_hit_rate") == (traffic.prefix_hit_rate.value if traffic.prefix_hit_rate else 0)


def test_benchmarks_spread_their_lengths_uniformly_from_four_fifths_of_the_label():
    for name, prompt, answer in (("1k_1k", 1024, 1024), ("8k_1k", 8192, 1024), ("1k_8k", 1024, 8192)):
        traffic = Systems.Traffic[f"InferenceX_{name}"]
        for mean, spread, label in ((traffic.isl, traffic.isl_cv, prompt), (traffic.osl, traffic.osl_cv, answer)):
            drawn = np.arange(0.8 * label // 1, label + 1)
            assert mean.value == pytest.approx(drawn.mean(), rel=1e-3)
            assert spread.value == pytest.approx(drawn.std() / drawn.mean(), rel=1e-2)
        assert traffic.num_rounds.value == 10


def test_traffic_closes_a_loop_and_says_what_a_cache_holds():
    agents = Traffic(name="agents", isl=9000, osl=200, concurrency=8, prefix_hit_rate=0.9)
    model, asked = ServingModel("chunked_estimate"), {"model": "Llama3_1_8B", "hardware": "H100"}
    found = model.solve(**asked, traffic=agents)
    plain = model.solve(**asked, isl=9000, osl=200, concurrency=8, prefix_hit_rate=0.9)
    assert found.outputs == plain.outputs
    ran = model.simulate(**asked, traffic=agents, requests=100)
    assert ran.ttft_mean == model.simulate(
        **asked, isl=9000, osl=200, concurrency=8, prefix_hit_rate=0.9, requests=100
    ).ttft_mean  # fmt: skip
    for field, value in (("concurrency", 0.5), ("num_rounds", 2.5)):
        with pytest.raises(CatalogError, match=f"{field}.*is not a whole number"):
            Traffic(name="odd", isl=5, osl=5, **{field: value})
