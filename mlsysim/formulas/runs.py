"""Days and dollars of a run

Wall time of a run from its time without failures: its mean, its spread, and its cost. The spread comes from the timing
of failures, from a failure rate estimated from few of them, and from the step time.
"""

from __future__ import annotations

from typing import Any

from sympy import And, Eq, Or, Piecewise, Rational, exp, oo, sqrt

from mlsysim.formulas.economics import POWER, RENT
from mlsysim.formulas.run_saves import kept_of
from mlsysim.symbolic import Example, Formula, Max, Min, NormalQuantile, Source, label, when
from mlsysim.symbols.costs import T_run, n_acc, rate, u_busy
from mlsysim.symbols.hardware import n_fleet, n_node
from mlsysim.symbols.runs import (
    C_90,
    W_90,
    A_el,
    A_s,
    A_up,
    C_fail,
    C_m,
    C_run,
    C_s,
    D_s,
    M_f,
    M_sto,
    R_f,
    R_m,
    R_sto,
    S_sp,
    T_cyc,
    T_m,
    T_s,
    W_run,
    a_mem,
    c_dev,
    clock,
    d_ab,
    d_dn,
    d_re,
    d_rec,
    d_st,
    d_work,
    eps_f,
    ettr,
    f_shr,
    g_mem,
    gput,
    k_obs,
    k_shr,
    lam,
    n_el,
    n_f,
    phi_s,
    restarts_fail,
    s_ab,
    s_C,
    s_cor,
    s_fail,
    s_pl,
    s_R,
    s_re,
    s_rec,
    s_run,
    s_st,
    s_W,
    s_wait,
    sig_step,
    t_aw,
    t_el,
    t_ld,
    t_mld,
    v_mem,
    v_sto,
    x_cp,
    x_seg,
    x_wall,
    y_s,
)
from mlsysim.symbols.step import T_mean, T_step, T_train
from mlsysim.symbols.training import Z, d, r_dp

ETTR = Source("kokolis2025", "effective training time ratio")
ELASTIC = Source("salpekar2026")
RENEWAL = Source("own", "renewal of failures, simulated event by event")
DALY = Source("daly2006")
JCGM = Source("jcgm2008", "section 5")
EIGHTY = NormalQuantile(Rational(9, 10))

elastic_replicas = Formula(
    n_el,
    when(Z >= 1, r_dp, d),
    title="Replicas that go on alone",
    source=ELASTIC,
    assumes="Those whose state no rank of another one shards.",
    no_example="one of two inputs",
)

shrunk = Formula(
    f_shr,
    Max(0, 1 - k_shr / n_el),
    title="Throughput of a job that shrank",
    source=ELASTIC,
    assumes="Work is spread anew over the replicas that are left.",
    example=Example({k_shr: 2, n_el: 48}, "0.95833", derived="(48 - 2) / 48"),
)

#: Stalls by the other replicas, and what is away, over the running time to a failure.
_others = t_el * (1 - 1 / n_el) / M_f
_linear = 1 + t_aw / (n_el * M_f) - _others
_root = sqrt(_linear**2 + 4 * _others)

capacity = Formula(
    A_el,
    when(M_f > 0, Max(0, Min(1, 2 / (_linear + _root))), 0),
    title="Replicas that work",
    source=RENEWAL,
    variant="elastic",
    assumes="One replica leaves at a failure and the rest goes on after a stall, all of which stall again when another "
    "one fails; one that is away does not fail. Exact to 0.01% of events.",
    example=Example(
        {t_aw: 900, n_el: 48, M_f: 0.25, t_el: 180}, "0.98283",
        derived="2 / (1 + 1/48 - 0.2*47/48 + ((1 + 1/48 - 0.2*47/48)**2 + 0.8*47/48) ** 0.5)",
    ),
)  # fmt: skip

elastic_useful = Formula(
    ettr,
    A_el / (1 + A_el * t_el / M_f),
    title="Useful share of the time in which replicas leave and come back",
    source=RENEWAL,
    variant="elastic",
    assumes="Saves, which only the loss of all replicas needs, are not counted.",
    example=Example({A_el: 0.98295, t_el: 180, M_f: 0.25}, "0.82146", derived="0.98295 / (1 + 0.98295 * 180 / 900)"),
)

elastic_recovering = Formula(
    s_rec,
    A_el * t_el / (M_f + A_el * t_el),
    title="Share of it in stalls of failures",
    source=RENEWAL,
    variant="elastic",
    example=Example({A_el: 0.98295, t_el: 180, M_f: 0.25}, "0.16429", derived="1 - 1 / (1 + 0.98295 * 180 / 900)"),
)

absent = Formula(
    s_ab,
    (1 - A_el) / (1 + A_el * t_el / M_f),
    title="Share of the capacity that is away",
    source=RENEWAL,
    example=Example({A_el: 0.98295, t_el: 180, M_f: 0.25}, "0.014249", derived="(1 - 0.98295) / (1 + 0.98295 * 0.2)"),
)

up = Formula(
    A_up,
    A_s * (1 - s_wait) * (1 - s_pl) * (1 - s_cor),
    title="Share of the time in which a job has its nodes",
    source=ETTR,
    variant="with_spares",
    example=Example({A_s: 1, s_wait: 0.005, s_pl: 0.00226, s_cor: 0}, "0.99275", derived="(1 - 0.005) * (1 - 0.00226)"),
)

elastic_up = Formula(
    A_up,
    A_s * (1 - s_pl) * (1 - s_cor) * f_shr,
    title="Share of the capacity that a job has",
    source=ELASTIC,
    variant="elastic",
    assumes="No replica is waited for.",
    example=Example({A_s: 1, s_pl: 0.00226, s_cor: 0, f_shr: 0.95833}, "0.95616", derived="(1 - 0.00226) * 0.95833"),
)

goodput = Formula(
    gput,
    A_up * ettr,
    title="Goodput of a run",
    source=ETTR,
    assumes="Per allocation: queueing before the first start and the use of the arithmetic are not in it.",
    example=Example({A_up: 0.99275, ettr: 0.85375}, "0.84756", derived="0.99275 * 0.85375"),
)

wall_time = Formula(
    W_run,
    when(gput > 0, T_train / gput, oo),
    title="Wall time of a run",
    source=ETTR,
    assumes="It ends with the last step.",
    example=Example({T_train: 48.6, gput: 0.85375}, "56.925 day", derived="48.6 / 0.85375"),
)

failures = Formula(
    n_f,
    when(lam > 0, W_run * A_up / T_cyc, 0),
    title="Failures of a run",
    source=ETTR,
    variant="periodic",
    example=Example({lam: 7.76, W_run: 54, A_up: 1, T_cyc: 3.0931}, "419.0", derived="54 * 24 / 3.0931"),
)

elastic_failures = Formula(
    n_f,
    when(lam > 0, W_run * A_up * ettr / M_f, 0),
    title="Failures of a run whose replicas leave one by one",
    source=RENEWAL,
    variant="elastic",
    assumes="A replica that is away does not fail.",
    example=Example(
        {lam: 96, W_run: 54, A_up: 1, ettr: 0.82147, M_f: 0.25}, "4258.5", derived="54 * 24 * 0.82147 / 0.25"
    ),
)

_cycle = M_f / s_run
_redone = exp(R_f / M_f)
#: Square of the deviation of a recovery, which failures may begin anew.
_recovery = s_R**2 + when(restarts_fail, Max(0, M_f**2 * (_redone**2 - 1 - 2 * R_f / M_f * _redone)), 0)
#: Below so few failures in a segment series are exact to 1e-9, where differences of exponentials are not.
_SOME = Rational(1, 100)


def _spread(mean: Any, load: Any, recovery: Any) -> Any:
    """Variance of a segment's wall time given its failures, from load and recovery (Daly's law)."""
    u, work = exp(load), 1 + load / 2 + load**2 / 6 + load**3 / 24
    square = load**2 / 3 * (1 + load + 11 * load**2 / 20 + 13 * load**3 / 60) / work
    mixed = u * load / 2 * (1 + load / 3 + load**2 / 12 + load**3 / 60) / work
    begun = load / (1 - exp(-load))
    few = mean**2 * square + 2 * recovery * mean * mixed
    many = mean**2 * Max(0, u + 1 - 2 * begun) + 2 * recovery * mean * Max(0, u - begun)
    return when(load < _SOME, few, many) + recovery**2 * u


_late = exp(D_s / M_f) - 1

cost_deviation = Formula(
    c_dev,
    Piecewise(
        (0, lam <= 0),
        (
            sqrt(
                _recovery
                + _spread(M_f, x_seg, _cycle - M_f)
                + when(D_s > 0, _cycle * Max(0, _cycle * (exp(x_seg) + 1) * _late - 2 * D_s), 0)
            ),
            M_f > 0,
        ),
        (oo, True),
    ),
    title="Deviation of the wall time of a failure",
    source=RENEWAL,
    variant="periodic",
    assumes="Exact for runs of many failures; without a latency that of Daly's segments.",
    convention="Below 0.01 failures in an interval a series, which has nine digits there.",
    example=Example(
        {lam: 7.7593, s_R: 0, restarts_fail: 0, R_f: 600, M_f: 3.093, D_s: 0, x_seg: 0.10564, s_run: 0.94887},
        "1287 s",
        derived="(11134.8**2 * (exp(0.10564) + 1 - 2*0.10564/(1 - exp(-0.10564)))"
        " + 2*600*11134.8*(exp(0.10564) - 0.10564/(1 - exp(-0.10564))) + 600**2*exp(0.10564)) ** 0.5",
    ),
)  # fmt: skip


storage_recovery = Formula(
    R_sto,
    Max(0, R_m - t_mld) + t_ld,
    title="Time to recover from storage",
    source=Source("wan2025", "tables 3 and 7"),
    example=Example({R_m: 664.5, t_mld: 2, t_ld: 129.5}, "792 s", derived="664.5 - 2 + 129.5"),
)

storage_failures = Formula(
    M_sto,
    when(phi_s < 1, (M_f + phi_s * R_m) / (1 - phi_s), oo),
    title="Wall time to a failure that storage restores, in which a job works or is restored from memory",
    source=RENEWAL,
    example=Example(
        {phi_s: 0.75, M_f: 3.093, R_m: 664.5}, "12.926 hour", derived="(3.093 + 0.75 * 664.5 / 3600) / 0.25"
    ),
)

copy_load = Formula(
    x_cp,
    Piecewise((0, lam <= 0), (phi_s * (T_m + C_m) / M_f, M_f > 0), (oo, True)),
    title="Failures that memory restores, in the running time of a copy in memory",
    source=DALY,
    example=Example(
        {lam: 7.7593, phi_s: 0.75, T_m: 135.68, C_m: 0.62, M_f: 3.093}, "0.0091807", derived="0.75 * 136.3 / 11134.8"
    ),
)

copy_wall_time = Formula(
    a_mem,
    Piecewise(
        (T_m + C_m, lam <= 0),
        (oo, M_f <= 0),
        (x_cp / kept_of(x_cp) * (M_f / phi_s + R_m) * (1 + C_s * T_m / (T_s * (T_m + C_m))), phi_s > 0),
        (0, True),
    ),
    title="Wall time of a copy in memory",
    source=DALY,
    example=Example(
        {lam: 7.7593, phi_s: 0.75, x_cp: 0.0091807, R_m: 664.5, T_m: 135.68, C_m: 0.62, T_s: 2311.86, C_s: 60,
         M_f: 3.093},
        "146.8 s",
        derived="(exp(0.75*136.3/11134.8) - 1) * (11134.8/0.75 + 664.5) * (1 + 60*135.68/(2311.86*136.3))",
    ),
)  # fmt: skip


def _variance(mean: Any, load: Any, recovery: Any) -> Any:
    """Variance of a segment's wall time, from time to failure, number of failures and recovery."""
    return (exp(load) - 1) * (_spread(mean, load, recovery) + s_R**2)


copy_deviation = Formula(
    v_mem,
    Piecewise((0, Or(lam <= 0, phi_s <= 0)), (sqrt(_variance(M_f / phi_s, x_cp, R_m)), M_f > 0), (oo, True)),
    title="Deviation of the wall time of a copy in memory",
    source=RENEWAL,
    assumes="The square of it is that of a segment by Daly's law.",
    example=Example(
        {lam: 7.7593, s_R: 0, phi_s: 0.75, x_cp: 0.0091807, R_m: 664.5, M_f: 3.093}, "70.78 s",
        derived="(14846.4**2 * (exp(2*0.00918067) - 1 - 2*0.00918067*exp(0.00918067))"
        " + 2*664.5*14846.4*exp(0.00918067)*(exp(0.00918067) - 1.00918067)"
        " + 664.5**2*exp(0.00918067)*(exp(0.00918067) - 1)) ** 0.5",
    ),
)  # fmt: skip

wall_load = Formula(
    x_wall,
    Piecewise(
        (0, Or(lam <= 0, phi_s >= 1)),
        (oo, M_f <= 0),
        (T_s * y_s / M_f, phi_s <= 0),
        ((1 - phi_s) * a_mem * T_s / (T_m * (M_f + phi_s * R_m)), True),
    ),
    title="Failures that storage restores in the wall time of an interval",
    source=RENEWAL,
    example=Example(
        {lam: 7.7593, phi_s: 0.75, a_mem: 146.6, T_m: 135.68, T_s: 2311.86, y_s: 1.03052, M_f: 3.093, R_m: 664.5},
        "0.053681",
        derived="0.25 * 146.6 * 2311.86 / (135.68 * (11134.8 + 0.75 * 664.5))",
    ),
)

interval_deviation = Formula(
    v_sto,
    Piecewise(
        (0, Or(lam <= 0, phi_s >= 1)),
        (sqrt(_variance(M_sto, x_wall, R_sto)), M_f > 0),
        (oo, True),
    ),
    title="Deviation of the wall time between saves to storage",
    source=RENEWAL,
    assumes="By failures that storage restores; the square of it is that of a segment by Daly's law.",
    example=Example(
        {lam: 7.7593, x_wall: 0.053681, phi_s: 0.75, M_f: 3.093, M_sto: 12.92575, R_sto: 792, s_R: 0}, "518.1 s",
        derived="(46532.7**2 * (exp(2*0.053681) - 1 - 2*0.053681*exp(0.053681))"
        " + 2*792*46532.7*exp(0.053681)*(exp(0.053681) - 1.053681)"
        " + 792**2*exp(0.053681)*(exp(0.053681) - 1)) ** 0.5",
    ),
)  # fmt: skip

two_chance = Formula(
    s_fail,
    Piecewise(
        (0, lam <= 0),
        (sqrt(T_train * (v_sto**2 / T_s + v_mem**2 / (T_m * kept_of(x_wall)))), M_f > 0),
        (oo, True),
    ),
    title="Deviation of the wall time by when failures come, with saves at two levels",
    source=RENEWAL,
    variant="two_level",
    assumes="A segment of copies in memory within one of saves to storage, within 1.3% of events; nodes are there.",
    example=Example(
        {
            lam: 7.7593,
            T_train: 48.6,
            T_s: 2311.86,
            T_m: 135.68,
            v_sto: 518.1,
            v_mem: 70.78,
            x_wall: 0.053681,
            M_f: 3.093,
        },
        "0.2944 day",
        derived="(48.6 * 86400 * (518.1**2 / 2311.86 + 70.78**2 / 135.68 * (exp(0.053681) - 1) / 0.053681)) ** 0.5"
        " / 86400",
    ),
)

chance = Formula(
    s_fail,
    Piecewise((0, lam <= 0), (sqrt(W_run * A_up * s_run / M_f) * c_dev, M_f > 0), (oo, True)),
    title="Deviation of the wall time by when failures come",
    source=RENEWAL,
    variant="periodic",
    example=Example(
        {lam: 7.7593, W_run: 56.925, A_up: 1, s_run: 0.94887, M_f: 3.093, c_dev: 1288}, "0.3052 day",
        derived="(56.925 * 24 * 0.94887 / 3.093) ** 0.5 * 1288 / 86400",
    ),
)  # fmt: skip

elastic_chance = Formula(
    s_fail,
    Piecewise((0, n_f <= 0), (sqrt((eps_f * W_run) ** 2 / n_f + n_f * s_R**2), gput > 0), (oo, True)),
    title="Deviation of the wall time by when replicas fail",
    source=RENEWAL,
    variant="elastic",
    assumes="Failures in a given useful work are Poisson's.",
    example=Example(
        {eps_f: 0.176, W_run: 54, n_f: 4258.5, s_R: 0, gput: 0.82}, "0.14564 day", derived="0.176 * 54 / 4258.5 ** 0.5"
    ),
)

_lost = when(restarts_fail, R_f / M_f, 1 - s_run)


def _excess(load: Any) -> Any:
    """Relative sensitivity of the preserved share to the failures in an interval."""
    return load + kept_of(load) - 1


elasticity = Formula(
    eps_f,
    Piecewise((0, lam <= 0), (_excess(x_seg) + D_s / M_f + _lost, M_f > 0), (oo, True)),
    title="Change of the wall time by that of the failure rate",
    source=RENEWAL,
    variant="periodic",
    assumes="Intervals stay as they are; waiting for nodes is not in it.",
    example=Example(
        {lam: 7.7593, restarts_fail: 0, R_f: 600, M_f: 3.093, x_seg: 0.10564, D_s: 0,
         s_run: 0.94887},
        "0.1049",
        derived="0.10564 * (1 + 8.97492) - 1 + 1 - 0.94887",
    ),
)  # fmt: skip


def _rise(load: Any) -> Any:
    """Sensitivity of the failures in a running time, with repeated work, to failures per interval."""
    return load / (1 - phi_s + phi_s * exp(-load))


#: Change of what is lost in a copy by the failures, both relative.
_by_memory = when(phi_s > 0, (_rise((T_m + C_m) / M_f) + _rise(C_s / M_f) * T_m / T_s) / g_mem, 1)

two_elasticity = Formula(
    eps_f,
    Piecewise(
        (0, lam <= 0),
        (_by_memory * (1 + _excess(x_seg)) - 1 + (1 - phi_s) * D_s / M_f + _lost, M_f > 0),
        (oo, True),
    ),
    title="Change of the wall time by that of the failure rate, with saves at two levels",
    source=RENEWAL,
    variant="two_level",
    assumes="Intervals stay as they are; waiting for nodes is not in it.",
    example=Example(
        {lam: 7.7593, restarts_fail: 0, R_f: 696.4, M_f: 3.093, phi_s: 0.75, D_s: 0, T_s: 2311.86, T_m: 135.68,
         C_m: 0.62, C_s: 60, g_mem: 0.012615, x_seg: 0.053737, s_run: 0.94114},
        "0.0905",
        derived="(0.0122409*exp(0.0122409) / (1 + 0.25*(exp(0.0122409) - 1))"
        " + 0.00538851*exp(0.00538851) / (1 + 0.25*(exp(0.00538851) - 1)) * 135.68/2311.86) / 0.012615"
        " * (0.053737 + 0.053737 / (exp(0.053737) - 1)) - 1 + 0.05886",
    ),
)  # fmt: skip

elastic_elasticity = Formula(
    eps_f,
    Piecewise(
        (0, lam <= 0),
        (ettr * (t_el / M_f + ((_linear - 1) / A_el + _others) / (2 / A_el - _linear)), M_f > 0),
        (oo, True),
    ),
    title="Change of the wall time by that of the failure rate, where replicas leave one by one",
    source=RENEWAL,
    variant="elastic",
    example=Example(
        {lam: 96, t_el: 180, M_f: 0.25, ettr: 0.82139, t_aw: 900, n_el: 48, A_el: 0.98284},
        "0.1763",
        derived="0.82139 * (0.2 + ((1/48 - 0.2*47/48)/0.98284 + 0.2*47/48) / (2/0.98284 - 1 - 1/48 + 0.2*47/48))",
    ),
)


def _days(symbol: Any, share: Any, of: str, variant: str = "") -> Formula:
    return Formula(
        symbol,
        W_run * A_up * share,
        title=f"Days of a run {of}",
        source=ETTR,
        variant=variant,
        example=Example({W_run: 56.925, A_up: 1, share: 0.05}, "2.84625 day", derived="56.925 * 0.05"),
    )


stall_days = _days(d_st, s_st, "in stalls of saves")
rework_days = _days(d_re, s_re, "in work that is done again")
absent_days = _days(d_ab, s_ab, "that replicas which are away cost")

#: Change of the failures per running time by those per wall time, both relative.
_clocks = when(Eq(clock, label(clock, "wall")), T_cyc / M_f, 1)

deviation = Formula(
    s_W,
    sqrt(
        s_fail**2
        + when(And(lam > 0, k_obs > 0), (_clocks * eps_f * W_run) ** 2 / Max(1, k_obs), 0)
        + (sig_step * W_run) ** 2
    ),
    title="Deviation of the wall time",
    source=JCGM,
    assumes="A rate counted from k failures is off by one over the root of k; the step, failures and rate are off "
    "independently.",
    example=Example(
        {
            lam: 7.7593,
            s_fail: 0.3052,
            k_obs: 419,
            clock: "running",
            T_cyc: 3.26,
            M_f: 3.093,
            eps_f: 0.1049,
            W_run: 56.925,
            sig_step: 0,
        },
        "0.4222 day",
        derived="(0.3052**2 + (0.1049 * 56.925)**2 / 419) ** 0.5",
    ),
)

p90 = Formula(
    W_90,
    W_run + EIGHTY * s_W,
    title="Wall time that nine runs of ten keep",
    source=JCGM,
    assumes="Normal, as sums of many failures are; 4% high where the time to recover has a mean ten times its median.",
    example=Example({W_run: 56.925, s_W: 0.3052}, "57.316 day", derived="56.925 + 1.2815516 * 0.3052"),
)


work_days = _days(d_work, ettr, "in work that is kept")
recovery_days = _days(d_rec, s_rec, "in recoveries")

down_days = Formula(
    d_dn,
    W_run * (1 - A_up),
    title="Days of a run without nodes",
    source=ETTR,
    example=Example({W_run: 57, A_up: 0.99275}, "0.41325 day", derived="57 * (1 - 0.99275)"),
)

paid_accelerators = Formula(
    n_acc,
    n_fleet + S_sp * n_node,
    title="Accelerators of a run and of its spares",
    source=RENT,
    variant="run",
    example=Example({n_fleet: 16384, S_sp: 12, n_node: 8}, "16480", derived="16384 + 12 * 8"),
)

cost = Formula(
    C_run,
    n_acc * rate * W_run,
    title="Rent of a run",
    source=RENT,
    variant="rent",
    example=Example({n_acc: 16384, rate: 2, W_run: 56.925}, "44767642 USD", derived="16384 * 2 * 56.925 * 24"),
)

run_cost_deviation = Formula(
    s_C,
    when(gput > 0, C_run * s_W / W_run, oo),
    title="Deviation of the cost of a run that fails",
    source=RENT,
    assumes="In proportion to its wall time.",
    example=Example(
        {gput: 0.85375, C_run: 44768026, s_W: 0.3052, W_run: 56.925}, "240021 USD", derived="44768026 * 0.3052 / 56.925"
    ),
)

run_cost_p90 = Formula(
    C_90,
    when(gput > 0, C_run * W_90 / W_run, oo),
    title="Cost that nine runs of ten keep",
    source=RENT,
    assumes="In proportion to its wall time, as rent, shares of a purchase and energy are.",
    example=Example(
        {gput: 0.85375, C_run: 44768026, W_90: 57.316, W_run: 56.925},
        "45075524 USD",
        derived="44768026 * 57.316 / 56.925",
    ),
)

cost_of_failures = Formula(
    C_fail,
    C_run * (1 - gput),
    title="Rent of what is not useful work",
    source=RENT,
    example=Example({C_run: 44768026, gput: 0.85375}, "6547324 USD", derived="44768026 * (1 - 0.85375)"),
)

run_duration = Formula(
    T_run,
    W_run,
    title="Duration of a run that fails",
    source=ETTR,
    variant="run",
    example=Example({W_run: 56.925}, "56.925 day", derived="56.925"),
)

_working = when(T_mean > 0, Min(1, T_mean / T_step), 0)

run_load = Formula(
    u_busy,
    _working * A_up * Min(1, ettr + s_re),
    title="Busy share of a run that fails",
    source=POWER,
    variant="run",
    assumes="Work that is done again draws as much as other work; stalls and recoveries as little as idling.",
    example=Example(
        {T_mean: 6000, T_step: 8, A_up: 1, ettr: 0.85375, s_re: 0.049237},
        "0.67724",
        derived="0.75 * (0.85375 + 0.049237)",
    ),
)

elastic_load = Formula(
    u_busy,
    _working * A_up * ettr,
    title="Busy share of a run whose replicas leave one by one",
    source=POWER,
    variant="elastic",
    example=Example({T_mean: 6000, T_step: 8, A_up: 1, ettr: 0.82147}, "0.61610", derived="0.75 * 0.82147"),
)

_GOODPUT = (goodput, wall_time)
_DAYS = (
    deviation,
    p90,
    work_days,
    recovery_days,
    down_days,
    paid_accelerators,
    cost,
    run_cost_deviation,
    run_cost_p90,
    cost_of_failures,
)
PERIODIC = (up, *_GOODPUT, failures, cost_deviation, chance, elasticity, stall_days, rework_days, *_DAYS)
TWO_LEVEL = (
    up,
    *_GOODPUT,
    failures,
    storage_recovery,
    storage_failures,
    copy_load,
    copy_wall_time,
    copy_deviation,
    wall_load,
    interval_deviation,
    two_chance,
    two_elasticity,
    stall_days,
    rework_days,
    *_DAYS,
)
ELASTIC_REPLICAS = (
    shrunk,
    capacity,
    elastic_useful,
    elastic_recovering,
    absent,
    elastic_up,
    *_GOODPUT,
    elastic_failures,
    elastic_chance,
    elastic_elasticity,
    absent_days,
    *_DAYS,
)
TRAINING = (run_duration, run_load)
ELASTIC_TRAINING = (elastic_replicas, run_duration, elastic_load)
FORMULAS = tuple(
    dict.fromkeys((elastic_replicas, *ELASTIC_REPLICAS, *PERIODIC, *TWO_LEVEL, run_duration, run_load, elastic_load))
)
