"""From one result to another: what each part adds to an output, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlsysim import formatting, units
from mlsysim.errors import InputError
from mlsysim.plot import style
from mlsysim.study.results.comparison import Comparison
from mlsysim.symbolic import variable_of
from mlsysim.tracebacks import at_the_call

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LESS, _MORE, _WHOLE = style.COLOURS[0], style.COLOURS[1], "0.45"
#: Characters of the name of a cause.
_ROOM = 30


@at_the_call
def waterfall(found: Comparison, most: int = 8, *, ax: Axes | None = None) -> Axes:
    """Draw how an output goes from one result to another, cause by cause or addend by addend, the largest first.

    Parameters
    ----------
    found : Comparison
        Of ``mlsysim.compare(...)``.
    most : int
        How many causes, the largest; the others are one bar.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InputError
        If ``found`` is no comparison.

    Examples
    --------
    >>> from mlsysim import TrainingMemoryModel, compare, plot
    >>> one, other = (TrainingMemoryModel.solve_example(zero_stage=stage) for stage in (1, 3))
    >>> axes = plot.waterfall(compare(one, other, "total_memory"))
    >>> type(axes).__name__
    'Axes'
    """
    if not isinstance(found, Comparison):
        raise InputError("found", found, "must be what mlsysim.compare(...) gives")
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise InputError("most", most, "must be a whole number >= 1")
    output = variable_of(found.output)
    first, second = (float(units.magnitude(each[found.output])) for each in found.results)
    # One cause alone says less than the addends of the output.
    parts = found.causes if len(found.causes) > 1 else found.terms
    steps = [(each.name, float(units.magnitude(each.difference))) for each in parts]
    if len(steps) > most:
        steps = [*steps[:most], ("the others", sum(amount for _, amount in steps[most:]))]
    names = [found.heads[0], *(name for name, _ in steps), found.heads[1]]
    amounts = np.array([first, *(amount for _, amount in steps), second])
    lefts = np.array([0.0, *(first + np.cumsum([0.0, *(amount for _, amount in steps)]))[:-1], 0.0])
    whole = (0, len(names) - 1)
    colours = [_WHOLE if place in whole else _MORE if amount > 0 else _LESS for place, amount in enumerate(amounts)]
    ax = style.axes_of(ax)
    if ax.figure.get_axes() == [ax]:
        ax.figure.set_size_inches(7.2, 1.3 + 0.34 * len(names))  # type: ignore[union-attr]
    ax.barh(range(len(names)), amounts, left=lefts, height=0.62, color=colours)
    ends = lefts + amounts
    for place in range(len(names) - 1):
        ax.plot([ends[place]] * 2, [place, place + 1], color="0.6", linewidth=0.7, zorder=0.5)
    for place, amount in enumerate(amounts):
        sign = "" if place in whole or amount < 0 else "+"
        at = max(lefts[place], ends[place])
        text = f"{sign}{formatting.number(float(amount))}"
        ax.annotate(text, (at, place), (4, 0), textcoords="offset points", va="center", fontsize="small", color="0.2")
    ax.set_yticks(range(len(names)), [name if len(name) <= _ROOM else f"{name[: _ROOM - 3]}..." for name in names])
    ax.tick_params(axis="y", length=0, labelsize="small")
    ax.invert_yaxis()
    ax.margins(x=0.14)
    ax.set_axisbelow(True)
    ax.grid(axis="x", alpha=0.25, linewidth=0.6)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    unit = f" [{output.unit}]" if output.dimension or output.named_unit else ""
    ax.set_xlabel(f"{output.label}{unit}")
    style.titled(ax, f"{output.label}: from {found.heads[0]} to {found.heads[1]}, part by part")
    return ax
