"""Moments of a training step

Memory of a rank is its resident state plus what is live at one of four moments: at the loss, in the backward pass of
the head, in that of a layer, or in the update. Moments differ by rank: the first pipeline stage holds the most
micro-batches, and the last one has the loss. A rank needs the maximum over its moments, and a run the maximum over its
ranks; moments of different ranks do not add.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sympy import And, Eq, Or, Piecewise

from mlsysim.formulas import (
    activations,
    mixers,
    optimizer_states,
    rank_parameters,
    routed_activations,
    trained_parameters,
)
from mlsysim.formulas.activations import WHOLE_LOGITS
from mlsysim.formulas.optimizer_states import moment_of_each
from mlsysim.formulas.rank_parameters import DUALPIPE, GATHERED, at_place
from mlsysim.formulas.trained_parameters import AUTOCAST, ON_FIRST, ON_LAST
from mlsysim.symbolic import Example, Formula, Max, Min, Source, byte, label, sharded, token, when
from mlsysim.symbols.activations import (
    A_bwd,
    A_loss,
    A_peak,
    C_cast,
    G_at,
    M_1st,
    M_2nd,
    M_after,
    M_end,
    M_hd,
    M_last,
    M_lay,
    M_loss,
    M_r,
    M_upd,
    P_ends,
    S_mem,
    V_r,
    b_first,
    b_last,
    dispatcher,
    loaded_mask,
    loss_kernel,
    peak_moment,
    peak_rank,
    rank,
    schedule,
    sequence_parallel,
    sigma,
    v_chunks,
)
from mlsysim.symbols.formats import q_a, q_w
from mlsysim.symbols.groups import n_g
from mlsysim.symbols.trained import T_d, T_s, T_unit, f_w, q_m
from mlsysim.symbols.training import (
    A,
    C_buf,
    G,
    M,
    O,
    P_dense,
    P_sparse,
    W,
    W_gather,
    Z,
    checkpointing,
    e,
    ell_r,
    gradients_at_loss,
    m,
    n_mb,
    n_tok,
    n_z,
    optimizer,
    p,
    q_g,
    reserve,
    t,
    update_buffer,
    workspace,
)
from mlsysim.symbols.workload import L_moe, h, h_V, s, tied

MOMENTS = Source("chen2016", "section 3")
ZERO = Source("rajbhandari2020", "section 3")
SPLIT = Source("narayanan2021", "section 2.2")
RANK = "The rank that is described; GB = 1e9 bytes."
NAME = "per_operator"

_head_gradient = f_w * V_r * h_V
#: Where no buffer takes gradients and none is there before, so that autograd makes each anew.
_anew: Any = And(gradients_at_loss <= 0, n_mb <= 1, Z < 2)
_both_ends = And(ON_FIRST, ON_LAST)
#: Logits at 16 bit that a caller still holds.
_by_caller: Any = Eq(loss_kernel, label(loss_kernel, "eager_referenced"))
_referenced = when(And(ON_LAST, _by_caller), q_a * n_tok / token * V_r)
#: Gradient of the head before ZeRO-3 reduces it.
GATHERED_HEAD = when(GATHERED, q_a * _head_gradient)
#: What is there in a forward and a backward pass: what gathers and hands on, and a mask.
_passing = S_mem + C_buf + W_gather + C_cast + loaded_mask * byte * m * s**2 / token**2

gradients_at_loss_bytes = Formula(
    G_at,
    when(Or(gradients_at_loss > 0, n_mb > 1), G),
    title="Gradients that are there at the loss",
    source=MOMENTS,
    assumes="A buffer is always there (Megatron-LM, DeepSpeed); without one, gradients are there only while those of "
    "several micro-batches are summed.",
    example=Example({gradients_at_loss: 0, n_mb: 4, G: 2.0}, "2 GB", derived="2"),
)

cast_weights = Formula(
    C_cast,
    when(
        AUTOCAST,
        q_a
        * (
            when(Eq(checkpointing, label(checkpointing, "full")), 0, Max(0, P_dense - P_ends) + P_sparse)
            + when(ON_LAST, V_r * h_V)
        ),
    ),
    title="Weights cast for products and kept for the backward pass",
    source=Source("micikevicius2018", "section 3.1"),
    assumes="Autocast keeps weights as each product read them; layers that are recomputed cast anew. ZeRO gathers "
    "weights in the format of products instead, or has them at 16 bit.",
    accuracy="Llama 3.2 1B and four layers of Llama 3.1 8B in fp32: within 0.3% of what PyTorch allocates.",
    convention=RANK,
    example=Example(
        {q_w: 4, q_a: 2, Z: 0, checkpointing: "none", P_dense: 1235814400, P_ends: 262670336, P_sparse: 0, b_last: 1,
         V_r: 128256, h_V: 2048},
        "2.4716 GB",
        derived="2 * (1235814400 - 262670336 + 128256 * 2048) / 1e9",
    ),
)  # fmt: skip

resident_memory = Formula(
    S_mem,
    W + O + workspace + reserve,
    title="What a rank holds all the time",
    source=ZERO,
    assumes="Gradients are left out, which some frameworks make anew in every step.",
    convention=RANK,
    example=Example({W: 2.0, O: 13.9, workspace: 0.1, reserve: 1.0}, "17.00 GB", derived="2.0 + 13.9 + 0.1 + 1.0"),
)

memory_after_step = Formula(
    M_after,
    W + O + when(gradients_at_loss > 0, G) + rank_parameters.hidden_buffers(2 * v_chunks) + workspace,
    title="Memory allocated after a step",
    source=Source("shoeybi2019", "section 3"),
    assumes="A pipeline keeps two tensors of hidden states for each chunk of a stage.",
    accuracy="Megatron-LM's own tests, median 0.24% of 195 rows.",
    convention=RANK,
    example=Example(
        {W: 3.894, G: 7.788, O: 11.682, gradients_at_loss: 1, p: 4, v_chunks: 8, q_a: 2, n_tok: 8192, h: 4096,
         sigma: 1, sequence_parallel: 0, t: 1, workspace: 0.1007, dispatcher: "alltoall", L_moe: 0, e: 1,
         n_g["etp"]: 1},
        "24.54 GB",
        derived="3.894 + 7.788 + 11.682 + 16 * 2 * 8192 * 4096 / 1e9 + 0.1007",
    ),
)  # fmt: skip

loss_memory = Formula(
    M_loss,
    when(
        ON_LAST,
        _passing + G_at + A + A_loss + GATHERED_HEAD,
    ),
    title="Memory at the loss",
    source=MOMENTS,
    assumes="All activations of a micro-batch are kept, those of the head and its loss beside them, and under ZeRO-3 "
    "the gradient of the head before its reduction.",
    convention=RANK,
    accuracy="The peak of all 195 rows of Megatron-LM's own tests, median 0.5%.",
    example=Example(
        {b_last: 1, S_mem: 15.0, C_buf: 0.5, W_gather: 1.5, C_cast: 0, G_at: 2.0, A: 1.1,
         A_loss: 12.7, loaded_mask: 0, m: 1, s: 4096, Z: 1, n_z: 8,
         n_g["edp"]: 8, q_a: 2, f_w: 1, V_r: 128256, h_V: 4096},
        "32.80 GB",
        derived="17.0 + 2.0 + 1.1 + 12.7",
    ),
)  # fmt: skip

head_memory = Formula(
    M_hd,
    when(
        And(ON_LAST, WHOLE_LOGITS),
        _passing
        + Max(G_at, Min(G, q_g * _head_gradient))
        + A
        + q_a * n_tok / token * (V_r + h / sigma)
        + _referenced,
    ),
    title="Memory in the backward pass of the head",
    source=MOMENTS,
    assumes="Gradients of logits and of what the head reads are alive.",
    convention=RANK,
    example=Example(
        {b_last: 1, loss_kernel: "eager", S_mem: 15.0, C_buf: 0.5, W_gather: 1.5, C_cast: 0,
         G_at: 2.0, G: 2.0, q_g: 2, f_w: 1, A: 1.1, q_a: 2,
         n_tok: 8192, V_r: 128256, h: 4096, h_V: 4096, sigma: 1, loaded_mask: 0, m: 1, s: 8192},
        "22.268 GB",
        derived="17.0 + 2.0 + 1.1 + 2 * 8192 * (128256 + 4096) / 1e9",
    ),
)  # fmt: skip

layer_memory = Formula(
    M_lay,
    _passing
    + _referenced
    + Max(
        Max(0, A_bwd)
        + Max(
            A + Max(G_at, Min(G, q_g * (T_unit + when(ON_LAST, _head_gradient)))),
            A / ell_r + G - when(And(ON_FIRST, tied <= 0, _anew), Min(G, q_g * _head_gradient)),
        ),
        G + when(And(_both_ends, tied > 0, _anew), when(WHOLE_LOGITS, 2, 1) * q_g * _head_gradient),
    ),
    title="Memory in the backward pass of a layer",
    source=MOMENTS,
    assumes="The first of the layers that go back, beside all activations and the gradients made so far; the last "
    "one, beside all gradients but that of the embedding; or the embedding, whose gradient is added to that of a head "
    "it is tied to: out of place, but to the sum of a loss in chunks.",
    convention=RANK,
    example=Example(
        {S_mem: 15.0, C_buf: 0.5, W_gather: 1.5, C_cast: 0, A_bwd: 1.6,
         A: 2.2, G_at: 2.0, G: 2.0, q_g: 2, T_unit: 218112000, b_first: 1, b_last: 0, f_w: 1,
         V_r: 128256, h_V: 4096, ell_r: 16, loaded_mask: 0, m: 1, s: 8192, n_tok: 8192, q_a: 2, tied: 0,
         loss_kernel: "eager", gradients_at_loss: 1, n_mb: 1, Z: 0},
        "22.80 GB",
        derived="17.0 + 1.6 + 2.2 + 2.0",
    ),
)  # fmt: skip

update_memory = Formula(
    M_upd,
    S_mem
    + G
    + when(
        Eq(update_buffer, label(update_buffer, "foreach")),
        moment_of_each(q_m) * (T_d / sharded(Z >= 1, n_z) + T_s / sharded(Z >= 1, n_g["edp"])),
    ),
    title="Memory in the update",
    source=Source("pytorch_allocator", "memory management"),
    assumes="PyTorch's foreach kernels make a list as long as all parameters, in the format of a moment; fused kernels "
    "nothing.",
    accuracy="Equal to full fine-tuning with Hugging Face's Trainer (Mistral 7B: 72.42 GB, measured 72.43).",
    convention=RANK,
    example=Example(
        {update_buffer: "foreach", S_mem: 43.45, G: 14.48, optimizer: "adamw", q_m: 2, T_d: 7.242e9, T_s: 0, Z: 0,
         n_z: 1, n_g["edp"]: 1},
        "72.41 GB",
        derived="43.45 + 14.48 + 2 * 7.242",
    ),
)  # fmt: skip

rank_memory = Formula(
    M_r,
    Max(M_loss, M_hd, M_lay, M_upd),
    title="Memory of one rank at its peak",
    source=MOMENTS,
    variant=NAME,
    assumes="The most of its moments.",
    convention=RANK,
    example=Example({M_loss: 32.8, M_hd: 22.3, M_lay: 22.8, M_upd: 19.0}, "32.80 GB", derived="32.8"),
)

binding_moment = Formula(
    peak_moment,
    Piecewise(
        (label(peak_moment, "Loss"), M_loss >= M_r),
        (label(peak_moment, "Head"), M_hd >= M_r),
        (label(peak_moment, "Layer"), M_lay >= M_r),
        (label(peak_moment, "Update"), True),
    ),
    title="The moment at which a rank holds the most",
    source=MOMENTS,
    example=Example({M_loss: 32.8, M_hd: 22.3, M_lay: 22.8, M_r: 32.8}, "Loss", derived="32.8 >= 32.8"),
)

peak_activations = Formula(
    A_peak,
    Max(0, M_r - S_mem - C_buf - W_gather - G),
    title="Activations and buffers at the peak",
    source=ZERO,
    variant=NAME,
    assumes="Beside what is always there, and all gradients.",
    convention=RANK,
    example=Example(
        {M_r: 32.8, S_mem: 15.0, C_buf: 0.5, W_gather: 1.5, G: 2.0}, "13.80 GB", derived="32.8 - 15 - 2 - 2"
    ),
)


#: The memory of each rank, by the stage that it has.
PLACES = {"first": M_1st, "between": M_2nd, "last": M_last}


def of_ranks(formulas: Iterable[Formula], own: Any, variant: str) -> tuple[Formula, ...]:
    """Memory of the first, second and last rank, each by the formulas of one rank.

    Parameters
    ----------
    formulas : iterable of Formula
        Those that lead to the memory of one rank.
    own : sympy.Symbol
        The memory of one rank.
    variant : str
        Their name.
    """
    kept = tuple(formulas)
    return tuple(
        Formula(
            symbol,
            at_place(own, place, kept),
            title=f"Memory of the rank of the {'second' if place == 'between' else place} stage",
            source=SPLIT,
            variant=variant,
            assumes="Its own layers, ends and micro-batches.",
            no_example="the memory of one rank, whose parts have examples",
        )
        for place, symbol in PLACES.items()
    )


def leading() -> tuple[Formula, ...]:
    """Formulas that lead to the memory of one rank at each moment."""
    return (
        *mixers.SAVED,
        *rank_parameters.FORMULAS,
        *trained_parameters.FORMULAS,
        *optimizer_states.FORMULAS,
        *routed_activations.FORMULAS,
        *activations.PER_OPERATOR_FORMULAS,
        gradients_at_loss_bytes,
        cast_weights,
        resident_memory,
        loss_memory,
        head_memory,
        layer_memory,
        update_memory,
    )


first_rank, second_rank, last_rank = of_ranks((*leading(), rank_memory), M_r, NAME)

_asked = {place: Eq(peak_rank, label(peak_rank, place)) for place in ("first", "last")}


def asked(of: Any, fullest: Any) -> Any:
    """Quantity of the requested rank, by position; the maximum if none is requested."""
    return Piecewise((of("first"), p <= 1), *((of(place), chosen) for place, chosen in _asked.items()), (fullest, True))


binding_rank = Formula(
    rank,
    Piecewise(
        (label(rank, "first"), p <= 1),
        (label(rank, "between"), DUALPIPE),
        *((label(rank, place), chosen) for place, chosen in _asked.items()),
        (label(rank, "first"), (M_1st >= M_last) & ((M_1st >= M_2nd) | (p <= 2))),
        (label(rank, "last"), (M_last >= M_2nd) | (p <= 2)),
        (label(rank, "between"), True),
    ),
    title="The rank that is described",
    source=SPLIT,
    variant=NAME,
    assumes="That of the first or the last stage if it is asked; else of these and of the second stage the one that "
    "holds the most. Without a pipeline there is one, with DualPipe one between the ends.",
    example=Example(
        {p: 4, schedule: "1f1b", peak_rank: "fullest", M_1st: 30.0, M_2nd: 26.0, M_last: 31.0},
        "last",
        derived="31.0 >= max(30.0, 26.0)",
    ),
)

total_memory = Formula(
    M,
    Max(M_r, M_end),
    title="Training memory of the fullest rank at its peak",
    source=ZERO,
    variant=NAME,
    assumes="That of the rank that is described: the fullest, or the one that is asked.",
    convention="GB = 1e9 bytes.",
    example=Example({M_r: 31.0, M_end: 0}, "31.00 GB", derived="max(31, 0)"),
)

FORMULAS = (
    gradients_at_loss_bytes,
    cast_weights,
    resident_memory,
    memory_after_step,
    loss_memory,
    head_memory,
    layer_memory,
    update_memory,
    rank_memory,
    binding_moment,
    peak_activations,
    first_rank,
    second_rank,
    last_rank,
    binding_rank,
    total_memory,
)
