"""Words, ticks and colours; and a figure that nobody gave axes for."""

import importlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest
import xarray

import mlsysim.plot  # noqa: F401
from mlsysim.models import every_model
from mlsysim.plot import style


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


def luminance(colour):
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_colours_are_distinct():
    assert len(set(style.COLOURS)) == len(style.COLOURS)
    assert len({round(luminance(colour), 3) for colour in style.COLOURS}) == len(style.COLOURS)


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
