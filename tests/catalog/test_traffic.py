"""Traffic out of traces: means, spreads and rates, detected columns, and what is refused."""

import re
import time

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from mlsysim import EconomicsModel, ServingModel, Traffic, load_catalog
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
    with pytest.raises(InputError, match=r"trace=3.*path of a CSV file, or a DataFrame"):
        Traffic.from_trace(3)
    with pytest.raises(CatalogError, match=r"must be a CSV file"):
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
