"""Roofline

A kernel is bound by arithmetic or by memory, whichever takes longer. The ceiling of arithmetic depends on the
number format; both are reached in part only, and a launch takes a fixed time.
"""

from __future__ import annotations

from sympy import Max, Min

from mlsysim.symbolic import Formula, Source, flop
from mlsysim.symbols.hardware import B_mem, F, eta, tau_dispatch
from mlsysim.symbols.roofline import I_0, I_k, Q_k, R_k, T_k, W_k, k_k, m_k, n_k, q_out
from mlsysim.symbols.step import eta_mem
from mlsysim.symbols.workload import q

WILLIAMS = Source("williams2009", "section 3")
MEASURED = "280 products on A100, H100, B200: 23% off in the mean at 0.75, 0.80 and 3 us (docs/validation.md)."

product_arithmetic = Formula(
    W_k,
    2 * flop * m_k * n_k * k_k,
    title="Arithmetic of a matrix product",
    source=WILLIAMS,
    no_example="counting",
)

product_traffic = Formula(
    Q_k,
    q * (m_k * k_k + k_k * n_k) + q_out * m_k * n_k,
    title="Memory traffic of a matrix product",
    source=WILLIAMS,
    assumes="Each factor is read once and the result written once: blocks fit the caches.",
    no_example="counting",
)

intensity = Formula(I_k, W_k / Q_k, title="Arithmetic intensity", source=WILLIAMS, no_example="a quotient")

ridge = Formula(
    I_0,
    F * eta / (B_mem * eta_mem),
    title="Ridge point",
    source=WILLIAMS,
    no_example="the paper's machines are of 2008",
)

attainable = Formula(
    R_k,
    Min(F * eta, I_k * B_mem * eta_mem),
    title="Attainable rate",
    source=WILLIAMS,
    no_example="the paper's machines are of 2008",
)

kernel_time = Formula(
    T_k,
    Max(W_k / (F * eta), Q_k / (B_mem * eta_mem)) + tau_dispatch,
    title="Time of a kernel",
    source=WILLIAMS,
    assumes="Reading, computing and writing overlap; a launch does not.",
    accuracy=MEASURED,
    no_example="measured times stand in docs/validation.md",
)

FORMULAS = (product_arithmetic, product_traffic, intensity, ridge, attainable, kernel_time)
