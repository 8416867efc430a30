"""Symbols of what is trained, and of the state an optimizer keeps for it."""

from mlsysim.symbolic import between, choice, flag, integer, nonnegative, positive, variable
from mlsysim.symbols.formats import AS_PRECISION

N_COUNT = "count"

finetuning = variable(
    "finetuning",
    r"\mathrm{finetuning}",
    "",
    "Trained parameters: weights, or low-rank adapters beside frozen weights (qlora: stored as nf4).",
    choice("full", "lora", "qlora"),
)
lora_targets = variable(
    "lora_target_modules",
    r"\mathrm{targets}",
    "",
    "Products with adapters: queries and values, all of attention, or also feed-forward blocks.",
    choice("query_value", "attention", "all_linear"),
)
r_lora = variable("lora_rank", r"r_{\mathrm{LoRA}}", N_COUNT, "Rank of an adapter.", integer(1), label="LoRA rank")
adapter_dtype = variable(
    "adapter_dtype",
    r"\mathrm{adapters\ in}",
    "",
    "Format of adapter weights: that of hidden states, or wider, with a cast of their inputs.",
    choice(AS_PRECISION, "fp32"),
)
master = variable(
    "master_weights",
    r"\beta_{\mathrm{mw}}",
    N_COUNT,
    "True if trained weights below 32 bits have a 32-bit copy, which the optimizer updates.",
    flag(),
)

R_attn = variable(
    "attention_edges_per_rank",
    r"R_{\mathrm{attn}}",
    N_COUNT,
    "Rows and columns of the matrices of attention of one layer on one rank, added up.",
    nonnegative(),
)
R_ff = variable(
    "ffn_edges_per_rank",
    r"R_{\mathrm{ff}}",
    N_COUNT,
    "Rows and columns of the matrices of a dense feed-forward block on one rank, added up.",
    positive(),
)
R_sh = variable(
    "shared_edges_per_rank",
    r"R_{\mathrm{sh}}",
    N_COUNT,
    "Rows and columns of the matrices of the shared experts of one layer on one rank, added up.",
    nonnegative(),
)
R_e = variable(
    "single_expert_edges_per_rank",
    r"R_{\mathrm{e}}",
    N_COUNT,
    "Rows and columns of the matrices of one routed expert on one rank, added up.",
    nonnegative(),
)
R_d = variable(
    "matrix_edges_per_rank",
    r"R_{\mathrm{d}}",
    N_COUNT,
    "Rows and columns of all matrices of one rank but experts, added up.",
    nonnegative(),
)
R_s = variable(
    "expert_edges_per_rank",
    r"R_{\mathrm{s}}",
    N_COUNT,
    "Rows and columns of the matrices of the experts of one rank, added up.",
    nonnegative(),
)
U_attn = variable(
    "attention_vectors_per_rank",
    r"U_{\mathrm{attn}}",
    N_COUNT,
    "Numbers of the norms, biases and sinks of attention of one layer on one rank.",
    nonnegative(),
)
U_d = variable(
    "vector_parameters_per_rank",
    r"U_{\mathrm{d}}",
    N_COUNT,
    "Numbers of the norms and biases in the layers of one rank, experts left out.",
    nonnegative(),
)
U_s = variable(
    "expert_vectors_per_rank", r"U_{\mathrm{s}}", N_COUNT, "Numbers of the biases of the experts of one rank.",
    nonnegative(),
)  # fmt: skip
K_attn = variable(
    "adapted_attention_products",
    r"K_{\mathrm{attn}}",
    N_COUNT,
    "Products of attention of one layer that have adapters.",
    nonnegative(),
)
R_ad = variable(
    "adapted_attention_edges",
    r"R_{\mathrm{ad}}",
    N_COUNT,
    "Rows and columns of those products on one rank, added up.",
    nonnegative(),
)
P_ad_d = variable(
    "adapter_parameters_per_rank",
    r"P_{\mathrm{ad}}",
    N_COUNT,
    "Parameters of the adapters of one rank, those of experts left out.",
    nonnegative(),
)
P_ad_s = variable(
    "expert_adapter_parameters_per_rank",
    r"P_{\mathrm{ad,s}}",
    N_COUNT,
    "Parameters of the adapters of experts of one rank.",
    nonnegative(),
)
K_d = variable(
    "adapted_products_per_rank",
    r"K_{\mathrm{d}}",
    N_COUNT,
    "Products of one rank that have adapters, those of experts left out.",
    nonnegative(),
)
K_s = variable(
    "adapted_expert_products_per_rank",
    r"K_{\mathrm{s}}",
    N_COUNT,
    "Products of experts of one rank that have adapters.",
    nonnegative(),
)
T_d = variable(
    "trained_dense_parameters_per_rank",
    r"P_{\mathrm{t,d}}",
    N_COUNT,
    "Trained parameters of one rank that are not of experts.",
    nonnegative(),
)
T_s = variable(
    "trained_expert_parameters_per_rank",
    r"P_{\mathrm{t,s}}",
    N_COUNT,
    "Trained parameters of the experts of one rank.",
    nonnegative(),
)
T_r = variable(
    "trained_parameters_per_rank",
    r"P_{\mathrm{t}}",
    N_COUNT,
    "Trained parameters of one rank, before ZeRO shards their gradients.",
    nonnegative(),
)
P_upd = variable(
    "updated_parameters_per_rank",
    r"P_{\mathrm{upd}}",
    N_COUNT,
    "Trained parameters that one rank updates.",
    nonnegative(),
)
P_ad_unit = variable(
    "largest_layer_adapter_parameters",
    r"P_{\mathrm{ad,unit}}",
    N_COUNT,
    "Parameters of the adapters of the largest layer on one rank.",
    nonnegative(),
)
T_unit = variable(
    "largest_layer_trained_parameters",
    r"P_{\mathrm{t,unit}}",
    N_COUNT,
    "Trained parameters of the largest layer on one rank.",
    nonnegative(),
)
f_w = variable(
    "weight_gradient_share",
    r"f_{\mathrm{w}}",
    N_COUNT,
    "Share of the model's weights whose gradients a backward pass computes.",
    between(0, 1),
)

q_full = variable(
    "full_weight_bytes", r"q_{\mathrm{full}}", "byte", "Bytes of one weight where all are trained.", positive()
)
q_t = variable("trained_bytes", r"q_{\mathrm{t}}", "byte", "Bytes of one trained weight.", positive())
q_mw = variable(
    "master_bytes", r"q_{\mathrm{mw}}", "byte", "Bytes of the 32-bit copy of one trained weight.", nonnegative()
)
q_m = variable("moment_bytes", r"q_{\mathrm{m}}", "byte", "Bytes of one number that an optimizer keeps.", positive())
N_d = variable(
    "further_state_numbers",
    r"N_{\mathrm{d}}",
    N_COUNT,
    "Numbers an optimizer keeps beside those of each trained parameter, experts left out.",
    nonnegative(),
)
N_s = variable(
    "further_expert_state_numbers",
    r"N_{\mathrm{st,e}}",
    N_COUNT,
    "Numbers an optimizer keeps beside those of each trained parameter of experts.",
    nonnegative(),
)
W_ad = variable("adapter_weights", r"W_{\mathrm{ad}}", "GB", "Weights of adapters, held by one rank.", nonnegative())
X_d = variable(
    "largest_dense_parameters",
    r"P_{\mathrm{d,max}}",
    N_COUNT,
    "Parameters that are not experts, on the rank of a pipeline that has the most.",
    nonnegative(),
)
X_s = variable(
    "largest_expert_parameters",
    r"P_{\mathrm{s,max}}",
    N_COUNT,
    "Expert parameters, on the rank of a pipeline that has the most.",
    nonnegative(),
)
X_ends = variable(
    "largest_edge_parameters",
    r"P_{\mathrm{ends,max}}",
    N_COUNT,
    "Parameters outside the layers, on the rank of a pipeline that has the most.",
    nonnegative(),
)
X_td = variable(
    "largest_trained_dense_parameters",
    r"P_{\mathrm{t,d,max}}",
    N_COUNT,
    "Trained parameters that are not of experts, on the rank of a pipeline that has the most.",
    nonnegative(),
)
X_ts = variable(
    "largest_trained_expert_parameters",
    r"P_{\mathrm{t,s,max}}",
    N_COUNT,
    "Trained parameters of experts, on the rank of a pipeline that has the most.",
    nonnegative(),
)
X_O = variable(
    "largest_optimizer_state",
    r"O_{\mathrm{max}}",
    "GB",
    "Optimizer state of the rank of a pipeline that has the most.",
    nonnegative(),
)
