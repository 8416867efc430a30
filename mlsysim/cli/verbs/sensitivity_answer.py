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

#: Inputs that a table has room for.
COLUMNS = 8


@in_options(["change", "plot"])
def answer(
    kind: type[PerformanceModel],
    words: Sequence[str],
    *,
    output: str | None,
    regimes: bool,
    change: float,
    plot: Path | None,
    variant: str | None,
    catalog: Path | None,
    as_json: bool,
    **options: bool,
) -> None:
    """Print a table of sensitivities, or which term binds where."""
    words = [*filter(None, [output]), *words]
    named = words[0].replace("-", "_") if words and "=" not in words[0] else ""
    given = axes.arguments(kind, words[1:] if named else words, shelf_of(catalog))
    if plot is not None:
        grids.drawable(plot)
    model = as_run(kind.asked(variant), given)
    long = axes.swept(given, 0)
    if regimes:
        found: Any = _regimes(model, named, long, given)
    else:
        found = model.sensitivity(named or model.answer, **options, **given)
    _show(found, at_point(model, given, [named]), change, plot, as_json)


def _regimes(model: PerformanceModel, output: str, long: Sequence[str], given: dict[str, Any]) -> Any:
    if not 1 <= len(long) <= 2:
        hint = "give one or two arguments several values, as in batch_size=1:256"
        raise InputError("--regimes", ", ".join(long), "is over one or two axes", hint)
    return model.regimes(*long, output=output or None, **given)


def _table(found: xarray.Dataset) -> None:
    """Elasticities along one axis, of the inputs in which they are largest."""
    axes_of = [str(dim) for dim in found.elasticity.dims if dim != "input"]
    if len(axes_of) > 1:
        hint = "give one of them one value, or ask with --regimes"
        raise InputError("arguments", ", ".join(axes_of), "a table is over one axis", hint)
    (axis,) = axes_of
    sizes = abs(found.elasticity).max(axis).fillna(0)
    names = [str(name) for name in sizes.sortby(-sizes).input.values[:COLUMNS] if float(sizes.sel(input=name))]
    print(f"Elasticities of {found.attrs['output']}")
    rows = [
        [
            cell_text(found[axis], value),
            *(f"{float(found.elasticity.sel({axis: value, 'input': n})):+.3f}" for n in names),
        ]
        for value in found[axis].values
    ]
    print(show.fitted([axis, *names], rows))


def _show(found: Any, basis: Basis | None, change: float, plot: Path | None, as_json: bool) -> None:
    if isinstance(found, xarray.Dataset):
        if plot is not None:
            raise InputError("--plot", str(plot), "draws one point", "give one value each, or --regimes")
        if as_json:
            print(with_basis(found.to_dict(), basis))
        else:
            _table(found)
            print_basis(basis)
        return
    print_answer(found, basis, as_json)
    if plot is not None:
        grids.draw(plot, partial(found.plot, change) if hasattr(found, "tornado") else found.plot, as_json)
