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


MEMORY = """\
Component    Per-GPU Memory
───────────────────────────
Weights            16.06 GB
Gradients           2.01 GB
Optimizer          12.04 GB
Activations         2.68 GB
Buffers            0.100 GB
Total              32.90 GB
Fits on H100: True
"""
SERVING = """\
Required replicas: 1
Capacity:          46.0 QPS
Utilization:       43.5%
Estimated P99:     1299.0 ms
Bottleneck:        Feasible
"""
ROUTING = """\
Imbalance  Effective Experts  Routed Bytes  All-to-All
──────────────────────────────────────────────────────
1.00                    2.00      117.4 MB     9.75 ms
1.25                    2.50      146.8 MB    12.09 ms
1.50                    3.00      176.2 MB    14.44 ms
2.00                    4.00      234.9 MB    19.14 ms
"""


@pytest.fixture(scope="session")
def printed_in_the_tutorial():
    """The tables of the tutorial's three questions."""
    return {"memory": MEMORY, "serving": SERVING, "routing": ROUTING}
