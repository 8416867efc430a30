"""Curves of one output, named at their ends."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim.errors import InputError, UnknownNameError
from mlsysim.plot import data, layout, style, themes
from mlsysim.tracebacks import at_the_call

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

#: Beyond so many points along a curve, markers would hide it.
_MARKED = 40
_NAME = 24


@at_the_call
@themes.figure
def lines(
    ds: xarray.Dataset,
    output: str,
    x: str | None = None,
    hue: str | None = None,
    *,
    highlight: Sequence[Any] | None = None,
    feasible: str | None = "feasible",
    ax: Axes | None = None,
    theme: str | None = None,
) -> Axes:
    """Draw one output along one swept input, one curve per value of another, named at its right end.

    At most eight curves have a colour and a name; the others are grey. Infeasible points are hollow on dashed
    curves. Refused points are left out; infinite ones leave a gap.

    Parameters
    ----------
    ds : xarray.Dataset
        Of ``model.sweep(...)``, every further dimension reduced to one point.
    output : str
        A number, label or truth value.
    x, hue : str, optional
        Dimensions, or coordinates along one; by default the last and the one before.
    highlight : sequence, optional
        Up to eight values of ``hue`` whose curves are named; by default eight, evenly chosen by their last values.
    feasible : str, optional
        The truth value that tells solid from dashed; None for all solid.
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
        If more than two dimensions are left, or none; if more than eight curves are to be highlighted.
    UnknownNameError
        If the data set has no variable of a name, or no curve of a highlighted value.

    Examples
    --------
    >>> from mlsysim import DistributedModel, plot
    >>> sweep = DistributedModel().sweep(
    ...     model="Llama3_70B", fleet="SuperPOD_H100", batch_size=[256, 512, 1024], tp_size=[4, 8], pp_size=4
    ... )
    >>> ax = plot.lines(sweep, "step_time", x="batch_size", hue="tp_size")
    """
    ds, (x, *others) = data.shown_over(ds, output, (x, hue), 1)
    ds = data.ascending(ds, x)
    limit = data.truth(ds, feasible)
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
    chosen = _chosen(
        names, [] if highlight is None else highlight, drawn.transpose(..., x).values.reshape(len(names), -1)
    )
    ax = style.axes_of(ax)
    palette, curves = themes.colours(), []
    for index in sorted(range(len(names)), key=chosen.__contains__):
        at = {split: index} if split else {}
        taken = accepted.isel(at).values
        values, fits = (array.broadcast_like(drawn).isel(at).values[taken] for array in (drawn, good))
        colour = palette[chosen.index(index)] if index in chosen else themes.ink(0.3)
        _curve(ax, places[taken], values, fits, colour, names[index], named=index in chosen)
        if index in chosen and np.isfinite(values).any():
            curves.append((names[index], colour, places[taken], values))
    _axis_of_x(ax, along, places, words)
    _axis_of_y(ax, series, drawn.values, label)
    ax.set(xlabel=style.label(along), ylabel=style.label(series))
    style.grid(ax)
    title = style.asked(style.description(series), along, ds)
    if len(chosen) < len(names):
        title += f"\n{len(chosen)} of {len(names)} curves in colour, the others grey"
    style.titled(ax, title, _keys(good, drawn))
    if split:
        _name(ax, curves, style.narrow(ds[split]))
        layout.fit(ax)
    return ax


def _chosen(names: list[str], highlight: Sequence[Any], values: np.ndarray) -> list[int]:
    """Positions of the curves that are named, in their order."""
    if isinstance(highlight, str) or len(highlight) > layout.NAMED:
        raise InputError("highlight", highlight, f"must be a list of at most {layout.NAMED} values")
    asked = [value if isinstance(value, str) else style.short(value) for value in highlight]
    for word in asked:
        if word not in names:
            raise UnknownNameError("curve", word, names)
    if asked or len(names) <= layout.NAMED:
        return [index for index, name in enumerate(names) if not asked or name in asked]
    return layout.evenly([row[np.isfinite(row)][-1] if np.isfinite(row).any() else np.nan for row in values])


def _name(ax: Axes, curves: list[Any], head: str) -> None:
    """Name curves at their right ends; curves that are the same have one name."""
    ends, words, colours, seen = [], [], [], []
    for name, colour, places, values in curves:
        same = next((index for index, other in enumerate(seen) if np.array_equal(other, values, equal_nan=True)), None)
        if same is None:
            last = int(np.flatnonzero(np.isfinite(values))[-1])
            ends.append((float(places[last]), float(values[last])))
            words.append(name)
            colours.append(colour)
            seen.append(values)
        else:
            words[same] += f", {name}"
    words = [textwrap.shorten(word, _NAME, placeholder=" ...") if ", " in word else word for word in words]
    layout.at_ends(ax, ends, words, colours, head)


def _curve(
    ax: Axes, places: np.ndarray, values: np.ndarray, fits: np.ndarray, colour: Any, name: str, *, named: bool
) -> None:
    """Dashed throughout, solid where both ends are feasible, with a marker per point where there are few."""
    solid = np.where(fits, values, np.nan)
    ax.plot(places, values, "--", color=colour, linewidth=1, gid=f"all {name}".strip())
    (line,) = ax.plot(
        places, solid, "-", color=colour, linewidth=1.8 if named else 1, label=name, gid=f"feasible {name}".strip()
    )
    if named and len(places) <= _MARKED:
        hollow = np.where(fits, np.nan, values)
        ax.plot(
            places, hollow, "o", color=colour, markersize=4, markerfacecolor=themes.ink(0), gid=f"hollow {name}".strip()
        )
        line.set(marker="o", markersize=4)


def _keys(good: xarray.DataArray, drawn: xarray.DataArray) -> list[Any]:
    from matplotlib.lines import Line2D

    if bool((good | drawn.isnull()).all()):
        return []
    look: dict[str, Any] = {"color": themes.ink(0.7), "marker": "o", "markersize": 4}
    return [Line2D([], [], linestyle="--", linewidth=1, markerfacecolor=themes.ink(0), label="infeasible", **look)]


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
