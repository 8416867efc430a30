"""Spread of an output where inputs are uncertain: a histogram, or the share of draws up to each value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlsysim import formatting, units
from mlsysim.errors import InputError
from mlsysim.plot import style
from mlsysim.symbolic import variable_of
from mlsysim.tracebacks import at_the_call

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mlsysim.study.uncertainties.report import Uncertainty

KINDS = "histogram", "cumulative"
_BINS = 60


@at_the_call
def spread(answer: Uncertainty, output: str | None = None, *, kind: str = "histogram", ax: Axes | None = None) -> Axes:
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
        Where to draw; a new figure by default.

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
    asked = answer[output] if output is not None else next((each for each in answer if not each.shares), None)
    if asked is None or asked.shares:
        raise InputError("output", output, "is no number; its shares are a table")
    variable = variable_of(asked.name)
    draws = np.sort(units.magnitude(answer.draws(asked.name)))
    finite = draws[np.isfinite(draws)]
    if len(finite) < len(draws) / 2:
        raise InputError("output", asked.name, "is infinite in most of the draws")
    ax = style.axes_of(ax)
    if kind == "histogram":
        ax.hist(finite, bins=_BINS, color=style.COLOURS[0], alpha=0.75)
        ax.set_ylabel("Draws")
    else:
        ax.plot(finite, np.arange(1, len(finite) + 1) / len(draws), color=style.COLOURS[0])
        ax.set_ylabel("Share of the draws up to here")
    for level, value in asked.quantiles.items():
        if np.isfinite(units.magnitude(value)):
            ax.axvline(units.magnitude(value), color=style.COLOURS[1], linewidth=1, linestyle="--")
            text = f" {100 * level:g}%: {formatting.number(float(units.magnitude(value)))}"
            ax.text(
                units.magnitude(value),
                0.98,
                text,
                transform=ax.get_xaxis_transform(),
                rotation=90,
                ha="right",
                va="top",
                fontsize="small",
            )
    ax.margins(y=0.3)
    unit = f" [{variable.unit}]" if variable.unit not in ("", "count") else ""
    ax.set_xlabel(f"{variable.label}{unit}")
    style.titled(ax, f"{variable.label}: spread of {len(draws):,} draws")
    return ax
