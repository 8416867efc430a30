"""Writes docs/validation.md and the accuracy.toml of results from the checks the tests make: ``make validation``.

With names of groups as arguments, only those are computed; the others stay as they are printed.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from validation import areas
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
    """Compute the groups and write the page."""
    sections, accuracy = [], []
    for group in GROUPS:
        printed = _printed(group.title) if len(sys.argv) > 1 and group.name not in sys.argv[1:] else ""
        if printed:
            sections.append(printed)
            accuracy += areas.recorded(group.name)
            continue
        print(group.name, flush=True)
        checks = group.checks()
        sections.append(render(group, checks))
        accuracy += areas.records(group, checks)
    areas.write(accuracy)
    PAGE.write_text(HEAD + "\n".join(sections), encoding="utf-8")


def _printed(title: str) -> str:
    """The section of a group as it stands; empty where it has none yet."""
    heading = f"## {title}\n"
    _, found, after = PAGE.read_text(encoding="utf-8").partition(heading)
    return heading + after.partition("\n## ")[0].rstrip("\n") + "\n" if found else ""


if __name__ == "__main__":
    main()
