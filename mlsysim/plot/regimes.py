"""A map of regimes: which term binds where, the boundaries between them, and what they are."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim.errors import InputError
from mlsysim.plot import cells, data, style
from mlsysim.study.binding_terms.regions import Regimes
from mlsysim.tracebacks import at_the_call

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: How much of a colour a region has, the rest being white.
TINT = 0.42
#: Share of a map from which a region is named in it.
NAMED = 0.03
#: Characters of a name that fit from one side of a map to the other.
ACROSS = 46
#: A boundary goes on to its next point up to this distance, in shares of the axes.
NEAR = 0.12


@at_the_call
def regimes(found: Regimes, *, ax: Axes | None = None) -> Axes:
    """Draw which term binds where: a map over two axes, or the output over one, coloured by regime.

    Boundaries run through the places where the binding term changes, not along the cells of the grid. Refused points
    are grey.

    Parameters
    ----------
    found : Regimes
        Of ``model.regimes(...)``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InputError
        If ``found`` is nothing that ``model.regimes`` gives.

    Examples
    --------
    >>> from mlsysim import KernelModel, plot
    >>> shape = dict(product_rows=range(1, 1025), product_columns=8192, product_inner=8192)
    >>> axes = plot.regimes(KernelModel("roofline").regimes(hardware="H100", **shape))
    >>> type(axes).__name__
    'Axes'
    """
    if not isinstance(found, Regimes):
        raise InputError("found", found, "must be what model.regimes(...) gives")
    ax = style.axes_of(ax)
    if found.map.ndim == 1:
        _line(ax, found)
    else:
        _map(ax, found)
    style.titled(ax, f"What binds {found.output.label.lower()}\n{data.setting(found.dataset)}".strip())
    return ax


def colour_of(place: int) -> str:
    """The colour of a regime by its place among them."""
    return style.COLOURS[place % len(style.COLOURS)]


def _tint(colour: str) -> Any:
    from matplotlib.colors import to_rgb

    return tuple(1 - TINT * (1 - part) for part in to_rgb(colour))


def _map(ax: Axes, found: Regimes) -> None:
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    x, y = (str(dim) for dim in found.map.dims)
    plane = data.ascending(data.ascending(found.dataset, x), y)["regime"]
    codes = plane.transpose(y, x).values
    grid = cells.Grid(plane[x], plane[y])
    colours = [style.REFUSED, *(_tint(colour_of(place)) for place in range(len(found.names)))]
    ax.pcolormesh(
        grid.columns, grid.rows, codes, cmap=ListedColormap(colours),
        vmin=-1.5, vmax=len(found.names) - 0.5, rasterized=True,
    )  # fmt: skip
    grid.mark(ax)
    ax.set(xlabel=style.label(plane[x]), ylabel=style.label(plane[y]))
    for name, line in _edges(found, plane, grid, codes):
        ax.plot(*line, color="white", linewidth=3.6, solid_capstyle="round", zorder=3)
        ax.plot(*line, color="0.2", linewidth=1.3, solid_capstyle="round", zorder=4, gid=name)
    handles = []
    for place, name in enumerate(found.names):
        inside = codes == place
        if not inside.any():
            continue
        row, column, share = _middle(inside)
        words = textwrap.wrap(name, max(8, int(ACROSS * share)))
        if inside.mean() < NAMED or max(map(len, words)) > ACROSS * share or len(words) > 3:
            handles.append(Patch(facecolor=_tint(colour_of(place)), edgecolor="0.4", linewidth=0.5, label=name))
            continue
        middle = _at(grid.columns, column), _at(grid.rows, row)
        look: dict[str, Any] = {"ha": "center", "va": "center", "fontweight": "bold", "color": "0.1", "zorder": 5}
        ax.text(*middle, "\n".join(words), **look)
    if (codes < 0).any():
        handles.append(Patch(facecolor=style.REFUSED, label="refused"))
    if handles:
        style.beside(ax, handles)


def _edges(found: Regimes, plane: Any, grid: cells.Grid, codes: np.ndarray) -> list[tuple[str, Any]]:
    """Lines between regimes: traced where both axes are to scale, else along the cells."""
    axes = [plane[str(dim)] for dim in found.map.dims]
    if not any(cells.is_even(array) for array in axes):
        ends = [grid.columns[[0, -1]], grid.rows[[0, -1]]]
        logs = [style.geometric(array.values) for array in axes]
        names = [" | ".join(boundary.between) for boundary in found.boundaries]
        lines = (_strokes(boundary.points, ends, logs) for boundary in found.boundaries)
        return [(name, line) for name, each in zip(names, lines, strict=True) for line in each]
    known = codes >= 0
    return [
        (name, line) for code, name in enumerate(found.names) for line in cells.boundary(codes == code, known, grid)
    ]


def _at(edges: np.ndarray, place: float) -> float:
    """The middle of the cell at a place, counted from 0, which may be a half."""
    return float(np.interp(place + 0.5, np.arange(len(edges)), edges))


def _middle(inside: np.ndarray) -> tuple[float, float, float]:
    """A place well within a region, in the stretch of a row with most room around it; and the share of that stretch."""
    best, found = -1.0, (0.0, 0.0, 0.0)
    for row in np.unique(np.nonzero(inside)[0]):
        steps = np.diff(np.concatenate([[0], inside[row].astype(int), [0]]))
        for start, end in zip(np.flatnonzero(steps == 1), np.flatnonzero(steps == -1), strict=True):
            column = (start + end - 1) / 2
            beside = inside[:, int(column)]
            above, below = _run(beside[row:]), _run(beside[row::-1])
            share = (end - start) / inside.shape[1]
            room = min(share, 2 * min(above, below) / inside.shape[0])
            if room > best:
                best, found = room, (row + (above - below) / 2, column, share)
    return found


def _run(truth: np.ndarray) -> int:
    """Number of true values from the first on."""
    return len(truth) if truth.all() else int(np.argmin(truth))


def _strokes(points: np.ndarray, ends: list[np.ndarray], logs: list[bool]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Points of a boundary as lines: from an end always on to the nearest point that is left."""
    shares = []
    for values, (low, high), log in zip(points, ends, logs, strict=True):
        low, high, at = (np.log(each) if log else each for each in (low, high, values))
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


def _line(ax: Axes, found: Regimes) -> None:
    """The output over one axis, coloured by regime; a label as stretches alone."""
    from matplotlib.patches import Patch

    (dim,) = (str(each) for each in found.map.dims)
    ds = data.ascending(found.dataset, dim)
    words = data.is_label(ds[dim])
    places = np.arange(ds[dim].size, dtype=float) if words else np.asarray(ds[dim].values, dtype=float)
    if words:
        style.ticks_at(ax.xaxis, places.tolist(), style.words(ds[dim]))
    else:
        style.numeric(ax.xaxis, places, style.geometric(places))
    handles = []
    for place, name in enumerate(found.names):
        stretches = [each for each in found.intervals if each.regime == name]
        for each in stretches:
            ax.axvspan(each.start, each.end, color=_tint(colour_of(place)), linewidth=0, gid=name)
        if stretches:
            handles.append(Patch(facecolor=_tint(colour_of(place)), label=name))
    for boundary in found.boundaries:
        for value in boundary.points[0]:
            ax.axvline(value, color="0.2", linewidth=1.1, gid=" | ".join(boundary.between))
    if found.output.name in ds:
        values = ds[found.output.name].values
        ax.plot(places, values, color="0.1", linewidth=1.8)
        style.numeric(ax.yaxis, values, style.spread(values))
        ax.set_ylabel(style.label(ds[found.output.name]))
    else:
        ax.set_yticks([])
    if places.size > 1:
        ax.set_xlim(float(places.min()), float(places.max()))
    ax.set_xlabel(style.label(ds[dim]))
    style.beside(ax, handles)
