"""Waits of prompts

A prompt waits for the current decode step, for the prompts ahead of it, and for a slot. Waits are zero with some
probability, and otherwise have exponential tails.
"""

from __future__ import annotations

from typing import Any

from sympy import And, Rational, exp, log, sqrt

from mlsysim.formulas.iteration import PASSED
from mlsysim.formulas.replica_layout import COLOCATED, DISAGGREGATED
from mlsysim.formulas.serving_engines import DISTSERVE, LITTLE, NEARLY, OPEN, ORCA, QUEUED, STEADY, WHOLE, pool_rate
from mlsysim.formulas.varied_lengths import BOTH_THERE, OWN
from mlsysim.symbolic import (
    ErlangC,
    Example,
    Formula,
    Max,
    Min,
    Root,
    SlotsBusy,
    Source,
    evaluated_at,
    request,
    when,
)
from mlsysim.symbols.chunked import cv_in, cv_out, mu_sl
from mlsysim.symbols.deployment import (
    D_1,
    W_P,
    X_B,
    B_e,
    D_each,
    D_w,
    N_e,
    P_f,
    P_late,
    P_s,
    P_w,
    W_w,
    Z_all,
    Z_b,
    c_a,
    k_s,
    lam_e,
    mu_e,
    n_slots,
    n_taken,
    p_v,
    rho_D,
    rho_e,
    rho_s,
    scv_s,
    t_x,
    tau_N,
    tau_v,
    theta_P,
    theta_s,
    theta_w,
    x_first,
    x_late,
    x_p,
    y_d,
    y_w,
)
from mlsysim.symbols.varied_lengths import cv_D, k_D

_queue = And(OPEN, rho_D > 0, rho_D < 1)
#: Share of the time that decode steps stand still.
STOPPED = Min(rho_D, NEARLY)

wait_decay = Formula(
    y_w,
    when(_queue, Root(y_w, rho_D * (exp(y_w) - 1) - y_w, 0, -log(rho_D), -2 * log(rho_D)), 1),
    title="Decay of the wait for prompts ahead",
    source=Source("kleinrock1975", "section 2.5"),
    assumes="Prompts are alike, arrivals Poisson's. The tail of the wait in a queue of fixed services falls by a "
    "factor e in the time of one of them over this number.",
    example=Example({rho_D: 0.5, Z_all: 0}, "1.2564", derived="1.2564312"),
)

#: What varied prompts add to the mean square of a wait over twice its mean, in prefills.
_longer = when(
    cv_D > 0,
    STOPPED * cv_D**2 / (2 * (1 - STOPPED)) + ((1 + 3 * cv_D**2 + k_D) / (1 + cv_D**2) - 1) / 3,
    0,
)
_LONGER = "The tail is exponential. Where prompts vary it is longer by what their moments add to those of the wait."

poisson_wait_scale = Formula(
    theta_P,
    D_each / y_w + D_each * _longer,
    title="Time over which the wait for prompts ahead would decay, were arrivals Poisson's",
    source=Source("kleinrock1975", "section 5.6"),
    variant=COLOCATED,
    assumes=_LONGER,
    example=Example(
        {D_each: 100, y_w: 1.25, rho_D: 0.5, cv_D: 1, k_D: 2}, "196.67 ms", derived="80 + 50 + 100 * (6 / 2 - 1) / 3"
    ),
)

pool_poisson_wait_scale = Formula(
    theta_P,
    D_each / (x_p * y_w) + D_each / x_p * _longer,
    title="Time over which the wait for an engine that prefills would decay, were arrivals Poisson's",
    source=Source("cosmetatos1975"),
    variant=DISAGGREGATED,
    assumes=f"{_LONGER} Several engines are one that is as fast as all.",
    example=Example({D_each: 100, x_p: 2, y_w: 1.25, rho_D: 0.5, cv_D: 0, k_D: 0}, "40 ms", derived="100 / 2.5"),
)

_BURSTS = (
    "The decay of a queue of fixed services, whose gaps between arrivals follow a gamma law, differs by their squared "
    "variation, exactly."
)

wait_scale = Formula(
    theta_w,
    theta_P + (c_a - 1) * D_each / y_w,
    title="Time over which the wait for prompts ahead decays",
    source=Source("asmussen2003", "section XIII.5"),
    variant=COLOCATED,
    assumes=_BURSTS,
    example=Example({theta_P: 100, D_each: 100, y_w: 1.25, c_a: 4}, "340 ms", derived="100 + 3 * 80"),
)

pool_wait_scale = Formula(
    theta_w,
    theta_P + (c_a - 1) * D_each / (x_p * y_w),
    title="Time over which the wait for an engine that prefills decays",
    source=Source("asmussen2003", "section XIII.5"),
    variant=DISAGGREGATED,
    assumes=_BURSTS,
    example=Example({theta_P: 100, D_each: 100, y_w: 1.25, c_a: 4, x_p: 2}, "220 ms", derived="100 + 3 * 40"),
)

poisson_wait = Formula(
    W_P,
    when(_queue, rho_D * D_each * (1 + cv_D**2) / (2 * (1 - rho_D)), 0),
    title="Mean wait for the prompts ahead, were arrivals Poisson's",
    source=DISTSERVE,
    variant=COLOCATED,
    example=Example({Z_all: 0, rho_D: 0.5, D_each: 100, cv_D: 1}, "100 ms", derived="0.5 * 100 * 2 / (2 * 0.5)"),
)


def _several(servers: Any, load: Any) -> Any:
    """Extra wait for several servers over one that is as fast as all, for equal service times."""
    return (1 - load) * (servers - 1) * (sqrt(4 + 5 * servers) - 2) / (16 * load * servers)


_random_wait = ErlangC(x_p, x_p * rho_D) * D_each / (x_p * (1 - rho_D))
_alike_wait = ErlangC(x_p, x_p * rho_D) * D_each / (2 * x_p * (1 - rho_D)) * (1 + _several(x_p, rho_D))

pool_poisson_wait = Formula(
    W_P,
    when(_queue, _alike_wait + cv_D**2 * (_random_wait - _alike_wait), 0),
    title="Mean wait for an engine that prefills, were arrivals Poisson's",
    source=Source("cosmetatos1975"),
    variant=DISAGGREGATED,
    assumes="Between prefills that are alike and exponential ones by their squared coefficient of variation, and so "
    "beyond.",
    accuracy="Where prompts are alike within 1% of a simulation at all loads.",
    example=Example({Z_all: 0, x_p: 1, rho_D: 0.5, D_each: 100, cv_D: 2}, "250 ms", derived="50 + 4 * (100 - 50)"),
)

#: Probability of a wait with Poisson's arrivals, and the power of it that bursts leave.
_waiting = Max(Rational(1, 10**12), W_P / theta_P)
_evenness = (1 + cv_D**2) / (c_a + cv_D**2)
_bunched = _evenness ** (1 - STOPPED / 4)

prompt_wait = Formula(
    W_w,
    when(_queue, W_P * (theta_w / theta_P) * _waiting ** (_bunched - 1), 0),
    title="Mean wait for the prompts ahead",
    source=OWN,
    variant=WHOLE,
    assumes="Who waits, waits as long as the tail says. The probability of a wait is a power of that with Poisson's "
    "arrivals; the power is fitted, from one over the squared variation at light load on.",
    accuracy="Of one engine with equal prompts and gamma gaps, loads of 0.1 to 0.9: within 2% for squared variations "
    "of 2 to 10, within 16% for 0.25 where the wait is a twentieth of a prefill or more.",
    example=Example(
        {Z_all: 0, rho_D: 0.5, W_P: 50, theta_P: 79.6, theta_w: 318.4, c_a: 4, cv_D: 0},
        "277.3 ms",
        derived="318.4 * (50 / 79.6)**(0.25**0.875)",
    ),
)

wait_probability = Formula(
    P_w,
    Min(1, W_w / theta_w),
    title="Probability of that wait",
    source=Source("kleinrock1975", "section 2.5"),
    assumes="An exponential tail with the mean of the wait.",
    example=Example({W_w: 50, theta_w: 80}, "0.625", derived="50 / 80"),
)

step_wait = Formula(
    p_v,
    when(OPEN, 1 - exp(-N_e / request), 0),
    title="Probability that a prompt finds a decode step under way",
    source=ORCA,
    variant=COLOCATED,
    assumes="Requests that decode are taken to be there as Poisson's law has it.",
    example=Example({N_e: 2, Z_all: 0}, "0.86466", derived="1 - exp(-2)"),
)

pool_step_wait = Formula(
    p_v,
    Rational(0),
    title="Probability that a prompt finds a decode step under way, in a pool that prefills",
    source=DISTSERVE,
    variant=DISAGGREGATED,
    no_example="it is zero",
)

slots = Formula(
    n_slots,
    B_e / request,
    title="Slots that requests wait for",
    source=ORCA,
    variant=COLOCATED,
    example=Example({B_e: 16}, "16", derived="16"),
)

pool_slots = Formula(
    n_slots,
    y_d * B_e / request,
    title="Slots that requests wait for in a pool that decodes",
    source=DISTSERVE,
    variant=DISAGGREGATED,
    assumes="A request takes the first that is free, in whichever engine.",
    example=Example({B_e: 16, y_d: 2}, "32", derived="16 * 2"),
)

slot_capacity = Formula(
    mu_sl,
    mu_e,
    title="Requests per second that all slots of an engine complete",
    source=ORCA,
    variant=COLOCATED,
    example=Example({mu_e: 4}, "4 request/s", derived="4"),
)

pool_slot_capacity = Formula(
    mu_sl,
    when(B_e >= request, pool_rate(B_e, B_e), 0),
    title="Requests per second that all slots of a pool complete",
    source=DISTSERVE,
    variant=DISAGGREGATED,
    no_example=PASSED,
)

slot_load = Formula(
    rho_s,
    when(And(QUEUED, mu_sl > lam_e), lam_e / mu_sl, 0),
    title="Load of the slots",
    source=Source("gross2008", "section 2.3"),
    example=Example({Z_all: 0, rho_e: 0.75, lam_e: 3, mu_sl: 4}, "0.75", derived="3 / 4"),
)

slots_taken = Formula(
    n_taken,
    (N_e + lam_e * D_1) / request,
    title="Slots that are taken",
    source=LITTLE,
    variant=COLOCATED,
    assumes="A request holds a slot from its prefill on.",
    example=Example({N_e: 10, lam_e: 4, D_1: 100}, "10.4", derived="10 + 4 * 0.1"),
)

slot_growth = Formula(
    k_s,
    when(n_taken < n_slots * rho_s, (n_slots * rho_s - n_taken) / (n_slots - n_taken), 0),
    title="Growth of the time that a slot is held with the slots that are taken",
    source=Source("kleinrock1975", "section 3.2"),
    variant=COLOCATED,
    assumes="A straight line, through the mean by Little's law and through what all slots complete.",
    example=Example({n_slots: 100, rho_s: 0.9, n_taken: 50}, "0.8", derived="(90 - 50) / (100 - 50)"),
)

#: Requests in one's stay over those of Poisson's arrivals: the variance of their number over its mean.
_peaks = 1 + BOTH_THERE * (c_a - 1)
#: A birth-death chain of the slots that are taken, by requests in bunches; beyond the slots is a bunch of mean size.
_slowing = SlotsBusy(n_slots, n_slots * (rho_s - k_s), k_s, request / Z_b, sqrt(Z_b / request) / (1 - rho_s))
#: Where slots are held as long however many are taken.
_alike_slots = ErlangC(n_slots, n_slots * rho_s) ** (1 / _peaks)

slot_wait_probability = Formula(
    P_s,
    when(rho_s > 0, Min(_slowing, _alike_slots), 0),
    title="Probability that a request finds every slot taken",
    source=Source("kleinrock1975", "section 3.2"),
    variant=COLOCATED,
    assumes="A birth-death chain of the slots that are taken, widened for requests that start to decode together. "
    "Erlang's probability, of slots that are always as slow as where all are taken, is an upper bound.",
    example=Example(
        {n_slots: 2, rho_s: 0.6, k_s: 0.2, Z_b: 1, c_a: 1, cv_out: 0},
        "0.42857",
        derived="(0.8 + 0.2) * (0.8 + 0.4) / 2 / 0.4 / (1 + 1 + 1.5)",
    ),
)

pool_slot_wait_probability = Formula(
    P_s,
    when(rho_s > 0, _alike_slots, 0),
    title="Probability that a request finds every slot of a pool taken",
    source=Source("erlang1917"),
    variant=DISAGGREGATED,
    assumes="A slot is a server, as fast as where all are taken. With bursts it is a root, as large as the variance of "
    "the requests there over their mean.",
    example=Example(
        {n_slots: 2, rho_s: 0.6, c_a: 1, cv_out: 0},
        "0.4500",
        derived="1.2**2 / (2 - 1.2) / (1 + 1.2 + 1.2**2 / (2 - 1.2))",
    ),
)

#: Share of the time that prompts take where all slots are taken.
_prefilling = Min(1, D_each * mu_sl / request)

slot_time_variation = Formula(
    scv_s,
    (cv_out * (1 - _prefilling)) ** 2 + (cv_D * _prefilling) ** 2,
    title="Squared coefficient of variation of what a request takes of the slots",
    source=OWN,
    variant=COLOCATED,
    assumes="Its prefill, and its share of the decode steps in proportion to its answer.",
    example=Example({D_each: 100, mu_sl: 4, cv_out: 1, cv_D: 0.5}, "0.4", derived="(1 - 0.4)**2 + (0.5 * 0.4)**2"),
)

pool_slot_time_variation = Formula(
    scv_s,
    cv_out**2,
    title="Squared coefficient of variation of what a request takes of the slots of a pool",
    source=OWN,
    variant=DISAGGREGATED,
    example=Example({cv_out: 0.5}, "0.25", derived="0.5**2"),
)

prompt_slot_wait = Formula(
    P_f,
    P_s,
    title="Probability that a prompt waits for a slot",
    source=ORCA,
    variant=COLOCATED,
    example=Example({P_s: 0.1}, "0.1", derived="0.1"),
)

pool_prompt_slot_wait = Formula(
    P_f,
    Rational(0),
    title="Probability that a prompt waits for a slot, in a pool that prefills",
    source=DISTSERVE,
    variant=DISAGGREGATED,
    assumes="Slots are of the pool that decodes: a request waits for one after its first token.",
    no_example="it is zero",
)

#: Mean wait of many servers whose services are alike, over that where they are exponential.
_alike_share = (1 + Min(1, _several(n_slots, rho_s))) / 2

slot_wait_mean = Formula(
    theta_s,
    when(
        rho_s > 0,
        (_alike_share + scv_s * (1 - _alike_share)) * (c_a + scv_s) / (1 + scv_s) * request / (mu_sl - lam_e),
        0,
    ),
    title="Mean wait of a request that finds every slot taken",
    source=Source("cosmetatos1975"),
    variant="deployment",
    assumes="Exponential. Between services that are alike and exponential ones by their squared coefficient of "
    "variation, and so beyond.",
    example=Example(
        {rho_s: 0.75, n_slots: 1, mu_sl: 4, lam_e: 3, scv_s: 0.25, c_a: 1},
        "625 ms",
        derived="1000 * (0.5 + 0.25 * 0.5) / (4 - 3)",
    ),
)


#: Load of the link of two pools.
LINK_LOAD = Min(NEARLY, lam_e * t_x / request)
#: Time to first token of a prompt that finds a slot, mean.
WITH_A_SLOT = D_w + p_v * tau_v / 2
#: Wait of a prompt, mean: one that waited for a slot begins as it is free, behind no step and no other prompt.
BEFORE_PREFILL = (1 - P_f) * (W_w + p_v * tau_v / 2) + P_f * theta_s
#: Transfer of a cache behind those ahead of it on the link, mean.
HANDED_OVER = t_x * (1 + (1 + cv_in**2) * LINK_LOAD / (2 * (1 - LINK_LOAD)))
#: What prompts take beside what is left for steps.
TAKEN = STOPPED / (1 - STOPPED)


def bunched(coming: Any) -> Any:
    """Requests of the same burst within a window, fitted to gamma distributions."""
    return (c_a - 1) / 2 * (1 - exp(-Rational(8, 5) * sqrt(Max(Rational(1, 10**9), coming))))


burst_stall = Formula(
    X_B,
    2 * (W_w - W_P) + (2 - STOPPED) * W_w * (_evenness ** Rational(4, 5) - 1) / 2,
    title="Prefills of the same burst that stop a request before its first decode step",
    source=OWN,
    variant=COLOCATED,
    assumes="With equal prompts, half of what a busy period has beside one of its prompts; fitted to gamma gaps.",
    accuracy="The whole stall of a simulated queue of fixed services, loads of 0.1 to 0.9: within 10% for squared "
    "variations of 0.5 to 10, up to 29% short for 0.25.",
    example=Example(
        {rho_D: 0.5, c_a: 4, cv_D: 0, W_w: 250, W_P: 50},
        "274.35 ms",
        derived="2 * (250 - 50) + 1.5 * 250 * (4**-0.8 - 1) / 2",
    ),
)

bare_step = Formula(
    tau_v,
    when(STEADY, tau_N * (1 - STOPPED), tau_N),
    title="Decode step without what stops it",
    source=ORCA,
    variant=WHOLE,
    example=Example({Z_all: 0, mu_e: 4, rho_e: 0.5, tau_N: 20, rho_D: 0.25}, "15 ms", derived="20 * 0.75"),
)

late_requests = Formula(
    P_late,
    Min(
        1,
        (1 - P_f)
        * (
            p_v
            * (
                1
                - Min(x_late, tau_v) / tau_v
                + P_w * theta_w / tau_v * (exp((Min(x_late, tau_v) - x_late) / theta_w) - exp(-x_late / theta_w))
            )
            + (1 - p_v) * P_w * exp(-x_late / theta_w)
        )
        + P_f * exp(-x_late / Max(theta_s, D_1 / 1000)),
    ),
    title="Requests whose first token comes so much later than the prefill of one prompt",
    source=DISTSERVE,
    variant="equal_prompts",
    assumes="The rest of a decode step is uniform; waits for prompts and for a slot have exponential tails. Who waited "
    "for a slot waits for nothing else.",
    example=Example(
        {p_v: 0.5, tau_v: 20, P_w: 0.5, theta_w: 40, x_late: 40, P_f: 0, theta_s: 0, D_1: 10},
        "0.21130",
        derived="0.5 * 0.5 * 2 * (exp(-0.5) - exp(-1)) + 0.5 * 0.5 * exp(-1)",
    ),
)


def later(than: Any) -> Any:
    """Share of requests that wait longer than this."""
    return evaluated_at(P_late, {x_late: than}, (late_requests,))


def later_varied(than: Any, *law: Formula) -> Any:
    """Share of requests, with varying prompts, whose first token comes after this time."""
    return evaluated_at(P_late, {x_first: than}, law)


def late(with_a_slot: Any, waits: Any) -> Any:
    """Share of late requests, given that of requests that find a slot; the others wait for one."""
    return (1 - waits) * with_a_slot + waits * exp(-Max(0, x_first - D_1) / Max(theta_s, D_1 / 1000))


FORMULAS = (
    wait_decay,
    poisson_wait_scale,
    pool_poisson_wait_scale,
    wait_scale,
    pool_wait_scale,
    poisson_wait,
    pool_poisson_wait,
    prompt_wait,
    wait_probability,
    step_wait,
    pool_step_wait,
    slots,
    pool_slots,
    slot_capacity,
    pool_slot_capacity,
    slot_load,
    slots_taken,
    slot_growth,
    slot_wait_probability,
    pool_slot_wait_probability,
    slot_time_variation,
    pool_slot_time_variation,
    prompt_slot_wait,
    pool_prompt_slot_wait,
    slot_wait_mean,
    burst_stall,
    bare_step,
    late_requests,
)
