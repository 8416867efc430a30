"""Which term binds where: maps, intervals, boundaries in closed form and traced."""

from __future__ import annotations

import json

import numpy as np
import pytest

from mlsysim import (
    Q_,
    DistributedModel,
    ExpertParallelModel,
    IterationModel,
    KernelModel,
    MoERoutingModel,
    ServingCapacityModel,
)
from mlsysim.errors import InputError, UnknownNameError
from mlsysim.models import every_model
from mlsysim.study.varied import Varied
from mlsysim.symbolic import variable_of

KERNEL = KernelModel("roofline")
PRODUCT = {"hardware": "H100", "product_columns": 8192, "precision": "bf16"}
ROWS, INNER = [*range(1, 4096, 97)], [16, 40, 100, 250, 600, 1500, 4000, 10000]


def solved(**changed):
    return KERNEL.solve(**PRODUCT, **changed)


@pytest.fixture(scope="module")
def line():
    return KERNEL.regimes("product_rows", output="kernel_time", product_rows=ROWS, product_inner=4096, **PRODUCT)


@pytest.fixture(scope="module")
def plane():
    return KERNEL.regimes("product_rows", "product_inner", product_rows=ROWS, product_inner=INNER, **PRODUCT)


def test_intervals_end_where_the_two_times_are_equal(line):
    first, second = line.intervals
    assert (first.regime, second.regime) == ("Memory time", "Arithmetic time")
    edge = first.end
    # A product has whole rows: the terms cross between two of them.
    ends = [solved(product_inner=4096, product_rows=int(edge) + step) for step in (0, 1)]
    assert ends[0].memory_time > ends[0].arithmetic_time
    assert ends[1].memory_time < ends[1].arithmetic_time
    assert (first.start, second.end, second.start) == (ROWS[0], ROWS[-1], edge)
    assert first.last < edge < second.first


def test_a_boundary_in_closed_form(line):
    (boundary,) = line.boundaries
    assert boundary.axis.name == "product_rows"
    assert boundary.text().startswith("m_k = q_w·F·η·n_k·k_k·E_got/(")
    assert "m_{" in boundary.latex()
    assert boundary.here == f"product_rows = {boundary.points[0, 0]:.1f}"


def test_a_map_says_at_every_point_what_solve_says(plane):
    for rows in ROWS[::9]:
        for inner in INNER:
            said = solved(product_rows=rows, product_inner=inner).kernel_bottleneck
            assert plane.at(product_rows=rows, product_inner=inner) == said
    assert set(plane.names) == {"Memory bandwidth", "Arithmetic", "Launch"}
    assert sum(plane.shares.values()) == pytest.approx(1)


def test_on_a_boundary_the_terms_are_equal(plane):
    for boundary in plane.boundaries:
        assert boundary.axis is not None
        names = {"Memory bandwidth": "memory_time", "Arithmetic": "arithmetic_time", "Launch": None}
        times = [names[regime] for regime in boundary.between]
        rows, inner = boundary.points
        varied = Varied(KERNEL, PRODUCT, ["product_rows", "product_inner"], [time for time in times if time])
        found = varied.values({"product_rows": rows, "product_inner": inner})
        launch = KERNEL.solve(**PRODUCT, product_rows=1, product_inner=1).canonical("launch_time")
        one, other = (found[time] if time else launch for time in times)
        assert one == pytest.approx(other, rel=1e-9)


def test_the_map_is_a_labelled_data_set(plane):
    array = plane.map
    assert array.dims == ("product_rows", "product_inner")
    words = array.attrs["flag_meanings"].split()
    assert [word.replace("_", " ") for word in words] == [*plane.names]
    assert plane.dataset.attrs["model"] == "KernelModel"


def test_labels_along_an_axis():
    found = KERNEL.regimes("precision", "product_rows", **{**PRODUCT, "precision": ["bf16", "fp8"]},
                           product_rows=ROWS, product_inner=4096)  # fmt: skip
    for precision in ("bf16", "fp8"):
        said = KERNEL.solve(**{**PRODUCT, "precision": precision}, product_rows=486, product_inner=4096)
        assert found.at(precision=precision, product_rows=486) == said.kernel_bottleneck
    assert all(boundary.axis is None for boundary in found.boundaries)
    assert "traced at" in repr(found)


def test_entries_along_an_axis():
    found = KERNEL.regimes("hardware", "product_rows", **{**PRODUCT, "hardware": ["A100", "H100"]},
                           product_rows=ROWS, product_inner=4096)  # fmt: skip
    for name in found.dataset.hardware.values.tolist():
        said = KERNEL.solve(**{**PRODUCT, "hardware": name}, product_rows=389, product_inner=4096)
        assert found.at(hardware=name, product_rows=389) == said.kernel_bottleneck


def test_quantities_along_an_axis_are_in_their_unit():
    along = Q_(np.linspace(500, 8000, 9), "GB/s")
    product = {"product_rows": 256, "product_inner": 4096, **PRODUCT}
    found = KERNEL.regimes("memory_bandwidth", output="kernel_time", memory_bandwidth=along, **product)
    edge = found.intervals[0].end
    at = solved(memory_bandwidth=Q_(edge, "GB/s"), product_rows=256, product_inner=4096)
    assert at.memory_time.magnitude == pytest.approx(at.arithmetic_time.magnitude, rel=1e-9)
    assert found.boundaries[0].here == f"memory_bandwidth = {edge:.1f}"


def test_refused_points_have_no_regime():
    found = MoERoutingModel().regimes(
        "ep_size", model="Mixtral_8x7B", fleet="Research_256", batch_size=4, ep_size=[1, 2, 3, 4]
    )
    assert found.map.sel(ep_size=3) == -1
    assert found.at(ep_size=3) == "refused"


def test_one_term_alone():
    found = KERNEL.regimes("product_rows", output="kernel_time", product_rows=[1, 2], product_inner=4096, **PRODUCT)
    assert found.boundaries == ()
    assert len(found.intervals) == 1


def test_one_label_alone():
    found = KERNEL.regimes("product_rows", product_rows=[4000, 4001], product_inner=4096, **PRODUCT)
    assert found.names == ("Arithmetic",)


def test_a_closed_form_with_a_root():
    axes = {"decode_requests": [1, 8, 64, 512], "context_tokens": [128, 1024, 8192, 65536]}
    found = IterationModel().regimes("decode_requests", "context_tokens", model="Llama3_8B", hardware="H100", **axes)
    (boundary,) = found.boundaries
    assert set(boundary.between) == {"KV cache", "Products"}
    assert boundary.axis.name == "context_tokens"


def test_only_choices_of_some_variables():
    point = {"model": "Llama3_8B", "fleet": "SuperPOD_H100", "fleet_size": 64, "zero_stage": 3}
    axis = {"fabric_bandwidth": [Q_(each, "GB/s") for each in (1, 5, 20, 50)], "batch_size": 512}
    found = DistributedModel().regimes(
        "fabric_bandwidth", output="step_time", by="exposed_gather_time", **point, **axis
    )
    assert all("t_" in name or name for name in found.names)
    with pytest.raises(UnknownNameError, match="did you mean exposed_gather_time"):
        DistributedModel().regimes("fabric_bandwidth", output="step_time", by="exposed_gather_tim", **point, **axis)


def test_axes_are_x_and_y_in_this_order():
    axes = {"product_rows": ROWS, "product_inner": INNER}
    assert KERNEL.regimes(**axes, **PRODUCT).map.dims == ("product_rows", "product_inner")
    assert KERNEL.regimes("product_inner", "product_rows", **axes, **PRODUCT).map.dims == (
        "product_inner",
        "product_rows",
    )


def test_refused_points_lie_between_others():
    found = ExpertParallelModel().regimes(
        "batch_size", recipe="Megatron_Mixtral_8x7B_H100", batch_size=range(128, 1025, 128)
    )
    assert [interval.regime for interval in found.intervals] == ["Arithmetic", "Memory"]
    assert 256 < found.intervals[1].start < 512


@pytest.mark.parametrize("model", every_model(), ids=lambda model: model.__name__)
def test_what_sets_the_power_is_no_default_beside_another_label(model):
    for variant in model.variants:
        one = model(variant)
        assert {*one.headline} <= {*(each.name for each in one.system.variables)}
        labels = [name for name in one.headline if one.output(name).domain.kind == "choice"]
        assert labels[:1] != ["power_bottleneck"] or len(labels) == 1


def test_the_load_line_has_regimes_of_its_step():
    point = {"model": "Llama3_8B", "fleet": "SuperPOD_H100", "fleet_size": 64, "zero_stage": 3}
    found = DistributedModel("load_line").regimes("batch_size", batch_size=[512, 1024], **point)
    assert {interval.regime for interval in found.intervals} <= {*variable_of("step_bottleneck").domain.labels}


def test_nothing_but_refused_points():
    with pytest.raises(InputError, match="ep_size"):
        MoERoutingModel().regimes("ep_size", model="Mixtral_8x7B", fleet="Research_256", batch_size=4, ep_size=[3, 5])


class TestRefused:
    @pytest.mark.parametrize(
        ("call", "error", "said"),
        [
            (lambda: KERNEL.regimes("product_rows", product_rows=4, product_inner=4, **PRODUCT), InputError, "a list"),
            (lambda: KERNEL.regimes("rows", product_rows=ROWS, product_inner=4, **PRODUCT), UnknownNameError, "rows"),
            (lambda: KERNEL.regimes("product_rows", "product_rows", product_rows=ROWS), InputError, "another"),
            (
                lambda: KERNEL.regimes("product_rows", product_rows=ROWS, product_inner=INNER, **PRODUCT),
                InputError, "only x and y",
            ),
            (
                lambda: KERNEL.regimes("product_rows", None, "kernel_tim", product_rows=ROWS, **PRODUCT),
                UnknownNameError, "did you mean kernel_time",
            ),
        ],
    )  # fmt: skip
    def test_what_cannot_be_drawn(self, call, error, said):
        with pytest.raises(error, match=said):
            call()

    def test_a_point_off_the_axes(self, plane):
        with pytest.raises(InputError, match="must be an axis"):
            plane.at(rows=3)
        with pytest.raises(InputError, match="product_inner too"):
            plane.at(product_rows=3)


class TestShown:
    def test_in_print(self, line, plane):
        for found in (line, plane):
            assert max(map(len, repr(found).splitlines())) <= 100
            assert "Boundaries" in repr(found)
            assert "<table>" in found._repr_html_()

    def test_as_json(self, line, plane):
        data = json.loads(line.to_json())
        assert data["intervals"][0]["regime"] == "Memory time"
        assert json.loads(plane.to_json())["boundaries"][0]["axis"] == "product_inner"

    def test_a_map_to_scale_is_drawn_with_its_boundaries(self):
        inner = [round(16 * 1.6**n) for n in range(15)]
        found = KERNEL.regimes("product_rows", "product_inner", product_rows=ROWS, product_inner=inner, **PRODUCT)
        ax = found.plot()
        assert {text.get_text().replace("\n", " ") for text in ax.texts} <= set(found.names)
        drawn = {line.get_gid() for line in ax.lines}
        assert {" | ".join(boundary.between) for boundary in found.boundaries} <= drawn

    def test_a_map_of_a_few_values_is_drawn_along_its_cells(self, plane):
        assert {line.get_gid() for line in plane.plot().lines} >= set(plane.names) - {"Memory bandwidth"}

    def test_one_axis_is_drawn_as_stretches(self, line):
        ax = line.plot()
        assert ax.get_xlabel().startswith("Product rows")

    def test_a_grid_without_a_second_regime(self):
        found = ServingCapacityModel().regimes(
            "qps",
            "seq_len",
            model="Llama3_8B",
            hardware="H100",
            target_p99_latency_ms=4000,
            qps=[1, 2],
            seq_len=[512, 1024],
        )
        assert found.plot() is not None
