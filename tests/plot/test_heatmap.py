"""Heat maps: what is drawn is what the data set holds, where it holds it."""

import itertools

import numpy as np
import pytest

from mlsysim.errors import InputError, UnknownNameError
from mlsysim.plot import heatmap


def legend(ax):
    found = ax.get_legend()
    return [] if found is None else [text.get_text() for text in found.get_texts()]


def ticks(axis):
    return [text.get_text() for text in axis.get_ticklabels()]


def patches(ax):
    return {patch.get_label(): patch for patch in ax.patches}


def cells_in(patch, shape):
    """Cells of a grid of unit cells whose middles a patch covers."""
    path = patch.get_path()
    return np.array([[path.contains_point((x, y)) for x in range(shape[1])] for y in range(shape[0])])


def test_the_colours_are_the_values(ax, memory):
    plane = memory.sel(hardware="H100")
    heatmap(plane, "total_memory", x="batch_size", ax=ax)
    (mesh,) = [artist for artist in ax.collections if hasattr(artist, "get_coordinates")]
    np.testing.assert_array_equal(
        mesh.get_array().reshape(4, 16), plane.total_memory.transpose("zero_stage", "batch_size")
    )
    # Sixteen batch sizes stand to scale, four stages get a cell each.
    np.testing.assert_allclose(mesh.get_coordinates()[0, :, 0], np.arange(4, 133, 8))
    np.testing.assert_allclose(mesh.get_coordinates()[:, 0, 1], [-0.5, 0.5, 1.5, 2.5, 3.5])
    assert ticks(ax.yaxis) == ["0", "1", "2", "3"]


def test_axes_and_colour_bar_name_symbol_and_unit(ax, memory, serving):
    heatmap(memory.sel(hardware="H100"), "total_memory", x="batch_size", ax=ax)
    assert ax.get_xlabel() == "Batch size $b$"
    assert ax.get_ylabel() == "ZeRO stage $Z$"
    (bar,) = [other for other in ax.figure.axes if other is not ax]
    assert bar.get_ylabel() == "Total memory $M$ [GB]"
    assert ax.get_title(loc="left").replace("\N{NO-BREAK SPACE}", " ").endswith("\nLlama 3 8B, H100")
    ax.clear()
    heatmap(serving, "qps_capacity", ax=ax)
    assert ax.get_xlabel() == "Target P99 latency $T^{*}$ [ms]"
    assert ax.get_ylabel() == r"Arrival rate $\lambda$ [QPS]"


def boundary_of(ax):
    """Unit edges of the boundary as (direction, lower end), and per edge the side its ticks are on."""
    edges = {}
    for line in (line for line in ax.get_lines() if line.get_gid() == "feasible"):
        points = np.column_stack(line.get_data())
        for (x0, y0), (x1, y1) in itertools.pairwise(points):
            middle = np.array([(x0 + x1) / 2, (y0 + y1) / 2])
            left = np.array([y0 - y1, x1 - x0]) / 2
            edges[tuple(middle)] = tuple(middle + left)
    return edges


def test_the_boundary_runs_between_feasible_and_infeasible_points_alone(ax, memory):
    plane = memory.isel(batch_size=7)
    heatmap(plane, "total_memory", ax=ax)
    feasible = plane.feasible.transpose("hardware", "zero_stage").values
    wanted = {}
    for row in range(3):
        for column in range(4):
            for down, right in ((0, 1), (1, 0)):
                other = (row + down, column + right)
                if other[0] < 3 and other[1] < 4 and feasible[other] != feasible[row, column]:
                    bad = (row, column) if not feasible[row, column] else other
                    wanted[(column + right / 2, row + down / 2)] = (bad[1], bad[0])
    assert boundary_of(ax) == wanted
    assert len(wanted) >= 4
    assert "feasible up to here" in legend(ax)
    assert ticks(ax.yaxis) == ["A100_40GB", "H100", "H200"]


def test_the_boundary_stands_to_scale_on_an_axis_of_many_numbers(ax, memory):
    plane = memory.sel(hardware="H100")
    heatmap(plane, "total_memory", x="batch_size", ax=ax)
    fits = plane.feasible.sel(zero_stage=1)
    last = int(fits.batch_size[fits].max())
    assert not bool(fits.all())
    assert any(np.isin(last + 4, line.get_xdata()) for line in ax.get_lines() if line.get_gid() == "feasible")


@pytest.mark.parametrize(("stage", "word"), [(3, "all feasible"), (0, "nothing feasible")])
def test_without_a_boundary_the_legend_says_which_side_it_is(ax, memory, stage, word):
    heatmap(memory.sel(zero_stage=stage, hardware=["H100"]).isel(batch_size=[0, 1]).squeeze(drop=True).expand_dims(
        zero=[1, 2]), "total_memory", ax=ax)  # fmt: skip
    assert legend(ax) == [word]


def test_refused_points_are_grey_and_no_boundary_runs_along_them(ax, masked):
    heatmap(masked, "total_memory", ax=ax)
    refused = masked.refused.transpose("batch_size", "tp_size").values > 0
    assert refused.any()
    np.testing.assert_array_equal(cells_in(patches(ax)["refused"], refused.shape), refused)
    (mesh,) = [artist for artist in ax.collections if hasattr(artist, "get_coordinates")]
    np.testing.assert_array_equal(np.ma.getmaskarray(mesh.get_array()).reshape(refused.shape), refused)
    assert not {(1.5, y) for y in range(4)} & set(boundary_of(ax))
    assert "refused" in legend(ax)


def test_infinite_values_are_told_apart(ax, serving):
    heatmap(serving, "required_replicas", ax=ax)
    infinite = np.isinf(serving.required_replicas.values)
    assert infinite.any()
    np.testing.assert_array_equal(cells_in(patches(ax)["infinite"], infinite.shape), infinite)


@pytest.mark.parametrize("name", ["bottleneck", "step_bottleneck"])
def test_regions_are_hatched_by_label_and_listed(ax, serving, layouts, name):
    ds = serving if name == "bottleneck" else layouts.sel(gradient_accumulation_steps=16)
    output = "qps_capacity" if name == "bottleneck" else "step_time"
    heatmap(ds, output, ax=ax)
    codes = ds[name].values
    words = [word.replace("_", " ") for word in ds[name].flag_meanings.split()]
    present = {words[code] for code in np.unique(codes) if code >= 0}
    assert len(present) > 1
    said = " ".join(word.capitalize() if not place else word for place, word in enumerate(name.split("_")))
    found = {word.removeprefix(f"{said}: "): patch for word, patch in patches(ax).items()}
    for word in present:
        np.testing.assert_array_equal(cells_in(found[word], codes.shape), codes == words.index(word))
    assert {f"{said}: {word}" for word in present} <= set(legend(ax))
    assert len({found[word].get_hatch() for word in present}) == len(present)
    assert not set(words) - present & set(legend(ax))


def test_a_label_is_drawn_in_one_colour_per_meaning(ax, serving):
    heatmap(serving, "bottleneck", ax=ax)
    assert len(ax.figure.axes) == 1
    assert legend(ax)[:2] == ["Base Latency", "Feasible"]
    codes = serving.bottleneck.values
    np.testing.assert_array_equal(cells_in(patches(ax)["Base Latency"], codes.shape), codes == 1)
    assert ax.get_title(loc="left").startswith("Bottleneck by target")


def test_a_truth_value_can_be_the_output(ax, masked):
    heatmap(masked, "feasible", ax=ax)
    assert {"yes", "no", "refused"} == set(legend(ax))


def test_numbers_are_in_order_and_words_as_given(ax, memory):
    shuffled = memory.isel(batch_size=7, zero_stage=[2, 0, 3, 1], hardware=[2, 0, 1])
    heatmap(shuffled, "total_memory", ax=ax)
    assert ticks(ax.xaxis) == ["0", "1", "2", "3"]
    assert ticks(ax.yaxis) == ["H200", "A100_40GB", "H100"]
    (mesh,) = [artist for artist in ax.collections if hasattr(artist, "get_coordinates")]
    wanted = memory.isel(batch_size=7).sel(hardware=["H200", "A100_40GB", "H100"]).total_memory
    np.testing.assert_array_equal(mesh.get_array().reshape(3, 4), wanted)


def test_a_geometric_axis_is_logarithmic(ax, serving):
    wide = serving.isel(target_p99_latency_ms=[3, 2]).interp(qps=np.geomspace(1, 300, 20))
    heatmap(wide[["qps_capacity"]], "qps_capacity", y="qps", ax=ax)
    assert ax.get_yscale() == "log"
    assert ax.get_xscale() == "linear"


def test_an_axis_can_be_a_coordinate_along_a_dimension(ax, memory):
    linked = memory.isel(zero_stage=0).assign_coords(tokens=("batch_size", memory.batch_size.values * 2048))
    heatmap(linked, "total_memory", x="tokens", ax=ax)
    assert ax.get_xlabel() == "Tokens"


def test_dimensions_left_over_are_named_with_the_way_to_select_them(ax, memory):
    wanted = (
        r"^dims=\['hardware', 'batch_size', 'zero_stage'\]: a figure shows 2 dimensions, and hardware is left; "
        r"select a point of each first, as in ds.sel\(hardware='A100_40GB'\) or ds.isel\(hardware=0\)$"
    )
    with pytest.raises(InputError, match=wanted):
        heatmap(memory, "total_memory", ax=ax)
    assert not ax.collections


def test_one_dimension_is_too_few(ax, memory):
    with pytest.raises(InputError, match="needs 2 dimensions of more than one point"):
        heatmap(memory.isel(zero_stage=0, hardware=0), "total_memory", ax=ax)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"output": "total_memry"}, UnknownNameError, "unknown output of the data set 'total_memry': did you"),
        ({"x": "batchsize"}, UnknownNameError, "did you mean batch_size"),
        ({"x": "batch_size", "y": "batch_size"}, InputError, "each must show another dimension"),
        ({"feasible": "feasable"}, UnknownNameError, "did you mean feasible"),
        ({"feasible": "weights"}, InputError, "feasible='weights': must be a truth value"),
        ({"regions": "weights"}, InputError, "regions='weights': must be a label"),
        ({"ds": [1, 2]}, InputError, r"ds=\[1, 2\]: must be the data set"),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_refused_before_anything_is_drawn(ax, memory, change, error, message):
    arguments = {"ds": memory.isel(hardware=1), "output": "total_memory", **change}
    with pytest.raises(error, match=message):
        heatmap(**arguments, ax=ax)
    assert not ax.has_data()
