"""Room: at its default size, with fifteen devices, nothing on a figure overlaps, is cut off, or squeezes the axes."""

import itertools

import numpy as np
import pytest
import xarray
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.text import Text

from mlsysim import plot
from mlsysim.errors import InputError, UnknownNameError
from mlsysim.plot import layout

DEVICES = ["V100", "A100_40GB", "A100", "H100", "H200", "B200", "GB200", "GB300", "MI300X", "MI325X", "MI355X", "L40S",
           "L4", "RTX_4090", "RTX_5090"]  # fmt: skip
PARTS = ["weights", "gradients", "activations"]


@pytest.fixture(scope="module")
def fifteen():
    """Costs over fifteen devices, eight batch sizes and four stages; those of twin devices are the same."""
    devices, batches, stages = np.arange(15), 2.0 ** np.arange(8), np.arange(4)
    shape, dims = (15, 8, 4), ("hardware", "batch_size", "zero_stage")
    speed = 1.5 ** (devices // 2)
    amount = speed[:, None, None] * (4 + batches[:, None]) / (1 + stages)
    attrs = {"units": "GB", "label": "total memory of one accelerator"}
    ds = xarray.Dataset(
        {name: (dims, share * amount, {"units": "GB"}) for name, share in zip(PARTS, (0.5, 0.3, 0.2), strict=True)},
        coords={"hardware": DEVICES, "batch_size": batches.astype(int), "zero_stage": stages},
        attrs={
            "entries": '{"model": "Llama 3.1 405B Instruct", "fleet": "NVIDIA DGX H100 SuperPOD, one scalable unit"}'
        },
    )
    words = {"flag_values": [0, 1], "flag_meanings": "Memory_bandwidth_of_the_accelerator Arithmetic"}
    codes = (amount > 20).astype(int)
    return ds.assign(
        total=(dims, amount, attrs), feasible=(dims, amount < 60), kernel_bottleneck=(dims, codes, words),
        refused=(dims, (np.arange(15) == 0)[:, None, None] & np.ones(shape, bool)),
    )  # fmt: skip


FIGURES = {
    "heat map of devices": lambda ds, ax: plot.heatmap(ds.sel(zero_stage=1), "total", y="hardware", ax=ax),
    "heat map over devices": lambda ds, ax: plot.heatmap(ds.sel(zero_stage=1), "total", x="hardware", ax=ax),
    "a curve per device": lambda ds, ax: plot.lines(ds.sel(zero_stage=1), "total", hue="hardware", ax=ax),
    "curves over devices": lambda ds, ax: plot.lines(ds.sel(zero_stage=1), "total", x="hardware", ax=ax),
    "a bar per device": lambda ds, ax: plot.bars(ds.isel(batch_size=0, zero_stage=0), PARTS, limit="5 GB", ax=ax),
    "a group per device": lambda ds, ax: plot.bars(ds.isel(batch_size=0), PARTS, x="hardware", ax=ax),
    "fifteen bars a group": lambda ds, ax: plot.bars(ds.isel(batch_size=0), PARTS, x="zero_stage", ax=ax),
    "a roof per device": lambda ds, ax: plot.roofline(
        ds.isel(zero_stage=0).drop_vars("refused"),
        ds["weights"].isel(zero_stage=0).assign_attrs(units="PFLOP"), "total",
        peak_flops={name: 100 * 1.3**place for place, name in enumerate(DEVICES)},
        memory_bandwidth={name: 1000 + 100 * place for place, name in enumerate(DEVICES)}, ax=ax),
    "a front": lambda ds, ax: plot.pareto(ds, "total", "weights", ax=ax),
}  # fmt: skip


@pytest.fixture(params=FIGURES)
def drawn(request, ax, fifteen):
    FIGURES[request.param](fifteen, ax)
    ax.figure.canvas.draw()
    return ax


def corners(text):
    """Corners of a text as it is turned about its anchor, in pixels, without the arrow of a note."""
    angle = text.get_rotation()
    if angle % 90 == 0:
        return Text.get_window_extent(text).corners()[[0, 1, 3, 2]]
    place = text.get_transform().transform(text.get_unitless_position())
    text.set_rotation(0)
    box = text.get_window_extent()
    text.set_rotation(angle)
    turn = np.deg2rad(angle)
    matrix = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    return (box.corners()[[0, 1, 3, 2]] - place) @ matrix.T + place


def overlap(one, other):
    """Tell whether two convex quadrilaterals share an area of more than half a pixel's width."""
    for shape in (one, other):
        for edge in np.roll(shape, -1, axis=0) - shape:
            normal = np.array([-edge[1], edge[0]]) / max(np.hypot(*edge), 1e-9)
            first, second = one @ normal, other @ normal
            if first.max() <= second.min() + 0.5 or second.max() <= first.min() + 0.5:
                return False
    return True


def texts(ax):
    """Texts that are seen: ticks within the axes, labels, title, legend and notes."""
    ticks = []
    for axis in (ax.xaxis, ax.yaxis):
        low, high = sorted(axis.get_view_interval())
        for minor in (False, True):
            places = axis.get_minorticklocs() if minor else axis.get_majorticklocs()
            ticks += [text for place, text in zip(places, axis.get_ticklabels(minor=minor), strict=False)
                      if low <= place <= high]  # fmt: skip
    legend = ax.get_legend()
    entries = [] if legend is None else legend.get_texts()
    own = [*ticks, ax.xaxis.label, ax.yaxis.label, ax._left_title, *entries, *ax.texts]
    return [text for text in own if text.get_text() and text.get_visible()]


def test_no_text_overlaps_another(drawn):
    shapes = [(text.get_text(), corners(text)) for text in texts(drawn)]
    assert len(shapes) > 5
    pairs = [(a, b) for (a, one), (b, other) in itertools.combinations(shapes, 2) if overlap(one, other)]
    assert pairs == []


def test_nothing_is_outside_the_figure(drawn):
    whole = drawn.figure.bbox
    for text in texts(drawn):
        box = text.get_window_extent()
        inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= whole.x1 + 1 and box.y1 <= whole.y1 + 1
        assert inside, (text.get_text(), box)


def test_axes_have_most_of_the_figure(drawn):
    assert drawn.bbox.width >= 0.5 * drawn.figure.bbox.width
    assert drawn.bbox.height >= 0.4 * drawn.figure.bbox.height


def test_every_device_of_fifteen_has_its_name(ax, fifteen):
    FIGURES["a bar per device"](fifteen, ax)
    assert [text.get_text() for text in ax.get_xticklabels()] == DEVICES


def test_texts_that_overlap_are_found(ax):
    ax.text(0.5, 0.5, "one")
    ax.text(0.52, 0.5, "other")
    one, other = map(corners, ax.texts)
    assert overlap(one, other)


@pytest.mark.parametrize(
    ("places", "moved"),
    [
        ([0.1, 0.5, 0.9], [0.1, 0.5, 0.9]),
        ([0.5, 0.5, 0.5], [0.4, 0.5, 0.6]),
        ([0.0, 0.0], [0.0, 0.1]),
        ([1.0, 0.98, 0.1], [1.0, 0.9, 0.1]),
        ([0.5], [0.5]),
        ([], []),
    ],
)
def test_places_move_no_further_than_they_must(places, moved):
    assert layout.apart(places, 0.1) == pytest.approx(moved)


def squashed(ax, lengths):
    ax.barh(range(len(lengths)), lengths)
    return layout.broken(ax, [0.0, *lengths], lengths, "s")


def test_an_axis_leaves_out_what_one_bar_alone_crosses(ax):
    said = squashed(ax, [1.0, 2.0, 1.5, 3.0, 1000.0])
    start, stop = (float(word.replace(",", "")) for word in said.split()[4:7:2])
    assert 3 < start < stop < 1000
    ax.figure.canvas.draw()
    ends = [ax.transData.transform((value, 0))[0] for value in (0, 1, 3, 1000)]
    # The shortest bar is seen, and values keep their order.
    assert ends[1] - ends[0] > 0.1 * ax.bbox.width
    assert ends == sorted(ends)
    assert {patch.get_gid() for patch in ax.patches} >= {"left out"}
    ticks = ax.get_xticks()
    assert not any(start < tick < stop for tick in ticks)
    assert min(ticks) < start < stop < max(ticks)


@pytest.mark.parametrize("lengths", [[1.0, 2.0, 3.0, 4.0, 6.0], [1.0, 100.0], [30.0, 40.0, 35.0, 100.0]])
def test_an_axis_is_whole_where_no_bar_squashes_the_others(ax, lengths):
    assert squashed(ax, lengths) == ""
    assert ax.get_xscale() == "linear"


@pytest.mark.parametrize("name", FIGURES)
def test_a_dark_figure_has_light_text_on_dark_paper(fifteen, ax, name):
    figure = ax.figure
    figure.clear()
    with plot.themed("dark"):
        ax = figure.add_subplot()
        FIGURES[name](fifteen, ax)
    ax.figure.canvas.draw()
    paper = brightness(ax.get_facecolor())
    assert paper < 0.15
    for text in texts(ax):
        behind = text.get_bbox_patch()
        below = paper if behind is None else brightness(behind.get_facecolor())
        assert abs(brightness(text.get_color()) - below) > 0.2, text.get_text()


def brightness(colour):
    red, green, blue = (int(to_hex(colour)[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_a_theme_of_a_figure_also_paints_axes_that_were_there(ax, fifteen):
    made = plot.lines(fifteen.sel(zero_stage=1), "total", x="batch_size", ax=ax, theme="dark")
    assert made is ax
    ax.set_xlim(1, 64)
    ax.figure.canvas.draw()
    assert to_hex(ax.get_facecolor()) == to_hex(ax.figure.get_facecolor()) == "#131416"
    assert {to_hex(text.get_color()) for text in ax.get_xticklabels()} == {"#e6e6e6"}


def test_no_theme_keeps_the_settings_of_matplotlib(ax, fifteen):
    from matplotlib import rcParams

    before = dict(rcParams)
    plot.bars(fifteen.isel(batch_size=0, zero_stage=0), PARTS, ax=ax)
    assert dict(rcParams) == before
    assert to_hex(ax.get_facecolor()) == "#ffffff"


@pytest.mark.parametrize("name", [name for name in plot.__all__ if name not in ("themed", "interactive")])
def test_an_unknown_theme_is_refused(name):
    with pytest.raises(UnknownNameError, match="unknown theme 'drak': did you mean dark"):
        getattr(plot, name)(None, None, None, theme="drak")


def test_the_former_name_of_an_argument_names_its_successor():
    with pytest.raises(InputError, match="is called comparison now"):
        plot.waterfall(found=1)


def test_figures_that_are_made_have_150_dots_per_inch(fifteen, monkeypatch):
    from matplotlib import pyplot

    monkeypatch.setattr(pyplot, "switch_backend", lambda name: None)
    ax = plot.lines(fifteen.isel(batch_size=0, zero_stage=0), "total")
    assert isinstance(ax, Axes)
    assert ax.figure.dpi == 150
    pyplot.close(ax.figure)
