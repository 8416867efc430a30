"""Failures of a run

Rate of interruptions of a job, and its recovery time. Publications count failures per node and day of wall time;
checkpoint laws need failures per running time. A failure is resolved by a restart of processes or by a replacement
node; a planned stop loses no work; silent data corruption is detected late.
"""

from __future__ import annotations

from sympy import Eq, ceiling, exp, oo

from mlsysim.symbolic import Example, Formula, Max, Min, Source, label, when
from mlsysim.symbols.hardware import n_fleet, n_node
from mlsysim.symbols.runs import (
    N_0,
    M_f,
    N_nd,
    R_f,
    R_m,
    R_pl,
    T_c,
    T_cyc,
    clock,
    lam,
    lam_w,
    phi_s,
    r_c,
    r_f,
    r_p,
    restarts_fail,
    s_cor,
    s_pl,
    s_run,
    sigma_r,
    t_det,
    t_el,
    t_in,
    t_ld,
    t_mld,
    t_pl,
    t_warm,
    x_f,
)

RATES = Source("kokolis2025", "failure model")
LLAMA = Source("grattafiori2024", "section 3.3.4")
DALY = Source("daly2006")
ROBUST = Source("wan2025", "tables 3 and 7")
OWN = Source("own", "two clocks: failures per wall time and per running time")

nodes = Formula(
    N_nd,
    ceiling(n_fleet / n_node),
    title="Nodes of a job",
    source=RATES,
    example=Example({n_fleet: 16384, n_node: 8}, "2048", derived="16384 / 8"),
)

published_rate = Formula(
    lam_w,
    N_nd * r_f * when(N_0 > 0, Max(1, N_nd / Max(1, N_0)) ** x_f, 1),
    title="Failures of a job in the time that its rate counts",
    source=RATES,
    assumes="Nodes fail independently, at a rate that does not change with age. It grows with the size of a job only "
    "beyond the size at which it was measured: on 98,304 accelerators by a power of about 0.95 from 32,768 on.",
    example=Example(
        {N_nd: 2048, r_f: 0.00379, N_0: 0, x_f: 0},
        "7.7619 1/day",
        derived="2048 * 0.00379",
    ),
)

mean_time_to_failure = Formula(
    M_f,
    when(
        lam_w > 0,
        when(Eq(clock, label(clock, "wall")), Max(0, 1 / lam_w - when(restarts_fail, 0, R_f)), 1 / lam_w),
        oo,
    ),
    title="Mean running time to a failure",
    source=OWN,
    assumes="A rate per wall time counts the time of recoveries, in which nothing fails unless restarts may.",
    example=Example(
        {lam_w: 7.7593, clock: "wall", restarts_fail: 0, R_f: 600}, "2.9264 hour", derived="24 / 7.7593 - 600 / 3600"
    ),
)

failure_rate = Formula(
    lam,
    1 / M_f,
    title="Failures of a job per running time",
    source=RATES,
    example=Example({M_f: 2.9264}, "8.2012 1/day", derived="24 / 2.9264"),
)

interruptions = Formula(
    T_cyc,
    M_f + when(restarts_fail, 0, R_f),
    title="Wall time between interruptions",
    source=OWN,
    assumes="What publications print; interrupted recoveries count where they may fail.",
    example=Example({M_f: 2.9264, restarts_fail: 0, R_f: 600}, "3.0931 hour", derived="2.9264 + 600 / 3600"),
)

planned = Formula(
    s_pl,
    Min(1, r_p * R_pl),
    title="Share of the time in planned stops",
    source=LLAMA,
    example=Example({r_p: 0.87, R_pl: 224.5}, "0.0022606", derived="0.87 * 224.5 / 86400"),
)

corruption = Formula(
    s_cor,
    Min(1, N_nd * r_c * (T_c + R_f)),
    title="Share of the time that silent corruptions cost",
    source=LLAMA,
    assumes="Work is done again from the last save before the corruption, and not from the last one: it reaches over "
    "many saves. Llama 3 had 6 in 54 days.",
    example=Example(
        {N_nd: 2048, r_c: 5.425e-5, T_c: 10, R_f: 600}, "0.047065", derived="2048 * 5.425e-5 * (10 / 24 + 600 / 86400)"
    ),
)

running = Formula(
    s_run,
    when(restarts_fail, exp(-R_f / M_f), 1 / (1 + R_f / M_f)),
    title="Share of the time in which a job runs",
    source=DALY,
    variant="periodic",
    assumes="A recovery that fails begins anew.",
    example=Example({restarts_fail: 0, R_f: 600, M_f: 3.093}, "0.94887", derived="1 / (1 + 600 / (3.093 * 3600))"),
)

#: Of the failures that a restart cures none waits for another node.
_STARTED = t_det + (1 - sigma_r) * t_pl + t_in + t_warm

recovery = Formula(
    R_f,
    _STARTED + t_ld,
    title="Time to recover",
    source=ROBUST,
    variant="storage",
    assumes="Placement is paid by failures that take a node. Work that is done again is not in it.",
    example=Example(
        {t_det: 600, sigma_r: 0, t_pl: 65, t_in: 30, t_ld: 129.5, t_warm: 0},
        "824.5 s",
        derived="600 + 65 + 30 + 129.5",
    ),
)

memory_recovery = Formula(
    R_m,
    _STARTED + t_mld,
    title="Time to recover from a copy in memory",
    source=ROBUST,
    example=Example(
        {t_det: 600, sigma_r: 0.5, t_pl: 65, t_in: 30, t_mld: 2, t_warm: 0}, "664.5 s", derived="600 + 65 / 2 + 30 + 2"
    ),
)

mixed_recovery = Formula(
    R_f,
    _STARTED + phi_s * t_mld + (1 - phi_s) * t_ld,
    title="Time to recover from memory or storage, on average",
    source=ROBUST,
    variant="two_level",
    assumes="A mean over causes, by their rates.",
    example=Example(
        {t_det: 600, sigma_r: 0.5, t_pl: 65, t_in: 30, t_warm: 0, phi_s: 0.75, t_mld: 2, t_ld: 129.5},
        "696.375 s",
        derived="600 + 65 / 2 + 30 + 0.75 * 2 + 0.25 * 129.5",
    ),
)

elastic_recovery = Formula(
    R_f,
    t_el,
    title="Time in which all replicas wait after a failure",
    source=Source("salpekar2026"),
    variant="elastic",
    example=Example({t_el: 180}, "180 s", Source("salpekar2026", "abstract: 3 minutes")),
)

planned_stop = Formula(
    R_pl,
    t_pl + t_in + t_ld + t_warm,
    title="Length of a planned stop",
    source=ROBUST,
    variant="storage",
    assumes="A stop that is planned saves first and is not waited for.",
    example=Example({t_pl: 65, t_in: 30, t_ld: 129.5, t_warm: 0}, "224.5 s", derived="65 + 30 + 129.5"),
)

elastic_planned_stop = Formula(
    R_pl,
    t_el,
    title="Length of a planned stop where replicas leave one by one",
    source=Source("salpekar2026"),
    variant="elastic",
    example=Example({t_el: 180}, "180 s", Source("salpekar2026", "abstract: 3 minutes")),
)

RUN = (nodes, published_rate, mean_time_to_failure, failure_rate, interruptions, planned, corruption)
PERIODIC = (*RUN, running, recovery, planned_stop)
TWO_LEVEL = (*RUN, running, memory_recovery, mixed_recovery, planned_stop)
ELASTIC = (*RUN, elastic_recovery, elastic_planned_stop)
FORMULAS = tuple(dict.fromkeys((*PERIODIC, *TWO_LEVEL, *ELASTIC)))
