"""Symbols of closed loops: those of benchmarks, and those whose requests go round in step."""

from mlsysim.symbolic import family, integer, nonnegative, variable
from mlsysim.symbols.deployment import quantile

B_z = variable(
    "cohort_size",
    r"B_{\circ}",
    "request",
    "Requests of a closed loop that decode in step; 0 if output lengths differ, or in an open loop.",
    nonnegative(),
)
tau_z = variable("cohort_step", r"\tau_{\circ}", "ms", "Decode step of all of these.", nonnegative())
T_z = variable(
    "cohort_cycle", r"T_{\circ}", "ms", "Time in which all of these are prefilled and answered.",
    nonnegative(),
)  # fmt: skip
m_z = variable(
    "cohort_rounds",
    r"m_{\circ}",
    "count",
    "Rounds in which every request in flight is answered once.",
    nonnegative(),
)
r_z = variable(
    "cohort_waiting",
    r"r_{\circ}",
    "request",
    "Requests of a round that waited for as many rounds.",
    nonnegative(),
)
k_z = family(
    "cohort_place_{}", r"k_{\circ,{}}", "request", "Place in a round that {} of its requests do not exceed.",
    quantile, nonnegative(),
)  # fmt: skip

K_z = variable(
    "num_rounds",
    r"K_{\circ}",
    "count",
    "Length of a closed-loop run in rounds: requests over requests in flight, the first of which start at once; 0 for "
    "a steady state.",
    integer(0),
)
h_0 = variable(
    "frontend_time",
    "h_0",
    "ms",
    "Time of a request in front of the engine: parsing, tokenizer, queues between processes, and the way back of its "
    "first token.",
    nonnegative(),
)
h_1 = variable("frontend_token_time", "h_1", "µs/token", "The same, more for each token of its prompt.", nonnegative())
r_poll = variable(
    "poll_interval",
    r"r_{\mathrm{poll}}",
    "count",
    "Iterations between two polls of an engine for new requests; 0 or 1 if it polls before each.",
    nonnegative(),
)
w_wait = variable(
    "batch_wait",
    r"w_{\mathrm{wait}}",
    "count",
    "Iterations for which an engine delays a prompt to batch its prefill with others, while requests decode.",
    nonnegative(),
)
T_fr = variable(
    "frontend_wait", r"T_{\mathrm{fr}}", "ms", "Time of a request of mean lengths in front of the engine.",
    nonnegative(),
)  # fmt: skip
x_z = variable(
    "prompts_together",
    r"x_{\circ}",
    "request",
    "Requests of a closed loop whose prompts come with that of another one, mean; 0 where they are taken to come "
    "evenly.",
    nonnegative(),
)
chi_z = variable(
    "answer_crowding",
    r"\chi_{\circ}",
    "count",
    "Density of the ends of answers at one of them over that of ends that come evenly, mean over the rounds of a run.",
    nonnegative(),
)
y_z = variable(
    "answers_ended",
    r"y_{\circ}",
    "count",
    "Other answers of a closed loop that end in the iteration in which one does; 0 where they come evenly.",
    nonnegative(),
)
tau_l = variable(
    "loop_step", r"\tau_{\mathrm{l}}", "ms", "Step of those that decode in a closed loop, without prompts.",
    nonnegative(),
)  # fmt: skip
C_it = variable(
    "iteration_budget", r"C_{\mathrm{it}}", "token", "Tokens that full iterations take, mean.", nonnegative()
)
b_z = variable("burst_prompts", r"b_{\circ}", "count", "Prompts of an iteration at the start of a run.", nonnegative())
tau_miss = variable(
    "missed_iteration",
    r"\tau_{\mathrm{miss}}",
    "ms",
    "Remaining time of the iteration that a request misses.",
    nonnegative(),
)
g_z = variable(
    "prompts_gathered",
    r"g_{\circ}",
    "count",
    "Prompts of an iteration of a closed loop that has some.",
    nonnegative(),
)
s_z = variable(
    "closed_context",
    r"s_{\circ}",
    "token",
    "Tokens that a request of a full closed loop keeps.",
    nonnegative(),
)
A_z = variable(
    "loop_room",
    r"A_{\circ}",
    "token",
    "Tokens of prompts that an iteration of a closed loop has room for.",
    nonnegative(),
)
T_full = variable(
    "full_prompt_time",
    r"T_{\mathrm{full}}",
    "ms",
    "Time of a prompt in iterations of a closed loop that prompts fill.",
    nonnegative(),
)
T_add = variable(
    "added_prefill",
    r"T_{\mathrm{add}}",
    "ms",
    "Time that another request's prompt adds to the iterations of a closed loop.",
    nonnegative(),
)
W_z = variable(
    "loop_wait",
    r"W_{\circ}",
    "ms",
    "Time from a prompt of a closed loop that an engine has got to the iteration that takes it.",
    nonnegative(),
)
T_st = variable(
    "closed_stalls",
    r"T_{\circ,\mathrm{st}}",
    "ms",
    "Time that the others' prompts add to the decode steps of an answer in a closed loop.",
    nonnegative(),
)
B_Z = variable(
    "closed_slots",
    r"B_Z",
    "request",
    "Requests of a closed loop that one engine has room for.",
    nonnegative(),
)
ttft_s = variable(
    "ttft_steady", r"\mu_{\mathrm{first,s}}", "ms", "Time to first token without the start of a run, mean.",
)  # fmt: skip
ttft_b = variable(
    "ttft_burst",
    r"\mu_{\mathrm{first,b}}",
    "ms",
    "Time to first token of the requests that start a run in a closed loop, mean; 0 without rounds.",
)
