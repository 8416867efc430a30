"""The page that runs Python in the browser: its numbers are those of here, and all it loads is of this site."""

import contextlib
import functools
import io
import json
import re
import threading
import zipfile
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from web.chromium import PHONE, installed, seen_by
from website import browser_python, try_it

from mlsysim.version import __version__

HERE = Path(__file__).parent
PYTHON = "_static/python/"
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")
LOOKS = [{"scheme": "light", "width": 1280}, {"scheme": "dark", "width": PHONE}]

fetched = pytest.mark.skipif(
    not browser_python.FETCHED.is_dir(), reason="Python for the browser was not fetched: make site-test"
)


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without a word."""

    def log_message(self, format, *args):
        pass


@pytest.fixture(scope="module")
def seen(site, tmp_path_factory):
    """Every example, an error and a stop, as Chromium shows them."""
    installed()
    jobs = tmp_path_factory.mktemp("try") / "jobs.json"
    jobs.write_text(json.dumps({"looks": LOOKS}))
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        found = seen_by(HERE / "try.js", address, jobs)
        server.shutdown()
    return found | {"address": address}


def printed(code):
    """Output of code that runs here."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(code, {"__name__": "__main__"})
    return output.getvalue()


@fetched
@pytest.mark.long
@pytest.mark.parametrize("index", range(len(try_it.EXAMPLES)), ids=list(try_it.EXAMPLES))
def test_examples_print_in_the_browser_what_they_print_here(seen, index):
    answer, here = seen["answers"][index], printed([*try_it.EXAMPLES.values()][index])
    assert answer["state"].startswith("Done"), answer
    assert NUMBER.sub("#", answer["output"]).split() == NUMBER.sub("#", here).split()
    numbers = [list(map(float, NUMBER.findall(text))) for text in (answer["output"], here)]
    assert len(numbers[0]) > 3
    assert numbers[0] == pytest.approx(numbers[1], rel=1e-9)


@fetched
@pytest.mark.long
def test_python_is_loaded_when_it_is_run_and_from_this_site(seen):
    assert not any(PYTHON in address for address in seen["before"])
    assert [address for address in seen["asked"] if not address.startswith(seen["address"])] == []
    loaded = {address.rpartition("/")[2] for address in seen["asked"] if PYTHON in address}
    assert loaded == set(browser_python.files())
    assert seen["weight"] / 1e6 < 50
    assert seen["wrong"] == []


@fetched
@pytest.mark.long
def test_an_error_names_its_line_and_what_was_meant_and_a_stop_ends_what_runs(seen):
    assert seen["failed"]["state"].startswith("Failed")
    assert "line 3" in seen["failed"]["output"]
    assert "did you mean model" in seen["failed"]["output"]
    assert seen["stopped"] == "Stopped"
    assert seen["again"]["output"].strip() == "2"


@fetched
@pytest.mark.long
def test_nothing_bars_the_page_or_is_wider_than_it(seen):
    assert seen["barriers"] == []
    assert seen["wide"] == []


@fetched
def test_the_page_says_what_it_weighs_and_the_lock_file_lists_what_it_loads():
    files = browser_python.files()
    packages = json.loads(files[browser_python.LOCK])["packages"]
    assert {entry["file_name"] for entry in packages.values()} <= set(files)
    assert packages["mlsysim"]["version"] == __version__
    later = sum(len(data) for name, data in files.items() if name.startswith("scipy-"))
    page = try_it.pages()["try_it/index.md"]
    assert f"{(sum(map(len, files.values())) - later) / 1e6:.0f} MB" in page
    assert f"{later / 1e6:.0f} MB more" in page
    assert "scipy" not in packages["mlsysim"]["depends"]


def test_a_site_has_no_page_where_nothing_was_fetched(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(browser_python, "FETCHED", tmp_path / "nothing")
    assert try_it.pages() == {}
    assert "website.browser_python" in capsys.readouterr().out


def test_a_file_with_another_hash_is_refused(tmp_path):
    with pytest.raises(browser_python.FetchError, match=r"pint\.whl has SHA-256"):
        browser_python.keep(tmp_path / "pint.whl", b"another", "0" * 64)
    assert not (tmp_path / "pint.whl").exists()


def test_the_wheel_of_the_browser_has_the_models_and_no_terminal_and_its_pins_are_those_of_the_project():
    names = zipfile.ZipFile(io.BytesIO(browser_python.built())).namelist()
    assert "mlsysim/models/serving.py" in names
    assert not any(name.startswith("mlsysim/cli/") for name in names)
    constraints = (browser_python.ROOT / "constraints.txt").read_text(encoding="utf-8").lower().splitlines()
    assert {str(Requirement(pin)) for pin in browser_python.PINS["wheels"]} <= set(constraints)
