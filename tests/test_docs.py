"""The README runs as typed, and prints what it says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = ("README.md",)
FENCE = re.compile(r"^```(python|text)\n(.*?)^```$", re.M | re.S)


def blocks(page: str) -> list[tuple[str, str]]:
    """Python blocks of a page, each with the output printed under it."""
    found = FENCE.findall((ROOT / page).read_text(encoding="utf-8"))
    pairs = []
    for place, (kind, body) in enumerate(found):
        if kind == "python":
            follows = found[place + 1] if place + 1 < len(found) else ("", "")
            pairs.append((body, follows[1] if follows[0] == "text" else ""))
    return pairs


@pytest.mark.parametrize("page", PAGES)
def test_page_prints_what_it_says(page):
    namespace: dict[str, object] = {}
    pairs = blocks(page)
    assert pairs
    for code, expected in pairs:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, page, "exec"), namespace)
        assert printed.getvalue() == expected
