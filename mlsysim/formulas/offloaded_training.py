"""Offloaded training

ZeRO-Offload and ZeRO-Infinity: a plain training step with part of its state in a remote tier. Weights are fetched for
each pass over a layer, gradients are stored as they are computed, and the update runs beside the remote memory or on
the accelerator. With nothing offloaded it equals the plain step, formula by formula.
"""

from __future__ import annotations

from typing import Any

from sympy import Eq

from mlsysim.formulas import step_moments, step_time
from mlsysim.formulas.rank_parameters import GATHERED, SCATTERED, WHOLE_EDGE, most
from mlsysim.formulas.step_moments import GATHERED_HEAD
from mlsysim.formulas.trained_parameters import ON_LAST
from mlsysim.symbolic import Example, Formula, Max, Min, Source, label, when
from mlsysim.symbols.activations import (
    A_bwd,
    A_loss,
    A_peak,
    A_stage,
    M_r,
    V_r,
    b_last,
)
from mlsysim.symbols.formats import q_a, q_u
from mlsysim.symbols.groups import n_g
from mlsysim.symbols.hardware import B_mem
from mlsysim.symbols.layers import T_stage, t_wait
from mlsysim.symbols.offload import (
    B_far,
    M_far_need,
    M_near_need,
    M_stage,
    T_far,
    T_fetch,
    T_fetch_r,
    V_far,
    V_upd,
    V_upd_r,
    eta_pre,
    n_share,
    omega_ck,
    omega_g,
    omega_o,
    omega_w,
    rho_upd,
    update_place,
)
from mlsysim.symbols.step import (
    T_bub,
    T_dp,
    T_opt,
    T_pp,
    T_step,
    eta_mem,
    kappa_step,
    rho_lin,
    t_comp,
)
from mlsysim.symbols.trained import X_O, P_upd, T_unit, f_w, q_t
from mlsysim.symbols.training import (
    A,
    C_buf,
    G,
    O,
    P_unit,
    W,
    W_gather,
    Z,
    ell,
    n_gather,
    n_mb,
    n_z,
    q_g,
    reserve,
    workspace,
)
from mlsysim.symbols.workload import h_V

OFFLOAD = Source("ren2021", "section 4")
INFINITY = Source("rajbhandari2021", "section 4")
NAME = "offloaded_training"

staging = Formula(
    M_stage,
    omega_w * when(GATHERED, 0, q_u * Min(n_gather, ell) * P_unit + WHOLE_EDGE)
    + omega_g * when(SCATTERED, 0, q_a * T_unit),
    title="Layers on their way from and to the remote tier",
    source=Source("rajbhandari2021", "section 5"),
    assumes="Where ZeRO gathers weights or reduces gradients anyway, its own buffers serve.",
    example=Example(
        {
            omega_w: 1,
            omega_g: 1,
            Z: 1,
            n_z: 8,
            n_g["edp"]: 8,
            q_u: 2,
            q_a: 2,
            n_gather: 2,
            ell: 32,
            P_unit: 2e8,
            T_unit: 2e8,
            V_r: 16001,
            h_V: 4096,
        },
        "1.33108 GB",
        derived="(2 * (2 * 2e8 + 16001 * 4096) + 2 * 2e8) / 1e9",
    ),
)

peak_activations = Formula(
    A_peak,
    (1 - omega_ck) * A + Max(A_bwd, when(ON_LAST, A_loss + GATHERED_HEAD)),
    title="Local activations and buffers at their peak",
    source=OFFLOAD,
    variant=NAME,
    assumes="Checkpoints kept remote leave local memory; the buffers stay.",
    example=Example(
        {
            omega_ck: 0.5,
            A: 8,
            A_bwd: 3,
            b_last: 1,
            A_loss: 9,
            Z: 0,
            n_z: 1,
            n_g["edp"]: 1,
            q_a: 2,
            f_w: 1,
            V_r: 32000,
            h_V: 4096,
        },
        "13.0 GB",
        derived="0.5 * 8 + max(3, 9)",
    ),
)

local_rank_memory = Formula(
    M_r,
    (1 - omega_w) * W
    + (1 - omega_g) * G
    + (1 - omega_o) * O
    + C_buf
    + W_gather
    + A_peak
    + reserve
    + workspace
    + M_stage,
    title="Local memory of one rank of an offloaded step",
    source=OFFLOAD,
    variant=NAME,
    assumes="What is kept remote leaves local memory but for the layers at work.",
    accuracy="States equal DeepSpeed's estimators (docs/validation.md).",
    example=Example(
        {omega_w: 0.5, W: 16, omega_g: 0.75, G: 32, omega_o: 0.9, O: 96, C_buf: 1, W_gather: 2, A_peak: 10,
         reserve: 2, M_stage: 1.4, workspace: 0},
        "42.00 GB",
        derived="0.5 * 16 + 0.25 * 32 + 0.1 * 96 + 1 + 2 + 10 + 2 + 1.4",
    ),
)  # fmt: skip

first_rank, second_rank, last_rank = step_moments.of_ranks(
    (*step_moments.leading(), staging, peak_activations, local_rank_memory), M_r, NAME
)

local_memory = Formula(
    M_near_need,
    M_r,
    title="Local memory of an offloaded step",
    source=OFFLOAD,
    variant=NAME,
    convention="The rank that holds the most, or the one that is asked.",
    example=Example({M_r: 42}, "42.00 GB", derived="42"),
)

remote_memory = Formula(
    M_far_need,
    omega_w * W + omega_g * G + omega_o * O + omega_ck * A,
    title="Remote memory of an offloaded step",
    source=OFFLOAD,
    variant=NAME,
    assumes="Steady state: DeepSpeed's estimators add half of it for the start.",
    example=Example(
        {omega_w: 0.5, W: 16, omega_g: 0.75, G: 32, omega_o: 0.9, O: 96, omega_ck: 0.5, A: 8},
        "122.4 GB",
        derived="0.5 * 16 + 0.75 * 32 + 0.9 * 96 + 0.5 * 8",
    ),
)

_pulled = omega_w * W
_stored = omega_g * G * q_a / q_g
_points = omega_ck * A_stage

traffic = Formula(
    V_far,
    (2 + rho_lin) * _pulled + _stored + 2 * _points,
    title="Remote traffic of a micro-batch of an offloaded step",
    source=INFINITY,
    variant=NAME,
    assumes="Weights are pulled for the forward and the backward pass and for recomputation, gradients stored once at "
    "16 bit, checkpoints written and read.",
    convention="One rank.",
    example=Example(
        {rho_lin: 1, omega_w: 0.5, W: 16, omega_g: 0.75, G: 32, q_a: 2, q_g: 4, omega_ck: 0.5, A_stage: 8},
        "44.00 GB",
        derived="(2 + 1) * 0.5 * 16 + 0.75 * 32 * 2 / 4 + 2 * 0.5 * 8",
    ),
)

_beside_memory = Eq(update_place, label(update_place, "remote"))

_ON_RANK = frozenset(step_moments.leading())


def _most(symbol: Any, own: Formula, title: str) -> Formula:
    """Maximum over three ranks of a formula for one rank."""
    return Formula(
        symbol,
        most(own.symbol, _ON_RANK | {own}),
        title=title,
        source=OFFLOAD,
        variant=NAME,
        assumes="The others wait for the rank of a pipeline that has the most.",
        no_example="the most of three ranks, whose parts have examples",
    )


rank_update = Formula(
    V_upd_r,
    omega_o
    * when(
        _beside_memory,
        f_w * (1 - omega_w) * W + (1 - omega_g) * G * q_a / q_g,
        2 * O + f_w * omega_w * W + omega_g * G * q_a / q_g,
    ),
    title="Remote traffic of one rank for an update of an offloaded step",
    source=OFFLOAD,
    variant=NAME,
    assumes="Beside the remote memory: gradients that are not there yet go, weights that are kept local come back. By "
    "the accelerator: state comes and goes, gradients come, weights go.",
    convention="One rank, one step.",
    example=Example(
        {update_place: "local", omega_o: 0.5, O: 96, f_w: 1, omega_w: 0.5, W: 16, omega_g: 0.75, G: 32, q_a: 2, q_g: 4},
        "106.0 GB",
        derived="0.5 * (2 * 96 + 0.5 * 16 + 0.75 * 32 * 2 / 4)",
    ),
)

update_traffic = _most(V_upd, rank_update, "Remote traffic of an update of an offloaded step")


def _transfer(volume: Any) -> Any:
    """Time to transfer these bytes to or from the remote tier."""
    return n_share * volume / B_far


_forward = (t_comp + t_wait) / (2 + f_w + rho_lin)

rank_fetches = Formula(
    T_fetch_r,
    Max(0, _transfer(_pulled + _points) - eta_pre * _forward)
    + Max(0, _transfer((1 + rho_lin) * _pulled + _stored + _points) - eta_pre * (1 + f_w + rho_lin) * _forward),
    title="Fetching and storing of one rank beyond what computing hides",
    source=INFINITY,
    variant=NAME,
    assumes="Layer by layer beside the computing of its pass, and what that waits for the host. The first layer, which "
    "nothing precedes, is not counted.",
    example=Example(
        {rho_lin: 1, omega_w: 0.5, W: 16, omega_g: 0.75, G: 32, q_a: 2, q_g: 4, omega_ck: 0.5,
         A_stage: 8, n_share: 1,
         B_far: 64, eta_pre: 0.8, t_comp: 300, t_wait: 100, f_w: 1},
        "367.5 ms",
        derived="max(0, (8 + 4) / 0.064 - 0.8 * 400 / 4) + max(0, (2 * 8 + 12 + 4) / 0.064 - 0.8 * 400 * 3 / 4)",
    ),
)  # fmt: skip

unhidden_fetches = _most(T_fetch, rank_fetches, "Fetching and storing beyond what computing hides")

exposed_remote = Formula(
    T_far,
    Max(0, n_mb * T_fetch - eta_pre * T_dp) + _transfer(V_upd),
    title="Exposed remote memory access of an offloaded step",
    source=INFINITY,
    variant=NAME,
    assumes="What is left of fetching runs beside what is left of data-parallel traffic: links and the port to remote "
    "memory work at once. Traffic of the update is not hidden: no delayed update.",
    example=Example(
        {n_mb: 4, T_fetch: 300, eta_pre: 0.5, T_dp: 100, n_share: 2, V_upd: 32, B_far: 64},
        "2150 ms",
        derived="4 * 300 - 0.5 * 100 + 2 * 32 / 0.064",
    ),
)

slowdown = Formula(
    rho_upd,
    1 - omega_o * when(_beside_memory, 1) * (1 - B_mem * eta_mem * n_share / B_far),
    title="Slowdown of the update beside the remote memory",
    source=OFFLOAD,
    assumes="A processor beside the remote memory updates at the bandwidth of the port, as if it had that much memory "
    "bandwidth for each accelerator.",
    example=Example(
        {omega_o: 0.5, update_place: "remote", B_mem: 2000, eta_mem: 0.8, n_share: 1, B_far: 64},
        "13",
        derived="1 - 0.5 * (1 - 2000 * 0.8 * 1 / 64)",
    ),
)

update = Formula(
    T_opt,
    step_time.optimizer_update.expression * rho_upd,
    title="Update of weights and optimizer state, in part beside the remote memory",
    source=OFFLOAD,
    variant=NAME,
    example=Example(
        {X_O: 36, q_g: 2, q_t: 2, P_upd: 3e9, B_mem: 2000, eta_mem: 0.8, rho_upd: 13},
        "682.5 ms",
        derived="(2 * 36e9 + (2 + 2) * 3e9) / 1600e9 * 13 * 1000",
    ),
)  # fmt: skip

step = Formula(
    T_step,
    step_time.step.expression + kappa_step * T_far,
    title="One offloaded training step",
    source=INFINITY,
    variant=NAME,
    assumes="The plain step, and what of the remote traffic nothing hides. The link to the remote tier is not that to "
    "other ranks.",
    example=Example(
        {kappa_step: 1.05, T_stage: 6800, T_bub: 800, T_pp: 50, T_dp: 300, T_opt: 50, T_far: 2000},
        "10.500 s",
        derived="1.05 * (6800 + 800 + 50 + 300 + 50 + 2000) / 1000",
    ),
)  # fmt: skip

FORMULAS = (
    staging,
    peak_activations,
    local_rank_memory,
    first_rank,
    second_rank,
    last_rank,
    local_memory,
    remote_memory,
    traffic,
    rank_update,
    update_traffic,
    rank_fetches,
    unhidden_fetches,
    exposed_remote,
    slowdown,
    update,
    step,
)
