"""Advice on deployments

The largest rate of each pool alone gives the ratio at which both pools are full, the throughput per accelerator at that
ratio, and the gain over colocation. Further advice: the bandwidth below which the link delays prefill, the batch sizes
at which a decode step changes from reading weights to reading caches and to arithmetic, the number of tokens to draft,
and the token budget that meets a TPOT target. Steps are iterations evaluated at other values.
"""

from __future__ import annotations

from typing import Any

import sympy
from sympy import And, floor, oo, sqrt

from mlsysim.formulas import deployment, serving_engines, varied_lengths
from mlsysim.formulas.chunked_chain import EACH, SARATHI, mixed
from mlsysim.formulas.deployment import by_load
from mlsysim.formulas.iteration import PASS, PASSED
from mlsysim.formulas.mixers import kept
from mlsysim.formulas.replica_layout import ACCELERATORS, DISAGGREGATED
from mlsysim.formulas.serving_engines import DISTSERVE, NEARLY, pool_rate, step
from mlsysim.symbolic import Example, Formula, LeastInteger, Min, Root, Source, evaluated_at, request, token, when
from mlsysim.symbols.deployment import (
    A_1,
    A_2,
    B_P,
    D_1,
    T_1,
    T_2,
    B_e,
    D_each,
    E_tok,
    N_e,
    P_s,
    Z_all,
    lam_e,
    lam_g,
    n_D,
    n_P,
    q_slo,
    rho_D,
    rho_e,
    theta_s,
    x_p,
    y_d,
)
from mlsysim.symbols.deployment_advice import (
    C_star,
    N_star,
    beta_least,
    g_col,
    g_dis,
    gamma_best,
    lam_d,
    lam_p,
    n_cache,
    n_comp,
    q_1,
    r_pd,
    tau_tok,
    x_dis,
)
from mlsysim.symbols.hardware import B_mem, F
from mlsysim.symbols.iteration import F_16, gamma_s, n_dec, t_den, t_exp, t_kv, t_one
from mlsysim.symbols.serving import kv_token
from mlsysim.symbols.workload import s

DAY_SIX = Source("deepseek2025", "day 6: tokens per second of a node, and nodes")
POPE = Source("pope2023", "section 2")
#: Requests beyond which nobody asks, and tokens that anybody drafts.
_MOST = 2**20
_DRAFTS = 16
_n = sympy.Dummy("n", integer=True, positive=True)

promise_share = Formula(
    q_1,
    when(And(T_1 > 0, T_2 > 0), sqrt(q_slo), q_slo),
    title="Share of requests that must meet each target",
    source=DISTSERVE,
    assumes="First tokens and later ones are late independently, and as often.",
    example=Example({T_1: 1000, T_2: 50, q_slo: 0.81}, "0.9", derived="0.81**0.5"),
)

decode_batch_limit = Formula(
    N_star,
    when(
        B_e >= request,
        Root(
            N_e,
            -evaluated_at(
                A_2,
                {N_e: N_e, lam_e: pool_rate(N_e + request, N_e), rho_e: 0, rho_D: 0, Z_all: 0},
                by_load(DISAGGREGATED),
            ),
            -q_1,
            0,
            B_e,
        ),
        0,
    ),
    title="Requests that decode in one engine while the time per output token holds",
    source=DISTSERVE,
    assumes="Without a target as many as have room.",
    no_example="a root",
)

decode_rate_limit = Formula(
    lam_d,
    pool_rate(N_star + request, N_star) / y_d,
    title="Requests per second that one engine of a pool decodes",
    source=Source("little1961"),
    assumes="A request meets the mean batch and adds itself.",
    no_example=PASSED,
)

prefill_rate_limit = Formula(
    lam_p,
    when(
        request <= B_P,
        Root(
            lam_e,
            -evaluated_at(
                A_1,
                {lam_e: lam_e, rho_e: 0, N_e: 0 * request, Z_all: 0, P_s: 0, theta_s: 0 * D_1},
                by_load(DISAGGREGATED),
            ),
            -q_1,
            0,
            NEARLY * x_p * request / D_each,
        )
        / x_p,
        0,
    ),
    title="Requests per second that one engine of a pool prefills",
    source=DISTSERVE,
    assumes="Per worker of the pool. Without a target just below the capacity.",
    no_example="a root",
)

best_ratio = Formula(
    r_pd,
    when(lam_p > 0, lam_d / lam_p, oo),
    title="Engines that prefill for each one that decodes",
    source=DISTSERVE,
    assumes="Both pools reach what they hold at the same rate.",
    example=Example(
        {lam_d: 14.8, lam_p: 20.3645},
        "0.72675",
        Source("deepseek2025", "day 6: 73.7k and 14.8k tokens/s a node for 608 and 168 billion: 95.5 to 131.4 nodes"),
    ),
)

matched_goodput = Formula(
    g_dis,
    when(Min(lam_p, lam_d) > 0, lam_p * lam_d / (n_P * lam_d + n_D * lam_p), 0),
    title="Goodput of one accelerator of matched pools",
    source=DISTSERVE,
    assumes="A request takes a share of an engine of either pool; the link keeps up.",
    example=Example(
        {lam_d: 14.8, lam_p: 20.3645, n_P: 8, n_D: 8},
        "1.0714 request/s",
        Source("deepseek2025", "day 6: 168 billion tokens in answers of 1,000 on 226.75 nodes of eight: 1.0719"),
    ),
)

#: What prompts and decoding take of an engine that does both.
_BY_TURNS = frozenset(
    (
        *varied_lengths.SHARED,
        serving_engines.prompt_time,
        serving_engines.prompt_interval,
        serving_engines.capacity,
        deployment.replica_goodput,
    )
)

colocated_goodput = Formula(
    g_col,
    evaluated_at(lam_g, {each.symbol: each.expression for each in varied_lengths.timed_prompts.members}, _BY_TURNS)
    / ACCELERATORS,
    title="Goodput of one accelerator of engines that do both",
    source=DISTSERVE,
    assumes="Engines have the layout of those that decode, and prefill whole prompts by turns.",
    no_example="a root",
)

gain = Formula(
    x_dis,
    when(g_col > 0, g_dis / g_col, when(g_dis > 0, oo, 0)),
    title="Goodput of matched pools over that without pools",
    source=DISTSERVE,
    example=Example({g_dis: 3, g_col: 2}, "1.5", derived="3 / 2"),
)

least_bandwidth = Formula(
    beta_least,
    x_p * kv_token * kept(s) / D_each,
    title="Bandwidth below which the link is slower than the prefill",
    source=Source("zhong2024", "section 3.3"),
    assumes="All engines that prefill share the link.",
    no_example="the reach of attention",
)


def _reading(part: Any) -> Any:
    """Part of a decode step that is not arithmetic, at this batch size."""
    return evaluated_at(part, {n_dec: _n * request, F: oo, F_16: oo}, PASS)


compute_bound = Formula(
    n_comp,
    request
    * LeastInteger(
        _n,
        evaluated_at(t_one, {n_dec: _n * request, B_mem: oo}, PASS) >= _reading(t_one),
        _MOST,
    ),
    title="Requests of a decode step that takes as long to compute as to read",
    source=Source("williams2009"),
    assumes="What does neither counts on both sides.",
    no_example=PASSED,
)

cache_bound = Formula(
    n_cache,
    request * LeastInteger(_n, _reading(t_kv) >= _reading(t_den) + _reading(t_exp), _MOST),
    title="Requests of a decode step whose caches take as long to read as the weights",
    source=POPE,
    convention="Weights of layers, without the head.",
    no_example=PASSED,
)

token_time = Formula(
    tau_tok,
    step(N_e + request) / E_tok,
    title="Decode step over the tokens that it gives one request",
    source=Source("leviathan2023", "theorem 3.8"),
    no_example=PASSED,
)


def _drafting(tokens: Any) -> Any:
    return evaluated_at(
        tau_tok,
        {gamma_s: tokens, N_e: N_e},
        (*PASS, serving_engines.tokens_per_step, serving_engines.draft_time, token_time),
    )


best_drafts = Formula(
    gamma_best,
    Min(_DRAFTS, LeastInteger(_n, _drafting(_n) >= _drafting(_n - 1), _DRAFTS) - 1),
    title="Best number of drafted tokens",
    source=Source("leviathan2023", "section 3.5"),
    assumes="Of the present batch. The first token that does not pay is the last that is looked at.",
    no_example=PASSED,
)

_c = sympy.Dummy("c", nonnegative=True)

budget_limit = Formula(
    C_star,
    when(
        T_2 > 0,
        floor(EACH * (N_e / request + 1) + Root(_c, mixed(N_e + request, _c * token), E_tok * T_2, 0, oo)) * token,
        oo,
    ),
    title="Token budget whose full iteration is within the time per output token",
    source=SARATHI,
    assumes="Beside the requests that decode at this load, and one more.",
    no_example=PASSED,
)

#: Of every replica.
SHARED = (compute_bound, cache_bound, token_time, best_drafts)
#: Of pools.
POOLS = (
    promise_share,
    decode_batch_limit,
    decode_rate_limit,
    prefill_rate_limit,
    best_ratio,
    matched_goodput,
    colocated_goodput,
    gain,
    least_bandwidth,
    *SHARED,
)
#: Of replicas that prefill in chunks.
CHUNKED = (*SHARED, budget_limit)
FORMULAS = (*POOLS, budget_limit)
