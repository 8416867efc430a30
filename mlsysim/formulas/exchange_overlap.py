"""Overlapped exchanges

Expert exchanges hide behind computing. A single micro-batch has only the computing of its own layer in the same pass, a
share of which can overlap. With two micro-batches, one forward and one backward, each exchange overlaps with one part
of a layer of the other micro-batch, attention or experts; what exceeds that part is exposed. The first forward and the
last backward pass have no partner.
"""

from __future__ import annotations

from typing import Any

from mlsysim.formulas.expert_products import product_time
from mlsysim.symbolic import Example, Formula, Max, Source, total, when
from mlsysim.symbols.groups import exchange, t_x
from mlsysim.symbols.layers import (
    F_lin,
    T_fill,
    ell_s,
    ell_s_moe,
    kappa,
    phi_ep,
    phi_fill,
    phi_two,
    r_e,
    s_bwd,
    s_fwd,
    t_exp,
    t_head,
    t_rest,
    t_wait,
    two,
    x_bwd,
    x_fwd,
)
from mlsysim.symbols.parameters import P_exp
from mlsysim.symbols.routing import gamma_r, n_exchanges
from mlsysim.symbols.step import rho_lin, t_comp, t_ep
from mlsysim.symbols.trained import f_w
from mlsysim.symbols.training import n_tok, p, t
from mlsysim.symbols.workload import k

DUALPIPE = Source("deepseek2024", "section 3.2.1")
KAPLAN = Source("kaplan2020", "section 2.1")
EXECUTED = (
    "Steps of 200 random settings within 5% of a schedule executed operation by operation "
    "(docs/expert_parallel_accuracy.md)."
)
LAYER = "One layer with experts, one micro-batch."

#: A dispatch and a combination of one layer.
BOTH = total(exchange, t_x[exchange])


def alone(time: Any) -> Any:
    """Time of micro-batches without a partner: of a whole step, and while the pipeline fills and drains."""
    return when(two > 0, (1 + (p - 1) * phi_fill) * time)


def hidden() -> Any:
    """Exchanges of a micro-batch that another one hides."""
    return ell_s_moe * n_exchanges / 2 * BOTH - t_ep


def _rest(name: str, beside: Any) -> Any:
    """Exposed rest of an exchange beside a part of another micro-batch, which hides at most a share of it."""
    return Max((1 - phi_two) * t_x[name], t_x[name] - beside)


def _exposed(beside_dispatch: Any, beside_combine: Any, share: Any) -> Any:
    """Exposed part of both exchanges of a layer, beside another micro-batch or its own computing."""
    return when(
        two > 0,
        _rest("dispatch", beside_dispatch) + _rest("combine", beside_combine),
        Max(0, BOTH - phi_ep * share * (t_rest + t_exp)),
    )


expert_time = Formula(
    t_exp,
    product_time(gamma_r, r_e) / kappa,
    title="Products of the routed experts of a layer, hot rank",
    source=Source("fedus2022", "section 2.2"),
    convention=LAYER,
    example=Example(
        {n_tok: 8192, t: 1, f_w: 1, rho_lin: 1, gamma_r: 1.2, r_e: 1.05, k: 8, P_exp: 4718592, kappa: 1, F_lin: 593.4},
        "5.253 ms",
        derived="8192 * 4 * 1.2 * 1.05 * 2 * 8 * 4718592 / 593.4e12 * 1e3",
    ),
)

rest_time = Formula(
    t_rest,
    Max(0, t_comp - t_head - ell_s_moe * t_exp) / Max(1, ell_s),
    title="Everything else that a layer computes, hot rank",
    source=Source("fedus2022", "section 2.2"),
    assumes="A mean over the layers of the slowest stage.",
    convention=LAYER,
    example=Example(
        {t_comp: 3807, t_head: 250, ell_s: 48, ell_s_moe: 45, t_exp: 28.33},
        "47.54 ms",
        derived="(3807 - 250 - 45 * 28.33) / 48",
    ),
)

forward_share = Formula(
    s_fwd,
    1 / (2 + f_w + rho_lin),
    title="Share of one forward pass",
    source=KAPLAN,
    assumes="Gradients of inputs take as long as the forward pass, so do those of all weights, and what is recomputed "
    "is forward work once more.",
    example=Example({f_w: 1, rho_lin: 1}, "0.25", derived="1 / 4"),
)

backward_share = Formula(
    s_bwd,
    1 - (n_exchanges / 2 - 1) * s_fwd,
    title="Share of the backward pass",
    source=KAPLAN,
    assumes="A forward pass that is repeated whole, exchanges and all, is counted with the forward passes.",
    example=Example({n_exchanges: 6, s_fwd: 0.25}, "0.5", derived="1 - 2 * 0.25"),
)

forward_exposed = Formula(
    x_fwd,
    _exposed(s_bwd * t_exp, s_bwd * t_rest, s_fwd),
    title="Exchanges left exposed in a forward pass",
    source=DUALPIPE,
    assumes="With two micro-batches tokens are dispatched while the other computes gradients of its experts, and "
    "combined while it computes those of its attention.",
    convention=LAYER,
    accuracy=EXECUTED,
    example=Example(
        {two: 1, t_x["dispatch"]: 8, t_x["combine"]: 16, s_fwd: 0.3333, s_bwd: 0.6667, t_exp: 10,
         t_rest: 20, phi_ep: 0, phi_two: 0.4},
        "14.4 ms",
        derived="max(0.6 * 8, 8 - 2 / 3 * 10) + max(0.6 * 16, 16 - 2 / 3 * 20)",
    ),
)  # fmt: skip

backward_exposed = Formula(
    x_bwd,
    _exposed(s_fwd * t_rest, s_fwd * t_exp, s_bwd),
    title="Exchanges left exposed in a backward pass",
    source=DUALPIPE,
    assumes="Gradients of what was combined are dispatched while the other micro-batch computes its attention, and "
    "those of what was dispatched combined while it computes its experts.",
    convention=LAYER,
    accuracy=EXECUTED,
    example=Example(
        {two: 0, t_x["dispatch"]: 8, t_x["combine"]: 16, s_fwd: 0.3333, s_bwd: 0.6667, t_exp: 10,
         t_rest: 20, phi_ep: 0.5, phi_two: 0.4},
        "14 ms",
        derived="8 + 16 - 0.5 * 2 / 3 * (20 + 10)",
    ),
)  # fmt: skip

expert_parallel_time = Formula(
    t_ep,
    ell_s_moe * ((n_exchanges / 2 - 1) * x_fwd + x_bwd),
    title="Expert-parallel exchanges left exposed, one micro-batch",
    source=DUALPIPE,
    assumes="The hot rank sets the time. A forward pass that is repeated exchanges once more.",
    accuracy=EXECUTED,
    example=Example({ell_s_moe: 15, n_exchanges: 6, x_fwd: 1.1, x_bwd: 0.7}, "43.5 ms", derived="15 * (2 * 1.1 + 0.7)"),
)

fill_time = Formula(
    T_fill,
    alone(Max(0, hidden() - t_wait)),
    title="Exchanges with no other micro-batch beside them",
    source=DUALPIPE,
    variant="per_operator",
    assumes="The first forward and the last backward pass of a step run alone; in a pipeline also those that fill and "
    "drain it. Where the host sets the pace, it hides them.",
    example=Example(
        {two: 1, p: 4, phi_fill: 0.5, ell_s_moe: 15, n_exchanges: 4, t_x["dispatch"]: 0.4, t_x["combine"]: 0.7,
         t_ep: 5, t_wait: 0},
        "70 ms",
        derived="(1 + 3 * 0.5) * (15 * 2 * 1.1 - 5)",
    ),
)  # fmt: skip

FORMULAS = (
    expert_time,
    rest_time,
    forward_share,
    backward_share,
    forward_exposed,
    backward_exposed,
    expert_parallel_time,
    fill_time,
)
