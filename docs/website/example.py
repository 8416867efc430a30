"""Sections of the README for the first page, and the picture of its example for previews of links."""

from __future__ import annotations

import contextlib
import io
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

from mlsysim.version import __version__

README = Path(__file__).parents[2] / "README.md"
#: Pixels of a preview, as sites that show them want it, by so many an inch.
WIDTH, HEIGHT, DENSITY = 1200, 630, 100


def section(title: str) -> str:
    """A section of the README, without its title."""
    return README.read_text(encoding="utf-8").partition(f"\n## {title}\n")[2].partition("\n## ")[0].strip()


@cache
def names() -> dict[str, Any]:
    """Names that the example defines."""
    os.environ.setdefault("MPLBACKEND", "agg")
    found: dict[str, Any] = {}
    block = re.search(r"```python\n(.*?)```", section("One equation"), re.DOTALL)
    with contextlib.redirect_stdout(io.StringIO()):
        exec(block[1], found)
    return found


def preview() -> bytes:
    """A picture for links to the site: the name, the equation with its numbers, the curves."""
    from matplotlib.figure import Figure

    from mlsysim import plot

    figure = Figure(figsize=(WIDTH / DENSITY, HEIGHT / DENSITY), dpi=DENSITY, facecolor="white")
    figure.text(0.05, 0.87, "mlsysim", size=40, weight="bold", color="#0b3d5c")
    figure.text(0.05, 0.79, "Costs of machine-learning systems as equations with units and sources", size=19)
    lines = names()["found"].explain("decode_step_time").steps()[-1].splitlines()[1:4]
    equation = "\n".join(line.removeprefix("  ") for line in lines)
    figure.text(0.05, 0.57, equation, family="monospace", size=15, linespacing=1.5, color="#0b3d5c")
    axes = figure.add_axes((0.09, 0.11, 0.7, 0.42))
    plot.lines(names()["grid"], "decode_step_time", "max_batch_size", "seq_len", ax=axes)
    axes.set_title("", loc="left")
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", metadata={"Software": f"mlsysim {__version__}"})
    return drawn.getvalue()
