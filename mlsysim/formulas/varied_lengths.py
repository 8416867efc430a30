"""Varying lengths

Prompts and answers have log-normal lengths. Prefill time is fixed, linear and quadratic in the prompt length, and its
moments follow from these three terms. Waits, bursts, TPOT and contexts follow from the moments. Latencies get the
log-normal distribution with their first three cumulants.
"""

from __future__ import annotations

from typing import Any

from sympy import Rational, exp, log, sqrt

from mlsysim.formulas.iteration import PASS, PASSED
from mlsysim.formulas.replica_layout import APART, COLOCATED, DISAGGREGATED
from mlsysim.symbolic import (
    Example,
    Formula,
    Max,
    Min,
    NormalCDF,
    NormalQuantile,
    Source,
    by_member,
    evaluated_at,
    request,
    when,
)
from mlsysim.symbols.chunked import cv_in, cv_out
from mlsysim.symbols.deployment import D_1, g_P, p_P, quantile
from mlsysim.symbols.iteration import K_dec, n_dec, n_grp, n_pro, t_it, t_pat
from mlsysim.symbols.layers import two
from mlsysim.symbols.mixers import t_scan
from mlsysim.symbols.serving import n_out
from mlsysim.symbols.training import p
from mlsysim.symbols.varied_lengths import S_D, D_len, D_q, a_D, b_D, cv_D, e_D, k_D, m_D, size, x_b
from mlsysim.symbols.workload import s

OWN = Source("own")
LOG_NORMAL = Source("johnson1994", "chapter 14")
#: The shares of the quantiles.
LEVEL = by_member(p50=Rational(1, 2), p90=Rational(9, 10), p99=Rational(99, 100))
#: Mean square over the square of the mean, of the tokens of prompts and of answers.
PROMPT_SQUARE, ANSWER_SQUARE = 1 + cv_in**2, 1 + cv_out**2


def law(sixth: Any) -> Any:
    """Exponential of the log-variance of a shifted log-normal distribution, from a sixth of its skewness."""
    root = (1 + 18 * sixth**2 + 6 * sixth * sqrt(1 + 9 * sixth**2)) ** Rational(1, 3)
    return root + 1 / root - 1


def beyond_mean(variance: Any, growth: Any, normal: Any) -> Any:
    """Quantile of a shifted log-normal distribution over its mean, from the normal quantile."""
    return sqrt(variance / (growth - 1)) * (exp(normal * sqrt(log(growth))) / sqrt(growth) - 1)


def share_below(variance: Any, growth: Any, over: Any) -> Any:
    """Share of a shifted log-normal distribution up to this far above its mean."""
    place = Max(Rational(1, 10**12), 1 + over * sqrt((growth - 1) / variance))
    return NormalCDF((log(place) + log(growth) / 2) / sqrt(log(growth)))


mean_context = Formula(
    K_dec,
    (s + n_out / 2 * ANSWER_SQUARE) / request,
    title="Mean context of a decoding request, answers varied",
    source=LOG_NORMAL,
    variant="deployment",
    assumes="A request is met in proportion to the length of its answer.",
    example=Example({s: 1000, n_out: 1000, cv_out: 1}, "2000 token/request", derived="1000 + 1000 / 2 * 2"),
)

#: Prompts that pass the stages together, of one engine or, in a pool, of a layout of its own: no others are at work.
_ENGINE = {n_pro: n_grp * request / p}
_POOL = {n_pro: g_P * request / p_P, **APART}


def _timed(prompts: Any, kind: str) -> Formula:
    return Formula(
        D_len[size],
        when(
            by_member(half=cv_in, mean=1, double=cv_in) > 0,
            evaluated_at(t_it, {n_dec: 0, **prompts, s: by_member(half=Rational(1, 2), mean=1, double=2) * s}, PASS),
            0,
        ),
        title="Prefill of prompts of three lengths",
        source=Source("yu2022", "section 3"),
        variant=kind,
        assumes="Every attention rank has a prompt of its own at the same time, and passes it from stage to stage. "
        "Where lengths are alike, only the mean is asked for.",
        no_example=PASSED,
    )


timed_prompts = _timed(_ENGINE, COLOCATED)
pool_timed_prompts = _timed(_POOL, DISAGGREGATED)

prompt_bend = Formula(
    e_D,
    when(cv_in > 0, Max(0, (D_len["double"] - 3 * D_len["mean"] + 2 * D_len["half"]) * Rational(2, 3)), 0),
    title="Bend of a prefill over its length",
    source=OWN,
    assumes="The square in a polynomial through three lengths; none where it would bend down.",
    example=Example(
        {cv_in: 1, D_len["half"]: 16, D_len["mean"]: 36, D_len["double"]: 100},
        "16 ms",
        derived="(100 - 108 + 32) * 2 / 3",
    ),
)


def _curved(prompts: Any, kind: str) -> Formula:
    return Formula(
        b_D,
        when(cv_in > 0, Min(e_D, (1 + two) * evaluated_at(t_pat, {**prompts, t_scan: 0}, PASS)), 0),
        title="Part of a prefill that grows with the square of the length",
        source=Source("dao2022", "section 3.1"),
        variant=kind,
        assumes="Attention; not where something else hides it. Scans grow with the length itself.",
        no_example=PASSED,
    )


prompt_curvature = _curved(_ENGINE, COLOCATED)
pool_prompt_curvature = _curved(_POOL, DISAGGREGATED)

prompt_slope = Formula(
    a_D,
    when(cv_in > 0, Max(0, D_len["double"] - D_len["mean"] - 3 * b_D), 0),
    title="Part of a prefill that grows with the length",
    source=OWN,
    assumes="Towards twice the length: reading weights hides the arithmetic of short prompts.",
    example=Example({cv_in: 1, D_len["mean"]: 36, D_len["double"]: 100, b_D: 16}, "16 ms", derived="100 - 36 - 48"),
)

varied_part = Formula(
    m_D,
    Min(D_1, a_D + b_D * PROMPT_SQUARE),
    title="Mean prefill beyond what is fixed",
    source=LOG_NORMAL,
    example=Example({D_1: 52, a_D: 16, b_D: 16, cv_in: 1}, "48 ms", derived="16 + 16 * 2"),
)

prompt_variation = Formula(
    cv_D,
    when(
        cv_in > 0,
        sqrt(
            a_D**2 * cv_in**2
            + 2 * a_D * b_D * PROMPT_SQUARE * (PROMPT_SQUARE**2 - 1)
            + b_D**2 * PROMPT_SQUARE**2 * (PROMPT_SQUARE**4 - 1)
        )
        / D_1,
        0,
    ),
    title="Coefficient of variation of the prefill of a prompt",
    source=LOG_NORMAL,
    assumes="Moments of log-normal lengths, up to the fourth.",
    example=Example({cv_in: 1, a_D: 16, b_D: 0, D_1: 20}, "0.8", derived="16 / 20"),
)

_spread = (cv_D * D_1 / Max(m_D, D_1 / 10**9)) ** 2

prompt_third_cumulant = Formula(
    k_D,
    (m_D / D_1) ** 3 * _spread**2 * (3 + _spread),
    title="Third cumulant of the prefill of a prompt",
    source=LOG_NORMAL,
    assumes="What lengths decide of a prefill is log-normal as they are.",
    example=Example({m_D: 50, D_1: 50, cv_D: 1}, "4", derived="3 + 1"),
)

prompt_log_variance = Formula(
    S_D,
    log(1 + _spread),
    title="Log-variance of the prefill beyond what is fixed",
    source=LOG_NORMAL,
    assumes="What lengths decide of a prefill is log-normal as they are.",
    example=Example({D_1: 60, m_D: 50, cv_D: 5 / 6}, "0.69315", derived="log(1 + 1)"),
)

prompt_quantile = Formula(
    D_q[quantile],
    Max(0, D_1 - m_D) + m_D * when(S_D > 0, exp(NormalQuantile(LEVEL) * sqrt(S_D) - S_D / 2), 1),
    title="Prefill that a share of the prompts stay below",
    source=LOG_NORMAL,
    assumes="What lengths decide of a prefill is log-normal as they are.",
    example=Example({D_1: 60, m_D: 50, S_D: 0.6931471806}, "45.355 ms", derived="10 + 50 / 2**0.5", member="p50"),
)


#: Half the mean of the shorter of two answers, over the mean of one.
_longer: Any = NormalCDF(-sqrt(log(ANSWER_SQUARE) / 2))

#: Share of a stay during which another that began with it is still there.
BOTH_THERE: Any = when(cv_out > 0, 2 * _longer, 1)

bunch_lost = Formula(
    x_b,
    when(cv_out > 0, 1 - 2 * _longer, 0),
    title="Share of a stay in which another of the same bunch has ended",
    source=LOG_NORMAL,
    assumes="The shorter one of two log-normal answers, mean, over their mean.",
    example=Example({cv_out: 1}, "0.44394", derived="1 - 2 * 0.27803"),
)

FORMULAS = (
    mean_context,
    timed_prompts,
    pool_timed_prompts,
    prompt_bend,
    prompt_curvature,
    pool_prompt_curvature,
    prompt_slope,
    varied_part,
    prompt_variation,
    prompt_third_cumulant,
    prompt_log_variance,
    prompt_quantile,
    bunch_lost,
)
#: What prompts whose lengths vary take, where engines prefill them whole beside their decoding.
SHARED = tuple(formula for formula in FORMULAS[1:] if formula.variant != DISAGGREGATED)
#: What they take in a pool.
POOLS = tuple(formula for formula in FORMULAS[1:] if formula.variant != COLOCATED)
