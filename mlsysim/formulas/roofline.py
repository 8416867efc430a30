"""Roofline

A kernel is bound by arithmetic or by memory, whichever takes longer. The ceiling of arithmetic depends on the
number format; both are reached in part only, and a launch takes a fixed time.
"""

from __future__ import annotations

from sympy import Max, Min

from mlsysim.symbolic import Example, Formula, Source, flop
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
    example=Example({m_k: 8192, n_k: 14336, k_k: 4096}, "962.07 GFLOP", derived="2 * 8192 * 14336 * 4096 / 1e9"),
)

product_traffic = Formula(
    Q_k,
    q * (m_k * k_k + k_k * n_k) + q_out * m_k * n_k,
    title="Memory traffic of a matrix product",
    source=WILLIAMS,
    assumes="Each factor is read once and the result written once: blocks fit the caches.",
    example=Example(
        {m_k: 8192, n_k: 14336, k_k: 4096, q: 1, q_out: 2},
        "327.16 MB",
        derived="(8192 * 4096 + 4096 * 14336 + 2 * 8192 * 14336) / 1e6",
    ),
)

intensity = Formula(
    I_k,
    W_k / Q_k,
    title="Arithmetic intensity",
    source=WILLIAMS,
    example=Example({W_k: 962.07, Q_k: 327.16}, "2940.7 FLOP/byte", derived="962.07e9 / 327.16e6"),
)

ridge = Formula(
    I_0,
    F * eta / (B_mem * eta_mem),
    title="Ridge point",
    source=WILLIAMS,
    example=Example(
        {F: 989, eta: 0.75, B_mem: 3350, eta_mem: 0.80}, "276.77 FLOP/byte", derived="989e12 * 0.75 / (3350e9 * 0.80)"
    ),
)

attainable = Formula(
    R_k,
    Min(F * eta, I_k * B_mem * eta_mem),
    title="Attainable rate",
    source=WILLIAMS,
    example=Example(
        {F: 989, eta: 0.75, I_k: 16, B_mem: 3350, eta_mem: 0.80},
        "42.88 TFLOP/s",
        derived="min(989 * 0.75, 16 * 3.350 * 0.80)",
    ),
)

kernel_time = Formula(
    T_k,
    Max(W_k / (F * eta), Q_k / (B_mem * eta_mem)) + tau_dispatch,
    title="Time of a kernel",
    source=WILLIAMS,
    assumes="Reading, computing and writing overlap; a launch does not.",
    accuracy=MEASURED,
    example=Example(
        {W_k: 962.07, F: 989, eta: 0.75, Q_k: 419.43, B_mem: 3350, eta_mem: 0.80, tau_dispatch: 0.003},
        "1.3000 ms",
        derived="max(962.07 / (989 * 0.75), 419.43 / (3350 * 0.80)) + 0.003",
    ),
)

FORMULAS = (product_arithmetic, product_traffic, intensity, ridge, attainable, kernel_time)
