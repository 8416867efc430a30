"""What a program gives is what NumPy gives, to the last bit where both have the same function."""

import numpy as np
import pytest
from fuzz import fuzzing
from hypothesis import given
from hypothesis import strategies as st

from mlsysim.backends import vector
from mlsysim.backends.programs import steps
from mlsysim.backends.programs.codes import CODES, TABLE_FIRST
from mlsysim.backends.programs.lazily import Lazily
from mlsysim.backends.programs.program import Program
from mlsysim.backends.programs.recording import Recorder, UnrecordableError
from mlsysim.bounds.tables import Plane

pytest.importorskip("numba", reason="the machine needs numba")

#: Numbers of every kind, at the places 0, 1, ... of a table.
NUMBERS = np.array([0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -2.5, 3.0, 1e-300, -1e300, 1e300, np.inf, -np.inf, np.nan, 7.25])
PLACES = np.array(np.meshgrid(*[np.arange(len(NUMBERS))] * 4)).reshape(4, -1)
ONE = ("absolute", "negative", "ceil", "floor", "rint", "log", "exp", "sqrt", "isnan", "isfinite", "logical_not")
TWO = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "fmax", "fmin", "power", "remainder", "less",
       "less_equal", "greater", "greater_equal", "equal", "not_equal", "logical_and", "logical_or")  # fmt: skip
STEPS = {"plus_outward": 2, "known": 2, "inverted": 2, "least_inside": 3, "times_low": 4, "times_high": 4}
#: What NumPy computes with functions of its own, which may differ in the last digit.
ROUNDED = {"log", "exp", "power"}


def drawn(function, count):
    """What a function of numbers gives at every place, and a program of it."""
    recorder = Recorder()
    values = [steps.looked_up(NUMBERS, place) for place in recorder.inputs(4)]
    with np.errstate(all="ignore"):
        expected = function(*NUMBERS[PLACES][:count])
    return expected, Program(recorder, [function(*values[:count])])(PLACES)[0]


@pytest.mark.parametrize("name", [*ONE, *TWO, *STEPS, "where"])
def test_an_instruction_does_what_numpy_does(name):
    function = getattr(steps, name) if name in STEPS else getattr(np, name)
    count = STEPS.get(name, 3 if name == "where" else 1 if name in ONE else 2)
    expected, found = drawn(function, count)
    there = slice(None)
    if name in ("times_low", "times_high"):
        low, high = NUMBERS[PLACES[::2]], NUMBERS[PLACES[1::2]]
        there = (low <= high).all(axis=0)
    np.testing.assert_allclose(found[there], expected[there], rtol=1e-15 if name in ROUNDED else 0, equal_nan=True)


BESIDE = ["add", "multiply", "maximum", "minimum", "power", "subtract"]


@pytest.mark.parametrize("number", [-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, np.inf])
@pytest.mark.parametrize(
    ("name", "last"), [*((name, True) for name in (*BESIDE, "known", "inverted")), *((name, False) for name in BESIDE)]
)
def test_an_instruction_with_a_number(name, last, number):
    function = getattr(steps, name, None) or getattr(np, name)
    expected, found = drawn((lambda x: function(x, number)) if last else (lambda x: function(number, x)), 1)
    np.testing.assert_allclose(found, expected, rtol=1e-15 if name == "power" else 0, equal_nan=True)


def test_every_instruction_is_tested():
    with_number = {name for name in CODES if name.endswith(" number")}
    assert set(CODES) == {*ONE, *TWO, *STEPS, *with_number, *TABLE_FIRST, "where", "plus_outward_scaled"}


def test_a_scaled_sum_of_bounds_is_one_instruction():
    recorder = Recorder()
    x, y = recorder.inputs(2)
    program = Program(recorder, [steps.plus_outward(x, y * 3.0)])
    given = np.array([[1, 5, -3], [7, -2, 0]])
    assert len(program) == 1
    assert np.array_equal(program(given)[0], steps.plus_outward(given[0] * 1.0, given[1] * 3.0))


@fuzzing(50)
@given(data=st.data())
def test_stretches_of_a_table(data):
    values = np.array(data.draw(st.lists(st.floats(-9, 9), min_size=1, max_size=40)))
    low, high = np.array([(a, b) for a in range(len(values)) for b in range(a, len(values))]).T
    rows = [values]
    while 2 ** len(rows) <= len(values):
        width = 2 ** (len(rows) - 1)
        rows.append(np.concatenate([np.minimum(rows[-1][:-width], rows[-1][width:]), rows[-1][-width:]]))
    recorder = Recorder()
    program = Program(recorder, [steps.least_of(np.array(rows), *recorder.inputs(2))])
    assert np.array_equal(
        program(np.array([low, high]))[0], [values[a : b + 1].min() for a, b in zip(low, high, strict=True)]
    )


@fuzzing(50)
@given(data=st.data())
def test_rectangles_of_a_plane(data):
    shape = data.draw(st.tuples(st.integers(1, 7), st.integers(2, 7)))
    values = np.array(data.draw(st.lists(st.floats(-9, 9), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1])))
    values = values.reshape(shape)
    sides = [[(a, b) for a in range(size) for b in range(a, size)] for size in shape]
    places = np.array([[*rows, *columns] for rows in sides[0] for columns in sides[1]]).T
    plane = Plane((0, 1), values)
    recorder = Recorder()
    top, bottom, left, right = recorder.inputs(4)
    program = Program(recorder, [plane.end((top, left), (bottom, right), side) for side in (0, 1)])
    inside = [values[a : b + 1, c : d + 1] for a, b, c, d in places.T]
    expected = np.array([[part.min() for part in inside], [part.max() for part in inside]])
    assert np.array_equal(program(places), expected)
    assert np.array_equal([plane.end(places[::2], places[1::2], side) for side in (0, 1)], expected)


def test_pairs_are_looked_up():
    table = np.arange(12.0).reshape(3, 4) ** 2
    recorder = Recorder()
    program = Program(recorder, [steps.looked_up_pair(table, *recorder.inputs(2))])
    rows, columns = np.unravel_index(np.arange(12), (3, 4))
    assert np.array_equal(program(np.array([rows, columns]))[0], table[rows, columns])


def test_what_depends_on_one_place_is_a_table():
    """It is computed once per place and not once per element; what is looked up elsewhere stays as it is."""
    prices = np.array([3.0, 1.0, 2.0])

    def cost(first, second):
        dear = np.maximum(steps.looked_up(prices, first) ** 2 - 1, 1.5)
        return dear * steps.looked_up(prices, second)

    recorder = Recorder(tabulated=100)
    program = Program(recorder, [cost(*recorder.inputs(2))])
    assert len(program) == 3
    places = np.array(np.meshgrid(range(3), range(3))).reshape(2, -1)
    assert np.array_equal(program(places)[0], cost(*places))


def test_one_input_changed_after_the_other():
    """What depends on a changed input is computed again, the rest is not; elements come back in their order."""
    random = np.random.default_rng(5)
    table = random.random(50)

    def outputs(x, y, z):
        shared = np.sqrt(steps.looked_up(table, x) + y)
        return [shared * z + np.maximum(x * y, 3.0), steps.looked_up(table, z) - 1.0, y + 0.0, 7.0]

    recorder = Recorder()
    program = Program(recorder, outputs(*recorder.inputs(3)), changes=[2, 0, 0])
    given, values = random.integers(0, 50, (3, 1000)), random.integers(0, 50, (3, 1000))
    wanted = random.random((3, 1000)) < [[0.5], [0.1], [0.0]]
    wanted[:, 300:500] = [[True], [False], [True]]
    found = program.varied(given, values, wanted)
    expected = np.broadcast_arrays(*outputs(*given))
    assert np.array_equal(program(given), expected)
    assert np.array_equal(found[:, 0], expected)
    for change, axis in enumerate([2, 0, 0]):
        there, other = wanted[change], given[:, wanted[change]]
        other[axis] = values[change, there]
        assert np.array_equal(found[:, 1 + change, there], np.broadcast_arrays(*outputs(*other)))


def test_many_elements_and_outputs_that_are_numbers():
    recorder = Recorder()
    (x,) = recorder.inputs(1)
    places = np.arange(1000)[None]
    found = Program(recorder, [x + 1, 7.0, x, np.where(x > 500, x, -1.0) + x])(places)
    expected = np.array(
        [places[0] + 1, np.full(1000, 7), places[0], np.where(places[0] > 500, places[0], -1) + places[0]]
    )
    assert np.array_equal(found, expected)


@pytest.mark.parametrize(
    "use",
    [
        pytest.param(lambda x: 1 if x > 0 else 0, id="a branch that depends on data"),
        pytest.param(lambda x: np.sin(x), id="no instruction"),
        pytest.param(lambda x: np.asarray(x, float), id="an array"),
        pytest.param(lambda x: np.add.reduce(x), id="a reduction"),
        pytest.param(lambda x: x.astype(int), id="another type"),
        pytest.param(lambda x: vector.root(lambda y, at: y * y - at, 0.0, 9.0, (x,)), id="a root"),
    ],
)
def test_what_cannot_be_recorded_is_left_to_numpy(use):
    recorder = Recorder()
    with pytest.raises(UnrecordableError):
        Program(recorder, [use(recorder.inputs(1)[0])])
    assert Lazily().after(lambda given: [use(given[0])], 1e9, 1, 1) is None


def test_a_program_is_recorded_after_a_while():
    lazily = Lazily()

    def after(elements):
        return lazily.after(lambda given: [given[0] + 1.0], 1.0, elements, 1)

    assert after(1) is None
    program = after(10**9)
    assert program is not None
    assert after(1) is program
