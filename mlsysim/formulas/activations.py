"""Activations

Memory that a layer keeps for its backward pass: the published per-layer sums of Korthikanti et al., and a sum over the
operators of the layer. Every operator keeps its inputs, fused or eager, and tensor-parallel ranks split what they
compute separately. Further terms are the micro-batches in flight in a pipeline, the backward pass of the current layer,
and the logits with their loss.
"""

from __future__ import annotations

from typing import Any

from sympy import And, Eq, Ne, Or, Piecewise, Rational, ceiling

from mlsysim.formats import STORED
from mlsysim.formulas.mixers import EAGER, FLASH, OF_HEADS, normalised, y_out
from mlsysim.formulas.optimizer_states import ON_DEVICE
from mlsysim.formulas.parameter_counts import norms, plain_layers
from mlsysim.formulas.rank_parameters import DUALPIPE, FOLDING, IN_ORDER, dense_layers, edges, sparse_layers
from mlsysim.formulas.routed_activations import PEAKS
from mlsysim.formulas.trained_parameters import AUTOCAST, EVERYWHERE, FULL, ON_FIRST, ON_LAST, WIDE_ADAPTERS
from mlsysim.symbolic import (
    Example,
    Formula,
    Max,
    Min,
    Source,
    by_label,
    byte,
    label,
    sharded,
    token,
    variable_of,
    when,
)
from mlsysim.symbols.activations import (
    A_bwd,
    A_end,
    A_loss,
    A_stage,
    L_mtp_r,
    M_end,
    P_end,
    P_end_s,
    V_r,
    attention_kernel,
    b_first,
    b_last,
    c_loss,
    elementwise_kernels,
    k_def,
    loss_chunks,
    loss_kernel,
    mask,
    microbatch_group,
    n_end,
    n_ffn,
    n_fly,
    offload_act,
    q_copy,
    q_ff,
    q_res,
    r_act,
    r_norm,
    r_up,
    residual_dtype,
    schedule,
    selective_policy,
    sequence_parallel,
    sigma,
    sigma_e,
    v_chunks,
    x_all,
    x_attn,
    x_beside,
    x_buf,
    x_core,
    x_dense,
    x_drop,
    x_ffn,
    x_in,
    x_inp,
    x_mm,
    x_moe,
    x_norm,
    x_redo,
    x_sparse,
)
from mlsysim.symbols.formats import AS_PRECISION, q_a, q_e, q_in, q_s, q_w
from mlsysim.symbols.groups import n_g
from mlsysim.symbols.layers import two
from mlsysim.symbols.mixers import a_r, n_B, n_N, x_up, y_v
from mlsysim.symbols.parameters import P_norm
from mlsysim.symbols.trained import adapter_dtype, f_w, finetuning, lora_targets, r_lora
from mlsysim.symbols.training import (
    A,
    C_buf,
    P_attn_r,
    P_edge_r,
    P_exp_r,
    P_ffn_r,
    P_sh_r,
    Z,
    b,
    c_cp,
    checkpointing,
    d,
    ell,
    ell_moe,
    ell_r,
    f,
    gradients_at_loss,
    m,
    n_mb,
    n_tok,
    n_z,
    o,
    optimizer_device,
    p,
    q_g,
    reserve,
    t,
    workspace,
)
from mlsysim.symbols.workload import L, L_moe, L_mtp, L_nb, d_ff, gated, h, h_V, moe_interval, norm_bias, s

KORTHIKANTI = Source("korthikanti2023", "table 2")
AUTOGRAD = Source("korthikanti2023", "section 4.1")
HOOKS = "Within 0.2% of the saved tensors of PyTorch layers: plain, dropout, Llama, Qwen3, Mixtral, DeepSeek-V3."

#: Where queries and values alone have adapters, and the width of what their output reads.
_QUERIES: Any = Eq(lora_targets, label(lora_targets, "query_value"))
#: Where every element-wise operation is a kernel of its own.

micro_batches = Formula(
    n_mb,
    ceiling(b / (d * m)),
    title="Micro-batches of one step",
    source=Source("narayanan2021", "section 2.2"),
    assumes="No more than the sequences of a rank fill.",
    example=Example({b: 100, d: 8, m: 4}, "4", derived="ceil(100 / (8 * 4))"),
)

micro_batch_tokens = Formula(
    n_tok,
    m * s / c_cp,
    title="Tokens of one micro-batch on one rank",
    source=Source("liu2024", "section 3"),
    assumes="Context-parallel ranks hold equal parts of every sequence.",
    example=Example({m: 1, s: 131072, c_cp: 16}, "8192 token", derived="1 * 131072 / 16"),
)

_alternating = p + when(v_chunks > 1, (p - 1) / v_chunks)

_one_end: Any = Ne(schedule, label(schedule, "dualpipe"))


def in_flight(alternating: Any, layers: Any) -> Any:
    """Count the micro-batches in flight on a stage with this many layers, given their number under 1F1B."""
    return Min(
        n_mb,
        when(
            p > 1,
            by_label(schedule, {"1f1b": alternating, "gpipe": n_mb, "zb1p": alternating, "dualpipe": p + 1}),
            1,
        )
        + when(And(two > 0, _one_end), 1 / layers),
    )


in_flight_micro_batches = Formula(
    n_fly,
    in_flight(_alternating, ell),
    title="Micro-batches the first pipeline stage holds at once",
    variant="korthikanti",
    source=Source("korthikanti2023", "section 4.2.3"),
    assumes="One forward, one backward (1F1B): the first stage starts as many micro-batches as there are stages; "
    "interleaving starts (p - 1) / v more, GPipe all of them; ZB1P as many as 1F1B; DualPipe one more, over the two "
    "stages of a rank together. Never more than there are. Where one goes forward while another goes backward, the "
    "layer at work is held for both.",
    accuracy="Equal to a schedule simulated operation by operation, in whole chunks; DualPipe as its authors count it.",
    example=Example(
        {two: 0, ell: 4, p: 8, n_mb: 64, v_chunks: 3, schedule: "1f1b"},
        "10.33",
        Source("korthikanti2023", "section 4.2.3"),
    ),
)

#: Stages behind that of the rank, and micro-batches that pass one chunk in a row.
_behind = p - Piecewise((1, ON_FIRST), (p, ON_LAST), (Min(2, p), True))
_group = Min(n_mb, when(microbatch_group > 0, microbatch_group, p))

in_flight_of_rank = Formula(
    n_fly,
    in_flight(
        when(v_chunks > 1, ((v_chunks - 1) * _group + 1 + 2 * _behind) / v_chunks, 1 + _behind),
        ell_r,
    ),
    title="Micro-batches one rank holds at once",
    source=Source("korthikanti2023", "section 4.2.3"),
    variant="per_operator",
    assumes="One forward, one backward (1F1B): a stage starts as many micro-batches as there are stages behind it, and "
    "its own. Interleaved, it starts a group of micro-batches for each chunk but one, and two chunks for each stage "
    "behind it. GPipe starts all; ZB1P as many as 1F1B; DualPipe one more than stages, over the two stages of a rank "
    "together. Never more than there are. Where one goes forward while another goes backward, the layer at work is "
    "held for both.",
    accuracy="Equal to a schedule simulated operation by operation, in whole chunks; DualPipe as its authors count it.",
    example=Example(
        {b_first: 1, b_last: 0, microbatch_group: 0, two: 0, ell_r: 4, p: 8, n_mb: 64, v_chunks: 3, schedule: "1f1b"},
        "10.33",
        Source("korthikanti2023", "section 4.2.3"),
    ),
)

_split = (1 - sequence_parallel) * (10 + 24 / t) + sequence_parallel * 34 / t
_scores = 5 * a_r * (s / token) / h

korthikanti_activations = Formula(
    A,
    (q_a / (2 * byte))
    * (byte / token)
    * m
    * s
    * h
    * ell
    * n_fly
    * by_label(checkpointing, {"none": _split + _scores, "selective": _split, "full": 2}),
    title="Activations, layer sums of Korthikanti et al.",
    source=KORTHIKANTI,
    variant="korthikanti",
    assumes="A GPT layer with dropout: feed-forward of width 4 h without a gate, all heads keep keys and values, "
    "one-byte masks, 16 bit (other formats scale everything). Embedding, head and loss are left out.",
    convention="The first pipeline stage; GB = 1e9 bytes.",
    accuracy="Within 0.5% of the paper's figure 1, four models. A Llama layer keeps as much with fused norms and gate, "
    "and 44% more with eager ones.",
    example=Example(
        {checkpointing: "selective", q_a: 2, m: 4, s: 2048, h: 6144, ell: 48, n_fly: 1, t: 8, a_r: 8,
         sequence_parallel: 1},
        "9.5625 GiB",
        Source("korthikanti2023", "figure 1: 22B, as read by Calculon"),
    ),
)  # fmt: skip

sequence_shards = Formula(
    sigma,
    1 + sequence_parallel * (t - 1),
    title="Ranks that share norms, residuals and dropout",
    source=Source("korthikanti2023", "section 4.2.2"),
    example=Example({sequence_parallel: 1, t: 8}, "8", derived="1 + 1 * (8 - 1)"),
)


expert_sequence_shards = Formula(
    sigma_e,
    t / n_g["etp"],
    title="Ranks that share the tokens of a tensor-parallel group for their experts",
    source=FOLDING,
    assumes="Ranks that an expert is cut over work on the same tokens, the others on tokens of their own.",
    example=Example({t: 8, n_g["etp"]: 2}, "4", derived="8 / 2"),
)


norm_copy_bytes = Formula(
    q_copy,
    when(And(EAGER, norm_bias <= 0), 4 * byte),
    title="What an eager norm keeps beside input and output",
    source=AUTOGRAD,
    assumes="An fp32 copy of the input, as RMSNorm in transformers makes; LayerNorm is one kernel everywhere.",
    accuracy=HOOKS,
    no_example="a table of labels",
)

ffn_tensors = Formula(
    n_ffn,
    2 + gated * when(EAGER, 2, 1),
    title="Tensors of the inner width that a feed-forward block keeps",
    source=AUTOGRAD,
    assumes="Input and output of the activation; a gate adds its other factor, and eager code the activated gate.",
    accuracy=HOOKS,
    example=Example({gated: 1, elementwise_kernels: "eager"}, "4", derived="2 + 1 + 1"),
)

residual_bytes = Formula(
    q_res,
    by_label(
        residual_dtype,
        {
            name: q_a if name == AS_PRECISION else Rational(*STORED[name].as_integer_ratio()) * byte
            for name in variable_of(residual_dtype).domain.labels
        },
    ),
    title="Bytes of a number that a layer hands on",
    source=Source("shoeybi2019", "section 3"),
    assumes="As other activations; fp32 where mixed precision leaves norms and sums in it (Megatron-LM's "
    "fp32-residual-connection, adapters under FSDP or beside quantised weights).",
    example=Example({residual_dtype: "as_precision", q_a: 2}, "2 byte", derived="2"),
)

_frozen_norm = (when(q_copy > 0, q_copy, q_a) * h + 4 * byte) / token

norm_activation = Formula(
    x_norm,
    (when(FULL, normalised(h), _frozen_norm) + Max(0, q_res - q_a) * h / token) / sigma,
    title="Kept by one norm and the products that read it",
    source=AUTOGRAD,
    variant="per_operator",
    assumes="Fused: its input and its output. Eager: an fp32 copy of the input, the normalised input and the output. "
    "Frozen weights need neither what they scale nor what they multiply.",
    accuracy=HOOKS,
    example=Example(
        {finetuning: "full", q_res: 2, q_a: 2, q_in: 2, q_copy: 4, h: 4096, sigma: 8},
        "4096.5 byte/token",
        derived="((2 * 2 + 4) * 4096 + 4) / 8",
    ),
)

inner_bytes = Formula(
    q_ff,
    (1 - r_act) * ((n_ffn - 1) * q_a + when(Or(FULL, EVERYWHERE), q_in)) + r_act * (1 + gated) * q_s,
    title="Bytes kept per unit of the inner width",
    source=AUTOGRAD,
    assumes="Where the activation function is recomputed, its inputs alone. The input of a frozen product without an "
    "adapter is not kept.",
    accuracy=HOOKS,
    example=Example(
        {finetuning: "full", lora_targets: "all_linear", r_act: 0, n_ffn: 3, q_a: 2, q_in: 1.03125, gated: 1, q_s: 2},
        "5.03125 byte",
        derived="(3 - 1) * 2 + 1.03125",
    ),
)

ffn_activation = Formula(
    x_ffn,
    q_ff * d_ff / t / token,
    title="Kept by the feed-forward block of a dense layer",
    source=AUTOGRAD,
    variant="per_operator",
    accuracy=HOOKS,
    example=Example({q_ff: 6, d_ff: 14336, t: 8}, "10752 byte/token", derived="6 * 14336 / 8"),
)

dropout_activation = Formula(
    x_drop,
    2 * mask * h / sigma / token,
    title="Dropout masks of a layer",
    source=KORTHIKANTI,
    variant="per_operator",
    assumes="One after attention and one after the feed-forward block.",
    accuracy=HOOKS,
    example=Example({mask: 1, h: 1, sigma: 1}, "2 byte/token", KORTHIKANTI),
)

layer_input = Formula(
    x_in,
    q_res * h / sigma / token,
    title="Input of a layer",
    source=Source("chen2016", "section 3"),
    example=Example({q_res: 2, h: 4096, sigma: 8}, "1024 byte/token", derived="2 * 4096 / 8"),
)

_copies = by_label(lora_targets, {"query_value": 2, "attention": 3, "all_linear": 3})

further_inputs = Formula(
    x_inp,
    when(
        FULL,
        when(AUTOCAST, q_a * h / sigma * (2 + gated)) / token,
        q_a
        * (
            h / sigma * (when(WIDE_ADAPTERS, _copies, 1) + when(EVERYWHERE, when(WIDE_ADAPTERS, 1 + gated, 1)))
            + when(WIDE_ADAPTERS & ~_QUERIES, y_out)
            + r_lora * by_label(lora_targets, {"query_value": 2, "attention": 4, "all_linear": 6 + gated})
        )
        / token,
    ),
    title="Kept by a layer of what its products read once more",
    source=Source("hu2022", "section 4.1"),
    variant="per_operator",
    assumes="Autocast casts what queries, keys and values read for each, and what a gate reads twice. Adapters read "
    "what their products do, cast for each where they are wider; those of routed experts are not counted.",
    accuracy="Within 0.5% of what PyTorch allocates for Llama 3.1 8B with adapters of peft, or in fp32 under autocast.",
    example=Example(
        {q_w: 2, Z: 0, finetuning: "lora", lora_targets: "attention", adapter_dtype: "fp32", q_a: 2, h: 4096, sigma: 1,
         gated: 1, **OF_HEADS, t: 1, r_lora: 16},
        "32896 byte/token",
        derived="2 * (3 * 4096 + 32 * 128 + 4 * 16)",
    ),
)  # fmt: skip

_around = n_B * x_norm + x_attn + x_drop + x_inp

recomputed_activation = Formula(
    x_redo,
    n_B * r_norm * (x_norm - x_in) + r_up * x_up,
    title="Not kept by a layer whose norms or up-projections are recomputed",
    source=Source("deepseek2024", "section 3.2.3"),
    variant="per_operator",
    assumes="Of a norm its input stays, of latent attention the compressed vectors before their norms.",
    example=Example(
        {n_B: 2, r_norm: 1, r_up: 1, x_norm: 21732, x_in: 14336, x_up: 165960},
        "180752 byte/token",
        derived="2 * (21732 - 14336) + 165960",
    ),
)

alternate_matmul_activation = Formula(
    x_mm,
    2 * x_in + q_a * (y_v + d_ff / t) / token + 4 * byte * a_r / token,
    title="Kept where every second matrix product is kept",
    source=Source("liang2024", "section 2.2.1"),
    variant="per_operator",
    assumes="Input, queries, values, gate, output of the block and of flash attention, in the order of a Llama layer.",
    accuracy="Exact on a Llama layer under torchtitan's policy.",
    example=Example(
        {x_in: 8192, q_a: 2, a_r: 32, y_v: 9216, d_ff: 14336, t: 1},
        "63616 byte/token",
        derived="2 * 8192 + 2 * (9216 + 14336) + 4 * 32",
    ),
)

kept_beside = Formula(
    x_beside,
    Max(0, _around - x_redo),
    title="Kept by a layer beside its feed-forward block and the core of attention",
    source=AUTOGRAD,
    variant="per_operator",
    example=Example(
        {n_B: 2, x_norm: 16388, x_attn: 20480, x_drop: 0, x_inp: 0, x_redo: 0},
        "53256 byte/token",
        derived="2 * 16388 + 20480",
    ),
)


def kept(block: Any) -> Any:
    """Bytes that a layer with this feed-forward block keeps, by checkpointing policy."""
    around = x_beside + block
    selective = by_label(selective_policy, {"core_attention": around, "alternate_matmuls": x_mm})
    return by_label(checkpointing, {"none": around + x_core, "selective": selective, "full": x_in})


dense_layer_activation = Formula(
    x_dense,
    kept(x_ffn),
    title="Kept by one dense layer",
    source=AUTOGRAD,
    variant="per_operator",
    assumes="Selective checkpointing recomputes the core of attention (Megatron-LM), or keeps every second matrix "
    "product and the attention output alone (torchtitan; gated feed-forward and grouped queries only).",
    accuracy=HOOKS,
    example=Example(
        {checkpointing: "selective", selective_policy: "core_attention", x_beside: 53256, x_core: 128, x_ffn: 86016,
         x_mm: 63616, x_in: 8192},
        "139272 byte/token",
        derived="53256 + 86016",
    ),
)  # fmt: skip

moe_layer_activation = Formula(
    x_sparse,
    kept(x_moe),
    title="Kept by one layer with experts",
    source=AUTOGRAD,
    variant="per_operator",
    accuracy=HOOKS,
    example=Example(
        {checkpointing: "none", selective_policy: "core_attention", x_beside: 53256, x_core: 128, x_moe: 204852,
         x_mm: 63616, x_in: 8192},
        "258236 byte/token",
        derived="53256 + 128 + 204852",
    ),
)  # fmt: skip


def of_layers(experts: Any) -> Any:
    """Bytes per token of a rank with this many MoE layers."""
    return (ell_r - experts) * x_dense + experts * x_sparse


stage_activations = Formula(
    A_stage,
    n_tok
    * (
        when(IN_ORDER, of_layers(ell_moe), Max(of_layers(sparse_layers), of_layers(ell_r - dense_layers)))
        + when(ON_FIRST, mask * h / sigma / token)
    ),
    title="Activations of one micro-batch on one pipeline stage",
    source=AUTOGRAD,
    assumes="Where kinds of layers alternate, of a stage with as many layers with experts as one can have, or with as "
    "few; it need not be the one with the most weights, and then the total of both is an upper bound. The first stage "
    "has the dropout mask of the embedding.",
    example=Example(
        {L_nb: 0, n_tok: 4096, ell_r: 4, ell_moe: 1, L: 61, L_moe: 58, moe_interval: 1, x_dense: 373392,
         x_sparse: 603860, mask: 0, h: 7168, sigma: 1, b_first: 1},
        "7.0617 GB",
        derived="4096 * (3 * 373392 + 603860) / 1e9",
    ),
)  # fmt: skip

per_operator_activations = Formula(
    A,
    when(
        offload_act > 0,
        A_stage / ell_r,
        n_fly * A_stage + L_mtp_r * n_tok * (when(L_moe > 0, x_sparse, x_dense) + 2 * x_norm + 2 * x_in),
    ),
    title="Activations, operator by operator",
    source=Source("korthikanti2023", "section 4.2.3"),
    variant="per_operator",
    assumes="A layer that predicts a further token has a norm on each of two inputs, which are then one. Activations "
    "that wait on the host leave those of one layer.",
    convention="The rank that is described; GB = 1e9 bytes.",
    accuracy=HOOKS,
    example=Example(
        {offload_act: 0, ell_r: 4, n_fly: 16, A_stage: 9.894, L_mtp_r: 0, n_tok: 4096, L_moe: 58, x_sparse: 603860,
         x_dense: 373392, x_norm: 28676, x_in: 14336},
        "158.304 GB",
        derived="16 * 9.894",
    ),
)  # fmt: skip

_has_dense, _has_experts = Min(1, plain_layers()), Min(1, L_moe)

largest_layer_activation = Formula(
    x_all,
    _around + x_core + Max(_has_dense * x_ffn, _has_experts * x_moe),
    title="Everything one layer makes for its backward pass",
    source=AUTOGRAD,
    example=Example(
        {L_nb: 0, L: 61, L_moe: 58, x_norm: 28676, x_attn: 204936, x_core: 512, x_drop: 0, x_inp: 0, x_ffn: 110592,
         x_moe: 341060, n_B: 2},
        "603860 byte/token",
        derived="2 * 28676 + 204936 + 512 + max(110592, 341060)",
    ),
)  # fmt: skip

backward_buffer = Formula(
    A_bwd,
    n_tok
    * (
        x_all
        - Max(_has_dense * x_dense, _has_experts * x_sparse)
        + x_in
        + Max(
            _has_dense * when(Or(FULL, EVERYWHERE), 2, 3) * q_a * d_ff / t / token,
            _has_experts * x_buf,
            when(FLASH, 0, 2 * q_a * a_r * s / c_cp / token**2),
        )
    ),
    title="What one layer's backward pass needs beyond what was kept",
    source=Source("chen2016", "section 3"),
    assumes="The layer is recomputed whole; gradients of the hidden states and of the widest product are alive, less "
    "its input where that was kept, or the buffers of routed tokens, or gradients of scores that are kept.",
    accuracy="Peaks of PyTorch layers: dense ones within 10% on a few small shapes; " + PEAKS,
    example=Example(
        {finetuning: "full", lora_targets: "all_linear", attention_kernel: "flash", a_r: 32, s: 8192, c_cp: 1, L_nb: 0,
         n_tok: 8192, x_all: 258236,
         x_dense: 8192, x_sparse: 8192, x_in: 8192, L: 32, L_moe: 32, q_a: 2,
         d_ff: 0, t: 1, x_buf: 98304},
        "2.9208 GB",
        derived="8192 * (258236 - 8192 + 8192 + 98304) / 1e9",
    ),
)  # fmt: skip

logit_bytes = Formula(
    c_loss,
    by_label(
        loss_kernel,
        {"eager": 12 * byte, "eager_referenced": 12 * byte + q_a, "compiled": 14 * byte, "fast": 8 * byte,
         "megatron": 6 * byte, "megatron_fused": 10 * byte, "chunked": q_a + q_a / loss_chunks,
         "fused_linear": byte / 2},
    ),
    title="Bytes of one logit at the loss",
    source=Source("liang2024", "section 2.2.1"),
    assumes="Eager: log-softmax, its gradient and that of the likelihood in fp32, beside 16-bit logits that are still "
    "referenced. Megatron-LM: 16-bit logits, and one fp32 copy that becomes softmax and gradient in place; fused, two. "
    "In chunks: 16-bit logits, and the gradient of one chunk. Fused with the head, less than half a byte.",
    accuracy="12 bytes is the peak PyTorch reaches; 6 the one of Megatron-LM, within 0.01%.",
    example=Example({loss_kernel: "chunked", loss_chunks: 8, q_a: 2}, "2.25 byte", derived="2 + 2 / 8"),
)  # fmt: skip

#: Where logits are ever whole, so that the gradient of the head is not made at the loss.
_chunked: Any = Eq(loss_kernel, label(loss_kernel, "chunked"))
_fused: Any = Eq(loss_kernel, label(loss_kernel, "fused_linear"))
WHOLE_LOGITS: Any = And(~_chunked, ~_fused)

loss_buffer = Formula(
    A_loss,
    n_tok * ((c_loss + 4 * byte * L_mtp_r) * V_r / token + x_norm)
    + Min(k_def, n_mb) * n_tok * q_a * (V_r + h / sigma) / token
    + when(WHOLE_LOGITS, 0, q_g * f_w * V_r * h_V * (1 + when(Or(gradients_at_loss > 0, n_mb > 1), 0, 1))),
    title="Logits, their softmax and its gradient",
    source=Source("liang2024", "section 2.2.1"),
    assumes="The input and output of the last norm beside. Each further loss keeps a softmax in fp32. Gradients of the "
    "head that are put off keep their inputs. A loss in chunks sums a gradient of "
    "the head beside the one that is there, or beside a new one.",
    accuracy="Of 12 bytes per token and row of the vocabulary the peak PyTorch reaches.",
    example=Example(
        {c_loss: 12, n_tok: 1024, V_r: 6283, x_norm: 4100, L_mtp_r: 0, k_def: 0, q_a: 2, h: 1024, h_V: 1024, sigma: 1,
         loss_kernel: "eager", q_g: 4, f_w: 1, gradients_at_loss: 1, n_mb: 1},
        "81.404 MB",
        derived="1024 * (12 * 6283 + 4100) / 1e6",
    ),
)  # fmt: skip

end_stage_layers = Formula(
    n_end,
    when(DUALPIPE, Max(0, L - (p - 2) * ell)),
    title="Layers of the first and the last stage, held by one rank",
    source=Source("deepseek2024", "section 3.2.1"),
    assumes="All stages between hold as many as the fullest.",
    example=Example({schedule: "dualpipe", L: 61, p: 16, ell: 4}, "5", derived="61 - (16 - 2) * 4"),
)

_first, _plain = ceiling(n_end / 2), Min(n_end, plain_layers())
_first_plain = Min(_first, plain_layers())

end_parameters = Formula(
    P_end,
    when(DUALPIPE, n_end * (P_attn_r + norms()) + _plain * P_ffn_r + (n_end - _plain) * P_sh_r + edges(2)),
    title="Parameters of the rank with embedding and head that are not experts",
    source=Source("deepseek2024", "section 3.2.1"),
    assumes="Layers without experts are the first ones.",
    example=Example(
        {L_nb: 0, schedule: "dualpipe", n_end: 5, L: 61, L_moe: 58, L_mtp: 0, P_attn_r: 187107328, P_norm: 7168,
         P_ffn_r: 396361728, P_sh_r: 45875456, P_edge_r: 926686208, n_N: 2, h: 7168, t: 1},
        "4069816832",
        derived="5 * (187107328 + 2 * 7168) + 3 * 396361728 + 2 * 45875456 + 2 * 926686208",
    ),
)  # fmt: skip

end_expert_parameters = Formula(
    P_end_s,
    (n_end - _plain + L_mtp) * P_exp_r,
    title="Expert parameters of the rank with embedding and head",
    source=Source("deepseek2024", "section 3.2.1"),
    assumes="Layers without experts are the first ones. Asked for where one rank holds both ends.",
    example=Example(
        {L_nb: 0, n_end: 5, L: 61, L_moe: 58, L_mtp: 1, P_exp_r: 176160768}, "528482304", derived="3 * 176160768"
    ),
)

end_activations = Formula(
    A_end,
    n_tok
    * (
        Min(n_mb, p) * (_first_plain * x_dense + (_first - _first_plain) * x_sparse)
        + (n_end - _first + L_mtp) * when(L_moe > 0, x_sparse, x_dense)
    ),
    title="Activations of the rank with the first and the last stage",
    source=Source("deepseek2024", "section 3.2.1"),
    assumes="As many micro-batches of the first stage as there are stages, and one of the last.",
    example=Example(
        {
            L_nb: 0,
            n_tok: 4096,
            n_mb: 120,
            p: 16,
            n_end: 5,
            L: 61,
            L_moe: 58,
            L_mtp: 1,
            x_dense: 96000,
            x_sparse: 156160,
        },
        "20.793 GB",
        derived="4096 * (16 * 3 * 96000 + (2 + 1) * 156160) / 1e9",
    ),
)


def _states(ranks: Any) -> Any:
    """Bytes of weight, gradient and optimizer state per parameter, sharded over this many ranks."""
    return q_w / sharded(Z >= 3, ranks) + q_g * f / sharded(Z >= 2, ranks) + ON_DEVICE * o * f / sharded(Z >= 1, ranks)


end_memory = Formula(
    M_end,
    when(
        DUALPIPE,
        _states(n_z) * P_end
        + _states(n_g["edp"]) * P_end_s
        + 2 * (q_e - q_w) * P_edge_r / sharded(Z >= 3, n_z)
        + A_end
        + A_loss
        + C_buf
        + reserve
        + workspace,
    ),
    title="Memory of the rank with embedding and head",
    source=Source("deepseek2024", "section 3.2.1"),
    assumes="DualPipe alone puts both ends on one rank. The loss is its peak.",
    convention="GB = 1e9 bytes.",
    example=Example(
        {schedule: "dualpipe", Z: 1, n_z: 128, n_g["edp"]: 2, q_w: 2, q_e: 2, q_g: 4, o: 8, f: 1, P_end: 4.4e9,
         P_end_s: 528482304, P_edge_r: 926686208, A_end: 20.8, A_loss: 6.4, C_buf: 0.1, reserve: 0,
         workspace: 0, optimizer_device: "accelerator"},
        "59.26 GB",
        derived="(6 + 8 / 128) * 4.4 + (6 + 8 / 2) * 0.528482304 + 20.8 + 6.4 + 0.1",
    ),
)  # fmt: skip

KORTHIKANTI_FORMULAS = (micro_batches, in_flight_micro_batches, korthikanti_activations)
PER_OPERATOR_FORMULAS = (
    micro_batches,
    micro_batch_tokens,
    in_flight_of_rank,
    sequence_shards,
    expert_sequence_shards,
    norm_copy_bytes,
    ffn_tensors,
    residual_bytes,
    norm_activation,
    inner_bytes,
    ffn_activation,
    dropout_activation,
    layer_input,
    further_inputs,
    recomputed_activation,
    alternate_matmul_activation,
    kept_beside,
    dense_layer_activation,
    moe_layer_activation,
    stage_activations,
    per_operator_activations,
    largest_layer_activation,
    backward_buffer,
    logit_bytes,
    loss_buffer,
    end_stage_layers,
    end_parameters,
    end_expert_parameters,
    end_activations,
    end_memory,
)
FORMULAS = (
    micro_batches,
    micro_batch_tokens,
    in_flight_micro_batches,
    korthikanti_activations,
    *PER_OPERATOR_FORMULAS[2:],
)
