"""Symbols of a training step and of its memory."""

from mlsysim.optimizers import OPTIMIZERS
from mlsysim.symbolic import Domain, between, boolean, choice, flag, integer, nonnegative, positive, variable

b = variable("batch_size", "b", "count", "Sequences per step, over all ranks.", integer(1))
t = variable("tp_size", "t", "count", "Tensor-parallel ranks.", integer(1))
p = variable("pp_size", "p", "count", "Pipeline-parallel stages.", integer(1))
d = variable("dp_size", "d", "count", "Data-parallel ranks.", integer(1))
e = variable("ep_size", "e", "count", "Expert-parallel ranks.", integer(1))
t_e = variable(
    "etp_size",
    r"t_{\mathrm{e}}",
    "count",
    "Tensor-parallel ranks that each expert is cut over; 0 for as many as everything else.",
    integer(0),
    label="Expert-tensor-parallel size",
)
c_cp = variable(
    "cp_size", r"c_{\mathrm{cp}}", "count", "Context-parallel ranks, which share every sequence.", integer(1)
)
Z = variable(
    "zero_stage", "Z", "count", "ZeRO stage: 1 shards optimizer state, 2 gradients too, 3 weights too.", integer(0, 3)
)
g = variable("gradient_accumulation_steps", "g", "count", "Micro-batches summed before one optimizer step.", integer(1))
f = variable("trainable_fraction", "f", "count", "Share of the parameters that is trained.", between(0, 1))
optimizer = variable("optimizer", r"\mathrm{optimizer}", "", "Optimizer.", choice(*OPTIMIZERS))
checkpointing = variable(
    "activation_checkpointing",
    r"\mathrm{checkpointing}",
    "",
    "Activations recomputed instead of kept.",
    choice("none", "selective", "full"),
)
bucket = variable(
    "communication_buffer_fraction",
    r"\phi_{\mathrm{buf}}",
    "count",
    "Gradient bucket of the collectives, as a share of the gradients.",
    between(0, 1),
)

n_gather = variable(
    "gathered_layers",
    r"n_{\mathrm{gather}}",
    "count",
    "Layers whose weights ZeRO-3 holds whole at once: the current one and the prefetched ones.",
    integer(1),
)
reserve = variable(
    "reserved_memory",
    r"M_{\mathrm{res}}",
    "GB",
    "Memory the framework keeps for itself: device context, communication library, allocator slack.",
    nonnegative(),
)
M_ctx = variable(
    "context_memory",
    r"M_{\mathrm{ctx}}",
    "GB",
    "Memory of contexts outside the allocator, per accelerator: of the driver and of communication libraries.",
    nonnegative(),
)
r_pool = variable(
    "pool_share",
    r"\rho_{\mathrm{pool}}",
    "count",
    "Reserved but unused memory of the allocator, relative to live memory at the peak.",
    nonnegative(),
)
memory_reading = variable(
    "memory_reading",
    r"\mathrm{read\ as}",
    "",
    "Memory figure that users of a stack read: allocated (live at the peak), reserved (held by the allocator), or "
    "device (all that the driver shows, contexts included).",
    choice("allocated", "reserved", "device"),
)

q_g = variable("gradient_bytes", r"q_{\mathrm{g}}", "byte", "Bytes of one gradient in memory.", positive())
P_unit = variable(
    "largest_layer_parameters",
    r"P_{\mathrm{unit}}",
    "count",
    "Parameters of the largest layer on one rank, before ZeRO shards it.",
    nonnegative(),
)
P_dense = variable(
    "dense_parameters_per_rank",
    r"P_{\mathrm{d}}",
    "count",
    "Parameters of one rank that are not experts.",
    positive(),
)
P_sparse = variable(
    "expert_parameters_per_rank", r"P_{\mathrm{s}}", "count", "Expert parameters of one rank.", nonnegative()
)
P_attn_r = variable(
    "attention_parameters_per_rank",
    r"P_{\mathrm{attn,r}}",
    "count",
    "Attention parameters of one layer on one tensor-parallel rank.",
    nonnegative(),
)
P_ffn_r = variable(
    "ffn_parameters_per_rank",
    r"P_{\mathrm{ffn,r}}",
    "count",
    "Feed-forward parameters of one dense layer on one tensor-parallel rank.",
    nonnegative(),
)
P_sh_r = variable(
    "shared_parameters_per_rank",
    r"P_{\mathrm{sh,r}}",
    "count",
    "Router and shared experts of one layer on one tensor-parallel rank.",
    nonnegative(),
)
P_exp_r = variable(
    "layer_experts_per_rank",
    r"P_{\mathrm{exp,r}}",
    "count",
    "Parameters of the routed experts of one layer that one rank holds.",
    nonnegative(),
)
P_edge_r = variable(
    "edge_parameters_per_rank",
    r"P_{\mathrm{edge,r}}",
    "count",
    "Parameters of one rank outside the layers: embedding, head, last norm.",
    positive(),
)
a_kv_r = variable(
    "kv_heads_per_rank", r"a_{\mathrm{kv,r}}", "count", "Key-value heads one tensor-parallel rank holds.", integer(1)
)
W_gather = variable(
    "gathered_weights",
    r"W_{\mathrm{gather}}",
    "GB",
    "Weights held whole for the layers at work by ZeRO-3, or wide for the product at work.",
    nonnegative(),
)
P_r = variable("parameters_per_rank", r"P_{\mathrm{r}}", "count", "Parameters one rank works on.", positive())
o = variable("optimizer_bytes", "o", "byte", "Optimizer state per trained parameter.", nonnegative())
m = variable("local_micro_batch", "m", "count", "Sequences one rank holds at once.", integer(1))
n_mb = variable("micro_batches", r"n_{\mathrm{mb}}", "count", "Micro-batches of one step on one rank.", integer(1))
n_tok = variable(
    "micro_batch_tokens", r"n_{\mathrm{tok}}", "token", "Tokens of one micro-batch on one rank.", positive()
)
n_z = variable(
    "zero_ranks", r"n_Z", "count", "Ranks among which ZeRO shards dense parameters and their states.", integer(1)
)
r_dp = variable(
    "dp_replicate_size",
    r"n_{\mathrm{rep}}",
    "count",
    "Replicas of the ZeRO shards, each on its own data-parallel ranks (hybrid sharding, HSDP).",
    integer(1),
)
n_etp = variable("etp_ranks", r"n_{\mathrm{etp}}", "count", "Ranks of one expert-tensor-parallel group.", integer(1))
ell = variable("layers_per_stage", r"\ell", "count", "Layers of the fullest pipeline stage.", integer(1))
ell_r = variable("layers_of_rank", r"\ell_r", "count", "Layers of the rank that is described.", integer(1))
ell_pl = variable(
    "plain_layers_of_rank",
    r"\ell_{\mathrm{pl}}",
    "count",
    "Layers without experts of the rank that is described, where they are the first ones.",
    integer(0),
)
ell_de = variable(
    "dense_layers_of_rank",
    r"\ell_{\mathrm{d}}",
    "count",
    "Layers of that rank with a block and without experts.",
    nonnegative(),
)
ell_moe = variable(
    "moe_layers_per_stage",
    r"\ell_{\mathrm{moe}}",
    "count",
    "Layers with experts of the rank that is described.",
    integer(0),
    not_above=ell_r,
)
c_act = variable(
    "activation_bytes",
    r"c_{\mathrm{act}}",
    "byte/token",
    "Activation bytes kept per layer, token and unit of width, at 16 bit.",
    positive(),
)

W = variable("weights", "W", "GB", "Weights held by one rank.", positive())
G = variable("gradients", "G", "GB", "Gradients held by one rank.", nonnegative())
O = variable("optimizer_state", "O", "GB", "Optimizer state held by one rank.", nonnegative())
A = variable("activations", "A", "GB", "Activations kept by one rank for the backward pass.", nonnegative())
C_buf = variable("communication_buffers", "C", "GB", "Buffers of the collectives on one rank.", nonnegative())
M = variable("total_memory", "M", "GB", "Memory one rank needs.", nonnegative())
memory_utilization = variable(
    "memory_utilization", r"\rho_M", "count", "Memory needed over memory there is.", nonnegative()
)
feasible = variable("feasible", r"\mathrm{feasible}", "", "True if the configuration meets its limits.", boolean())
memory_spread = variable(
    "memory_spread",
    r"\sigma_M",
    "count",
    "Standard deviation of log(measured / computed) memory.",
    nonnegative(),
)
memory_margin = variable(
    "memory_margin", r"M_{\mathrm{left}}", "GB", "Memory that is left; below zero what is missing.", Domain()
)
fit_probability = variable(
    "fit_probability",
    r"P_{\mathrm{fit}}",
    "count",
    "Probability that a run fits, by the error of its memory.",
    between(0, 1),
)
fit = variable(
    "fit",
    r"\mathrm{fit}",
    "",
    "Verdict on whether a run fits; definite if the margin exceeds the error of its memory.",
    choice("fits", "does not fit", "too close to call"),
)

update_buffer = variable(
    "update_buffer",
    r"\mathrm{update\ by}",
    "",
    "Temporary memory of the update: none, fused kernels without any, or foreach with a list as long as all "
    "parameters.",
    choice("none", "fused", "foreach"),
)
gradients_at_loss = variable(
    "gradients_at_loss",
    r"\beta_{\mathrm{G}}",
    "count",
    "True if gradients have a permanent buffer; else they are present at a loss only while micro-batches are summed.",
    flag(),
)
optimizer_in_backward = variable(
    "optimizer_in_backward",
    r"\beta_{\mathrm{ob}}",
    "count",
    "True if each weight is updated as soon as its gradient is computed, which is then freed.",
    flag(),
)
optimizer_device = variable(
    "optimizer_device",
    r"\mathrm{states\ on}",
    "",
    "Location of the optimizer state: accelerator or host.",
    choice("accelerator", "host"),
)
workspace = variable(
    "workspace",
    r"C_{\mathrm{work}}",
    "GB",
    "Workspaces of libraries that stay allocated on a rank: of cuBLAS, of Transformer Engine.",
    nonnegative(),
)
