"""Curves of one output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim.plot import data, style
from mlsysim.tracebacks import at_the_call

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

#: Beyond so many points along a curve, markers would hide it.
_MARKED = 40
#: Entries of a legend, evenly chosen of more curves.
_ENTRIES = 10


@at_the_call
def lines(
    ds: xarray.Dataset,
    output: str,
    x: str | None = None,
    hue: str | None = None,
    *,
    feasible: str | None = "feasible",
    ax: Axes | None = None,
) -> Axes:
    """Draw one output along one swept input, one curve per value of another.

    What is infeasible is dashed, with hollow markers. Refused points are left out; infinite ones leave a gap.

    Parameters
    ----------
    ds : xarray.Dataset
        Of ``model.sweep(...)``, every further dimension reduced to one point.
    output : str
        A number, label or truth value.
    x, hue : str, optional
        Dimensions, or coordinates along one; by default the last and the one before.
    feasible : str, optional
        The truth value that tells solid from dashed; None for all solid.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InputError
        If more than two dimensions are left, or none.
    UnknownNameError
        If the data set has no variable of a name.

    Examples
    --------
    >>> from mlsysim import TrainingMemoryModel, plot
    >>> memory = TrainingMemoryModel("first_order")
    >>> grid = memory.sweep("Llama3_8B", "H100", seq_len=2048, batch_size=[8, 16, 32], dp_size=[1, 8])
    >>> axes = plot.lines(grid, "total_memory", x="batch_size", hue="dp_size")
    >>> type(axes).__name__
    'Axes'
    """
    ds, (x, *others) = data.shown_over(ds, output, (x, hue), 1)
    ds = data.ascending(ds, x)
    limit = data.truth(ds, feasible)
    ax = style.axes_of(ax)
    along = ds[x]
    words = data.is_label(along)
    places = np.arange(along.size) if words else np.asarray(along.values, dtype=float)
    series = ds[output]
    label = data.is_label(series)
    accepted = ~data.refused(ds).broadcast_like(series)
    drawn = (data.codes(series) if label else series).where(accepted).astype(float)
    drawn = drawn.where(np.isfinite(drawn) & (drawn >= 0 if label else True))
    good = drawn.notnull() if limit is None else limit & drawn.notnull()
    split = others[0] if others else None
    names = style.words(ds[split]) if split else [""]
    curves: list[Any] = []
    for place, (name, colour) in enumerate(zip(names, style.shades(len(names)), strict=True)):
        at = {split: place} if split else {}
        taken = accepted.isel(at).values
        values, fits = (array.broadcast_like(drawn).isel(at).values[taken] for array in (drawn, good))
        curves.append(_curve(ax, places[taken], values, fits, colour, name))
    _axis_of_x(ax, along, places, words)
    _axis_of_y(ax, series, drawn.values, label)
    ax.set(xlabel=style.label(along), ylabel=style.label(series))
    if split or not bool(good.where(drawn.notnull(), True).all()):
        chosen = curves[:: -(-len(curves) // _ENTRIES)] if split else []
        style.beside(ax, chosen + _keys(good, drawn), style.narrow(ds[split]) if split else "")
    ax.grid(alpha=0.25, linewidth=0.6)
    style.titled(ax, style.asked(style.description(series), along, ds))
    return ax


def _curve(ax: Axes, places: np.ndarray, values: np.ndarray, fits: np.ndarray, colour: Any, name: str) -> Any:
    """Dashed throughout, solid where both ends are feasible, with a marker per point where there are few."""
    solid = np.where(fits, values, np.nan)
    ax.plot(places, values, "--", color=colour, linewidth=1, gid=f"all {name}".strip())
    (line,) = ax.plot(places, solid, "-", color=colour, linewidth=1.8, label=name, gid=f"feasible {name}".strip())
    if len(places) <= _MARKED:
        hollow = np.where(fits, np.nan, values)
        ax.plot(places, hollow, "o", color=colour, markersize=4, markerfacecolor="white", gid=f"hollow {name}".strip())
        line.set(marker="o", markersize=4)
    return line


def _keys(good: xarray.DataArray, drawn: xarray.DataArray) -> list[Any]:
    from matplotlib.lines import Line2D

    if bool((good | drawn.isnull()).all()):
        return []
    look: dict[str, Any] = {"color": "0.3", "marker": "o", "markersize": 4}
    return [Line2D([], [], linestyle="--", linewidth=1, markerfacecolor="white", label="infeasible", **look)]


def _axis_of_x(ax: Axes, along: xarray.DataArray, places: np.ndarray, words: bool) -> None:
    if not words:
        style.numeric(ax.xaxis, places, style.geometric(places))
    if words or len(places) <= style.FEW:
        style.ticks_at(ax.xaxis, list(places), style.words(along))


def _axis_of_y(ax: Axes, series: xarray.DataArray, values: np.ndarray, label: bool) -> None:
    if label:
        words = data.meanings(series)
        present = [code for code in words if (values == code).any()]
        style.ticks_at(ax.yaxis, present, [words[code] for code in present])
    else:
        style.numeric(ax.yaxis, values, style.spread(values))
