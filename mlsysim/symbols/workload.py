"""Symbols of the model that is trained or served."""

from mlsysim.symbolic import at_least, choice, integer, positive, variable

P = variable("parameters", "P", "count", "Parameters of the model, all experts included.", positive())
P_active = variable(
    "active_parameters", r"P_{\mathrm{act}}", "count", "Parameters one token passes through.", positive()
)
L = variable("layers", "L", "count", "Transformer layers.", integer(1))
h = variable("hidden_dim", "h", "count", "Width of the residual stream.", integer(1))
a = variable("heads", "a", "count", "Attention heads (query heads).", integer(1))
a_kv = variable("kv_heads", r"a_{\mathrm{kv}}", "count", "Heads that keep keys and values (GQA).", integer(1))
r_kv = variable(
    "kv_lora_rank",
    r"r_{\mathrm{kv}}",
    "count",
    "Rank of the compressed key-value vector of multi-head latent attention; 0 without it.",
    integer(0),
)
d_rope = variable(
    "qk_rope_head_dim",
    r"d_{\mathrm{rope}}",
    "count",
    "Width of the shared rotary key kept beside the compressed vector (MLA); 0 without it.",
    integer(0),
)
E = variable("experts", "E", "count", "Experts per MoE layer; 1 for a dense model.", integer(1))
k = variable("active_experts_per_token", "k", "count", "Experts the router picks for one token (top-k).", integer(1))

s = variable("seq_len", "s", "token", "Tokens per sequence.", integer(1))
precision = variable(
    "precision",
    r"\mathrm{precision}",
    "",
    "Number format of weights, gradients, activations and KV cache.",
    choice("fp32", "tf32", "bf16", "fp16", "fp8", "int8", "int4"),
)
q = variable("bytes_per_element", "q", "byte", "Bytes one number takes in memory.", positive())
gamma = variable(
    "routing_imbalance_factor",
    r"\gamma",
    "count",
    "Load of the hot experts over the mean; 1 is perfectly balanced.",
    at_least(1.0),
)
