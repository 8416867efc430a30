"""Designs that no other beats in both of two outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim import units
from mlsysim.errors import InputError, UnknownNameError
from mlsysim.plot import data, style, themes
from mlsysim.study.results.display import named
from mlsysim.symbolic import variable_of
from mlsysim.tracebacks import at_the_call

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes


@at_the_call
@themes.figure
def pareto(
    designs: Any,
    x: str,
    y: str,
    *,
    maximize: str | Sequence[str] = (),
    feasible: str | None = "feasible",
    front: str | None = None,
    label: Sequence[str] | None = None,
    annotate: int = 4,
    ax: Axes | None = None,
    theme: str | None = None,
) -> Axes:
    """Draw feasible designs as a cloud, and the front of those that no other beats as a stepped line.

    Parameters
    ----------
    designs : xarray.Dataset or table
        A sweep of any dimensions, or columns by name (a mapping or a ``pandas.DataFrame``).
    x, y : str
        Outputs to compare; both are minimised unless named in ``maximize``.
    maximize : str or sequence of str
        Those of ``x`` and ``y`` of which more is better.
    feasible : str, optional
        Truth value of the designs to consider; None for all. A table without it is taken as feasible.
    front : str, optional
        A truth value that says which designs are on the front; computed from the points by default.
    label : sequence of str, optional
        What tells a design apart; by default the swept inputs.
    annotate : int
        How many designs of the front are numbered, evenly chosen, its ends among them.
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
        If no design is feasible and finite in both, or an argument is not understood.
    UnknownNameError
        If there is no output or column of a name.

    Examples
    --------
    >>> from mlsysim import TrainingMemoryModel, plot
    >>> memory = TrainingMemoryModel("first_order")
    >>> grid = memory.sweep("Llama3_8B", "H100", seq_len=2048, batch_size=[8, 16, 32], dp_size=[1, 8])
    >>> axes = plot.pareto(grid, "total_memory", "activations", feasible=None)
    >>> type(axes).__name__
    'Axes'
    """
    maximize = (maximize,) if isinstance(maximize, str) else tuple(maximize)
    for name in maximize:
        if name not in (x, y):
            raise UnknownNameError("axis to maximize", name, (x, y))
    if isinstance(annotate, bool) or not isinstance(annotate, int) or annotate < 0:
        raise InputError("annotate", annotate, "must be a whole number >= 0")
    ds = _data_set(designs)
    for axis, name in (("x", x), ("y", y)):
        if data.is_label(data.named(ds, name, "output of the designs")):
            raise InputError(axis, name, "must be a number; labels have no front")
    swept = [str(name) for name, array in ds.coords.items() if array.ndim and array.size > 1]
    told = swept if label is None else [str(data.named(ds, name).name) for name in label]
    points = _Points(ds, x, y, data.truth(ds, feasible), data.truth(ds, front, "front"))
    across, up = points.x, points.y
    if not across.size:
        raise InputError("designs", f"{x}, {y}", "no design is feasible and finite in both")
    signs = [-1.0 if name in maximize else 1.0 for name in (x, y)]
    if points.front is None:
        best = nondominated(signs[0] * across, signs[1] * up)
    else:
        best = np.flatnonzero(points.front)
        best = best[np.lexsort((signs[1] * up[best], signs[0] * across[best]))]
    ax = style.axes_of(ax)
    word = "feasible" if feasible is not None else "designs"
    ax.plot(
        across, up, ".", color=themes.ink(0.28), markersize=4, rasterized=len(across) > 2000, label=word, gid="cloud"
    )
    look: dict[str, Any] = {"color": themes.colours()[0], "marker": "o", "markersize": 4, "label": "front"}
    ax.plot(across[best], up[best], drawstyle="steps-post", gid="front", **look)
    if points.missed[best].any():
        look |= {"linestyle": "none", "markerfacecolor": themes.ink(0), "label": "infeasible"}
        ax.plot(across[best][points.missed[best]], up[best][points.missed[best]], gid="infeasible", **look)
    for axis, values, name in ((ax.xaxis, across, x), (ax.yaxis, up, y)):
        style.numeric(axis, values, style.spread(values))
        axis.set_label_text(style.label(ds[name], "higher is better" if name in maximize else "lower is better"))
    chosen = best[np.unique(np.linspace(0, len(best) - 1, annotate).round().astype(int))] if len(best) else best
    keys = [_numbered(ax, place, points, told, number) for number, place in enumerate(chosen, start=1)]
    drawn = ax.get_lines()[len(best) == len(across) :]
    style.beside(ax, [*drawn, *keys])
    style.grid(ax)
    style.titled(ax, f"{style.description(ds[y])} against {style.plain(ds[x])}\n{style.setting(ds)}".strip())
    return ax


def _numbered(ax: Axes, place: int, points: _Points, told: list[str], number: int) -> Any:
    """Number a design where it stands, and say in the legend what it is."""
    from matplotlib.lines import Line2D

    at = (points.x[place], points.y[place])
    look: dict[str, Any] = {"color": themes.ink(0), "fontsize": 7, "ha": "center", "va": "center"}
    ax.annotate(
        str(number), at, zorder=5, bbox={"boxstyle": "circle,pad=0.2", "facecolor": themes.ink(), "lw": 0}, **look
    )
    described = points.described(int(place), told)
    mark: dict[str, Any] = {"marker": f"${number}$", "color": themes.ink(), "markersize": 6, "linestyle": "none"}
    return Line2D([], [], label="\n".join(described), **mark)


def nondominated(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Places of the points that no other is at most as large as in both, by the first; equal points once."""
    order = np.lexsort((second, first))
    lowest = np.minimum.accumulate(second[order])
    below = np.concatenate([[True], second[order][1:] < lowest[:-1]])
    return order[below]


def _data_set(designs: Any) -> xarray.Dataset:
    """A sweep as it is; columns as a data set, with units and symbols where the vocabulary has the name."""
    import xarray

    if isinstance(designs, xarray.Dataset):
        return designs
    columns = designs.to_dict("list") if hasattr(designs, "columns") and hasattr(designs, "to_dict") else designs
    if not isinstance(columns, Mapping) or not columns:
        raise InputError("designs", designs, "must be a data set, or columns by name")
    lengths = {str(name): len(column) for name, column in columns.items()}
    if len(set(lengths.values())) != 1:
        raise InputError("designs", lengths, "columns must be of one length")
    return xarray.Dataset({str(name): _column(str(name), list(column)) for name, column in columns.items()})


def _column(name: str, values: list[Any]) -> tuple[str, np.ndarray, dict[str, str]]:
    attrs = {}
    try:
        variable = variable_of(name)
    except UnknownNameError:
        unit = f"{units.own(values[0]).units:~P}" if values and units.is_quantity(values[0]) else ""
    else:
        unit = variable.unit if variable.dimension else ""
        attrs = named(variable)
    if unit:
        attrs["units"] = unit
    bare = [float(units.own(v).to(unit).magnitude) if units.is_quantity(v) else v for v in values]
    return "design", np.asarray(bare), attrs


class _Points:
    """Feasible points that are finite in two outputs, in the order of the data set."""

    def __init__(self, ds: xarray.Dataset, x: str, y: str, limit: Any, front: Any) -> None:
        import xarray

        first, second, good = xarray.broadcast(ds[x], ds[y], data.refused(ds) == False if limit is None else limit)  # noqa: E712
        self._ds, self._dims, self._shape = ds, first.dims, first.shape
        across, up = first.values.astype(float).ravel(), second.values.astype(float).ravel()
        self._places = np.flatnonzero(good.values.ravel() & np.isfinite(across) & np.isfinite(up))
        self.x, self.y = across[self._places], up[self._places]
        fits = xarray.ones_like(first, bool) if "feasible" not in ds.data_vars else ds["feasible"].astype(bool)
        self.missed = ~fits.broadcast_like(first).transpose(*first.dims).values.ravel()[self._places]
        on_front = None if front is None else front.broadcast_like(first).transpose(*first.dims).values.ravel()
        self.front = None if on_front is None else on_front[self._places]

    def described(self, place: int, names: list[str]) -> list[str]:
        """Text that tells a point apart, one line per name."""
        at = dict(zip(self._dims, np.unravel_index(self._places[place], self._shape), strict=True))
        lines = []
        for name in names:
            array = self._ds[name]
            value = array.isel({dim: at[dim] for dim in array.dims}).expand_dims("point")
            unit = array.attrs.get("units", "")
            lines.append(f"{name} = {style.words(value)[0]} {unit}".strip())
        return lines or [f"design {int(self._places[place]) + 1}"]
