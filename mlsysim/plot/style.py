"""Colours, labels and ticks that all figures share."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim.extras import require
from mlsysim.plot import layout, themes
from mlsysim.plot.data import is_label, meanings
from mlsysim.symbolic.labels import from_name

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

#: Colours of light figures; :func:`mlsysim.plot.themes.colours` has those of the theme that is drawn.
COLOURS = themes.LIGHT
#: Dots per inch of figures that the plots make.
DPI = 150
#: Up to so many numbers of a dimension get a tick each.
FEW = 12
_LINE = 50


def axes_of(ax: Axes | None) -> Axes:
    """Axes that are given, or those of a new figure of 6 by 4 inches."""
    require("a figure", "matplotlib")
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(6, 4), dpi=DPI, layout="constrained")[1] if ax is None else ax


def refused() -> str:
    """Colour of points that a model refuses."""
    return themes.ink(0.15)


def infinite() -> str:
    """Colour of points where an output is infinite."""
    return themes.ink(0.4)


def missed() -> dict[str, Any]:
    """Look of infeasible bars: pale, with a dashed outline, as curves are dashed and points hollow; no hatch."""
    pale = themes.tint(themes.colours()[0], 0.22)
    return {"facecolor": pale, "edgecolor": themes.ink(0.85), "linestyle": (0, (3, 2)), "linewidth": 0.9}


def limit() -> dict[str, Any]:
    """Look of the line of a limit."""
    return {"color": themes.ink(), "linewidth": 1.4, "linestyle": (0, (5, 2))}


def grid(ax: Axes, axis: Any = "both") -> None:
    """Draw a faint grid behind all else."""
    ax.grid(axis=axis, color=themes.ink(0.12), linewidth=0.6)
    ax.set_axisbelow(True)


def bare(ax: Axes) -> None:
    """Leave an outline at the bottom alone, for bars with their names at the left."""
    ax.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    grid(ax, "x")


def label(array: xarray.DataArray, remark: str = "") -> str:
    """Label, symbol and unit of a variable, in lines that fit an axis."""
    lines = textwrap.wrap(description(array), _LINE)
    ending = [text for text in (_symbol(array), _unit(array), f"({remark})" if remark else "") if text]
    # A symbol is drawn in a few characters however long its code is: it is counted as two.
    room = _LINE - len(lines[-1]) - sum(min(len(text), 2 if text[0] == "$" else 99) + 1 for text in ending)
    return ("\n".join(lines) + (" " if room >= 0 else "\n") + " ".join(ending)).rstrip()


def narrow(array: xarray.DataArray) -> str:
    """Label, symbol and unit in narrow lines, for the head of a legend."""
    ending = f"{_symbol(array)} {_unit(array)}".strip()
    return "\n".join([*textwrap.wrap(description(array), 18), ending]).strip()


def entry(array: xarray.DataArray) -> str:
    """Label and symbol, for an entry of a legend."""
    lines = textwrap.wrap(description(array), 24)
    return "\n".join([*lines[:-1], f"{lines[-1]} {_symbol(array)}".rstrip()])


def description(array: xarray.DataArray) -> str:
    """Label of a variable; else its description, without what that adds after a colon or semicolon."""
    text = str(array.attrs.get("label") or array.attrs.get("long_name") or from_name(str(array.name)))
    first = re.split(r"[:;]| of the catalog", text)[0].strip()
    return _escaped(first[:1].upper() + first[1:]) or str(array.name)


def plain(array: xarray.DataArray) -> str:
    """Label of a variable within a sentence."""
    text = description(array)
    first = text.partition(" ")[0]
    return text[:1].lower() + text[1:] if first[1:] == first[1:].lower() else text


def setting(ds: xarray.Dataset) -> str:
    """Catalog entries and selected points that a figure holds for."""
    try:
        entries = [str(name) for name in json.loads(ds.attrs.get("entries", "{}")).values()]
    except (TypeError, ValueError, AttributeError):
        entries = []
    points = []
    for array in ds.coords.values():
        if array.ndim == 0:
            (word,) = words(array.expand_dims("point"))
            unit = array.attrs.get("units", "")
            points.append(word if array.dtype.kind in "OUS" else f"{plain(array)} {word} {unit}".strip())
    # Spaces within one item do not break, so that a title wraps between items.
    return ", ".join(item.replace(" ", "\N{NO-BREAK SPACE}") for item in entries + points)


def asked(what: str, along: xarray.DataArray, ds: xarray.Dataset) -> str:
    """Title of a figure: its quantities, and on the next line the setting that it holds for."""
    return f"{what} by {plain(along)}\n{setting(ds)}".strip()


def _unit(array: xarray.DataArray) -> str:
    unit = array.attrs.get("units", "")
    return f"[{unit}]" if unit else ""


def _symbol(array: xarray.DataArray) -> str:
    """LaTeX symbol as mathtext; none for labels, whose symbol is a word, and none that repeats the description."""
    latex = array.attrs.get("latex", "")
    if latex == rf"\mathrm{{{description(array)}}}":
        return ""
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
    """Print a number as on a tick."""
    mantissa, _, exponent = f"{float(value):.6g}".partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else mantissa


def words(array: xarray.DataArray) -> list[str]:
    """Print the values of a coordinate."""
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


def ticks_at(axis: Axis, places: Sequence[float], texts: Sequence[str]) -> None:
    """Set major ticks at places and no others."""
    axis.set_ticks(list(places), labels=list(texts))
    axis.set_ticks([], minor=True)


def numeric(axis: Axis, values: Any, log: bool) -> None:
    """Set a scale for numbers: plain numbers at its ticks, whole ones where all are whole."""
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


def titled(ax: Axes, text: str, handles: Sequence[Any] = ()) -> None:
    """Set the title, and below it a legend that hides nothing; then make ticks, legend and title fit."""
    if handles:
        layout.above(ax, handles, [handle.get_label() for handle in handles], 3)
    ax.set_title(_escaped(text), loc="left", fontsize="medium")
    layout.fit(ax)


def beside(ax: Axes, handles: Sequence[Any], title: str = "") -> None:
    """Put a legend to the right of the axes."""
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
    """Colours of a series: distinct for a few, an even scale for many."""
    if count <= len(themes.colours()):
        return list(themes.colours()[:count])
    from matplotlib import colormaps

    return [tuple(colour) for colour in colormaps["viridis"](np.linspace(0.12, 0.95, count))]
