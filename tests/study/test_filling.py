"""A store with two writers, damaged, on a full disk: the same bits in the end, or an error that says how to go on."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import xarray
from fuzz import fuzzing, rest_long
from hypothesis import given
from hypothesis import strategies as st

from mlsysim import TrainingMemoryModel
from mlsysim.errors import InputError, MlsysimError, StoreError
from mlsysim.study.grids import store as stores
from mlsysim.study.grids.checkpoint import Checkpoint, _line
from mlsysim.study.grids.filling import Filling
from mlsysim.study.grids.template import Template

KINDS = pytest.mark.parametrize("kind", ["zarr", "nc"])
SIZES = (12, 5)


def template(**changed):
    coords = {
        "device": ("device", np.array([f"D{n}" for n in range(12)]), {"long_name": "Device"}),
        "hours": ("hours", np.arange(5) * 0.5, {"units": "hour"}),
        "flag": ("hours", np.array([True, False, True, True, False])),
    }
    given = {
        "dims": ("device", "hours"),
        "sizes": SIZES,
        "dtypes": {"cost": np.dtype(float), "label": np.dtype(np.int8), "fits": np.dtype(bool)},
        "attrs": {"model": "Mine", "entries": '{"hardware": "H100"}'},
        "variable_attrs": {"cost": {"units": "USD"}, "label": {"flag_values": np.arange(2, dtype=np.int8)}},
        "coords": coords,
    }
    return Template(**given | changed)


def compute(parts, numbers):
    """Blocks of random bits, all of them missing in the second one."""
    for number in numbers:
        random, shape = np.random.default_rng(number), [part.stop - part.start for part in parts.region(number)]
        cost = -np.full(shape, np.nan) if number == 1 else random.random(shape)
        yield (
            number,
            {"cost": cost, "label": random.integers(-1, 2, shape, np.int8), "fits": random.random(shape) < 0.5},
        )


def run(path, *, laid=None, points=10, work=compute, **fingerprint):
    return Filling(path, laid or template(), {"formulas": "x = y", **fingerprint}).run(work, points)


def bits(dataset):
    with dataset as found:
        return {name: np.ascontiguousarray(found[name].values).tobytes() for name in ("cost", "label", "fits")}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return bits(run(tmp_path_factory.mktemp("whole") / "grid.zarr"))


def never(parts, numbers):
    assert not list(numbers), "a finished block is computed again"
    yield from ()


@KINDS
def test_the_bits_are_those_computed(whole, tmp_path, kind):
    assert bits(run(tmp_path / f"grid.{kind}")) == whole
    assert bits(run(tmp_path / f"grid.{kind}", work=never)) == whole


WRITER = """
import sys, time
from test_filling import run, compute
from mlsysim.errors import InputError
path, pause = sys.argv[1], float(sys.argv[2])
def slowly(parts, numbers):
    for item in compute(parts, numbers):
        time.sleep(pause)
        yield item
print("ready", flush=True)
sys.stdin.readline()
try:
    run(path, work=slowly).close()
except InputError as error:
    print(error)
"""


def writers(path, pause, number):
    """Other processes that fill the store, all from the same moment on."""
    root = str(Path(__file__).parent)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([root, *sys.path])}
    command, pipe = [sys.executable, "-c", WRITER, str(path), str(pause)], subprocess.PIPE
    found = [subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True) for _ in range(number)]
    for process in found:
        assert process.stdout.readline() == "ready\n"
    for process in found:
        process.stdin.write("go\n")
        process.stdin.flush()
    return found


def wait_for(path):
    for _ in range(6000):
        if path.exists() and path.read_bytes().count(b"\n") >= 3:
            return
        time.sleep(0.01)
    raise AssertionError(f"{path} was never begun")


@pytest.mark.long
@pytest.mark.parametrize("kind", rest_long(["zarr", "nc"], quick=1))
def test_a_second_process_is_told_and_a_lost_one_holds_nothing(whole, tmp_path, kind):
    path = tmp_path / f"grid.{kind}"
    (first,) = writers(path, 0.5, 1)
    wait_for(tmp_path / f"grid.{kind}.progress")
    with pytest.raises(InputError, match=rf"grid\.{kind}': is in use by another call; wait until that ends"):
        run(path)
    first.send_signal(signal.SIGKILL)
    assert first.communicate(timeout=60) == ("", None)
    again = []
    assert bits(run(path, work=lambda parts, numbers: compute(parts, again.extend(numbers) or again))) == whole
    assert 0 < len(again) < 6


@pytest.mark.long
@pytest.mark.parametrize("kind", ["zarr", "nc"])
def test_processes_that_begin_at_once_leave_a_whole_store(whole, tmp_path, kind):
    path = tmp_path / f"grid.{kind}"
    several = writers(path, 0.02, 3)
    said = [process.communicate(timeout=120)[0] for process in several]
    assert [process.returncode for process in several] == [0, 0, 0]
    assert said.count("") >= 1
    assert all(not text or "is in use by another call" in text for text in said)
    assert bits(run(path, work=never)) == whole


def test_the_second_call_of_one_process_is_told_too(tmp_path):
    def nested(parts, numbers):
        with pytest.raises(InputError, match="in use by another call"):
            run(tmp_path / "grid.zarr")
        yield from compute(parts, numbers)

    run(tmp_path / "grid.zarr", work=nested)


def other_coordinate(name, dims, values, attrs):
    return {"coords": template().coords | {name: (dims, values, attrs)}}


@pytest.mark.parametrize(
    ("changed", "part"),
    [
        (
            other_coordinate("device", "device", np.array([f"E{n}" for n in range(12)]), {"long_name": "Device"}),
            "coord",
        ),
        (other_coordinate("hours", "hours", np.arange(5) * 0.5, {"units": "s"}), "coordinates"),
        (other_coordinate("hours", "hours", np.arange(5) * 0.25, {"units": "hour"}), "coordinates"),
        (other_coordinate("more", "hours", np.arange(5), {}), "coordinates"),
        ({"attrs": {"model": "Mine", "entries": '{"hardware": "A100"}'}}, "attributes"),
        ({"variable_attrs": {"cost": {"units": "EUR"}}}, "attributes"),
        ({"dims": ("device", "days"), "coords": {}}, "dimensions and coordinates and attributes"),
    ],
)
def test_names_labels_and_units_are_part_of_the_fingerprint(tmp_path, changed, part):
    path = tmp_path / "grid.zarr"
    run(path)
    with pytest.raises(InputError, match=f"was begun with other {part}.*nothing was changed.*name another.*delete"):
        run(path, laid=template(**changed))


def test_the_same_call_is_recognised_however_its_arrays_are_held(whole, tmp_path):
    run(tmp_path / "grid.zarr")
    text = np.array([f"D{n}" for n in range(12)], dtype=object)
    again = template(**other_coordinate("device", "device", text, {"long_name": "Device"}))
    assert bits(run(tmp_path / "grid.zarr", laid=again, work=never)) == whole


@KINDS
def test_smaller_blocks_go_on_and_larger_ones_are_refused_in_their_own_words(whole, tmp_path, kind):
    path = tmp_path / f"grid.{kind}"

    def stopped(parts, numbers):
        assert parts.shape == (2, 5)
        for number, arrays in compute(parts, numbers):
            if number == 3:
                raise KeyboardInterrupt
            yield number, arrays

    with pytest.raises(KeyboardInterrupt):
        run(path, points=11, work=stopped)
    with pytest.raises(InputError, match=r"block_points=9: .* was begun in blocks of 10 points; give at least as many"):
        run(path, points=9)
    assert bits(run(path, points=1000)) == whole


CHUNKS = [["cost", "c", "3", "0"], ["label", "c", "0", "0"], ["cost", "c", "1", "0"]]


def removed(file):
    file.unlink()


def flipped(file):
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 16
    file.write_bytes(data)


def shortened(file):
    file.write_bytes(file.read_bytes()[:-1])


@pytest.mark.long(quick=1)
@pytest.mark.parametrize("damage", rest_long([removed, flipped, shortened], quick=1))
@pytest.mark.parametrize("chunk", CHUNKS, ids="/".join)
def test_a_changed_chunk_is_computed_again(whole, tmp_path, chunk, damage):
    path = tmp_path / "grid.zarr"
    run(path)
    damage(path.joinpath(*chunk))
    again = []
    with pytest.warns(UserWarning, match=r"1 of 6 blocks in .*grid\.zarr are not what was written .* computed again"):
        found = bits(run(path, work=lambda parts, numbers: compute(parts, again.extend(numbers) or again)))
    assert found == whole
    assert again == [int(chunk[2])]
    assert bits(run(path, work=never)) == whole


def test_a_changed_value_of_a_netcdf_file_is_computed_again(whole, tmp_path):
    path = tmp_path / "grid.nc"
    with run(path) as found:
        value = found.cost.values[7, 2]
    data = path.read_bytes()
    assert data.count(value.tobytes()) == 1
    path.write_bytes(data.replace(value.tobytes(), (-value).tobytes()))
    with pytest.warns(UserWarning, match=r"1 of 6 blocks in .*grid\.nc"):
        assert bits(run(path)) == whole


@pytest.mark.parametrize("name", ["device", "hours", "flag", "cost"])
def test_a_lost_array_is_noticed(tmp_path, name):
    path = tmp_path / "grid.zarr"
    run(path)
    shutil.rmtree(path / name)
    with pytest.raises(StoreError, match=rf"grid\.zarr': .*{name}.*restore it, or delete .* to begin again"):
        run(path)


@pytest.mark.parametrize(("file", "part"), [("device/c/0", "device"), ("hours/c/0", "hours"), ("flag/c/0", "flag")])
def test_a_lost_coordinate_value_is_noticed(tmp_path, file, part):
    path = tmp_path / "grid.zarr"
    run(path)
    path.joinpath(file).unlink()
    with pytest.raises(StoreError, match=rf"grid\.zarr': .*{part}.*restore it, or delete"):
        run(path)


@pytest.mark.parametrize("file", ["zarr.json", "cost/zarr.json", "hours/zarr.json"])
@pytest.mark.parametrize("content", rest_long([b"\xff\xfe", b"", b"{}", b"[1]", b"null"], quick=2))
def test_damaged_metadata_is_a_library_error(tmp_path, file, content):
    path = tmp_path / "grid.zarr"
    run(path)
    path.joinpath(file).write_bytes(content)
    with pytest.raises(StoreError, match=r"grid\.zarr'.*delete"):
        run(path)


def test_changed_attributes_are_noticed(tmp_path):
    path = tmp_path / "grid.zarr"
    run(path)
    metadata = path / "cost" / "zarr.json"
    metadata.write_text(metadata.read_text().replace("USD", "EUR"))
    with pytest.raises(StoreError, match="variable cost changed since it was begun"):
        run(path)


@pytest.mark.parametrize("length", [0, 100, 3000, -1])
def test_a_truncated_netcdf_file_is_a_library_error(tmp_path, length):
    path = tmp_path / "grid.nc"
    run(path).close()
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(StoreError, match=r"grid\.nc': cannot be read: .*restore it, or delete .*begin again"):
        run(path)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a\0b.zarr", "cannot be used: embedded null byte; name another file"),
        ("\ud800.zarr", "cannot be used: 'utf-8' codec can't encode"),
        (f"{'x' * 300}.zarr", "cannot be used: File name too long; name another file"),
        (f"{'x' * 250}.nc", "cannot be used: File name too long; name another file"),
        ("missing/grid.zarr", "/missing' is not a directory; make it, or name another"),
        ("file/grid.nc", "/file' is not a directory; make it, or name another"),
        ("folder.nc", "exists, and was begun by another call; name another"),
        ("dangling.nc", "exists, and was begun by another call; name another"),
    ],
)
def test_an_unusable_path_is_refused_by_name(tmp_path, name, message):
    (tmp_path / "file").touch()
    (tmp_path / "folder.nc").mkdir()
    (tmp_path / "dangling.nc").symlink_to(tmp_path / "nowhere.nc")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(InputError) as refused:
        run(tmp_path / name)
    assert message in str(refused.value)
    assert repr(str(tmp_path / name)) in str(refused.value)
    assert [path for path in sorted(tmp_path.iterdir()) if path.suffix != ".lock"] == before


@pytest.mark.parametrize("path", [3, None, b"grid.zarr", ["grid.zarr"]])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(InputError, match=r"store=.*must be a path"):
        run(path)


def answer(path):
    """The bits, or the error that refuses the store."""
    try:
        return bits(run(path))
    except MlsysimError as error:
        return error


def full(*_args, **_kwargs):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class TestAFullDisk:
    @KINDS
    def test_while_blocks_are_written(self, whole, tmp_path, kind, monkeypatch):
        path = tmp_path / f"grid.{kind}"
        place = type(stores.store_at(path))
        real, done = place.write, []

        def filling_up(self, region, arrays):
            if len(done) == 2:
                full()
            done.append(real(self, region, arrays))

        monkeypatch.setattr(place, "write", filling_up)
        with pytest.raises(StoreError) as stopped:
            run(path)
        assert str(stopped.value) == (
            f"'{path}': cannot be written: No space left on device; "
            f"2 of 6 blocks are finished in {path}; the same call goes on from there"
        )
        monkeypatch.undo()
        assert bits(run(path, work=lambda parts, numbers: compute(parts, [n for n in numbers if n >= 2]))) == whole

    @KINDS
    def test_while_a_block_is_noted(self, whole, tmp_path, kind, monkeypatch):
        path = tmp_path / f"grid.{kind}"
        monkeypatch.setattr(Checkpoint, "append", full)
        with pytest.raises(StoreError, match="No space left on device; no block of 6 is finished"):
            run(path)
        monkeypatch.undo()
        assert bits(run(path)) == whole

    @KINDS
    def test_while_it_is_laid_out(self, whole, tmp_path, kind, monkeypatch):
        path = tmp_path / f"grid.{kind}"
        monkeypatch.setattr(xarray.Dataset, "to_zarr", full)
        monkeypatch.setattr(xarray.Dataset, "to_netcdf", full)
        with pytest.raises(StoreError, match="cannot be laid out: No space left on device; nothing is lost"):
            run(path)
        monkeypatch.undo()
        assert bits(run(path)) == whole

    def test_a_netcdf_file_that_cannot_fit_is_refused_before_hdf5_sees_it(self, tmp_path, monkeypatch):
        free = shutil.disk_usage(tmp_path)
        monkeypatch.setattr(shutil, "disk_usage", lambda _: free._replace(free=1000))
        monkeypatch.setattr(xarray.Dataset, "to_netcdf", lambda *_, **__: pytest.fail("written"))
        with pytest.raises(StoreError, match="No space left on device for"):
            run(tmp_path / "grid.nc")

    def test_the_space_of_a_netcdf_file_is_taken_at_once(self, tmp_path):
        path = tmp_path / "grid.nc"
        laid = template(sizes=(12, 50_000), coords={})
        with pytest.raises(StopIteration):
            run(path, laid=laid, work=lambda *_: iter([next(iter(()))]))
        if hasattr(os, "posix_fallocate"):
            assert path.stat().st_blocks * 512 >= path.stat().st_size >= 12 * 50_000 * 10

    def test_of_a_search(self, tmp_path, monkeypatch):
        note = Checkpoint(tmp_path / "search.json", {"objective": "x"})
        note.save({"run": 3})
        monkeypatch.setattr(os, "replace", full)
        with pytest.raises(OSError, match="No space left"):
            note.save({"run": 4})
        assert note.read(lambda *both: both) == ({"run": 3}, [])
        assert list(tmp_path.iterdir()) == [tmp_path / "search.json"]


class TestADamagedNote:
    @pytest.fixture(scope="class")
    @classmethod
    def finished(cls, tmp_path_factory):
        path = tmp_path_factory.mktemp("damaged") / "grid.nc"
        run(path).close()
        return path, path.read_bytes(), Path(f"{path}.progress").read_bytes()

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"\xff\xfe\x00\x01",
            b"{}",
            b"null",
            b"[]\n[]\n",
            b'{"fingerprint": {}, "state": {}}',
            b'{"question": {"formulas": "x"}, "state": {"laid_out": true}}',
            b"[" * 100_000,
            b"\x00" * 1_000_000,
        ],
    )
    def test_what_is_no_note_is_refused_and_kept(self, finished, content):
        path, *_ = finished
        note = Path(f"{path}.progress")
        note.write_bytes(content)
        with pytest.raises(InputError, match=r"grid\.nc\.progress': is not a checkpoint .*nothing was changed.*delete"):
            run(path)
        assert note.read_bytes() == content

    @pytest.mark.parametrize(
        "changed",
        [
            {"state": None}, {"state": []}, {"facts": 3}, {"fingerprint": "x"}, {"state": {}},
            {"state": {"laid_out": True}}, {"state": {"laid_out": True, "block_points": "x"}},
            {"state": {"laid_out": True, "block_points": 0}}, {"state": {"laid_out": True, "block_points": 10**400}},
        ],
    )  # fmt: skip
    @pytest.mark.parametrize("record", [None, 3, [1], ["x", "y"], [-1, 3], [10**9, 3]])
    def test_a_crafted_note_is_refused(self, finished, changed, record):
        """Its digests are right, and what it says is not."""
        path, values, noted = finished
        path.write_bytes(values)
        head = json.loads(noted.splitlines()[0].partition(b" ")[2])
        crafted = "".join(map(_line, [{**head, **changed}, record]))
        Path(f"{path}.progress").write_text(crafted)
        huge = changed.get("state", None) and changed["state"].get("block_points") == 10**400 and record is None
        with pytest.raises(InputError, match=r"is not a checkpoint|was begun" if not huge else r"was begun in blocks"):
            run(path)

    def test_a_note_that_is_a_directory(self, tmp_path):
        (tmp_path / "grid.nc.progress").mkdir()
        with pytest.raises(InputError, match=r"cannot be read: Is a directory; nothing was changed"):
            run(tmp_path / "grid.nc")

    @pytest.mark.long
    @fuzzing(400)
    @given(st.data())
    def test_random_damage_never_gives_a_wrong_answer(self, finished, whole, data):
        path, values, noted = finished
        damaged = bytearray(noted)
        for _ in range(data.draw(st.integers(1, 4))):
            at = data.draw(st.integers(0, max(0, len(damaged) - 1)))
            kind = data.draw(st.sampled_from(["flip", "cut", "insert", "drop", "repeat", "drop a line"]))
            length = data.draw(st.integers(1, 200))
            if kind == "flip" and damaged:
                damaged[at] ^= data.draw(st.integers(1, 255))
            elif kind == "cut":
                del damaged[at:]
            elif kind == "insert":
                damaged[at:at] = data.draw(st.binary(min_size=1, max_size=40))
            elif kind == "drop":
                del damaged[at : at + length]
            elif kind == "repeat":
                damaged[at:at] = damaged[at : at + length]
            else:
                lines = bytes(damaged).splitlines(keepends=True)
                damaged = bytearray(b"".join(lines[: at % 8] + lines[at % 8 + 1 :]))
        path.write_bytes(values)
        Path(f"{path}.progress").write_bytes(damaged)
        found = answer(path)
        assert found == whole or "is not a checkpoint of mlsysim, or is damaged" in str(found)


class TestACheckpointOfASearch:
    @pytest.mark.parametrize("path", [3, b"search.json", ["search.json"]])
    def test_what_is_no_path_is_refused(self, path):
        with pytest.raises(InputError, match=r"checkpoint=.*must be a path"):
            Checkpoint(path, {})

    def test_one_call_at_a_time(self, tmp_path):
        first, second = (Checkpoint(tmp_path / "search.json", {"objective": "x"}) for _ in range(2))
        with first.held(), pytest.raises(InputError, match=r"checkpoint='.*search\.json': is in use"), second.held():
            pass
        with second.held():
            pass


def test_a_refused_store_leaves_nothing_beside_it(tmp_path):
    (tmp_path / "other.nc").write_text("something else")
    with pytest.raises(InputError, match="exists, and was begun by another call"):
        TrainingMemoryModel().sweep("Llama3_8B", "H100", batch_size=[1, 2], store=tmp_path / "other.nc", progress=False)
    assert [path.name for path in tmp_path.iterdir()] == ["other.nc"]


def test_an_empty_name_of_a_checkpoint_is_refused():
    with pytest.raises(InputError, match=r"checkpoint='.*': must be the path of a file"):
        TrainingMemoryModel().search(
            "Llama3_8B", "H100", batch_size=[1, 2], minimize="total_memory", checkpoint="", progress=False
        )
