"""Symbols of the parameters of a transformer, counted tensor by tensor."""

from mlsysim.symbolic import integer, nonnegative, variable

P_norm = variable("norm_parameters", r"P_{\mathrm{norm}}", "count", "Parameters of one norm.", integer(0))
P_attn = variable(
    "attention_parameters", r"P_{\mathrm{attn}}", "count", "Parameters of the mixer of one layer.", nonnegative()
)
P_ffn = variable(
    "ffn_parameters", r"P_{\mathrm{ffn}}", "count", "Feed-forward parameters of one dense layer.", integer(0)
)
P_exp = variable("expert_parameters", r"P_{\mathrm{exp}}", "count", "Parameters of one routed expert.", integer(0))
P_sh = variable(
    "shared_expert_parameters",
    r"P_{\mathrm{sh}}",
    "count",
    "Parameters of the shared experts of one layer.",
    integer(0),
)
P_rt = variable(
    "router_parameters",
    r"P_{\mathrm{rt}}",
    "count",
    "Parameters of the router of one layer, and of projections around its experts.",
    integer(0),
)
P_emb = variable(
    "embedding_parameters", r"P_{\mathrm{emb}}", "count", "Parameters of token and position embeddings.", integer(1)
)
P_head = variable(
    "head_parameters", r"P_{\mathrm{head}}", "count", "Parameters of an output head of its own.", integer(0)
)
