"""Room on a figure: tick labels and titles that fit, labels that keep apart, an axis that leaves out a gap."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim import formatting
from mlsysim.plot import themes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

#: Curves of a figure that have a colour and a name; the others are grey.
NAMED = 8
#: Pixels between two tick labels.
_APART = 3
#: An axis leaves out a gap that takes more than this share of it, if the middle bar takes less than the other share.
_GAP, _SQUASHED = 0.5, 0.08
#: Shares of what is left: the room on both sides of a gap, and the width of its mark.
_BESIDE, _MARK = 0.12, 0.05


def fit(ax: Axes) -> None:
    """Turn or thin tick labels that overlap, wrap the title, and put the legend above the axes in columns that fit."""
    figure: Any = ax.get_figure(root=True)
    figure.draw_without_rendering()
    _fit_ticks(ax.xaxis)
    _fit_ticks(ax.yaxis)
    room = _room(ax)
    title: Any = ax._left_title  # type: ignore[attr-defined]
    legend: Any = ax.get_legend()
    pad = 6.0
    if legend is not None and getattr(legend, "above", False):
        while legend.get_window_extent().width > room and legend._ncols > 1:
            handles, words = legend.legend_handles, [text.get_text() for text in legend.get_texts()]
            legend = above(ax, handles, words, legend._ncols - 1)
            figure.draw_without_rendering()
        pad += 72 / figure.dpi * legend.get_window_extent().height
    if title.get_text():
        lines = title.get_text().splitlines()
        title.set_wrap(False)
        widest = max(lines, key=len)
        width = title.get_window_extent().width / max(1, len(widest))
        if width:
            lines = [part for line in lines for part in textwrap.wrap(line, max(20, int(room / width)))]
        ax.set_title("\n".join(lines), loc="left", fontsize=title.get_fontsize(), pad=pad)


def above(ax: Axes, handles: Sequence[Any], words: Sequence[str], columns: int) -> Any:
    """Put a legend above the axes; it takes no room from their width."""
    legend: Any = ax.legend(
        handles=list(handles),
        labels=list(words),
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
    legend.above = True
    legend.set_in_layout(False)
    return legend


def _room(ax: Axes) -> float:
    """Pixels from the left side of axes to the right side of their share of the figure."""
    figure: Any = ax.get_figure(root=True)
    spec = ax.get_subplotspec()
    columns, last = (1, 0) if spec is None else (spec.get_gridspec().ncols, spec.colspan.stop - 1)
    return figure.bbox.width * (last + 1) / columns - ax.bbox.x0 - _APART


def _fit_ticks(axis: Axis) -> None:
    """Turn the labels of an axis where they overlap, and leave some out where they overlap even so."""
    from matplotlib.ticker import FixedLocator

    low, high = sorted(axis.get_view_interval())
    pairs = [
        (place, text)
        for place, text in zip(axis.get_majorticklocs(), axis.get_ticklabels(), strict=False)
        if text.get_text() and low <= place <= high
    ]
    if len(pairs) < 2 or not isinstance(axis.get_major_locator(), FixedLocator):
        return
    flat = axis is axis.axes.xaxis
    boxes = [text.get_window_extent() for _, text in pairs]
    ends = [(box.x0, box.x1) if flat else (box.y0, box.y1) for box in boxes]
    ends.sort()
    overlap = any(first[1] + _APART > second[0] for first, second in itertools.pairwise(ends))
    if not overlap or any(text.get_rotation() for _, text in pairs):
        return
    height = min(box.height for box in boxes)
    pixels = axis.axes.transData.transform([(place, place) for place, _ in pairs])[:, 0 if flat else 1]
    pitch = float(np.diff(np.sort(pixels)).min())
    if flat and pitch >= 1.5 * height:
        look: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    else:
        look = {"rotation": 90} if flat else {"fontsize": "small"}
        step = math.ceil(1.1 * (height if flat else 0.84 * height) / pitch)
        if step > 1:
            kept = pairs[::step]
            texts = [text.get_text() for _, text in kept]
            axis.set_ticks([place for place, _ in kept], labels=texts)
    for text in axis.get_ticklabels():
        text.set(**look)


def apart(places: Sequence[float], gap: float, low: float = 0.0, high: float = 1.0) -> list[float]:
    """Move places as little as needed, in order, until each is a gap from the next and all are between two ends."""
    order = np.argsort(places, kind="stable")
    gap = min(gap, (high - low) / max(1, len(places) - 1)) if len(places) > 1 else gap
    steps = gap * np.arange(len(places))
    # Places less their steps must not fall: the nearest such row is that of pools of neighbours.
    pools: list[list[float]] = []
    for target in np.asarray(places, dtype=float)[order] - steps:
        pools.append([target, 1])
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (second, many), (first, few) = pools.pop(), pools.pop()
            pools.append([(first * few + second * many) / (few + many), few + many])
    level = np.repeat([pool[0] for pool in pools], [int(pool[1]) for pool in pools])
    moved = np.clip(level, low, high - (steps[-1] if len(steps) else 0)) + steps
    result = np.empty(len(places))
    result[order] = moved
    return result.tolist()


def evenly(values: Sequence[float]) -> list[int]:
    """Positions of up to eight values, evenly chosen by rank, the least and the greatest among them."""
    amounts = np.asarray(values, dtype=float)
    order = np.argsort(amounts, kind="stable")[: np.isfinite(amounts).sum()]
    ranks = np.unique(np.linspace(0, len(order) - 1, min(NAMED, len(order))).round().astype(int))
    return sorted(int(order[rank]) for rank in ranks)


def at_ends(
    ax: Axes, ends: Sequence[tuple[float, float]], words: Sequence[str], colours: Sequence[Any], head: str
) -> None:
    """Name curves beside their right ends, in their colours, with a thin line to each; a head stands above."""
    if not ends:
        return
    ax.get_figure(root=True).draw_without_rendering()  # pyright: ignore[reportOptionalMemberAccess]
    size = 8.0
    pixels = ax.transAxes.inverted().transform(ax.transData.transform(ends))
    line = 1.35 * size * ax.get_figure(root=True).dpi / 72 / ax.bbox.height  # pyright: ignore[reportOptionalMemberAccess]
    top = 1.0 - line * (0.5 + bool(head) * (1.2 + head.count("\n")))
    for place, end, word, colour in zip(
        apart(pixels[:, 1].tolist(), line, line / 2, top), ends, words, colours, strict=True
    ):
        ax.annotate(
            word, end, (1.035, place), xycoords="data", textcoords="axes fraction", fontsize=size, color=colour,
            va="center", annotation_clip=False, gid="end of a curve",
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 0},
        )  # fmt: skip
    if head:
        ax.text(1.035, 1.0, head, transform=ax.transAxes, fontsize=size, va="top", color=themes.ink(0.75))


def broken(ax: Axes, levels: Sequence[float], lengths: Sequence[float], unit: str) -> str:
    """Leave a gap out of the horizontal axis where one bar would squash the others; return words that say so.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes with all bars drawn.
    levels : sequence of float
        Where bars begin and end.
    lengths : sequence of float
        Lengths of the bars that are compared.
    unit : str
        Unit of the axis, for the words.

    Returns
    -------
    str
        Empty if nothing is left out.
    """
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

    ends = np.unique(np.asarray(levels, dtype=float))
    gaps, span = np.diff(ends), float(np.ptp(ends))
    widest = int(np.argmax(gaps)) if gaps.size else 0
    if len(lengths) < 4 or gaps[widest] <= _GAP * span or np.median(np.abs(lengths)) >= _SQUASHED * span:
        return ""
    rest = span - gaps[widest]
    start, stop = ends[widest] + _BESIDE * rest, ends[widest + 1] - _BESIDE * rest
    left, right = ax.get_xlim()
    edge = rest * 0.3
    left, right = (0.0 if ends[0] >= 0 and left <= 0 else ends[0] - edge), ends[-1] + edge
    width = _MARK * rest

    def shorten(values: Any) -> Any:
        values = np.asarray(values, dtype=float)
        within = start + (values - start) * width / (stop - start)
        return np.where(values < start, values, np.where(values > stop, values - stop + start + width, within))

    def restore(values: Any) -> Any:
        values = np.asarray(values, dtype=float)
        within = start + (values - start) * (stop - start) / width
        beyond = values + stop - start - width
        return np.where(values < start, values, np.where(values > start + width, beyond, within))

    ax.set_xscale("function", functions=(shorten, restore))
    ax.set_xlim(left, right)
    share = (start - left) / (right - stop + start - left)
    parts = [((left, start), max(1, round(6 * share))), ((stop, right), max(1, round(6 * (1 - share))))]
    ticks = [
        t
        for (low, high), n in parts
        for t in MaxNLocator(n, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
        if low <= t <= high
    ]
    ax.xaxis.set_major_locator(FixedLocator(ticks))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    ax.axvspan(start, stop, facecolor=themes.ink(0), linewidth=0, zorder=3, gid="left out")
    for side in (start, stop):
        ax.axvline(side, color=themes.ink(0.6), linewidth=0.8, linestyle=(0, (2, 2)), zorder=3.1)
    return f"the axis leaves out {formatting.number(start)} to {formatting.number(stop)} {unit}".rstrip()
