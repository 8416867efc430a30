"""Quick tests by default; with ``--long`` every test, at full size. The rule stands in tests/README.md."""

import gc
import os
import pickle
import signal
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from filelock import FileLock
from fuzz import a_few, drawn, is_long
from hypothesis import settings

from mlsysim import book

#: Folders in which every test is long, and why.
LONG_FOLDERS = {
    "benchmarks": "timings, and the answers of what is timed",
    "counted": "tensors counted on real layers; needs PyTorch",
}
#: Half of a quick run is compiling, which is quicker without optimising and fusing; a long run compiles as users do.
QUICK_COMPILING = "--xla_backend_optimization_level=0 --xla_disable_hlo_passes=fusion"
#: What XLA compiled is kept in build/ for the next quick run: it is the same for the same function and flags.
KEPT_COMPILED = {
    "JAX_COMPILATION_CACHE_DIR": str(Path(__file__).parents[1] / "build" / "xla"),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}
#: What a process may hold, in pages of memory, before it forgets what it compiled for earlier tests.
HELD = 2**30 // os.sysconf("SC_PAGESIZE")
#: Pages that were left when something was forgotten for the last time.
LEFT = [0]
#: Tests that opened pages in a browser.
OPENED = []
HERE = Path(__file__).parent
#: Text is printed in as many columns as where it is piped, whatever the terminal of who runs the tests.
os.environ["COLUMNS"] = "100"
#: A failing test shows where in mlsysim an error came from.
os.environ["MLSYSIM_TRACEBACK"] = "full"


def resident():
    """Pages in memory; none where nobody says so."""
    told = Path("/proc/self/statm")
    return int(told.read_text().split()[1]) if told.exists() else 0


@pytest.fixture(autouse=True)
def forgotten():
    """What was compiled for tests is forgotten after one, where it has become too much: that takes seconds."""
    yield
    if "jax" in sys.modules and resident() > LEFT[0] + HELD:
        sys.modules["jax"].clear_caches()
        gc.collect()
        LEFT[0] = resident()


def _files_in(folder):
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in files}


@pytest.fixture(scope="session")
def files_in():
    """Text of every file of a folder and of those in it, by its path below it."""
    return _files_in


@pytest.fixture(scope="session")
def book_pages(tmp_path_factory):
    """Every file of the formula book: printed once, by whichever worker asks first; in a quick run as committed."""
    if not is_long():
        return _files_in(HERE.parent / "formulas")
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return book.pages()
    printed = tmp_path_factory.getbasetemp().parent / "book.pickle"
    with FileLock(f"{printed}.lock"):
        if not printed.exists():
            printed.write_bytes(pickle.dumps(book.pages()))
        return pickle.loads(printed.read_bytes())


@pytest.fixture
def printed_book(monkeypatch, book_pages):
    """Writing and checking the book take the pages printed once, which are the same whenever they are printed."""
    printed = book.pages
    monkeypatch.setattr(book, "pages", lambda own=(): printed(own) if own else dict(book_pages))


@pytest.fixture
def interruptible():
    """Commands that a test starts can be interrupted, also where a shell that ignores interrupts runs the tests."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, handler)


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="every test at full size, those marked long too")
    parser.addoption("--only-long", action="store_true", help="only the tests that a quick run leaves out")
    parser.addoption("--browser", action="store_true", help="tests of pages fail where no browser opens them")
    parser.addoption("--share", type=int, default=1, help="with --only-long one test in so many, always the same ones")


def pytest_configure(config):
    config.pluginmanager.import_plugin("notebook_items")
    config.option.long = config.option.long or config.option.only_long
    settings.register_profile("quick")
    settings.register_profile("long")
    settings.load_profile("long" if config.getoption("long") else "quick")
    if not config.getoption("long"):
        os.environ["XLA_FLAGS"] = f"{QUICK_COMPILING} {os.environ.get('XLA_FLAGS', '')}"
        for name, value in KEPT_COMPILED.items():
            os.environ.setdefault(name, value)


def pytest_report_header(config):
    if config.getoption("long"):
        return "every test, at full size"
    return "quick tests, with a few of the parameters of each; --long has every test, see tests/README.md"


def pytest_ignore_collect(collection_path, config):
    """Modules of long folders are not even imported: some need a second and a gigabyte for that."""
    if not config.getoption("long") and collection_path in {HERE / name for name in LONG_FOLDERS}:
        return True
    return None


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Modules and tests that are collected stay to the end, and formulas too: the collector of cycles runs seldom."""
    gc.set_threshold(100_000, 10, 10)
    found = yield
    gc.freeze()
    return found


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config, items):
    """What is long, and the share that is asked for, of what ``-k`` and ``-m`` leave."""
    for item in items:
        if "browsed" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
    yield
    only_long = config.getoption("only_long")
    if config.getoption("long") and not only_long:
        return
    quick, share = _quick(items), config.getoption("share")
    asked = {True: [], False: []}
    for item in items:
        asked[drawn(item.nodeid, share) and item not in quick if only_long else item in quick].append(item)
    config.hook.pytest_deselected(items=asked[False])
    items[:] = asked[True]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """With ``--browser`` no test of pages is skipped."""
    report = yield
    if item.config.getoption("browser") and "browser" in report.keywords and report.skipped:
        report.outcome, report.longrepr = "failed", f"not opened in a browser: {report.longrepr[-1]}"
    return report


def pytest_runtest_logreport(report):
    OPENED.extend([report.nodeid] * (report.when == "call" and "browser" in report.keywords))


def pytest_sessionfinish(session):
    """With ``--browser`` a run without a test of pages fails."""
    here = "PYTEST_XDIST_WORKER" not in os.environ
    if here and session.config.getoption("browser") and not OPENED and not session.config.option.collectonly:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _is_long(item):
    """Whether all parameters of the test are long, or this one of them is."""
    marked = any(not mark.kwargs for name in ("long", "browser") for mark in item.iter_markers(name))
    return marked or item.path.suffix == ".ipynb" or item.path.parent.name in LONG_FOLDERS


def _quick(items):
    """Tests that are not long, with a few of their parameters: the first where the test says how many, else by hash."""
    tests = defaultdict(list)
    for item in items:
        if not _is_long(item):
            tests[item.nodeid.partition("[")[0]].append(item)
    chosen = set()
    for each in tests.values():
        told = each[0].get_closest_marker("long")
        chosen.update(each[: told.kwargs["quick"]] if told else a_few(each, name=lambda item: item.nodeid))
    return chosen
