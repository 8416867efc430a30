"""Costs of a deployment

Cost and power of a deployment's replicas, priced as a serving fleet. Output tokens bear the whole cost, or prompts and
outputs share it in proportion to the time, or the accelerators, that serve them.
"""

from __future__ import annotations

from sympy import And, Rational, exp, oo

from mlsysim.formulas.economics import BARROSO, POWER
from mlsysim.formulas.iteration import PASSED
from mlsysim.formulas.replica_layout import COLOCATED, DISAGGREGATED
from mlsysim.formulas.serving_engines import DISTSERVE, LITTLE, OPEN, ORCA, step
from mlsysim.symbolic import Example, Formula, Max, Min, Source, request, when
from mlsysim.symbols.costs import (
    T_run,
    c_hour,
    c_in,
    c_out,
    n_acc,
    n_out_run,
    n_req_run,
    tco,
    u_busy,
    x_pre,
)
from mlsysim.symbols.deployment import (
    N_e,
    Z_all,
    Z_b,
    Z_e,
    c_dep,
    e2e_mean,
    lam_e,
    n_D,
    n_P,
    n_rep,
    rho_D,
    rho_e,
    s_in,
    u_ans,
    x_p,
    y_d,
)
from mlsysim.symbols.serving import n_out
from mlsysim.symbols.step import R_tok

#: Engines whose iterations mix prompts and answers.
MIXED = "mixed_iterations"
DAY_SIX = Source("deepseek2025", "day 6: prompts and answers of a day")

deployed_accelerators = Formula(
    n_acc,
    c_dep * n_rep,
    title="Accelerators of a deployment",
    source=BARROSO,
    variant="deployment",
    assumes="Infinite if no number of replicas meets the targets.",
    example=Example({c_dep: 3, n_rep: 4}, "12", derived="3 * 4"),
)

_prompts = Min(1, rho_D)

shared_busy = Formula(
    u_busy,
    when(OPEN, 1 - (1 - _prompts) * exp(-N_e / Z_b), Min(1, Z_e / request)),
    title="Busy share of an engine that prefills and decodes",
    source=POWER,
    variant=COLOCATED,
    assumes="Requests that decode come in bunches, which are there as Poisson's law has it.",
    accuracy="Of a simulation within 5%.",
    example=Example({Z_all: 0, rho_D: 0.5, N_e: 8, Z_b: 4, Z_e: 0}, "0.93233", derived="1 - 0.5 * exp(-2)"),
)

#: Engines that prefill, in those that decode of as many accelerators.
_prefilling = x_p * (n_P / n_D)

pools_busy = Formula(
    u_busy,
    _prompts + (when(OPEN, 1 - exp(-N_e / request), Min(1, N_e / request)) - _prompts) * y_d / (_prefilling + y_d),
    title="Busy share of the accelerators of two pools",
    source=POWER,
    variant=DISAGGREGATED,
    accuracy="Of a simulation within 1%.",
    example=Example(
        {Z_all: 0, x_p: 2, n_P: 2, y_d: 1, n_D: 4, rho_D: 0.5, N_e: 2},
        "0.68233",
        derived="0.5 + (1 - exp(-2) - 0.5) / 2",
    ),
)

mixed_busy = Formula(
    u_busy,
    when(OPEN, when(rho_e < 1, 1 - exp(-lam_e * Max(0, e2e_mean) / request), 1), Min(1, Z_e / request)),
    title="Busy share of an engine of mixed iterations",
    source=LITTLE,
    variant=MIXED,
    assumes="Requests are there as Poisson's law has it; their number is by Little's law.",
    accuracy="Of a simulation within 5%.",
    example=Example({Z_all: 0, rho_e: 0.5, lam_e: 2, e2e_mean: 1000, Z_e: 0}, "0.86466", derived="1 - exp(-2)"),
)

answered_requests = Formula(
    n_req_run,
    R_tok * T_run * request / n_out,
    title="Requests of a deployment",
    source=BARROSO,
    variant="deployment",
    example=Example({R_tok: 600, T_run: 1, n_out: 100}, "518400 request", derived="600 * 86400 / 100"),
)

hourly_cost = Formula(
    c_hour,
    tco / T_run,
    title="Cost of an hour",
    source=BARROSO,
    example=Example({tco: 87072, T_run: 1}, "3628 USD/hour", derived="87072 / 24"),
)

shared_prompts = Formula(
    x_pre,
    Min(1, _prompts / Max(u_busy, Rational(1, 10**9))),
    title="Share of the cost that prompts cause, by the time they take",
    source=ORCA,
    variant=COLOCATED,
    assumes="Idle time is shared as busy time is.",
    example=Example({rho_D: 0.3, u_busy: 0.75}, "0.4", derived="0.3 / 0.75"),
)

pools_prompts = Formula(
    x_pre,
    x_p * n_P / n_rep,
    title="Share of the cost that prompts cause, by the accelerators they have",
    source=DISTSERVE,
    variant=DISAGGREGATED,
    example=Example({x_p: 1, n_P: 2, n_rep: 8}, "0.25", derived="2 / 8"),
)

#: Requests that decode, mean over the iterations in which some do.
_beside = N_e / (1 - exp(-N_e / request))

mixed_prompts = Formula(
    x_pre,
    when(
        And(N_e > 0, lam_e > 0),
        Max(0, 1 - lam_e * u_ans * step(_beside) / _beside / Max(u_busy, Rational(1, 10**9))),
        0,
    ),
    title="Share of the cost that prompts cause, by the time that iterations take beyond decode steps",
    source=ORCA,
    variant=MIXED,
    assumes="Without prompts the same requests would decode in as many steps. Idle time is shared as busy time is.",
    no_example=PASSED,
)

input_cost = Formula(
    c_in,
    when(n_req_run > 0, x_pre * tco / (n_req_run * s_in / request), oo),
    title="Cost of tokens of prompts",
    source=DAY_SIX,
    assumes="Those that are found in a cache are tokens as well.",
    example=Example({x_pre: 0.4, tco: 87072, n_req_run: 168e6, s_in: 3619}, "0.057285 USD/Mtoken",
                    derived="0.4 * 87072 / (168 * 3619)"),
)  # fmt: skip

output_cost = Formula(
    c_out,
    when(n_out_run > 0, (1 - x_pre) * tco / n_out_run, oo),
    title="Cost of tokens of answers, without that of their prompts",
    source=DAY_SIX,
    example=Example({x_pre: 0.4, tco: 87072, n_out_run: 168e9}, "0.31097 USD/Mtoken", derived="0.6 * 87072 / 168e3"),
)

FORMULAS = (
    deployed_accelerators,
    shared_busy,
    pools_busy,
    mixed_busy,
    answered_requests,
    hourly_cost,
    shared_prompts,
    pools_prompts,
    mixed_prompts,
    input_cost,
    output_cost,
)
#: What answers and prompts cost, and how busy engines are that prefill and decode by turns.
SHARED = (shared_busy, shared_prompts, input_cost, output_cost)
#: The same of pools.
POOLS = (pools_busy, pools_prompts, input_cost, output_cost)
#: The same of engines whose iterations mix prompts and answers.
CHUNKED = (mixed_busy, mixed_prompts, input_cost, output_cost)
