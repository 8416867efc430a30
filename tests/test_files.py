"""A file is replaced whole, or stays what it was; nothing is left beside it."""

import os

import pytest

from mlsysim.files import replacing


def test_a_file_is_replaced_once_all_is_written(tmp_path):
    file = tmp_path / "answer.toml"
    file.write_text("before")
    with replacing(file) as beside:
        assert (beside.parent, beside.suffix) == (tmp_path, ".toml")
        assert not beside.exists()
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


def test_permissions_are_those_it_was_written_with(tmp_path):
    file = tmp_path / "own.bin"
    with replacing(file) as beside, open(beside, "xb", opener=lambda path, flags: os.open(path, flags, 0o600)):
        pass
    assert file.stat().st_mode & 0o777 == 0o600
