"""Fronts: exact against a quadratic check, in every direction."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlsysim import Q_
from mlsysim.errors import InputError, UnknownNameError
from mlsysim.plot import pareto
from mlsysim.plot.pareto import nondominated


def line(ax, gid):
    (found,) = [line for line in ax.get_lines() if line.get_gid() == gid]
    return found.get_xydata()


def quadratic(points):
    """Those no other point beats: at most as large in both, smaller in one."""
    return {
        p for p in points if not any(q[0] <= p[0] and q[1] <= p[1] and q != p for q in points)
    }  # fmt: skip


SMALL = st.integers(-6, 6).map(float)


@given(st.lists(st.tuples(SMALL, SMALL), min_size=1, max_size=40))
def test_the_front_equals_a_quadratic_check(points):
    values = np.array(points)
    best = nondominated(values[:, 0], values[:, 1])
    found = [tuple(values[place]) for place in best]
    assert set(found) == quadratic(points)
    assert len(found) == len(set(found))
    assert found == sorted(found)


@pytest.mark.parametrize("maximize", [(), "mfu", ("total_memory",), ("mfu", "total_memory")])
def test_cloud_and_front_of_a_sweep(ax, layouts, maximize):
    pareto(layouts, "mfu", "total_memory", maximize=maximize, ax=ax)
    good = layouts.feasible.values
    cloud = np.column_stack([layouts.mfu.values[good], layouts.total_memory.values[good]])
    np.testing.assert_array_equal(line(ax, "cloud"), cloud)
    signs = np.array([-1 if name in maximize else 1 for name in ("mfu", "total_memory")])
    if isinstance(maximize, str):
        signs = np.array([-1, 1])
    wanted = {tuple(np.array(p) * signs) for p in quadratic([tuple(row) for row in cloud * signs])}
    assert {tuple(row) for row in line(ax, "front")} == wanted
    better = {1: "lower", -1: "higher"}
    for label, sign in zip((ax.get_xlabel(), ax.get_ylabel()), signs, strict=True):
        assert f"({better[sign]} is better)" in label


def test_the_steps_stay_where_the_front_attains(ax, layouts):
    pareto(layouts, "mfu", "total_memory", maximize="mfu", ax=ax)
    (drawn,) = [found for found in ax.get_lines() if found.get_gid() == "front"]
    path = drawn.get_path().vertices if drawn.get_drawstyle() == "default" else line(ax, "front")
    assert drawn.get_drawstyle() == "steps-post"
    # From the best MFU on: less of it, and less memory; a step after each point is no better than it.
    assert (np.diff(path[:, 0]) < 0).all()
    assert (np.diff(path[:, 1]) < 0).all()


def test_numbered_designs_are_those_the_legend_describes(ax, layouts):
    pareto(layouts, "step_time", "total_memory", annotate=3, ax=ax)
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts[:2] == ["feasible", "front"]
    assert [text.get_text() for text in ax.texts] == ["1", "2", "3"]
    for note, described in zip(ax.texts, texts[2:], strict=True):
        at = {name: int(value) for name, value in (row.split(" = ") for row in described.splitlines())}
        assert set(at) == set(layouts.dims)
        point = layouts.sel(at)
        assert note.xy == (point.step_time.item(), point.total_memory.item())
    assert tuple(line(ax, "front")[0]) == ax.texts[0].xy
    assert tuple(line(ax, "front")[-1]) == ax.texts[2].xy


def test_no_annotation(ax, layouts):
    pareto(layouts, "step_time", "total_memory", annotate=0, ax=ax)
    assert not ax.texts


TABLE = {
    "step_time": [3.0, 1.0, 2.0, np.nan, 0.5],
    "total_memory": [1.0, 3.0, 3.5, 1.0, 0.1],
    "feasible": [True, True, True, True, False],
    "name": ["a", "b", "c", "d", "e"],
}


def test_columns_take_their_words_from_the_vocabulary(ax):
    pareto(TABLE, "step_time", "total_memory", label=["name"], ax=ax)
    np.testing.assert_array_equal(line(ax, "cloud"), [[3, 1], [1, 3], [2, 3.5]])
    np.testing.assert_array_equal(line(ax, "front"), [[1, 3], [3, 1]])
    assert ax.get_xlabel() == "Step time $T$ [s] (lower is better)"
    assert [text.get_text() for text in ax.get_legend().get_texts()][2:] == ["name = b", "name = a"]


def test_columns_of_quantities_and_frames(ax):
    import pandas

    columns = {"step_time": [Q_(3000, "ms"), Q_(1, "s")], "total_memory": Q_([1, 3], "TB")}
    pareto(columns, "step_time", "total_memory", ax=ax)
    np.testing.assert_allclose(line(ax, "front"), [[1, 3000], [3, 1000]])
    ax.clear()
    pareto(pandas.DataFrame(TABLE), "step_time", "total_memory", ax=ax)
    np.testing.assert_array_equal(line(ax, "front"), [[1, 3], [3, 1]])
    assert ax.get_legend().get_texts()[2].get_text() == "design 2"


def test_a_given_front_is_taken(ax):
    pareto({**TABLE, "front": [True, False, True, True, True]}, "step_time", "total_memory", front="front", ax=ax)
    np.testing.assert_array_equal(line(ax, "front"), [[2, 3.5], [3, 1]])


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"x": "step_tim"}, UnknownNameError, "did you mean step_time"),
        ({"maximize": "mfu"}, UnknownNameError, "unknown axis to maximize 'mfu': .*step_time, total_memory"),
        ({"y": "name"}, InputError, "y='name': must be a number"),
        ({"annotate": -1}, InputError, "annotate=-1: must be a whole number >= 0"),
        ({"front": "name"}, InputError, "front='name': must be a truth value"),
        ({"label": ["nam"]}, UnknownNameError, "did you mean name"),
        ({"designs": 3}, InputError, "designs=3: must be a data set, or columns"),
        ({"designs": {"step_time": [1], "total_memory": [1, 2]}}, InputError, "columns must be of one length"),
        ({"designs": {**TABLE, "feasible": [False] * 5}}, InputError, "no design is feasible and finite"),
    ],
)
def test_a_wrong_argument_is_refused(ax, change, error, message):
    with pytest.raises(error, match=message):
        pareto(**{"designs": TABLE, "x": "step_time", "y": "total_memory", **change}, ax=ax)
    assert not ax.has_data()


def test_outputs_over_different_dimensions_are_broadcast(ax, memory):
    cheap = memory.assign(price=("hardware", [1.0, 2.0, 3.0], {"units": "USD/hour"}))
    pareto(cheap, "price", "total_memory", ax=ax)
    good = memory.feasible.values
    assert len(line(ax, "cloud")) == good.sum()
    price = np.broadcast_to(np.array([1.0, 2.0, 3.0])[:, None, None], good.shape)
    pairs = list(zip(price[good], memory.total_memory.values[good], strict=True))
    assert {tuple(row) for row in line(ax, "front")} == quadratic(list(itertools.chain(pairs)))
    assert ax.get_xlabel() == "Price [USD/hour] (lower is better)"
