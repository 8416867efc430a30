"""Break-even of expert parallelism

With expert parallelism a layer gathers and reduces fewer weights, gives each expert more rows and launches fewer
experts; but it exchanges tokens, and the most loaded rank sets the pace. Gathered weights hide behind computing, which
grows with the tokens; exchanges grow with the tokens, too. So a larger group pays off with few tokens, few experts per
token, slow links and balanced loads. Each break-even is for one MoE layer and one micro-batch, compared with no expert
parallelism, all else equal. It is infinite if more always pays or nothing is exchanged, and zero if it never pays.
"""

from __future__ import annotations

from typing import Any

from sympy import And, Or, Piecewise, log, oo

from mlsysim.formulas.data_parallel_traffic import ALWAYS_EXPOSED, BESIDE_OTHERS, each_step
from mlsysim.formulas.exchange_overlap import BOTH
from mlsysim.formulas.expert_products import fixed_share, rows
from mlsysim.formulas.unsplit_experts import FOLDING, LAYER, layers, moves, weight_traffic
from mlsysim.symbolic import Example, Formula, Max, Min, Source, by_label, when
from mlsysim.symbols.activations import sigma_e
from mlsysim.symbols.break_even import (
    beta_even,
    g_x,
    gamma_even,
    k_even,
    less,
    n_even,
    phi_h,
    rows_even,
    s_even,
    saved,
    t_again,
    t_alone,
    t_beside,
    t_besides,
    t_count,
    t_cut,
    t_cut_1,
    t_edge,
    t_else,
    t_etp_1,
    t_fix,
    t_fix_1,
    t_free_1,
    t_mb_1,
    t_more,
    t_net,
    t_once,
    t_routed,
    t_routed_1,
    t_rows,
    t_split,
    t_swap,
    t_whole,
    u_even,
    x_rt,
)
from mlsysim.symbols.formats import q_a, q_c, q_u
from mlsysim.symbols.fsdp import T_again, T_sync, t_sync
from mlsysim.symbols.groups import X_l_i, X_x_i, beta_g, n_g, nu_g, t_ag_g, t_ar_g, t_rs_g, t_x
from mlsysim.symbols.hardware import B_mem
from mlsysim.symbols.layers import (
    F_lin,
    T_stage,
    ell_s_moe,
    kappa,
    m_e,
    t_exp,
)
from mlsysim.symbols.network import beta_near, beta_port, n_open, tau_0
from mlsysim.symbols.routing import gamma_m, gamma_r, n_exchanges, pad
from mlsysim.symbols.step import chi, eta_el, eta_mem, phi_dp, q_red, rho_lin, t_comp, t_free, t_slow
from mlsysim.symbols.trained import f_w, q_t
from mlsysim.symbols.training import P_exp_r, Z, checkpointing, e, ell, n_mb, n_tok
from mlsysim.symbols.workload import E, d_e, h_e, k, s

#: Of what hides; where both sides are equal is derived here and printed nowhere else.
OVERLAP = Source("li2020", "section 3.2")
HIDDEN = (
    "The device sets the pace, not the host. Exchanges are exposed. What is gathered and reduced hides behind its own "
    "layer, forward and backward together. The allocator maps no pools again."
)
SWEPT = "On 240 random models and fleets, against sweeps of the whole step (ZeRO-3, hidden traffic is free): "
EQUAL = " Where nearly equal traffic is exposed with and without it, it may be a multiple off."

#: Work of the hot rank over that of a rank without expert parallelism, of which both drop or pad as much.
_imbalance = gamma_r / gamma_m


def _growth(places: Any) -> Any:
    """Relative growth of the destinations of a token per relative growth of its choices."""
    missed = 1 - 1 / places
    return when(places > 1, -k * log(missed) * missed**k / (1 - missed**k))


routed_time = Formula(
    t_routed,
    t_exp + gamma_r * moves(kappa),
    title="Computing of the routed experts of a layer",
    source=Source("fedus2022", "section 2.2"),
    convention=LAYER + " The hot rank.",
    example=Example(
        {t_exp: 4.5, gamma_r: 1, n_tok: 8192, x_rt: 1064960, kappa: 1, B_mem: 3350, eta_el: 0.8},
        "7.7553 ms",
        derived="4.5 + 8192 * 1064960 / (3350e9 * 0.8) * 1e3",
    ),
)  # fmt: skip

fixed_time = Formula(
    t_fix,
    t_exp * fixed_share(m_e),
    title="What of it does not grow with the rows of an expert",
    source=Source("williams2009", "section 3"),
    assumes="Along the tangent at the rows there are.",
    convention=LAYER + " The hot rank.",
    example=Example(
        {t_exp: 4.5, F_lin: 593.4, B_mem: 3350, eta_mem: 0.8, q_c: 2, q_a: 2, m_e: 512, h_e: 2048,
         n_g["etp"]: 1, d_e: 768},
        "0.95614 ms",
        derived="4.5 * (593.4 / 2680)**2 * 1e6 / 512 * (1 / 512 + 1 / 2048 + 1 / 768) / (1 + (593.4e3 / 2680 * "
        "(1 / 512 + 1 / 2048 + 1 / 768))**2)",
    ),
)  # fmt: skip

#: What routed experts take with balanced loads, beside what is fixed.
_growing = (t_routed - t_fix) / _imbalance

besides_time = Formula(
    t_besides,
    Max(0, t_comp / layers - t_routed),
    title="Everything else that a stage computes, for each layer with experts",
    source=Source("fedus2022", "section 2.2"),
    assumes="Layers without experts and the head are spread over those with experts.",
    convention=LAYER,
    example=Example({t_comp: 3807, ell_s_moe: 48, t_routed: 28.33}, "50.98 ms", derived="3807 / 48 - 28.33"),
)

rows_saved = Formula(
    t_rows,
    t_alone - t_besides - t_fix - t_count - _growing,
    title="Computing that more rows save",
    source=Source("williams2009", "section 3"),
    assumes="Less waiting for counts of tokens, which hides traffic of weights as computing does.",
    convention=LAYER,
    example=Example(
        {t_alone: 32, t_besides: 20, t_routed: 12, t_fix: 2, t_count: 0.5, gamma_r: 1.25, gamma_m: 1},
        "1.5 ms",
        derived="32 - 20 - 2 - 0.5 - (12 - 2) / 1.25",
    ),
)

hiding_share = Formula(
    phi_h,
    BESIDE_OTHERS
    * phi_dp
    * Piecewise((1, Z >= 3), ((1 + f_w + rho_lin) / (2 + f_w + rho_lin), Z >= 2), (1 / n_mb, True)),
    title="Share of the computing that traffic of weights may hide behind",
    source=OVERLAP,
    assumes="ZeRO-3 gathers and reduces beside every pass, ZeRO-2 reduces beside every backward pass; before it all "
    "travels beside one micro-batch of a step. A layer's traffic runs beside the other layers.",
    example=Example(
        {phi_dp: 0.5, ell: 5, Z: 3, f_w: 1, rho_lin: 0, n_mb: 4, chi: 0.5}, "0.2", derived="0.5 * 0.5 * 4 / 5"
    ),
)

other_traffic = Formula(
    t_else,
    each_step(t_ar_g["dp"], t_rs_g["dp"], t_ag_g["dp"]) / (n_mb * Max(1, ell_s_moe)),
    title="Gathering and reducing what is no routed expert",
    source=Source("rajbhandari2020", "section 7"),
    assumes="Attention, shared experts and the edges of the model, spread over the layers with experts.",
    convention=LAYER,
    example=Example(
        {Z: 3, n_mb: 1, ell_s_moe: 48, t_ar_g["dp"]: 170, t_rs_g["dp"]: 90, t_ag_g["dp"]: 45},
        "3.75 ms",
        derived="(90 + 2 * 45) / 48",
    ),
)


split_traffic = Formula(
    t_split,
    weight_traffic(n_g["edp"], P_exp_r, beta_g["edp"]),
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
    n_exchanges / 2 * when(e > 1, Max(0, BOTH - 2 * tau_0)) / _imbalance,
    title="Exchanges of a layer with balanced loads",
    source=Source("deepseek2024", "section 3.2.2"),
    assumes="Without their latencies.",
    convention=LAYER,
    example=Example(
        {n_exchanges: 6, e: 8, t_x["dispatch"]: 0.43, t_x["combine"]: 0.77, tau_0: 30, gamma_r: 1, gamma_m: 1},
        "3.42 ms",
        derived="3 * (0.4 + 0.74)",
    ),
)

added_traffic = Formula(
    t_net,
    t_swap + t_cut - t_cut_1,
    title="Traffic of tokens that expert parallelism adds to a layer",
    source=FOLDING,
    convention=LAYER,
    example=Example({t_swap: 8, t_cut: 3, t_cut_1: 1}, "10 ms", derived="8 + 3 - 1"),
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

again_time = Formula(
    t_again,
    T_again / (n_mb * layers),
    title="Experts of a layer gathered once more than needed",
    source=Source("torchtitan_issue_1624"),
    assumes="Without expert parallelism none are: experts are no unit of their own.",
    convention=LAYER,
    example=Example({T_again: 24, n_mb: 1, ell_s_moe: 48}, "0.5 ms", derived="24 / 48"),
)

sharing = Formula(
    t_cut,
    n_exchanges * t_ag_g["etp"] / _imbalance,
    title="What the ranks of an expert share of routed tokens with balanced loads",
    source=FOLDING,
    convention=LAYER,
    example=Example(
        {n_exchanges: 6, t_ag_g["etp"]: 0.5, gamma_r: 1.25, gamma_m: 1}, "2.4 ms", derived="6 * 0.5 / 1.25"
    ),
)

exchange_growth = Formula(
    g_x,
    Piecewise(
        (_growth(n_open), X_x_i["dispatch"] * beta_near >= X_l_i["dispatch"] * beta_port),
        (_growth(nu_g["ep"] * n_open), True),
    ),
    title="Share of an exchange that grows with the experts of a token",
    source=Source("deepseek2024", "section 2.1.2"),
    assumes="The more experts, the more of them stand where a token goes anyway: along the tangent, of nodes where "
    "ports bind and of ranks where links do.",
    example=Example(
        {n_open: 4, nu_g["ep"]: 8, k: 8, X_x_i["dispatch"]: 40, beta_near: 134, X_l_i["dispatch"]: 66, beta_port: 44},
        "0.2560",
        derived="-8 * log(0.75) * 0.75**8 / (1 - 0.75**8)",
    ),
)  # fmt: skip

growing_traffic = Formula(
    t_more,
    g_x * t_swap + t_cut - n_exchanges * t_etp_1,
    title="What of it grows with the experts of a token",
    source=FOLDING,
    convention=LAYER,
    example=Example(
        {g_x: 0.5, t_swap: 8, t_cut: 3, n_exchanges: 4, t_etp_1: 0.25}, "6 ms", derived="0.5 * 8 + 3 - 4 * 0.25"
    ),
)


def _exposed(traffic: Any, computing: Any) -> Any:
    """Traffic left exposed beside the given computing; all traffic of one layer is exposed."""
    return ALWAYS_EXPOSED * traffic + Max(0, BESIDE_OTHERS * (traffic + t_else) - phi_h * computing)


gain = Formula(
    saved,
    (t_mb_1 - t_slow - (T_stage + T_sync) / n_mb) / layers
    - t_again
    + _exposed(t_whole, t_free_1 / layers)
    - _exposed(t_split, t_free / layers),
    title="What expert parallelism saves a layer",
    source=OVERLAP,
    assumes="Against one expert-parallel rank with experts cut over as many ranks. What is gathered and reduced hides "
    "behind its own layer, forward and backward together, whichever of device and host sets the pace. Pools that the "
    "allocator gives back and maps again are left out.",
    convention=LAYER,
    accuracy=SWEPT + "the sign is right in all of 280 whose step changes by 1%, with tensor-parallel "
    "ranks and where the host sets the pace; off by 0.1% of the step in the median.",
    example=Example(
        {t_mb_1: 306, t_slow: 0, T_stage: 720, T_sync: 0, t_again: 0.5, n_mb: 2, ell_s_moe: 4, t_free: 130,
         t_free_1: 128, t_whole: 60, t_split: 8, t_else: 2, phi_h: 0.9, ell: 40, Z: 3, chi: 0},
        "18.95 ms",
        derived="(306 - 360) / 4 - 0.5 + 60 / 40 + 39 / 40 * 62 - 0.9 * 32 - 8 / 40",
    ),
)  # fmt: skip


def _where_exchanged(value: Any, more: Any = t_swap) -> Any:
    """Break-even of an exchange; infinite if nothing is exchanged, or no more than without it."""
    return Piecewise((oo, Or(t_swap <= 0, more <= 0)), (value, True))


def _crossing(growing: Any, fixed: Any, growing_1: Any, fixed_1: Any, swapped: Any, kept: Any = 0) -> Any:
    """Solve for the factor at which the saving vanishes, from fixed and growing parts with and without.

    Of the traffic of tokens some grows, the rest is kept. Of that of weights all is exposed, or that of all experts
    alone, or none.
    """
    shown, fixed, once = 1 - phi_h, fixed + t_count, t_once + t_again + kept
    every = (t_whole - t_split - once + shown * (fixed_1 - fixed)) / (swapped + shown * (growing - growing_1))
    whole = (t_edge + t_beside - once + shown * fixed_1 - fixed) / (swapped + growing - shown * growing_1)
    none = (t_edge - once + fixed_1 - fixed) / (swapped + growing - growing_1)
    return Max(0, none, Min(every, whole))


break_even_imbalance = Formula(
    gamma_even,
    _where_exchanged(_crossing(_growing, t_besides + t_fix, 0, t_alone, t_swap + t_cut, -t_cut_1)),
    title="Imbalance at which it saves nothing",
    source=OVERLAP,
    assumes=HIDDEN,
    convention=LAYER,
    accuracy=SWEPT + "median 1%, nine of ten within 6%." + EQUAL,
    example=Example(
        {t_swap: 8, t_cut: 0, t_cut_1: 0, t_count: 0, t_again: 0, t_alone: 30, t_whole: 60, t_split: 8, t_once: 0,
         t_edge: 1.3, t_beside: 58.5, phi_h: 0.9,
         t_besides: 20, t_routed: 10, t_fix: 0, gamma_r: 1, gamma_m: 1},
        "2.3778",
        derived="min((52 + 0.1 * 10) / 9, (52 / 40 + 39 / 40 * 60 + 0.1 * 30 - 20) / 18)",
    ),
)  # fmt: skip

once_time = Formula(
    t_once,
    when(e > 1, n_exchanges * tau_0),
    title="What exchanges cost, few tokens or many",
    source=Source("deepseek2024", "section 3.2.2"),
    assumes="Latencies.",
    convention=LAYER,
    example=Example({e: 8, n_exchanges: 6, tau_0: 30}, "0.18 ms", derived="6 * 0.03"),
)

edge_traffic = Formula(
    t_edge,
    ALWAYS_EXPOSED * (t_whole - t_split),
    title="Traffic saved that never hides",
    source=OVERLAP,
    assumes="That of one layer, beside which nothing else is left to compute, and what hidden traffic costs.",
    convention=LAYER,
    example=Example({t_whole: 60, t_split: 8, ell: 40, Z: 3, chi: 0}, "1.3 ms", derived="(60 - 8) / 40"),
)

beside_traffic = Formula(
    t_beside,
    BESIDE_OTHERS * (t_whole + t_else),
    title="Traffic that may hide without expert parallelism",
    source=OVERLAP,
    convention=LAYER,
    example=Example({t_whole: 60, t_else: 1, ell: 40, Z: 3, chi: 0}, "59.475 ms", derived="39 / 40 * 61"),
)

traffic_saved = Formula(
    less,
    t_whole - t_split - t_net - t_again,
    title="Traffic that expert parallelism saves a layer",
    source=OVERLAP,
    convention=LAYER,
    example=Example({t_whole: 60, t_split: 8, t_net: 7, t_again: 1}, "44 ms", derived="60 - 8 - 7 - 1"),
)

break_even_tokens = Formula(
    n_even,
    _where_exchanged(
        n_tok
        * _crossing(t_besides + _growing, t_fix, kappa * t_besides + t_routed_1 - t_fix_1, t_fix_1, t_net),
        t_net,
    ),
    title="Tokens of a micro-batch at which it saves nothing",
    source=OVERLAP,
    assumes=HIDDEN + " Computing and exchanges are proportional to the tokens, but for weights that are read and for "
    "latencies; loads are balanced.",
    convention=LAYER,
    accuracy=SWEPT + "median 2%, nine of ten within 18%; 4% and 31% where hidden traffic costs half of its time, and "
    "3% in the median where it is asked at the tokens it gives." + EQUAL,
    example=Example(
        {n_tok: 4096, t_swap: 8, t_net: 8, t_count: 0, t_again: 0, t_once: 0, t_edge: 1.3, t_beside: 59.475,
         phi_h: 0.9, kappa: 1, t_whole: 60,
         t_split: 8, t_besides: 20, t_routed: 10, t_fix: 1, gamma_r: 1, gamma_m: 1, t_routed_1: 12, t_fix_1: 3},
        "7216.0 token",
        derived="4096 * min((52 + 0.1 * 2) / 8, (52 / 40 + 39 / 40 * 61 + 0.1 * 3 - 1) / (8 + 29 - 0.1 * 29))",
    ),
)  # fmt: skip

break_even_length = Formula(
    s_even,
    s * n_even / n_tok,
    title="Tokens of a sequence at which it saves nothing",
    source=OVERLAP,
    assumes="As many sequences in a micro-batch, and attention taken as proportional to the tokens.",
    accuracy="As that of tokens where attention is a small part.",
    example=Example({s: 4096, n_even: 6467.4, n_tok: 4096}, "6467.4 token", derived="6467.4"),
)

break_even_rows = Formula(
    rows_even,
    n_even / n_tok * rows(e),
    title="Tokens of one expert on one rank at which it saves nothing",
    source=OVERLAP,
    example=Example({n_even: 6467.4, k: 8, e: 8, sigma_e: 1, E: 128}, "3233.7 token", derived="6467.4 * 8 * 8 / 128"),
)

break_even_choices = Formula(
    k_even,
    _where_exchanged(
        k
        * _crossing(
            _growing,
            t_besides + t_fix,
            t_routed_1 - t_fix_1,
            kappa * t_besides + t_fix_1,
            t_more,
            t_net - t_more,
        ),
        t_more,
    ),
    title="Experts of a token at which it saves nothing",
    source=OVERLAP,
    assumes=HIDDEN + " Loads are balanced, and exchanges grow as they do where they are.",
    accuracy=SWEPT + "median 8%, and up to 27% where hidden traffic costs half of its time; of one or two experts, "
    "it may say none." + EQUAL,
    example=Example(
        {k: 8, t_swap: 8, t_net: 8, t_more: 8, t_count: 0, t_again: 0, t_once: 0,
         t_edge: 1.3, t_beside: 59.475, phi_h: 0.9, kappa: 1, t_whole: 60,
         t_split: 8, t_besides: 20, t_routed: 10, t_fix: 1, gamma_r: 1, gamma_m: 1, t_routed_1: 12, t_fix_1: 3},
        "20.907",
        derived="8 * min((52 + 0.1 * 2) / 8, (52 / 40 + 39 / 40 * 61 + 0.1 * 23 - 21) / (8 + 9 - 0.1 * 9))",
    ),
)  # fmt: skip

_faster = (t_once - (1 - phi_h) * t_rows) / less

break_even_slowdown = Formula(
    u_even,
    Piecewise(
        (oo, less <= 0),
        (Max(0, _faster), (t_rows - t_once) * t_beside >= (t_net + t_again - t_edge) * phi_h * t_alone),
        (Max(0, _faster, (t_once - t_rows + phi_h * t_alone) / (t_edge + t_beside - t_net - t_again)), True),
    ),
    title="Slower links at which it saves nothing",
    source=OVERLAP,
    assumes=HIDDEN + " Loads are balanced, all links are scaled alike, and latencies are small. Where exchanges "
    "outlast what is gathered and reduced less, slower links never make it pay.",
    convention=LAYER,
    accuracy=SWEPT + "median 4%, nine of ten within 20%." + EQUAL,
    example=Example(
        {less: 44, t_once: 0, t_edge: 1.3, t_beside: 59.475, t_rows: 2, phi_h: 0.9, t_net: 7, t_again: 1, t_alone: 32},
        "0.50782",
        derived="(0.9 * 32 - 2) / (52 / 40 + 39 / 40 * 61 - 7 - 1)",
    ),
)  # fmt: skip

break_even_bandwidth = Formula(
    beta_even,
    Piecewise((oo, t_swap <= 0), (oo, u_even <= 0), (beta_g["dp"] / u_even, True)),
    title="Bandwidth at which it saves nothing",
    source=OVERLAP,
    example=Example({t_swap: 8, u_even: 0.50782, beta_g["dp"]: 50}, "98.46 GB/s", derived="50 / 0.50782"),
)

FORMULAS = (
    routed_time,
    fixed_time,
    besides_time,
    rows_saved,
    hiding_share,
    other_traffic,
    split_traffic,
    swap_time,
    added_traffic,
    count_time,
    again_time,
    sharing,
    exchange_growth,
    growing_traffic,
    gain,
    break_even_imbalance,
    once_time,
    edge_traffic,
    beside_traffic,
    traffic_saved,
    break_even_tokens,
    break_even_length,
    break_even_rows,
    break_even_choices,
    break_even_slowdown,
    break_even_bandwidth,
)
