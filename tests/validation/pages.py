"""The pages of docs/validation/: which tables stand on which, and the summary of them all in docs/validation.md."""

import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from validation.checks import LEFT_OUT

from mlsysim.book.markdown import slug

DOCS = Path(__file__).parents[2] / "docs"
SUMMARY = DOCS / "validation.md"
HEAD = """# How accurate, and against what?

Every output is checked against numbers that share no code with it: published ones, tensors counted in PyTorch,
measurements, queues simulated event by event. The table has the median and worst error of each area; its page lists
every row, with the reason of each miss. Tests print the pages (`tests/validation/`; `make validation`). The error is
ours over theirs, less one; a first-order form stands beside it. [Accuracy](accuracy.md) says which variant to use.

Rows on which a constant was calibrated do not count. Where a page shows a sample, all its rows count here, with
constants fitted without the device, class or row.

| area | checked against | rows | median | worst |
| --- | --- | ---: | ---: | ---: |
"""
#: Under the table; what stands on these pages stands on others too.
ALSO = """
[One pass](validation/one_pass.md) and [the tutorial](validation/the_tutorial.md) collect what is asked first.
"""


@dataclass(frozen=True)
class Page:
    """The tables of one area.

    Parameters
    ----------
    title : str
        The area.
    against : str
        Who published, counted or simulated theirs, in a few words; empty where other pages have its rows.
    headings : tuple of str
        First words of the headings of its tables.
    """

    title: str
    against: str
    headings: tuple[str, ...]

    @property
    def path(self) -> Path:
        """Its file."""
        return DOCS / "validation" / f"{slug(self.title).replace('-', '_')}.md"

    @property
    def sections(self) -> list[str]:
        """Its tables as they stand, each with its heading."""
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        return [f"## {section.rstrip()}\n" for section in text.split("\n## ")[1:]]

    def write(self, sections: list[str]) -> None:
        """Write its tables."""
        against = f"Checked against {self.against}. " if self.against else ""
        head = f"# {self.title}\n\n{against}All areas: [validation](../validation.md).\n\n"
        self.path.parent.mkdir(exist_ok=True)
        self.path.write_text(head + "\n".join(sections), encoding="utf-8")


PAGES = (
    Page("One pass", "", ("One pass",)),
    Page("Parameters", "papers, released weights, transformers models", ("Parameters", "DeepSpeed-MoE")),
    Page(
        "Memory of training",
        "tensors that PyTorch saves, torchtitan, DeepSpeed, papers",
        (
            "Model states",
            "Largest model",
            "Peaks of",
            "Weights",
            "Activations",
            "DeepSpeed's estimators",
            "torchtitan on H100",
            "Logits",
            "Adapters: memory",
            "Host memory",
            "Memory expansion: capacities",
        ),
    ),
    Page(
        "Caches and routed tokens",
        "transformers models, a real router, DeepEP",
        ("KV cache", "Routed tokens", "Routing of a real router", "Exchanges: the bytes"),
    ),
    Page("Arithmetic", "Megatron-LM, MPT, torchtitan; operators counted in PyTorch", ("Arithmetic", "Operators")),
    Page("Kernels", "aiconfigurator's and vidur's profiles", ("Kernels",)),
    Page("Collectives and exchanges", "NCCL on four devices, DeepEP", ("Collectives", "Exchanges")),
    Page(
        "Steps of training",
        "Megatron-LM, torchtitan, MPT, Megatron-Bridge, DeepSpeed",
        ("Steps", "Expert parallelism", "Adapters: time", "Memory expansion"),
    ),
    Page("Post-training", "NeMo-RL, verl, slime, vime", ("Post-training",)),
    Page("Iterations of engines", "TensorRT-LLM, NIM, DistServe, vLLM, llama.cpp, LMDeploy, GPT-fast", ("Engines",)),
    Page(
        "Servers",
        "simulations event by event, InferenceX, NIM, DeepSeek's units",
        ("Servers", "Capacity", "P99", "Erlang", "Economics", "ZeRO-Inference"),
    ),
    Page("Energy", "vLLM and diffusers on H100 and B200 (ML.ENERGY), an H200 of our own", ("Energy",)),
    Page("Runs", "Llama 3's run, Meta's clusters, FT-HSDP, ByteRobust, MegaScale, OPT, BLOOM", ("Runs",)),
    Page("The tutorial", "", ("The tutorial's",)),
)


def page_of(heading: str) -> Page:
    """The page on which the table of a heading stands."""
    return next(page for page in PAGES if heading.startswith(page.headings))


def section_of(heading: str) -> str:
    """The table of a heading as it stands; empty where it has none yet."""
    return next((text for text in page_of(heading).sections if text.startswith(f"## {heading}\n")), "")


def rows_of(section: str, head: str) -> Iterator[list[str]]:
    """The rows of a table, whose first columns are ``head``."""
    for line in section.partition(f"| {head} |")[2].splitlines()[2:]:
        if not line.startswith("| "):
            return
        yield line.strip("| ").split(" | ")


def errors(section: str) -> Iterator[float]:
    """Sizes of the errors of a table, of rows that nothing was calibrated on."""
    for _, _, _, error, allowed, *_ in rows_of(section, "Case | Theirs | Ours"):
        if allowed not in LEFT_OUT.values():
            yield _share(error.partition(" [")[0])


def summary() -> str:
    """The first page, from the tables as they stand: a row for each area, and for tables that stand for more rows."""
    lines = []
    for page in filter(lambda page: page.against, PAGES):
        spreads = {section: row for section in page.sections for row in [*rows_of(section, "Errors of | Rows")][:1]}
        stood_for = {_kind(section) for section in spreads}
        sizes = [error for each in page.sections if _kind(each) not in stood_for for error in errors(each)]
        link = f"[{page.title}](validation/{page.path.name})"
        if sizes:
            lines.append((link, page.against, len(sizes), statistics.median(sizes), max(sizes)))
        # All rows, which stand below a sample of them, count in its place.
        for what, rows, median, _, worst, *_ in {row[0]: row for row in spreads.values()}.values():
            if "calibrated here" in what:
                continue
            lines.append((link, f"{page.against}; {what}", int(rows), _share(median), _share(worst)))
    printed = [
        (link, what, f"{rows:,}", _percent(median), _percent(worst)) for link, what, rows, median, worst in lines
    ]
    return HEAD + "".join(f"| {' | '.join(cells)} |\n" for cells in printed) + ALSO


def _kind(section: str) -> str:
    """First words of a heading, which tables of one kind share: ``Collectives: NCCL``."""
    return " ".join(section.split()[1:3])


def _share(percent: str) -> float:
    return float("inf") if percent == "infinite" else abs(float(percent.rstrip("%"))) / 100


def _percent(share: float) -> str:
    return f"{100 * share:.2g}%" if share < 0.1 else f"{100 * share:.0f}%"
