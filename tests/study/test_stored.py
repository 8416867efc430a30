"""``sweep(store=...)``: the same bits as in memory, however it is split and wherever it stopped."""

import json

import numpy as np
import pytest
import xarray

from mlsysim import Q_, ServingCapacityModel, TrainingMemoryModel, derived, linked
from mlsysim.errors import InputError
from mlsysim.study.grids import stream

MODEL = TrainingMemoryModel("per_operator")
POINT = {"model": "Llama3_8B", "batch_size": 64}
AXES = {
    "hardware": ["H100", "A100", "H200"],
    "tp_size": [1, 2, 3, 4, 8],
    "layout": linked(pp_size=[1, 2, 4], zero_stage=[3, 1, 0]),
    "precision": ["bf16", "fp8"],
    "seq_len": [1024, 4096],
}
OUTPUTS = ["total_memory", "memory_utilization", "feasible", "layers_per_stage"]


def swept(**options):
    return MODEL.sweep(**POINT, **AXES, outputs=OUTPUTS, refused="mask", **options)


@pytest.fixture(scope="module")
def whole():
    return swept()


def reasons(dataset):
    """Why every point is refused, in words: a store lists all reasons there can be, a sweep those there are."""
    if "refused" not in dataset:
        return []
    meanings = dataset.refused.attrs["flag_meanings"].split()
    return [meanings[code] for code in dataset.refused.values.ravel()]


def same(found, expected, roundings=0):
    """Equal in all that a reader sees, and in value to so many roundings."""
    assert dict(found.sizes) == dict(expected.sizes)
    assert set(expected.data_vars) <= set(found.data_vars)
    assert reasons(found) == reasons(expected)
    for name, values in expected.drop_vars("refused", errors="ignore").data_vars.items():
        expected_values = values.values.astype(found[name].dtype)
        rtol = roundings * np.finfo(float).eps
        np.testing.assert_allclose(found[name].values, expected_values, rtol=rtol, atol=0, err_msg=name)
        for key in ("units", "long_name", "latex", "flag_meanings"):
            assert found[name].attrs.get(key) == values.attrs.get(key), (name, key)
    for name, values in expected.coords.items():
        np.testing.assert_array_equal(found[name].values, values.values, err_msg=name)
        assert found[name].attrs.get("units") == values.attrs.get("units")


def test_a_store_of_another_variant_says_which(tmp_path):
    point = {**POINT, "hardware": "H100", "tp_size": [1, 2], "outputs": ["total_memory"], "variant": "first_order"}
    with MODEL.sweep(**point, store=tmp_path / "grid.nc") as stored:
        assert stored.attrs["variant"] == MODEL.sweep(**point).attrs["variant"] == "first_order"


@pytest.mark.long(quick=2)
@pytest.mark.parametrize("points", [None, 40, 7])
@pytest.mark.parametrize("kind", ["zarr", "nc"])
def test_equals_the_sweep_in_memory(whole, tmp_path, kind, points):
    """XLA divides by what is one number in a block by its inverse: a rounding may differ where blocks are split."""
    with swept(store=tmp_path / f"sweep.{kind}", block_points=points) as found:
        same(found, whole, roundings=2 if points else 0)
        assert found.attrs["model"] == "TrainingMemoryModel"


@pytest.mark.parametrize("points", [1, 33])
def test_blocks_in_memory_equal_the_sweep(whole, points):
    same(swept(block_points=points), whole, roundings=2)


@pytest.mark.long
def test_either_kind_of_store_and_memory_hold_the_same_bits(tmp_path):
    expected = swept(block_points=33)
    for kind in ("zarr", "nc"):
        with swept(store=tmp_path / f"sweep.{kind}", block_points=33) as found:
            same(found, expected)


@pytest.mark.long(quick=1)
@pytest.mark.parametrize("kind", ["zarr", "nc"])
def test_resumed_equals_uninterrupted(tmp_path, kind, monkeypatch):
    uninterrupted = swept(block_points=20)
    real, done = stream._block, []

    def interrupted(shared, number):
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(number)
        return real(shared, number)

    path = tmp_path / f"sweep.{kind}"
    monkeypatch.setattr(stream, "_block", interrupted)
    with pytest.raises(KeyboardInterrupt) as stop:
        swept(store=path, block_points=20)
    assert "3 of 15 blocks are finished" in stop.value.__notes__[0]
    again = []
    monkeypatch.setattr(stream, "_block", lambda shared, number: again.append(number) or real(shared, number))
    with swept(store=path, block_points=20) as found:
        same(found, uninterrupted)
    assert sorted(done + again) == list(range(15))


@pytest.mark.long
def test_another_computation_on_the_same_path_is_refused(tmp_path):
    path = tmp_path / "sweep.zarr"
    swept(store=path, block_points=60)
    for other in ({"outputs": ["weights"]}, {"batch_size": 128}, {"layout": linked(pp_size=[1, 2], zero_stage=[3, 1])}):
        asked = {**POINT, **AXES, "outputs": OUTPUTS, "refused": "mask", "block_points": 60, "store": path} | other
        with pytest.raises(InputError, match="was begun with other"):
            MODEL.sweep(**asked)


WEIGHTS = {**POINT, "hardware": "H100", "outputs": ["weights"]}
PAIRS = linked(tp_size=[1, 2], pp_size=[2, 1])


@pytest.mark.long(quick=2)
@pytest.mark.parametrize(
    ("begun", "other", "part"),
    [
        (
            {"hardware": "H100", "tp_size": [1, 2]},
            {"hardware": "A100", "tp_size": [1, 2]},
            r"attributes \(hardware: NVIDIA H100 SXM5 80 GB there, NVIDIA A100 SXM4 80 GB here; "
            r"memory_capacity: 85.52 GB there, 85.90 GB here; driver_memory: 85.06 GB there, 84.99 GB here\); nothing",
        ),
        (
            {"batch_size": 64, "tp_size": [1, 2]},
            {"batch_size": 128, "tp_size": [1, 2]},
            r"inputs and attributes \(batch_size: 64 there, 128 here\); nothing",
        ),
        (
            {"hardware": ["H100", "H200"]},
            {"hardware": ["H100", "A100"]},
            r"coordinates \(axis hardware: H100, H200 there, H100, A100 here\)",
        ),
        (
            {"tp_size": [1, 2]},
            {"tp_size": [1, 2], "batch_size": 1, "seq_len": 8, "precision": "bf16", "zero_stage": 3},
            r"; and \d more\); nothing",
        ),
        (
            {"one": PAIRS},
            {"two": PAIRS},
            r"dimensions and coordinates and attributes \(axes: one there, two here",
        ),
        (
            {"reserved_memory": ["1 GB", "2 GB"]},
            {"reserved_memory": Q_([1000, 2000], "MB")},
            r"coordinates \(axis reserved_memory: 1.0, 2.0 GB there, 1000, 2000 MB here\)",
        ),
    ],
)
def test_what_a_reader_sees_is_part_of_the_fingerprint(tmp_path, begun, other, part):
    """The weights are the same numbers; the devices, axes and units are not."""
    path = tmp_path / "sweep.zarr"
    MODEL.sweep(**WEIGHTS | begun, store=path)
    with pytest.raises(InputError, match=f"was begun with other .*{part}"):
        MODEL.sweep(**WEIGHTS | other, store=path)


def test_the_same_axis_typed_in_another_way_is_recognised(tmp_path, monkeypatch):
    path = tmp_path / "sweep.zarr"
    MODEL.sweep(**WEIGHTS, seq_len=[1024, 2048], store=path)
    monkeypatch.setattr(stream, "_block", lambda *_: pytest.fail("computed again"))
    MODEL.sweep(**WEIGHTS, seq_len=Q_([1024, 2048], "token"), store=path)


@pytest.mark.long(quick=1)
@pytest.mark.parametrize("most", [None, 4])
def test_a_derived_argument_that_varies_is_part_of_the_data(tmp_path, monkeypatch, most):
    """Beside the axes it follows from; over the whole grid where those axes are many."""
    asked = {**POINT, "hardware": "H100", "tp_size": [1, 2, 4], "pp_size": [1, 4, 8], "zero_stage": [1, 2],
             "dp_size": derived("96 / (tp_size * pp_size)"), "refused": "mask"}  # fmt: skip
    whole = MODEL.sweep(**asked)
    if most:
        monkeypatch.setattr("mlsysim.study.grids.dataset.POINTS", most)
    with MODEL.sweep(**asked, store=tmp_path / "sweep.nc", block_points=4) as found:
        assert ("dp_size" in found.data_vars) == bool(most)
        np.testing.assert_array_equal(found.total_memory.values, whole.total_memory.values)
        known = ~np.isnan(whole.total_memory.values)
        assert known.any()
        ours, expected = xarray.broadcast(found.dp_size, whole.dp_size, exclude=[])
        dims = found.total_memory.dims
        ours, expected = (each.broadcast_like(found.total_memory).transpose(*dims).values for each in (ours, expected))
        np.testing.assert_array_equal(ours[known], expected[known])


def test_refused_points_are_an_error_before_anything_is_computed(tmp_path, monkeypatch):
    monkeypatch.setattr(stream, "_block", lambda *_: pytest.fail("computed"))
    path = tmp_path / "sweep.zarr"
    with pytest.raises(InputError, match="tp_size=3: must divide"):
        MODEL.sweep(**POINT, **AXES, store=path)
    assert not path.exists()
    assert not list(tmp_path.iterdir())


def test_a_label_output(tmp_path):
    asked = {"model": "Llama3_8B", "hardware": "H100", "target_p99_latency_ms": 4000, "qps": [1, 5, 20, 100]}
    whole = ServingCapacityModel().sweep(**asked)
    with ServingCapacityModel().sweep(**asked, store=tmp_path / "sweep.zarr") as found:
        same(found, whole)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"block_points": 0}, "block_points=0: must be a whole number >= 1"),
        ({"block_points": 2.5}, "block_points=2.5: must be a whole number >= 1"),
        ({"block_points": True}, "block_points=True: must be a whole number >= 1"),
        ({"block_points": 9, "refused": "skip"}, "refused='skip'"),
        ({"block_points": 9, "variant": ["first_order", "per_operator"]}, "one variant at a time"),
        ({"store": "sweep.csv"}, ".zarr"),
        ({"block_points": 9, "tp_size": 2}, "use solve() for one point"),
        ({"store": "s.zarr", "batch_size": range(1, 10**5), "seq_len": range(1, 10**5)}, "use refused='mask'"),
        (
            {"block_points": 9, "batch_size": range(1, 10**5), "seq_len": range(1, 10**5), "refused": "mask"},
            "name a file: store='sweep.zarr'",
        ),
    ],
)
def test_refused(options, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        MODEL.sweep(**{**POINT, "hardware": "H100", "tp_size": [1, 2], **options})
    assert message in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_what_was_not_swept_is_told(tmp_path):
    with swept(store=tmp_path / "sweep.zarr") as found:
        assert json.loads(found.attrs["entries"]) == {"model": "Llama 3 8B"}
        assert json.loads(found.attrs["fixed_inputs"])["batch_size"] == "64"
