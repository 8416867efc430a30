"""Iteration of an inference engine

One forward pass over prompts and decoding requests together; a prefill has no decoding requests, a decode step no
prompts. Products overlap reading and computing, activations pass between kernels, caches are read, and tensor-parallel
ranks reduce twice per layer. Meanwhile the host launches layers, and the slower of the two clocks counts. If requests
never run out, memory sets the batch size, and the batch size sets the throughput.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sympy import And, Integer, Or, Piecewise, Rational, exp, log

from mlsysim.formulas import (
    collectives,
    expert_exchange,
    lora,
    mixer_times,
    mixers,
    moe_routing,
    number_formats,
    parameter_counts,
    rank_groups,
    rank_parameters,
    replica_layout,
    sources,
    trained_parameters,
    transformer_flops,
)
from mlsysim.formulas.continuous_batching import cache_memory, touched
from mlsysim.formulas.mixers import (
    IS_LATENT,
    NOT_CHUNKED,
    NOT_LATENT,
    ONE_HEAD,
    UNEVEN,
    WITH_LATENTS,
    kept,
    read,
    scored,
    windowed,
    windowed_read,
)
from mlsysim.formulas.parameter_counts import plain_layers
from mlsysim.formulas.replica_layout import ACCELERATORS, EXPERT_RANKS, SLOTS
from mlsysim.formulas.roofline import side_by_side
from mlsysim.symbolic import Example, Formula, Max, Min, Source, byte, flop, label, request, token, when
from mlsysim.symbols.formats import q_c, q_den, q_er, q_ffn, q_l, q_mix, q_sh, q_w, q_x
from mlsysim.symbols.groups import S_g, t_ar_g
from mlsysim.symbols.hardware import B_mem, F, M_cap, eta, tau_layer
from mlsysim.symbols.iteration import (
    F_16,
    E_red,
    K_dec,
    M_com,
    M_drv,
    M_kv,
    M_pad,
    M_run,
    M_work,
    N_exp,
    N_it,
    N_out,
    R_gen,
    W_dense,
    W_hit,
    W_rep,
    a_pop,
    binds_it,
    d_a,
    eta_exp,
    eta_gr,
    eta_kv,
    eta_pre,
    eta_wo,
    f_kv,
    gamma_s,
    h_c,
    kv_rank,
    n_all,
    n_dec,
    n_dec_r,
    n_kv,
    n_pro,
    n_pro_r,
    n_smp,
    phi_w,
    q_smp,
    t_act,
    t_big,
    t_cpu,
    t_den,
    t_dev,
    t_even,
    t_exp,
    t_head,
    t_hop,
    t_it,
    t_kind,
    t_kv,
    t_moe,
    t_one,
    t_pat,
    t_red,
    tau_host,
    tau_it,
    tau_ix,
    tau_lat,
    tau_moe,
    tau_pro,
    tau_pro_lat,
    tau_pro_moe,
    tau_seq,
    tau_wrk,
    u_gpu,
    w_dec,
    x_it,
    z_kv,
    z_w,
)
from mlsysim.symbols.layers import two
from mlsysim.symbols.lora import M_lo, t_lo
from mlsysim.symbols.mixers import L_att, L_ix, P_mix_r, sigma_st, t_each, t_scan, w_ix, w_near, w_pair, y_core
from mlsysim.symbols.parameters import P_exp, P_rt
from mlsysim.symbols.routing import gamma_r
from mlsysim.symbols.serving import B_max, n_out
from mlsysim.symbols.sources import kappa_x, s_all, t_src, w_x
from mlsysim.symbols.step import eta_mem
from mlsysim.symbols.training import P_ffn_r, P_sh_r, e, p, t
from mlsysim.symbols.workload import E, L, L_moe, L_nb, M_x, V, d_e, d_ff, d_sh, gated, h, h_e, h_V, k, s

WILLIAMS = Source("williams2009")
MEGATRON = Source("shoeybi2019", "section 3")
ORCA = Source("yu2022", "section 3")
#: Bytes of one number between kernels, whatever the products are computed in.
_WIDE = 2 * byte
#: Bytes of a weight of four bits with as much of scales as they have at most.
_FOUR_BITS = Rational(5, 8) * byte


iteration_tokens = Formula(
    N_it,
    replica_layout.tokens(n_dec_r, n_pro_r),
    title="Tokens of an iteration",
    source=ORCA,
    assumes="A decoding request gives one token and those drafted for it, a prompt all that are not cached.",
    convention="One group of requests; all of them where nothing is parallel but tensors.",
    example=Example(
        {n_dec_r: 16, gamma_s: 1, n_pro_r: 1, s: 1000, h_c: 0.25}, "782 token", derived="16 * 2 + 1000 * 0.75"
    ),
)

sampled_tokens = Formula(
    N_out,
    (n_dec_r * (1 + gamma_s) + n_pro_r) * token / request,
    title="Tokens an iteration samples",
    source=ORCA,
    assumes="The last token of a prompt gives the first of its answer; drafted tokens need logits of theirs.",
    convention="One group of requests.",
    example=Example({n_dec_r: 16, gamma_s: 1, n_pro_r: 1}, "33 token", derived="16 * 2 + 1"),
)

dense_weights = Formula(
    W_dense,
    P_mix_r + M_x + plain_layers() * P_ffn_r + L_moe * P_sh_r,
    title="Weights of a rank that every token passes through",
    source=MEGATRON,
    assumes="Projections, dense feed-forward blocks, routers and shared experts, split over tensor-parallel ranks.",
    example=Example(
        {P_mix_r: 80 * 75497472, M_x: 0, L_nb: 0, L: 80, L_moe: 0, P_ffn_r: 352321536, P_sh_r: 0},
        "34225520640",
        derived="80 * (75497472 + 352321536)",
    ),
)


def _popular(tokens: Any, experts: Any) -> Any:
    """Distinct experts of a layer chosen by this many tokens, if expert popularity is gamma-distributed."""
    return experts * (1 - exp(-a_pop * log(1 + tokens * k / (experts * a_pop))))


_touched = Piecewise(
    (_popular(Max(1, N_exp / token), SLOTS), a_pop > 0),
    (touched(Max(1, N_exp / token), SLOTS), True),
)

expert_weights = Formula(
    W_hit,
    when(L_moe > 0, L_moe * _touched * P_exp / EXPERT_RANKS, 0),
    title="Weights of routed experts that an iteration reads on a rank",
    source=Source("fedus2022", "section 2"),
    assumes="Each token picks its experts at random, all alike or by how popular they are. These are "
    "spread evenly over the expert-parallel ranks, or over the tensor-parallel ones where these are more, cut or whole;"
    " an iteration has a token at least.",
    example=Example(
        {L_moe: 32, E: 8, E_red: 0, k: 2, N_exp: 4, a_pop: 0, P_exp: 176160768, t: 2, e: 1},
        "15414067200",
        derived="32 * 8 * (1 - 0.75**4) * 176160768 / 2",
    ),
)

weights_stretch = Formula(
    z_w,
    Integer(1),
    title="Reading weights over reading them locally",
    source=WILLIAMS,
    variant="iteration",
    assumes="All weights are in the memory of the accelerators.",
    no_example="it is one",
)

kv_stretch = Formula(
    z_kv,
    Integer(1),
    title="Reading KV caches over reading them locally",
    source=WILLIAMS,
    variant="iteration",
    assumes="All caches are in the memory of the accelerators.",
    no_example="it is one",
)


#: Weights that every token passes and that may have a format of their own, by the bytes of one where these are given.
_APART = ((q_mix, P_mix_r), (q_ffn, plain_layers() * P_ffn_r), (q_sh, L_moe * Max(0, P_sh_r - P_rt)))


def _passed(size: Callable[[Any], Any]) -> Any:
    """Average over the weights that every token passes, of a function of their bytes."""
    apart = sum(when(given > 0, (size(given) - size(q_w)) * weights) for given, weights in _APART)
    return Max(0, size(q_w) + apart / W_dense)


def _widened(stored: Any, multiplied: Any) -> Any:
    """Bytes that could be read while a weight is widened for its product, by its stored bytes."""
    narrower = stored < Rational(9, 10) * multiplied  # by more than scales
    return when(Or(narrower, stored < byte), (1 / phi_w - 1) * Min(stored, _FOUR_BITS))


passed_weight_bytes = Formula(
    q_den,
    _passed(lambda stored: stored),
    title="Bytes of a weight that every token passes through",
    source=Source("lin2024", "section 5.1"),
    assumes="Mixers, dense blocks and shared experts as the checkpoint stores their matrices, routers as other "
    "weights; biases and norms are too few to tell apart.",
    example=Example(
        {q_w: 2, q_mix: 0, q_ffn: 0.5625, q_sh: 0, P_mix_r: 6e9, L: 80, L_moe: 0, L_nb: 0, P_ffn_r: 3e8, P_sh_r: 0,
         P_rt: 0, W_dense: 3e10},
        "0.85 byte",
        derived="(2 * 6e9 + 0.5625 * 80 * 3e8) / 3e10",
    ),
)  # fmt: skip

widening_bytes = Formula(
    q_x,
    _passed(lambda stored: _widened(stored, q_c)),
    title="Bytes that are read in the time that widening a weight takes",
    source=Source("frantar2024"),
    assumes="Weights narrower than their products are widened for each of them, and four bits are unpacked whatever "
    "they are multiplied in: the same time a weight, up to that of four bits with their scales. Routed experts pay "
    "nothing: GPT-fast's at 8 bit are as fast as their bytes.",
    example=Example(
        {q_w: 0.5, q_mix: 0, q_ffn: 0, q_sh: 0, P_mix_r: 6e9, L: 80, L_moe: 0, L_nb: 0, P_ffn_r: 3e8, P_sh_r: 0,
         P_rt: 0, W_dense: 3e10, q_c: 2, phi_w: 0.625},
        "0.3 byte",
        derived="(1 / 0.625 - 1) * 0.5",
    ),
)  # fmt: skip

dense_product_time = Formula(
    t_den,
    W_dense * side_by_side((z_w * q_den + q_x) / (eta_mem * B_mem), 2 * flop * (N_it / token) / (F * eta)),
    title="Products that every token passes through",
    source=WILLIAMS,
    assumes="Weights are read once for all tokens, those of 4 bits at a share of the rate.",
    example=Example(
        {W_dense: 34e9, z_w: 1, q_den: 1, q_x: 0, eta_mem: 0.85, B_mem: 3350, N_it: 100, F: 1979, eta: 0.633},
        "13.116 ms",
        derived="34e9 * ((1 / (0.85 * 3350e9))**2 + (2 * 100 / (1979e12 * 0.633))**2)**0.5 * 1e3",
    ),
)

expert_product_efficiency = Formula(
    eta_exp,
    Piecewise((eta_wo * F_16 / F, And(eta_wo > 0, q_er < Rational(3, 4) * q_c)), (eta_gr, eta_gr > 0), (eta, True)),
    title="Share of the peak that products with routed experts reach",
    source=WILLIAMS,
    assumes="Experts that are stored narrower than products are computed run at a share of the 16-bit peak.",
    example=Example(
        {eta_wo: 0.3, eta_gr: 0.1, eta: 0.6, q_er: 0.53, q_c: 1, F_16: 2250, F: 4500},
        "0.15",
        derived="0.3 * 2250 / 4500",
    ),
)

expert_product_time = Formula(
    t_exp,
    when(
        W_hit > 0,
        side_by_side(
            z_w * q_er * W_hit / (eta_mem * B_mem),
            2 * flop * L_moe * k * P_exp * gamma_r * (N_exp / token) / (EXPERT_RANKS * F * eta_exp),
        ),
        0,
    ),
    title="Products with routed experts",
    source=WILLIAMS,
    assumes="Experts that a token goes to are read once; the hot rank sets the time.",
    example=Example(
        {L_moe: 32, z_w: 1, q_er: 2, W_hit: 15e9, eta_mem: 0.85, B_mem: 3350, k: 2, P_exp: 176160768, N_exp: 4, t: 2,
         e: 1, gamma_r: 1, F: 989, eta_exp: 0.6},
        "10.536 ms",
        derived="((2 * 15e9 / (0.85 * 3350e9))**2 + (2 * 32 * 2 * 176160768 * 4 / (2 * 989e12 * 0.6))**2)**0.5 * 1e3",
    ),
)  # fmt: skip

head_time = Formula(
    t_head,
    V
    * h_V
    / t
    * side_by_side((z_w * q_l + _widened(q_l, _WIDE)) / (eta_mem * B_mem), 2 * flop * (N_out / token) / (F_16 * eta)),
    title="Logits of the sampled tokens",
    source=WILLIAMS,
    assumes="Weights of the head stay at 16 bit in a checkpoint of 8 or 4 bits, unless it says otherwise.",
    example=Example(
        {V: 128256, h_V: 8192, t: 2, z_w: 1, q_l: 2, phi_w: 0.7, eta_mem: 0.85, B_mem: 3350, N_out: 100, F_16: 989,
         eta: 0.633},
        "0.40536 ms",
        derived="128256 * 8192 / 2 * ((2 / (0.85 * 3350e9))**2 + (2 * 100 / (989e12 * 0.633))**2)**0.5 * 1e3",
    ),
)  # fmt: skip

activation_traffic = Formula(
    x_it,
    _WIDE
    * (
        L * (8 * h + 2 * y_core)
        + plain_layers() * (4 + gated) * d_ff / t
        + L_moe * (k * (4 * h_e + (4 + gated) * d_e) + (4 + gated) * d_sh) / t
    )
    / token,
    title="Activations that kernels write and read",
    source=Source("dao2022", "section 3.1"),
    assumes="Two passes that add a residual and normalise, on every rank; queries, keys, values and the output of "
    "attention written once and read once; for each expert of a token a copy gathered and one scattered.",
    accuracy="Counted by hand; TensorRT-LLM's 405B comes out 10% above the measured throughput with it, 19% without.",
    example=Example(
        {L_nb: 0, L: 80, L_moe: 0, h: 8192, h_e: 8192, t: 2, y_core: 9216, gated: 1, d_ff: 28672, k: 1, d_e: 0,
         d_sh: 0},
        "24.904 MB/token",
        derived="2 * 80 * (8 * 8192 + 2 * 9216 + 5 * 28672 / 2) / 1e6",
    ),
)  # fmt: skip

activation_time = Formula(
    t_act,
    N_it * x_it / (eta_mem * B_mem),
    title="Activations between kernels",
    source=WILLIAMS,
    example=Example(
        {N_it: 1000, x_it: 25, eta_mem: 0.85, B_mem: 3350}, "8.7796 ms", derived="1000 * 25e6 / (0.85 * 3350e9) * 1e3"
    ),
)

decode_attention_time = Formula(
    t_kv,
    n_dec_r
    / request
    * side_by_side(
        z_kv
        * (kv_rank * read(K_dec * request) + 2 * sigma_st * request / t + kappa_x * request / t)
        / (eta_kv * B_mem),
        (1 + gamma_s) * w_dec * scored(K_dec * request) * token / (t * F_16 * eta_pre),
    )
    + n_dec_r * (1 + gamma_s) * w_x * s_all * token / (t * F_16 * eta_pre),
    title="Attention of the decoding requests",
    source=Source("pope2023", "section 2"),
    assumes="The cache of every request is read once, up to the window where a layer has one; tokens drafted for it "
    "share the reading. Keys and values of a source are read as well, their arithmetic follows. The state of a "
    "recurrent mixer is read and written; the start of its kernel, about 4 µs, is part of the time per layer.",
    accuracy=mixer_times.DECODED,
    example=Example(
        {w_near: 0, w_ix: 0, n_dec_r: 64, gamma_s: 0, K_dec: 2000, z_kv: 1, kv_rank: 160, eta_kv: 0.85, B_mem: 3350,
         w_dec: 2.6e6, t: 2, **ONE_HEAD,
         F_16: 989, eta_pre: 0.6, w_x: 0, s_all: 0, **windowed_read(0, 0), **NOT_CHUNKED},
        "7.1977 ms",
        derived="64 * 2000 * ((160e3 / (0.85 * 3350e9))**2 + (2.6e6 / (2 * 989e12 * 0.6))**2)**0.5 * 1e3",
    ),
)  # fmt: skip

scan_time = Formula(
    t_scan,
    n_pro_r * s * (1 - h_c) / request * t_each,
    title="Scans of the prompts",
    source=mixer_times.DELTA,
    assumes="Tokens that are cached are not scanned: the state behind them was kept. Starts of the kernels are part of "
    "the time per layer.",
    accuracy=mixer_times.HELD_OUT,
    example=Example({n_pro_r: 1, h_c: 0.5, s: 8192, t_each: 4}, "16.384 ms", derived="8192 * 0.5 * 4 / 1e3"),
)

prefill_attention_time = Formula(
    t_pat,
    n_pro_r * s * (1 - h_c**2) / request * w_pair / (t * F_16 * eta_pre) + t_scan,
    title="Attention of the prompts, and scans",
    source=Source("dao2022", "section 3.1"),
    assumes="Prompts are prefilled whole; tokens that are cached are attended to and not computed. A sliding window is "
    "taken to leave the same share. Recurrent mixers scan after it.",
    example=Example(
        {n_pro_r: 1, h_c: 0, s: 5000, w_pair: 6.5e9, t: 2, F_16: 989, eta_pre: 0.6, t_scan: 0},
        "27.385 ms",
        derived="5000 * 6.5e9 / (2 * 989e12 * 0.6) * 1e3",
    ),
)

allreduce_message = Formula(
    S_g["tp"],
    _WIDE * h * N_it / token,
    title="Hidden states of an iteration",
    source=MEGATRON,
    variant="iteration",
    example=Example({h: 8192, N_it: 1000}, "16.384 MB", derived="2 * 8192 * 1000 / 1e6"),
)

allreduce_time = Formula(
    t_red,
    2 * L * t_ar_g["tp"],
    title="All-reduces of tensor parallelism",
    source=MEGATRON,
    assumes="Two a layer, after attention and after the feed-forward block, by the law of groups of ranks.",
    accuracy="TensorRT-LLM's 405B comes out 10% above the measured throughput with what they send, 47% without.",
    example=Example({L: 80, t_ar_g["tp"]: 0.06}, "9.6 ms", derived="2 * 80 * 0.06"),
)

further_layer_time = Formula(
    t_kind,
    L_moe * tau_moe + when(IS_LATENT, L_att * tau_lat) + L_ix * tau_ix,
    title="Fixed times of kinds of layers",
    source=ORCA,
    assumes="Routing, latent attention and indexers launch small kernels of their own.",
    example=Example(
        {L_moe: 58, tau_moe: 0.0075, **WITH_LATENTS, L_att: 61, tau_lat: 0.052, L_ix: 0, tau_ix: 0.065},
        "3.607 ms",
        derived="58 * 0.0075 + 61 * 0.052",
    ),
)

_LAYERS = L * tau_layer + t_kind

computed_time = Formula(
    t_one,
    t_den + t_exp + t_head + t_act + t_kv + t_pat + t_red + t_lo + _LAYERS + t_even + t_hop + t_src,
    title="What the accelerators compute for one micro-batch",
    source=ORCA,
    assumes="Operators follow each other; gaps and small kernels are a fixed time per layer.",
    example=Example(
        {t_den: 12, t_exp: 0, t_head: 0.5, t_act: 2, t_kv: 7, t_pat: 0, t_red: 2, t_lo: 0, L: 80, tau_layer: 0.063,
         t_kind: 0, t_even: 0, t_hop: 0, t_src: 0},
        "28.54 ms",
        derived="12 + 0.5 + 2 + 7 + 2 + 80 * 0.063",
    ),
)  # fmt: skip

device_time = Formula(
    t_dev,
    when(two > 0, 2 * Max(t_one, t_moe), t_one + t_moe),
    title="What the accelerator takes for an iteration",
    source=replica_layout.DAY_SIX,
    assumes="Of two micro-batches one is computed while the other exchanges experts; what the first and the last "
    "cannot hide is left out.",
    example=Example({two: 1, t_one: 20, t_moe: 15}, "40 ms", derived="2 * max(20, 15)"),
)

host_time = Formula(
    t_cpu,
    (1 + two)
    * Max(
        L * tau_host,
        when(n_pro > 0, L * tau_pro + when(IS_LATENT, L_att * tau_pro_lat) + L_moe * tau_pro_moe),
    ),
    title="What the host takes to launch an iteration",
    source=ORCA,
    assumes="Nothing where the iteration is captured as a graph, which those with prompts are not.",
    example=Example(
        {two: 0, L: 40, tau_host: 0.32, n_pro: 1, tau_pro: 0.4, L_moe: 0, tau_pro_moe: 0, L_att: 40, tau_pro_lat: 1,
         **NOT_LATENT},
        "16 ms",
        derived="40 * 0.4",
    ),
)  # fmt: skip

iteration_time = Formula(
    t_it,
    Max(t_dev, t_cpu) + tau_it + when(Max(t * p, e) > 1, tau_wrk, 0) + tau_seq * (1 + two) * (N_out / token),
    title="One iteration",
    source=ORCA,
    assumes="Host and accelerator work side by side; scheduling and sampling follow.",
    accuracy="Calibrated per stack; see docs/validation.md for rows that were not used.",
    example=Example(
        {t_dev: 28, t_cpu: 12, tau_it: 3, t: 2, p: 1, e: 1, tau_wrk: 10, tau_seq: 0.07, two: 0, N_out: 16},
        "42.12 ms",
        derived="max(28, 12) + 3 + 10 + 0.07 * 16",
    ),
)

_PARTS = {
    "Products": t_den,
    "Experts": t_exp,
    "Logits": t_head,
    "Activations": t_act,
    "KV cache": t_kv,
    "Attention": t_pat,
    "Sources": t_src,
    "All-reduce": t_red,
    "Exchange": t_moe,
    "Pipeline": t_even + t_hop,
    "Adapters": t_lo,
}

longest_part = Formula(
    t_big,
    Max(_LAYERS, *_PARTS.values()),
    title="The longest part of an iteration",
    source=WILLIAMS,
    example=Example(
        {t_den: 12, t_exp: 0, t_head: 0.5, t_act: 2, t_kv: 7, t_pat: 0, t_red: 2, L: 80, tau_layer: 0.063, t_kind: 0,
         t_moe: 0, t_even: 0, t_hop: 0, t_lo: 0, t_src: 0},
        "12 ms",
        derived="max(12, 0.5, 2, 7, 2, 80 * 0.063)",
    ),
)  # fmt: skip

binding_part = Formula(
    binds_it,
    Piecewise(
        (label(binds_it, "Host"), t_cpu > t_dev),
        *((label(binds_it, name), part >= t_big) for name, part in _PARTS.items()),
        (label(binds_it, "Layers"), True),
    ),
    title="What binds an iteration",
    source=WILLIAMS,
    example=Example(
        {t_cpu: 0, t_dev: 28, t_big: 12, t_den: 12, t_exp: 0, t_head: 0.5, t_act: 2, t_kv: 7, t_pat: 0, t_red: 2,
         t_moe: 0, t_even: 0, t_hop: 0, t_lo: 0, t_src: 0},
        "Products",
        derived="0 <= 28 and 12 >= 12",
    ),
)  # fmt: skip

kv_memory = Formula(
    M_kv,
    cache_memory(W_rep + M_lo, ACCELERATORS),
    title="Memory for keys and values of all ranks",
    source=Source("kwon2023", "section 4"),
    variant="engine",
    assumes="Engines take a share of the memory (vLLM), or a share of what weights leave of it (TensorRT-LLM). "
    "Sampling has the logits of all its requests whole, and is the peak of the largest step.",
    example=Example(
        {f_kv: 0.9, u_gpu: 1, t: 2, p: 1, d_a: 1, M_cap: 85.9, M_drv: 0, M_work: 2, W_rep: 72.65, M_lo: 0, M_run: 0.5,
         M_com: 1.5, q_smp: 0, n_smp: 0, V: 128256, M_pad: 0},
        "82.035 GB",
        derived="0.9 * (2 * (85.9 - 2 - 0.5 - 1.5) - 72.65)",
    ),
)  # fmt: skip

cache_tokens = Formula(
    n_all,
    Max(0, M_kv / (t * kv_rank)),
    title="Tokens that fit beside the weights if every layer keeps them",
    source=Source("kwon2023", "section 4"),
    variant="engine",
    example=Example({M_kv: 85.635, t: 2, kv_rank: 80}, "535218.75 token", derived="85.635 / (2 * 80e-6)"),
)

held_tokens = Formula(
    n_kv,
    when(UNEVEN, n_all * ((s + n_out) / kept(s + n_out, t * kv_rank)), n_all),
    title="Tokens whose keys and values fit beside the weights",
    source=Source("kwon2023", "section 4"),
    variant="engine",
    assumes="Layers with a window keep no more than it. Requests are as long as their prompts and answers, each "
    "with its state and what it attends to beside.",
    example=Example(
        {n_all: 500000, s: 1000, n_out: 1000, t: 2, kv_rank: 80, **windowed(40, 1000)},
        "666666.67 token",
        derived="500000 * 2000 / (2000 / 2 + 1000 / 2)",
    ),
)

saturated_batch = Formula(
    n_dec,
    Min(B_max, n_all * (request / token) / (kept(s + n_out, t * kv_rank) / token)),
    title="Requests that decode together when requests never run out",
    source=ORCA,
    variant="saturated",
    assumes="Room is kept for the whole answer; no request is put off half way.",
    example=Example(
        {t: 2, kv_rank: 80, B_max: 4096, n_all: 500000, s: 1000, n_out: 1000, **windowed(0, 0)},
        "250 request",
        derived="min(4096, 500000 / 2000)",
    ),
)

saturated_context = Formula(
    K_dec,
    (s + n_out / 2) / request,
    title="Mean context of a decoding request",
    source=ORCA,
    variant="saturated",
    example=Example({s: 1000, n_out: 1000}, "1500 token/request", derived="1000 + 1000 / 2"),
)

saturated_prompts = Formula(
    n_pro,
    n_dec * token / n_out,
    title="Prompts per iteration when requests never run out",
    source=ORCA,
    variant="saturated",
    assumes="Each answer that ends lets one prompt in; prompts are spread evenly over iterations.",
    example=Example({n_dec: 250, n_out: 1000}, "0.25 request", derived="250 / 1000"),
)

output_rate = Formula(
    R_gen,
    n_dec * (token / request) / t_it,
    title="Tokens generated per second",
    source=ORCA,
    variant="saturated",
    accuracy="TensorRT-LLM's table of dense models within a median of 5%, calibrated on one of its columns and one row "
    "of another page (docs/validation.md).",
    example=Example({n_dec: 250, t_it: 50}, "5000 token/s", derived="250 / 0.05"),
)

FORMULAS = (
    iteration_tokens,
    sampled_tokens,
    dense_weights,
    expert_weights,
    weights_stretch,
    kv_stretch,
    passed_weight_bytes,
    widening_bytes,
    dense_product_time,
    expert_product_efficiency,
    expert_product_time,
    head_time,
    activation_traffic,
    activation_time,
    decode_attention_time,
    scan_time,
    prefill_attention_time,
    allreduce_message,
    allreduce_time,
    further_layer_time,
    computed_time,
    device_time,
    host_time,
    iteration_time,
    longest_part,
    binding_part,
    kv_memory,
    cache_tokens,
    held_tokens,
    saturated_batch,
    saturated_context,
    saturated_prompts,
    output_rate,
)
#: One iteration, whatever passes through it.
ITERATION = FORMULAS[: FORMULAS.index(binding_part) + 1]
#: The batch and the throughput where requests never run out.
SATURATED = FORMULAS[FORMULAS.index(kv_memory) :]


def operators() -> tuple[Formula, ...]:
    """Sizes on which operators of a pass depend: shapes, groups of requests, all-reduces, exchanges."""
    reduced = (
        rank_groups.stride,
        rank_groups.group_links,
        rank_groups.ring_bandwidth,
        rank_groups.ring_latency,
        rank_groups.chunk_start,
        rank_groups.ring_reduction,
        rank_groups.tree_wire_time,
        rank_groups.tree_reduction,
        rank_groups.switch_reduction,
        rank_groups.all_reduce_time,
    )
    return (
        *number_formats.SERVING,
        *mixers.WHOLE,
        parameter_counts.ffn_parameters,
        parameter_counts.embedding_width,
        parameter_counts.expert_width,
        parameter_counts.expert_parameters,
        parameter_counts.shared_expert_parameters,
        parameter_counts.router_parameters,
        *mixers.SHARDED,
        rank_parameters.ffn_parameters_per_rank,
        rank_parameters.shared_parameters_per_rank,
        transformer_flops.scores,
        *mixers.COMPUTED,
        *mixers.DECODED,
        *mixers.CACHED,
        *mixer_times.SHARDED,
        mixers.cache_per_rank,
        *mixers.CROSSED,
        *sources.OF_REQUEST,
        sources.source_time,
        *collectives.REACHED,
        *(formula.only(("tp",)) for formula in reduced),
        *number_formats.EXCHANGED,
        moe_routing.neighbours,
        rank_groups.ranks_per_node.only(("tp", "ep")),
        expert_exchange.exchange_links_reached,
        expert_exchange.distinct_nodes,
        rank_groups.exchange_links,
        rank_groups.exchange_ports,
        rank_groups.reachable,
        rank_groups.distinct_ranks,
        rank_groups.exchange_time,
        *replica_layout.PASS,
        mixers.attention_edges,
        trained_parameters.ffn_edges,
        trained_parameters.shared_edges,
        mixers.adapted_attention_edges,
        *lora.FORMULAS,
    )


#: What a decode step, or a prefill, of an engine takes.
PASS = frozenset((*operators(), *ITERATION))
PASSED = "an iteration of other requests"
