import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from mlsysim.cli import app


@pytest.fixture(scope="session")
def run():
    def invoke(*words):
        return CliRunner().invoke(app, list(words), prog_name="mlsysim")

    return invoke


@pytest.fixture(scope="session")
def process():
    """Run Python in a real process, piped, with the given environment on top."""

    def start(*words, **environment):
        return subprocess.run(
            [sys.executable, *words],
            capture_output=True,
            encoding="utf-8",
            env={**os.environ, "PYTHONIOENCODING": "utf-8", **environment},
            timeout=60,
            check=False,
        )

    return start
