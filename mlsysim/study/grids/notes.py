"""What a reader must know beside the numbers of a grid, as far as its inputs show it, with how many points it is of."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from mlsysim.engine import compiled_expression
from mlsysim.inputs.binding import Binding
from mlsysim.inputs.declaration import Caveat
from mlsysim.study.results.display import as_text
from mlsysim.study.results.notes import lengths, longest, too_long, without_arguments
from mlsysim.symbolic import variable_of

#: Most combinations of the axes that a condition depends on at which it is looked at.
LARGEST = 1 << 16
#: Most models that are named.
NAMED = 3


def grid_notes(binding: Binding, variants: Collection[str]) -> tuple[str, ...]:
    """What is too long, was left out, a better variant may say, and is to be known of the inputs; one line each.

    Parameters
    ----------
    binding : Binding
        The inputs of one variant, of which some are axes.
    variants : collection of str
        The variants that are asked on the grid.
    """
    better = binding.model.better
    found = [*_beyond_context(binding), without_arguments(binding.model, binding.left_out), *_caveats(binding)]
    if better is not None and better.variant not in variants:
        found.append(f"{better.variant} is the variant that counts, and may say otherwise of {better.decides}")
    return tuple(note for note in found if note)


def _beyond_context(binding: Binding) -> Iterator[str]:
    """How many points have sequences longer than the model is made for."""
    entries = binding.entries.get("model")
    if entries is None:
        return
    several = entries if isinstance(entries, list) else [entries]
    most = np.array([longest(entry) for entry in several])
    if isinstance(entries, list):
        along = [name == "model" or "model" in (axis.members or {}) for name, axis in binding.axes.items()]
        if not any(along):
            return
        most = most.reshape([-1 if own else 1 for own in along])
    for names, used, said in lengths(binding.values):
        tokens = sum(np.asarray(binding.values[name], float) for name in names)
        if _size(tokens, most, used) <= LARGEST:
            points = _points(binding, (tokens > most) & (np.asarray(used) > 0))
            if points:
                made = [f"{e.key or e.name} ({longest(e):,.0f})" for e in several if longest(e) < np.max(tokens)]
                limit = ", ".join(made[:NAMED]) + f" and {len(made) - NAMED} others" * (len(made) > NAMED)
                yield f"{points}: {too_long(names, 'longer than the positions of', limit, said)}"


def _caveats(binding: Binding) -> Iterator[str]:
    """What the model wants to be known where inputs are so, with the values of the first such point."""
    for caveat in binding.model.caveats:
        names = _names(caveat)
        if not all(name in binding.values for name in names):
            continue
        if caveat.variants and binding.model.variant not in caveat.variants:
            continue
        values = {name: np.asarray(binding.values[name], float) for name in names}
        if _size(*values.values()) > LARGEST:
            continue
        met = np.asarray(compiled_expression(caveat.where)(values)["value"], bool)  # type: ignore[arg-type]
        if points := _points(binding, met):
            at = np.unravel_index(int(np.argmax(met)), met.shape)
            told = {name: as_text(variable_of(name), _at(values[name], at)) for name in caveat.told}
            yield f"{points}: {caveat.said.format(**told)}"


@lru_cache(maxsize=256)
def _names(caveat: Caveat) -> frozenset[str]:
    """Inputs and outputs that a caveat is about."""
    return frozenset({symbol.name for symbol in caveat.where.free_symbols} | caveat.told)


def _size(*values: Any) -> int:
    return math.prod(np.broadcast_shapes(*map(np.shape, values)))


def _points(binding: Binding, met: np.ndarray) -> str:
    """At how many points of the grid a condition holds; empty where at none."""
    total = math.prod(binding.sizes)
    count = int(np.count_nonzero(met)) * (total // max(met.size, 1))
    return f"{count:,} of {total:,} points" if count else ""


def _at(value: np.ndarray, at: tuple[Any, ...]) -> float:
    """An element of an array that was broadcast to more dimensions, or the number where it is one."""
    index = tuple(place if size > 1 else 0 for place, size in zip(at[len(at) - value.ndim :], value.shape, strict=True))
    return float(value[index])
