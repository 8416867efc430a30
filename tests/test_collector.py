"""The collector of cycles rests while formulas become programs, and runs again whatever happens."""

from __future__ import annotations

import gc

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
