"""What a program gives is what NumPy gives, to the last bit where both have the same function."""

import numpy as np
import pytest
from fuzz import fuzzing
from hypothesis import given
from hypothesis import strategies as st

from mlsysim.backends import vector
from mlsysim.backends.programs.codes import CODES, NUMBER_ALONE, TURNED
from mlsysim.backends.programs.lazily import Lazily
from mlsysim.backends.programs.program import Program
from mlsysim.bounds.tables import Plane
from mlsysim.graph import TABLE
from mlsysim.graph.operand import OPERATIONS, NoOperationError, built, of_operands
from mlsysim.graph.operations import outward

pytest.importorskip("numba", reason="the machine needs numba")

#: Numbers of every kind, at the places 0, 1, ... of a table.
NUMBERS = np.array([0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -2.5, 3.0, 1e-300, -1e300, 1e300, np.inf, -np.inf, np.nan, 7.25])
PLACES = np.array(np.meshgrid(*[np.arange(len(NUMBERS))] * 4)).reshape(4, -1)
#: What the operations of the table do to arrays, by how many operands they have.
ARRAYS = {
    1: {"absolute": np.abs, "negative": np.negative, "log": np.log, "exp": np.exp, "sqrt": np.sqrt,
        "above": np.ceil, "below": np.floor, "ceil": vector.ceil, "floor": vector.floor,
        "negation": np.logical_not, "truth": lambda x: x != 0},
    2: {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide, "maximum": np.maximum,
        "minimum": np.minimum, "fmax": np.fmax, "fmin": np.fmin, "power": np.power, "mod": np.remainder,
        "less": np.less, "less_equal": np.less_equal, "greater": np.greater, "greater_equal": np.greater_equal,
        "equal": np.equal, "not_equal": np.not_equal, "both": np.logical_and, "either": np.logical_or,
        "lawful": vector.lawful, "plus_outward": outward.plus_outward, "known": outward.known,
        "inverted": outward.inverted},
    3: {"where": np.where, "least_inside": outward.least_inside},
    4: {"times_low": outward.times_low, "times_high": outward.times_high},
}  # fmt: skip
OPERANDS = {name: count for count, functions in ARRAYS.items() for name in functions}
FUNCTIONS = {name: function for functions in ARRAYS.values() for name, function in functions.items()}
LOOK_UPS = {"looked_up", "looked_up_pair", "least_of", "greatest_of", "least_of_plane", "greatest_of_plane"}
#: What NumPy computes with functions of its own, which may differ in the last digit.
ROUNDED = {"log", "exp", "power"}


def drawn(function, count):
    """What a function gives of numbers at every place, and a program of it."""
    with np.errstate(all="ignore"):
        expected = function(*NUMBERS[PLACES][:count])
    program = Program.written(
        lambda places: [function(*[outward.looked_up(NUMBERS, place) for place in places[:count]])], 4
    )
    return expected, program(PLACES)[0]


@pytest.mark.parametrize("name", sorted(OPERANDS.keys() - NUMBER_ALONE))
def test_an_instruction_does_what_numpy_does(name):
    expected, found = drawn(of_operands(name, FUNCTIONS[name]), OPERANDS[name])
    there = slice(None)
    if name in ("times_low", "times_high"):
        low, high = NUMBERS[PLACES[::2]], NUMBERS[PLACES[1::2]]
        there = (low <= high).all(axis=0)
    np.testing.assert_allclose(found[there], expected[there], rtol=1e-15 if name in ROUNDED else 0, equal_nan=True)


@pytest.mark.parametrize("name", OPERANDS)
def test_a_known_operation_is_folded_to_what_numpy_gives(name):
    """Operations on numbers alone need no instruction."""
    function, count = of_operands(name, FUNCTIONS[name]), OPERANDS[name]
    random = np.random.default_rng(7)
    for numbers in random.choice(NUMBERS, (300, count)) if count > 1 else NUMBERS[:, None]:
        graph = built(lambda given, numbers=numbers: [given[0].make(name, *numbers)], ["x"])
        with np.errstate(all="ignore"):
            expected = function(*[np.array([number]) for number in numbers])
        assert graph.nodes[graph.outputs["0"]].op == "number"
        np.testing.assert_allclose(graph.nodes[graph.outputs["0"]].data, expected[0], rtol=1e-15, equal_nan=True)


BESIDE = ["add", "multiply", "maximum", "minimum", "power", "subtract"]


@pytest.mark.parametrize("number", [-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, np.inf])
@pytest.mark.parametrize(
    ("name", "last"), [*((name, True) for name in (*BESIDE, "known", "inverted")), *((name, False) for name in BESIDE)]
)
def test_an_instruction_with_a_number(name, last, number):
    function = FUNCTIONS[name]
    expected, found = drawn((lambda x: function(x, number)) if last else (lambda x: function(number, x)), 1)
    np.testing.assert_allclose(found, expected, rtol=1e-15 if name == "power" else 0, equal_nan=True)


def test_every_instruction_is_tested():
    second = {name for name in CODES if name.endswith((" number", " scaled"))}
    assert set(CODES) == {*OPERANDS, *LOOK_UPS, *second} - {*NUMBER_ALONE, *TURNED}
    assert set(OPERATIONS.values()) <= TABLE.keys()


def test_a_scaled_sum_of_bounds_is_one_instruction():
    program = Program.written(lambda given: [outward.plus_outward(given[0], given[1] * 3.0)], 2)
    given = np.array([[1, 5, -3], [7, -2, 0]])
    assert len(program) == 1
    assert np.array_equal(program(given)[0], outward.plus_outward(given[0] * 1.0, given[1] * 3.0))


@fuzzing(50)
@given(data=st.data())
def test_stretches_of_a_table(data):
    values = np.array(data.draw(st.lists(st.floats(-9, 9), min_size=1, max_size=40)))
    low, high = np.array([(a, b) for a in range(len(values)) for b in range(a, len(values))]).T
    rows = [values]
    while 2 ** len(rows) <= len(values):
        width = 2 ** (len(rows) - 1)
        rows.append(np.concatenate([np.minimum(rows[-1][:-width], rows[-1][width:]), rows[-1][-width:]]))
    program = Program.written(lambda ends: [outward.least_of(np.array(rows), *ends)], 2)
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
    program = Program.written(lambda ends: [plane.end(ends[::2], ends[1::2], side) for side in (0, 1)], 4)
    inside = [values[a : b + 1, c : d + 1] for a, b, c, d in places.T]
    expected = np.array([[part.min() for part in inside], [part.max() for part in inside]])
    assert np.array_equal(program(places), expected)
    assert np.array_equal([plane.end(places[::2], places[1::2], side) for side in (0, 1)], expected)


def test_pairs_are_looked_up():
    table = np.arange(12.0).reshape(3, 4) ** 2
    program = Program.written(lambda places: [outward.looked_up_pair(table, *places)], 2)
    rows, columns = np.unravel_index(np.arange(12), (3, 4))
    assert np.array_equal(program(np.array([rows, columns]))[0], table[rows, columns])


def test_one_input_changed_after_the_other():
    """What depends on a changed input is computed again, the rest is not; elements come back in their order."""
    random = np.random.default_rng(5)
    table = random.random(50)

    def outputs(x, y, z):
        shared = np.sqrt(outward.looked_up(table, x) + y)
        return [shared * z + np.maximum(x * y, 3.0), outward.looked_up(table, z) - 1.0, y + 0.0, 7.0]

    program = Program.written(lambda places: outputs(*places), 3, changes=[2, 0, 0])
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
    places = np.arange(1000)[None]
    found = Program.written(lambda x: [x[0] + 1, 7.0, x[0], np.where(x[0] > 500, x[0], -1.0) + x[0]], 1)(places)
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
        pytest.param(lambda x: vector.erlang_c(4.0, x), id="iterations"),
        pytest.param(lambda x: x.make("normal_cdf", x), id="an operation without an instruction"),
    ],
)
def test_what_has_no_instruction_is_left_to_numpy(use):
    with pytest.raises(NoOperationError):
        Program.written(lambda given: [use(given[0])], 1)
    assert Lazily().after(lambda given: [use(given[0])], 1e9, 1, 1) is None


def test_a_program_is_built_after_a_while():
    lazily = Lazily()

    def after(elements):
        return lazily.after(lambda given: [given[0] + 1.0], 1.0, elements, 1)

    assert after(1) is None
    program = after(10**9)
    assert program is not None
    assert after(1) is program
