"""The first minute: three questions, one formula, one proof, one figure."""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec
from itertools import chain, count
from pathlib import Path

from mlsysim.cli import output, tutorial
from mlsysim.cli.files import replaced
from mlsysim.files import regular
from mlsysim.models import KernelModel, MoERoutingModel, TrainingMemoryModel

#: Path of the figure, and the title by which it is recognised, so that no other file is overwritten.
FIGURE = Path("mlsysim_demo.png")
TITLE = "The first minute of mlsysim"
#: Question of the search: the layout that trains a model on the fewest accelerators.
GRID = {
    "model": "Llama3_70B",
    "hardware": ["A100", "H100", "H200"],
    "precision": "bf16",
    "seq_len": 8192,
    "batch_size": range(512, 2049),
    "tp_size": [1, 2, 4, 8],
    "pp_size": range(1, 81),
    "dp_size": range(1, 257),
    "zero_stage": [0, 1, 2, 3],
    "gradient_accumulation_steps": range(1, 9),
    "activation_checkpointing": ["none", "selective", "full"],
}
TOLD = ("hardware", "tp_size", "pp_size", "dp_size", "zero_stage", "activation_checkpointing")
#: Question of the map: the term of the roofline that binds a matrix product.
MAP = {
    "hardware": "H100",
    "product_columns": 8192,
    "product_rows": sorted({round(2 ** (eighth / 8)) for eighth in range(105)}),
    "product_inner": sorted({round(2 ** (eighth / 8)) for eighth in range(32, 121)}),
}
NEXT = (
    ("mlsysim demo --full", "the whole tutorial, every formula with its numbers"),
    ("mlsysim serve --help", "one of the questions; mlsysim --help lists all"),
    ("mlsysim memory --recipe torchtitan_issue_1624 total_memory", "a number, explained"),
    ("mlsysim formula total_memory", "the equation, its source, a worked example"),
)


def run() -> None:
    """Print the demo, with every number computed now, and write the figure."""
    output.paragraph(
        "Each cost is one equation with units and a source. All that follows is computed from them: the three "
        "questions by the tutorial's first_order, the rest by measured variants."
    )
    _heading(tutorial.QUESTIONS[0])
    memory = tutorial.memory_table()
    tutorial.measured_beside(memory)
    _heading(tutorial.QUESTIONS[1])
    tutorial.measured_beside(tutorial.capacity_table())
    _heading(tutorial.QUESTIONS[2])
    tutorial.measured_beside(tutorial.imbalance_table()[MoERoutingModel.example["routing_imbalance_factor"]])
    _heading("One of the formulas, with the numbers put in")
    output.block(str(memory.explain("gradients")).rpartition("\n\n")[2])
    _search()
    _figure()
    _heading("What to type next")
    output.listing(("Command", "Shows"), NEXT)


def _heading(text: str) -> None:
    print()
    output.heading(text)


def _search() -> None:
    """Search a grid too large to enumerate, and print the best design with its proof."""
    designs = TrainingMemoryModel.asked().search(minimize="dp_size * tp_size * pp_size", subject_to="feasible", **GRID)
    best, proof = designs.best, designs.certificate
    _heading(f"The fewest accelerators that train Llama 3 70B, of {proof.points:.1e} layouts")
    told = {**best.inputs, **best.outputs, **best.to_dict()["entries"]}
    chosen = ", ".join(f"{name} {told[name]}" for name in TOLD)
    output.paragraph(f"{designs.objectives[0][0]:.0f} of {chosen}, {best.total_memory:.1f} each.")
    output.paragraph(proof.summary)


def _figure() -> None:
    """Draw a map of the roofline's binding terms."""
    _heading("Where memory, arithmetic or the launch bind a product of matrices on an H100")
    if find_spec("matplotlib") is None:
        output.paragraph("A figure needs matplotlib: pip install matplotlib")
        return
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.4), layout="constrained")
    regimes = KernelModel("roofline").regimes("product_rows", "product_inner", **MAP)
    import_module("mlsysim.plot").regimes(regimes, ax=figure.add_subplot())
    path = _free_place()
    with replaced(path) as temporary:
        figure.savefig(temporary, dpi=150, metadata={"Title": TITLE})
    remark = "" if path == FIGURE else f"; {FIGURE} was not written by this command and stays"
    output.paragraph(f"Written: {path}{remark}")


def _free_place() -> Path:
    """Return a path for the figure: a new one, or that of an earlier figure of this command."""
    names = (FIGURE.with_stem(f"{FIGURE.stem}_{number}") for number in count(2))
    return next(path for path in chain([FIGURE], names) if not os.path.lexists(path) or _is_ours(path))


def _is_ours(file: Path) -> bool:
    """Tell whether a file is a PNG whose first bytes hold the figure's title."""
    try:
        with regular(file) as opened:
            begin = opened.read(1024)
    except OSError:
        return False
    return begin.startswith(b"\x89PNG\r\n") and f"tEXtTitle\0{TITLE}".encode() in begin
