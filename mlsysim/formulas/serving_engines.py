"""Engines of a deployment

A replica is one engine that alternates between prefill and decode, or separate pools of prefill and decode engines.
Each step of an engine is an iteration. Memory capacity, and the durations of prefill and decode, set the requests that
it can complete.
"""

from __future__ import annotations

from typing import Any

from sympy import And, Or, Piecewise, Rational, floor

from mlsysim.formulas import continuous_batching, iteration, replica_layout
from mlsysim.formulas.iteration import PASS, PASSED
from mlsysim.formulas.mixers import kept
from mlsysim.formulas.replica_layout import ACCELERATORS, APART, COLOCATED, DISAGGREGATED
from mlsysim.formulas.varied_lengths import OWN
from mlsysim.symbolic import (
    Example,
    Formula,
    Max,
    Min,
    Source,
    evaluated_at,
    request,
    token,
    when,
)
from mlsysim.symbols.batching import s_end
from mlsysim.symbols.chunked import cv_in, cv_out
from mlsysim.symbols.closed_loops import B_Z, s_z
from mlsysim.symbols.deployment import (
    B_P,
    D_1,
    B_e,
    B_seq,
    D_each,
    E_tok,
    N_e,
    Z_all,
    alpha_s,
    beta_kv,
    c_s,
    d_P,
    g_P,
    mu_e,
    n_D,
    n_P,
    n_rep,
    p_P,
    rho_e,
    s_in,
    s_out,
    t_dr,
    t_P,
    t_x,
    u_ans,
    x_p,
    y_d,
)
from mlsysim.symbols.iteration import d_a, gamma_s, kv_rank, n_all, n_dec, n_grp, n_pro, t_even, t_it
from mlsysim.symbols.layers import two
from mlsysim.symbols.serving import kv_token, n_out
from mlsysim.symbols.training import p, t
from mlsysim.symbols.varied_lengths import D_len, e_D
from mlsysim.symbols.workload import s

ORCA = Source("yu2022", "section 3")
LITTLE = Source("little1961")
DISTSERVE = Source("zhong2024", "section 3")
#: Prompts are prefilled whole, on whichever engines.
WHOLE = "whole_prompts"
#: Tokens of an answer after the first, which the prefill gives.
FURTHER = n_out / token - 1
#: Open loop: requests arrive at a rate.
OPEN = Z_all <= 0
#: Shares are kept below one where they are divided by what is left.
NEARLY = Rational(999, 1000)
#: A replica keeps up with what reaches it: a closed loop brings no more than is served, but where nothing has room.
STEADY = Or(And(Z_all > 0, mu_e > 0), rho_e < 1)
#: Open loop, and the replica keeps up.
QUEUED = And(OPEN, rho_e < 1)


def step(requests: Any, prompts: Any = 0) -> Any:
    """Step with decoding requests and prompts, including drafted tokens."""
    return evaluated_at(t_it, {n_dec: requests, n_pro: prompts}, PASS) + t_dr


#: What an engine has room for.
ROOM = PASS | {
    continuous_batching.stored_weights,
    continuous_batching.expert_padding,
    replica_layout.replica_weights,
    iteration.kv_memory,
    iteration.cache_tokens,
}


def prompts_held(room: frozenset[Formula]) -> Any:
    """Prompts that fit in the memory of a prefill engine."""
    cache = APART[t] * evaluated_at(kv_rank, APART, room)
    return Max(0, floor(evaluated_at(n_all, APART, room) * (request / token) / (kept(s, cache) / token)))


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
    "together. Where others follow, a prompt waits for the slowest stage."
)


def _interval(groups: Any, layout: dict[Any, Any]) -> Any:
    """Time between two prompts of an engine with all pipeline stages busy."""
    waited = evaluated_at(t_even, {n_dec: 0, n_pro: groups * request, **layout}, PASS)
    return (D_1 + (1 + two) * waited) / groups


prompt_interval = Formula(
    D_each,
    _interval(n_grp, {}),
    title="Time that one prompt takes of an engine",
    source=DISTSERVE,
    variant=COLOCATED,
    assumes=_AT_ONCE,
    no_example=PASSED,
)

pool_prompt_interval = Formula(
    D_each,
    _interval(g_P, APART),
    title="Time that one prompt takes of an engine that prefills",
    source=DISTSERVE,
    variant=DISAGGREGATED,
    assumes=_AT_ONCE,
    no_example=PASSED,
)

engine_slots = Formula(
    B_e,
    Max(0, Min(d_a * B_seq, floor(n_all * (request / token) / (kept(s_end + cv_out**2 * n_out, t * kv_rank) / token)))),
    title="Requests one engine has room for",
    source=Source("kwon2023", "section 4"),
    assumes="Room is kept for the whole answer; no request is put off half way. Requests are met in proportion to the "
    "length of their answers.",
    no_example="the reach of attention",
)

#: Share of an answer that is cached when memory is full, and of memory that is then taken.
_ANSWERED, _TAKEN = Rational(7, 10), Rational(95, 100)

closed_context = Formula(
    s_z,
    kept(s + _ANSWERED * n_out, t * kv_rank),
    title="Context that a request of a full closed loop keeps",
    source=OWN,
    assumes="In tokens of layers that attend to everything.",
    no_example="the reach of attention",
)

closed_slots = Formula(
    B_Z,
    Max(
        B_e,
        when(
            And(Z_all > 0, cv_out > 0),
            Min(
                d_a * B_seq,
                floor(_TAKEN * n_all * (request / token) / (s_z / token)),
            ),
            0,
        ),
    ),
    title="Requests of a closed loop that one engine has room for",
    source=OWN,
    assumes="Where lengths vary answers are at all places, and no room is kept for what they have not said: few are "
    "put off half way.",
    no_example="the reach of attention",
)

prompt_slots = Formula(
    B_P,
    prompts_held(ROOM),
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
    kv_token * kept(s) / beta_kv,
    title="Transfer of the cache of one prompt",
    source=Source("zhong2024", "section 3.3"),
    assumes="And of its state, where mixers are recurrent.",
    no_example="the reach of attention",
)


def answering(requests: Any) -> Any:
    """Decode time of a request at an engine with this many requests, the request included."""
    return u_ans * step(requests)


def shared_rate(met: Any, beside: Any) -> Any:
    """Requests per second of an engine that prefills and decodes, if a request meets ``met`` others."""
    return beside / (answering(met) + beside / request * D_each)


def pool_rate(met: Any, beside: Any) -> Any:
    """Requests per second of a pool of decode engines."""
    return y_d * beside / answering(met)


#: From the first token of a request to its last, where all slots are taken.
LONGEST = B_e / mu_e - D_each
#: A request in the pool that decodes and a prompt in the other.
BOTH_FIT = And(B_e >= request, request <= B_P)

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
    when(BOTH_FIT, Min(x_p * request / D_each, pool_rate(B_e, B_e), request / t_x), 0),
    title="Requests per second that two pools and their link can complete",
    source=DISTSERVE,
    variant=DISAGGREGATED,
    no_example=PASSED,
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
    closed_context,
    closed_slots,
    prompt_slots,
    replica_accelerators,
    pools_accelerators,
    prefill_worker,
    decode_worker,
    transfer_time,
    capacity,
    pools_capacity,
)
