"""Bars of the moments of a training step: what one rank holds at each, and the rest of the ranks beside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlsysim import formatting
from mlsysim.errors import InputError
from mlsysim.plot import style, themes
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


@at_the_call
@themes.figure
def moments(result: Result, *, ax: Axes | None = None, theme: str | None = None) -> Axes:
    """Draw the memory of a rank at each moment of a training step, its peak in full colour.

    Below stand the peaks of the ranks of a pipeline; a line marks the memory that programs can have.

    Parameters
    ----------
    result : Result
        What ``TrainingMemoryModel("per_operator").solve(...)`` gives, or a model of training steps.
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
        If ``result`` has no moments.

    Examples
    --------
    >>> from mlsysim import TrainingMemoryModel, plot
    >>> result = TrainingMemoryModel.solve_example(variant="per_operator")
    >>> axes = plot.moments(result)
    >>> type(axes).__name__
    'Axes'
    """
    if not isinstance(result, Result) or not all(name in result for name in (*MOMENTS, "binding_rank")):
        raise InputError("result", result, "must be a result with moments of a training step: variant per_operator")

    def gigabytes(name: str) -> float:
        return result.canonical(name) / 1e9

    resident = {"weights": gigabytes("weights"), "optimizer state": gigabytes("optimizer_state")}
    resident["workspaces, reserved"] = max(0.0, gigabytes("resident_memory") - sum(resident.values()))
    rows: list[tuple[str, dict[str, float], bool]] = []
    for name, words in MOMENTS.items():
        live = gigabytes(name)
        if live <= 0:
            rows.append((words, {}, False))
            continue
        kept = 0.0 if name == "update_memory" else min(gigabytes("activations"), live - sum(resident.values()))
        parts = {**resident, "activations": kept}
        rows.append((words, {**parts, "gradients, logits, buffers": live - sum(parts.values())}, _binds(result, name)))
    ranks = {name: gigabytes(name) for name in RANKS if result.canonical("pp_size") > (2 if "second" in name else 1)}
    ax = style.axes_of(ax)
    if ax.figure.get_axes() == [ax]:
        ax.figure.set_size_inches(7.2, 1.5 + 0.5 * (len(rows) + len(ranks)))  # type: ignore[union-attr]
    _stacks(ax, rows)
    for row, (name, live) in enumerate(ranks.items(), len(rows)):
        ax.barh(
            row,
            live,
            height=0.5,
            color=themes.ink(0.22),
            edgecolor=themes.ink(0.8),
            linewidth=1.2 * (RANKS[name] == _rank(result)),
        )
        _told(ax, row, live, RANKS[name] == _rank(result))
    usable = gigabytes("usable_memory")
    ax.axvline(usable, **style.limit(), gid="limit", label=f"usable: {formatting.number(usable)} GB")
    ax.set_yticks(range(len(rows) + len(ranks)), [*(row[0] for row in rows), *(RANKS[name] for name in ranks)])
    ax.tick_params(axis="y", labelsize="small")
    ax.set_ylim(len(rows) + len(ranks) - 0.5, -0.5)
    ax.margins(x=0.16)
    style.bare(ax)
    total = variable_of("total_memory")
    ax.set_xlabel(f"{total.label} [GB]")
    style.beside(ax, ax.get_legend_handles_labels()[0])
    rank = f" of the {_rank(result)}" if ranks else ""
    binding = next(words for words, _, binds in rows if binds).replace("\n", " ")
    style.titled(ax, f"Memory peaks at the {binding}{rank}: {result['fit']}")
    return ax


def _binds(result: Result, name: str) -> bool:
    """Tell whether a moment is the one at which the rank holds the most."""
    return name.removesuffix("_memory") == result["peak_moment"].lower()


def _rank(result: Result) -> str:
    """The stage of the rank that is described."""
    binding = str(result["binding_rank"])
    return f"{'second' if binding == 'between' else binding} stage"


def _stacks(ax: Axes, rows: list[tuple[str, dict[str, float], bool]]) -> None:
    """The parts of each moment beside each other, in full colour where it binds."""
    named: set[str] = set()
    for row, (_, parts, binds) in enumerate(rows):
        left = 0.0
        for colour, (part, amount) in zip(themes.colours(), parts.items(), strict=False):
            shown: dict[str, Any] = {} if part in named or not binds else {"label": part}
            named |= {part} if binds else set()
            ax.barh(row, amount, left=left, height=0.62, color=colour, alpha=1.0 if binds else 0.35, **shown)
            left += amount
        if parts:
            _told(ax, row, left, binds)
        else:
            ax.annotate(
                "not on this rank", (0, row), (4, 0), textcoords="offset points", va="center", color=themes.ink(0.6)
            )


def _told(ax: Axes, row: int, live: float, binds: bool) -> None:
    """The number at the end of a bar, bold where it binds."""
    ax.annotate(
        formatting.number(live), (live, row), (4, 0), textcoords="offset points", va="center", fontsize="small",
        color=themes.ink(0.8), fontweight="bold" if binds else "normal",
    )  # fmt: skip
