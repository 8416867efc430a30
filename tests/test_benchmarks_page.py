"""The page of benchmarks says what wanted times are measured in."""

import itertools
import json
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks import report, yardsticks

SAMPLE = json.loads((Path(report.__file__).with_name("sample.json")).read_text(encoding="utf-8"))


def test_a_page_prints_its_yardsticks(tmp_path):
    page = report.page(SAMPLE, tmp_path)
    assert "| an import | 250 ms | 500 ms to 600 ms |\n" in page
    assert "fresh process, against what is wanted | 900 ms | 1 s (500 ms) | 0.9 | 1 |\n" in page
    assert "first sweep of a process, against what is wanted | 1.2 s | 960 ms (400 ms) | 1.25 | 1 (missed) |\n" in page
    assert "with a time limit, against 2 s | 2.05 s | 2 s | 1.02 | 1.2 |\n" in page
    headings = [line for line in page.splitlines() if line.startswith("## ")]
    assert headings == ["## Yardsticks", *(f"## {heading}" for heading, *parts in report.SECTIONS if {
        "test_start", "test_solve", "test_search"} & {*parts})]  # fmt: skip


def test_a_page_without_wanted_times_has_no_yardsticks(tmp_path):
    rows = [row for row in SAMPLE["benchmarks"] if "yardstick" not in row["extra_info"]]
    assert "## Yardsticks" not in report.page({**SAMPLE, "benchmarks": rows}, tmp_path)


@pytest.mark.parametrize("slower", [1, 2])
def test_a_row_is_met_or_missed_on_every_machine_alike(slower):
    """On a machine of half the speed the row and the yardstick take twice as long."""
    times = itertools.cycle([0.0, 0.01 * slower])
    yardstick = replace(yardsticks.LOOP, reference=0.01, work=lambda: None)
    row = yardsticks.row("a call", 3.0, [2.0 * slower] * 3, 1, yardstick, lambda: next(times))
    assert row["ratio"] == pytest.approx(2 / 3)
    assert row["theirs"] == pytest.approx(3.0 * slower)
    assert row["wanted"] == 3.0
    assert row["yardstick"] == [yardsticks.LOOP.what, pytest.approx(0.01 * slower), 0.01]


def test_a_time_limit_is_the_same_on_every_machine():
    row = yardsticks.row("a search that is cut short", 2.0, [2.1], target=1.2, yardstick=None)
    assert "yardstick" not in row
    assert row["title"] == "a search that is cut short, against 2 s"
    assert row["ratio"] == pytest.approx(1.05)


@pytest.mark.parametrize("yardstick", [yardsticks.LOOP, yardsticks.START], ids=["loop", "start"])
def test_yardsticks_take_time_by_every_clock(yardstick, monkeypatch):
    monkeypatch.setattr(yardsticks, "RUNS", 1)
    assert 0 < yardstick.seconds(yardsticks.processor_time) < 100 * yardstick.reference
