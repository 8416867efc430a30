"""MoE routing

What hot experts cost. A token is sent to its top-k experts; when some experts draw more than their
share, the group waits for them as if every token had picked more experts.
"""

from __future__ import annotations

from sympy import Min

from mlsysim.formulas.collectives import all_to_all
from mlsysim.symbolic import Example, Formula, Source, token
from mlsysim.symbols.hardware import alpha, beta
from mlsysim.symbols.routing import P_eff, dispatch, k_eff, multiplier, payload, t_a2a
from mlsysim.symbols.training import b, e
from mlsysim.symbols.workload import E, P_active, gamma, h, k, q, s

TUTORIAL = Source("mlsysim_tutorial", "section 3")

effective_experts = Formula(
    k_eff,
    Min(E, k * gamma),
    title="Experts per token the hot ones make it cost",
    source=TUTORIAL,
    assumes="One factor stands for the imbalance, capped at the number of experts.",
    example=Example({E: 8, k: 2, gamma: 1.25}, "2.50", TUTORIAL),
)

active_work = Formula(
    multiplier,
    k_eff / k,
    title="Active work over that of balanced routing",
    source=TUTORIAL,
    example=Example({k_eff: 2.5, k: 2}, "1.25", TUTORIAL),
)

effective_parameters = Formula(
    P_eff,
    P_active * multiplier,
    title="Active parameters, imbalance included",
    source=TUTORIAL,
    assumes="All active parameters grow with the imbalance, the dense ones too.",
    no_example="the tutorial does not print it",
)

routed_payload = Formula(
    payload,
    b * (s / token) * h * q * k_eff,
    title="Activations handed to experts",
    source=Source("fedus2022", "section 2"),
    variant="first_order",
    assumes="One hidden vector per token and expert, in the training precision; one direction, one layer. "
    "The imbalance inflates the bytes; in truth the total stays and the hot rank sets the time.",
    convention="All tokens of the batch; MB = 1e6 bytes.",
    no_example="the tutorial prints the part that leaves the rank",
)

dispatched = Formula(
    dispatch,
    payload * (e - 1) / e,
    title="Activations that leave their rank",
    source=TUTORIAL,
    assumes="Experts are placed evenly, so a token's expert is local once in e.",
    convention="MB = 1e6 bytes.",
    example=Example({payload: 134.217728, e: 8}, "117.4 MB", TUTORIAL),
)

exchange_time = Formula(
    t_a2a,
    all_to_all(e, payload, beta, alpha),
    title="Time of one all-to-all exchange",
    source=Source("thakur2005", "all-to-all, pairwise exchange"),
    variant="first_order",
    assumes="One dispatch on the fabric, even where the group fits a node; no combine, no backward pass.",
    convention="One exchange of one layer.",
    example=Example({e: 8, payload: 134.217728, beta: 12.5, alpha: 50}, "9.75 ms", TUTORIAL),
)

FORMULAS = (effective_experts, active_work, effective_parameters, routed_payload, dispatched, exchange_time)
