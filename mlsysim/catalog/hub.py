"""Models by their id on the Hugging Face Hub, read from the local cache only."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlsysim.catalog.entries import TransformerWorkload

#: Organisation and name, optionally with a revision: ``meta-llama/Llama-3.1-8B@main``.
_ID = re.compile(r"([\w.-]+/([\w.-]+))(?:@([\w.-]+))?", re.ASCII)
FILE = "config.json"


def short_name(name: str) -> str:
    """Return the name of a Hub id without its organisation; empty if it is no Hub id."""
    matched = _ID.fullmatch(name)
    return matched[2] if matched and not matched[1].startswith(".") else ""


def cached_model(name: str, ignored: Iterable[str] = ()) -> TransformerWorkload | None:
    """Read a model's shape from its ``config.json`` in the local cache of the Hub; makes no request.

    Parameters
    ----------
    name : str
        Id of the model; append ``@REVISION`` for a revision other than ``main``.
    ignored : iterable of str
        Fields of the file that do not affect the shape.

    Returns
    -------
    TransformerWorkload or None
        None without ``huggingface_hub``, or if the file is not in the cache.
    """
    from mlsysim.catalog.huggingface import workload

    matched = _ID.fullmatch(name)
    try:
        from huggingface_hub import try_to_load_from_cache  # pyright: ignore[reportMissingImports]

        path = try_to_load_from_cache(matched[1], FILE, revision=matched[3]) if matched else None
    except (ImportError, ValueError):  # the latter is an id that the Hub has no model of
        return None
    return workload(path, ignore=tuple(ignored), name=name) if isinstance(path, str) else None


def how_to_get(name: str) -> str:
    """Say how to make a Hub id available, as the hint of an error."""
    try:
        import huggingface_hub  # noqa: F401  # pyright: ignore[reportMissingImports]
    except ImportError:
        cache = "ids of the Hub need huggingface_hub (pip install huggingface_hub) and "
    else:
        cache = "ids of the Hub need "
    model, _, revision = name.partition("@")
    chosen = f" --revision {revision}" if revision else ""
    return f"{cache}their config.json in its cache: hf download {model} {FILE}{chosen}; or give the path of a {FILE}"
