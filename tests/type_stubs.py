"""The type stub of the package, from the declared models and the catalog; ``python tests/type_stubs.py`` writes it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import mlsysim
from mlsysim.catalog import Catalog, builtin
from mlsysim.models import PerformanceModel
from mlsysim.models.registry import ours
from mlsysim.symbolic import Variable, variable_of

STUB = Path(mlsysim.__file__).with_name("__init__.pyi")
HEAD = '''\
"""Printed by tests/type_stubs.py: what editors know of models, results and the catalog."""

from typing import Any, TypedDict, Unpack

import xarray
from pint import Quantity

from mlsysim import catalog as _catalog
from mlsysim.study.searches.designs import Designs as _Designs
from mlsysim.study.function import PureFunction as _PureFunction
'''


def stub() -> str:
    """The whole stub."""
    models = [each.load() for each in ours()]
    names = {model.__name__ for model in models}
    imports = [
        f"from {home} import {name} as {'_' if name in names else ''}{name}" for name, home in mlsysim._HOME.items()
    ]
    exported = [f"__all__ = {sorted(mlsysim.__all__)!r}", "__version__: str"]
    parts = [HEAD, *imports, "", *exported, ""]
    for model in models:
        parts += [*classes(model), ""]
    return "\n".join([*parts, *shelves()]) + "\n"


def classes(model: type[PerformanceModel]) -> Iterator[str]:
    """The inputs, the result and the model."""
    name = model.__name__
    stem = name.removesuffix("Model")
    keywords = {each: variable for each, variable in model.arguments.items() if variable is not None}
    yield f"class _{stem}Inputs(TypedDict, total=False):"
    yield from _members({**{each: typed(variable) for each, variable in keywords.items()}, **by_keyword(model)})
    yield f"class _{stem}Result(Result):"
    outputs = {v.name for variant in model.variants for v in model(variant).system.variables}
    shown = {each: kind(variable_of(each)) for each in sorted({*outputs, *keywords})}
    yield from _members(shown)
    kinds = {each: f"str | _catalog.{model.slots[each].entry.__name__}" for each in model.positional()}
    entries = "".join(f", {each}: {kind} = ..." for each, kind in kinds.items())
    inputs = f"{entries}, **inputs: Unpack[_{stem}Inputs]"
    yield f"class {name}(_{name}):"
    yield f"    def solve(self{inputs}) -> _{stem}Result: ...  # type: ignore[override]"
    outputs = "outputs: Any, *entries: Any, check: bool = ..."
    yield f"    def function(self, {outputs}, **inputs: Any) -> _PureFunction: ...  # type: ignore[override]"
    yield f"    def sweep(self{entries}, **axes: Any) -> xarray.Dataset: ...  # type: ignore[override]"
    yield f"    def search(self{entries}, **axes: Any) -> _Designs: ...  # type: ignore[override]"
    if hasattr(model, "simulate"):
        yield f"    def simulate(self{entries}, **inputs: Any) -> Simulation: ...  # type: ignore[override]"
    yield "    @classmethod"
    yield f"    def solve_example(cls, **changed: Any) -> _{stem}Result: ..."


def by_keyword(model: type[PerformanceModel]) -> dict[str, str]:
    """Entries that are given by name alone."""
    names = [each for each in model.slots if each not in model.positional()]
    return {each: f"str | _catalog.{model.slots[each].entry.__name__}" for each in names}


def typed(variable: Variable) -> str:
    """What may be given for an input."""
    if variable.domain.is_flag:
        return "bool | str"
    if variable.domain.kind == "choice":
        return "str"
    return "float | str | Quantity[Any]"


def kind(variable: Variable) -> str:
    """As what a result has a value."""
    if variable.domain.kind == "boolean":
        return "bool"
    if variable.domain.kind == "choice":
        return "str"
    if variable.dimension and not variable.named_unit:
        return "Quantity[Any]"
    return "float"


def shelves() -> Iterator[str]:
    """The tables of the catalog, group by group."""
    shelf = builtin()
    for table in mlsysim._CATALOG:
        paths = [path for path in shelf.paths() if path.startswith(f"{table}.")]
        groups = list(dict.fromkeys(path.split(".")[1] for path in paths if path.count(".") > 1))
        for group in groups:
            own = {path.split(".")[2]: path for path in paths if path.startswith(f"{table}.{group}.")}
            yield f"class _{table}{group}(_catalog.Group):"
            yield from _members({name: entry_of(shelf, path) for name, path in own.items()})
        flat = {path.split(".")[1]: entry_of(shelf, path) for path in paths if path.count(".") == 1}
        yield f"class _{table}(_catalog.Group):"
        yield from _members({**{group: f"_{table}{group}" for group in groups}, **flat})
        yield f"{table}: _{table}"


def entry_of(shelf: Catalog, path: str) -> str:
    """The class of an entry."""
    return f"_catalog.{type(shelf.entry(path)).__name__}"


def _members(kinds: dict[str, str]) -> Iterator[str]:
    for name, kind in kinds.items():
        yield f"    {name}: {kind}"
    if not kinds:
        yield "    ..."


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
