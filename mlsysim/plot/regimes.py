"""A map of regimes: which term binds where, the boundaries between them, and what they are."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim.errors import InputError
from mlsysim.plot import cells, data, style, themes
from mlsysim.study.binding_terms.regions import Regimes
from mlsysim.tracebacks import at_the_call

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: How much of a colour a region has, the rest being paper.
TINT = 0.42
#: Share of a map from which a region is named in it.
NAMED = 0.03
#: Characters of a name that fit from one side of a map to the other.
ACROSS = 46
#: A boundary goes on to its next point up to this distance, in shares of the axes.
NEAR = 0.12


@at_the_call
@themes.figure
def regimes(regimes: Regimes, *, ax: Axes | None = None, theme: str | None = None) -> Axes:
    """Draw which term binds where: a map over two axes, or the output over one, coloured by regime.

    Boundaries run through the places where the binding term changes, not along the cells of the grid. Refused points
    are grey.

    Parameters
    ----------
    regimes : Regimes
        What ``model.regimes(...)`` gives.
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
        If ``regimes`` is something else.

    Examples
    --------
    >>> from mlsysim import KernelModel, plot
    >>> shape = dict(product_rows=range(1, 1025), product_columns=8192, product_inner=8192)
    >>> axes = plot.regimes(KernelModel("roofline").regimes(hardware="H100", **shape))
    >>> type(axes).__name__
    'Axes'
    """
    if not isinstance(regimes, Regimes):
        raise InputError("regimes", regimes, "must be what model.regimes(...) gives")
    ax = style.axes_of(ax)
    if regimes.map.ndim == 1:
        _line(ax, regimes)
    else:
        _map(ax, regimes)
    axes = " and ".join(style.plain(regimes.dataset[str(dim)]) for dim in regimes.map.dims)
    style.titled(ax, f"{_title(regimes)} by {axes}\n{style.setting(regimes.dataset)}".strip())
    return ax


def _title(regimes: Regimes) -> str:
    """The label that binds, or the bottleneck of an amount."""
    label = regimes.output.label
    return label if regimes.output.name.endswith("bottleneck") else f"Bottleneck of {label[:1].lower()}{label[1:]}"


def _colour_of(index: int) -> tuple[float, float, float]:
    """Colour of a regime by its position among them."""
    palette = themes.colours()
    return themes.tint(palette[index % len(palette)], TINT)


def _map(ax: Axes, regimes: Regimes) -> None:
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    x, y = (str(dim) for dim in regimes.map.dims)
    plane = data.ascending(data.ascending(regimes.dataset, x), y)["regime"]
    codes = plane.transpose(y, x).values
    grid = cells.Grid(plane[x], plane[y])
    colours = [style.refused(), *(_colour_of(index) for index in range(len(regimes.names)))]
    ax.pcolormesh(
        grid.columns, grid.rows, codes, cmap=ListedColormap(colours),
        vmin=-1.5, vmax=len(regimes.names) - 0.5, rasterized=True,
    )  # fmt: skip
    grid.mark(ax)
    ax.set(xlabel=style.label(plane[x]), ylabel=style.label(plane[y]))
    for name, line in _edges(regimes, plane, grid, codes):
        ax.plot(*line, color=themes.ink(0), linewidth=3.6, solid_capstyle="round", zorder=3)
        ax.plot(*line, color=themes.ink(0.8), linewidth=1.3, solid_capstyle="round", zorder=4, gid=name)
    handles = []
    for index, name in enumerate(regimes.names):
        inside = codes == index
        if not inside.any():
            continue
        row, column, share = _middle(inside)
        words = textwrap.wrap(name, max(8, int(ACROSS * share)))
        if inside.mean() < NAMED or max(map(len, words)) > ACROSS * share or len(words) > 3:
            handles.append(Patch(facecolor=_colour_of(index), edgecolor=themes.ink(0.6), linewidth=0.5, label=name))
            continue
        middle = _at(grid.columns, column), _at(grid.rows, row)
        look: dict[str, Any] = {
            "ha": "center",
            "va": "center",
            "fontweight": "bold",
            "color": themes.ink(0.95),
            "zorder": 5,
        }
        ax.text(*middle, "\n".join(words), **look)
    if (codes < 0).any():
        handles.append(Patch(facecolor=style.refused(), label="refused"))
    if handles:
        style.beside(ax, handles)


def _edges(regimes: Regimes, plane: Any, grid: cells.Grid, codes: np.ndarray) -> list[tuple[str, Any]]:
    """Lines between regimes: traced where both axes are to scale, else along the cells."""
    axes = [plane[str(dim)] for dim in regimes.map.dims]
    if not any(cells.is_even(array) for array in axes):
        ends = [grid.columns[[0, -1]], grid.rows[[0, -1]]]
        logs = [style.geometric(array.values) for array in axes]
        names = [" | ".join(boundary.between) for boundary in regimes.boundaries]
        lines = (_strokes(boundary.points, ends, logs) for boundary in regimes.boundaries)
        return [(name, line) for name, strokes in zip(names, lines, strict=True) for line in strokes]
    known = codes >= 0
    return [
        (name, line) for code, name in enumerate(regimes.names) for line in cells.boundary(codes == code, known, grid)
    ]


def _at(edges: np.ndarray, place: float) -> float:
    """Middle of the cell at a position, counted from 0, which may be a half."""
    return float(np.interp(place + 0.5, np.arange(len(edges)), edges))


def _middle(inside: np.ndarray) -> tuple[float, float, float]:
    """Position in a region with most room around it, and the share of the row that is free there."""
    best, middle = -1.0, (0.0, 0.0, 0.0)
    for row in np.unique(np.nonzero(inside)[0]):
        steps = np.diff(np.concatenate([[0], inside[row].astype(int), [0]]))
        for start, end in zip(np.flatnonzero(steps == 1), np.flatnonzero(steps == -1), strict=True):
            column = (start + end - 1) / 2
            beside = inside[:, int(column)]
            above, below = _run(beside[row:]), _run(beside[row::-1])
            share = (end - start) / inside.shape[1]
            room = min(share, 2 * min(above, below) / inside.shape[0])
            if room > best:
                best, middle = room, (row + (above - below) / 2, column, share)
    return middle


def _run(truth: np.ndarray) -> int:
    """Number of true values from the first on."""
    return len(truth) if truth.all() else int(np.argmin(truth))


def _strokes(points: np.ndarray, ends: list[np.ndarray], logs: list[bool]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Points of a boundary as lines: from an end always on to the nearest point that is left."""
    shares = []
    for values, (low, high), log in zip(points, ends, logs, strict=True):
        low, high, at = (np.log(bound) if log else bound for bound in (low, high, values))
        shares.append((at - low) / (high - low))
    at = np.stack(shares, axis=1)
    left, lines = list(range(len(at))), []
    while left:
        apart = np.abs(at[left] - at[left].mean(axis=0)).sum(axis=1)
        line = [left.pop(int(np.argmax(apart)))]
        while left:
            distance = np.abs(at[left] - at[line[-1]]).sum(axis=1)
            nearest = int(np.argmin(distance))
            if distance[nearest] > NEAR:
                break
            line.append(left.pop(nearest))
        lines.append((points[0][line], points[1][line]))
    return lines


def _line(ax: Axes, regimes: Regimes) -> None:
    """The output over one axis, coloured by regime; a label as stretches alone."""
    from matplotlib.patches import Patch

    (dim,) = map(str, regimes.map.dims)
    ds = data.ascending(regimes.dataset, dim)
    words = data.is_label(ds[dim])
    places = np.arange(ds[dim].size, dtype=float) if words else np.asarray(ds[dim].values, dtype=float)
    if words:
        style.ticks_at(ax.xaxis, places.tolist(), style.words(ds[dim]))
    else:
        style.numeric(ax.xaxis, places, style.geometric(places))
    handles = []
    for index, name in enumerate(regimes.names):
        stretches = [interval for interval in regimes.intervals if interval.regime == name]
        for interval in stretches:
            ax.axvspan(interval.start, interval.end, color=_colour_of(index), linewidth=0, gid=name)
        if stretches:
            handles.append(Patch(facecolor=_colour_of(index), label=name))
    for boundary in regimes.boundaries:
        for value in boundary.points[0]:
            ax.axvline(value, color=themes.ink(0.8), linewidth=1.1, gid=" | ".join(boundary.between))
    if regimes.output.name in ds:
        values = ds[regimes.output.name].values
        ax.plot(places, values, color=themes.ink(0.9), linewidth=1.8)
        style.numeric(ax.yaxis, values, style.spread(values))
        ax.set_ylabel(style.label(ds[regimes.output.name]))
    else:
        ax.set_yticks([])
    if places.size > 1:
        ax.set_xlim(float(places.min()), float(places.max()))
    ax.set_xlabel(style.label(ds[dim]))
    style.beside(ax, handles)
