"""Symbols of the time of one distributed training step."""

from mlsysim.symbolic import at_least, between, choice, nonnegative, positive, variable
from mlsysim.symbols.workload import s

N_COUNT, MS = "count", "ms"

attention_mask = variable(
    "attention_mask",
    r"\mathrm{mask}",
    "",
    "Scores that attention computes: those of earlier tokens (causal), or all (full).",
    choice("causal", "full"),
)
flop_convention = variable(
    "flop_convention",
    r"\mathrm{FLOPs}",
    "",
    "Convention of model FLOPs: every product once, six per parameter with attention over the full square, or six per "
    "parameter alone.",
    choice("counted", "palm", "six_n"),
)
f_mask = variable(
    "scores_share",
    r"f_{\mathrm{mask}}",
    N_COUNT,
    "Share of the scores that attention computes.",
    between(0, 1, open_lower=True),
)
w_rt = variable(
    "routed_flops",
    r"w_{\mathrm{rtd}}",
    "FLOP/token",
    "Forward arithmetic of the products with routed experts, all layers.",
    nonnegative(),
)
w_lin = variable(
    "product_flops",
    r"w_{\mathrm{lin}}",
    "FLOP/token",
    "Forward arithmetic of the products with weights, all layers.",
    nonnegative(),
    not_below=w_rt,
)
w_hot = variable(
    "hot_product_flops",
    r"w_{\mathrm{hot}}",
    "FLOP/token",
    "The same where the hottest experts are, with what tensor-parallel ranks repeat and what small products cost.",
    nonnegative(),
)
w_redo = variable(
    "recomputed_flops",
    r"w_{\mathrm{redo}}",
    "FLOP/token",
    "Arithmetic of the up-projections that are recomputed, per token.",
    nonnegative(),
)
s_reach = variable(
    "window_reach",
    r"\hat{s}_{\mathrm{w}}",
    "token",
    "Tokens of a sequence in reach of a sliding-window layer.",
    positive(),
    not_above=s,
)
s_doc = variable(
    "document_len",
    r"s_{\mathrm{doc}}",
    "token",
    "Mean document length seen by a token of a packed sequence; 0 if a sequence is one document.",
    nonnegative(),
    label="Document length",
)
s_att = variable(
    "attended_len",
    r"\hat{s}_{\mathrm{att}}",
    "token",
    "Tokens that attention is computed over: those of a sequence, or of the documents that are packed into it.",
    positive(),
    label="Attended length",
)
w_attn = variable(
    "score_flops", r"w_{\mathrm{attn}}", "FLOP/token", "Forward arithmetic of the core of attention, all layers.",
    nonnegative(),
)  # fmt: skip
w_head = variable("logit_flops", r"w_{\mathrm{head}}", "FLOP/token", "Forward arithmetic of the logits.", positive())
rho_lin = variable(
    "recomputed_products", r"\rho_{\mathrm{lin}}", N_COUNT, "Share of the products that is recomputed.", between(0, 1)
)
rho_attn = variable(
    "recomputed_attention",
    r"\rho_{\mathrm{attn}}",
    N_COUNT,
    "True if the core of attention is recomputed.",
    between(0, 1),
)
rho_el = variable(
    "recomputed_elementwise",
    r"\rho_{\mathrm{el}}",
    N_COUNT,
    "True if norms, activations and residuals are recomputed.",
    between(0, 1),
)
Phi = variable("model_flops", r"\Phi", "PFLOP", "Arithmetic of one step by the convention, all ranks.", positive())
Phi_hw = variable(
    "hardware_flops",
    r"\Phi_{\mathrm{hw}}",
    "PFLOP",
    "Arithmetic of one step that is carried out, recomputation included, all ranks.",
    positive(),
)

eta_attn = variable(
    "attention_efficiency",
    r"\eta_{\mathrm{attn}}",
    N_COUNT,
    "Rate of the attention kernel over that of the products.",
    between(0, 1, open_lower=True),
)
flash_kernel = variable(
    "flash_kernel",
    r"\mathrm{flash}",
    "",
    "Kernel that a software means by attention_kernel=flash.",
    choice("cudnn", "fa2", "fa3", "fa4", "triton"),
)
x_a = variable(
    "attention_kernel_share",
    r"x_{\mathrm{ker}}",
    N_COUNT,
    "Rate of attention's core in a step relative to its kernel alone; 0 if attention_efficiency includes it.",
    nonnegative(),
)
eta_el = variable(
    "elementwise_efficiency",
    r"\eta_{\mathrm{el}}",
    N_COUNT,
    "Share of the memory bandwidth that element-wise code of a training step reaches; by default memory_efficiency.",
    between(0, 1, open_lower=True),
)
eta_mem = variable(
    "memory_efficiency",
    r"\eta_B",
    N_COUNT,
    "Share of the memory bandwidth that long reads and writes reach.",
    between(0, 1, open_lower=True),
)
eta_link = variable(
    "link_efficiency",
    r"\eta_{\beta}",
    N_COUNT,
    "Share of a link's bandwidth that a collective reaches.",
    between(0, 1, open_lower=True),
)
congestion = variable(
    "congestion_factor", r"\kappa_{\mathrm{c}}", N_COUNT, "Factor on traffic over the fabric; 1 without.", at_least(1.0)
)
straggler = variable(
    "straggler_factor", r"\kappa_{\mathrm{s}}", N_COUNT, "Step of the slowest rank over that of the mean.",
    at_least(1.0),
)  # fmt: skip
kappa_step = variable(
    "slowest_factor",
    r"\kappa_{\mathrm{step}}",
    N_COUNT,
    "Step over that of the mean rank, with what several slices cost.",
    at_least(1.0),
)
phi_dp = variable(
    "dp_overlap",
    r"\phi_{\mathrm{dp}}",
    N_COUNT,
    "Share of compute with which data-parallel traffic may overlap.",
    between(0, 1),
)
chi = variable(
    "hidden_traffic_cost",
    r"\chi_{\mathrm{dp}}",
    N_COUNT,
    "Slowdown of computing by hidden traffic of weights, over the time of that traffic (from ZeRO-2).",
    between(0, 1),
)
c_slice = variable(
    "slice_cost",
    r"c_{\mathrm{slice}}",
    N_COUNT,
    "Increase of a step for each doubling of slices, which are nodes: 0.032 is 3.2%.",
    nonnegative(),
)
phi_tp = variable(
    "tp_overlap", r"\phi_{\mathrm{tp}}", N_COUNT, "Share of tensor-parallel traffic hidden by computing.",
    between(0, 1),
)  # fmt: skip
phi_cp = variable(
    "cp_overlap",
    r"\phi_{\mathrm{cp}}",
    N_COUNT,
    "Share of attention with which context-parallel traffic may overlap.",
    between(0, 1),
)

v_h = variable(
    "width_vectors",
    r"v_{\mathrm{h}}",
    N_COUNT,
    "Vectors of the width that norms, residual sums and rotations of a layer move per token.",
    positive(),
)
v_ff = variable(
    "inner_vectors",
    r"v_{\mathrm{ff}}",
    N_COUNT,
    "Vectors of the inner width that the activation of a feed-forward block moves per token.",
    nonnegative(),
)
d_in = variable(
    "inner_width",
    r"d_{\mathrm{in}}",
    N_COUNT,
    "Inner width that one token passes through, in the widest kind of layer.",
    nonnegative(),
)
x_el = variable(
    "elementwise_traffic",
    r"x_{\mathrm{el}}",
    "byte/token",
    "Memory traffic of the element-wise work of one layer, forward.",
    positive(),
)
x_el_redo = variable(
    "recomputed_traffic",
    r"x_{\mathrm{el,redo}}",
    "byte/token",
    "Memory traffic of the norms and activation functions of one layer that are recomputed.",
    nonnegative(),
)
q_red = variable("reduced_bytes", r"q_{\mathrm{red}}", "byte", "Bytes of a gradient on the wire.", positive())
t_lin = variable("product_time", r"t_{\mathrm{lin}}", MS, "Products with weights, one micro-batch.", nonnegative())
t_attn = variable("score_time", r"t_{\mathrm{attn}}", MS, "Core of attention, one micro-batch.", nonnegative())
t_el = variable(
    "elementwise_time", r"t_{\mathrm{el}}", MS, "Everything bound by memory, one micro-batch.", nonnegative()
)
n_sc = variable(
    "scores_per_token",
    r"n_{\mathrm{sc}}",
    "1/token",
    "Scores that attention computes of a token: heads of all layers, times the tokens that it sees.",
    nonnegative(),
)
eta_f = variable(
    "forward_core_share",
    r"\eta_{\mathrm{f}}",
    N_COUNT,
    "Share of the 16-bit peak that the products of an attention kernel reach forward, beside its exponentials.",
    between(0, 1, open_lower=True),
)
eta_b = variable(
    "backward_core_share",
    r"\eta_{\mathrm{b}}",
    N_COUNT,
    "The same of its backward pass.",
    between(0, 1, open_lower=True),
)
n_f = variable(
    "forward_exponentials",
    r"n_{\exp,\mathrm{f}}",
    N_COUNT,
    "Exponentials that take as long as what an attention kernel does forward for a score beside products.",
    positive(),
)
n_b = variable(
    "backward_exponentials",
    r"n_{\exp,\mathrm{b}}",
    N_COUNT,
    "The same of its backward pass.",
    positive(),
)
r_s = variable(
    "short_sequence_factor",
    r"r_{\mathrm{s}}",
    N_COUNT,
    "Time of an attention kernel over that of long sequences.",
    at_least(1.0),
)
tau_f = variable(
    "forward_core_time",
    r"\tau_{\mathrm{core,f}}",
    "µs/token",
    "Core attention of a token forward, all layers on one rank; 0 where exponentials are not known.",
    nonnegative(),
)
tau_b = variable(
    "backward_core_time",
    r"\tau_{\mathrm{core,b}}",
    "µs/token",
    "The same of its backward pass.",
    nonnegative(),
)
t_comp = variable(
    "micro_batch_compute_time", r"t_{\mathrm{comp}}", MS, "Computing of one micro-batch, both ways.", nonnegative()
)
t_free = variable(
    "free_link_time",
    r"t_{\mathrm{free}}",
    MS,
    "Time of one micro-batch in which links carry nothing else, so that traffic of weights may run.",
    nonnegative(),
)
t_fwd = variable(
    "forward_free_time", r"t_{\mathrm{fwd}}", MS, "Part of it in the forward pass.", nonnegative(), not_above=t_free
)
t_bwd = variable(
    "backward_free_time",
    r"t_{\mathrm{bwd}}",
    MS,
    "Part of it in the backward pass, with recomputation.",
    nonnegative(),
)
t_tp = variable(
    "tp_exposed_time", r"t_{\mathrm{tp}}", MS, "Tensor-parallel traffic left exposed, one micro-batch.", nonnegative()
)
t_ep = variable(
    "ep_exposed_time", r"t_{\mathrm{ep}}", MS, "Expert-parallel exchanges left exposed, one micro-batch.", nonnegative()
)
t_ring = variable(
    "cp_traffic_time", r"t_{\mathrm{ring}}", MS, "Keys and values around the ring, one micro-batch.", nonnegative()
)
t_cp = variable(
    "cp_exposed_time", r"t_{\mathrm{cp}}", MS, "Context-parallel traffic left exposed, one micro-batch.", nonnegative()
)
t_mb = variable(
    "micro_batch_time", r"t_{\mathrm{mb}}", MS, "One micro-batch through one stage, both ways.", nonnegative()
)
t_rs = variable(
    "gradient_reduction_time", r"t_{\mathrm{rs}}", MS, "One reduce-scatter of all gradients of a rank.", nonnegative()
)
t_ar = variable(
    "gradient_all_reduce_time", r"t_{\mathrm{ar,g}}", MS, "One all-reduce of all gradients of a rank.", nonnegative()
)
t_ag = variable(
    "weight_gather_time",
    r"t_{\mathrm{ag}}",
    MS,
    "One all-gather of the weights of a rank; before ZeRO-3 of those that an update changed.",
    nonnegative(),
)
t_rs_x = variable(
    "exposed_reduction_time",
    r"t_{\mathrm{rs,x}}",
    MS,
    "Exposed time if all gradients are reduced beside a backward pass.",
    nonnegative(),
)
t_ag_x = variable(
    "exposed_gather_time",
    r"t_{\mathrm{ag,x}}",
    MS,
    "Exposed time if all weights are gathered beside a forward pass.",
    nonnegative(),
)
t_hide = variable(
    "layer_hiding_time",
    r"t_{\mathrm{hide}}",
    MS,
    "Time of one layer's backward pass beside which traffic may run.",
    nonnegative(),
)
t_edge_x = variable(
    "exposed_edge_traffic",
    r"t_{\mathrm{edge,x}}",
    MS,
    "Exposed time of a layer's gathering and reduction beside one layer only.",
    nonnegative(),
)
t_both_x = variable(
    "exposed_backward_traffic",
    r"t_{\mathrm{both,x}}",
    MS,
    "Exposed time if weights are gathered and gradients reduced beside a backward pass.",
    nonnegative(),
)
t_send = variable("send_time", r"t_{\mathrm{send}}", MS, "Hidden states from one stage to the next.", nonnegative())

T_lin = variable("step_product_time", r"T_{\mathrm{lin}}", MS, "Products with weights in a step.", nonnegative())
T_attn = variable("step_score_time", r"T_{\mathrm{attn}}", MS, "Core of attention in a step.", nonnegative())
T_el = variable("step_elementwise_time", r"T_{\mathrm{el}}", MS, "Everything bound by memory in a step.", nonnegative())
T_head = variable(
    "step_loss_time",
    r"T_{\mathrm{loss}}",
    MS,
    "Head and loss in a step; 0 where another stage is slower.",
    nonnegative(),
)
T_comp = variable("compute_time", r"T_{\mathrm{comp}}", MS, "Computing of one step on one rank.", nonnegative())
T_mean = variable(
    "mean_compute_time", r"\bar{T}_{\mathrm{comp}}", MS, "Computing of one step on the mean rank.", nonnegative()
)
T_tp = variable("tp_time", r"T_{\mathrm{tp}}", MS, "Tensor-parallel traffic left exposed in a step.", nonnegative())
T_ep = variable("ep_time", r"T_{\mathrm{ep}}", MS, "Expert-parallel exchanges left exposed in a step.", nonnegative())
T_cp = variable("cp_time", r"T_{\mathrm{cp}}", MS, "Context-parallel traffic left exposed in a step.", nonnegative())
t_slow = variable(
    "stage_wait_time",
    r"t_{\mathrm{slow}}",
    MS,
    "Time of one micro-batch in which the last stage waits for one with more layers.",
    nonnegative(),
)
T_bub = variable(
    "bubble_time", r"T_{\mathrm{bub}}", MS, "Time of a step in which a stage waits for the others.", nonnegative()
)
T_pp = variable("pp_time", r"T_{\mathrm{pp}}", MS, "Sends between stages left exposed in a step.", nonnegative())
V_dp = variable(
    "dp_traffic_bytes",
    r"V_{\mathrm{dp,all}}",
    "GB",
    "Data-parallel traffic that one rank sends in a step.",
    nonnegative(),
)
T_dpt = variable(
    "dp_traffic_time", r"T_{\mathrm{dp,all}}", MS, "Data-parallel traffic of a step, hidden or not.", nonnegative()
)
T_dp = variable(
    "dp_time", r"T_{\mathrm{dp}}", MS, "Data-parallel traffic left exposed in a step, and what the rest costs.",
    nonnegative(),
)  # fmt: skip
T_opt = variable(
    "optimizer_time", r"T_{\mathrm{opt}}", MS, "Update of weights and optimizer state in a step.", nonnegative()
)
T_slow = variable(
    "straggler_time", r"T_{\mathrm{slow}}", MS, "Time of a step in which all wait for the slowest rank.", nonnegative()
)
T_step = variable("step_time", r"T", "s", "One training step.", nonnegative())
bubble = variable(
    "bubble_fraction", r"f_{\mathrm{bub}}", N_COUNT, "Share of the pipelined time in which a stage waits.",
    between(0, 1),
)  # fmt: skip

R_tok = variable("tokens_per_second", r"R", "token/s", "Tokens trained on, or generated, per second.", nonnegative())
R_dev = variable(
    "tokens_per_second_per_accelerator", r"R_1", "token/s", "Tokens per second and accelerator.", nonnegative()
)
mfu = variable("mfu", r"\mathrm{MFU}", N_COUNT, "Model FLOPs over those the fleet could do in the time.", positive())
hfu = variable("hfu", r"\mathrm{HFU}", N_COUNT, "Executed FLOPs over those the fleet could do in the time.", positive())
scaling = variable(
    "scaling_efficiency",
    r"\varepsilon",
    N_COUNT,
    "Step without traffic, bubble and stragglers over the step as it is.",
    nonnegative(),
)
T_max = variable("longest_part_time", r"T_{\max}", MS, "The longest part of the step.", nonnegative())
step_bottleneck = variable(
    "step_bottleneck",
    r"\mathrm{binds}",
    "",
    "The longest part of the step; Memory where it does not fit.",
    choice(
        "Memory", "Arithmetic", "Host", "Memory bandwidth", "Tensor parallel", "Expert parallel", "Context parallel",
        "Pipeline", "Data parallel", "Optimizer", "Token counts", "Allocator",
    ),
)  # fmt: skip
n_train = variable("training_tokens", r"n_{\mathrm{train}}", "token", "Tokens of the whole training run.", positive())
T_train = variable(
    "training_time", r"T_{\mathrm{train}}", "day", "Time to train on all tokens, without failures.", positive()
)
n_steps = variable("training_steps", r"n_{\mathrm{steps}}", N_COUNT, "Steps of the whole training run.", positive())
