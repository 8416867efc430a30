"""Swept points under the ceilings of their accelerators."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim import units
from mlsysim.backends import compiled
from mlsysim.catalog import builtin
from mlsysim.errors import InputError, UnitError, UnknownNameError, quoted
from mlsysim.formats import rate_format
from mlsysim.formulas.roofline import attainable
from mlsysim.plot import data, style
from mlsysim.study.results.display import named
from mlsysim.symbolic import System, variable_of
from mlsysim.tracebacks import at_the_call

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

_INK = "0.25"
#: Ceilings that a data set may be without, and what they are then.
_SHARES = {"efficiency": 1.0, "memory_efficiency": 1.0}
_ROOF = System([attainable])


@at_the_call
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
) -> Axes:
    """Draw swept points by arithmetic intensity and rate, under the roofs of their accelerators.

    A roof is the library's formula for the attainable rate: solid at the peaks, dashed at the shares
    of them that the model takes as reached. Infeasible points are hollow.

    Parameters
    ----------
    ds : xarray.Dataset
        Of ``model.sweep(..., outputs=[...])`` with the outputs named here.
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
        By default those of the sweep. Where ``hardware`` is swept, a mapping from each of its names, or
        by default what the catalog of the library says of them.
    efficiency, memory_efficiency : float, optional
        Shares of the two that are reached; by default those of the sweep, or 1.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

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
    given = {"peak_flops": peak_flops, "memory_bandwidth": memory_bandwidth, "efficiency": efficiency,
             "memory_efficiency": memory_efficiency}  # fmt: skip
    machine = xarray.Dataset({name: _ceiling(ds, name, value).rename(name) for name, value in given.items()})
    work = _amount(ds, "flops", flops, "FLOP", machine["peak_flops"] * machine["efficiency"])
    moved = _amount(ds, "traffic", traffic, "byte", machine["memory_bandwidth"] * machine["memory_efficiency"])
    intensity = work / moved
    rate = _roof(intensity, machine) if time is None else work / _amount(ds, "time", time, "s", 1.0)
    varies = [str(dim) for dim in machine["peak_flops"].dims]
    hue = hue if hue is not None else varies[0] if len(varies) == 1 else None
    if hue is not None and hue not in ds.dims:
        raise InputError("hue", hue, f"must be one of the dimensions {', '.join(map(str, ds.dims))}")
    place = xarray.DataArray(0) if hue is None else xarray.DataArray(np.arange(ds.sizes[hue]), dims=[hue])
    accepted = ~data.refused(ds)
    flat = xarray.broadcast(intensity, rate, accepted, accepted if limit is None else limit, place)
    across, up, taken, fits, tone = (array.values.ravel() for array in flat)
    drawn = taken & np.isfinite(across) & np.isfinite(up) & (across > 0) & (up > 0)
    if not drawn.any():
        raise InputError("flops", quoted(flops), "no point has a finite and positive intensity and rate")
    ax = style.axes_of(ax)
    _roofs(ax, across[drawn], machine)
    names = [""] if hue is None else style.words(ds[hue])
    keys = _points(ax, across, up, drawn, fits, tone, names)
    ax.set_ylim(top=2 * float(machine["peak_flops"].max()) / units.factor("TFLOP/s"))
    style.numeric(ax.xaxis, np.array(ax.get_xlim()), True)
    style.numeric(ax.yaxis, np.array(ax.get_ylim()), True)
    reached = ["Rate reached", "[TFLOP/s]"] if time is not None else ["Attainable rate", "[TFLOP/s]"]
    ax.set(xlabel=style.label(_described("arithmetic_intensity")), ylabel=" ".join(reached))
    style.beside(ax, [*keys, *_styles(drawn & ~fits, machine)], "" if hue is None else style.narrow(ds[hue]))
    ax.grid(alpha=0.25, linewidth=0.6)
    style.titled(ax, f"{reached[0]} by arithmetic intensity\n{data.setting(ds)}".strip())
    return ax


def _amount(ds: xarray.Dataset, argument: str, given: Any, unit: str, ceiling: Any) -> xarray.DataArray:
    """An amount in canonical units; a time where another unit is asked for is multiplied by its ceiling."""
    import xarray

    if isinstance(given, (str, xarray.DataArray)):
        given = [given]
    parts = [data.named(ds, part) if isinstance(part, str) else part for part in given]
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


def _roofs(ax: Axes, across: np.ndarray, machine: xarray.Dataset) -> None:
    """Every roof once, over all points and its ridge, with the name of its accelerator at its end."""
    ridge = (machine["peak_flops"] / machine["memory_bandwidth"]).values
    left, right = min(across.min(), ridge.min()) / 3, max(across.max(), ridge.max()) * 4
    line = np.unique(np.append(np.geomspace(left, right, 400), ridge))
    per_byte, tera = units.factor("FLOP/byte"), units.factor("TFLOP/s")
    for name, shares in _each(machine):
        peaks = {**shares, "efficiency": 1.0, "memory_efficiency": 1.0}
        for full, limits in ((True, peaks), (False, shares)):
            if not full and limits == peaks:
                continue
            ax.plot(
                line / per_byte,
                _roof(line, limits) / tera,
                "-" if full else "--",
                color=_INK,
                linewidth=1.4 if full else 1,
                zorder=1,
                gid=f"{'roof' if full else 'reached'} {name}".strip(),
            )
        end = (right / per_byte, shares["peak_flops"] / tera)
        ax.annotate(name, end, (-2, 3), textcoords="offset points", ha="right", fontsize="small", color=_INK)
    ax.set(xscale="log", yscale="log", xlim=(left / per_byte, right / per_byte))


def _points(ax: Axes, across: Any, up: Any, drawn: Any, fits: Any, tone: Any, names: list[str]) -> list[Any]:
    handles: list[Any] = []
    for place, (name, colour) in enumerate(zip(names, style.shades(len(names)), strict=True)):
        for good in (True, False):
            here = drawn & (tone == place) & (fits == good)
            look: dict[str, Any] = {"markerfacecolor": colour if good else "none", "color": colour}
            (points,) = ax.plot(
                across[here] / units.factor("FLOP/byte"),
                up[here] / units.factor("TFLOP/s"),
                "o",
                markersize=4,
                label=name,
                gid=f"{'feasible' if good else 'infeasible'} {name}".strip(),
                **look,
            )
            if good and name:
                handles.append(points)
    return handles


def _styles(hollow: np.ndarray, machine: xarray.Dataset) -> list[Any]:
    """Legend of hollow points and of the two lines."""
    from matplotlib.lines import Line2D

    found = [Line2D([], [], color=_INK, label="peak")]
    if bool((machine[["efficiency", "memory_efficiency"]].to_array() < 1).any()):
        found.append(Line2D([], [], color=_INK, linestyle="--", linewidth=1, label="reached share"))
    if hollow.any():
        look: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 4, "color": _INK}
        found.append(Line2D([], [], markerfacecolor="none", label="infeasible", **look))
    return found


def _ceiling(ds: xarray.Dataset, name: str, given: Any) -> xarray.DataArray:
    """A ceiling in canonical units, over the dimensions that it varies along."""
    import xarray

    fixed = json.loads(ds.attrs.get("fixed_inputs", "{}"))
    names = [str(value) for value in ds["hardware"].values] if "hardware" in ds.dims else []
    if isinstance(given, Mapping):
        for missing in (one for one in names if one not in given):
            raise InputError(name, dict(given), f"must have a value for {missing}")
        given = {one: _canonical(name, given[one]) for one in names}
        return xarray.DataArray(list(given.values()), dims=["hardware"], coords={"hardware": names})
    if given is not None:
        return xarray.DataArray(_canonical(name, given))
    if name in ds.variables:
        return ds[name].drop_attrs() * units.factor(ds[name].attrs.get("units", ""))
    if name in fixed:
        return xarray.DataArray(_canonical(name, fixed[name]))
    if name in _SHARES:
        return xarray.DataArray(_SHARES[name])
    values = [
        _of_catalog(one, name, rate_format(fixed.get("precision", ""), fixed.get("compute_dtype", "as_precision")))
        for one in names
    ]
    if not values or None in values:
        known = f"the data set does not say it; give {name}=..., a quantity"
        raise InputError(name, None, known + (f", or one for each of {', '.join(names)}" if names else ""))
    return xarray.DataArray(values, dims=["hardware"], coords={"hardware": names})


def _canonical(name: str, given: Any) -> float:
    variable = variable_of(name)
    try:
        value = units.parsed(given) if isinstance(given, str) else given
        amount = units.canonical(value, variable.unit, name) if units.is_quantity(value) else float(value)
        if not units.is_quantity(value) and variable.dimension:
            amount = units.to_canonical(amount, variable.unit)
    except (TypeError, ValueError) as error:
        if isinstance(error, UnitError):
            raise
        raise InputError(
            name, given, f"must be a number in {variable.unit}, a quantity, or text such as '1 TB/s'"
        ) from None
    if not np.isfinite(amount) or amount <= 0 or (name in _SHARES and amount > 1):
        raise InputError(name, given, f"must be {variable.domain.describe()}")
    return float(amount)


def _of_catalog(hardware: str, name: str, precision: str) -> float | None:
    try:
        value = builtin().find("hardware", hardware).value_of(name, precision)
    except (UnknownNameError, InputError):
        return None
    return None if value is None else value.canonical


def _roof(intensity: Any, machine: Any) -> Any:
    """The attainable rate by the formula of the library; over arrays with or without dimensions."""
    import xarray

    function = compiled(_ROOF, None, "vector")
    parts = [intensity if name == "arithmetic_intensity" else machine[name] for name in function.inputs]

    def of(*arrays: Any) -> np.ndarray:
        return np.asarray(function(dict(zip(function.inputs, arrays, strict=True)))["attainable_rate"])

    return xarray.apply_ufunc(of, *parts)


def _each(machine: xarray.Dataset) -> Iterator[tuple[str, dict[str, float]]]:
    """Every set of ceilings once, with its name where they vary along one dimension."""
    import xarray

    flat = xarray.broadcast(*machine.data_vars.values())
    rows = np.stack([array.values.ravel() for array in flat], axis=1)
    dims = flat[0].dims
    for place in sorted(np.unique(rows, axis=0, return_index=True)[1]):
        name = str(flat[0][dims[0]].values[place]) if len(dims) == 1 and dims[0] == "hardware" else ""
        yield name, dict(zip(map(str, machine.data_vars), map(float, rows[place]), strict=True))


def _described(name: str) -> xarray.DataArray:
    """An empty array with the words of a variable, for the label of an axis."""
    import xarray

    variable = variable_of(name)
    return xarray.DataArray(name=name, attrs={**named(variable), "units": variable.unit})
