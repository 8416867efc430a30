"""Serving from two tiers

A deployment with part of its weights or KV caches in a remote tier that every iteration reads. Local and remote reads
alternate, and computing overlaps with both, so with all weights remote a step of many requests takes the weights over
the remote bandwidth: ZeRO-Inference. This page stretches every iteration: a decode step, a prefill, or a mixed one of
chunked prefill. With nothing remote it equals the plain deployment, formula by formula.
"""

from __future__ import annotations

from typing import Any

from sympy import And, oo

from mlsysim.formulas import iteration
from mlsysim.formulas.continuous_batching import cache_memory
from mlsysim.formulas.mixers import kept, windowed
from mlsysim.formulas.replica_layout import ACCELERATORS, APART
from mlsysim.formulas.serving_engines import DISTSERVE, ROOM, prompts_held
from mlsysim.symbolic import Example, Formula, Max, Min, Source, evaluated_at, request, when
from mlsysim.symbols.batching import s_end
from mlsysim.symbols.deployment import B_P, B_e, g_P
from mlsysim.symbols.hardware import B_mem, M_cap
from mlsysim.symbols.iteration import (
    M_com,
    M_drv,
    M_kv,
    M_pad,
    M_run,
    M_work,
    W_rep,
    d_a,
    eta_kv,
    f_kv,
    kv_rank,
    n_all,
    n_smp,
    q_smp,
    u_gpu,
    z_kv,
    z_w,
)
from mlsysim.symbols.lora import M_lo
from mlsysim.symbols.offload import (
    B_far,
    M_far,
    M_far_need,
    M_near_need,
    M_slots,
    W_rem,
    n_share,
    omega_kv,
    omega_w,
    unified,
    x_rem,
)
from mlsysim.symbols.step import eta_mem
from mlsysim.symbols.training import p, t
from mlsysim.symbols.workload import V, s

INFERENCE = Source("aminabadi2022", "section 6")
NAME, NAME_OF_POOLS = "two_tiers", "pools_of_two_tiers"


def _stretch(share: Any, reached: Any) -> Any:
    """Read time with this share remote, relative to reading everything locally."""
    return 1 - share + share * n_share * reached * B_mem / B_far


weights_stretch = Formula(
    z_w,
    _stretch(omega_w, eta_mem),
    title="Reading weights from two tiers, over reading them locally",
    source=INFERENCE,
    variant=NAME,
    assumes="One tier after the other.",
    example=Example(
        {omega_w: 0.5, eta_mem: 1, B_mem: 2000, n_share: 1, B_far: 50}, "20.5", derived="0.5 + 0.5 * 2000 / 50"
    ),
)

kv_stretch = Formula(
    z_kv,
    _stretch(omega_kv, eta_kv),
    title="Reading KV caches from two tiers, over reading them locally",
    source=Source("aminabadi2022", "section 4"),
    variant=NAME,
    assumes="One tier after the other.",
    example=Example(
        {omega_kv: 0.25, eta_kv: 1, B_mem: 2000, n_share: 2, B_far: 50},
        "20.75",
        derived="0.75 + 0.25 * 2 * 2000 / 50",
    ),
)

remote_weights = Formula(
    W_rem,
    (1 - unified) * omega_w * W_rep,
    title="Weights kept apart in a remote tier",
    source=INFERENCE,
    assumes="Nothing is apart where both tiers are one memory.",
    example=Example({unified: 0, omega_w: 0.5, W_rep: 40}, "20 GB", derived="0.5 * 40"),
)

remote_cache = Formula(
    x_rem,
    (1 - unified) * omega_kv,
    title="Share of a KV cache kept apart in a remote tier",
    source=INFERENCE,
    assumes="Nothing is apart where both tiers are one memory.",
    example=Example({unified: 0, omega_kv: 0.5}, "0.5", derived="1 * 0.5"),
)

kv_memory = Formula(
    M_kv,
    cache_memory(W_rep - W_rem + M_lo, ACCELERATORS),
    title="Local memory for keys and values",
    source=INFERENCE,
    variant=NAME,
    assumes="All memory beside the weights of a tier holds KV cache; the layer at work is not counted apart.",
    example=Example(
        {f_kv: 1, u_gpu: 1, t: 2, p: 1, d_a: 1, M_cap: 32, M_drv: 0, M_work: 0, W_rep: 80, W_rem: 40, M_lo: 0, M_run: 0,
         M_com: 0, q_smp: 0, n_smp: 0, V: 128256, M_pad: 0},
        "24 GB",
        derived="2 * 32 - (80 - 40)",
    ),
)  # fmt: skip

_cache = t * kv_rank
_far = ACCELERATORS * M_far - W_rem

cache_tokens = Formula(
    n_all,
    when(
        And(M_kv >= 0, _far >= 0),
        Min(
            when(x_rem < 1, M_kv / (_cache * (1 - x_rem)), oo),
            when(x_rem > 0, _far / (_cache * x_rem), oo),
        ),
        0,
    ),
    title="Tokens that fit beside the weights of two tiers if every layer keeps them",
    source=INFERENCE,
    variant=NAME,
    assumes="Each token has the same share of its cache in either tier.",
    example=Example(
        {M_kv: 24, W_rem: 40, t: 2, p: 1, d_a: 1, M_far: 256, kv_rank: 80, x_rem: 0.5},
        "300000 token",
        derived="min(24e9 / (0.5 * 2 * 80e3), (2 * 256 - 40) * 1e9 / (0.5 * 2 * 80e3))",
    ),
)

slots_cache = Formula(
    M_slots,
    B_e * kept(s_end, _cache) / request * _cache,
    title="Keys and values of a request in every slot",
    source=Source("kwon2023", "section 4"),
    example=Example(
        {B_e: 26, s_end: 2000, **windowed(0, 0), t: 2, kv_rank: 225},
        "23.4 GB",
        derived="26 * 2000 * 2 * 225e-6",
    ),
)

local_memory = Formula(
    M_near_need,
    ((1 - omega_w) * W_rep + M_lo + (1 - omega_kv) * M_slots) / ACCELERATORS,
    title="Local memory of an accelerator that serves",
    source=INFERENCE,
    variant=NAME,
    convention="With a request in every slot.",
    example=Example(
        {omega_w: 0.5, W_rep: 40, M_lo: 0, omega_kv: 0.25, M_slots: 23.4, t: 2, p: 1, d_a: 1},
        "18.775 GB",
        derived="(0.5 * 40 + 0.75 * 23.4) / 2",
    ),
)

remote_memory = Formula(
    M_far_need,
    (omega_w * W_rep + omega_kv * M_slots) / ACCELERATORS,
    title="Remote memory of an accelerator that serves",
    source=INFERENCE,
    variant=NAME,
    convention="With a request in every slot.",
    example=Example(
        {omega_w: 0.5, W_rep: 40, omega_kv: 0.25, M_slots: 23.4, t: 2, p: 1, d_a: 1},
        "12.925 GB",
        derived="(0.5 * 40 + 0.25 * 23.4) / 2",
    ),
)

#: What an engine has room for in two tiers.
_ROOM = (ROOM - {iteration.kv_memory, iteration.cache_tokens}) | {remote_weights, kv_memory, cache_tokens}

prompt_slots = Formula(
    B_P,
    prompts_held(_ROOM),
    title="Prompts that an engine which prefills has room for in two tiers",
    source=DISTSERVE,
    variant=NAME,
    assumes="Caches wait in the pool that decodes, not in the one that prefills.",
    no_example="the reach of attention",
)


def _larger(tier: Formula) -> Any:
    """Larger memory need of an accelerator in either pool; a prefill engine has a prompt per group."""
    prefilling = {**APART, B_e: g_P * request, s_end: s}
    return Max(tier.expression, evaluated_at(tier.symbol, prefilling, _ROOM | {slots_cache, tier}))


def _of_pools(tier: Formula, title: str) -> Formula:
    return Formula(
        tier.symbol,
        _larger(tier),
        title=title,
        source=INFERENCE,
        variant=NAME_OF_POOLS,
        assumes="All accelerators are of one design, and have what the pool needs that needs more.",
        convention="With a request in every slot, and a prompt in each group of an engine that prefills.",
        no_example="another layout",
    )


pools_local_memory = _of_pools(local_memory, "Local memory of an accelerator of two pools")
pools_remote_memory = _of_pools(remote_memory, "Remote memory of an accelerator of two pools")

FORMULAS = (
    weights_stretch,
    kv_stretch,
    remote_weights,
    remote_cache,
    kv_memory,
    cache_tokens,
    slots_cache,
    local_memory,
    remote_memory,
    prompt_slots,
    pools_local_memory,
    pools_remote_memory,
)
#: Of engines that do both.
SHARED = FORMULAS[: FORMULAS.index(prompt_slots)]
#: Of pools.
POOLS = (*SHARED[: SHARED.index(local_memory)], *FORMULAS[len(SHARED) :])
