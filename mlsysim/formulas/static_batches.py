"""Static batches

Requests of equal length that arrive together are prefilled together, as far as the token budget of an iteration allows,
then decode together and end together. Throughput tables of engines with fixed lengths measure this case. A single
request is the smallest batch.
"""

from __future__ import annotations

from typing import Any

from sympy import floor

from mlsysim.formulas.iteration import ORCA, PASS, PASSED
from mlsysim.formulas.replica_layout import tokens
from mlsysim.symbolic import Example, Formula, Max, Min, evaluated_at, request, token, when
from mlsysim.symbols.chunked import C_b
from mlsysim.symbols.deployment import e2e_mean, tpot_mean, ttft_mean
from mlsysim.symbols.iteration import (
    R_gen,
    T_all,
    g_last,
    g_pre,
    h_c,
    n_bt,
    n_dec,
    n_grp,
    n_pro,
    one_by_one,
    t_fst,
    t_g,
    t_it,
)
from mlsysim.symbols.serving import n_out
from mlsysim.symbols.workload import s

NAME = "static"


def _prefilled(prompts: Any) -> Any:
    """Time of an iteration with this many prompts only."""
    return evaluated_at(t_it, {n_dec: 0 * request, n_pro: prompts}, PASS)


batch_prompts = Formula(
    n_pro,
    0 * request,
    title="Prompts of a decode step of a batch",
    source=ORCA,
    variant=NAME,
    assumes="All prompts are prefilled first.",
    convention="The parts of an iteration are those of a decode step.",
    no_example="it is zero",
)

#: Requests that find others under way: all but the first, where they are sent one by one.
_first = one_by_one * Min(request, Max(0, n_dec - request))
_behind = Max(0, n_dec - _first)

prefill_batch = Formula(
    g_pre,
    Min(_behind, request * n_grp * Max(1, floor(C_b / Max(token, tokens(0 * request, request))))),
    title="Prompts that are prefilled together",
    source=ORCA,
    assumes="Whole prompts, as many as the token budget of an iteration has room for, one at least. Each group of "
    "requests has a budget of its own.",
    example=Example(
        {n_dec: 16, one_by_one: 0, n_grp: 1, C_b: 8192, s: 1000, h_c: 0}, "8 request", derived="floor(8192 / 1000)"
    ),
)

prefill_batch_time = Formula(
    t_g, _prefilled(g_pre), title="Prefill of as many prompts together", source=ORCA, no_example=PASSED
)

first_prompt_time = Formula(
    t_fst,
    when(_first > 0, _prefilled(request), 0),
    title="Prefill of the prompt that finds the engine idle",
    source=ORCA,
    assumes="Where requests are sent one by one, the first is under way when the others come.",
    no_example=PASSED,
)

prefill_batches = Formula(
    n_bt,
    floor(_behind / Max(g_pre, request / 1000)),
    title="Prefills of as many prompts as fit",
    source=ORCA,
    example=Example({n_dec: 20, one_by_one: 0, g_pre: 8}, "2", derived="floor(20 / 8)"),
)

last_prefill_batch = Formula(
    g_last,
    Max(0, _behind - n_bt * g_pre),
    title="Prompts of the last prefill",
    source=ORCA,
    example=Example({n_dec: 20, one_by_one: 0, g_pre: 8, n_bt: 2}, "4 request", derived="20 - 2 * 8"),
)

all_prompts_time = Formula(
    T_all,
    t_fst + n_bt * t_g + when(g_last > 0, _prefilled(g_last), 0),
    title="Prefill of all prompts of a batch",
    source=ORCA,
    no_example=PASSED,
)

first_token_mean = Formula(
    ttft_mean,
    when(
        n_dec > 0,
        ((n_dec - g_last) * t_fst + g_pre * t_g * n_bt * (n_bt + 1) / 2 + g_last * T_all) / n_dec,
        0,
    ),
    title="Mean time to first token of a batch",
    source=ORCA,
    variant=NAME,
    assumes="Prompts that are prefilled together get their first tokens together.",
    example=Example(
        {n_dec: 20, n_bt: 2, g_last: 4, g_pre: 8, t_fst: 0, t_g: 100, T_all: 260},
        "172 ms",
        derived="(8 * 100 + 8 * 200 + 4 * 260) / 20",
    ),
)

last_token_mean = Formula(
    e2e_mean,
    T_all + Max(0, n_out / token - 1) * t_it,
    title="Time to the last token of a batch",
    source=ORCA,
    variant=NAME,
    assumes="Requests decode once all are prefilled.",
    example=Example({T_all: 260, n_out: 101, t_it: 10}, "1260 ms", derived="260 + 100 * 10"),
)

token_mean = Formula(
    tpot_mean,
    when(n_out > token, (e2e_mean - ttft_mean) / Max(1, n_out / token - 1), 0),
    title="Mean time per output token of a batch",
    source=ORCA,
    variant=NAME,
    assumes="The first gap has the wait for prompts that are prefilled later.",
    example=Example({e2e_mean: 1260, ttft_mean: 172, n_out: 101}, "10.88 ms", derived="(1260 - 172) / 100"),
)

output_rate = Formula(
    R_gen,
    Max(0, n_dec / request * n_out / e2e_mean),
    title="Tokens generated per second, prefill included",
    source=ORCA,
    variant=NAME,
    example=Example({n_dec: 20, n_out: 100, e2e_mean: 1000}, "2000 token/s", derived="20 * 100 / 1"),
)

FORMULAS = (
    batch_prompts,
    prefill_batch,
    prefill_batch_time,
    first_prompt_time,
    prefill_batches,
    last_prefill_batch,
    all_prompts_time,
    first_token_mean,
    last_token_mean,
    token_mean,
    output_rate,
)
