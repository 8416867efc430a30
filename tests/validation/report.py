"""Writes docs/validation.md, the pages of its areas and the accuracy.toml of results: ``make validation``.

They come from the checks the tests make. With names of groups as arguments, only those are computed; the others stay as
they are printed.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from validation import areas
from validation.checks import render
from validation.groups import GROUPS
from validation.pages import PAGES, SUMMARY, page_of, section_of, summary


def main() -> None:
    """Compute the groups and write the pages."""
    sections, accuracy = {page: [] for page in PAGES}, []
    for group in GROUPS:
        printed = section_of(group.title) if len(sys.argv) > 1 and group.name not in sys.argv[1:] else ""
        if printed:
            accuracy += areas.recorded(group.name)
        else:
            print(group.name, flush=True)
            checks = group.checks()
            printed = render(group, checks)
            accuracy += areas.records(group, checks)
        sections[page_of(group.title)].append(printed)
    areas.write(accuracy)
    for page, printed in sections.items():
        page.write(printed)
    SUMMARY.write_text(summary(), encoding="utf-8")


if __name__ == "__main__":
    main()
