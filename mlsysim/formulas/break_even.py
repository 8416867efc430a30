"""Where expert parallelism pays

With experts on ranks of their own, a layer gathers and reduces fewer weights and exchanges tokens instead.
What is gathered hides behind computing, which grows with the tokens; what is exchanged grows with them, too.
So a larger group pays for few tokens, few experts a token, slow links and balanced loads. Each break-even
is that of one layer with experts and one micro-batch, against no expert parallelism, all else as asked.
"""

from __future__ import annotations

from typing import Any

from sympy import And, Max, Min, Piecewise

from mlsysim.symbolic import Example, Formula, Source, by_label, flop, token, total, when
from mlsysim.symbols.break_even import (
    beta_even,
    gamma_even,
    k_even,
    less,
    n_even,
    rows_even,
    s_even,
    saved,
    t_besides,
    t_count,
    t_cover,
    t_routed,
    t_split,
    t_swap,
    t_whole,
)
from mlsysim.symbols.formats import q_u
from mlsysim.symbols.fsdp import t_sync
from mlsysim.symbols.groups import beta_g, exchange, n_g, t_x
from mlsysim.symbols.layers import F_lin, ell_s, kappa, t_head
from mlsysim.symbols.parameters import P_exp
from mlsysim.symbols.routing import gamma_m, gamma_r, n_exchanges, pad
from mlsysim.symbols.step import phi_dp, q_red, rho_lin, t_comp
from mlsysim.symbols.trained import f_w, q_t
from mlsysim.symbols.training import P_exp_r, Z, checkpointing, e, n_mb, n_tok, t
from mlsysim.symbols.workload import E, k, s

#: Of what hides; where both sides are equal is derived here and printed nowhere else.
OVERLAP = Source("li2020", "section 3.2")
HIDDEN = (
    "The device sets the pace, not the host. Exchanges are exposed. What is gathered and reduced hides behind the "
    "computing of its own layer. Asked at balanced loads."
)
SWEPT = (
    "Within 12% of where sweeps of the whole step cross (ZeRO-3), if what is still gathered hides and attention is a "
    "small part. Where nearly equal traffic is exposed on both sides even the sign may be wrong."
)
LAYER = "One layer with experts, one micro-batch."

#: Work of the hot rank over that of a rank without expert parallelism, of which both drop or pad as much.
_imbalance = gamma_r / gamma_m

#: Bytes of a trained weight that a rank sends for one micro-batch.
_bytes = Piecewise(
    (2 * q_u + f_w * q_red, Z >= 3),
    (f_w * q_red + q_t / n_mb, Z >= 2),
    ((f_w * q_red + q_t) / n_mb, Z >= 1),
    (2 * f_w * q_red / n_mb, True),
)

routed_time = Formula(
    t_routed,
    n_tok / t * (2 + f_w + rho_lin) * 2 * flop * gamma_m * k * P_exp / token / (kappa * F_lin),
    title="Products of the routed experts of a layer",
    source=Source("fedus2022", "section 2.2"),
    assumes="Each token goes to its experts, and all ranks get as many.",
    convention=LAYER,
    example=Example(
        {n_tok: 8192, t: 1, f_w: 1, rho_lin: 1, gamma_m: 1, k: 8, P_exp: 4718592, kappa: 1, F_lin: 87.32},
        "28.33 ms",
        derived="8192 * 4 * 2 * 8 * 4718592 / 87.32e12 * 1e3",
    ),
)

besides_time = Formula(
    t_besides,
    Max(0, (t_comp - t_head) / Max(1, ell_s) - _imbalance * t_routed),
    title="Everything else that a layer computes",
    source=Source("fedus2022", "section 2.2"),
    assumes="A mean over the layers of the slowest stage.",
    convention=LAYER,
    example=Example(
        {t_comp: 3807, t_head: 250, ell_s: 48, gamma_r: 1, gamma_m: 1, t_routed: 28.33},
        "45.77 ms",
        derived="(3807 - 250) / 48 - 28.33",
    ),
)

unsplit_traffic = Formula(
    t_whole,
    (1 - 1 / (2 * e * n_g["edp"])) * _bytes * e * P_exp_r / beta_g["dp"],
    title="Gathering and reducing all experts of a layer",
    source=Source("rajbhandari2020", "section 7"),
    assumes="ZeRO-3 gathers twice and reduces once a micro-batch, ZeRO-2 reduces and gathers once a step what changed, "
    "ZeRO-1 does both once a step, and before it gradients are all-reduced.",
    convention=LAYER,
    example=Example(
        {Z: 3, n_g["edp"]: 2, f_w: 1, q_t: 4, q_u: 2, q_red: 4, n_mb: 1, e: 4, P_exp_r: 150994944, beta_g["dp"]: 360},
        "12.583 ms",
        derived="15 / 16 * (2 * 2 + 4) * 4 * 150994944 / 360e9 * 1e3",
    ),
)

split_traffic = Formula(
    t_split,
    when(n_g["edp"] > 1, (1 - 1 / (2 * n_g["edp"])) * _bytes * P_exp_r / beta_g["edp"]),
    title="Gathering and reducing the experts of a layer that one rank keeps",
    source=Source("rajbhandari2020", "section 7"),
    convention=LAYER,
    example=Example(
        {Z: 3, n_g["edp"]: 2, f_w: 1, q_t: 4, q_u: 2, q_red: 4, n_mb: 1, P_exp_r: 150994944, beta_g["edp"]: 360},
        "2.5166 ms",
        derived="3 / 4 * (2 * 2 + 4) * 150994944 / 360e9 * 1e3",
    ),
)

swap_time = Formula(
    t_swap,
    n_exchanges / 2 * total(exchange, t_x[exchange]) / _imbalance,
    title="Exchanges of a layer with balanced loads",
    source=Source("deepseek2024", "section 3.2.2"),
    convention=LAYER,
    example=Example(
        {n_exchanges: 6, t_x["dispatch"]: 0.4, t_x["combine"]: 0.74, gamma_r: 1, gamma_m: 1},
        "3.42 ms",
        derived="3 * (0.4 + 0.74)",
    ),
)

count_time = Formula(
    t_count,
    when(And(e > 1, pad < 1), by_label(checkpointing, {"none": 1, "selective": 1, "full": 2}) * t_sync),
    title="Waiting for counts of tokens in a layer",
    source=Source("torchtitan_issue_1624"),
    assumes="The host reads how many tokens each expert gets before it can size an exchange, forward and where the "
    "forward pass is repeated. Where all are padded to their capacity, their sizes are known.",
    convention=LAYER,
    example=Example({e: 4, pad: 0, checkpointing: "full", t_sync: 1}, "2 ms", derived="2 * 1"),
)

cover_time = Formula(
    t_cover,
    phi_dp * (t_besides + t_routed),
    title="Computing of a layer that its traffic may hide behind",
    source=OVERLAP,
    convention=LAYER,
    example=Example({phi_dp: 0.5, t_besides: 20, t_routed: 10}, "15 ms", derived="0.5 * (20 + 10)"),
)

_left = Max(0, t_whole - t_cover)
#: What is gathered less, exchanges not yet paid for, where what one rank keeps is exposed, too.
_fewer = t_whole - t_split - t_count


def _even(exposed: Any, hidden: Any) -> Any:
    """The smaller of two crossings, with what is still gathered exposed and hidden; zero where nothing is exchanged."""
    return Piecewise((0, t_swap <= 0), (Max(0, Min(exposed, hidden)), True))


gain = Formula(
    saved,
    (1 - _imbalance) * t_routed
    - _imbalance * t_swap
    - t_count
    + _left
    - Max(0, t_split - phi_dp * (t_besides + _imbalance * t_routed)),
    title="What expert parallelism saves a layer",
    source=OVERLAP,
    assumes=HIDDEN,
    convention=LAYER,
    accuracy=SWEPT,
    example=Example(
        {
            gamma_r: 1.25,
            gamma_m: 1,
            t_routed: 10,
            t_swap: 8,
            t_count: 0,
            t_whole: 60,
            t_split: 8,
            phi_dp: 1,
            t_besides: 20,
            t_cover: 30,
        },
        "17.5 ms",
        derived="-0.25 * 10 - 1.25 * 8 + 60 - 30",
    ),
)

break_even_imbalance = Formula(
    gamma_even,
    _even(
        (t_routed + _left - t_count - t_split + phi_dp * t_besides) / (t_swap + (1 - phi_dp) * t_routed),
        (t_routed + _left - t_count) / (t_routed + t_swap),
    ),
    title="Imbalance at which it saves nothing",
    source=OVERLAP,
    assumes=HIDDEN,
    convention=LAYER,
    accuracy=SWEPT,
    example=Example(
        {t_routed: 10, t_swap: 8, t_count: 0, t_whole: 60, t_split: 8, phi_dp: 1, t_besides: 20, t_cover: 30},
        "2.2222",
        derived="min((10 + 60 - 30 - 8 + 20) / 8, (10 + 60 - 30) / (10 + 8))",
    ),
)

break_even_tokens = Formula(
    n_even,
    _even(n_tok * _fewer / t_swap, n_tok * (t_whole - t_count) / (t_swap + t_cover)),
    title="Tokens of a micro-batch at which it saves nothing",
    source=OVERLAP,
    assumes=HIDDEN + " Computing and exchanges are proportional to the tokens, and loads balanced.",
    convention=LAYER,
    accuracy=SWEPT,
    example=Example(
        {n_tok: 4096, t_whole: 60, t_split: 8, t_count: 0, t_swap: 8, t_cover: 30},
        "6467.4 token",
        derived="4096 * min((60 - 8) / 8, 60 / (8 + 30))",
    ),
)

break_even_length = Formula(
    s_even,
    s * n_even / n_tok,
    title="Tokens of a sequence at which it saves nothing",
    source=OVERLAP,
    assumes="As many sequences in a micro-batch, and attention taken as proportional to the tokens.",
    accuracy=SWEPT,
    example=Example({s: 4096, n_even: 6467.4, n_tok: 4096}, "6467.4 token", derived="6467.4"),
)

break_even_rows = Formula(
    rows_even,
    n_even * k * e / E,
    title="Tokens of one expert on one rank at which it saves nothing",
    source=OVERLAP,
    example=Example({n_even: 6467.4, k: 8, e: 8, E: 128}, "3233.7 token", derived="6467.4 * 8 * 8 / 128"),
)

break_even_choices = Formula(
    k_even,
    _even(k * _fewer / t_swap, k * (t_whole - phi_dp * t_besides - t_count) / (t_swap + phi_dp * t_routed)),
    title="Experts of a token at which it saves nothing",
    source=OVERLAP,
    assumes=HIDDEN + " Loads are balanced, and experts as wide as they are.",
    accuracy=SWEPT,
    example=Example(
        {k: 8, t_whole: 60, t_split: 8, phi_dp: 1, t_besides: 20, t_count: 0, t_swap: 8, t_routed: 10},
        "17.78",
        derived="8 * min((60 - 8) / 8, (60 - 20) / (8 + 10))",
    ),
)

traffic_saved = Formula(
    less,
    t_whole - t_split - t_swap,
    title="Traffic that expert parallelism saves a layer",
    source=OVERLAP,
    convention=LAYER,
    example=Example({t_whole: 60, t_split: 8, t_swap: 8}, "44 ms", derived="60 - 8 - 8"),
)

break_even_bandwidth = Formula(
    beta_even,
    beta_g["dp"]
    * Piecewise(
        (0, t_cover + t_count <= 0),
        (0, t_swap <= 0),
        (0, less <= 0),
        (Min(less / t_count, (t_whole - t_swap) / (t_cover + t_count)), t_count > 0),
        ((t_whole - t_swap) / t_cover, True),
    ),
    title="Bandwidth at which it saves nothing",
    source=OVERLAP,
    assumes=HIDDEN
    + " Loads are balanced, all links are scaled alike, and latencies are small. Zero where no bandwidth "
    "decides.",
    accuracy=SWEPT,
    example=Example(
        {beta_g["dp"]: 50, less: 44, t_whole: 60, t_swap: 8, t_cover: 30, t_count: 0},
        "86.67 GB/s",
        derived="50 * (60 - 8) / 30",
    ),
)

FORMULAS = (
    routed_time,
    besides_time,
    unsplit_traffic,
    split_traffic,
    swap_time,
    count_time,
    cover_time,
    gain,
    break_even_imbalance,
    break_even_tokens,
    break_even_length,
    break_even_rows,
    break_even_choices,
    traffic_saved,
    break_even_bandwidth,
)
