"""Scripts that open pages in headless Chromium: that of the machine, else of npm, else of Debian's packages.

``make site-test`` runs it to install what is missing. Tests skip without it, and fail under ``--browser``.
"""

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tex.renderers import BUILD, RendererError, install, node

HERE = Path(__file__).parent
INSTALLED, BROWSER = BUILD / "web", BUILD / "browser"
UNPACKED = BROWSER / "unpacked"
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
#: Unpacks browser, libraries and fonts into the folder of temporary files.
UNPACK = 'import chromium from "@sparticuz/chromium"; await chromium.executablePath();'
FONTS = '<fontconfig><dir prefix="relative">fonts</dir><cachedir prefix="xdg">fontconfig</cachedir></fontconfig>'
#: What a script exits with where Chromium does not start, and pixels of a phone.
NOT_STARTED, PHONE = 3, 390


def browser():
    """Path of a Chromium; None where there is none yet."""
    unpacked = UNPACKED / "chromium"
    return next(filter(None, map(shutil.which, NAMES)), str(unpacked) if unpacked.is_file() else None)


def install_browser():
    """Install what opens pages, and a Chromium where the machine has none."""
    install(HERE / "package.json", INSTALLED)
    if any(map(shutil.which, NAMES)):
        return
    if (platform.system(), platform.machine()) == ("Linux", "x86_64"):
        _unpack()
    elif os.geteuid() == 0:
        for words in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
            subprocess.run(["apt-get", *words], check=True)
    else:
        raise RendererError("there is no Chromium here, and apt-get needs root")


def _unpack():
    """Unpack the Chromium of npm, whole or not at all."""
    install(HERE / "browser" / "package.json", BROWSER)
    if UNPACKED.is_dir():
        return
    with tempfile.TemporaryDirectory(dir=BROWSER) as place:
        folder = Path(place, "unpacked")
        folder.mkdir()
        environment = {**os.environ, "TMPDIR": str(folder), "AWS_EXECUTION_ENV": "AWS_Lambda_nodejs22.x"}
        done = node("node", "--input-type=module", "-e", UNPACK, cwd=BROWSER, env=environment)
        if done.returncode:
            raise RendererError(f"the Chromium of npm cannot be unpacked: {done.stderr[-1000:]}")
        (folder / "fonts" / "fonts.conf").write_text(FONTS, encoding="utf-8")
        folder.rename(UNPACKED)


def installed():
    """Skip where what opens pages was not installed."""
    if browser() is None or not INSTALLED.is_dir():
        pytest.skip("there is no Chromium: make site-test")


def seen_by(script, *words):
    """What a script writes of the pages it opens."""
    environment = {**os.environ, "NODE_PATH": str(INSTALLED / "node_modules")}
    if browser() == str(UNPACKED / "chromium"):
        environment |= {"LD_LIBRARY_PATH": str(UNPACKED / "al2023" / "lib"), "FONTCONFIG_PATH": str(UNPACKED / "fonts")}
    done = node("node", str(script), browser(), *map(str, words), env=environment, timeout=900)
    if done.returncode == NOT_STARTED:
        pytest.skip("Chromium does not start here; it needs more address space than ulimit -v may leave")
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


if __name__ == "__main__":
    try:
        install_browser()
    except (RendererError, OSError, subprocess.SubprocessError) as reason:
        sys.exit(f"pages cannot be opened: {reason}")
