"""Runs Python as an old processor would: without instructions that NumPy, Numba, XLA, BLAS and libm choose at run time.

``python tests/oldest_processor.py -m pytest tests/study`` shows which numbers hang on them.
"""

import os
import platform
import subprocess
import sys

#: Prints what NumPy would choose among here.
DISPATCHED = (
    "import numpy._core._multiarray_umath as u; print(*(f for f in u.__cpu_dispatch__ if u.__cpu_features__[f]))"
)


def environment() -> dict[str, str]:
    """Variables under which nothing beyond the least instructions of this architecture is used."""
    features = subprocess.run([sys.executable, "-c", DISPATCHED], capture_output=True, text=True, check=True).stdout
    chosen = {"NPY_DISABLE_CPU_FEATURES": features.strip(), "NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    if platform.machine() == "x86_64":
        chosen |= {
            "OPENBLAS_CORETYPE": "Nehalem",
            "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_max_isa=SSE4_2",
            "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F",
        }
    return chosen


if __name__ == "__main__":
    os.execve(sys.executable, [sys.executable, *sys.argv[1:]], os.environ | environment())
