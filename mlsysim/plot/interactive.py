"""Figures for a browser: sweeps, fronts and maps of regimes that tell the values under the pointer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim.errors import InputError, UnknownNameError
from mlsysim.extras import require
from mlsysim.plot import data, style, themes
from mlsysim.study.binding_terms.regions import Regimes
from mlsysim.study.searches.designs import Designs
from mlsysim.tracebacks import at_the_call

if TYPE_CHECKING:
    import xarray

_END = "<extra></extra>"


@at_the_call
def interactive(
    result: Any, output: str | None = None, x: str | None = None, y: str | None = None, *, theme: str = "light"
) -> Any:
    """Draw a sweep, a front or a map of regimes for a browser: all values of a point stand under the pointer.

    Needs the extra ``interactive``. The figure's ``write_html("map.html")`` writes a page that needs no network.

    Parameters
    ----------
    result : xarray.Dataset, Designs or Regimes
        What ``model.sweep(...)``, ``model.pareto(...)``, ``model.search(...)`` or ``model.regimes(...)`` gives.
    output : str, optional
        Output of a sweep that is drawn; the first one by default.
    x, y : str, optional
        Dimensions of a sweep, by default the last two; of one dimension a curve is drawn. Of a front, its two outputs.
    theme : {"light", "dark"}
        Colours of the figure.

    Returns
    -------
    plotly.graph_objects.Figure

    Raises
    ------
    InputError
        If the result is none of these, or has more dimensions than a figure.
    MissingPackageError
        If plotly is not installed.
    UnknownNameError
        If there is no output, dimension or theme of a name.

    Examples
    --------
    >>> from mlsysim import TrainingMemoryModel, plot
    >>> sweep = TrainingMemoryModel().sweep(model="Llama3_8B", hardware="H100", batch_size=[1, 8], dp_size=[1, 8])
    >>> plot.interactive(sweep, "total_memory").write_html("memory.html")  # doctest: +SKIP
    """
    import xarray

    if theme not in themes.THEMES:
        raise UnknownNameError("theme", theme, themes.THEMES)
    require("an interactive figure", "plotly")
    if isinstance(result, Designs):
        figure = _front(result, x, y, theme)
    elif isinstance(result, Regimes):
        figure = _plane(result.dataset, "regime", *map(str, result.map.dims), theme=theme, words=list(result.names))
    elif isinstance(result, xarray.Dataset):
        name = next(iter(map(str, result.data_vars))) if output is None else output
        figure = _plane(result, name, x, y, theme=theme)
    else:
        raise InputError("result", result, "must be a data set of a sweep, designs of a search or front, or regimes")
    return figure


def _figure(trace: Any, x: str, y: str, title: str, theme: str) -> Any:
    """A figure of one trace in the colours of a theme."""
    from plotly.graph_objects import Figure  # pyright: ignore[reportMissingImports]

    paper, ink = (themes.THEMES[theme][name] for name in ("axes.facecolor", "text.color"))
    palette = themes.DARK if theme == "dark" else themes.LIGHT
    figure = Figure(trace)
    figure.update_layout(
        template="plotly_dark" if theme == "dark" else "plotly_white", paper_bgcolor=paper, plot_bgcolor=paper,
        font_color=ink, colorway=list(palette), title=title.replace("\n", "<br>"), xaxis_title=x, yaxis_title=y,
    )  # fmt: skip
    return figure


def _words(array: xarray.DataArray) -> str:
    """Label and unit of a variable; plotly draws no symbols."""
    unit = array.attrs.get("units", "")
    return f"{style.description(array)} [{unit}]" if unit else style.description(array)


def _texts(ds: xarray.Dataset, names: list[str], shape: Any) -> np.ndarray:
    """Values of variables as text, along a last axis of their own."""
    columns = []
    for name in names:
        array = ds[name].broadcast_like(shape).transpose(*shape.dims)
        flat = array.stack(point=shape.dims) if shape.ndim > 1 else array
        columns.append(np.array(style.words(flat), dtype=object).reshape(shape.shape))
    return np.stack(columns, axis=-1)


def _hover(ds: xarray.Dataset, names: list[str]) -> str:
    lines = [f"{_words(ds[name])}: %{{customdata[{index}]}}" for index, name in enumerate(names)]
    return "<br>".join(lines) + _END


def _plane(
    ds: xarray.Dataset, output: str, x: str | None, y: str | None = None, *, theme: str, words: list[str] | None = None
) -> Any:
    """A heat map over two dimensions, or a curve over one."""
    from plotly.graph_objects import Heatmap, Scatter  # pyright: ignore[reportMissingImports]

    ds, (across, *up) = data.shown_over(ds, output, (x, y), 1)
    for dim in (across, *up):
        ds = data.ascending(ds, dim)
    shape = ds[output].transpose(*up, across)
    names = [across, *up, *(str(name) for name, array in ds.data_vars.items() if set(array.dims) <= set(shape.dims))]
    if words is not None:
        names.remove(output)
    texts, hover = _texts(ds, names, shape), _hover(ds, names)
    if words is not None:
        regimes = np.array([*words, "refused"], dtype=object)[shape.values.astype(int)]
        texts = np.concatenate([texts, regimes[..., None]], axis=-1)
        hover = f"<b>%{{customdata[{len(names)}]}}</b><br>{hover}"
    title = f"{style.description(shape)} by {' and '.join(style.plain(ds[dim]) for dim in (across, *up))}"
    title = f"{title}\n{style.setting(ds)}".strip()
    coded = words is not None or data.is_label(shape)
    values = shape.where(~data.refused(ds)).values.astype(float)
    look: dict[str, Any] = {"customdata": texts, "hovertemplate": hover}
    horizontal = style.words(ds[across])
    if not up:
        level = np.array(style.words(shape), dtype=object) if data.is_label(shape) else values
        trace = Scatter(x=horizontal, y=level, mode="lines+markers", **look)
        return _figure(trace, _words(ds[across]), _words(shape), title, theme)
    trace = Heatmap(
        x=horizontal, y=style.words(ds[up[0]]), z=values, showscale=not coded, colorscale="Viridis",
        colorbar={"title": {"text": _words(shape), "side": "right"}}, **look,
    )  # fmt: skip
    figure = _figure(trace, _words(ds[across]), _words(ds[up[0]]), title, theme)
    # Values of swept inputs stand one beside the other, as in cells of one size.
    return figure.update_xaxes(type="category").update_yaxes(type="category")


def _front(designs: Designs, x: str | None, y: str | None, theme: str) -> Any:
    """Designs as points by two outputs; of a search the objective by rank."""
    from plotly.graph_objects import Scatter  # pyright: ignore[reportMissingImports]

    ds = designs.to_dataset()
    asked = [name for name in (x, y) if name is not None]
    names = asked or [goal.text for goal in designs.goals]
    for name in names:
        data.named(ds, name, "output of the designs")
    if len(names) > 2:
        raise InputError("result", names, "a figure shows two objectives", "name two of them, as x=... and y=...")
    told = [str(name) for name, array in {**ds.coords, **ds.data_vars}.items() if array.dims == ("design",)]
    look = {"customdata": _texts(ds, told, ds[names[0]]), "hovertemplate": _hover(ds, told)}
    horizontal = np.arange(1, len(designs) + 1) if len(names) == 1 else ds[names[0]].values
    title = f"{_words(ds[names[-1]])} of {len(designs):,} designs\n{style.setting(ds)}".strip()
    trace = Scatter(x=horizontal, y=ds[names[-1]].values, mode="markers", marker_size=9, **look)
    return _figure(trace, "Rank" if len(names) == 1 else _words(ds[names[0]]), _words(ds[names[-1]]), title, theme)
