"""Symbols of advice on deployments: what either pool can hold, their best ratio, and where regimes end."""

from mlsysim.symbolic import between, integer, nonnegative, variable

q_1 = variable(
    "promise_share",
    "q_1",
    "count",
    "Share of requests that must meet each latency target.",
    between(0, 1),
)
N_star = variable(
    "decode_batch_limit",
    r"N_{\mathrm{d}}^{*}",
    "request",
    "Most requests that decode in one engine of a pool while the time per output token holds.",
    nonnegative(),
    label="Batch that the TPOT allows",
)
lam_d = variable(
    "decode_rate_limit",
    r"\lambda_{\mathrm{d}}^{*}",
    "request/s",
    "Most requests per second that one engine decodes while the time per output token holds.",
    nonnegative(),
    label="Rate that one decode worker holds",
)
lam_p = variable(
    "prefill_rate_limit",
    r"\lambda_{\mathrm{p}}^{*}",
    "request/s",
    "Most requests per second that one engine prefills while the time to first token holds.",
    nonnegative(),
    label="Rate that one prefill worker holds",
)
r_pd = variable(
    "prefill_decode_ratio",
    r"r_{\mathrm{pd}}",
    "count",
    "Engines that prefill for each one that decodes, where both pools are full at once.",
    nonnegative(),
    label="Best ratio of prefill to decode workers",
)
g_dis = variable(
    "matched_goodput_per_accelerator",
    r"g_{\mathrm{dis}}",
    "request/s",
    "Goodput of one accelerator of pools of that ratio.",
    nonnegative(),
    label="Goodput per accelerator of matched pools",
)
g_col = variable(
    "colocated_goodput_per_accelerator",
    r"g_{\mathrm{col}}",
    "request/s",
    "Goodput of one accelerator of an engine like those that decode, which prefills as well, by turns.",
    nonnegative(),
    label="Goodput per accelerator without pools",
)
x_dis = variable(
    "disaggregation_gain",
    r"x_{\mathrm{dis}}",
    "count",
    "Goodput of matched pools over that of engines that do both; pools pay where it exceeds one.",
    nonnegative(),
)
beta_least = variable(
    "least_kv_transfer_bandwidth",
    r"\beta_{\kappa}^{*}",
    "GB/s",
    "Bandwidth below which the link of the pools is slower than their prefill.",
    nonnegative(),
)
n_comp = variable(
    "compute_bound_batch",
    r"n_{\mathrm{comp}}",
    "request",
    "Fewest requests of a decode step whose arithmetic takes as long as its reading; infinite where there are none.",
    integer(1),
)
n_cache = variable(
    "cache_bound_batch",
    r"n_{\mathrm{cache}}",
    "request",
    "Fewest requests of a decode step whose caches take as long to read as the weights; infinite where there are none.",
    integer(1),
)
tau_tok = variable(
    "step_time_per_token",
    r"\tau_{\mathrm{tok}}",
    "ms",
    "Decode step of the present batch over the tokens that it gives one request.",
    nonnegative(),
)
gamma_best = variable(
    "best_num_speculative_tokens",
    r"\gamma_{\mathrm{s}}^{*}",
    "count",
    "Drafted tokens, of up to sixteen, with which that is shortest.",
    integer(0, 16),
    label="Best number of drafted tokens",
)
C_star = variable(
    "chunk_limit",
    "C^{*}",
    "token",
    "Largest token budget whose full iteration meets the TPOT target; infinite if there is none.",
    integer(0),
)
