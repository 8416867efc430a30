"""Symbols of memory in two tiers: what is kept near, what is kept far, and what moving it costs."""

from mlsysim.symbolic import between, choice, flag, integer, nonnegative, positive, variable

N_COUNT, MS, GB = "count", "ms", "GB"

policy = variable(
    "policy",
    r"\mathrm{policy}",
    "",
    "Policy of the remote tier: a name for the shares of weights, checkpoints and other state kept there.",
    choice("none", "conservative", "zero_offload", "aggressive", "zero_infinity"),
)
omega_w = variable(
    "weights_offload", r"\omega_W", N_COUNT, "Share of the weights kept in the remote tier.", between(0, 1)
)
omega_ck = variable(
    "checkpoints_offload",
    r"\omega_{\mathrm{ck}}",
    N_COUNT,
    "Share of the activation checkpoints kept in the remote tier.",
    between(0, 1),
)
omega_act = variable(
    "activations_offload",
    r"\omega_A",
    N_COUNT,
    "Share of the recomputed activations pushed to the remote tier and popped for the backward pass.",
    between(0, 1),
)
omega_g = variable(
    "gradients_offload", r"\omega_G", N_COUNT, "Share of the gradients kept in the remote tier.", between(0, 1)
)
omega_o = variable(
    "optimizer_offload", r"\omega_O", N_COUNT, "Share of the optimizer state kept in the remote tier.", between(0, 1)
)
omega_kv = variable(
    "kv_offload", r"\omega_{\mathrm{kv}}", N_COUNT, "Share of the KV cache kept in the remote tier.", between(0, 1)
)

M_far = variable(
    "remote_capacity",
    r"M_{\mathrm{far}}",
    GB,
    "Remote memory of one accelerator; its share if several share it.",
    positive(),
)
B_far = variable(
    "remote_bandwidth",
    r"B_{\mathrm{far}}",
    "GB/s",
    "Bandwidth to the remote tier, both directions together over one port.",
    positive(),
)
n_share = variable(
    "remote_sharers", r"n_{\mathrm{far}}", N_COUNT, "Accelerators that share the remote bandwidth.", integer(1)
)
unified = variable("unified", r"\beta_{\mathrm{uni}}", N_COUNT, "True if local and remote tier are one memory.", flag())
p_near = variable("local_price", r"p_{\mathrm{near}}", "USD/GB", "Price of local memory.", positive())
p_far = variable("remote_price", r"p_{\mathrm{far}}", "USD/GB", "Price of remote memory.", positive())
p_bare = variable(
    "bare_price", r"p_{\mathrm{bare}}", "USD", "Price of one accelerator without any of its memory.", nonnegative()
)

n_pass_w = variable(
    "weight_passes",
    r"n_W",
    N_COUNT,
    "Times offloaded weights cross to or from the remote tier per micro-batch: pulls and write-backs.",
    nonnegative(),
)
n_pass_ck = variable(
    "checkpoint_passes",
    r"n_{\mathrm{ck}}",
    N_COUNT,
    "Times offloaded checkpoints cross per micro-batch.",
    nonnegative(),
)
n_pass_act = variable(
    "activation_passes",
    r"n_A",
    N_COUNT,
    "Times offloaded recomputed activations cross per micro-batch: a push and a pop.",
    nonnegative(),
)
n_pass_g = variable(
    "gradient_passes", r"n_G", N_COUNT, "Times offloaded gradients cross per micro-batch.", nonnegative()
)
n_pass_o = variable(
    "optimizer_passes", r"n_O", N_COUNT, "Times offloaded optimizer state crosses per step.", nonnegative()
)
eta_pre = variable(
    "prefetch_fraction",
    r"\eta_{\mathrm{pre}}",
    N_COUNT,
    "Share of the computing of a phase behind which weights and checkpoints are fetched or written back.",
    between(0, 1),
)

chi = variable(
    "expert_slices",
    r"\chi_{\mathrm{e}}",
    N_COUNT,
    "Ranks that share one expert; 1 where there are experts enough.",
    positive(),
)
C_ck = variable("checkpoint_bytes", r"C_{\mathrm{ck}}", GB, "Inputs of all layers, kept to recompute them.", positive())
A_rec = variable(
    "recomputed_activations",
    r"A_{\mathrm{rec}}",
    GB,
    "Activations of one layer that are recomputed for its backward pass.",
    positive(),
)
P_kd = variable(
    "dense_layer_kept",
    r"P_{\mathrm{k,d}}",
    N_COUNT,
    "Parameters of one dense layer that one rank keeps, sharded.",
    nonnegative(),
)
P_ks = variable(
    "moe_layer_kept",
    r"P_{\mathrm{k,s}}",
    N_COUNT,
    "Parameters of one layer with experts that one rank keeps, sharded.",
    nonnegative(),
)
M_work = variable("working_buffer", r"M_{\mathrm{work}}", GB, "Local memory that the layer at work takes.", positive())
M_near_need = variable("local_memory", r"M_{\mathrm{near}}", GB, "Local memory one accelerator needs.", nonnegative())
M_far_need = variable(
    "remote_memory", r"M_{\mathrm{far,need}}", GB, "Remote memory one accelerator needs.", nonnegative()
)

t_fd = variable("dense_layer_time", r"t_{\mathrm{f,d}}", MS, "Arithmetic of one dense layer, forward.", nonnegative())
t_fs = variable(
    "moe_layer_time", r"t_{\mathrm{f,s}}", MS, "Arithmetic of one layer with experts, forward.", nonnegative()
)
Q_d = variable("dense_layer_traffic", r"Q_{\mathrm{d}}", GB, "Local traffic of one dense layer, forward.", positive())
Q_s = variable(
    "moe_layer_traffic", r"Q_{\mathrm{s}}", GB, "Local traffic of one layer with experts, forward.", positive()
)
V_act = variable(
    "activation_traffic",
    r"V_A",
    GB,
    "Remote traffic of recomputed activations, one micro-batch.",
    nonnegative(),
)
V_far = variable("remote_traffic", r"V_{\mathrm{far}}", GB, "All remote traffic of one micro-batch.", nonnegative())
T_fetch_r = variable(
    "rank_fetch_time",
    r"t_{\mathrm{fetch,r}}",
    MS,
    "Remote traffic of one micro-batch that prefetching does not hide, on the rank that is described.",
    nonnegative(),
)
T_fetch = variable(
    "unhidden_fetch_time",
    r"t_{\mathrm{fetch}}",
    MS,
    "Remote traffic of weights and checkpoints that prefetching does not hide, one micro-batch.",
    nonnegative(),
)
V_upd_r = variable(
    "rank_update_traffic",
    r"V_{\mathrm{upd,r}}",
    GB,
    "Remote traffic of one update of the weights, on the rank that is described.",
    nonnegative(),
)
V_upd = variable(
    "update_traffic", r"V_{\mathrm{upd}}", GB, "Remote traffic of one update of the weights.", nonnegative()
)
rho_upd = variable(
    "update_slowdown",
    r"\rho_{\mathrm{upd}}",
    N_COUNT,
    "Time of the update over what it takes with all state in local memory.",
    positive(),
)
X_block = variable("blocking_link_traffic", r"X", GB, "Link traffic nothing hides, one micro-batch.", nonnegative())
z_d = variable(
    "dense_layer_gather", r"z_{\mathrm{d}}", GB, "Link traffic to gather the weights of one dense layer.", nonnegative()
)
z_s = variable(
    "moe_layer_gather",
    r"z_{\mathrm{s}}",
    GB,
    "Link traffic to gather the weights of one layer with experts.",
    nonnegative(),
)

T_near = variable("exposed_local_time", r"T_{\mathrm{near}}", MS, "Local memory access left exposed.", nonnegative())
T_far = variable("exposed_remote_time", r"T_{\mathrm{far}}", MS, "Remote memory access left exposed.", nonnegative())
T_link = variable("exposed_link_time", r"T_{\mathrm{link}}", MS, "Communication left exposed.", nonnegative())
segment = variable(
    "longest_segment",
    r"\mathrm{segment}",
    "",
    "The longest of the exposed segments of a step.",
    choice("Compute", "Local memory", "Remote memory", "Communication"),
)
C_mem = variable("memory_cost", r"C_{\mathrm{mem}}", "USD", "Memory of one accelerator, both tiers.", nonnegative())
R_usd = variable(
    "tokens_per_second_per_dollar",
    r"R_{\mathrm{USD}}",
    "token/s/USD",
    "Tokens trained on per second over what accelerator and memory cost.",
    nonnegative(),
)

update_place = variable(
    "update_place",
    r"\mathrm{update}",
    "",
    "Processor that updates remote state: one beside the remote memory, or the accelerator.",
    choice("remote", "local"),
)
M_stage = variable(
    "staging_buffer",
    r"M_{\mathrm{stage}}",
    GB,
    "Local memory for layers on their way from and to the remote tier.",
    nonnegative(),
)
W_rem = variable(
    "remote_weights", r"W_{\mathrm{rem}}", GB, "Weights of a replica kept apart in a remote tier.", nonnegative()
)
x_rem = variable(
    "remote_kv_share",
    r"x_{\mathrm{rem}}",
    N_COUNT,
    "Share of a KV cache kept apart in a remote tier.",
    between(0, 1),
)
M_slots = variable(
    "slots_kv_cache",
    r"M_{\mathrm{slots}}",
    GB,
    "Keys and values of a request in every slot of a replica.",
    nonnegative(),
)
