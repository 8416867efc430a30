"""Symbols of a post-training step: rollouts, log-probabilities, updates, and the weights that go between."""

from typing import Any

from mlsysim.symbolic import (
    Index,
    between,
    choice,
    family,
    integer,
    nonnegative,
    positive,
    variable,
    variable_of,
)
from mlsysim.symbols.energy import phi_op
from mlsysim.symbols.hardware import F, alpha_node, eta
from mlsysim.symbols.iteration import F_16
from mlsysim.symbols.mixers import eta_scan, tau_scan
from mlsysim.symbols.network import eta_a, eta_x, tau_0, tau_coll, tau_sw
from mlsysim.symbols.step import eta_link, eta_mem
from mlsysim.symbols.training import e, t
from mlsysim.symbols.workload import precision

#: Requests of a replica at which its engine is timed, as parts of those that start together.
knot = Index(
    "knot",
    r"\imath",
    {
        "whole": "all",
        "quarter": "a quarter",
        "sixteenth": "a sixteenth",
        "sixtyfourth": "a sixty-fourth",
        "rest": "a 256th",
        "lone": "one",
    },
)
#: Those between which a rollout drains.
DRAINED = ("whole", "quarter", "sixteenth", "sixtyfourth", "rest")
#: Points of the law of the largest of many numbers.
draw = Index("draw", r"\jmath", {f"point{place}": f"point {place}" for place in range(18)})


def _of_engine(symbol: Any) -> Any:
    """The same quantity of the engine that rolls out, where the trainer has its own."""
    plain = variable_of(symbol)
    said = plain.description.rstrip(".")
    return variable(
        f"rollout_{plain.name}",
        rf"{{{plain.latex}}}'",
        plain.unit,
        f"{said}; of the engine that rolls out.",
        plain.domain,
        label=f"Rollout: {plain.label[0].lower()}{plain.label[1:]}",
    )


#: Inputs of an engine that the trainer has as well.
_SHARED = (
    t, e, precision, F, F_16, eta, eta_mem, eta_link, eta_x, eta_a, tau_0, tau_coll, alpha_node, tau_sw, eta_scan,
    tau_scan, phi_op,
)  # fmt: skip
#: Those of the engine, by those of the trainer.
OF_ENGINE = {symbol: _of_engine(symbol) for symbol in _SHARED}
(
    t_R, e_R, precision_R, F_R, F_16_R, eta_R, eta_mem_R, eta_link_R, eta_x_R, eta_a_R, tau_0_R, tau_coll_R,
    alpha_node_R, tau_sw_R, eta_scan_R, tau_scan_R, phi_op_R,
) = OF_ENGINE.values()  # fmt: skip

B_pr = variable("num_prompts", r"B_{\mathrm{p}}", "request", "Prompts of a step.", integer(1))
G_pr = variable("num_generations", r"G_{\mathrm{p}}", "count", "Responses to each prompt: a group.", integer(1))
s_pr = variable("prompt_len", r"s_{\mathrm{p}}", "token", "Mean length of a prompt.", integer(1))
m_re = variable(
    "mean_response_length",
    r"m_{\mathrm{r}}",
    "token",
    "Mean length of a response, after the cut at the cap.",
    positive(),
)
C_re = variable("max_response_length", r"C_{\mathrm{r}}", "token", "Longest response allowed: the cap.", positive())
L_re = variable(
    "longest_response",
    r"L_{\mathrm{given}}",
    "token",
    "Longest response of a step as it was measured; 0: the cap.",
    nonnegative(),
)
cv_re = variable(
    "response_cv",
    r"c_{\mathrm{len}}",
    "count",
    "Coefficient of variation of responses that no cap cuts, which are log-normal then; 0: they are exponential.",
    nonnegative(),
    label="Coefficient of variation of responses",
)
k_op = variable(
    "optimizer_steps",
    r"k_{\mathrm{o}}",
    "count",
    "Optimizer steps on the samples of a step: its mini-batches.",
    integer(1),
)
S_giv = variable(
    "pack_length",
    r"S_{\mathrm{given}}",
    "token",
    "Length of the sequences into which samples are packed, in tokens; 0 for the longest sample.",
    nonnegative(),
    label="Pack length that is given",
)
q_lp = variable(
    "logprob_passes",
    r"q_{\mathrm{lp}}",
    "count",
    "Forward passes for log-probabilities: of the policy before the step, and of a reference.",
    integer(0),
    label="Log-probability passes",
)
critic = variable(
    "critic",
    r"\mathrm{critic}",
    "",
    "Model that values tokens (PPO): none (GRPO), or one of the size of the policy.",
    choice("none", "policy_size"),
)
x_giv = variable(
    "rollout_accelerators",
    r"x_{\mathrm{given}}",
    "count",
    "Accelerators that roll out while the others train; 0: the best split.",
    integer(0),
)
eta_st = variable(
    "staleness",
    r"\eta_{\mathrm{st}}",
    "count",
    "Share of further samples that are started along with a step's, and may be used later.",
    nonnegative(),
)
f_grp = variable(
    "kept_group_share",
    r"f_{\mathrm{grp}}",
    "count",
    "Share of the groups that are kept; of the others all responses have one reward (DAPO).",
    between(0, 1, open_lower=True),
)
offload = variable(
    "offload",
    r"\mathrm{offload}",
    "",
    "Training state moved to the host during rollouts on the same accelerators; with a separate training pool, all "
    "but none moves reference and critic.",
    choice("none", "optimizer", "all"),
)
k_gen = variable(
    "rollout_stretch", r"k_{\mathrm{g}}", "count", "Time of a rollout over the law of its engine.", positive()
)
k_tr = variable(
    "update_stretch",
    r"k_{\mathrm{t}}",
    "count",
    "Time of updates and log-probabilities over the same passes of pre-training.",
    positive(),
)
T_0 = variable(
    "refit_time",
    r"T_{\mathrm{refit}}",
    "s",
    "Fixed time of a switch from training to rollout, besides moving bytes.",
    nonnegative(),
)
B_ref = variable(
    "refit_bandwidth",
    r"B_{\mathrm{refit}}",
    "GB/s",
    "Weights over the time to gather them for an engine on the same accelerators.",
    positive(),
)
B_syn = variable(
    "sync_bandwidth",
    r"B_{\mathrm{sync}}",
    "GB/s",
    "Weights over the time to send them to engines on other accelerators.",
    positive(),
)
k_rest = variable(
    "rest_stretch",
    r"k_{\mathrm{rest}}",
    "count",
    "Time of a step over its phases: rewards, advantages and data are in it.",
    positive(),
)

N_sam = variable("step_samples", r"N_{\mathrm{sam}}", "request", "Samples of a step.", integer(1))
S_pk = variable("packed_length", r"S_{\mathrm{pack}}", "token", "Tokens of a packed sequence.", integer(1))
chi = variable(
    "cap_over_scale",
    r"\chi_{\mathrm{r}}",
    "count",
    "Cap over the scale of exponential lengths.",
    positive(),
    label="Cap over scale of lengths",
)
mu_re = variable(
    "response_scale",
    r"\mu_{\mathrm{r}}",
    "token",
    "Scale of lengths: their mean if no cap cut them, or their median.",
    positive(),
)
E2_re = variable(
    "response_square", r"E_{2}", "token**2", "Mean square of the length of a response, after the cut.", nonnegative()
)
f_cut = variable("cut_share", r"f_{\mathrm{cut}}", "count", "Share of the responses that the cap cuts.", between(0, 1))
L_low = variable(
    "longest_response_low",
    r"L_{\mathrm{low}}",
    "token",
    "Longest response of a step as the law of lengths expects it.",
    nonnegative(),
)
L_high = variable(
    "longest_response_high",
    r"L_{\mathrm{high}}",
    "token",
    "Longest response of a step at most: the cap.",
    nonnegative(),
)
L_x = variable(
    "rollout_steps",
    r"L_{\mathrm{end}}",
    "token",
    "Tokens after which a rollout ends, once no request waits.",
    nonnegative(),
)
L_free = variable(
    "free_rollout_steps",
    r"L_{\mathrm{free}}",
    "token",
    "Tokens after which a rollout ends, were there slots for all.",
    nonnegative(),
)
x_R = variable("rollout_pool", r"x_{\mathrm{R}}", "count", "Accelerators that roll out.", integer(1))
y_U = variable("update_pool", r"y_{\mathrm{U}}", "count", "Accelerators that train.", integer(1))
n_0 = variable("replica_samples", r"n_0", "request", "Samples of a step that a replica answers.", positive())
K_1 = variable(
    "rollout_context", r"K_1", "token/request", "Mean context of a request over the steps it takes.", positive()
)
M_sl = variable(
    "rollout_slots",
    r"M_{\mathrm{slot}}",
    "request",
    "Requests that a replica decodes together at most.",
    positive(),
)
sig = variable(
    "started_share",
    r"\sigma_{\mathrm{start}}",
    "count",
    "Samples that decode when a rollout begins over those of a step.",
    positive(),
)
n_1 = variable(
    "rollout_batch", r"n_1", "request", "Requests that a replica decodes together when a rollout begins.", positive()
)
I_fu = variable(
    "full_steps", r"I_{\mathrm{full}}", "token", "Steps of a rollout in which requests wait for a slot.", nonnegative()
)
t_pr = variable(
    "prompts_time",
    r"t_{\mathrm{prompt}}",
    "s",
    "Prefill of the prompts of a replica.",
    nonnegative(),
    label="Prefill of prompts of a rollout",
)
n_k = family(
    "{}_requests",
    r"n_{\mathrm{R},{}}",
    "request",
    "Requests left of a replica: {} of those that start.",
    knot,
    positive(),
    label="Requests left of a replica: {}",
)
l_k = family(
    "{}_position",
    r"l_{\mathrm{R},{}}",
    "token",
    "Tokens after which {} of the requests are left.",
    knot,
    nonnegative(),
    label="Position at which there are left {}",
)
g_k = family(
    "{}_tokens",
    r"g_{\mathrm{R},{}}",
    "token",
    "Mean tokens of a response by the time {} of the requests are left.",
    knot,
    nonnegative(),
    label="Mean tokens by the time of {}",
)
h_k = family(
    "{}_squares",
    r"q_{\mathrm{R},{}}",
    "token**2",
    "Mean square of the tokens of a response by the time {} of the requests are left.",
    knot,
    nonnegative(),
    label="Mean square of tokens by the time of {}",
)
tau_k = family(
    "{}_empty_step",
    r"\tau_{\mathrm{R},{}}",
    "ms",
    "Step of an engine with {} of the requests and no cache.",
    knot,
    nonnegative(),
    label="Step without a cache of {}",
)
c_k = family(
    "{}_token_cost",
    r"c_{\mathrm{R},{}}",
    "ns/token",
    "Time that a cached token adds to a step with {} of the requests.",
    knot,
    nonnegative(),
    label="Step time for a cached token of {}",
)
b_k = family(
    "{}_request_cost",
    r"b_{\mathrm{R},{}}",
    "µs/request",
    "Time that a request adds to a step with {} of the requests.",
    knot,
    nonnegative(),
    label="Step time for a request of {}",
    over=DRAINED,
)
T_one = variable(
    "lone_time",
    r"T_{\mathrm{lone}}",
    "s",
    "Decoding of the last request of a rollout.",
    nonnegative(),
    label="Decoding of the last request",
)
T_k = family(
    "{}_drain_time",
    r"D_{\mathrm{R},{}}",
    "s",
    "Decoding from where {} of the requests are left to where the next part is.",
    knot,
    nonnegative(),
    label="Decoding from where there are left {}",
    over=DRAINED,
)
T_full = variable(
    "full_time",
    r"T_{\mathrm{wait}}",
    "s",
    "Decoding while requests wait for a slot.",
    nonnegative(),
    label="Decoding while requests wait",
)
n_rd = variable(
    "rollout_rounds", r"n_{\mathrm{rd}}", "count", "Rollouts of a step until enough groups are kept.", positive()
)
T_ro = variable("rollout_time", r"T_{\mathrm{roll}}", "s", "Rollout of a step.", nonnegative())
T_tail = variable(
    "rollout_tail_time",
    r"T_{\mathrm{tail}}",
    "s",
    "Part of a rollout in which less than a quarter of it decodes.",
    nonnegative(),
)
T_low = variable(
    "rollout_time_low",
    r"T_{\mathrm{low}}",
    "s",
    "Rollout of a step if the longest response is as expected.",
    nonnegative(),
)
P_pk = variable("packs", r"P_{\mathrm{pack}}", "count", "Packed sequences of a step.", nonnegative())
d_U = variable("update_dp_size", r"d_{\mathrm{U}}", "count", "Data-parallel ranks of the trainer.", integer(1))
g_U = variable(
    "update_sequences",
    r"g_{\mathrm{U}}",
    "count",
    "Packed sequences of a data-parallel rank in an optimizer step.",
    integer(1),
)
T_U = variable("update_step_time", r"T_{\mathrm{U}}", "s", "One optimizer step on packed samples.", nonnegative())
T_U1 = variable(
    "update_pass_time", r"T_{\mathrm{pass}}", "s", "Forward and backward pass of an optimizer step.", nonnegative()
)
f_pk = variable(
    "pack_fill", r"f_{\mathrm{pack}}", "count", "Tokens that are computed over those of full packs.", between(0, 1)
)
q_sc = variable(
    "scoring_passes",
    r"q_{\mathrm{sc}}",
    "count",
    "Forward passes for log-probabilities over a forward and a backward pass.",
    nonnegative(),
)
T_up = variable("update_time", r"T_{\mathrm{up}}", "s", "Updates of a step.", nonnegative())
T_lp = variable(
    "logprob_time",
    r"T_{\mathrm{lp}}",
    "s",
    "Log-probabilities of the samples of a step.",
    nonnegative(),
    label="Log-probability time",
)
W_syn = variable(
    "synced_weights", r"W_{\mathrm{sync}}", "GB", "Weights of one replica as they are sent.", nonnegative()
)
W_R = variable("engine_weights", r"W_{\mathrm{R}}", "GB", "Weights of one replica of the engine.", nonnegative())
T_syn = variable(
    "sync_time",
    r"T_{\mathrm{send}}",
    "s",
    "Weights on their way from the trainer to engines.",
    nonnegative(),
    label="Weight synchronization time",
)
h_ro = variable(
    "rollout_floor",
    r"h_{\mathrm{R}}",
    "s",
    "Part of a rollout that no accelerator more shortens: steps of an empty engine as long as the longest response.",
    nonnegative(),
)
A_ro = variable(
    "rollout_work",
    r"A_{\mathrm{R}}",
    "s",
    "Part of a rollout that accelerators share, times their number.",
    nonnegative(),
)
U_up = variable(
    "update_work",
    r"A_{\mathrm{U}}",
    "s",
    "Updates and log-probabilities, times the accelerators that train.",
    nonnegative(),
)
x_pip = variable(
    "trainer_unit", r"x_{\mathrm{pipe}}", "count", "Accelerators over which the trainer is laid out once.", integer(1)
)
x_gr = variable(
    "split_unit",
    r"x_{\mathrm{unit}}",
    "count",
    "Accelerators that may change pools: replicas, and pipelines.",
    integer(1),
)
x_half = variable(
    "half_split",
    r"x_{1/2}",
    "count",
    "Accelerators that roll out in the split that the best one is worked out from.",
    integer(1),
)
A_half = variable(
    "half_split_rollout_work",
    r"A_{1/2}",
    "s",
    "Part of a rollout that accelerators share, at half of them.",
    nonnegative(),
)
U_half = variable(
    "half_split_update_work",
    r"U_{1/2}",
    "s",
    "Updates and log-probabilities times accelerators, at half of them.",
    nonnegative(),
)
h_free = variable(
    "free_rollout_floor",
    r"h_{\mathrm{free}}",
    "s",
    "Part of a rollout that no accelerator more shortens, where none waits for a slot.",
    nonnegative(),
)
h_w = variable(
    "waiting_rollout_floor",
    r"h_{\mathrm{w}}",
    "s",
    "Part of a rollout that no accelerator more shortens, where requests wait for slots.",
    nonnegative(),
)
A_w = variable(
    "waiting_rollout_work",
    r"A_{\mathrm{w}}",
    "s",
    "Part of a rollout that accelerators share, times their number, where requests wait for slots.",
    nonnegative(),
)
x_sl = variable(
    "slotted_split",
    r"x_{\mathrm{slot}}",
    "count",
    "Accelerators that roll out, below which requests wait for slots.",
    nonnegative(),
)
x_free = variable(
    "unslotted_optimum",
    r"x_{\mathrm{free}}",
    "count",
    "Accelerators that would roll out in the best split of any share, were there slots for all.",
    nonnegative(),
)
x_opt = variable(
    "split_optimum", r"x_*", "count", "Accelerators that would roll out in the best split of any share.", nonnegative()
)
x_dn = variable(
    "split_below", r"x_{-}", "count", "Accelerators that roll out in the next split below the best one.", integer(1)
)
x_up = variable(
    "split_above", r"x_{+}", "count", "Accelerators that roll out in the next split above the best one.", integer(1)
)
x_best = variable(
    "best_rollout_accelerators",
    r"x_{\mathrm{best}}",
    "count",
    "Accelerators that roll out in the best split, of those that layouts allow.",
    integer(1),
)
I_R = variable(
    "rollout_idle_share",
    r"i_{\mathrm{R}}",
    "count",
    "Share of the time between synchronizations in which accelerators that roll out wait.",
    between(0, 1),
)
I_U = variable(
    "update_idle_share",
    r"i_{\mathrm{U}}",
    "count",
    "Share of the time between synchronizations in which accelerators that train wait.",
    between(0, 1),
)
T_both = variable(
    "overlapped_time",
    r"T_{\mathrm{both}}",
    "s",
    "Rollout, and updates and log-probabilities beside it.",
    nonnegative(),
)
R_sam = variable("samples_per_second", r"R_{\mathrm{sam}}", "request/s", "Samples of steps per second.", nonnegative())
n_stl = variable(
    "mean_staleness",
    r"\bar{n}_{\mathrm{st}}",
    "count",
    "Versions of the weights that a sample is behind when it is used, mean.",
    nonnegative(),
)
M_ro = variable(
    "rollout_memory", r"M_{\mathrm{R}}", "GB", "Memory of one accelerator while it rolls out.", nonnegative()
)
M_tr = variable("trainer_memory", r"M_{\mathrm{U}}", "GB", "Memory of one accelerator while it trains.", nonnegative())
W_tr = variable(
    "trainer_weights", r"W_{\mathrm{U}}", "GB", "Weights of the policy on one accelerator that trains.", nonnegative()
)
G_tr = variable(
    "trainer_gradients",
    r"G_{\mathrm{U}}",
    "GB",
    "Gradients of the policy on one accelerator that trains.",
    nonnegative(),
)
O_tr = variable(
    "trainer_optimizer_state",
    r"O_{\mathrm{U}}",
    "GB",
    "Optimizer state of the policy on one accelerator that trains.",
    nonnegative(),
)
M_res = variable(
    "kept_trainer_memory",
    r"M_{\mathrm{stay}}",
    "GB",
    "Memory that the trainer keeps while the same accelerator rolls out.",
    nonnegative(),
    label="Memory of training in a rollout",
)
M_roo = variable(
    "rollout_room",
    r"M_{\mathrm{R,max}}",
    "GB",
    "Memory of one accelerator that a rollout may take.",
    nonnegative(),
)
M_too = variable(
    "trainer_room",
    r"M_{\mathrm{U,max}}",
    "GB",
    "Memory of one accelerator that training may take.",
    nonnegative(),
)
n_roo = variable(
    "rollout_cache_tokens",
    r"n_{\mathrm{R,KV}}",
    "token",
    "Tokens that the caches of one replica have room for.",
    nonnegative(),
)
M_host = variable(
    "host_memory",
    r"M_{\mathrm{off}}",
    "GB",
    "Memory of the host of one node that weights and states take.",
    nonnegative(),
)
phase_bottleneck = variable(
    "phase_bottleneck",
    r"\mathrm{phase}",
    "",
    "The longest phase of the step; Longest response where most of a rollout waits for it, or the memory that a phase "
    "lacks.",
    choice("Rollout memory", "Update memory", "Longest response", "Rollout", "Update", "Sync"),
)
u_R = variable(
    "rollout_busy_share",
    r"u_{\mathrm{R}}",
    "count",
    "Share of a rollout in which an accelerator runs kernels.",
    between(0, 1),
    label="Busy share of a rollout",
)
u_U = variable(
    "update_busy_share",
    r"u_{\mathrm{U}}",
    "count",
    "Share of an update in which an accelerator runs kernels.",
    between(0, 1),
    label="Busy share of an update",
)
Phi_ro = variable(
    "rollout_flops", r"\Phi_{\mathrm{ro}}", "PFLOP", "Arithmetic of the rollouts of a step.", nonnegative()
)
Phi_up = variable(
    "update_flops",
    r"\Phi_{\mathrm{up}}",
    "PFLOP",
    "Arithmetic of the updates and log-probabilities of a step, recomputation included.",
    nonnegative(),
)
