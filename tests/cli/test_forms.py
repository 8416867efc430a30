"""What help is printed from: the stored forms of our models, which need no model."""

import pytest

from mlsysim.cli.form_of import printed
from mlsysim.cli.forms import STORED, form
from mlsysim.models.registry import Registry


def test_the_stored_forms_are_those_of_the_models():
    """``python -m mlsysim.cli.form_of`` writes them."""
    assert STORED.read_text(encoding="utf-8") == printed()


@pytest.mark.parametrize("words", ["memory", "serve --variant first_order"])
def test_a_stored_form_has_every_argument_of_its_model_with_the_values_it_offers(words):
    registry = Registry()
    listed = next(each for each in registry.commands[words.split()[0]] if each.words == words)
    model, found = listed.load(), form(listed, registry)
    assert {*model.slots} < {*found.arguments} <= {*model.arguments, *model.slots}
    assert "H100" in found.offered("hardware")
    for name, variable in model.arguments.items():
        if name in found.arguments and variable is not None and not variable.domain.is_flag:
            assert found.offered(name) == variable.domain.labels
