"""Stacked bars: every part has its height and stands on those below it."""

import numpy as np
import pytest

from mlsysim import Q_
from mlsysim.errors import InputError, UnitError, UnknownNameError
from mlsysim.plot import bars

STATES = ["weights", "gradients", "optimizer_state"]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def ticks(ax, minor=False):
    return [text.get_text() for text in ax.xaxis.get_ticklabels(minor=minor)]


def rectangles(ax, place):
    """Left edges, bottoms and heights of the bars of a part, in the order they were drawn."""
    return np.array([(bar.get_x(), bar.get_y(), bar.get_height()) for bar in ax.containers[place]]).T


def lines(ax):
    return [line for line in ax.get_lines() if line.get_gid() == "limit"]


def columns(ax, word):
    return sorted(round(patch.get_x() + patch.get_width() / 2, 6) for patch in ax.patches if patch.get_gid() == word)


@pytest.fixture
def stages(memory):
    return memory.sel(hardware="H100").isel(batch_size=15)


def test_parts_stand_on_each_other(ax, stages):
    bars(stages, STATES, ax=ax)
    below = np.zeros(4)
    for place, name in enumerate(STATES):
        _, bottoms, heights = rectangles(ax, place)
        np.testing.assert_allclose(bottoms, below)
        np.testing.assert_allclose(heights, stages[name])
        below = below + stages[name].values
    assert ticks(ax) == ["0", "1", "2", "3"]
    assert ax.get_xlabel() == "ZeRO stage $Z$"
    assert ax.get_ylabel() == "[GB]"
    # The legend reads as the stack does, from the top down.
    assert [text.split("\n")[0].split(" $")[0] for text in legend(ax)][:3] == [
        "Optimizer state",
        "Gradients",
        "Weights",
    ]


def test_two_axes_are_groups_side_by_side(ax, memory):
    plane = memory.sel(hardware=["A100_40GB", "H200"]).isel(batch_size=0)
    bars(plane, STATES, x="zero_stage", ax=ax)
    left, _, heights = rectangles(ax, 1)
    np.testing.assert_allclose(heights, plane.gradients.transpose("zero_stage", "hardware").values.ravel())
    assert (np.diff(left) > 0).all()
    assert ticks(ax) == ["0", "1", "2", "3"]
    assert ticks(ax, minor=True) == ["A100_40GB", "H200"] * 4
    assert ax.get_xlabel() == "ZeRO stage $Z$ (bars: hardware)"


def test_the_bar_in_the_middle_of_a_group_keeps_its_name(ax, memory):
    bars(memory.isel(batch_size=0), STATES, x="zero_stage", group="hardware", ax=ax)
    ax.figure.canvas.draw()
    assert ticks(ax) == ["0", "1", "2", "3"]
    assert len(ax.xaxis.get_minorticklocs()) == 12
    box, whole = ax.get_tightbbox(), ax.figure.bbox
    assert whole.y0 <= box.y0
    assert box.x1 <= whole.x1 + 1


def test_what_parts_leave_of_the_total_is_on_top(ax, stages):
    bars(stages, STATES, total="total_memory", ax=ax)
    _, bottoms, heights = rectangles(ax, 3)
    np.testing.assert_allclose(bottoms + heights, stages.total_memory)
    assert legend(ax)[0] == "rest"
    assert ax.get_ylabel() == "Total memory $M$ [GB]"


def test_nothing_is_left_where_parts_are_the_total(ax, stages):
    whole = stages.assign(both=(stages.weights + stages.gradients).assign_attrs(units="GB"))
    bars(whole, ["weights", "gradients"], total="both", ax=ax)
    assert "rest" not in legend(ax)
    with pytest.raises(InputError, match="total='both': is less than the sum of its parts"):
        bars(whole, STATES, total="both", ax=ax)


def test_what_does_not_fit_is_pale_with_a_dashed_outline(ax, stages):
    bars(stages, STATES, ax=ax)
    assert not stages.feasible.all()
    left, bottoms, heights = rectangles(ax, 3)
    np.testing.assert_allclose(left, rectangles(ax, 0)[0][~stages.feasible.values])
    np.testing.assert_allclose(bottoms + heights, sum(stages[name] for name in STATES)[~stages.feasible.values])
    assert {bar.get_facecolor()[:3] for bar in ax.containers[3]} == {(1.0, 1.0, 1.0)}
    assert not any(bar.get_hatch() for bar in ax.patches)
    assert legend(ax)[-1] == "infeasible"
    ax.clear()
    bars(stages, STATES, feasible=None, ax=ax)
    assert "infeasible" not in legend(ax)


@pytest.mark.parametrize("limit", [80, 80.0, "80 GB", Q_(80, "GB"), "80e9 B"])
def test_a_limit_is_one_line(ax, stages, limit):
    bars(stages, STATES, limit=limit, ax=ax)
    (line,) = lines(ax)
    np.testing.assert_allclose(line.get_ydata(), 80)
    assert legend(ax)[-1] == "Limit 80 GB"


def test_bars_and_limit_stand_within_the_axes(ax, stages):
    bars(stages, STATES, limit="900 GB", total="total_memory", ax=ax)
    low, high = ax.get_ylim()
    assert low == 0
    assert 900 < high < 1000


def test_a_limit_that_varies_is_a_line_over_each_bar(ax, memory):
    plane = memory.isel(batch_size=0, zero_stage=0)
    capacity = (plane.total_memory / plane.memory_utilization).assign_attrs(units="GB", label="capacity")
    bars(plane.assign(capacity=capacity), STATES, limit="capacity", ax=ax)
    np.testing.assert_allclose([line.get_ydata()[0] for line in lines(ax)], capacity)
    assert "Capacity" in legend(ax)


def test_the_unit_of_the_axis_can_be_chosen(ax, stages):
    bars(stages, STATES, total="total_memory", limit="80 GB", unit="GiB", ax=ax)
    _, _, heights = rectangles(ax, 0)
    np.testing.assert_allclose(heights, stages.weights * 1e9 / 2**30)
    assert ax.get_ylabel() == "Total memory $M$ [GiB]"
    np.testing.assert_allclose(lines(ax)[0].get_ydata(), 80e9 / 2**30)


def test_refused_and_infinite_points_are_columns(ax, masked, serving):
    bars(masked.isel(batch_size=0), "total_memory", ax=ax)
    assert columns(ax, "refused") == [2]
    np.testing.assert_array_equal(rectangles(ax, 0)[2] > 0, [True, True, False, True])
    assert "refused" in legend(ax)
    ax.clear()
    along = serving.isel(qps=2)
    bars(along, "required_replicas", ax=ax)
    assert columns(ax, "infinite") == list(np.flatnonzero(np.isinf(along.required_replicas)))
    assert "infinite" in legend(ax)


def test_what_is_below_zero_stands_below(ax, stages):
    bars(stages.assign(less=-stages.weights.assign_attrs(units="GB")).assign(
        less=lambda ds: ds.less.assign_attrs(units="GB")), ["gradients", "less", "optimizer_state"], ax=ax)  # fmt: skip
    _, bottoms, heights = rectangles(ax, 1)
    np.testing.assert_array_equal(bottoms, 0)
    np.testing.assert_allclose(heights, -stages.weights)
    np.testing.assert_allclose(rectangles(ax, 2)[1], stages.gradients)


def test_parts_that_are_nowhere_are_not_in_the_legend(ax, stages):
    bars(stages.assign(nothing=(0 * stages.weights).assign_attrs(units="GB")), ["weights", "nothing"], ax=ax)
    assert not any("othing" in text for text in legend(ax))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"parts": []}, InputError, "must name at least one output"),
        ({"parts": ["weights", "weights"]}, InputError, "each once"),
        ({"parts": ["weigths"]}, UnknownNameError, "did you mean weights"),
        ({"parts": ["weights", "feasible"]}, InputError, "parts='feasible': must be a number"),
        ({"parts": ["weights", "memory_utilization"]}, UnitError, "memory_utilization is in no unit, which is not GB"),
        ({"total": "totl_memory"}, UnknownNameError, "did you mean total_memory"),
        ({"limit": "80 ms"}, UnitError, "ms is not a unit of GB"),
        ({"limit": "memory_utilisation"}, UnitError, "is not a number with a unit"),
        ({"limit": True}, InputError, "must be an output, a number"),
        ({"unit": "ms"}, UnitError, "weights is in GB, which is not ms"),
        ({"x": "hardware"}, InputError, "must be one of the dimensions zero_stage"),
        ({"feasible": "weights"}, InputError, "must be a truth value"),
        ({"ds": [1, 2]}, InputError, r"ds=\[1, 2\]: must be the data set"),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_refused_before_anything_is_drawn(ax, stages, change, error, message):
    with pytest.raises(error, match=message):
        bars(**{"ds": stages, "parts": STATES, **change}, ax=ax)
    assert not ax.has_data()


def test_dimensions_left_over_are_named(ax, memory):
    with pytest.raises(InputError, match=r"hardware is left; select"):
        bars(memory, STATES, x="batch_size", group="zero_stage", ax=ax)
