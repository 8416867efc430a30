"""Figures of results, by name, so that plotting code is imported only to draw."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def drawn(name: str, *arguments: Any, ax: Any = None) -> Any:
    """Draw a figure of :mod:`mlsysim.plot`, which is imported on call.

    Parameters
    ----------
    name : str
        Name of the figure.
    *arguments
        The result, and further arguments of the figure.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
    """
    return getattr(import_module("mlsysim.plot"), name)(*arguments, ax=ax)
