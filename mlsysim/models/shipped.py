"""Prints what ships with the library, so that first answers need not wait for it: source, and a table of units.

``python -m mlsysim.models.shipped`` writes what every variant of our models and its example ask the compiler for: all
outputs, the headline for sweeps, and the derivatives of the answers. Source in it is found by what it was printed from:
where formulas or the printer have changed it is printed anew, and a test says that this file is old.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import Any
from unittest import mock

from mlsysim.backends import compiled, kept
from mlsysim.backends.source import SourceCode
from mlsysim.catalog import builtin
from mlsysim.errors import MlsysimError
from mlsysim.jsontext import json_text
from mlsysim.models.registry import ours
from mlsysim.symbolic import UnitSymbol
from mlsysim.symbolic.chunked_prefill import ARGUMENTS, OUTPUTS
from mlsysim.symbolic.variable import declared_by
from mlsysim.units import LADDERS, TABLE, table_of

#: Kinds of variables of which an example is a number with a unit.
NUMBERS = "real", "integer"
#: Units that nothing of ours is written in, and users often write.
TYPED = "us", "min", "hour", "MiB", "TiB"


def sources() -> dict[str, SourceCode]:
    """What ships, by key."""
    with tempfile.TemporaryDirectory() as place, mock.patch.dict(os.environ, {kept.VARIABLE: place}):
        for _ in asked():
            pass
        names = {file.stem for file in Path(place).iterdir()}
        found = {name: kept.find(name) for name in names}
    return {name: source for name, source in found.items() if source is not None}


def asked() -> Iterator[str]:
    """Ask the compiler for what first answers need.

    Yields
    ------
    str
        The model and variant that was asked, when it was.
    """
    for listed in ours():
        model = listed.load()
        for variant in model.variants:
            of = model(variant)
            compiled(of.system)
            compiled(of.system, of.headline)
            compiled(of.system, (of.headline[0],), "jax")
            # The example leaves out what its entries do not give; not every variant takes its arguments.
            with contextlib.suppress(MlsysimError):
                model.solve_example(variant=variant)
            yield repr(of)


def unit_table() -> str:
    """The table of the units that the vocabulary, the formulas and the catalog write, and some more, as JSON."""
    models = [listed.load()(variant) for listed in ours() for variant in listed.load().variants]
    texts = {v.unit for model in models for v in (*model.system.variables, *model.system.inputs)}
    texts |= {variable.unit for variable in declared_by("mlsysim")}
    texts |= {
        atom.name for model in models for formula in model.system for atom in formula.expression.atoms(UnitSymbol)
    }
    written = {each for model in models for formula in model.system for each in (formula, formula.printed)}
    texts |= {each.example.unit() for each in written if each.example and each.variable.domain.kind in NUMBERS}
    texts |= {*OUTPUTS.values(), *(unit for unit, _ in ARGUMENTS.values())}
    texts |= {unit for path in builtin().paths() for unit in _units_in(builtin().entry(path).model_dump())}
    return json_text(table_of({*texts, *chain(*LADDERS), *TYPED})) + "\n"


def _units_in(content: Any) -> Iterator[str]:
    """Every unit that an entry of the catalog is written in."""
    if isinstance(content, dict):
        if isinstance(content.get("unit"), str):
            yield content["unit"]
        content = content.values()
    elif isinstance(content, str) or not isinstance(content, Iterable):
        return
    for part in content:
        yield from _units_in(part)


def main() -> None:
    """Write the files that ship."""
    Path(str(TABLE)).write_text(unit_table(), encoding="utf-8")
    found = sources()
    file = Path(str(resources.files("mlsysim.backends") / kept.SHIPPED))
    file.write_bytes(kept.packed(found))
    print(f"wrote {len(found)} functions to {file.name}, {file.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
