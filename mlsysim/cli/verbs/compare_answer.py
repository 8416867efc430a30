"""Answer of ``mlsysim compare``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mlsysim.cli import axes, grids
from mlsysim.cli.foot import print_basis
from mlsysim.cli.words import in_options, shelf_of
from mlsysim.errors import InputError
from mlsysim.inputs.recipe import as_run
from mlsysim.jsontext import json_text
from mlsysim.models import PerformanceModel
from mlsysim.study.results.basis import arguments_at, of_result
from mlsysim.study.results.comparison import compare


@in_options(["output"])
def answer(
    kind: type[PerformanceModel],
    words: Sequence[str],
    *,
    output: str | None,
    variant: str | None,
    plot: Path | None,
    catalog: Path | None,
    as_json: bool,
) -> None:
    """Print two answers side by side."""
    if plot is not None:
        grids.drawable(plot)
    arguments = axes.arguments(kind, words, shelf_of(catalog))
    variants = [name.strip() for name in variant.split(",")] if variant else [None]
    points = _two(arguments, variants)
    first, second = (as_run(kind.asked(name), point).solve(**point) for name, point in points)
    comparison = compare(first, second, output)
    bases = [of_result(result, [comparison.output]) for result in (first, second)]
    if as_json:
        both = {name: basis.to_dict() for name, basis in zip(("first", "second"), bases, strict=True)}
        print(json_text({**comparison.to_dict(), "basis": both}))
    else:
        print(comparison)
        for basis in bases if bases[0].lines() != bases[1].lines() else bases[:1]:
            print_basis(basis)
    if plot is not None:
        grids.draw(plot, comparison.plot, as_json)


def _two(arguments: dict[str, Any], variants: Sequence[str | None]) -> list[tuple[str | None, dict[str, Any]]]:
    """Return the two points, each with its variant."""
    several = axes.swept(arguments, 0)
    pairs = [f"{name} has {len(arguments[name])}" for name in several]
    pairs += [f"--variant has {len(variants)}"] * (len(variants) > 1)
    if len(pairs) != 1 or not pairs[0].endswith(" 2"):
        raise InputError("arguments", ", ".join(pairs) or "no lists", "one argument, or --variant, has two values",
                         "as in tp_size=4,8")  # fmt: skip
    if not several:
        return [(name, arguments) for name in variants]
    return [(variants[0], arguments_at(arguments, dict.fromkeys(several, index))) for index in (0, 1)]
