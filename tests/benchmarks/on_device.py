"""Questions to be timed on whichever device JAX has: ``python gpu_questions.py NAME`` prints seconds, warm."""

import sys
import time
from statistics import median

from mlsysim import DistributedModel, TrainingMemoryModel

LLAMA = {"model": "Llama3_70B", "hardware": "H100"}
LAYOUTS = {
    "tp_size": [1, 2, 4, 8],
    "pp_size": range(1, 41),
    "zero_stage": [0, 1, 2, 3],
    "gradient_accumulation_steps": [1, 2, 4, 8],
    "batch_size": range(1, 513),
}


def search():
    """The best of 1.3e9 layouts, none of which is held."""
    return TrainingMemoryModel("per_operator").search(
        **LLAMA, **LAYOUTS, dp_size=range(1, 1001), minimize="total_memory", method="dense"
    )


def sweep():
    """The time of a step on a million layouts, brought to the host."""
    fabric = {"fabric_bandwidth": "50 GB/s", "fabric_latency": "10 us", "fleet_size": 512, "seq_len": 8192}
    return DistributedModel().sweep(**LLAMA, **fabric, **LAYOUTS, outputs=["step_time"], refused="mask")


QUESTIONS = {"search": search, "sweep": sweep}


def seconds(name):
    """Median of three warm calls."""
    QUESTIONS[name]()
    taken = []
    for _ in range(3):
        start = time.perf_counter()
        QUESTIONS[name]()
        taken.append(time.perf_counter() - start)
    return median(taken)


if __name__ == "__main__":
    print(seconds(sys.argv[1]))
