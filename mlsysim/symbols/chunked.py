"""Symbols of an engine that prefills prompts in chunks beside its decoding."""

from mlsysim.symbolic import between, boolean, integer, nonnegative, positive, variable

C_b = variable(
    "max_num_batched_tokens",
    r"C_{\mathrm{b}}",
    "token",
    "Tokens of one iteration at most.",
    integer(1),
    label="Token budget of an iteration",
)
uncut = variable(
    "whole_prompts",
    r"b_{\mathrm{whole}}",
    "",
    "True if an iteration takes only whole prompts, as many as its token budget has room for.",
    boolean(),
)
cv_in = variable(
    "isl_cv",
    r"c_{\mathrm{in}}",
    "count",
    "Coefficient of variation of prompt tokens; 0 if all prompts are equal, else they are log-normal.",
    between(0, 100),
    label="Variation of input tokens",
)
cv_out = variable(
    "osl_cv",
    r"c_{\mathrm{out}}",
    "count",
    "Coefficient of variation of output tokens; 0 if all outputs are equal, else they are log-normal.",
    between(0, 100),
    label="Variation of output tokens",
)
s_n = variable(
    "computed_prompt_tokens", r"s_{\mathrm{n}}", "token", "Tokens of a prompt that are not cached.", positive()
)
tau_pair = variable(
    "prompt_pair_time",
    r"\tau_{\mathrm{pair}}",
    "ns/token^2",
    "Time that a token of a prompt takes for each one before it.",
    nonnegative(),
    label="Attention to a token of a prompt",
)
N_sl = variable(
    "slot_batch", r"N_{\mathrm{sl}}", "request", "Requests that decode where every slot is taken.", nonnegative()
)
p_sl = variable(
    "slot_decode_share",
    r"p_{\mathrm{sl}}",
    "count",
    "Share of the iterations without prompts where every slot is taken.",
    between(0, 1),
)
mu_sl = variable(
    "slot_capacity",
    r"\mu_{\mathrm{sl}}",
    "request/s",
    "Requests per second that a replica can complete with every slot taken.",
    nonnegative(),
)
n_chunk = variable(
    "prompt_chunks",
    r"k_{\mathrm{ch}}",
    "count",
    "Iterations of a prompt in a closed loop.",
    integer(1),
)
D_Z = variable(
    "closed_first",
    "D_Z",
    "ms",
    "Prefill of a prompt of a closed loop, beside those that decode.",
    nonnegative(),
    label="Prefill in a closed loop",
)
tau_Z = variable(
    "closed_step",
    r"\tau_Z",
    "ms",
    "Decode step in a closed loop, mean: prompts of the others are prefilled beside some.",
    nonnegative(),
    label="Decode step in a closed loop",
)
N_full = variable(
    "full_batch", r"N_{\mathrm{full}}", "request", "Requests that decode where every iteration is full.", nonnegative()
)
tau_full = variable(
    "saturated_iteration_time", r"\tau_{\mathrm{full}}", "ms", "Iteration where every iteration is full.", nonnegative()
)
