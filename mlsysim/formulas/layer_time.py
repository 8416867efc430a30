"""Time of the layers of a stage

Time per micro-batch of the layers on the slowest pipeline stage: whole layers, and the head on the last stage; the rate
of products in each format; the traffic of 8-bit casts; and the second clock, the host that launches every operation
while the device computes.
"""

from __future__ import annotations

from typing import Any

from sympy import And, Eq, Or, Piecewise, Rational, ceiling, floor

from mlsysim.formulas import rank_parameters, trained_parameters
from mlsysim.formulas.mixers import EAGER, IS_LATENT, NOT_LATENT
from mlsysim.formulas.rank_parameters import DUALPIPE
from mlsysim.formulas.trained_parameters import EVERYWHERE, FULL, LORA, WIDENED
from mlsysim.symbolic import Example, Formula, Max, Min, Mod, Source, byte, evaluated_at, flop, label, token, when
from mlsysim.symbols.activations import L_mtp_r, P_ends, elementwise_kernels, n_end, n_s, schedule, sigma_e
from mlsysim.symbols.formats import q_a, q_c, q_w
from mlsysim.symbols.hardware import B_mem, F, P_lim, eta
from mlsysim.symbols.iteration import F_16
from mlsysim.symbols.layers import (
    K_0,
    F_lin,
    F_wide,
    H_head,
    K_aa,
    K_e,
    K_m,
    K_mean,
    P_mean,
    R_tok,
    V_wide,
    dispatcher,
    e_step,
    ell_last,
    ell_rest,
    ell_s,
    ell_s_moe,
    eta_8,
    eta_p,
    g_c,
    grouped,
    kappa,
    n_full,
    n_left,
    on_last,
    s_ep,
    split,
    t_head,
    t_host,
    t_host_d,
    t_host_e,
    t_stage_host,
    tau_h,
    w_ad,
    w_in,
    x_cast,
    x_inp,
)
from mlsysim.symbols.mixers import y_mix
from mlsysim.symbols.routing import gamma_r
from mlsysim.symbols.step import eta_el, rho_lin, w_attn, w_head, w_lin
from mlsysim.symbols.trained import K_d, R_ad, R_e, R_ff, R_sh, f_w, finetuning, lora_targets, r_lora
from mlsysim.symbols.training import P_r, e, ell_moe, ell_r, n_tok, p, t
from mlsysim.symbols.workload import E, L, L_moe, L_mtp, V, d_e, d_ff, d_sh, gated, h, h_e, k, moe_interval, r_moe

SCHEDULE = Source("narayanan2021", "section 2.2")
FORMAT = Source("micikevicius2022", "section 3")
PROFILE = Source("megatron_bridge_profile", "kernels of one step")

head_layers = Formula(
    H_head,
    ((2 + f_w) * w_head * (L + L_mtp) / ((2 + f_w) * w_lin + 3 * w_attn) + L_mtp) / n_s,
    title="Layers that are as much work as the head",
    source=SCHEDULE,
    assumes="By arithmetic alone, without recomputing, with balanced loads: layers are cut before anybody knows which "
    "experts are hot. Layers that predict further tokens stand beside the head. A rank with two stages does each for "
    "half of the micro-batches.",
    example=Example(
        {n_s: 1, w_head: 1.05e9, f_w: 1, L: 32, L_mtp: 0, w_lin: 13.96e9, w_attn: 2.15e9},
        "2.0857",
        derived="3 * 1.05 * 32 / (3 * 13.96 + 3 * 2.15)",
    ),
)

full_stage_layers = Formula(
    n_full,
    Max(ceiling((L + ceiling(H_head)) / p), ceiling(H_head)),
    title="Layers of a stage where the last one is no fuller",
    source=SCHEDULE,
    assumes="The last stage leaves out as many layers as the head is worth, rounded up.",
    example=Example({L: 32, H_head: 2.1, p: 8}, "5", derived="ceil((32 + 3) / 8)"),
)

fewest_last_layers = Formula(
    n_left,
    Max(0, ceiling((L - (p - 1) * floor(H_head)) / p)),
    title="Layers of the last stage where no other is fuller",
    source=SCHEDULE,
    assumes="The others hold as many layers more as the head is worth, rounded down.",
    example=Example({L: 32, H_head: 2.1, p: 8}, "3", derived="ceil((32 - 7 * 2) / 8)"),
)

_split: dict[str, Any] = {name: Eq(split, label(split, name)) for name in ("even", "auto")}
_divides: Any = Eq(Mod(L, p), 0)
_even = Or(_split["even"], And(_split["auto"], _divides))

last_stage_layers = Formula(
    ell_last,
    Piecewise(
        (L, p < 2),
        (n_end / 2, DUALPIPE),
        (floor(L / p), _even),
        (Max(0, n_full - ceiling(H_head)), n_full <= n_left + H_head),
        (n_left, True),
    ),
    title="Layers of the last stage",
    source=SCHEDULE,
    assumes="Stages hold whole layers. Balanced: of the two splits that can be best, the one whose fullest stage does "
    "less. With two stages a rank, the mean of first and last.",
    example=Example(
        {schedule: "1f1b", n_end: 0, p: 8, split: "balanced", L: 32, n_full: 5, n_left: 3, H_head: 2.1},
        "2",
        derived="5 - ceil(2.1)",
    ),
)

other_stage_layers = Formula(
    ell_rest,
    when(p > 1, ceiling(Max(0, L - n_s * ell_last) / Max(1, p - n_s))),
    title="Layers of the fullest of the other stages",
    source=SCHEDULE,
    example=Example({n_s: 1, p: 8, L: 32, ell_last: 2}, "5", derived="ceil((32 - 2) / 7)"),
)

last_is_slowest = Formula(
    on_last,
    when(ell_last + H_head >= ell_rest, 1),
    title="Whether the last stage has the most to do",
    source=SCHEDULE,
    example=Example({ell_last: 2, H_head: 2.1, ell_rest: 5}, "0", derived="floor(min(1, (2 + 2.1) / 5))"),
)

slowest_stage_layers = Formula(
    ell_s,
    Piecewise((ell_last + L_mtp / n_s, on_last > 0), (ell_rest, True)),
    title="Layers of the stage with the most to do",
    source=SCHEDULE,
    example=Example({n_s: 1, on_last: 0, ell_last: 2, L_mtp: 0, ell_rest: 5}, "5", derived="max(0, 5)"),
)

slowest_stage_moe_layers = Formula(
    ell_s_moe,
    Min(L_moe * (1 + L_mtp), ceiling(ell_s / moe_interval)),
    title="Layers with experts on the stage with the most to do",
    source=SCHEDULE,
    assumes="As many as so many layers can have.",
    example=Example({L_moe: 58, L_mtp: 0, ell_s: 16, moe_interval: 1}, "16", derived="min(58, ceil(16 / 1))"),
)

#: Where products are computed at less than 16 bit.
_narrow = q_c < 2 * byte

computing_share = Formula(
    kappa,
    1 - when(e > 1, s_ep),
    title="Share of the multiprocessors that computes layers",
    source=Source("deepseek2024", "section 3.2.2"),
    assumes="Kernels of exchanges that run beside computing keep some to themselves, and fewer reach the memory.",
    example=Example({e: 64, s_ep: 0.1515}, "0.8485", derived="1 - 0.1515"),
)

product_share = Formula(
    eta_p,
    Piecewise((eta, Or(e_step <= 0, P_lim <= 0)), (1 / (1 + e_step * F_16 / P_lim), True)),
    title="Share of the 16-bit peak that products reach in a step",
    source=Source("choi2013", "section 2"),
    assumes="As the ceiling of a kernel by power, with the energy of a run that is hot for hours. An efficiency that "
    "is given holds instead, and where the power of the board is not known.",
    accuracy="One energy for A100, H100 and Blackwell: 0.34, 0.33, 0.39 and 0.25 pJ/FLOP by four of them alone.",
    example=Example({eta: 0.6, e_step: 0.33, F_16: 989, P_lim: 700}, "0.6820", derived="1 / (1 + 0.33 * 0.989 / 0.7)"),
)

wide_rate = Formula(
    F_wide,
    F_16 * eta_p,
    title="Rate of products at 16 bit",
    source=FORMAT,
    assumes="Attention and logits, whatever narrower format the layers are computed in.",
    example=Example({F_16: 989, eta_p: 0.6}, "593.4 TFLOP/s", derived="989 * 0.6"),
)

product_rate = Formula(
    F_lin,
    F * eta_p * when(_narrow, eta_8, 1),
    title="Rate of products in layers",
    source=FORMAT,
    assumes="Below 16 bit a smaller share of the peak is reached: power and quantised operands hold it down. Of 4 bit "
    "no step with all layers is published; long products on GB200 reach 5% less of their peak than at 8 bit.",
    example=Example({F: 1979, eta_p: 0.6, q_c: 1, eta_8: 0.75}, "890.55 TFLOP/s", derived="1979 * 0.6 * 0.75"),
)


def _block(width: Any, outer: Any = h) -> Any:
    """Inputs and outputs of a feed-forward block; the products into it share their input."""
    return 2 * outer + (2 + gated) * width


def casts(widths: Any) -> Any:
    """Bytes per token moved by casts of operands of these widths, forward and backward."""
    return when(_narrow, 4 * byte * widths / t) / token


def routed_widths() -> Any:
    """Widths of the inputs and outputs of a token's experts, at balanced load."""
    return k * _block(d_e, h_e)


product_widths = Formula(
    w_in,
    y_mix
    + Max(
        (1 - Min(1, L_moe)) * _block(d_ff),
        Min(1, L_moe)
        * (gamma_r * routed_widths() + when(d_sh > 0, _block(d_sh)) + when(r_moe > 0, 2 * (h + r_moe))),
    ),
    title="Widths that the products of a layer read and write",
    source=FORMAT,
    assumes="Products with one input read it once. In a model with experts every layer is taken as one with experts, "
    "on the hot rank.",
    example=Example(
        {y_mix: 18432, h: 4096, h_e: 4096, r_moe: 0, gated: 1, d_ff: 14336, L_moe: 0, gamma_r: 1, k: 1, d_e: 0,
         d_sh: 0},
        "69632",
        derived="18432 + 2 * 4096 + 3 * 14336",
    ),
)  # fmt: skip

cast_traffic = Formula(
    x_cast,
    casts(w_in),
    title="Bytes that casts to 8 bit move, per layer and token",
    source=FORMAT,
    assumes="Each operand is read at 16 bit and written twice at 8, by rows and by columns.",
    accuracy="Counted by hand; no profile was matched.",
    example=Example({q_c: 1, w_in: 69632, t: 1}, "278528 byte/token", derived="4 * 69632 / 1"),
)

_sparse = Min(1, L_moe)

adapted_edges = Formula(
    R_tok,
    when(
        FULL,
        0,
        R_ad
        + when(
            EVERYWHERE,
            Max(
                (1 - _sparse) * R_ff,
                _sparse * (k * R_e / sigma_e + R_sh),
            ),
        ),
    ),
    title="Rows and columns of the adapters that a token passes through",
    source=LORA,
    assumes="In a model with experts every layer is taken as one with experts. Of ranks that experts are not cut over "
    "each passes a share of the tokens through its own.",
    convention="One layer on one rank.",
    example=Example(
        {finetuning: "lora", lora_targets: "all_linear", R_ad: 26624, L_moe: 0, R_ff: 55296, k: 1, R_e: 0,
         R_sh: 0, sigma_e: 1},
        "81920",
        derived="26624 + 55296",
    ),
)  # fmt: skip

adapter_work = Formula(
    w_ad,
    2 * flop * r_lora * t * (L + L_mtp) * R_tok / token,
    title="Arithmetic of adapters, per token",
    source=LORA,
    assumes="Two FLOPs per parameter, on all tensor-parallel ranks together.",
    example=Example(
        {r_lora: 16, t: 1, L: 32, L_mtp: 0, R_tok: 81920}, "83886080 FLOP/token", derived="2 * 16 * 32 * 81920"
    ),
)

adapter_traffic = Formula(
    x_inp,
    Rational(3, 2) * q_a * R_tok / token,
    title="Bytes that adapters move, per layer and token, forward",
    source=LORA,
    assumes="Each reads the input of its product once more, and reads and writes the output that it adds to; products "
    "are taken to be as wide as they are long.",
    accuracy="Counted by hand; no profile was matched.",
    example=Example({q_a: 2, R_tok: 81920}, "245760 byte/token", derived="1.5 * 2 * 81920"),
)

#: All layers of the model on one rank.
_ALL_LAYERS: Any = {ell_r: L, ell_moe: L_moe, L_mtp_r: L_mtp}

mean_layer = Formula(
    P_mean,
    evaluated_at(P_r, {**_ALL_LAYERS, P_ends: 0}, rank_parameters.FORMULAS) / L,
    title="Parameters of one layer on one rank, in the mean",
    source=SCHEDULE,
    no_example="the parameters of one rank, had it all layers",
)

mean_adapted = Formula(
    K_mean,
    evaluated_at(K_d, _ALL_LAYERS, trained_parameters.FORMULAS) / L,
    title="Products of one layer that have adapters, in the mean",
    source=LORA,
    no_example="the products of one rank, had it all layers",
)

widening = Formula(
    V_wide,
    when(WIDENED, (2 + rho_lin) * (q_w + q_c) * P_mean * ell_s),
    title="Bytes that the widening of quantised weights moves, one micro-batch",
    source=Source("dettmers2023", "section 3"),
    assumes="Read as they are kept and written in the format of the products, for the forward pass, for the gradients "
    "of inputs and where products are recomputed.",
    accuracy="Counted by hand; no profile was matched.",
    example=Example(
        {finetuning: "qlora", q_w: 0.515869140625, q_c: 2, rho_lin: 0, P_mean: 218112000, ell_s: 32},
        "35.119 GB",
        derived="2 * (0.515869140625 + 2) * 218112000 * 32 / 1e9",
    ),
)


def expert_launches(ranks: Any) -> Any:
    """Host time to launch the experts of one layer, if this many ranks share them."""
    return tau_h * K_e * when(Eq(grouped, 1), 1, E / ranks) * (1 + rho_lin / 3)


expert_launching = Formula(
    t_host_e,
    expert_launches(e),
    title="Time of the host to launch the experts of one layer",
    source=PROFILE,
    assumes="Operations grow with the experts a rank holds, unless one kernel computes them all. No graph captures "
    "them.",
    example=Example(
        {tau_h: 52, K_e: 12, grouped: 0, E: 128, e: 8, rho_lin: 0}, "9.984 ms", derived="0.052 * 12 * 128 / 8"
    ),
)

#: Share of the layers that have experts, and what an all-to-all launches beside.
_with_experts = Min(1, L_moe) / moe_interval
_unfused = when(Eq(dispatcher, label(dispatcher, "all_to_all")), K_aa)

besides_launching = Formula(
    t_host_d,
    tau_h
    * (K_0 + _with_experts * (K_m + _unfused - K_0) + when(IS_LATENT, 30) + when(FULL, 0, 10 * K_mean))
    * (1 - g_c)
    * (1 + rho_lin / 3),
    title="Time of the host to launch a layer without its experts",
    source=PROFILE,
    assumes="Latent attention takes thirty operations more, each adapter ten (counted); captured graphs launch none of "
    "what they hold. A mean over layers with and without experts.",
    example=Example(
        {finetuning: "full", K_mean: 0, tau_h: 52, K_0: 55, L_moe: 48, moe_interval: 1, K_m: 103, K_aa: 100,
         dispatcher: "all_to_all", **NOT_LATENT, g_c: 0, rho_lin: 0},
        "10.556 ms",
        derived="0.052 * (103 + 100)",
    ),
)  # fmt: skip

launching = Formula(
    t_host,
    t_host_d + _with_experts * t_host_e,
    title="Time of the host to launch one layer",
    source=PROFILE,
    assumes="One host process per rank launches one operation after the other. A mean over layers with and without "
    "experts.",
    accuracy="Three rows that the host binds imply 50.5, 52.4 and 49.1 µs (Megatron-Bridge).",
    example=Example(
        {t_host_d: 5.356, L_moe: 48, moe_interval: 1, t_host_e: 9.984}, "15.34 ms", derived="5.356 + 9.984"
    ),
)

stage_launching = Formula(
    t_stage_host,
    Max(ell_s, ell_rest) * t_host,
    title="Time of the host to launch one micro-batch",
    source=PROFILE,
    convention="The stage with the most layers.",
    example=Example({ell_s: 2, ell_rest: 4, t_host: 15.3}, "61.2 ms", derived="4 * 15.3"),
)

loss_time = Formula(
    t_head,
    when(
        on_last > 0,
        (2 + f_w) * w_head * n_tok / (n_s * t * F_wide)
        + when(EAGER, 40, 20) * byte * V * n_tok / (token * n_s * t * B_mem * eta_el),
    ),
    title="Head and loss, one micro-batch",
    source=SCHEDULE,
    assumes="Logits at 16 bit, whatever the layers are computed in; the loss passes over them in fp32.",
    example=Example(
        {
            on_last: 1,
            n_s: 1,
            f_w: 1,
            elementwise_kernels: "fused",
            n_tok: 8192,
            t: 1,
            w_head: 1.05e9,
            F_wide: 600,
            V: 128256,
            B_mem: 3350,
            eta_el: 0.8,
        },
        "50.849 ms",
        derived="8192 * (3 * 1.05e9 / 600e12 + 20 * 128256 / (3350e9 * 0.8)) * 1e3",
    ),
)

FORMULAS = (
    head_layers,
    full_stage_layers,
    fewest_last_layers,
    last_stage_layers,
    other_stage_layers,
    last_is_slowest,
    slowest_stage_layers,
    slowest_stage_moe_layers,
    computing_share,
    product_share,
    wide_rate,
    product_rate,
    product_widths,
    cast_traffic,
    adapted_edges,
    adapter_work,
    adapter_traffic,
    mean_layer,
    mean_adapted,
    widening,
    expert_launching,
    besides_launching,
    launching,
    stage_launching,
    loss_time,
)
