"""The designs of a search beside each other, or their front where there are two objectives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim.errors import InputError
from mlsysim.plot import data, style
from mlsysim.plot.pareto import pareto
from mlsysim.study.searches.designs import Designs
from mlsysim.tracebacks import at_the_call

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Characters of a line that tells a design apart.
_ROOM = 40


@at_the_call
def designs(found: Designs, most: int = 12, *, ax: Axes | None = None) -> Axes:
    """Draw what a search found: a bar per design, the best on top; a front of two objectives as :func:`pareto` does.

    What is not feasible is pale with a dashed outline, or hollow on a front.

    Parameters
    ----------
    found : Designs
        Of ``model.search(...)`` or ``model.pareto(...)``.
    most : int
        How many bars, the best.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

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
    if not isinstance(found, Designs) or not len(found):
        raise InputError("found", found, "must be designs of model.search(...) or model.pareto(...), at least one")
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise InputError("most", most, "must be a whole number >= 1")
    ds, texts = found.to_dataset(), [goal.text for goal in found.goals]
    if len(texts) == 1:
        return _bars(style.axes_of(ax), found, ds, most)
    if len(texts) > 2 or any(text not in ds for text in texts):
        raise InputError("found", texts, "a figure shows two objectives, each an output by name")
    higher = [goal.text for goal in found.goals if goal.higher]
    return pareto(ds, *texts, maximize=higher, feasible=None, front=None, label=found.told or None, ax=ax)


def _bars(ax: Axes, found: Designs, ds: Any, most: int) -> Axes:
    """The objective of each design, with what tells them apart."""
    (goal,) = found.goals
    heights = np.array([goal.shown(values[0]) for values in found.objectives[:most]])
    missed = np.isin(np.arange(len(heights)), found.infeasible)
    if ax.figure.get_axes() == [ax]:
        ax.figure.set_size_inches(7.2, 1.5 + 0.42 * len(heights))  # type: ignore[union-attr]
    looks: list[tuple[bool, str, dict[str, Any]]]
    looks = [(False, "feasible", {"color": style.COLOURS[0]}), (True, "infeasible", style.MISSED)]
    for bad, word, look in looks:
        here = np.flatnonzero(missed == bad)
        if here.size:
            ax.barh(here, heights[here], height=0.66, label=word, gid=word, **look)
    ax.set_yticks(
        range(len(heights)), [_told(ds, found.told, place) for place in range(len(heights))], fontsize="small"
    )
    ax.invert_yaxis()
    for place, height in enumerate(heights):
        text = style.short(height)
        ax.annotate(text, (height, place), (3, 0), textcoords="offset points", va="center", fontsize="small")
    ax.margins(x=0.14)
    ax.set_axisbelow(True)
    ax.grid(axis="x", alpha=0.25, linewidth=0.6)
    remark = "higher is better" if goal.higher else "lower is better"
    known = style.label(ds[goal.text], remark) if goal.text in ds else ""
    ax.set_xlabel(
        known or " ".join(part for part in (goal.text, goal.unit and f"[{goal.unit}]", f"({remark})") if part)
    )
    proof = "proven" if found.certificate.proven else "not proven"
    style.titled(
        ax, f"Best of {found.certificate.points:,} designs by {goal.text}, {proof}\n{data.setting(ds)}".strip()
    )
    if missed.any():
        style.beside(ax, ax.get_legend_handles_labels()[0])
    return ax


def _told(ds: Any, names: tuple[str, ...], place: int) -> str:
    """Text that tells a design apart, in lines that fit."""
    lines = [""]
    for name in names:
        value = style.words(ds[name].isel(design=[place]))[0]
        part = f"{name}={value}"
        joined = f"{lines[-1]}, {part}" if lines[-1] else part
        lines = [*lines[:-1], joined] if len(joined) <= _ROOM else [*lines, part]
    return "\n".join(lines) or f"design {place + 1}"
