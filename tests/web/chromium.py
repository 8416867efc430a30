"""Scripts that open pages in headless Chromium; a test skips where it cannot be had."""

import json
import os
import shutil
from pathlib import Path

import pytest
from tex.renderers import BUILD, RendererError, install, node

INSTALLED = BUILD / "web"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
#: What a script exits with where Chromium does not start, and pixels of a phone.
NOT_STARTED, PHONE = 3, 390


def installed():
    """Skip where there is no Chromium, or nothing that drives it."""
    if CHROMIUM is None:
        pytest.skip("there is no Chromium: apt-get install chromium")
    try:
        install(Path(__file__).parent / "package.json", INSTALLED)
    except RendererError as reason:
        pytest.skip(str(reason))


def seen_by(script, *words):
    """What a script writes of the pages it opens."""
    environment = {**os.environ, "NODE_PATH": str(INSTALLED / "node_modules")}
    done = node("node", str(script), CHROMIUM, *map(str, words), env=environment)
    if done.returncode == NOT_STARTED:
        pytest.skip("Chromium does not start here; it needs more address space than ulimit -v may leave")
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)
