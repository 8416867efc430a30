"""Answer of ``mlsysim uncertainty``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import xarray

from mlsysim.catalog import Catalog
from mlsysim.cli import axes, grids
from mlsysim.cli.foot import print_answer, print_basis
from mlsysim.cli.words import in_options, shelf_of
from mlsysim.errors import InputError, UnknownNameError
from mlsysim.inputs.recipe import as_run
from mlsysim.models import PerformanceModel
from mlsysim.study.results.basis import Basis, at_point
from mlsysim.study.uncertainties.distributions import ARGUMENT, BY_NAME, Choice, Distribution, read


@in_options(
    ("samples", "seed", "quantiles", "sobol", "plot"),
    replacements={
        r"^outputs=": "--output ",
        r"^conditions=": "--probability ",
        rf"^{ARGUMENT}\['(\w+)'\]=": r"\1=",
        rf"^{ARGUMENT}=.*?: give the distribution.*": "no argument has a distribution; give one as in "
        "'efficiency=uniform(0.3, 0.5)', or --ranges",
    },
)
def answer(
    kind: type[PerformanceModel],
    words: Sequence[str],
    *,
    output: str | None,
    probability: Sequence[str] | None,
    ranges: bool,
    quantiles: str,
    plot: Path | None,
    variant: str | None,
    catalog: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Print the distribution of the outputs."""
    shelf = shelf_of(catalog)
    typed, drawn = _sorted(kind, words, shelf)
    arguments = axes.arguments(kind, typed, shelf)
    if ranges and drawn:
        raise InputError("ranges", True, "takes every range of the catalog; for one of them, NAME=catalog")
    if plot is not None:
        grids.drawable(plot)
    model = as_run(kind.asked(variant), arguments)
    levels: Any = quantiles.split(",")
    outputs = [name.strip() for name in output.split(",")] if output else [model.answer]
    answer = model.uncertainty(
        outputs,
        distributions="catalog" if ranges else drawn,
        conditions=list(probability or ()),
        quantiles=levels,
        **options,
        **arguments,
    )
    fixed = {name: choice.values[0] for name, choice in drawn.items() if isinstance(choice, Choice)}
    basis = at_point(model, {**arguments, **fixed}, outputs, free=[name for name in drawn if name not in fixed])
    _show(answer, basis, as_json, plot)


def _sorted(
    kind: type[PerformanceModel], words: Sequence[str], shelf: Catalog
) -> tuple[list[str], dict[str, Distribution]]:
    """Separate words into values and distributions by argument."""
    typed, drawn = [], {}
    for word in words:
        name, _, text = word.partition("=")
        name, text = name.strip().replace("-", "_"), text.strip()
        matched = re.match(r"(\w+)\s*\(", text)
        if text != "catalog" and not matched:
            typed.append(word)
            continue
        if name not in kind.arguments:
            raise UnknownNameError(f"argument of {kind.__name__}", name, kind.arguments)
        if matched and matched[1].lower() not in BY_NAME:
            raise UnknownNameError("distribution", matched[1], BY_NAME)
        if name in drawn:
            raise InputError(name, text, "has two distributions")
        drawn[name] = read(name, text)
        slot, distribution = kind.slots.get(name), drawn[name]
        if slot is not None and isinstance(distribution, Choice):
            drawn[name] = Choice(
                [shelf.find(slot.entry.what, str(value)) for value in distribution.values], distribution.weights
            )
    return typed, drawn


def _show(answer: Any, basis: Basis | None, as_json: bool, plot: Path | None) -> None:
    grid = isinstance(answer, xarray.Dataset)
    if grid and (as_json or plot is not None):
        raise InputError("--json" if as_json else "plot", str(plot or True), "is of one point; give one value each")
    if grid:
        from mlsysim.cli.summary import print_sweep

        print_sweep(answer, str(next(iter(answer.data_vars))))
        print_basis(basis)
        return
    print_answer(answer, basis, as_json)
    if plot is not None:
        grids.draw(plot, answer.plot, as_json)
