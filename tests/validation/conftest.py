"""Published and measured numbers, copied so that the repository stands alone."""

import json
from pathlib import Path

import pytest

CASES = {case["id"]: case for case in json.loads(Path(__file__).with_name("cases.json").read_text(encoding="utf-8"))}


@pytest.fixture(scope="session")
def case():
    """``case(id)``: inputs, published numbers, tolerance and note of one case."""
    return CASES.__getitem__
