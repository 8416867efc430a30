"""Source that is kept: found again as it was printed, never when something has changed, and never needed."""

import json
import os
import zlib

import pytest

from mlsysim.backends import compiled, kept
from mlsysim.backends.compiled import WORTH_KEEPING, _source
from mlsysim.backends.source import SourceCode, source_of
from mlsysim.errors import StoreError
from mlsysim.models import DistributedModel, TrainingMemoryModel
from mlsysim.symbolic import System

LARGE = TrainingMemoryModel("per_operator").system


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty directory for what is kept, and nothing that ships."""
    monkeypatch.setenv(kept.VARIABLE, str(tmp_path / "kept"))
    monkeypatch.setattr(kept, "_shipped", lambda: ([], {}))
    return tmp_path / "kept"


@pytest.fixture
def counted(monkeypatch):
    """How often something was printed."""
    times = []

    def counting(*args, **kwargs):
        times.append(args)
        return source_of(*args, **kwargs)

    monkeypatch.setitem(_source.__wrapped__.__globals__, "source_of", counting)
    return times


def asked(system=LARGE, finite=False):
    return _source.__wrapped__(system, None, (), finite)


def test_it_is_printed_once_and_found_as_it_was(place, counted):
    first, second = asked(), asked()
    assert len(counted) == 1
    assert (first.text, first.inputs, first.outputs) == (second.text, second.inputs, second.outputs)
    assert first.code == second.code
    assert len([*place.iterdir()]) == 1


def test_branches_kept_finite_are_another_source(place, counted):
    assert asked().text != asked(finite=True).text
    assert len(counted) == 2
    asked()
    asked(finite=True)
    assert len(counted) == 2


def test_another_formula_or_another_printer_is_printed_anew(place, counted, monkeypatch):
    asked()
    some = LARGE.closure(["total_memory"])
    asked(some)
    assert len(counted) == 2
    asked(System([*some][:-1]))
    assert len(counted) == 3
    monkeypatch.setattr(kept, "_printer", lambda: "another")
    asked()
    assert len(counted) == 4


def test_small_systems_are_printed_every_time(place, counted):
    small = TrainingMemoryModel().system
    assert len(small) < WORTH_KEEPING
    asked(small)
    asked(small)
    assert len(counted) == 2
    assert not place.exists()


@pytest.mark.parametrize("damage", [lambda said: b"", lambda said: said[:100], lambda said: said[:-1] + b"x"])
def test_a_damaged_file_is_printed_anew(place, counted, damage):
    text = asked().text
    (file,) = place.iterdir()
    file.write_bytes(damage(file.read_bytes()))
    assert asked().text == text
    assert len(counted) == 2
    assert asked().text == text
    assert len(counted) == 2


def test_it_can_be_switched_off(place, counted, monkeypatch):
    monkeypatch.setenv(kept.VARIABLE, "off")
    asked()
    asked()
    assert len(counted) == 2
    assert not place.exists()
    assert kept.directory() is None


def test_a_directory_that_cannot_be_written_changes_nothing(tmp_path, monkeypatch, place, counted):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(kept.VARIABLE, str(tmp_path / "file" / "below"))
    assert asked().text == asked().text
    assert len(counted) == 2


def test_the_directory_is_that_of_the_user(monkeypatch, tmp_path):
    monkeypatch.delenv(kept.VARIABLE)
    assert "mlsysim" in str(kept.directory())
    monkeypatch.setenv(kept.VARIABLE, str(tmp_path))
    assert kept.directory() == tmp_path


def test_the_oldest_files_go(place, monkeypatch):
    monkeypatch.setattr(kept, "LARGEST_NUMBER", 8)
    small = SourceCode.of(["x"], ["y"], "def compiled(x):\n    return [x]\n")
    for number in range(12):
        kept.keep(f"{number:032}", small)
        (newest,) = place.glob(f"{number:032}*")
        (place / f"thesis_{number}.txt").touch()
        os.utime(newest, (number, number))
    left = sorted(int(file.stem) for file in place.glob("*.mlsysim"))
    assert len(left) <= 8
    assert left[-1] == 11
    assert left == [*range(left[0], 12)]
    assert kept.find(f"{11:032}") == small
    assert len([*place.glob("thesis_*")]) == 12


@pytest.mark.parametrize("named", ["~nosuchuser/x", " off ", "OFF"])
def test_odd_names_of_directories_are_no_error(named, monkeypatch, tmp_path, counted):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(kept, "_shipped", lambda: ([], {}))
    monkeypatch.setenv(kept.VARIABLE, named)
    assert asked().text == asked().text
    assert (kept.directory() is None) == ("x" not in named)


def test_nothing_is_left_of_what_cannot_be_written(place):
    text = asked().text
    (file,) = place.iterdir()
    file.unlink()
    file.mkdir()
    assert asked().text == text
    assert [*place.iterdir()] == [file]


def test_what_is_found_computes_what_is_printed(place):
    system = DistributedModel().system
    values = {v.name: 1.0 for v in system.inputs}
    printed = compiled(system)
    _source.cache_clear()
    compiled.cache_clear()
    found = compiled(system)
    assert found is not printed
    assert found.source == printed.source
    assert repr(found(values)) == repr(printed(values))


def crafted(place, content, name=f"{7:032}"):
    """A file as ours are written, its digest included."""
    place.mkdir(mode=0o700, exist_ok=True)
    said = zlib.compress(json.dumps(content).encode())
    file = place / f"{name}.mlsysim"
    file.write_bytes(kept._digest(said) + said)
    file.chmod(0o600)
    return file


@pytest.mark.parametrize(
    "text",
    [
        "import os; os.mkdir({ran})\n",
        "def compiled(x):\n    return [__import__('os').mkdir({ran})]\n",
        "def compiled(x):\n    import os\n    os.mkdir({ran})\n    return [x]\n",
        "def compiled(x, y=open({ran}, 'w')):\n    return [x]\n",
        "@open({ran}, 'w')\ndef compiled(x):\n    return [x]\n",
        "def compiled(x):\n    return [(lambda: exp.__globals__['open']({ran}, 'w'))()]\n",
        "def compiled(x):\n    return [x.__class__.__subclasses__()]\n",
        "def compiled(x):\n    return [[1 for _ in iter(int, 1)]]\n",
        "def compiled(x):\n    return [x\n",
        "def compiled(x):\n    return [" + "(" * 500 + "x" + ")" * 500 + "]\n",
        "",
    ],
)
def test_a_crafted_file_is_never_run(place, tmp_path, text):
    file = crafted(place, [["x"], ["y"], text.replace("{ran}", repr(str(tmp_path / "ran")))])
    with pytest.raises(StoreError, match=r"holds source that mlsysim has not printed; it was not run; delete the file"):
        kept.find(file.stem)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("given", ["x=open({ran}, 'w')", "x, y=open({ran}, 'w')", "x: open({ran}, 'w')", "*x", "x, /"])
def test_inputs_of_a_crafted_file_are_names(place, tmp_path, given):
    """What stands behind a name in a header is run where the function is defined."""
    given = given.replace("{ran}", repr(str(tmp_path / "ran")))
    file = crafted(place, [[given], ["y"], f"def compiled({given}):\n    return [x]\n"])
    with pytest.raises(StoreError, match=r"mlsysim has not printed"):
        kept.find(file.stem)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(("inputs", "outputs"), [(["a"], ["y"]), (None, ["y"]), (["a"], None)])
def test_source_with_other_inputs_or_outputs_is_printed_anew(place, counted, inputs, outputs):
    printed = asked()
    (file,) = place.iterdir()
    names = inputs or list(printed.inputs)
    text = f"def compiled({', '.join(names)}):\n    return [{names[0]}]\n"
    crafted(place, [names, outputs or list(printed.outputs), text], file.stem)
    assert asked().text == printed.text
    assert len(counted) == 2


@pytest.mark.parametrize("content", [[1, 2], ["x", "y", 3], [["x"], ["y"]], {"a": 1}, None, [[1], ["y"], "z"]])
def test_a_crafted_file_of_another_shape_is_refused(place, content):
    with pytest.raises(StoreError, match=r"mlsysim has not printed"):
        kept.find(crafted(place, content).stem)


def test_what_is_unpacked_is_limited(place):
    assert kept.find(crafted(place, "x" * 2**26).stem) is None
    asked()
    assert asked().text


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="the system does not say whose a file is")
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777])
def test_a_directory_that_others_can_write_to_is_refused(place, mode, counted):
    asked()
    place.chmod(mode)
    with pytest.raises(StoreError, match=r"MLSYSIM_CACHE_DIR names a directory .* others can write to; make it yours"):
        asked()


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="the system does not say whose a file is")
def test_the_usual_directory_is_not_used_where_others_can_write_to_it(place, counted, monkeypatch):
    place.mkdir()
    place.chmod(0o777)
    monkeypatch.delenv(kept.VARIABLE)
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: place)
    assert asked().text == asked().text
    assert len(counted) == 2
    assert not [*place.iterdir()]


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="the system does not say whose a file is")
@pytest.mark.parametrize("owner", ["others can write", "another user"])
def test_a_file_that_is_not_the_users_is_printed_anew(place, counted, owner, monkeypatch):
    text = asked().text
    (file,) = place.iterdir()
    if owner == "others can write":
        file.chmod(0o666)
    else:
        if os.geteuid() != 0:
            pytest.skip("only root gives files away")
        os.chown(file, 12345, -1)
    assert asked().text == text
    assert len(counted) == 2
    assert (file.stat().st_mode & 0o777, file.stat().st_uid) == (0o600, os.geteuid())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes with a name")
def test_devices_and_pipes_are_not_read(place, counted):
    text = asked().text
    (file,) = place.iterdir()
    file.unlink()
    os.mkfifo(file, 0o600)
    assert asked().text == text
    assert not file.is_fifo()
    file.unlink()
    os.mkfifo(place.parent / "pipe")
    file.symlink_to(place.parent / "pipe")
    assert asked().text == text
    assert len(counted) == 3
    assert kept.find(file.stem).text == text
    assert (place.parent / "pipe").is_fifo()
    assert not file.is_symlink()


def test_what_ships_is_packed_line_by_line():
    sources = {"a": asked(), "b": asked(LARGE.closure(["total_memory"]))}
    assert len(kept.packed(sources)) < sum(len(each.text) for each in sources.values()) / 4
