"""Stacked bars: the parts of a total, point by point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim import units
from mlsysim.errors import InputError, UnitError, quoted
from mlsysim.plot import data, style
from mlsysim.tracebacks import at_the_call

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

_REST = "0.78"
#: Share of the room of a group that its bars take.
_WIDTH = 0.8
#: Parts may miss their total by this share, which is rounding.
_ROUNDING = 1e-9
#: Share of the width of a figure that bars surely have.
SHARE = 0.55


@at_the_call
def bars(
    ds: xarray.Dataset,
    parts: str | Sequence[str],
    x: str | None = None,
    group: str | None = None,
    *,
    total: str | None = None,
    limit: Any = None,
    unit: str | None = None,
    feasible: str | None = "feasible",
    ax: Axes | None = None,
) -> Axes:
    """Draw the parts of an amount on top of each other, one bar per point.

    Infeasible bars are pale, with a dashed outline. Refused and infinite points are grey columns.

    Parameters
    ----------
    ds : xarray.Dataset
        Of ``model.sweep(...)``, every further dimension reduced to one point.
    parts : str or sequence of str
        Outputs of one dimension, from the bottom up.
    x, group : str, optional
        Dimensions, or coordinates along one: a bar per value of the first, or as many side by side as the second
        has values; by default the last and the one before.
    total : str, optional
        What the parts are parts of. It names the axis, and what they leave of it is drawn on top.
    limit : str, quantity or number, optional
        A line across the bars: an output, or an amount (``"92 GiB"``; a number is in the unit of the axis).
    unit : str, optional
        Of the axis; by default that of the first part.
    feasible : str, optional
        The truth value that tells plain from pale; None for all plain.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InputError
        If more than two dimensions are left, or none; if a part is a label, or parts are more than their total.
    UnitError
        If parts, total and limit are not of one dimension.
    UnknownNameError
        If the data set has no variable of a name.
    """
    parts = _named(ds, parts)
    ds, (x, *others) = data.shown_over(ds, parts[0], (x, group), 1)
    for dim in (x, *others):
        ds = data.ascending(ds, dim)
    unit = str(ds[parts[0]].attrs.get("units", "")) if unit is None else unit
    over = ds[parts[0]].transpose(x, *others)

    def plane(array: xarray.DataArray) -> np.ndarray:
        """Rows along the axis, one column for each bar of a group."""
        values = array.broadcast_like(over).transpose(*over.dims).values
        return values.reshape(len(values), -1)

    heights = np.stack([plane(_amount(ds, "parts", name, unit)) for name in parts])
    labels, count = [style.entry(ds[name]) for name in parts], len(parts)
    # Areas that touch need more colours that are distinct than curves do.
    colours = list(style.COLOURS[:count]) if count <= len(style.COLOURS) else style.shades(count)
    refused = plane(data.refused(ds)).astype(bool)
    if total is not None:
        heights = np.concatenate([heights, [_rest(heights, plane(_amount(ds, "total", total, unit)), ~refused, total)]])
        labels, colours = [*labels, "rest"], [*colours, _REST]
    line = None if limit is None else _limit(ds, limit, unit)
    truth = data.truth(ds, feasible)
    said = "" if line is None else f"Limit {style.short(float(line))} {unit}".rstrip() if line.name == "limit" else ""
    ax = style.axes_of(ax)
    infinite = ~np.isfinite(heights).all(axis=0) & ~refused
    drawn = ~refused & ~infinite
    hatched = drawn & ~plane(truth).astype(bool) if truth is not None else np.zeros_like(drawn)
    places, width = _places(*drawn.shape)
    handles = _stacks(ax, places, width, np.where(drawn, heights, 0.0), labels, colours, hatched)
    if line is not None:
        handles.append(_across(ax, places, width, plane(line), style.entry(line) if line.name != "limit" else said))
    for where, word, colour in ((refused, "refused", style.REFUSED), (infinite, "infinite", style.INFINITE)):
        handles += _columns(ax, places[where], width, word, colour)
    _mark(ax, places, [ds[name] for name in (x, *others)])
    ax.set(ylabel=f"[{unit}]" if total is None else style.label(ds[total].assign_attrs(units=unit)))
    ax.set_axisbelow(True)
    ax.grid(axis="y", alpha=0.25, linewidth=0.6)
    if (heights[:, drawn] >= 0).all():
        ax.set_ylim(bottom=0)
    style.beside(ax, handles)
    style.titled(ax, style.asked(f"Parts of {style.plain(ds[total])}" if total is not None else "Parts", ds[x], ds))
    return ax


def _named(ds: Any, parts: str | Sequence[str]) -> list[str]:
    """Parts as a list of names that the data set has, each once."""
    data.checked(ds)
    names = [parts] if isinstance(parts, str) else parts
    found = [str(data.named(ds, name, "output of the data set").name) for name in names]
    if not found or len(set(found)) < len(found):
        raise InputError("parts", parts, "must name at least one output, and each once")
    return found


def _amount(ds: xarray.Dataset, argument: str, name: str, unit: str) -> xarray.DataArray:
    """A variable as numbers of the unit of the axis."""
    found = data.named(ds, name, "output of the data set")
    if data.is_label(found):
        raise InputError(argument, name, "must be a number; labels have no height")
    own = found.attrs.get("units", "")
    if units.dimension(own) != units.dimension(unit):
        raise UnitError(f"{argument}: {name} is in {own or 'no unit'}, which is not {unit or 'a pure number'}")
    return found.astype(float) * (units.factor(own) / units.factor(unit))


def _limit(ds: xarray.Dataset, given: Any, unit: str) -> xarray.DataArray:
    """An output or an amount, as numbers of the unit of the axis."""
    import xarray

    if isinstance(given, str) and given in ds.variables:
        return _amount(ds, "limit", given, unit).assign_attrs(ds[given].attrs)
    if isinstance(given, str):
        given = units.parsed(given)
    if units.is_quantity(given):
        given = units.canonical(given, unit, "limit") / units.factor(unit)
    if isinstance(given, bool) or not isinstance(given, int | float) or not np.isfinite(given):
        raise InputError("limit", quoted(given), "must be an output, a number, a quantity, or text such as '92 GiB'")
    return xarray.DataArray(float(given), name="limit")


def _rest(heights: np.ndarray, whole: np.ndarray, known: np.ndarray, total: str) -> np.ndarray:
    """Rest of a total beyond its parts."""
    # What is infinite, or was refused, leaves nothing that could be compared.
    with np.errstate(invalid="ignore"):
        rest = whole - heights.sum(axis=0)
    if (known & (rest < -_ROUNDING * np.abs(whole))).any():
        raise InputError("total", total, "is less than the sum of its parts")
    return np.where(np.abs(rest) <= _ROUNDING * np.abs(whole), 0.0, rest)


def _places(groups: int, members: int) -> tuple[np.ndarray, float]:
    """Middles of the bars, and how wide each is."""
    width = _WIDTH / members
    return np.arange(groups)[:, None] + (np.arange(members) - (members - 1) / 2) * width, width


def _stacks(
    ax: Axes, places: np.ndarray, width: float, heights: np.ndarray, labels: list[str], colours: list[Any], hatched: Any
) -> list[Any]:
    """The bars; entries of a legend in the order of the stack, without parts that are nowhere."""
    from matplotlib.patches import Patch

    handles = []
    # Bases of bars hold the limits of an axis, also those that nothing stands on.
    ax.use_sticky_edges = False
    # What is below zero is stacked downwards.
    top, bottom = np.zeros(places.shape), np.zeros(places.shape)
    look: dict[str, Any] = {"width": 0.92 * width, "edgecolor": "white", "linewidth": 0.4}
    for height, label, colour in zip(heights, labels, colours, strict=True):
        base = np.where(height < 0, bottom, top)
        ax.bar(places.ravel(), height.ravel(), bottom=base.ravel(), color=colour, label=label, **look)
        top, bottom = top + np.maximum(height, 0), bottom + np.minimum(height, 0)
        if height.any():
            handles.insert(0, Patch(facecolor=colour, label=label))
    if hatched.any():
        # What is infeasible is pale behind a veil, with a dashed outline.
        ax.bar(places[hatched], (top - bottom)[hatched], 0.92 * width, bottom[hatched], color="white", alpha=0.6)
        look = {**style.MISSED, "label": "infeasible"}
        ax.bar(places[hatched], (top - bottom)[hatched], 0.92 * width, bottom[hatched], **{**look, "facecolor": "none"})
        handles.append(Patch(**look))
    return handles


def _columns(ax: Axes, places: np.ndarray, width: float, word: str, colour: str) -> list[Any]:
    """Columns from bottom to top where there is no bar."""
    from matplotlib.patches import Patch

    for place in places:
        ax.axvspan(place - 0.46 * width, place + 0.46 * width, color=colour, linewidth=0, zorder=0.5, gid=word)
    return [Patch(facecolor=colour, label=word)] if places.size else []


def _across(ax: Axes, places: np.ndarray, width: float, heights: np.ndarray, label: str) -> Any:
    """A line from edge to edge, or one over each bar where it differs."""
    from matplotlib.lines import Line2D

    look: dict[str, Any] = {"color": "black", "linewidth": 1.4, "linestyle": (0, (5, 2))}
    known = heights[np.isfinite(heights)]
    if known.size and np.ptp(known) <= _ROUNDING * np.abs(known).max():
        ax.axhline(known[0], **look, gid="limit")
    else:
        for place, height in zip(places.ravel(), heights.ravel(), strict=True):
            ax.plot([place - width / 2, place + width / 2], [height, height], **look, gid="limit")
    return Line2D([], [], **look, label=label)


def _mark(ax: Axes, places: np.ndarray, along: list[Any]) -> None:
    """Ticks: the values of the axis, and above them one for each bar of a group."""
    words = style.words(along[0])
    ax.set_xlim(places.min() - 0.6, places.max() + 0.6)
    axis = ax.xaxis
    if len(along) == 1:
        style.ticks_at(axis, list(range(len(words))), words)
        ax.set_xlabel(style.label(along[0]))
        return
    members = style.words(along[1]) * len(words)
    # The legend stands beside the axes, which then have about half of the width.
    room = 72 * ax.figure.get_figure(root=True).get_figwidth() * SHARE / len(words)
    turned = _depth(members, turned=True) > room * _WIDTH / max(1, along[1].size)
    # The middle of a group may be the middle of a bar, too.
    axis.remove_overlapping_locs = False
    axis.set_ticks(places.ravel().tolist(), labels=members, minor=True, fontsize="small", rotation=90 * turned)
    axis.set_ticks(list(range(len(words))), labels=words)
    axis.set_tick_params(which="major", length=0, pad=8 + _depth(members, turned))
    ax.set_xlabel(style.label(along[0], f"bars: {style.description(along[1])}"))


def _depth(words: list[str], turned: bool) -> float:
    """Points that tick labels take downwards."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    small = FontProperties(size="small")
    size = small.get_size_in_points()
    across = [TextPath((0, 0), word or " ", size, prop=small).get_extents().width for word in words]
    return max(across) if turned else size
