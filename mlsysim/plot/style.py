"""Colours, labels and ticks that all figures share."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim.extras import require
from mlsysim.plot.data import is_label, meanings, setting
from mlsysim.symbolic.labels import from_name

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

#: Okabe and Ito's colours: apart for every kind of colour vision.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#666666", "#F0E442", "#000000")
REFUSED, INFINITE = "0.85", "0.6"
#: Bars that are infeasible: pale, with a dashed outline, as curves are dashed and points hollow there. No hatch.
MISSED: dict[str, Any] = {"facecolor": "#cfdfec", "edgecolor": "0.15", "linestyle": (0, (3, 2)), "linewidth": 0.9}
#: Up to so many values of a dimension get a tick each.
FEW = 12
_LINE = 50


def axes_of(ax: Axes | None) -> Axes:
    """The axes given, or those of a new figure of 6 by 4 inches."""
    require("a figure", "matplotlib")
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(6, 4), layout="constrained")[1] if ax is None else ax


def label(array: xarray.DataArray, remark: str = "") -> str:
    """Label, symbol and unit of a variable, in lines that fit an axis."""
    lines = textwrap.wrap(description(array), _LINE)
    ending = [text for text in (_symbol(array), _unit(array), f"({remark})" if remark else "") if text]
    # A symbol is drawn in a few characters however long its code is: it is counted as two.
    room = _LINE - len(lines[-1]) - sum(min(len(text), 2 if text[0] == "$" else 99) + 1 for text in ending)
    return ("\n".join(lines) + (" " if room >= 0 else "\n") + " ".join(ending)).rstrip()


def narrow(array: xarray.DataArray) -> str:
    """The same, for the head of a legend."""
    ending = f"{_symbol(array)} {_unit(array)}".strip()
    return "\n".join([*textwrap.wrap(description(array), 18), ending]).strip()


def entry(array: xarray.DataArray) -> str:
    """Label and symbol, for an entry of a legend."""
    lines = textwrap.wrap(description(array), 24)
    return "\n".join([*lines[:-1], f"{lines[-1]} {_symbol(array)}".rstrip()])


def description(array: xarray.DataArray) -> str:
    """The label of a variable; else its description, without what that adds after a colon or semicolon."""
    text = str(array.attrs.get("label") or array.attrs.get("long_name") or from_name(str(array.name)))
    first = re.split(r"[:;]", text)[0].strip()
    return _escaped(first[:1].upper() + first[1:]) or str(array.name)


def plain(array: xarray.DataArray) -> str:
    """The label of a variable within a sentence."""
    text = description(array)
    first = text.partition(" ")[0]
    return text[:1].lower() + text[1:] if first[1:] == first[1:].lower() else text


def asked(what: str, along: xarray.DataArray, ds: xarray.Dataset) -> str:
    """The title of a figure: what it shows by what, and on the next line what it holds for."""
    return f"{what} by {plain(along)}\n{setting(ds)}".strip()


def _unit(array: xarray.DataArray) -> str:
    unit = array.attrs.get("units", "")
    return f"[{unit}]" if unit else ""


def _symbol(array: xarray.DataArray) -> str:
    """The LaTeX symbol as mathtext; none for labels, whose symbol is a word."""
    latex = array.attrs.get("latex", "")
    return f"${latex}$" if latex and not is_label(array) and draws(latex) else ""


@cache
def draws(latex: str) -> bool:
    """Tell whether matplotlib can draw a formula."""
    from matplotlib.mathtext import MathTextParser

    try:
        MathTextParser("agg").parse(f"${latex}$")
    except ValueError:
        return False
    return True


def _escaped(text: str) -> str:
    return text.replace("$", r"\$")


def short(value: Any) -> str:
    """A number as a tick shows it."""
    mantissa, _, exponent = f"{float(value):.6g}".partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else mantissa


def words(array: xarray.DataArray) -> list[str]:
    """The values of a coordinate as text."""
    if array.dtype.kind in "OUS":
        return [str(value) for value in array.values]
    if is_label(array):
        named = meanings(array)
        return [named.get(int(value), "") for value in array.values]
    return [short(value) for value in array.values]


def geometric(values: Any) -> bool:
    """Tell whether values are spread more evenly by ratio than by difference."""
    values = np.unique(np.asarray(values, dtype=float))
    if len(values) < 3 or not np.isfinite(values).all() or values[0] <= 0 or values[-1] < 8 * values[0]:
        return False
    by_ratio, by_difference = np.diff(np.log(values)), np.diff(values)
    return bool(np.std(by_ratio) / np.mean(by_ratio) < np.std(by_difference) / np.mean(by_difference))


def spread(values: Any) -> bool:
    """Tell whether positive values span so much that a linear scale would hide the small ones."""
    values = np.asarray(values, dtype=float)
    values = values[np.isfinite(values)]
    return bool(values.size and values.min() > 0 and values.max() >= 30 * values.min())


def ticks_at(axis: Axis, places: Sequence[float], texts: Sequence[str], most: int = FEW) -> None:
    """Major ticks at some of the places, evenly chosen; no others."""
    step = -(-len(places) // most)
    axis.set_ticks(list(places[::step]), labels=list(texts[::step]))
    axis.set_ticks([], minor=True)
    if axis is axis.axes.xaxis and sum(map(len, texts[::step])) > 60:
        for text in axis.get_ticklabels():
            text.set(rotation=30, ha="right", rotation_mode="anchor")


def numeric(axis: Axis, values: Any, log: bool) -> None:
    """A scale for these numbers: plain numbers at its ticks, whole ones where all are whole."""
    from matplotlib.ticker import AutoLocator, FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    values = np.asarray(values, dtype=float)
    values = values[np.isfinite(values)]
    if not log:
        locator = axis.get_major_locator()
        if values.size and (values == np.floor(values)).all() and isinstance(locator, AutoLocator):
            axis.set_major_locator(MaxNLocator(nbins="auto", steps=[1, 2, 5, 10], integer=True))
        return
    scaled = axis.axes.set_xscale if axis is axis.axes.xaxis else axis.axes.set_yscale
    scaled("log")
    decades = np.log10(values.max() / values.min())
    axis.set_major_locator(LogLocator(subs=(1.0,) if decades > 2.5 else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    axis.set_minor_formatter(NullFormatter())


def titled(ax: Axes, text: str, handles: Sequence[Any] = (), columns: int = 3) -> None:
    """A title, and below it a legend above the axes, where it hides nothing."""
    rows = -(-len(handles) // columns)
    if handles:
        ax.legend(
            handles=list(handles),
            loc="lower left",
            bbox_to_anchor=(0, 1),
            ncols=columns,
            frameon=False,
            fontsize="small",
            borderaxespad=0.2,
            borderpad=0.2,
            handlelength=1.8,
            columnspacing=1.2,
        )
    if text:
        pad = 6 + 15 * rows
        wrapped = [part for line in text.splitlines() for part in textwrap.wrap(_escaped(line), 64)]
        ax.set_title("\n".join(wrapped), loc="left", fontsize="medium", pad=pad)


def beside(ax: Axes, handles: Sequence[Any], title: str = "") -> None:
    """A legend to the right of the axes."""
    ax.legend(
        handles=list(handles),
        title=title,
        loc="upper left",
        bbox_to_anchor=(1.01, 1),
        frameon=False,
        fontsize="small",
        title_fontsize="small",
        borderaxespad=0,
        alignment="left",
    )


def shades(count: int) -> list[Any]:
    """Colours of a series: distinct for a few, an even scale from dark to light for many."""
    if count <= 7:
        return list(COLOURS[:count])
    from matplotlib import colormaps

    return [tuple(colour) for colour in colormaps["viridis"](np.linspace(0, 0.92, count))]
