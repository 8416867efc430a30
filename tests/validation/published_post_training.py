"""Steps of reinforcement learning that frameworks published, asked by the arguments of each run and catalog entries."""

from functools import cache, partial
from typing import Any

from validation.checks import Check, Group, Spread, spread
from validation.post_training_rows import PHASES, SAMPLE, Row, rows

from mlsysim import PostTrainingModel

#: Largest medians: of all steps, of colocated ones, of phases, and of steps with their model left out of the fit.
STEPS, COLOCATED, PHASE, LEFT_OUT = 0.11, 0.06, 0.2, 0.15
#: A step may be so far off; beyond it the reason is said.
FURTHEST = 0.2
NAMES = {"rollout_time": "Rollout", "update_time": "Update", "logprob_time": "Log-probabilities", "sync_time": "Refit"}
EARLY = "version 0.4 is slower than the next by a fifth on one layout: engine and refit were younger"
RAISED = "64 devices take 286 s and 128 of the same layout 345 s, which is not explained"
BESIDE = (
    "its rollout takes 250 s, and the same engines on as many devices 200 s where they are colocated; not explained"
)
BOUND = "updates of 4,096 tokens on one device are bound by the host less than pre-training with expert parallelism is"
NOISY = "two runs of one layout took 147 and 178 s, 230 and 266 s"
OLD_LONG = (
    "updates and log-probabilities of 16,384 tokens took four to seven times ours (64 and 75 s): longer than rollouts allow "
    "to pack, which the post does not say"
)
PHASES_OF = (
    "all are of one post of version 0.3 and a rerun of it; a constant of all trainers is 1.4, and 70B has 1.8 to 4"
)
REFITS = "two runs of one layout took 14 and 26 s"


@cache
def solved(whole: bool) -> tuple[Any, ...]:
    """Ours, by stacks."""
    return tuple(row.solve() for row in rows(whole))


def _seconds(row: Row, found: Any, output: str = "step_time") -> float:
    return found.canonical(output)


@cache
def errors(whole: bool, colocated: bool = False) -> tuple[float, ...]:
    """Errors of steps."""
    return tuple(
        found.canonical("step_time") / row.seconds - 1 for row, found in zip(rows(whole), solved(whole), strict=True)
        if not colocated or row.schedule == "colocated"
    )  # fmt: skip


@cache
def left_out(whole: bool) -> tuple[float, ...]:
    """Our steps in seconds by constants that were fitted without their model."""
    return tuple(row.solve(**row.without).canonical("step_time") for row in rows(whole))


@cache
def phase_errors(whole: bool, output: str) -> tuple[float, ...]:
    """Errors of one phase where it is printed."""
    return tuple(
        found.canonical(output) / row.phases[output] - 1 for row, found in zip(rows(whole), solved(whole), strict=True)
        if output in row.phases
    )  # fmt: skip


def why(row: Row) -> str:
    """Reason of a row that is further off; empty where none is known."""
    return ""


def checks(whole: bool) -> list[Check]:
    """Every step and every printed phase."""
    found = []
    for row, ours, other in zip(rows(whole), solved(whole), left_out(whole), strict=True):
        step = ours.canonical("step_time")
        far = abs(step / row.seconds - 1) > FURTHEST
        found.append(Check(row.case, row.seconds, step, FURTHEST, "s", other, why(row) if far else ""))
    return found


def spreads(whole: bool) -> list[Spread]:
    """Errors of steps, by schedule and with their model left out, and of phases."""
    without = [other / row.seconds - 1 for row, other in zip(rows(whole), left_out(whole), strict=True)]
    found = [
        Spread("steps", errors(whole), STEPS),
        Spread("steps, colocated", errors(whole, colocated=True), COLOCATED),
        Spread("steps, each with its model left out of the constants", without, LEFT_OUT),
    ]
    for output in PHASES.values():
        own = phase_errors(whole, output)
        far = spread(own)[0] > PHASE
        missed = REFITS if output == "sync_time" else PHASES_OF
        found.append(Spread(NAMES[output], own, PHASE, missed=missed if far else ""))
    return found
