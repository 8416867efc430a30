"""Curves: solid where feasible, dashed and hollow where not, with units."""

import numpy as np
import pytest

from mlsysim.errors import InputError, UnknownNameError
from mlsysim.plot import lines


def curve(ax, gid):
    (found,) = [line for line in ax.get_lines() if line.get_gid() == gid]
    return found


def ends(ax):
    """Names beside the right ends of curves, and their colours."""
    return {text.get_text(): text.get_color() for text in ax.texts if text.get_gid() == "end of a curve"}


def test_a_curve_per_value_of_the_hue(ax, memory):
    plane = memory.sel(hardware="H100")
    lines(plane, "total_memory", x="batch_size", ax=ax)
    for stage in (0, 1, 2, 3):
        along = plane.sel(zero_stage=stage)
        np.testing.assert_array_equal(curve(ax, f"all {stage}").get_xydata()[:, 0], along.batch_size)
        np.testing.assert_array_equal(curve(ax, f"all {stage}").get_ydata(), along.total_memory)
        solid = np.where(along.feasible, along.total_memory, np.nan)
        np.testing.assert_array_equal(curve(ax, f"feasible {stage}").get_ydata(), solid)
        hollow = np.where(along.feasible, np.nan, along.total_memory)
        np.testing.assert_array_equal(curve(ax, f"hollow {stage}").get_ydata(), hollow)
        assert curve(ax, f"hollow {stage}").get_markerfacecolor() == "#ffffff"
    assert curve(ax, "all 0").get_linestyle() == "--"
    assert ax.get_ylabel() == "Total memory $M$ [GB]"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["infeasible"]
    assert ends(ax) == {"0": curve(ax, "all 0").get_color(), "1": curve(ax, "all 1").get_color(),
                        "2": curve(ax, "all 2").get_color(), "3": curve(ax, "all 3").get_color()}  # fmt: skip
    assert "ZeRO stage\n$Z$" in [text.get_text() for text in ax.texts]


def test_one_dimension_needs_no_legend(ax, memory):
    lines(memory.sel(hardware="H200", zero_stage=3), "total_memory", ax=ax)
    assert ax.get_legend() is None
    assert ax.get_title(loc="left").replace("\N{NO-BREAK SPACE}", " ").endswith("\nLlama 3 8B, H200, ZeRO stage 3")


def test_refused_points_are_left_out(ax, masked):
    lines(masked, "total_memory", x="tp_size", ax=ax)
    np.testing.assert_array_equal(curve(ax, "all 4").get_xdata(), [1, 2, 4])
    assert np.isfinite(curve(ax, "all 4").get_ydata()).all()


def test_infinite_values_leave_a_gap(ax, serving):
    lines(serving, "required_replicas", x="target_p99_latency_ms", hue="qps", ax=ax)
    values = serving.required_replicas.sel(qps=10).values
    found = curve(ax, "all 10").get_ydata()
    np.testing.assert_array_equal(np.isnan(found), np.isinf(values))
    assert np.isnan(found).any()


def test_geometric_values_are_on_a_logarithmic_axis(ax, serving):
    lines(serving, "estimated_p99_latency", x="qps", ax=ax)
    assert ax.get_xscale() == "log"
    assert [text.get_text() for text in ax.get_xticklabels()] == ["1", "3", "10", "30", "100", "300"]
    assert ax.get_xlabel().endswith("[QPS]")


def test_labels_are_named_on_the_axis(ax, serving):
    lines(serving, "bottleneck", x="target_p99_latency_ms", ax=ax)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["Base Latency", "Feasible"]
    np.testing.assert_array_equal(ax.get_yticks(), [1, 4])


def test_names_are_ticks(ax, memory):
    lines(memory.isel(batch_size=0), "total_memory", x="hardware", ax=ax)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["A100_40GB", "H100", "H200"]
    np.testing.assert_array_equal(curve(ax, "all 3").get_xdata(), [0, 1, 2])


def test_of_many_curves_eight_are_named_and_the_others_grey(ax, memory):
    lines(memory.sel(hardware="H100"), "total_memory", x="zero_stage", ax=ax)
    named = ends(ax)
    assert len(set(named.values())) == len(named) == 8
    assert {"8", "128"} <= set(named)
    greys = [size for size in range(8, 129, 8) if curve(ax, f"all {size}").get_color() not in named.values()]
    assert len({curve(ax, f"all {size}").get_color() for size in greys}) == 1
    assert len(greys) == 8
    assert ax.get_title(loc="left").endswith("8 of 16 curves in colour, the others grey")


def test_curves_to_name_are_chosen(ax, memory):
    lines(memory.sel(hardware="H100"), "total_memory", x="zero_stage", highlight=[16, 64], ax=ax)
    assert set(ends(ax)) == {"16", "64"}
    assert ax.get_title(loc="left").endswith("2 of 16 curves in colour, the others grey")


def test_curves_that_are_the_same_have_one_name(ax, memory):
    lines(memory.sel(zero_stage=3), "total_memory", x="batch_size", hue="hardware", ax=ax)
    assert set(ends(ax)) == {"A100_40GB, H100, H200"}


@pytest.mark.parametrize(
    ("highlight", "error", "message"),
    [
        ("8", InputError, "highlight='8': must be a list of at most 8 values"),
        (list(range(8, 80, 8)), InputError, "must be a list of at most 8 values"),
        ([12], UnknownNameError, "unknown curve '12'"),
    ],
)
def test_a_highlight_that_is_no_curve_is_refused(ax, memory, highlight, error, message):
    with pytest.raises(error, match=message):
        lines(memory.sel(hardware="H100"), "total_memory", x="zero_stage", highlight=highlight, ax=ax)
    assert not ax.has_data()


def test_dimensions_left_over_are_named(ax, memory):
    with pytest.raises(InputError, match=r"hardware is left; select .* ds.isel\(hardware=0\)"):
        lines(memory, "total_memory", x="batch_size", hue="zero_stage", ax=ax)


def test_a_point_has_no_curve(ax, memory):
    with pytest.raises(InputError, match="needs 1 dimensions"):
        lines(memory.isel(batch_size=0, hardware=0, zero_stage=0), "total_memory", ax=ax)
