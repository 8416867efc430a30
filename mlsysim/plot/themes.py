"""Light and dark figures: settings of matplotlib, from which every figure takes its colours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeVar

from mlsysim.errors import InputError, UnknownNameError
from mlsysim.extras import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Draw = TypeVar("Draw", bound=Callable[..., Any])


def _settings(ink: str, paper: str) -> dict[Any, str]:
    inked = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color", "grid.color")
    return dict.fromkeys(inked, ink) | dict.fromkeys(("axes.facecolor", "figure.facecolor", "savefig.facecolor"), paper)


#: Settings of matplotlib by theme; the dark paper is that of the site.
THEMES = {"light": _settings("#000000", "#ffffff"), "dark": _settings("#e6e6e6", "#131416")}
#: Okabe and Ito's colours without yellow, and a wine red: apart on white for every kind of colour vision.
LIGHT = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#661100")
#: The same order on dark paper: blues and green lighter, white for black, yellow for wine red.
DARK = ("#2B84C6", "#D55E00", "#00A87B", "#CC79A7", "#E69F00", "#7CCBF5", "#FFFFFF", "#F0E442")


@contextmanager
def themed(theme: str | None) -> Iterator[None]:
    """Draw figures in a theme: those of :mod:`mlsysim.plot`, ``plot()`` of results, and any other of matplotlib.

    Parameters
    ----------
    theme : {"light", "dark"} or None
        None keeps the settings that matplotlib has.

    Returns
    -------
    context manager

    Raises
    ------
    UnknownNameError
        If there is no such theme.

    Examples
    --------
    >>> from mlsysim import plot
    >>> with plot.themed("dark"):
    ...     ax = plot.pareto({"step_time": [1, 2], "total_memory": [40, 20]}, "step_time", "total_memory")
    """
    if theme is None:
        yield
        return
    if theme not in THEMES:
        raise UnknownNameError("theme", theme, THEMES)
    require("a figure", "matplotlib")
    from matplotlib import rc_context

    with rc_context(THEMES[theme]):  # pyright: ignore[reportArgumentType]
        yield


def figure(draw: Draw) -> Draw:
    """Draw a figure in the theme of its argument ``theme``, also on axes that were made in another."""
    first = next(iter(signature(draw).parameters))

    @wraps(draw)
    def drawn(*arguments: Any, ax: Axes | None = None, theme: str | None = None, **options: Any) -> Axes:
        if "found" in options:
            raise InputError("found", options["found"], f"is called {first} now")
        with themed(theme):
            before = set() if ax is None else set(ax.get_figure(root=True).axes)  # pyright: ignore[reportOptionalMemberAccess]
            made = draw(*arguments, ax=ax, **options)
            if theme is not None:
                for axes in {made, *made.get_figure(root=True).axes} - (before - {made}):
                    _dress(axes)
        return made

    return drawn  # pyright: ignore[reportReturnType]


def _dress(ax: Axes) -> None:
    """Give axes the colours of the settings; ticks that are made later take them too."""
    ink, paper = _setting("text.color"), _setting("axes.facecolor")
    ax.set_facecolor(paper)
    ax.get_figure(root=True).set_facecolor(paper)  # pyright: ignore[reportOptionalMemberAccess]
    ax.tick_params(which="both", color=ink, labelcolor=ink)
    for spine in ax.spines.values():
        spine.set_edgecolor(ink)
    for text in (ax.xaxis.label, ax.yaxis.label):
        text.set_color(ink)


def _setting(name: Any) -> Any:
    from matplotlib import rcParams

    return rcParams[name]


def ink(share: float = 1.0) -> str:
    """A grey between the paper of the axes (0) and the colour of text (1)."""
    from matplotlib.colors import to_hex

    return to_hex(tint(_setting("text.color"), share))


def colours() -> tuple[str, ...]:
    """Eight colours that are apart on this paper for every kind of colour vision."""
    from matplotlib.colors import to_rgb

    return DARK if sum(to_rgb(_setting("text.color"))) > 1.5 else LIGHT


def tint(colour: Any, share: float) -> tuple[float, float, float]:
    """A colour mixed into the paper of the axes."""
    from matplotlib.colors import to_rgb

    red, green, blue = (
        share * strong + (1 - share) * paper
        for strong, paper in zip(to_rgb(colour), to_rgb(_setting("axes.facecolor")), strict=True)
    )
    return red, green, blue
