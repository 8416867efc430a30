"""Spread of an output where inputs are uncertain: a histogram, or the share of draws up to each value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlsysim import formatting, units
from mlsysim.errors import InputError
from mlsysim.plot import layout, style, themes
from mlsysim.symbolic import variable_of
from mlsysim.tracebacks import at_the_call

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mlsysim.study.uncertainties.report import Uncertainty

KINDS = "histogram", "cumulative"
_BINS = 60


@at_the_call
@themes.figure
def spread(
    answer: Uncertainty,
    output: str | None = None,
    *,
    kind: str = "histogram",
    ax: Axes | None = None,
    theme: str | None = None,
) -> Axes:
    """Draw the draws of one output, with a line at each quantile that was asked for.

    Parameters
    ----------
    answer : Uncertainty
        Of ``model.uncertainty(...)`` at a point.
    output : str, optional
        A number; the first one by default.
    kind : {"histogram", "cumulative"}
        How many draws lie in each interval, or the share of them up to each value.
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
        If the output is a label, or infinite in most draws.

    Examples
    --------
    >>> from mlsysim import KernelModel, plot
    >>> shape = dict(product_rows=4096, product_columns=8192, product_inner=8192)
    >>> reached = {"efficiency": "uniform(0.7, 0.9)"}
    >>> answer = KernelModel("roofline").uncertainty("kernel_time", "H100", **shape, distributions=reached)
    >>> axes = plot.spread(answer)
    >>> type(axes).__name__
    'Axes'
    """
    if kind not in KINDS:
        raise InputError("kind", kind, f"must be {' or '.join(KINDS)}")
    asked = answer[output] if output is not None else next((report for report in answer if not report.shares), None)
    if asked is None or asked.shares:
        raise InputError("output", output, "is no number; its shares are a table")
    variable = variable_of(asked.name)
    draws = np.sort(units.magnitude(answer.draws(asked.name)))
    finite = draws[np.isfinite(draws)]
    if len(finite) < len(draws) / 2:
        raise InputError("output", asked.name, "is infinite in most of the draws")
    ax = style.axes_of(ax)
    shade, marked, *_ = themes.colours()
    if kind == "histogram":
        ax.hist(finite, bins=_BINS, color=shade, alpha=0.75)
        ax.set_ylabel("Draws")
    else:
        ax.plot(finite, np.arange(1, len(finite) + 1) / len(draws), color=shade)
        ax.set(ylabel="Share of draws up to this value", ylim=(0, 1.0), yticks=np.linspace(0, 1, 6))
    unit = f" [{variable.unit}]" if variable.unit not in ("", "count") else ""
    ax.set_xlabel(f"{variable.label}{unit}")
    style.grid(ax)
    amounts = {level: float(units.magnitude(value)) for level, value in asked.quantiles.items()}
    amounts = {level: amount for level, amount in amounts.items() if np.isfinite(amount)}
    style.titled(ax, f"{variable.label}: spread of {len(draws):,} draws")
    _quantiles(ax, amounts, marked)
    return ax


def _quantiles(ax: Axes, amounts: dict[float, float], colour: str) -> None:
    """Mark each quantile by a line, and write its level and value above the draws."""
    ax.set_ylim(0, 1.25 * ax.get_ylim()[1])
    low, high = ax.get_xlim()
    texts = layout.apart([(amount - low) / (high - low) for amount in amounts.values()], 0.13, 0.04, 0.96)
    for (level, amount), place in zip(amounts.items(), texts, strict=True):
        ax.axvline(amount, color=colour, linewidth=1, linestyle="--")
        ax.text(
            place, 0.98, f"{100 * level:g}%\n{formatting.number(amount)}", transform=ax.transAxes, ha="center",
            va="top", fontsize="small", bbox={"facecolor": themes.ink(0), "edgecolor": "none", "pad": 1},
        )  # fmt: skip
