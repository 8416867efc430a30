"""Models of ours require all that their formulas rest on, so that none is proven when they are first asked."""

import pytest

from mlsysim.inputs.checks import premises
from mlsysim.models import every_model

EVERY = [pytest.param(each, id=each.__name__) for each in every_model()]


@pytest.mark.parametrize("model", EVERY)
def test_no_formula_rests_on_what_its_model_does_not_require(model):
    for variant in model.variants:
        assert premises(model, variant, model(variant).system) == ()
