"""What holds of every figure: no legend entry twice, one meaning per hatch, units on axes, a title."""

import itertools

import pytest
from matplotlib.colors import to_hex

from mlsysim import DistributedModel, KernelModel, TrainingMemoryModel, compare, plot
from mlsysim.cli import grids

LAYOUTS = {
    "model": "Llama3_70B", "fleet": "SuperPOD_H100", "batch_size": 1024, "seq_len": 8192, "tp_size": [1, 2, 4, 8],
    "pp_size": [1, 2, 4], "zero_stage": [1, 3], "gradient_accumulation_steps": [8, 16, 32],
}  # fmt: skip
RUN = {"model": "Llama3_8B", "hardware": "H100", "batch_size": 16}
STATES = ["weights", "gradients", "optimizer_state", "activations"]
#: Quantities with a unit, by the beginning of the label of their axis.
UNITS = {"Total memory": "[GB]", "Step time": "[s]", "Target P99 latency": "[ms]", "Arrival rate": "[QPS]"}


@pytest.fixture(scope="session")
def trained():
    return DistributedModel()


FIGURES = {
    "heat map": lambda ds, ax: plot.heatmap(ds["memory"].sel(hardware="H100"), "total_memory", x="batch_size", ax=ax),
    "heat map of regions": lambda ds, ax: plot.heatmap(ds["serving"], "qps_capacity", ax=ax),
    "heat map of labels": lambda ds, ax: plot.heatmap(ds["serving"], "bottleneck", ax=ax),
    "heat map with refused points": lambda ds, ax: plot.heatmap(ds["masked"], "total_memory", ax=ax),
    "lines": lambda ds, ax: plot.lines(ds["memory"].sel(hardware="H100"), "total_memory", x="batch_size", ax=ax),
    "bars": lambda ds, ax: plot.bars(
        ds["memory"].isel(batch_size=3), STATES, x="zero_stage", group="hardware", total="total_memory",
        limit="80 GB", ax=ax,
    ),
    "front of a sweep": lambda ds, ax: plot.pareto(ds["layouts"], "step_time", "total_memory", ax=ax),
    "front": lambda ds, ax: DistributedModel().pareto(["step_time", "total_memory"], **LAYOUTS).plot(ax=ax),
    "search": lambda ds, ax: DistributedModel().search(
        minimize="step_time", subject_to="total_memory <= 90 GB", top=6, **LAYOUTS).plot(ax=ax),
    "search by an expression": lambda ds, ax: DistributedModel().search(
        maximize="batch_size / step_time", top=3, **LAYOUTS).plot(ax=ax),
    "sensitivity": lambda ds, ax: TrainingMemoryModel().sensitivity("total_memory", **RUN).plot(ax=ax),
    "comparison": lambda ds, ax: compare(
        *(TrainingMemoryModel().solve(**{**RUN, "zero_stage": stage, "dp_size": 8}) for stage in (0, 3)),
        "total_memory").plot(ax=ax),
    "uncertainty": lambda ds, ax: DistributedModel().uncertainty(
        "step_time", **{**LAYOUTS, "tp_size": 8, "pp_size": 4, "zero_stage": 1, "gradient_accumulation_steps": 16},
        distributions={"efficiency": "uniform(0.3, 0.5)"}, samples=256).plot(ax=ax),
    "moments": lambda ds, ax: TrainingMemoryModel("per_operator").solve(**RUN).plot(ax=ax),
    "regimes": lambda ds, ax: KernelModel("roofline").regimes(
        "product_rows", "product_inner", hardware="H100", product_columns=8192,
        product_rows=[2**i for i in range(13)], product_inner=[2**i for i in range(4, 15)]).plot(ax=ax),
}  # fmt: skip


@pytest.fixture(scope="session")
def sweeps(memory, masked, serving, layouts):
    return {
        "memory": memory, "masked": masked, "serving": serving, "layouts": layouts.sel(gradient_accumulation_steps=16)
    }  # fmt: skip


@pytest.fixture(params=FIGURES)
def drawn(request, ax, sweeps):
    FIGURES[request.param](sweeps, ax)
    ax.figure.canvas.draw()
    return ax


def entries(ax):
    legend = ax.get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]


def test_of_every_figure(drawn):
    words = entries(drawn)
    assert len(set(words)) == len(words)
    assert "infeasible" not in words or not any(
        handle.get_hatch() for handle, word in zip(drawn.get_legend().legend_handles, words, strict=True)
        if word == "infeasible" and hasattr(handle, "get_hatch")
    )  # fmt: skip
    assert drawn.get_title(loc="left").strip()
    labels = [drawn.get_xlabel(), *(each.get_ylabel() for each in drawn.figure.axes)]
    for label in labels:
        for start, unit in UNITS.items():
            assert not label.startswith(start) or unit in label


def test_a_hatch_stands_for_one_label_in_every_figure(ax, sweeps):
    plot.heatmap(sweeps["serving"], "qps_capacity", ax=ax)
    hatches = {patch.get_label(): patch.get_hatch() for patch in ax.patches if patch.get_hatch() is not None}
    assert all(word.startswith("Bottleneck: ") for word in hatches)
    assert len(set(hatches.values())) == len(hatches)
    ax.clear()
    plot.heatmap(sweeps["serving"].isel(qps=slice(3)), "qps_capacity", ax=ax)
    again = {patch.get_label(): patch.get_hatch() for patch in ax.patches if patch.get_hatch() is not None}
    assert again.items() <= hatches.items()


def test_names_under_bars_do_not_overlap(ax, sweeps):
    FIGURES["bars"](sweeps, ax)
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.xaxis.get_ticklabels(minor=True)]
    assert len(boxes) == 12
    assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))


def test_panels_share_one_legend(ax, memory):
    figure, panels = grids._figure(3)
    for place, panel in enumerate(panels):
        plot.heatmap(memory.isel(hardware=place), "total_memory", x="batch_size", ax=panel)
    grids._one_legend(figure, panels)
    assert not any(panel.get_legend() for panel in panels)
    (legend,) = figure.legends
    words = [text.get_text() for text in legend.get_texts()]
    assert len(set(words)) == len(words)
    assert "feasible up to here" in words


def test_designs_on_a_front_that_are_infeasible_are_hollow(ax, trained):
    found = trained.pareto(["step_time", "total_memory"], allow_infeasible=True, **LAYOUTS)
    assert found.infeasible
    found.plot(ax=ax)
    (hollow,) = [line for line in ax.get_lines() if line.get_gid() == "infeasible"]
    assert len(hollow.get_xdata()) == len(found.infeasible)
    assert to_hex(hollow.get_markerfacecolor()) == "#ffffff"
    assert "feasible" not in entries(ax)


def test_bars_of_a_search_are_its_objectives(ax, trained):
    found = trained.search(minimize="step_time", top=4, allow_infeasible=True, **LAYOUTS)
    found.plot(ax=ax)
    widths = sorted(bar.get_width() for bar in ax.patches)
    assert widths == pytest.approx([each.step_time.magnitude for each in found])
    assert ("infeasible" in entries(ax)) == bool(found.infeasible)


def test_steps_of_a_comparison_lead_from_one_value_to_the_other(ax):
    first, second = (TrainingMemoryModel().solve(**{**RUN, "zero_stage": stage, "dp_size": 8}) for stage in (0, 3))
    found = compare(first, second, "total_memory")
    found.plot(most=1, ax=ax)
    widths = [bar.get_width() for bar in ax.patches]
    assert widths[0] == pytest.approx(first.total_memory.magnitude)
    assert widths[-1] == pytest.approx(second.total_memory.magnitude)
    assert sum(widths[:-1]) == pytest.approx(widths[-1])
    assert ax.get_yticklabels()[0].get_text() == "zero_stage = 0"
