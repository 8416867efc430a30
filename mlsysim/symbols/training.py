"""Symbols of a training step and of its memory."""

from mlsysim.symbolic import between, boolean, choice, integer, nonnegative, positive, variable

b = variable("batch_size", "b", "count", "Sequences per step, over all ranks.", integer(1))
t = variable("tp_size", "t", "count", "Tensor-parallel ranks.", integer(1))
p = variable("pp_size", "p", "count", "Pipeline-parallel stages.", integer(1))
d = variable("dp_size", "d", "count", "Data-parallel ranks.", integer(1))
e = variable("ep_size", "e", "count", "Expert-parallel ranks.", integer(1))
Z = variable(
    "zero_stage", "Z", "count", "ZeRO stage: 1 shards optimizer state, 2 gradients too, 3 weights too.", integer(0, 3)
)
g = variable("gradient_accumulation_steps", "g", "count", "Micro-batches summed before one optimizer step.", integer(1))
f = variable("trainable_fraction", "f", "count", "Share of the parameters that is trained.", between(0, 1))
optimizer = variable("optimizer", r"\mathrm{optimizer}", "", "Optimizer.", choice("adam", "adamw", "sgd", "none"))
checkpointing = variable(
    "activation_checkpointing",
    r"\mathrm{checkpointing}",
    "",
    "Which activations are recomputed instead of kept.",
    choice("none", "selective", "full"),
)
bucket = variable(
    "communication_buffer_fraction",
    r"\phi_{\mathrm{buf}}",
    "count",
    "Gradient bucket of the collectives, as a share of the gradients.",
    between(0, 1),
)

P_r = variable("parameters_per_rank", r"P_{\mathrm{r}}", "count", "Parameters one rank works on.", positive())
o = variable("optimizer_bytes", "o", "byte", "Optimizer state per trained parameter.", nonnegative())
m = variable("local_micro_batch", "m", "count", "Sequences one rank holds at once.", integer(1))
ell = variable("layers_per_stage", r"\ell", "count", "Layers of the fullest pipeline stage.", integer(1))
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
M = variable("total_memory", "M", "GB", "Memory one rank needs.", positive())
memory_utilization = variable(
    "memory_utilization", r"\rho_M", "count", "Memory needed over memory there is.", positive()
)
feasible = variable("feasible", r"\mathrm{feasible}", "", "Whether the configuration meets its limits.", boolean())
