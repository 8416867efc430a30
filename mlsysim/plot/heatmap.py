"""One output over two axes, what is feasible, and what binds where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim.errors import InputError
from mlsysim.plot import cells, data, style, themes
from mlsysim.tracebacks import at_the_call

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

_HATCHES = ("///", "...", "\\\\\\", "xxx", "---", "|||", "++", "oo")
#: Labels that say that nothing binds, and have no hatch.
_PLAIN = ("Feasible", "None")
#: What the legend says where no boundary can.
WHOLE = {True: "all feasible", False: "nothing feasible"}


@at_the_call
@themes.figure
def heatmap(
    ds: xarray.Dataset,
    output: str,
    x: str | None = None,
    y: str | None = None,
    *,
    feasible: str | None = "feasible",
    regions: str | None = "bottleneck",
    ax: Axes | None = None,
    theme: str | None = None,
) -> Axes:
    """Draw one output over two swept inputs.

    A line with ticks separates what is feasible from what is not; the ticks point to what is not. It
    runs between the points, as nothing was evaluated there. Refused points are grey.

    Parameters
    ----------
    ds : xarray.Dataset
        Of ``model.sweep(...)``, every further dimension reduced to one point.
    output : str
        What the colours show; a label or truth value gets a colour each.
    x, y : str, optional
        Dimensions, or coordinates along one; by default the last two.
    feasible : str, optional
        The truth value whose boundary is drawn; None for none.
    regions : str, optional
        The label whose regions are outlined and hatched; None for none. By default ``bottleneck``,
        or the first variable of the data set whose name ends like that.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; a new figure by default.
    theme : {"light", "dark"}, optional
        Colours of the figure; by default those that matplotlib is set to.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InputError
        If more than two dimensions are left, or fewer.
    UnknownNameError
        If the data set has no variable of a name.

    Examples
    --------
    >>> from mlsysim import TrainingMemoryModel, plot
    >>> memory = TrainingMemoryModel("first_order")
    >>> grid = memory.sweep("Llama3_8B", "H100", seq_len=2048, batch_size=[8, 16, 32], dp_size=[1, 8])
    >>> axes = plot.heatmap(grid, "total_memory")
    >>> type(axes).__name__
    'Axes'
    """
    ds, (x, y) = data.shown_over(ds, output, (x, y), 2)
    ds = data.ascending(data.ascending(ds, x), y)
    values = ds[output]
    limit, binds = data.truth(ds, feasible), _label_of(ds, regions)
    grid = cells.Grid(ds[x], ds[y])
    ax = style.axes_of(ax)

    def plane(array: xarray.DataArray) -> np.ndarray:
        return array.broadcast_like(values).transpose(y, x).values

    refused = plane(data.refused(ds)).astype(bool)
    if data.is_label(values):
        handles = _kinds(ax, grid, values, plane(data.codes(values)), refused)
    else:
        handles = _amounts(ax, grid, values, plane(values).astype(float), refused)
    if refused.any():
        handles.append(_patch(ax, grid, refused, "refused", facecolor=style.refused()))
    if binds is not None and binds.name != output:
        handles += _outlined(ax, grid, binds, plane(data.codes(binds)), refused)
    if limit is not None and limit.name != output:
        handles += _limit(ax, grid, plane(limit).astype(bool), ~refused)
    grid.mark(ax)
    ax.set(xlabel=style.label(ds[x]), ylabel=style.label(ds[y]))
    title = f"{style.description(values)} by {style.plain(ds[x])} and {style.plain(ds[y])}"
    style.titled(ax, f"{title}\n{style.setting(ds)}".strip(), handles)
    return ax


def _label_of(ds: xarray.Dataset, regions: str | None) -> xarray.DataArray | None:
    """The label whose regions are drawn; a model calls it bottleneck, with or without a word before."""
    if regions == "bottleneck" and regions not in ds.variables:
        alike = [str(name) for name in ds.data_vars if str(name).endswith("_bottleneck")]
        return ds[alike[0]] if alike else None
    if regions is None:
        return None
    found = data.named(ds, regions)
    if not data.is_label(found):
        raise InputError("regions", regions, "must be a label or a truth value of the data set")
    return found


def _amounts(ax: Axes, grid: cells.Grid, array: Any, values: np.ndarray, refused: np.ndarray) -> list[Any]:
    """Colours with a scale beside them; what is infinite is grey."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap, LogNorm, Normalize

    finite = np.isfinite(values) & ~refused
    kept = values[finite]
    low, high = (kept.min(), kept.max()) if kept.size else (0.0, 1.0)
    log = style.spread(kept)
    if low == high:
        low, high = low - 0.5, high + 0.5
    # The quarter next to the colour of lines and hatches is left out, so that they stay visible on every colour.
    ends = (0.0, 0.72) if themes.colours() == themes.DARK else (0.28, 1.0)
    colours = ListedColormap(colormaps["viridis"](np.linspace(*ends, 256)))
    mesh = ax.pcolormesh(
        grid.columns,
        grid.rows,
        np.ma.masked_where(~finite, values),
        cmap=colours,
        norm=(LogNorm if log else Normalize)(low, high),
        rasterized=True,
    )
    bar = ax.figure.colorbar(mesh, ax=ax, label=style.label(array), pad=0.02)
    style.numeric(bar.ax.yaxis, kept, log)
    infinite = np.isinf(values) & ~refused
    return [_patch(ax, grid, infinite, "infinite", facecolor=style.infinite())] if infinite.any() else []


def _kinds(ax: Axes, grid: cells.Grid, array: Any, codes: np.ndarray, refused: np.ndarray) -> list[Any]:
    """One colour per label that occurs, always the same for a label."""
    words, colours = data.meanings(array), themes.colours()
    return [
        _patch(ax, grid, (codes == code) & ~refused, word, facecolor=colours[place % len(colours)])
        for place, (code, word) in enumerate(words.items())
        if ((codes == code) & ~refused).any()
    ]


def _outlined(ax: Axes, grid: cells.Grid, array: Any, codes: np.ndarray, refused: np.ndarray) -> list[Any]:
    """Regions of a label: thin outlines, and a hatch per label, the same in every figure."""
    words = data.meanings(array)
    codes = np.where(refused, -1, codes)
    what, handles = style.description(array), []
    look: dict[str, Any] = {"facecolor": "none", "edgecolor": themes.ink(0.85), "linewidth": 0, "alpha": 0.5}
    for place, code in enumerate(words):
        inside = codes == code
        if not inside.any():
            continue
        hatch = "" if words[code] in _PLAIN else _HATCHES[place % len(_HATCHES)]
        handles.append(_patch(ax, grid, inside, f"{what}: {words[code]}", hatch=hatch, **look))
        for line in cells.boundary(inside, ~refused, grid):
            ax.plot(*line, color=themes.ink(0.85), linewidth=0.7, gid=f"region {words[code]}")
    return handles


def _limit(ax: Axes, grid: cells.Grid, good: np.ndarray, known: np.ndarray) -> list[Any]:
    """The boundary of what is feasible, with ticks on the other side."""
    from matplotlib import patheffects
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    if known.any() and (good[known].all() or not good[known].any()):
        return [Patch(facecolor="none", edgecolor="none", label=WHOLE[bool(good[known].all())])]
    look: dict[str, Any] = {"color": themes.ink(), "linewidth": 1.6, "solid_capstyle": "butt"}
    ticked = [patheffects.withTickedStroke(spacing=7, angle=90, length=0.6)]
    for line in cells.boundary(good, known, grid):
        ax.plot(*line, **look, path_effects=ticked, gid="feasible")
    return [Line2D([], [], **look, path_effects=ticked, label="feasible up to here")]


def _patch(ax: Axes, grid: cells.Grid, where: np.ndarray, word: str, **look: Any) -> Any:
    """Cells filled or hatched as one shape; returns its entry in the legend."""
    from matplotlib.patches import Patch, PathPatch

    ax.add_patch(PathPatch(cells.covered(where, grid), label=word, **{"linewidth": 0, **look}))
    edge = {"edgecolor": themes.ink(0.85), "linewidth": 0.7} if look.get("facecolor") == "none" else {}
    return Patch(label=word, **{**look, **edge})
