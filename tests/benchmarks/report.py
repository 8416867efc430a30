"""Writes docs/benchmarks.md from the JSON of a benchmark run."""

import json
import sys
from pathlib import Path

HEAD = """# Benchmarks

Ratios of time, ours over the other's, measured in turn in one run; below 1 we are faster. The numbers
of this page are written by `make bench`, which sets up the mlsysim 0.3.0 of PyPI in an environment of
its own (`.venv-0.3.0`), runs `tests/benchmarks/` and prints this page from the result. Ratios are
medians of pairs; absolute times are medians on {cores} cores with Python {python} and tell less.

"""
TABLE = """| what | ours | other | ratio | target |
|---|---:|---:|---:|---:|
"""


def seconds(value):
    """A time with a unit that fits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g} s"


def aim(row):
    """The target of a ratio, and whether it was missed."""
    if row["target"] is None:
        return "-"
    return f"{row['target']:.3g}" + ("" if row["ratio"] <= row["target"] else " (missed)")


def table(rows):
    """Rows of extra_info as a Markdown table."""
    lines = [
        f"| {row['title']} | {seconds(row['ours'])} | {seconds(row['theirs'])} | {row['ratio']:.3g} | {aim(row)} |"
        for row in rows
    ]
    return TABLE + "\n".join(lines) + "\n"


def main():
    """``report.py RESULT.json PAGE.md``."""
    result = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    machine = result["machine_info"]
    page = HEAD.format(cores=machine["cpu"].get("count", "?"), python=machine["python_version"])
    for heading, part in (
        ("Against mlsysim 0.3.0", "test_against_mlsysim_0_3_0"),
        ("A sweep against a loop over `solve`", "test_grid"),
    ):
        rows = [b["extra_info"] for b in result["benchmarks"] if part in b["fullname"] and b["extra_info"]]
        page += f"## {heading}\n\n{table(rows)}\n"
    Path(sys.argv[2]).write_text(page.rstrip("\n") + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
