"""Regimes of an output over one or two axes: a labelled map, its boundaries, and how they print."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim import formatting, show
from mlsysim.errors import InputError
from mlsysim.figures import drawn
from mlsysim.jsontext import JsonAnswer
from mlsysim.study.binding_terms.boundaries import Boundary
from mlsysim.symbolic import Variable
from mlsysim.tracebacks import at_the_call

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Interval:
    """An interval of one axis within one regime.

    Attributes
    ----------
    regime : str
        Name of the regime.
    start, end : float
        Ends in the unit of the axis: ends of the axis, and boundaries in between.
    first, last : object
        First and last value of the axis within the interval.
    """

    regime: str
    start: float
    end: float
    first: Any
    last: Any


@dataclass(eq=False, repr=False)
class Regimes(JsonAnswer):
    """Regime, that is binding term, of every point.

    Attributes
    ----------
    output : Variable
        Output whose binding terms are shown.
    dataset : xarray.Dataset
        ``regime`` as flag codes with their meanings, -1 if a point is refused, and the output.
    names : tuple of str
        Names of the regimes, the most frequent first.
    boundaries : tuple of Boundary
        Boundaries between regimes.
    intervals : tuple of Interval
        Intervals of the axis, if there is one numeric axis.
    """

    output: Variable
    dataset: xarray.Dataset
    names: tuple[str, ...]
    boundaries: tuple[Boundary, ...]
    intervals: tuple[Interval, ...]

    @property
    def map(self) -> xarray.DataArray:
        """Regime at every point of the grid, as flag codes with their meanings."""
        return self.dataset["regime"]

    @property
    def shares(self) -> dict[str, float]:
        """Share of grid points in each regime."""
        codes = self.map.values
        return {name: float(np.mean(codes == code)) for code, name in enumerate(self.names)}

    @at_the_call
    def at(self, **point: Any) -> str:
        """Return the regime at the nearest point of the grid.

        Parameters
        ----------
        **point
            Value per axis, in its unit.
        """
        for name in point:
            if name not in self.map.dims:
                raise InputError(name, point[name], f"must be an axis: {', '.join(map(str, self.map.dims))}")
        words = {k: v for k, v in point.items() if self.map[k].dtype.kind in "OUS"}
        nearest = self.map.sel(words).sel({k: v for k, v in point.items() if k not in words}, method="nearest")
        if nearest.ndim:
            missing = [str(dim) for dim in nearest.dims]
            raise InputError("point", dict(point), f"must give {', '.join(missing)} too")
        return self.names[int(nearest)] if int(nearest) >= 0 else "refused"

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the map with its boundaries; over one axis the output, coloured by regime.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes
        """
        return drawn("regimes", self, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: shares, boundaries, and intervals over one axis."""
        intervals = [{key: _plain(value) for key, value in vars(interval).items()} for interval in self.intervals]
        return {
            "output": self.output.name,
            "axes": [str(dim) for dim in self.map.dims],
            "regimes": self.shares,
            "boundaries": [boundary.to_dict() for boundary in self.boundaries],
            **({"intervals": intervals} if intervals else {}),
        }

    @property
    def title(self) -> str:
        """Title of the answer."""
        return f"What binds in {self.output.name} over {' and '.join(map(str, self.map.dims))}"

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Headers and cells of the regimes: intervals over one axis, else shares of the map."""
        if self.intervals:
            axis = self.map[self.map.dims[0]]
            unit = f" [{axis.attrs['units']}]" if axis.attrs.get("units") else ""
            headers = ["Regime", f"{axis.name} from{unit}", f"to{unit}"]
            return headers, [
                [interval.regime, formatting.number(interval.start), formatting.number(interval.end)]
                for interval in self.intervals
            ]
        return ["Regime", "Share of the map"], [[name, f"{share:.1%}"] for name, share in self.shares.items()]

    def __repr__(self) -> str:
        lines = [self.title, show.fitted(*self.table())]
        if self.boundaries:
            lines += ["", "Boundaries", *(str(boundary) for boundary in self.boundaries)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        edges = "".join(
            f"<li>{html.escape(' | '.join(boundary.between))}{_math(boundary)}</li>" for boundary in self.boundaries
        )
        return f"{show.html_table(*self.table(), self.title)}<ul>{edges}</ul>"


def _math(boundary: Boundary) -> str:
    return f": $\\displaystyle {boundary.latex()}$" if boundary.axis else ""


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
