"""Low-rank adapters

Requests share a model's weights, and each request uses one of several resident adapters, with Zipf-distributed
popularity. An iteration reads the adapters in use, and every token passes through the adapter of its request. Trained
parameters are rank times rows plus columns of each adapted matrix. For a matrix that tensor-parallel ranks split, one
factor of the adapter is split as well, and all ranks hold the other.
"""

from __future__ import annotations

from typing import Any

from sympy import Rational, exp

from mlsysim.formulas import mixers, trained_parameters
from mlsysim.formulas.continuous_batching import touched
from mlsysim.formulas.prefix_cache import ZIPF, log_ranks, things_of_classes
from mlsysim.formulas.replica_layout import SLOTS
from mlsysim.formulas.roofline import side_by_side
from mlsysim.formulas.trained_parameters import EVERYWHERE
from mlsysim.symbolic import Example, Formula, Max, Min, Source, byte, evaluated_at, flop, request, token, total, when
from mlsysim.symbols.activations import L_mtp_r
from mlsysim.symbols.groups import n_g
from mlsysim.symbols.hardware import B_mem, eta
from mlsysim.symbols.iteration import F_16, E_red, N_exp, N_it, d_a, n_dec_r, n_pro_r
from mlsysim.symbols.lora import (
    G_lo,
    H_lo,
    K_lo,
    K_lo_e,
    M_lo,
    N_lo,
    P_lo,
    P_lo_e,
    P_lo_k,
    P_lo_r,
    P_lo_t,
    Z_lo,
    n_ask,
    n_lo,
    p_lo,
    t_lo,
    tau_lo,
    u_lo,
    z_lo,
)
from mlsysim.symbols.prefix_cache import place
from mlsysim.symbols.step import eta_mem
from mlsysim.symbols.trained import P_ad_d, R_e, lora_targets, r_lora
from mlsysim.symbols.training import e, ell_moe, ell_r, t
from mlsysim.symbols.workload import E, L, L_moe, k

LORA = Source("hu2022", "section 4.1")
SLORA = Source("sheng2024", "section 5")
PUNICA = Source("chen2024", "section 4")
#: Bytes of one number of an adapter, and of what it reads and writes, whatever the weights are kept in.
_WIDE = 2 * byte
#: The share of requests that ask for none of the other adapters, where there is one alone.
_LEAST = Rational(1, 10**12)
#: Adapters of experts, which only some models and some adapters have.
_OF_EXPERTS = EVERYWHERE & (L_moe > 0)


def _resident(adapters: Any) -> Any:
    """Limit a number of adapters to those that fit their memory."""
    return when(G_lo > 0, Min(adapters, G_lo), adapters)


lora_ranks = Formula(
    u_lo[place],
    log_ranks(N_lo),
    title="Ranks at which popularity of adapters is added up",
    source=ZIPF,
    assumes="As for prefixes: the first four, then ten places between the logarithms of their ranks.",
    example=Example({N_lo: 1000}, "1.5746", derived="1.5040774 + 0.0130467 * 5.4041974", member="c5"),
)

lora_classes = Formula(
    n_lo[place],
    things_of_classes(N_lo, u_lo),
    title="Adapters that a rank stands for",
    source=ZIPF,
    no_example="weights of an integral",
)

lora_popularity = Formula(
    Z_lo,
    Max(1, total(place, n_lo[place] * exp(-z_lo * u_lo[place]))),
    title="Popularity of all adapters over that of the first",
    source=ZIPF,
    assumes="Zipf's law.",
    no_example="a sum over classes",
)

lora_share = Formula(
    p_lo[place],
    Max(_LEAST, 1 - exp(-z_lo * u_lo[place]) / Z_lo),
    title="Requests that ask for another adapter",
    source=ZIPF,
    assumes="A little above zero where there is no other, so that slopes stay finite.",
    example=Example({z_lo: 1, u_lo["c2"]: 0.69314718, Z_lo: 2.5}, "0.8", derived="1 - 0.5 / 2.5", member="c2"),
)

asking = Formula(
    n_ask,
    Max(1, (n_dec_r + n_pro_r) / request),
    title="Requests of an iteration that ask for an adapter",
    source=PUNICA,
    assumes="Each has one, prompts and those that decode; a part of a prompt counts as that part of a request.",
    example=Example({n_dec_r: 15, n_pro_r: 1}, "16", derived="15 + 1"),
)

loras = Formula(
    K_lo,
    when(N_lo > 0, total(place, n_lo[place] * (1 - p_lo[place] ** n_ask)), 0),
    title="Adapters of an iteration",
    source=SLORA,
    assumes="Requests ask independently of each other, whatever there is room for.",
    accuracy="Within 0.2% of the sum over every adapter, up to 100,000 of them.",
    no_example="a sum over classes",
)

expert_loras = Formula(
    K_lo_e,
    when(_OF_EXPERTS, Min(_resident(N_lo), _resident(K_lo) * Max(1, e / t)), 0),
    title="Adapters of the requests that share experts",
    source=SLORA,
    assumes="Requests of different attention ranks ask for different adapters, as long as there are any.",
    example=Example(
        {N_lo: 100, lora_targets: "all_linear", L_moe: 32, G_lo: 0, K_lo: 10, e: 8, t: 2}, "40", derived="10 * 8 / 2"
    ),
)

lora_pairs = Formula(
    H_lo,
    when(K_lo_e > 0, K_lo_e * touched(Max(1, N_exp / token / Max(1, K_lo_e)), SLOTS), 0),
    title="Adapters of experts that an iteration reads, of a layer",
    source=SLORA,
    assumes="The adapters of an iteration have equally many tokens, each of which picks its experts at random.",
    accuracy="Up to 8% above drawn requests where adapters are asked for alike, 35% by Zipf's law with exponent 1.",
    example=Example(
        {K_lo_e: 4, N_exp: 8, E: 8, E_red: 0, k: 2}, "14", derived="4 * 8 * (1 - 0.75**2)",
    ),
)  # fmt: skip

rank_parameters_of_one = Formula(
    P_lo_r,
    evaluated_at(P_ad_d, {ell_r: L, ell_moe: L_moe, L_mtp_r: 0}, (trained_parameters.adapter_parameters,)),
    title="Parameters of an adapter on one rank",
    source=LORA,
    assumes="Neither embedding and head nor routers have adapters; a layer that predicts a further token has none.",
    convention="All layers; of the two factors for a matrix one is split over tensor-parallel ranks, as vLLM does "
    "unless it is told to shard both.",
    no_example="an adapter of other layers",
)

expert_parameters_of_one = Formula(
    P_lo_e,
    when(
        _OF_EXPERTS,
        r_lora * evaluated_at(R_e, {n_g["etp"]: Max(1, t / e)}, (trained_parameters.single_expert_edges,)),
        0,
    ),
    title="Parameters of an adapter for one expert on one rank",
    source=LORA,
    assumes="Every product of every expert has an adapter of its own.",
    convention="Experts are cut over the tensor-parallel ranks that are no expert-parallel ones.",
    no_example="an expert cut otherwise",
)

#: What says how much of an adapter one rank has.
_SPLIT = frozenset(
    (
        mixers.kv_heads_per_rank,
        mixers.attention_edges,
        trained_parameters.ffn_edges,
        trained_parameters.shared_edges,
        mixers.adapted_attention_edges,
        rank_parameters_of_one,
        expert_parameters_of_one,
    )
)

parameters_of_one = Formula(
    P_lo,
    evaluated_at(P_lo_r, {t: 1}, _SPLIT) + L_moe * E * evaluated_at(P_lo_e, {t: 1, e: 1}, _SPLIT),
    title="Parameters of an adapter",
    source=LORA,
    accuracy="Equal to what peft prints: 41,943,040 for Llama 3 8B, rank 16, all linear layers.",
    no_example="an adapter that is not split",
)

token_parameters = Formula(
    P_lo_t,
    P_lo_r + L_moe * k * P_lo_e / Min(t, e),
    title="Parameters of adapters that a token passes on one rank",
    source=PUNICA,
    assumes="Tokens are spread evenly over the ranks of experts.",
    example=Example(
        {P_lo_r: 13631488, L_moe: 32, k: 2, P_lo_e: 884736, t: 1, e: 1},
        "70254592",
        derived="13631488 + 32 * 2 * 884736",
    ),
)

touched_parameters = Formula(
    P_lo_k,
    when(N_lo > 0, _resident(K_lo) * P_lo_r + L_moe * H_lo * P_lo_e / e, 0),
    title="Adapters that an iteration reads on one rank",
    source=SLORA,
    assumes="Each is read once, whatever its requests; no more than are held.",
    example=Example(
        {N_lo: 100, G_lo: 0, K_lo: 10, P_lo_r: 41943040, L_moe: 0, H_lo: 0, P_lo_e: 0, e: 1},
        "419430400",
        derived="10 * 41943040",
    ),
)

memory = Formula(
    M_lo,
    _WIDE * _resident(N_lo) * d_a * t * (P_lo_r + L_moe * SLOTS * P_lo_e / e),
    title="Memory for adapters of all ranks",
    source=SLORA,
    assumes="Numbers of 16 bits. Adapters that are held have places of their own, of this rank, as in vLLM; the "
    "others wait on the host.",
    example=Example(
        {N_lo: 100, G_lo: 0, d_a: 1, t: 1, P_lo_r: 41943040, L_moe: 0, E: 1, E_red: 0, P_lo_e: 0, e: 1},
        "8.388608 GB",
        derived="2 * 100 * 41943040 / 1e9",
    ),
)

lora_time = Formula(
    t_lo,
    when(
        N_lo > 0,
        side_by_side(
            _WIDE * P_lo_k / (eta_mem * B_mem),
            2 * flop * (N_it / token) * P_lo_t / (F_16 * eta),
        )
        + Rational(3, 2) * _WIDE * (N_it / token) * P_lo_t / (r_lora * eta_mem * B_mem)
        + L * tau_lo,
        0,
    ),
    title="Adapters of the requests of an iteration",
    source=PUNICA,
    assumes="Products of 16 bits beside those of the weights, which stay as they are. A kernel reads the input of a "
    "product, another reads and writes its output; inputs are taken as wide as outputs.",
    example=Example(
        {N_lo: 100, P_lo_k: 419430400, eta_mem: 0.85, B_mem: 3350, N_it: 10, P_lo_t: 41943040, F_16: 989, eta: 0.6,
         r_lora: 16, L: 32, tau_lo: 0.01},
        "0.64222 ms",
        derived="((2 * 419430400 / (0.85 * 3350e9))**2 + (2 * 10 * 41943040 / (989e12 * 0.6))**2)**0.5 * 1e3 "
        "+ 3 * 10 * 41943040 / 16 / (0.85 * 3350e9) * 1e3 + 32 * 0.01",
    ),
)  # fmt: skip

FORMULAS = (
    lora_ranks,
    lora_classes,
    lora_popularity,
    lora_share,
    asking,
    loras,
    expert_loras,
    lora_pairs,
    rank_parameters_of_one,
    expert_parameters_of_one,
    parameters_of_one,
    token_parameters,
    touched_parameters,
    memory,
    lora_time,
)
