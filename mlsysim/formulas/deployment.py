"""Deployments of replicas

A replica is one engine that prefills and decodes by turns, or pools of engines that do either. Each step of an
engine is an iteration by the law of iterations. The requests that decode together follow from the load by
Little's law, the latencies from them and from the queue of the prompts; what is promised bounds the load.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sympy import And, Or, Piecewise, Rational, ceiling, exp, floor, log, oo, pi, sqrt

from mlsysim.formulas import iteration
from mlsysim.formulas.continuous_batching import gamma_normal, gamma_quantile
from mlsysim.formulas.replica_layout import ACCELERATORS
from mlsysim.formulas.transformer_flops import attended
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
from mlsysim.symbols.deployment import (
    A_1,
    A_2,
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
    quantile,
    rho_D,
    rho_e,
    s_in,
    s_out,
    t_dr,
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
from mlsysim.symbols.workload import s

ORCA = Source("yu2022", "section 3")
LITTLE = Source("little1961")
DISTSERVE = Source("zhong2024", "section 3")
COLOCATED, DISAGGREGATED = "colocated", "disaggregated"
#: Prompts are prefilled whole, on whichever engines.
WHOLE = "whole_prompts"
#: What a decode step, or a prefill, of an engine takes.
PASS = frozenset((*iteration.operators(), *iteration.ITERATION))
PASSED = "an iteration of other requests"
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
    (n_out / token - 1) / E_tok,
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
    evaluated_at(t_it, {n_dec: 0, n_pro: n_grp * request}, PASS),
    title="Prefill of one prompt",
    source=ORCA,
    variant=WHOLE,
    assumes="Every group of requests has a prompt of its own at the same time.",
    no_example=PASSED,
)

prompt_interval = Formula(
    D_each,
    D_1 / n_grp,
    title="Time that one prompt takes of an engine",
    source=DISTSERVE,
    assumes="Groups never wait for each other's prompts: stages take the next prompt at once, attention ranks start "
    "theirs together.",
    example=Example({D_1: 100, n_grp: 4}, "25 ms", derived="100 / 4"),
)

engine_slots = Formula(
    B_e,
    Max(0, Min(d_a * B_seq, floor(n_kv * (request / token) / (attended(s_end) / token)))),
    title="Requests one engine has room for",
    source=Source("kwon2023", "section 4"),
    assumes="Room is kept for the whole answer; no request is put off half way.",
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
    (x_p + y_d) * ACCELERATORS,
    title="Accelerators of two pools",
    source=DISTSERVE,
    variant=DISAGGREGATED,
    example=Example({x_p: 2, y_d: 1, t: 4, p: 1, d_a: 1}, "12", derived="(2 + 1) * 4"),
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
    when(B_e >= request, Min(x_p * request / D_each, pool_rate(B_e, B_e), request / t_x), 0),
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


bunch = Formula(
    Z_b,
    request / (1 - rho_D) ** 2,
    title="Requests that start to decode together",
    source=Source("kleinrock1975", "section 5.6"),
    variant=WHOLE,
    assumes="Prompts that follow each other without a step between are prefilled before any of them decodes; their "
    "number in a busy period, as one of them meets it. They stay together while they decode.",
    example=Example({rho_D: 0.5}, "4 request", derived="1 / (1 - 0.5)**2"),
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

wait_decay = Formula(
    y_w,
    when(_queue, Root(y_w, rho_D * (exp(y_w) - 1) - y_w, 0, -log(rho_D), -2 * log(rho_D)), 1),
    title="Decay of the wait for prompts ahead",
    source=Source("kleinrock1975", "section 2.5"),
    assumes="Prompts are alike. The tail of the wait in a queue of fixed services falls by a factor e in the time of "
    "one of them over this number.",
    example=Example({rho_D: 0.5, Z_all: 0}, "1.2564", derived="1.2564312"),
)

wait_scale = Formula(
    theta_w,
    D_each / y_w,
    title="Time over which the wait for prompts ahead decays",
    source=Source("kleinrock1975", "section 2.5"),
    variant=COLOCATED,
    example=Example({D_each: 100, y_w: 1.25}, "80 ms", derived="100 / 1.25"),
)

pool_wait_scale = Formula(
    theta_w,
    D_each / (x_p * y_w),
    title="Time over which the wait for an engine that prefills decays",
    source=Source("cosmetatos1975"),
    variant=DISAGGREGATED,
    example=Example({D_each: 100, x_p: 2, y_w: 1.25}, "40 ms", derived="100 / 2.5"),
)

prompt_wait = Formula(
    W_w,
    when(_queue, rho_D * D_each / (2 * (1 - rho_D)), 0),
    title="Mean wait for the prompts ahead",
    source=DISTSERVE,
    variant=COLOCATED,
    example=Example({Z_all: 0, rho_D: 0.5, D_each: 100}, "50 ms", derived="0.5 * 100 / (2 * 0.5)"),
)

pool_prompt_wait = Formula(
    W_w,
    when(
        _queue,
        ErlangC(x_p, x_p * rho_D)
        * D_each
        / (2 * x_p * (1 - rho_D))
        * (1 + (1 - rho_D) * (x_p - 1) * (sqrt(4 + 5 * x_p) - 2) / (16 * rho_D * x_p)),
        0,
    ),
    title="Mean wait for an engine that prefills",
    source=Source("cosmetatos1975"),
    variant=DISAGGREGATED,
    accuracy="Within 1% of a simulation at all loads.",
    example=Example({Z_all: 0, x_p: 1, rho_D: 0.5, D_each: 100}, "50 ms", derived="0.5 * 100 / (2 * 0.5)"),
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
#: Share of the time that decode steps stand still.
STOPPED = Min(rho_D, NEARLY)
#: Time to first token of a prompt that finds a slot, mean.
WITH_A_SLOT = D_w + p_v * tau_v / 2
#: Transfer of a cache behind those ahead of it on the link, mean.
HANDED_OVER = t_x * (1 + LINK_LOAD / (2 * (1 - LINK_LOAD)))
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

first_token_quantile = Formula(
    ttft_q[quantile],
    when(
        OPEN,
        when(rho_e < 1, BY_TAIL, oo),
        ttft_mean,
    ),
    title="Time to first token that a share of the requests stay below",
    source=DISTSERVE,
    variant=WHOLE,
    assumes="A closed loop of equal requests is taken to have no spread.",
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

token_mean = Formula(
    tpot_mean,
    when(OPEN, u_ans * tau_N + X_1, N_e / lam_e) / (n_out / token - 1),
    title="Mean time per output token",
    source=ORCA,
    variant=COLOCATED,
    example=Example(
        {Z_all: 0, u_ans: 50, tau_N: 20, X_1: 100, n_out: 101, N_e: 1, lam_e: 1},
        "11 ms",
        derived="(50 * 20 + 100) / 100",
    ),
)

pool_token_mean = Formula(
    tpot_mean,
    when(
        STEADY,
        when(
            OPEN,
            u_ans * tau_N + HANDED_OVER + (1 - exp(-N_e / request)) * tau_N / 2,
            y_d * N_e / lam_e + t_x,
        )
        / (n_out / token - 1),
        oo,
    ),
    title="Mean time per output token after a transfer",
    source=DISTSERVE,
    variant=DISAGGREGATED,
    assumes="The second token waits for the transfer, for those ahead of it on the link, and for the step under way.",
    example=Example(
        {Z_all: 0, rho_e: 0.5, u_ans: 100, tau_N: 20, t_x: 100, lam_e: 5, N_e: 0, n_out: 101, y_d: 1},
        "21.5 ms",
        derived="(100 * 20 + 100 * (1 + 0.5 / (2 * 0.5))) / 100",
    ),
)

#: Slow changes of the batch, in the square of a time per token.
SLOW = Rational(2, 3) * (b_N / (E_tok * request)) ** 2 * V_N

token_spread = Formula(
    tpot_sd,
    when(
        QUEUED,
        sqrt(
            SLOW
            + (
                _run / (1 - STOPPED) ** 2 * D_each * (u_ans * tau_v + D_w)
                + _run**2 * P_w * (2 - P_w) * theta_w**2
            )
            / (n_out / token - 1) ** 2
        ),
        0 * D_1,
    ),
    title="Spread of the time per output token",
    source=Source("kleinrock1975", "section 5.6"),
    variant=COLOCATED,
    assumes="The batch varies about as slowly as an answer is long. Prompts that come meanwhile interrupt it for as "
    "long as prompts follow each other.",
    example=Example(
        {Z_all: 0, rho_e: 0.5, rho_D: 0.5, u_ans: 100, n_out: 101, E_tok: 1, b_N: 0.3, V_N: 20, tau_v: 10, D_each: 50,
         D_w: 75, P_w: 0.5, theta_w: 40},
        "4.7770 ms",
        derived="(2 / 3 * 0.3**2 * 20 + (4 * 50 * (1000 + 75) + 0.5 * 1.5 * 1600) / 100**2)**0.5",
    ),
)  # fmt: skip

pool_token_spread = Formula(
    tpot_sd,
    when(QUEUED, sqrt(SLOW), 0 * D_1),
    title="Spread of the time per output token in a pool",
    source=Source("kleinrock1975", "section 3.2"),
    variant=DISAGGREGATED,
    assumes="The batch varies about as slowly as an answer is long.",
    example=Example(
        {Z_all: 0, rho_e: 0.5, E_tok: 1, b_N: 0.3, V_N: 20},
        "1.0954 ms",
        derived="(2 / 3 * 0.3**2 * 20)**0.5",
    ),
)

undisturbed_token = Formula(
    tpot_1,
    u_ans * step(request) / (n_out / token - 1),
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
    ttft_mean + (n_out / token - 1) * tpot_mean,
    title="Mean time from request to last token",
    source=ORCA,
    variant=WHOLE,
    example=Example({ttft_mean: 100, n_out: 101, tpot_mean: 20}, "2100 ms", derived="100 + 100 * 20"),
)

first_in_time = Formula(
    A_1,
    Piecewise(
        (1, T_1 <= 0),
        (when(ttft_mean <= T_1, 1, 0), Z_all > 0),
        (0, Or(rho_e >= 1, T_1 < D_1)),
        (1 - _later(T_1 - D_1), True),
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
        (0, rho_e >= 1),
        (
            NormalCDF(gamma_normal(cv_x, 1 + (T_2 - tpot_mean) / tpot_x)),
            True,
        ),
    ),
    title="Requests whose time per output token holds",
    source=DISTSERVE,
    variant=WHOLE,
    example=Example(
        {T_2: 20, Z_all: 0, rho_e: 0.5, tpot_mean: 20, tpot_x: 10, cv_x: 0.3}, "0.53983", derived="0.539827837"
    ),
)

attainment = Formula(
    A_slo,
    A_1 * A_2,
    title="Requests for which both promises hold",
    source=DISTSERVE,
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
    first_token_quantile,
    first_stall,
    token_mean,
    pool_token_mean,
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


def best_rate(formulas: Iterable[Formula], closed: Mapping[Any, Any] | None = None) -> Any:
    """The largest rate at which enough requests are in time, by what follows from the load.

    What else follows from a closed loop has to be given some value, which no case without a loop uses.
    """
    share = evaluated_at(A_slo, {lam_e: lam_e, Z_all: 0, Z_e: 0, N_z: 0, **(closed or {})}, formulas)
    return when(B_e >= request, Root(lam_e, -share, -q_slo, 0, NEARLY * mu_e), 0)


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
    best_rate(by_load(DISAGGREGATED)),
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

promised = Formula(
    feasible,
    And(B_e >= request, STEADY, DEPLOYED, A_slo >= q_slo),
    title="Whether what is promised holds",
    source=DISTSERVE,
    variant="deployment",
    example=Example(
        {B_e: 16, c_given: 2, lam_g: 3, Z_all: 0, rho_e: 0.5, A_slo: 0.95, q_slo: 0.9}, "True", derived="0.95 >= 0.9"
    ),
)


def _binding(*saturated: Any) -> Any:
    return Piecewise(
        (label(binds_s, "Memory"), B_e < request),
        (label(binds_s, "None"), feasible),
        *saturated,
        (label(binds_s, "TTFT"), A_1 <= A_2),
        (label(binds_s, "TPOT"), True),
    )


binding_promise = Formula(
    binds_s,
    _binding((label(binds_s, "Decode capacity"), And(OPEN, rho_e >= 1, q_slo <= A_1, q_slo <= A_2))),
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
        (label(binds_s, "Prefill capacity"), And(OPEN, rho_D >= 1)),
        (label(binds_s, "KV transfer"), And(OPEN, lam_e * t_x >= request)),
        (label(binds_s, "Decode capacity"), And(OPEN, rho_e >= 1)),
    ),
    title="What keeps two pools from more",
    source=DISTSERVE,
    variant=DISAGGREGATED,
    example=Example(
        {B_e: 16, feasible: 0, Z_all: 0, rho_D: 1.5, rho_e: 1.5, lam_e: 1, t_x: 1, A_1: 0.5, A_2: 0.9},
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
    engine_slots,
    replica_accelerators,
    pools_accelerators,
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
    binding_promise,
    binding_pool,
)
#: A replica that prefills and decodes by turns.
SHARED = tuple(formula for formula in FORMULAS if formula.variant != DISAGGREGATED and formula is not late_requests)
#: A replica of two pools.
POOLS = tuple(formula for formula in FORMULAS if formula.variant != COLOCATED and formula is not late_requests)
