"""What ``mlsysim solve-for`` does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from mlsysim.cli.exits import Exit

HELP = """What it would take: the value of one argument at which outputs are what they must be.

\b
mlsysim solve-for memory batch_size model=Llama3_8B hardware=H100 seq_len=8192 feasible=true
mlsysim solve-for serve memory_bandwidth model=Llama3_8B hardware=H100 qps=20 \\
    target_p99_latency_ms=4000 max_batch_size=16 "estimated_p99_latency<=2 s"

A word that names an output is a target: NAME=VALUE, or NAME<=VALUE and the other comparisons.
Quote words with < or >. All targets must hold.
"""

_TARGET = re.compile(r"\s*([\w-]+)\s*(<=|>=|==|!=|<|>|=)\s*(.*)", re.S)


def solve_for(
    kind: Any,
    unknown: str,
    words: Sequence[str],
    *,
    which: str | None,
    subject_to: Sequence[str],
    variant: str | None,
    catalog: Path | None,
    as_json: bool,
    strict: bool,
) -> None:
    """Print the value of one argument at which targets hold; on a grid a table of values."""
    from mlsysim.catalog import builtin, load_catalog
    from mlsysim.cli import axes, output
    from mlsysim.cli.grids import as_typed
    from mlsysim.cli.summary import print_sweep
    from mlsysim.inputs.recipe import as_run
    from mlsysim.study.inverse import Solution

    shelf = load_catalog(catalog) if catalog else builtin()
    with as_typed():
        model = kind(variant)
        arguments, targets = _split(model, words)
        given = axes.arguments(kind, arguments, shelf)
        model = as_run(model, given)
        name = unknown.replace("-", "_")
        found = model.solve_for(name, which=which, subject_to=list(subject_to), **given, **targets)
    if not isinstance(found, Solution):
        print(found.to_json() if as_json else "", end="") if as_json else print_sweep(found, name)
        return
    if as_json:
        print(found.to_json())
    else:
        output.block(found.text())
    if strict and found.value is None:
        raise typer.Exit(Exit.INFEASIBLE)


def _split(model: Any, words: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
    """Words that give arguments, and targets by output."""
    arguments, targets = [], {}
    for word in words:
        matched = _TARGET.match(word)
        name = matched[1].replace("-", "_") if matched else ""
        if matched is None or (name in model.arguments or name not in model.system):
            arguments.append(word)
        elif name in targets:
            targets[name] = f"{targets[name]} and {name} {matched[2]} {matched[3]}"
        elif matched[2] == "=":
            targets[name] = _values(matched[3])
        else:
            targets[name] = f"{matched[2]} {matched[3]}"
    return arguments, targets


def _values(text: str) -> Any:
    """A target, or several with commas between."""
    parts = [_number(part.strip()) for part in text.split(",")]
    return parts if len(parts) > 1 else parts[0]


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text
