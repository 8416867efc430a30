"""Answer of ``mlsysim sensitivity``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import xarray

from mlsysim import show
from mlsysim.cli import axes, grids
from mlsysim.cli.foot import print_answer, print_basis, with_basis
from mlsysim.cli.summary import cell_text
from mlsysim.cli.words import in_options, shelf_of
from mlsysim.errors import InputError
from mlsysim.inputs.recipe import as_run
from mlsysim.models import PerformanceModel
from mlsysim.study.results.basis import Basis, at_point
from mlsysim.study.sensitivities.table import ROWS, Sensitivity

#: Most inputs in a table.
COLUMNS = 8


@in_options(["change", "plot"])
def answer(
    kind: type[PerformanceModel],
    words: Sequence[str],
    *,
    output: str | None,
    regimes: bool,
    everything: bool,
    change: float,
    plot: Path | None,
    variant: str | None,
    catalog: Path | None,
    as_json: bool,
    **options: bool,
) -> None:
    """Print a table of sensitivities, or the regions in which each term binds."""
    words = [*filter(None, [output]), *words]
    output = words[0].replace("-", "_") if words and "=" not in words[0] else ""
    arguments = axes.arguments(kind, words[1:] if output else words, shelf_of(catalog))
    if plot is not None:
        grids.drawable(plot)
    model = as_run(kind.asked(variant), arguments)
    long = axes.swept(arguments, 0)
    if regimes:
        response: Any = _regimes(model, output, long, arguments)
    else:
        response = model.sensitivity(output or model.answer, **options, **arguments)
    _show(response, at_point(model, arguments, [output]), everything, change, plot, as_json)


def _regimes(model: PerformanceModel, output: str, long: Sequence[str], arguments: dict[str, Any]) -> Any:
    if not 1 <= len(long) <= 2:
        hint = "give one or two arguments several values, as in batch_size=1:256"
        raise InputError("--regimes", ", ".join(long), "is over one or two axes", hint)
    return model.regimes(*long, output=output or None, **arguments)


def _table(grid: xarray.Dataset) -> None:
    """Print elasticities along one axis, for the inputs with the largest ones."""
    axes_of = [str(dim) for dim in grid.elasticity.dims if dim != "input"]
    if len(axes_of) > 1:
        hint = "give one of them one value, or ask with --regimes"
        raise InputError("arguments", ", ".join(axes_of), "a table is over one axis", hint)
    (axis,) = axes_of
    sizes = abs(grid.elasticity).max(axis).fillna(0)
    names = [str(name) for name in sizes.sortby(-sizes).input.values[:COLUMNS] if float(sizes.sel(input=name))]
    print(f"Elasticities of {grid.attrs['output']}")
    rows = [
        [
            cell_text(grid[axis], value),
            *(f"{float(grid.elasticity.sel({axis: value, 'input': name})):+.3f}" for name in names),
        ]
        for value in grid[axis].values
    ]
    print(show.fitted([axis, *names], rows))


def _show(
    response: Any, basis: Basis | None, everything: bool, change: float, plot: Path | None, as_json: bool
) -> None:
    if isinstance(response, xarray.Dataset):
        if plot is not None:
            raise InputError("--plot", str(plot), "draws one point", "give one value each, or --regimes")
        if as_json:
            print(with_basis(response.to_dict(), basis))
        else:
            _table(response)
            print_basis(basis)
        return
    at_one_point = isinstance(response, Sensitivity)
    if at_one_point and not as_json:
        print(response.text(None if everything else ROWS).replace("text(most=None) has all", "--all has them"))
        print_basis(basis)
    else:
        print_answer(response, basis, as_json)
    if plot is not None:
        grids.draw(plot, partial(response.plot, change) if at_one_point else response.plot, as_json)
