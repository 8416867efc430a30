"""Swept points under the ceilings of their accelerators."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim import units
from mlsysim.backends import compiled
from mlsysim.catalog import builtin
from mlsysim.errors import InputError, UnitError, UnknownNameError, quoted
from mlsysim.formats import rate_format
from mlsysim.formulas.roofline import attainable
from mlsysim.plot import data, layout, style, themes
from mlsysim.study.results.display import named
from mlsysim.symbolic import System, variable_of
from mlsysim.tracebacks import at_the_call

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

#: Ceilings that a data set may be without, and what they are then.
_SHARES = {"efficiency": 1.0, "memory_efficiency": 1.0}
#: Characters of the name of a roof.
_NAME = 26
#: A point this share above its roof is on it, but for rounding.
_ROUNDING = 1e-9
_ROOF = System([attainable])


@at_the_call
@themes.figure
def roofline(
    ds: xarray.Dataset,
    flops: str | Sequence[str] | xarray.DataArray,
    traffic: str | Sequence[str] | xarray.DataArray,
    time: str | Sequence[str] | xarray.DataArray | None = None,
    *,
    hue: str | None = None,
    feasible: str | None = "feasible",
    peak_flops: Any = None,
    memory_bandwidth: Any = None,
    efficiency: float | None = None,
    memory_efficiency: float | None = None,
    ax: Axes | None = None,
    theme: str | None = None,
) -> Axes:
    """Draw swept points by arithmetic intensity and rate, under the roofs of their accelerators.

    A roof is the library's formula for the attainable rate: solid at the peaks, dashed at the shares of them that the
    model takes as reached. Each accelerator and each precision that is swept has its own. At most eight roofs have a
    colour and a name; the others are grey. Infeasible points are hollow. Points above their roof are triangles, and the
    title counts them: their time leaves out part of the arithmetic or of the traffic that is named here.

    Parameters
    ----------
    ds : xarray.Dataset
        Result of ``model.sweep(..., outputs=[...])`` with the outputs named here.
    flops : str, sequence of str or xarray.DataArray
        Arithmetic of one accelerator: an output, several to add, or an array with ``units``. A time is
        that of the arithmetic at its ceiling (``product_time`` of ``DistributedModel``).
    traffic : str, sequence of str or xarray.DataArray
        Memory traffic that goes with it: likewise bytes, or their time at the ceiling of the memory.
    time : str, sequence of str or xarray.DataArray, optional
        How long both take; without it, the points stand on the dashed roof.
    hue : str, optional
        Dimension that the colours tell apart; by default the one the ceilings vary along.
    feasible : str, optional
        The truth value that tells filled from hollow points; None for all filled.
    peak_flops, memory_bandwidth : quantity, text or mapping, optional
        By default those of the sweep, or of the catalog for its accelerators and precisions. Where ``hardware`` is
        swept, a mapping from each of its names is allowed.
    efficiency, memory_efficiency : float, optional
        Shares of the two that are reached; by default those of the sweep, or 1.
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
        If a ceiling is not known, or there is no point to draw.
    UnitError
        If an amount has neither the unit asked for nor that of a time.

    Examples
    --------
    >>> from mlsysim import KernelModel, plot
    >>> shape = dict(product_rows=[16, 256, 4096], product_columns=8192, product_inner=8192)
    >>> outputs = ["kernel_flops", "kernel_bytes", "kernel_time"]
    >>> grid = KernelModel("roofline").sweep("H100", **shape, outputs=outputs)
    >>> axes = plot.roofline(grid, *outputs)
    >>> type(axes).__name__
    'Axes'
    """
    import xarray

    data.checked(ds)
    limit = data.truth(ds, feasible)
    ceilings = {"peak_flops": peak_flops, "memory_bandwidth": memory_bandwidth, "efficiency": efficiency,
             "memory_efficiency": memory_efficiency}  # fmt: skip
    machine = xarray.Dataset({name: _ceiling(ds, name, value).rename(name) for name, value in ceilings.items()})
    work = _amount(ds, "flops", flops, "FLOP", machine["peak_flops"] * machine["efficiency"])
    moved = _amount(ds, "traffic", traffic, "byte", machine["memory_bandwidth"] * machine["memory_efficiency"])
    intensity = work / moved
    rate = _roof(intensity, machine) if time is None else work / _amount(ds, "time", time, "s", 1.0)
    varies = [str(dim) for dim in machine["peak_flops"].dims]
    hue = hue if hue is not None else varies[0] if len(varies) == 1 else None
    if hue is not None and hue not in ds.dims:
        raise InputError("hue", hue, f"must be one of the dimensions {', '.join(map(str, ds.dims))}")
    series = xarray.DataArray(0) if hue is None else xarray.DataArray(np.arange(ds.sizes[hue]), dims=[hue])
    accepted = ~data.refused(ds)
    peak = _roof(intensity, machine.assign(efficiency=1.0, memory_efficiency=1.0))
    above = rate > peak * (1 + _ROUNDING)
    flat = xarray.broadcast(intensity, rate, accepted, accepted if limit is None else limit, series, above)
    across, up, taken, fits, tone, over = (array.values.ravel() for array in flat)
    drawn = taken & np.isfinite(across) & np.isfinite(up) & (across > 0) & (up > 0)
    if not drawn.any():
        raise InputError("flops", quoted(flops), "no point has a finite and positive intensity and rate")
    groups = _groups(machine)
    named = layout.evenly([ceilings["peak_flops"] for _, _, ceilings in groups])
    shared = hue is not None and varies == [hue]
    colours = _colours(groups, named) if shared else style.shades(1 if hue is None else ds.sizes[hue])
    ax = style.axes_of(ax)
    ends = _roofs(
        ax, across[drawn], groups, [colours[places[0]] if shared else themes.ink(0.75) for _, places, _ in groups]
    )
    names = [""] if hue is None else style.words(ds[hue])
    over &= drawn
    keys = _points(ax, across, up, drawn, fits, tone, over, names, colours)
    ax.set_ylim(top=1.6 * np.nanmax(machine["peak_flops"]) / units.factor("TFLOP/s"))
    style.numeric(ax.xaxis, np.array(ax.get_xlim()), True)
    style.numeric(ax.yaxis, np.array(ax.get_ylim()), True)
    reached = ["Rate reached", "[TFLOP/s]"] if time is not None else ["Attainable rate", "[TFLOP/s]"]
    ax.set(xlabel=style.label(_described("arithmetic_intensity")), ylabel=" ".join(reached))
    style.grid(ax)
    title = [f"{reached[0]} by arithmetic intensity", style.setting(ds)]
    if len(named) < len(groups):
        title.append(f"{len(named)} of {len(groups)} roofs in colour, the others grey")
    if over.any():
        title.append(f"{over.sum()} of {drawn.sum()} points above their roof: their time leaves out work or traffic")
    entries = _styles(drawn & ~fits & ~over, over, machine)
    if hue is not None and not shared:
        style.beside(ax, [*keys, *entries], style.narrow(ds[hue]))
        entries = []
    style.titled(ax, "\n".join(filter(None, title)), entries)
    labels = [(end, groups[index][0], colours[groups[index][1][0]] if shared else themes.ink(0.75)) for index, end in
              enumerate(ends) if index in named and groups[index][0]]  # fmt: skip
    if labels and (shared or hue is None):
        ends, words, shades = zip(*labels, strict=True)
        layout.at_ends(ax, ends, words, shades, "")
        layout.fit(ax)
    return ax


def _amount(ds: xarray.Dataset, argument: str, amount: Any, unit: str, ceiling: Any) -> xarray.DataArray:
    """An amount in canonical units; a time where another unit is asked for is multiplied by its ceiling."""
    import xarray

    if isinstance(amount, (str, xarray.DataArray)):
        amount = [amount]
    parts = [data.named(ds, part) if isinstance(part, str) else part for part in amount]
    return sum(_of_dimension(argument, part, unit, ceiling) for part in parts)  # pyright: ignore[reportReturnType]


def _of_dimension(argument: str, part: xarray.DataArray, unit: str, ceiling: Any) -> xarray.DataArray:
    own = part.attrs.get("units", "")
    bare = part.drop_attrs() * units.factor(own)
    if units.dimension(own) == units.dimension(unit):
        return bare
    if units.dimension(own) == units.dimension("s"):
        return bare * ceiling
    allowed = "a time" if unit == "s" else f"{unit}, or a time"
    raise UnitError(f"{argument}: {part.name or 'the array'} is in {own or 'no unit'}, and must be in {allowed}")


def _colours(groups: list[Any], named: list[int]) -> list[Any]:
    """Colours along the dimension of the roofs: one for each that is named, grey for the others."""
    colours: dict[int, Any] = {}
    for index, (_, places, _) in enumerate(groups):
        colours |= dict.fromkeys(places, themes.colours()[named.index(index)] if index in named else themes.ink(0.3))
    return [colours.get(place, themes.ink(0.3)) for place in range(max(colours) + 1)]


def _roofs(ax: Axes, across: np.ndarray, groups: list[Any], colours: list[Any]) -> list[tuple[float, float]]:
    """Draw every roof once, over all points and its ridge; return their right ends."""
    ridges = [ceilings["peak_flops"] / ceilings["memory_bandwidth"] for _, _, ceilings in groups]
    left, right = min(across.min(), *ridges) / 2, max(across.max(), *ridges) * 2
    line = np.unique(np.append(np.geomspace(left, right, 400), ridges))
    per_byte, tera = units.factor("FLOP/byte"), units.factor("TFLOP/s")
    for (name, _, reached), colour in zip(groups, colours, strict=True):
        peaks = {**reached, "efficiency": 1.0, "memory_efficiency": 1.0}
        for full, limits in ((True, peaks), (False, reached)):
            if not full and limits == peaks:
                continue
            ax.plot(
                line / per_byte,
                _roof(line, limits) / tera,
                "-" if full else "--",
                color=colour,
                linewidth=1.4 if full else 0.8,
                zorder=1,
                gid=f"{'roof' if full else 'reached'} {name}".strip(),
            )
    ax.set(xscale="log", yscale="log", xlim=(left / per_byte, right / per_byte))
    return [(right / per_byte, ceilings["peak_flops"] / tera) for _, _, ceilings in groups]


def _points(
    ax: Axes, across: Any, up: Any, drawn: Any, fits: Any, tone: Any, above: Any, names: list[str], colours: list[Any]
) -> list[Any]:
    handles: list[Any] = []
    for index, name in enumerate(names):
        colour = colours[index] if index < len(colours) else themes.ink(0.3)
        here = drawn & (tone == index)
        kinds = {"feasible": here & fits & ~above, "infeasible": here & ~fits & ~above, "above": here & above}
        for word, chosen in kinds.items():
            look: dict[str, Any] = {"markerfacecolor": themes.ink(0) if word == "infeasible" else colour}
            (points,) = ax.plot(
                across[chosen] / units.factor("FLOP/byte"), up[chosen] / units.factor("TFLOP/s"),
                "^" if word == "above" else "o", color=colour, markersize=4, label=name, gid=f"{word} {name}".strip(),
                **look,
            )  # fmt: skip
            if word == "feasible" and name:
                handles.append(points)
    return handles


def _styles(hollow: np.ndarray, above: np.ndarray, machine: xarray.Dataset) -> list[Any]:
    """Entries of the legend: the two lines, hollow points and triangles."""
    from matplotlib.lines import Line2D

    ink = themes.ink(0.75)
    entries = [Line2D([], [], color=ink, label="peak")]
    if bool((machine[["efficiency", "memory_efficiency"]].to_array() < 1).any()):
        entries.append(Line2D([], [], color=ink, linestyle="--", linewidth=0.8, label="reached share"))
    look: dict[str, Any] = {"linestyle": "none", "markersize": 4, "color": ink}
    if hollow.any():
        entries.append(Line2D([], [], marker="o", markerfacecolor=themes.ink(0), label="infeasible", **look))
    if above.any():
        entries.append(Line2D([], [], marker="^", label="above its roof", **look))
    return entries


def _ceiling(ds: xarray.Dataset, name: str, value: Any) -> xarray.DataArray:
    """A ceiling in canonical units, over the dimensions that it varies along."""
    import xarray

    fixed = json.loads(ds.attrs.get("fixed_inputs", "{}"))
    names = [str(hardware) for hardware in ds["hardware"].values] if "hardware" in ds.dims else []
    if isinstance(value, Mapping):
        for missing in (hardware for hardware in names if hardware not in value):
            raise InputError(name, dict(value), f"must have a value for {missing}")
        amounts = [_canonical(name, value[hardware]) for hardware in names]
        return xarray.DataArray(amounts, dims=["hardware"], coords={"hardware": names})
    if value is not None:
        return xarray.DataArray(_canonical(name, value))
    if name in ds.variables:
        return ds[name].drop_attrs() * units.factor(ds[name].attrs.get("units", ""))
    if name in fixed:
        return xarray.DataArray(_canonical(name, fixed[name]))
    if name in _SHARES:
        return xarray.DataArray(_SHARES[name])
    amounts = _of_catalog(ds, name, fixed)
    accepted = ~data.refused(ds)
    lacking = [] if amounts is None else [
        hardware for hardware in names
        if bool(((amounts.isnull() & accepted).sel(hardware=hardware)).any())
    ]  # fmt: skip
    if amounts is None or lacking or bool(amounts.isnull().all()):
        known = f"the data set does not say it; give {name}=..., a quantity"
        raise InputError(name, None, known + (f", or one for each of {', '.join(lacking or names)}" if names else ""))
    return amounts


def _of_catalog(ds: xarray.Dataset, name: str, fixed: Mapping[str, Any]) -> xarray.DataArray | None:
    """A ceiling that the catalog has for each accelerator and number format of a sweep; NaN where it has none."""
    import xarray

    entries = json.loads(ds.attrs.get("entries", "{}"))
    dims = [dim for dim in ("hardware", "precision", "compute_dtype") if dim in ds.dims]
    if "hardware" not in dims and "hardware" not in entries:
        return None
    axes = {"hardware": [entries.get("hardware", "")], "precision": [fixed.get("precision", "")],
            "compute_dtype": [fixed.get("compute_dtype", "as_precision")]}  # fmt: skip
    axes |= {dim: style.words(ds[dim]) for dim in dims}
    formats = [rate_format(*pair) for pair in product(axes["precision"], axes["compute_dtype"])]
    amounts = np.array([[_datasheet(hardware, name, each) for each in formats] for hardware in axes["hardware"]])
    return xarray.DataArray(
        amounts.reshape([len(axes[dim]) for dim in dims]), dims=dims, coords={dim: ds[dim].values for dim in dims}
    )


def _canonical(name: str, value: Any) -> float:
    variable = variable_of(name)
    try:
        bare = units.parsed(value) if isinstance(value, str) else value
        amount = units.canonical(bare, variable.unit, name) if units.is_quantity(bare) else float(bare)
        if not units.is_quantity(bare) and variable.dimension:
            amount = units.to_canonical(amount, variable.unit)
    except (TypeError, ValueError) as error:
        if isinstance(error, UnitError):
            raise
        raise InputError(
            name, value, f"must be a number in {variable.unit}, a quantity, or text such as '1 TB/s'"
        ) from None
    if not np.isfinite(amount) or amount <= 0 or (name in _SHARES and amount > 1):
        raise InputError(name, value, f"must be {variable.domain.describe()}")
    return float(amount)


def _datasheet(hardware: str, name: str, number_format: str) -> float:
    """A value of a device of the catalog; NaN if it has none."""
    try:
        value = builtin().find("hardware", hardware).value_of(name, number_format)
    except (UnknownNameError, InputError):
        return np.nan
    return np.nan if value is None else value.canonical


def _roof(intensity: Any, machine: Any) -> Any:
    """The attainable rate by the formula of the library; over arrays with or without dimensions."""
    import xarray

    function = compiled(_ROOF, None, "vector")
    parts = [intensity if name == "arithmetic_intensity" else machine[name] for name in function.inputs]

    def of(*arrays: Any) -> np.ndarray:
        return np.asarray(function(dict(zip(function.inputs, arrays, strict=True)))["attainable_rate"])

    return xarray.apply_ufunc(of, *parts)


def _groups(machine: xarray.Dataset) -> list[tuple[str, list[int], dict[str, float]]]:
    """Every set of ceilings once: the names that share it, their positions, and the ceilings."""
    import xarray

    flat = xarray.broadcast(*machine.data_vars.values())
    dims = [str(dim) for dim in flat[0].dims]
    known = all(dim in ("hardware", "precision", "compute_dtype") for dim in dims)
    words = [", ".join(pair) for pair in product(*(style.words(flat[0][dim]) for dim in dims))] if known else []
    groups: dict[tuple[float, ...], list[int]] = {}
    for place, row in enumerate(np.stack([array.values.ravel() for array in flat], axis=1)):
        if np.isfinite(row).all():
            groups.setdefault(tuple(map(float, row)), []).append(place)
    names = [", ".join(words[place] for place in places) if words else "" for places in groups.values()]
    return [
        (
            textwrap.shorten(name, _NAME, placeholder=" ..."),
            places,
            dict(zip(map(str, machine.data_vars), row, strict=True)),
        )
        for name, (row, places) in zip(names, groups.items(), strict=True)
    ]


def _described(name: str) -> xarray.DataArray:
    """An empty array with the words of a variable, for the label of an axis."""
    import xarray

    variable = variable_of(name)
    return xarray.DataArray(name=name, attrs={**named(variable), "units": variable.unit})
