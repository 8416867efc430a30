"""Core attention

A score costs its products and an exponential, and exponentials have a peak rate of their own: sixteen per clock cycle
and multiprocessor. Kernels differ in the share of peak that their products reach and in their other work per score;
both come from published measurements of the kernel alone. A training step reaches a share of that rate.
"""

from __future__ import annotations

from typing import Any

from sympy import And, Eq, Or, Piecewise

from mlsysim.formulas.mixers import WIDE
from mlsysim.symbolic import Example, Formula, Source, label, token, when
from mlsysim.symbols.activations import attention_kernel
from mlsysim.symbols.batching import attention_flops
from mlsysim.symbols.hardware import X_exp, f_clk, n_cc, n_exp
from mlsysim.symbols.iteration import F_16
from mlsysim.symbols.mixers import a_r, w_pair
from mlsysim.symbols.roofline import S_mp, t_ab, t_af
from mlsysim.symbols.step import (
    attention_mask,
    eta_b,
    eta_f,
    flash_kernel,
    n_b,
    n_f,
    n_sc,
    r_s,
    s_att,
    tau_b,
    tau_f,
)
from mlsysim.symbols.training import b, t
from mlsysim.symbols.workload import L, s

FIGURES = Source("shah2024", "figures 5 and 6")
RATES = Source("shah2024", "section 3.1")
ON_H200 = "Attention of FlashAttention 2 and cuDNN on H200, on which nothing was fitted: docs/validation.md."
#: Generations of NVIDIA: products by groups of warps, and with a memory of their own.
HOPPER, BLACKWELL = And(n_cc >= 9, n_cc < 10), And(n_cc >= 10, n_cc < 12)


def _named(kernel: Any, names: tuple[str, ...]) -> Any:
    conditions: list[Any] = [Eq(kernel, label(kernel, name)) for name in names]
    return Or(*conditions)


def named(*names: str) -> Any:
    """Tell whether ``attention_kernel`` is one of these kernels."""
    return _named(attention_kernel, names)


def _computed_by(*names: str) -> Any:
    """Tell whether one of these kernels computes attention, by name or as the stack's flash attention."""
    return Or(named(*names), And(named("flash"), _named(flash_kernel, names)))


#: Kernels that issue products warp by warp on every device, and those written for Hopper by hand.
_WARPS: Any = Or(_computed_by("fa2", "triton"), named("flash_te"))
_BY_HAND = _computed_by("fa3", "fa4")


def _wide(share: float, otherwise: float) -> Any:
    """Select a share by head size: too wide for a kernel's registers, or not."""
    return when(WIDE, share, otherwise)


def _of_kernel(
    triton: float, warps: Any, by_hand: float, cudnn: Any, blackwell: float, old: float, older: float
) -> Any:
    """Select a kernel's constant by device: Hopper, Blackwell, Blackwell by warps, and older devices."""
    return Piecewise(
        (old, And(BLACKWELL, _WARPS)),
        (blackwell, BLACKWELL),
        (triton, And(HOPPER, _computed_by("triton"))),
        (warps, And(HOPPER, _WARPS)),
        (by_hand, And(HOPPER, _BY_HAND)),
        (cudnn, HOPPER),
        (older, True),
    )


_ASSUMED = (
    "FlashAttention 2, Triton and Transformer Engine's flash issue products warp by warp; flash is the kernel of the "
    "software; fused and cudnn are cuDNN's on Hopper and Blackwell, FlashAttention 2 before. On Hopper by the figures "
    "of FlashAttention 3 for heads of 64, 128 and, forward, 256; Blackwell set by hand between TensorRT-LLM's kernels "
    "and reports of FlashAttention 4; "
)


def _table(constant: Any, values: Any, title: str, further: str, by_fa3: str) -> Formula:
    """Select a kernel's constant; the example is FlashAttention 3 on Hopper with heads of 128."""
    given = {n_cc: 9, attention_kernel: "fa3", flash_kernel: "fa2", **dict.fromkeys(WIDE.free_symbols, 128)}
    return Formula(
        constant,
        values,
        title=title,
        source=FIGURES,
        assumes=_ASSUMED + further,
        accuracy=ON_H200,
        example=Example({each: given[each] for each in given if each in values.free_symbols}, by_fa3, derived=by_fa3),
    )


forward_share = _table(
    eta_f,
    _of_kernel(0.408, _wide(0.363, 0.436), 0.941, _wide(0.731, 1.0), 1.0, 0.19, 0.72),
    "Share of the peak that products of attention reach forward",
    "warps there reach what they do on Hopper.",
    "0.941",
)
backward_share = _table(
    eta_b,
    _of_kernel(0.364, 0.364, 0.694, 0.645, 0.70, 0.16, 0.60),
    "Share of the peak that products of attention reach backward",
    "before Hopper assumed.",
    "0.694",
)
forward_exponentials = _table(
    n_f,
    _of_kernel(0.05, 0.73, 0.89, 1.27, 1.0, 0.73, 0.95),
    "Exponentials per score, forward",
    "what is no product counts as exponentials.",
    "0.89",
)
backward_exponentials = _table(
    n_b,
    _of_kernel(1.57, 1.57, 1.55, 1.76, 1.6, 1.57, 1.3),
    "Exponentials per score, backward",
    "what is no product counts as exponentials.",
    "1.55",
)


exponential_rate = Formula(
    X_exp,
    n_exp * S_mp * f_clk,
    title="Exponentials of one accelerator",
    source=RATES,
    example=Example({n_exp: 16, S_mp: 132, f_clk: 1.83}, "3.9 THz", RATES),
)


def _core(share: Any, products: Any, exponentials: Any) -> Any:
    return when(X_exp > 0, (products * w_pair / (share * F_16) + exponentials * n_sc / X_exp) * r_s)


forward_core = Formula(
    tau_f,
    _core(eta_f, 1, n_f),
    title="Core attention per token, forward",
    source=FIGURES,
    accuracy=ON_H200,
    example=Example(
        {w_pair: 2.147e9, eta_f: 1, F_16: 989, n_f: 1.27, n_sc: 4.194e6, X_exp: 3707, r_s: 1.11}, "4.00457 µs/token",
        derived="(2.147e9 / 989e12 + 1.27 * 4.194e6 / 3707e9) * 1.11 * 1e6",
    ),
)  # fmt: skip

backward_core = Formula(
    tau_b,
    _core(eta_b, 2.5, n_b),
    title="Core attention per token, backward",
    source=FIGURES,
    assumes="Five products of the forward pass's two: scores are computed again.",
    accuracy=ON_H200,
    example=Example(
        {w_pair: 2.147e9, eta_b: 0.645, F_16: 989, n_b: 1.76, n_sc: 4.194e6, X_exp: 3707, r_s: 1.11},
        "11.5501 µs/token",
        derived="(2.5 * 2.147e9 / (0.645 * 989e12) + 1.76 * 4.194e6 / 3707e9) * 1.11 * 1e6",
    ),
)  # fmt: skip

short_sequences, short_documents = (
    Formula(
        r_s,
        1 + (150 + when(Eq(attention_mask, label(attention_mask, "causal")), when(n_cc >= 10, 500, 300))) * token / of,
        title="Slowdown of attention over short sequences",
        source=FIGURES,
        variant=variant,
        assumes="As if each were so many tokens longer: blocks that start and end, and those that a mask cuts.",
        accuracy=ON_H200,
        example=Example(
            {attention_mask: "causal", n_cc: 9, of: 4096}, "1.1099", derived="1 + (150 + 300) / 4096"
        ),
    )
    for of, variant in ((s, "kernel"), (s_att, "documents"))
)  # fmt: skip

scores = Formula(
    n_sc,
    when(attention_flops > 0, w_pair * a_r * t * L / attention_flops) / token**2,
    title="Attention scores per token",
    source=Source("dao2022", "section 3.1"),
    variant="layers",
    assumes="Arithmetic over pairs of tokens by that of one score, in the mean over heads of all layers.",
    example=Example(
        {w_pair: 2.147e9, a_r: 4, t: 8, L: 32, attention_flops: 524288}, "4193359 1/token",
        derived="2.147e9 * 4 * 8 * 32 / 524288",
    ),
)  # fmt: skip


forward_time, backward_time = (
    Formula(
        whole,
        b * s * each,
        title=f"Core attention of a batch in one layer, {way}",
        source=FIGURES,
        accuracy=ON_H200,
        example=Example({b: 4, s: 4096, each: 0.1}, "1.6384 ms", derived="4 * 4096 * 0.1 / 1e3"),
    )
    for whole, each, way in ((t_af, tau_f, "forward"), (t_ab, tau_b, "backward"))
)

#: Of a kernel whose arithmetic and scores are known.
KERNEL = (
    forward_share,
    backward_share,
    forward_exponentials,
    backward_exponentials,
    exponential_rate,
    forward_core,
    backward_core,
)
#: Of one kernel by itself, and of the layers of a step.
ALONE = (*KERNEL, short_sequences, forward_time, backward_time)
STEP = (*KERNEL, short_documents, scores)
FORMULAS = (*KERNEL, short_sequences, short_documents, scores, forward_time, backward_time)
