"""Operations state what bounds know of them, and keep to it."""

import numpy as np
import pytest
import sympy
from bounds.expressions import A, Case, M, N, whole

from mlsysim.backends import vector
from mlsysim.bounds.forms import Forms
from mlsysim.bounds.plans import Plans
from mlsysim.bounds.ranges import Ranges
from mlsysim.graph import ANY, TABLE, Facts, Operation


class Cubed(sympy.Function):
    """A function that bounds have never heard of."""

    operation = "cubed"
    is_real = True


@pytest.mark.parametrize(
    ("stated", "lowest", "highest"), [({"rises": (1,), "error": 1e-11}, -27.0, 8.0), ({}, -30.0, 20.0)]
)
def test_what_bounds_know_of_a_function_its_operation_states(stated, lowest, highest, monkeypatch):
    """A direction bounds it by its ends; without one it may be whatever its facts allow."""
    facts = Facts(-30.0, 20.0)
    operation = Operation("cubed", "{0} * {0} * {0}", fold=lambda a: a * a * a, facts=lambda _: facts, **stated)
    monkeypatch.setitem(TABLE, "cubed", operation)
    monkeypatch.setitem(vector.FUNCTIONS, "cubed", lambda a: a * a * a)
    forms = Forms((3,))
    of = forms.atom("cubed", forms.table(0, np.array([-3.0, 0.0, 2.0])))
    with np.errstate(all="ignore"):
        found = Ranges(Plans(forms), np.array([[0]]), np.array([[2]]), thorough=False).range(of)
    np.testing.assert_allclose(np.ravel(found), [lowest, highest], rtol=1e-9)
    case = Case(Cubed(A * N * M / 10), {A: [-1, 0.5], N: range(1, 5), M: range(1, 6)})
    least, greatest = whole(case)
    assert least <= max(-(2.0**3), lowest)
    assert greatest >= min(1.0, highest)


@pytest.mark.parametrize("name", [name for name, operation in TABLE.items() if operation.rises])
def test_operations_go_the_way_they_state(name):
    operation, random = TABLE[name], np.random.default_rng(0)
    domains = operation.domain or (ANY,) * len(operation.rises)
    facts = operation.facts(*[ANY] * len(domains))
    ends = [(max(domain.low, -20.0), min(domain.high, 20.0)) for domain in domains]
    whole_numbers = [domain.whole or domain.low == 1 for domain in domains]

    def between(low, place):
        value = random.uniform(low, ends[place][1])
        return float(np.rint(value)) if whole_numbers[place] else value

    for _ in range(300):
        operands = [between(low, place) for place, (low, _) in enumerate(ends)]
        found = operation.fold(*operands)
        assert not found < facts.low
        assert not found > facts.high
        for place, rises in enumerate(operation.rises):
            moved = operation.fold(*operands[:place], between(operands[place], place), *operands[place + 1 :])
            if rises and np.isfinite(found) and np.isfinite(moved):
                assert rises * (moved - found) >= -max(operation.error, 1e-15) * abs(found), (operands, place)
