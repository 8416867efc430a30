"""Closed loops in step

If the number of requests in flight is constant and all outputs have the same length, an engine that alternates between
prefill and decode settles into rounds: requests that ended together are replaced by others that are prefilled one after
the other, decode together, and end together. Every round takes the same time, so all of its latencies can be computed
exactly. If output lengths vary a little, requests no longer stay in step, and Little's law applies.
"""

from __future__ import annotations

from typing import Any

from sympy import And, Piecewise, ceiling, floor

from mlsysim.formulas import answer_times, deployment, serving_latencies, serving_load
from mlsysim.formulas.benchmark_runs import unmet
from mlsysim.formulas.iteration import PASSED
from mlsysim.formulas.serving_engines import FURTHER, LITTLE, ORCA, shared_rate, step
from mlsysim.formulas.serving_load import arriving
from mlsysim.formulas.varied_lengths import LEVEL, OWN
from mlsysim.symbolic import Example, Formula, Max, Min, request, swapped, when
from mlsysim.symbols.chunked import cv_out
from mlsysim.symbols.closed_loops import B_z, T_fr, T_z, k_z, m_z, r_z, tau_z
from mlsysim.symbols.deployment import (
    A_1,
    A_2,
    A_3,
    T_1,
    T_2,
    T_3,
    A_k,
    A_slo,
    B_e,
    D_each,
    N_e,
    N_z,
    Z_all,
    Z_e,
    e2e_mean,
    e2e_q,
    itl_99,
    lam_e,
    mu_e,
    quantile,
    rho_D,
    tau_N,
    tpot_mean,
    tpot_q,
    ttft_q,
    u_ans,
    x_end,
)
from mlsysim.symbols.iteration import gamma_s

KIND = "closed_loop"
#: Requests go round in step.
IN_STEP = B_z > 0
#: What is in front of the engine, where nobody waits for a round meanwhile.
_FRONT = when(Z_e <= B_e, T_fr, 0)
#: Requests of a round that waited one round less than the others.
_sooner = B_z - r_z


def _in_step(counted: Any, else_: Any) -> Any:
    """Number per round, before the cases handled elsewhere."""
    cases = else_.args if isinstance(else_, Piecewise) else ((else_, True),)
    return Piecewise((counted, IN_STEP), *cases)


def _prefills(requests: Any) -> Any:
    """Time to prefill this many requests, one after the other."""
    return requests / request * D_each


def _begun_by(time: Any) -> Any:
    """Number of requests prefilled by a time."""
    return request * floor(time / D_each)


cohort_size = Formula(
    B_z,
    when(And(Z_all > 0, cv_out <= 0, gamma_s <= 0, Z_e >= request), Min(Z_e, B_e), 0),
    title="Requests that go round in step",
    source=OWN,
    assumes="Answers are of one length and no drafts make them end apart.",
    example=Example({Z_all: 50, cv_out: 0, gamma_s: 0, Z_e: 50, B_e: 32}, "32 request", derived="32"),
)

cohort_step = Formula(
    tau_z, when(IN_STEP, step(B_z), 0), title="Decode step of a round", source=ORCA, no_example=PASSED
)

cohort_cycle = Formula(
    T_z,
    _prefills(B_z) + u_ans * tau_z + _FRONT,
    title="Time of a round",
    source=OWN,
    example=Example(
        {B_z: 10, D_each: 30, u_ans: 100, tau_z: 8, Z_e: 10, B_e: 16, T_fr: 0}, "1100 ms", derived="10 * 30 + 100 * 8"
    ),
)

cohort_rounds = Formula(
    m_z,
    when(IN_STEP, ceiling(Z_e / B_z), 1),
    title="Rounds in which every request in flight is answered once",
    source=OWN,
    assumes="First come, first served.",
    example=Example({B_z: 16, Z_e: 40}, "3", derived="ceil(40 / 16)"),
)

cohort_waiting = Formula(
    r_z,
    Max(0, Z_e - B_z * (m_z - 1)),
    title="Requests of a round that waited longest for it",
    source=OWN,
    example=Example({B_z: 16, Z_e: 40, m_z: 3}, "8 request", derived="40 - 16 * 2"),
)

_before = LEVEL * B_z / request

cohort_place = Formula(
    k_z[quantile],
    request * (ceiling(_before) + floor(_before) + 1) / 2,
    title="Place in a round that a share of its requests do not exceed",
    source=OWN,
    assumes="Half way between two places where that is either of them.",
    example=Example({B_z: 24}, "12.5 request", derived="(12 + 12 + 1) / 2", member="p50"),
)

closed_batch = Formula(
    N_z,
    _in_step(
        B_z / T_z * (u_ans * tau_z + _prefills(Max(0, B_z - request)) / 2),
        serving_load.closed_batch.expression,
    ),
    title="Requests that decode in a closed loop, in step or not",
    source=LITTLE,
    variant=KIND,
    assumes="A request that has its first token waits until those behind it are prefilled.",
    no_example=PASSED,
)

replica_rate = Formula(
    lam_e,
    arriving(when(IN_STEP, B_z / T_z, shared_rate(N_z, N_z))),
    title="Requests that reach one replica, in step or not",
    source=LITTLE,
    variant=KIND,
    no_example=PASSED,
)

step_at_load = Formula(
    tau_N,
    _in_step(tau_z / (1 - rho_D), serving_load.step_at_load.expression),
    title="Decode step that a request meets, in step or not",
    source=ORCA,
    variant=KIND,
    no_example=PASSED,
)

token_mean = Formula(
    tpot_mean,
    serving_latencies.token_mean.expression - when(IN_STEP, 0, unmet(N_e / request * D_each)) / FURTHER,
    title="Mean time per output token, in step or not",
    source=ORCA,
    variant=KIND,
    assumes="Of the prompts that start a run, half are behind that of an answer.",
    no_example=PASSED,
)

first_token_quantile = Formula(
    ttft_q[quantile],
    _in_step(
        when(
            k_z[quantile] <= _sooner,
            (m_z - 2) * T_z + _prefills(r_z + k_z[quantile]),
            (m_z - 1) * T_z + _prefills(k_z[quantile] - _sooner),
        )
        + _FRONT,
        serving_latencies.first_token_quantile.expression,
    ),
    title="Time to first token that a share of the requests stay below, in step or not",
    source=OWN,
    variant=KIND,
    assumes="Prompts are of one length. Some requests of a round waited one round less than the others.",
    no_example="the tail of a wait in an open loop",
)

token_quantile = Formula(
    tpot_q[quantile],
    _in_step(
        tpot_mean + (_prefills(k_z[quantile]) - _prefills(B_z + request) / 2) / FURTHER,
        serving_latencies.token_quantile.expression,
    ),
    title="Time per output token that a share of the requests stay below, in step or not",
    source=OWN,
    variant=KIND,
    assumes="The first request of a round waits for the prefill of all others before its second token.",
    no_example="a gamma law in an open loop",
)

first_in_time = Formula(
    A_1,
    _in_step(
        when(
            T_1 > 0,
            (
                Min(r_z, Max(0, _begun_by(T_1 - _FRONT - (m_z - 1) * T_z)))
                + Min(B_z, Max(r_z, _begun_by(T_1 - _FRONT - (m_z - 2) * T_z)))
                - r_z
            )
            / B_z,
            1,
        ),
        deployment.first_in_time.expression,
    ),
    title="Requests whose first token is in time, in step or not",
    source=OWN,
    variant=KIND,
    no_example="the tail of a wait in an open loop",
)

token_in_time = Formula(
    A_2,
    _in_step(
        when(
            T_2 > 0,
            Max(0, Min(B_z, request + _begun_by(T_2 * FURTHER - u_ans * tau_z))) / B_z,
            1,
        ),
        deployment.token_in_time.expression,
    ),
    title="Requests whose time per output token holds, in step or not",
    source=OWN,
    variant=KIND,
    no_example="a gamma law in an open loop",
)

last_in_time = Formula(
    A_3,
    _in_step(
        Piecewise((1, T_3 <= 0), (1, m_z * T_z <= T_3), (_sooner / B_z, (m_z - 1) * T_z <= T_3), (0, True)),
        deployment.last_in_time.expression,
    ),
    title="Requests whose last token is in time, in step or not",
    source=OWN,
    variant=KIND,
    assumes="A request ends with its round.",
    no_example="a gamma law in an open loop",
)

attainment = Formula(
    A_slo,
    _in_step(Min(A_3, Max(0, A_1 + A_2 - 1)), deployment.attainment.expression),
    title="SLO attainment, in step or not",
    source=OWN,
    variant=KIND,
    assumes="In a round, those whose first token is early wait longest for the second one; they are the first to end.",
    example=Example(
        {mu_e: 4, B_z: 10, A_1: 0.7, A_2: 0.6, A_3: 1, A_k: 1, Z_all: 10, T_1: 100, T_2: 20, T_3: 0},
        "0.3",
        derived="0.7 + 0.6 - 1",
    ),
)

whole_quantile = Formula(
    e2e_q[quantile],
    Max(
        ttft_q[quantile],
        e2e_mean + _in_step(T_z * when(k_z[quantile] <= _sooner, m_z - 1, m_z) - e2e_mean, x_end[quantile]),
    ),
    title="Time from request to last token that a share stay below, in step or not",
    source=OWN,
    variant=KIND,
    assumes="Prompts are of one length. A request ends with its round.",
    no_example="a gamma law in an open loop",
)

gap_time = Formula(
    itl_99,
    _in_step(
        tau_z + D_each * Max(0, ceiling(B_z / request * (1 - u_ans / 100)) - 1),
        answer_times.gap_time.expression,
    ),
    title="Time between tokens that 99% of them stay below, in step or not",
    source=OWN,
    variant=KIND,
    assumes="The first gap of an answer has the prefills of those behind it; the others are steps.",
    no_example="a step of a large batch in an open loop",
)

FORMULAS = (
    cohort_size,
    cohort_step,
    cohort_cycle,
    cohort_rounds,
    cohort_waiting,
    cohort_place,
    closed_batch,
    replica_rate,
    step_at_load,
    token_mean,
    first_token_quantile,
    token_quantile,
    first_in_time,
    token_in_time,
    last_in_time,
    attainment,
    whole_quantile,
    gap_time,
)


def replica() -> tuple[Formula, ...]:
    """Formulas of a replica that alternates between prefill and decode, with its latencies."""
    return swapped((*deployment.replica(), *answer_times.SHARED), FORMULAS)
