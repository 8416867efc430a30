"""Designs that no other beats in both of two outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim.errors import InputError, UnknownNameError
from mlsysim.plot import data, style, tables
from mlsysim.tracebacks import at_the_call

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@at_the_call
def pareto(
    designs: Any,
    x: str,
    y: str,
    *,
    maximize: str | Sequence[str] = (),
    feasible: str | None = "feasible",
    front: str | None = None,
    label: Sequence[str] | None = None,
    annotate: int = 4,
    ax: Axes | None = None,
) -> Axes:
    """Draw feasible designs as a cloud, and the front of those that no other beats as a stepped line.

    Parameters
    ----------
    designs : xarray.Dataset or table
        A sweep of any dimensions, or columns by name (a mapping or a ``pandas.DataFrame``).
    x, y : str
        Outputs to compare; both are minimised unless named in ``maximize``.
    maximize : str or sequence of str
        Those of ``x`` and ``y`` of which more is better.
    feasible : str, optional
        Truth value of the designs to consider; None for all. A table without it is taken as feasible.
    front : str, optional
        A truth value that says which designs are on the front; computed from the points by default.
    label : sequence of str, optional
        What tells a design apart; by default the swept inputs.
    annotate : int
        How many designs of the front are numbered, evenly chosen, its ends among them.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InputError
        If no design is feasible and finite in both, or an argument is not understood.
    UnknownNameError
        If there is no output or column of a name.
    """
    maximize = (maximize,) if isinstance(maximize, str) else tuple(maximize)
    for name in maximize:
        if name not in (x, y):
            raise UnknownNameError("axis to maximize", name, (x, y))
    if isinstance(annotate, bool) or not isinstance(annotate, int) or annotate < 0:
        raise InputError("annotate", annotate, "must be a whole number >= 0")
    ds = tables.data_set(designs)
    for axis, name in (("x", x), ("y", y)):
        if data.is_label(data.named(ds, name, "output of the designs")):
            raise InputError(axis, name, "must be a number; labels have no front")
    told = tables.swept(ds) if label is None else [str(data.named(ds, name).name) for name in label]
    points = tables.Points(ds, x, y, data.truth(ds, feasible), data.truth(ds, front, "front"))
    across, up = points.x, points.y
    if not across.size:
        raise InputError("designs", f"{x}, {y}", "no design is feasible and finite in both")
    signs = [-1.0 if name in maximize else 1.0 for name in (x, y)]
    if points.front is None:
        best = nondominated(signs[0] * across, signs[1] * up)
    else:
        best = np.flatnonzero(points.front)
        best = best[np.lexsort((signs[1] * up[best], signs[0] * across[best]))]
    ax = style.axes_of(ax)
    word = "feasible" if feasible is not None else "designs"
    ax.plot(across, up, ".", color="0.72", markersize=4, rasterized=len(across) > 2000, label=word, gid="cloud")
    look: dict[str, Any] = {"color": style.COLOURS[0], "marker": "o", "markersize": 4, "label": "front"}
    ax.plot(across[best], up[best], drawstyle="steps-post", gid="front", **look)
    if points.missed[best].any():
        look |= {"linestyle": "none", "markerfacecolor": "white", "label": "infeasible"}
        ax.plot(across[best][points.missed[best]], up[best][points.missed[best]], gid="infeasible", **look)
    for axis, values, name in ((ax.xaxis, across, x), (ax.yaxis, up, y)):
        style.numeric(axis, values, style.spread(values))
        axis.set_label_text(style.label(ds[name], "higher is better" if name in maximize else "lower is better"))
    chosen = best[np.unique(np.linspace(0, len(best) - 1, annotate).round().astype(int))] if len(best) else best
    keys = [_numbered(ax, place, points, told, number) for number, place in enumerate(chosen, start=1)]
    drawn = ax.get_lines()[len(best) == len(across) :]
    style.beside(ax, [*drawn, *keys])
    ax.grid(alpha=0.25, linewidth=0.6)
    style.titled(ax, f"{style.description(ds[y])} against {style.plain(ds[x])}\n{data.setting(ds)}".strip())
    return ax


def _numbered(ax: Axes, place: int, points: tables.Points, told: list[str], number: int) -> Any:
    """Number a design where it stands, and say in the legend what it is."""
    from matplotlib.lines import Line2D

    at = (points.x[place], points.y[place])
    look: dict[str, Any] = {"color": "white", "fontsize": 7, "ha": "center", "va": "center"}
    ax.annotate(str(number), at, zorder=5, bbox={"boxstyle": "circle,pad=0.2", "facecolor": "black", "lw": 0}, **look)
    described = points.described(int(place), told)
    mark: dict[str, Any] = {"marker": f"${number}$", "color": "black", "markersize": 6, "linestyle": "none"}
    return Line2D([], [], label="\n".join(described), **mark)


def nondominated(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Places of the points that no other is at most as large as in both, by the first; equal points once."""
    order = np.lexsort((second, first))
    lowest = np.minimum.accumulate(second[order])
    below = np.concatenate([[True], second[order][1:] < lowest[:-1]])
    return order[below]
