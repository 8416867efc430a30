"""Two interpreters side by side: ours, and one with mlsysim 0.3.0 that ``make bench`` sets up."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from benchmarks.yardsticks import row

HERE = Path(__file__).parent
PEER = Path(os.environ.get("MLSYSIM_PEER_PYTHON", HERE.parents[1] / ".venv-0.3.0" / "bin" / "python"))
#: Compiled modules are kept, as installing a package keeps them.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


class Worker:
    """One interpreter answering the questions of ``worker.py``."""

    def __init__(self, python: Path) -> None:
        self.python = python
        self._process: subprocess.Popen[str] | None = None

    def seconds(self, question: str, number: int = 50) -> float:
        """Seconds one warm call takes."""
        if self._process is None:
            self._process = subprocess.Popen(
                [str(self.python), str(HERE / "worker.py")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                cwd=HERE,
            )
            assert self._process.stdout is not None
            assert self._process.stdout.readline().strip() == "ready"
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(question, number, file=self._process.stdin, flush=True)
        return float(self._process.stdout.readline())

    def process_seconds(self, *arguments: str) -> float:
        """Wall-clock seconds of a whole fresh process."""
        start = time.perf_counter()
        subprocess.run([str(self.python), *arguments], check=True, cwd=HERE, env=ENVIRONMENT)
        return time.perf_counter() - start

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.close()
            self._process.wait(timeout=30)
            self._process.stdout.close()


@pytest.fixture
def against(benchmark):
    """Record some seconds beside what is wanted (``yardsticks.row``), and return their ratio."""

    def record(*asked: Any, **how: Any) -> float:
        benchmark.extra_info.update(row(*asked, **how))
        return benchmark.extra_info["ratio"]

    return record


@pytest.fixture
def in_turn(benchmark):
    """Times of two functions, one after the other, each after so many calls of its own, as medians of pairs."""

    def record(
        title: str,
        target: float | None,
        ours: Callable[[], object],
        theirs: Callable[[], object],
        rounds: int = 9,
        settled: int = 0,
    ) -> None:
        ours(), theirs()
        pairs = []

        def seconds(work: Callable[[], object]) -> float:
            # OpenMP's threads, which numba uses, spin on after their loop and hold the processors of who comes next.
            for _ in range(settled):
                work()
            start = time.perf_counter()
            work()
            return time.perf_counter() - start

        benchmark.pedantic(lambda: pairs.append((seconds(ours), seconds(theirs))), rounds=rounds)
        benchmark.extra_info.update(
            title=title,
            target=target,
            ours=median(a for a, _ in pairs),
            theirs=median(b for _, b in pairs),
            ratio=median(a / b for a, b in pairs),
        )

    return record


@pytest.fixture(scope="session")
def ours() -> Iterator[Worker]:
    worker = Worker(Path(sys.executable))
    yield worker
    worker.close()


@pytest.fixture(scope="session")
def theirs() -> Iterator[Worker]:
    if not PEER.exists():
        pytest.skip("mlsysim 0.3.0 is not installed beside us; `make bench` sets it up")
    worker = Worker(PEER)
    yield worker
    worker.close()
