"""Every group of checks holds its own tolerances, and prints what docs/validation/ says."""

import pytest
from printed import differences
from validation import areas
from validation.checks import Check, number, render
from validation.counted_operators import moved, rows_of_traffic
from validation.groups import GROUPS
from validation.pages import PAGES, SUMMARY, page_of, section_of, summary
from validation.simulated_queue import latency
from validation.training_peaks import WHOLE


def with_marks(group):
    is_long = group.long or "torch" in group.needs
    return pytest.param(group, id=group.name, marks=[pytest.mark.long] if is_long else [])


@pytest.mark.parametrize("group", [with_marks(group) for group in GROUPS])
def test_group(group):
    for package in group.needs:
        pytest.importorskip(package)
    if group.beside_project and not WHOLE.exists():
        pytest.skip("its rows are not here")
    checks = group.checks()
    wrong = [f"{check.what}: {check.ours:.6g} against {check.theirs:.6g}" for check in checks if not check.holds]
    spreads = group.spreads() if group.spreads else []
    wrong += [f"{each.what}: median {each.median:.1%}" for each in spreads if not each.holds]
    assert checks
    assert not wrong, "\n".join(wrong)
    assert not differences(section_of(group.title), render(group, checks)), "run `make validation`"
    assert areas.alike(areas.records(group, checks), areas.recorded(group.name)), "run `make validation`"


def test_every_table_stands_on_the_page_of_its_area_and_the_summary_fits_a_screen():
    assert SUMMARY.read_text(encoding="utf-8") == summary(), "run `make validation`"
    assert len(summary().splitlines()) <= 45
    for page in PAGES:
        titles = [group.title for group in GROUPS if page_of(group.title) is page]
        assert [section.splitlines()[0] for section in page.sections] == [f"## {title}" for title in titles]
    assert {path.name for path in PAGES[0].path.parent.iterdir()} == {page.path.name for page in PAGES}


def printed_of(name):
    """What the page says of a group: theirs as a number without its unit, and ours as it is printed."""
    group = next(group for group in GROUPS if group.name == name)
    rows = [line.strip("|").split(" | ") for line in section_of(group.title).splitlines() if line.startswith("| ")][2:]
    return {what.strip(): (theirs.split()[0].replace(",", ""), ours) for what, theirs, ours, *_ in rows}


def test_bytes_of_operators_against_those_the_page_has():
    """What a quick run looks at of operators that a long one counts: ours as it is now."""
    printed = printed_of("counted_traffic")
    rows = list(rows_of_traffic())
    assert [what for what, *_ in rows] == list(printed)
    for what, kind, sizes, how, _ in rows:
        assert number(moved(kind, sizes, how)) == printed[what][1]


def test_p99_latencies_against_those_the_page_has():
    """What a quick run looks at of the longest group: the simulation as it was printed, and ours as it is now."""
    pytest.importorskip("simpy")
    printed = printed_of("simulated_p99")
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
