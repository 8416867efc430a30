"""Chunked prefill

A replica prefills prompts in chunks beside its decoding: an iteration takes one token of every decoding request and, up
to its token budget, tokens of the waiting prompts, first come first served. Latencies follow from a Markov chain of the
prompt tokens that wait when an iteration begins; the number of decoding requests is the root of Little's law. In a
closed loop, in which requests start as others end, requests share the iterations evenly.
"""

from __future__ import annotations

from typing import Any

import sympy
from sympy import And, Piecewise, Rational, ceiling, exp, floor, oo

from mlsysim.formulas import benchmark_runs, deployment, serving_engines, serving_load
from mlsysim.formulas.benchmark_runs import LOOKS, RUN, admitted, missed, others, unmet
from mlsysim.formulas.iteration import PASS, PASSED
from mlsysim.formulas.serving_engines import DISTSERVE, FURTHER, LITTLE, NEARLY, OPEN, QUEUED
from mlsysim.formulas.serving_load import RESERVED, arriving, started
from mlsysim.formulas.varied_lengths import LEVEL, OWN, PROMPT_SQUARE
from mlsysim.symbolic import (
    Example,
    Formula,
    Max,
    Min,
    Root,
    Source,
    chunked_prefill,
    evaluated_at,
    label,
    request,
    token,
    when,
)
from mlsysim.symbols.chunked import (
    D_Z,
    C_b,
    N_full,
    N_sl,
    cv_in,
    cv_out,
    mu_sl,
    n_chunk,
    p_sl,
    s_n,
    tau_full,
    tau_pair,
    tau_Z,
    uncut,
)
from mlsysim.symbols.closed_loops import (
    B_Z,
    A_z,
    C_it,
    K_z,
    T_add,
    T_fr,
    T_full,
    T_st,
    W_z,
    b_z,
    g_z,
    tau_l,
    tau_miss,
    ttft_b,
    ttft_s,
    x_z,
    y_z,
)
from mlsysim.symbols.deployment import (
    A_1,
    A_2,
    A_3,
    T_1,
    T_2,
    T_3,
    V_N,
    A_slo,
    B_e,
    E_tok,
    N_e,
    N_z,
    P_s,
    Z_all,
    Z_e,
    binds_s,
    c_dep,
    e2e_mean,
    e2e_q,
    itl_99,
    lam_all,
    lam_e,
    lam_g,
    mu_e,
    q_slo,
    quantile,
    rho_e,
    t_dr,
    theta_s,
    tpot_mean,
    tpot_q,
    ttft_mean,
    ttft_q,
    u_ans,
)
from mlsysim.symbols.iteration import d_a, gamma_s, h_c, n_dec, n_pro, t_it, t_pat
from mlsysim.symbols.mixers import t_scan, w_pair
from mlsysim.symbols.serving import n_out
from mlsysim.symbols.training import feasible
from mlsysim.symbols.workload import s

CHUNKED = "chunked"
SARATHI = Source("agrawal2024", "section 4")
_LAW = (
    "Arrivals are Poisson's. Given the requests that decode, the prompt tokens that wait when an iteration begins are "
    "a Markov chain; how many decode follows from Little's law."
)
_CHAIN = "a Markov chain"
#: Tokens of an iteration that a decoding request takes.
EACH = 1 + gamma_s
#: Tokens of an iteration of all attention ranks, each of which has a budget.
_TOKENS = C_b * d_a
#: Requests that a full iteration begins where prompts are not cut: each brings its prompt and its decode steps.
_BEGUN = Max(floor(_TOKENS / (s_n + EACH * u_ans * token)), Min(1, Max(0, _TOKENS - s_n) / (EACH * u_ans * token)))

iteration_budget = Formula(
    C_it,
    when(uncut > 0, _BEGUN * (s_n + EACH * u_ans * token), _TOKENS),
    title="Tokens that full iterations take",
    source=SARATHI,
    assumes="Of whole prompts as many as fit, each with its decode steps.",
    example=Example({uncut: 0, C_b: 2048, d_a: 2, s_n: 924, gamma_s: 0, u_ans: 100}, "4096 token", derived="2048 * 2"),
)


def mixed(requests: Any, tokens: Any) -> Any:
    """Iteration time with given numbers of decoding requests and prompt tokens, and their means."""
    changed = {
        n_dec: requests,
        n_pro: tokens * request / s_n,
        w_pair: w_pair * PROMPT_SQUARE,
    }
    return evaluated_at(t_it, changed, PASS) + when(requests > 0, t_dr, 0)


def left(requests: Any) -> Any:
    """Token budget left over by the decoding requests."""
    return Max(0, _TOKENS - EACH * requests * (token / request))


def room(requests: Any) -> Any:
    """Prompt tokens that fit beside the decoding requests."""
    return when(uncut > 0, s_n * floor(left(requests) / s_n), left(requests))


_n, _c = sympy.Dummy("n", nonnegative=True), sympy.Dummy("c", nonnegative=True)
_iteration = (_n, _c, mixed(_n * request, _c * token))


def _left(promise: Any) -> Any:
    """Latency target minus the time in front of the engine."""
    return Max(promise - T_fr, promise / 10**9)


def _law(output: str, share: Any = 0, rate: Any = None) -> Any:
    """Law of the requests at a rate, by default the replica's; a closed loop needs no solution."""
    return chunked_prefill(
        output,
        _iteration,
        share,
        request_rate=when(OPEN, lam_e, oo) if rate is None else rate,
        isl=s_n,
        osl=n_out,
        isl_cv=cv_in,
        osl_cv=cv_out,
        token_budget=C_it,
        pair_time=tau_pair,
        max_num_seqs=B_e,
        decode_tokens=EACH,
        tokens_per_step=E_tok,
        ttft_slo=when(T_1 > 0, _left(T_1), oo),
        tpot_slo=when(T_2 > 0, T_2, oo),
        e2e_slo=when(T_3 > 0, _left(T_3), oo),
    )


prefilled_tokens = Formula(
    s_n,
    s * (1 - h_c),
    title="Tokens of a prompt to prefill",
    source=SARATHI,
    example=Example({s: 1000, h_c: 0.25}, "750 token", derived="1000 * 0.75"),
)

pair_time = Formula(
    tau_pair,
    2 * evaluated_at(t_pat, {n_pro: request, t_scan: 0}, PASS) / s_n**2,
    title="Attention of a prompt token to one before it",
    source=SARATHI,
    assumes="Attention of a prompt grows with the square of its length.",
    no_example=PASSED,
)

full_batch = Formula(
    N_full,
    request * u_ans * C_it / (s_n + EACH * u_ans * token),
    title="Requests that decode where every iteration is full",
    source=SARATHI,
    assumes="A request brings its prompt and the tokens of its decode steps; a full iteration clears the budget.",
    example=Example(
        {C_it: 2048, u_ans: 100, s_n: 924, gamma_s: 0},
        "200 request",
        derived="100 * 2048 / (924 + 100)",
    ),
)

saturated_iteration = Formula(
    tau_full,
    mixed(N_full, room(N_full)),
    title="Iteration where every iteration is full",
    source=SARATHI,
    no_example=PASSED,
)

#: Requests that end in an iteration where every slot is taken: each stays for its prompt and its decode steps.
_ending = B_e / (u_ans + 1)

slot_batch = Formula(
    N_sl,
    u_ans * _ending,
    title="Requests that decode where every slot is taken",
    source=SARATHI,
    assumes="Of the iterations of a request one is that of its prompt.",
    example=Example({u_ans: 99, B_e: 200}, "198 request", derived="99 * 200 / 100"),
)

slot_decode_share = Formula(
    p_sl,
    Piecewise(
        (exp(-_ending / request), s_n <= left(N_sl)),
        (when(uncut > 0, 0, Max(0, 1 - _ending * s_n / (request * left(N_sl)))), _ending * s_n < request * left(N_sl)),
        (0, True),
    ),
    title="Iterations without prompts where every slot is taken",
    source=SARATHI,
    assumes="Requests end one by one, and a prompt follows each at once; none where prompts need more tokens than "
    "decode steps leave of the budget.",
    example=Example(
        {uncut: 0, s_n: 500, C_b: 2048, d_a: 1, N_sl: 48, gamma_s: 0, B_e: 50, u_ans: 49},
        "0.36788",
        derived="exp(-50 / 50)",
    ),
)

slot_capacity = Formula(
    mu_sl,
    _ending
    / (
        p_sl * mixed(N_sl, 0)
        + (1 - p_sl) * mixed(N_sl, Min(room(N_sl), s_n * _ending / request / Max(Rational(1, 10**9), 1 - p_sl)))
    ),
    title="Requests per second that all slots can complete",
    source=SARATHI,
    variant=CHUNKED,
    no_example=PASSED,
)

_budget = C_it * request / ((s_n + EACH * u_ans * token) * tau_full)


capacity = Formula(
    mu_e,
    Piecewise((0, B_e < request), (_budget, N_full <= B_e), (Min(_budget, mu_sl), True)),
    title="Requests per second that full iterations, or all slots, can complete",
    source=SARATHI,
    variant=CHUNKED,
    assumes="Each request brings its tokens to prefill and to decode, and a full iteration clears the budget.",
    accuracy="Within 2% of simulated engines where the budget binds, 12% where slots do.",
    no_example=PASSED,
)

#: Requests whose decode steps leave room for a prompt, or for half of what an iteration takes.
_roomy = (_TOKENS - when(uncut > 0, s_n, Min(s_n, _TOKENS / 2))) / EACH * (request / token)

closed_batch = Formula(
    N_z,
    when(Z_all > 0, Min(B_Z, Z_e, Max(request, N_full, _roomy)), 0),
    title="Requests of a closed loop that have a slot and are not kept out by full iterations",
    source=SARATHI,
    variant=CHUNKED,
    assumes="Where decode steps would leave less of the budget than a prompt needs, full iterations clear it: those "
    "beyond wait for their prompt.",
    example=Example(
        {Z_all: 50, B_Z: 40, Z_e: 50, C_b: 2048, d_a: 1, s_n: 512, gamma_s: 0, N_full: 200, uncut: 0},
        "40 request",
        derived="min(40, 50)",
    ),
)

#: Tokens that a prompt may have of an iteration: it has one attention rank.
_own_room = left(N_z) / d_a

prompt_chunks = Formula(
    n_chunk,
    when(uncut > 0, 1, ceiling(s_n / token / Max(1, _own_room / token))),
    title="Iterations of a prompt in a closed loop",
    source=SARATHI,
    example=Example({uncut: 0, s_n: 5000, C_b: 2048, d_a: 1, N_z: 48, gamma_s: 0}, "3", derived="ceil(5000 / 2000)"),
)

_rest = Max(0, s_n - (n_chunk - 1) * _own_room)


def _beside(requests: Any) -> Any:
    """Iterations that prefill a prompt beside the given number of decoding requests."""
    return (n_chunk - 1) * mixed(requests, _own_room) + mixed(requests, _rest)


loop_room = Formula(
    A_z,
    Max(when(uncut > 0, s_n, token), room(N_z)),
    title="Tokens of prompts beside those that decode in a closed loop",
    source=SARATHI,
    assumes="One at least, or a whole prompt where none is cut.",
    example=Example({uncut: 0, C_b: 2048, d_a: 1, N_z: 48, gamma_s: 0, s_n: 924}, "2000 token", derived="2048 - 48"),
)

_FIT = A_z / s_n
full_prompt_time = Formula(
    T_full,
    mixed(N_z, A_z) / Max(token / s_n, _FIT),
    title="Time of a prompt in iterations that prompts fill",
    source=SARATHI,
    no_example=PASSED,
)

_number = x_z / request

prompts_gathered = Formula(
    g_z,
    Max(1, Min(_FIT, _number / (1 - exp(-Max(Rational(1, 10**6), _number))))),
    title="Prompts of an iteration of a closed loop that has some",
    source=OWN,
    assumes="They come as Poisson's law has it.",
    example=Example({A_z: 2000, s_n: 500, x_z: 1}, "1.5820", derived="1 / (1 - exp(-1))"),
)

_more = when(
    And(x_z > 0, n_chunk <= 1),
    (mixed(N_z, g_z * s_n) - tau_l) / g_z,
    _beside(N_z) - n_chunk * tau_l,
)
loop_step = Formula(
    tau_l, mixed(N_z, 0), title="Step of a closed loop without prompts", source=SARATHI, variant=CHUNKED,
    no_example=PASSED,
)  # fmt: skip

added_prefill = Formula(
    T_add, Max(0, _more), title="What a prompt adds to iterations of a closed loop", source=SARATHI, no_example=PASSED
)

closed_stalls = Formula(
    T_st,
    others(N_z) * T_add,
    title="What prompts of the others add to an answer in a closed loop",
    source=SARATHI,
    assumes="While a request decodes, each of the others is prefilled once.",
    no_example=PASSED,
)

closed_step = Formula(
    tau_Z,
    tau_l + T_st / u_ans,
    title="Decode step in a closed loop",
    source=SARATHI,
    no_example=PASSED,
)

_load = Min(Rational(98, 100), _number / LOOKS / _FIT)
#: Wait of a prompt for those that fill iterations ahead of it.
_ahead = (
    Max(
        Min(_load / (1 - _load), Max(0, N_z / request - Max(1, _FIT))),
        1 + _number - Max(1, _FIT),
    )
    / 2
    * T_full
)
#: Prefill of a prompt with those that come with it.
_with_others = when(
    n_chunk <= 1, mixed(Max(0, N_z - request), Min(A_z, (1 + _number) * s_n)), _beside(Max(0, N_z - request))
)

missed_iteration = Formula(
    tau_miss,
    missed(tau_l, T_add, tau_l + y_z * T_add),
    title="Rest of the iteration that a request misses",
    source=OWN,
    variant=CHUNKED,
    assumes="A request that is sent as an iteration starts misses it; behind a frontend it comes at any time.",
    example=Example({y_z: 0.25, tau_l: 20, T_add: 40, T_fr: 5, K_z: 10}, "20 ms", derived="(400 + 10 * 80) / (2 * 30)"),
)

loop_wait = Formula(
    W_z,
    when(x_z > 0, _ahead, 0) + admitted(tau_l),
    title="Wait of a prompt in a closed loop",
    source=OWN,
    variant=CHUNKED,
    assumes="Where the prompts that come together fill an iteration, the others wait as behind fixed services.",
    no_example=PASSED,
)

closed_first = Formula(
    D_Z,
    when(x_z > 0, _with_others, _beside(Max(0, N_z - request))) + W_z,
    title="Prefill of a prompt in a closed loop",
    source=SARATHI,
    assumes="It begins as another request ends, with the prompts that come with it; where these fill an iteration the "
    "others wait as behind fixed services. Prompts that come evenly do not wait for each other.",
    no_example=PASSED,
)

replica_rate = Formula(
    lam_e,
    arriving(Min(when(B_e < B_Z, oo, mu_e), N_z / (T_fr + D_Z + u_ans * tau_Z))),
    title="Requests that reach one replica",
    source=LITTLE,
    variant=CHUNKED,
    example=Example(
        {Z_all: 50, N_z: 40, B_Z: 40, B_e: 40, T_fr: 0, D_Z: 200, u_ans: 100, tau_Z: 18, mu_e: 30, lam_all: 0,
         c_dep: 1},
        "20 request/s",
        derived="40 / (0.2 + 100 * 0.018)",
    ),
)  # fmt: skip

decode_batch = Formula(
    N_e,
    Piecewise((lam_e * u_ans * tau_Z, Z_all > 0), (_law("batch_size"), rho_e < 1), (B_e, True)),
    title="Requests that decode beside chunks of prompts",
    source=SARATHI,
    variant=CHUNKED,
    assumes=_LAW,
    no_example=_CHAIN,
)

batch_variance = Formula(
    V_N,
    when(OPEN, _law("batch_variance"), 0),
    title="Variance of the requests that decode beside chunks of prompts",
    source=SARATHI,
    variant=CHUNKED,
    assumes=_LAW,
    no_example=_CHAIN,
)

slot_wait_probability = Formula(
    P_s,
    when(QUEUED, _law("slot_wait_probability"), 0),
    title="Probability that a request finds every slot taken, under chunked prefill",
    source=Source("halfin1981"),
    variant=CHUNKED,
    assumes="The law of many servers, with the spread of the batch as it is. A request has a slot from its prompt on. "
    "Beyond six standard deviations nobody waits.",
    no_example=_CHAIN,
)

slot_wait_mean = Formula(
    theta_s,
    when(QUEUED, _law("slot_wait_mean"), 0 * D_Z),
    title="Mean wait of a request that finds every slot taken, under chunked prefill",
    source=Source("gross2008", "section 2.3"),
    variant=CHUNKED,
    assumes="Exponential; half as long where slots are held equally long as where that time is exponential.",
    no_example=_CHAIN,
)

burst_prompts = Formula(
    b_z,
    Max(Rational(1, 10**6), Min(RESERVED / request, room(RESERVED / 2) / s_n)),
    title="Prompts of an iteration at the start of a run",
    source=OWN,
    assumes="Half of those that have a slot decode meanwhile.",
    example=Example(
        {B_Z: 64, Z_e: 50, uncut: 0, C_b: 2025, d_a: 1, gamma_s: 0, s_n: 500}, "4", derived="(2025 - 25) / 500"
    ),
)

_beside_start = Max(0, RESERVED - b_z * request) / 2

burst_first_token = Formula(
    ttft_b,
    started(
        mixed(_beside_start, b_z * s_n) * (RESERVED / request + Max(1, b_z)) / (2 * b_z),
        RESERVED,
    ),
    title="Mean time to first token of the requests that start a run under chunked prefill",
    source=OWN,
    variant=CHUNKED,
    assumes="Their prompts fill one iteration after the other. Requests without a slot follow in waves, each as long "
    "as an answer.",
    no_example=PASSED,
)

first_token_mean = Formula(
    ttft_s,
    Piecewise((T_fr + _law("ttft_mean"), OPEN), (Z_e / lam_e - u_ans * tau_Z, mu_e > 0), (oo, True)),
    title="Mean time to first token under chunked prefill, without the start of a run",
    source=SARATHI,
    variant=CHUNKED,
    assumes=f"{_LAW} Where all slots are taken a request waits for one.",
    no_example=_CHAIN,
)

first_token_quantile = Formula(
    ttft_q[quantile],
    when(OPEN, T_fr + _law("ttft", LEVEL), ttft_s),
    title="Time to first token that a share of the requests stay below, under chunked prefill",
    source=SARATHI,
    variant=CHUNKED,
    assumes=_LAW,
    no_example=_CHAIN,
)

token_mean = Formula(
    tpot_mean,
    Piecewise((_law("tpot_mean"), OPEN), ((u_ans * tau_Z - unmet(T_st)) / FURTHER, mu_e > 0), (oo, True)),
    title="Mean time per output token under chunked prefill",
    source=SARATHI,
    variant=CHUNKED,
    assumes=f"{_LAW} Of the prompts that start a run, half are behind that of an answer.",
    no_example=_CHAIN,
)

token_quantile = Formula(
    tpot_q[quantile],
    when(OPEN, _law("tpot", LEVEL), tpot_mean),
    title="Time per output token that a share of the requests stay below, under chunked prefill",
    source=SARATHI,
    variant=CHUNKED,
    assumes=_LAW,
    no_example=_CHAIN,
)

whole_mean = Formula(
    e2e_mean,
    Piecewise(
        (T_fr + _law("e2e_mean"), OPEN),
        (when(RUN, ttft_mean + FURTHER * tpot_mean, Z_e / lam_e), mu_e > 0),
        (oo, True),
    ),
    title="Mean time from request to last token under chunked prefill",
    source=SARATHI,
    variant=CHUNKED,
    assumes=_LAW,
    no_example=_CHAIN,
)

whole_quantile = Formula(
    e2e_q[quantile],
    Piecewise((T_fr + _law("e2e", LEVEL), OPEN), (Z_e / lam_e, mu_e > 0), (oo, True)),
    title="Time from request to last token that a share of the requests stay below",
    source=SARATHI,
    variant=CHUNKED,
    assumes=_LAW,
    no_example=_CHAIN,
)

gap_quantile = Formula(
    itl_99,
    Piecewise(
        (_law("itl_p99"), OPEN),
        (mixed(N_z, Min(s_n, room(N_z))), N_z * s_n > C_it * n_out * (request / token) / 100),
        (mixed(N_z, 0), True),
    ),
    title="Time between two tokens that 99% of them stay below",
    source=SARATHI,
    variant=CHUNKED,
    assumes=f"{_LAW} In a closed loop of equal lengths requests run in step: prompts fill whole iterations.",
    no_example=_CHAIN,
)

first_in_time = Formula(
    A_1,
    Piecewise((1, T_1 <= 0), (when(ttft_s <= T_1, 1, 0), Z_all > 0), (_law("ttft_attainment"), True)),
    title="Requests whose first token is in time under chunked prefill",
    source=SARATHI,
    variant=CHUNKED,
    assumes=_LAW,
    no_example=_CHAIN,
)

token_in_time = Formula(
    A_2,
    Piecewise((1, T_2 <= 0), (when(tpot_mean <= T_2, 1, 0), Z_all > 0), (_law("tpot_attainment"), True)),
    title="Requests whose time per output token holds under chunked prefill",
    source=SARATHI,
    variant=CHUNKED,
    assumes=_LAW,
    no_example=_CHAIN,
)

last_in_time = Formula(
    A_3,
    Piecewise((1, T_3 <= 0), (when(e2e_mean <= T_3, 1, 0), Z_all > 0), (_law("e2e_attainment"), True)),
    title="Requests whose last token is in time under chunked prefill",
    source=SARATHI,
    variant=CHUNKED,
    assumes=_LAW,
    no_example=_CHAIN,
)

attainment = Formula(
    A_slo,
    Piecewise(
        (0, mu_e <= 0),
        (A_1 * A_2, T_3 <= 0),
        (Min(A_1 * A_2, A_3), Z_all > 0),
        (_law("slo_attainment"), True),
    ),
    title="SLO attainment under chunked prefill",
    source=SARATHI,
    variant=CHUNKED,
    assumes="First tokens and later ones are late independently. Of requests alike in their answers and first tokens, "
    "those whose tokens are slow end late.",
    no_example=_CHAIN,
)

replica_goodput = Formula(
    lam_g,
    Root(lam_e, -_law("slo_attainment", rate=lam_e), -q_slo, 0, NEARLY * mu_e),
    title="Goodput of a replica under chunked prefill",
    source=DISTSERVE,
    variant=CHUNKED,
    assumes="Without a target it is just below the capacity.",
    no_example=_CHAIN,
)

binding_promise = Formula(
    binds_s,
    deployment.binding(
        B_e < request,
        (label(binds_s, "Prefill capacity"), And(OPEN, rho_e >= 1, N_full <= B_e, s_n >= EACH * u_ans * token)),
        (label(binds_s, "Decode capacity"), And(OPEN, rho_e >= 1)),
    ),
    title="Bottleneck of a replica under chunked prefill",
    source=deployment.DISTSERVE,
    variant=CHUNKED,
    assumes="The slots of an overloaded engine, or the part with more tokens of full iterations; otherwise the "
    "target that fewest requests meet.",
    example=Example(
        {B_e: 16, feasible: 0, Z_all: 0, rho_e: 1.5, N_full: 10, s_n: 4096, gamma_s: 0, u_ans: 100, A_1: 0, A_2: 0,
         A_3: 1},
        "Prefill capacity",
        derived="4096 >= 100",
    ),
)  # fmt: skip

FORMULAS = (
    iteration_budget,
    prefilled_tokens,
    pair_time,
    full_batch,
    saturated_iteration,
    slot_batch,
    slot_decode_share,
    slot_capacity,
    capacity,
    closed_batch,
    prompt_chunks,
    loop_room,
    full_prompt_time,
    prompts_gathered,
    loop_step,
    added_prefill,
    closed_stalls,
    closed_step,
    missed_iteration,
    loop_wait,
    closed_first,
    replica_rate,
    decode_batch,
    batch_variance,
    slot_wait_probability,
    slot_wait_mean,
    burst_prompts,
    burst_first_token,
    first_token_mean,
    first_token_quantile,
    token_mean,
    token_quantile,
    whole_mean,
    whole_quantile,
    gap_quantile,
    first_in_time,
    token_in_time,
    last_in_time,
    attainment,
    replica_goodput,
    binding_promise,
)


def replica() -> tuple[Formula, ...]:
    """Formulas of a replica with chunked prefill."""
    return (
        serving_engines.prompt_tokens,
        serving_engines.answer_tokens,
        serving_engines.decoded_requests,
        serving_engines.undisturbed_step,
        serving_engines.tokens_per_step,
        serving_engines.answer_steps,
        serving_engines.draft_time,
        serving_engines.engine_slots,
        serving_engines.closed_context,
        serving_engines.closed_slots,
        serving_engines.replica_accelerators,
        benchmark_runs.frontend_wait,
        *benchmark_runs.GATHERED,
        benchmark_runs.first_token_mean,
        serving_load.replica_concurrency,
        serving_load.replica_load,
        deployment.deployed,
        deployment.deployed_goodput,
        deployment.goodput_each,
        deployment.generated,
        deployment.generated_each,
        deployment.promised,
        *FORMULAS,
    )
