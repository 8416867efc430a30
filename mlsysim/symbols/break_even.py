"""Symbols of where expert parallelism pays: what it saves and what it costs a layer, and where both are equal."""

from mlsysim.symbolic import Domain, at_least, nonnegative, positive, variable

x_rt = variable(
    "routed_traffic",
    r"x_{\mathrm{rtd}}",
    "byte/token",
    "Memory traffic of routed tokens in one layer, all passes, balanced: permutation, gates, casts.",
    nonnegative(),
)
t_routed = variable(
    "routed_time",
    r"t_{\mathrm{rtd}}",
    "ms",
    "Computing of a layer's routed experts, one micro-batch, on the hot rank: products, permutation, gates, casts.",
    nonnegative(),
)
t_fix = variable(
    "fixed_expert_time",
    r"t_{\mathrm{fix}}",
    "ms",
    "Part of that time independent of the rows per expert: its weights are moved once.",
    nonnegative(),
)
r_1 = variable(
    "unsplit_product_factor",
    r"r_{\mathrm{e},1}",
    "count",
    "Time of an expert's products over that of their arithmetic, without expert parallelism.",
    at_least(1.0),
)
t_exp_1 = variable(
    "unsplit_expert_time",
    r"t_{\mathrm{exp},1}",
    "ms",
    "Products of the routed experts of a layer without expert parallelism.",
    nonnegative(),
)
t_routed_1 = variable(
    "unsplit_routed_time",
    r"t_{\mathrm{rtd},1}",
    "ms",
    "Computing of the routed experts of a layer without expert parallelism.",
    nonnegative(),
)
t_fix_1 = variable(
    "unsplit_fixed_time",
    r"t_{\mathrm{fix},1}",
    "ms",
    "Part of that time independent of the rows per expert.",
    nonnegative(),
)
t_besides = variable(
    "besides_time",
    r"t_{\mathrm{bes}}",
    "ms",
    "Everything else that a stage computes for one micro-batch, for each of its layers with experts.",
    nonnegative(),
)
n_1 = variable(
    "unsplit_ranks", r"n_{1}", "count", "Ranks that hold the same experts, without expert parallelism.", positive()
)
nu_1 = variable("unsplit_ranks_per_node", r"\nu_{1}", "count", "Those of them that stand in one node.", positive())
links_1 = variable(
    "unsplit_link_bandwidth", r"\beta_{\mathrm{link},1}", "GB/s", "Bandwidth of their links in one node.", positive()
)
beta_1 = variable(
    "unsplit_bandwidth",
    r"\beta_{1}",
    "GB/s",
    "Bandwidth of a ring among the ranks that hold the same experts, without expert parallelism.",
    positive(),
)
V_1 = variable(
    "unsplit_message_bytes",
    r"V_{\mathrm{etp},1}",
    "MB",
    "Bytes of routed tokens in one gather among the ranks of an expert, without expert parallelism.",
    nonnegative(),
)
t_etp_1 = variable(
    "unsplit_gather_time",
    r"t_{\mathrm{etp},1}",
    "ms",
    "One gather of routed tokens among the ranks of an expert, without expert parallelism.",
    nonnegative(),
)
t_cut_1 = variable(
    "unsplit_sharing_time",
    r"t_{\mathrm{cut},1}",
    "ms",
    "Tensor-parallel traffic around a layer's experts that only occurs without expert parallelism.",
    nonnegative(),
)
t_cut = variable(
    "sharing_time",
    r"t_{\mathrm{cut}}",
    "ms",
    "Time to gather and reduce routed tokens among the ranks of an expert, one layer and micro-batch, balanced.",
    nonnegative(),
)
t_tp_1 = variable(
    "unsplit_tp_time",
    r"t_{\mathrm{tp},1}",
    "ms",
    "Tensor-parallel traffic of one micro-batch without expert parallelism.",
    nonnegative(),
)
t_free_1 = variable(
    "unsplit_free_time",
    r"t_{\mathrm{free},1}",
    "ms",
    "Time of one micro-batch beside which traffic of weights may run, without expert parallelism.",
    nonnegative(),
)
t_alone = variable(
    "unsplit_compute_time",
    r"t_{\mathrm{comp},1}",
    "ms",
    "Compute time of a stage for one micro-batch without expert parallelism, per MoE layer.",
    nonnegative(),
)
t_rows = variable(
    "rows_saved_time",
    r"\Delta t_{\mathrm{rows}}",
    "ms",
    "Computing of a layer that it saves with balanced loads: experts with more rows, less waiting for counts.",
)
phi_h = variable(
    "hiding_share",
    r"\phi_{\mathrm{h}}",
    "count",
    "Share of a micro-batch's computing beside which its part of the data-parallel traffic may run.",
    nonnegative(),
)
t_else = variable(
    "other_traffic_time",
    r"t_{\mathrm{else}}",
    "ms",
    "Gathering and reducing what is no routed expert, one micro-batch, for each layer with experts.",
    nonnegative(),
)
t_whole = variable(
    "unsplit_traffic_time",
    r"t_{\mathrm{whole}}",
    "ms",
    "Gathering and reducing all experts of a layer, as it is without expert parallelism.",
    nonnegative(),
)
t_split = variable(
    "split_traffic_time",
    r"t_{\mathrm{part}}",
    "ms",
    "Gathering and reducing the experts of a layer that one rank keeps.",
    nonnegative(),
)
t_swap = variable(
    "swap_time",
    r"t_{\mathrm{swap}}",
    "ms",
    "Exchanges of a layer with experts, one micro-batch, balanced, without latencies.",
    nonnegative(),
)
g_x = variable(
    "exchange_growth",
    r"g_{\mathrm{x}}",
    "count",
    "Share of an exchange that grows with the experts of a token.",
)
t_count = variable(
    "count_time",
    r"t_{\mathrm{cnt}}",
    "ms",
    "Waiting for counts of tokens in a layer, one micro-batch.",
    nonnegative(),
)
t_again = variable(
    "again_time",
    r"t_{\mathrm{re}}",
    "ms",
    "Gathering the experts of a layer once more than needed, one micro-batch.",
    nonnegative(),
)
t_net = variable(
    "added_traffic_time",
    r"\Delta t_{\mathrm{tok}}",
    "ms",
    "Traffic of tokens that it adds to a layer with balanced loads.",
    Domain(),
)
t_more = variable(
    "growing_traffic_time",
    r"\Delta t_{\mathrm{k}}",
    "ms",
    "Part of it that grows with the experts per token.",
    Domain(),
)
t_once = variable(
    "fixed_exchange_time",
    r"t_{\mathrm{once}}",
    "ms",
    "Time of a layer's exchanges that does not shrink with the number of tokens.",
    nonnegative(),
)
t_edge = variable(
    "edge_traffic_saved_time",
    r"\Delta t_{\mathrm{edge}}",
    "ms",
    "Traffic of weights that expert parallelism saves and that never hides, for each layer with experts.",
)
t_beside = variable(
    "unsplit_overlapped_time",
    r"t_{\mathrm{ovl},1}",
    "ms",
    "Traffic of weights that may hide without expert parallelism, for each layer with experts.",
    nonnegative(),
)
t_host_1 = variable(
    "unsplit_launch_time",
    r"t_{\mathrm{launch},1}",
    "ms",
    "Time of the host to launch one layer without expert parallelism.",
    nonnegative(),
)
t_mb_1 = variable(
    "unsplit_micro_batch_time",
    r"t_{\mathrm{mb},1}",
    "ms",
    "One micro-batch through one stage without expert parallelism, both ways.",
    nonnegative(),
)
less = variable(
    "traffic_saved_time",
    r"\Delta t_{\mathrm{tr}}",
    "ms",
    "Traffic of a layer that it saves with balanced loads: of weights, less what it sends more of tokens.",
    Domain(),
)
n_even = variable(
    "break_even_tokens",
    r"n^{\ast}",
    "token",
    "Tokens of a micro-batch on one rank below which expert parallelism pays.",
    nonnegative(),
)
s_even = variable(
    "break_even_seq_len",
    r"s^{\ast}",
    "token",
    "Tokens of a sequence below which it pays.",
    nonnegative(),
)
rows_even = variable(
    "break_even_rows",
    r"m^{\ast}",
    "token",
    "Tokens that one expert gets on one rank, below which it pays.",
    nonnegative(),
)
gamma_even = variable(
    "break_even_imbalance",
    r"\gamma^{\ast}",
    "count",
    "Imbalance of routing below which it pays; below 1 it does not with balanced loads either.",
    nonnegative(),
)
k_even = variable(
    "break_even_experts_per_token",
    r"k^{\ast}",
    "count",
    "Experts of a token below which it pays.",
    nonnegative(),
)
u_even = variable(
    "break_even_slowdown",
    r"u^{\ast}",
    "count",
    "Slowdown of all links at which it breaks even; infinite if no slowdown makes it pay.",
    nonnegative(),
)
beta_even = variable(
    "break_even_bandwidth",
    r"\beta^{\ast}",
    "GB/s",
    "Bandwidth of the ring that gathers weights below which it pays, where all links are scaled alike.",
    nonnegative(),
)
saved = variable(
    "expert_parallel_gain",
    r"\Delta t",
    "ms",
    "Time saved per layer and micro-batch compared with no expert parallelism, without allocator retries; negative if "
    "it costs time.",
    Domain(),
)
