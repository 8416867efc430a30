"""Symbols of fully sharded training: what its streams allocate, and what that costs."""

from mlsysim.symbolic import boolean, choice, nonnegative, positive, variable
from mlsysim.symbols.training import G

prefetch = variable(
    "fsdp_prefetch",
    r"\mathrm{prefetch}",
    "",
    "Lifetime of weights that a recomputing backward pass prefetches for the next layer: freed with the current "
    "layer, or kept until the backward pass ends (PyTorch 2.9 and before).",
    choice("released", "accumulated"),
)
U_edge = variable("gathered_edge", r"U_{\mathrm{edge}}", "GB", "Embedding or head, gathered whole.", nonnegative())
U_block = variable(
    "gathered_block", r"U_{\mathrm{b}}", "GB", "A layer without its routed experts, gathered.", nonnegative()
)
U_exp = variable(
    "gathered_experts",
    r"U_{\mathrm{e}}",
    "GB",
    "The routed experts of a layer on one rank, gathered; none where a rank holds them whole.",
    nonnegative(),
)
ahead = variable(
    "gathers_behind",
    r"\mathrm{behind}",
    "",
    "True if the backward pass gathers experts of layers ahead of it and keeps them.",
    boolean(),
)
U_ahead = variable(
    "accumulated_weights",
    r"U_{\mathrm{acc}}",
    "GB",
    "Weights gathered for layers that are behind, at the end of a backward pass.",
    nonnegative(),
)
M_ag = variable("gather_pool", r"M_{\mathrm{ag}}", "GB", "Reserved by the stream that gathers weights.", nonnegative())
M_rs = variable(
    "reduction_pool",
    r"M_{\mathrm{rs}}",
    "GB",
    "Reserved by the stream that reduces gradients: the shards it gives.",
    nonnegative(),
    not_above=G,
)
A_frag = variable(
    "loss_pool",
    r"A_{\mathrm{loss,r}}",
    "GB",
    "Reserved for the loss: what is alive, and the hole that freed logits leave.",
    positive(),
)
G_edge = variable(
    "edge_gradient", r"G_{\mathrm{edge}}", "GB", "Gradient of the head before its reduction.", nonnegative()
)
M_comp = variable(
    "compute_pool", r"M_{\mathrm{comp}}", "GB", "Reserved by the stream that computes, at its peak.", positive()
)
M_usable = variable("usable_memory", r"M_{\mathrm{use}}", "GB", "Memory that the allocator can have.", nonnegative())
M_report = variable(
    "reported_memory",
    r"M_{\mathrm{rep}}",
    "GB",
    "Memory that users of the stack read: what is allocated, what the allocator has reserved, or what the device "
    "shows; at most all there is.",
)
M_live = variable(
    "live_memory",
    r"M_{\mathrm{live}}",
    "GB",
    "Memory alive at once: at the loss, or at the end of the backward pass.",
    positive(),
)
M_live_r = variable(
    "rank_live_memory",
    r"M_{\mathrm{live,r}}",
    "GB",
    "Memory alive at once on the rank that is described.",
    positive(),
)
retries = variable(
    "allocator_retries",
    r"\mathrm{retries}",
    "",
    "True if the allocator must unmap and remap memory in every step.",
    boolean(),
)
t_sync = variable(
    "count_sync_time",
    r"t_{\mathrm{sync}}",
    "ms",
    "Time in which a device waits while the host reads the number of tokens per expert.",
    nonnegative(),
)
B_map = variable(
    "remap_bandwidth",
    r"B_{\mathrm{map}}",
    "GB/s",
    "Bandwidth at which the allocator unmaps and remaps memory.",
    positive(),
)
T_sync = variable(
    "host_sync_time",
    r"T_{\mathrm{sync}}",
    "ms",
    "Time of a step in which devices wait for counts of tokens.",
    nonnegative(),
)
T_again = variable(
    "regather_time",
    r"T_{\mathrm{again}}",
    "ms",
    "Time of a step in which experts are gathered once more than needed.",
    nonnegative(),
)
T_remap_r = variable(
    "rank_remap_time",
    r"T_{\mathrm{map,r}}",
    "ms",
    "Time of a step in which the rank that is described gives pools back and maps them again.",
    nonnegative(),
)
T_remap = variable(
    "remap_time",
    r"T_{\mathrm{map}}",
    "ms",
    "Time of a step in which the allocator gives pools back and maps them again.",
    nonnegative(),
)
t_dev_f = variable(
    "forward_layer_time",
    r"t_{\mathrm{lay,fwd}}",
    "ms",
    "Time of the device for a forward pass of one micro-batch through the layers of one stage.",
    nonnegative(),
)
t_dev_b = variable(
    "backward_layer_time", r"t_{\mathrm{lay,bwd}}", "ms", "The same of its backward pass.", nonnegative()
)
t_lag = variable(
    "expert_lag_time",
    r"t_{\mathrm{lag}}",
    "ms",
    "Time by which host launches of a layer's experts exceed their compute time, forward and backward.",
    nonnegative(),
)
w_fwd = variable(
    "forward_wait_time",
    r"t_{\mathrm{wait,fwd}}",
    "ms",
    "Time of a forward pass in which the device waits for launches.",
    nonnegative(),
)
w_bwd = variable(
    "backward_wait_time",
    r"t_{\mathrm{wait,bwd}}",
    "ms",
    "Time of a backward pass, and of a forward pass that it repeats, in which the device waits for launches.",
    nonnegative(),
)
