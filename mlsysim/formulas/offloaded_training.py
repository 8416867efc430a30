"""Offloaded training

ZeRO-Offload and ZeRO-Infinity: a plain training step whose state is kept, in part, in a remote tier. Weights
are pulled for each pass over a layer, gradients stored as they come, and the update is made beside the remote
memory or by the accelerator. With nothing offloaded it is the plain step, formula by formula.
"""

from __future__ import annotations

from typing import Any

from sympy import And, Eq, Max, Min, ceiling

from mlsysim.formulas import step_time
from mlsysim.symbolic import Formula, Source, label, when
from mlsysim.symbols.activations import A_bwd, A_loss, A_stage, n_fly
from mlsysim.symbols.hardware import B_mem
from mlsysim.symbols.offload import (
    B_far,
    M_far_need,
    M_near_need,
    M_stage,
    T_far,
    T_fetch,
    V_far,
    V_upd,
    eta_pre,
    n_share,
    omega_ck,
    omega_g,
    omega_o,
    omega_w,
    update_place,
)
from mlsysim.symbols.step import T_opt, T_step, eta_mem, rho_lin, straggler, t_attn, t_el, t_lin
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
    f,
    n_gather,
    n_mb,
    n_z,
    q_g,
    reserve,
    t,
)
from mlsysim.symbols.workload import V, h, q

OFFLOAD = Source("ren2021", "section 4")
INFINITY = Source("rajbhandari2021", "section 4")
NAME = "offloaded_training"
DERIVED = "derived here; the sources print throughputs of their own runs"

_gathers = And(Z >= 3, n_z > 1)
_reduces = And(Z >= 2, n_z > 1)

staging = Formula(
    M_stage,
    omega_w * when(_gathers, 0, q * (Min(n_gather, ell) * P_unit + ceiling(V / t) * h))
    + omega_g * when(_reduces, 0, q * f * P_unit),
    title="Layers on their way from and to the remote tier",
    source=Source("rajbhandari2021", "section 5"),
    assumes="Where ZeRO gathers weights or reduces gradients anyway, its own buffers serve.",
    no_example=DERIVED,
)

local_memory = Formula(
    M_near_need,
    (1 - omega_w) * W
    + (1 - omega_g) * G
    + (1 - omega_o) * O
    + C_buf
    + W_gather
    + Max((1 - omega_ck) * A + A_bwd, (1 - omega_ck) * A / n_fly + A_loss)
    + reserve
    + M_stage,
    title="Local memory of an offloaded step",
    source=OFFLOAD,
    variant=NAME,
    assumes="What is kept remote leaves local memory but for the layers at work.",
    accuracy="States equal DeepSpeed's estimators (docs/validation.md).",
    no_example=DERIVED,
)

remote_memory = Formula(
    M_far_need,
    omega_w * W + omega_g * G + omega_o * O + omega_ck * A,
    title="Remote memory of an offloaded step",
    source=OFFLOAD,
    variant=NAME,
    assumes="Steady state: DeepSpeed's estimators add half of it for the start.",
    no_example=DERIVED,
)

_pulled = omega_w * W
_stored = omega_g * G * q / q_g
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
    no_example=DERIVED,
)

_beside_memory = Eq(update_place, label(update_place, "remote"))

update_traffic = Formula(
    V_upd,
    omega_o
    * when(
        _beside_memory,
        f * (1 - omega_w) * W + (1 - omega_g) * G * q / q_g,
        2 * O + f * omega_w * W + omega_g * G * q / q_g,
    ),
    title="Remote traffic of an update of an offloaded step",
    source=OFFLOAD,
    variant=NAME,
    assumes="Beside the remote memory: gradients that are not there yet go, weights that are kept local come back. By "
    "the accelerator: state comes and goes, gradients come, weights go.",
    convention="One rank, one step.",
    no_example=DERIVED,
)


def _transfer(volume: Any) -> Any:
    """Time of so many bytes to or from the remote tier."""
    return n_share * volume / B_far


_forward = (t_lin + t_attn + t_el) / (3 + rho_lin)

unhidden_fetches = Formula(
    T_fetch,
    Max(0, _transfer(_pulled + _points) - eta_pre * _forward)
    + Max(0, _transfer((1 + rho_lin) * _pulled + _stored + _points) - eta_pre * (2 + rho_lin) * _forward),
    title="Fetching and storing beyond what computing hides",
    source=INFINITY,
    variant=NAME,
    assumes="Layer by layer beside the computing of its pass. The first layer, which nothing precedes, is not counted.",
    no_example=DERIVED,
)

exposed_remote = Formula(
    T_far,
    n_mb * T_fetch + _transfer(V_upd),
    title="Exposed remote memory access of an offloaded step",
    source=INFINITY,
    variant=NAME,
    assumes="Traffic of the update is not hidden: no delayed update.",
    no_example=DERIVED,
)

update = Formula(
    T_opt,
    step_time.optimizer_update.expression
    * (1 - omega_o * when(_beside_memory, 1) * (1 - B_mem * eta_mem * n_share / B_far)),
    title="Update of weights and optimizer state, in part beside the remote memory",
    source=OFFLOAD,
    variant=NAME,
    assumes="A processor beside the remote memory updates at the bandwidth of the port, as if it had that much memory "
    "bandwidth for each accelerator.",
    no_example=DERIVED,
)

step = Formula(
    T_step,
    step_time.step.expression + straggler * T_far,
    title="One offloaded training step",
    source=INFINITY,
    variant=NAME,
    assumes="The plain step, and what of the remote traffic nothing hides. The link to the remote tier is not that to "
    "other ranks.",
    no_example=DERIVED,
)

FORMULAS = (
    staging,
    local_memory,
    remote_memory,
    traffic,
    update_traffic,
    unhidden_fetches,
    exposed_remote,
    update,
    step,
)
