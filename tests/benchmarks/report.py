"""Writes docs/benchmarks.md from the JSON of a benchmark run."""

import json
import math
import sys
from pathlib import Path

HEAD = """# Benchmarks

Ratios of time, ours over the other's, measured in turn in one run; below 1 we are faster. Where the other is what is
wanted, ours is the median of some runs. What is wanted was set on one machine, in the brackets; it is multiplied by
what a yardstick, timed beside the row, takes here over what it took there. The numbers
of this page are written by `make bench`, which sets up the mlsysim 0.3.0 of PyPI in an environment of
its own (`.venv-0.3.0`), runs `tests/benchmarks/` and prints this page from the result. Ratios are
medians of pairs; absolute times are medians on {cores} cores with Python {python} and tell less.

"""
TABLE = """| what | ours | other | ratio | target |
|---|---:|---:|---:|---:|
"""
SECTIONS = (
    ("Against mlsysim 0.3.0", "test_against_mlsysim_0_3_0"),
    ("The first answer of a process", "test_start"),
    ("One point", "test_solve"),
    ("A sweep against a loop over `solve`", "test_grid"),
    ("A sweep against NumPy written by hand", "test_against_numpy"),
    ("Millions of points against hand-written loops", "test_dense"),
    ("The exact optimum of grids nobody could enumerate", "test_search", "test_search_of_every_model"),
    ("What would it take", "test_inverse"),
    ("Constants from measurements", "test_calibration"),
    ("Gradients of a million points", "test_sensitivity"),
    ("Draws of uncertain inputs", "test_uncertainty"),
)
YARDSTICKS = """| yardstick | where wanted times were set | here, by row |
|---|---:|---:|
"""


def seconds(value):
    """A time with a unit that fits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)):
        if float(f"{value / size:.3g}") >= 1:
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g} s"


def aim(row):
    """The target of a ratio, and whether it was missed."""
    if row["target"] is None:
        return "-"
    return f"{row['target']:.3g}" + ("" if row["ratio"] <= row["target"] else " (missed)")


def other(row):
    """The time that ours is held against, with the one that was set on another machine."""
    return seconds(row["theirs"]) + (f" ({seconds(row['wanted'])})" if "yardstick" in row else "")


def table(rows):
    """Rows of extra_info as a Markdown table."""
    lines = [
        f"| {row['title']} | {seconds(row['ours'])} | {other(row)} | {row['ratio']:.3g} | {aim(row)} |" for row in rows
    ]
    return TABLE + "\n".join(lines) + "\n"


def yardsticks(found):
    """The section of what wanted times are measured in: each yardstick with the range of its times in this run."""
    times = {}
    for row in found:
        if "yardstick" in row:
            what, here, reference = row["yardstick"]
            times.setdefault((what, reference), []).append(here)
    lines = [
        f"| {what} | {seconds(reference)} | {seconds(min(here))} to {seconds(max(here))} |"
        for (what, reference), here in sorted(times.items())
    ]
    return "## Yardsticks\n\n" + YARDSTICKS + "\n".join(lines) + "\n\n" if lines else ""


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


def drawn_of_models(found, path):
    """Time against grid size for every model, as a figure beside the page and as a table."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    matplotlib.rcParams["svg.hashsalt"] = "search"
    figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
    for number, each in enumerate(found):
        points, taken = ([row[name] for row in each["rows"]] for name in ("points", "seconds"))
        (line,) = axes.loglog(points, taken, "-" if number < 10 else "--", color=f"C{number % 10}", label=each["model"])
        for row in each["rows"]:
            fill = line.get_color() if row["proven"] else "white"
            axes.loglog(row["points"], row["seconds"], "o", color=line.get_color(), mfc=fill, ms=5)
    axes.set(xlabel="points", ylabel="seconds, warm", title="White: stopped at the time limit, with a gap")
    figure.legend(fontsize="small", loc="outside right upper")
    axes.grid(alpha=0.3)
    figure.savefig(path, metadata={"Date": None})
    sizes = [f"{10 ** round(math.log10(row['points'])):.0e}" for row in found[0]["rows"]]
    text = "### Time against size for every model\n\n`auto`, a new question of a warm process, at most "
    text += (
        f"{found[0]['limit']} s; what is asked of each stands in `tests/benchmarks/test_search_of_every_model.py`.\n"
    )
    text += "\n![Time against size for every model](search_models.svg)\n\n"
    text += f"| points, about | {' | '.join(sizes)} |\n" + "|---" + "|---:" * len(sizes) + "|\n"
    for each in found:
        cells = [seconds(row["seconds"]) + ("" if row["proven"] else " (gap left)") for row in each["rows"]]
        text += f"| {each['model']} | {' | '.join(cells)} |\n"
    return text + "\n"


def by_size(result, folder):
    """The sections of time against size; the figures are written into a folder."""
    found = [b["extra_info"] for b in result["benchmarks"]]
    text = "".join(
        drawn(json.loads(each["scaling"]), folder / "search_scaling.svg") for each in found if "scaling" in each
    )
    models = [json.loads(each["every_model"]) for each in found if "every_model" in each]
    return text + (drawn_of_models(models, folder / "search_models.svg") if models else "")


def page(result, folder):
    """The whole page; its figures are written into a folder."""
    machine, found = result["machine_info"], [each["extra_info"] for each in result["benchmarks"]]
    text = HEAD.format(cores=machine["cpu"].get("count", "?"), python=machine["python_version"]) + yardsticks(found)
    for heading, *parts in SECTIONS:
        rows = [
            b["extra_info"]
            for b in result["benchmarks"]
            if any(f"/{part}.py" in b["fullname"] for part in parts) and "ratio" in b["extra_info"]
        ]
        text += f"## {heading}\n\n{table(rows)}\n" if rows else ""
    return (text + by_size(result, folder)).rstrip("\n") + "\n"


def main():
    """``report.py RESULT.json PAGE.md``."""
    result, written = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2])
    written.write_text(page(result, written.parent), encoding="utf-8")


if __name__ == "__main__":
    main()
