"""Symbols of expert routing."""

from mlsysim.symbolic import flag, integer, nonnegative, variable

k_eff = variable(
    "effective_active_experts",
    r"k_{\mathrm{eff}}",
    "count",
    "Experts per token the hot ones make it cost.",
    nonnegative(),
)
multiplier = variable("active_parameter_multiplier", r"\chi", "count", "Active work over that of balanced routing.")
P_eff = variable("effective_active_parameters", r"P_{\mathrm{eff}}", "count", "Active parameters, imbalance included.")
payload = variable(
    "routed_payload", r"M_{\mathrm{rt}}", "MB", "Activations handed to experts, local ones included.", nonnegative()
)
dispatch = variable(
    "token_dispatch_bytes", r"M_{\mathrm{disp}}", "MB", "Activations that leave their rank.", nonnegative()
)
n_rank = variable(
    "tokens_per_rank", r"n_{\mathrm{r}}", "token", "Tokens one expert-parallel rank brings.", nonnegative()
)
gamma_r = variable(
    "hot_rank_factor",
    r"\gamma_{\mathrm{r}}",
    "count",
    "Tokens the hot rank computes over the mean of those that are routed; at most all of them, or its capacity.",
    nonnegative(),
)
c_f = variable(
    "capacity_factor",
    r"c_{\mathrm{f}}",
    "count",
    "Capacity of an expert in tokens, over the mean routed to it; 0 drops no tokens, and neither does a factor of at "
    "least experts over active_experts_per_token.",
    nonnegative(),
)
pad = variable(
    "pad_to_capacity",
    r"\beta_{\mathrm{pad}}",
    "count",
    "True if every expert exchanges and computes its whole capacity, whatever is routed to it (drop and pad).",
    flag(),
)
gamma_m = variable(
    "mean_rank_factor",
    r"\bar{\gamma}_{\mathrm{r}}",
    "count",
    "Tokens the mean rank computes over those that are routed to it, at most.",
    nonnegative(),
)
delta_d = variable(
    "least_dropped_share",
    r"\delta_{\mathrm{drop}}",
    "count",
    "Share of the routed tokens that is dropped, at least.",
    nonnegative(),
)
M_hot = variable(
    "hot_rank_bytes",
    r"M_{\mathrm{hot}}",
    "MB",
    "Activations the hot rank receives in one exchange.",
    nonnegative(),
)
t_a2a = variable("all_to_all_latency", r"T_{\mathrm{a2a}}", "ms", "Time of one all-to-all exchange.", nonnegative())

n_exchanges = variable(
    "exchanges_per_layer",
    r"n_{\mathrm{x}}",
    "count",
    "All-to-all exchanges of one layer and step: dispatch and combine, forward, backward, recomputed.",
    integer(4, 6),
)
M_step = variable(
    "step_dispatch_bytes",
    r"M_{\mathrm{step}}",
    "GB",
    "Activations that leave their rank in one step, over all layers and exchanges.",
    nonnegative(),
)
T_step_a2a = variable(
    "step_all_to_all_time",
    r"T_{\mathrm{step,a2a}}",
    "ms",
    "Time of all exchanges of one training step.",
    nonnegative(),
)
