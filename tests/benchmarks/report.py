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


def drawn(rows, path):
    """Time against grid size, as a figure beside the page and as a table."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    matplotlib.rcParams["svg.hashsalt"] = "search"
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    points = [row["points"] for row in rows]
    for name, mark in zip(rows[0]["bounds"], "os^", strict=True):
        axes.loglog(points, [row["bounds"][name] for row in rows], f"-{mark}", label=f"bounds, {name}")
        open_ = [(row["points"], row["bounds"][name]) for row in rows if not row["proven"][name]]
        if open_:
            axes.loglog(*zip(*open_, strict=True), mark, mfc="white", mec="black", ms=9, ls="", zorder=3)
    dense = [(row["points"], row["dense"]) for row in rows if "dense" in row]
    axes.loglog(*zip(*dense, strict=True), "k--d", label="streaming, step_time")
    axes.set(xlabel="layouts", ylabel="seconds, warm", title="White: stopped at the time limit, with a gap")
    axes.legend(fontsize="small")
    axes.grid(alpha=0.3)
    figure.savefig(path, metadata={"Date": None})
    names = list(rows[0]["bounds"])
    text = "### Time against the size of the grid\n\n![Time against grid size](search_scaling.svg)\n\n"
    text += f"| layouts | {' | '.join(f'bounds, {name}' for name in names)} | streaming, step_time |\n"
    text += "|---:" * (len(names) + 2) + "|\n"
    for row in rows:
        cells = [seconds(row["bounds"][name]) + ("" if row["proven"][name] else " (gap left)") for name in names]
        last = seconds(row["dense"]) if "dense" in row else "-"
        text += f"| {row['points']:.1e} | {' | '.join(cells)} | {last} |\n"
    return text + "\n"


def main():
    """``report.py RESULT.json PAGE.md``."""
    result = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    machine = result["machine_info"]
    page = HEAD.format(cores=machine["cpu"].get("count", "?"), python=machine["python_version"])
    for heading, part in (
        ("Against mlsysim 0.3.0", "test_against_mlsysim_0_3_0"),
        ("One point", "test_solve"),
        ("A sweep against a loop over `solve`", "test_grid"),
        ("Millions of points against hand-written loops", "test_dense"),
        ("The exact optimum of grids nobody could enumerate", "test_search"),
        ("What would it take", "test_inverse"),
        ("Constants from measurements", "test_calibration"),
        ("Gradients of a million points", "test_sensitivity"),
        ("Draws of uncertain inputs", "test_uncertainty"),
    ):
        rows = [
            b["extra_info"]
            for b in result["benchmarks"]
            if f"/{part}.py" in b["fullname"] and "ratio" in b["extra_info"]
        ]
        page += f"## {heading}\n\n{table(rows)}\n"
    scaling = [b["extra_info"]["scaling"] for b in result["benchmarks"] if "scaling" in b["extra_info"]]
    if scaling:
        page += drawn(json.loads(scaling[0]), Path(sys.argv[2]).with_name("search_scaling.svg"))
    Path(sys.argv[2]).write_text(page.rstrip("\n") + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
