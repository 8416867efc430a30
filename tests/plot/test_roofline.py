"""Rooflines: points from what a model gives, roofs from peak and bandwidth, by hand."""

import json

import numpy as np
import pytest

from mlsysim import DistributedModel, ServingCapacityModel, TrainingMemoryModel
from mlsysim.errors import InputError, UnitError, UnknownNameError
from mlsysim.plot import roofline

NEEDED = ["prefill_flops", "served_weights", "ttft", "decode_step_time", "feasible"]
#: TFLOP/s and TB/s of datasheets.
PEAKS = {"A100": (312, 2.039), "H100": (989, 3.35)}
PREFILL = ("prefill_flops", "served_weights", "ttft")


@pytest.fixture(scope="module")
def prefill():
    return ServingCapacityModel().sweep(
        model="Llama3_8B",
        hardware=["A100", "H100"],
        seq_len=[64, 256, 1024],
        qps=5,
        target_p99_latency_ms=[40, 4000],
        max_batch_size=1,
        output_tokens=1,
        outputs=NEEDED,
    )


def drawn(ax, gid):
    (found,) = [line for line in ax.get_lines() if line.get_gid() == gid]
    return found.get_xydata()


def test_points_are_intensity_and_rate(ax, prefill):
    roofline(prefill, *PREFILL, ax=ax)
    high = 0
    for name in ("A100", "H100"):
        one = prefill.sel(hardware=name)
        intensity = one.prefill_flops * 1e12 / (one.served_weights * 1e9)
        rate = one.prefill_flops / (one.ttft / 1e3)
        peak, bandwidth = PEAKS[name]
        above = rate > np.minimum(peak, intensity * bandwidth) * (1 + 1e-9)
        assert 0 < int(above.sum()) < above.size
        high += int(above.sum())
        kinds = {"feasible": one.feasible & ~above, "infeasible": ~one.feasible & ~above, "above": above}
        for gid, here in kinds.items():
            wanted = np.column_stack([array.values[here.values] for array in (intensity, rate)])
            np.testing.assert_allclose(drawn(ax, f"{gid} {name}"), wanted)
        (triangles,) = [line for line in ax.get_lines() if line.get_gid() == f"above {name}"]
        assert triangles.get_marker() == "^"
    assert 0 < int(prefill.feasible.sum()) < prefill.feasible.size
    assert ax.get_xlabel() == "Arithmetic intensity $I$ [FLOP/byte]"
    assert ax.get_ylabel() == "Rate reached [TFLOP/s]"
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["peak", "reached share", "infeasible", "above its roof"]
    note = f"{high} of 12 points above their roof: their time leaves out work or traffic"
    assert note in ax.get_title(loc="left")


@pytest.mark.parametrize(("name", "peak", "bandwidth"), [(name, *ends) for name, ends in PEAKS.items()])
def test_roofs_are_those_of_the_datasheets(ax, prefill, name, peak, bandwidth):
    roofline(prefill, *PREFILL, ax=ax)
    for gid, share in (("roof", 1.0), ("reached", 0.5)):
        intensity, rate = drawn(ax, f"{gid} {name}").T
        np.testing.assert_allclose(rate, np.minimum(peak * share, intensity * bandwidth), rtol=1e-12)
        assert rate.min() < peak * share == rate.max()
    assert [text.get_text() for text in ax.texts] == ["A100", "H100"]


def test_times_at_their_ceilings_count_as_amounts(ax):
    ds = DistributedModel().sweep(
        model="Llama3_70B",
        hardware="H100",
        fleet_size=512,
        batch_size=1024,
        precision="bf16",
        tp_size=[4, 8],
        pp_size=4,
        gradient_accumulation_steps=16,
        fabric_bandwidth="50 GB/s",
        fabric_latency="10 us",
        outputs=["product_time", "elementwise_time", "micro_batch_time"],
    )
    roofline(ds, "product_time", "elementwise_time", "micro_batch_time", hue="tp_size", ax=ax)
    ridge = 989 * 0.6 / (3.35 * 0.8)
    for ranks in (4, 8):
        one = ds.sel(tp_size=ranks)
        wanted = [ridge * one.product_time / one.elementwise_time, 989 * 0.6 * one.product_time / one.micro_batch_time]
        np.testing.assert_allclose(drawn(ax, f"feasible {ranks}"), [np.array(wanted, float)])
    _, rate = drawn(ax, "reached").T
    assert rate.max() == pytest.approx(989 * 0.6)


def test_without_a_time_the_points_stand_on_the_roof(ax, prefill):
    roofline(prefill, "prefill_flops", "served_weights", ax=ax)
    intensity, rate = drawn(ax, "feasible H100").T
    np.testing.assert_allclose(rate, np.minimum(989 * 0.5, intensity * 3.35))
    assert ax.get_ylabel() == "Attainable rate [TFLOP/s]"


def test_several_outputs_are_added(ax, prefill):
    roofline(prefill, "prefill_flops", ["served_weights", "served_weights"], "ttft", ax=ax)
    one = prefill.sel(hardware="H100")
    wanted = (one.prefill_flops * 1e3 / (2 * one.served_weights)).values[one.feasible.values]
    points = np.concatenate([drawn(ax, "above H100"), drawn(ax, "feasible H100")])
    np.testing.assert_allclose(np.sort(points[:, 0]), np.sort(wanted))


def test_ceilings_can_be_given(ax, prefill):
    roofline(
        prefill,
        *PREFILL,
        peak_flops={"A100": "100 TFLOP/s", "H100": "1 PFLOP/s"},
        memory_bandwidth=1000,
        efficiency=1,
        ax=ax,
    )
    for name, peak in (("A100", 100), ("H100", 1000)):
        intensity, rate = drawn(ax, f"roof {name}").T
        np.testing.assert_allclose(rate, np.minimum(peak, intensity))
    assert not [line for line in ax.get_lines() if str(line.get_gid()).startswith("reached")]


def test_each_precision_has_its_own_roof(ax):
    ds = ServingCapacityModel().sweep(
        model="Llama3_8B", hardware="H100", precision=["bf16", "fp8"], seq_len=[256, 4096], qps=5,
        target_p99_latency_ms=4000, max_batch_size=1, output_tokens=1, outputs=NEEDED,
    )  # fmt: skip
    roofline(ds, *PREFILL, ax=ax)
    assert [drawn(ax, f"roof {name}")[:, 1].max() for name in ("bf16", "fp8")] == [989, 1979]
    assert [text.get_text() for text in ax.texts] == ["bf16", "fp8"]


def test_a_device_without_the_precision_has_no_roof(ax):
    ds = ServingCapacityModel().sweep(
        model="Llama3_8B", hardware=["V100", "H100"], precision="fp8", seq_len=[256, 4096], qps=5, refused="mask",
        target_p99_latency_ms=4000, max_batch_size=1, output_tokens=1, outputs=NEEDED,
    )  # fmt: skip
    roofline(ds, *PREFILL, ax=ax)
    assert [text.get_text() for text in ax.texts] == ["H100"]


def test_a_fixed_accelerator_has_one_roof(ax, prefill):
    ds = prefill.sel(hardware=["H100"]).isel(hardware=0, drop=True)
    fixed = {**json.loads(ds.attrs["fixed_inputs"]), "peak_flops": "989.0 TFLOP/s", "memory_bandwidth": "3350.0 GB/s"}
    roofline(ds.assign_attrs(fixed_inputs=json.dumps(fixed)), *PREFILL, hue="seq_len", ax=ax)
    assert drawn(ax, "roof")[:, 1].max() == 989
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts[:3] == ["64", "256", "1024"]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"flops": "prefil_flops"}, UnknownNameError, "did you mean prefill_flops"),
        ({"flops": "served_weights"}, UnitError, "flops: served_weights is in GB, and must be in FLOP, or a time"),
        ({"time": "served_weights"}, UnitError, "time: served_weights is in GB, and must be in a time"),
        ({"traffic": "feasible"}, UnitError, "traffic: feasible is in no unit"),
        ({"hue": "qps"}, InputError, "hue='qps': must be one of the dimensions hardware, seq_len"),
        ({"peak_flops": {"A100": 1}}, InputError, "must have a value for H100"),
        ({"peak_flops": "1 GB"}, UnitError, "peak_flops"),
        ({"memory_bandwidth": -1}, InputError, "memory_bandwidth=-1: must be a finite number > 0"),
        ({"memory_bandwidth": "fast"}, UnitError, "fast"),
        ({"efficiency": 1.5}, InputError, "efficiency=1.5: must be a finite number > 0 and <= 1"),
        ({"ds": None}, InputError, "must be the data set"),
    ],
)
def test_a_wrong_argument_is_refused(ax, prefill, change, error, message):
    names = dict(zip(("flops", "traffic", "time"), PREFILL, strict=True))
    with pytest.raises(error, match=message):
        roofline(**{"ds": prefill, **names, **change}, ax=ax)
    assert not ax.has_data()


def test_an_unknown_ceiling_is_asked_for(ax):
    ds = TrainingMemoryModel().sweep(model="Llama3_8B", hardware="H100", batch_size=[1, 2])
    ds = ds.assign_attrs(entries="{}")
    with pytest.raises(InputError, match=r"peak_flops=None: the data set does not say it; give peak_flops=\.\.\."):
        roofline(ds, "weights", "weights", ax=ax)
