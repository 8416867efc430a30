"""Two thousand random questions: bounds in NumPy, bounds by programs and every point agree on each."""

import math
from dataclasses import replace

import numpy as np
import pytest
from fuzz import rest_long, tries
from study.search_cases import FAMILIES, by_brute_force, first_best, random_problem, searched, searches

from mlsysim.backends.programs import lazily
from mlsysim.bounds import Search, bounding
from mlsysim.extras import installed
from mlsysim.study import search as module
from mlsysim.study.searches.solver import _kept

#: Questions of each family of :data:`FAMILIES`, points of a grid, and most points of a box that is not split.
EACH, POINTS, LEAF = 60, 1_500, 16
#: The same where every point is a search for replicas.
EACH_SEARCH, SEARCHES, SEARCHED = 10, 200, 64
#: The family of which a quick run asks two questions: `per_operator`.
QUICK = 3
#: Operations after which programs are built: never, at once, and on the way.
THRESHOLDS = (math.inf, 0.0, 1e6) if installed("numba") else (math.inf,)


def questions(family):
    """How many questions are asked of a family."""
    return EACH_SEARCH if searches(family) else EACH


def found_by(threshold, asked, top, leaf):
    """An answer with its certificate, from bounds whose programs are built after so many operations."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("BUILDING", "LOADING"):
            patch.setattr(lazily, name, threshold)
        patch.setattr(bounding, "is_loaded", lambda: False)
        patch.setattr(module, "AT_ONCE", -1.0)
        patch.setattr(Search, "LEAF", leaf)
        _kept.clear()
        found = searched(asked, method="bounds", top=top)
    return found.places.tolist(), found.objectives, replace(found.certificate, seconds=0.0)


@pytest.mark.parametrize("family", rest_long(sorted(range(len(FAMILIES)), key=lambda n: n != QUICK), quick=1))
def test_every_question_has_one_answer(family, record_property):
    answered, slow = 0, searches(family)
    points, leaf = (SEARCHES, SEARCHED) if slow else (POINTS, LEAF)
    for number in range(tries(questions(family), quick=2)):
        asked = random_problem(1000 * number + family, points, FAMILIES[family : family + 1])
        values, top, sign = by_brute_force(asked), 1 + number % 4, asked.objectives[0][1]
        values = np.where(np.isfinite(values), values, np.inf)  # an infinite objective is no design
        places, expected = first_best(values, top)
        (by_index, objectives, certificate), *others = [found_by(each, asked, top, leaf) for each in THRESHOLDS]
        assert all(other == (by_index, objectives, certificate) for other in others)
        assert certificate.proven
        np.testing.assert_allclose([sign * value for (value,) in objectives], expected, rtol=2e-9)
        # Bounds of terms that cancel to nothing are off by more than a share of it, and equal points seem to be worse.
        if certificate.first and 0.0 not in expected:
            at = np.array(by_index, int).reshape(-1, len(asked.grid.sizes)).T
            assert np.ravel_multi_index(at, asked.grid.sizes).tolist() == places
        true = int(np.isfinite(values).sum())
        assert certificate.feasible[0] <= true <= certificate.feasible[1]
        answered += true > 0
    record_property("answered", answered)
    assert answered


def test_there_are_two_thousand():
    assert sum(map(questions, range(len(FAMILIES)))) >= 2000
