"""Symbols of where expert parallelism pays: what it saves and what it costs a layer, and where both are equal."""

from mlsysim.symbolic import Domain, nonnegative, variable

t_routed = variable(
    "routed_time",
    r"t_{\mathrm{rtd}}",
    "ms",
    "Products of the routed experts of a layer, one micro-batch, balanced.",
    nonnegative(),
)
t_besides = variable(
    "besides_time",
    r"t_{\mathrm{bes}}",
    "ms",
    "Everything else that a layer computes for one micro-batch.",
    nonnegative(),
)
t_cover = variable(
    "cover_time",
    r"t_{\mathrm{cov}}",
    "ms",
    "Computing of a layer that its gathering and reducing may hide behind, balanced.",
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
    "Exchanges of a layer with experts, one micro-batch, balanced.",
    nonnegative(),
)
t_count = variable(
    "count_time",
    r"t_{\mathrm{cnt}}",
    "ms",
    "Waiting for counts of tokens in a layer, one micro-batch.",
    nonnegative(),
)
less = variable(
    "traffic_saved_time",
    r"\Delta t_{\mathrm{tr}}",
    "ms",
    "Traffic of a layer that it saves, with balanced loads: what is gathered and reduced less, less its exchanges.",
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
    "Imbalance of routing below which it pays.",
    nonnegative(),
)
k_even = variable(
    "break_even_experts_per_token",
    r"k^{\ast}",
    "count",
    "Experts of a token below which it pays.",
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
    "What it saves a layer and a micro-batch against none; below zero where it costs.",
    Domain(),
)
