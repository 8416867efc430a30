"""Prints the source that ships with the library, so that first answers need not wait for it.

``python -m mlsysim.models.shipped`` writes what the example of every variant of our models asks the compiler for, and
the derivatives of the answers. Source in it is found by what it was printed from: where formulas or the printer have
changed it is printed anew, and a test says that this file is old.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from unittest import mock

from mlsysim.engine import compiled, kept
from mlsysim.engine.source import Source
from mlsysim.errors import MlsysimError
from mlsysim.models.registry import ours


def sources() -> dict[str, Source]:
    """What ships, by key."""
    with tempfile.TemporaryDirectory() as place, mock.patch.dict(os.environ, {kept.VARIABLE: place}):
        for _ in asked():
            pass
        names = {file.name.partition("-")[0] for file in Path(place).iterdir()}
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
            compiled(of.system, (of.headline[0],), "jax")
            # The example leaves out what its entries do not give; not every variant takes its arguments.
            with contextlib.suppress(MlsysimError):
                model.solve_example(variant=variant)
            yield repr(of)


def main() -> None:
    """Write the file that ships."""
    found = sources()
    file = Path(str(resources.files("mlsysim.engine") / kept.SHIPPED))
    file.write_bytes(kept.packed(found))
    print(f"wrote {len(found)} functions to {file.name}, {file.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
