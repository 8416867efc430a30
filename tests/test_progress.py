"""Progress: nothing in pipes, a line with an estimate on a terminal after a while, one for everything inside."""

import fcntl
import io
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading

import pytest
from rich.console import Console

from mlsysim import TrainingMemoryModel, progress
from mlsysim.backends.blocks import walked
from mlsysim.models.base import QUICK, VERBS

SERVE = ("serve", "model=Llama3_3_70B", "hardware=H100", "tp_size=4", "--variant", "chunked")
#: Commands that take longer than anybody waits, and what their line says.
LONG = {
    "sweep": (("sweep", *SERVE, "request_rate=0.5:3:0.01", "isl=500:4000:100"), "sweep"),
    "search": (("search", *SERVE, "request_rate=0.5:3:0.01", "isl=500:4000:10", "--minimize", "ttft_p99"), "search"),
    "pareto": (
        (
            "pareto",
            *SERVE,
            "request_rate=0.5:3:0.01",
            "isl=500:4000:10",
            "--minimize",
            "ttft_p99",
            "--minimize",
            "tpot_p99",
        ),
        "pareto",
    ),
    "uncertainty": (
        ("uncertainty", *SERVE, "request_rate=uniform(0.5, 2)", "isl=uniform(500, 4000)", "--samples", "65536"),
        "uncertainty",
    ),
    "simulate": (
        ("simulate", "serve", *SERVE[1:], "request_rate=0.5", "num_replicas=1", "--requests", "3000000"),
        "simulate",
    ),
}


class Watched:
    """Lines that would be shown, without a terminal."""

    def __init__(self):
        self.seen = []

    def shares(self):
        return [share for share in self.seen if share is not None]


@pytest.fixture
def watched(monkeypatch):
    found = Watched()
    monkeypatch.setattr(progress.Line, "tell", lambda line: found.seen.append(line.fraction))
    monkeypatch.setattr(progress.Line, "_show", lambda line: None)
    return found


def test_steps_of_a_loop_are_shares_and_inner_loops_are_parts_of_a_step(watched):
    with progress.watched("asked", True) as line:
        assert line.fraction is None
        with progress.loop(4) as outer:
            outer(1)
            with progress.loop(10) as inner:
                inner(5)
                assert line.fraction == pytest.approx((1 + 0.5) / 4)
            outer(1)
            assert line.fraction == pytest.approx(0.5)
    assert watched.shares() == sorted(watched.shares())


def test_a_line_around_is_the_only_one():
    with progress.watched("first", True) as line, progress.watched("second", True) as inner:
        assert inner is line


def test_nothing_is_shown_where_it_is_not_wanted(capsys):
    with progress.watched("asked") as line, progress.loop(3) as advance:
        assert line is None
        advance(3)
    with progress.watched("asked", False) as line:
        assert line is None
    assert capsys.readouterr() == ("", "")


def test_loops_of_other_threads_do_not_count(watched):
    with progress.watched("asked", True) as line:

        def work():
            with progress.loop(2) as advance:
                advance(1)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert line.fraction is None


def test_blocks_of_a_grid_are_told(watched):
    with progress.watched("asked", True):
        walked((10, 10), 10, lambda region: None)
    assert watched.shares() == [place / 10 for place in range(1, 11)]


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb not in QUICK])
def test_every_verb_but_the_quick_ones_is_watched(verb, monkeypatch):
    asked = []
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: asked.append(verb) or False, raising=False)
    with pytest.raises((TypeError, ValueError)):
        getattr(TrainingMemoryModel(), verb)(no_such_argument=1)
    assert asked


def test_a_time_left_is_of_the_pace_so_far(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(progress.Line, "_show", lambda line: None)
    with progress.watched("asked", True) as line, progress.loop(10) as advance:
        now[0] = 30.0
        advance(1)
        assert line._left(line.fraction) == "0:04:30 left"


def test_the_line_is_gone_before_the_answer_prints():
    with progress.watched("mlsysim", True) as line:
        with progress.watched("sweep"), progress.watched("compile"):
            assert line._shown is not None
        assert line._shown is None
        with progress.watched("search"):
            assert line._shown is not None
        assert line._shown is None


@pytest.mark.long(quick=3)
@pytest.mark.parametrize("columns", [60, 80, 120])
def test_the_clocks_fit(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    printed = Console(file=io.StringIO(), width=columns)
    with progress.bar("uncertainty", 12_345_678_901, done=1_234_567_890, show=True) as advance:
        advance(1_234_567_890)
        printed.print(progress._line.get()._shown.get_renderable())
    text = printed.file.getvalue()
    assert text.count("\n") == 1
    assert "…" not in text
    assert re.search(r"20% .*\d:\d\d:\d\d \d+:\d\d:\d\d left\n$", text)
    assert ("━" in text) == (columns >= 80)


#: Of the sequences that move the cursor and colour what follows.
ESCAPES = r"\x1b\[[0-9;?]*[A-Za-z]"


def interrupted(words, title):
    """Run a command with a terminal for errors, interrupt it when its line is there; its code, errors and output."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    run = subprocess.Popen(
        [sys.executable, "-m", "mlsysim", *words],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(theirs)
    said, text, sent = b"", "", False
    while True:
        if select.select([ours], [], [], 0.2)[0]:
            try:
                piece = os.read(ours, 1 << 16)
            except OSError:
                piece = b""
            if not piece:
                break
            said += piece
            text = re.sub(ESCAPES, "", said.decode(errors="ignore"))
        if not sent and re.search(rf"{title} .*\d:\d\d:\d\d", text):
            run.send_signal(signal.SIGINT)
            sent = True
    printed, _ = run.communicate(timeout=60)
    os.close(ours)
    return run.returncode, text, printed


@pytest.mark.long
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("name", LONG)
def test_a_long_command_shows_that_it_goes_on_and_is_interrupted(name):
    words, title = LONG[name]
    code, said, printed = interrupted(words, title)
    assert code == 130
    assert said.rstrip().endswith("interrupted")
    assert "Traceback" not in said
    assert printed == b""


@pytest.mark.long
@pytest.mark.usefixtures("interruptible")
def test_an_interrupted_sweep_into_a_file_says_how_to_go_on(tmp_path):
    file = tmp_path / "grid.nc"
    words = ("sweep", "memory", "model=Llama3_8B", "hardware=H100", "batch_size=1:30000", "dp_size=1:2000",
             "--refused", "mask", "--output", str(file))  # fmt: skip
    code, said, _ = interrupted(words, file.name)
    assert code == 130
    assert "interrupted: " in said
    assert "the same command goes on" in re.sub(r"\s+", " ", said)
