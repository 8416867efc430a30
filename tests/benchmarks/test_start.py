"""What the first answers of a process take: with everything included, or once it has imported what it needs."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer
from benchmarks.conftest import ENVIRONMENT
from benchmarks.yardsticks import START, processor_time

from mlsysim.cli.app import app
from mlsysim.models.registry import Registry

TRAINING = "model='Llama3_8B', hardware='H100', batch_size=8"
NETWORK = "fabric_bandwidth='50 GB/s', fabric_latency='10 us', fleet_size=8"
FIRST = {
    "TrainingMemoryModel": (TRAINING, 0.5),
    "DistributedModel": (f"{TRAINING}, {NETWORK}", 0.6),
    "ServingModel": ("**ServingModel.example", 0.9),
}
#: Four axes.
AXES = "batch_size=range(16, {}, 16), seq_len=range(256, {}, 256), tp_size=[1, 2], gradient_accumulation_steps=[1, 2]"
#: Of 4e4 and of 2.1e6 points.
SWEPT, LARGE = (
    f"model='Llama3_8B', hardware='H100', {NETWORK}, {AXES.format(*ends)}" for ends in ((1616, 25856), (16400, 131328))
)
ALL = "outputs=[output.name for output in DistributedModel().outputs]"
#: Prints the seconds of one call, by the clock that is named, in a process that has imported what it takes.
TIMED = """
import time, mlsysim
from mlsysim import DistributedModel
{before}
start = time.{clock}()
{call}
print(time.{clock}() - start)
"""
GRADIENT_OF = """
import jax
function = DistributedModel().function(
    "step_time", model="Llama3_70B", fleet="SuperPOD_H100", batch_size=1024, seq_len=8192, tp_size=8, pp_size=4
)
x = {{name: function.inputs[name] for name in {inputs}}}
"""
ONE = ["fabric_bandwidth"]
FOUR = ["fabric_bandwidth", "efficiency", "batch_size", "tp_size"]
COMMANDS = sorted([*Registry().commands, *typer.main.get_command(app).commands])


def process(*words):
    """Seconds of a whole process, and what it prints."""
    start = time.perf_counter()
    done = subprocess.run(words, check=True, env=ENVIRONMENT, capture_output=True, text=True)
    return time.perf_counter() - start, done.stdout


def inside(call, before="", clock="perf_counter"):
    """Seconds that one call in a new process takes."""
    return float(process(sys.executable, "-c", TIMED.format(before=before, call=call, clock=clock))[1])


def command(*words):
    """Seconds of a command in a terminal."""
    return process(str(Path(sys.executable).with_name("mlsysim")), *words)[0]


@pytest.mark.parametrize("model", FIRST)
def test_first_solve(benchmark, against, model):
    arguments, wanted = FIRST[model]
    call, taken = f"from mlsysim import {model}; {model}().solve({arguments})", []
    benchmark.pedantic(lambda: taken.append(process(sys.executable, "-c", call)[0]), rounds=7, warmup_rounds=1)
    what = f"first `solve` of `{model}` in a fresh process, everything included"
    against(what, wanted, taken, yardstick=START)


@pytest.mark.parametrize(
    ("words", "wanted"), [("memory --model Llama3_8B --hardware H100 --batch-size 8", 1.0), ("what-fits RTX_4090", 3.0)]
)
def test_a_command(benchmark, against, words, wanted):
    taken = []
    benchmark.pedantic(lambda: taken.append(command(*words.split())), rounds=7, warmup_rounds=1)
    against(f"`mlsysim {words.split()[0]}` in a terminal, everything included", wanted, taken, yardstick=START)


@pytest.mark.parametrize(
    ("words", "target"),
    [
        ("memory --model Llama3_8B --hardware H100 --batch-size 8", 1.6),
        ("train --model Llama3_8B --fleet SuperPOD_H100 --batch-size 2048", 2.0),
    ],
)
def test_a_command_over_its_imports(benchmark, words, target):
    """Processor time, as multiples of what importing two libraries takes; in turn, the least of each."""
    pairs = []

    def taken(work):
        start = processor_time()
        work()
        return processor_time() - start

    def once():
        pairs.append((taken(lambda: command(*words.split())), taken(START.work)))

    benchmark.pedantic(once, rounds=9, warmup_rounds=1)
    ours, theirs = map(min, zip(*pairs, strict=True))
    title = f"`mlsysim {words.split()[0]}` in a terminal, processor time, against {START.what}"
    benchmark.extra_info.update(title=title, target=target, ours=ours, theirs=theirs, ratio=ours / theirs)


def test_help_of_every_command(benchmark, against):
    """The slowest of all."""
    taken = []
    benchmark.pedantic(
        lambda: taken.append(max(command(name, "--help") for name in COMMANDS)), rounds=3, warmup_rounds=1
    )
    against(f"`--help`, the slowest of {len(COMMANDS)} commands", 0.3, taken, yardstick=START)


@pytest.mark.parametrize(("outputs", "asked", "wanted"), [("headline", "", 0.3), ("all", ALL, 0.6)])
def test_first_sweep(benchmark, against, outputs, asked, wanted):
    taken, call = [], f"DistributedModel().sweep({SWEPT}, {asked})"
    benchmark.pedantic(lambda: taken.append(inside(call)), rounds=5, warmup_rounds=1)
    what = f"first sweep of a process that has the model, 4e4 points of `DistributedModel`, {outputs} outputs"
    against(what, wanted, taken, yardstick=START)


@pytest.mark.parametrize(("inputs", "target"), [(ONE, 1.0), (FOUR, None)], ids=["one input", "four inputs"])
def test_first_gradient(benchmark, against, inputs, target):
    """By one input at most a second of a processor, at the yardstick; four are shown beside it."""
    taken, before = [], GRADIENT_OF.format(inputs=inputs)
    call = "jax.block_until_ready(jax.grad(function)(x))"
    benchmark.pedantic(lambda: taken.append(inside(call, before, "process_time")), rounds=3, warmup_rounds=1)
    what = f"first `jax.grad` of the step time (`DistributedModel`) by {len(inputs)} of its inputs, compiling included"
    ratio = against(f"{what}, processor time", 1.0, taken, target, yardstick=START, clock=processor_time)
    assert target is None or ratio <= target


def test_compiling_a_large_sweep(benchmark, against):
    """Processor time of the first sweep of a process less that of a second one, where XLA computes it."""
    call, taken = f"DistributedModel().sweep({LARGE}, outputs=['step_time'])", []

    def once():
        taken.append(inside(call, clock="process_time") - inside(call, before=call, clock="process_time"))

    benchmark.pedantic(once, rounds=2)
    what = "compiling the step time (`DistributedModel`) for a sweep of 2.1e6 points, processor time"
    against(what, 0.5, taken, yardstick=START, clock=processor_time)
