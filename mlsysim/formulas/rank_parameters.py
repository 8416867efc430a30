"""Parameters and states per rank

Tensors of one rank of a model split by tensor, pipeline and expert parallelism. Each kind of tensor has its own group:
tensor-parallel ranks split projections, and all of them hold norms and routers; expert-parallel ranks split experts;
ZeRO shards dense parameters over all data-parallel ranks, but an expert only over the ranks that hold it. The ranks of
a stage have two layouts: tensor-, context- and data-parallel for everything but experts, and expert-tensor-, expert-
and expert-data-parallel for experts (parallel folding).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sympy import And, Eq, Or, Piecewise, ceiling, floor

from mlsysim.formulas.parameter_counts import feed_forward, norms, plain_layers, prediction
from mlsysim.formulas.trained_parameters import ON_FIRST, ON_LAST, WIDENED
from mlsysim.symbolic import Example, Formula, Max, Min, Mod, Source, byte, evaluated_at, label, sharded, token, when
from mlsysim.symbols.activations import (
    L_first,
    L_last,
    L_mtp_r,
    P_ends,
    V_r,
    b_first,
    b_last,
    dispatcher,
    n_s,
    rank,
    schedule,
    sequence_parallel,
    sigma,
    v_chunks,
    vocab_multiple,
)
from mlsysim.symbols.formats import q_a, q_c, q_e, q_u, q_w
from mlsysim.symbols.groups import n_g
from mlsysim.symbols.mixers import n_N, y_q
from mlsysim.symbols.parameters import P_norm, P_rt
from mlsysim.symbols.trained import T_d, T_s, T_unit, W_ad, finetuning
from mlsysim.symbols.training import (
    C_buf,
    G,
    P_attn_r,
    P_dense,
    P_edge_r,
    P_exp_r,
    P_ffn_r,
    P_r,
    P_sh_r,
    P_sparse,
    P_unit,
    W,
    W_gather,
    Z,
    c_cp,
    d,
    e,
    ell,
    ell_moe,
    ell_pl,
    ell_r,
    n_gather,
    n_tok,
    n_z,
    optimizer_in_backward,
    p,
    q_g,
    r_dp,
    t,
    t_e,
)
from mlsysim.symbols.workload import (
    E,
    L,
    L_moe,
    L_mtp,
    L_nb,
    M_x,
    P_lk,
    P_re,
    V,
    b_x,
    d_e,
    d_ff,
    d_sh,
    expert_bias,
    gated,
    h,
    h_e,
    h_V,
    mlp_bias,
    moe_interval,
    n_pos,
    r_moe,
    r_V,
    tied,
)

MEGATRON = Source("shoeybi2019", "section 3")
FOLDING = Source("liu2025folding", "parallel folding")
ZERO = Source("rajbhandari2020", "section 5")
RANK = "The rank that holds the most; GB = 1e9 bytes."
COUNTED = "Equal, tensor for tensor, to PyTorch and transformers models split the same way (docs/validation.md)."

#: Where every rank holds two stages, one from each end.
DUALPIPE = Eq(schedule, label(schedule, "dualpipe"))

expert_tensor_ranks = Formula(
    n_g["etp"],
    when(t_e > 0, t_e, t),
    title="Tensor-parallel ranks of an expert",
    source=FOLDING,
    assumes="As many as everything else is cut over, unless an argument says fewer.",
    example=Example({t_e: 0, t: 8}, "8", derived="8"),
)

zero_ranks = Formula(
    n_z,
    d * c_cp / r_dp,
    given=Eq(Mod(d * c_cp, r_dp), 0),
    title="Ranks among which dense parameters are sharded",
    source=Source("liu2024", "section 3"),
    assumes="Context-parallel ranks share sequences, not weights, so they are data-parallel to the parameters. Hybrid "
    "sharding keeps several copies, each on as many ranks.",
    example=Example({d: 8, c_cp: 16, r_dp: 2}, "64", derived="8 * 16 / 2"),
)

expert_replicas = Formula(
    n_g["edp"],
    t * n_z / (n_g["etp"] * e),
    title="Ranks that hold the same part of the same experts",
    source=FOLDING,
    assumes="All ranks of a stage are laid out anew for experts. Tensor-parallel ranks that an expert is not cut over "
    "are expert- or expert-data-parallel.",
    example=Example({t: 2, n_z: 64, n_g["etp"]: 1, e: 8}, "16", derived="2 * 64 / (1 * 8)"),
)

#: Width of embedding and head as they are gathered, and one of them whole.
EDGE_WIDTH = Max(q_u, 2 * byte)
WHOLE_EDGE = EDGE_WIDTH * V_r * h_V
#: Where ZeRO shards weights, and gradients, over more than one rank.
GATHERED = And(Z >= 3, Max(n_z, n_g["edp"]) > 1)
SCATTERED = And(Z >= 2, Max(n_z, n_g["edp"]) > 1)

stages_per_rank = Formula(
    n_s,
    when(DUALPIPE, 2, 1),
    title="Stages whose weights a rank holds",
    source=Source("deepseek2024", "section 3.2.1"),
    assumes="DualPipe feeds micro-batches from both ends, so a rank holds a stage for each direction: the first with "
    "the last, the second with the last but one.",
    no_example="a table of labels",
)

ffn_parameters_per_rank = Formula(
    P_ffn_r,
    feed_forward(t, d_ff, mlp_bias),
    title="Feed-forward parameters of one dense layer on one rank",
    source=MEGATRON,
    assumes="Split along the inner width; the output bias is held by all.",
    accuracy=COUNTED,
    example=Example(
        {h: 12288, d_ff: 49152, t: 8, gated: 0, mlp_bias: 1},
        "151013376",
        derived="2 * 12288 * 49152 / 8 + 49152 / 8 + 12288",
    ),
)

shared_parameters_per_rank = Formula(
    P_sh_r,
    P_rt + feed_forward(t, d_sh, 0),
    title="Router and shared experts of one layer on one rank",
    source=MEGATRON,
    assumes="The router is held by all ranks, and so are projections around experts.",
    accuracy=COUNTED,
    example=Example(
        {P_rt: 1835264, h: 7168, d_sh: 2048, t: 8, gated: 1}, "7340288", derived="1835264 + 3 * 7168 * 2048 / 8"
    ),
)

layer_experts_per_rank = Formula(
    P_exp_r,
    E / e * feed_forward(n_g["etp"], d_e, expert_bias, h_e),
    title="Routed experts of one layer that one rank holds",
    source=Source("fedus2022", "section 5.5"),
    assumes="Experts are split evenly over expert-parallel ranks, and each over expert-tensor-parallel ranks.",
    accuracy=COUNTED,
    example=Example(
        {E: 256, e: 64, h_e: 7168, d_e: 2048, n_g["etp"]: 2, gated: 1, expert_bias: 0},
        "88080384",
        derived="256 / 64 * 3 * 7168 * 2048 / 2",
    ),
)

vocabulary_rows = Formula(
    V_r,
    vocab_multiple * ceiling(V / (vocab_multiple * t)),
    title="Rows of the vocabulary on one rank",
    source=MEGATRON,
    assumes="Each rank holds as many, padded to a multiple.",
    example=Example({V: 50257, t: 2, vocab_multiple: 128}, "25216", derived="128 * ceil(50257 / 256)"),
)

edge_parameters_per_rank = Formula(
    P_edge_r,
    when(
        p > 1,
        V_r * h_V + Max(n_pos * h + P_lk / t, P_norm) + h * r_V,
        (2 - tied) * V_r * h_V + n_pos * h + P_norm + P_lk / t + 2 * h * r_V,
    ),
    title="Parameters of one rank outside the layers",
    source=MEGATRON,
    assumes="Embedding, head and tables of layers are split by rows of the vocabulary. With a pipeline one "
    "end holds the embedding, the "
    "other the head, a copy where they are one matrix.",
    accuracy=COUNTED,
    example=Example(
        {V_r: 6283, h: 12288, h_V: 12288, r_V: 0, t: 8, p: 8, n_pos: 2048, P_norm: 24576, tied: 1, P_lk: 0},
        "102371328",
        derived="6283 * 12288 + 2048 * 12288",
    ),
)

#: The most layers with experts, and without, that this rank can have where kinds of layers alternate.
sparse_layers = Min(L_moe, ceiling(ell_r / moe_interval))
dense_layers = Min(plain_layers(), when(moe_interval > 1, ell_r - floor(ell_r / moe_interval), ell_r))
#: Where layers without experts are the first ones, so that it is known which rank has them.
IN_ORDER: Any = And(moe_interval <= 1, L_nb <= 0)
_between = ceiling(Max(0, L - L_first - L_last) / Max(1, p - Min(1, L_first) - Min(1, L_last)))
_own_first, _own_last = when(L_first > 0, L_first, _between), when(L_last > 0, L_last, _between)
#: Layers of one chunk of a stage, and those of the first stage.
_chunk, _chunk_before = ceiling(ell_r / v_chunks), ceiling(_own_first / v_chunks)

_is_first: Any = Eq(rank, label(rank, "first"))
_is_last: Any = Eq(rank, label(rank, "last"))

holds_first = Formula(
    b_first,
    when(Or(p <= 1, _is_first), 1),
    title="Whether a rank holds the first stage",
    source=Source("narayanan2021", "section 2.2"),
    example=Example({p: 4, rank: "last"}, "0", derived="0"),
)

holds_last = Formula(
    b_last,
    when(Or(p <= 1, _is_last), 1),
    title="Whether a rank holds the last stage",
    source=Source("narayanan2021", "section 2.2"),
    example=Example({p: 4, rank: "last"}, "1", derived="1"),
)

fullest_stage = Formula(
    ell,
    Max(1, _own_first, _own_last, _between),
    title="Layers of the fullest pipeline stage, whose ends may have others",
    source=Source("narayanan2021", "section 2.2"),
    variant="per_operator",
    convention="The stage that holds the most.",
    example=Example({L: 61, p: 16, L_first: 3, L_last: 2}, "4", derived="ceil((61 - 3 - 2) / 14)"),
)

layers_of_rank = Formula(
    ell_r,
    Max(1, Piecewise((_own_first, ON_FIRST), (_own_last, ON_LAST), (_between, True))),
    title="Layers of one rank",
    source=Source("narayanan2021", "section 2.2"),
    assumes="Stages hold equally many but for ends that say otherwise; where they cannot, each is taken as full as the "
    "fullest.",
    example=Example({b_first: 0, b_last: 1, L: 61, p: 16, L_first: 3, L_last: 2}, "2", derived="2"),
)

prediction_layers_of_rank = Formula(
    L_mtp_r,
    when(ON_LAST, L_mtp),
    title="Layers of one rank that predict further tokens",
    source=Source("deepseek2024", "section 2.2"),
    assumes="They stand on the last stage.",
    example=Example({b_last: 1, L_mtp: 1}, "1", derived="1"),
)

plain_layers_of_rank = Formula(
    ell_pl,
    Piecewise(
        (Min(plain_layers(), _chunk), ON_FIRST),
        (Max(0, plain_layers() - L + _chunk), ON_LAST),
        (Min(_chunk, Max(0, plain_layers() - _chunk_before)), True),
    ),
    title="Layers without experts of one rank, where they are the first ones",
    source=Source("narayanan2021", "section 2.2"),
    example=Example(
        {b_first: 1, b_last: 0, L_nb: 0, v_chunks: 1, L: 61, L_moe: 58, L_first: 0, L_last: 0, p: 16, ell_r: 4},
        "3",
        derived="min(61 - 58, 4)",
    ),
)

moe_layers_per_stage = Formula(
    ell_moe,
    Min(
        L_moe,
        Max(
            0,
            ell_r
            - when(
                IN_ORDER,
                ell_pl,
                when(P_ffn_r > P_sh_r + P_exp_r, dense_layers, ell_r - ceiling(ell_r / moe_interval)),
            ),
        ),
    ),
    title="Layers with experts of one rank",
    source=Source("narayanan2021", "section 2.2"),
    assumes="Layers without experts are the first ones. Where only every so many layers have experts, the rank has as "
    "many as it can of the larger kind of layer, before ZeRO shards it.",
    example=Example(
        {
            ell_pl: 3,
            L_nb: 0,
            P_ffn_r: 396361728,
            P_sh_r: 45875456,
            P_exp_r: 176160768,
            L: 61,
            L_moe: 58,
            ell_r: 4,
            moe_interval: 1,
        },
        "1",
        derived="4 - 3",
    ),
)


edge_parameters_of_rank = Formula(
    P_ends,
    when(
        p > 1,
        when(ON_FIRST, V_r * h_V + n_pos * h + P_lk / t + h * r_V)
        + when(ON_LAST, V_r * h_V * (1 + Min(1, L_mtp) * (1 - tied)) + P_norm + h * r_V),
        (2 - tied) * V_r * h_V + n_pos * h + P_norm + P_lk / t + 2 * h * r_V,
    ),
    title="Parameters of one rank outside the layers, by its place in the pipeline",
    source=MEGATRON,
    assumes="The last stage has a copy where embedding and head are one matrix, and the embedding beside the head "
    "where it predicts further tokens.",
    accuracy=COUNTED,
    example=Example(
        {
            b_first: 1,
            b_last: 0,
            V_r: 6283,
            h: 12288,
            h_V: 12288,
            r_V: 0,
            t: 8,
            P_lk: 0,
            p: 8,
            n_pos: 2048,
            P_norm: 24576,
            tied: 1,
            L_mtp: 0,
        },
        "102371328",
        derived="6283 * 12288 + 2048 * 12288",
    ),
)


def at_place(target: Any, place: str, formulas: Iterable[Formula]) -> Any:
    """Quantity of a rank on the first, second or last pipeline stage."""
    return evaluated_at(target, {rank: label(rank, place)}, formulas, swaps=True)


def most(target: Any, formulas: Iterable[Formula]) -> Any:
    """Maximum of a rank's quantity over the first, second and last pipeline stages."""
    first, between, last = (at_place(target, place, formulas) for place in ("first", "between", "last"))
    return Piecewise(
        (first, p <= 1), (between, DUALPIPE), (Max(first, last), p <= 2), (Max(first, last, between), True)
    )


def edges(ends: Any) -> Any:
    """Parameters outside the layers that are split: embedding or head, and multi-token-prediction layers."""
    return ends * P_edge_r + L_mtp * prediction(P_attn_r, when(L_moe > 0, P_sh_r, P_ffn_r), t)


dense_parameters_per_rank = Formula(
    P_dense,
    Max(
        1,
        n_s
        * (
            ell_r * (P_attn_r + norms() + (M_x + b_x) / L)
            + plain_layers(ell_r, ell_moe) * P_ffn_r
            + ell_moe * P_sh_r
        )
        + P_ends
        + L_mtp_r * prediction(P_attn_r, when(L_moe > 0, P_sh_r, P_ffn_r), t)
        - P_re / t,
    ),
    title="Parameters of one rank that are not experts",
    source=MEGATRON,
    assumes="Norms are held by all tensor-parallel ranks. With two stages a rank, one between the ends. What layers "
    "share is stored once.",
    convention=RANK,
    accuracy=COUNTED,
    example=Example(
        {M_x: 0, b_x: 0, P_re: 0, L: 32, L_nb: 0, n_s: 1, ell_r: 4, ell_moe: 1, P_attn_r: 187107328, P_norm: 7168,
         P_ffn_r: 396361728, P_sh_r: 45875456, P_ends: 926686208, L_moe: 58, L_mtp_r: 0, n_N: 2, h: 7168, t: 1},
        "2910133504",
        derived="4 * (187107328 + 2 * 7168) + 3 * 396361728 + 45875456 + 926686208",
    ),
)  # fmt: skip

expert_parameters_per_rank = Formula(
    P_sparse,
    (n_s * ell_moe + L_mtp_r) * P_exp_r,
    title="Expert parameters of one rank",
    source=Source("fedus2022", "section 5.5"),
    convention=RANK,
    accuracy=COUNTED,
    example=Example({n_s: 1, ell_moe: 32, L_mtp_r: 0, P_exp_r: 176160768}, "5637144576", derived="32 * 176160768"),
)

parameters_per_rank = Formula(
    P_r,
    P_dense + P_sparse,
    title="Parameters of one rank, counted",
    source=Source("fedus2022", "section 5.5"),
    variant="per_operator",
    assumes="Only experts are split by expert parallelism.",
    convention=RANK,
    accuracy=COUNTED,
    example=Example({P_dense: 1605636096, P_sparse: 5637144576}, "7242780672", derived="1605636096 + 5637144576"),
)

weights = Formula(
    W,
    (q_w * P_dense + (q_e - q_w) * P_ends) / sharded(Z >= 3, n_z) + q_w * P_sparse / sharded(Z >= 3, n_g["edp"]) + W_ad,
    title="Weights held by one rank, each kind over its own group",
    source=ZERO,
    variant="per_operator",
    assumes="ZeRO-3 shards an expert over the ranks that hold the same part of it. Embedding and head keep 16 "
    "bit beside narrower weights.",
    convention=RANK,
    example=Example(
        {
            P_dense: 1.606e9,
            P_ends: 2.6e8,
            P_sparse: 5.637e9,
            q_w: 1,
            q_e: 2,
            Z: 3,
            n_z: 64,
            n_g["edp"]: 8,
            W_ad: 0,
        },
        "0.7338 GB",
        derived="((1.606e9 + 2.6e8) / 64 + 5.637e9 / 8) / 1e9",
    ),
)

_gradients = q_g * (T_d / sharded(Z >= 2, n_z) + T_s / sharded(Z >= 2, n_g["edp"]))

gradients = Formula(
    G,
    when(optimizer_in_backward > 0, Min(_gradients, q_g * V_r * h_V), _gradients),
    title="Gradients held by one rank, each kind over its own group",
    source=ZERO,
    variant="per_operator",
    assumes="Where each weight is updated as soon as its gradient is there, the largest one is left: that of the head.",
    convention=RANK,
    example=Example(
        {
            T_d: 2910133248,
            T_s: 176160768,
            q_g: 4,
            Z: 2,
            n_z: 128,
            n_g["edp"]: 2,
            optimizer_in_backward: 0,
            V_r: 16160,
            h_V: 7168,
        },
        "443263200 byte",
        derived="4 * (2910133248 / 128 + 176160768 / 2)",
    ),
)

largest_layer_parameters = Formula(
    P_unit,
    when(
        Or(n_z > 1, n_g["edp"] < 2),
        P_attn_r
        + norms()
        + Max(Min(1, plain_layers()) * P_ffn_r, Min(1, L_moe) * (P_sh_r + when(n_g["edp"] > 1, P_exp_r))),
        P_exp_r,
    ),
    title="Parameters of the largest layer on one rank",
    source=Source("zhao2023", "section 3.2"),
    assumes="What one rank alone holds is not sharded, so it is not gathered: experts, or everything but them.",
    convention=RANK,
    example=Example(
        {L_nb: 0, P_attn_r: 187107328, P_norm: 7168, P_ffn_r: 396361728, P_sh_r: 45875456, P_exp_r: 1409286144, L: 61,
         L_moe: 58, n_z: 64, n_g["edp"]: 8, n_N: 2},
        "1642283264",
        derived="187107328 + 2 * 7168 + max(396361728, 45875456 + 1409286144)",
    ),
)  # fmt: skip

gathered_weights = Formula(
    W_gather,
    when(
        GATHERED,
        q_u * (Min(n_gather, ell) + 1 / Max(n_z, n_g["edp"])) * P_unit + when(n_z > 1, (1 + 1 / n_z) * WHOLE_EDGE),
    )
    + when(WIDENED, q_c * h * Max(Max(d_ff, d_sh) / t, y_q, d_e * h_e / (h * n_g["etp"]), r_moe)),
    title="Weights held whole or wide",
    source=Source("zhao2023", "section 3.2"),
    assumes="ZeRO-3 holds the layers at work and fetched ahead, and one embedding or head, each beside the shards that "
    "travel. Frozen weights that are "
    "kept narrower than products are computed are widened one matrix at a time.",
    convention=RANK,
    example=Example(
        {
            P_unit: 218112000,
            n_gather: 2,
            ell: 32,
            q_u: 2,
            q_w: 2,
            Z: 3,
            n_z: 8,
            n_g["edp"]: 8,
            n_g["etp"]: 1,
            V_r: 128256,
            t: 1,
            h: 4096,
            h_e: 4096,
            h_V: 4096,
            r_moe: 0,
            finetuning: "full",
            q_c: 2,
            d_ff: 14336,
            d_e: 0,
            d_sh: 0,
            y_q: 4096,
        },
        "2.1090 GB",
        derived="2 * ((2 + 1 / 8) * 218112000 + (1 + 1 / 8) * 128256 * 4096) / 1e9",
    ),
)

_states = q_a * n_tok / token * h


def hidden_buffers(tensors: Any) -> Any:
    """Buffers of hidden states: tensors between stages, and gathered sequences or expert tokens."""
    by_gathering: Any = Eq(dispatcher, label(dispatcher, "allgather"))
    gathering = And(by_gathering, L_moe > 0, e * n_g["etp"] > 1)
    sequence = when(And(sequence_parallel > 0, t > 1), _states)
    return when(p > 1, tensors * _states / sigma) + Max(sequence, when(gathering, _states / sigma * e * n_g["etp"]))


communication_buffers = Formula(
    C_buf,
    when(SCATTERED, q_a * T_unit) + hidden_buffers(2),
    title="Buffers of the collectives, by layer",
    source=Source("zhao2023", "section 4.2"),
    variant="per_operator",
    assumes="Gradients of one layer wait whole for their reduction, as they leave the products; a pipeline stage "
    "keeps one send and one receive buffer of hidden states, and sequence parallelism whole sequences of one layer, in "
    "the buffer into which tokens for experts are gathered where they are not exchanged.",
    convention=RANK,
    example=Example(
        {T_unit: 109060096, q_a: 2, Z: 2, n_z: 8, n_g["edp"]: 8, p: 4, n_tok: 8192, h: 4096, sigma: 2,
         sequence_parallel: 1, t: 2, dispatcher: "alltoall", L_moe: 0, e: 1, n_g["etp"]: 2},
        "0.35234 GB",
        derived="(2 * 109060096 + 2 * 2 * 8192 * 4096 / 2 + 2 * 8192 * 4096) / 1e9",
    ),
)  # fmt: skip

FORMULAS = (
    expert_tensor_ranks,
    zero_ranks,
    expert_replicas,
    stages_per_rank,
    ffn_parameters_per_rank,
    shared_parameters_per_rank,
    layer_experts_per_rank,
    vocabulary_rows,
    edge_parameters_per_rank,
    holds_first,
    holds_last,
    fullest_stage,
    layers_of_rank,
    prediction_layers_of_rank,
    plain_layers_of_rank,
    moe_layers_per_stage,
    edge_parameters_of_rank,
    dense_parameters_per_rank,
    expert_parameters_per_rank,
    parameters_per_rank,
    weights,
    gradients,
    largest_layer_parameters,
    gathered_weights,
    communication_buffers,
)
