"""Symbols of the model that is trained or served."""

from mlsysim.formats import PRESETS
from mlsysim.symbolic import at_least, choice, flag, integer, positive, variable

P = variable("parameters", "P", "count", "Parameters of the model, all experts included.", positive())
P_active = variable(
    "active_parameters", r"P_{\mathrm{act}}", "count", "Parameters one token passes through.", positive()
)
L = variable("layers", "L", "count", "Transformer layers.", integer(1))
h = variable("hidden_dim", "h", "count", "Width of the residual stream.", integer(1))
h_e = variable(
    "hidden_dim_in_experts", r"h_{\mathrm{e}}", "count", "Width of what routed experts read and give.", integer(1)
)
h_V = variable(
    "hidden_dim_in_embedding", r"h_{\mathrm{V}}", "count", "Width of the rows of embedding and head.", integer(1)
)
d_ff = variable(
    "ffn_dim", r"d_{\mathrm{ff}}", "count", "Inner width of the feed-forward block of a dense layer.", integer(0)
)
gated = variable(
    "gated", r"\beta_{\mathrm{g}}", "count", "True if feed-forward blocks have a gate (SwiGLU, GEGLU).", flag()
)
mlp_bias = variable(
    "mlp_bias", r"\beta_{\mathrm{ff}}", "count", "True if dense feed-forward blocks have biases.", flag()
)
norm_bias = variable(
    "norm_bias", r"\beta_{\mathrm{n}}", "count", "True if norms have a bias besides the scale (LayerNorm).", flag()
)
norm_scale = variable(
    "norm_scale", r"\beta_{\mathrm{sc}}", "count", "True if norms have a scale (the first OLMo has none).", flag()
)
V = variable("vocab_size", "V", "count", "Rows of the token embedding.", integer(1))
r_V = variable(
    "embedding_dim",
    r"r_{\mathrm{V}}",
    "count",
    "Width of embedding and head if projected to the hidden size and back (ALBERT); 0 if it is the hidden size.",
    integer(0),
)
tied = variable(
    "tied_embeddings", r"\beta_{\mathrm{tie}}", "count", "True if output head and embedding are one matrix.", flag()
)
n_pos = variable(
    "learned_positions", r"n_{\mathrm{pos}}", "count", "Rows of a learned position embedding; 0 without it.", integer(0)
)
P_lk = variable(
    "lookup_parameters",
    r"P_{\mathrm{lk}}",
    "count",
    "Parameters of further tables that a token looks up and nothing multiplies (embeddings of each layer); 0 without.",
    integer(0),
)
E = variable("experts", "E", "count", "Experts per MoE layer; 1 for a dense model.", integer(1))
k = variable(
    "active_experts_per_token", "k", "count", "Experts the router picks for one token (top-k).", integer(1), not_above=E
)
L_moe = variable(
    "moe_layers", r"L_{\mathrm{moe}}", "count", "Layers with experts; 0 for a dense model.", integer(0), not_above=L
)
L_nb = variable(
    "blockless_layers",
    r"L_{\mathrm{nb}}",
    "count",
    "Layers without a feed-forward block; 0 if every layer has one.",
    integer(0),
)
M_x = variable(
    "further_matrices",
    r"M_{\mathrm{x}}",
    "count",
    "Matrix elements per token outside mixers and blocks, over all layers: gates of shared experts, and others.",
    integer(0),
)
b_x = variable(
    "further_vectors",
    r"b_{\mathrm{x}}",
    "count",
    "Biases and norms of the whole model that no other field covers.",
    integer(0),
)
P_re = variable(
    "reused_parameters",
    r"P_{\mathrm{re}}",
    "count",
    "Parameters that a token passes again in later layers, which share them: stored once (ALBERT, Zamba2); 0 without.",
    integer(0),
)
moe_interval = variable(
    "moe_layer_interval", r"\Delta_{\mathrm{moe}}", "count", "Interval between layers with experts.", integer(1)
)
d_e = variable("expert_ffn_dim", r"d_{\mathrm{e}}", "count", "Inner width of one routed expert.", integer(0))
r_moe = variable(
    "expert_input_dim",
    r"r_{\mathrm{moe}}",
    "count",
    "Width to which tokens are projected for routed experts, and back from it; 0 if it is the hidden size.",
    integer(0),
    label="Input width of experts",
)
d_sh = variable(
    "shared_ffn_dim", r"d_{\mathrm{sh}}", "count", "Inner width of all shared experts of a layer together.", integer(0)
)
router_bias = variable(
    "router_bias",
    r"\beta_{\mathrm{rt}}",
    "count",
    "True if the router has a correction bias per expert, set without gradients.",
    flag(),
)
expert_bias = variable("expert_bias", r"\beta_{\mathrm{e}}", "count", "True if routed experts have biases.", flag())
L_mtp = variable(
    "mtp_layers",
    r"L_{\mathrm{mtp}}",
    "count",
    "Layers beyond the last that predict further tokens in training (MTP), with embedding and head shared.",
    integer(0),
    label="Multi-token-prediction layers",
)
s = variable("seq_len", "s", "token", "Tokens per sequence.", integer(1))
precision = variable(
    "precision",
    r"\mathrm{precision}",
    "",
    "Preset of number formats for products, weights, activations, gradients, KV cache and communication.",
    choice(*PRESETS),
)
q = variable("bytes_per_element", "q", "byte", "Bytes one number takes in memory.", positive())
gamma = variable(
    "routing_imbalance_factor",
    r"\gamma",
    "count",
    "Load of the hot experts over the mean; 1 is perfectly balanced.",
    at_least(1.0),
)
