"""Linked, derived and variant axes: the same as a loop of solve over what was linked, derived or varied."""

import itertools
import json

import numpy as np
import pytest
from fuzz import fuzzing
from hypothesis import given
from hypothesis import strategies as st

from mlsysim import Accelerator, MoERoutingModel, ServingCapacityModel, TrainingMemoryModel, derived, linked
from mlsysim.errors import InputError, MissingInputError, UnitError, UnknownNameError
from mlsysim.inputs.binding import bind_grid

MEMORY, OPERATOR = TrainingMemoryModel(), TrainingMemoryModel("per_operator")
POINT = {"model": "Llama3_8B", "hardware": "H100", "batch_size": 64}
RUN = {name: value for name, value in POINT.items() if name != "hardware"}
MINE = Accelerator(name="Mine", memory_capacity="96 GB", memory_bandwidth="4 TB/s", peak_flops={"bf16": "1 PFLOP/s"})


def solved(asked, /, **arguments):
    """The memory a point needs, or None where it is refused."""
    try:
        return asked.solve(**arguments).total_memory.to("GB").magnitude
    except InputError:
        return None


class TestLinked:
    grid = MEMORY.sweep(
        **RUN,
        layout=linked(tp_size=[1, 2, 4], pp_size=[8, 4, 2]),
        zero_stage=[0, 3],
        device=linked(hardware=["H100", MINE], memory_capacity=["80 GB", "90 GB"]),
    )

    def test_one_dimension_for_several_inputs(self):
        assert dict(self.grid.sizes) == {"layout": 3, "zero_stage": 2, "device": 2}
        assert self.grid.tp_size.dims == self.grid.pp_size.dims == ("layout",)
        assert self.grid.pp_size.values.tolist() == [8, 4, 2]
        assert self.grid.hardware.values.tolist() == ["H100", "Mine"]
        assert self.grid.memory_capacity.attrs["units"] == "GB"
        assert set(self.grid.indexes) == {"zero_stage"}

    def test_equals_a_loop_of_solve(self):
        layouts, devices = [(1, 8), (2, 4), (4, 2)], [("H100", "80 GB"), (MINE, "90 GB")]
        for i, j, k in itertools.product(range(3), range(2), range(2)):
            (t, p), (hardware, capacity) = layouts[i], devices[k]
            result = MEMORY.solve(
                **RUN, tp_size=t, pp_size=p, zero_stage=[0, 3][j], hardware=hardware, memory_capacity=capacity
            )
            here = self.grid.isel(layout=i, zero_stage=j, device=k)
            assert here.total_memory.item() == pytest.approx(result.total_memory.magnitude, rel=1e-12)
            assert here.memory_utilization.item() == pytest.approx(result.memory_utilization, rel=1e-12)
            assert here.feasible.item() == result.feasible

    def test_a_device_and_its_number_format_along_one_axis(self):
        pair = linked(hardware=["H100", "A100", "H100"], precision=["fp8", "fp16", "fp32"])
        arguments = {"model": "Llama3_8B", "qps": 20, "target_p99_latency_ms": 4000}
        grid = ServingCapacityModel().sweep(**arguments, pair=pair, outputs=["ttft"])
        for place, (hardware, precision) in enumerate([("H100", "fp8"), ("A100", "fp16"), ("H100", "fp32")]):
            result = ServingCapacityModel().solve(**arguments, hardware=hardware, precision=precision)
            assert grid.ttft.isel(pair=place).item() == pytest.approx(result.ttft.magnitude, rel=1e-12)

    @pytest.mark.parametrize(
        ("axes", "kind", "message"),
        [
            ({"l": linked(tp_size=[1, 2], pp_size=[1])}, InputError, "2 of tp_size, 1 of pp_size"),
            ({"l": linked(tp_size=[1, 2, 1], pp_size=[4, 2, 4])}, InputError, "has each combination once"),
            ({"l": linked(tp_size=4)}, InputError, "tp_size=4: must be a list, as it is linked along l"),
            ({"l": linked(tp_sise=[1])}, UnknownNameError, "did you mean tp_size"),
            ({"l": linked(batch_size=[1])}, InputError, "batch_size=[1]: is given twice; it is linked along l"),
            ({"l": linked(tp_size=[1]), "k": linked(tp_size=[2])}, InputError, "is given twice"),
            ({"tp_size": linked(pp_size=[1])}, InputError, "a linked axis has a name of its own"),
            ({"weights": linked(pp_size=[1])}, InputError, "a linked axis has a name of its own"),
            ({"refused": linked(pp_size=[1])}, InputError, "must be 'raise' or 'mask'"),
            ({"l": linked(tp_size=[1, -2])}, InputError, "tp_size=-2: must be a whole number >= 1"),
            ({"l": linked(tp_size=[])}, InputError, "an axis has at least one"),
            ({"l": linked(hardware=[])}, InputError, "hardware=[]: is given twice"),
            ({"l": linked(tp_size=[1, 3])}, InputError, "tp_size=3: must divide heads=32"),
        ],
    )
    def test_refused(self, axes, kind, message):
        with pytest.raises(kind) as caught:
            MEMORY.sweep(**POINT, **axes)
        assert message in str(caught.value)

    def test_solve_takes_one_value(self):
        with pytest.raises(InputError, match=r"solve\(\) takes one value; use sweep\(layout=...\) for many"):
            MEMORY.solve(**POINT, layout=linked(tp_size=[1, 2]))

    def test_nothing_linked_is_refused(self):
        with pytest.raises(InputError, match="give at least one argument"):
            linked()


class TestDerived:
    ranks = derived("512 / (tp_size * pp_size)")

    def test_solve(self):
        result = OPERATOR.solve(**POINT, tp_size=2, pp_size=2, dp_size=self.ranks)
        assert result.dp_size == result.inputs["dp_size"] == 128
        assert result.total_memory == OPERATOR.solve(**POINT, tp_size=2, pp_size=2, dp_size=128).total_memory
        assert result.source("dp_size") == "derived: 512 / (tp_size * pp_size)"
        assert "d = ⌊512/(t·p)⌋" in str(result.explain("dp_size"))
        assert "given" not in [work.key for work in result.references()]
        assert json.loads(result.to_json())["inputs"]["dp_size"]["value"] == 128

    def test_a_grid_holds_the_value_over_the_axes_it_depends_on(self):
        grid = OPERATOR.sweep(**POINT, zero_stage=[0, 1], tp_size=[1, 2], pp_size=[1, 4, 8], dp_size=self.ranks)
        assert grid.dp_size.dims == ("tp_size", "pp_size")
        assert grid.dp_size.values.tolist() == [[512, 128, 64], [256, 64, 32]]
        assert grid.dp_size.attrs["derived"] == "512 / (tp_size * pp_size)"
        for t, p, z in itertools.product([1, 2], [1, 4, 8], [0, 1]):
            expected = solved(OPERATOR, **POINT, tp_size=t, pp_size=p, zero_stage=z, dp_size=512 // (t * p))
            assert grid.total_memory.sel(tp_size=t, pp_size=p, zero_stage=z).item() == pytest.approx(
                expected, rel=1e-12
            )

    def test_derived_from_derived_and_in_units(self):
        result = OPERATOR.solve(
            **POINT,
            dp_size=derived("pp_size * 2"),
            pp_size=derived("tp_size * 2"),
            tp_size=2,
            seq_len=derived("4096 / tp_size"),
            reserved_memory=derived("0.05 * memory_capacity + 1 GB"),
        )
        assert (result.pp_size, result.dp_size, result.seq_len.magnitude) == (4, 8, 2048)
        assert result.reserved_memory.to("GB").magnitude == pytest.approx(0.05 * 81559 * 1.024**2 / 1000 + 1)

    def test_a_quotient_within_rounding_of_a_whole_number_is_that_number(self):
        assert MEMORY.solve(**POINT, dp_size=derived("0.1 * 3 * batch_size / 64 * 10 * tp_size")).dp_size == 3
        grid = MEMORY.sweep(**POINT, gradient_accumulation_steps=range(1, 200), dp_size=derived(
            "49 * 7 * gradient_accumulation_steps / 49"), outputs=["total_memory"])  # fmt: skip
        assert grid.dp_size.values.tolist() == [7 * n for n in range(1, 200)]

    def test_points_that_are_not_whole_are_masked_with_the_reason(self):
        grid = MEMORY.sweep(**POINT, pp_size=[1, 2, 3, 33], dp_size=derived("64 / pp_size"), refused="mask")
        assert grid.refused.values.tolist()[:2] == [0, 0]
        assert np.isnan(grid.dp_size.values[2:]).all()
        assert json.loads(grid.attrs["refused_reasons"]) == {"dp_size must be a whole number >= 1": 2}
        assert np.isnan(grid.total_memory.values[2:]).all()

    def test_sensitivity_and_function_see_through_it(self):
        table = MEMORY.sensitivity(
            "total_memory", **POINT, communication_buffer_fraction=derived("trainable_fraction / 10")
        )
        plain = MEMORY.sensitivity("total_memory", **POINT, communication_buffer_fraction=0.1)
        extra = table["trainable_fraction"].gradient - plain["trainable_fraction"].gradient
        assert extra.magnitude > 0
        with pytest.raises(UnknownNameError, match="communication_buffer_fraction"):
            table["communication_buffer_fraction"]

    @pytest.mark.parametrize(
        ("arguments", "kind", "message"),
        [
            ({"dp_size": derived("510 / 4")}, InputError, "dp_size=127.5: must be a whole number >= 1; it is 510 / 4"),
            ({"dp_size": derived("0 * tp_size")}, InputError, "dp_size=0.0: must be a whole number >= 1"),
            (
                {"dp_size": derived("pp_size"), "pp_size": derived("dp_size")},
                InputError,
                "dp_size -> pp_size -> dp_size",
            ),
            ({"dp_size": derived("dp_size + 1")}, InputError, "must not follow from itself"),
            (
                {"dp_size": derived("memory_capacity")},
                UnitError,
                "the expression is information, but dp_size is a pure",
            ),
            ({"memory_capacity": derived("80")}, UnitError, "is a pure number, but memory_capacity is information"),
            ({"dp_size": derived("total_memory / 1 GB")}, UnknownNameError, "'total_memory'"),
            ({"dp_size": derived("tp_size > 1")}, InputError, "is a condition, not a number"),
            ({"precision": derived("tp_size")}, InputError, "only a number can be derived"),
            ({"hardware": derived("tp_size")}, InputError, "must be an entry of the catalog"),
            ({"trainable_fraction": derived("2 * tp_size")}, InputError, "trainable_fraction=2.0: must be"),
            ({"dp_size": derived(None)}, InputError, "must be text"),
        ],
    )
    def test_refused(self, arguments, kind, message):
        with pytest.raises(kind) as caught:
            MEMORY.solve(**{**POINT, **arguments})
        assert message in str(caught.value)

    def test_what_it_needs_and_is_not_given_is_named(self):
        with pytest.raises(MissingInputError, match="needs fabric_latency for seq_len"):
            MoERoutingModel().solve("Mixtral_8x7B", batch_size=4, ep_size=8, seq_len=derived("fabric_latency / 1 us"))


WHOLE = st.lists(st.integers(1, 12), min_size=1, max_size=3, unique=True)


@fuzzing(8)
@given(
    WHOLE,
    st.lists(st.tuples(st.integers(1, 8), st.integers(1, 40)), min_size=1, max_size=3, unique=True),
    st.integers(1, 96),
)
def test_a_random_grid_of_all_kinds_of_axes(stages, pairs, total):
    """Masked exactly where solve refuses, equal elsewhere; raising exactly where one point is refused."""
    axes = {
        "layout": linked(tp_size=[t for t, _ in pairs], pp_size=[p for _, p in pairs]),
        "gradient_accumulation_steps": stages,
        "hardware": ["H100", MINE],
        "dp_size": derived(f"{total} / (tp_size * gradient_accumulation_steps)"),
    }
    grid = MEMORY.sweep(**RUN, **axes, outputs=["total_memory", "memory_utilization"], refused="mask")
    refused = 0
    for (i, (t, p)), (j, g), (k, hardware) in itertools.product(
        enumerate(pairs), enumerate(stages), enumerate(["H100", MINE])
    ):
        expected = None
        if total % (t * g) == 0:
            expected = solved(
                MEMORY, **RUN, tp_size=t, pp_size=p, gradient_accumulation_steps=g, hardware=hardware,
                dp_size=total // (t * g),
            )  # fmt: skip
        found = grid.total_memory.isel(layout=i, gradient_accumulation_steps=j, hardware=k).item()
        refused += expected is None
        assert np.isnan(found) if expected is None else found == pytest.approx(expected, rel=1e-12)
    assert grid.attrs["refused_points"] == refused == sum(json.loads(grid.attrs["refused_reasons"]).values())
    if refused:
        with pytest.raises(InputError, match=r"points are refused|must"):
            MEMORY.sweep(**RUN, **axes)
    else:
        plain = MEMORY.sweep(**RUN, **axes, outputs=["total_memory"])
        np.testing.assert_array_equal(plain.total_memory, grid.total_memory)


class TestVariants:
    def test_a_dimension_of_variants(self):
        names = list(TrainingMemoryModel.variants)
        grid = MEMORY.sweep(**POINT, variant=names, tp_size=[1, 2])
        assert dict(grid.sizes) == {"variant": 3, "tp_size": 2}
        assert grid.variant.values.tolist() == names
        for name, t in itertools.product(names, [1, 2]):
            expected = solved(TrainingMemoryModel(name), **POINT, tp_size=t)
            assert grid.total_memory.sel(variant=name, tp_size=t).item() == pytest.approx(expected, rel=1e-12)
        assert grid.attrs["variant"] == ", ".join(names)
        assert "loss_buffer" not in grid

    def test_one_variant_by_name_is_no_dimension(self):
        grid = MEMORY.sweep(**POINT, variant="per_operator", tp_size=[1, 2])
        assert grid.identical(OPERATOR.sweep(**POINT, tp_size=[1, 2]))

    def test_refused_points_are_counted_over_all_variants(self):
        grid = MEMORY.sweep(**POINT, variant=["first_order", "per_operator"], tp_size=[1, 3], refused="mask")
        assert grid.refused.dims == ("variant", "tp_size")
        assert (grid.refused.values > 0).tolist() == [[False, True], [False, True]]
        assert json.loads(grid.attrs["refused_reasons"])["tp_size must divide heads"] == 2

    @pytest.mark.parametrize(
        ("arguments", "kind", "message"),
        [
            ({"cp_size": 2}, InputError, "cp_size=2: the variant first_order does not use it"),
            ({"outputs": ["loss_buffer"]}, UnknownNameError, "loss_buffer"),
            ({"variant": ["first_order", "third"]}, UnknownNameError, "unknown variant of TrainingMemoryModel 'third'"),
            ({"variant": []}, InputError, "at least one variant, and each once"),
            ({"variant": ["first_order"] * 2}, InputError, "at least one variant, and each once"),
            ({"variant": 3}, UnknownNameError, "unknown variant"),
        ],
    )
    def test_refused(self, arguments, kind, message):
        with pytest.raises(kind) as caught:
            MEMORY.sweep(**{**POINT, "variant": ["per_operator", "first_order"], "tp_size": [1], **arguments})
        assert message in str(caught.value)


class TestLazy:
    def huge(self, **changed):
        axes = {
            "hardware": ["H100", "A100"],
            "batch_size": range(1, 100_001),
            "tp_size": range(1, 100_000),
            "pp_size": range(1, 20_000),
            "seq_len": range(1, 100_000),
            "dp_size": derived("512 / tp_size"),
        }
        return bind_grid(OPERATOR, {"model": "Llama3_8B", **axes, **changed})

    def test_a_grid_of_any_size_is_bound_axis_by_axis(self):
        binding = self.huge()
        assert np.prod([float(size) for size in binding.sizes]) > 1e18
        assert max(np.size(value) for value in binding.values.values()) == 100_000
        assert "dp_size" in binding.system
        assert "dp_size" not in binding.values

    def test_requirements_become_conditions(self):
        reasons = [reason.text for reason in self.huge().reasons]
        assert reasons[:3] == [
            "dp_size must be a whole number >= 1",
            "tp_size must divide heads",
            "pp_size must be at most layers",
        ]
        assert "kv_heads must divide heads" not in reasons

    def test_the_reason_code_says_which_requirement_solve_refuses(self):
        axes = {"tp_size": range(1, 10), "pp_size": [1, 2, 40], "ep_size": [1, 2], "dp_size": derived("64 / tp_size")}
        grid = OPERATOR.sweep(**{**POINT, **axes}, refused="mask")
        words = grid.refused.attrs["flag_meanings"].split()
        for place in np.ndindex(*grid.refused.shape):
            at = {name: int(grid[name][index]) for name, index in zip(grid.refused.dims, place, strict=True)}
            code = int(grid.refused.values[place])
            point = {**POINT, **at, "dp_size": derived("64 / tp_size")}
            if code:
                with pytest.raises(InputError) as refused:
                    OPERATOR.solve(**point)
                assert words[code].startswith(refused.value.argument)
            else:
                OPERATOR.solve(**point)
        assert 0 < int((grid.refused == 0).sum()) < grid.refused.size

    def test_what_no_axis_touches_is_refused_at_once(self):
        with pytest.raises(InputError, match="tp_size=3: must divide heads=32"):
            self.huge(tp_size=3, dp_size=1)
        with pytest.raises(InputError, match=r"dp_size=170\.6"):
            self.huge(tp_size=3)

    def test_missing_catalog_values_stay_masks_over_their_axes(self):
        arguments = {"model": "Llama3_8B", "qps": range(1, 100_000), "target_p99_latency_ms": range(1, 100_000)}
        arguments |= {"hardware": ["H100", "A100"], "precision": ["fp16", "fp8"]}
        binding = bind_grid(ServingCapacityModel(), arguments)
        (gap,) = (reason for reason in binding.reasons if reason.known is not None)
        assert gap.text == "peak_flops is not in the catalog"
        assert gap.known.shape == (1, 1, 2, 2)
        assert gap.known.squeeze().tolist() == [[True, True], [True, False]]

    def test_an_eager_grid_keeps_its_limit(self):
        with pytest.raises(InputError, match="a grid in memory has at most 100,000,000 points"):
            MEMORY.sweep(**RUN, hardware="H100", seq_len=range(1, 100_000), tp_size=range(1, 100_000))


def test_labels_say_what_is_valid():
    grid = ServingCapacityModel().sweep(
        "Llama3_8B", ["H100", "A100"], precision=["fp16", "fp8"], qps=20, target_p99_latency_ms=4000, refused="mask"
    )
    low, high = grid.bottleneck.attrs["valid_range"]
    assert (low, high) == (0, len(grid.bottleneck.attrs["flag_values"]) - 1)
    assert grid.bottleneck.dtype == np.int8
    assert grid.bottleneck.sel(hardware="A100", precision="fp8") == -1
    assert json.loads(grid.attrs["refused_reasons"]) == {"peak_flops is not in the catalog": 1}


def test_variants_alone_make_a_grid():
    model, point = TrainingMemoryModel(), {"model": "Llama3_8B", "hardware": "H100", "batch_size": 8}
    grid = model.sweep(**point, variant=["first_order", "per_operator"], outputs=["total_memory"])
    assert grid.sizes == {"variant": 2}
    for name in ("first_order", "per_operator"):
        alone = TrainingMemoryModel(name).solve(**point).total_memory.to("GB").magnitude
        assert grid.total_memory.sel(variant=name).item() == pytest.approx(alone, rel=1e-14)
