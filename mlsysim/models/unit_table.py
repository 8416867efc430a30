"""Prints the table of units that ships, so that pint is loaded where a user meets a quantity and not before.

``python -m mlsysim.models.unit_table`` writes it, and a test says when it is old.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from mlsysim.catalog import builtin
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
    """Write the file that ships."""
    Path(str(TABLE)).write_text(unit_table(), encoding="utf-8")


if __name__ == "__main__":
    main()
