"""Rows of published runs against the cases that they were taken from, where those are there; misses stay misses."""

import json
import re

import pytest
from validation.published_runs import CASES, ROWS, ours

#: Numbers of the cases that no model has: sums and shares of counts (``tests/catalog/test_failures.py`` has those of
#: Llama 3), and a stall whose bandwidth nobody prints.
WITHOUT = {"llama3_table5_sum", "sdc_share_llama3_pct", "sdc_share_fthsdp_pct", "pytorch_7B_blocking_s"}
KNOWN = {row["id"]: row for row in ROWS}
QUICK = ["meta_ettr_rsc1_16000_60min", "opt_spares_12"]


def cases():
    """The cases with a published number."""
    if not CASES.exists():
        pytest.skip("the cases are not here")
    return [case for case in json.loads(CASES.read_text(encoding="utf-8")) if case["kind"] in ("number", "bound")]


def test_every_case_with_a_number_has_a_row():
    assert {case["id"] for case in cases()} - WITHOUT <= set(KNOWN)
    for case in cases():
        theirs = case["published"]
        if case["id"] not in WITHOUT and not isinstance(theirs, str):
            assert KNOWN[case["id"]]["theirs"] == pytest.approx(theirs, rel=1e-9), case["id"]


@pytest.mark.long
def test_rows_answer_as_the_cases_were_computed_by_another_code():
    """Take the exact law if a case has it beside the one to first order."""
    for case in cases():
        if case["id"] in WITHOUT or "minutes_per_incident" in case["id"]:
            continue
        exact = re.search(r"exact law, wall clock: ([\d.]+)", case["note"])
        computed = float(exact[1]) if exact else case["ours"]
        assert ours(KNOWN[case["id"]]) == pytest.approx(computed, rel=0.004), case["id"]


@pytest.mark.parametrize("name", QUICK)
def test_a_quick_row(name):
    row = KNOWN[name]
    assert ours(row) == pytest.approx(row["theirs"], rel=row["tolerance"] or 1e-12)
    assert {"full text", "quoted", "abstract", "secondary"} >= {each["text"] for each in ROWS}
