"""Energy

Power of an accelerator from two shares of time, one in which kernels run and one of their arithmetic: a roofline of
energy with a smooth limit. Hosts, building, grid, manufacture and water enter as factors. The two shares are totals
over a whole period, waiting included; a mean of powers over phases would be lower.
"""

from __future__ import annotations

from typing import Any

from sympy import And, Not, Or, Piecewise, Rational, exp, oo

from mlsysim.formulas import static_batches
from mlsysim.formulas.iteration import PASS, PASSED
from mlsysim.formulas.mixers import read, scored
from mlsysim.formulas.replica_layout import ACCELERATORS, tokens
from mlsysim.formulas.serving_engines import FURTHER
from mlsysim.symbolic import Example, Formula, Max, Min, Source, evaluated_at, flop, label, request, token, when
from mlsysim.symbols.batching import phi
from mlsysim.symbols.chunked import cv_in
from mlsysim.symbols.costs import (
    E_run,
    P_avg,
    T_run,
    carbon,
    e_tok,
    f_host,
    f_idle,
    grid_carbon,
    n_acc,
    n_out_run,
    n_req_run,
    pue,
    tdp,
    u_busy,
)
from mlsysim.symbols.deployment import u_ans
from mlsysim.symbols.energy import (
    E_step,
    P_dev,
    P_node,
    Q_it,
    T_srv,
    V_all,
    V_grid,
    V_site,
    W_it,
    W_req,
    b_P,
    binds_P,
    c_P,
    e_req,
    f_use,
    gamma_P,
    m_dev,
    m_emb,
    m_host,
    m_op,
    phi_op,
    phi_read,
    phi_run,
    sigma_P,
    t_cap,
    t_clk,
    t_meas,
    tau_k,
    u_given,
    w_grid,
    w_site,
    x_F,
)
from mlsysim.symbols.formats import q_den, q_er, q_l
from mlsysim.symbols.hardware import B_mem, F, P_lim, eta, n_fleet, n_node
from mlsysim.symbols.iteration import (
    F_16,
    K_dec,
    T_all,
    W_dense,
    W_hit,
    d_a,
    eta_gr,
    eta_pre,
    eta_wo,
    gamma_s,
    h_c,
    kv_rank,
    n_dec,
    n_pro,
    p_busy,
    t_it,
    w_dec,
)
from mlsysim.symbols.layers import two
from mlsysim.symbols.mixers import sigma_st, w_pair
from mlsysim.symbols.parameters import P_exp
from mlsysim.symbols.serving import flops_prefill, n_out
from mlsysim.symbols.step import Phi_hw, T_mean, n_steps
from mlsysim.symbols.training import e, p, t
from mlsysim.symbols.workload import L, L_moe, P, V, h, h_V, k, s

ROOFLINE = Source("choi2013", "section II")
BARROSO = Source("barroso2018", "chapter 5")
FITTED = Source("own", "fitted to 477 rows of vLLM on H100 and B200 (chung2025)")
FOOTPRINT = Source("gupta2022", "section 3")
WATER = Source("ecologits2025")
LOAD_LINE = "load_line"
CALIBRATED = "Watts of 450 rows, each with its model left out of the fit, within a median of 9%: docs/validation.md."

training_flop_share = Formula(
    x_F,
    phi_op * Phi_hw * u_busy / (n_fleet * F_16 * T_mean),
    title="Share of the arithmetic of training",
    source=ROOFLINE,
    variant="training",
    assumes="Operations are carried out while ranks compute, and at no other time: of a step, or of a run that fails.",
    convention="Operations that are carried out, over the dense peak at 16 bit whatever they are computed in.",
    example=Example(
        {phi_op: 1, Phi_hw: 70.86, u_busy: 0.75, n_fleet: 64, F_16: 989, T_mean: 2250},
        "0.37317",
        derived="70860 * 0.75 / (64 * 989 * 2.25)",
    ),
)

clock_time = Formula(
    t_clk,
    when(t_meas > 0, t_meas, t_it),
    title="Time that the power of an iteration is reckoned with",
    source=FITTED,
    example=Example({t_meas: 0, t_it: 42}, "42 ms", derived="42"),
)

_further = Max(0, FURTHER)
#: Groups of requests that pass all layers of an accelerator in an iteration.
_passes = (1 + two) * p_busy / p


def arithmetic(tokens: Any, sampled: Any, scores: Any) -> Any:
    """Arithmetic of a rank for these tokens through all layers, with logits for those sampled and attention scores."""
    products = tokens * (W_dense + L_moe * k * P_exp / t) + sampled * V * h_V / t
    return 2 * flop * products / token + scores / t


iteration_flops = Formula(
    W_it,
    arithmetic(
        tokens(n_dec, n_pro),
        (n_dec * (1 + gamma_s) + n_pro) * token / request,
        n_dec * (1 + gamma_s) * w_dec * scored(K_dec * request) * token / request
        + n_pro * s * (1 - h_c**2) / request * w_pair,
    )
    / (p * d_a),
    title="Arithmetic of an iteration on one accelerator",
    source=FITTED,
    assumes="That of the mean rank, not of the busiest: products, logits and scores.",
    no_example=PASSED,
)

iteration_bytes = Formula(
    Q_it,
    _passes * (q_den * W_dense + q_er * W_hit + q_l * V * h_V / t)
    + n_dec / (request * p * d_a) * (kv_rank * read(K_dec * request) + 2 * sigma_st * request / t),
    title="Bytes that one accelerator reads in an iteration",
    source=FITTED,
    assumes="Weights that are touched, caches, and states; what kernels hand on is not among them.",
    no_example=PASSED,
)

iteration_flop_share = Formula(
    x_F,
    phi_op * W_it / (t_clk * F_16),
    title="Share of the arithmetic of an iteration",
    source=ROOFLINE,
    variant="iteration",
    convention="Over the dense peak at 16 bit, whatever is computed in.",
    example=Example({phi_op: 1, W_it: 4, t_clk: 40, F_16: 989}, "0.10111", derived="4 / (0.04 * 989)"),
)

iteration_busy_share = Formula(
    u_busy,
    Piecewise(
        (u_given, u_given > 0),
        (1, Or(t > 1, e > 1)),
        (Min(1, Q_it / (phi_read * B_mem * t_clk) + x_F / phi_run + _passes * L * tau_k / t_clk), True),
    ),
    title="Share of an iteration in which an accelerator runs kernels",
    source=FITTED,
    variant="iteration",
    assumes="Ranks that exchange wait in a kernel. Others read at one rate, compute at one, and run small kernels too.",
    accuracy="With eight accelerators and experts ranks may draw less while they wait: power is then 22 to 31% high.",
    example=Example(
        {u_given: 0, t: 1, e: 1, Q_it: 16, B_mem: 3350, t_clk: 20, x_F: 0.02, two: 0, p_busy: 1, p: 1, L: 32,
         tau_k: 50, phi_read: 0.7, phi_run: 0.5},
        "0.46115",
        derived="16 / (0.7 * 3350 * 0.02) + 0.02 / 0.5 + 32 * 0.05 / 20",
    ),
)  # fmt: skip

engine_accelerators = Formula(
    n_acc,
    ACCELERATORS,
    title="Accelerators of an engine",
    source=FITTED,
    variant="iteration",
    example=Example({t: 8, p: 2, d_a: 1}, "16", derived="8 * 2"),
)

iterated_tokens = Formula(
    n_out_run,
    (n_dec + n_pro) * token / request * T_run / t_clk,
    title="Tokens that iterations give",
    source=FITTED,
    variant="iteration",
    assumes="The same iteration again and again: one token of each request that decodes, and the first one of each "
    "prompt.",
    example=Example({n_dec: 64, n_pro: 0, T_run: 1, t_clk: 20}, "276480000 token", derived="64 * 24 * 3600 / 0.02"),
)

saturated_tokens = Formula(
    n_out_run,
    n_dec * token / request * T_run / t_clk,
    title="Tokens generated when requests never run out",
    source=FITTED,
    variant="saturated",
    example=Example({n_dec: 250, T_run: 1, t_clk: 50}, "432000000 token", derived="250 * 24 * 3600 / 0.05"),
)


def _requested(variant: str, arithmetic: Any, assumes: str, **example: Any) -> Formula:
    return Formula(
        W_req,
        arithmetic,
        title="Arithmetic of a request",
        source=Source("kaplan2020", "section 2.1"),
        variant=variant,
        assumes=assumes,
        **example,
    )


def _of_engine(steps: Any, square: Any) -> Any:
    """Arithmetic of a prompt and its decode steps, given the mean square of prompt lengths over the squared mean."""
    decoded = steps * (1 + gamma_s) * token
    scores = s * (1 - h_c**2) * w_pair * square + decoded * w_dec * scored(K_dec * request)
    return t * arithmetic(s * (1 - h_c) + decoded, token + decoded, scores) / request


engine_request = _requested(
    "engine",
    _of_engine(u_ans, 1 + cv_in**2),
    "Tokens that are cached are attended to and not computed; drafted ones are computed. Engines of a pool that "
    "prefills are laid out as the others.",
    no_example=PASSED,
)

batch_request = _requested(
    static_batches.NAME,
    _of_engine(_further, 1),
    "Tokens that are cached are attended to and not computed.",
    no_example=PASSED,
)

#: Time of a batch, its decode steps by the clock.
_batch_time = T_all + _further * t_clk

batch_flop_share = Formula(
    x_F,
    phi_op * n_dec * W_req / (ACCELERATORS * _batch_time * F_16),
    title="Share of the arithmetic of a batch",
    source=ROOFLINE,
    variant=static_batches.NAME,
    assumes="That of all requests, prompts included, over the time of the batch.",
    example=Example(
        {phi_op: 1, n_dec: 20, W_req: 16.5, t: 2, p: 1, d_a: 1, T_all: 260, n_out: 101, t_clk: 10, F_16: 989},
        "0.13241",
        derived="20 * 16.5 / (2 * 1.26 * 989)",
    ),
)

batch_tokens = Formula(
    n_out_run,
    n_dec / request * n_out * T_run / _batch_time,
    title="Tokens of batches that follow each other",
    source=FITTED,
    variant=static_batches.NAME,
    example=Example(
        {n_dec: 20, n_out: 101, T_run: 1, T_all: 260, t_clk: 10},
        "138514285.71 token",
        derived="20 * 101 * 86400 / 1.26",
    ),
)

replica_request = _requested(
    "prefill_aware",
    (flops_prefill + FURTHER * phi * F * eta) / request,
    "The prompt, and each further token at the mean context.",
    example=Example(
        {flops_prefill: 14.26, n_out: 101, phi: 0.044, F: 1000, eta: 0.5},
        "16.46 TFLOP/request",
        derived="14.26 + 100 * 0.044 * 1000 * 0.5 / 1000",
    ),
)

first_order_request = _requested(
    "first_order",
    (2 * flop * P * (s + n_out) / token + 4 * flop * L * h * (s / token) ** 2) / request,
    "Two operations per parameter and token; attention of the prompt alone, over the full square.",
    example=Example(
        {P: 8.03e9, s: 1024, n_out: 64, L: 32, h: 4096},
        "18.023 TFLOP/request",
        derived="(2 * 8.03e9 * 1088 + 4 * 32 * 4096 * 1024**2) / 1e12",
    ),
)

served_flop_share = Formula(
    x_F,
    phi_op * n_req_run * W_req / (n_acc * T_run * F_16),
    title="Share of the arithmetic of a serving fleet",
    source=ROOFLINE,
    variant="serving",
    assumes="That of all requests over the whole time, waiting included.",
    example=Example(
        {phi_op: 1, n_req_run: 1728000, W_req: 16.5, n_acc: 4, T_run: 1, F_16: 989},
        "0.083418",
        derived="1728000 * 16.5 / (4 * 86400 * 989)",
    ),
)

#: Growth of power from that of an idle accelerator towards the limit, of one.
_load = 1 - exp(-b_P * u_busy - c_P * x_F)
#: Whether a limit is set that lies below the default one, which power only comes near.
_held = And(P_lim > 0, P_lim < tdp)
_free = tdp * (f_idle + (1 - f_idle) * _load)

device_power = Formula(
    P_dev,
    when(_held, Min(P_lim, _free), _free),
    title="Power of an accelerator",
    source=ROOFLINE,
    variant="energy_roofline",
    assumes="Running kernels draw a constant power and each operation an energy; the limit is reached smoothly. "
    "Traffic of memory and links has no term beside the busy share. Two constants serve every device. A lower limit "
    "that is set caps the power.",
    accuracy=CALIBRATED,
    example=Example(
        {P_lim: 700, tdp: 700, f_idle: 0.12, b_P: 1, u_busy: 1, c_P: 5.21, x_F: 0.1},
        "565.4 W",
        derived="700 * (0.12 + 0.88 * (1 - exp(-1 - 0.521)))",
    ),
)

load_line = Formula(
    P_dev,
    tdp * (f_idle + (1 - f_idle) * u_busy),
    title="Power of an accelerator in proportion to its load",
    source=BARROSO,
    variant=LOAD_LINE,
    assumes="Power grows in proportion to the load, from that of an idle accelerator to the limit.",
    accuracy="Watts of serving rows, at a load of one, within a median of 48% (H100) and 67% (B200).",
    example=Example({tdp: 700, f_idle: 0.3, u_busy: 0.5}, "455 W", derived="700 * (0.3 + 0.7 * 0.5)"),
)

clock_stretch = Formula(
    sigma_P,
    Piecewise(
        (1, Not(_held)),
        (
            Max(1, ((1 - f_idle) * _load / Max(P_lim / tdp - f_idle, Rational(1, 10**9))) ** (1 / gamma_P)),
            P_lim > f_idle * tdp,
        ),
        (oo, True),
    ),
    title="Time of arithmetic under a limit of power",
    source=ROOFLINE,
    assumes="Power beyond idling goes as a power of the clock; memory and links keep their rates. Times of this answer "
    "are those without the limit: divide efficiency by it to have the others.",
    accuracy="Products of GB200 at 1,200 W against B200 at 1,000 W give an exponent of 2.2 to 2.7.",
    example=Example(
        {P_lim: 500, tdp: 700, f_idle: 0.12, b_P: 1, u_busy: 1, c_P: 5.21, x_F: 0.35, gamma_P: 2.4},
        "1.148",
        derived="((663.41 - 84) / (500 - 84))**(1 / 2.4)",
    ),
)

binding_power = Formula(
    binds_P,
    Piecewise(
        (label(binds_P, "Limit"), when(_held, P_lim, tdp) - P_dev < f_idle * tdp),
        (label(binds_P, "Idling"), P_dev <= 2 * f_idle * tdp),
        (label(binds_P, "Arithmetic"), c_P * x_F > b_P * u_busy),
        (label(binds_P, "Kernels"), True),
    ),
    title="What sets the power",
    source=ROOFLINE,
    example=Example(
        {P_dev: 565.4, P_lim: 700, tdp: 700, f_idle: 0.12, b_P: 1, u_busy: 1, c_P: 5.21, x_F: 0.1},
        "Kernels",
        derived="5.21 * 0.1 < 1",
    ),
)

power = Formula(
    P_avg,
    n_acc * P_dev,
    title="Mean power",
    source=BARROSO,
    convention="Accelerators alone: hosts and the building stand apart.",
    example=Example({n_acc: 8, P_dev: 565.4}, "4.5232 kW", derived="8 * 565.4 / 1000"),
)

node_power = Formula(
    P_node,
    n_node * P_dev * (1 + f_host),
    title="Power of a node",
    source=BARROSO,
    convention="At the wall, without what the building draws beside.",
    example=Example({n_node: 8, P_dev: 565.4, f_host: 0.45}, "6.5586 kW", derived="8 * 565.4 * 1.45 / 1000"),
)

energy = Formula(
    E_run,
    P_avg * (1 + f_host) * T_run * pue,
    title="Energy from the grid",
    source=BARROSO,
    assumes="Hosts and network draw a share of what the accelerators draw.",
    example=Example(
        {P_avg: 100, f_host: 0.5, T_run: 30, pue: 1.2}, "129.6 MWh", derived="100 * (1 + 0.5) * (30 * 24) * 1.2 / 1000"
    ),
)

energy_per_token = Formula(
    e_tok,
    when(n_out_run > 0, E_run / n_out_run, oo),
    title="Energy of a token",
    source=BARROSO,
    accuracy="As far off as the power, and as the time that it is reckoned with.",
    example=Example({E_run: 129.6, n_out_run: 1e12}, "0.46656 J/token", derived="129.6e6 * 3600 / 1e12"),
)

step_energy = Formula(
    E_step,
    E_run / n_steps,
    title="Energy of a step",
    source=BARROSO,
    example=Example({E_run: 129.6, n_steps: 1000}, "129.6 kWh", derived="129600 / 1000"),
)

request_energy = Formula(
    e_req,
    when(n_req_run > 0, E_run / n_req_run, oo),
    title="Energy of a request",
    source=BARROSO,
    example=Example({E_run: 129.6, n_req_run: 1e9}, "466.56 J/request", derived="129.6e6 * 3600 / 1e9"),
)

operation = Formula(
    m_op,
    E_run * grid_carbon,
    title="Carbon dioxide of operation",
    source=BARROSO,
    assumes="The mean of a grid, where the accelerators stand: certificates that are bought change nothing.",
    example=Example({E_run: 129.6, grid_carbon: 0.4}, "51840 kg", derived="129600 * 0.4"),
)

manufacture = Formula(
    m_emb,
    n_acc * T_run * (m_dev + m_host) / (T_srv * f_use),
    title="Carbon dioxide of manufacture",
    source=FOOTPRINT,
    assumes="Spread evenly over the time in which accelerators are used. Nothing where it is not known.",
    accuracy="Hosts are the larger part, and known to a factor of two.",
    example=Example(
        {n_acc: 8, T_run: 30, m_dev: 164, m_host: 712, T_srv: 1460, f_use: 0.6},
        "240 kg",
        derived="8 * 30 * 876 / (1460 * 0.6)",
    ),
)

emissions = Formula(
    carbon,
    m_op + m_emb,
    title="Carbon dioxide",
    source=FOOTPRINT,
    example=Example({m_op: 51840, m_emb: 240}, "52080 kg", derived="51840 + 240"),
)

site_water_use = Formula(
    V_site,
    E_run / pue * w_site,
    title="Water evaporated on site",
    source=WATER,
    example=Example({E_run: 129.6, pue: 1.2, w_site: 0.5}, "54000 L", derived="129600 / 1.2 * 0.5"),
)

grid_water_use = Formula(
    V_grid,
    E_run * w_grid,
    title="Water evaporated by power plants",
    source=WATER,
    assumes="Mostly that of reservoirs, where a grid has hydropower.",
    example=Example({E_run: 129.6, w_grid: 3.13}, "405648 L", derived="129600 * 3.13"),
)

evaporated = Formula(
    V_all,
    V_site + V_grid,
    title="Water",
    source=WATER,
    example=Example({V_site: 54000, V_grid: 405648}, "459648 L", derived="54000 + 405648"),
)

_clocked = {share: share / sigma_P for share in (eta, eta_pre, eta_gr, eta_wo)}

capped_time = Formula(
    t_cap,
    when(Or(Not(_held), P_lim > f_idle * tdp), evaluated_at(t_it, _clocked, PASS), oo),
    title="One iteration under a limit of power",
    source=ROOFLINE,
    assumes="Products and attention take as much longer as the clock is lower; memory, links and hosts keep their "
    "times. The stretch is that of the iteration without the limit, so nothing goes in a circle.",
    no_example=PASSED,
)

capped_tokens = Formula(
    n_out_run,
    (n_dec + n_pro) * token / request * T_run / when(t_meas > 0, t_meas, t_cap),
    title="Tokens that iterations give under a limit of power",
    source=ROOFLINE,
    variant="capped",
    example=Example(
        {n_dec: 64, n_pro: 0, T_run: 1, t_meas: 0, t_cap: 20}, "276480000 token", derived="64 * 24 * 3600 / 0.02"
    ),
)

FORMULAS = (
    training_flop_share,
    clock_time,
    iteration_flops,
    iteration_bytes,
    iteration_flop_share,
    iteration_busy_share,
    engine_accelerators,
    iterated_tokens,
    saturated_tokens,
    engine_request,
    batch_request,
    batch_flop_share,
    batch_tokens,
    replica_request,
    first_order_request,
    served_flop_share,
    device_power,
    load_line,
    clock_stretch,
    binding_power,
    power,
    node_power,
    energy,
    energy_per_token,
    step_energy,
    request_energy,
    operation,
    manufacture,
    emissions,
    site_water_use,
    grid_water_use,
    evaporated,
    capped_time,
    capped_tokens,
)
#: Power of accelerators, from their shares of time.
POWER = (device_power, clock_stretch, binding_power, power)
#: Energy, carbon and water of a duration.
RUN = (energy, energy_per_token, operation, manufacture, emissions, site_water_use, grid_water_use, evaporated)
#: What a model with accelerators, duration, tokens, busy_share and flop_share adds.
FORMULAS_OF_ANY = POWER + RUN
#: Outputs that a load line has not.
BY_ARITHMETIC = ("flop_share", "clock_stretch", "power_bottleneck")
#: The same of an iteration of an engine.
ITERATION = (
    clock_time,
    iteration_flops,
    iteration_bytes,
    iteration_flop_share,
    iteration_busy_share,
    engine_accelerators,
    *POWER,
    node_power,
    *RUN,
)
#: The same of batches that come together.
BATCH = (
    clock_time,
    iteration_bytes,
    iteration_busy_share,
    engine_accelerators,
    batch_request,
    batch_flop_share,
    batch_tokens,
    *POWER,
    node_power,
    *RUN,
)
#: What a deployment adds, whose busy share is known.
SERVED = (served_flop_share, *FORMULAS_OF_ANY)
