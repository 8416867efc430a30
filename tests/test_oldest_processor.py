"""An old processor is one without the instructions that NumPy and Numba choose among."""

import os
import subprocess
import sys
from pathlib import Path

from oldest_processor import DISPATCHED

HERE = Path(__file__).parent
TOLD = f"{DISPATCHED}; import os; print(os.environ['NUMBA_CPU_NAME'])"


def test_nothing_is_chosen_at_run_time():
    words = [sys.executable, str(HERE / "oldest_processor.py"), "-c", TOLD]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NPY_", "NUMBA_"))}
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == "\ngeneric\n"
