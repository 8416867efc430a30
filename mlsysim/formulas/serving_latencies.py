"""TTFT and TPOT

Time to first token (TTFT) is a wait plus the prefill. Time per output token (TPOT) is that of the decode steps, plus
interruptions by prompts and overheads once per answer.
"""

from __future__ import annotations

from typing import Any

from sympy import And, Piecewise, Rational, exp, log, oo, sqrt

from mlsysim.formulas.continuous_batching import gamma_quantile, sixth_of_skewness, waits
from mlsysim.formulas.iteration import PASSED
from mlsysim.formulas.replica_layout import COLOCATED, DISAGGREGATED
from mlsysim.formulas.serving_engines import DISTSERVE, FURTHER, LONGEST, OPEN, ORCA, QUEUED, STEADY, WHOLE, step
from mlsysim.formulas.serving_waits import (
    BEFORE_PREFILL,
    HANDED_OVER,
    STOPPED,
    TAKEN,
    WITH_A_SLOT,
    late,
    later,
    later_varied,
)
from mlsysim.formulas.varied_lengths import (
    ANSWER_SQUARE,
    LEVEL,
    LOG_NORMAL,
    OWN,
    beyond_mean,
    law,
    share_below,
)
from mlsysim.symbolic import (
    Example,
    Formula,
    Max,
    Min,
    NormalCDF,
    NormalQuantile,
    Root,
    Source,
    request,
    when,
)
from mlsysim.symbols.chunked import cv_in, cv_out
from mlsysim.symbols.closed_loops import T_fr, ttft_s
from mlsysim.symbols.deployment import (
    D_1,
    P_D,
    V_N,
    X_1,
    X_B,
    B_e,
    D_each,
    D_w,
    E_tok,
    N_e,
    P_f,
    P_late,
    P_s,
    P_w,
    W_w,
    Z_all,
    Z_b,
    Z_e,
    b_N,
    c_a,
    cv_x,
    e2e_mean,
    lam_e,
    mu_e,
    p_v,
    psi_s,
    quantile,
    rho_D,
    rho_e,
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
    x_first,
    x_late,
    y_d,
)
from mlsysim.symbols.serving import n_out
from mlsysim.symbols.varied_lengths import S_D, D_q, T_short, cv_D, k_D, m_D, v_F, v_short, w_F, x_b, y_F

first_token_mean = Formula(
    ttft_s,
    when(STEADY, when(OPEN, T_fr + D_1 + BEFORE_PREFILL, (Z_e - N_e) / lam_e), oo),
    title="Mean time to first token, without the start of a run",
    source=DISTSERVE,
    variant=COLOCATED,
    assumes="A prompt waits for the step under way and the prompts ahead, or for a slot. In a closed loop, what is in "
    "flight and does not decode has not had its first token.",
    example=Example(
        {T_fr: 0, Z_all: 0, rho_e: 0.5, D_1: 100, W_w: 20, p_v: 0.5, tau_v: 10, P_f: 0.1, theta_s: 100, Z_e: 0, N_e: 1,
         lam_e: 1, mu_e: 4},
        "130.25 ms",
        derived="100 + 0.9 * (20 + 0.5 * 10 / 2) + 0.1 * 100",
    ),
)  # fmt: skip

#: Time that a request of a closed loop of pools spends neither decoding nor on the link, and the part of it that it
#: waits for a slot, after its first token, where all slots are taken.
_before = (Z_e - y_d * N_e) / lam_e - t_x
_slot = when(N_e >= B_e, Max(0, _before - D_1 - T_fr), 0)
#: The rest, without a difference of near numbers.
_first = when(N_e >= B_e, Min(_before, D_1 + T_fr), _before)

pool_first_token_mean = Formula(
    ttft_s,
    when(STEADY, when(OPEN, T_fr + D_w, _first), oo),
    title="Mean time to first token of a pool that prefills, without the start of a run",
    source=DISTSERVE,
    variant=DISAGGREGATED,
    example=Example(
        {T_fr: 0, Z_all: 50, mu_e: 5, rho_e: 1, D_w: 0, D_1: 60, Z_e: 50, N_e: 10, B_e: 10, y_d: 2, lam_e: 5, t_x: 10},
        "60 ms",
        derived="60",
    ),
)

#: Time to first token that a share of the requests stay below, by the tail of the wait.
BY_TAIL = T_fr + D_1 + Root(x_late, -later(x_late), LEVEL - 1, 0, tau_N + 20 * (theta_w + theta_s))

_prompts, _slots, _stalls = waits(P_w, theta_w), waits(P_f, theta_s), waits(P_s, theta_s)
#: Variance and third cumulant of the wait of a prompt that finds a slot, for others and for the step under way, which
#: is uniform where there is one; and of any prompt.
_BEGUN = _prompts[1] + tau_v**2 * (p_v / 3 - p_v**2 / 4)
_BEGUN_THIRD = _prompts[2] + tau_v**3 * p_v * (1 - p_v) ** 2 / 4
STARTED, STARTED_THIRD = (1 - P_f) * _BEGUN, (1 - P_f) * _BEGUN_THIRD
#: The same of the wait for a slot before the first token, and of the prefill of a prompt.
SLOTS, SLOTS_THIRD = _slots[1:]
PREFILL, PREFILL_THIRD = (cv_D * D_1) ** 2, k_D * D_1**3

first_token_variance = Formula(
    v_F,
    when(And(QUEUED, cv_D > 0), _BEGUN + PREFILL, 0),
    title="Variance of the time to first token of prompts that vary and find a slot",
    source=Source("gross2008", "section 1.6"),
    variant=WHOLE,
    assumes="Waits and the own prefill vary independently.",
    example=Example(
        {Z_all: 0, rho_e: 0.5, cv_D: 0.5, D_1: 100, P_w: 0.5, theta_w: 100, p_v: 0.6, tau_v: 10},
        "0.010011 s^2",
        derived="0.5 * 1.5 * 0.1**2 + 0.01**2 * (0.2 - 0.09) + 0.05**2",
    ),
)

first_token_skewness = Formula(
    y_F,
    sixth_of_skewness(v_F > 0, _BEGUN_THIRD + PREFILL_THIRD, v_F),
    title="Sixth of the skewness of the time to first token of prompts that vary and find a slot",
    source=Source("gross2008", "section 1.6"),
    variant=WHOLE,
    assumes="Never below a thousandth, where the law is normal.",
    example=Example(
        {v_F: 0.01, k_D: 4, D_1: 100, P_w: 0, theta_w: 100, p_v: 0, tau_v: 10},
        "0.66667",
        derived="4 * 0.1**3 / (6 * 0.01**1.5)",
    ),
)

first_token_law = Formula(
    w_F,
    when(v_F > 0, law(y_F), 1),
    title="Law of the time to first token of prompts that vary and find a slot",
    source=LOG_NORMAL,
    variant=WHOLE,
    assumes="A log-normal law from some least time on, with this mean, variance and skewness.",
    example=Example({v_F: 0.01, y_F: 0.6666666667}, "2", derived="2"),
)

#: A time beyond what is fixed of a prefill, over the mean, and its place in the normal law.
_beyond_fixed = Max(Rational(1, 10**9), (x_first - D_1 + m_D) / Max(m_D, D_1 / 10**9))
_longer_than: Any = NormalCDF(-(log(_beyond_fixed) + S_D / 2) / sqrt(Max(Rational(1, 10**12), S_D)))

longer_prompts = Formula(
    P_D,
    _longer_than,
    title="Prompts whose prefill alone takes longer than such a time",
    source=LOG_NORMAL,
    variant=WHOLE,
    assumes="What lengths decide of a prefill is log-normal as they are.",
    example=Example({x_first: 110, D_1: 60, m_D: 50, S_D: 0.6931471806}, "0.10586", derived="0.105863279"),
)

late_varied = Formula(
    P_late,
    late(
        when(
            w_F > 1,
            Max(P_D, 1 - share_below(v_F, w_F, x_first - WITH_A_SLOT)),
            when(x_first < WITH_A_SLOT, 1, 0),
        ),
        P_f,
    ),
    title="Requests whose first token comes after such a time, where prompts vary",
    source=LOG_NORMAL,
    variant=WHOLE,
    assumes="Who waited for a slot waits for nothing else. Nobody is sooner than the own prefill.",
    example=Example(
        {
            P_D: 0.1,
            v_F: 1,
            w_F: 2,
            D_1: 1000,
            x_first: 2000,
            D_w: 2000,
            p_v: 0,
            tau_v: 10,
            P_f: 0.5,
            theta_s: 1000,
        },
        "0.35324",
        derived="0.5 * 0.338604 + 0.5 * exp(-1)",
    ),
)

#: The law of a first token of prompts that vary, at a time.
LATE_VARIED = (longer_prompts, late_varied)

#: Beyond all quantiles of first tokens.
_SLOWEST = WITH_A_SLOT + 30 * sqrt(v_F) + 20 * theta_s

first_token_quantile = Formula(
    ttft_q[quantile],
    Piecewise(
        (ttft_s, Z_all > 0),
        (oo, rho_e >= 1),
        (T_fr + Max(D_q[quantile], WITH_A_SLOT + beyond_mean(v_F, w_F, NormalQuantile(LEVEL))), And(w_F > 1, P_f <= 0)),
        (
            T_fr + Root(x_first, -later_varied(x_first, *LATE_VARIED), LEVEL - 1, 0, _SLOWEST),
            w_F > 1,
        ),
        (BY_TAIL, True),
    ),
    title="Time to first token that a share of the requests stay below",
    source=DISTSERVE,
    variant=WHOLE,
    assumes="A closed loop is taken to have no spread. Where prompts vary, those that wait for a slot wait for nothing "
    "else.",
    no_example="a root",
)

first_stall = Formula(
    X_1,
    when(QUEUED, TAKEN * WITH_A_SLOT + X_B, 0 * D_1),
    title="Wait of a request between its prompt and its first decode step",
    source=Source("kleinrock1975", "section 5.6"),
    variant=COLOCATED,
    assumes="Prompts that came while it waited and was prefilled go first, and those that come meanwhile; of a burst "
    "more of them.",
    example=Example(
        {Z_all: 0, rho_e: 0.8, rho_D: 0.5, D_w: 350, p_v: 0, tau_v: 10, X_B: 274.35},
        "624.35 ms",
        derived="0.5 / 0.5 * 350 + 274.35",
    ),
)

#: Time from the first token of a request in a pool to where its decode steps begin.
_second = HANDED_OVER + P_s * theta_s + (1 - exp(-N_e / request)) * tau_N / 2

pool_first_stall = Formula(
    X_1,
    when(QUEUED, _second, 0 * D_1),
    title="Wait of a request between its prompt and its first decode step in a pool",
    source=Source("zhong2024", "section 3.3"),
    variant=DISAGGREGATED,
    assumes="The transfer, those ahead of it on the link, a slot of the pool that decodes, and the step under way.",
    example=Example(
        {Z_all: 0, rho_e: 0.5, cv_in: 0, t_x: 100, lam_e: 5, N_e: 0, tau_N: 20, P_s: 0.1, theta_s: 200},
        "170 ms",
        derived="100 + 50 + 0.1 * 200",
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
        ((_once - 1) * X_1 + u_ans * b_N * Max(0, Z_b / request - 1) * (_beside_short / (1 - x_b) - 1)) / FURTHER,
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

#: Decoding of a request where it takes the next slot that it needs.
_FREELY = u_ans * tau_N + X_1

full_slots_share = Formula(
    psi_s,
    when(
        And(QUEUED, _FREELY > LONGEST),
        Max(0, LONGEST - FURTHER * tpot_1) / Max(_FREELY - FURTHER * tpot_1, tpot_1 / 10**9),
        1,
    ),
    title="What others add to a request that decodes, as far as full slots leave it",
    source=OWN,
    variant=COLOCATED,
    assumes="While a request decodes each of the other slots prefills once at most.",
    example=Example(
        {Z_all: 0, rho_e: 0.5, u_ans: 100, tau_N: 20, X_1: 75, n_out: 101, tpot_1: 8, B_e: 4, mu_e: 2, D_each: 200},
        "0.7843",
        derived="(4 / 2 * 1000 - 200 - 100 * 8) / (100 * 20 + 75 - 100 * 8)",
    ),
)

token_mean = Formula(
    tpot_mean,
    when(STEADY, when(OPEN, Min(_FREELY, LONGEST), N_e / lam_e) / FURTHER + T_short, oo),
    title="Mean time per output token",
    source=ORCA,
    variant=COLOCATED,
    assumes="While a request decodes each of the other slots prefills once at most.",
    example=Example(
        {
            Z_all: 0,
            u_ans: 50,
            tau_N: 20,
            X_1: 100,
            n_out: 101,
            N_e: 1,
            lam_e: 1,
            T_short: 2,
            rho_e: 0.5,
            B_e: 16,
            mu_e: 4,
            D_each: 50,
        },
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
            y_d * N_e / lam_e + t_x + _slot,
        )
        / FURTHER
        + T_short,
        oo,
    ),
    title="Mean time per output token after a transfer",
    source=DISTSERVE,
    variant=DISAGGREGATED,
    assumes="The second token waits for the transfer, for those ahead of it on the link, for a slot, and for the step "
    "under way.",
    example=Example(
        {Z_all: 0, mu_e: 4, rho_e: 0.5, u_ans: 100, tau_N: 20, t_x: 100, lam_e: 5, N_e: 0, n_out: 101, y_d: 1,
         B_e: 16, D_1: 50, Z_e: 0, cv_in: 0, T_fr: 0, T_short: 0, P_s: 0, theta_s: 0},
        "21.5 ms",
        derived="(100 * 20 + 100 * (1 + 0.5 / (2 * 0.5))) / 100",
    ),
)  # fmt: skip

#: Changes of the batch, in the square of a time per token.
_SPREAD = (b_N / (E_tok * request)) ** 2 * V_N
#: Slow ones: the batch varies about as slowly as an answer is long.
SLOW = Rational(2, 3) * _SPREAD
#: What short answers see of changes that longer ones average over.
_SHORT = when(cv_out > 0, (1 - 1 / sqrt(ANSWER_SQUARE)) / 3 * _SPREAD, 0)


def _shared(once: Any) -> Any:
    """Variance over all tokens of the overhead once per answer, spread over the answer's tokens."""
    return when(cv_out > 0, cv_out**2 * ANSWER_SQUARE**2 * once**2, 0)


def _interrupted(once: Any, once_square: Any) -> Any:
    """Variance of the prompts' interruptions per answer, with the once-per-answer overhead so weighted."""
    return (
        TAKEN / (1 - STOPPED) ** 2 * D_each * (c_a + cv_D**2) * (u_ans * tau_v * once + D_w * once_square)
        + TAKEN**2 * P_w * (2 - P_w) * theta_w**2 * once_square
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
         theta_w: 40, cv_D: 0, cv_out: 1, X_1: 75, c_a: 1},
        "0.33590 s^2",
        derived="4 * 0.05 * (1 + 7 * 0.075) + 7 * 0.75 * 0.04**2 + 4 * 0.075**2",
    ),
)  # fmt: skip

pool_short_answer_variance = Formula(
    v_short,
    when(And(QUEUED, cv_out > 0), _shared(X_1) + (_once_square - 1) * _stalls[1], 0),
    title="What short answers add to the variance of the time per token in a pool",
    source=LOG_NORMAL,
    variant=DISAGGREGATED,
    assumes="They share the transfer and the wait for a slot among few tokens.",
    example=Example(
        {Z_all: 0, rho_e: 0.5, cv_out: 1, X_1: 150, P_s: 0, theta_s: 0},
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
        )
        * psi_s,
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
         D_w: 75, P_w: 0.5, theta_w: 40, cv_D: 0, cv_out: 0, X_1: 75, psi_s: 1, c_a: 1},
        "4.7770 ms",
        derived="(2 / 3 * 0.3**2 * 20 + (4 * 50 * (1000 + 75) + 0.5 * 1.5 * 1600) / 100**2)**0.5",
    ),
)  # fmt: skip

pool_token_spread = Formula(
    tpot_sd,
    when(
        QUEUED,
        when(
            cv_out > 0,
            sqrt(SLOW + _SHORT + (_shared(X_1) + _once_square * _stalls[1]) / FURTHER**2),
            sqrt(SLOW + _stalls[1] / FURTHER**2),
        ),
        0 * D_1,
    ),
    title="Spread of the time per output token in a pool",
    source=Source("kleinrock1975", "section 3.2"),
    variant=DISAGGREGATED,
    assumes="The batch varies about as slowly as an answer is long; short answers see all of it, and their share of "
    "the transfer and of the wait for a slot varies.",
    example=Example(
        {Z_all: 0, rho_e: 0.5, E_tok: 1, b_N: 0.3, V_N: 20, cv_out: 0, X_1: 10, n_out: 101, P_s: 0, theta_s: 0},
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
    example=Example({Z_all: 0, mu_e: 4, rho_e: 0.5, tpot_mean: 20, tpot_1: 10}, "10 ms", derived="20 - 10"),
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
        {Z_all: 0, mu_e: 4, rho_e: 0.5, tpot_mean: 20, tpot_x: 10, cv_x: 0.2},
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


FORMULAS = (
    first_token_mean,
    pool_first_token_mean,
    first_token_variance,
    first_token_skewness,
    first_token_law,
    longer_prompts,
    late_varied,
    first_token_quantile,
    first_stall,
    pool_first_stall,
    short_answers,
    pool_short_answers,
    token_mean,
    pool_token_mean,
    short_answer_variance,
    pool_short_answer_variance,
    full_slots_share,
    token_spread,
    pool_token_spread,
    undisturbed_token,
    token_excess,
    token_excess_spread,
    token_quantile,
    whole_mean,
)
#: Laws of prompts that vary, where each is prefilled whole.
OWN_PROMPT = (first_token_variance, first_token_skewness, first_token_law, short_answer_variance)
