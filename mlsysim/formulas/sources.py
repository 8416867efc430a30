"""Sources beside the text

A *stack* is layers of one width that see the same tokens. Beside its text a model may have a second one, which reads a
source: an encoder, to which layers of the decoder attend, or a tower whose patches become tokens of the prompt. A stack
is counted by the same formulas as a model, once; the text then sees three numbers of it: parameters, and forward
arithmetic per token and per pair of tokens of the source. Sources are read before the prompt, and never again.
"""

from __future__ import annotations

from mlsysim.symbolic import Example, Formula, Max, Source, flop, request, token
from mlsysim.symbols.batching import attention_flops
from mlsysim.symbols.formats import q_kv
from mlsysim.symbols.hardware import eta
from mlsysim.symbols.iteration import F_16, h_c, n_pro_r
from mlsysim.symbols.mixers import a, a_kv, d_h, d_v_h, w_win, window
from mlsysim.symbols.sources import (
    L_x,
    P_xs,
    c_src,
    kappa_x,
    n_im,
    phi_src,
    s_all,
    s_im,
    s_src,
    t_src,
    w_src,
    w_x,
)
from mlsysim.symbols.step import w_lin
from mlsysim.symbols.training import t
from mlsysim.symbols.workload import s

VASWANI = Source("vaswani2017", "section 3.2.3")
VISION = Source("dosovitskiy2021", "section 3.1")

source_token_work = Formula(
    w_src,
    w_lin + w_win * window,
    title="Arithmetic of a stack per token of a source",
    source=VISION,
    assumes="The products of its layers, its embedding of patches and its projector among them, and attention within "
    "a window. The logits of a stack are not computed.",
    convention="Of the stack that reads the source.",
    example=Example({w_lin: 0.8e9, w_win: 28672, window: 64}, "0.801835 GFLOP/token", derived="0.8 + 28672 * 64 / 1e9"),
)

source_pair_work = Formula(
    c_src,
    Max(0, attention_flops - w_win),
    title="Arithmetic of a stack per pair of tokens of a source",
    source=VISION,
    assumes="Every token sees all tokens of the same source, but in layers with a window.",
    convention="Of the stack that reads the source.",
    example=Example({attention_flops: 124416, w_win: 0}, "124416 FLOP/token^2", derived="124416"),
)

cross_work = Formula(
    w_x,
    2 * L_x * a * (d_h + d_v_h) * flop / token**2,
    title="Arithmetic of cross-attention, per pair of tokens",
    source=VASWANI,
    example=Example({L_x: 6, a: 8, d_h: 64, d_v_h: 64}, "12288 FLOP/token^2", derived="6 * 4 * 8 * 64"),
)

request_sources = Formula(
    s_all,
    (s_src + n_im * s_im) / request,
    title="Tokens of the sources of one request",
    source=VISION,
    convention="As an encoder or tower reads them. Where patches become tokens of the prompt, these count in it.",
    example=Example({s_src: 0, n_im: 2, s_im: 4096}, "8192 token/request", derived="2 * 4096"),
)

source_work = Formula(
    phi_src,
    (w_src + 2 * flop * P_xs / token) * s_all + c_src * (s_src**2 + n_im * s_im**2) / request,
    title="Arithmetic to read the sources of one request",
    source=VISION,
    assumes="Images are read one by one: patches of one do not see those of another.",
    example=Example(
        {w_src: 0.8e9, P_xs: 0, s_all: 8192, c_src: 124416, s_src: 0, n_im: 2, s_im: 4096},
        "10.728 TFLOP/request",
        derived="(0.8e9 * 8192 + 124416 * 2 * 4096**2) / 1e12",
    ),
)

source_cache = Formula(
    kappa_x,
    L_x * a_kv * (d_h + d_v_h) * q_kv / token * s_all,
    title="Keys and values of the sources of one request",
    source=VASWANI,
    assumes="They are kept as long as the request, and no token is added.",
    convention="All layers, one replica.",
    example=Example(
        {L_x: 32, a_kv: 20, d_h: 64, d_v_h: 64, q_kv: 2, s_all: 1500},
        "245.76 MB/request",
        derived="32 * 2 * 20 * 64 * 2 * 1500 / 1e6",
    ),
)

source_time = Formula(
    t_src,
    n_pro_r * (phi_src + s * (1 - h_c) * w_x * s_all) / (t * F_16 * eta),
    title="Sources of the prompts",
    source=VISION,
    assumes="Encoders and towers compute at 16 bit, split over tensor-parallel ranks, and before the prompt. Images "
    "of a cached prefix are read again.",
    example=Example(
        {n_pro_r: 2, phi_src: 10, s: 1000, h_c: 0, w_x: 0, s_all: 8192, t: 2, F_16: 1000, eta: 0.5},
        "20 ms",
        derived="2 * 10 / (2 * 1000 * 0.5) * 1000",
    ),
)

FORMULAS = (
    source_token_work,
    source_pair_work,
    cross_work,
    request_sources,
    source_work,
    source_cache,
    source_time,
)
#: What a stack says of itself to the text that reads what it makes.
OF_STACK = (source_token_work, source_pair_work)
#: What a request needs of its sources.
OF_REQUEST = (cross_work, request_sources, source_work, source_cache)
