"""Words, ticks and colours; and a figure that nobody gave axes for."""

import importlib
import itertools
import json
import os
import subprocess
import sys

import numpy as np
import pytest
import xarray

import mlsysim.plot  # noqa: F401
from mlsysim.models import every_model
from mlsysim.plot import style, themes


@pytest.mark.long
def test_every_symbol_of_every_model_can_be_drawn():
    found = {v for model in every_model() for variant in model.variants for v in model(variant).outputs}
    found |= {v for model in every_model() for variant in model.variants for v in model(variant).inputs}
    assert len(found) > 200
    assert [v.name for v in found if not style.draws(v.latex)] == []


def test_a_symbol_that_cannot_be_drawn_is_left_out():
    array = xarray.DataArray(0.0, name="own_cost", attrs={"latex": r"\undefined{x}", "units": "USD"})
    assert style.label(array) == "Own cost [USD]"


def test_a_dollar_in_a_description_is_no_formula():
    array = xarray.DataArray(0.0, name="x", attrs={"long_name": "Price in $ per $"})
    assert style.label(array) == r"Price in \$ per \$"


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([1, 2, 4, 8, 16], True),
        (range(1, 257), False),
        ([1, 2], False),
        ([0, 1, 2, 4], False),
        ([1, 3, 10, 30], True),
        ([500, 1000, 1200, 2000], False),
        (np.geomspace(1, 1e6, 50), True),
        ([-1, -2, -4, -8], False),
    ],
)
def test_geometric_values_are_recognised(values, found):
    assert style.geometric(values) is found


@pytest.mark.parametrize(("value", "text"), [(131072, "131072"), (1e6, "1e6"), (0.25, "0.25"), (2.5e-7, "2.5e-7")])
def test_numbers_on_ticks(value, text):
    assert style.short(value) == text


#: Linear sRGB as people see it without red or green cones (Machado, Oliveira and Fernandes 2009, severity 1).
SIGHT = {
    "full": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}  # fmt: skip
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)


def linear(colour):
    values = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(colour, sight):
    """CIE L*a*b* of a colour as it is seen; distances of 10 are apart side by side, of 2 just so."""
    share = XYZ @ np.clip(sight @ linear(colour), 0, 1) / XYZ.sum(axis=1)
    x, y, z = np.where(share > 0.008856, np.cbrt(share), 7.787 * share + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def closest(palette, sight):
    seen = [lab(colour, SIGHT[sight]) for colour in palette]
    return min(np.linalg.norm(one - other) for one, other in itertools.combinations(seen, 2))


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("palette", [themes.LIGHT, themes.DARK], ids=["light", "dark"])
def test_colours_are_apart_for_every_kind_of_colour_vision(palette, sight):
    assert len(palette) == 8
    assert closest(palette, sight) > 16


def test_colours_that_some_people_take_for_one_are_found():
    assert closest(["#D55E00", "#9A6A00"], "protanopia") < 4


@pytest.mark.parametrize(
    ("palette", "paper"), [(themes.LIGHT, "#ffffff"), (themes.DARK, "#131416")], ids=["light", "dark"]
)
def test_colours_stand_out_on_their_paper(palette, paper):
    bright = [0.05 + float(XYZ[1] @ linear(colour)) for colour in (paper, *palette)]
    assert min(max(bright[0], one) / min(bright[0], one) for one in bright[1:]) > 2.2


def run(code, **environment):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
def test_importing_the_room_loads_no_matplotlib():
    code = (
        "import importlib, json, sys; importlib.import_module('mlsysim.plot');"
        "print(json.dumps([n for n in ('matplotlib', 'xarray', 'jax') if n in sys.modules]))"
    )
    assert json.loads(run(code)) == []


FIGURE = """
import xarray
from mlsysim.plot import lines
ds = xarray.Dataset({"cost": ("n", [1.0, 2.0, 4.0])}, coords={"n": [1, 2, 3]})
ax = lines(ds, "cost")
ax.figure.canvas.draw()
print(ax.figure.get_size_inches().tolist())
"""


@pytest.mark.long
def test_without_axes_there_is_a_new_figure_of_six_by_four():
    assert json.loads(run(FIGURE, MPLBACKEND="Agg")) == [6.0, 4.0]


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModuleNotFoundError, match=r'a figure needs matplotlib: pip install -e "\.\[plot\]"'):
        style.axes_of(None)


@pytest.mark.parametrize("name", ["heatmap", "lines"])
def test_labels_and_titles_stay_within_the_figure(ax, memory, name):
    draw = getattr(importlib.import_module("mlsysim.plot"), name)
    draw(memory.sel(hardware="H100"), "total_memory", x="batch_size", ax=ax)
    ax.figure.canvas.draw()
    box, whole = ax.get_tightbbox(), ax.figure.bbox
    assert whole.x0 <= box.x0
    assert box.x1 <= whole.x1 + 1
    assert whole.y0 <= box.y0
    assert box.y1 <= whole.y1 + 1
