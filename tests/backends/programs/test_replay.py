"""What was recorded, done again in NumPy: the same numbers as the code itself, with less to do."""

import numpy as np
import pytest

from mlsysim.backends import vector
from mlsysim.backends.programs.recording import Recorder, UnrecordableError, Value
from mlsysim.backends.programs.replay import Replay

A, B = np.linspace(0.5, 3, 7)[:, None], np.linspace(1, 2, 5)


def replayed(function, *arrays):
    """The replay of a function of arrays."""
    recorder = Recorder()
    with np.errstate(all="ignore"):
        return Replay(recorder, [function(*recorder.inputs(len(arrays)))], vector.root)


def inner(a, b):
    """Where x + sqrt(x) is the product."""
    return vector.root(lambda x, a, b: x + np.sqrt(x) - a * np.exp(b), 0.0, 99.0, (a, b))


def nested(a, b):
    """A root that has the inner one in its sides, and a root that has nothing to do with its unknown."""
    return vector.root(lambda y, a, b: y * b + inner(y, b) - np.log1p(a) - inner(a, 2.0), 0.0, 1e3, (a, b))


FUNCTIONS = {
    "arithmetic": lambda a, b: np.where(a > b, a**2 - b, np.maximum(a, 1.0) / b) + np.where(True, a, b),
    "distributions": lambda a, b: vector.normal_cdf(a) * vector.normal_quantile(b / 3) + vector.erlang_c(2, a / 2),
    "root": inner,
    "nested": nested,
    "a root of one number": lambda a, b: inner(1.0, 2.0) * a + b,
    "an end that moves": lambda a, b: vector.root(lambda x, b: x - b, a, 2 * a, (b,)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_gives_what_the_code_gives(name):
    found = replayed(FUNCTIONS[name], A, B)([A, B])[0]
    np.testing.assert_array_equal(found, np.broadcast_to(FUNCTIONS[name](A, B), found.shape))


def test_what_an_unknown_does_not_move_is_done_once():
    tried = []

    def heavy(x):
        tried.append(x)
        return np.exp(x)

    def function(a, b):
        return vector.root(lambda x, a, b: x**3 - heavy(a) - b, 0.0, 99.0, (a, b))

    replay = replayed(function, A, B)
    assert len(tried) == 1
    (step,) = [body for _, operands, *_ in replay._steps if len(operands) > 3 for body in operands[2:]][:1]
    assert replay([A, B])[0] == pytest.approx(np.cbrt(np.exp(A) + B), rel=1e-12)
    assert step is not None


def test_what_no_output_needs_is_left_out():
    recorder = Recorder()
    a, b = recorder.inputs(2)
    np.exp(b)
    replay = Replay(recorder, [a * 2.0, 5.0], vector.root)
    assert len(replay) == 2
    assert [np.asarray(x).tolist() for x in replay([B, A])] == [(2 * B).tolist(), 5.0]


def test_operations_count_what_a_root_tries():
    plain, root, twice = (replayed(FUNCTIONS[name], A, B) for name in ("arithmetic", "root", "nested"))
    assert plain.operations < 40
    assert not plain.iterates
    assert 10 * plain.operations < root.operations < twice.operations / 5
    assert root.iterates


@pytest.mark.parametrize("most", [0, 7, 100])
@pytest.mark.parametrize("name", ["arithmetic", "nested"])
def test_what_few_axes_decide_is_done_ahead(name, most):
    replay = replayed(FUNCTIONS[name], A, B.reshape(1, -1))
    prepared = replay.prepared([A, B.reshape(1, -1)], most)
    places = np.array([[0, 3, 6, 6], [4, 0, 1, 2]])

    def at(value):
        return value[tuple(row if size > 1 else 0 for row, size in zip(places, value.shape, strict=True))]

    (found,) = prepared(at)
    np.testing.assert_allclose(found, np.asarray(FUNCTIONS[name](A, B))[tuple(places)], rtol=1e-13)
    shapes = [A.shape, (1, B.size)]
    assert replay.operations_on(shapes, most) <= replay.operations_on(shapes, 0) == replay.operations
    assert (len(prepared.steps) == 0) == (most == 100)


def test_a_branch_that_depends_on_data_is_not_recorded():
    with pytest.raises(UnrecordableError):
        replayed(lambda a, b: a if a > b else b, A, B)


def test_nothing_times_what_is_clipped_is_nothing_and_takes_no_operation():
    recorder = Recorder()
    (x,) = recorder.inputs(1)
    clipped = np.where(x > 2.0, np.maximum(0.0, np.minimum(1.0, 3.0 / x)), 1.0)
    assert np.multiply(0.0, clipped) == 0.0
    for unbounded in (x, 3.0 / x, np.minimum(1.0, x), np.maximum(0.0, np.minimum(np.inf, x))):
        assert isinstance(np.multiply(0.0, unbounded), Value)
    assert isinstance(np.multiply(2.0, clipped), Value)
