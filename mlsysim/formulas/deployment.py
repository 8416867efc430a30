"""Deployments of replicas

A deployment meets its latency targets if they hold for the required share of the requests. The goodput is the load at
which exactly that share meets them; the number of replicas follows from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sympy import And, Or, Piecewise, Rational, ceiling, oo, sqrt

from mlsysim.formulas import (
    answer_times,
    benchmark_runs,
    serving_engines,
    serving_latencies,
    serving_load,
    serving_waits,
)
from mlsysim.formulas.answer_times import FIRST_PART, GAMMA
from mlsysim.formulas.continuous_batching import gamma_normal
from mlsysim.formulas.replica_layout import COLOCATED, DISAGGREGATED
from mlsysim.formulas.serving_engines import BOTH_FIT, DISTSERVE, FURTHER, NEARLY, OPEN, ORCA, STEADY, WHOLE
from mlsysim.formulas.serving_waits import later, later_varied
from mlsysim.formulas.varied_lengths import OWN, share_below
from mlsysim.symbolic import (
    Example,
    Formula,
    Max,
    Min,
    NormalCDF,
    NormalQuantile,
    Root,
    by_member,
    evaluated_at,
    label,
    request,
    total,
    when,
)
from mlsysim.symbols.batching import v_T, y_T
from mlsysim.symbols.chunked import cv_in, cv_out
from mlsysim.symbols.closed_loops import B_Z, T_fr, ttft_b, ttft_s
from mlsysim.symbols.deployment import (
    A_1,
    A_2,
    A_3,
    B_P,
    D_1,
    P_D,
    T_1,
    T_2,
    T_3,
    A_k,
    A_rank,
    A_slo,
    B_e,
    D_each,
    I_rank,
    N_z,
    P_f,
    P_late,
    P_w,
    Z_all,
    Z_e,
    binds_s,
    c_dep,
    c_given,
    cv_x,
    e2e_mean,
    good,
    good_acc,
    lam_all,
    lam_e,
    lam_g,
    mu_e,
    n_rep,
    p_v,
    q_slo,
    r_F,
    rank,
    rho_D,
    rho_e,
    t_x,
    tau_N,
    tau_v,
    theta_s,
    theta_w,
    tpot_1,
    tpot_mean,
    tpot_x,
    u_ans,
    z_rank,
)
from mlsysim.symbols.serving import n_out
from mlsysim.symbols.step import R_dev, R_tok
from mlsysim.symbols.training import feasible
from mlsysim.symbols.varied_lengths import cv_D, w_F, w_T

#: Nearly nothing, lest a quotient or a score be infinite.
_LEAST = Rational(1, 10**12)

#: There is a number of replicas.
DEPLOYED = Or(c_given > 0, Z_all > 0, lam_g > 0)

#: Requests of equal prompts whose first token is in time.
ALIKE_IN_TIME = (
    (1, T_1 <= 0),
    (when(ttft_s <= T_1, 1, 0), Z_all > 0),
    (0, Or(rho_e >= 1, T_1 - T_fr < D_1)),
    (1 - later(T_1 - T_fr - D_1), True),
)

first_in_time = Formula(
    A_1,
    Piecewise(
        *ALIKE_IN_TIME[:2],
        (1 - later_varied(T_1 - T_fr, *serving_latencies.LATE_VARIED), w_F > 1),
        *ALIKE_IN_TIME[2:],
    ),
    title="Requests whose first token is in time",
    source=DISTSERVE,
    variant=WHOLE,
    no_example="the tail of a wait",
)

token_in_time = Formula(
    A_2,
    Piecewise(
        (1, T_2 <= 0),
        (when(tpot_mean <= T_2, 1, 0), Z_all > 0),
        (0, Or(rho_e >= 1, tpot_1 > T_2)),
        (
            NormalCDF(gamma_normal(cv_x, 1 + (T_2 - tpot_mean) / tpot_x)),
            True,
        ),
    ),
    title="Requests whose time per output token holds",
    source=DISTSERVE,
    variant=WHOLE,
    assumes="No token comes sooner than those of a request alone.",
    example=Example(
        {T_2: 20, Z_all: 0, rho_e: 0.5, tpot_mean: 20, tpot_1: 10, tpot_x: 10, cv_x: 0.3},
        "0.53983",
        derived="0.539827837",
    ),
)

#: Time of a request of mean lengths that is alone.
_ALONE = T_fr + D_1 + FURTHER * tpot_1
#: Spread of whole requests, for what divides by it.
_SPREAD = Max(sqrt(v_T), e2e_mean / 10**6)

#: Requests whose last token is in time, in an open loop.
LAST_IN_TIME = (
    (1, T_3 <= 0),
    (when(e2e_mean <= T_3, 1, 0), Z_all > 0),
    (0, rho_e >= 1),
    (share_below(v_T, w_T, T_3 - e2e_mean), w_T > 1),
    (0, T_3 < _ALONE),
    (NormalCDF(gamma_normal(3 * y_T, 1 + 3 * y_T * (T_3 - e2e_mean) / _SPREAD)), True),
)

last_in_time = Formula(
    A_3,
    Piecewise(*LAST_IN_TIME),
    title="Requests whose last token is in time",
    source=GAMMA,
    variant=WHOLE,
    assumes="By the law of their quantiles. Where lengths are alike none is sooner than a request alone.",
    example=Example(
        {T_3: 900, Z_all: 0, rho_e: 0.5, e2e_mean: 900, v_T: 0.25, y_T: 0.1, w_T: 1, T_fr: 0, D_1: 50, n_out: 101,
         tpot_1: 5},
        "0.53983",
        derived="0.539827837",
    ),
)  # fmt: skip

first_correlation = Formula(
    r_F,
    when(And(T_3 > 0, v_T > 0, rho_e < 1), sqrt(Min(NEARLY, Max(_LEAST**2, FIRST_PART / v_T))), 0),
    title="Correlation of the first token with the last",
    source=OWN,
    variant=WHOLE,
    assumes="First tokens and what follows vary independently.",
    example=Example(
        {T_3: 900, rho_e: 0.5, v_T: 0.04, P_w: 1, theta_w: 100, p_v: 0, tau_v: 10, P_f: 0, theta_s: 0, cv_in: 0,
         cv_out: 0, cv_D: 0, D_1: 50},
        "0.5",
        derived="(0.1**2 / 0.04)**0.5",
    ),
)  # fmt: skip

#: Places between 0 and 1 and their weights (Gauss-Legendre), by class.
_NODES = (0.0198550717512319, 0.1016667612931866, 0.2372337950418355, 0.4082826787521751)
_WEIGHTS = (0.0506142681451881, 0.1111905172266872, 0.1568533229389437, 0.1813418916891810)
_PLACES = by_member(**{f"r{number}": node for number, node in enumerate((*_NODES, *(1 - n for n in _NODES[::-1])), 1)})
_SHARES = by_member(**{f"r{number}": weight for number, weight in enumerate((*_WEIGHTS, *_WEIGHTS[::-1]), 1)})

_scores: Any = NormalQuantile(Max(_LEAST, _PLACES * A_1))

first_scores = Formula(
    z_rank[rank],
    _scores,
    title="First tokens of requests in time, as normal scores",
    source=OWN,
    assumes="Eight places among the requests whose first token is in time (Gauss-Legendre).",
    example=Example({A_1: 1}, "-2.056751", derived="-2.056751417", member="r1"),
)

ended_shares = Formula(
    I_rank[rank],
    when(
        And(T_3 > 0, OPEN),
        NormalCDF(
            (NormalQuantile(Max(_LEAST, Min(1 - _LEAST, A_3))) - r_F * z_rank[rank]) / sqrt(1 - Min(NEARLY, r_F**2))
        ),
        0,
    ),
    title="Requests that end in time, by their first token",
    source=OWN,
    assumes="First and last tokens have the law of two correlated normal ones.",
    no_example="a normal law of two times",
)

kept_shares = Formula(
    A_rank[rank],
    when(cv_out > 0, A_2 * I_rank[rank], Min(A_2, I_rank[rank])),
    title="Requests that meet the other targets, by their first token",
    source=OWN,
    assumes="Of requests with the same time to the first token and answers of one length, those whose tokens are slow "
    "end late; where answers vary, both are independent.",
    example=Example({cv_out: 0, A_2: 0.9, I_rank["r1"]: 0.8}, "0.8", derived="0.8", member="r1"),
)

others_kept = Formula(
    A_k,
    total(rank, _SHARES * A_rank[rank]),
    title="Requests with a timely first token that meet the other targets",
    source=OWN,
    assumes="A mean over eight classes of requests by their first token (Gauss-Legendre).",
    no_example="a sum over classes",
)

attainment = Formula(
    A_slo,
    Piecewise(
        (0, mu_e <= 0),
        (A_1 * A_2, T_3 <= 0),
        (Min(A_1 * A_2, A_3), Or(Z_all > 0, A_1 <= 0, A_3 <= 0)),
        (A_3, And(T_1 <= 0, T_2 <= 0)),
        (Min(A_1 * A_k, A_3), True),
    ),
    title="SLO attainment",
    source=DISTSERVE,
    variant=WHOLE,
    assumes="First tokens and later ones are late independently. If no request fits, no target is met.",
    example=Example(
        {mu_e: 4, T_1: 100, T_2: 0, T_3: 900, Z_all: 0, A_1: 0.9, A_2: 1, A_3: 0.85, A_k: 0.92},
        "0.828",
        derived="0.9 * 0.92",
    ),
)


def _of(kind: str, formulas: Iterable[Formula]) -> tuple[Formula, ...]:
    """Select the formulas common to all replicas, and those of one kind."""
    other = COLOCATED if kind == DISAGGREGATED else DISAGGREGATED
    passing = {P_late.name, P_D.name}
    return tuple(each for each in formulas if each.variant != other and each.name not in passing)


def by_load(kind: str) -> tuple[Formula, ...]:
    """Select the formulas that follow from the load of a kind of replica, up to the attainment."""
    first = benchmark_runs.first_token_mean
    latencies = (*serving_load.BY_LOAD, *serving_waits.FORMULAS, *serving_latencies.FORMULAS, *answer_times.LAW)
    return _of(kind, (first, *latencies, *ATTAINMENT))


#: Shares of the requests that are in time.
ATTAINMENT = (
    first_in_time,
    token_in_time,
    last_in_time,
    first_correlation,
    first_scores,
    ended_shares,
    kept_shares,
    others_kept,
    attainment,
)


def best_rate(formulas: Iterable[Formula], closed: Mapping[Any, Any] | None = None, fits: Any = B_e >= request) -> Any:
    """Highest rate at which the required share of requests meets the targets.

    What else follows from a closed loop has to be given some value, which no case without a loop uses.
    """
    share = evaluated_at(A_slo, {lam_e: lam_e, Z_all: 0, Z_e: 0, N_z: 0, ttft_b: 0, **(closed or {})}, formulas)
    return when(fits, Root(lam_e, -share, -q_slo, 0, NEARLY * mu_e), 0)


replica_goodput = Formula(
    lam_g,
    best_rate(by_load(COLOCATED)),
    title="Goodput of a replica",
    source=DISTSERVE,
    variant=COLOCATED,
    assumes="Without a target it is just below the capacity.",
    no_example="a root",
)

pools_goodput = Formula(
    lam_g,
    best_rate(by_load(DISAGGREGATED), fits=BOTH_FIT),
    title="Goodput of two pools",
    source=DISTSERVE,
    variant=DISAGGREGATED,
    assumes="Without a target it is just below the capacity.",
    no_example="a root",
)

deployed = Formula(
    c_dep,
    Piecewise((c_given, c_given > 0), (1, Z_all > 0), (Max(1, ceiling(lam_all / lam_g)), lam_g > 0), (oo, True)),
    title="Replicas of the deployment",
    source=DISTSERVE,
    assumes="Requests are spread at random; a closed loop has one replica unless more are given.",
    example=Example({c_given: 0, Z_all: 0, lam_all: 20, lam_g: 3}, "7", derived="ceil(20 / 3)"),
)

deployed_goodput = Formula(
    good,
    c_dep * lam_g,
    title="Goodput of the deployment",
    source=DISTSERVE,
    example=Example({c_dep: 2, lam_g: 3}, "6 request/s", derived="2 * 3"),
)

goodput_each = Formula(
    good_acc,
    lam_g / n_rep,
    title="Goodput of one accelerator",
    source=DISTSERVE,
    example=Example({lam_g: 3, n_rep: 2}, "1.5 request/s", derived="3 / 2"),
)

generated = Formula(
    R_tok,
    when(DEPLOYED, c_dep * when(B_e < B_Z, lam_e, Min(lam_e, mu_e)) * n_out / request, 0),
    title="Tokens a deployment generates",
    source=ORCA,
    variant="deployment",
    convention="Tokens of answers.",
    example=Example(
        {c_given: 2, Z_all: 0, lam_g: 3, c_dep: 2, lam_e: 3, mu_e: 4, B_Z: 8, B_e: 8, n_out: 100},
        "600 token/s",
        derived="2 * 3 * 100",
    ),
)

generated_each = Formula(
    R_dev,
    when(DEPLOYED, R_tok / (c_dep * n_rep), 0),
    title="Tokens one accelerator of a deployment generates",
    source=ORCA,
    variant="deployment",
    example=Example(
        {c_given: 2, Z_all: 0, lam_g: 3, R_tok: 600, c_dep: 2, n_rep: 2}, "150 token/s", derived="600 / (2 * 2)"
    ),
)


def _kept(fits: Any) -> Any:
    return And(fits, STEADY, DEPLOYED, A_slo >= q_slo)


promised = Formula(
    feasible,
    _kept(B_e >= request),
    title="All targets are met",
    source=DISTSERVE,
    variant="deployment",
    example=Example(
        {B_e: 16, c_given: 2, lam_g: 3, Z_all: 0, mu_e: 4, rho_e: 0.5, A_slo: 0.95, q_slo: 0.9},
        "True",
        derived="0.95 >= 0.9",
    ),
)

pools_promised = Formula(
    feasible,
    _kept(BOTH_FIT),
    title="All targets are met by two pools",
    source=DISTSERVE,
    variant=DISAGGREGATED,
    example=Example(
        {B_e: 16, B_P: 0, c_given: 2, lam_g: 3, Z_all: 0, mu_e: 0, rho_e: 0.5, A_slo: 0.95, q_slo: 0.9},
        "False",
        derived="0 >= 1",
    ),
)


#: Loads that are as high as the highest, however they are rounded.
_NO_LESS = 1 + Rational(1, 10**9)


def binding(full: Any, *saturated: Any) -> Any:
    """Bottleneck of a deployment: memory, a saturated resource, or the target that fewest requests meet."""
    return Piecewise(
        (label(binds_s, "Memory"), full),
        (label(binds_s, "None"), feasible),
        *saturated,
        (label(binds_s, "TTFT"), And(A_1 <= A_2, A_1 <= A_3)),
        (label(binds_s, "TPOT"), A_2 <= A_3),
        (label(binds_s, "E2E"), True),
    )


binding_promise = Formula(
    binds_s,
    binding(
        B_e < request,
        (label(binds_s, "Prefill capacity"), And(OPEN, rho_e >= 1, 2 * mu_e * D_each >= request)),
        (label(binds_s, "Decode capacity"), And(OPEN, rho_e >= 1)),
    ),
    title="Bottleneck of a replica",
    source=DISTSERVE,
    variant=COLOCATED,
    assumes="The part that takes more time of an overloaded engine; otherwise the target that fewest requests meet.",
    example=Example(
        {B_e: 16, feasible: 0, Z_all: 0, rho_e: 0.5, mu_e: 4, D_each: 20, A_1: 0.5, A_2: 0.9, A_3: 1},
        "TTFT",
        derived="0.5 <= 0.9",
    ),
)

binding_pool = Formula(
    binds_s,
    binding(
        Or(B_e < request, request > B_P),
        (label(binds_s, "Prefill capacity"), And(OPEN, rho_D >= 1, rho_e <= _NO_LESS * rho_D)),
        (label(binds_s, "KV transfer"), And(OPEN, lam_e * t_x >= request, rho_e <= _NO_LESS * lam_e * t_x / request)),
        (label(binds_s, "Decode capacity"), And(OPEN, rho_e >= 1)),
        (label(binds_s, "KV transfer"), And(Min(A_2, A_3) < A_1, u_ans * tau_N < t_x)),
    ),
    title="Bottleneck of two pools",
    source=DISTSERVE,
    variant=DISAGGREGATED,
    assumes="Of what has too much to do, the one with the highest load. Where tokens are late and a transfer takes "
    "longer than all decode steps of an answer, it is the link.",
    example=Example(
        {
            B_e: 16,
            B_P: 2,
            feasible: 0,
            Z_all: 0,
            rho_D: 1.5,
            rho_e: 1.5,
            lam_e: 1,
            t_x: 1,
            A_1: 0.5,
            A_2: 0.9,
            A_3: 1,
            u_ans: 100,
            tau_N: 20,
        },
        "Prefill capacity",
        derived="1.5 >= 1",
    ),
)


FORMULAS = (
    *ATTAINMENT,
    replica_goodput,
    pools_goodput,
    deployed,
    deployed_goodput,
    goodput_each,
    generated,
    generated_each,
    promised,
    pools_promised,
    binding_promise,
    binding_pool,
)


def replica(kind: str = COLOCATED) -> tuple[Formula, ...]:
    """All formulas of a replica that alternates prefill and decode, or of two pools."""
    engines = (
        benchmark_runs.frontend_wait,
        benchmark_runs.answer_crowding,
        benchmark_runs.first_token_mean,
        *serving_engines.FORMULAS,
        *serving_load.FORMULAS,
        *serving_waits.FORMULAS,
        *serving_latencies.FORMULAS,
        *answer_times.LAW,
    )
    own = tuple(each for each in FORMULAS if each is not promised or kind != DISAGGREGATED)
    return _of(kind, (*engines, *own))
