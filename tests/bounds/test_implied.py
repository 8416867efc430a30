"""What conditions of whole quotients imply, how points are refused early, and the first point of a search."""

import numpy as np
import sympy
from fuzz import fuzzing
from hypothesis import given
from hypothesis import strategies as st

from mlsysim.bounds import GraphForms, Points
from mlsysim.bounds.descent import descend
from mlsysim.bounds.implied import implied
from mlsysim.bounds.ranges import Ranges
from mlsysim.bounds.stages import into_stages
from mlsysim.symbolic import System

FLEET, TP, PP, BATCH, STEPS = sympy.symbols("fleet tp pp batch steps", positive=True)
D = FLEET / (TP * PP)
WHOLE = (sympy.Eq(sympy.Mod(FLEET, TP * PP), 0), sympy.Eq(sympy.Mod(BATCH, D * STEPS), 0))
SIDES = st.lists(st.integers(1, 30), min_size=2, max_size=6, unique=True)


class Grid:
    """Five axes of whole numbers."""

    def __init__(self, **axes):
        self.sizes = tuple(map(len, axes.values()))
        shapes = np.eye(len(axes), dtype=int) * (np.array(self.sizes) - 1) + 1
        self.axes = [np.array(list(axis)) for axis in axes.values()]
        self.values = {
            name: np.reshape(axis, shape).astype(float)
            for name, axis, shape in zip(axes, self.axes, shapes, strict=True)
        }

    @property
    def places(self):
        return np.array(np.unravel_index(np.arange(np.prod(self.sizes)), self.sizes), dtype=np.int64)

    @property
    def accepted(self):
        """What the conditions accept, in whole numbers."""
        fleet, tp, pp, batch, steps = (axis[row] for axis, row in zip(self.axes, self.places, strict=True))
        return (fleet % (tp * pp) == 0) & (batch * tp * pp % (fleet * steps) == 0)

    def implied(self):
        translator = GraphForms(System(()), self.values, self.sizes, (D, *WHOLE))
        return translator, implied(translator.forms, translator.require(WHOLE))

    def points(self, goal=D):
        return Points(System(()), (goal,), WHOLE, self.values)


@fuzzing(60, derandomize=False)
@given(SIDES, SIDES, SIDES, SIDES, SIDES)
def test_no_point_that_is_accepted_is_ruled_out(fleet, tp, pp, batch, steps):
    grid = Grid(fleet=fleet, tp=tp, pp=pp, batch=batch, steps=steps)
    translator, conditions = grid.implied()
    ranges = Ranges(translator.plans, grid.places, grid.places)
    for condition in conditions:
        assert ranges.truth(condition)[0][grid.accepted].all()


def test_what_is_implied():
    """Whole fleet / (tp pp) implies whole fleet / pp; with whole batch / (d steps) the fleet cancels."""
    grid = Grid(fleet=range(1, 41), tp=[1, 2, 4], pp=range(1, 8), batch=range(1, 33), steps=range(1, 9))
    pairs = {
        c.args[:2]: np.diff(np.diff(c.args[2], axis=0), axis=1) > 0 for c in grid.implied()[1] if c.relation == "pairs"
    }
    counts = np.arange(1, 41)
    assert (pairs[0, 2] == (counts[:, None] % counts[None, :7] == 0)).all()
    assert (pairs[3, 4] == (counts[:32, None] % counts[None, :8] == 0)).all()


def test_stages_refuse_what_conditions_refuse_and_know_their_axes():
    grid = Grid(fleet=range(1, 41), tp=[1, 2, 4], pp=range(1, 8), batch=range(1, 33), steps=range(1, 9))
    points = grid.points()
    stages = into_stages(points.checks, grid.sizes)
    assert sorted(axis for stage in stages for axis in stage.axes) == [0, 1, 2, 3, 4]
    good = np.logical_and.reduce([stage.checks.accepts(grid.places) for stage in stages])
    assert (good == grid.accepted).all()
    assert (good == points.accepts(grid.places)).all()


def test_first_point_where_no_single_step_is_accepted():
    """Among the best fifty of 2.6e8 points, of which one in a thousand is accepted; what is offered is feasible."""
    grid = Grid(fleet=range(1, 513), tp=[1, 2, 4, 8], pp=range(1, 65), batch=range(1, 513), steps=range(1, 5))
    goal = TP * PP / FLEET + sympy.Abs(BATCH - 360) + sympy.Abs(PP - 5)
    points = grid.points(goal)
    found = []

    def value(places):
        values, good = points(places)
        found.append((values[good], places[:, good]))
        return np.where(good, values, np.inf)

    descend(points, grid.sizes, value)
    values = np.concatenate([v for v, _ in found])
    places = np.concatenate([p for _, p in found], axis=1)
    again, feasible = points(places)
    assert feasible.all()
    assert (again == values).all()
    assert values.min() < 1  # so all that are better have this batch and these stages, too
    near = Grid(fleet=range(1, 513), tp=[1, 2, 4, 8], pp=[5], batch=[360], steps=range(1, 5))
    others, good = near.points(goal)(near.places)
    assert (others[good] < values.min()).sum() < 50
