"""Bars of the moments of a training step: what one rank holds at each, and the rest of the ranks beside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlsysim import formatting
from mlsysim.errors import InputError
from mlsysim.plot import style
from mlsysim.study.results.result import Result
from mlsysim.symbolic import variable_of
from mlsysim.tracebacks import at_the_call

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Outputs and words of the moments of a step, in its order.
MOMENTS = {
    "loss_memory": "loss",
    "head_memory": "backward pass\nof the head",
    "layer_memory": "backward pass\nof a layer",
    "update_memory": "update",
}
#: Outputs and words of the ranks of a pipeline.
RANKS = {
    "first_rank_memory": "first stage", "second_rank_memory": "second stage", "last_rank_memory": "last stage",
}  # fmt: skip
_OTHER = "0.78"


@at_the_call
def moments(found: Result, *, ax: Axes | None = None) -> Axes:
    """Draw what a rank holds at each moment of a training step, the moment that binds in full colour.

    Below stand the peaks of the ranks of a pipeline; a line marks the memory that programs can have.

    Parameters
    ----------
    found : Result
        Of ``TrainingMemoryModel("per_operator").solve(...)``, or of a model of training steps.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InputError
        If ``found`` has no moments.

    Examples
    --------
    >>> from mlsysim import TrainingMemoryModel, plot
    >>> result = TrainingMemoryModel.solve_example(variant="per_operator")
    >>> axes = plot.moments(result)
    >>> type(axes).__name__
    'Axes'
    """
    if not isinstance(found, Result) or not all(name in found for name in (*MOMENTS, "binding_rank")):
        raise InputError("found", found, "must be a result with moments of a training step: variant per_operator")

    def gigabytes(name: str) -> float:
        return found.canonical(name) / 1e9

    held = {"weights": gigabytes("weights"), "optimizer state": gigabytes("optimizer_state")}
    held["workspaces, reserved"] = max(0.0, gigabytes("resident_memory") - sum(held.values()))
    rows: list[tuple[str, dict[str, float], bool]] = []
    for name, words in MOMENTS.items():
        live = gigabytes(name)
        if live <= 0:
            rows.append((words, {}, False))
            continue
        kept = 0.0 if name == "update_memory" else min(gigabytes("activations"), live - sum(held.values()))
        parts = {**held, "activations": kept}
        rows.append((words, {**parts, "gradients, logits, buffers": live - sum(parts.values())}, _binds(found, name)))
    ranks = {name: gigabytes(name) for name in RANKS if found.canonical("pp_size") > (2 if "second" in name else 1)}
    ax = style.axes_of(ax)
    if ax.figure.get_axes() == [ax]:
        ax.figure.set_size_inches(7.2, 1.5 + 0.5 * (len(rows) + len(ranks)))  # type: ignore[union-attr]
    _stacks(ax, rows)
    for place, (name, live) in enumerate(ranks.items(), len(rows)):
        ax.barh(place, live, height=0.5, color=_OTHER, edgecolor="0.2", linewidth=1.2 * (RANKS[name] == _rank(found)))
        _told(ax, place, live, RANKS[name] == _rank(found))
    usable = gigabytes("usable_memory")
    look: dict[str, Any] = {"color": "black", "linewidth": 1.4, "linestyle": (0, (5, 2))}
    ax.axvline(usable, **look, gid="limit", label=f"can be had: {formatting.number(usable)} GB")
    ax.set_yticks(range(len(rows) + len(ranks)), [*(row[0] for row in rows), *(RANKS[name] for name in ranks)])
    ax.tick_params(axis="y", length=0, labelsize="small")
    ax.set_ylim(len(rows) + len(ranks) - 0.5, -0.5)
    ax.margins(x=0.16)
    ax.set_axisbelow(True)
    ax.grid(axis="x", alpha=0.25, linewidth=0.6)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    total = variable_of("total_memory")
    ax.set_xlabel(f"{total.label} [GB]")
    style.beside(ax, ax.get_legend_handles_labels()[0])
    rank = f" of the {_rank(found)}" if ranks else ""
    binding = next(words for words, _, binds in rows if binds).replace("\n", " ")
    ax.set_title(f"The {binding}{rank} binds: {found['fit']}", loc="left", fontsize="medium")
    return ax


def _binds(found: Result, name: str) -> bool:
    """Tell whether a moment is the one at which the rank holds the most."""
    return name.removesuffix("_memory") == found["peak_moment"].lower()


def _rank(found: Result) -> str:
    """The stage of the rank that is described."""
    binding = str(found["binding_rank"])
    return f"{'second' if binding == 'between' else binding} stage"


def _stacks(ax: Axes, rows: list[tuple[str, dict[str, float], bool]]) -> None:
    """The parts of each moment beside each other, in full colour where it binds."""
    named: set[str] = set()
    for place, (_, parts, binds) in enumerate(rows):
        left = 0.0
        for colour, (part, amount) in zip(style.COLOURS, parts.items(), strict=False):
            shown: dict[str, Any] = {} if part in named or not binds else {"label": part}
            named |= {part} if binds else set()
            ax.barh(place, amount, left=left, height=0.62, color=colour, alpha=1.0 if binds else 0.35, **shown)
            left += amount
        if parts:
            _told(ax, place, left, binds)
        else:
            ax.annotate("not on this rank", (0, place), (4, 0), textcoords="offset points", va="center", color="0.4")


def _told(ax: Axes, place: int, live: float, binds: bool) -> None:
    """The number at the end of a bar, bold where it binds."""
    ax.annotate(
        formatting.number(live), (live, place), (4, 0), textcoords="offset points", va="center", fontsize="small",
        color="0.2", fontweight="bold" if binds else "normal",
    )  # fmt: skip
