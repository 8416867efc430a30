"""The same questions on a GPU and on the processor beside it; ``make bench-gpu`` runs them where there is a GPU."""

import os
import subprocess
import sys
from pathlib import Path

import jax
import pytest
from benchmarks.on_device import QUESTIONS, seconds

SCRIPT = Path(__file__).with_name("on_device.py")


@pytest.mark.skipif(jax.default_backend() != "gpu", reason="JAX has no GPU on this machine")
@pytest.mark.parametrize("question", QUESTIONS)
def test_question(benchmark, question):
    ours = seconds(question)
    processor = {**os.environ, "JAX_PLATFORMS": "cpu"}
    told = subprocess.run([sys.executable, SCRIPT, question], env=processor, check=True, capture_output=True, text=True)
    theirs = float(told.stdout)
    benchmark.pedantic(QUESTIONS[question], rounds=1)
    benchmark.extra_info.update(
        title=f"{question} on {jax.devices()[0].device_kind}, against the processor of its machine",
        target=None,
        ours=ours,
        theirs=theirs,
        ratio=ours / theirs,
    )
