"""The tables of docs/formats.md, from the presets; ``python tests/format_tables.py`` writes them anew."""

from collections.abc import Iterable
from pathlib import Path

from mlsysim.formats import BITS, PRESETS, SCALES, STORED, Preset, rate_format

PAGE = Path(__file__).parents[1] / "docs" / "formats.md"
BY_PRESET, BY_FORMAT = "<!-- presets -->", "<!-- formats -->"


def table(rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table; the first row is its heading."""
    first, *others = (tuple(row) for row in rows)
    lines = [first, tuple("---" for _ in first), *others]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def presets() -> str:
    """Which format each preset gives to each part."""
    rows = ((f"`{name}`", *preset, rate_format(name)) for name, preset in PRESETS.items())
    return table([("`precision`", *Preset._fields, "peak rate"), *rows])


def formats() -> str:
    """Bits, scales and bytes of each format."""
    rows = []
    for name, bits in BITS.items():
        block, scales = SCALES.get(name, (0, 0))
        shared = f"{float(scales):g} B for {block}" if block else "none"
        rows.append((f"`{name}`", str(bits), shared, f"{float(STORED[name]):.6g}"))
    return table([("format", "bits", "scales", "bytes a number"), *rows])


def written(page: str) -> str:
    """The page with its tables printed anew."""
    for mark, printed in ((BY_PRESET, presets()), (BY_FORMAT, formats())):
        before, _, after = page.partition(mark + "\n")
        rest = after.lstrip("\n").partition("\n\n")[2]
        page = f"{before}{mark}\n{printed}\n\n{rest}"
    return page.rstrip("\n") + "\n"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
