"""A file is replaced whole, or stays what it was; nothing is left beside it."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from mlsysim import Traffic
from mlsysim.errors import CatalogError, InputError
from mlsysim.files import locked, read_bytes, replacing
from mlsysim.study.calibration.table import read_table
from mlsysim.study.grids.checkpoint import Checkpoint
from mlsysim.study.proofs.saved import read


def test_a_file_is_replaced_once_all_is_written(tmp_path):
    file = tmp_path / "answer.toml"
    file.write_text("before")
    with replacing(file) as beside:
        assert (beside.parent, beside.suffix) == (tmp_path, ".toml")
        assert beside.read_bytes() == b""
        beside.write_text("after")
        assert file.read_text() == "before"
    assert file.read_text() == "after"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_leaves_the_file_as_it_was(tmp_path, error):
    file = tmp_path / "answer.txt"
    file.write_text("before")

    def broken_off():
        with replacing(file) as beside:
            beside.write_text("half")
            raise error

    with pytest.raises(error):
        broken_off()
    assert file.read_text() == "before"
    assert list(tmp_path.iterdir()) == [file]


def test_what_cannot_be_replaced(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(OSError), replacing(folder) as beside:
        beside.write_text("text")
    assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes with a name")
@pytest.mark.parametrize("linked", [False, True])
def test_a_device_or_a_pipe_is_never_replaced(tmp_path, linked):
    """Whoever writes as root would have a file in its place."""
    file = pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    if linked:
        file = tmp_path / "link"
        file.symlink_to(pipe)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(OSError, match="must be a file, not a device or a pipe"), replacing(file):
        pass
    assert pipe.is_fifo()
    assert sorted(tmp_path.iterdir()) == before


def test_a_link_stays_a_link(tmp_path):
    there = tmp_path / "elsewhere"
    there.mkdir()
    (there / "file.txt").write_text("before")
    link = tmp_path / "link.txt"
    os.symlink(there / "file.txt", link)
    with replacing(link) as beside:
        beside.write_text("after")
    assert link.is_symlink()
    assert (there / "file.txt").read_text() == "after"


@pytest.mark.parametrize("mode", [0o600, 0o664, 0o440])
def test_a_file_keeps_its_permissions(tmp_path, mode):
    file = tmp_path / "answer.txt"
    file.write_text("before")
    file.chmod(mode)
    with replacing(file) as beside:
        assert not stat.S_IMODE(beside.stat().st_mode) & ~(mode | 0o600)
        beside.write_text("after")
    assert stat.S_IMODE(file.stat().st_mode) == mode


def test_one_writer_at_a_time(tmp_path):
    file = tmp_path / "count.txt"
    file.write_text("0")

    def counted(_):
        with locked(file):
            number = int(file.read_text())
            with replacing(file) as beside:
                beside.write_text(str(number + 1))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(counted, range(40)))
    assert file.read_text() == "40"
    assert list(tmp_path.iterdir()) == [file]


@pytest.fixture(params=["device", "pipe", "folder"])
def endless(request, tmp_path):
    """What has no end, waits for ever, or is no file."""
    if request.param == "device":
        return "/dev/zero"
    (os.mkfifo if request.param == "pipe" else os.mkdir)(tmp_path / "named")
    return tmp_path / "named"


@pytest.mark.parametrize(
    ("reader", "error"),
    [
        (lambda file: read_bytes(file, 100), OSError),
        (read, InputError),
        (lambda file: Checkpoint(file, {}).read(dict), InputError),
        (Traffic.from_trace, CatalogError),
        (read_table, InputError),
    ],
    ids=["bytes", "certificate", "checkpoint", "trace", "measurements"],
)
def test_only_regular_files_are_read(endless, reader, error):
    with pytest.raises(
        error, match=r"must be a file, not a device or a pipe|[Ii]s a directory|must be a CSV or JSONL file"
    ):
        reader(endless)


@pytest.mark.parametrize("before", [None, 0o644])
def test_permissions_may_be_given(tmp_path, before):
    file = tmp_path / "own.bin"
    if before:
        file.touch(before)
    with replacing(file, 0o600) as beside:
        assert stat.S_IMODE(beside.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
