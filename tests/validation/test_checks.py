"""Every group of checks holds its own tolerances, and prints what docs/validation.md says."""

from pathlib import Path

import pytest
from validation.checks import Check, render
from validation.groups import GROUPS

PAGE = Path(__file__).parents[2] / "docs" / "validation.md"


@pytest.mark.parametrize("group", GROUPS, ids=[group.name for group in GROUPS])
def test_group(group):
    for package in group.needs:
        pytest.importorskip(package)
    checks = group.checks()
    wrong = [f"{check.what}: {check.ours:.6g} against {check.theirs:.6g}" for check in checks if not check.holds]
    assert checks
    assert not wrong, "\n".join(wrong)
    assert render(group, checks) in PAGE.read_text(encoding="utf-8"), "run `make validation`"


def test_a_check_fails_outside_its_tolerance_and_a_miss_fails_inside():
    assert Check("a", 100.0, 101.0, 0.01).holds
    assert not Check("a", 100.0, 101.1, 0.01).holds
    assert not Check("a", 100.0, 100.0, 0.01, missed="no longer").holds
    assert Check("a", 100.0, 120.0, 0.01, missed="known").holds
    assert Check("a", 7, 7, 0).holds
    assert not Check("a", 7, 8, 0).holds
