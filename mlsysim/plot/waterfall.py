"""From one result to another: what each part adds to an output, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlsysim import formatting, units
from mlsysim.errors import InputError
from mlsysim.plot import layout, style, themes
from mlsysim.study.results.comparison import Comparison
from mlsysim.symbolic import variable_of
from mlsysim.tracebacks import at_the_call

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Characters of the name of a cause.
_ROOM = 30


@at_the_call
@themes.figure
def waterfall(comparison: Comparison, most: int = 8, *, ax: Axes | None = None, theme: str | None = None) -> Axes:
    """Draw how an output goes from one result to another, cause by cause or addend by addend, the largest first.

    Where one bar would squash the others, the axis leaves out a gap, and the title says which.

    Parameters
    ----------
    comparison : Comparison
        What ``mlsysim.compare(...)`` gives.
    most : int
        How many causes, the largest; the others are one bar.
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
        If ``comparison`` is none.

    Examples
    --------
    >>> from mlsysim import TrainingMemoryModel, compare, plot
    >>> one, other = (TrainingMemoryModel.solve_example(zero_stage=stage) for stage in (1, 3))
    >>> axes = plot.waterfall(compare(one, other, "total_memory"))
    >>> type(axes).__name__
    'Axes'
    """
    if not isinstance(comparison, Comparison):
        raise InputError("comparison", comparison, "must be what mlsysim.compare(...) gives")
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise InputError("most", most, "must be a whole number >= 1")
    output = variable_of(comparison.output)
    first, second = (float(units.magnitude(result[comparison.output])) for result in comparison.results)
    # One cause alone says less than the addends of the output.
    parts = comparison.causes if len(comparison.causes) > 1 else comparison.terms
    steps = [(part.name, float(units.magnitude(part.difference))) for part in parts]
    if len(steps) > most:
        steps = [*steps[:most], ("the others", sum(amount for _, amount in steps[most:]))]
    names = [comparison.heads[0], *(name for name, _ in steps), comparison.heads[1]]
    amounts = np.array([first, *(amount for _, amount in steps), second])
    lefts = np.array([0.0, *(first + np.cumsum([0.0, *(amount for _, amount in steps)]))[:-1], 0.0])
    whole = (0, len(names) - 1)
    less, more, *_ = themes.colours()
    colours = [themes.ink(0.55) if row in whole else more if amount > 0 else less for row, amount in enumerate(amounts)]
    ax = style.axes_of(ax)
    if ax.figure.get_axes() == [ax]:
        ax.figure.set_size_inches(7.2, 1.3 + 0.34 * len(names))  # type: ignore[union-attr]
    ax.barh(range(len(names)), amounts, left=lefts, height=0.62, color=colours)
    ends = lefts + amounts
    for row in range(len(names) - 1):
        ax.plot([ends[row]] * 2, [row, row + 1], color=themes.ink(0.4), linewidth=0.7, zorder=0.5)
    ax.set_yticks(range(len(names)), [name if len(name) <= _ROOM else f"{name[: _ROOM - 3]}..." for name in names])
    ax.tick_params(axis="y", labelsize="small")
    style.bare(ax)
    ax.invert_yaxis()
    ax.margins(x=0.14)
    unit = output.unit if output.dimension or output.named_unit else ""
    gap = layout.broken(ax, [0.0, *ends, *lefts], amounts[1:-1].tolist(), unit)
    for row, amount in enumerate(amounts):
        sign = "" if row in whole or amount < 0 else "+"
        text, end = f"{sign}{formatting.number(float(amount))}", max(lefts[row], ends[row])
        look = {"va": "center", "fontsize": "small", "color": themes.ink(0.8), "zorder": 4}
        ax.annotate(text, (end, row), (4, 0), textcoords="offset points", **look)
    ax.set_xlabel(f"{output.label} [{unit}]" if unit else output.label)
    style.titled(
        ax, f"{output.label}: from {comparison.heads[0]} to {comparison.heads[1]}, part by part\n{gap}".strip()
    )
    return ax
