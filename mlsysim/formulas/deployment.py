"""Deployments of replicas

A replica is one engine that prefills and decodes by turns, or pools of engines that do either. Each step of an
engine is an iteration by the law of iterations. The requests that decode together follow from the load by
Little's law, the latencies from them and from the queue of the prompts; what is promised bounds the load.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sympy import And, Or, Piecewise, Rational, ceiling, exp, floor, log, oo, pi, sqrt

from mlsysim.formulas import continuous_batching, iteration, replica_layout
from mlsysim.formulas.continuous_batching import gamma_normal, gamma_quantile, sixth_of_skewness, waits
from mlsysim.formulas.iteration import PASS, PASSED
from mlsysim.formulas.replica_layout import ACCELERATORS, APART, COLOCATED, DISAGGREGATED
from mlsysim.formulas.transformer_flops import attended
from mlsysim.formulas.varied_lengths import ANSWER_SQUARE, LOG_NORMAL, beyond_mean, law, share_below
from mlsysim.symbolic import (
    ErlangC,
    Example,
    Formula,
    Max,
    Min,
    NormalCDF,
    NormalQuantile,
    Root,
    Source,
    by_member,
    evaluated_at,
    label,
    request,
    token,
    when,
)
from mlsysim.symbols.batching import s_end
from mlsysim.symbols.chunked import cv_in, cv_out
from mlsysim.symbols.deployment import (
    A_1,
    A_2,
    B_P,
    D_1,
    T_1,
    T_2,
    V_N,
    X_1,
    A_slo,
    B_e,
    B_seq,
    D_each,
    D_w,
    E_tok,
    N_e,
    N_z,
    P_late,
    P_s,
    P_w,
    W_w,
    Z_all,
    Z_b,
    Z_e,
    alpha_s,
    b_N,
    beta_kv,
    beta_s,
    binds_s,
    c_dep,
    c_given,
    c_s,
    cv_x,
    d_P,
    e2e_mean,
    g_P,
    good,
    good_acc,
    lam_all,
    lam_e,
    lam_g,
    mu_e,
    n_D,
    n_P,
    n_rep,
    p_P,
    p_v,
    q_slo,
    quantile,
    rho_D,
    rho_e,
    s_in,
    s_out,
    t_dr,
    t_P,
    t_x,
    tau_N,
    tau_v,
    theta_s,
    theta_w,
    tpot_1,
    tpot_mean,
    tpot_q,
    tpot_sd,
    tpot_x,
    ttft_mean,
    ttft_q,
    u_ans,
    x_late,
    x_p,
    y_d,
    y_w,
)
from mlsysim.symbols.iteration import d_a, gamma_s, n_dec, n_grp, n_kv, n_pro, t_it
from mlsysim.symbols.serving import kv_token, n_out
from mlsysim.symbols.step import R_dev, R_tok
from mlsysim.symbols.training import feasible, p, t
from mlsysim.symbols.varied_lengths import D_len, T_short, cv_D, e_D, k_D, v_F, v_short, w_F, x_b, y_F
from mlsysim.symbols.workload import s

ORCA = Source("yu2022", "section 3")
LITTLE = Source("little1961")
DISTSERVE = Source("zhong2024", "section 3")
#: Prompts are prefilled whole, on whichever engines.
WHOLE = "whole_prompts"
#: Tokens of an answer after the first, which the prefill gives.
FURTHER = n_out / token - 1
#: Requests come by themselves, not in a closed loop.
OPEN = Z_all <= 0
#: Shares are kept below one where they are divided by what is left.
NEARLY = Rational(999, 1000)
#: A replica keeps up with what reaches it.
STEADY = Or(Z_all > 0, rho_e < 1)
#: Requests come by themselves, and the replica keeps up.
QUEUED = And(OPEN, rho_e < 1)
#: There is a number of replicas.
DEPLOYED = Or(c_given > 0, Z_all > 0, lam_g > 0)


def step(requests: Any, prompts: Any = 0) -> Any:
    """A step in which so many requests decode beside so many prompts, with what is drafted for them."""
    return evaluated_at(t_it, {n_dec: requests, n_pro: prompts}, PASS) + t_dr


#: What an engine has room for.
_ROOM = PASS | {
    continuous_batching.stored_weights,
    replica_layout.replica_weights,
    iteration.kv_memory,
    iteration.cache_tokens,
}

prompt_tokens = Formula(
    s, s_in, title="Tokens of a prompt", source=ORCA, example=Example({s_in: 1024}, "1024 token", derived="1024")
)

answer_tokens = Formula(
    n_out, s_out, title="Tokens of an answer", source=ORCA, example=Example({s_out: 64}, "64 token", derived="64")
)

decoded_requests = Formula(
    n_dec,
    N_e,
    title="Requests of a decode step at this load",
    source=ORCA,
    variant="deployment",
    convention="The parts of an iteration are those of a decode step at this load.",
    example=Example({N_e: 12.5}, "12.5 request", derived="12.5"),
)

undisturbed_step = Formula(
    n_pro,
    0 * request,
    title="Prompts of a decode step",
    source=ORCA,
    variant="deployment",
    assumes="Prompts are prefilled in iterations of their own.",
    no_example="it is zero",
)

tokens_per_step = Formula(
    E_tok,
    Piecewise((1 + gamma_s, alpha_s >= 1), ((1 - alpha_s ** (1 + gamma_s)) / (1 - alpha_s), True)),
    title="Tokens a decode step gives",
    source=Source("leviathan2023", "equation 1"),
    assumes="Each drafted token is accepted with the same probability, up to the first that is not.",
    example=Example({gamma_s: 1, alpha_s: 0.85}, "1.85", Source("deepseek2024", "section 5.4.3: about 1.8")),
)

answer_steps = Formula(
    u_ans,
    FURTHER / E_tok,
    title="Decode steps of an answer",
    source=ORCA,
    example=Example({n_out: 101, E_tok: 2}, "50", derived="(101 - 1) / 2"),
)

draft_time = Formula(
    t_dr,
    when(gamma_s > 0, gamma_s * c_s * evaluated_at(t_it, {n_dec: request, n_pro: 0, gamma_s: 0}, PASS), 0),
    title="Drafting in a decode step",
    source=Source("leviathan2023", "section 3.3"),
    assumes="A draft takes a share of the step of one request, however many requests there are.",
    no_example=PASSED,
)

prompt_time = Formula(
    D_1,
    D_len["mean"] + cv_in**2 * e_D,
    title="Prefill of one prompt, mean",
    source=ORCA,
    variant=WHOLE,
    assumes="Second order in the spread of the lengths; exact for a square.",
    example=Example({D_len["mean"]: 36, cv_in: 1, e_D: 16}, "52 ms", derived="36 + 16"),
)

_AT_ONCE = (
    "Groups never wait for each other's prompts: stages take the next prompt at once, attention ranks start theirs "
    "together."
)

prompt_interval = Formula(
    D_each,
    D_1 / n_grp,
    title="Time that one prompt takes of an engine",
    source=DISTSERVE,
    variant=COLOCATED,
    assumes=_AT_ONCE,
    example=Example({D_1: 100, n_grp: 4}, "25 ms", derived="100 / 4"),
)

pool_prompt_interval = Formula(
    D_each,
    D_1 / g_P,
    title="Time that one prompt takes of an engine that prefills",
    source=DISTSERVE,
    variant=DISAGGREGATED,
    assumes=_AT_ONCE,
    example=Example({D_1: 100, g_P: 4}, "25 ms", derived="100 / 4"),
)

engine_slots = Formula(
    B_e,
    Max(0, Min(d_a * B_seq, floor(n_kv * (request / token) / (attended(s_end + cv_out**2 * n_out) / token)))),
    title="Requests one engine has room for",
    source=Source("kwon2023", "section 4"),
    assumes="Room is kept for the whole answer; no request is put off half way. Requests are met in proportion to the "
    "length of their answers.",
    no_example="the reach of attention",
)

prompt_slots = Formula(
    B_P,
    Max(0, floor(evaluated_at(n_kv, APART, _ROOM) * (request / token) / (attended(s) / token))),
    title="Prompts that an engine which prefills has room for",
    source=DISTSERVE,
    variant=DISAGGREGATED,
    assumes="Caches wait in the pool that decodes, not in the one that prefills.",
    no_example="the reach of attention",
)

replica_accelerators = Formula(
    n_rep,
    ACCELERATORS,
    title="Accelerators of a replica",
    source=ORCA,
    variant=COLOCATED,
    example=Example({t: 2, p: 4, d_a: 1}, "8", derived="2 * 4"),
)

pools_accelerators = Formula(
    n_rep,
    x_p * n_P + y_d * n_D,
    title="Accelerators of two pools",
    source=DISTSERVE,
    variant=DISAGGREGATED,
    example=Example({x_p: 2, y_d: 1, n_P: 2, n_D: 4}, "8", derived="2 * 2 + 4"),
)

prefill_worker = Formula(
    n_P,
    t_P * p_P * d_P,
    title="Accelerators of an engine that prefills",
    source=DISTSERVE,
    variant=DISAGGREGATED,
    example=Example({t_P: 2, p_P: 4, d_P: 1}, "8", derived="2 * 4"),
)

decode_worker = Formula(
    n_D,
    ACCELERATORS,
    title="Accelerators of an engine that decodes",
    source=DISTSERVE,
    variant=DISAGGREGATED,
    example=Example({t: 4, p: 1, d_a: 2}, "8", derived="4 * 2"),
)

transfer_time = Formula(
    t_x,
    kv_token * attended(s) / beta_kv,
    title="Transfer of the cache of one prompt",
    source=Source("zhong2024", "section 3.3"),
    no_example="the reach of attention",
)


def answering(requests: Any) -> Any:
    """What a request takes of an engine that decodes so many, itself among them: decode steps."""
    return u_ans * step(requests)


def shared_rate(met: Any, beside: Any) -> Any:
    """Requests per second of an engine that prefills and decodes, where a request meets ``met`` of them."""
    return beside / (answering(met) + beside / request * D_each)


def pool_rate(met: Any, beside: Any) -> Any:
    """Requests per second of a pool of engines that decode."""
    return y_d * beside / answering(met)


#: A request in the pool that decodes and a prompt in the other.
_BOTH_FIT = And(B_e >= request, request <= B_P)

capacity = Formula(
    mu_e,
    when(B_e >= request, shared_rate(B_e, B_e), 0),
    title="Requests per second that a replica can complete",
    source=ORCA,
    variant=COLOCATED,
    assumes="A request takes its prefill alone and shares the decode steps of a full engine.",
    no_example=PASSED,
)

pools_capacity = Formula(
    mu_e,
    when(_BOTH_FIT, Min(x_p * request / D_each, pool_rate(B_e, B_e), request / t_x), 0),
    title="Requests per second that two pools and their link can complete",
    source=DISTSERVE,
    variant=DISAGGREGATED,
    no_example=PASSED,
)

replica_concurrency = Formula(
    Z_e,
    Z_all / c_dep,
    title="Requests in flight of one replica",
    source=LITTLE,
    assumes="They are spread evenly.",
    example=Example({Z_all: 50, c_dep: 2}, "25 request", derived="50 / 2"),
)

closed_batch = Formula(
    N_z,
    when(Z_all > 0, Min(B_e, Root(N_e, N_e + shared_rate(N_e, N_e) * D_1, Z_e, 0, Z_e)), 0),
    title="Requests that decode in a closed loop",
    source=LITTLE,
    variant=COLOCATED,
    assumes="Those in flight decode or are prefilled, up to the slots; the others wait for one.",
    no_example=PASSED,
)

closed_pools_batch = Formula(
    N_z,
    when(
        Z_all > 0,
        Min(
            B_e,
            Root(N_e, y_d * N_e + pool_rate(N_e, N_e) * (D_1 + t_x), Z_e, 0, Z_e),
            Root(N_e, pool_rate(N_e, N_e), x_p * request / D_each, 0, Z_e),
        ),
        0,
    ),
    title="Requests that decode in one engine of a closed loop",
    source=LITTLE,
    variant=DISAGGREGATED,
    assumes="Where prefill cannot keep up, the others wait for it.",
    no_example=PASSED,
)


def arriving(closed: Any) -> Any:
    """Requests per second of a replica, those of a closed loop given."""
    return when(Z_all > 0, closed, lam_all / c_dep)


replica_rate = Formula(
    lam_e,
    arriving(shared_rate(N_z, N_z)),
    title="Requests that reach one replica",
    source=LITTLE,
    variant=COLOCATED,
    no_example=PASSED,
)

pools_rate = Formula(
    lam_e,
    arriving(pool_rate(N_z, N_z)),
    title="Requests that reach two pools",
    source=LITTLE,
    variant=DISAGGREGATED,
    no_example=PASSED,
)

replica_load = Formula(
    rho_e,
    when(mu_e > 0, lam_e / mu_e, oo),
    title="Load of a replica",
    source=Source("gross2008", "section 2.3"),
    example=Example({lam_e: 3, mu_e: 4}, "0.75", derived="3 / 4"),
)


def _batch(leaving: Any, coming: Any) -> Any:
    """The batch at which requests leave as they come; a request meets the others and itself."""
    return Piecewise((N_z, Z_all > 0), (Root(N_e, leaving, coming, 0, B_e), And(rho_e < 1, rho_D < 1)), (B_e, True))


_alike = request / (1 - rho_D) ** 2
_begun = _alike + (rho_D * cv_D) ** 2 * _alike

bunch = Formula(
    Z_b,
    (1 - x_b) * _begun + x_b * request,
    title="Requests that start to decode together",
    source=Source("kleinrock1975", "section 5.6"),
    variant=WHOLE,
    assumes="Prompts that follow each other without a step between are prefilled before any of them decodes; their "
    "number in a busy period, as one of them meets it. They stay together until the shorter answer ends.",
    example=Example({rho_D: 0.5, cv_D: 2, x_b: 0.4}, "5.2 request", derived="8 - 0.4 * 7"),
)

prompt_stay = Formula(
    D_w,
    D_1 + W_w,
    title="Wait for other prompts and own prefill",
    source=ORCA,
    example=Example({D_1: 100, W_w: 20}, "120 ms", derived="100 + 20"),
)

decode_batch = Formula(
    N_e,
    _batch(N_e / ((u_ans + rho_D / 2) * step(N_e + Z_b) + rho_D * D_w), lam_e / (1 - rho_D)),
    title="Requests that decode together",
    source=LITTLE,
    variant=COLOCATED,
    assumes="A request decodes just behind its own prompt: those that came meanwhile are prefilled first.",
    no_example=PASSED,
)

pools_batch = Formula(
    N_e,
    _batch(pool_rate(N_e + request, N_e), lam_e),
    title="Requests that decode together in one engine of a pool",
    source=LITTLE,
    variant=DISAGGREGATED,
    no_example=PASSED,
)

prompt_load = Formula(
    rho_D,
    lam_e * D_each / request,
    title="Share of the time that prompts take",
    source=ORCA,
    variant=COLOCATED,
    example=Example({lam_e: 4, D_each: 50}, "0.2", derived="4 * 0.05"),
)

pool_prompt_load = Formula(
    rho_D,
    lam_e * D_each / (x_p * request),
    title="Load of the engines that prefill",
    source=DISTSERVE,
    variant=DISAGGREGATED,
    example=Example({lam_e: 4, D_each: 50, x_p: 2}, "0.1", derived="4 * 0.05 / 2"),
)

step_at_load = Formula(
    tau_N,
    when(And(STEADY, rho_D < 1), step(N_e + when(OPEN, Z_b, 0)) / (1 - rho_D), oo),
    title="Decode step that a request meets",
    source=ORCA,
    variant=COLOCATED,
    assumes="Steps stand still while prompts are prefilled. A request that arrives by itself meets the mean and adds "
    "itself.",
    no_example=PASSED,
)

pool_step_at_load = Formula(
    tau_N,
    when(STEADY, step(N_e + when(OPEN, request, 0)), oo),
    title="Decode step that a request meets in its pool",
    source=DISTSERVE,
    variant=DISAGGREGATED,
    no_example=PASSED,
)

step_growth = Formula(
    b_N,
    when(And(STEADY, rho_D < 1), (step(N_e + 2 * request) - step(N_e + request)) / (1 - rho_D), 0),
    title="What one more request adds to a step",
    source=ORCA,
    variant=COLOCATED,
    no_example=PASSED,
)

pool_step_growth = Formula(
    b_N,
    when(STEADY, step(N_e + 2 * request) - step(N_e + request), 0),
    title="What one more request adds to a step of its pool",
    source=ORCA,
    variant=DISAGGREGATED,
    no_example=PASSED,
)


def _variance(engines: Any, bunch: Any) -> Any:
    """Of the requests in an engine: a birth-death chain whose steps grow with it is negative binomial."""
    return N_e * bunch / Max(Rational(1, 1000), 1 - lam_e / engines * u_ans * b_N / request)


batch_variance = Formula(
    V_N,
    _variance(1, Z_b),
    title="Variance of the requests that decode",
    source=Source("kleinrock1975", "section 3.2"),
    variant=COLOCATED,
    assumes="A birth-death chain in which a step grows by the same with each request: a negative binomial law. "
    "Requests that were prefilled without a step between come in bunches.",
    example=Example(
        {N_e: 10, Z_b: 4, lam_e: 4, u_ans: 100, b_N: 1},
        "66.667 request^2",
        derived="10 * 4 / (1 - 4 * 100 * 0.001)",
    ),
)

pools_batch_variance = Formula(
    V_N,
    _variance(y_d, request),
    title="Variance of the requests that decode in one engine of a pool",
    source=Source("kleinrock1975", "section 3.2"),
    variant=DISAGGREGATED,
    example=Example(
        {N_e: 10, lam_e: 8, y_d: 2, u_ans: 100, b_N: 1}, "16.667 request^2", derived="10 / (1 - 4 * 100 * 0.001)"
    ),
)

_queue = And(OPEN, rho_D > 0, rho_D < 1)
#: Share of the time that decode steps stand still.
STOPPED = Min(rho_D, NEARLY)

wait_decay = Formula(
    y_w,
    when(_queue, Root(y_w, rho_D * (exp(y_w) - 1) - y_w, 0, -log(rho_D), -2 * log(rho_D)), 1),
    title="Decay of the wait for prompts ahead",
    source=Source("kleinrock1975", "section 2.5"),
    assumes="Prompts are alike. The tail of the wait in a queue of fixed services falls by a factor e in the time of "
    "one of them over this number.",
    example=Example({rho_D: 0.5, Z_all: 0}, "1.2564", derived="1.2564312"),
)

#: What varied prompts add to the mean square of a wait over twice its mean, in prefills.
_longer = when(
    cv_D > 0,
    STOPPED * cv_D**2 / (2 * (1 - STOPPED)) + ((1 + 3 * cv_D**2 + k_D) / (1 + cv_D**2) - 1) / 3,
    0,
)
_LONGER = "The tail is exponential. Where prompts vary it is longer by what their moments add to those of the wait."

wait_scale = Formula(
    theta_w,
    D_each / y_w + D_each * _longer,
    title="Time over which the wait for prompts ahead decays",
    source=Source("kleinrock1975", "section 5.6"),
    variant=COLOCATED,
    assumes=_LONGER,
    example=Example(
        {D_each: 100, y_w: 1.25, rho_D: 0.5, cv_D: 1, k_D: 2}, "196.67 ms", derived="80 + 50 + 100 * (6 / 2 - 1) / 3"
    ),
)

pool_wait_scale = Formula(
    theta_w,
    D_each / (x_p * y_w) + D_each / x_p * _longer,
    title="Time over which the wait for an engine that prefills decays",
    source=Source("cosmetatos1975"),
    variant=DISAGGREGATED,
    assumes=f"{_LONGER} Several engines are one that is as fast as all.",
    example=Example({D_each: 100, x_p: 2, y_w: 1.25, rho_D: 0.5, cv_D: 0, k_D: 0}, "40 ms", derived="100 / 2.5"),
)

prompt_wait = Formula(
    W_w,
    when(_queue, rho_D * D_each * (1 + cv_D**2) / (2 * (1 - rho_D)), 0),
    title="Mean wait for the prompts ahead",
    source=DISTSERVE,
    variant=COLOCATED,
    example=Example({Z_all: 0, rho_D: 0.5, D_each: 100, cv_D: 1}, "100 ms", derived="0.5 * 100 * 2 / (2 * 0.5)"),
)

_random_wait = ErlangC(x_p, x_p * rho_D) * D_each / (x_p * (1 - rho_D))
_alike_wait = (
    ErlangC(x_p, x_p * rho_D)
    * D_each
    / (2 * x_p * (1 - rho_D))
    * (1 + (1 - rho_D) * (x_p - 1) * (sqrt(4 + 5 * x_p) - 2) / (16 * rho_D * x_p))
)

pool_prompt_wait = Formula(
    W_w,
    when(_queue, _alike_wait + cv_D**2 * (_random_wait - _alike_wait), 0),
    title="Mean wait for an engine that prefills",
    source=Source("cosmetatos1975"),
    variant=DISAGGREGATED,
    assumes="Between prefills that are alike and exponential ones by their squared coefficient of variation, and so "
    "beyond.",
    accuracy="Where prompts are alike within 1% of a simulation at all loads.",
    example=Example({Z_all: 0, x_p: 1, rho_D: 0.5, D_each: 100, cv_D: 2}, "250 ms", derived="50 + 4 * (100 - 50)"),
)

wait_probability = Formula(
    P_w,
    Min(1, W_w / theta_w),
    title="Probability of that wait",
    source=Source("kleinrock1975", "section 2.5"),
    assumes="An exponential tail with the mean of the wait.",
    example=Example({W_w: 50, theta_w: 80}, "0.625", derived="50 / 80"),
)

step_wait = Formula(
    p_v,
    when(OPEN, 1 - exp(-N_e / request), 0),
    title="Probability that a prompt finds a decode step under way",
    source=ORCA,
    variant=COLOCATED,
    assumes="Requests that decode are taken to be there as Poisson's law has it.",
    example=Example({N_e: 2, Z_all: 0}, "0.86466", derived="1 - exp(-2)"),
)

pool_step_wait = Formula(
    p_v,
    Rational(0),
    title="Probability that a prompt finds a decode step under way, in a pool that prefills",
    source=DISTSERVE,
    variant=DISAGGREGATED,
    no_example="it is zero",
)

slot_room = Formula(
    beta_s,
    when(N_e > 0, Min(30, Max(0, B_e - N_e) / sqrt(V_N)), 30),
    title="Slots beyond the mean batch, over its spread",
    source=Source("halfin1981"),
    assumes="Beyond thirty nobody waits.",
    example=Example({N_e: 80, B_e: 100, V_N: 100}, "2", derived="20 / 10"),
)

slot_wait_probability = Formula(
    P_s,
    when(QUEUED, 1 / (1 + beta_s * NormalCDF(beta_s) * sqrt(2 * pi) * exp(beta_s**2 / 2)), 0),
    title="Probability that a request finds every slot taken",
    source=Source("halfin1981"),
    assumes="The law of many servers, with the spread of the batch as it is.",
    example=Example(
        {Z_all: 0, rho_e: 0.8, beta_s: 2},
        "0.026881",
        derived="1 / (1 + 2 * 0.9772498680518208 * (2 * 3.141592653589793)**0.5 * exp(2))",
    ),
)

slot_wait_mean = Formula(
    theta_s,
    when(QUEUED, request / (mu_e - lam_e), 0 * D_1),
    title="Mean wait of a request that finds every slot taken",
    source=Source("gross2008", "section 2.3"),
    example=Example({Z_all: 0, rho_e: 0.75, mu_e: 4, lam_e: 3}, "1000 ms", derived="1000 / (4 - 3)"),
)


#: Load of the link of two pools.
LINK_LOAD = Min(NEARLY, lam_e * t_x / request)
#: Time to first token of a prompt that finds a slot, mean.
WITH_A_SLOT = D_w + p_v * tau_v / 2
#: Transfer of a cache behind those ahead of it on the link, mean.
HANDED_OVER = t_x * (1 + (1 + cv_in**2) * LINK_LOAD / (2 * (1 - LINK_LOAD)))
#: What prompts take beside what is left for steps.
_run = STOPPED / (1 - STOPPED)

bare_step = Formula(
    tau_v,
    when(STEADY, tau_N * (1 - STOPPED), tau_N),
    title="Decode step without what stops it",
    source=ORCA,
    variant=WHOLE,
    example=Example({Z_all: 0, rho_e: 0.5, tau_N: 20, rho_D: 0.25}, "15 ms", derived="20 * 0.75"),
)

late_requests = Formula(
    P_late,
    Min(
        1,
        p_v
        * (
            1
            - Min(x_late, tau_v) / tau_v
            + P_w * theta_w / tau_v * (exp((Min(x_late, tau_v) - x_late) / theta_w) - exp(-x_late / theta_w))
        )
        + (1 - p_v) * P_w * exp(-x_late / theta_w)
        + P_s * exp(-x_late / Max(theta_s, D_1 / 1000)),
    ),
    title="Requests whose first token comes so much later than the prefill of one prompt",
    source=DISTSERVE,
    assumes="The rest of a decode step is uniform; waits for prompts and for a slot have exponential tails.",
    example=Example(
        {p_v: 0.5, tau_v: 20, P_w: 0.5, theta_w: 40, x_late: 40, P_s: 0, theta_s: 0, D_1: 10},
        "0.21130",
        derived="0.5 * 0.5 * 2 * (exp(-0.5) - exp(-1)) + 0.5 * 0.5 * exp(-1)",
    ),
)


def _later(than: Any) -> Any:
    """Share of the requests that come so much later."""
    return evaluated_at(P_late, {x_late: than}, (late_requests,))


#: The shares of the quantiles.
LEVEL = by_member(p50=Rational(1, 2), p90=Rational(9, 10), p99=Rational(99, 100))

first_token_mean = Formula(
    ttft_mean,
    when(
        OPEN,
        when(rho_e < 1, WITH_A_SLOT + P_s * theta_s, oo),
        (Z_e - N_e) / lam_e,
    ),
    title="Mean time to first token",
    source=DISTSERVE,
    variant=COLOCATED,
    assumes="A prompt waits for the step under way, for the prompts ahead and for a slot. In a closed loop, what is "
    "in flight and does not decode has not had its first token.",
    example=Example(
        {Z_all: 0, rho_e: 0.5, D_w: 120, p_v: 0.5, tau_v: 10, P_s: 0.1, theta_s: 100, Z_e: 0, N_e: 1, lam_e: 1},
        "132.5 ms",
        derived="120 + 0.5 * 10 / 2 + 0.1 * 100",
    ),
)  # fmt: skip

pool_first_token_mean = Formula(
    ttft_mean,
    when(OPEN, when(rho_e < 1, D_w, oo), (Z_e - y_d * N_e) / lam_e - t_x),
    title="Mean time to first token of a pool that prefills",
    source=DISTSERVE,
    variant=DISAGGREGATED,
    example=Example(
        {Z_all: 0, rho_e: 0.5, D_w: 120, Z_e: 0, N_e: 1, y_d: 1, lam_e: 1, t_x: 10},
        "120 ms",
        derived="120",
    ),
)

#: Time to first token that a share of the requests stay below, by the tail of the wait.
BY_TAIL = D_1 + Root(x_late, -_later(x_late), LEVEL - 1, 0, tau_N + 20 * (theta_w + theta_s))

_prompts, _slots = waits(P_w, theta_w), waits(P_s, theta_s)
#: Variance and third cumulant of the wait of a prompt, for others and for the step under way, uniform where it is one.
STARTED = _prompts[1] + tau_v**2 * (p_v / 3 - p_v**2 / 4)
STARTED_THIRD = _prompts[2] + tau_v**3 * p_v * (1 - p_v) ** 2 / 4
#: The same of the wait for a slot, and of the prefill of a prompt.
SLOTS, SLOTS_THIRD = _slots[1:]
PREFILL, PREFILL_THIRD = (cv_D * D_1) ** 2, k_D * D_1**3

first_token_variance = Formula(
    v_F,
    when(And(QUEUED, cv_D > 0), STARTED + SLOTS + PREFILL, 0),
    title="Variance of the time to first token of prompts that vary",
    source=Source("gross2008", "section 1.6"),
    variant=WHOLE,
    assumes="Waits and the own prefill vary independently.",
    example=Example(
        {Z_all: 0, rho_e: 0.5, cv_D: 0.5, D_1: 100, P_w: 0.5, theta_w: 100, p_v: 0.6, tau_v: 10, P_s: 0, theta_s: 0},
        "0.010011 s^2",
        derived="0.5 * 1.5 * 0.1**2 + 0.01**2 * (0.2 - 0.09) + 0.05**2",
    ),
)

first_token_skewness = Formula(
    y_F,
    sixth_of_skewness(v_F > 0, STARTED_THIRD + SLOTS_THIRD + PREFILL_THIRD, v_F),
    title="Sixth of the skewness of the time to first token of prompts that vary",
    source=Source("gross2008", "section 1.6"),
    variant=WHOLE,
    assumes="Never below a thousandth, where the law is normal.",
    example=Example(
        {v_F: 0.01, k_D: 4, D_1: 100, P_w: 0, theta_w: 100, p_v: 0, tau_v: 10, P_s: 0, theta_s: 0},
        "0.66667",
        derived="4 * 0.1**3 / (6 * 0.01**1.5)",
    ),
)

first_token_law = Formula(
    w_F,
    when(v_F > 0, law(y_F), 1),
    title="Law of the time to first token of prompts that vary",
    source=LOG_NORMAL,
    variant=WHOLE,
    assumes="A log-normal law from some least time on, with this mean, variance and skewness.",
    example=Example({v_F: 0.01, y_F: 0.6666666667}, "2", derived="2"),
)

first_token_quantile = Formula(
    ttft_q[quantile],
    Piecewise(
        (ttft_mean, Z_all > 0),
        (oo, rho_e >= 1),
        (ttft_mean + beyond_mean(v_F, w_F, NormalQuantile(LEVEL)), w_F > 1),
        (BY_TAIL, True),
    ),
    title="Time to first token that a share of the requests stay below",
    source=DISTSERVE,
    variant=WHOLE,
    assumes="A closed loop is taken to have no spread.",
    no_example="a root",
)

first_stall = Formula(
    X_1,
    when(QUEUED, _run * WITH_A_SLOT, 0 * D_1),
    title="Wait of a request between its prompt and its first decode step",
    source=Source("kleinrock1975", "section 5.6"),
    variant=COLOCATED,
    assumes="Prompts that came while it waited and was prefilled go first, and those that come meanwhile.",
    example=Example(
        {Z_all: 0, rho_e: 0.8, rho_D: 0.5, D_w: 150, p_v: 0, tau_v: 10}, "150 ms", derived="0.5 / (1 - 0.5) * 150"
    ),
)

#: Time from the first token of a request in a pool to where its decode steps begin.
_second = HANDED_OVER + (1 - exp(-N_e / request)) * tau_N / 2

pool_first_stall = Formula(
    X_1,
    when(QUEUED, _second, 0 * D_1),
    title="Wait of a request between its prompt and its first decode step in a pool",
    source=Source("zhong2024", "section 3.3"),
    variant=DISAGGREGATED,
    assumes="The transfer, those ahead of it on the link, and the step under way.",
    example=Example(
        {Z_all: 0, rho_e: 0.5, cv_in: 0, t_x: 100, lam_e: 5, N_e: 0, tau_N: 20}, "150 ms", derived="100 + 50"
    ),
)

#: What is once in an answer has, over its tokens, this mean and mean square where answers vary.
_once, _once_square = ANSWER_SQUARE, ANSWER_SQUARE**3
#: Stay of others of the same bunch, mean over requests instead of tokens.
_beside_short = Rational(1, 2) + ANSWER_SQUARE * NormalCDF(-sqrt(2 * log(ANSWER_SQUARE)))

short_answers = Formula(
    T_short,
    when(
        And(QUEUED, cv_out > 0),
        ((_once - 1) * X_1 + u_ans * b_N * (Z_b / request - 1) * (_beside_short / (1 - x_b) - 1)) / FURTHER,
        0,
    ),
    title="What short answers add to the mean time per token",
    source=LOG_NORMAL,
    variant=COLOCATED,
    assumes="A mean over requests. What a request waits behind its own prompt is shared by few tokens where the answer "
    "is short, and those that began with it are still there.",
    example=Example(
        {Z_all: 0, rho_e: 0.5, cv_out: 1, X_1: 100, u_ans: 100, b_N: 0.1, Z_b: 3, x_b: 0.4439, n_out: 101},
        "1.0658 ms",
        derived="(100 + 100 * 0.1 * 2 * (0.7390319 / 0.5561 - 1)) / 100",
    ),
)

pool_short_answers = Formula(
    T_short,
    when(And(QUEUED, cv_out > 0), (_once - 1) * X_1 / FURTHER, 0 * D_1),
    title="What short answers add to the mean time per token in a pool",
    source=LOG_NORMAL,
    variant=DISAGGREGATED,
    assumes="A mean over requests: the transfer is shared by few tokens where the answer is short.",
    example=Example(
        {Z_all: 0, rho_e: 0.5, cv_out: 1, X_1: 150, n_out: 101},
        "1.5 ms",
        derived="150 / 100",
    ),
)

token_mean = Formula(
    tpot_mean,
    when(OPEN, u_ans * tau_N + X_1, N_e / lam_e) / FURTHER + T_short,
    title="Mean time per output token",
    source=ORCA,
    variant=COLOCATED,
    example=Example(
        {Z_all: 0, u_ans: 50, tau_N: 20, X_1: 100, n_out: 101, N_e: 1, lam_e: 1, T_short: 2},
        "13 ms",
        derived="(50 * 20 + 100) / 100 + 2",
    ),
)

pool_token_mean = Formula(
    tpot_mean,
    when(
        STEADY,
        when(
            OPEN,
            u_ans * tau_N + _second,
            y_d * N_e / lam_e + t_x,
        )
        / FURTHER
        + T_short,
        oo,
    ),
    title="Mean time per output token after a transfer",
    source=DISTSERVE,
    variant=DISAGGREGATED,
    assumes="The second token waits for the transfer, for those ahead of it on the link, and for the step under way.",
    example=Example(
        {
            Z_all: 0,
            rho_e: 0.5,
            u_ans: 100,
            tau_N: 20,
            t_x: 100,
            lam_e: 5,
            N_e: 0,
            n_out: 101,
            y_d: 1,
            cv_in: 0,
            T_short: 0,
        },
        "21.5 ms",
        derived="(100 * 20 + 100 * (1 + 0.5 / (2 * 0.5))) / 100",
    ),
)

#: Changes of the batch, in the square of a time per token.
_SPREAD = (b_N / (E_tok * request)) ** 2 * V_N
#: Slow ones: the batch varies about as slowly as an answer is long.
SLOW = Rational(2, 3) * _SPREAD
#: What short answers see of changes that longer ones average over.
_SHORT = when(cv_out > 0, (1 - 1 / sqrt(ANSWER_SQUARE)) / 3 * _SPREAD, 0)


def _shared(once: Any) -> Any:
    """Variance, over all tokens of a mean answer, of what is once in an answer and shared by its tokens."""
    return when(cv_out > 0, cv_out**2 * ANSWER_SQUARE**2 * once**2, 0)


def _interrupted(once: Any, once_square: Any) -> Any:
    """Variance of the time that prompts stop an answer, what is once in an answer weighed so."""
    return (
        _run / (1 - STOPPED) ** 2 * D_each * (1 + cv_D**2) * (u_ans * tau_v * once + D_w * once_square)
        + _run**2 * P_w * (2 - P_w) * theta_w**2 * once_square
    )


short_answer_variance = Formula(
    v_short,
    when(
        And(QUEUED, cv_out > 0),
        _interrupted(_once, _once_square) - _interrupted(1, 1) + _shared(X_1),
        0,
    ),
    title="What short answers add to the variance of the time per token",
    source=LOG_NORMAL,
    variant=COLOCATED,
    assumes="They share what is once in an answer among few tokens.",
    example=Example(
        {Z_all: 0, rho_e: 0.5, rho_D: 0.5, u_ans: 100, tau_v: 10, D_each: 50, D_w: 75, P_w: 0.5,
         theta_w: 40, cv_D: 0, cv_out: 1, X_1: 75},
        "0.33590 s^2",
        derived="4 * 0.05 * (1 + 7 * 0.075) + 7 * 0.75 * 0.04**2 + 4 * 0.075**2",
    ),
)  # fmt: skip

pool_short_answer_variance = Formula(
    v_short,
    when(And(QUEUED, cv_out > 0), _shared(X_1), 0),
    title="What short answers add to the variance of the time per token in a pool",
    source=LOG_NORMAL,
    variant=DISAGGREGATED,
    assumes="They share the transfer among few tokens.",
    example=Example(
        {Z_all: 0, rho_e: 0.5, cv_out: 1, X_1: 150},
        "0.09 s^2",
        derived="4 * 0.15**2",
    ),
)

token_spread = Formula(
    tpot_sd,
    when(
        QUEUED,
        sqrt(
            SLOW
            + _SHORT
            + (_interrupted(_once, _once_square) + _shared(X_1)) / FURTHER ** 2
        ),
        0 * D_1,
    ),
    title="Spread of the time per output token",
    source=Source("kleinrock1975", "section 5.6"),
    variant=COLOCATED,
    assumes="The batch varies about as slowly as an answer is long; short answers see all of it. Prompts that come "
    "meanwhile interrupt it for as long as prompts follow each other.",
    accuracy="What short answers see of the batch is within 3% of an integral over their lengths.",
    example=Example(
        {Z_all: 0, rho_e: 0.5, rho_D: 0.5, u_ans: 100, n_out: 101, E_tok: 1, b_N: 0.3, V_N: 20, tau_v: 10, D_each: 50,
         D_w: 75, P_w: 0.5, theta_w: 40, cv_D: 0, cv_out: 0, X_1: 75},
        "4.7770 ms",
        derived="(2 / 3 * 0.3**2 * 20 + (4 * 50 * (1000 + 75) + 0.5 * 1.5 * 1600) / 100**2)**0.5",
    ),
)  # fmt: skip

pool_token_spread = Formula(
    tpot_sd,
    when(QUEUED, when(cv_out > 0, sqrt(SLOW + _SHORT + _shared(X_1) / FURTHER**2), sqrt(SLOW)), 0 * D_1),
    title="Spread of the time per output token in a pool",
    source=Source("kleinrock1975", "section 3.2"),
    variant=DISAGGREGATED,
    assumes="The batch varies about as slowly as an answer is long; short answers see all of it, and their share of "
    "the transfer varies.",
    example=Example(
        {Z_all: 0, rho_e: 0.5, E_tok: 1, b_N: 0.3, V_N: 20, cv_out: 0, X_1: 10, n_out: 101},
        "1.0954 ms",
        derived="(2 / 3 * 0.3**2 * 20)**0.5",
    ),
)

undisturbed_token = Formula(
    tpot_1,
    u_ans * step(request) / FURTHER,
    title="Time per output token of a request alone",
    source=ORCA,
    no_example=PASSED,
)

token_excess = Formula(
    tpot_x,
    when(STEADY, Max(tpot_mean - tpot_1, tpot_mean / 10**6), tpot_1),
    title="What other requests add to the time per output token",
    source=ORCA,
    example=Example({Z_all: 0, rho_e: 0.5, tpot_mean: 20, tpot_1: 10}, "10 ms", derived="20 - 10"),
)

token_excess_spread = Formula(
    cv_x,
    Max(tpot_sd / tpot_x, Rational(1, 10**6)),
    title="Coefficient of variation of what other requests add",
    source=ORCA,
    example=Example({tpot_sd: 2, tpot_x: 10}, "0.2", derived="2 / 10"),
)

token_quantile = Formula(
    tpot_q[quantile],
    when(
        STEADY,
        tpot_mean + tpot_x * (gamma_quantile(cv_x, NormalQuantile(LEVEL)) - 1),
        oo,
    ),
    title="Time per output token that a share of the requests stay below",
    source=Source("wilson1931"),
    variant=WHOLE,
    assumes="What others add to it follows a gamma law.",
    example=Example(
        {Z_all: 0, rho_e: 0.5, tpot_mean: 20, tpot_x: 10, cv_x: 0.2},
        "22.632 ms",
        derived="10 + 10 * (1 - 0.04 / 9 + 1.2815516 * 0.2 / 3)**3",
        member="p90",
    ),
)

whole_mean = Formula(
    e2e_mean,
    ttft_mean + FURTHER * (tpot_mean - T_short),
    title="Mean time from request to last token",
    source=ORCA,
    variant=WHOLE,
    example=Example({ttft_mean: 100, n_out: 101, tpot_mean: 21, T_short: 1}, "2100 ms", derived="100 + 100 * 20"),
)

#: Requests of equal prompts whose first token is in time.
ALIKE_IN_TIME = (
    (1, T_1 <= 0),
    (when(ttft_mean <= T_1, 1, 0), Z_all > 0),
    (0, Or(rho_e >= 1, T_1 < D_1)),
    (1 - _later(T_1 - D_1), True),
)

first_in_time = Formula(
    A_1,
    Piecewise(*ALIKE_IN_TIME[:2], (share_below(v_F, w_F, T_1 - ttft_mean), w_F > 1), *ALIKE_IN_TIME[2:]),
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

attainment = Formula(
    A_slo,
    A_1 * A_2,
    title="Requests for which both promises hold",
    source=DISTSERVE,
    variant=WHOLE,
    assumes="First tokens and later ones are late independently.",
    example=Example({A_1: 0.95, A_2: 0.9}, "0.855", derived="0.95 * 0.9"),
)


#: What follows from the load of a replica, up to the attainment.
_BY_LOAD = (
    replica_load,
    bunch,
    prompt_stay,
    decode_batch,
    pools_batch,
    prompt_load,
    pool_prompt_load,
    step_at_load,
    pool_step_at_load,
    step_growth,
    pool_step_growth,
    batch_variance,
    pools_batch_variance,
    wait_decay,
    wait_scale,
    pool_wait_scale,
    prompt_wait,
    pool_prompt_wait,
    wait_probability,
    step_wait,
    pool_step_wait,
    slot_room,
    slot_wait_probability,
    slot_wait_mean,
    bare_step,
    late_requests,
    first_token_mean,
    pool_first_token_mean,
    first_token_variance,
    first_token_skewness,
    first_token_law,
    first_token_quantile,
    first_stall,
    pool_first_stall,
    short_answers,
    pool_short_answers,
    token_mean,
    pool_token_mean,
    short_answer_variance,
    pool_short_answer_variance,
    token_spread,
    pool_token_spread,
    undisturbed_token,
    token_excess,
    token_excess_spread,
    token_quantile,
    whole_mean,
    first_in_time,
    token_in_time,
    attainment,
)


def by_load(kind: str) -> tuple[Formula, ...]:
    """What follows from the load of a kind of replica."""
    return tuple(each for each in _BY_LOAD if each.variant in ("", WHOLE, kind))


def best_rate(formulas: Iterable[Formula], closed: Mapping[Any, Any] | None = None, fits: Any = B_e >= request) -> Any:
    """The largest rate at which enough requests are in time, by what follows from the load.

    What else follows from a closed loop has to be given some value, which no case without a loop uses.
    """
    share = evaluated_at(A_slo, {lam_e: lam_e, Z_all: 0, Z_e: 0, N_z: 0, **(closed or {})}, formulas)
    return when(fits, Root(lam_e, -share, -q_slo, 0, NEARLY * mu_e), 0)


replica_goodput = Formula(
    lam_g,
    best_rate(by_load(COLOCATED)),
    title="Goodput of a replica",
    source=DISTSERVE,
    variant=COLOCATED,
    assumes="Without a promise it is just below the capacity.",
    no_example="a root",
)

pools_goodput = Formula(
    lam_g,
    best_rate(by_load(DISAGGREGATED), fits=_BOTH_FIT),
    title="Goodput of two pools",
    source=DISTSERVE,
    variant=DISAGGREGATED,
    assumes="Without a promise it is just below the capacity.",
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
    when(DEPLOYED, c_dep * Min(lam_e, mu_e) * n_out / request, 0),
    title="Tokens a deployment generates",
    source=ORCA,
    variant="deployment",
    convention="Tokens of answers.",
    example=Example(
        {c_given: 2, Z_all: 0, lam_g: 3, c_dep: 2, lam_e: 3, mu_e: 4, n_out: 100}, "600 token/s", derived="2 * 3 * 100"
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
    title="Whether what is promised holds",
    source=DISTSERVE,
    variant="deployment",
    example=Example(
        {B_e: 16, c_given: 2, lam_g: 3, Z_all: 0, rho_e: 0.5, A_slo: 0.95, q_slo: 0.9}, "True", derived="0.95 >= 0.9"
    ),
)

pools_promised = Formula(
    feasible,
    _kept(_BOTH_FIT),
    title="Whether what is promised holds with two pools",
    source=DISTSERVE,
    variant=DISAGGREGATED,
    example=Example(
        {B_e: 16, B_P: 0, c_given: 2, lam_g: 3, Z_all: 0, rho_e: 0.5, A_slo: 0.95, q_slo: 0.9},
        "False",
        derived="0 >= 1",
    ),
)


def _binding(full: Any, *saturated: Any) -> Any:
    return Piecewise(
        (label(binds_s, "Memory"), full),
        (label(binds_s, "None"), feasible),
        *saturated,
        (label(binds_s, "TTFT"), A_1 <= A_2),
        (label(binds_s, "TPOT"), True),
    )


binding_promise = Formula(
    binds_s,
    _binding(
        B_e < request,
        (label(binds_s, "Decode capacity"), And(OPEN, rho_e >= 1, q_slo <= A_1, q_slo <= A_2)),
    ),
    title="What keeps a replica from more",
    source=DISTSERVE,
    variant=COLOCATED,
    example=Example(
        {B_e: 16, feasible: 0, Z_all: 0, rho_e: 0.5, A_1: 0.5, A_2: 0.9, q_slo: 0.9}, "TTFT", derived="0.5 <= 0.9"
    ),
)

binding_pool = Formula(
    binds_s,
    _binding(
        Or(B_e < request, request > B_P),
        (label(binds_s, "Prefill capacity"), And(OPEN, rho_D >= 1)),
        (label(binds_s, "KV transfer"), And(OPEN, lam_e * t_x >= request)),
        (label(binds_s, "Decode capacity"), And(OPEN, rho_e >= 1)),
    ),
    title="What keeps two pools from more",
    source=DISTSERVE,
    variant=DISAGGREGATED,
    example=Example(
        {B_e: 16, B_P: 2, feasible: 0, Z_all: 0, rho_D: 1.5, rho_e: 1.5, lam_e: 1, t_x: 1, A_1: 0.5, A_2: 0.9},
        "Prefill capacity",
        derived="1.5 >= 1",
    ),
)

FORMULAS = (
    prompt_tokens,
    answer_tokens,
    decoded_requests,
    undisturbed_step,
    tokens_per_step,
    answer_steps,
    draft_time,
    prompt_time,
    prompt_interval,
    pool_prompt_interval,
    engine_slots,
    prompt_slots,
    replica_accelerators,
    pools_accelerators,
    prefill_worker,
    decode_worker,
    transfer_time,
    capacity,
    pools_capacity,
    replica_concurrency,
    closed_batch,
    closed_pools_batch,
    replica_rate,
    pools_rate,
    *_BY_LOAD,
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
#: Laws of prompts that vary, where each is prefilled whole.
OWN_PROMPT = (first_token_variance, first_token_skewness, first_token_law, short_answer_variance)
#: A replica that prefills and decodes by turns.
SHARED = tuple(formula for formula in FORMULAS if formula.variant != DISAGGREGATED and formula is not late_requests)
#: A replica of two pools.
POOLS = tuple(
    formula for formula in FORMULAS if formula.variant != COLOCATED and formula not in (late_requests, promised)
)
