"""Pipeline schedules

Time that pipeline parallelism adds to a step: the bubble in which a stage waits while the others fill and drain, and
the sends between stages. One forward, one backward (1F1B) has the bubble of GPipe and holds fewer micro-batches.
Interleaving divides the bubble by the number of chunks per stage; ZB1P fills most of it with weight gradients; DualPipe
feeds micro-batches from both ends, and overlaps a forward pass with a backward pass of another micro-batch.
"""

from __future__ import annotations

from typing import Any

from sympy import ceiling

from mlsysim.formulas.collectives import meshed, step_rate
from mlsysim.formulas.roofline import slower
from mlsysim.symbolic import Example, Formula, Max, Source, by_label, token, when
from mlsysim.symbols.activations import schedule, sigma, v_chunks
from mlsysim.symbols.formats import q_a
from mlsysim.symbols.hardware import alpha, alpha_node, n_fleet, n_node, oversubscription
from mlsysim.symbols.layers import ell_rest, ell_s, on_last, phi_fill, t_dev, t_host
from mlsysim.symbols.network import beta_l, beta_x, n_ax, n_mesh, n_pod
from mlsysim.symbols.step import T_bub, T_pp, bubble, rho_lin, t_mb, t_send, t_slow
from mlsysim.symbols.trained import f_w
from mlsysim.symbols.training import n_mb, n_tok, p
from mlsysim.symbols.workload import h

SCHEDULE = Source("narayanan2021", "section 2.2")
SIMULATED = "Equal to a schedule executed operation by operation, where sending takes no time."


def handed_on(message: Any, accelerators: Any) -> Any:
    """Time to send a message to the next stage, if stages are the outermost of this many ranks."""
    return when(
        accelerators <= n_node,
        message / meshed(2, beta_l, 2) + alpha_node,
        message / step_rate(p, accelerators / p) + alpha,
    )


fill_share = Formula(
    phi_fill,
    by_label(
        schedule,
        {
            "1f1b": 1 / v_chunks,
            "gpipe": 1 / v_chunks,
            "zb1p": (2 + rho_lin - f_w) / (2 + rho_lin + f_w),
            "dualpipe": Max(0, p / 2 - 1) / Max(1, p - 1) * (3 + 2 * rho_lin - f_w) / (2 + rho_lin + f_w),
        },
    ),
    title="Share of a micro-batch that each further stage waits",
    source=Source("qi2023", "section 2"),
    assumes="Forward pass, gradients of inputs and gradients of all weights take equally long. ZB1P puts the last off "
    "to where a stage would wait for the others. DualPipe waits (p / 2 - 1) times for a forward beside a backward pass "
    "and a backward pass, less three times gradients of weights.",
    example=Example(
        {schedule: "dualpipe", p: 16, v_chunks: 1, rho_lin: 0, f_w: 1}, "0.3111", derived="7 / 15 * (3 - 1) / (2 + 1)"
    ),
)

stage_wait = Formula(
    t_slow,
    when(on_last > 0, Max(0, ell_rest * slower(t_dev / Max(1, ell_s), t_host) - t_mb)),
    title="Time of one micro-batch in which the last stage waits for one with more layers",
    source=SCHEDULE,
    assumes="Which stage does more is told by arithmetic and balanced loads; where hot experts, or what is no "
    "arithmetic, make layers longer, a stage with more of them is behind.",
    example=Example(
        {on_last: 1, ell_rest: 6, ell_s: 4, t_dev: 160, t_host: 0, t_mb: 200}, "40 ms", derived="6 / 4 * 160 - 200"
    ),
)

bubble_time = Formula(
    T_bub,
    (p - 1) * phi_fill * (t_mb + t_slow) + n_mb * t_slow,
    title="Time a stage waits in a step",
    source=SCHEDULE,
    assumes="Stages take as long as the slowest. With several chunks micro-batches are a multiple of the stages.",
    accuracy=SIMULATED + " DualPipe as its authors count it.",
    example=Example(
        {p: 16, phi_fill: 0.25, t_mb: 190, t_slow: 10, n_mb: 20}, "950 ms", derived="(16 - 1) * 0.25 * 200 + 20 * 10"
    ),
)

bubble_fraction = Formula(
    bubble,
    (p - 1) * phi_fill / (n_mb + (p - 1) * phi_fill),
    title="Share of the pipelined time in which a stage waits",
    source=SCHEDULE,
    accuracy=SIMULATED,
    example=Example({p: 16, phi_fill: 0.25, n_mb: 16}, "0.1899", derived="15 * 0.25 / (16 + 15 * 0.25)"),
)

send_time = Formula(
    t_send,
    handed_on(q_a * h * n_tok / (token * sigma), n_fleet),
    title="Hidden states of a micro-batch to the next stage",
    source=SCHEDULE,
    variant="step",
    assumes="Stages are the outermost ranks, so they stand in different nodes where there are several.",
    example=Example(
        {n_fleet: 16384, n_node: 8, n_pod: 0, oversubscription: 1, n_mesh: 0, n_ax: 0, p: 16, q_a: 2, h: 16384,
         n_tok: 8192, sigma: 8, beta_l: 450, alpha_node: 1, beta_x: 50, alpha: 5},
        "0.67609 ms",
        derived="2 * 16384 * 8192 / 8 / 50e9 * 1e3 + 0.005",
    ),
)  # fmt: skip

_alternating = when(v_chunks > 1, 2 * (p * v_chunks - 1), 2 * Max(0, n_mb + p - 2 - ceiling((n_mb - 1) / p)))

exposed_sends = Formula(
    T_pp,
    when(
        p > 1,
        by_label(
            schedule,
            {
                "1f1b": _alternating,
                "gpipe": 2 * (p - 1),
                "zb1p": _alternating,
                "dualpipe": 2 * (p - 1),
            },
        )
        * t_send,
        0,
    ),
    title="Sends between stages left exposed in a step",
    source=SCHEDULE,
    assumes="A stage computes on while a result travels, and waits for the next one where it has nothing else to do: "
    "in 1F1B and ZB1P forward and backward pass alternate, so nearly every micro-batch waits, in GPipe and DualPipe "
    "the first and last.",
    accuracy="Equal to the executed schedule while a send is shorter than a pass through a chunk.",
    example=Example(
        {schedule: "1f1b", p: 8, n_mb: 32, v_chunks: 1, t_send: 0.25},
        "17.00 ms",
        derived="2 * (32 + 8 - 2 - ceil(31 / 8)) * 0.25",
    ),
)

FORMULAS = (fill_share, stage_wait, bubble_time, bubble_fraction, send_time, exposed_sends)
