"""Symbols of a deployment: replicas of several accelerators, the load on an engine, and the latencies it gives."""

from mlsysim.symbolic import Domain, Index, at_least, between, choice, family, integer, nonnegative, positive, variable

lam_all = variable(
    "request_rate",
    r"\lambda_{\mathrm{all}}",
    "request/s",
    "Requests that arrive per second; 0 in a closed loop.",
    nonnegative(),
)
Z_all = variable(
    "concurrency",
    r"Z_{\mathrm{all}}",
    "request",
    "Requests in flight in a closed loop, in which one starts when another ends, besides other arrivals; 0 for no "
    "loop.",
    nonnegative(),
)
s_in = variable("isl", r"s_{\mathrm{in}}", "token", "Tokens of a prompt.", integer(1), label="Input tokens")
s_out = variable(
    "osl", r"s_{\mathrm{out}}", "token", "Output tokens of a request.", integer(2), label="Output tokens of a request"
)
T_1 = variable("ttft_slo", "T_1", "ms", "Target for the time to first token; 0 for none.", nonnegative())
T_2 = variable("tpot_slo", "T_2", "ms", "Target for the time per output token; 0 for none.", nonnegative())
T_3 = variable(
    "e2e_slo",
    "T_3",
    "ms",
    "Target for the end-to-end latency, from the arrival of a request to its last token; 0 for none.",
    nonnegative(),
)
q_slo = variable(
    "slo_quantile",
    r"q_{\mathrm{slo}}",
    "count",
    "Share of requests that must meet all latency targets.",
    between(0.01, 0.9999),
)
c_given = variable(
    "num_replicas",
    r"c_{\mathrm{num}}",
    "count",
    "Replicas of the deployment; 0 for the fewest that meet all targets.",
    integer(0, 1_000_000),
)
B_seq = variable(
    "max_num_seqs",
    r"B_{\mathrm{seq}}",
    "request",
    "Most requests one attention rank of an engine decodes together.",
    integer(1),
)
alpha_s = variable(
    "acceptance_rate", r"\alpha_{\mathrm{s}}", "count", "Probability that a drafted token is accepted.", between(0, 1)
)
c_s = variable(
    "draft_cost",
    r"c_{\mathrm{s}}",
    "count",
    "Time to draft one token relative to a decode step; 0 if tokens are looked up.",
    nonnegative(),
)
x_p = variable("prefill_workers", r"x_{\mathrm{p}}", "count", "Engines of a replica that prefill.", integer(1))
y_d = variable("decode_workers", r"y_{\mathrm{d}}", "count", "Engines of a replica that decode.", integer(1))
beta_kv = variable(
    "kv_transfer_bandwidth",
    r"\beta_{\kappa}",
    "GB/s",
    "Bandwidth of the link over which keys and values of a replica go from prefill to decoding.",
    positive(),
)
t_pre = variable(
    "prefill_tp_size",
    r"t_{\mathrm{pf}}",
    "count",
    "Tensor-parallel ranks of an engine that prefills; 0 for as many as of one that decodes.",
    integer(0),
    label="Tensor-parallel size of prefill",
)
p_pre = variable(
    "prefill_pp_size",
    r"p_{\mathrm{pf}}",
    "count",
    "Pipeline-parallel stages of an engine that prefills; 0 for as many as of one that decodes.",
    integer(0),
    label="Pipeline-parallel size of prefill",
)
e_pre = variable(
    "prefill_ep_size",
    r"e_{\mathrm{pf}}",
    "count",
    "Expert-parallel ranks of an engine that prefills; 0 for as many as of one that decodes.",
    integer(0),
    label="Expert-parallel size of prefill",
)
d_pre = variable(
    "prefill_dp_attention_size",
    r"d_{\mathrm{pf}}",
    "count",
    "Attention ranks of an engine that prefills; 0 for as many as of one that decodes.",
    integer(0),
    label="Attention ranks of prefill",
)

k_a = variable(
    "burstiness",
    r"k_{\mathrm{a}}",
    "count",
    "Shape of the gamma distribution of inter-arrival times: 1 for Poisson arrivals, below 1 in bursts, above 1 more "
    "evenly.",
    between(0.01, 100),
)
c_a = variable(
    "arrival_scv",
    r"c_{\mathrm{a}}^2",
    "count",
    "Squared coefficient of variation of the times between requests that reach a replica.",
    positive(),
    label="Squared variation of arrival gaps",
)

t_P = variable(
    "prefill_tensor_ranks", r"t_{\mathrm{P}}", "count", "Tensor-parallel ranks of an engine that prefills.", integer(1)
)
p_P = variable("prefill_stages", r"p_{\mathrm{P}}", "count", "Stages of an engine that prefills.", integer(1))
e_P = variable(
    "prefill_expert_ranks", r"e_{\mathrm{P}}", "count", "Expert-parallel ranks of an engine that prefills.", integer(1)
)
d_P = variable(
    "prefill_attention_ranks", r"d_{\mathrm{P}}", "count", "Attention ranks of an engine that prefills.", integer(1)
)
g_P = variable(
    "prefill_groups", r"g_{\mathrm{P}}", "count", "Prompts that an engine of a pool prefills at a time.", integer(1)
)
n_P = variable(
    "accelerators_per_prefill_worker",
    r"N_{\mathrm{P}}",
    "count",
    "Accelerators of an engine that prefills.",
    integer(1),
)
n_D = variable(
    "accelerators_per_decode_worker",
    r"N_{\mathrm{D}}",
    "count",
    "Accelerators of an engine that decodes.",
    integer(1),
    label="Accelerators of a decode worker",
)
B_P = variable(
    "prompt_slots", r"B_{\mathrm{P}}", "request", "Prompts that an engine which prefills has room for.", integer(0)
)
B_e = variable("engine_slots", r"B_{\mathrm{e}}", "request", "Requests one engine has room for.", integer(0))
n_rep = variable("accelerators_per_replica", r"N_{\mathrm{rep}}", "count", "Accelerators of one replica.", integer(1))
E_tok = variable(
    "tokens_per_decode_step",
    r"E_{\mathrm{tok}}",
    "count",
    "Tokens a step gives one request, mean.",
    positive(),
)
u_ans = variable(
    "answer_steps",
    r"u_{\mathrm{ans}}",
    "count",
    "Decode steps of an answer: prefill gives its first token.",
    nonnegative(),
)
t_dr = variable("draft_time", r"t_{\mathrm{dr}}", "ms", "Time of a decode step that goes to drafting.", nonnegative())
D_1 = variable("prompt_time", "D_1", "ms", "Prefill of one prompt alone.", nonnegative())
D_each = variable(
    "prompt_interval",
    r"D_{\mathrm{i}}",
    "ms",
    "Time that one prompt takes of an engine, which prefills one for each of its groups at a time.",
    nonnegative(),
)
t_x = variable("kv_transfer_time", r"t_{\kappa\to}", "ms", "Transfer of the cache of one prompt.", nonnegative())
mu_e = variable(
    "replica_capacity",
    r"\mu_{\mathrm{c}}",
    "request/s",
    "Requests per second that one replica can complete.",
    nonnegative(),
)
lam_g = variable(
    "replica_goodput",
    r"\lambda_{\mathrm{g}}",
    "request/s",
    "Highest open-loop request rate at which one replica meets all targets.",
    nonnegative(),
)
c_dep = variable(
    "deployed_replicas",
    r"c_{\mathrm{dep}}",
    "count",
    "Replicas of the deployment; infinite if no number of replicas suffices.",
    integer(1),
)
Z_e = variable("replica_concurrency", r"Z_{\mathrm{c}}", "request", "Requests in flight of one replica.", nonnegative())
N_z = variable("closed_batch", r"N_Z", "request", "Requests that decode in one engine of a closed loop.", nonnegative())
lam_e = variable(
    "replica_rate", r"\lambda_{\mathrm{c}}", "request/s", "Requests that reach one replica.", nonnegative()
)
rho_e = variable(
    "replica_load",
    r"\rho_{\mathrm{c}}",
    "count",
    "Requests that arrive over those a replica can complete.",
    nonnegative(),
)
N_e = variable(
    "decode_batch", r"\bar{N}_{\mathrm{e}}", "request", "Requests that decode in one engine, mean.", nonnegative()
)
tau_N = variable("step_time_at_load", r"\tau_N", "ms", "Decode step that a request meets at this load.")
b_N = variable("step_growth_at_load", "b_N", "ms", "Time that one more request adds to that decode step.")
rho_D = variable(
    "prompt_load", r"\rho_D", "count", "Share of the time that prompts keep their engine busy.", nonnegative()
)
V_N = variable(
    "batch_variance", "V_N", "request^2", "Variance of the requests that decode in one engine.", nonnegative()
)
y_w = variable(
    "wait_decay",
    r"y_{\mathrm{w}}",
    "count",
    "Time of one prompt over that in which the wait for others decays.",
    positive(),
)
theta_P = variable(
    "poisson_wait_scale",
    r"\theta_{\mathrm{P}}",
    "ms",
    "Time over which the wait for prompts ahead would decay, were arrivals Poisson's.",
    label="Decay time of the wait, Poisson arrivals",
)
theta_w = variable(
    "prompt_wait_scale",
    r"\theta_{\mathrm{w}}",
    "ms",
    "Time over which the wait for prompts ahead decays.",
)
W_P = variable(
    "poisson_wait",
    r"W_{\mathrm{P}}",
    "ms",
    "Wait for the prompts ahead, mean, were arrivals Poisson's.",
    label="Wait for prompts, Poisson arrivals",
)
W_w = variable("prompt_wait", r"W_{\mathrm{w}}", "ms", "Wait for the prompts ahead, mean.")
D_w = variable(
    "prompt_stay",
    r"\check{D}",
    "ms",
    "Wait for other prompts and own prefill.",
    label="Wait and prefill of a prompt",
)
P_w = variable("prompt_wait_probability", r"P_{\mathrm{w}}", "count", "Probability of such a wait.", Domain(upper=1))
p_v = variable(
    "step_wait_probability", r"p_{\mathrm{v}}", "count", "Probability that a prompt finds a decode step under way.",
)  # fmt: skip
P_s = variable(
    "slot_wait_probability",
    r"P_{\mathrm{sl}}",
    "count",
    "Probability that a request finds every slot taken; 0 in a closed loop, and where more come than can be completed.",
    between(0, 1),
)
P_f = variable(
    "prompt_slot_wait_probability",
    r"P_{\mathrm{sl},1}",
    "count",
    "Probability that a prompt waits for a slot before it is prefilled.",
    between(0, 1),
)
theta_s = variable(
    "slot_wait_mean",
    r"\theta_{\mathrm{sl}}",
    "ms",
    "Mean wait of a request that finds every slot taken.",
)

#: Shares of the requests that stay below a latency.
quantile = Index("quantile", r"\upsilon", {"p50": "half", "p90": "90%", "p99": "99%"})

ttft_mean = variable("ttft_mean", r"\mu_{\mathrm{first}}", "ms", "Time to first token, mean.")
ttft_q = family(
    "ttft_{}", r"T_{\mathrm{first},{}}", "ms", "Time to first token that {} of the requests stay below.", quantile,
)  # fmt: skip
tau_v = variable("bare_step_time", r"\tau_{\mathrm{v}}", "ms", "That decode step without what stops it.")
Z_b = variable(
    "bunch_size", r"Z_{\mathrm{b}}", "request", "Requests that start to decode with one of them.", nonnegative()
)
n_slots = variable(
    "slots", r"n_{\mathrm{sl}}", "count", "Slots that requests of a replica wait for, all together.", integer(0)
)
rho_s = variable(
    "slot_load",
    r"\rho_{\mathrm{sl}}",
    "count",
    "Requests that arrive over those that all slots can complete; 0 where none waits for a slot.",
    nonnegative(),
)
n_taken = variable(
    "slots_taken",
    r"n_{\mathrm{busy}}",
    "count",
    "Slots that are taken, mean, where nobody waits for one.",
    nonnegative(),
)
k_s = variable(
    "slot_growth",
    r"k_{\mathrm{sl}}",
    "count",
    "Arrivals during the extra time for which each slot is held if one more slot is taken.",
)
scv_s = variable(
    "slot_time_scv",
    r"c_{\mathrm{sl}}^2",
    "count",
    "Squared coefficient of variation of what a request takes of the slots.",
    nonnegative(),
    label="Squared variation of the time in a slot",
)
psi_s = variable(
    "full_slots_share",
    r"\psi_{\mathrm{sl}}",
    "count",
    "Share of what others add to a request that decodes, which full slots leave.",
    nonnegative(),
)
x_first = variable(
    "first_token_after",
    r"x_{\mathrm{f}}",
    "ms",
    "Time from request to first token that some requests exceed.",
    nonnegative(),
)
x_late = variable(
    "lateness", r"x_{\mathrm{late}}", "ms", "Time to first token beyond the prefill alone.", nonnegative()
)
P_D = variable(
    "longer_prompt_share",
    "P_D",
    "count",
    "Share of the prompts whose prefill alone takes longer than so.",
    between(0, 1),
    label="Prompts that take longer",
)
P_late = variable(
    "late_share",
    r"P_{\mathrm{late}}",
    "count",
    "Share of the requests that are later than so.",
    label="Requests that come later",
)
tpot_x = variable(
    "tpot_excess", r"T_{\mathrm{tok},+}", "ms", "Time that other requests add to the time per output token."
)
cv_x = variable(
    "tpot_excess_cv",
    r"c_{\mathrm{tok},+}",
    "count",
    "Coefficient of variation of that.",
    positive(),
    label="Variation of what others add",
)
X_B = variable(
    "burst_stall",
    r"X_{\mathrm{a}}",
    "ms",
    "Prefills of the same burst, beside those of any time, that stop a request before its first decode step; negative "
    "where arrivals are more even than Poisson's.",
    label="Stall by bursts",
)
X_1 = variable("first_stall", "X_1", "ms", "Wait of a request between its prompt and its first decode step.")
tpot_1 = variable(
    "lone_tpot",
    r"T_{\mathrm{tok},1}",
    "ms",
    "Time per output token of a request alone.",
    nonnegative(),
    label="Time per output token alone",
)
tpot_mean = variable("tpot_mean", r"\mu_{\mathrm{tok}}", "ms", "Time per output token after the first, mean.")
tpot_sd = variable(
    "tpot_spread", r"\sigma_{\mathrm{tok}}", "ms", "Standard deviation of the time per output token.", nonnegative()
)
tpot_q = family(
    "tpot_{}", r"T_{\mathrm{tok},{}}", "ms", "Time per output token that {} of the requests stay below.", quantile,
)  # fmt: skip
e2e_mean = variable("e2e_mean", r"\mu_{\mathrm{end}}", "ms", "Time from request to last token, mean.")
x_end = family(
    "e2e_{}_beyond", r"x_{\mathrm{end},{}}", "ms", "Time to last token that {} of the requests stay below, over its "
    "mean.", quantile,
)  # fmt: skip
e2e_q = family(
    "e2e_{}", r"T_{\mathrm{end},{}}", "ms", "Time from request to last token that {} of the requests stay below.",
    quantile,
)  # fmt: skip

#: Gaps between two tokens of an answer.
gap = Index("gap", r"\varsigma", {"between": "between two decode steps", "first": "before its first decode step"})
l_gap = family(
    "{}_stopping_prompts", r"\ell_{}", "count", "Prompts that a request meets {}, before any that come meanwhile.", gap,
)  # fmt: skip
P_gap = family(
    "{}_stop_probability", r"P_{\mathrm{m},{}}", "count", "Probability of a prompt {}.", gap, Domain(upper=1)
)
x_gap = family(
    "{}_long_share", r"x_{\mathrm{m},{}}", "count", "A hundredth of all gaps over those with a prompt {}.", gap,
    positive(),
)  # fmt: skip
m_gap = family(
    "{}_further_prompts", r"m_{}", "count", "Further prompts {} where there is one, mean.", gap, nonnegative()
)
c_gap = family(
    "{}_prompts_cv", r"c_{\mathrm{m},{}}", "count", "Coefficient of variation of further prompts {}.", gap,
    nonnegative(),
)  # fmt: skip
n_gap = family(
    "{}_gap_prompts", r"n_{\mathrm{m},{}}", "count", "Prompts {} in the longest of a hundred gaps.", gap, integer(0)
)
t_gap = family(
    "{}_gap_time", r"t_{\mathrm{m},{}}", "ms", "Prefills {} in the longest of a hundred gaps.", gap, nonnegative()
)
itl_99 = variable("itl_p99", r"T_{\mathrm{gap},99}", "ms", "Time between two tokens that 99% of them stay below.")
A_1 = variable("ttft_attainment", "A_1", "count", "Share of the requests whose first token is in time.")
A_2 = variable(
    "tpot_attainment", "A_2", "count", "Share of the requests whose time per output token holds.", nonnegative()
)
A_3 = variable("e2e_attainment", "A_3", "count", "Share of the requests whose last token is in time.")
r_F = variable(
    "first_token_correlation",
    r"r_{\mathrm{F}}",
    "count",
    "Correlation of the time to the first token with that to the last.",
    between(0, 1),
)

#: Classes of requests by the time to their first token, where several targets are met together.
rank = Index("rank", r"\jmath", {f"r{number}": f"class {number}" for number in range(1, 9)})
z_rank = family(
    "{}_first_score",
    r"z_{\mathrm{F},{}}",
    "count",
    "Time to the first token of the requests of {}, as a normal score.",
    rank,
    at_least(-10),
)
I_rank = family(
    "{}_ended_share",
    r"A_{3,{}}",
    "count",
    "Share of the requests of {}, by the time to their first token, whose last token is in time.",
    rank,
    between(0, 1),
)
A_rank = family(
    "{}_kept_share",
    r"A_{\mathrm{k},{}}",
    "count",
    "Share of the requests of {}, by the time to their first token, that meet the other targets.",
    rank,
    nonnegative(),
)
A_k = variable(
    "others_kept_share",
    r"A_{\mathrm{k}}",
    "count",
    "Share of requests with a timely first token that meet the other targets.",
    nonnegative(),
)
A_slo = variable(
    "slo_attainment",
    r"A_{\mathrm{slo}}",
    "count",
    "Share of requests that meet all latency targets.",
)
good = variable(
    "goodput",
    r"\lambda_{\mathrm{good}}",
    "request/s",
    "Highest open-loop request rate that meets all targets.",
    nonnegative(),
)
good_acc = variable(
    "goodput_per_accelerator", r"\lambda_{\mathrm{good,1}}", "request/s", "Goodput of one accelerator.", nonnegative()
)
binds_s = variable(
    "serving_bottleneck",
    r"\mathrm{binds}_{\mathrm{s}}",
    "",
    "Bottleneck of the deployment; None if it meets all targets.",
    choice("Memory", "Prefill capacity", "Decode capacity", "KV transfer", "TTFT", "TPOT", "E2E", "None"),
)
