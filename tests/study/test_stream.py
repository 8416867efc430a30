"""A grid on disk: blocks equal the whole, and what was interrupted goes on to the same bits."""

import itertools
import json

import numpy as np
import pytest
import sympy
import xarray
from fuzz import rest_long
from hypothesis import given, settings
from hypothesis import strategies as st

from mlsysim.backends import OutputSpec, evaluate_outputs
from mlsysim.backends.front import nondominated
from mlsysim.errors import InputError
from mlsysim.inputs.binding import bind
from mlsysim.models import ServingCapacityModel, ServingModel, TrainingMemoryModel
from mlsysim.study.grids import stream
from mlsysim.study.grids.checkpoint import Checkpoint
from mlsysim.study.grids.grid import Grid
from mlsysim.study.grids.stream import write
from mlsysim.study.grids.template import Template
from mlsysim.study.searches.streamed import pareto, smallest
from mlsysim.symbolic import variable_of

AXES = {
    "batch_size": np.arange(1, 8) * 8.0,
    "dp_size": np.array([1.0, 2, 3, 4, 8]),
    "zero_stage": np.arange(4.0),
    "tp_size": np.array([1.0, 2, 4]),
}
SIZES = tuple(map(len, AXES.values()))


def symbol(name):
    return variable_of(name).symbol


@pytest.fixture(scope="module")
def grid():
    """Training memory with a label, a truth value, a table of refusals and a requirement."""
    model = TrainingMemoryModel()
    binding = bind(model, {"model": "Llama3_8B", "hardware": "H100", "batch_size": 8})
    values = dict(binding.values)
    for place, (name, axis) in enumerate(AXES.items()):
        values[name] = axis.reshape([-1 if a == place else 1 for a in range(4)])
    outputs = (OutputSpec("total_memory", 1e9), OutputSpec("memory_utilization"), OutputSpec("feasible", kind="truth"))
    known = np.ones((1, 5, 1, 1), bool)
    known[0, 2] = False
    values["known"] = known
    given = sympy.Eq(sympy.Symbol("known"), 1)
    divides = sympy.Eq(sympy.Mod(symbol("batch_size"), symbol("dp_size")), 0)
    fits = symbol("total_memory") <= 1e12
    return Grid(binding.system, values, SIZES, outputs, ((1, given), (2, divides), (3, fits)), "refused")


@pytest.fixture
def template(grid):
    coords = {name: (name, axis, {"long_name": name}) for name, axis in AXES.items()}
    coords["batch_size"][2]["units"] = "request"
    coords["zero_stage"] = ("zero_stage", np.array(["none", "one", "two", "three"]))
    attrs = {"refused": {"flag_values": np.arange(4, dtype=np.int8), "flag_meanings": "a b c d"},
             "total_memory": {"units": "GB", "latex": "M"}}  # fmt: skip
    return Template(tuple(AXES), SIZES, grid.dtypes, {"model": "TrainingMemoryModel"}, attrs, coords)


@pytest.fixture(scope="module")
def whole(grid):
    return grid.arrays(tuple(slice(0, n) for n in SIZES))


def test_the_whole_equals_a_loop_of_solve(grid, whole):
    model = TrainingMemoryModel()
    for place in itertools.product(*map(range, SIZES)):
        at = dict(zip(AXES, (axis[i] for axis, i in zip(AXES.values(), place, strict=True)), strict=True))
        at = {name: int(value) for name, value in at.items()}
        code = 1 if at["dp_size"] == 3 else 2 if at["batch_size"] % at["dp_size"] else 0
        solved = model.solve(model="Llama3_8B", hardware="H100", **at)
        assert whole["refused"][place] == code
        if code:
            assert np.isnan(whole["total_memory"][place])
            assert not whole["feasible"][place]
        else:
            assert whole["total_memory"][place] == pytest.approx(solved.total_memory.magnitude, rel=1e-12)
            assert whole["feasible"][place] == solved.feasible


@pytest.mark.long(quick=2)
@pytest.mark.parametrize("kind", ["zarr", "nc"])
@pytest.mark.parametrize("points", [1000, 60, 25, 12])
def test_blocks_on_disk_equal_the_whole(grid, template, whole, tmp_path, kind, points):
    with write(grid, template, tmp_path / f"grid.{kind}", block_points=points) as found:
        assert found.sizes == dict(zip(AXES, SIZES, strict=True))
        for name, values in whole.items():
            held = found[name].values
            assert held.dtype == values.dtype
            assert held.tobytes() == np.ascontiguousarray(values).tobytes(), name
        assert found.attrs == {"model": "TrainingMemoryModel"}
        assert found.total_memory.attrs == {"units": "GB", "latex": "M"}
        assert list(found.refused.attrs["flag_values"]) == [0, 1, 2, 3]
        assert found.batch_size.attrs["units"] == "request"
        assert found.zero_stage.values.tolist() == ["none", "one", "two", "three"]
        assert found.total_memory.chunks is not None


@pytest.mark.long(quick=1)
@pytest.mark.parametrize("kind", ["zarr", "nc"])
def test_interrupted_and_resumed_equals_uninterrupted(grid, template, whole, tmp_path, kind, monkeypatch):
    path = tmp_path / f"grid.{kind}"
    done: list[int] = []
    real = stream._block

    def interrupted(shared, number):
        if len(done) == 4:
            raise KeyboardInterrupt
        done.append(number)
        return real(shared, number)

    monkeypatch.setattr(stream, "_block", interrupted)
    with pytest.raises(KeyboardInterrupt) as stop:
        write(grid, template, path, block_points=30)
    assert "4 of 21 blocks are finished" in stop.value.__notes__[0]
    assert "goes on from there" in stop.value.__notes__[0]
    again: list[int] = []
    monkeypatch.setattr(stream, "_block", lambda shared, number: again.append(number) or real(shared, number))
    with write(grid, template, path, block_points=30) as found:
        for name, values in whole.items():
            assert found[name].values.tobytes() == np.ascontiguousarray(values).tobytes()
    assert sorted(done + again) == list(range(21))
    monkeypatch.setattr(stream, "_block", lambda *_: pytest.fail("a finished block is computed again"))
    write(grid, template, path, block_points=30).close()


def test_a_store_of_another_computation_is_refused(grid, template, tmp_path):
    path = tmp_path / "grid.zarr"
    write(grid, template, path, block_points=100)
    other = Grid(grid.system, grid.values | {"layers": 33.0}, SIZES, grid.outputs, grid.conditions, "refused")
    with pytest.raises(InputError, match="other inputs"):
        write(other, template, path, block_points=100)
    (tmp_path / "grid.zarr.progress").write_text("no json")
    with pytest.raises(InputError, match="not a checkpoint"):
        write(grid, template, path, block_points=100)
    (tmp_path / "grid.zarr.progress").unlink()
    with pytest.raises(InputError, match="exists"):
        write(grid, template, path, block_points=100)
    with pytest.raises(InputError, match=r"\.zarr"):
        write(grid, template, tmp_path / "grid.csv")


def test_a_store_that_was_never_laid_out_is_begun_again(grid, template, whole, tmp_path):
    path = tmp_path / "grid.nc"
    write(grid, template, path, block_points=100).close()
    Checkpoint(tmp_path / "grid.nc.progress", grid.fingerprint() | template.fingerprint(), "store").save(
        {"laid_out": False}
    )
    path.write_bytes(b"half a header")
    with write(grid, template, path, block_points=100) as found:
        assert found.total_memory.values.tobytes() == np.ascontiguousarray(whole["total_memory"]).tobytes()


def test_a_progress_bar_only_when_asked(grid, template, tmp_path, capsys):
    write(grid, template, tmp_path / "quiet.zarr")
    assert capsys.readouterr().err == ""
    write(grid, template, tmp_path / "shown.zarr", progress=True)
    assert "shown.zarr" in capsys.readouterr().err


def accepted(whole):
    return whole["refused"] == 0


def test_smallest_leaves_out_what_is_refused(grid, whole):
    cost = symbol("total_memory") * symbol("dp_size") * symbol("tp_size")
    found = smallest(grid, cost, [symbol("total_memory") <= 60e9], 5)
    held = whole["total_memory"] * 1e9 * AXES["dp_size"][:, None, None] * AXES["tp_size"]
    allowed = accepted(whole) & (whole["total_memory"] <= 60)
    order = np.argsort(np.where(allowed, held, np.inf).ravel(), kind="stable")[:5]
    np.testing.assert_allclose(found.values, held.ravel()[order], rtol=1e-12)
    assert found.feasible == int(allowed.sum())
    assert set(found.indices.tolist()) <= set(np.flatnonzero(allowed.ravel()).tolist())


@pytest.mark.long
def test_an_interrupted_search_goes_on(grid, tmp_path, monkeypatch):
    cost = symbol("total_memory") / symbol("batch_size")
    wanted = smallest(grid, cost, k=9)
    monkeypatch.setattr("mlsysim.backends.dense.tiled", lambda *_: stream_tiles(SIZES))
    monkeypatch.setattr("mlsysim.backends.dense.CHUNK_POINTS", 60)
    monkeypatch.setattr("mlsysim.study.searches.streamed.OFTEN", 0.0)
    note = tmp_path / "search.json"
    real, calls = Checkpoint.save, []

    def stopped(self, state):
        real(self, state)
        calls.append(state["run"])
        if len(calls) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoint, "save", stopped)
    with pytest.raises(KeyboardInterrupt) as stop:
        smallest(grid, cost, k=9, checkpoint=note)
    assert f"the same call goes on from {note}" in stop.value.__notes__[0]
    monkeypatch.setattr(Checkpoint, "save", real)
    reached = json.loads(note.read_text().partition(" ")[2])["state"]["run"]
    assert 0 < reached < 35
    found = smallest(grid, cost, k=9, checkpoint=note)
    assert found.indices.tolist() == wanted.indices.tolist()
    assert (found.feasible, found.points) == (wanted.feasible, wanted.points)
    with pytest.raises(InputError, match="other objective"):
        smallest(grid, 2 * cost, k=9, checkpoint=note)


def stream_tiles(sizes):
    from mlsysim.backends.tiling import Tiling

    return Tiling(tuple(sizes), (1, 1, *sizes[2:]))


def quadratic(values):
    """Rows no other row beats, each compared with all others; of equal rows the first."""
    kept = []
    for i, row in enumerate(values):
        beaten = ((values <= row).all(1) & (values < row).any(1)).any()
        first = not (values[:i] == row).all(1).any()
        if not beaten and first and np.isfinite(row).all():
            kept.append(i)
    return kept


@settings(deadline=None, derandomize=True, max_examples=200)
@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.tuples(*[st.integers(0, 6)] * n), max_size=60)))
def test_the_front_equals_a_quadratic_check(rows):
    values = np.array(rows, float).reshape(len(rows), -1 if rows else 1)
    _, indices = nondominated(values, np.arange(len(values)))
    assert sorted(indices.tolist()) == quadratic(values)


@pytest.mark.long
def test_many_objectives_in_batches():
    values = np.random.default_rng(3).integers(0, 30, (3000, 3)).astype(float)
    _, indices = nondominated(values, np.arange(3000))
    assert sorted(indices.tolist()) == quadratic(values)


@pytest.mark.long
@pytest.mark.parametrize("points", rest_long([10_000, 70, 13], quick=1))
@pytest.mark.parametrize("number", rest_long([3, 1, 2], quick=1))
def test_the_front_of_a_model(grid, whole, points, number):
    objectives = [symbol("total_memory"), -symbol("batch_size"), symbol("dp_size") * symbol("tp_size")][:number]
    found = pareto(grid, objectives, [symbol("zero_stage") >= 1], block_points=points)
    columns = np.broadcast_arrays(
        whole["total_memory"],
        -AXES["batch_size"][:, None, None, None],
        AXES["dp_size"][:, None, None] * AXES["tp_size"],
    )
    allowed = accepted(whole) & (AXES["zero_stage"][:, None] >= 1)
    values = np.stack([np.where(allowed, column, np.inf).ravel() for column in columns[:number]], axis=1)
    assert sorted(found.indices.tolist()) == quadratic(values)
    assert found.feasible == int(allowed.sum())
    assert found.points == allowed.size


@pytest.mark.long
def test_a_large_block_is_filtered_by_witnesses(grid):
    """Witnesses drop most of a block before it leaves the device; the front stays the same."""
    model = ServingCapacityModel()
    binding = bind(model, {"model": "Llama3_8B", "hardware": "H100", "qps": 10, "target_p99_latency_ms": 4000})
    shape = (1, 40, 16, 5)
    axes = {
        "qps": np.linspace(1, 200, 40),
        "max_batch_size": np.arange(1.0, 17),
        "seq_len": np.array([64.0, 128, 256, 512, 1024]),
    }
    values = dict(binding.values)
    for place, (name, axis) in enumerate(axes.items(), start=1):
        values[name] = axis.reshape([-1 if a == place else 1 for a in range(4)])
    served = Grid(binding.system, values, shape)
    objectives = [symbol("required_replicas"), -symbol("qps")]
    found = pareto(served, objectives)
    held = evaluate_outputs(binding.system, [OutputSpec("required_replicas")], values, shape)["required_replicas"]
    columns = np.broadcast_arrays(held, -axes["qps"][:, None, None])
    assert sorted(found.indices.tolist()) == quadratic(np.stack([column.ravel() for column in columns], axis=1))


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "two"])
def test_at_least_one_point_is_asked_for(grid, k):
    with pytest.raises(InputError, match="top"):
        smallest(grid, symbol("total_memory"), k=k)


def test_at_least_one_objective(grid):
    with pytest.raises(InputError, match="objectives"):
        pareto(grid, [])


@pytest.mark.long
def test_stores_are_plain_data_sets(grid, template, tmp_path):
    """Read without mlsysim."""
    write(grid, template, tmp_path / "a.zarr", block_points=30)
    write(grid, template, tmp_path / "a.nc", block_points=30).close()
    with (
        xarray.open_zarr(tmp_path / "a.zarr", consolidated=False) as zarr,
        xarray.open_dataset(tmp_path / "a.nc") as nc,
    ):
        xarray.testing.assert_equal(zarr.load(), nc.load())


@pytest.mark.long
def test_chains_are_solved_a_few_at_a_time(monkeypatch):
    """So that there is an estimate, and an interrupted sweep keeps something."""
    computed, whole = [], Grid.arrays

    def counted(grid, region):
        found = whole(grid, region)
        computed.append(found["tpot_mean"].size)
        return found

    monkeypatch.setattr(Grid, "arrays", counted)
    given = {**ServingModel.example, "num_replicas": 2}
    asked = {**given, "request_rate": np.linspace(1, 2, 20), "outputs": ["tpot_mean"]}
    chained = ServingModel("chunked").sweep(**asked)["tpot_mean"]
    assert computed == [16, 4]
    ServingModel("chunked_estimate").sweep(**asked)
    assert computed == [16, 4, 20]
    alone = ServingModel("chunked").solve(**{**given, "request_rate": 2})
    assert float(chained[-1]) == pytest.approx(alone["tpot_mean"].magnitude, rel=1e-9)
