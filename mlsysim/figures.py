"""Figures of results: a result names its figure, and the room that draws is asked for it by that name."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def drawn(name: str, *given: Any, ax: Any = None) -> Any:
    """Draw a figure of :mod:`mlsysim.plot`, which is imported no sooner.

    Parameters
    ----------
    name : str
        Name of the figure.
    *given
        The result, and what else the figure takes.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
    """
    return getattr(import_module("mlsysim.plot"), name)(*given, ax=ax)
