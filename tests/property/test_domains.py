"""Every output of every variant lies in its domain, wherever its inputs are in theirs; some are never zero."""

import math
from collections import Counter

import numpy as np
import pytest
from formulas.every import POSITIVE
from fuzz import is_long
from study.points import POINTS

from mlsysim import units
from mlsysim.backends import compiled, compiled_expression
from mlsysim.models import every_model
from mlsysim.symbolic import lower

#: Points that are drawn of a variant, before those that its model refuses are left out.
DRAWN = 2000 if is_long() else 200
#: Largest relative error of what is computed.
ROUNDING = 1e-9
#: Points that are drawn where each takes a tenth of a second, as it is a fixed point or a Markov chain.
FEW = 120 if is_long() else 12


def drawn(variable, usual, rng, count):
    """Values of an input over its domain, some at its ends, in canonical units."""
    domain, one = variable.domain, units.factor(variable.unit)
    if domain.labels or (domain.upper - domain.lower <= 1 and domain.kind == "integer"):
        return rng.integers(int(domain.lower), int(domain.upper) + 1, count).astype(float)
    spread = usual / one * 2.0 ** rng.integers(-3, 4, count)
    if domain.kind == "integer":
        values = np.where(rng.random(count) < 0.7, np.rint(spread), domain.lower + rng.geometric(0.1, count) - 1)
        return np.clip(values, domain.lower, min(domain.upper, 1e9)) * one
    if math.isfinite(domain.upper) and math.isfinite(domain.lower):
        inside = rng.uniform(domain.lower, domain.upper, count)
        return np.where(rng.random(count) < 0.2, domain.upper, inside) * one
    values = np.where(rng.random(count) < 0.7, spread, 10.0 ** rng.uniform(-3, 3, count))
    lowest = domain.lower if math.isfinite(domain.lower) else -1e3
    at_end = (rng.random(count) < 0.15) & (not domain.open_lower)
    return np.clip(np.where(at_end, lowest, values), np.nextafter(lowest, np.inf) if domain.open_lower else lowest,
                   domain.upper) * one  # fmt: skip


def value_of(result, variable):
    """The canonical value of an input in a result, or one of its domain where the result does not need it."""
    if variable.name in result.inputs:
        return result.canonical(variable.name)
    return (max(variable.domain.lower, 0.0) + variable.domain.open_lower) * units.factor(variable.unit)


def outside(variable, values):
    """Values that do not lie in the domain of a variable, but for rounding; what is no number is another test's."""
    domain, values = variable.domain, values / units.factor(variable.unit)
    size = max([abs(end) for end in (domain.lower, domain.upper) if math.isfinite(end)], default=0.0)
    wrong = (values < domain.lower - ROUNDING * size) | (values > domain.upper + ROUNDING * size)
    if domain.kind in ("integer", "choice"):
        wrong |= np.isfinite(values) & (np.abs(values - np.rint(values)) > ROUNDING * np.abs(values))
    return wrong


def is_slow(which):
    return which[0] in ("ServingModel", "MemoryExpansionModel") or which[1].endswith("chunked_deployment")


@pytest.mark.long(quick=4)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("which", [
    pytest.param(which, marks=pytest.mark.long) if is_slow(which) else which for which in POINTS
], ids=".".join)  # fmt: skip
def test_every_output_lies_in_its_domain(which, record_property):
    kind = next(each for each in every_model() if each.__name__ == which[0])
    model, count = kind(which[1]), FEW if is_slow(which) else DRAWN
    rng, result = np.random.default_rng(0), model.solve(**POINTS[which])
    usual = {variable.name: value_of(result, variable) for variable in model.system.inputs}
    shares = rng.choice([0.02, 0.1, 0.4], count)
    values = {
        variable.name: np.where(
            rng.random(count) < shares, drawn(variable, usual[variable.name], rng, count), usual[variable.name]
        )
        for variable in model.system.inputs
    }
    accepted = np.ones(count, bool)
    for requirement in model.requirements:
        needed = {v.name: values.get(v.name, np.full(count, 0.0)) for v in requirement.inputs}
        if needed.keys() <= values.keys():
            accepted &= np.asarray(
                compiled_expression(lower(requirement.condition), frozenset())(needed)["value"], bool
            )
    outputs = compiled(model.system, None, "vector")({each: value[accepted] for each, value in values.items()})
    found = Counter()
    for variable in model.system.variables:
        if variable.domain.kind != "boolean":
            at = np.asarray(outputs[variable.name], float)
            found[variable.name] += int((outside(variable, at) | ((at <= 0) & (variable.name in POSITIVE))).sum())
    record_property("values", int(accepted.sum()) * len(found))
    assert accepted.sum() >= 5
    assert not +found
