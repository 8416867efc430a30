"""Sources beside the text

A stack is a set of layers of one width that see the same tokens. A model may have a second stack that reads another
source: an encoder to which decoder layers attend, or a vision tower whose patches become prompt tokens. The formulas of
a model also count a stack; the text then needs three numbers of it: parameters, and forward arithmetic per token and
per pair of tokens of the source. Sources are read once, before the prompt.
"""

from __future__ import annotations

from mlsysim.formulas.mixers import NEAR_64, WITHIN
from mlsysim.symbolic import Example, Formula, Max, Source, flop, request, token
from mlsysim.symbols.batching import attention_flops
from mlsysim.symbols.hardware import eta
from mlsysim.symbols.iteration import F_16, h_c, n_pro_r
from mlsysim.symbols.mixers import w_win
from mlsysim.symbols.sources import (
    P_xs,
    c_src,
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

VISION = Source("dosovitskiy2021", "section 3.1")

source_token_work = Formula(
    w_src,
    w_lin + WITHIN,
    title="Arithmetic of a stack per token of a source",
    source=VISION,
    assumes="The products of its layers, its embedding of patches and its projector among them, and attention within "
    "a window. The logits of a stack are not computed.",
    convention="Of the stack that reads the source.",
    example=Example({w_lin: 0.8e9, w_win: 28672, **NEAR_64}, "0.801835 GFLOP/token", derived="0.8 + 28672 * 64 / 1e9"),
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
    request_sources,
    source_work,
    source_time,
)
#: What a stack says of itself to the text that reads what it makes.
OF_STACK = (source_token_work, source_pair_work)
#: What a request needs of its sources.
OF_REQUEST = (request_sources, source_work)
