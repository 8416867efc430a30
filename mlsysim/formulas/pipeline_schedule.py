"""Pipeline schedules

What a pipeline of stages adds to a step: the time a stage waits while the others fill and drain, and
the sends between stages. One forward, one backward (1F1B) waits as long as GPipe and holds fewer
micro-batches; interleaving cuts a stage into chunks and waits as many times less.
"""

from __future__ import annotations

from sympy import Max, ceiling

from mlsysim.symbolic import Formula, Source, by_label, token, when
from mlsysim.symbols.activations import schedule, sigma, v_chunks
from mlsysim.symbols.hardware import alpha, alpha_node, n_fleet, n_node
from mlsysim.symbols.network import beta_l, beta_x
from mlsysim.symbols.step import T_bub, T_pp, bubble, t_mb, t_send
from mlsysim.symbols.training import n_mb, n_tok, p
from mlsysim.symbols.workload import h, q

SCHEDULE = Source("narayanan2021", "section 2.2")
SIMULATED = "Equal to a schedule executed operation by operation, where sending takes no time."

bubble_time = Formula(
    T_bub,
    (p - 1) / v_chunks * t_mb,
    title="Time a stage waits in a step",
    source=SCHEDULE,
    assumes="Stages take equally long. With several chunks micro-batches are a multiple of the stages.",
    accuracy=SIMULATED,
    no_example="the paper prints fractions",
)

bubble_fraction = Formula(
    bubble,
    (p - 1) / (v_chunks * n_mb + p - 1),
    title="Share of the pipelined time in which a stage waits",
    source=SCHEDULE,
    accuracy=SIMULATED,
    no_example="the paper prints curves",
)

send_time = Formula(
    t_send,
    when(
        n_fleet <= n_node,
        q * h * n_tok / (token * sigma * beta_l) + alpha_node,
        q * h * n_tok / (token * sigma * beta_x) + alpha,
    ),
    title="Hidden states of a micro-batch to the next stage",
    source=SCHEDULE,
    assumes="Stages are the outermost ranks, so they stand in different nodes where there are several.",
    no_example="sources print no number for it",
)

exposed_sends = Formula(
    T_pp,
    when(
        p > 1,
        by_label(
            schedule,
            {
                "1f1b": when(v_chunks > 1, 2 * (p * v_chunks - 1), 2 * Max(0, n_mb + p - 2 - ceiling((n_mb - 1) / p))),
                "gpipe": 2 * (p - 1),
            },
        )
        * t_send,
        0,
    ),
    title="Sends between stages left exposed in a step",
    source=SCHEDULE,
    assumes="A stage computes on while a result travels, and waits for the next one where it has nothing else to do: "
    "in 1F1B forward and backward pass alternate, so nearly every micro-batch waits, in GPipe the first and last.",
    accuracy="Equal to the executed schedule while a send is shorter than a pass through a chunk.",
    no_example="derived here; no source prints it",
)

FORMULAS = (bubble_time, bubble_fraction, send_time, exposed_sends)
