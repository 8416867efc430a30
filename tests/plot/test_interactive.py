"""Figures for a browser: what stands under the pointer is what the result holds."""

import pytest

from mlsysim import DistributedModel, KernelModel, plot
from mlsysim.errors import InputError, MissingPackageError, UnknownNameError

LAYOUTS = {"model": "Llama3_70B", "fleet": "SuperPOD_H100", "batch_size": 1024, "seq_len": 8192, "tp_size": [4, 8],
           "pp_size": [1, 2, 4], "zero_stage": [1, 3], "gradient_accumulation_steps": [16, 32]}  # fmt: skip


def test_without_plotly_the_extra_is_named(monkeypatch, memory):
    monkeypatch.setattr("mlsysim.extras.installed", lambda package: False)
    with pytest.raises(
        MissingPackageError, match=r'an interactive figure needs plotly: pip install -e "\.\[interactive\]"'
    ):
        plot.interactive(memory, "total_memory")


def test_an_unknown_theme_is_refused(memory):
    with pytest.raises(UnknownNameError, match="did you mean dark"):
        plot.interactive(memory, theme="drak")


@pytest.fixture(scope="module")
def graph_objects():
    return pytest.importorskip("plotly.graph_objects")


@pytest.mark.usefixtures("graph_objects")
def test_what_is_no_result_is_refused():
    with pytest.raises(InputError, match="result=3: must be a data set of a sweep"):
        plot.interactive(3)


@pytest.mark.usefixtures("graph_objects")
def test_a_sweep_of_two_dimensions_is_a_map(memory):
    plane = memory.sel(hardware="H100")
    (trace,) = plot.interactive(plane, "total_memory", x="batch_size").data
    assert trace.type == "heatmap"
    assert trace.z[2][3] == plane.total_memory.sel(zero_stage=2).isel(batch_size=3)
    assert trace.hovertemplate.startswith("Batch size: %{customdata[0]}<br>ZeRO stage: %{customdata[1]}<br>")
    assert list(trace.customdata[2][3][:2]) == ["32", "2"]


@pytest.mark.usefixtures("graph_objects")
def test_a_sweep_of_one_dimension_is_a_curve(memory):
    figure = plot.interactive(memory.sel(hardware="H100", zero_stage=3), "total_memory", theme="dark")
    (trace,) = figure.data
    assert trace.type == "scatter"
    assert list(trace.y) == list(memory.total_memory.sel(hardware="H100", zero_stage=3).values)
    assert figure.layout.paper_bgcolor == "#131416"


@pytest.mark.usefixtures("graph_objects")
def test_a_front_tells_its_designs(tmp_path):
    front = DistributedModel().pareto(["step_time", "total_memory"], **LAYOUTS)
    figure = plot.interactive(front)
    (trace,) = figure.data
    assert [float(value) for value in trace.x] == [design.step_time.magnitude for design in front]
    assert "Tensor-parallel size" in trace.hovertemplate
    figure.write_html(tmp_path / "front.html")
    page = (tmp_path / "front.html").read_text()
    assert "<script src=" not in page


@pytest.mark.usefixtures("graph_objects")
def test_regimes_are_named_under_the_pointer():
    regimes = KernelModel("roofline").regimes(
        "product_rows", "product_inner", hardware="H100", product_columns=8192,
        product_rows=[2**i for i in range(0, 13, 3)], product_inner=[2**i for i in range(4, 15, 3)],
    )  # fmt: skip
    (trace,) = plot.interactive(regimes).data
    said = {cell[-1] for row in trace.customdata for cell in row}
    assert {"Memory bandwidth", "Launch"} <= said
    assert trace.hovertemplate.startswith("<b>")
