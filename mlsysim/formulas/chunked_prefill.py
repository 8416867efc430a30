"""Chunked prefill, an estimate

An iteration takes one token of every decoding request and fills its token budget with prompts, the last of which it
cuts. There are three kinds of iterations: without prompts, with all waiting prompts, and full. Their shares follow from
conservation laws, the waits from Little's law, and the batch from a request that decodes right behind its own prompt.
"""

from __future__ import annotations

from typing import Any

from sympy import And, Piecewise, Rational, ceiling, exp, log, oo, sqrt

from mlsysim.formulas import benchmark_runs, chunked_chain, deployment, serving_latencies, serving_waits
from mlsysim.formulas.benchmark_runs import unmet
from mlsysim.formulas.chunked_chain import EACH, SARATHI, mixed
from mlsysim.formulas.deployment import best_rate, by_load
from mlsysim.formulas.iteration import PASSED
from mlsysim.formulas.replica_layout import COLOCATED
from mlsysim.formulas.serving_engines import DISTSERVE, FURTHER, LITTLE, NEARLY, OPEN, QUEUED, STEADY
from mlsysim.formulas.serving_latencies import BY_TAIL, SLOTS, SLOTS_THIRD, SLOW
from mlsysim.formulas.serving_waits import WITH_A_SLOT, late, later_varied
from mlsysim.formulas.varied_lengths import LEVEL, OWN
from mlsysim.symbolic import (
    Example,
    Formula,
    Max,
    Min,
    NormalCDF,
    NormalQuantile,
    Root,
    Source,
    evaluated_at,
    request,
    swapped,
    token,
    when,
)
from mlsysim.symbols.batching import k_T, v_T
from mlsysim.symbols.chunked import N_full, N_sl, cv_in, cv_out, mu_sl, s_n, tau_full, tau_Z
from mlsysim.symbols.chunked_prefill import (
    P_0,
    P_1,
    S_1,
    A_c,
    A_n,
    N_met,
    P_f,
    R_c,
    T_dec,
    b_c,
    c_1,
    c_g,
    c_m,
    g_1,
    k_c,
    lam_1,
    om_c,
    r_c,
    tau_1,
    tau_2,
    tau_d,
    tau_f,
    tau_m,
    tau_n,
    tau_r,
    v_1,
    v_ln,
    w_c,
    w_left,
    x_full,
)
from mlsysim.symbols.closed_loops import C_it, K_z, T_fr, T_st, ttft_s
from mlsysim.symbols.deployment import (
    A_1,
    D_1,
    T_1,
    T_3,
    X_1,
    X_B,
    B_e,
    D_w,
    E_tok,
    N_e,
    P_late,
    P_s,
    P_w,
    W_w,
    Z_all,
    Z_b,
    b_N,
    c_a,
    lam_e,
    lam_g,
    mu_e,
    p_v,
    quantile,
    r_F,
    rho_D,
    rho_e,
    scv_s,
    tau_N,
    tau_v,
    theta_s,
    theta_w,
    tpot_mean,
    tpot_sd,
    tpot_x,
    ttft_q,
    u_ans,
    x_first,
    y_w,
)
from mlsysim.symbols.iteration import gamma_s
from mlsysim.symbols.serving import n_out
from mlsysim.symbols.varied_lengths import T_short

KIND = "chunked_estimate"
#: Beyond it an exponential counts as infinite.
_LARGE = 50

short_answers = Formula(
    T_short,
    0 * D_1,
    title="What short answers add to the mean time per token of mixed iterations",
    source=OWN,
    variant=KIND,
    assumes="Nothing.",
    no_example="it is zero",
)

counted_rate = Formula(
    lam_1,
    Max(lam_e, request / (10**6 * tau_full)),
    title="Requests that reach one replica, but not none",
    source=OWN,
    variant=KIND,
    assumes="One in a million full iterations at least, so that nothing is divided by zero.",
    example=Example({lam_e: 3, tau_full: 50}, "3 request/s", derived="3"),
)

#: Tokens of prompts that come per second.
_INFLOW = lam_1 / request * s_n

#: Tokens of prompts where every iteration is full.
_FREE = C_it * s_n / (s_n + u_ans * EACH * token)

prompt_room_seen = Formula(
    A_n,
    Max(token, C_it - EACH * N_met * (token / request), _FREE / 2),
    title="Tokens of prompts beside the requests that one meets",
    source=SARATHI,
    variant=KIND,
    example=Example({C_it: 2048, N_met: 48, gamma_s: 0, s_n: 924, u_ans: 100}, "2000 token", derived="2048 - 48"),
)

full_time_seen = Formula(
    tau_n,
    mixed(N_met, A_n),
    title="Full iteration beside the requests that one meets",
    source=SARATHI,
    variant=KIND,
    no_example=PASSED,
)

#: Mean square of a prompt over the square of its mean.
_SQUARE = 1 + cv_in**2
_load_met = Min(Rational(98, 100), _INFLOW * tau_n / A_n)

full_share_of_answer = Formula(
    x_full,
    when(
        N_met < N_full,
        1 / (1 + u_ans / Max(1, Max(s_n / A_n, Rational(1, 2)) * _SQUARE / (2 * (1 - _load_met) ** 2))),
        0,
    ),
    title="Share of an answer that passes in one row of full iterations",
    source=OWN,
    variant=KIND,
    assumes="The form is chosen, not derived: a row is as long as a backlog of the queue, and the batch rises in it "
    "from its mean towards that of full iterations.",
    example=Example(
        {cv_in: 0, N_met: 50, N_full: 200, u_ans: 98, s_n: 2000, A_n: 2000, lam_1: 5, tau_n: 100},
        "0.020",
        derived="1 / (1 + 98 / 2)",
    ),
)

prompt_room = Formula(
    A_c,
    Max(token, A_n + x_full * (_FREE - A_n)),
    title="Tokens of prompts in a full iteration",
    source=SARATHI,
    variant=KIND,
    example=Example(
        {C_it: 2048, A_n: 2000, x_full: 0.1, s_n: 924, u_ans: 100, gamma_s: 0},
        "1984.8 token",
        derived="2000 - 0.1 * 152",
    ),
)

full_iteration = Formula(
    tau_f,
    (1 - x_full) * tau_n + x_full * tau_full,
    title="A full iteration",
    source=SARATHI,
    variant=KIND,
    example=Example({tau_n: 100, x_full: 0.1, tau_full: 110}, "101 ms", derived="0.9 * 100 + 0.1 * 110"),
)

prompt_load = Formula(
    rho_D,
    Min(Rational(9999, 10000), _INFLOW * tau_f / A_c),
    title="Tokens of prompts that come over those that full iterations take",
    source=OWN,
    variant=KIND,
    example=Example({lam_1: 5, s_n: 1000, tau_f: 100, A_c: 2000}, "0.25", derived="5 * 1000 * 0.1 / 2000"),
)

prompt_iterations = Formula(
    k_c,
    s_n / A_c,
    title="Full iterations that a prompt is worth",
    source=SARATHI,
    variant=KIND,
    example=Example({s_n: 5000, A_c: 2000}, "2.5", derived="5000 / 2000"),
)

_PIECES = ceiling(k_c)

last_piece = Formula(
    r_c,
    Max(0, s_n - (_PIECES - 1) * A_c),
    title="Tokens in the last iteration of a prompt alone",
    source=SARATHI,
    variant=KIND,
    example=Example({s_n: 5000, k_c: 2.5, A_c: 2000}, "1000 token", derived="5000 - 2 * 2000"),
)

decode_iteration = Formula(
    tau_d,
    mixed(N_met, 0 * token),
    title="An iteration without prompts",
    source=SARATHI,
    variant=KIND,
    no_example=PASSED,
)

last_piece_time = Formula(
    tau_r, mixed(N_met, r_c), title="Last iteration of a prompt alone", source=SARATHI, variant=KIND,
    no_example=PASSED,
)  # fmt: skip


def _coming(time: Any) -> Any:
    """Requests that arrive meanwhile."""
    return lam_1 / request * time


followed = Formula(
    om_c,
    when(cv_in > 0, 1, 1 - exp(-Min(_LARGE, _coming(_PIECES * tau_f)))),
    title="Probability that another prompt comes while one is prefilled",
    source=OWN,
    variant=KIND,
    example=Example({lam_1: 5, k_c: 2.5, tau_f: 100, cv_in: 0}, "0.77687", derived="1 - exp(-5 * 3 * 0.1)"),
)

#: Probability that a prompt comes in an iteration without any.
_START = 1 - exp(-Min(_LARGE, _coming(tau_d)))


def _ratio(time: Any) -> Any:
    return _START * exp(Min(_LARGE, _coming(time)))


_GROWN = _INFLOW * (tau_r - tau_d) / s_n * (1 - _coming(tau_d) / _ratio(tau_r))

gathered_tokens = Formula(
    c_g,
    when(
        k_c < 1,
        Min(
            20 * A_c,
            Max(
                s_n / 10,
                s_n + (_INFLOW * (tau_d / _ratio(tau_r) + tau_r) - s_n) / Max(Rational(1, 20), 1 - _GROWN),
            ),
        ),
        s_n,
    ),
    title="Tokens of prompts in an iteration without a budget that has any",
    source=OWN,
    variant=KIND,
    assumes="What comes in one iteration is taken by the next: one step of Newton's method from a single prompt.",
    example=Example(
        {k_c: 0.5, s_n: 1000, A_c: 2000, lam_1: 5, tau_d: 20, tau_r: 60},
        "1082.1 token",
        derived="1000 + (5000 * (0.02 / 0.128456 + 0.06) - 1000) / (1 - 0.2 * (1 - 0.1 / 0.128456))",
    ),
)

cleared_tokens = Formula(
    c_1,
    Min(
        A_c,
        Max(
            Min(s_n, A_c / 50),
            when(k_c < 1, c_g, (1 - om_c) * r_c + om_c * s_n) - om_c * A_c / (exp(Min(_LARGE, A_c / c_g)) - 1),
        ),
    ),
    title="Tokens of prompts in an iteration that takes all that wait",
    source=OWN,
    variant=KIND,
    assumes="What gathers is exponential and cut at the budget; a prompt alone leaves its last piece.",
    example=Example(
        {A_c: 2000, k_c: 0.5, om_c: 0.5, c_g: 1000, s_n: 1000, r_c: 1000},
        "843.48 token",
        derived="1000 - 0.5 * 2000 / (exp(2) - 1)",
    ),
)

clearing_time = Formula(
    tau_1, mixed(N_met, c_1), title="An iteration that takes all prompts that wait", source=SARATHI, variant=KIND,
    no_example=PASSED,
)  # fmt: skip

clearing_ratio = Formula(
    g_1,
    _ratio(tau_1),
    title="Iterations that take all prompts that wait, over those without prompts",
    source=OWN,
    variant=KIND,
    assumes="An iteration without prompts follows one that took all, or one without, in which none comes.",
    example=Example({lam_1: 5, tau_d: 20, tau_1: 100}, "0.15690", derived="(1 - exp(-0.1)) * exp(0.5)"),
)

#: Tokens of prompts that a full iteration takes beyond those that come meanwhile, and those that others leave to it.
_taken, _left = A_c * (1 - rho_D), Max(0, _INFLOW * (tau_d + g_1 * tau_1) - g_1 * c_1)

empty_share = Formula(
    P_0,
    _taken / ((1 + g_1) * _taken + _left),
    title="Iterations without prompts",
    source=OWN,
    variant=KIND,
    assumes="As many tokens of prompts are taken as come.",
    example=Example(
        {A_c: 2000, rho_D: 0.25, g_1: 0.2, c_1: 900, lam_1: 5, s_n: 1000, tau_d: 20, tau_1: 40},
        "0.83333",
        derived="1 / 1.2",
    ),
)

clearing_share = Formula(
    P_1,
    g_1 * P_0,
    title="Iterations that take all prompts that wait",
    source=OWN,
    variant=KIND,
    example=Example({g_1: 0.2, P_0: 0.8}, "0.16", derived="0.2 * 0.8"),
)

full_share = Formula(
    P_f,
    Max(0, _left / ((1 + g_1) * _taken + _left)),
    title="Iterations that are full",
    source=OWN,
    variant=KIND,
    example=Example(
        {A_c: 2000, rho_D: 0.25, g_1: 0.2, c_1: 300, lam_1: 5, s_n: 1000, tau_d: 20, tau_1: 40},
        "0.042553",
        derived="80 / (1.2 * 2000 * 0.75 + 80)",
    ),
)

iteration_mean = Formula(
    tau_m,
    P_0 * tau_d + P_1 * tau_1 + P_f * tau_f,
    title="An iteration, mean",
    source=OWN,
    variant=KIND,
    example=Example(
        {P_0: 0.8, tau_d: 20, P_1: 0.15, tau_1: 40, P_f: 0.05, tau_f: 100},
        "27 ms",
        derived="0.8 * 20 + 0.15 * 40 + 0.05 * 100",
    ),
)

iteration_second_moment = Formula(
    tau_2,
    P_0 * tau_d**2 + P_1 * tau_1**2 + P_f * tau_f**2,
    title="The square of an iteration, mean",
    source=OWN,
    variant=KIND,
    example=Example(
        {P_0: 0.8, tau_d: 20, P_1: 0.15, tau_1: 40, P_f: 0.05, tau_f: 100},
        "1060 ms^2",
        derived="0.8 * 20**2 + 0.15 * 40**2 + 0.05 * 100**2",
    ),
)

prompt_tokens_mean = Formula(
    c_m,
    P_1 * c_1 + P_f * A_c,
    title="Tokens of prompts in an iteration, mean",
    source=OWN,
    variant=KIND,
    example=Example({P_1: 0.15, c_1: 1000, P_f: 0.05, A_c: 2000}, "250 token", derived="0.15 * 1000 + 0.05 * 2000"),
)

prompt_token_growth = Formula(
    b_c,
    Max(0, tau_1 - tau_d) / c_1,
    title="What one token of a prompt adds to an iteration",
    source=OWN,
    variant=KIND,
    example=Example({tau_1: 40, tau_d: 20, c_1: 1000}, "0.02 ms/token", derived="20 / 1000"),
)

_AGAIN = Min(Rational(97, 100), _INFLOW * b_c)

cleared_variance = Formula(
    v_1,
    Min(
        c_1 * (A_c - c_1),
        when(
            k_c < 1,
            Max(
                s_n * Max(0, c_1 - s_n) + s_n**2 * cv_in**2,
                (c_m**2 + s_n * _SQUARE * _INFLOW * tau_m / (1 - _AGAIN**2) - P_1 * c_1**2 - P_f * A_c**2) / P_1,
            ),
            om_c * c_1**2 / 3,
        ),
    ),
    title="Variance of the tokens of prompts of an iteration that clears",
    source=OWN,
    variant=KIND,
    assumes="What comes in one iteration makes the next one longer; the last pieces of long prompts are uniform.",
    example=Example(
        {
            cv_in: 0,
            c_1: 1100,
            A_c: 2000,
            k_c: 0.5,
            om_c: 0.5,
            s_n: 1000,
            c_m: 265,
            lam_1: 5,
            tau_m: 27,
            b_c: 0.02,
            P_1: 0.15,
            P_f: 0.05,
        },
        "100000 token^2",
        derived="1000 * (1100 - 1000)",
    ),
)

prompt_token_time = Formula(
    w_c,
    P_1 * (c_1 * tau_1 + b_c * v_1) + P_f * A_c * tau_f,
    title="Tokens of prompts of an iteration times its length",
    source=OWN,
    variant=KIND,
    example=Example(
        {P_1: 0.15, c_1: 1000, tau_1: 40, b_c: 0.02, v_1: 50000, P_f: 0.05, A_c: 2000, tau_f: 100},
        "16.150 token*s",
        derived="(0.15 * (1000 * 40 + 0.02 * 50000) + 0.05 * 2000 * 100) / 1000",
    ),
)

waiting_tokens = Formula(
    R_c,
    Max(0, s_n * _SQUARE * _INFLOW * tau_m + _INFLOW**2 * tau_2 - P_1 * (c_1**2 + v_1) - P_f * A_c**2)
    / (2 * A_c * (1 - rho_D)),
    title="Tokens of prompts that an iteration leaves",
    source=OWN,
    variant=KIND,
    assumes="Arrivals are Poisson's. The identity is exact for what the shares are.",
    example=Example(
        {s_n: 1000, cv_in: 0, lam_1: 10, tau_m: 27, tau_2: 1060, P_1: 0.15, c_1: 900, v_1: 50000, P_f: 0.05, A_c: 2000,
         rho_D: 0.5},
        "23.5 token",
        derived="(1000 * 10000 * 0.027 + 10000**2 * 0.00106 - 0.15 * (900**2 + 50000) - 0.05 * 2000**2) / 2000",
    ),
)  # fmt: skip

prompt_time = Formula(
    D_1,
    (_PIECES - 1) * tau_f + tau_r,
    title="Prefill of one prompt in pieces",
    source=SARATHI,
    variant=KIND,
    example=Example({k_c: 2.5, tau_f: 100, tau_r: 60}, "260 ms", derived="2 * 100 + 60"),
)

#: Several prompts to an iteration: as many wait as their tokens say, and half of one where one is cut.
_SHORT = (
    R_c * tau_f + w_c - P_1 * b_c * Min(v_1, cv_in**2 * s_n * c_1) + P_f * s_n * tau_f * Max(0, 1 - cv_in**2) / 2
) / c_m
#: Prompts that differ: beside one, as many as exponential ones would be.
_VARIED = ((P_1 * tau_1 + P_f * tau_f) * s_n + rho_D * (R_c * tau_f + w_c)) / c_m

prompt_sojourn = Formula(
    S_1,
    Piecewise(
        (_SHORT, And(k_c < 1, cv_in <= 0)),
        ((1 - k_c) * _SHORT + k_c * _VARIED, k_c < 1),
        (_VARIED, cv_in > 0),
        (
            (R_c * tau_f + w_c) / c_m
            + (1 - om_c) * (_PIECES - 1) * ((_PIECES - 2) / 2 * tau_f + tau_r) / k_c
            + om_c * k_c / 2 * tau_f,
            True,
        ),
    ),
    title="Time of a prompt after the iteration that it finds",
    source=LITTLE,
    variant=KIND,
    assumes="The prompts that wait or are cut, over the rate at which they come. Of the one that is cut half is left "
    "where prompts follow each other. Between short and long prompts of varied lengths the number is mixed.",
    example=Example(
        {
            R_c: 20,
            tau_f: 100,
            w_c: 16150,
            c_m: 250,
            k_c: 0.5,
            P_f: 0.05,
            s_n: 1000,
            om_c: 0.5,
            tau_r: 60,
            cv_in: 0,
            P_1: 0.15,
            b_c: 0.02,
            v_1: 50000,
            c_1: 1000,
            rho_D: 0.25,
            tau_1: 40,
        },
        "82.6 ms",
        derived="(20 * 100 + 16150) / 250 + 0.05 * 1000 * 100 / (2 * 250)",
    ),
)

left_tokens = Formula(
    w_left,
    when(
        k_c < 1,
        _INFLOW * w_c / c_m + R_c * A_c / c_m,
        Max(0, _INFLOW * (tau_2 / (2 * tau_m) + S_1) - Max(0, 1 - P_1 * s_n / c_m) * A_c / 2),
    ),
    title="Tokens of prompts that wait when a prompt is done",
    source=LITTLE,
    variant=KIND,
    assumes="Those that came during the stay of the prompt; in a full iteration half of the next one is taken.",
    example=Example(
        {
            k_c: 0.5,
            lam_1: 5,
            s_n: 1000,
            w_c: 16150,
            c_m: 250,
            R_c: 20,
            A_c: 2000,
            tau_2: 1060,
            tau_m: 27,
            S_1: 80,
            P_1: 0.15,
        },
        "483 token",
        derived="5000 * 16.15 / 250 + 20 * 2000 / 250",
    ),
)

behind_prompt = Formula(
    X_1,
    Max(0, (tau_m - tau_d) / (_INFLOW * tau_d) * (w_left - R_c - c_m)),
    title="What a request meets behind its own prompt beyond the mean",
    source=OWN,
    variant=KIND,
    assumes="It meets the prompts that its own left behind. Each token of them beyond the mean prolongs the decoding "
    "by the same, until the queue is as it always is.",
    example=Example(
        {tau_m: 27, tau_d: 20, lam_1: 5, s_n: 1000, w_left: 483, R_c: 20, c_m: 250},
        "14.91 ms",
        derived="7 / (5 * 20) * 213",
    ),
)

decode_time = Formula(
    T_dec,
    u_ans * tau_m + X_1,
    title="Time of a request from its first token to its last",
    source=OWN,
    variant=KIND,
    example=Example({u_ans: 100, tau_m: 27, X_1: 15}, "2715 ms", derived="100 * 27 + 15"),
)

#: What follows from the requests that decode beside a prompt.
_MIX = (
    prompt_room_seen,
    full_time_seen,
    full_share_of_answer,
    prompt_room,
    full_iteration,
    prompt_load,
    prompt_iterations,
    last_piece,
    decode_iteration,
    last_piece_time,
    followed,
    gathered_tokens,
    cleared_tokens,
    clearing_time,
    clearing_ratio,
    empty_share,
    clearing_share,
    full_share,
    iteration_mean,
    iteration_second_moment,
    prompt_tokens_mean,
    prompt_token_growth,
    cleared_variance,
    prompt_token_time,
    waiting_tokens,
    prompt_time,
    prompt_sojourn,
    left_tokens,
    behind_prompt,
    decode_time,
)

decode_batch = Formula(
    N_e,
    Piecewise(
        (lam_e * u_ans * tau_Z, Z_all > 0),
        (
            Root(
                N_e,
                N_e,
                lam_e * evaluated_at(T_dec, {N_met: N_e + request}, _MIX),
                0,
                Min(B_e, N_full),
            ),
            rho_e < 1,
        ),
        (Min(B_e, N_full), True),
    ),
    title="Requests that decode together in mixed iterations",
    source=LITTLE,
    variant=KIND,
    assumes="A request meets the others and itself.",
    no_example=PASSED,
)

batch_seen = Formula(
    N_met,
    N_e + request,
    title="Requests that decode, as one of them meets them",
    source=OWN,
    variant=KIND,
    example=Example({N_e: 10}, "11 request", derived="10 + 1"),
)

step_at_load = Formula(
    tau_N,
    when(STEADY, tau_m, oo),
    title="Iteration that a request meets",
    source=OWN,
    variant=KIND,
    example=Example({Z_all: 0, mu_e: 4, rho_e: 0.5, tau_m: 27}, "27 ms", derived="27"),
)

step_growth = Formula(
    b_N,
    when(STEADY, Max(0, evaluated_at(tau_m, {N_met: N_met + request}, _MIX) - tau_m), 0),
    title="What one more request adds to an iteration",
    source=OWN,
    variant=KIND,
    no_example=PASSED,
)

bunch = Formula(
    Z_b,
    request * (tau_m / tau_d) ** 2,
    title="Requests that start to decode together in mixed iterations",
    source=Source("kleinrock1975", "section 5.6"),
    variant=KIND,
    assumes="Prompts make iterations longer, in which more prompts come: the variance of their number over its mean.",
    example=Example({tau_m: 30, tau_d: 20}, "2.25 request", derived="(30 / 20)**2"),
)

prompt_wait = Formula(
    W_w,
    when(OPEN, Max(0, S_1 - D_1), 0),
    title="Mean wait for the prompts ahead in mixed iterations",
    source=LITTLE,
    variant=KIND,
    example=Example({Z_all: 0, S_1: 120, D_1: 100}, "20 ms", derived="120 - 100"),
)

wait_scale = Formula(
    theta_w,
    when(cv_in > 0, Max(W_w / rho_D, tau_d / 1000), k_c * tau_f / y_w),
    title="Time over which the wait for prompts ahead decays in full iterations",
    source=Source("kleinrock1975", "section 2.5"),
    variant=KIND,
    assumes="With prompts of one length that of fixed services, else that of exponential ones.",
    example=Example(
        {k_c: 2.5, tau_f: 40, y_w: 1.25, cv_in: 0, W_w: 20, rho_D: 0.5, tau_d: 20}, "80 ms", derived="2.5 * 40 / 1.25"
    ),
)

_IDLE = exp(-Min(_LARGE, N_e / request)) * P_0 * tau_d**2 / tau_2

iteration_wait = Formula(
    p_v,
    when(OPEN, 1 - _IDLE, 0),
    title="Probability that a prompt finds an iteration under way",
    source=OWN,
    variant=KIND,
    assumes="An engine without prompts is idle where nothing decodes, as Poisson's law has it.",
    example=Example(
        {Z_all: 0, N_e: 2, P_0: 0.8, tau_d: 20, tau_2: 1060}, "0.95914", derived="1 - exp(-2) * 0.8 * 400 / 1060"
    ),
)

#: Share of the decode steps in the time of iterations where all slots are taken.
_stepping = Min(1, mu_sl * mixed(N_sl, 0) * (u_ans + 1) / Max(request, B_e))

slot_time_variation = Formula(
    scv_s,
    (cv_out * _stepping) ** 2 + (cv_in * (1 - _stepping)) ** 2,
    title="Squared coefficient of variation of what a request takes of the slots beside chunks of prompts",
    source=OWN,
    variant=KIND,
    assumes="Its prompt, and its share of the decode steps in proportion to its answer.",
    no_example=PASSED,
)

found_iteration = Formula(
    tau_v,
    tau_2 / tau_m,
    title="Iteration that a prompt finds",
    source=Source("kleinrock1975", "section 5.2"),
    variant=KIND,
    assumes="It is found in proportion to its length.",
    example=Example({tau_2: 1060, tau_m: 27}, "39.259 ms", derived="1060 / 27"),
)

#: Mean time to first token beyond a decode step, of requests that find a slot.
_LATER = Max(WITH_A_SLOT - tau_d, tau_d / 10**9)

token_mean = Formula(
    tpot_mean,
    when(STEADY, when(OPEN, u_ans * tau_N + X_1, N_e / lam_e - unmet(T_st)) / FURTHER + T_short, oo),
    title="Mean time per output token beside chunks of prompts",
    source=SARATHI,
    variant=KIND,
    example=Example(
        {Z_all: 0, mu_e: 4, rho_e: 0.5, u_ans: 50, tau_N: 20, X_1: 100, n_out: 101, N_e: 1, lam_e: 1, T_short: 2,
         K_z: 0, T_st: 0},
        "13 ms",
        derived="(50 * 20 + 100) / 100 + 2",
    ),
)  # fmt: skip

token_spread = Formula(
    tpot_sd,
    when(
        QUEUED,
        sqrt(
            SLOW
            + Min(
                Max(0, tau_2 - tau_m**2),
                tau_m * (tau_m - tau_d) ** 2 / (tau_d**2 * u_ans * lam_1 / request),
            )
            / E_tok**2
        ),
        0 * D_1,
    ),
    title="Spread of the time per output token in mixed iterations",
    source=Source("kleinrock1975", "section 5.6"),
    variant=KIND,
    assumes="The batch varies about as slowly as an answer is long. Prompts that come meanwhile prolong the answer for "
    "as long as prompts follow each other; an answer never varies more than a single iteration.",
    no_example="a spread of the batch",
)

first_token_log_variance = Formula(
    v_ln,
    log(
        1
        + ((cv_in * (D_1 - tau_d)) ** 2 + p_v * (4 - 3 * p_v) / 12 * tau_v**2 + P_w * (2 - P_w) * theta_w**2)
        / _LATER**2
    ),
    title="Variance of the logarithm of the time to first token beyond a decode step, of requests that find a slot",
    source=OWN,
    variant=KIND,
    assumes="Own prefill, the rest of an iteration, and the waits are independent; prefill grows with the prompt.",
    example=Example(
        {cv_in: 1, D_1: 100, tau_d: 20, p_v: 1, tau_v: 24, P_w: 0, theta_w: 10, D_w: 108},
        "0.49762",
        derived="log(1 + (80**2 + 24**2 / 12) / 100**2)",
    ),
)


#: Beyond all quantiles of first tokens.
_SLOWEST = tau_d + _LATER * exp(4 * sqrt(v_ln)) + 20 * theta_s
_over = log(Max(x_first - tau_d, tau_d / 10**6) / _LATER)

late_varied = Formula(
    P_late,
    when(x_first > tau_d, late(NormalCDF(-(_over + v_ln / 2) / sqrt(v_ln)), P_s), 1),
    title="Requests whose first token comes after such a time, in mixed iterations where prompts vary",
    source=OWN,
    variant=KIND,
    assumes="Who waited for a slot waits for nothing else.",
    example=Example(
        {D_1: 100, x_first: 200, tau_d: 20, D_w: 200, p_v: 0, tau_v: 10, v_ln: 0.25, P_s: 0.5, theta_s: 100},
        "0.38459",
        derived="0.5 * 0.401294 + 0.5 * exp(-1)",
    ),
)

first_token_quantile = Formula(
    ttft_q[quantile],
    Piecewise(
        (ttft_s, Z_all > 0),
        (oo, rho_e >= 1),
        (T_fr + tau_d + _LATER * exp(NormalQuantile(LEVEL) * sqrt(v_ln) - v_ln / 2), And(cv_in > 0, P_s <= 0)),
        (
            T_fr + Root(x_first, -later_varied(x_first, late_varied), LEVEL - 1, 0, _SLOWEST),
            cv_in > 0,
        ),
        (BY_TAIL, True),
    ),
    title="Time to first token that a share of the requests stay below, in mixed iterations",
    source=OWN,
    variant=KIND,
    assumes="With prompts of one length a tail of the wait, else a log-normal law of those that find a slot; "
    "the others wait for nothing else.",
    no_example="a root",
)

first_in_time = Formula(
    A_1,
    Piecewise(
        (1, T_1 <= 0),
        (1 - later_varied(T_1 - T_fr, late_varied), And(cv_in > 0, QUEUED)),
        *deployment.ALIKE_IN_TIME,
    ),
    title="Requests whose first token is in time in mixed iterations",
    source=OWN,
    variant=KIND,
    assumes="As the quantiles.",
    no_example="the tail of a wait",
)

#: What the time to the first token adds to the variance of whole requests: that of those that find a slot, and of all.
_SLOTTED = (exp(v_ln) - 1) * _LATER**2
_FIRST = _SLOTTED + SLOTS
#: Square of the time from the first token to the last, for answers that vary.
_ANSWERS = (cv_out * n_out / token * tpot_mean) ** 2

whole_variance = Formula(
    v_T,
    when(QUEUED, _FIRST + (FURTHER * tpot_sd) ** 2 + _ANSWERS, oo),
    title="Variance of the time from request to last token in mixed iterations",
    source=OWN,
    variant=KIND,
    assumes="First tokens and later ones vary independently.",
    no_example="a spread of first tokens",
)

whole_third_cumulant = Formula(
    k_T,
    when(
        QUEUED,
        (exp(v_ln) - 1) * (exp(v_ln) + 2) * _SLOTTED * _LATER
        + SLOTS_THIRD
        + 2 * FURTHER**3 * tpot_sd**4 / tpot_x
        + cv_out**2 * (3 + cv_out**2) * _ANSWERS * (n_out / token) * tpot_mean,
        oo,
    ),
    title="Third cumulant of the time from request to last token in mixed iterations",
    source=OWN,
    variant=KIND,
    assumes="First tokens follow a log-normal law, what others add to a token a gamma law.",
    no_example="a spread of first tokens",
)

first_correlation = Formula(
    r_F,
    when(And(T_3 > 0, QUEUED), sqrt(Min(NEARLY, _FIRST / v_T)), 0),
    title="Correlation of the first token with the last in mixed iterations",
    source=OWN,
    variant=KIND,
    no_example="a spread of first tokens",
)


burst_stall = Formula(
    X_B,
    0 * D_1,
    title="Prefills of a burst that stop a request, in mixed iterations",
    source=OWN,
    variant=KIND,
    assumes="Arrivals are Poisson's.",
    no_example="it is zero",
)

poisson_arrivals = Formula(
    c_a,
    Rational(1),
    title="Variation of the times between requests of mixed iterations",
    source=OWN,
    variant=KIND,
    assumes="Arrivals are Poisson's.",
    no_example="it is one",
)

#: Laws of prompts that are prefilled whole.
_OWN_PROMPT = tuple(
    formula.name
    for formula in (*serving_latencies.OWN_PROMPT, serving_waits.poisson_wait_scale, serving_waits.poisson_wait)
)
#: What follows from the load, where it differs from a replica that prefills and decodes by turns.
_LOADED = (
    short_answers,
    counted_rate,
    *_MIX,
    decode_batch,
    batch_seen,
    step_at_load,
    step_growth,
    bunch,
    prompt_wait,
    wait_scale,
    iteration_wait,
    slot_time_variation,
    found_iteration,
    token_mean,
    token_spread,
    first_token_log_variance,
    first_token_quantile,
    first_in_time,
    whole_variance,
    whole_third_cumulant,
    first_correlation,
    burst_stall,
    poisson_arrivals,
)

replica_goodput = Formula(
    lam_g,
    best_rate(swapped(by_load(COLOCATED), _LOADED, _OWN_PROMPT), {tau_Z: request / mu_e, T_st: 0}),
    title="Goodput of a replica of mixed iterations",
    source=DISTSERVE,
    variant=KIND,
    assumes="Without a target it is just below the capacity.",
    no_example="a root",
)

FORMULAS = (late_varied, *_LOADED, replica_goodput)


def replica() -> tuple[Formula, ...]:
    """Formulas of a replica with mixed iterations, in closed form."""
    saturated = (
        chunked_chain.iteration_budget,
        chunked_chain.prefilled_tokens,
        chunked_chain.full_batch,
        chunked_chain.saturated_iteration,
        chunked_chain.slot_batch,
        chunked_chain.slot_decode_share,
        chunked_chain.slot_capacity,
        chunked_chain.capacity,
        chunked_chain.closed_batch,
        chunked_chain.prompt_chunks,
        *benchmark_runs.GATHERED,
        chunked_chain.loop_room,
        chunked_chain.full_prompt_time,
        chunked_chain.prompts_gathered,
        chunked_chain.loop_step,
        chunked_chain.added_prefill,
        chunked_chain.closed_stalls,
        chunked_chain.missed_iteration,
        chunked_chain.loop_wait,
        chunked_chain.closed_first,
        chunked_chain.closed_step,
        chunked_chain.replica_rate,
        chunked_chain.burst_prompts,
        chunked_chain.burst_first_token,
        chunked_chain.binding_promise,
    )
    return swapped(deployment.replica(), (*saturated, *_LOADED, replica_goodput), _OWN_PROMPT)
