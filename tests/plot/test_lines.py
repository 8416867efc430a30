"""Curves: solid where feasible, dashed and hollow where not, with units."""

import numpy as np
import pytest

from mlsysim.errors import InputError
from mlsysim.plot import lines


def curve(ax, gid):
    (found,) = [line for line in ax.get_lines() if line.get_gid() == gid]
    return found


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
        assert curve(ax, f"hollow {stage}").get_markerfacecolor() == "white"
    assert curve(ax, "all 0").get_linestyle() == "--"
    assert ax.get_ylabel() == "Total memory $M$ [GB]"
    legend = ax.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["0", "1", "2", "3", "infeasible"]
    assert legend.get_title().get_text() == "ZeRO stage\n$Z$"


def test_one_dimension_needs_no_legend(ax, memory):
    lines(memory.sel(hardware="H200", zero_stage=3), "total_memory", ax=ax)
    assert ax.get_legend() is None
    assert ax.get_title(loc="left").replace("\N{NO-BREAK SPACE}", " ").endswith("\nLlama 3 8B, H200, zero_stage = 3")


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


def test_many_curves_have_a_short_legend(ax, memory):
    lines(memory.sel(hardware="H100"), "total_memory", x="zero_stage", ax=ax)
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["8", "24", "40", "56", "72", "88", "104", "120", "infeasible"]
    assert len({tuple(line.get_color()) for line in ax.get_lines() if line.get_gid().startswith("all")}) == 16


def test_dimensions_left_over_are_named(ax, memory):
    with pytest.raises(InputError, match=r"hardware is left; select .* ds.isel\(hardware=0\)"):
        lines(memory, "total_memory", x="batch_size", hue="zero_stage", ax=ax)


def test_a_point_has_no_curve(ax, memory):
    with pytest.raises(InputError, match="needs 1 dimensions"):
        lines(memory.isel(batch_size=0, hardware=0, zero_stage=0), "total_memory", ax=ax)
