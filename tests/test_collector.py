"""The collector of cycles rests while formulas become programs, and runs again whatever happens."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from mlsysim import collector


def test_it_runs_again_afterwards():
    with collector.paused():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), collector.paused():
        1 / 0  # noqa: B018
    assert gc.isenabled()


def test_it_stays_off_where_a_user_has_switched_it_off():
    gc.disable()
    try:
        with collector.paused(), collector.paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_python_does_not_look_through_formulas_when_it_ends():
    """Handlers run in reverse: what is registered before a model is loaded runs after ours."""
    text = "import atexit, gc; atexit.register(lambda: print(gc.get_freeze_count() > 10_000)); import mlsysim"
    answers = [
        subprocess.run([sys.executable, "-c", text + call], check=True, capture_output=True, text=True).stdout.strip()
        for call in ("; mlsysim.KernelModel", "")
    ]
    assert answers == ["True", "False"]
