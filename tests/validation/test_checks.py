"""Every group of checks holds its own tolerances, and prints what docs/validation.md says."""

from pathlib import Path

import pytest
from validation.checks import Check, number, render
from validation.groups import GROUPS
from validation.simulated_queue import latency

PAGE = Path(__file__).parents[2] / "docs" / "validation.md"


def with_marks(group):
    is_long = group.long or "torch" in group.needs
    return pytest.param(group, id=group.name, marks=[pytest.mark.long] if is_long else [])


@pytest.mark.parametrize("group", [with_marks(group) for group in GROUPS])
def test_group(group):
    for package in group.needs:
        pytest.importorskip(package)
    checks = group.checks()
    wrong = [f"{check.what}: {check.ours:.6g} against {check.theirs:.6g}" for check in checks if not check.holds]
    spreads = group.spreads() if group.spreads else []
    wrong += [f"{each.what}: median {each.median:.1%}" for each in spreads if not each.holds]
    assert checks
    assert not wrong, "\n".join(wrong)
    assert render(group, checks) in PAGE.read_text(encoding="utf-8"), "run `make validation`"


def test_p99_latencies_against_those_the_page_has():
    """What a quick run looks at of the longest group: the simulation as it was printed, and ours as it is now."""
    pytest.importorskip("simpy")
    group = next(group for group in GROUPS if group.name == "simulated_p99")
    page = PAGE.read_text(encoding="utf-8")
    section = page.partition(f"## {group.title}\n")[2].partition("\n## ")[0]
    rows = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("| ")][2:]
    printed = {what.strip(): (theirs.removesuffix(" ms").replace(",", ""), ours) for what, theirs, ours, *_ in rows}
    checks = latency(lambda setting: float(printed[setting.name][0]) / 1e3)
    assert {check.what for check in checks} == set(printed)
    for check in checks:
        assert number(check.ours) == printed[check.what][1]
        assert check.holds, check.what


def test_a_check_fails_outside_its_tolerance_and_a_miss_fails_inside():
    assert Check("a", 100.0, 101.0, 0.01).holds
    assert not Check("a", 100.0, 101.1, 0.01).holds
    assert not Check("a", 100.0, 100.0, 0.01, missed="no longer").holds
    assert Check("a", 100.0, 120.0, 0.01, missed="known").holds
    assert Check("a", 7, 7, 0).holds
    assert not Check("a", 7, 8, 0).holds
