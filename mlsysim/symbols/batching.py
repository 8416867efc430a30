"""Symbols of continuous batching: a replica that prefills and decodes by turns, and the latency it gives."""

from mlsysim.symbolic import at_least, between, integer, nonnegative, positive, variable

s_end = variable(
    "peak_seq_len", r"\hat{s}_{\mathrm{end}}", "token", "Prompt and answer in whole pages of the KV cache.", integer(1)
)
kv_read = variable(
    "kv_bytes_read",
    r"\kappa_{\mathrm{read}}",
    "GB/request",
    "KV cache of one request, mean over the steps of its answer.",
    nonnegative(),
)
E_t = variable(
    "touched_experts",
    r"E_{\mathrm{t}}",
    "count",
    "Experts of a layer that a decode step of the full batch reads.",
    positive(),
)
attention_flops = variable(
    "attention_flops",
    r"\Phi_{\mathrm{attn}}",
    "FLOP/token^2",
    "Arithmetic of attention for one token and one token it attends to, all layers.",
    nonnegative(),
)
t_pre = variable("prefill_time", r"t_{\mathrm{pre}}", "ms", "Time to prefill one request.", positive())
w_read = variable("step_weights_time", "w", "ms", "Time of a decode step to read the weights.")
k_read = variable(
    "step_kv_time", r"\kappa_t", "ms", "Time of a decode step to read the KV cache of one request.", nonnegative()
)
phi = variable(
    "step_compute_time", r"\phi_t", "ms", "Time of a decode step to compute one request's token.", positive()
)
lam_r = variable(
    "replica_arrival_rate",
    r"\lambda_{\mathrm{r}}",
    "1/s",
    "Requests arriving at one replica; 0 where the deployment cannot keep up.",
    nonnegative(),
)
N_1 = variable("first_batch_estimate", r"\bar{N}_1", "count", "Requests in the batch, first estimate.", at_least(1.0))
N_2 = variable("second_batch_estimate", r"\bar{N}_2", "count", "Requests in the batch, second estimate.", at_least(1.0))
N_mean = variable("mean_batch", r"\bar{N}", "count", "Requests in the batch of one replica, mean.", at_least(1.0))
w_load = variable(
    "step_weights_time_at_load",
    r"w_{\mathrm{load}}",
    "ms",
    "Time of a decode step to read the weights, at this load.",
)
k_exp = variable(
    "step_experts_time",
    r"\kappa_{\mathrm{e}}",
    "ms",
    "Time of a decode step to read the experts one more request adds.",
    nonnegative(),
)
w_b = variable("step_floor", r"w_{\mathrm{b}}", "ms", "Decode step of an empty batch, by the ceiling that binds.")
k_b = variable(
    "step_slope",
    r"\kappa_{\mathrm{b}}",
    "ms",
    "Time that each request adds to a decode step, by the ceiling that binds.",
    nonnegative(),
)
x_own = variable(
    "exclusive_work", r"a_{\mathrm{x}}", "ms", "Time of the replica that one request takes alone.", positive()
)
rho_p = variable(
    "prefill_load", r"\rho_{\mathrm{p}}", "count", "Share of the replica's time spent on prefill.", nonnegative()
)
q_dec = variable("decode_share", r"q_{\mathrm{d}}", "count", "Share of the replica's time left to decode.")
f_free = variable(
    "free_share", r"f_{\mathrm{x}}", "count", "Share of the replica's time that other requests leave free."
)
Z_n = variable("arrival_noise", "Z_n", "count", "Spread of the number in the batch over that of single arrivals.")
theta = variable("slot_wait", r"\theta_{\mathrm{s}}", "ms", "Mean wait of a request that finds every slot taken.")
p_pre = variable(
    "prefill_wait_probability",
    r"P_{\mathrm{pre}}",
    "count",
    "Probability that another prefill is under way.",
    between(0, 1),
)
theta_pre = variable(
    "prefill_wait",
    r"\theta_{\mathrm{pre}}",
    "ms",
    "Mean wait of a request that finds another prefill under way.",
)
o_own = variable(
    "own_share",
    r"o_{\mathrm{x}}",
    "count",
    "Part of its own work that a request adds to the replica it joins.",
    positive(),
)
T_alone = variable("undisturbed_time", r"T_{\mathrm{alone}}", "ms", "Time of a request that others do not hold up.")
S_res = variable("residence_time", r"S", "ms", "Mean time of a request of mean size in the batch, prefill included.")
V_res = variable("residence_variance", r"V_S", "s^2", "Variance of that time by what other requests do.")
m_T = variable("mean_latency", r"m_T", "ms", "Mean latency of a request.")
v_T = variable("latency_variance", r"v_T", "s^2", "Variance of the latency.")
k_T = variable("latency_third_cumulant", r"k_T", "s^3", "Third cumulant of the latency.")
y_T = variable("latency_skewness", r"y_T", "count", "Sixth of the skewness of the latency.", positive())
T_fit = variable("fitted_p99", r"T_{\mathrm{fit}}", "ms", "Quantile of 99% of the gamma law with these cumulants.")
g99 = variable(
    "size_quantile", r"g_{99}", "count", "Size that 99% of the requests stay below, over the mean size.", nonnegative()
)
T_light = variable(
    "light_load_p99",
    r"T_{\mathrm{light}}",
    "ms",
    "Latency 99% of the requests stay below on an idle deployment.",
)
