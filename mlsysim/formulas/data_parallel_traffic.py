"""Data-parallel traffic

Traffic of data-parallel ranks in a step by ZeRO stage, and the part that stays exposed. Traffic of a layer overlaps
with other layers that compute or wait for their host, but never with other traffic. Traffic of the first or last layer
cannot hide, and the total cannot hide behind more time than there is. Gradients are exchanged in the backward pass,
weights in the forward pass of the next step, and in stage 3 in both; traffic once per step overlaps with one
micro-batch only.
"""

from __future__ import annotations

from typing import Any

from sympy import Piecewise

from mlsysim.formulas.exchange_overlap import hidden
from mlsysim.symbolic import Example, Formula, Max, Source, when
from mlsysim.symbols.groups import S_g, V_g, n_g, t_x
from mlsysim.symbols.layers import ell_s_moe, s_fwd, t_wait
from mlsysim.symbols.routing import n_exchanges
from mlsysim.symbols.step import (
    T_dp,
    T_dpt,
    V_dp,
    chi,
    phi_dp,
    t_ag,
    t_ag_x,
    t_ar,
    t_both_x,
    t_bwd,
    t_comp,
    t_edge_x,
    t_ep,
    t_free,
    t_fwd,
    t_hide,
    t_rs,
    t_rs_x,
    t_slow,
)
from mlsysim.symbols.training import Z, ell, n_mb, n_z, r_dp

ZERO = Source("rajbhandari2020", "section 7")
OVERLAP = Source("li2020", "section 3.2")
EXECUTED = "Equal to traffic executed layer by layer behind a forward or backward pass."
BESIDE = (
    "Steps of 200 random settings, executed operation by operation with hosts and exchanges, are met within 0.04% in "
    "the median, 1.1% in nine of ten and 7% at worst."
)


def each_step(sum_up: Any, reduce: Any, gather: Any) -> Any:
    """Select the all-reduces, reduce-scatters and all-gathers of a step by ZeRO stage."""
    return Piecewise(
        (sum_up, Z < 1),
        (reduce + gather, Z < 2),
        (n_mb * reduce + gather, Z < 3),
        (n_mb * (reduce + 2 * gather), True),
    )


data_parallel_bytes = Formula(
    V_dp,
    (n_z - 1) / n_z * each_step(2 * S_g["dp"], S_g["dp"], V_g["dp"])
    + Max(0, n_g["edp"] - 1) / n_g["edp"] * each_step(2 * S_g["edp"], S_g["edp"], V_g["edp"])
    + (r_dp - 1) / r_dp * each_step(2 * S_g["rep"], 2 * S_g["rep"], 0),
    title="Data-parallel traffic one rank sends in a step",
    source=ZERO,
    assumes="An expert is shared by the ranks that hold it, so expert parallelism lowers its "
    "traffic. Replicas sum shards.",
    convention="As rings send it.",
    example=Example(
        {
            Z: 1,
            n_z: 64,
            n_g["edp"]: 8,
            S_g["dp"]: 8e3,
            V_g["dp"]: 4e3,
            S_g["edp"]: 32e3,
            V_g["edp"]: 16e3,
            n_mb: 4,
            r_dp: 1,
            S_g["rep"]: 0,
        },
        "53.8125 GB",
        derived="63 / 64 * (8 + 4) + 7 / 8 * (32 + 16)",
    ),
)

data_parallel_traffic = Formula(
    T_dpt,
    each_step(t_ar, t_rs, t_ag),
    title="Data-parallel traffic of a step",
    source=ZERO,
    assumes="Stage 0 all-reduces gradients once a step, stage 1 reduces once and gathers the weights that changed. "
    "Stage 2 keeps a shard of the gradients only, so it reduces after each micro-batch; stage 3 also gathers the "
    "weights forward and backward in each.",
    example=Example({Z: 3, n_mb: 4, t_ar: 170, t_rs: 90, t_ag: 45}, "720 ms", derived="4 * (90 + 2 * 45)"),
)


def beside_traffic(waiting: Any) -> Any:
    """Time of a micro-batch in which links are otherwise idle, given the device's waiting time."""
    return Max(0, t_comp + waiting + t_slow - hidden())


free_links = Formula(
    t_free,
    beside_traffic(t_wait),
    title="Time of one micro-batch beside which traffic of weights may run",
    source=OVERLAP,
    variant="per_operator",
    assumes="Computing, and waiting for the host or another stage: traffic has a stream of its own. Not exchanges of "
    "tokens, exposed or hidden, which take the same links.",
    accuracy=BESIDE,
    example=Example(
        {
            t_comp: 400,
            t_wait: 46,
            t_slow: 0,
            ell_s_moe: 15,
            n_exchanges: 4,
            t_x["dispatch"]: 0.4,
            t_x["combine"]: 0.7,
            t_ep: 5,
        },
        "418 ms",
        derived="400 + 46 - (15 * 2 * 1.1 - 5)",
    ),
)

forward_free = Formula(
    t_fwd,
    t_free * s_fwd,
    title="What of it is in the forward pass",
    source=Source("kaplan2020", "section 2.1"),
    example=Example({t_free: 400, s_fwd: 0.25}, "100 ms", derived="400 / 4"),
)

backward_free = Formula(
    t_bwd,
    t_free - t_fwd,
    title="What of it is in the backward pass",
    source=Source("kaplan2020", "section 2.1"),
    example=Example({t_free: 400, t_fwd: 100}, "300 ms", derived="400 - 100"),
)


#: Share of the traffic's time that hiding saves: from ZeRO-2 it takes multiprocessors, memory and power.
SAVED = 1 - when(Z >= 2, chi)
#: The same of all layers, each of which travels beside the others; and the rest, that of one layer and of the cost.
BESIDE_OTHERS = SAVED * (1 - 1 / ell)
ALWAYS_EXPOSED = 1 - BESIDE_OTHERS


def exposed(traffic: Any, beside: Any) -> Any:
    """Exposed part of a collective over all layers, each overlapped with the others, and the cost of the rest."""
    return Max(ALWAYS_EXPOSED * traffic, traffic - BESIDE_OTHERS * phi_dp * beside)


def _of_layer(traffic: Any) -> Any:
    """The same for one layer's traffic beside another layer."""
    return Max((1 - SAVED) * traffic / ell, traffic / ell - t_hide)


exposed_reduction = Formula(
    t_rs_x,
    exposed(when(Z < 1, t_ar, t_rs), t_bwd),
    title="Reduction of gradients left exposed beside a backward pass",
    source=OVERLAP,
    assumes="Stage 0 all-reduces. What hides beside a waiting device costs as much as beside computing, which a host "
    "that sets the pace would make up for.",
    accuracy=EXECUTED,
    example=Example(
        {Z: 0, t_ar: 170, t_rs: 90, ell: 40, phi_dp: 0.5, t_bwd: 300, chi: 0.5},
        "23.75 ms",
        derived="max(170 / 40, 170 - 0.5 * 39 / 40 * 300)",
    ),
)

exposed_gather = Formula(
    t_ag_x,
    exposed(t_ag, t_fwd),
    title="Gathering of weights left exposed beside a forward pass",
    source=OVERLAP,
    accuracy=EXECUTED,
    example=Example(
        {t_ag: 60, ell: 40, phi_dp: 0.5, t_fwd: 100, Z: 3, chi: 0},
        "11.25 ms",
        derived="max(60 / 40, 60 - 0.5 * 39 / 40 * 100)",
    ),
)

hidden_per_layer = Formula(
    t_hide,
    SAVED * phi_dp * t_bwd / ell,
    title="Most time that hiding saves beside a layer",
    source=OVERLAP,
    example=Example({phi_dp: 0.5, t_bwd: 300, ell: 40, Z: 3, chi: 0.5}, "1.875 ms", derived="0.5 * 0.5 * 300 / 40"),
)

exposed_edges = Formula(
    t_edge_x,
    _of_layer(t_ag) + _of_layer(t_rs),
    title="Traffic left exposed beside the first and the last layer of a backward pass",
    source=OVERLAP,
    assumes="Beside the first nothing is reduced yet, beside the last nothing is left to gather.",
    example=Example(
        {t_ag: 60, t_rs: 90, ell: 40, t_hide: 2, Z: 3, chi: 0},
        "0.25 ms",
        derived="max(0, 60 / 40 - 2) + (90 / 40 - 2)",
    ),
)

exposed_both = Formula(
    t_both_x,
    (t_ag + t_rs) / ell + when(ell > 1, t_edge_x + Max(0, ell - 2) * _of_layer(t_ag + t_rs)),
    title="Gathering and reduction left exposed beside a backward pass",
    source=OVERLAP,
    assumes="Each layer is gathered before its backward pass and reduced after it, on one link.",
    accuracy=EXECUTED,
    example=Example(
        {t_ag: 60, t_rs: 90, ell: 40, t_edge_x: 0.25, t_hide: 2, Z: 3, chi: 0},
        "70.5 ms",
        derived="150 / 40 + 0.25 + (40 - 2) * (150 / 40 - 2)",
    ),
)


data_parallel_time = Formula(
    T_dp,
    Piecewise(
        (t_rs_x, Z < 1),
        (t_rs_x + t_ag_x, Z < 2),
        (n_mb * t_rs_x + t_ag_x, Z < 3),
        (n_mb * (t_both_x + t_ag_x), True),
    ),
    title="Data-parallel traffic left exposed",
    source=OVERLAP,
    accuracy=EXECUTED,
    example=Example({Z: 2, n_mb: 4, t_rs_x: 30, t_ag_x: 10, t_both_x: 70}, "130 ms", derived="4 * 30 + 10"),
)

#: What is left exposed, from what runs beside it and collectives on.
EXPOSED = (
    forward_free,
    backward_free,
    exposed_reduction,
    exposed_gather,
    hidden_per_layer,
    exposed_edges,
    exposed_both,
    data_parallel_time,
)
FORMULAS = (data_parallel_bytes, data_parallel_traffic, free_links, *EXPOSED)
