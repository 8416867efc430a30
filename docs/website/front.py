"""The first page, and what stands below what in the tree of pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from string import Template

from mlsysim.book.markdown import code, joined, prose, table
from website import example
from website.knowledge import Knowledge

FRONT = Template((Path(__file__).parent / "front.md").read_text(encoding="utf-8"))
#: Captions of the tree, and the pages below each; a pattern stands for those that were made.
TREE = {
    "Learn": (
        "notebooks/tutorial",
        "try_it/*",
        "docs/tour",
        "docs/how_to",
        "docs/gallery",
        "docs/further",
        "notebooks/index",
    ),
    "Answers": ("calculators/index", "models/index"),
    "Equations": ("formulas/README", "docs/accuracy"),
    "Numbers": ("catalog/index", "docs/benchmarks"),
    "Reference": ("api/index", "docs/command_line", "docs/design", "CONTRIBUTING", "docs/citing", "CHANGELOG"),
}
#: Pages below a page, in order; patterns stand for those that are not named elsewhere.
BELOW = {
    "docs/how_to.md": ("docs/how_to/*",),
    "docs/further.md": (
        "docs/grids", "docs/inverse", "docs/sensitivity", "docs/uncertainty", "docs/calibration", "docs/function",
        "docs/serving", "docs/post_training", "docs/step_time", "docs/expert_parallel", "docs/memory_expansion",
        "docs/energy", "docs/runs", "docs/shapes", "docs/formats", "docs/rates", "docs/catalog", "docs/your_own_model",
    ),
    "docs/serving.md": ("docs/serving_laws", "docs/serving_accuracy"),
    "docs/expert_parallel.md": ("docs/expert_parallel_memory", "docs/expert_parallel_accuracy"),
    "notebooks/index.md": ("notebooks/*",),
    "calculators/index.md": ("calculators/*", "docs/calculators"),
    "models/index.md": ("models/*",),
    "formulas/README.md": ("formulas/*",),
    "formulas/variants.md": ("formulas/variants/*",),
    "docs/accuracy.md": ("docs/validation",),
    "docs/validation.md": ("docs/validation/*",),
    "catalog/index.md": ("catalog/*",),
    "api/index.md": ("api/*",),
    "api/models.md": ("reference/*",),
    "docs/design.md": ("docs/decisions", "docs/search", "docs/search_proofs", "docs/page_loads"),
    "CONTRIBUTING.md": ("docs/releasing", "docs/changed_numbers", "SECURITY"),
    "docs/citing.md": ("docs/paper",),
}  # fmt: skip

#: Card of the page that runs Python, which not every site has.
TRY_IT = """\
:::{grid-item-card} Try it
:link: try_it/index
:link-type: doc
Change a few lines of Python and run them in this browser.
:::
"""

#: Titles in the tree of pages whose own are long, or alike.
SHORT = {
    "notebooks/tutorial": "Tutorial",
    "formulas/README": "Formula book",
    "docs/accuracy": "Accuracy",
    "docs/validation": "Every check",
    "docs/calculators": "How they are made",
    "docs/catalog": "Your own numbers",
    "docs/serving": "Serving deployments",
    "docs/serving_laws": "How their laws work",
    "docs/serving_accuracy": "How near they come",
    "docs/step_time": "The time of a step",
    "docs/expert_parallel": "Expert parallelism",
    "docs/expert_parallel_memory": "Why it took more memory",
    "docs/expert_parallel_accuracy": "How near its laws come",
    "docs/search": "How searches prove",
    "docs/search_proofs": "Proofs as files",
    "docs/grids": "Grids, searches, fronts",
    "docs/changed_numbers": "What has changed",
    "docs/releasing": "Releases",
    "docs/tour": "A tour",
    "docs/gallery": "Gallery of plots",
    "docs/inverse": "Inverse questions",
    "docs/sensitivity": "Sensitivity and bottlenecks",
    "docs/uncertainty": "Uncertainty",
    "docs/calibration": "Calibration",
    "docs/function": "Pure JAX functions",
    "docs/post_training": "Post-training",
    "docs/memory_expansion": "Two tiers of memory",
    "docs/energy": "Power, energy, carbon",
    "docs/runs": "Runs that fail",
    "docs/shapes": "Shapes of models",
    "docs/formats": "Number formats",
    "docs/rates": "Kernels and collectives",
    "docs/your_own_model": "A model of your own",
    "docs/design": "Design",
    "docs/decisions": "Decisions",
    "docs/citing": "How to cite",
    "docs/paper": "The paper",
}


def pages(known: Knowledge, found: Mapping[str, str | bytes]) -> dict[str, str]:
    """The first page, pages that only list others, and pages of the repository with the tree below them."""
    made = {
        "index.md": _index(known, "try_it/index.md" in found),
        "docs/further.md": "# Topics\n\nOne page for each thing that a model can do, and for each large question.\n",
        "notebooks/index.md": "# Notebooks\n\nQuestions answered at length, as they were run.\n",
        "models/index.md": _models(known),
    }
    names = {name.rpartition(".")[0]: name for name in (*found, *made) if name.endswith((".md", ".ipynb"))}
    named = {page for pages in (*TREE.values(), *BELOW.values()) for page in pages if "*" not in page}
    for above, below in BELOW.items():
        text = made.get(above) or str(found[above])
        listed = [page for pattern in below for page in _matching(pattern, names, {*named, above.rpartition(".")[0]})]
        listed.sort(key=lambda page: text.find(f"{page.rpartition('/')[2]}.md") % (len(text) + 1))
        made[above] = text + _tree(listed, shown=above in ("docs/further.md", "notebooks/index.md"))
    for caption, below in TREE.items():
        made["index.md"] += _tree([page for entry in below for page in _matching(entry, names, named)], caption=caption)
    return made


def _matching(pattern: str, names: Iterable[str], named: set[str]) -> list[str]:
    """The pages of a pattern, in the order in which they were made; a page that is named is itself."""
    if "*" not in pattern:
        return [pattern]
    folder = pattern.rpartition("/")[0]
    return [name for name in names if name.rpartition("/")[0] == folder and name not in named]


def _tree(below: Iterable[str], caption: str = "", shown: bool = False) -> str:
    options = [f":caption: {caption}"] if caption else []
    options += [":maxdepth: 1"] if shown else [":hidden:"]
    return "\n".join(["", "```{toctree}", *options, "", *map(_entry, below), "```", ""])


def _entry(page: str) -> str:
    return f"{SHORT[page]} </{page}>" if page in SHORT else f"/{page}"


def _index(known: Knowledge, tried: bool) -> str:
    return FRONT.substitute(
        try_it=TRY_IT if tried else "",
        example=example.section("One equation"),
        install=example.section("Install"),
        questions="\n".join(_questions(known, "")),
    )


def _models(known: Knowledge) -> str:
    return joined(
        ["# Models", "", "A model is a set of equations that answers one question.", "", *_questions(known, "../")]
    )


def _questions(known: Knowledge, up: str) -> list[str]:
    rows = [
        (f"[{prose(model.question())}]({up}calculators/{model.__name__}.md)",
         f"[{code(model.__name__)}]({up}models/{model.__name__}.md)")
        for model in known.models
    ]  # fmt: skip
    return table(("Question, with its calculator", "Model, with its equations"), rows)
