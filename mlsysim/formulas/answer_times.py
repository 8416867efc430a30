"""End-to-end latency and gaps between tokens

End-to-end latency is the time from the arrival of a request to its last token; a gap is the time between two of its
tokens. The cumulants of waiting and decoding add. A gap is a decode step plus the prompts prefilled between two steps;
the first gap of an answer also contains the prompts that arrived while its own prompt waited.
"""

from __future__ import annotations

from sympy import And, Rational, exp, floor, log, oo, sqrt

from mlsysim.formulas.benchmark_runs import RUN
from mlsysim.formulas.continuous_batching import beyond_mean, gamma_quantile, sixth_of_skewness
from mlsysim.formulas.replica_layout import COLOCATED, DISAGGREGATED
from mlsysim.formulas.serving_engines import FURTHER, NEARLY, OPEN, ORCA, QUEUED, STEADY
from mlsysim.formulas.serving_latencies import PREFILL, PREFILL_THIRD, SLOTS, SLOTS_THIRD, STARTED, STARTED_THIRD
from mlsysim.formulas.serving_waits import HANDED_OVER, STOPPED, WITH_A_SLOT, bunched
from mlsysim.formulas.varied_lengths import LEVEL, LOG_NORMAL, law
from mlsysim.formulas.varied_lengths import beyond_mean as log_normal_beyond
from mlsysim.symbolic import Example, Formula, Max, Min, NormalQuantile, Source, by_member, request, token, when
from mlsysim.symbols.batching import k_T, v_T, y_T
from mlsysim.symbols.chunked import cv_in, cv_out
from mlsysim.symbols.closed_loops import K_z, ttft_s
from mlsysim.symbols.deployment import (
    D_1,
    V_N,
    P_f,
    P_gap,
    P_w,
    Z_all,
    b_N,
    c_a,
    c_gap,
    e2e_mean,
    e2e_q,
    gap,
    itl_99,
    l_gap,
    lam_e,
    m_gap,
    mu_e,
    n_gap,
    p_v,
    quantile,
    rho_D,
    rho_e,
    t_gap,
    t_x,
    tau_N,
    tau_v,
    theta_s,
    theta_w,
    tpot_mean,
    tpot_sd,
    tpot_x,
    ttft_mean,
    ttft_q,
    u_ans,
    x_end,
    x_gap,
)
from mlsysim.symbols.serving import n_out
from mlsysim.symbols.varied_lengths import T_short, cv_D, k_D, v_short, w_T

BOREL = Source("consul1973")
GAMMA = Source("wilson1931")
#: Lengths of prompts or answers vary.
_VARIED = cv_in + cv_out > 0
#: Square of the time from the first token to the last, for answers that vary.
_ANSWERS = cv_out**2 * (n_out / token * (tpot_mean - T_short)) ** 2

#: Variance of the decoding of a mean answer; where slots are full nothing of others may be left in it.
_TOKENS = Max(0, (FURTHER * tpot_sd) ** 2 - v_short)

#: What the time to the first token adds to that variance.
FIRST_PART = STARTED + SLOTS + when(_VARIED, PREFILL, 0)

whole_variance = Formula(
    v_T,
    when(QUEUED, STARTED + SLOTS + _TOKENS + when(_VARIED, PREFILL + _ANSWERS, 0), oo),
    title="Variance of the time from request to last token",
    source=Source("gross2008", "section 1.6"),
    variant="deployment",
    assumes="First tokens and later ones vary independently.",
    example=Example(
        {Z_all: 0, rho_e: 0.5, P_w: 0.5, theta_w: 100, p_v: 0.6, tau_v: 10, P_f: 0, theta_s: 0, n_out: 101,
         tpot_sd: 1, cv_in: 0, cv_out: 0, cv_D: 0, D_1: 50, tpot_mean: 9, T_short: 0, v_short: 0},
        "0.017511 s^2",
        derived="0.5 * 1.5 * 0.1**2 + 0.01**2 * (0.2 - 0.09) + (100 * 0.001)**2",
    ),
)  # fmt: skip

whole_third_cumulant = Formula(
    k_T,
    when(
        QUEUED,
        STARTED_THIRD
        + SLOTS_THIRD
        + when(
            v_short > 0,
            2 * _TOKENS**2 / (FURTHER * tpot_x),
            2 * FURTHER**3 * tpot_sd**4 / tpot_x,
        )
        + when(
            _VARIED,
            PREFILL_THIRD + cv_out**2 * (3 + cv_out**2) * _ANSWERS * (n_out / token) * (tpot_mean - T_short),
            0,
        ),
        oo,
    ),
    title="Third cumulant of the time from request to last token",
    source=Source("gross2008", "section 1.6"),
    variant="deployment",
    assumes="What others add to a token follows a gamma law, lengths a log-normal one.",
    example=Example(
        {Z_all: 0, rho_e: 0.5, P_w: 0.5, theta_w: 100, p_v: 0.6, tau_v: 10, P_f: 0, theta_s: 0, n_out: 101,
         tpot_sd: 1, tpot_x: 2, cv_in: 0, cv_out: 0, k_D: 0, D_1: 50, tpot_mean: 9, T_short: 0, v_short: 0},
        "0.0027500 s^3",
        derived="2 * 0.5 * 1.75 * 0.1**3 + 0.01**3 * 0.6 * 0.16 / 4 + 2 * 100**3 * 0.001**4 / 0.002",
    ),
)  # fmt: skip

whole_skewness = Formula(
    y_T,
    sixth_of_skewness(QUEUED),
    title="Sixth of the skewness of the time from request to last token",
    source=GAMMA,
    variant="deployment",
    assumes="Never below a thousandth, where the law is normal.",
    example=Example(
        {Z_all: 0, rho_e: 0.5, k_T: 0.1, v_T: 0.25}, "0.13333", derived="max(0.1 / (6 * 0.25**1.5), 0.001)"
    ),
)

whole_law = Formula(
    w_T,
    when(And(QUEUED, _VARIED), law(y_T), 1),
    title="Law of the time from request to last token where lengths vary",
    source=LOG_NORMAL,
    variant="deployment",
    assumes="A log-normal law from some least time on, with this mean, variance and skewness.",
    example=Example({Z_all: 0, rho_e: 0.5, cv_in: 0, cv_out: 1, y_T: 0.6666666667}, "2", derived="2"),
)

whole_beyond = Formula(
    x_end[quantile],
    when(
        QUEUED,
        when(w_T > 1, log_normal_beyond(v_T, w_T, NormalQuantile(LEVEL)), beyond_mean(NormalQuantile(LEVEL))),
        when(And(RUN, mu_e > 0), ttft_s - ttft_mean, 0),
    ),
    title="Quantiles of the time from request to last token, beyond its mean",
    source=GAMMA,
    variant="deployment",
    assumes="A gamma law with these cumulants, where lengths vary a log-normal one. A closed loop is taken to have no "
    "spread, and its quantiles leave the start of a run out.",
    example=Example(
        {Z_all: 0, K_z: 0, ttft_s: 0, ttft_mean: 0, mu_e: 4, rho_e: 0.5, v_T: 0.25, y_T: 0.2, w_T: 1},
        "666.2 ms",
        derived="500 * ((1 + (1.2815516 - 0.2) * 0.2)**3 - 1) / (3 * 0.2)",
        member="p90",
    ),
)

whole_quantile = Formula(
    e2e_q[quantile],
    Max(ttft_q[quantile], e2e_mean + x_end[quantile]),
    title="Time from request to last token that a share of the requests stay below",
    source=GAMMA,
    variant="deployment",
    assumes="No share of the requests ends before the same share has its first token.",
    accuracy="Of a simulation with fixed lengths: in pools -8% to +5% at 99%, in engines that do both -19% to +15%.",
    example=Example(
        {ttft_q["p90"]: 100, e2e_mean: 900, x_end["p90"]: 666}, "1566 ms", derived="900 + 666", member="p90"
    ),
)

#: Prompts that come meanwhile stop an engine as well; in a closed loop nobody sends one while it is stopped.
_more = when(OPEN, STOPPED, 0)

stopping_prompts = Formula(
    l_gap[gap],
    by_member(
        between=lam_e * when(OPEN, tau_v, tau_N) / request,
        first=when(OPEN, lam_e * WITH_A_SLOT / request, 0),
    ),
    title="Prompts that come within a decode step, or while a prompt waits and is prefilled",
    source=ORCA,
    example=Example({Z_all: 0, lam_e: 2, tau_v: 20, tau_N: 30}, "0.04", derived="2 * 0.02", member="between"),
)

stop_probability = Formula(
    P_gap[gap],
    1 - exp(-l_gap[gap] / (1 + bunched(l_gap[gap]))),
    title="Probability of a prompt in a gap",
    source=ORCA,
    assumes="Prompts of a burst come together, so that fewer gaps have one.",
    example=Example({l_gap["between"]: 0.5, c_a: 1}, "0.39347", derived="1 - exp(-0.5)", member="between"),
)

long_share = Formula(
    x_gap[gap],
    by_member(between=Rational(1, 100), first=Max(1, u_ans) / 100) / Max(Rational(1, 1000), P_gap[gap]),
    title="The longest hundredth of all gaps, over those of a kind with a prompt",
    source=ORCA,
    assumes="An answer has one first gap. Above one, none of them is among the longest hundredth.",
    example=Example({P_gap["first"]: 0.5, u_ans: 20}, "0.4", derived="20 / 100 / 0.5", member="first"),
)

further_prompts = Formula(
    m_gap[gap],
    when(l_gap[gap] > 0, Max(0, l_gap[gap] / ((1 - _more) * P_gap[gap]) - 1), 0),
    title="Further prompts of a gap that has one, mean",
    source=BOREL,
    assumes="While a prompt is prefilled others come, and while these are, others: a busy period.",
    example=Example(
        {l_gap["between"]: 0.5, P_gap["between"]: 0.39347, Z_all: 0, rho_D: 0.5},
        "1.5415",
        derived="0.5 / (0.5 * 0.39347) - 1",
        member="between",
    ),
)

#: A root of nothing has no slope.
_LEAST = Rational(1, 10**12)

further_spread = Formula(
    c_gap[gap],
    when(
        And(STEADY, m_gap[gap] > 0),
        sqrt(
            Max(
                _LEAST,
                (
                    l_gap[gap] * (1 + 2 * bunched(l_gap[gap]) + cv_D**2) / (1 - _more) ** 3
                    + (l_gap[gap] / (1 - _more)) ** 2
                    + by_member(between=0, first=(lam_e / (request * (1 - _more))) ** 2 * STARTED)
                )
                / P_gap[gap]
                - (1 + m_gap[gap]) ** 2,
            )
        )
        / m_gap[gap],
        0,
    ),
    title="Coefficient of variation of the further prompts of a gap",
    source=BOREL,
    assumes="A generalized Poisson law of the prompts of a busy period, given that there is one; before the first step "
    "the wait that they come in varies as well. Where prompts vary, of the time they take, in mean prompts.",
    example=Example(
        {
            l_gap["between"]: 0.5,
            P_gap["between"]: 0.39347,
            m_gap["between"]: 1.5415,
            Z_all: 0,
            mu_e: 4,
            rho_e: 0.5,
            rho_D: 0.5,
            cv_D: 0,
            c_a: 1,
        },
        "1.6216",
        derived="((4 + 1) / 0.39347 - 2.5415**2)**0.5 / 1.5415",
        member="between",
    ),
)

_among_them = NormalQuantile(1 - Min(NEARLY, x_gap[gap]))

gap_prompts = Formula(
    n_gap[gap],
    when(
        x_gap[gap] < 1,
        1 + floor(m_gap[gap] * gamma_quantile(c_gap[gap], _among_them) + Rational(1, 2)),
        0,
    ),
    title="Prompts in the gap that 99% of all stay below",
    source=GAMMA,
    assumes="Further prompts follow a gamma law, rounded.",
    accuracy="Within one prompt of the exact law up to a load of 0.6, within 5% beyond.",
    example=Example(
        {x_gap["between"]: 0.025415, m_gap["between"]: 1.5415, c_gap["between"]: 1.6216},
        "9",
        derived="1 + floor(1.5415 * (1 - 1.6216**2 / 9 + 1.9529 * 1.6216 / 3)**3 + 0.5)",
        member="between",
    ),
)  # fmt: skip

_varied_gap = log(1 + Max(_LEAST, (c_gap[gap] * m_gap[gap] / (1 + m_gap[gap])) ** 2))

stopped_time = Formula(
    t_gap[gap],
    D_1
    * when(
        And(STEADY, cv_D > 0, n_gap[gap] > 0),
        (1 + m_gap[gap]) * exp(_among_them * sqrt(_varied_gap) - _varied_gap / 2),
        n_gap[gap],
    ),
    title="Prefills in the gap that 99% of all stay below",
    source=LOG_NORMAL,
    assumes="Where prompts vary their time in a gap that has one is log-normal.",
    example=Example(
        {
            Z_all: 0,
            mu_e: 4,
            rho_e: 0.5,
            D_1: 100,
            cv_D: 0,
            n_gap["between"]: 3,
            m_gap["between"]: 1,
            c_gap["between"]: 1,
            x_gap["between"]: 0.1,
        },
        "300 ms",
        derived="3 * 100",
        member="between",
    ),
)

gap_time = Formula(
    itl_99,
    when(
        STEADY,
        Max(
            tau_v + when(OPEN, NormalQuantile(Rational(99, 100)) * b_N * (1 - STOPPED) * sqrt(V_N) / request, 0),
            tau_v + Max(t_gap["between"], t_gap["first"]),
        ),
        oo,
    ),
    title="Time between tokens that 99% of them stay below",
    source=ORCA,
    variant=COLOCATED,
    assumes="Without a prompt in the gap it is a step of a large batch. Prompts come as Poisson's law has it, also in "
    "a closed loop.",
    accuracy="Of a simulation with fixed lengths in an open loop -20% to 0%, with few slots -32%. In a closed "
    "loop of varied answers it was 44% low.",
    example=Example(
        {
            Z_all: 0,
            mu_e: 4,
            rho_e: 0.5,
            tau_v: 20,
            b_N: 0.1,
            rho_D: 0.5,
            V_N: 25,
            t_gap["between"]: 300,
            t_gap["first"]: 0,
        },
        "320 ms",
        derived="20 + 3 * 100",
    ),
)

pool_gap_time = Formula(
    itl_99,
    when(
        STEADY,
        Max(
            tau_N + when(OPEN, NormalQuantile(Rational(99, 100)) * b_N * sqrt(V_N) / request, 0),
            when(u_ans < 100, HANDED_OVER + 3 * tau_N / 2, 0),
        ),
        oo,
    ),
    title="Time between tokens in a pool that 99% of them stay below",
    source=Source("zhong2024", "section 3.3"),
    variant=DISAGGREGATED,
    assumes="A step of a large batch. The transfer counts where answers have fewer than a hundred steps.",
    accuracy="Of a simulation with fixed lengths within 9%.",
    example=Example(
        {Z_all: 0, mu_e: 4, rho_e: 0.5, tau_N: 20, b_N: 0.1, V_N: 25, u_ans: 50, t_x: 10, lam_e: 0, cv_in: 0},
        "40 ms",
        derived="10 + 1.5 * 20",
    ),
)

#: The law of whole requests.
LAW = (whole_variance, whole_third_cumulant, whole_skewness, whole_law)
#: Of engines that prefill and decode by turns.
SHARED = (
    whole_beyond,
    whole_quantile,
    stopping_prompts,
    stop_probability,
    long_share,
    further_prompts,
    further_spread,
    gap_prompts,
    stopped_time,
    gap_time,
)
#: Of pools.
POOLS = (whole_beyond, whole_quantile, pool_gap_time)
FORMULAS = (*LAW, *SHARED, pool_gap_time)
