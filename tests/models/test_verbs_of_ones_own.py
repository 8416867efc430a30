"""Verbs that a class brings itself, and what a model of one's own can still not be called."""

import pytest

from mlsysim import PerformanceModel, TrainingMemoryModel
from mlsysim.errors import ModelError

RUN = {"model": "Llama3_8B", "hardware": "H100", "batch_size": 8}


class Halved(TrainingMemoryModel):
    """Half of it?"""

    def solve(self, *entries, **inputs):
        """Solve for half of the batch."""
        return super().solve(*entries, **{**inputs, "batch_size": inputs["batch_size"] // 2})


class Below(Halved):
    """Half of it, too?"""


class Mixin:
    """Has a verb."""

    def sweep(self):
        """Sweep nothing."""
        return "nothing"


class Mixed(Mixin, TrainingMemoryModel):
    """With another sweep?"""


@pytest.mark.parametrize("model", [Halved, Below])
def test_a_verb_of_ones_own_stands(model):
    assert model().solve(**RUN).inputs["batch_size"] == 4
    assert TrainingMemoryModel().solve(**RUN).inputs["batch_size"] == 8
    assert model.sweep is not TrainingMemoryModel.sweep


def test_a_verb_of_a_mixin_stands():
    assert Mixed().sweep() == "nothing"


def test_a_verb_that_was_replaced_stays_so(monkeypatch):
    class Fresh(TrainingMemoryModel):
        """Not yet looked at?"""

    declared = vars(Fresh)["solve"]
    monkeypatch.setattr(Fresh, "solve", lambda self, **_: declared.__get__(self, Fresh) and "mine")
    assert Fresh().solve(**RUN) == "mine"
    assert Fresh().solve(**RUN) == "mine"


def test_targets_is_a_word_of_a_verb():
    from mlsysim import Formula, Source, positive, variable

    targets = variable("targets", r"\tau", "count", "A word of solve_for.", positive())
    found = variable("own_found", r"\phi_o", "count", "What follows from it.", positive())
    formula = Formula(found, 2 * targets, title="Twice", source=Source("kleinrock1975"), no_example="a test")
    with pytest.raises(ModelError, match="no input can be called 'targets'"):
        type("Aimed", (PerformanceModel,), {"__doc__": "Aimed?", "variants": {"only": (formula,)}})
