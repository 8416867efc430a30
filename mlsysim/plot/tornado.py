"""A tornado diagram: an output where one input at a time is lowered and raised."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim.errors import InputError
from mlsysim.plot import layout, style, themes
from mlsysim.study.sensitivities.table import Sensitivity
from mlsysim.tracebacks import at_the_call

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Characters of the list of values behind the name of an input.
_ROOM = 34


@at_the_call
@themes.figure
def tornado(
    sensitivity: Sensitivity, change: float = 0.1, most: int = 12, *, ax: Axes | None = None, theme: str | None = None
) -> Axes:
    """Draw what an output becomes where one input at a time is lowered and raised, the widest bar on top.

    Where one bar would squash the others, the axis leaves out a gap, and the title says which.

    Parameters
    ----------
    sensitivity : Sensitivity
        What ``model.sensitivity(...)`` gives at a point.
    change : float
        Share by which continuous inputs are changed. Whole numbers take their next allowed values, labels all others.
    most : int
        How many bars, the widest.
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
        If ``sensitivity`` is none at a point, or nothing is finite or changes the output.

    Examples
    --------
    >>> from mlsysim import KernelModel, plot
    >>> shape = dict(product_rows=4096, product_columns=8192, product_inner=8192)
    >>> axes = plot.tornado(KernelModel("roofline").sensitivity("kernel_time", "H100", **shape))
    >>> type(axes).__name__
    'Axes'
    """
    if not isinstance(sensitivity, Sensitivity):
        raise InputError("sensitivity", sensitivity, "must be what model.sensitivity(...) gives at a point")
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise InputError("most", most, "must be a whole number >= 1")
    bars = [bar for bar in sensitivity.tornado(change) if np.isfinite(bar.amounts).all()][:most][::-1]
    if not bars or not np.isfinite(sensitivity.amount):
        raise InputError("output", sensitivity.output.name, "has no bars: it is infinite here, or nothing changes it")
    ax = style.axes_of(ax)
    if ax.figure.get_axes() == [ax]:
        ax.figure.set_size_inches(7.2, 1.3 + 0.32 * len(bars))  # type: ignore[union-attr]
    here, (less, more, *_) = sensitivity.amount, themes.colours()
    for row, bar in enumerate(bars):
        low, high = min(*bar.amounts, here), max(*bar.amounts, here)
        for end, colour in ((low, less), (high, more)):
            if end != here:
                ax.barh(row, end - here, left=here, height=0.62, color=colour, gid=f"{bar.name} {colour}")
                _named(ax, row, end, bar, left=end < here)
    ax.axvline(here, color=themes.ink(0.85), linewidth=1)
    ax.set_yticks(range(len(bars)), [f"{bar.name}\n{bar.at}" for bar in bars], fontsize="small")
    style.bare(ax)
    ax.margins(x=0.22)
    if min(min(bar.amounts) for bar in bars) >= 0:
        ax.set_xticks([tick for tick in ax.get_xticks() if 0 <= tick <= ax.get_xlim()[1]])
    output = sensitivity.output
    unit = output.unit if output.dimension or output.named_unit else ""
    levels = [here, *(amount for bar in bars for amount in bar.amounts)]
    lengths = [max(abs(amount - here) for amount in bar.amounts) for bar in bars]
    gap = layout.broken(ax, levels, lengths, unit)
    ax.set_xlabel(f"{output.label} [{unit}]" if unit else output.label)
    title = f"{output.label} {sensitivity.value}: one input changed at a time"
    notes = [f"numbers by {change:.0%} or to their next value, labels to every other", *([gap] if gap else [])]
    style.titled(ax, "\n".join([title, *notes]))
    return ax


def _named(ax: Axes, row: int, end: float, bar: Any, *, left: bool) -> None:
    """The value of the input at the end of its bar."""
    at = [text for text, amount in zip(bar.inputs, bar.amounts, strict=True) if amount == end]
    text = at[0] if at else ""
    ax.annotate(
        text if len(text) <= _ROOM else text[: _ROOM - 3] + "...", (end, row), (-4 if left else 4, 0),
        textcoords="offset points", ha="right" if left else "left", va="center", fontsize="x-small",
        color=themes.ink(0.75), zorder=4,
    )  # fmt: skip
