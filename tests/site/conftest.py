"""The site, built once for all that is asked of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock
from website.walk import pages

ROOT = Path(__file__).parents[2]
#: Refuses every connection but those of a kernel on this machine, then builds.
OFFLINE = """
import runpy, sys

def refuse(event, given):
    if event == "socket.getaddrinfo" and given[0] not in (None, "localhost", "127.0.0.1"):
        raise OSError(f"asked the network for {given[0]}")
    if event == "socket.connect" and isinstance(given[1], tuple) and given[1][0] != "127.0.0.1":
        raise OSError(f"asked the network for {given[1]}")

sys.addaudithook(refuse)
sys.argv[0] = "website"
runpy.run_module("website", run_name="__main__")
"""


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the pages, built once for all workers, with the stored outputs of the tutorial."""
    base = tmp_path_factory.getbasetemp()
    into = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "site"
    with FileLock(f"{into}.lock"):
        if not (into / "built").exists():
            into.mkdir(exist_ok=True)
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "docs"), str(ROOT)])}
            command = [sys.executable, "-c", OFFLINE, "--stored", "--into", str(into)]
            done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=into, check=False)
            assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
            (into / "built").touch()
    return into / "html"


@pytest.fixture(scope="session")
def found(site):
    return pages(site)
