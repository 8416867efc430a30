"""Stacked bars: the parts of a total, point by point."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim import units
from mlsysim.errors import InputError, UnitError, quoted
from mlsysim.plot import data, style, themes
from mlsysim.tracebacks import at_the_call

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

#: Share of the room of a group that its bars take.
_WIDTH = 0.8
#: Parts may miss their total by this share, which is rounding.
_ROUNDING = 1e-9


@at_the_call
@themes.figure
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
    theme: str | None = None,
) -> Axes:
    """Stack the parts of an amount, one bar per point.

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
        Axes to draw on; a new figure by default.
    theme : {"light", "dark"}, optional
        Colours of the figure; by default those that matplotlib is set to.

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

    Examples
    --------
    >>> from mlsysim import TrainingMemoryModel, plot
    >>> memory = TrainingMemoryModel("first_order")
    >>> grid = memory.sweep("Llama3_8B", "H100", seq_len=2048, batch_size=[8, 16, 32], dp_size=[1, 8])
    >>> axes = plot.bars(grid, ["weights", "gradients", "optimizer_state"], total="total_memory")
    >>> type(axes).__name__
    'Axes'
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
    colours = style.shades(count)
    refused = plane(data.refused(ds)).astype(bool)
    if total is not None:
        heights = np.concatenate([heights, [_rest(heights, plane(_amount(ds, "total", total, unit)), ~refused, total)]])
        labels, colours = [*labels, "rest"], [*colours, themes.ink(0.22)]
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
    for where, word, colour in ((refused, "refused", style.refused()), (infinite, "infinite", style.infinite())):
        handles += _columns(ax, places[where], width, word, colour)
    ax.set(ylabel=f"[{unit}]" if total is None else style.label(ds[total].assign_attrs(units=unit)))
    style.grid(ax, "y")
    if (heights[:, drawn] >= 0).all():
        ax.set_ylim(bottom=0)
    style.beside(ax, handles)
    _mark(ax, places, [ds[name] for name in (x, *others)])
    style.titled(ax, style.asked(f"Parts of {style.plain(ds[total])}" if total is not None else "Parts", ds[x], ds))
    return ax


def _named(ds: Any, parts: str | Sequence[str]) -> list[str]:
    """Parts as a list of names that the data set has, each once."""
    data.checked(ds)
    names = [parts] if isinstance(parts, str) else parts
    outputs = [str(data.named(ds, name, "output of the data set").name) for name in names]
    if not outputs or len(set(outputs)) < len(outputs):
        raise InputError("parts", parts, "must name at least one output, and each once")
    return outputs


def _amount(ds: xarray.Dataset, argument: str, name: str, unit: str) -> xarray.DataArray:
    """A variable as numbers of the unit of the axis."""
    amount = data.named(ds, name, "output of the data set")
    if data.is_label(amount):
        raise InputError(argument, name, "must be a number; labels have no height")
    own = amount.attrs.get("units", "")
    if units.dimension(own) != units.dimension(unit):
        raise UnitError(f"{argument}: {name} is in {own or 'no unit'}, which is not {unit or 'a pure number'}")
    return amount.astype(float) * (units.factor(own) / units.factor(unit))


def _limit(ds: xarray.Dataset, limit: Any, unit: str) -> xarray.DataArray:
    """An output or an amount, as numbers of the unit of the axis."""
    import xarray

    if isinstance(limit, str) and limit in ds.variables:
        return _amount(ds, "limit", limit, unit).assign_attrs(ds[limit].attrs)
    if isinstance(limit, str):
        limit = units.parsed(limit)
    if units.is_quantity(limit):
        limit = units.canonical(limit, unit, "limit") / units.factor(unit)
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not np.isfinite(limit):
        raise InputError("limit", quoted(limit), "must be an output, a number, a quantity, or text such as '92 GiB'")
    return xarray.DataArray(float(limit), name="limit")


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
    look: dict[str, Any] = {
        "width": 0.92 * width,
        "edgecolor": themes.ink(0),
        "linewidth": 0.4 if places.size <= 24 else 0,
    }
    for height, label, colour in zip(heights, labels, colours, strict=True):
        base = np.where(height < 0, bottom, top)
        ax.bar(places.ravel(), height.ravel(), bottom=base.ravel(), color=colour, label=label, **look)
        top, bottom = top + np.maximum(height, 0), bottom + np.minimum(height, 0)
        if height.any():
            handles.insert(0, Patch(facecolor=colour, label=label))
    if hatched.any():
        # What is infeasible is pale behind a veil, with a dashed outline.
        ax.bar(places[hatched], (top - bottom)[hatched], 0.92 * width, bottom[hatched], color=themes.ink(0), alpha=0.6)
        look = {**style.missed(), "label": "infeasible"}
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

    look = style.limit()
    known = heights[np.isfinite(heights)]
    if known.size and np.ptp(known) <= _ROUNDING * np.abs(known).max():
        ax.axhline(known[0], **look, gid="limit")
    else:
        for place, height in zip(places.ravel(), heights.ravel(), strict=True):
            ax.plot([place - width / 2, place + width / 2], [height, height], **look, gid="limit")
    return Line2D([], [], **look, label=label)


def _mark(ax: Axes, places: np.ndarray, along: list[Any]) -> None:
    """Name the values of the axis under the bars, and each bar of a group, or their order where names have no room."""
    words = style.words(along[0])
    ax.set_xlim(places.min() - 0.6, places.max() + 0.6)
    style.ticks_at(ax.xaxis, list(range(len(words))), words)
    ax.set_xlabel(style.label(along[0]))
    if len(along) == 1:
        return
    members = style.words(along[1])
    ax.get_figure(root=True).draw_without_rendering()  # pyright: ignore[reportOptionalMemberAccess]
    points = 72 / ax.get_figure(root=True).dpi  # pyright: ignore[reportOptionalMemberAccess]
    pitch = points * ax.bbox.width / np.ptp(ax.get_xlim()) * _WIDTH / len(members)
    across, height = _size(members)
    if pitch < height:
        order = f"(bars from the left: {style.plain(along[1])} {', '.join(members)})"
        ax.set_xlabel("\n".join([style.label(along[0]), *textwrap.wrap(order, 60)]))
        return
    turned = across > pitch - 2
    # The middle of a group may be the middle of a bar, too.
    ax.xaxis.remove_overlapping_locs = False
    names = members * len(words)
    ax.xaxis.set_ticks(places.ravel().tolist(), labels=names, minor=True, fontsize="small", rotation=90 * turned)
    ax.xaxis.set_tick_params(which="major", length=0, pad=8 + (across if turned else height))
    ax.set_xlabel(style.label(along[0], f"bars: {style.plain(along[1])}"))


def _size(words: list[str]) -> tuple[float, float]:
    """Points that the widest of small tick labels takes, and their height."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    small = FontProperties(size="small")
    size = small.get_size_in_points()
    return max(TextPath((0, 0), word or " ", size, prop=small).get_extents().width for word in words), 1.1 * size
