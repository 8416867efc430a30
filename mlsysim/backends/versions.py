"""Versions on which the last bit of a result depends, apart from its inputs."""

from __future__ import annotations

import numpy as np

from mlsysim.version import __version__

#: Goes up when formulas are lowered in another order of operations, which moves last digits.
LOWERING = 1


def versions() -> str:
    """Versions of what computes, and the kind of device it runs on, as one line of text."""
    import jax
    from jaxlib.version import __version__ as jaxlib_version

    return " ".join(
        [
            __version__,
            f"lowering {LOWERING}",
            jax.__version__,
            jaxlib_version,
            np.__version__,
            jax.devices()[0].platform,
        ]
    )
