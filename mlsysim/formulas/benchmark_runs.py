"""Runs of a benchmark

A client keeps as many requests in flight as it is told and counts all of them, those that start the run at once among
them. A request passes what is in front of the engine, misses the iteration that starts as it is sent, and waits for
the engine to look. Answers of lengths that differ a little end together at first, and spread with every round.
"""

from __future__ import annotations

from typing import Any

from sympy import And, Or, Rational, exp, sqrt

from mlsysim.formulas.serving_engines import LITTLE
from mlsysim.formulas.varied_lengths import OWN
from mlsysim.symbolic import Example, Formula, Max, Min, request, when
from mlsysim.symbols.chunked import cv_in, cv_out
from mlsysim.symbols.closed_loops import K_z, T_fr, h_0, h_1, r_poll, ttft_b, ttft_s, w_wait, x_z
from mlsysim.symbols.deployment import N_z, Z_all, ttft_mean, u_ans
from mlsysim.symbols.workload import s

#: A closed loop that starts with all of its requests at once, and ends.
RUN = And(Z_all > 0, K_z > 0)
#: Iterations in which prompts gather.
LOOKS = Max(1, r_poll, w_wait)

_later = Max(1, K_z - 1)
#: Density of the ends of answers at one of them over a uniform one, mean over the rounds: their place in a round is
#: normal, with a variance that grows by that of an answer in each.
_CROWDED = when(
    K_z > 0, Max(1, (2 * sqrt(_later) - 1) / _later * Rational(2821, 10000) / Max(cv_out, Rational(1, 10**6))), 1
)


def unmet(stalls: Any) -> Any:
    """Part of the stalls by all others that answers of a run lack: of the prompts that start it, half are behind."""
    return when(RUN, stalls / (2 * Max(1, K_z)), 0)


def others(requests: Any) -> Any:
    """Number of others that decode beside one of so many."""
    return Max(0, requests / request - 1)


def _ending(requests: Any) -> Any:
    """Number of others whose answers end in the iteration in which one does, where they do not come evenly."""
    given = Or(cv_in > 0, cv_out > 0, K_z > 0, LOOKS > 1, T_fr > 0)
    return when(And(Z_all > 0, given), _CROWDED, 0) * others(requests) / Max(1, u_ans)


def together(requests: Any) -> Any:
    """Number of other prompts that come with one, where so many requests decode.

    Those that come between two looks; where prompts are held for others, those held with one of them.
    """
    held = w_wait * _ending(requests)
    return Min(others(requests), Max(Max(1, r_poll) * _ending(requests), held * (2 + held) / (1 + held)))


def admitted(requests: Any, step: Any, prefill: Any, behind: Any) -> Any:
    """Time from a prompt that an engine has got to the iteration that takes it, beside so many that decode.

    Parameters
    ----------
    requests
        Requests that decode.
    step, prefill
        Time of their step, and of the prefill of a prompt.
    behind
        Time of the iteration that a request misses where it is sent as that starts.
    """
    held, ending, beside = w_wait * _ending(requests), _ending(requests), others(requests)
    looks = (Max(1, r_poll) - 1) / 2 + w_wait * (1 + held / 2) / (1 + held)
    met = (step**2 + ending * prefill * (prefill + 2 * step)) / (2 * (step + ending * prefill))
    apart = Max(0, 1 - together(requests) / Max(Rational(1, 10**9), beside))
    missed = when(T_fr > 0, 1, 0) * met + when(And(K_z > 0, T_fr <= 0), 1, 0) * behind
    return Min(1, beside) * (looks * step + apart * missed)


def step_or_prefills(requests: Any, step: Any, prefill: Any) -> Any:
    """The step that a request misses, or the prefills of those that came with the one before."""
    return exp(-together(requests)) * step + _ending(requests) * prefill


def step_and_prompts(requests: Any, step: Any, prefill: Any) -> Any:
    """The iteration that a request misses: a step, with the prompts that come in one."""
    return step + _ending(requests) * prefill


frontend_wait = Formula(
    T_fr,
    h_0 + h_1 * s,
    title="Time of a request in front of the engine",
    source=OWN,
    assumes="A part that is fixed and one for every token of the prompt; nobody waits for others there.",
    example=Example({h_0: 20, h_1: 4, s: 1000}, "24 ms", derived="20 + 4 * 1000 / 1000"),
)

prompts_together = Formula(
    x_z,
    request * together(N_z),
    title="Prompts that come with another one in a closed loop",
    source=OWN,
    assumes="Of those that decode, each ends in one iteration of its answer. All start a run at once; the places of "
    "their ends in a round are normal, and spread with every round until they are uniform. Those that come between two "
    "looks of the engine are taken together.",
    example=Example(
        {T_fr: 0, N_z: 101, u_ans: 1000, cv_in: 0, cv_out: 0.0641, K_z: 10, Z_all: 101, r_poll: 0, w_wait: 0},
        "0.24450 request",
        derived="100 / 1000 * (2 * 3 - 1) / 9 * 0.2821 / 0.0641",
    ),
)

first_token_mean = Formula(
    ttft_mean,
    when(RUN, ttft_s + (ttft_b - ttft_s) / Max(1, K_z), ttft_s),
    title="Mean time to first token",
    source=LITTLE,
    assumes="Over all requests of a run, of which one round starts it.",
    example=Example({Z_all: 10, K_z: 10, ttft_s: 100, ttft_b: 600}, "150 ms", derived="600 / 10 + 0.9 * 100"),
)

FORMULAS = (frontend_wait, prompts_together, first_token_mean)
