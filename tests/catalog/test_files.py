"""Files a user names: too large, endless and unreadable ones are refused before they fill the memory."""

import os
from pathlib import Path

import pytest

from mlsysim import load_catalog
from mlsysim.catalog import TransformerWorkload, files
from mlsysim.errors import CatalogError

ENDLESS = Path("/dev/zero")
SAYS_ZERO = Path("/proc/self/status")


@pytest.fixture(params=[TransformerWorkload.from_hf, load_catalog], ids=["config.json", "catalog"])
def read(request):
    return request.param


def test_a_huge_file(read, tmp_path):
    file = tmp_path / "config.json"
    with file.open("wb") as opened:
        opened.truncate(2**40)
    with pytest.raises(
        CatalogError, match=r"config\.json: cannot be read: has 1,099,511,627,776 bytes, and at most 16,777,216 are"
    ):
        read(file)


def test_the_largest_file_is_read(read, tmp_path):
    (tmp_path / "config.json").write_bytes(b"!" * files.LARGEST)
    with pytest.raises(CatalogError, match=r"config\.json: not (JSON|TOML)"):
        read(tmp_path / "config.json")


@pytest.mark.skipif(not ENDLESS.exists(), reason="the system has no endless device")
def test_an_endless_device(read):
    with pytest.raises(CatalogError, match=r"/dev/zero: cannot be read: must be a file, not a device or a pipe"):
        read(ENDLESS)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes with a name")
def test_a_pipe_nobody_writes_to(read, tmp_path):
    os.mkfifo(tmp_path / "config.json")
    with pytest.raises(CatalogError, match=r"config\.json: cannot be read: must be a file, not a device or a pipe"):
        read(tmp_path / "config.json")


@pytest.mark.skipif(not SAYS_ZERO.exists(), reason="the system has no file that says a size of zero")
def test_a_file_larger_than_it_says(read, monkeypatch):
    assert SAYS_ZERO.stat().st_size == 0
    monkeypatch.setattr(files, "LARGEST", 100)
    with pytest.raises(CatalogError, match=r"status: cannot be read: has more than 100 bytes"):
        read(SAYS_ZERO)
