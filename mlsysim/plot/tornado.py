"""A tornado diagram: an output where one input at a time is lowered and raised."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim.errors import InputError
from mlsysim.plot import style
from mlsysim.study.sensitivities.table import Sensitivity
from mlsysim.tracebacks import at_the_call

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LESS, _MORE = style.COLOURS[0], style.COLOURS[1]
#: Characters of the list of values behind the name of an input.
_ROOM = 34


@at_the_call
def tornado(found: Sensitivity, change: float = 0.1, most: int = 12, *, ax: Axes | None = None) -> Axes:
    """Draw what an output becomes where one input at a time is lowered and raised, the widest bar on top.

    Parameters
    ----------
    found : Sensitivity
        Of ``model.sensitivity(...)`` at a point.
    change : float
        Share by which continuous inputs are changed. Whole numbers take their next allowed values, labels all others.
    most : int
        How many bars, the widest.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InputError
        If ``found`` is no sensitivity at a point, or nothing is finite or changes the output.

    Examples
    --------
    >>> from mlsysim import KernelModel, plot
    >>> shape = dict(product_rows=4096, product_columns=8192, product_inner=8192)
    >>> axes = plot.tornado(KernelModel("roofline").sensitivity("kernel_time", "H100", **shape))
    >>> type(axes).__name__
    'Axes'
    """
    if not isinstance(found, Sensitivity):
        raise InputError("found", found, "must be what model.sensitivity(...) gives at a point")
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise InputError("most", most, "must be a whole number >= 1")
    bars = [bar for bar in found.tornado(change) if np.isfinite(bar.amounts).all()][:most][::-1]
    if not bars or not np.isfinite(found.amount):
        raise InputError("output", found.output.name, "has no bars: it is infinite here, or nothing changes it")
    ax = style.axes_of(ax)
    if ax.figure.get_axes() == [ax]:
        ax.figure.set_size_inches(7.2, 1.3 + 0.32 * len(bars))  # type: ignore[union-attr]
    here = found.amount
    for place, bar in enumerate(bars):
        low, high = min(*bar.amounts, here), max(*bar.amounts, here)
        for end, colour in ((low, _LESS), (high, _MORE)):
            if end != here:
                ax.barh(place, end - here, left=here, height=0.62, color=colour, gid=f"{bar.name} {colour}")
                _named(ax, place, end, bar, left=end < here)
    ax.axvline(here, color="0.15", linewidth=1)
    ax.set_yticks(range(len(bars)), [f"{bar.name}\n{bar.at}" for bar in bars], fontsize="small")
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.margins(x=0.22)
    if min(min(bar.amounts) for bar in bars) >= 0:
        ax.set_xticks([tick for tick in ax.get_xticks() if 0 <= tick <= ax.get_xlim()[1]])
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    unit = f" [{found.output.unit}]" if found.output.dimension or found.output.named_unit else ""
    ax.set_xlabel(f"{found.output.label}{unit}")
    title = f"{found.output.name} = {found.value}: one input at a time, continuous ones by {change:.0%}"
    ax.set_title(title, loc="left", fontsize="medium")
    return ax


def _named(ax: Axes, place: int, end: float, bar: Any, *, left: bool) -> None:
    """The value of the input at the end of its bar."""
    at = [text for text, amount in zip(bar.inputs, bar.amounts, strict=True) if amount == end]
    text = at[0] if at else ""
    ax.annotate(
        text if len(text) <= _ROOM else text[: _ROOM - 3] + "...", (end, place), (-4 if left else 4, 0),
        textcoords="offset points", ha="right" if left else "left", va="center", fontsize="x-small", color="0.3",
    )  # fmt: skip
