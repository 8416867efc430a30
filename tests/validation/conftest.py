"""The published numbers as a fixture."""

import pytest
from validation.cases import CASES


@pytest.fixture(scope="session")
def case():
    """``case(id)``: inputs, published numbers, tolerance and note of one case."""
    return CASES.__getitem__
