"""How many random examples a test tries: a part of them in a quick run, all with ``--long``."""

import zlib
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings

T = TypeVar("T")
#: A quick run tries one example in so many, but no fewer than this.
SHARE, FEWEST = 16, 4
#: Of a test with parameters a quick run takes so many, and one in so many of those left.
FEW, ONE_IN = 2, 10


def is_long() -> bool:
    """Whether the run was started with ``--long``."""
    return settings.get_current_profile_name() == "long"


def tries(examples: int, quick: int | None = None) -> int:
    """How many of so many examples this run tries; ``quick`` of them in a quick run, where it is given."""
    if is_long():
        return examples
    return min(examples, max(examples // SHARE, FEWEST)) if quick is None else quick


def fuzzing(examples: int, quick: int | None = None, *, derandomize: bool = True) -> settings:
    """Settings of a test that draws so many examples; where derandomized, a quick run draws the first of them."""
    return settings(
        derandomize=derandomize,
        deadline=None,
        max_examples=tries(examples, quick),
        suppress_health_check=list(HealthCheck),
    )


def drawn(name: str, one_in: int) -> bool:
    """Whether a quick run takes this one of many like it: one in so many, always the same ones."""
    return zlib.crc32(name.encode()) % one_in == 0


def sampled(values: Iterable[T], name: Callable[[T], str], one_in: int = 10) -> list[T]:
    """All values that a test looks through with ``--long``; in a quick run those drawn by name."""
    return [each for each in values if is_long() or drawn(name(each), one_in)]


def a_few(params: Iterable[T], name: Callable[[T], str] = str) -> list[T]:
    """Those of the parameters of a test that a quick run takes: the first by a hash of their names."""
    ordered = sorted(params, key=lambda each: zlib.crc32(name(each).encode()))
    return ordered[: FEW + max(len(ordered) - FEW, 0) // ONE_IN]


def rest_long(params: Iterable[Any], quick: int) -> list[Any]:
    """Parameters of a test of which only the first few are quick."""
    first, marks = list(params), pytest.mark.long
    rest = [pytest.param(*(each if isinstance(each, tuple) else (each,)), marks=marks) for each in first[quick:]]
    return [*first[:quick], *rest]
