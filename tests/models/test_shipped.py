"""What ships is what would be printed: every variant finds its source, and it is the one of today."""

import pytest

from mlsysim.backends import kept
from mlsysim.backends.compiled import WORTH_KEEPING, _source
from mlsysim.backends.source import source_of
from mlsysim.models import every_model, shipped
from mlsysim.units import TABLE

EVERY = [
    pytest.param(model(variant), id=f"{model.__name__}-{variant}")
    for model in every_model()
    for variant in model.variants
    if len(model(variant).system) >= WORTH_KEEPING
]


@pytest.fixture(autouse=True)
def nothing_is_kept(monkeypatch):
    """Only what ships is found."""
    monkeypatch.setenv(kept.VARIABLE, kept.OFF)


@pytest.mark.parametrize("model", EVERY)
def test_every_variant_finds_its_source(model, monkeypatch):
    """``python -m mlsysim.models.shipped`` writes it."""
    names = _source.__wrapped__.__globals__
    monkeypatch.setitem(names, "source_of", lambda *_, **__: pytest.fail("what ships is old"))
    found = _source.__wrapped__(model.system, None, (), False)
    assert found.outputs == tuple(v.name for v in model.system.variables)
    if len(model.system.closure(model.headline)) >= WORTH_KEEPING:
        assert {*model.headline} <= {*_source.__wrapped__(model.system, model.headline, (), False).outputs}
    answer = model.headline[0]
    if len(model.system.closure([answer])) >= WORTH_KEEPING:
        assert answer in _source.__wrapped__(model.system, (answer,), (), True).outputs


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(*each.values, id=each.id, marks=() if len(each.values[0].system) < 100 else pytest.mark.long)
        for each in EVERY
    ],
)
def test_it_is_what_would_be_printed(model):
    found = _source.__wrapped__(model.system, None, (), False)
    printed = source_of(model.system, (), finite=False)
    assert (found.text, found.inputs, found.outputs) == (printed.text, printed.inputs, printed.outputs)


def test_the_table_of_units_is_what_pint_says():
    assert TABLE.read_text(encoding="utf-8") == shipped.unit_table()


def test_nothing_else_ships():
    """What formulas of before asked for is gone."""
    lines, functions = kept._shipped()
    used = {place for _, _, places in functions.values() for place in places}
    assert used == {*range(len(lines))}
    assert len(functions) <= 3 * len(EVERY)


@pytest.mark.long
def test_it_can_be_written_again():
    assert {*shipped.sources()} == {*kept._shipped()[1]}
