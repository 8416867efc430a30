"""Benchmark runs

A benchmark client keeps a fixed number of requests in flight and counts all of them, those of the start included. A
request passes the front end, misses the iteration that is running, and waits until the engine polls. If output lengths
differ a little, answers end together at first and spread out with every round.
"""

from __future__ import annotations

from typing import Any

from sympy import And, Or, Rational, exp, sqrt

from mlsysim.formulas.iteration import PASS, PASSED
from mlsysim.formulas.replica_layout import COLOCATED
from mlsysim.formulas.serving_engines import LITTLE, ORCA, step
from mlsysim.formulas.varied_lengths import OWN
from mlsysim.symbolic import Example, Formula, Max, Min, request, when
from mlsysim.symbols.chunked import cv_in, cv_out
from mlsysim.symbols.closed_loops import (
    K_z,
    T_fr,
    W_z,
    chi_z,
    h_0,
    h_1,
    r_poll,
    tau_l,
    tau_miss,
    ttft_b,
    ttft_s,
    w_wait,
    x_z,
    y_z,
)
from mlsysim.symbols.deployment import D_each, N_z, Z_all, ttft_mean, u_ans
from mlsysim.symbols.workload import s

#: A closed loop that starts with all of its requests at once, and ends.
RUN = And(Z_all > 0, K_z > 0)
#: Iterations in which prompts gather.
LOOKS = Max(1, r_poll, w_wait)

_later = Max(1, K_z - 1)
#: Density of the difference of two places of a normal law at zero, for a unit variance: 1 / (2 sqrt(pi)), rounded.
_AT_ONCE = Rational(2821, 10000)


def unmet(stalls: Any) -> Any:
    """Correction to the stalls that answers of a run see: half of the starting prompts are behind them."""
    return when(RUN, stalls / (2 * Max(1, K_z)), 0)


def others(requests: Any) -> Any:
    """Expected number of other decoding requests, given the total."""
    return Max(0, requests / request - 1)


def missed(alone: Any, prefill: Any, behind: Any) -> Any:
    """Remaining time of the iteration that a request misses, given times of a step, a prefill and its delay."""
    met = (alone**2 + y_z * prefill * (prefill + 2 * alone)) / (2 * (alone + y_z * prefill))
    return when(T_fr > 0, met, when(K_z > 0, behind, 0))


def admitted(alone: Any) -> Any:
    """Time from the arrival of a prompt at the engine to the iteration that takes it."""
    held, beside = w_wait * y_z, others(N_z)
    looks = (Max(1, r_poll) - 1) / 2 + w_wait * (1 + held / 2) / (1 + held)
    apart = Max(0, 1 - x_z / request / Max(Rational(1, 10**9), beside))
    return Min(1, beside) * (looks * alone + apart * tau_miss)


frontend_wait = Formula(
    T_fr,
    h_0 + h_1 * s,
    title="Time of a request in front of the engine",
    source=OWN,
    assumes="A part that is fixed and one for every token of the prompt; nobody waits for others there.",
    example=Example({h_0: 20, h_1: 4, s: 1000}, "24 ms", derived="20 + 4 * 1000 / 1000"),
)

answer_crowding = Formula(
    chi_z,
    when(K_z > 0, Max(1, (2 * sqrt(_later) - 1) / _later * _AT_ONCE / Max(cv_out, Rational(1, 10**6))), 1),
    title="How near to each other answers of a run end",
    source=OWN,
    assumes="All start a run at once. The places of their ends in a round are normal, and spread with every round "
    "until they are uniform.",
    example=Example({cv_out: 0.0641, K_z: 10}, "2.4450", derived="(2 * 3 - 1) / 9 * 0.2821 / 0.0641"),
)

answers_ended = Formula(
    y_z,
    when(And(Z_all > 0, Or(cv_in > 0, cv_out > 0, K_z > 0, LOOKS > 1, T_fr > 0)), chi_z, 0)
    * others(N_z)
    / Max(1, u_ans),
    title="Other answers that end in the iteration in which one does",
    source=OWN,
    assumes="Of those that decode, each ends in one iteration of its answer.",
    example=Example(
        {chi_z: 2.4450, T_fr: 0, N_z: 101, u_ans: 1000, cv_in: 0, cv_out: 0.0641, K_z: 10, Z_all: 101, r_poll: 0,
         w_wait: 0},
        "0.24450",
        derived="2.4450 * 100 / 1000",
    ),
)  # fmt: skip

_held = w_wait * y_z

prompts_together = Formula(
    x_z,
    request * Min(others(N_z), Max(Max(1, r_poll) * y_z, _held * (2 + _held) / (1 + _held))),
    title="Prompts that come with another one in a closed loop",
    source=OWN,
    assumes="Those that come between two looks of the engine are taken together; where prompts are held for others, "
    "those held with one of them.",
    example=Example({N_z: 101, y_z: 0.2445, r_poll: 2, w_wait: 0}, "0.489 request", derived="2 * 0.2445"),
)

loop_step = Formula(
    tau_l, step(N_z), title="Step of a closed loop without prompts", source=ORCA, variant=COLOCATED, no_example=PASSED
)

missed_iteration = Formula(
    tau_miss,
    missed(tau_l, D_each, exp(-x_z / request) * tau_l + y_z * D_each),
    title="Rest of the iteration that a request misses",
    source=OWN,
    variant=COLOCATED,
    assumes="A request that is sent as an iteration starts misses it; behind a frontend it comes at any time.",
    example=Example(
        {x_z: 0.5, y_z: 0.25, tau_l: 20, D_each: 40, T_fr: 5, K_z: 10},
        "20 ms",
        derived="(400 + 10 * 80) / (2 * 30)",
    ),
)

loop_wait = Formula(
    W_z,
    x_z / request / 2 * D_each + admitted(tau_l),
    title="Wait of a prompt in a closed loop",
    source=OWN,
    variant=COLOCATED,
    assumes="Of the prompts that come together, half are ahead.",
    example=Example(
        {N_z: 101, x_z: 0.5, y_z: 0.25, tau_l: 20, tau_miss: 20, D_each: 40, r_poll: 2, w_wait: 0},
        "39.9 ms",
        derived="10 + 10 + (1 - 0.5 / 100) * (400 + 10 * 80) / (2 * 30)",
    ),
)

#: All that a prompt of a closed loop waits for, at other numbers of requests.
WAITS = frozenset((answer_crowding, answers_ended, prompts_together, loop_step, missed_iteration, loop_wait, *PASS))

first_token_mean = Formula(
    ttft_mean,
    when(RUN, (ttft_b + when(K_z > 1, (K_z - 1) * ttft_s)) / Max(1, K_z), ttft_s),
    title="Mean time to first token",
    source=LITTLE,
    variant="rounds",
    assumes="Over all requests of a run, of which one round starts it.",
    example=Example({Z_all: 10, K_z: 10, ttft_s: 100, ttft_b: 600}, "150 ms", derived="600 / 10 + 0.9 * 100"),
)

#: Of every replica of mixed iterations.
GATHERED = (answer_crowding, answers_ended, prompts_together)
FORMULAS = (
    frontend_wait,
    answer_crowding,
    answers_ended,
    prompts_together,
    loop_step,
    missed_iteration,
    loop_wait,
    first_token_mean,
)
