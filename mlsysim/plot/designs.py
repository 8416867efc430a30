"""The designs of a search beside each other, or their front where there are two objectives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim import formatting
from mlsysim.errors import InputError
from mlsysim.plot import style, themes
from mlsysim.plot.pareto import pareto
from mlsysim.study.searches.designs import Designs
from mlsysim.tracebacks import at_the_call

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Characters of a line that tells a design apart.
_ROOM = 40


@at_the_call
@themes.figure
def designs(designs: Designs, most: int = 12, *, ax: Axes | None = None, theme: str | None = None) -> Axes:
    """Draw the designs of a search: a bar per design, the best on top; two objectives as :func:`pareto` does.

    Infeasible designs are pale with a dashed outline, or hollow on a front.

    Parameters
    ----------
    designs : Designs
        What ``model.search(...)`` or ``model.pareto(...)`` gives.
    most : int
        How many bars, the best.
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
        If there is no design, or of several objectives one is no output by name or they are more than two.

    Examples
    --------
    >>> from mlsysim import TrainingMemoryModel, plot
    >>> memory = TrainingMemoryModel("first_order")
    >>> layouts = dict(batch_size=64, dp_size=[8, 16, 32], zero_stage=[1, 2, 3])
    >>> found = memory.search("Llama3_8B", "H100", seq_len=2048, **layouts, minimize="total_memory", top=3)
    >>> axes = plot.designs(found)
    >>> type(axes).__name__
    'Axes'
    """
    if not isinstance(designs, Designs) or not len(designs):
        raise InputError("designs", designs, "must be designs of model.search(...) or model.pareto(...), at least one")
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise InputError("most", most, "must be a whole number >= 1")
    ds, texts = designs.to_dataset(), [goal.text for goal in designs.goals]
    if len(texts) == 1:
        return _bars(style.axes_of(ax), designs, ds, most)
    if len(texts) > 2 or any(text not in ds for text in texts):
        raise InputError("designs", texts, "a figure shows two objectives, each an output by name")
    higher = [goal.text for goal in designs.goals if goal.higher]
    return pareto(ds, *texts, maximize=higher, feasible=None, front=None, label=designs.distinguishing or None, ax=ax)


def _bars(ax: Axes, designs: Designs, ds: Any, most: int) -> Axes:
    """Draw the objective of each design beside the inputs that tell it apart."""
    (goal,) = designs.goals
    heights = np.array([goal.shown(values[0]) for values in designs.objectives[:most]])
    missed = np.isin(np.arange(len(heights)), designs.infeasible)
    told = [_told(ds, designs.distinguishing, row) for row in range(len(heights))]
    if ax.figure.get_axes() == [ax]:
        room = max(0.42, *(0.16 * len(text.splitlines()) for text in told))
        ax.figure.set_size_inches(7.2, 1.5 + room * len(heights))  # type: ignore[union-attr]
    looks: list[tuple[bool, str, dict[str, Any]]]
    looks = [(False, "feasible", {"color": themes.colours()[0]}), (True, "infeasible", style.missed())]
    for bad, word, look in looks:
        here = np.flatnonzero(missed == bad)
        if here.size:
            ax.barh(here, heights[here], height=0.66, label=word, gid=word, **look)
    ax.set_yticks(range(len(heights)), told, fontsize="small")
    ax.invert_yaxis()
    for row, height in enumerate(heights):
        text = formatting.number(float(height))
        ax.annotate(text, (height, row), (3, 0), textcoords="offset points", va="center", fontsize="small")
    ax.margins(x=0.14)
    style.bare(ax)
    remark = "higher is better" if goal.higher else "lower is better"
    known = style.label(ds[goal.text], remark) if goal.text in ds else ""
    ax.set_xlabel(
        known or " ".join(part for part in (goal.text, goal.unit and f"[{goal.unit}]", f"({remark})") if part)
    )
    what = style.plain(ds[goal.text]) if goal.text in ds else goal.text
    proof = "proven best" if designs.certificate.proven else "not proven"
    style.titled(ax, f"Best of {designs.certificate.points:,} designs by {what}, {proof}\n{style.setting(ds)}".strip())
    if missed.any():
        style.beside(ax, ax.get_legend_handles_labels()[0])
    return ax


def _told(ds: Any, names: tuple[str, ...], row: int) -> str:
    """Text that tells a design apart, in lines that fit."""
    lines = [""]
    for name in names:
        value = style.words(ds[name].isel(design=[row]))[0]
        part = f"{name}={value}"
        joined = f"{lines[-1]}, {part}" if lines[-1] else part
        lines = [*lines[:-1], joined] if len(joined) <= _ROOM else [*lines, part]
    return "\n".join(lines) or f"design {row + 1}"
