"""Answer of ``mlsysim simulate``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mlsysim.cli import axes, output
from mlsysim.cli.files import replaced, written
from mlsysim.cli.foot import print_basis, with_basis
from mlsysim.cli.words import in_options, shelf_of
from mlsysim.errors import InputError, MlsysimError
from mlsysim.models import PerformanceModel
from mlsysim.models.base import OWN_VERBS
from mlsysim.study.results.basis import at_point

#: Options that errors name as arguments.
_OPTIONS = ("requests", "seed", "num_rounds", "turns", "think_time", "warm_up", "trace", "arrival_unit", "session",
            "priority")  # fmt: skip


@in_options(_OPTIONS, replacements={r"^(--[\w-]+) '(.*?)':": r"\1 \2:"})
def answer(
    kind: type[PerformanceModel],
    words: Sequence[str],
    *,
    csv: Path | None,
    variant: str | None,
    catalog: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Print statistics of the simulated requests, and write the requests to a file."""
    (verb,) = OWN_VERBS
    if not hasattr(kind, verb):
        raise MlsysimError(f"{kind.command}: has no requests that come one by one; ask serve")
    known = {name: value for name, value in options.items() if value is not None}
    arguments = axes.arguments(kind, words, shelf_of(catalog))
    if several := axes.swept(arguments):
        raise InputError(several[0], arguments[several[0]], "a simulation takes one value of each argument")
    simulation = getattr(kind.asked(variant), verb)(**{**known, **arguments})
    basis = at_point(simulation.model, simulation.arguments, ("tpot_mean",))
    text = with_basis(simulation.to_dict(), basis) if as_json else simulation.text()
    if csv is not None:
        with replaced(csv) as temporary:
            simulation.to_csv(temporary)
    if as_json:
        print(text)
    else:
        output.block(text)
        print_basis(basis)
    if csv is not None:
        written(csv)
