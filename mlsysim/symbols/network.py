"""Symbols of one exchange between ranks."""

from mlsysim.symbolic import integer, nonnegative, positive, variable

beta_l = variable(
    "reached_node_bandwidth", r"\beta_{\mathrm{l}}", "GB/s", "Bandwidth a collective reaches within a node.", positive()
)
beta_x = variable(
    "reached_fabric_bandwidth",
    r"\beta_{\mathrm{x}}",
    "GB/s",
    "Bandwidth a collective reaches between nodes.",
    positive(),
)
n_c = variable("collective_ranks", r"n_{\mathrm{c}}", "count", "Ranks that take part in an exchange.", integer(1))
V_c = variable("message_bytes", r"V_{\mathrm{c}}", "MB", "Bytes of the whole buffer on one rank.", positive())
n_near = variable("ranks_per_node", r"n_{\mathrm{near}}", "count", "Ranks of the group in one node.", positive())
beta_c = variable(
    "collective_bandwidth", r"\beta_{\mathrm{c}}", "GB/s", "Bandwidth a ring of all ranks of the group reaches.",
    positive(),
)  # fmt: skip
alpha_c = variable(
    "collective_latency", r"\alpha_{\mathrm{c}}", "µs", "Latencies of one pass through the group, together.",
    nonnegative(),
)  # fmt: skip
T_ch = variable(
    "chunk_time", r"T_{\mathrm{ch}}", "ms", "Time one pass loses to the chunks it is cut into.", nonnegative()
)
T_ar = variable("all_reduce_time", r"T_{\mathrm{ar}}", "ms", "One all-reduce.", nonnegative())
T_rs = variable("reduce_scatter_time", r"T_{\mathrm{rs}}", "ms", "One reduce-scatter.", nonnegative())
T_ag = variable("all_gather_time", r"T_{\mathrm{ag}}", "ms", "One all-gather.", nonnegative())
T_aa = variable("all_to_all_time", r"T_{\mathrm{aa}}", "ms", "One all-to-all.", nonnegative())
T_p2p = variable("point_to_point_time", r"T_{\mathrm{p2p}}", "ms", "One message to one rank.", nonnegative())
