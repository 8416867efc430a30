"""Checkpoints of a run

Size of a checkpoint, in which replicated state counts once; pause of training for a checkpoint, and its latency until
it can be restored; the optimal interval, and the share of running time preserved. A blocking checkpoint is complete
when training continues; an overlapped one is written from host memory meanwhile. With two levels, failures that leave
host memory intact are restored from there.
"""

from __future__ import annotations

from typing import Any

from sympy import And, Eq, Integer, Le, Or, Piecewise, Rational, exp, log, oo, sqrt

from mlsysim.formulas import optimizer_states, rank_parameters, trained_parameters
from mlsysim.symbolic import Example, Formula, Max, Min, Source, by_label, evaluated_at, label, when
from mlsysim.symbols.activations import n_s
from mlsysim.symbols.fsdp import M_usable
from mlsysim.symbols.groups import n_g
from mlsysim.symbols.hardware import n_fleet, n_node
from mlsysim.symbols.runs import (
    B_s,
    B_sr,
    C_eff,
    C_m,
    C_s,
    D_s,
    M_f,
    M_hcap,
    M_host,
    N_nd,
    R_f,
    T_av,
    T_best,
    T_cyc,
    T_dy,
    T_m,
    T_mbest,
    T_mset,
    T_s,
    T_set,
    T_sh,
    T_yg,
    beta_h,
    beta_ns,
    beta_sr,
    beta_st,
    beta_wr,
    ettr,
    ettr_1,
    g_mem,
    interval_rule,
    k_h,
    k_lost,
    kappa_f,
    kept,
    lam,
    m_cp,
    mu_st,
    n_wr,
    o_st,
    p_pair,
    phi_0,
    phi_s,
    s_re,
    s_rec,
    s_run,
    s_st,
    sigma_st,
    t_ld,
    t_meta,
    t_mld,
    t_sync,
    t_wr,
    u_st,
    x_mem,
    x_seg,
    y_s,
    zeta,
)
from mlsysim.symbols.step import T_train
from mlsysim.symbols.trained import W_ad, finetuning
from mlsysim.symbols.training import M, O, P_dense, P_sparse, W, Z, feasible, n_z, optimizer_device, r_dp
from mlsysim.symbols.workload import P

YOUNG, DALY = Source("young1974"), Source("daly2006")
ROBUST = Source("wan2025", "section 6 and table 8")
RENEWAL = Source("own", "renewal of saves, simulated event by event")
SHARED = Source("own", "least weighted rework of jobs that share a storage")
LEVELS = Source("own", "renewal of two kinds of saves, simulated event by event")

#: State that a rank would hold if everything was sharded over all that hold it alike.
_ALONE = {Z: 3}
_WEIGHTS = when(
    Eq(finetuning, label(finetuning, "full")),
    evaluated_at(W, _ALONE, (rank_parameters.weights,), swaps=True),
    evaluated_at(W_ad, _ALONE, (trained_parameters.adapter_weights,), swaps=True),
)
_STATES = evaluated_at(
    O,
    {**_ALONE, optimizer_device: label(optimizer_device, "accelerator")},
    (optimizer_states.optimizer_state,),
    swaps=True,
)

rank_bytes = Formula(
    B_sr,
    (_WEIGHTS + _STATES) / (r_dp * n_s),
    title="State that one rank saves",
    source=ROBUST,
    variant="training",
    assumes="Weights and optimizer state, each part by one of the ranks that hold it; of frozen weights the adapters "
    "alone. Gradients are not saved.",
    no_example="its parts have examples of their own",
)

bytes_per_parameter = Formula(
    zeta,
    B_sr * r_dp * n_s / (P_dense / n_z + P_sparse / n_g["edp"]),
    title="State that is saved per parameter",
    source=Source("rajbhandari2020", "section 3.1"),
    assumes="14 bytes for bf16 weights with a 32-bit copy and two moments, 12 without the narrow weights, 10 for fp16 "
    "weights and two 32-bit moments.",
    example=Example(
        {B_sr: 14, r_dp: 1, n_s: 1, P_dense: 64e9, n_z: 64, P_sparse: 0, n_g["edp"]: 64},
        "14 byte",
        derived="14e9 / (64e9 / 64)",
    ),
)

saved_state = Formula(
    B_s,
    zeta * P,
    title="State that a save holds",
    source=ROBUST,
    variant="training",
    assumes="Ranks save as much per parameter as the one that holds the most.",
    example=Example({zeta: 14, P: 176e9}, "2464 GB", derived="14 * 176"),
)

even_bytes = Formula(
    B_sr,
    B_s / n_fleet,
    title="State that one rank saves, of evenly spread state",
    source=ROBUST,
    variant="given",
    example=Example({B_s: 2464, n_fleet: 384}, "6.4167 GB", derived="2464 / 384"),
)


def _at(bandwidth: Any, amount: Any) -> Any:
    """Time at a bandwidth; zero if it is no limit."""
    return when(bandwidth > 0, amount / bandwidth, 0)


_TO_HOST = _at(beta_h, B_sr)
_TO_NODE = _at(beta_ns, B_sr * n_node)

write_time = Formula(
    t_wr,
    Max(
        _TO_HOST,
        _TO_NODE,
        B_s / (sigma_st * beta_st),
        when(n_wr > 0, _at(beta_wr, B_s / Max(1, n_wr)), 0),
    )
    + t_meta,
    title="Writing of a save",
    source=ROBUST,
    assumes="The slowest of copying to hosts, of ports of nodes, of the storage and of those who write; all else goes "
    "on beside it.",
    example=Example(
        {beta_h: 0, B_sr: 1, beta_ns: 0, n_node: 8, B_s: 6360, sigma_st: 1, beta_st: 2.5, n_wr: 0, beta_wr: 0,
         t_meta: 0},
        "2544 s",
        derived="530 * 12 / 2.5",
    ),
)  # fmt: skip

read_time = Formula(
    t_ld,
    Max(_TO_HOST, _TO_NODE, B_s / (sigma_st * when(beta_sr > 0, beta_sr, beta_st))),
    title="Reading of a save",
    source=ROBUST,
    assumes="As fast as writing where nothing else is known; replicas get their copies from each other.",
    example=Example(
        {beta_h: 0, B_sr: 1, beta_ns: 0, n_node: 8, B_s: 2464, sigma_st: 1, beta_sr: 0, beta_st: 62},
        "39.74 s",
        derived="2464 / 62",
    ),
)

memory_read_time = Formula(
    t_mld,
    _TO_HOST,
    title="Reading of a copy in host memory",
    source=ROBUST,
    example=Example({beta_h: 50, B_sr: 6}, "0.12 s", derived="6 / 50"),
)

blocking_stall = Formula(
    C_s,
    t_wr,
    title="Stall of a save that blocks",
    source=DALY,
    variant="blocking",
    example=Example({t_wr: 51}, "51 s", derived="51"),
)

no_latency = Formula(
    D_s,
    Integer(0),
    title="Latency of a save that blocks",
    source=DALY,
    variant="blocking",
    no_example="nothing is left to do when training goes on",
)

_COPY = t_sync + _TO_HOST

overlapped_stall = Formula(
    C_s,
    _COPY,
    title="Stall of a save that overlaps",
    source=ROBUST,
    variant="overlapped",
    assumes="Ranks wait for each other and copy their state to the host. Bytes alone explain 4 to 9% of measured "
    "stalls: planning and waiting are the rest.",
    example=Example({t_sync: 0.5, beta_h: 50, B_sr: 6}, "0.62 s", derived="0.5 + 6 / 50"),
)

latency = Formula(
    D_s,
    t_wr,
    title="Latency of a save that overlaps",
    source=ROBUST,
    variant="overlapped",
    example=Example({t_wr: 51}, "51 s", derived="51"),
)

no_stall = Formula(
    C_s,
    Integer(0),
    title="Stall of a save that is written from a copy in memory",
    source=ROBUST,
    variant="from_memory",
    no_example="the copy has stalled before",
)

memory_stall = Formula(
    C_m,
    _COPY,
    title="Stall of a copy in memory",
    source=ROBUST,
    assumes="Copies in other nodes are made meanwhile.",
    example=Example({t_sync: 0.5, beta_h: 50, B_sr: 6}, "0.62 s", derived="0.5 + 6 / 50"),
)

host_memory = Formula(
    M_host,
    k_h * (1 + m_cp) * B_s / N_nd,
    title="Host memory that saves take",
    source=ROBUST,
    assumes="Two buffers, one being filled while the other is written, and as many for every copy of another node.",
    example=Example({k_h: 2, m_cp: 1, B_s: 5670, N_nd: 2048}, "11.074 GB", derived="2 * 2 * 5670 / 2048"),
)


def _apart(partners: int, drawn: int) -> Any:
    """Probability that none of this many partners is the next node to fail."""
    return Max(0, 1 - partners / Max(1, N_nd - drawn))


pairs = Formula(
    p_pair,
    Piecewise(
        (1, k_lost < 2),
        (_apart(1, 1), k_lost < 3),
        (_apart(3, 1), k_lost < 4),
        (_apart(3, 1) * _apart(3, 3), k_lost < 5),
        (_apart(5, 1) * _apart(5, 3), True),
    ),
    title="Probability that lost nodes hold no pair",
    source=Source("own", "nodes drawn one by one, each beside the partners of those before"),
    assumes="Each node keeps a copy of one other, in pairs; nodes are lost at random.",
    example=Example({k_lost: 2, N_nd: 16}, "0.93333", derived="(16 - 2) / (16 - 1)"),
)

survival = Formula(
    phi_s,
    when(k_lost > 0, when(m_cp > 0, p_pair, 0), phi_0),
    title="Share of the failures that memory restores",
    source=ROBUST,
    assumes="Published as a share of the failures that a restart of processes cures, 0.75; or by copies in pairs.",
    example=Example({k_lost: 0, m_cp: 1, p_pair: 1, phi_0: 0.75}, "0.75", derived="0.75"),
)

priced_save = Formula(
    C_eff,
    C_s,
    title="Price of a save",
    source=YOUNG,
    variant="alone",
    example=Example({C_s: 60}, "60 s", derived="60"),
)

shared_price = Formula(
    C_eff,
    C_s + mu_st * B_s / n_fleet,
    title="Price of a save on a storage that jobs share",
    source=SHARED,
    variant="shared",
    assumes="Jobs choose intervals that lose the fewest hours of accelerators while their saves fit the storage; the "
    "multiplier is that of this constraint, equal for all, and 0 where they fit by themselves.",
    example=Example({C_s: 60, mu_st: 100, B_s: 5670, n_fleet: 16384}, "94.607 s", derived="60 + 100 * 5670 / 16384"),
)

young = Formula(
    T_yg,
    sqrt(2 * C_eff * M_f),
    title="Best interval by Young",
    source=YOUNG,
    assumes="Saves are short against the time to a failure: 0.006% of the useful share is lost at C/M = 0.005, 1% at "
    "0.17, 7% at 0.67.",
    example=Example({C_eff: 60, M_f: 3.093}, "1155.9 s", derived="sqrt(2 * 60 * 3.093 * 3600)"),
)

_x = sqrt(C_eff / M_f / 2)
daly = Formula(
    T_dy,
    when(C_eff < 2 * M_f, sqrt(2 * C_eff * M_f) * (1 - _x / 3) ** 2, M_f),
    title="Best interval by Daly's series",
    source=DALY,
    assumes="Failures come at random, and nothing is restored before a save is done. Costs at most 3e-5 of the useful "
    "share against the exact optimum up to C = 0.66 M; neither the time to recover nor the latency moves it.",
    convention="Daly's T = sqrt(2CM) (1 + sqrt(x)/3 + x/9) - C with x = C/2M, as a square.",
    example=Example(
        {C_eff: 60, M_f: 3.093},
        "1116.28 s",
        derived="sqrt(2*60*11134.8) * (1 + sqrt(60/22269.6)/3 + 60/22269.6/9) - 60",
    ),
)

availability = Formula(
    T_av,
    sqrt(C_eff * (2 * (M_f + R_f) + C_eff)),
    title="Interval of the highest availability",
    source=Source("own", "as arXiv:2410.18124 states it, less the save that it counts in"),
    assumes="Wall time between failures in the place of running time, so that it moves with the time to recover.",
    example=Example({C_eff: 60, M_f: 3.093, R_f: 600}, "1188.2 s", derived="sqrt(60 * (2 * (11134.8 + 600) + 60))"),
)

shared_interval = Formula(
    T_sh,
    B_s * (1 + o_st) / (sigma_st * beta_st),
    title="Shortest interval that storage leaves a job",
    source=SHARED,
    assumes="Overlapped saves of several jobs fill the share of the storage that is theirs; each has a part of it in "
    "proportion to the root of bytes, accelerators and failures.",
    example=Example({B_s: 5670, o_st: 0.0582, sigma_st: 1, beta_st: 25}, "240.0 s", derived="5670 * (1 + 0.0582) / 25"),
)

_by_rule = by_label(interval_rule, {"daly": T_dy, "young": T_yg, "availability": T_av})

best_interval = Formula(
    T_best,
    Max(_by_rule, D_s - C_s),
    title="Best interval between saves",
    source=RENEWAL,
    variant="alone",
    assumes="One save is written at a time.",
    example=Example(
        {interval_rule: "daly", T_dy: 1116.28, T_yg: 1155.9, T_av: 1188.1, D_s: 0, C_s: 60}, "1116.28 s",
        derived="1116.28",
    ),
)  # fmt: skip

best_shared_interval = Formula(
    T_best,
    Max(_by_rule, T_sh, D_s - C_s),
    title="Best interval between saves on a storage that jobs share",
    source=SHARED,
    variant="shared",
    assumes="One save is written at a time.",
    example=Example(
        {interval_rule: "daly", T_dy: 116, T_yg: 117, T_av: 118, T_sh: 240, D_s: 227, C_s: 0.6}, "240 s", derived="240"
    ),
)

storage_interval = Formula(
    T_best,
    Max(when(phi_s < 1, sqrt(2 * C_s * M_f / (1 - phi_s)), oo), D_s - C_s),
    title="Best interval between saves to storage, beside copies in memory",
    source=LEVELS,
    variant="two_level",
    example=Example({phi_s: 0.75, C_s: 60, M_f: 3.093, D_s: 0}, "2311.86 s", derived="sqrt(2 * 60 * 11134.8 / 0.25)"),
)

copied_interval = Formula(
    T_best,
    Max(T_m, T_sh, D_s),
    title="Best interval between saves to storage that are written from copies in memory",
    source=LEVELS,
    variant="from_memory",
    assumes="Such a save stalls nothing, so that storage is written to all the time.",
    example=Example({T_m: 120, T_sh: 53.7, D_s: 51}, "120 s", derived="120"),
)

interval = Formula(
    T_s,
    when(T_set > 0, Min(T_set, T_train), T_best),
    title="Interval between saves",
    source=YOUNG,
    assumes="A run that is shorter than the interval saves once, at its end.",
    example=Example({T_set: 0, T_train: 48.6, T_best: 1116.28}, "1116.28 s", derived="1116.28"),
)

memory_interval = Formula(
    T_mbest,
    when(phi_s > 0, sqrt(2 * C_m * M_f / phi_s), oo),
    title="Best interval between copies in memory",
    source=LEVELS,
    variant="two_level",
    example=Example({phi_s: 0.75, C_m: 0.62, M_f: 3.093}, "135.68 s", derived="sqrt(2 * 0.62 * 11134.8 / 0.75)"),
)

written_interval = Formula(
    T_mbest,
    Max(sqrt(2 * C_m * M_f), Min(when(phi_s > 0, sqrt(2 * C_m * M_f / phi_s), oo), Max(T_sh, D_s))),
    title="Best interval between copies in memory that are written to storage",
    source=LEVELS,
    variant="from_memory",
    assumes="Where writing keeps up, every copy is written and serves all failures; else copies come between saves.",
    example=Example(
        {phi_s: 0.75, C_m: 0.62, M_f: 3.093, T_sh: 53.7, D_s: 51}, "117.50 s", derived="sqrt(2 * 0.62 * 11134.8)"
    ),
)

interval_in_memory = Formula(
    T_m,
    when(T_mset > 0, Min(T_mset, T_train), T_mbest),
    title="Interval between copies in memory",
    source=YOUNG,
    example=Example({T_mset: 0, T_train: 48.6, T_mbest: 135.68}, "135.68 s", derived="135.68"),
)


def _stall(stall: Any, between: Any) -> Any:
    """Stalls relative to useful work."""
    return when(stall > 0, stall / between, 0)


stall_factor = Formula(
    y_s,
    1 + _stall(C_s, T_s),
    title="Running time over useful work",
    source=DALY,
    variant="periodic",
    assumes="Saves after every step are those of an interval of one step.",
    example=Example({C_s: 1.84, T_s: 4.48}, "1.4107", derived="1 + 1.84 / 4.48"),
)

two_stall_factor = Formula(
    y_s,
    1 + _stall(C_s, T_s) + _stall(C_m, T_m),
    title="Running time over useful work, with saves at two levels",
    source=LEVELS,
    variant="two_level",
    example=Example({C_s: 60, T_s: 2311.85, C_m: 0.62, T_m: 135.68}, "1.03052", derived="1 + 60/2311.85 + 0.62/135.68"),
)

segment = Formula(
    x_seg,
    Piecewise((0, lam <= 0), ((T_s + C_s) / M_f, M_f > 0), (oo, True)),
    title="Failures in an interval and its stall",
    source=DALY,
    variant="periodic",
    example=Example({lam: 7.7593, T_s: 1116.28, C_s: 60, M_f: 3.093}, "0.10564", derived="1176.28 / 11134.8"),
)


#: Below so few failures in an interval a series is exact to 1e-14, where a difference of exponentials is not.
_FEW = Rational(1, 1000)


def kept_of(load: Any) -> Any:
    """Share of running time that checkpoints without latency preserve, by failures per interval."""
    series = 1 / (1 + load / 2 + load**2 / 6 + load**3 / 24)
    return when(load < _FEW, series, Min(1, load * exp(-load) / (1 - exp(-load))))


def _part(amount: Any) -> Any:
    """Part of a checkpoint to storage that falls to one in-memory copy before it."""
    return amount * T_m / T_s


memory_segment = Formula(
    x_mem,
    Piecewise((0, lam <= 0), ((T_m + C_m + _part(C_s)) / M_f, M_f > 0), (oo, True)),
    title="Failures in the running time of a copy in memory",
    source=LEVELS,
    assumes="With its part of the stall of the next save.",
    example=Example(
        {lam: 7.7593, T_m: 135.68, C_m: 0.62, T_s: 2311.86, C_s: 60, M_f: 3.093}, "0.012557",
        derived="(136.3 + 60 * 135.68 / 2311.86) / 11134.8",
    ),
)  # fmt: skip


def _lost_by(amount: Any) -> Any:
    """Failures in a running time, including repeated work after restores from memory."""
    load = amount / M_f
    redone = exp(load) - 1
    return Piecewise(
        (load * (1 + phi_s * load / 2), amount < M_f / 10**5),
        (log(1 + (1 - phi_s) * redone) / (1 - phi_s), phi_s < 1),
        (redone, True),
    )


memory_loss = Formula(
    g_mem,
    Piecewise((0, lam <= 0), (_lost_by(T_m + C_m) + _part(_lost_by(C_s)), M_f > 0), (oo, True)),
    title="Failures in the running time of a copy in memory, with what is done again",
    source=LEVELS,
    assumes="A segment t passes without a loss of memory with the probability 1/(1 + (1 - phi) (exp(t/M) - 1)).",
    example=Example(
        {lam: 7.7593, phi_s: 0.75, T_m: 135.68, C_m: 0.62, T_s: 2311.86, C_s: 60, M_f: 3.093}, "0.012614",
        derived="(log(1 + 0.25 * (exp(136.3/11134.8) - 1)) + log(1 + 0.25 * (exp(60/11134.8) - 1)) * 135.68/2311.86)"
        " / 0.25",
    ),
)  # fmt: skip

storage_segment = Formula(
    x_seg,
    Piecewise(
        (0, Or(lam <= 0, phi_s >= 1)),
        (oo, M_f <= 0),
        (T_s * y_s / M_f, phi_s <= 0),
        ((1 - phi_s) * g_mem * T_s / T_m, True),
    ),
    title="Failures in an interval of saves that storage restores",
    source=LEVELS,
    variant="two_level",
    example=Example(
        {lam: 7.7593, phi_s: 0.75, g_mem: 0.012615, T_m: 135.68, T_s: 2311.86, y_s: 1.03052, M_f: 3.093}, "0.053737",
        derived="0.25 * 0.012615 * 2311.86 / 135.68",
    ),
)  # fmt: skip

#: Probability that nothing fails while a save is written.
_WRITTEN = exp(-when(D_s > 0, D_s / M_f, 0))

kept_share = Formula(
    kept,
    _WRITTEN * kept_of(x_seg),
    title="Share of the running time whose work is kept",
    source=RENEWAL,
    variant="periodic",
    assumes="A save counts when it can be restored from: k of them are done with the probability that the job runs for "
    "k intervals and the latency. Exact for failures at random and intervals of one length; for a "
    "Weibull law of exponent 0.5 low by 1% with stalls of a minute, and by 3% with stalls of five.",
    convention="Below 0.001 failures in an interval a series, which has all digits there.",
    example=Example({x_seg: 0.10564, D_s: 0, M_f: 3.093}, "0.94811", derived="0.10564 / (exp(0.10564) - 1)"),
)

saves_per_failure = Formula(
    kappa_f,
    when(x_seg > 0, kept / x_seg, oo),
    title="Saves from a failure to the next",
    source=RENEWAL,
    example=Example({x_seg: 0.10564, kept: 0.94811}, "8.9749", derived="0.94811 / 0.10564"),
)

two_kept_share = Formula(
    kept,
    exp(-when(D_s > 0, (1 - phi_s) * D_s / M_f, 0))
    * when(And(lam > 0, phi_s > 0, M_f > 0), Min(1, x_mem / g_mem), 1)
    * kept_of(x_seg),
    title="Share of the running time whose work is kept, with saves at two levels",
    source=LEVELS,
    variant="two_level",
    assumes="Exact where saves to storage come after a whole number of copies in memory.",
    example=Example(
        {lam: 7.7593, phi_s: 0.75, x_mem: 0.012557, g_mem: 0.012615, x_seg: 0.053737, D_s: 0, M_f: 3.093},
        "0.96890",
        derived="0.012557 / 0.012615 * 0.053737 / (exp(0.053737) - 1)",
    ),
)

useful = Formula(
    ettr,
    s_run * kept / y_s,
    title="Useful share of the time in which a job has its nodes",
    source=RENEWAL,
    variant="periodic",
    example=Example({s_run: 0.94887, kept: 0.94811, y_s: 1.05375}, "0.85374", derived="0.94887 * 0.94811 / 1.05375"),
)

stalls = Formula(
    s_st,
    s_run * kept * (1 - 1 / y_s),
    title="Share of it in stalls of saves",
    source=RENEWAL,
    example=Example(
        {s_run: 0.94887, kept: 0.94811, y_s: 1.05375}, "0.04589", derived="0.94887 * 0.94811 * (1 - 1 / 1.05375)"
    ),
)

recovering = Formula(
    s_rec,
    1 - s_run,
    title="Share of it in recoveries",
    source=DALY,
    variant="periodic",
    example=Example({s_run: 0.94887}, "0.05113", derived="1 - 0.94887"),
)

reworking = Formula(
    s_re,
    s_run * (1 - kept),
    title="Share of it in work that is done again",
    source=RENEWAL,
    example=Example({s_run: 0.94887, kept: 0.94811}, "0.049237", derived="0.94887 * (1 - 0.94811)"),
)

first_order = Formula(
    ettr_1,
    when(lam > 0, Max(0, 1 - (R_f + D_s + T_s / 2) / T_cyc), 1) / y_s,
    title="Useful share to first order",
    source=Source("kokolis2025", "effective training time ratio"),
    assumes="Within 1% only where recovery and interval are below a fifth of the time between interruptions.",
    example=Example(
        {lam: 0.74, R_f: 300, D_s: 0, T_s: 3600, T_cyc: 1.8462, y_s: 1}, "0.68404", derived="1 - 2100 / (1.8462 * 3600)"
    ),
)

storage_busy = Formula(
    u_st,
    Min(1, B_s / (beta_st * (T_s + C_s))),
    title="Share of the storage that saves keep busy",
    source=SHARED,
    example=Example({B_s: 5670, beta_st: 25, T_s: 240, C_s: 0.6}, "0.94264", derived="5670 / (25 * 240.6)"),
)


def _fits(*conditions: Any) -> Any:
    """Condition that failures leave time to work and checkpoints do not overlap, among others."""
    return And(M_f > 0, T_s + C_s >= D_s, *conditions)


_HOST = Or(M_hcap <= 0, Le(M_host, M_hcap))

feasible_training = Formula(
    feasible,
    _fits(_HOST, Le(M, M_usable)),
    title="Whether a run fits its memories, and saves between failures",
    source=RENEWAL,
    variant="run",
    example=Example(
        {M_f: 3, T_s: 1116, C_s: 0.6, D_s: 51, M_hcap: 0, M_host: 11, M: 60, M_usable: 80}, "True",
        derived="1116 + 0.6 >= 51 and 60 <= 80",
    ),
)  # fmt: skip

feasible_blocking = Formula(
    feasible,
    And(M_f > 0, Le(M, M_usable)),
    title="Whether a run fits its memory, and works between failures",
    source=RENEWAL,
    variant="blocking_run",
    example=Example({M_f: 3, M: 60, M_usable: 80}, "True", derived="60 <= 80"),
)

feasible_saves = Formula(
    feasible,
    _fits(_HOST),
    title="Whether saves fit host memory and come between failures",
    source=RENEWAL,
    variant="given_saves",
    example=Example({M_f: 3, T_s: 1116, C_s: 0.6, D_s: 51, M_hcap: 0, M_host: 11}, "True", derived="1116 + 0.6 >= 51"),
)

feasible_given = Formula(
    feasible,
    _fits(),
    title="Whether saves come between failures",
    source=RENEWAL,
    variant="given_run",
    example=Example({M_f: 3, T_s: 1116, C_s: 0.6, D_s: 51}, "True", derived="1116 + 0.6 >= 51"),
)

#: State of a job by its training step, or given and spread evenly; where it is written to.
STATE = (rank_bytes, bytes_per_parameter, saved_state)
TIERS = (write_time, read_time, storage_busy)
BLOCKING = (blocking_stall, no_latency)
OVERLAPPED = (overlapped_stall, latency, host_memory)
INTERVALS = (young, daly, availability, interval)
SHARES = (useful, stalls, recovering, reworking, first_order)
PERIODIC = (*INTERVALS, stall_factor, segment, kept_share, saves_per_failure, *SHARES)
FROM_MEMORY = (
    memory_read_time,
    latency,
    no_stall,
    memory_stall,
    host_memory,
    shared_interval,
    copied_interval,
    written_interval,
)
OF_LEVELS = (storage_interval, memory_interval)
TWO_LEVEL = (
    pairs,
    survival,
    interval,
    interval_in_memory,
    two_stall_factor,
    memory_segment,
    memory_loss,
    storage_segment,
    two_kept_share,
    useful,
    stalls,
    recovering,
    reworking,
)
FORMULAS = tuple(
    dict.fromkeys(
        (
            *STATE,
            even_bytes,
            *TIERS,
            *BLOCKING,
            *OVERLAPPED,
            pairs,
            survival,
            priced_save,
            shared_price,
            shared_interval,
            best_interval,
            best_shared_interval,
            *PERIODIC,
            *FROM_MEMORY,
            *OF_LEVELS,
            *TWO_LEVEL,
            feasible_training,
            feasible_blocking,
            feasible_saves,
            feasible_given,
        )
    )
)
