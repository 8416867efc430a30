"""Symbols of what lets tokens see each other: attention of each kind, what it counts, keeps and computes."""

from mlsysim.symbolic import flag, integer, positive, variable
from mlsysim.symbols.workload import L

a = variable("heads", "a", "count", "Attention heads (query heads).", integer(1))
a_kv = variable("kv_heads", r"a_{\mathrm{kv}}", "count", "Heads that keep keys and values (GQA).", integer(1))
d_h = variable("head_dim", r"d_{\mathrm{h}}", "count", "Width of one attention head.", integer(1))
qkv_bias = variable(
    "qkv_bias", r"\beta_{\mathrm{qkv}}", "count", "Whether query, key and value projections have a bias.", flag()
)
o_bias = variable(
    "attention_output_bias",
    r"\beta_{\mathrm{o}}",
    "count",
    "Whether the output projection of attention has a bias.",
    flag(),
)
qk_norm = variable(
    "qk_norm", r"\beta_{\mathrm{qk}}", "count", "Whether queries and keys are normalised per head.", flag()
)
sinks = variable(
    "attention_sinks", r"\beta_{\mathrm{sink}}", "count", "Whether each head has a learned attention sink.", flag()
)
r_q = variable(
    "q_lora_rank",
    r"r_{\mathrm{q}}",
    "count",
    "Rank of the compressed query of multi-head latent attention; 0 where queries are not compressed.",
    integer(0),
    label="Compressed query rank",
)
r_kv = variable(
    "kv_lora_rank",
    r"r_{\mathrm{kv}}",
    "count",
    "Rank of the compressed key-value vector of multi-head latent attention; 0 without it.",
    integer(0),
    label="Compressed key-value rank",
)
d_rope = variable(
    "qk_rope_head_dim",
    r"d_{\mathrm{rope}}",
    "count",
    "Width of the shared rotary key kept beside the compressed vector (MLA); 0 without it.",
    integer(0),
    label="Rotary key width",
)
d_nope = variable(
    "qk_nope_head_dim",
    r"d_{\mathrm{nope}}",
    "count",
    "Width per head of queries and keys without rotation (MLA); 0 without it.",
    integer(0),
    label="Unrotated head width",
)
d_v = variable(
    "v_head_dim",
    r"d_{\mathrm{v}}",
    "count",
    "Width per head of the values; 0 where it is that of the keys.",
    integer(0),
    label="Value head width",
)
window = variable(
    "sliding_window",
    r"s_{\mathrm{w}}",
    "token",
    "Tokens a sliding-window layer attends to, itself included; 0 without such layers.",
    integer(0),
)
L_w = variable(
    "sliding_layers",
    r"L_{\mathrm{w}}",
    "count",
    "Layers with sliding-window attention; 0 without.",
    integer(0),
    not_above=L,
)
chunked = variable(
    "chunked_attention",
    r"\beta_{\mathrm{ch}}",
    "count",
    "Whether sliding layers attend within chunks of so many tokens instead (Llama 4).",
    flag(),
)
sandwich = variable(
    "sandwich_norm",
    r"\beta_{\mathrm{sw}}",
    "count",
    "Whether attention and feed-forward blocks are normalised behind as well as in front (Gemma).",
    flag(),
)

n_G = variable(
    "gate_width",
    r"n_{\mathrm{G}}",
    "count",
    "Numbers of the output gate of attention per token: one a head, or one a head and value width; 0 without a gate.",
    integer(0),
    label="Width of the output gate",
)
n_B = variable(
    "block_norms",
    r"n_{\mathrm{B}}",
    "count",
    "Norms in front of the two blocks of a layer; 1 where both read the same one and run abreast (Falcon, Cohere).",
    integer(1, 2),
)

n_N = variable("norms_per_layer", r"n_{\mathrm{N}}", "count", "Norms of one layer.", integer(0))
a_r = variable("heads_per_rank", r"a_{\mathrm{r}}", "count", "Query heads of one tensor-parallel rank.", positive())
d_v_h = variable(
    "value_dim",
    r"d_{\mathrm{v,h}}",
    "count",
    "Width of the values of one head, where no vector is compressed.",
    integer(1),
)
y_q = variable(
    "query_width_per_rank",
    r"y_{\mathrm{q}}",
    "count",
    "Width of all queries of one tensor-parallel rank, or of the output of attention where that is wider.",
    positive(),
)
y_v = variable(
    "query_value_width_per_rank",
    r"y_{\mathrm{qv}}",
    "count",
    "Widths of queries, gate, values and output of attention on one tensor-parallel rank, added up.",
    positive(),
)
y_core = variable(
    "core_width_per_rank",
    r"y_{\mathrm{core}}",
    "count",
    "Widths of queries, gate, keys, values and output of attention on one tensor-parallel rank, added up.",
    positive(),
)
y_mix = variable(
    "mixer_product_widths",
    r"y_{\mathrm{mix}}",
    "count",
    "Widths of inputs and outputs of the products of attention in one layer.",
    integer(1),
)
W_all = variable(
    "repeated_matrix_elements",
    r"W_{\mathrm{all}}",
    "count",
    "Matrix elements of attention in one layer that every tensor-parallel rank holds whole.",
    integer(0),
)
W_up = variable(
    "up_projection_elements",
    r"W_{\mathrm{up}}",
    "count",
    "Matrix elements in one layer that expand what latent attention compresses.",
    integer(0),
)
x_up = variable(
    "up_projection_activation",
    r"x_{\mathrm{up}}",
    "byte/token",
    "Not kept by latent attention whose norms and up-projections are recomputed.",
)
