"""Post-training step

A step of reinforcement learning (GRPO, PPO, DAPO) samples responses with an inference engine, computes their
log-probabilities, trains on them and transfers the new weights to the engine. A rollout ends with its longest response:
a draining engine runs fewer and fewer requests, and each of its steps costs at least that of an empty one. An engine
step is an iteration, and an update is a training step on packed samples.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from sympy import And, Dummy, Eq, Integer, Piecewise, Rational, ceiling, exp, floor, log, sqrt

from mlsysim.formulas import (
    continuous_batching,
    economics,
    energy,
    iteration,
    mixers,
    rank_parameters,
    replica_layout,
    step_time,
)
from mlsysim.formulas.training_memory import DRIVER_MEMORY
from mlsysim.symbolic import (
    Assignment,
    Example,
    Formula,
    Max,
    Min,
    Mod,
    NormalCDF,
    NormalQuantile,
    Root,
    Source,
    by_label,
    by_member,
    evaluated_at,
    label,
    request,
    token,
    total,
    variable_of,
    when,
)
from mlsysim.symbols.chunked import C_b
from mlsysim.symbols.costs import T_run, n_acc, n_out_run, u_busy
from mlsysim.symbols.deployment import B_seq
from mlsysim.symbols.energy import W_it, phi_op, t_meas, u_given, x_F
from mlsysim.symbols.formats import compute_dtype, q_exp, q_ffn, q_head, q_mix, q_sh, weight_dtype
from mlsysim.symbols.fsdp import M_usable
from mlsysim.symbols.hardware import M_cap, n_fleet, n_node
from mlsysim.symbols.iteration import (
    F_16,
    E_red,
    K_dec,
    M_drv,
    W_rep,
    d_a,
    gamma_s,
    h_c,
    n_dec,
    n_kv,
    n_pro,
    t_it,
    u_gpu,
)
from mlsysim.symbols.layers import two
from mlsysim.symbols.lora import G_lo, N_lo, tau_lo, z_lo
from mlsysim.symbols.post_training import (
    DRAINED,
    I_R,
    I_U,
    K_1,
    OF_ENGINE,
    T_0,
    T_U,
    T_U1,
    W_R,
    A_half,
    A_ro,
    A_w,
    B_pr,
    B_ref,
    B_syn,
    C_re,
    E2_re,
    G_pr,
    G_tr,
    I_fu,
    L_free,
    L_high,
    L_low,
    L_re,
    L_x,
    M_host,
    M_res,
    M_ro,
    M_roo,
    M_sl,
    M_too,
    M_tr,
    N_sam,
    O_tr,
    P_pk,
    Phi_ro,
    Phi_up,
    R_sam,
    S_giv,
    S_pk,
    T_both,
    T_full,
    T_k,
    T_low,
    T_lp,
    T_one,
    T_ro,
    T_syn,
    T_tail,
    T_up,
    U_half,
    U_up,
    W_syn,
    W_tr,
    b_k,
    c_k,
    chi,
    critic,
    cv_re,
    d_U,
    draw,
    eta_st,
    f_cut,
    f_grp,
    f_pk,
    g_k,
    g_U,
    h_free,
    h_k,
    h_ro,
    h_w,
    k_gen,
    k_op,
    k_rest,
    k_tr,
    knot,
    l_k,
    m_re,
    mu_re,
    n_0,
    n_1,
    n_k,
    n_rd,
    n_roo,
    n_stl,
    offload,
    phase_bottleneck,
    phi_op_R,
    q_lp,
    q_sc,
    s_pr,
    sig,
    t_pr,
    t_R,
    tau_k,
    u_R,
    u_U,
    x_best,
    x_dn,
    x_free,
    x_giv,
    x_gr,
    x_half,
    x_opt,
    x_pip,
    x_R,
    x_sl,
    x_up,
    y_U,
)
from mlsysim.symbols.serving import n_out
from mlsysim.symbols.sources import c_src, n_im, s_im, s_src, w_src
from mlsysim.symbols.step import Phi_hw, R_dev, T_dp, T_opt, T_step, n_steps, s_doc
from mlsysim.symbols.training import G, M, O, W, b, c_cp, checkpointing, d, e, feasible, g, p, r_dp, t, t_e
from mlsysim.symbols.workload import precision, s

COLOCATED, DISAGGREGATED = "colocated", "disaggregated"
ONE_STEP_OFF, ASYNCHRONOUS = "one_step_off", "fully_asynchronous"
#: What variants have in common: rollouts that drain, pools, and phases one by one or at once.
DRAINING, POOLS, HALF, ONE_BY_ONE, AT_ONCE, ON_POLICY = (
    "draining",
    "pools",
    "halved",
    "one_by_one",
    "at_once",
    "on_policy",
)
OWN = Source("own")
GRPO = Source("shao2024", "section 4")
DAPO = Source("yu2025", "section 3.2")
HYBRID = Source("sheng2024hybridflow", "section 5")
AREAL = Source("fu2025")
LOG_NORMAL = Source("johnson1994", "chapter 14")
EXPONENTIAL = Source("johnson1994", "chapter 19")
PACKING = Source("krell2021", "section 3")
TIMED = "an iteration of an engine"
TRAINED = "a training step, or its memory"

#: Responses that no cap cuts: standard deviation of their logarithms where they are log-normal.
_sigma: Any = sqrt(log(1 + cv_re**2))
_VARIED = cv_re > 0


def _growth(power: int) -> Any:
    """Mean of a power of a log-normal length over the same power of its median."""
    return exp(Integer(power) ** 2 * log(1 + cv_re**2) / 2)


def still_running(length: Any) -> Any:
    """Share of responses longer than a length below the cap."""
    return when(_VARIED, NormalCDF(-log(length / mu_re) / _sigma), exp(-length / mu_re))


def reached_by(share: Any, end: Any) -> Any:
    """Length after which this share of responses is still running, or all have ended."""
    return Min(end, when(_VARIED, mu_re * exp(-_sigma * NormalQuantile(share)), -mu_re * log(share)))


def tokens_by(length: Any) -> Any:
    """Mean tokens per response up to a length."""
    place: Any = log(length / mu_re) / _sigma
    varied = mu_re * _growth(1) * NormalCDF(place - _sigma) + length * NormalCDF(-place)
    return when(_VARIED, varied, mu_re * (1 - exp(-length / mu_re)))


def squares_by(length: Any) -> Any:
    """Mean square of the tokens per response up to a length."""
    place: Any = log(length / mu_re) / _sigma
    varied = mu_re**2 * _growth(2) * NormalCDF(place - 2 * _sigma) + length**2 * NormalCDF(-place)
    return when(_VARIED, varied, 2 * mu_re**2 * Max(0, 1 - exp(-length / mu_re) * (1 + length / mu_re)))


#: Left and right sides at which lengths have their mean after the cut, over the cap.
_x, _ratio = Dummy("x", positive=True), Dummy("r", positive=True)


# --- lengths --------------------------------------------------------------------------------------

samples = Formula(
    N_sam,
    B_pr * G_pr,
    title="Samples of a step",
    source=GRPO,
    example=Example({B_pr: 64, G_pr: 32}, "2048 request", derived="64 * 32"),
)

packed_length = Formula(
    S_pk,
    when(S_giv > 0, ceiling(S_giv / token) * token, s_pr + ceiling(C_re / token) * token),
    title="Tokens of a packed sequence",
    source=PACKING,
    assumes="As many as the longest sample, unless an argument says otherwise.",
    example=Example({S_giv: 0, s_pr: 110, C_re: 3986}, "4096 token", derived="110 + 3986"),
)

cap_over_scale = Formula(
    chi,
    Root(_x, -(1 - exp(-_x)) / _x, -m_re / C_re, Rational(1, 1000), 2 * C_re / m_re),
    title="Cap of exponential lengths over their scale",
    source=EXPONENTIAL,
    assumes="The mean of what a cap leaves is known, not the mean without it.",
    example=Example({m_re: 500, C_re: 1000}, "1.59362", derived="1000 / 627.502"),
)

#: Mean over the cap, so far below one as the least cap over a scale leaves it: no scale is so large that all are cut.
_below_cap = Min(m_re / C_re, 1 - Rational(1, 2000))

response_scale = Formula(
    mu_re,
    when(
        _VARIED,
        C_re
        * Root(
            _ratio,
            _ratio * _growth(1) * NormalCDF(-log(_ratio) / _sigma - _sigma) + NormalCDF(log(_ratio) / _sigma),
            _below_cap,
            _below_cap / _growth(1),
            Integer(10) ** 6,
        ),
        C_re / chi,
    ),
    title="Scale of the law of lengths",
    source=LOG_NORMAL,
    assumes="Lengths are exponential, or log-normal where their variation is given; a cap cuts them, "
    "but for one token in 2,000.",
    example=Example({m_re: 100, C_re: 1000, chi: 9.99955, cv_re: 0}, "100.0045 token", derived="1000 / 9.99955"),
)

mean_square = Formula(
    E2_re,
    squares_by(C_re),
    title="Mean square of the lengths of responses",
    source=LOG_NORMAL,
    assumes="Lengths are exponential, or log-normal, and cut at the cap.",
    example=Example(
        {cv_re: 0, mu_re: 627.50, C_re: 1000},
        "372499 token**2",
        derived="2 * 627.5**2 * (1 - exp(-1000 / 627.5) * (1 + 1000 / 627.5))",
    ),
)

cut_responses = Formula(
    f_cut,
    still_running(C_re),
    title="Share of the responses that the cap cuts",
    source=LOG_NORMAL,
    assumes="It follows from mean and cap, and so tests the law of lengths.",
    example=Example({cv_re: 0, mu_re: 627.50, C_re: 1000}, "0.20319", derived="exp(-1000 / 627.5)"),
)

#: Steps of the limit law of Gumbel that are added up.
_STEP = Rational(4, 5)
_level = _STEP * by_member(**{name: place for place, name in enumerate(draw.members)}) - 2

longest_expected = Formula(
    L_low,
    Min(
        C_re,
        total(draw, _STEP * exp(-_level - exp(-_level)) * reached_by(1 - exp(-exp(-_level) / (N_sam / request)), C_re)),
    ),
    title="Longest response as the law of lengths expects it",
    source=Source("david2003", "chapter 10"),
    assumes="The largest of so many lengths, over the limit law of Gumbel, step by step.",
    example=Example(
        {cv_re: 0, mu_re: 100.0045, C_re: 1000, N_sam: 64},
        "474.12 token",
        derived="4.7410 * 100.0045",
    ),
)

longest_allowed = Formula(
    L_high,
    C_re,
    title="Longest response at most",
    source=GRPO,
    assumes="One runaway in a thousand is usual, and a rollout has thousands of responses.",
    example=Example({C_re: 4096}, "4096 token", derived="4096"),
)


#: Share of the samples that go on in the next step.
_GO_ON = eta_st / (1 + eta_st)


def _ends_by(share: Any) -> Any:
    """Length at which a rollout ends that leaves a share of its requests to the next step."""
    return Min(when(L_re > 0, Min(L_re, C_re), C_re), when(f_cut < _GO_ON, reached_by(share, C_re), C_re))


free_steps = Formula(
    L_free,
    _ends_by(_GO_ON),
    title="Tokens after which a rollout ends, with slots for all",
    source=AREAL,
    variant=DRAINING,
    assumes="The share of samples that staleness allows goes on in the next step.",
    example=Example(
        {f_cut: 0, eta_st: 0.1, mu_re: 100, C_re: 1000, L_re: 0, cv_re: 0},
        "239.79 token",
        derived="100 * log(1.1 / 0.1)",
    ),
)

started = Formula(
    sig,
    when(f_cut < _GO_ON, m_re / Max(token / 1000, tokens_by(L_free)), 1),
    title="Samples that decode over those of a step",
    source=AREAL,
    variant=DRAINING,
    assumes="It conserves tokens: those beyond the samples of a step go on in the next one. Where the cap cuts as "
    "many, more samples end no rollout sooner, and none are started.",
    example=Example(
        {f_cut: 0, eta_st: 0.1, m_re: 100, mu_re: 100, L_free: 239.79, cv_re: 0},
        "1.1",
        derived="100 / (100 * (1 - exp(-2.3979)))",
    ),
)

steps_of_rollout = Formula(
    L_x,
    _ends_by(Min(1, f_cut + (1 - f_cut) * Max(0, sig - 1) * n_0 / Max(request / 1000, n_1))),
    title="Tokens after which a rollout ends",
    source=AREAL,
    variant=DRAINING,
    assumes="The cap, unless the longest response is given. Where more samples are started than are used, a rollout "
    "ends with the last one that is used; the others go on in the next step.",
    example=Example(
        {C_re: 1000, L_re: 0, f_cut: 0, eta_st: 0.1, sig: 1.1, cv_re: 0, mu_re: 100, n_0: 100, n_1: 110},
        "239.79 token",
        derived="100 * log(110 / 10)",
    ),
)

# --- pools ----------------------------------------------------------------------------------------

all_roll_out = Formula(
    x_R,
    n_fleet,
    title="Accelerators that roll out, all of them",
    source=HYBRID,
    variant=COLOCATED,
    example=Example({n_fleet: 64}, "64", derived="64"),
)

all_train = Formula(
    y_U,
    n_fleet,
    title="Accelerators that train, all of them",
    source=HYBRID,
    variant=COLOCATED,
    example=Example({n_fleet: 64}, "64", derived="64"),
)

some_roll_out = Formula(
    x_R,
    when(x_giv > 0, x_giv, x_best),
    title="Accelerators that roll out while others train",
    source=AREAL,
    variant=POOLS,
    example=Example({x_giv: 0, x_best: 28}, "28", derived="28"),
)

others_train = Formula(
    y_U,
    Max(1, n_fleet - x_R),
    title="Accelerators that train while others roll out",
    source=AREAL,
    variant=POOLS,
    example=Example({n_fleet: 64, x_R: 28}, "36", derived="64 - 28"),
)

# --- rollout --------------------------------------------------------------------------------------

#: An engine that shares nothing but its model and its accelerators with the trainer: responses of one model and one
#: format, one after the other tensor-parallel ranks, no drafts, no adapters, no images.
ENGINE = (
    *iteration.PASS,
    mixers.mixer_matrices,
    continuous_batching.stored_weights,
    continuous_batching.expert_padding,
    replica_layout.replica_weights,
    iteration.kv_memory,
    iteration.cache_tokens,
    iteration.held_tokens,
    energy.clock_time,
    energy.iteration_flops,
    energy.iteration_bytes,
    energy.iteration_flop_share,
    energy.iteration_busy_share,
    *(Assignment(symbol, own) for symbol, own in OF_ENGINE.items()),
    *(
        Assignment(symbol, 0)
        for symbol in (
            two,
            gamma_s,
            h_c,
            E_red,
            N_lo,
            G_lo,
            tau_lo,
            z_lo,
            n_im,
            s_src,
            s_im,
            w_src,
            c_src,
            q_mix,
            q_ffn,
            q_exp,
            q_sh,
            q_head,
            u_given,
            t_meas,
        )
    ),
    *(Assignment(symbol, 1) for symbol in (p, d_a)),
    *(Assignment(symbol, label(symbol, "as_precision")) for symbol in (weight_dtype, compute_dtype)),
    *(Assignment(symbol, 0 * request) for symbol in (n_dec, n_pro)),
    Assignment(K_dec, 0 * token / request),
    Assignment(s, s_pr),
    Assignment(n_out, E2_re / (2 * m_re)),
)


def _of_engine(target: Any, **changed: Any) -> Any:
    """Quantity of the engine at another number of requests."""
    symbols = {"decoding": n_dec, "context": K_dec, "prompts": n_pro, "ranks": t, "format": precision}
    return evaluated_at(target, {symbols[name]: value for name, value in changed.items()}, ENGINE, whole=True)


replica_samples = Formula(
    n_0,
    N_sam * t_R / x_R,
    title="Samples that a replica answers",
    source=HYBRID,
    assumes="Replicas have as many each, and are groups of tensor-parallel ranks.",
    example=Example({N_sam: 2048, t_R: 4, x_R: 32}, "256 request", derived="2048 * 4 / 32"),
)

rollout_context = Formula(
    K_1,
    (s_pr + E2_re / (2 * m_re)) / request,
    title="Mean context of a request of a rollout",
    source=OWN,
    assumes="Over the steps that it takes: a request is met in proportion to its length.",
    example=Example(
        {s_pr: 110, E2_re: 12054000, m_re: 3252}, "1963.3 token/request", derived="110 + 12054000 / (2 * 3252)"
    ),
)


cache_room = Formula(
    n_roo,
    _of_engine(n_kv, ranks=t_R),
    title="Tokens that the caches of a replica have room for",
    source=Source("kwon2023", "section 4"),
    no_example=TIMED,
)


def _slots(context: Any, **about: Any) -> Formula:
    return Formula(
        M_sl,
        Max(request, Min(B_seq, n_roo / context)),
        title="Requests that a replica decodes together at most",
        source=Source("kwon2023", "section 4"),
        **about,
    )


steady_slots = _slots(
    K_1,
    example=Example({B_seq: 1024, n_roo: 500000, K_1: 2000}, "250 request", derived="500000 / 2000"),
    variant=ASYNCHRONOUS,
    assumes="The engine's limit, or as many of mean context as its cache has room for; one at least.",
)

draining_slots = _slots(
    Max(K_1, f_cut * (s_pr + C_re) / request),
    example=Example(
        {B_seq: 1024, n_roo: 500000, K_1: 2000, f_cut: 0.65, s_pr: 110, C_re: 3986},
        "187.8 request",
        derived="500000 / (0.65 * 4096)",
    ),
    variant=DRAINING,
    assumes="The engine's limit, or as many as its cache has room for, of mean context or of what those that reach the "
    "cap together have, over all that start; one at least. Preemption costs a request its place, not its tokens.",
    accuracy="Rollouts 10% short to 9% long of a simulation with preemption; by mean context alone up to 18% short.",
)

draining_batch = Formula(
    n_1,
    Min(sig * n_0, M_sl),
    title="Requests that decode together when a rollout begins",
    source=OWN,
    variant=DRAINING,
    assumes="Those beyond the samples of a step decode as well.",
    example=Example({n_0: 256, sig: 1, M_sl: 180}, "180 request", derived="min(256, 180)"),
)

#: Samples in flight as far as slots and staleness allow, when none that is done waits.
_IN_FLIGHT = Min((1 + eta_st) * n_0, M_sl)

steady_batch = Formula(
    n_1,
    Max(request / 1000, _IN_FLIGHT - Max(0, _IN_FLIGHT - eta_st * n_0) ** 2 / (2 * n_0)),
    title="Requests that decode together in an engine that never drains",
    source=AREAL,
    variant=ASYNCHRONOUS,
    assumes="Samples of a step and the share beyond that staleness allows are in flight or done, and those that are "
    "done wait until there are enough for a step: from none to all of it, evenly.",
    accuracy="Requests that run and steps within 6% of a simulation, for staleness of 0.5 to 4.",
    example=Example({n_0: 64, M_sl: 180, eta_st: 1}, "96 request", derived="128 - 64**2 / (2 * 64)"),
)

full_steps = Formula(
    I_fu,
    Max(0, sig * n_0 - Max(M_sl, (sig - 1) * n_0)) * m_re / M_sl,
    title="Steps of a rollout in which requests wait for a slot",
    source=OWN,
    variant=DRAINING,
    assumes="It conserves tokens: as many as the requests that wait will have are decoded with every slot taken. Where "
    "samples beyond those of a step fill every slot, a rollout never drains.",
    example=Example({n_0: 256, sig: 1, M_sl: 128, m_re: 1000}, "1000 token", derived="128 * 1000 / 128"),
)

_SHARE = by_member(**{name: Rational(1, 4**place) for place, name in enumerate(knot.members)})

requests_left = Formula(
    n_k[knot],
    Max(request, n_1 * by_member(**{name: Rational(1, 4**place) for place, name in enumerate(DRAINED)}, lone=0)),
    title="Requests left at the knots of a rollout",
    source=OWN,
    assumes="From knot to knot a step is a straight line in requests and cached tokens.",
    example=Example({n_1: 256}, "16 request", derived="256 / 16", member="sixteenth"),
)

positions = Formula(
    l_k[knot],
    reached_by(Min(1, n_k[knot] / n_1), L_x),
    title="Tokens after which so many requests are left",
    source=LOG_NORMAL,
    variant=DRAINING,
    assumes="The law of all responses, also of those that took the place of others.",
    example=Example(
        {cv_re: 0, mu_re: 1000, L_x: 4000, n_k["quarter"]: 64, n_1: 256}, "1386.29 token", derived="1000 * log(4)",
        member="quarter",
    ),
)  # fmt: skip

mean_tokens = Formula(
    g_k[knot],
    tokens_by(l_k[knot]),
    title="Mean tokens of a response by the knots of a rollout",
    source=LOG_NORMAL,
    variant=DRAINING,
    example=Example(
        {cv_re: 0, mu_re: 1000, l_k["quarter"]: 1386.294361}, "750 token", derived="1000 * (1 - 1 / 4)",
        member="quarter",
    ),
)  # fmt: skip

mean_squares = Formula(
    h_k[knot],
    squares_by(l_k[knot]),
    title="Mean square of the tokens of a response by the knots of a rollout",
    source=LOG_NORMAL,
    variant=DRAINING,
    example=Example(
        {cv_re: 0, mu_re: 1000, l_k["quarter"]: 1386.294361},
        "806852.82 token**2",
        derived="2 * 1000**2 * (1 - 2.386294361 / 4)",
        member="quarter",
    ),
)

empty_steps = Formula(
    tau_k[knot],
    _of_engine(t_it, decoding=n_k[knot], context=0 * token / request),
    title="Steps of an engine without a cache",
    source=iteration.ORCA,
    no_example=TIMED,
)

token_costs = Formula(
    c_k[knot],
    Max(0, _of_engine(t_it, decoding=n_k[knot], context=K_1) - tau_k[knot]) / (K_1 * n_k[knot]),
    title="Time that a cached token adds to a step",
    source=iteration.ORCA,
    no_example=TIMED,
)


def _following(of: Any) -> Any:
    """Quantity at the next knot."""
    return by_member(**{name: of[following] for name, following in pairwise(knot.members)})


request_costs = Formula(
    b_k[knot],
    when(
        n_k[knot] > _following(n_k),
        Max(0, tau_k[knot] - _following(tau_k)) / Max(request / 1000, n_k[knot] - _following(n_k)),
        0,
    ),
    title="Time that a request adds to a step",
    source=OWN,
    variant=DRAINING,
    assumes="A straight line from knot to knot: experts are touched one by one.",
    example=Example(
        {n_k["whole"]: 256, n_k["quarter"]: 64, tau_k["whole"]: 21.1815, tau_k["quarter"]: 12.9447},
        "42.9 µs/request",
        derived="(21181.5 - 12944.7) / 192",
        member="whole",
    ),
)

_length, _tokens = (_following(each) - each[knot] for each in (l_k, g_k))
_squares = _following(h_k) - h_k[knot]

drains = Formula(
    T_k[knot],
    Max(
        0,
        Max(0, tau_k[knot] - b_k[knot] * n_k[knot]) * _length / token
        + n_1 * b_k[knot] * _tokens / token
        + n_1 * c_k[knot] * (s_pr * _tokens + _squares / 2) / (request * token),
    ),
    title="Decoding from knot to knot",
    source=OWN,
    variant=DRAINING,
    assumes="Every step costs that of an empty engine, every token that of a request and that of the tokens it reads.",
    example=Example(
        {tau_k["whole"]: 21, b_k["whole"]: 42.96875, n_k["whole"]: 256, n_1: 256, c_k["whole"]: 26.8, s_pr: 110,
         l_k["whole"]: 0, l_k["quarter"]: 1000, g_k["whole"]: 0, g_k["quarter"]: 500, h_k["whole"]: 0,
         h_k["quarter"]: 400000},
        "17.2495 s",
        derived="0.01 * 1000 + 256 * 42.96875e-6 * 500 + 256 * 26.8e-9 * (110 * 500 + 400000 / 2)",
        member="whole",
    ),
)  # fmt: skip

lone_request = Formula(
    T_one,
    Max(0, L_x - l_k["lone"])
    / token
    * (tau_k["lone"] + request * c_k["lone"] * (s_pr + (L_x + l_k["lone"]) / 2) / request),
    title="Decoding of the last request",
    source=OWN,
    variant=DRAINING,
    example=Example(
        {L_x: 4000, l_k["lone"]: 3000, tau_k["lone"]: 10, c_k["lone"]: 20, s_pr: 500},
        "10.08 s",
        derived="1000 * (0.01 + 20e-9 * (500 + 3500))",
    ),
)

_full_step = tau_k["whole"] + n_1 * c_k["whole"] * K_1

full_time = Formula(
    T_full,
    I_fu / token * _full_step,
    title="Decoding while requests wait for a slot",
    source=OWN,
    variant=DRAINING,
    example=Example(
        {I_fu: 1000, tau_k["whole"]: 20, n_1: 100, c_k["whole"]: 20, K_1: 2000},
        "24 s",
        derived="1000 * (0.02 + 100 * 20e-9 * 2000)",
    ),
)

#: Prompts that a prefill takes together.
_prompts = Max(request, Min(n_0, C_b * request / s_pr))

prompts_time = Formula(
    t_pr,
    n_0 / _prompts * _of_engine(t_it, prompts=_prompts),
    title="Prefill of the prompts of a replica",
    source=iteration.ORCA,
    assumes="As many prompts at a time as the token budget has room for; prompts of a group are prefilled each.",
    no_example=TIMED,
)

rounds = Formula(
    n_rd,
    1 / f_grp,
    title="Rollouts until enough groups are kept",
    source=DAPO,
    assumes="Groups whose responses all have one reward teach nothing, and are dropped.",
    example=Example({f_grp: 0.5}, "2", derived="1 / 0.5"),
)

rollout = Formula(
    T_ro,
    k_gen * n_rd * (t_pr + T_full + total(knot, T_k[knot], over=DRAINED) + T_one),
    title="Rollout that drains",
    source=OWN,
    variant=DRAINING,
    assumes="Requests start together. Where groups are dropped, a rollout is repeated until enough are kept.",
    example=Example(
        {k_gen: 1.25, n_rd: 1, t_pr: 2, T_full: 0, **{T_k[name]: 4 for name in DRAINED}, T_one: 10},
        "40 s",
        derived="1.25 * (2 + 5 * 4 + 10)",
    ),
)

steady_rollout = Formula(
    T_ro,
    k_gen * n_rd * (t_pr + n_0 / n_1 * m_re / token * _full_step),
    title="Rollout of an engine that never drains",
    source=AREAL,
    variant=ASYNCHRONOUS,
    assumes="A response that ends makes room for another one, of whatever step.",
    example=Example(
        {k_gen: 1.25, n_rd: 1, t_pr: 2, n_0: 256, n_1: 128, m_re: 1000, tau_k["whole"]: 20, c_k["whole"]: 20,
         K_1: 2000},
        "65.3 s",
        derived="1.25 * (2 + 2 * 1000 * (0.02 + 128 * 20e-9 * 2000))",
    ),
)  # fmt: skip

tail = Formula(
    T_tail,
    k_gen * n_rd * (total(knot, T_k[knot], over=DRAINED[1:]) + T_one),
    title="Part of a rollout in which less than a quarter of it decodes",
    source=OWN,
    variant=DRAINING,
    example=Example(
        {k_gen: 1.25, n_rd: 1, **{T_k[name]: 4 for name in DRAINED[1:]}, T_one: 10}, "32.5 s", derived="1.25 * 26"
    ),
)

_TO_ROLLOUT = {positions, mean_tokens, mean_squares, drains, lone_request, rollout}

shortest_rollout = Formula(
    T_low,
    evaluated_at(T_ro, {L_x: Min(L_x, L_low)}, _TO_ROLLOUT),
    title="Rollout if the longest response is as expected",
    source=OWN,
    variant=DRAINING,
    assumes="The other end of what mean and cap leave open: there the longest response is the cap.",
    no_example="another longest response",
)

# --- update ---------------------------------------------------------------------------------------

#: The training step, in sequences that hold whole samples, each a document of its own.
TRAINER = (*step_time.PER_OPERATOR, economics.training_load, Assignment(s_doc, Min(S_pk, s_pr + m_re)))


def _of_trainer(target: Any) -> Any:
    """Quantity of a training step on the packed samples."""
    layout = {b: g_U * d_U, g: g_U, s: S_pk, n_fleet: y_U}
    return evaluated_at(target, layout, TRAINER, whole=True)


_sample = s_pr + m_re
_half = S_pk / 2 - s_pr

packs = Formula(
    P_pk,
    N_sam
    / request
    * Max(
        _sample / S_pk,
        Piecewise((1, _half <= 0), (0, _half >= C_re), (still_running(Max(token / 1000, _half)), True)),
    ),
    title="Packed sequences of a step",
    source=PACKING,
    assumes="First fit decreasing is as good as tokens alone, but for samples above half of a sequence, no two of "
    "which share one.",
    example=Example(
        {N_sam: 2048, s_pr: 110, m_re: 3252, S_pk: 4096, C_re: 3986, cv_re: 0, mu_re: 8900},
        "1681",
        derived="2048 * max(3362 / 4096, exp(-1938 / 8900))",
    ),
)

_ranks = evaluated_at(d, {n_fleet: y_U}, TRAINER, whole=True)

trainer_ranks = Formula(
    d_U,
    _ranks,
    title="Data-parallel ranks of the trainer",
    source=Source("narayanan2021", "section 3"),
    variant=COLOCATED,
    no_example=TRAINED,
    given=Eq(Mod(y_U, t * p * c_cp), 0),
)

pool_trainer_ranks = Formula(
    d_U,
    Max(1, floor(_ranks)),
    title="Data-parallel ranks of a trainer with a pool of its own",
    source=Source("narayanan2021", "section 3"),
    variant=POOLS,
    assumes="Pools are split where the trainer is laid out whole times.",
    no_example=TRAINED,
)

sequences = Formula(
    g_U,
    Max(1, ceiling(P_pk / (k_op * d_U))),
    title="Packed sequences of a data-parallel rank in an optimizer step",
    source=PACKING,
    assumes="Mini-batches are as large, and every rank has one sequence at a time.",
    example=Example({P_pk: 1681, k_op: 4, d_U: 4}, "106", derived="ceil(1681 / 16)"),
)

fill = Formula(
    f_pk,
    when(p > 1, 1, Min(1, N_sam / request * _sample / (P_pk * S_pk))),
    title="Tokens that are computed over those of full packs",
    source=PACKING,
    assumes="Only stages of a pipeline need sequences of one length: elsewhere packs are as long as their samples.",
    example=Example(
        {p: 1, N_sam: 2048, s_pr: 110, m_re: 1019, P_pk: 700, S_pk: 4096},
        "0.806429",
        derived="2048 * 1129 / 700 / 4096",
    ),
)

update_step = Formula(
    T_U, _of_trainer(T_step), title="Optimizer step on packed samples", source=GRPO, no_example=TRAINED
)

update_pass = Formula(
    T_U1,
    Max(0, T_U - _of_trainer(T_dp) - _of_trainer(T_opt)),
    title="Forward and backward pass of an optimizer step",
    source=GRPO,
    assumes="What a step takes beside the traffic of gradients and the optimizer.",
    no_example=TRAINED,
)

_critic = when(Eq(critic, label(critic, "none")), 0, 1)

updates = Formula(
    T_up,
    k_tr * k_op * f_pk * T_U * (1 + _critic),
    title="Updates of a step",
    source=GRPO,
    assumes="A critic is of the size of the policy, and is trained after it.",
    example=Example({k_tr: 1.4, k_op: 4, f_pk: 1, T_U: 5, critic: "none"}, "28 s", derived="1.4 * 4 * 5"),
)

scoring = Formula(
    q_sc,
    (q_lp + _critic)
    * by_label(
        checkpointing,
        {
            name: Rational(1, 4) if name == "full" else Rational(1, 3)
            for name in variable_of(checkpointing).domain.labels
        },
    ),
    title="Forward passes for log-probabilities over a forward and a backward pass",
    source=GRPO,
    assumes="A forward pass is a third of a forward and a backward pass, a quarter where layers are recomputed whole.",
    example=Example({q_lp: 2, critic: "none", checkpointing: "full"}, "0.5", derived="2 / 4"),
)

logprobs = Formula(
    T_lp,
    k_tr * k_op * f_pk * q_sc * T_U1,
    title="Log-probabilities of the samples of a step",
    source=GRPO,
    example=Example({k_tr: 1.4, k_op: 4, f_pk: 1, q_sc: 0.5, T_U1: 4.5}, "12.6 s", derived="1.4 * 4 * 0.5 * 4.5"),
)

# --- step -----------------------------------------------------------------------------------------

synced_weights = Formula(
    W_syn,
    _of_engine(W_rep, ranks=t_R, format=label(precision, "bf16")),
    title="Weights of one replica as they are sent",
    source=HYBRID,
    assumes="16 bits each: an engine of another format quantizes them as it loads them (verl, NeMo-RL).",
    no_example=TIMED,
)

engine_weights = Formula(
    W_R,
    _of_engine(W_rep, ranks=t_R),
    title="Weights of one replica",
    source=HYBRID,
    variant=COLOCATED,
    no_example=TIMED,
)

refit = Formula(
    T_syn,
    T_0 + W_syn / B_ref,
    title="Switch from training to rollout",
    source=HYBRID,
    variant=COLOCATED,
    assumes="Weights are gathered in the layout of the engine on the same accelerators; states move to the host and "
    "back.",
    example=Example({T_0: 7.2, W_syn: 16, B_ref: 20}, "8 s", derived="7.2 + 16 / 20"),
)

broadcast = Formula(
    T_syn,
    W_syn / B_syn,
    title="Weights sent to engines on other accelerators",
    source=AREAL,
    variant=POOLS,
    assumes="All replicas get them at once.",
    example=Example({W_syn: 1300, B_syn: 52}, "25 s", derived="1300 / 52"),
)


overlapped = Formula(
    T_both,
    Max(T_ro, T_up + T_lp),
    title="Rollout beside the update of the last one",
    source=AREAL,
    variant=AT_ONCE,
    example=Example({T_ro: 60, T_up: 30, T_lp: 20}, "60 s", derived="max(60, 30 + 20)"),
)


def _step(phases: Any, variant: str, title: str, source: Source, times: Any, derived: str, answer: str) -> Formula:
    return Formula(
        T_step,
        k_rest * (phases + T_syn),
        title=title,
        source=source,
        variant=variant,
        assumes="Rewards, advantages and data take a share beside.",
        example=Example({k_rest: 1.03, **times, T_syn: 8}, answer, derived=derived),
    )


_ONE_BY_ONE = T_ro + T_up + T_lp
_TIMES = {T_ro: 60, T_up: 30, T_lp: 20}

step = _step(
    _ONE_BY_ONE, ONE_BY_ONE, "Step of phases one after the other", GRPO, _TIMES, "1.03 * (60 + 30 + 20 + 8)", "121.54 s"
)
overlapped_step = _step(
    T_both, AT_ONCE, "Step of a rollout beside the update of the last one", AREAL, {T_both: 60}, "1.03 * (60 + 8)",
    "70.04 s",
)  # fmt: skip


def _idle(share: Any, own: Any, title: str, variant: str, whole: Any, answer: str, derived: str) -> Formula:
    times = {T_ro: 60, T_up: 20, T_lp: 10, T_both: 60}
    expression = Min(1, Max(0, 1 - own / whole))
    return Formula(
        share,
        expression,
        title=title,
        source=AREAL,
        variant=variant,
        example=Example(
            {symbol: time for symbol, time in times.items() if symbol in expression.free_symbols},
            answer,
            derived=derived,
        ),
    )


_ROLLS, _TRAINS = "Waiting of accelerators that roll out", "Waiting of accelerators that train"
rollout_waits = _idle(I_R, T_ro, _ROLLS, DISAGGREGATED, _ONE_BY_ONE, "0.33333", "1 - 60 / 90")
update_waits = _idle(I_U, T_up + T_lp, _TRAINS, DISAGGREGATED, _ONE_BY_ONE, "0.66667", "1 - 30 / 90")
overlapped_rollout_waits = _idle(I_R, T_ro, _ROLLS, AT_ONCE, T_both, "0", "1 - 60 / 60")
overlapped_update_waits = _idle(I_U, T_up + T_lp, _TRAINS, AT_ONCE, T_both, "0.5", "1 - 30 / 60")

sample_rate = Formula(
    R_sam,
    N_sam / T_step,
    title="Samples per second",
    source=GRPO,
    example=Example({N_sam: 2048, T_step: 128}, "16 request/s", derived="2048 / 128"),
)

token_rate = Formula(
    R_dev,
    N_sam / request * _sample / (T_step * n_fleet),
    title="Tokens per second and accelerator",
    source=GRPO,
    variant="post_training",
    convention="Prompts and responses.",
    example=Example(
        {N_sam: 2048, s_pr: 127, m_re: 1019, T_step: 92.8, n_fleet: 16}, "1580.7 token/s",
        derived="2048 * 1146 / (92.8 * 16)",
    ),
)  # fmt: skip


def _fresh(versions: int, variant: str, title: str) -> Formula:
    return Formula(n_stl, Integer(versions), title=title, source=AREAL, variant=variant, no_example=f"it is {versions}")


on_policy = _fresh(0, ON_POLICY, "Samples of the present weights")
one_behind = _fresh(1, ONE_STEP_OFF, "Samples of the weights before")
staleness_mean = Formula(
    n_stl,
    k_gen * m_re / token * _full_step / T_step,
    title="Versions that pass while a response is written",
    source=AREAL,
    variant=ASYNCHRONOUS,
    assumes="A response of mean length; those that wait to be used add theirs.",
    example=Example(
        {k_gen: 1, m_re: 3000, tau_k["whole"]: 20, n_1: 0, c_k["whole"]: 20, K_1: 2000, T_step: 30},
        "2",
        derived="3000 * 0.02 / 30",
    ),
)

# --- power ----------------------------------------------------------------------------------------

rollout_busy = Formula(
    u_R,
    _of_engine(u_busy, decoding=n_1, context=K_1),
    title="Busy share of a rollout",
    source=energy.FITTED,
    assumes="That of a decode step with all requests that start together.",
    no_example=TIMED,
)

update_busy = Formula(
    u_U,
    _of_trainer(u_busy),
    title="Busy share of an update",
    source=economics.POWER,
    assumes="Log-probabilities have that of an update.",
    no_example=TRAINED,
)

rollout_arithmetic = Formula(
    Phi_ro,
    t_R
    * n_rd
    * N_sam
    / request
    * (_of_engine(W_it, prompts=request) + m_re / token * _of_engine(W_it, decoding=request, context=K_1)),
    title="Arithmetic of the rollouts of a step",
    source=GRPO,
    assumes="Every prompt is prefilled, every token is decoded at the mean context, and dropped groups count.",
    no_example=TIMED,
)

update_arithmetic = Formula(
    Phi_up,
    k_op * f_pk * (1 + _critic + q_sc) * _of_trainer(Phi_hw),
    title="Arithmetic of the updates of a step",
    source=GRPO,
    no_example=TRAINED,
)

busy = Formula(
    u_busy,
    Min(1, (x_R * T_ro * u_R + y_U * (T_up + T_lp) * u_U) / (n_fleet * T_step)),
    title="Busy share of a step of post-training",
    source=economics.POWER,
    variant="post_training",
    assumes="A pool that waits, synchronization and all that is beside phases draw as little as idling; what stretches "
    "a phase is as busy as the rest of it.",
    example=Example(
        {x_R: 24, T_ro: 60, u_R: 0.9, y_U: 40, T_up: 30, T_lp: 20, u_U: 0.75, n_fleet: 64, T_step: 70},
        "0.62411",
        derived="(24 * 60 * 0.9 + 40 * 50 * 0.75) / (64 * 70)",
    ),
)

flop_share = Formula(
    x_F,
    (phi_op_R * Phi_ro + phi_op * Phi_up) / (n_fleet * F_16 * T_step),
    title="Share of the arithmetic of a step of post-training",
    source=energy.ROOFLINE,
    variant="post_training",
    convention="Operations that are carried out, each by the energy of its format, over the dense peak at 16 bit.",
    example=Example(
        {phi_op_R: 0.5, Phi_ro: 400, phi_op: 1, Phi_up: 800, n_fleet: 64, F_16: 1000, T_step: 50},
        "0.3125",
        derived="(0.5 * 400 + 800) / (64 * 1 * 50)",
    ),
)

steps_taken = Formula(
    n_steps,
    T_run / T_step,
    title="Steps of post-training",
    source=GRPO,
    variant="post_training",
    assumes="The same step again and again.",
    example=Example({T_run: 1, T_step: 86.4}, "1000", derived="24 * 3600 / 86.4"),
)

tokens_of_steps = Formula(
    n_out_run,
    R_dev * n_acc * T_run,
    title="Tokens of steps of post-training",
    source=GRPO,
    variant="post_training",
    convention="Prompts and responses.",
    example=Example({R_dev: 1000, n_acc: 16, T_run: 1}, "1382.4 Mtoken", derived="1000 * 16 * 86400 / 1e6"),
)

# --- split ----------------------------------------------------------------------------------------

rollout_floor = Formula(
    h_ro,
    k_gen * n_rd * tau_k["lone"] * L_x / token,
    title="Part of a rollout that no accelerator more shortens",
    source=OWN,
    variant=DRAINING,
    assumes="A step of an engine is a straight line in requests and cached tokens.",
    example=Example({k_gen: 1.26, n_rd: 1, tau_k["lone"]: 10.24, L_x: 3986}, "51.4 s", derived="1.26 * 0.01024 * 3986"),
)

no_floor = Formula(
    h_ro,
    Integer(0),
    title="Rollout that accelerators share whole",
    source=AREAL,
    variant=ASYNCHRONOUS,
    no_example="it is zero",
)

_slope = when(
    n_1 > request,
    Max(0, tau_k["whole"] - tau_k["lone"]) / Max(request / 1000, n_1 - request),
    0 * tau_k["lone"] / request,
)

rollout_work = Formula(
    A_ro,
    k_gen
    * n_rd
    * (
        t_R * N_sam * (_slope * m_re / token + c_k["whole"] * (s_pr * m_re + E2_re / 2) / (request * token))
        + x_R * t_pr
    ),
    title="Part of a rollout that accelerators share",
    source=OWN,
    assumes="A step of an engine is a straight line in requests and cached tokens.",
    example=Example(
        {k_gen: 1.26, n_rd: 1, t_R: 4, N_sam: 2048, n_1: 256, tau_k["whole"]: 21.1795, tau_k["lone"]: 10.24, m_re: 3252,
         c_k["whole"]: 26.8, s_pr: 110, E2_re: 12054000, x_R: 32, t_pr: 0},
        "3206 s",
        derived="1.26 * 4 * 2048 * (42.9e-6 * 3252 + 26.8e-9 * (110 * 3252 + 12054000 / 2))",
    ),
)  # fmt: skip

update_work = Formula(
    U_up,
    (T_up + T_lp) * y_U,
    title="Updates and log-probabilities times accelerators",
    source=OWN,
    example=Example({T_up: 60, T_lp: 20, y_U: 64}, "5120 s", derived="80 * 64"),
)

trainer_unit = Formula(
    x_pip,
    Max(t * p * c_cp * r_dp, when(e > 1, rank_parameters.expert_tensor_ranks.expression * p * e * r_dp, 1)),
    title="Accelerators over which the trainer is laid out once",
    source=Source("narayanan2021", "section 3"),
    variant=POOLS,
    example=Example({t: 4, p: 4, c_cp: 1, r_dp: 1, e: 1, t_e: 0}, "16", derived="4 * 4"),
)

split_unit = Formula(
    x_gr,
    Max(
        when(n_fleet > n_node, n_node, 1),
        when(Eq(Mod(t_R, x_pip) * Mod(x_pip, t_R), 0), Max(t_R, x_pip), t_R * x_pip),
    ),
    title="Accelerators that may change pools",
    source=OWN,
    variant=POOLS,
    assumes="A whole replica on the one side, a whole copy of the trainer's layout on the other, and whole nodes where "
    "there are several; one of these is a multiple of the others.",
    example=Example({t_R: 4, x_pip: 16, n_fleet: 64, n_node: 8}, "16", derived="max(8, 4, 16)"),
)

half_split = Formula(
    x_half,
    x_gr * Max(1, floor(n_fleet / (2 * x_gr))),
    title="Split in halves",
    source=OWN,
    variant=POOLS,
    example=Example({n_fleet: 64, x_gr: 16}, "32", derived="16 * floor(64 / 32)"),
)


def _at_half(symbol: Any, target: Any, title: str, formulas: Any, variant: str) -> Formula:
    split = {x_R: x_half, y_U: Max(1, n_fleet - x_half)}
    return Formula(
        symbol, evaluated_at(target, split, formulas), title=title, source=OWN, variant=variant,
        no_example="another split",
    )  # fmt: skip


_ROLLING = {replica_samples, requests_left, empty_steps, token_costs, prompts_time, rollout_work}
_DRAINS, _STEADY = {*_ROLLING, draining_batch}, {*_ROLLING, steady_batch}
_UPDATING = (pool_trainer_ranks, sequences, update_step, update_pass, updates, logprobs, update_work)

half_rollout_work = _at_half(A_half, A_ro, "Part of a rollout that accelerators share, at half", _DRAINS, HALF)
steady_half_work = _at_half(
    A_half, A_ro, "Part of a rollout that accelerators share, at half, of an engine that never drains", _STEADY,
    ASYNCHRONOUS,
)  # fmt: skip
half_update_work = _at_half(U_half, U_up, "Updates and log-probabilities times accelerators, at half", _UPDATING, POOLS)

#: Steps of an empty engine as long as a response of mean length.
_mean_response = k_gen * n_rd * tau_k["lone"] * m_re / token
_EMPTY = {k_gen: 1.26, n_rd: 1, tau_k["lone"]: 10.24, m_re: 3252}
_STALE = eta_st + Rational(1, 2)

free_floor = Formula(
    h_free,
    k_gen * n_rd * tau_k["lone"] * L_free / token,
    title="Part of a rollout that no accelerator more shortens, with slots for all",
    source=OWN,
    variant=HALF,
    example=Example(
        {k_gen: 1.26, n_rd: 1, tau_k["lone"]: 10.24, L_free: 3986}, "51.4 s", derived="1.26 * 0.01024 * 3986"
    ),
)

steady_free_floor = Formula(
    h_free,
    _mean_response / _STALE,
    title="Part of a rollout that no accelerator more shortens, in an engine that never drains",
    source=OWN,
    variant=ASYNCHRONOUS,
    assumes="It runs as many requests as staleness allows, over all accelerators.",
    example=Example({**_EMPTY, eta_st: 1}, "27.97 s", derived="1.26 * 0.01024 * 3252 / 1.5"),
)

waiting_floor = Formula(
    h_w,
    Max(0, h_free - _mean_response / sig),
    title="Part of a rollout that no accelerator more shortens, where requests wait for slots",
    source=OWN,
    variant=HALF,
    assumes="Until the last requests have slots, steps are shared by accelerators: fewer of them take more.",
    example=Example({**_EMPTY, sig: 1, h_free: 51.4}, "9.44 s", derived="51.4 - 1.26 * 0.01024 * 3252"),
)

no_waiting_floor = Formula(
    h_w,
    Integer(0),
    title="Rollout of full engines that accelerators share whole",
    source=AREAL,
    variant=ASYNCHRONOUS,
    no_example="it is zero",
)


def _slotted(over: Any, example: Any, variant: str, answer: str, derived: str) -> Formula:
    return Formula(
        x_sl,
        over * t_R * N_sam / M_sl,
        title="Split below which requests wait for slots",
        source=OWN,
        variant=variant,
        example=Example({**example, t_R: 4, N_sam: 2048, M_sl: 256}, answer, derived=derived),
    )


slotted = _slotted(sig, {sig: 1.1}, HALF, "35.2", "1.1 * 4 * 2048 / 256")
steady_slotted = _slotted(_STALE, {eta_st: 1}, ASYNCHRONOUS, "48", "1.5 * 4 * 2048 / 256")

waiting_work = Formula(
    A_w,
    A_half + Max(0, h_free - h_w) * x_sl,
    title="Part of a rollout that accelerators share, where requests wait for slots",
    source=OWN,
    variant=POOLS,
    assumes="A rollout is as long with and without waiting where slots just suffice.",
    example=Example({A_half: 3206, h_free: 51.4, h_w: 9.44, x_sl: 16}, "3877.4 s", derived="3206 + 41.96 * 16"),
)

_PAGE_SPLIT = {h_free: 51.4, A_half: 3206, U_half: 5839, n_fleet: 64}
_WAITING = {h_w: 9.44, A_w: 3877.4, U_half: 5839, n_fleet: 64}


def _crossing(floor: Any, work: Any) -> Any:
    """Number of accelerators at which a rollout takes as long as the updates on the others."""
    gain = floor * n_fleet - work - U_half
    return Max(0, 2 * work * n_fleet / (sqrt(gain**2 + 4 * floor * work * n_fleet) - gain))


def _least_sum(work: Any) -> Any:
    """Number of accelerators that minimises a rollout plus the update that follows it."""
    return n_fleet * sqrt(work) / (sqrt(work) + sqrt(U_half))


overlapped_free = Formula(
    x_free,
    _crossing(h_free, A_half),
    title="Best split of a rollout beside an update, with slots for all",
    source=OWN,
    variant=AT_ONCE,
    assumes="Both take as long. A share of each is the same whatever the split.",
    example=Example(
        _PAGE_SPLIT, "28.4",
        derived="2 * 3206 * 64 / (sqrt(5755.4**2 + 4 * 51.4 * 3206 * 64) + 3206 + 5839 - 51.4 * 64)",
    ),
)  # fmt: skip

synchronous_free = Formula(
    x_free,
    _least_sum(A_half),
    title="Best split of a rollout before an update, with slots for all",
    source=OWN,
    variant=DISAGGREGATED,
    assumes="A share of each is the same whatever the split.",
    example=Example(
        {A_half: 3206, U_half: 5839, n_fleet: 64}, "27.2393", derived="64 * sqrt(3206) / (sqrt(3206) + sqrt(5839))"
    ),
)

overlapped_optimum = Formula(
    x_opt,
    Max(x_free, _crossing(h_w, A_w)),
    title="Best split of a rollout beside an update",
    source=OWN,
    variant=AT_ONCE,
    assumes="A rollout takes the longer of what it does with and without requests that wait.",
    example=Example(
        {x_free: 28.4, **_WAITING}, "28.4",
        derived="max(28.4, 2 * 3877.4 * 64 / (sqrt(9112.24**2 + 4 * 9.44 * 3877.4 * 64) + 9112.24))",
    ),
)  # fmt: skip

synchronous_optimum = Formula(
    x_opt,
    Max(x_free, Min(x_sl, _least_sum(A_w))),
    title="Best split of a rollout before an update",
    source=OWN,
    variant=DISAGGREGATED,
    assumes="A rollout takes the longer of what it does with and without requests that wait.",
    example=Example(
        {x_free: 22, x_sl: 44, A_w: 5222, U_half: 11968, n_fleet: 64}, "25.4586",
        derived="64 * sqrt(5222) / (sqrt(5222) + sqrt(11968))",
    ),
)  # fmt: skip

_most = Max(x_gr, n_fleet - x_gr)

below = Formula(
    x_dn,
    Min(_most, Max(x_gr, floor(x_opt / x_gr) * x_gr)),
    title="Split that layouts allow, below the best one",
    source=OWN,
    variant=POOLS,
    example=Example({x_opt: 28.4, x_gr: 8, n_fleet: 64}, "24", derived="8 * floor(28.4 / 8)"),
)

above = Formula(
    x_up,
    Min(_most, x_dn + x_gr),
    title="Split that layouts allow, above the best one",
    source=OWN,
    variant=POOLS,
    example=Example({x_dn: 24, x_gr: 8, n_fleet: 64}, "32", derived="24 + 8"),
)


def _whole(phases: Any, variant: str, answer: str) -> Formula:
    return Formula(
        x_best,
        when(phases(x_dn) <= phases(x_up), x_dn, x_up),
        title="Best split that layouts allow",
        source=OWN,
        variant=variant,
        assumes="The better neighbour of the best split of any share.",
        example=Example({**_PAGE_SPLIT, **_WAITING, x_dn: 24, x_up: 32}, answer, derived=answer),
    )


def _alone(rolling: Any) -> tuple[Any, Any]:
    """Times of the two pools."""
    return Max(h_free + A_half / rolling, h_w + A_w / rolling), U_half / Max(1, n_fleet - rolling)


best_overlapped = _whole(lambda rolling: Max(*_alone(rolling)), AT_ONCE, "32")
best_synchronous = _whole(lambda rolling: sum(_alone(rolling)), DISAGGREGATED, "24")

# --- memory ---------------------------------------------------------------------------------------

weights_of_trainer, gradients_of_trainer, states_of_trainer = (
    Formula(own, _of_trainer(target), title=title, source=Source("rajbhandari2020", "section 5"), no_example=TRAINED)
    for own, target, title in (
        (W_tr, W, "Weights of the policy on an accelerator that trains"),
        (G_tr, G, "Gradients of the policy on an accelerator that trains"),
        (O_tr, O, "Optimizer state of the policy on an accelerator that trains"),
    )
)

#: A frozen reference, whose log-probabilities are a second pass.
_reference = when(q_lp > 1, W_tr, 0 * W_tr)
_all_off = Eq(offload, label(offload, "all"))
_states = W_tr + G_tr + O_tr

trainer_memory = Formula(
    M_tr,
    _of_trainer(M) + when(_all_off, 0 * W_tr, _reference + _critic * _states),
    title="Memory of one accelerator while it trains",
    source=HYBRID,
    assumes="A reference, and a critic of the size of the policy, stay unless all is moved to the host.",
    no_example=TRAINED,
)

kept_of_trainer = Formula(
    M_res,
    by_label(
        offload,
        {
            "none": (1 + _critic) * _states + _reference,
            "optimizer": (1 + _critic) * (W_tr + G_tr) + _reference,
            "all": 0 * W_tr,
        },
    ),
    title="Memory that a trainer keeps while the same accelerator rolls out",
    source=HYBRID,
    variant=COLOCATED,
    example=Example(
        {offload: "optimizer", critic: "none", q_lp: 2, W_tr: 4, G_tr: 8, O_tr: 6}, "16 GB", derived="4 + 8 + 4"
    ),
)

nothing_kept = Formula(
    M_res,
    0 * W_tr,
    title="Memory of a trainer on an accelerator of its own",
    source=AREAL,
    variant=POOLS,
    no_example="it is zero",
)

rollout_memory = Formula(
    M_ro,
    u_gpu * DRIVER_MEMORY + M_res,
    title="Memory of one accelerator while it rolls out",
    source=Source("kwon2023", "section 4"),
    assumes="An engine takes its share for weights and caches, whatever it needs.",
    example=Example({u_gpu: 0.5, M_drv: 0, M_cap: 80, M_res: 16}, "56 GB", derived="0.5 * 80 + 16"),
)

host_memory = Formula(
    M_host,
    Min(n_node, n_fleet)
    * (
        W_R / t_R
        + by_label(
            offload,
            {"none": 0 * W_tr, "optimizer": (1 + _critic) * O_tr, "all": (1 + _critic) * _states + _reference},
        )
    ),
    title="Memory of the host of one node",
    source=HYBRID,
    variant=COLOCATED,
    assumes="What is moved there, and the weights of the engine while it sleeps.",
    accuracy="DeepSeek-V3 on 12 nodes of H20: 1,454 GB of 1,500 printed.",
    example=Example(
        {n_node: 8, n_fleet: 96, W_R: 1342, t_R: 32, offload: "all", critic: "none", q_lp: 2, W_tr: 13.979,
         G_tr: 27.958, O_tr: 83.875},
        "1453.8 GB",
        derived="8 * (1342 / 32 + 2 * 13.979 + 27.958 + 83.875)",
    ),
)  # fmt: skip

trainer_host_memory = Formula(
    M_host,
    Min(n_node, y_U) * when(_all_off, _reference + _critic * _states, 0 * W_tr),
    title="Memory of the host of one node that trains",
    source=AREAL,
    variant=POOLS,
    assumes="A policy that trains without end stays where it is; a reference and a critic may go to the host.",
    example=Example(
        {n_node: 8, y_U: 32, offload: "all", critic: "none", q_lp: 2, W_tr: 4, G_tr: 8, O_tr: 6}, "32 GB",
        derived="8 * 4",
    ),
)  # fmt: skip

rollout_room = Formula(
    M_roo,
    DRIVER_MEMORY,
    title="Memory that a rollout may take",
    source=Source("kwon2023", "section 4"),
    example=Example({M_drv: 85.06, M_cap: 85.52}, "85.06 GB", derived="85.06"),
)

trainer_room = Formula(
    M_too,
    _of_trainer(M_usable),
    title="Memory that training may take",
    source=HYBRID,
    no_example=TRAINED,
)

fits = Formula(
    feasible,
    And(M_ro <= M_roo, M_tr <= M_too, n_roo >= s_pr + C_re),
    title="Whether both phases fit",
    source=HYBRID,
    variant="post_training",
    assumes="The caches of a replica hold a response as long as the cap; what both phases need at the switch is not "
    "counted.",
    example=Example(
        {M_ro: 51.04, M_roo: 85.06, M_tr: 31.6, M_too: 85.06, n_roo: 498000, s_pr: 110, C_re: 3986}, "True",
        derived="498000 > 4096",
    ),
)  # fmt: skip

_trains = T_up + T_lp

longest_phase = Formula(
    phase_bottleneck,
    Piecewise(
        (label(phase_bottleneck, "Update memory"), M_tr > M_too),
        (label(phase_bottleneck, "Rollout memory"), Eq(feasible, 0)),
        (label(phase_bottleneck, "Sync"), T_syn > Max(T_ro, _trains)),
        (label(phase_bottleneck, "Update"), _trains > T_ro),
        (label(phase_bottleneck, "Longest response"), 2 * h_ro > T_ro),
        (label(phase_bottleneck, "Rollout"), True),
    ),
    title="The longest phase of a step",
    source=OWN,
    example=Example(
        {M_tr: 40, M_too: 80, feasible: 1, T_syn: 8, T_ro: 60, T_up: 30, T_lp: 20, h_ro: 40},
        "Longest response",
        derived="2 * 40 > 60",
    ),
)

FORMULAS = (
    samples,
    packed_length,
    cap_over_scale,
    response_scale,
    mean_square,
    cut_responses,
    longest_expected,
    longest_allowed,
    free_steps,
    started,
    steps_of_rollout,
    all_roll_out,
    all_train,
    some_roll_out,
    others_train,
    replica_samples,
    rollout_context,
    cache_room,
    steady_slots,
    draining_slots,
    draining_batch,
    steady_batch,
    full_steps,
    requests_left,
    positions,
    mean_tokens,
    mean_squares,
    empty_steps,
    token_costs,
    request_costs,
    drains,
    lone_request,
    full_time,
    prompts_time,
    rounds,
    rollout,
    steady_rollout,
    tail,
    shortest_rollout,
    packs,
    trainer_ranks,
    pool_trainer_ranks,
    sequences,
    fill,
    update_step,
    update_pass,
    updates,
    scoring,
    logprobs,
    synced_weights,
    engine_weights,
    refit,
    broadcast,
    overlapped,
    step,
    overlapped_step,
    rollout_waits,
    update_waits,
    overlapped_rollout_waits,
    overlapped_update_waits,
    sample_rate,
    token_rate,
    on_policy,
    one_behind,
    staleness_mean,
    rollout_busy,
    update_busy,
    rollout_arithmetic,
    update_arithmetic,
    busy,
    flop_share,
    steps_taken,
    tokens_of_steps,
    rollout_floor,
    no_floor,
    rollout_work,
    update_work,
    trainer_unit,
    split_unit,
    half_split,
    half_rollout_work,
    steady_half_work,
    half_update_work,
    free_floor,
    steady_free_floor,
    waiting_floor,
    no_waiting_floor,
    slotted,
    steady_slotted,
    waiting_work,
    overlapped_free,
    synchronous_free,
    overlapped_optimum,
    synchronous_optimum,
    below,
    above,
    best_overlapped,
    best_synchronous,
    weights_of_trainer,
    gradients_of_trainer,
    states_of_trainer,
    trainer_memory,
    kept_of_trainer,
    nothing_kept,
    rollout_memory,
    host_memory,
    trainer_host_memory,
    rollout_room,
    trainer_room,
    fits,
    longest_phase,
)


def _those(*variants: str) -> tuple[Formula, ...]:
    return tuple(formula for formula in FORMULAS if formula.variant in ("", "post_training", *variants))


#: The same accelerators roll out and train.
SHARED = _those(COLOCATED, DRAINING, ONE_BY_ONE, ON_POLICY)
#: A pool rolls out, then another trains.
SYNCHRONOUS = _those(DISAGGREGATED, DRAINING, POOLS, HALF, ONE_BY_ONE, ON_POLICY)
#: Both at once, on the samples of two steps.
OVERLAPPED = _those(ONE_STEP_OFF, DRAINING, POOLS, HALF, AT_ONCE)
#: Both at once, with an engine that never drains.
STEADY = _those(ASYNCHRONOUS, POOLS, AT_ONCE)
