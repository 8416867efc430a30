"""Symbols of chunked prefill: iterations in which prompts, cut where the token budget ends, share with decoding."""

from mlsysim.symbolic import between, nonnegative, positive, variable

N_met = variable(
    "batch_seen", r"N_{\mathrm{met}}", "request", "Requests that decode beside a prompt, or as one of them meets them.",
    nonnegative(), label="Requests beside a prompt",
)  # fmt: skip
lam_1 = variable(
    "counted_rate", r"\lambda_1", "request/s", "Requests that reach one replica, but not none.", positive()
)
A_n = variable(
    "prompt_room_seen",
    r"A_{\mathrm{n}}",
    "token",
    "Tokens of prompts beside the requests that one meets.",
    positive(),
    label="Room for prompts beside these",
)
tau_n = variable(
    "full_time_seen",
    r"\tau_{\mathrm{n}}",
    "ms",
    "A full iteration beside the requests that one meets.",
    nonnegative(),
    label="Full iteration beside these",
)
x_full = variable(
    "full_share_of_answer",
    r"x_{\mathrm{full}}",
    "count",
    "Share of an answer that passes in one row of full iterations.",
    between(0, 1),
    label="Answer within a row of full iterations",
)
A_c = variable(
    "prompt_room", r"A_{\mathrm{c}}", "token", "Tokens of prompts in a full iteration.", positive(),
    label="Room for prompts",
)  # fmt: skip
tau_f = variable("full_iteration_time", r"\tau_{\mathrm{f}}", "ms", "A full iteration.", nonnegative())
tau_d = variable("decode_iteration_time", r"\tau_{\mathrm{d}}", "ms", "An iteration without prompts.", nonnegative())
k_c = variable("prompt_iterations", r"k_{\mathrm{c}}", "count", "Full iterations that a prompt is worth.", positive())
r_c = variable(
    "last_piece", r"r_{\mathrm{c}}", "token", "Tokens in the last iteration of a prompt alone.", nonnegative()
)
tau_r = variable("last_piece_time", r"\tau_{\mathrm{r}}", "ms", "Last iteration of a prompt alone.", nonnegative())
om_c = variable(
    "followed_probability",
    r"\omega_{\mathrm{c}}",
    "count",
    "Probability that another prompt comes while one is prefilled.",
    between(0, 1),
)
c_g = variable(
    "gathered_tokens",
    r"c_{\mathrm{g}}",
    "token",
    "Tokens of prompts in an iteration without a budget that has any.",
    positive(),
    label="Tokens of prompts without a budget",
)
c_1 = variable(
    "cleared_tokens",
    "c_1",
    "token",
    "Tokens of prompts in an iteration that takes all that wait.",
    positive(),
    label="Tokens of an iteration that clears",
)
tau_1 = variable("clearing_time", r"\tau_1", "ms", "An iteration that takes all prompts that wait.", nonnegative())
g_1 = variable(
    "clearing_ratio",
    "g_1",
    "count",
    "Iterations that take all prompts that wait, over those without prompts.",
    nonnegative(),
    label="Clearing iterations over empty ones",
)
P_0 = variable("empty_share", "P_0", "count", "Share of the iterations without prompts.")
P_1 = variable("clearing_share", "P_1", "count", "Share of the iterations that take all prompts that wait.")
P_f = variable("full_share", r"P_{\mathrm{f}}", "count", "Share of the iterations that are full.", nonnegative())
tau_m = variable("iteration_mean", r"\tau_{\mathrm{m}}", "ms", "An iteration, mean.")
tau_2 = variable("iteration_second_moment", r"\tau_{\mathrm{m}}^{(2)}", "ms^2", "The square of an iteration, mean.")
c_m = variable("prompt_tokens_mean", r"c_{\mathrm{m}}", "token", "Tokens of prompts in an iteration, mean.")
b_c = variable(
    "prompt_token_growth",
    r"b_{\mathrm{c}}",
    "ms/token",
    "Time that one prompt token adds to an iteration that clears all waiting prompts.",
    nonnegative(),
)
v_1 = variable(
    "cleared_variance",
    "v_1",
    "token^2",
    "Variance of the tokens of prompts of an iteration that clears.",
    label="Variance of what an iteration clears",
)
w_c = variable(
    "prompt_token_time",
    r"w_{\mathrm{c}}",
    "token*ms",
    "Tokens of prompts of an iteration times its length, mean.",
    label="Tokens of prompts times the iteration",
)
R_c = variable("waiting_tokens", r"R_{\mathrm{c}}", "token", "Tokens of prompts that an iteration leaves, mean.")
S_1 = variable(
    "prompt_sojourn",
    "S_1",
    "ms",
    "Time of a prompt from the iteration that takes it up to its first token, mean.",
    label="Prompt after the iteration it finds",
)
w_left = variable(
    "left_tokens",
    r"w_{\mathrm{left}}",
    "token",
    "Tokens of prompts that wait when a prompt is done, mean.",
    label="Tokens of prompts left behind",
)
T_dec = variable("decode_time", r"T_{\mathrm{dec}}", "ms", "Time of a request from its first token to its last, mean.")
v_ln = variable(
    "ttft_log_variance",
    r"v_{\ln}",
    "count",
    "Variance of the logarithm of the time to first token beyond a decode step.",
    label="Log variance of the first token",
)
