"""Symbols of one collective or exchange between ranks, and of what reaches it."""

from mlsysim.symbolic import at_least, between, integer, nonnegative, positive, variable

eta_x = variable(
    "fabric_efficiency",
    r"\eta_{\mathrm{x}}",
    "count",
    "Share of a port's bandwidth that a collective reaches.",
    between(0, 1, open_lower=True),
)
eta_a = variable(
    "exchange_link_efficiency",
    r"\eta_{\mathrm{a}}",
    "count",
    "Share of the links' bandwidth within a node that an exchange of experts reaches.",
    between(0, 1, open_lower=True),
)
e_sw = variable(
    "switch_reduces",
    r"e_{\mathrm{sw}}",
    "count",
    "Share of the link bandwidth at which the switches of a node reduce; 0 if they do not.",
    between(0, 1),
)
n_mesh = variable(
    "direct_mesh",
    r"n_{\mathrm{mesh}}",
    "count",
    "Devices with direct links to each other; 0 if switches join them.",
    integer(0),
)
n_ax = variable(
    "torus_axes",
    r"n_{\circ}",
    "count",
    "Axes of the torus that joins the devices of a node, with two links per axis; 0 without a torus.",
    integer(0),
)
n_pod = variable(
    "accelerators_per_pod",
    r"n_{\mathrm{pod}}",
    "count",
    "Accelerators below the oversubscribed level of the fabric; 0 if that is all of them.",
    integer(0),
)
tau_coll = variable(
    "collective_latency", r"\tau_{\mathrm{c}}", "µs", "Start of a collective, and of each of its chunks.", nonnegative()
)
tau_aa = variable(
    "all_to_all_start", r"\tau_{\mathrm{aa}}", "µs", "Start of an all-to-all, and of each of its chunks.",
    nonnegative(),
)  # fmt: skip
alpha_aa = variable(
    "all_to_all_step",
    r"\alpha_{\mathrm{aa}}",
    "µs",
    "Time that each further rank adds to an all-to-all.",
    nonnegative(),
)
tau_sw = variable(
    "switch_latency", r"\tau_{\mathrm{sw}}", "µs", "Additional latency of a reduction in the switches.", nonnegative()
)
beta_ll = variable(
    "low_latency_bandwidth",
    r"\beta_{\mathrm{LL}}",
    "GB/s",
    "Bandwidth of an all-reduce between nodes with the low-latency protocol; 0 if one protocol serves all messages.",
    nonnegative(),
)
tau_bulk = variable(
    "bulk_start",
    r"\tau_{\mathrm{bulk}}",
    "µs",
    "Start-up time of an all-reduce between nodes with the bulk protocol, if short messages have another.",
    nonnegative(),
)
tau_0 = variable(
    "exchange_latency",
    r"\tau_{\mathrm{ex}}",
    "µs",
    "Time of an expert exchange in addition to moving its bytes.",
    nonnegative(),
)
beta_l = variable(
    "reached_node_bandwidth", r"\beta_{\mathrm{l}}", "GB/s", "Bandwidth a collective reaches within a node.", positive()
)
beta_a = variable(
    "exchange_node_bandwidth",
    r"\beta_{\mathrm{a}}",
    "GB/s",
    "Bandwidth an exchange of experts reaches within a node.",
    positive(),
)
beta_x = variable(
    "reached_fabric_bandwidth",
    r"\beta_{\mathrm{x}}",
    "GB/s",
    "Bandwidth a collective reaches through one port, below the oversubscribed level.",
    positive(),
)
n_c = variable("collective_ranks", r"n_{\mathrm{c}}", "count", "Ranks that take part in an exchange.", integer(1))
delta_c = variable(
    "rank_stride", r"\delta_{\mathrm{c}}", "count", "Stride between neighbours of the group, in ranks.", integer(1)
)
V_c = variable("message_bytes", r"V_{\mathrm{c}}", "MB", "Bytes of the whole buffer on one rank.", nonnegative())
n_near = variable(
    "ranks_per_node", r"n_{\mathrm{near}}", "count", "Ranks of the group in one node.", at_least(1), not_above=n_c
)
beta_near = variable(
    "collective_link_bandwidth",
    r"\beta_{\mathrm{c,near}}",
    "GB/s",
    "Bandwidth of the links among the ranks of the group in one node.",
    positive(),
)
beta_port = variable(
    "port_bandwidth",
    r"\beta_{\mathrm{port}}",
    "GB/s",
    "Bandwidth of one port where every rank of the group sends to every other.",
    positive(),
)
beta_c = variable(
    "collective_bandwidth", r"\beta_{\mathrm{c}}", "GB/s", "Bandwidth a ring of all ranks of the group reaches.",
    positive(),
)  # fmt: skip
alpha_c = variable(
    "collective_steps", r"\alpha_{\mathrm{c}}", "µs", "Steps of one pass through the group, together.", nonnegative()
)
tau_ch = variable("chunk_latency", r"\tau_{\mathrm{ch}}", "µs", "Latency per chunk of a collective.", nonnegative())
node_limit = variable(
    "node_limit",
    r"g_{\mathrm{lim}}",
    "count",
    "Most nodes per token among which its experts may lie; 0 without a limit.",
    integer(0),
)
n_open = variable(
    "reachable_nodes", r"n_{\mathrm{reach}}", "count", "Nodes that the experts of one token may stand in.", at_least(1)
)
m_N = variable(
    "nodes_per_token", r"m_{\mathrm{N}}", "count", "Nodes that hold at least one of a token's experts.", positive()
)
m_R = variable(
    "ranks_per_token", r"m_{\mathrm{R}}", "count", "Ranks that hold at least one of a token's experts.", positive()
)
b_copy = variable("copy_bytes", r"b_{\mathrm{t}}", "byte/token", "Bytes of one copy of a token on the way.", positive())
X_x = variable("fabric_bytes", r"X_{\mathrm{x}}", "MB", "Bytes that one rank sends through its port.", nonnegative())
X_l = variable(
    "link_bytes", r"X_{\mathrm{l}}", "MB", "Bytes that one rank sends over the links of its node.", nonnegative()
)
T_ring = variable("ring_time", r"T_{\mathrm{ring}}", "ms", "An all-reduce around a ring.", nonnegative())
T_tree = variable("tree_time", r"T_{\mathrm{tree}}", "ms", "An all-reduce over two trees between nodes.", nonnegative())
T_wire = variable("tree_wire_time", r"T_{\mathrm{wire}}", "ms", "Time of two trees on links and ports.", nonnegative())
T_nvls = variable("switch_time", r"T_{\mathrm{sw}}", "ms", "An all-reduce in the switches of a node.", nonnegative())
t_wire = variable(
    "wire_time",
    r"t_{\mathrm{wire}}",
    "ms",
    "Time of an exchange on links or ports, whichever are slower.",
    nonnegative(),
)
T_c = variable("collective_time", r"T_{\mathrm{c}}", "ms", "One collective or exchange.", nonnegative())
beta_bus = variable(
    "bus_bandwidth",
    r"\beta_{\mathrm{bus}}",
    "GB/s",
    "Bandwidth of a ring that takes the same time; above that of the links if switches reduce.",
    nonnegative(),
)
