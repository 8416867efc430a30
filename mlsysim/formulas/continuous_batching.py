"""Continuous batching

A replica works serially: it prefills one whole request, or makes one decode step for every request in its batch.
Prefill takes time from decoding, steps grow with the batch, and the batch grows with the load, so requests stay longer
on a busier replica. Requests join the replica with the fewest requests, and wait for a slot if all are taken. Request
sizes (prompt and output together) vary with a coefficient of variation; the p99 latency follows from three cumulants of
waiting, residence and size. No constant here is fitted.
"""

from __future__ import annotations

from typing import Any

from sympy import And, Dummy, Float, Ge, Lt, Piecewise, Rational, ceiling, floor, log, oo, sqrt

from mlsysim.formulas.mixer_times import DECODED
from mlsysim.formulas.mixers import (
    NOT_CHUNKED,
    READS_ALL,
    UNEVEN,
    elements,
    kept,
    read,
    scored,
    summed,
    windowed,
    windowed_read,
)
from mlsysim.formulas.parameter_counts import block_matrices, plain_layers
from mlsysim.formulas.training_memory import DRIVER_MEMORY
from mlsysim.symbolic import (
    ErlangC,
    Example,
    Formula,
    LeastInteger,
    Max,
    Min,
    SlotsBusy,
    Source,
    byte,
    evaluated_at,
    label,
    request,
    token,
    when,
)
from mlsysim.symbols.batching import (
    N_1,
    N_2,
    E_t,
    N_mean,
    S_res,
    T_alone,
    T_fit,
    T_light,
    V_res,
    Z_n,
    f_free,
    g99,
    k_b,
    k_exp,
    k_read,
    k_T,
    kv_read,
    lam_r,
    m_T,
    o_own,
    p_pre,
    phi,
    q_dec,
    rho_p,
    s_end,
    t_pre,
    theta,
    theta_pre,
    v_T,
    w_b,
    w_load,
    w_read,
    x_own,
    y_T,
)
from mlsysim.symbols.formats import M_mix, q_e, q_er, q_exp, q_ffn, q_head, q_l, q_mix, q_sh, q_w
from mlsysim.symbols.hardware import B_mem, F, M_cap, eta, tau_dispatch, tau_layer
from mlsysim.symbols.iteration import (
    M_com,
    M_drv,
    M_kv,
    M_pad,
    M_run,
    M_work,
    eta_kv,
    f_kv,
    m_col,
    m_row,
    n_kv,
    n_smp,
    q_smp,
    u_gpu,
    w_dec,
)
from mlsysim.symbols.mixers import sigma_st, t_each, w_ix, w_near, w_scan, y_K_w
from mlsysim.symbols.parameters import P_exp
from mlsysim.symbols.serving import (
    T99,
    W99,
    B_a,
    B_max,
    T_base,
    W_s,
    bottleneck,
    c,
    c_max,
    c_req,
    cv,
    flops_prefill,
    itl,
    kv_request,
    kv_token,
    mu,
    n_out,
    page,
    qps,
    t_step,
    target,
    ttft,
    wait_probability,
)
from mlsysim.symbols.sources import P_src, kappa_x, phi_src, s_all, w_x
from mlsysim.symbols.step import eta_mem, w_attn, w_head, w_lin
from mlsysim.symbols.training import feasible
from mlsysim.symbols.workload import (
    E,
    L,
    L_moe,
    L_mtp,
    L_nb,
    P,
    P_lk,
    V,
    d_e,
    d_ff,
    d_sh,
    gated,
    h,
    h_V,
    k,
    s,
    tied,
)

NAME = "prefill_aware"
ORCA = Source("yu2022", "section 3")
SARATHI = Source("agrawal2024", "section 3")
SIMULATED = "Capacity within 0.3% and P99 within 10% of a simulation on 44 of 45 settings (docs/validation.md)."

#: 99% quantile of the normal law.
Z99 = Float("2.326348")

_fits = B_a >= request
#: Decode steps of an answer: prefill gives its first token.
_answer = n_out / token - 1
_batch = B_a / request


def step(weights: Any, requests: Any) -> Any:
    """Decode step with this many requests: the slower of memory and compute, plus the layers' overheads."""
    return Max(weights + k_read * requests, phi * requests) + tau_layer * L


def gamma_quantile(spread: Any, normal: Any) -> Any:
    """Quantile of a gamma distribution with mean one and this coefficient of variation, from the normal quantile."""
    return Max(0, 1 - spread**2 / 9 + normal * spread / 3) ** 3


def gamma_normal(spread: Any, size: Any) -> Any:
    """Normal quantile at a value of the gamma distribution; bounded below, where it would be too steep."""
    return 3 / spread * (Max(Rational(1, 10**12), size) ** Rational(1, 3) - 1 + spread**2 / 9)


def sixth_of_skewness(known: Any, third: Any = k_T, variance: Any = v_T) -> Any:
    """Sixth of a latency's skewness, from its cumulants; at least a thousandth, also if they are unknown."""
    least = Rational(1, 1000)
    return when(And(known, variance > 0), Max(third / (6 * variance ** Rational(3, 2)), least), least)


def beyond_mean(normal: Any) -> Any:
    """Quantile of the latency over its mean, for a gamma distribution with its cumulants."""
    return sqrt(v_T) * (Max(0, 1 + (normal - y_T) * y_T) ** 3 - 1) / (3 * y_T)


def waits(probability: Any, mean: Any) -> tuple[Any, Any, Any]:
    """Three cumulants of a wait that is zero, or exponential with this probability."""
    return (
        probability * mean,
        probability * (2 - probability) * mean**2,
        2 * probability * (3 - 3 * probability + probability**2) * mean**3,
    )


#: Layers that predict further tokens and have experts.
_predicting = when(L_moe > 0, L_mtp)
_head = (1 - tied) * V * h_V
#: Weights that may have formats of their own, by the bytes of one, where these are given.
_apart = (
    (q_head, q_head, _head),
    (q_exp, q_er, (L_moe + _predicting) * E * P_exp),
    (q_sh, q_sh, (L_moe + _predicting) * summed(block_matrices(1, d_sh), elements)),
    (q_ffn, q_ffn, (plain_layers() + L_mtp - _predicting) * summed(block_matrices(1, d_ff), elements)),
    (q_mix, q_mix, M_mix * (1 + L_mtp / L)),
)

stored_weights = Formula(
    W_s,
    Max(
        q_w,
        q_w * Max(1, P - sum(when(given > 0, weights) for given, _, weights in _apart))
        + (q_e - q_w) * when(q_head > 0, 1, 2 - tied) * V * h_V
        + when(q_head > 0, 0, q_l - q_e) * _head
        + (q_e - q_w) * (P_lk + P_src)
        + sum(when(given > 0, stored * weights) for given, stored, weights in _apart),
    ),
    title="Weights one replica keeps in memory, in the formats of its checkpoint",
    source=Source("lin2024", "section 5.1"),
    variant=NAME,
    assumes="Embedding, head, encoders and towers keep 16 bit beside narrower weights; norms and routers are taken as "
    "the other weights. Matrices of mixers, blocks, experts and head may have formats of their own, and all else that "
    "of the weights.",
    accuracy="Checkpoints of gpt-oss to the byte, DeepSeek-V3 within 0.002%, a 4-bit one of Llama-3.1-8B within 1%.",
    example=Example(
        {P: 116829156672, P_lk: 0, q_w: 2, q_e: 2, tied: 0, V: 201088, h: 2880, h_V: 2880, q_head: 0, q_l: 2,
         q_exp: 0.53125, q_er: (0.53125 * 3 * 2880**2 + 2 * 3 * 2880) / 24891840, L: 36, L_moe: 36, L_mtp: 0, L_nb: 0,
         E: 128, P_exp: 24891840, q_sh: 0, d_sh: 0, q_ffn: 0, d_ff: 0, q_mix: 0, M_mix: 955514880, P_src: 0,
         gated: 1},
        "60.8 GiB",
        Source("openai2025", "table 1: gpt-oss-120b, printed as 60.8 GiB"),
    ),
)  # fmt: skip

peak_seq_len = Formula(
    s_end,
    ceiling((s + n_out) / page) * page,
    title="Prompt and answer in whole pages",
    source=Source("kwon2023", "section 4.1"),
    example=Example({s: 1000, n_out: 201, page: 16}, "1216 token", derived="ceil((1000 + 201) / 16) * 16"),
)

kv_bytes_per_request = Formula(
    kv_request,
    kv_token * kept(s_end) / request,
    title="KV cache of one request at the end of its answer",
    source=Source("kwon2023", "section 3"),
    variant=NAME,
    assumes="Room is kept for the whole answer, so that no request is put off half way. A layer with a sliding window "
    "keeps the tokens in it; recurrent mixers keep a state, however long the request is.",
    example=Example(
        {kv_token: 819.2, s_end: 2048, **windowed(0, 0)},
        "1.6 GiB/request",
        Source("kwon2023", "section 3: OPT-13B, printed as 1.6 GB"),
    ),
)

kv_bytes_read = Formula(
    kv_read,
    kv_token * read(s + n_out / 2) / request + 2 * sigma_st + kappa_x,
    title="KV cache a decode step reads for one request",
    source=ORCA,
    assumes="The context grows by a token per step; its mean over the answer is taken, up to the window where "
    "a layer has one. The state of a recurrent mixer is read and written, keys and values of a source are read.",
    accuracy=DECODED,
    example=Example(
        {kv_token: 128, s: 1000, n_out: 200, **windowed_read(16, 512, of=32), **NOT_CHUNKED},
        "0.103168 GB/request",
        derived="128e3 * ((1000 + 200 / 2) / 2 + 512 / 2) / 1e9",
    ),
)


def touched(tokens: Any, experts: Any = E) -> Any:
    """Distinct experts of a layer chosen by this many tokens, each at random."""
    return experts * (1 - (1 - k / experts) ** tokens)


def reading(experts: Any) -> Any:
    """Time to read the weights of a decode step that uses this many experts per layer."""
    return (W_s - q_er * L_moe * (E - experts) * P_exp) / (eta_mem * B_mem)


def _padded(size: Any, multiple: Any) -> Any:
    return ceiling(size / Max(1, multiple)) * Max(1, multiple) / size


def cache_memory(weights: Any, ranks: Any = 1) -> Any:
    """Memory for keys and values: part of the engine's share (vLLM), or of what weights leave free (TensorRT-LLM)."""
    usable = DRIVER_MEMORY - M_work
    exchanging = 0 if ranks == 1 else when(ranks > 1, M_com, 0)
    return f_kv * (u_gpu * ranks * usable - weights - M_pad - ranks * (M_run + exchanging + q_smp * n_smp * V))


expert_padding = Formula(
    M_pad,
    when(q_er < byte, q_er * L_moe * E * P_exp * Max(0, _padded(h, m_row) * _padded(Max(1, d_e), m_col) - 1)),
    title="Memory of what kernels pad the matrices of experts with",
    source=Source("kwon2023", "section 4"),
    assumes="Rows and columns of formats below a byte are rounded up to tiles.",
    example=Example(
        {q_er: 0.5325, L_moe: 36, E: 128, P_exp: 24891840, h: 2880, m_row: 256, d_e: 2880, m_col: 128},
        "5.5197 GB",
        derived="0.5325 * 36 * 128 * 24891840 / 1e9 * (3072 * 2944 / 2880**2 - 1)",
    ),
)

kv_memory = Formula(
    M_kv,
    cache_memory(W_s),
    title="Memory for keys and values of a replica",
    source=Source("kwon2023", "section 4"),
    variant=NAME,
    assumes="Engines take a share of the memory (vLLM), or a share of what weights leave of it (TensorRT-LLM). "
    "Sampling has the logits of all its requests whole, and is the peak of the largest step.",
    example=Example(
        {f_kv: 1, u_gpu: 0.95, M_cap: 85.9, M_drv: 85.06, M_work: 0, W_s: 65.25, M_run: 0.5, q_smp: 26, n_smp: 1024,
         V: 201088, M_pad: 5.5197},
        "4.1835 GB",
        derived="0.95 * 85.06 - 65.25 - 5.5197 - 0.5 - 26 * 1024 * 201088 / 1e9",
    ),
)  # fmt: skip

active_batch_size = Formula(
    B_a,
    Max(0, Min(B_max, floor(M_kv / kv_request))),
    title="Requests one replica decodes together, in the memory an engine takes",
    source=Source("kwon2023", "section 4"),
    variant=NAME,
    example=Example(
        {B_max: 256, M_kv: 61.25, kv_request: 0.25}, "245 request", derived="floor(61.25 / 0.25)",
    ),
)  # fmt: skip

kv_cache_tokens = Formula(
    n_kv,
    Max(0, when(UNEVEN, M_kv * (s + n_out) / (kv_request * request), M_kv / kv_token)),
    title="Tokens whose keys and values fit beside the weights of a replica",
    source=Source("kwon2023", "section 4"),
    variant=NAME,
    assumes="Layers with a window keep no more than it. Requests are as long as their prompts and answers, each "
    "with its state and what it attends to beside.",
    example=Example(
        {M_kv: 61.25, kv_token: 131.072, y_K_w: 0, sigma_st: 0, kappa_x: 0, s: 1000, n_out: 1000, kv_request: 0.2},
        "467300 token",
        derived="61.25 / 131.072e-6",
    ),
)  # fmt: skip

touched_experts = Formula(
    E_t,
    when(_fits, touched(_batch), k),
    title="Experts a decode step of the full batch reads",
    source=Source("fedus2022", "section 2"),
    assumes="Each token picks its experts at random.",
    example=Example({B_a: 4, E: 8, k: 2}, "5.46875", derived="8 * (1 - (1 - 2 / 8)**4)"),
)

prefill_work = Formula(
    flops_prefill,
    s * (w_lin + w_attn + w_x * s_all * request) + token * w_head + phi_src * request,
    title="Arithmetic to prefill one request",
    source=Source("kaplan2020", "section 2.1"),
    variant=NAME,
    assumes="Only active parameters work, on the scores the mask leaves. The look-up of the embedding multiplies "
    "nothing, and the head works on the one token that is sampled. Encoders and towers read their sources first.",
    convention="One request; the first-order form counts the whole batch.",
    example=Example(
        {s: 1000, w_lin: 14e9, w_attn: 0.26e9, w_head: 1e9, w_x: 0, s_all: 0, phi_src: 0},
        "14.261 TFLOP",
        derived="(1000 * (14e9 + 0.26e9) + 1e9) / 1e12",
    ),
)

prefill_time = Formula(
    t_pre,
    Max((flops_prefill - s * w_scan) / (F * eta), W_s / (eta_mem * B_mem)) + tau_dispatch + s * t_each,
    title="Time to prefill one request",
    source=SARATHI,
    variant=NAME,
    assumes="Bound by arithmetic, or by reading the weights once; prompts are neither batched nor chunked. Scans of "
    "recurrent mixers move bytes, and follow.",
    example=Example(
        {flops_prefill: 16.5, F: 1000, eta: 0.5, W_s: 16, eta_mem: 0.8, B_mem: 3000, tau_dispatch: 7, s: 1024,
         w_scan: 0, t_each: 0},
        "40.00 ms",
        derived="max(16.5 / (1000 * 0.5), 16 / (0.8 * 3000)) * 1000 + 7",
    ),
)  # fmt: skip

step_weights_time = Formula(
    w_read,
    reading(E_t),
    title="Reading the weights in a decode step of the full batch",
    source=Source("pope2023", "section 2"),
    variant=NAME,
    assumes="Everything but the experts that no token goes to; the embedding is counted whole.",
    example=Example(
        {W_s: 94, q_er: 2, L_moe: 32, E: 8, E_t: 5.5, P_exp: 1.75e8, eta_mem: 0.8, B_mem: 3000},
        "27.50 ms",
        derived="(94 - 2 * 32 * (8 - 5.5) * 0.175) / (0.8 * 3)",
    ),
)

step_kv_time = Formula(
    k_read,
    kv_read * request / (eta_kv * B_mem),
    title="Reading the KV cache of one request in a decode step",
    source=Source("pope2023", "section 2"),
    variant=NAME,
    example=Example({kv_read: 0.15, eta_kv: 0.8, B_mem: 3000}, "0.06250 ms", derived="0.15 / (0.8 * 3)"),
)

step_compute_time = Formula(
    phi,
    token * (w_lin + w_head + w_dec * scored(s + n_out / 2) + w_x * s_all * request) / (F * eta),
    title="Computing the token of one request in a decode step",
    source=Source("pope2023", "section 2"),
    example=Example(
        {
            w_near: 0,
            w_ix: 0,
            w_x: 0,
            s_all: 0,
            w_lin: 15e9,
            w_head: 1e9,
            w_dec: 500000,
            s: 10000,
            n_out: 4000,
            F: 1000,
            eta: 0.5,
            **READS_ALL,
        },
        "0.04400 ms",
        derived="(15e9 + 1e9 + 500000 * (10000 + 4000 / 2)) / (1e15 * 0.5) * 1000",
    ),
)

decode_step_time = Formula(
    t_step,
    when(_fits, step(w_read, _batch), oo),
    title="One decode step of the full batch",
    source=SARATHI,
    variant=NAME,
    assumes="Bound by reading weights and caches, or by arithmetic. Infinite where not one request fits.",
    example=Example(
        {B_a: 16, w_read: 5, k_read: 0.05, phi: 0.033, tau_layer: 0.01, L: 32},
        "6.120 ms",
        derived="max(5 + 0.05 * 16, 0.033 * 16) + 0.01 * 32",
    ),
)

request_rate = Formula(
    mu,
    when(_fits, request / (t_pre + _answer * t_step / _batch), 0),
    title="Requests one replica completes per second, prefill included",
    source=SARATHI,
    variant=NAME,
    assumes="A request takes its own prefill and its share of the decode steps of a full batch.",
    accuracy=SIMULATED,
    example=Example(
        {B_a: 16, t_pre: 40, n_out: 201, t_step: 6.4}, "8.3333 QPS", derived="1000 / (40 + 200 * 6.4 / 16)"
    ),
)

base_latency = Formula(
    T_base,
    when(_fits, t_pre + _answer * step(reading(k), 1), oo),
    title="Latency of a request of mean size on an idle replica",
    source=SARATHI,
    variant=NAME,
    assumes="Prefill gives the first token, each further one takes a step, which alone reads k experts of a layer.",
    example=Example(
        {B_a: 16, t_pre: 40, n_out: 201, W_s: 97.2, q_er: 2, L_moe: 32, E: 8, k: 2, P_exp: 1.75e8, eta_mem: 1,
         B_mem: 3000, k_read: 0.05, phi: 0.033, tau_layer: 0.01, L: 32},
        "2114.0 ms",
        derived="40 + 200 * (max((97.2 - 2 * 32 * (8 - 2) * 0.175) / 3 + 0.05, 0.033) + 0.01 * 32)",
    ),
)  # fmt: skip

replica_arrival_rate = Formula(
    lam_r,
    when(qps < c * mu, qps / (c * request), 0),
    title="Requests arriving at one replica",
    source=Source("gross2008", "section 2.3"),
    assumes="Requests are spread evenly. 0 stands for no steady state, where nothing that follows is used.",
    example=Example({qps: 18, c: 3, mu: 8}, "6.000 1/s", derived="18 / 3"),
)

_tax = tau_layer * L


def crowd(weights: Any, each: Any) -> Any:
    """Mean batch size if a step takes ``weights + each * n``."""
    return lam_r * _answer * weights / (1 - lam_r * (t_pre + _answer * each))


def batch_next(size: Any) -> Any:
    """Mean batch size if steps read the experts chosen by a batch of this size."""
    return Max(1, Min(_batch, crowd(reading(touched(size)) + _tax, k_read)))


first_batch_estimate = Formula(
    N_1,
    batch_next(_batch),
    title="Mean number in the batch, if every step read as many experts as a full one",
    source=Source("little1961"),
    variant=NAME,
    assumes="Reading binds. Without experts this is the mean itself.",
    example=Example(
        {B_a: 4, lam_r: 1, n_out: 201, t_pre: 40, W_s: 50.4, q_er: 2, L_moe: 32, E: 4, k: 2, P_exp: 1.5e8,
         eta_mem: 1, B_mem: 3000, k_read: 0.05, tau_layer: 0.025, L: 40},
        "3.5789",
        derived="1 * 200 * ((50.4 - 2 * 32 * 4 * 0.5**4 * 0.15) / 3000 + 0.001) / (1 - 1 * (0.04 + 200 * 0.00005))",
    ),
)  # fmt: skip

second_batch_estimate = Formula(
    N_2,
    batch_next(N_1),
    title="Mean number in the batch, second estimate",
    source=Source("little1961"),
    variant=NAME,
    example=Example(
        {N_1: 3, B_a: 16, lam_r: 2, n_out: 201, t_pre: 40, W_s: 49.8, q_er: 2, L_moe: 32, E: 4, k: 2, P_exp: 1.5e8,
         eta_mem: 1, B_mem: 3000, k_read: 0.05, tau_layer: 0.025, L: 40},
        "7.1111",
        derived="2 * 200 * ((49.8 - 2 * 32 * 4 * 0.5**3 * 0.15) / 3000 + 0.001) / (1 - 2 * (0.04 + 200 * 0.00005))",
    ),
)  # fmt: skip

mean_batch = Formula(
    N_mean,
    batch_next(N_2),
    title="Mean number in the batch",
    source=Source("little1961"),
    variant=NAME,
    assumes="The third step of a fixed-point iteration, which has settled where it matters.",
    example=Example(
        {N_2: 2, B_a: 16, lam_r: 1, n_out: 201, t_pre: 40, W_s: 54.6, q_er: 2, L_moe: 32, E: 4, k: 2, P_exp: 1.5e8,
         eta_mem: 1, B_mem: 3000, k_read: 0.05, tau_layer: 0.025, L: 40},
        "3.3684",
        derived="1 * 200 * ((54.6 - 2 * 32 * 4 * 0.5**2 * 0.15) / 3000 + 0.001) / (1 - 1 * (0.04 + 200 * 0.00005))",
    ),
)  # fmt: skip

_idle = 1 - k / E

step_experts_time = Formula(
    k_exp,
    when(k < E, -q_er * L_moe * E * P_exp / (eta_mem * B_mem) * log(_idle) * _idle ** (N_mean + 1), 0),
    title="Reading the experts that one more request adds to a step",
    source=Source("fedus2022", "section 2"),
    variant=NAME,
    assumes="The slope at the batch that a request meets, itself included.",
    example=Example(
        {k: 2, E: 4, q_er: 2, L_moe: 32, P_exp: 1.5e8, eta_mem: 1, B_mem: 3000, N_mean: 3},
        "0.55452 ms",
        derived="2 * 32 * 4 * 0.15 / 3 * log(2) * 0.5**4",
    ),
)

weights_at_load = Formula(
    w_load,
    reading(touched(N_mean + 1)) - k_exp * (N_mean + 1),
    title="Reading the weights in a decode step at this load",
    source=Source("fedus2022", "section 2"),
    variant=NAME,
    assumes="The experts a batch reads, as a straight line through the batch that a request meets.",
    accuracy="Mixtures of experts: P99 within 10% of the simulation, 31% high on one replica with few experts at a "
    "tenth of its load.",
    example=Example(
        {W_s: 50.4, q_er: 2, L_moe: 32, E: 4, k: 2, P_exp: 1.5e8, eta_mem: 1, B_mem: 3000, N_mean: 3, k_exp: 0.5},
        "14.000 ms",
        derived="(50.4 - 2 * 32 * 4 * 0.5**4 * 0.15) / 3 - 0.5 * 4",
    ),
)

_compute_binds = And(
    lam_r * (t_pre + _answer * phi) < 1,
    crowd(_tax, phi) > crowd(w_load + _tax, k_read + k_exp),
)

step_floor = Formula(
    w_b,
    when(_compute_binds, _tax, w_load + _tax),
    title="Decode step of an empty batch",
    source=Source("williams2009"),
    assumes="The ceiling that binds is the one with more requests in the batch.",
    accuracy="Where a batch turns from reading to computing at its mean size, the P99 is up to 39% low at high load.",
    example=Example(
        {lam_r: 6, n_out: 201, t_pre: 40, phi: 0.03, tau_layer: 0.025, L: 40, w_load: 2, k_read: 0.04, k_exp: 0.01},
        "3.000 ms",
        derived="(2 + 0.025 * 40) * (6 * 200 * 0.003 / (1 - 6 * (0.04 + 200 * 0.00005)) "
        ">= 6 * 200 * 0.001 / (1 - 6 * (0.04 + 200 * 0.00003)))",
    ),
)

step_slope = Formula(
    k_b,
    when(_compute_binds, phi, k_read + k_exp),
    title="What each request adds to a decode step",
    source=Source("williams2009"),
    example=Example(
        {lam_r: 6, n_out: 201, t_pre: 40, phi: 0.5, tau_layer: 0.025, L: 40, w_load: 2, k_read: 0.04, k_exp: 0.01},
        "0.5000 ms",
        derived="0.5 * (6 * 200 * 0.003 / (1 - 6 * (0.04 + 200 * 0.00005)) "
        "< 6 * 200 * 0.001 / (1 - 6 * (0.04 + 200 * 0.0005)))",
    ),
)

exclusive_work = Formula(
    x_own,
    t_pre + _answer * k_b,
    title="Time of the replica that one request takes alone",
    source=SARATHI,
    example=Example({t_pre: 40, n_out: 201, k_b: 0.05}, "50.00 ms", derived="40 + 200 * 0.05"),
)

prefill_load = Formula(
    rho_p,
    lam_r * t_pre,
    title="Share of the replica's time spent on prefill",
    source=SARATHI,
    example=Example({lam_r: 6, t_pre: 40}, "0.2400", derived="6 * 0.04"),
)

decode_share = Formula(
    q_dec,
    1 - rho_p,
    title="Share of the replica's time left to decode",
    source=SARATHI,
    example=Example({rho_p: 0.24}, "0.7600", derived="1 - 0.24"),
)

free_share = Formula(
    f_free,
    when(And(_fits, n_out > token), Max(1 - lam_r * x_own, (1 - lam_r * request / mu) / _batch), 1),
    title="Share of the replica's time that other requests leave free",
    source=Source("kleinrock1976", "section 4.4"),
    assumes="1 where prefill is the whole answer, and requests are served one after the other; never less than "
    "what is free over the slots, where the batch ends.",
    example=Example(
        {B_a: 16, n_out: 201, lam_r: 6, x_own: 50, mu: 8}, "0.7000", derived="max(1 - 6 * 0.05, (1 - 6 / 8) / 16)"
    ),
)

_bunch = rho_p / q_dec

arrival_noise = Formula(
    Z_n,
    1 + _bunch + (1 + cv**2) * _bunch**2 / 2,
    title="Spread of the number in the batch over that of single arrivals",
    source=Source("kleinrock1975", "section 2.5"),
    assumes="A prefill stops all decoding, so requests come to the batch in bunches.",
    example=Example({rho_p: 0.2, q_dec: 0.8, cv: 1}, "1.3125", derived="1 + 0.2 / 0.8 + (1 + 1) * (0.2 / 0.8)**2 / 2"),
)

_tail = 1 / ((1 - lam_r * request / mu) * (1 - t_pre * mu / request))

slots_busy = Formula(
    wait_probability,
    when(
        And(lam_r > 0, n_out > token),
        SlotsBusy(
            c * _batch,
            c * lam_r * _answer * w_b / q_dec,
            lam_r * _answer * k_b / q_dec,
            1 / Z_n,
            _tail,
        ),
        when(qps < c * mu, 0, 1),
    ),
    title="Probability that a request finds every slot taken",
    source=Source("kleinrock1975", "section 3.2"),
    variant=NAME,
    assumes="A birth-death chain of the requests in all replicas, kept level by the dispatcher; widened for bunches. "
    "An answer of one token takes no slot.",
    example=Example(
        {B_a: 2, c: 1, lam_r: 1, qps: 1, mu: 2, t_pre: 200, q_dec: 0.8, n_out: 101, w_b: 8, k_b: 0.8, Z_n: 2},
        "0.56929",
        derived="sqrt(1.1 * 1.2 / 2) / (0.5 * 0.6) / (1 + sqrt(1.1) + sqrt(1.1 * 1.2 / 2) / (0.5 * 0.6))",
    ),
)

slot_wait = Formula(
    theta,
    when(lam_r > 0, (1 + cv**2) / 2 * request / (c * mu - qps), 0),
    title="Mean wait of a request that finds every slot taken",
    source=Source("kingman1961"),
    example=Example(
        {lam_r: 6, cv: 0.5, c: 3, mu: 8, qps: 18}, "104.17 ms", derived="(1 + 0.5**2) / 2 / (3 * 8 - 18) * 1000"
    ),
)

prefill_wait_probability = Formula(
    p_pre,
    when(rho_p > 0, ErlangC(c, c * rho_p), 0),
    title="Probability that another prefill is under way",
    source=Source("erlang1917"),
    example=Example({rho_p: 0.6, c: 2}, "0.4500", derived="1.2**2 / (2 - 1.2) / (1 + 1.2 + 1.2**2 / (2 - 1.2))"),
)

prefill_wait = Formula(
    theta_pre,
    (1 + cv**2) / 2 * t_pre / (c * q_dec * f_free),
    title="Mean wait of a request that finds another prefill under way",
    source=Source("kingman1961"),
    assumes="Those who arrive meanwhile are prefilled before the first decode step.",
    example=Example(
        {cv: 0.5, t_pre: 40, c: 2, q_dec: 0.8, f_free: 0.5},
        "31.25 ms",
        derived="(1 + 0.5**2) / 2 * 40 / (2 * 0.8 * 0.5)",
    ),
)

own_share = Formula(
    o_own,
    1 / c + (c - 1 / c) / (6 * Max(lam_r * c * (_answer * w_b + x_own), c)),
    title="Part of its own work that a request adds to the replica it joins",
    source=Source("kleinrock1976", "section 4.4"),
    assumes="Level replicas share the disturbance; the second term is the mean of the remainder.",
    example=Example(
        {c: 2, lam_r: 6, n_out: 201, w_b: 3, x_own: 50},
        "0.53205",
        derived="1 / 2 + (2 - 1 / 2) / (6 * max(2 * 6 * (200 * 0.003 + 0.05), 2))",
    ),
)

undisturbed_time = Formula(
    T_alone,
    Max(T_base, _answer * w_b + x_own),
    title="Time of a request that others do not hold up",
    source=SARATHI,
    assumes="With experts a step at this load reads more of them than one request alone would.",
    example=Example({T_base: 600, n_out: 201, w_b: 3, x_own: 50}, "650.0 ms", derived="max(600, 200 * 3 + 50)"),
)

residence_time = Formula(
    S_res,
    when(_fits, Max(T_alone, (_answer * w_b + x_own * o_own * (1 - wait_probability)) / f_free), oo),
    title="Mean time of a request in the batch",
    source=Source("little1961"),
    assumes="Little's law on the chain, cut where the slots end; on one replica with room it is processor sharing.",
    example=Example(
        {B_a: 16, T_alone: 650, n_out: 201, w_b: 3, x_own: 50, o_own: 0.5, wait_probability: 0.1, f_free: 0.7},
        "889.29 ms",
        derived="max(650, (200 * 3 + 50 * 0.5 * (1 - 0.1)) / 0.7)",
    ),
)

residence_variance = Formula(
    V_res,
    when(
        And(lam_r > 0, n_out > token),
        (1 - wait_probability)
        * lam_r
        * S_res
        / c
        * (
            (1 + cv**2) * t_pre**2 / q_dec**2
            + (1 + cv**2) * t_pre * _answer * k_b / q_dec**3
            + Z_n * (_answer * k_b) ** 2 / (f_free * q_dec)
        ),
    ),
    title="Variance of that time by what other requests do",
    source=Source("campbell1909"),
    assumes="Prefills interrupt as shot noise, directly and through the batch, which keeps its level meanwhile.",
    example=Example(
        {lam_r: 6, n_out: 201, wait_probability: 0.1, S_res: 900, c: 2, cv: 0.5, t_pre: 40, q_dec: 0.8, k_b: 0.05,
         Z_n: 1.3, f_free: 0.7},
        "0.010531 s^2",
        derived="0.9 * 6 * 0.9 / 2 * (1.25 * 0.04**2 / 0.8**2 + 1.25 * 0.04 * 0.01 / 0.8**3 "
        "+ 1.3 * 0.01**2 / (0.7 * 0.8))",
    ),
)  # fmt: skip

_slot = waits(wait_probability, theta)
_prefill = tuple((1 - wait_probability) * part for part in waits(p_pre, theta_pre))

mean_latency = Formula(
    m_T,
    when(And(_fits, qps < c * mu), _slot[0] + _prefill[0] + S_res, oo),
    title="Mean latency of a request",
    source=Source("little1961"),
    assumes="Infinite where the deployment cannot keep up.",
    example=Example(
        {B_a: 16, qps: 18, c: 3, mu: 8, wait_probability: 0.1, theta: 100, p_pre: 0.2, theta_pre: 20, S_res: 900},
        "913.6 ms",
        derived="0.1 * 100 + 0.9 * 0.2 * 20 + 900",
    ),
)

latency_variance = Formula(
    v_T,
    when(_fits, _slot[1] + _prefill[1] + cv**2 * S_res**2 + V_res, oo),
    title="Variance of the latency",
    source=Source("gross2008", "section 1.6"),
    variant=NAME,
    assumes="Waits, stay and size are independent; a stay grows in proportion to the size.",
    example=Example(
        {B_a: 16, wait_probability: 0.1, theta: 100, p_pre: 0.2, theta_pre: 100, cv: 0.5, S_res: 900, V_res: 0.01},
        "0.21764 s^2",
        derived="0.1 * (2 - 0.1) * 0.1**2 + 0.9 * 0.2 * (2 - 0.2) * 0.1**2 + 0.5**2 * 0.9**2 + 0.01",
    ),
)

latency_third_cumulant = Formula(
    k_T,
    when(
        _fits,
        _slot[2]
        + _prefill[2]
        + 2 * cv**4 * S_res**3
        + 3 * cv**2 * S_res * V_res
        + V_res**2 / Max(S_res - T_alone + _prefill[0], x_own),
        oo,
    ),
    title="Third cumulant of the latency",
    source=Source("campbell1909"),
    variant=NAME,
    assumes="Gamma sizes; interruptions as a scaled Poisson law of at least one.",
    example=Example(
        {B_a: 16, wait_probability: 0.1, theta: 100, p_pre: 0.2, theta_pre: 100, cv: 0.5, S_res: 900, V_res: 0.01,
         T_alone: 650, x_own: 50},
        "0.099669 s^3",
        derived="2 * 0.1 * 2.71 * 0.1**3 + 0.9 * 2 * 0.2 * 2.44 * 0.1**3 + 2 * 0.5**4 * 0.9**3 "
        "+ 3 * 0.5**2 * 0.9 * 0.01 + 0.01**2 / max(0.9 - 0.65 + 0.9 * 0.2 * 0.1, 0.05)",
    ),
)  # fmt: skip

latency_skewness = Formula(
    y_T,
    sixth_of_skewness(_fits),
    title="Sixth of the skewness of the latency",
    source=Source("wilson1931"),
    variant=NAME,
    assumes="Never below a thousandth, where the law is normal.",
    example=Example({B_a: 16, k_T: 0.1, v_T: 0.25}, "0.13333", derived="max(0.1 / (6 * 0.25**1.5), 0.001)"),
)

fitted_p99 = Formula(
    T_fit,
    when(And(_fits, v_T > 0), m_T + beyond_mean(Z99), m_T),
    title="99% quantile of the gamma law with these cumulants",
    source=Source("wilson1931"),
    assumes="Wilson and Hilferty's cube of a normal variate: 0.1% off for an exponential law, 4% low for a coefficient "
    "of variation of 2.",
    example=Example(
        {B_a: 16, m_T: 900, v_T: 0.25, y_T: 0.2},
        "2479.4 ms",
        derived="900 + 500 * ((1 + (2.326348 - 0.2) * 0.2)**3 - 1) / (3 * 0.2)",
    ),
)

size_quantile = Formula(
    g99,
    gamma_quantile(cv, Z99),
    title="Size that 99% of the requests stay below",
    source=Source("wilson1931"),
    assumes="Sizes follow a gamma law; 1 where all are alike.",
    example=Example({cv: 1}, "4.6", Source("wilson1931", "exponential law: ln 100 = 4.605")),
)

light_load_p99 = Formula(
    T_light,
    T_base * g99,
    title="Latency 99% of the requests stay below on an idle deployment",
    source=SARATHI,
    example=Example({T_base: 600, g99: 2.5}, "1500 ms", derived="600 * 2.5"),
)

queue_wait = Formula(
    W99,
    when(qps < c * mu, theta * log(Max(1, 100 * wait_probability)), oo),
    title="Wait for a slot that 99% of the requests stay below",
    source=Source("gross2008", "section 2.3"),
    variant=NAME,
    example=Example(
        {qps: 18, c: 3, mu: 8, theta: 100, wait_probability: 0.1}, "230.26 ms", derived="100 * log(100 * 0.1)"
    ),
)

p99_latency = Formula(
    T99,
    when(
        And(_fits, qps < c * mu),
        Max(T_light, when(n_out > token, Min(T_fit, B_a / mu * g99 + W99), T_fit)),
        oo,
    ),
    title="Latency 99% of the requests stay below",
    source=Source("wilson1931"),
    variant=NAME,
    assumes="Between the latency of an idle deployment and, where there is decoding, that of full batches with the "
    "wait for a slot. Infinite where the deployment cannot keep up.",
    accuracy=SIMULATED + " Where prefill is more than nine tenths of the service, 12% of the cases tried are more "
    "than 20% off, the worst by a factor of two; from 98% on, next to saturation, it can be far too low.",
    example=Example(
        {B_a: 16, qps: 18, c: 3, mu: 8, n_out: 201, T_light: 1500, T_fit: 2240, g99: 2.5, W99: 230},
        "2240 ms",
        derived="max(1500, min(2240, 16 / 8 * 1000 * 2.5 + 230))",
    ),
)

#: What the P99 needs that depends on the number of replicas, in order.
BY_REPLICAS = (
    replica_arrival_rate,
    first_batch_estimate,
    second_batch_estimate,
    mean_batch,
    step_experts_time,
    weights_at_load,
    step_floor,
    step_slope,
    exclusive_work,
    prefill_load,
    decode_share,
    free_share,
    arrival_noise,
    slots_busy,
    slot_wait,
    prefill_wait_probability,
    prefill_wait,
    own_share,
    undisturbed_time,
    residence_time,
    residence_variance,
    mean_latency,
    latency_variance,
    latency_third_cumulant,
    latency_skewness,
    fitted_p99,
    queue_wait,
    p99_latency,
)

_n = Dummy("n", integer=True, positive=True)

required_replicas = Formula(
    c_req,
    LeastInteger(_n, And(qps < _n * mu, evaluated_at(T99, {c: _n}, BY_REPLICAS) <= target), c_max),
    title="Fewest replicas that meet the target",
    source=Source("gross2008", "section 2.3"),
    variant=NAME,
    assumes="The P99 falls as replicas are added, so the least number is found by bisection. Its closed form can rise "
    "by about 1% on the way, and by more where prefill is nearly all of the service.",
    example=Example(
        {B_a: 16, qps: 8, mu: 10, c_max: 64, target: 500, n_out: 1, cv: 0, t_pre: 100, T_base: 100, T_light: 100,
         g99: 1, W_s: 15, q_er: 2, L_moe: 0, E: 1, k: 1, P_exp: 0, eta_mem: 1, B_mem: 3000, k_read: 0.05, phi: 0.03,
         tau_layer: 0.01, L: 32},
        "2",
        derived="1 + (100 + 0.8 * 250 + 3.663 * sqrt(0.8 * 1.2) * 250 > 500 "
        ">= 100 + 0.2286 * 41.67 + 4.18 * sqrt(0.2286 * 1.7714) * 41.67)",
    ),
)  # fmt: skip

inter_token_latency = Formula(
    itl,
    when(_fits, when(n_out > token, (S_res - t_pre) / _answer, 0), oo),
    title="Inter-token latency at this load",
    source=SARATHI,
    variant=NAME,
    assumes="Mean over the answer; steps stand still while others are prefilled. 0 where there is one token.",
    example=Example({B_a: 16, n_out: 201, S_res: 900, t_pre: 40}, "4.300 ms", derived="(900 - 40) / 200"),
)

time_to_first_token = Formula(
    ttft,
    when(_fits, t_pre + _slot[0] + _prefill[0], oo),
    title="Mean time to first token at this load",
    source=SARATHI,
    variant=NAME,
    example=Example(
        {B_a: 16, t_pre: 40, wait_probability: 0.1, theta: 100, p_pre: 0.2, theta_pre: 20},
        "53.60 ms",
        derived="40 + 0.1 * 100 + 0.9 * 0.2 * 20",
    ),
)

binding_limit = Formula(
    bottleneck,
    Piecewise(
        (label(bottleneck, "Memory"), Lt(B_a, request)),
        (label(bottleneck, "Base Latency"), T_light > target),
        (label(bottleneck, "Feasible"), c_req <= c_max),
        (label(bottleneck, "Capacity"), Ge(qps, c_max * mu)),
        (label(bottleneck, "Tail Latency"), True),
    ),
    title="What keeps the deployment from its target",
    source=Source("mlsysim_tutorial", "section 2"),
    variant=NAME,
    assumes="Base latency is that of large requests on an idle deployment, which no replica mends.",
    example=Example(
        {B_a: 16, T_light: 1500, target: 2000, c_req: 3, c_max: 1024, qps: 18, mu: 8},
        "Feasible",
        derived="16 >= 1 and 1500 <= 2000 and 3 <= 1024",
    ),
)

meets_target = Formula(
    feasible,
    And(_fits, T_light <= target, c_req <= c_max),
    title="Whether the target is met",
    source=Source("mlsysim_tutorial", "section 2"),
    variant=NAME,
    example=Example(
        {B_a: 16, T_light: 1500, target: 2000, c_req: 3, c_max: 1024},
        "True",
        derived="16 >= 1 and 1500 <= 2000 and 3 <= 1024",
    ),
)

FORMULAS = (
    stored_weights,
    peak_seq_len,
    kv_bytes_per_request,
    kv_bytes_read,
    expert_padding,
    kv_memory,
    active_batch_size,
    kv_cache_tokens,
    touched_experts,
    prefill_work,
    prefill_time,
    step_weights_time,
    step_kv_time,
    step_compute_time,
    decode_step_time,
    request_rate,
    base_latency,
    size_quantile,
    light_load_p99,
    required_replicas,
    *BY_REPLICAS,
    inter_token_latency,
    time_to_first_token,
    binding_limit,
    meets_target,
)
