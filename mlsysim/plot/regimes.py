"""A map of regimes: which term binds where, the boundaries between them, and what they are."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim.errors import InputError
from mlsysim.plot import cells, data, style
from mlsysim.study.binding_terms.regions import Regimes

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

#: How much of a colour a region has, the rest being white.
TINT = 0.42
#: Share of a map from which a region is named in it.
NAMED = 0.03
#: A boundary goes on to its next point up to this distance, in shares of the axes.
NEAR = 0.12


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
    """
    if not isinstance(found, Regimes):
        raise InputError("found", found, "must be what model.regimes(...) gives")
    ax = style.axes_of(ax)
    if found.map.ndim == 1:
        _line(ax, found)
    else:
        _map(ax, found)
    ax.set_title(data.setting(found.dataset), loc="left", fontsize="medium")
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
    scales = [_Scale(plane[name]) for name in (x, y)]
    colours = [style.REFUSED, *(_tint(colour_of(place)) for place in range(len(found.names)))]
    ax.pcolormesh(
        scales[0].edges, scales[1].edges, codes, cmap=ListedColormap(colours),
        vmin=-1.5, vmax=len(found.names) - 0.5, rasterized=True,
    )  # fmt: skip
    scales[0].mark(ax.xaxis)
    scales[1].mark(ax.yaxis)
    ax.set(xlim=scales[0].edges[[0, -1]], ylim=scales[1].edges[[0, -1]])
    ax.set(xlabel=style.label(plane[x]), ylabel=style.label(plane[y]))
    for boundary in found.boundaries:
        for line in _strokes(boundary.points, scales):
            ax.plot(*line, color="white", linewidth=3.6, solid_capstyle="round", zorder=3)
            ax.plot(
                *line, color="0.2", linewidth=1.3, solid_capstyle="round", zorder=4, gid=" | ".join(boundary.between)
            )
    small = []
    for place, name in enumerate(found.names):
        inside = codes == place
        if not inside.any():
            continue
        if inside.mean() < NAMED:
            small.append(Patch(facecolor=_tint(colour_of(place)), edgecolor="0.4", linewidth=0.5, label=name))
            continue
        row, column = _middle(inside)
        ax.text(
            scales[0].middle(column), scales[1].middle(row), "\n".join(textwrap.wrap(name, 18)), color="0.1",
            ha="center", va="center", fontsize="medium", fontweight="bold", zorder=5,
        )  # fmt: skip
    if (codes < 0).any():
        small.append(Patch(facecolor=style.REFUSED, label="refused"))
    if small:
        style.beside(ax, small)


class _Scale:
    """How the values of an axis stand along it: numbers to scale, labels and entries one beside the other."""

    def __init__(self, array: xarray.DataArray) -> None:
        self.array = array
        self.words = data.is_label(array) or array.dtype.kind not in "fiu"
        self.values = np.arange(array.size, dtype=float) if self.words else np.asarray(array.values, dtype=float)
        self.log = not self.words and style.geometric(self.values)
        if array.size > 1:
            self.edges = np.arange(array.size + 1) - 0.5 if self.words else cells.to_scale(self.values)
        else:
            self.edges = np.array([self.values[0] - 0.5, self.values[0] + 0.5])

    def mark(self, axis: Any) -> None:
        """Scale and ticks."""
        if self.words:
            style.ticks_at(axis, self.values.tolist(), style.words(self.array))
        else:
            style.numeric(axis, self.values, self.log)

    def middle(self, place: float) -> float:
        """The value at a place between the points, counted from 0."""
        at = np.log(self.values) if self.log else self.values
        found = float(np.interp(place, np.arange(len(at)), at))
        return float(np.exp(found)) if self.log else found

    def share(self, values: np.ndarray) -> np.ndarray:
        """Where values stand, from 0 at one end of the axis to 1 at the other."""
        ends = np.log(self.edges[[0, -1]]) if self.log else self.edges[[0, -1]]
        at = np.log(values) if self.log else values
        return (at - ends[0]) / (ends[1] - ends[0])


def _middle(inside: np.ndarray) -> tuple[float, float]:
    """A place well within a region: the middle of the stretch of a row with most room around it."""
    rows = np.nonzero(inside)[0]
    best, found = -1.0, (0.0, 0.0)
    for row in np.unique(rows):
        steps = np.diff(np.concatenate([[0], inside[row].astype(int), [0]]))
        for start, end in zip(np.flatnonzero(steps == 1), np.flatnonzero(steps == -1), strict=True):
            column = (start + end - 1) / 2
            beside = inside[:, int(column)]
            above = int(np.argmin(beside[row:])) if not beside[row:].all() else len(beside) - row
            below = int(np.argmin(beside[row::-1])) if not beside[row::-1].all() else row + 1
            room = min((end - start) / inside.shape[1], 2 * min(above, below) / inside.shape[0])
            if room > best:
                best, found = room, (float(row), column)
    return found


def _strokes(points: np.ndarray, scales: list[_Scale]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Points of a boundary as lines: from an end always on to the nearest point that is left."""
    at = np.stack([scale.share(row) for scale, row in zip(scales, points, strict=True)], axis=1)
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
    scale = _Scale(ds[dim])
    scale.mark(ax.xaxis)
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
        ax.plot(scale.values, values, color="0.1", linewidth=1.8)
        style.numeric(ax.yaxis, values, style.spread(values))
        ax.set_ylabel(style.label(ds[found.output.name]))
    else:
        ax.set_yticks([])
    ax.set(xlim=(float(scale.values.min()), float(scale.values.max())), xlabel=style.label(ds[dim]))
    style.beside(ax, handles)
