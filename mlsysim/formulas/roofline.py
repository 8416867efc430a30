"""Roofline

A kernel is bound by arithmetic or by memory. A product computes whole tiles in whole waves of multiprocessors; its rate
is capped by the device's power, since an operation costs energy; and near the ridge the two times add in part. A launch
takes a fixed time.
"""

from __future__ import annotations

from typing import Any

from sympy import Piecewise, Rational, ceiling, sqrt

from mlsysim.symbolic import Example, Formula, Max, Min, Source, byte, flop, label, when
from mlsysim.symbols.costs import tdp
from mlsysim.symbols.formats import q_in, q_w
from mlsysim.symbols.hardware import B_mem, F, eta
from mlsysim.symbols.roofline import (
    I_0,
    E_got,
    E_k,
    I_k,
    N_r,
    O_k,
    Q_k,
    R_got,
    R_k,
    S_mp,
    T_k,
    W_k,
    dynamic,
    e_flop,
    eta_max,
    eta_tile,
    gamma_k,
    k_k,
    kernel_bound,
    m_k,
    n_k,
    q_out,
    t_c,
    t_m,
    t_q,
    tau_launch,
    tau_quant,
    x_max,
    x_min,
)
from mlsysim.symbols.step import eta_mem

WILLIAMS = Source("williams2009", "section 3")
WAVES = Source("nvidia_gemm_guide", "section 2")
GROUPED = Source("gale2023", "section 4")
ENERGY = Source("choi2013", "section 2")
LEFT_OUT = (
    "392 products on A100, H100, B200: median 5.4%, worst 36%; on a device left out of the fit 7.1% "
    "(docs/validation.md)."
)
#: Rows and columns of outputs that one multiprocessor computes at a time.
TILE = 64


def slower(device: Any, host: Any) -> Any:
    """Time of two clocks, the slower of which sets the pace at each moment."""
    return sqrt(sqrt(device**4 + host**4))


def side_by_side(computing: Any, reading: Any) -> Any:
    """Time of an operator that overlaps memory and compute; near the ridge neither hides the other fully."""
    return sqrt(computing**2 + reading**2)


def binding(fixed: Any) -> Any:
    """Bottleneck of a kernel, beside a fixed time."""
    return Piecewise(
        (label(kernel_bound, "Launch"), fixed > Max(t_c, t_m)),
        (label(kernel_bound, "Arithmetic"), t_c >= t_m),
        (label(kernel_bound, "Memory bandwidth"), True),
    )


product_arithmetic = Formula(
    W_k,
    2 * flop * m_k * n_k * k_k,
    title="Arithmetic of a matrix product",
    source=WILLIAMS,
    example=Example({m_k: 8192, n_k: 14336, k_k: 4096}, "962.07 GFLOP", derived="2 * 8192 * 14336 * 4096 / 1e9"),
)

product_traffic = Formula(
    Q_k,
    q_in * m_k * k_k + E_got * q_w * k_k * n_k + q_out * m_k * n_k,
    title="Memory traffic of a matrix product",
    source=WILLIAMS,
    assumes="Activations and weights are read once, each in the format they have, and the result is written once: "
    "blocks fit the caches.",
    example=Example(
        {m_k: 8192, n_k: 14336, k_k: 4096, q_in: 1, q_w: 1, q_out: 2, E_got: 8},
        "738.20 MB",
        derived="(8192 * 4096 + 8 * 4096 * 14336 + 2 * 8192 * 14336) / 1e6",
    ),
)

intensity = Formula(
    I_k,
    W_k / Q_k,
    title="Arithmetic intensity",
    source=WILLIAMS,
    example=Example({W_k: 962.07, Q_k: 327.16}, "2940.7 FLOP/byte", derived="962.07e9 / 327.16e6"),
)

groups_with_rows = Formula(
    E_got,
    E_k * Min(1, 2 / gamma_k),
    title="Groups with rows",
    source=GROUPED,
    assumes="Rows of groups lie evenly between two numbers; where the largest has more than twice the mean, from none, "
    "and the others are empty.",
    example=Example({E_k: 128, gamma_k: 4}, "64", derived="128 * 2 / 4"),
)


largest_fill, smallest_fill = (
    Formula(
        fill,
        m_k * share / (TILE * E_k),
        title=f"Tiles that the rows of the {which} group fill",
        source=GROUPED,
        assumes="64 rows are a tile. Rows of groups lie evenly between two numbers around their mean.",
        example=Example({m_k: 4096, E_k: 32, gamma_k: 1.5}, value, derived=f"4096 * {factor} / (64 * 32)"),
    )
    for fill, share, which, value, factor in (
        (x_max, gamma_k, "largest", "3", 1.5),
        (x_min, Max(0, 2 - gamma_k), "smallest", "1", 0.5),
    )
)


def _tiles_up_to(fill: Any) -> Any:
    """Twice the integral of the whole tiles of groups, up to this size."""
    return ceiling(fill) * (2 * fill - ceiling(fill) + 1)


row_tiles = Formula(
    N_r,
    Piecewise(
        (E_k * ceiling(x_max), gamma_k <= 1),
        (E_got * Max(1, (_tiles_up_to(x_max) - _tiles_up_to(x_min)) / (2 * (x_max - x_min))), True),
    ),
    title="Tiles of the rows of all groups",
    source=GROUPED,
    assumes="Rows of different groups share no tile. Where groups differ, the mean of whole tiles over all sizes "
    "between the smallest and the largest: the last tile of a large group is half empty.",
    example=Example(
        {E_k: 32, E_got: 32, gamma_k: 1.5, x_max: 3, x_min: 1}, "80", derived="32 * ((1 + 2 + 3) - 1) / (3 - 1)"
    ),
)

padded_outputs = Formula(
    O_k,
    S_mp * TILE**2 * ceiling(N_r * ceiling(n_k / TILE) / S_mp),
    title="Outputs in whole tiles and whole waves",
    source=WAVES,
    variant="waves",
    assumes="A multiprocessor computes 64 x 64 outputs at a time, and all of them start a wave together: tiles of all "
    "groups fill waves.",
    accuracy=LEFT_OUT,
    example=Example({N_r: 4, n_k: 8192, S_mp: 132}, "2162688", derived="132 * 64**2 * ceil(4 * 128 / 132)"),
)

least_outputs = Formula(
    O_k,
    Max(m_k * n_k, S_mp * TILE**2),
    title="Outputs of one wave at least",
    source=WAVES,
    variant="smooth",
    assumes="One wave takes its time whether it is full or not; nothing else is rounded, the rows of a group neither.",
    accuracy="392 products: median 5.8%, worst 35%; on a device left out of the fit 8.6%.",
    example=Example({m_k: 16, n_k: 8192, S_mp: 132}, "540672", derived="max(16 * 8192, 132 * 64**2)"),
)

tile_loss = Formula(
    eta_tile,
    m_k * n_k / O_k,
    title="What tiles and waves leave",
    source=WAVES,
    example=Example({m_k: 256, n_k: 8192, O_k: 2162688}, "0.9697", derived="256 * 8192 / 2162688"),
)

power_ceiling = Formula(
    eta_max,
    eta / (1 + e_flop * F * when(q_in < byte, Rational(1, 2), 1) / tdp),
    title="Ceiling by power",
    source=ENERGY,
    assumes="Peak rates are those of a clock that the power of the board does not allow: the time of an operation is "
    "that of the peak and that of its energy. One energy serves all devices and formats of 8 bit and more, and half of "
    "it those of 4 bit; a ceiling of one's own is no energy and an efficiency.",
    accuracy=LEFT_OUT,
    example=Example(
        {eta: 1, e_flop: 0.2, F: 989, tdp: 700, q_in: 2}, "0.7797", derived="1 / (1 + 0.2e-12 * 989e12 / 700)"
    ),
)

ridge = Formula(
    I_0,
    F * eta / (B_mem * eta_mem),
    title="Ridge point",
    source=WILLIAMS,
    variant="roofline",
    example=Example(
        {F: 989, eta: 0.75, B_mem: 3350, eta_mem: 0.80}, "276.77 FLOP/byte", derived="989e12 * 0.75 / (3350e9 * 0.80)"
    ),
)

power_ridge = Formula(
    I_0,
    F * eta_max / (B_mem * eta_mem),
    title="Ridge point below the ceiling by power",
    source=WILLIAMS,
    variant="waves",
    example=Example(
        {F: 989, eta_max: 0.78, B_mem: 3350, eta_mem: 0.91},
        "253.05 FLOP/byte",
        derived="989e12 * 0.78 / (3350e9 * 0.91)",
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

arithmetic_time = Formula(
    t_c,
    W_k / (F * eta),
    title="Arithmetic at its ceiling",
    source=WILLIAMS,
    variant="roofline",
    example=Example({W_k: 962.07, F: 989, eta: 0.75}, "1.2970 ms", derived="962.07 / (989 * 0.75)"),
)

padded_arithmetic_time = Formula(
    t_c,
    W_k / (eta_tile * F * eta_max),
    title="Arithmetic of whole tiles and waves",
    source=WAVES,
    variant="waves",
    example=Example(
        {W_k: 549.76, eta_tile: 0.97, F: 989, eta_max: 0.78}, "0.73470 ms", derived="549.76 / (0.97 * 989 * 0.78)"
    ),
)

memory_time = Formula(
    t_m,
    Q_k / (B_mem * eta_mem),
    title="Memory traffic at its ceiling",
    source=WILLIAMS,
    example=Example({Q_k: 268.44, B_mem: 3350, eta_mem: 0.91}, "0.088056 ms", derived="268.44 / (3350 * 0.91)"),
)

quantizing_time = Formula(
    t_q,
    dynamic * when(q_in < 2 * byte, tau_quant + (2 * byte + q_in) * m_k * k_k / (B_mem * eta_mem)),
    title="Quantising the activations",
    source=Source("micikevicius2022", "section 4"),
    assumes="Activations are read at 16 bit and written at the precision of the product. Scales that are known before "
    "are put on by the kernel that writes the activations, and cost nothing.",
    accuracy="168 products at 8 bit on H100, B200: median 4.0%; those of a device left out 5.4% and 4.4%.",
    example=Example(
        {dynamic: 1, q_in: 1, tau_quant: 11, m_k: 1024, k_k: 4096, B_mem: 7700, eta_mem: 0.91},
        "0.012796 ms",
        derived="0.011 + 3 * 1024 * 4096 / (7700e9 * 0.91) * 1e3",
    ),
)

kernel_time = Formula(
    T_k,
    Max(t_c, t_m) + tau_launch,
    title="Time of a kernel below two ceilings",
    source=WILLIAMS,
    variant="roofline",
    assumes="Reading, computing and writing overlap; a launch does not.",
    accuracy="280 products on A100, H100, B200: 23% off in the mean at 0.75, 0.80 and 3 us.",
    example=Example({t_c: 1.297, t_m: 0.157, tau_launch: 3}, "1.3000 ms", derived="max(1.297, 0.157) + 0.003"),
)

product_time = Formula(
    T_k,
    side_by_side(t_c, t_m) + tau_launch + t_q,
    title="Time of a matrix product",
    source=WILLIAMS,
    variant="waves",
    assumes="Near the ridge arithmetic and memory hinder each other: the roof is rounded.",
    accuracy=LEFT_OUT,
    example=Example({t_c: 0.7, t_m: 0.1, tau_launch: 4, t_q: 0}, "0.71111 ms", derived="sqrt(0.7**2 + 0.1**2) + 0.004"),
)

traffic_time = Formula(
    T_k,
    t_m + tau_launch,
    title="Time of a kernel without products",
    source=WILLIAMS,
    variant="elementwise",
    example=Example({t_m: 0.1, tau_launch: 4}, "0.104 ms", derived="0.1 + 0.004"),
)

rate = Formula(
    R_got,
    W_k / T_k,
    title="Rate of a kernel",
    source=WILLIAMS,
    example=Example({W_k: 549.76, T_k: 0.733}, "750.01 TFLOP/s", derived="549.76 / 0.733"),
)

bottleneck = Formula(
    kernel_bound,
    binding(tau_launch + t_q),
    title="What binds a product",
    source=WILLIAMS,
    variant="waves",
    example=Example(
        {t_c: 0.7, t_m: 0.1, tau_launch: 4, t_q: 0}, "Arithmetic", derived="0.004 + 0 <= 0.7 and 0.7 >= 0.1"
    ),
)

roofline_bottleneck = Formula(
    kernel_bound,
    binding(tau_launch),
    title="What binds a kernel",
    source=WILLIAMS,
    variant="roofline",
    example=Example({t_c: 0.1, t_m: 0.7, tau_launch: 4}, "Memory bandwidth", derived="0.004 <= 0.7 and 0.7 > 0.1"),
)

_COUNTS = (product_arithmetic, product_traffic, intensity, groups_with_rows)
_PRODUCT = (
    tile_loss,
    power_ceiling,
    power_ridge,
    padded_arithmetic_time,
    memory_time,
    quantizing_time,
    product_time,
    rate,
    bottleneck,
)
PRODUCT = (*_COUNTS, largest_fill, smallest_fill, row_tiles, padded_outputs, *_PRODUCT)
SMOOTH = (*_COUNTS, least_outputs, *_PRODUCT)
ROOFLINE = (*_COUNTS, ridge, attainable, arithmetic_time, memory_time, kernel_time, rate, roofline_bottleneck)
ELEMENTWISE = (memory_time, traffic_time)
FORMULAS = tuple(dict.fromkeys((*PRODUCT, *SMOOTH, *ROOFLINE, *ELEMENTWISE)))
