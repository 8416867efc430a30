"""The operation table, filled: a file a kind of operation."""

from mlsysim.graph.operations import (
    arithmetic,
    choices,
    chunked,
    erlang,
    least_integer,
    normal,
    outward,
    root,
    rounding,
    slots,
)

__all__ = [
    "arithmetic", "choices", "chunked", "erlang", "least_integer", "normal", "outward", "root", "rounding", "slots",
]  # fmt: skip
