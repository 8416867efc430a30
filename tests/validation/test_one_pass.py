"""Each row of what one pass had to hit, by public calls; docs/validation.md prints them."""

import pytest
from validation.published_one_pass import ROWS, SPREADS


@pytest.mark.parametrize("row", ROWS)
def test_a_number_that_was_wanted(row):
    for check in ROWS[row]():
        assert check.holds, f"{check.what}: {check.ours:.6g} for {check.theirs:.6g}"


@pytest.mark.long
@pytest.mark.parametrize("row", SPREADS)
def test_errors_that_were_wanted(row):
    found = SPREADS[row]()
    assert found.holds, f"{found.what}: median {found.median:.1%}, worst {found.largest:.1%}, missed: {found.missed!r}"
