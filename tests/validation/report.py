"""Writes docs/validation.md from the checks the tests make: ``make validation``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from validation.checks import render
from validation.groups import GROUPS

PAGE = Path(__file__).parents[2] / "docs" / "validation.md"
HEAD = """# How accurate, and against what?

Every table compares numbers of ours with numbers that share no code with us: published ones, tensors
counted in PyTorch and transformers, queues simulated event by event. The tables are printed by the same
code that runs as tests (`tests/validation/`), and a test fails when this page is not what they print;
`make validation` prints it anew. The error is ours over theirs, less one. Where a formula has a better
variant, the first-order form stands beside it. Misses are listed under their table with the reason.

"""


def main() -> None:
    """Compute every group and write the page."""
    sections = []
    for group in GROUPS:
        print(group.name, flush=True)
        sections.append(render(group, group.checks()))
    PAGE.write_text(HEAD + "\n".join(sections), encoding="utf-8")


if __name__ == "__main__":
    main()
