"""JSON of answers: valid everywhere, and infinite numbers told apart from missing ones."""

import json
import math

import numpy as np
import pytest

from mlsysim.jsontext import json_text

SAME = [{"a": [1, 2.5, "x", True, None]}, {"value": 3.0, "unit": "ms"}, {"value": "bf16"}, [], {}, "inf", 0.0]
WRITTEN = {
    "with its unit": ({"value": math.inf, "unit": "ms"}, {"value": None, "infinite": "positive", "unit": "ms"}),
    "negative": ({"value": -math.inf}, {"value": None, "infinite": "negative"}),
    "no number": ({"value": math.nan, "unit": "s"}, {"value": None, "unit": "s"}),
    "bare": ({"gap": math.inf}, {"gap": {"value": None, "infinite": "positive"}}),
    "in a list": ([1.0, -math.inf], [1.0, {"value": None, "infinite": "negative"}]),
    "deep": ({"a": [{"b": {"value": math.inf}}]}, {"a": [{"b": {"value": None, "infinite": "positive"}}]}),
    "of NumPy": ({"value": np.float64(np.inf)}, {"value": None, "infinite": "positive"}),
    "a tuple": ((1, 2), [1, 2]),
}


def read(text):
    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize("data", SAME, ids=str)
def test_finite_data_is_kept(data):
    assert read(json_text(data)) == data


@pytest.mark.parametrize("case", WRITTEN)
def test_infinite_numbers_are_said(case):
    data, expected = WRITTEN[case]
    assert read(json_text(data)) == expected


def test_lines_and_order():
    assert json_text({"b": 1, "a": "é"}, None) == '{"b": 1, "a": "é"}'
    assert json_text({"b": 1, "a": 2}, 1, sort_keys=True) == '{\n "a": 2,\n "b": 1\n}'
