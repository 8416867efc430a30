"""Calibration: planted parameters come back, what is not known is said, and rows are predicted as well as promised."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from study.calibrated_models import RoofModel

from mlsysim import Q_, ExpertParallelModel, IterationModel, KernelModel, Stacks, files, load_catalog
from mlsysim.errors import InputError, UnitError, UnknownNameError

PLANTED = {"roof_reached": 0.62, "roof_moved": 0.7, "roof_start": 0.3}
HELD = {"roof_peak": 1000, "roof_bandwidth": 3.35}
ROOF = RoofModel()
#: Half of these rows are bound by work, half by bytes.
ROWS = 24
WORK = np.geomspace(30, 30_000, ROWS)
BYTES = np.where(np.arange(ROWS) % 2, 0.05, 20.0) * WORK**0.5 / 10


def measurements(noise=0.0, seed=0, **planted):
    """Times of the roofline at planted parameters, with lognormal noise."""
    truth = {**PLANTED, **planted}
    times = np.maximum(WORK / (1000 * truth["roof_reached"]), BYTES / (3.35 * truth["roof_moved"]))  # both in ms
    scatter = np.exp(noise * np.random.default_rng(seed).standard_normal(ROWS))
    return {
        "roof_work [GFLOP]": WORK,
        "roof_bytes [GB]": BYTES,
        "roof_time [µs]": 1e3 * (truth["roof_start"] + times) * scatter,
    }


@pytest.fixture(scope="module")
def noisy():
    return ROOF.calibrate(list(PLANTED), measurements(0.05), **HELD)


def bare(value):
    return getattr(value, "magnitude", value)


def test_planted_parameters_come_back():
    found = ROOF.calibrate(list(PLANTED), measurements(), **HELD)
    assert {name: bare(value) for name, value in found.values.items()} == pytest.approx(PLANTED, rel=1e-9)
    assert found.values["roof_start"].units == Q_(1, "ms").units
    assert found.unidentifiable == ()
    assert found.at_bound == {}


def test_errors_correlations_and_intervals_are_those_of_the_normal_equations(noisy):
    """Against derivatives written by hand and the textbook's formula."""
    at = {name: bare(value) for name, value in noisy.values.items()}
    worked = WORK / (1000 * at["roof_reached"])
    moved = BYTES / (3.35 * at["roof_moved"])
    time = at["roof_start"] + np.maximum(worked, moved)
    bound = worked > moved
    slopes = np.stack([-worked * bound / at["roof_reached"], -moved * ~bound / at["roof_moved"], np.ones(ROWS)], axis=1)
    jacobian = slopes / time[:, None]
    residuals = np.log(noisy.residuals.ratios["roof_time"])
    covariance = residuals @ residuals / (ROWS - 3) * np.linalg.inv(jacobian.T @ jacobian)
    assert noisy.covariance.values == pytest.approx(covariance, rel=1e-6)
    spread = np.sqrt(np.diag(covariance))
    assert [bare(error) for error in noisy.errors.values()] == pytest.approx(spread, rel=1e-6)
    assert noisy.correlations.values == pytest.approx(covariance / np.outer(spread, spread), rel=1e-6)
    quantile = 2.0796138447276626  # of Student's t with 21 degrees of freedom at 97.5%
    share = spread[0] / at["roof_reached"]
    low, high = noisy.intervals()["roof_reached"]
    assert (low, high) == pytest.approx(at["roof_reached"] * np.exp([-quantile * share, quantile * share]), rel=1e-9)
    start = noisy.intervals()["roof_start"]
    assert [bare(end) for end in start] == pytest.approx(at["roof_start"] + spread[2] * np.array([-1, 1]) * quantile)


def test_every_row_is_predicted_without_it(noisy):
    left = noisy.leave_one_out
    for row in (0, 7, 23):
        rest = {name: np.delete(cells, row) for name, cells in measurements(0.05).items()}
        without = ROOF.calibrate(list(PLANTED), rest, **HELD)
        point = {"roof_work": WORK[row], "roof_bytes": BYTES[row]}
        assert left.predicted["roof_time"][row] == pytest.approx(
            without.solve(**point).canonical("roof_time"), rel=1e-6
        )
    assert noisy.residuals.errors.median < left.errors.median
    assert f"Each row predicted without it: {left.errors}" in repr(noisy)


def coverage(repeats, noise=0.05):
    """Shares of the 95% intervals that hold the planted parameters."""
    held = dict.fromkeys(PLANTED, 0)
    for seed in range(repeats):
        intervals = ROOF.calibrate(list(PLANTED), measurements(noise, seed), **HELD).intervals(0.95)
        for name, true in PLANTED.items():
            low, high = map(bare, intervals[name])
            held[name] += low <= true <= high
    return [count / repeats for count in held.values()]


def test_intervals_cover_what_they_say_in_short():
    assert min(coverage(30)) >= 0.8


@pytest.mark.long
def test_intervals_cover_what_they_say():
    """Of 600 repeats a share of 95% lies between 93% and 97% but for one time in forty."""
    assert all(0.93 <= share <= 0.97 for share in coverage(600))


@pytest.mark.long
def test_intervals_of_a_server_cover_what_they_say():
    """Decode steps and prefills on four numbers of devices, 32 rows, of a model with 44 formulas."""
    model, held = IterationModel(), {"model": "Llama3_8B", "hardware": "A100", "precision": "fp16"}
    truth = {"efficiency": 0.53, "kv_read_efficiency": 0.71, "layer_tax": 0.08}
    asked = [{"decode_requests": n, "context_tokens": 1024, "prompts": 0, "seq_len": 1} for n in (1, 16, 64, 192)]
    asked += [{"decode_requests": 0, "context_tokens": 1, "prompts": 1, "seq_len": n} for n in (128, 512, 2048, 8192)]
    rows = [{**each, "tp_size": ranks} for each in asked for ranks in (1, 2, 4, 8)]
    times = np.array([model.solve(**held, **truth, **row).canonical("iteration_time") for row in rows])
    covered = dict.fromkeys(truth, 0)
    for seed in range(400):
        noise = np.exp(0.05 * np.random.default_rng(seed).standard_normal(len(rows)))
        table = [{**row, "iteration_time [s]": t} for row, t in zip(rows, (times * noise).tolist(), strict=True)]
        intervals = model.calibrate(list(truth), table, **held).intervals()
        for name, true in truth.items():
            low, high = map(bare, intervals[name])
            covered[name] += low <= true <= high
    assert all(0.93 <= count / 400 <= 0.97 for count in covered.values()), covered


@pytest.mark.long
def test_many_rows_take_little_memory():
    rows = 20_000
    table = {
        "roof_work [GFLOP]": np.linspace(100, 9000, rows),
        "roof_time [ms]": 0.3 + np.linspace(0.1, 9, rows) / 0.62,
    }
    found = ROOF.calibrate(["roof_reached", "roof_start"], table, roof_bytes=1e-3, roof_moved=0.7, **HELD)
    assert found.values["roof_reached"] == pytest.approx(0.62)
    assert found.unidentifiable == ()


def test_what_has_no_effect_has_no_error():
    """All rows are bound by work."""
    table = {**measurements(), "roof_bytes [GB]": np.full(ROWS, 1e-3)}
    table["roof_time [µs]"] = 1e3 * (0.3 + WORK / 620)
    found = ROOF.calibrate(list(PLANTED), table, **HELD)
    assert [each.name for each in found.unidentifiable] == ["roof_moved"]
    assert found.errors["roof_moved"] is None
    assert found.intervals()["roof_moved"] is None
    assert found.values["roof_reached"] == pytest.approx(0.62)
    assert "these measurements say nothing of it" in repr(found)
    assert int((np.abs(found.influence.sel(input="roof_moved")) > 0).sum()) == 0


def test_a_product_is_known_and_its_factors_are_not():
    found = ROOF.calibrate(["roof_reached", "roof_peak", "roof_start"], measurements(0.02), roof_bandwidth=3.35,
                           roof_moved=0.7, roof_peak=900)  # fmt: skip
    (combination,) = found.unidentifiable
    assert combination.parameters == ("roof_reached", "roof_peak")
    assert set(combination.changes) == {"+1%", "-1%"}
    assert found.errors["roof_reached"] is None
    assert found.errors["roof_start"] is not None
    assert np.isnan(found.correlations.sel(input="roof_peak", other="roof_start"))
    assert found.values["roof_reached"] * found.values["roof_peak"].magnitude == pytest.approx(620, rel=0.05)
    assert "roof_reached x roof_peak" in repr(found)


def test_a_share_stops_at_one_and_says_so():
    found = ROOF.calibrate(list(PLANTED), measurements(0.03, roof_reached=1.15), **HELD)
    assert found.values["roof_reached"] == 1.0
    assert found.at_bound == {"roof_reached": "upper"}
    assert found.errors["roof_reached"] is None
    assert found.errors["roof_moved"] is not None
    assert "at its upper bound 1" in repr(found)


def test_one_row_gives_a_value_and_no_error():
    found = ROOF.calibrate("roof_reached", {"roof_time": [1.0]}, roof_work=400, roof_bytes=1, roof_start=0, **HELD)
    assert found.values["roof_reached"] == pytest.approx(0.4)
    assert found.errors["roof_reached"] is None
    assert str(found.leave_one_out.errors) == "no row has one"
    assert "no spare measurement" in repr(found)
    assert "-" in repr(found.leave_one_out)
    assert '"error": null' in found.to_json()
    assert found.to_dict()["without_each_row"]["error"] is None


def test_all_inputs_may_end_at_a_bound():
    table = {**measurements(), "roof_time [µs]": np.full(ROWS, 1e-3)}
    found = ROOF.calibrate(list(PLANTED), table, **HELD)
    assert found.at_bound == {"roof_reached": "upper", "roof_moved": "upper", "roof_start": "lower"}
    assert found.unidentifiable == ()
    assert found.covariance.size == 0


def test_several_outputs_empty_cells_and_weights():
    table = measurements()
    times = table["roof_time [µs]"] / 1e3
    rates = [
        work / time if place % 3 == 0 else None for place, work, time in zip(range(ROWS), WORK, times, strict=True)
    ]
    times = [None if place % 3 == 0 else time for place, time in enumerate(times)]
    times[1] *= 5  # an outlier, which a weight of zero leaves out
    table = {**measurements(), "roof_time [ms]": times, "roof_rate [GFLOP/ms]": rates}
    del table["roof_time [µs]"]
    weights = np.where(np.arange(ROWS) == 1, 0, 2.0)
    for given in ({"weights": weights}, {"weights": {"roof_time": weights, "roof_rate": 3}}):
        found = ROOF.calibrate(list(PLANTED), table, **HELD, **given)
        assert {name: bare(value) for name, value in found.values.items()} == pytest.approx(PLANTED, rel=1e-6)
    column = ROOF.calibrate(list(PLANTED), {**table, "weight": weights}, **HELD)
    assert column.values["roof_reached"] == pytest.approx(0.62, rel=1e-6)
    alone = ROOF.calibrate(list(PLANTED), table, outputs="roof_rate", **HELD)
    assert set(alone.residuals.ratios) == {"roof_rate"}


def test_rows_may_repeat_and_inputs_may_all_agree():
    table = {"roof_time [ms]": [1.1, 1.0, 1.2], "roof_work [GFLOP]": [400, 400, 400]}
    found = ROOF.calibrate("roof_reached", table, roof_bytes=1, roof_start=0.2, **HELD)
    assert found.values["roof_reached"] == pytest.approx(0.4 / (np.prod([1.1, 1.0, 1.2]) ** (1 / 3) - 0.2), rel=1e-6)


def test_other_rows_are_predicted_and_other_points_solved(noisy):
    truth = measurements(0.0)
    fresh = {name: cells[:5] for name, cells in truth.items()} | {"note": list("abcde")}
    compared = noisy.predict(fresh, ignore="note")
    assert compared.errors.worst < 0.1
    assert compared.labels == {"note": tuple("abcde")}
    assert str(compared.to_dataset()["note"].values[2]) == "c"
    solved = noisy.solve(roof_work=WORK[2], roof_bytes=BYTES[2])
    assert solved.canonical("roof_time") == pytest.approx(compared.predicted["roof_time"][2])
    assert noisy.solve(roof_work=1, roof_bytes=1, roof_start="5 ms").roof_time > Q_(5, "ms")


def test_draws_scatter_as_the_errors_say(noisy):
    drawn = noisy.draws(4000)
    assert drawn["roof_start"].magnitude.std() == pytest.approx(noisy.errors["roof_start"].magnitude, rel=0.05)
    assert np.log(drawn["roof_reached"]).std() * noisy.values["roof_reached"] == pytest.approx(
        noisy.errors["roof_reached"], rel=0.05
    )


def test_it_prints_as_a_table_and_as_plain_data(noisy):
    assert max(map(len, repr(noisy).splitlines())) <= 100
    assert noisy._repr_html_().startswith("<table><caption>Calibration of RoofModel")
    assert "Predicted over measured: median" in noisy.residuals._repr_html_()
    data = noisy.to_dict()
    assert data["inputs"]["roof_start"]["unit"] == "ms"
    assert len(data["rows"]["outputs"]["roof_time"]["ratio"]) == ROWS
    assert '"unidentifiable": []' in noisy.to_json()


def test_it_begins_where_it_is_told():
    """A start behind the ridge, from which no slope leads to the memory's share, does not matter."""
    found = ROOF.calibrate(list(PLANTED), measurements(), roof_reached=0.01, roof_moved=1.0, roof_start=0, **HELD)
    assert {name: bare(value) for name, value in found.values.items()} == pytest.approx(PLANTED, rel=1e-6)


@pytest.mark.parametrize(
    ("changed", "error", "says"),
    [
        ({"free": "roof_reach"}, UnknownNameError, "roof_reached"),
        ({"free": []}, InputError, "at least one"),
        ({"free": ["roof_start", "roof_start"]}, InputError, "once"),
        ({"free": "roof_copies"}, InputError, "whole number"),
        ({"free": "roof_work"}, InputError, "column of the table"),
        ({"roof_tim": [1] * ROWS}, UnknownNameError, "roof_time.*ignore"),
        ({"roof_time [GB]": [1] * ROWS}, UnitError, "roof_time"),
        ({"roof_time [foo]": [1] * ROWS}, UnitError, "foo"),
        ({"roof_time [ms]": [1, None, -1] + [1] * (ROWS - 3)}, InputError, "row 3"),
        ({"roof_time [ms]": [1, np.inf] + [1] * (ROWS - 2)}, InputError, "row 2"),
        ({"roof_time [ms]": [True] * ROWS}, InputError, "row 1"),
        ({"roof_time [ms]": [None] * ROWS}, InputError, "empty"),
        ({"roof_copies": [1, None] + [1] * (ROWS - 2)}, InputError, "row 2"),
        ({"roof_copies": [1.5] * ROWS}, InputError, "roof_copies"),
        ({"roof_copies": [1]}, InputError, "one length"),
        ({"roof_peak": [1000] * ROWS}, InputError, "given twice"),
        ({"weights": [1, 2]}, InputError, "24 numbers"),
        ({"weights": [-1] * ROWS}, InputError, ">= 0"),
        ({"weights": {"roof_rat": 1}}, UnknownNameError, "roof_time"),
        ({"space": "cubic"}, InputError, "linear"),
        ({"outputs": "roof_rate"}, InputError, "no column"),
        ({"ignore": "roof_tme"}, UnknownNameError, "roof_time"),
        ({"ignore": ["roof_time"]}, InputError, "nothing was measured"),
        ({"held": {"roof_moved": [0.5, 0.6]}}, InputError, "column roof_moved"),
        ({"observations": 7}, InputError, "CSV"),
        ({"observations": "nowhere.csv"}, InputError, "cannot be read"),
        ({"observations": []}, InputError, "CSV"),
    ],
)
def test_what_cannot_be_calibrated_is_refused(changed, error, says):
    options = ("free", "weights", "space", "outputs", "ignore", "observations")
    asked = {"free": ["roof_reached"], "observations": measurements()}
    asked |= {name: value for name, value in changed.items() if name in options}
    columns = {name: cells for name, cells in changed.items() if name not in (*options, "held")}
    if any(name.startswith("roof_time ") for name in columns):
        del asked["observations"]["roof_time [µs]"]
    if columns:
        asked["observations"] = {**asked["observations"], **columns}
    with pytest.raises(error, match=says):
        ROOF.calibrate(**asked, **HELD, **changed.get("held", {}))


@pytest.mark.long
def test_the_expert_parallel_report_does_not_tell_retries_from_imbalance():
    """Two rates of one report: what four ranks lose is time of the allocator or imbalance, and no row says which."""
    report = {"ep_size": [1, 4], "tokens_per_second_per_accelerator": [2125, 1121]}
    free = ["efficiency", "remap_bandwidth", "routing_imbalance_factor"]
    found = ExpertParallelModel().calibrate(free, report, recipe="torchtitan_issue_1624")
    (combination,) = found.unidentifiable
    assert combination.name == "remap_bandwidth x routing_imbalance_factor"
    assert found.errors["remap_bandwidth"] is None
    assert found.standing("routing_imbalance_factor") == "not determined"
    shown = {name: cells for name, *cells in found.table()[1]}
    assert shown["remap_bandwidth"] == ["-", "not determined", "-", "-", "-"]
    assert shown["efficiency"][0] != "-"


def test_only_constants_of_a_stack_are_saved(noisy, tmp_path):
    with pytest.raises(InputError, match="roof_reached"):
        noisy.save(tmp_path / "own.toml", "Roof")
    with pytest.raises(InputError, match="name"):
        noisy.save(tmp_path / "own.toml", "no name")
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def stack():
    model, held = KernelModel("roofline"), {"hardware": "H100", "precision": "bf16"}
    truth = {"memory_efficiency": 0.7, "launch_time": "3 us"}
    rows = [{"product_rows": 8, "product_columns": 1024 * n, "product_inner": 4096} for n in range(1, 21)]
    times = [model.solve(**held, **truth, **row).kernel_time.to("ms").magnitude for row in rows]
    table = [{**row, "kernel_time [ms]": time} for row, time in zip(rows, times, strict=True)]
    return model, model.calibrate("memory_efficiency", table, launch_time="3 us", **held), rows


def test_a_saved_stack_says_its_rows_and_is_used_by_name(stack, tmp_path):
    model, found, rows = stack
    file = tmp_path / "own.toml"
    found.save(file, "Ours_H100", base="TensorRT_LLM_H100", source="https://example.org/table")
    found.save(file, "Again")
    shelf = load_catalog(file)
    ours = shelf.Stacks.Ours_H100
    assert ours.memory_efficiency.kind == "calibrated"
    assert ours.memory_efficiency.calibrated_on.startswith("20 rows (sha256 ")
    assert ours.memory_efficiency.source == "https://example.org/table"
    assert ours.launch_time.kind == "user"
    assert ours.launch_time.canonical == pytest.approx(3e-6)
    assert ours.efficiency == Stacks.TensorRT_LLM_H100.efficiency
    assert "without each row in turn" in ours.description
    solved = model.solve(hardware="H100", precision="bf16", stack=shelf.Stacks.Again, **rows[0])
    assert solved.canonical("kernel_time") == pytest.approx(found.solve(**rows[0]).canonical("kernel_time"), rel=1e-12)
    before = file.read_text()
    with pytest.raises(InputError, match="stands in own"):
        found.save(file, "Again")
    assert file.read_text() == before


def test_the_rows_of_a_saved_stack_are_beside_it_and_give_it_again(stack, tmp_path):
    model, found, _ = stack
    found.save(tmp_path / "own.toml", "Ours")
    ours = load_catalog(tmp_path / "own.toml").Stacks.Ours.memory_efficiency
    assert ours.calibrated_on.endswith(", in own.Ours.csv")
    assert ours.note == f"Standard error {found.errors['memory_efficiency']:.2g}."
    file = tmp_path / "own.Ours.csv"
    assert "# Held: launch_time=3 us, hardware=H100, precision=bf16\n" in file.read_text()
    again = model.calibrate("memory_efficiency", file, **found.held)
    assert again.values == pytest.approx(found.values, rel=1e-9)
    (tmp_path / "own.toml").unlink()
    found.save(tmp_path / "own.toml", "Ours")
    (tmp_path / "own.toml").unlink()
    file.write_text("batch,time\n1,2\n")
    with pytest.raises(InputError, match=r"overwrite own\.Ours\.csv"):
        found.save(tmp_path / "own.toml", "Ours")
    assert file.read_text() == "batch,time\n1,2\n"


def test_two_writers_of_one_file_lose_nothing(stack, tmp_path):
    """Each reads the file, adds to it and replaces it; without a lock between the two, most were lost."""
    _, found, _ = stack
    names = [f"Ours_{number}" for number in range(12)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda name: found.save(tmp_path / "own.toml", name), names))
    assert sorted(load_catalog(tmp_path / "own.toml").Stacks) == sorted(names)
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(
        ["own.toml", *(f"own.{name}.csv" for name in names)]
    )


def test_a_writer_that_never_ends_is_named(stack, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "PATIENCE", 0.05)
    _, found, _ = stack
    file = tmp_path / "own.toml"
    with files.locked(file), pytest.raises(InputError, match=r"another writer holds it; delete '.*lock'"):
        found.save(file, "Ours")
    found.save(file, "Ours")


def test_the_file_keeps_its_permissions_and_line_ends(stack, tmp_path):
    _, found, _ = stack
    file = tmp_path / "own.toml"
    found.save(file, "First")
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    file.chmod(0o600)
    before = file.read_bytes()
    found.save(file, "Second")
    assert file.stat().st_mode & 0o777 == 0o600
    after = file.read_bytes()
    assert after.startswith(before)
    assert after.count(b"\n") == after.count(b"\r\n") > before.count(b"\n")
    assert sorted(load_catalog(file).Stacks) == ["First", "Second"]


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="the system has no limit on the size of files")
@pytest.mark.parametrize("room", [100, 2500], ids=["no room for the rows", "no room for the stack"])
def test_a_save_that_failed_can_be_tried_again(stack, tmp_path, room):
    """A file that may not grow fails as a full disk does: after a part of it was written."""
    import resource

    _, found, _ = stack
    file = tmp_path / "own.toml"
    file.write_text("# Stacks of ours.\n" * 150)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
        with pytest.raises(InputError, match=r"cannot be written: File too large"):
            found.save(file, "Ours")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert list(tmp_path.iterdir()) == [file]
    found.save(file, "Ours")
    assert [*load_catalog(file).Stacks] == ["Ours"]


@pytest.mark.parametrize("labels", [["#1", "b", "#3", "d", "e"], ["#1", "#2", "#3", "#4", "#5"]])
def test_rows_that_begin_like_a_note_come_back(tmp_path, labels):
    model, held = KernelModel("roofline"), {"hardware": "H100", "precision": "bf16", "launch_time": "3 us"}
    rows = [{"#1": label, "product_rows": 8, "product_columns": 1024 * n, "product_inner": 4096}
            for n, label in enumerate(labels, 1)]  # fmt: skip
    times = [{"kernel_time [us]": 10 + 3 * n} for n in range(5)]
    table = [row | time for row, time in zip(rows, times, strict=True)]
    found = model.calibrate("memory_efficiency", table, ignore="#1", **held)
    found.save(tmp_path / "own.toml", "Ours")
    again = model.calibrate("memory_efficiency", tmp_path / "own.Ours.csv", ignore="#1", **held)
    assert again.observations.startswith("5 rows")
    assert again.values == pytest.approx(found.values, rel=1e-9)


def test_the_error_in_a_saved_note_has_the_unit_of_its_value(tmp_path):
    steps = {"decode_requests": [1, 16, 64, 128], "iteration_time [ms]": [20.1, 23.1, 32.7, 46.4]}
    held = {"model": "OPT_13B", "hardware": "A100", "precision": "fp16", "context_tokens": 256}
    found = IterationModel().calibrate(["layer_tax", "kv_read_efficiency"], steps, weights=[1, 2, 1, 0], **held)
    found.save(tmp_path / "own.toml", "Ours")
    saved = load_catalog(tmp_path / "own.toml").Stacks.Ours
    assert saved.layer_tax.note == f"Standard error {found.errors['layer_tax']:.2g~P}."
    again = IterationModel().calibrate(list(found.free), tmp_path / "own.Ours.csv", **held)
    assert again.canonical == pytest.approx(found.canonical, rel=1e-9)


def test_a_row_tells_only_where_it_was_measured():
    times = measurements()["roof_time [µs]"]
    table = {**measurements(), "roof_time [µs]": [*times[:10], *[None] * (ROWS - 10)]}
    found = ROOF.calibrate("roof_start", table, **{**PLANTED, **HELD, "roof_start": None})
    assert int(found.table()[1][0][-1]) <= 10


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_a_factor_that_ends_at_its_bound_is_not_determined_either(noise):
    """Wherever the search begins and whichever end it finds."""
    for seed, start in enumerate(np.geomspace(300, 6000, 8)):
        found = ROOF.calibrate(["roof_reached", "roof_peak"], measurements(noise, seed), roof_bandwidth=3.35,
                               roof_moved=0.7, roof_start=0.3, roof_peak=start)  # fmt: skip
        assert found.errors == {"roof_reached": None, "roof_peak": None}
        assert [each.parameters for each in found.unidentifiable] == [("roof_reached", "roof_peak")]
        assert found.at_bound == {}


@pytest.mark.parametrize("shapes", [(0, 4), (0, 4, 5)], ids=len)
def test_factors_of_a_kernel_are_not_determined_at_a_bound(shapes):
    """Exact times: least squares ends with an efficiency of one, which nothing asks for."""
    model, held = KernelModel("roofline"), {"hardware": "H200", "precision": "bf16"}
    every = [(4096, 4096, 4096), (8192, 8192, 4096), (8192, 8192, 8192), (16384, 8192, 8192), (512, 512, 512),
             (128, 8192, 8192), (1024, 1024, 1024), (2048, 4096, 1024)]  # fmt: skip
    names = ("product_rows", "product_columns", "product_inner")
    rows = [dict(zip(names, every[place], strict=True)) for place in shapes]
    table = [
        {
            **row,
            "kernel_time [ms]": 1e3
            * model.solve(**held, **row, peak_flops=2982, efficiency=0.5).canonical("kernel_time"),
        }
        for row in rows
    ]
    found = model.calibrate(["peak_flops", "efficiency"], table, **held, space="linear")
    assert found.errors == {"peak_flops": None, "efficiency": None}
    assert found.at_bound == {}
    assert [each.parameters for each in found.unidentifiable] == [("peak_flops", "efficiency")]


def test_rows_as_many_as_inputs_tell_no_error():
    """Also where one of the inputs stops at its bound: a row decided that, too."""
    table = {name: np.asarray(cells)[[0, 13]] for name, cells in measurements(0.0, roof_reached=1.3).items()}
    found = ROOF.calibrate(["roof_reached", "roof_moved"], table, roof_start=0.3, **HELD)
    assert found.errors == {"roof_reached": None, "roof_moved": None}
    assert "no spare measurement" in repr(found)
