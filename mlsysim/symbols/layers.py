"""Symbols of the layers of the slowest pipeline stage, and of the host that launches them."""

from mlsysim.symbolic import at_least, between, choice, flag, integer, nonnegative, positive, variable

N_COUNT, MS = "count", "ms"

split = variable(
    "pipeline_split",
    r"\mathrm{split}",
    "",
    "Layers by stage: fewer on the last one, which has the head, or as many on each; auto is even if layers are a "
    "multiple of the stages.",
    choice("balanced", "even", "auto"),
)
H_head = variable(
    "head_layers", r"H", N_COUNT, "Layers that are as much arithmetic as the head and its loss.", positive()
)
n_full = variable(
    "full_stage_layers",
    r"n_{\mathrm{full}}",
    N_COUNT,
    "Layers of a stage where none is fuller.",
    integer(1),
    label="Layers of the fullest stage",
)
n_left = variable(
    "fewest_last_layers",
    r"n_{\mathrm{left}}",
    N_COUNT,
    "Layers left for the last stage where the others do no more than it does.",
    nonnegative(),
)
ell_last = variable("last_stage_layers", r"\ell_{\mathrm{last}}", N_COUNT, "Layers of the last stage.", nonnegative())
ell_rest = variable(
    "other_stage_layers", r"\ell_{\mathrm{rest}}", N_COUNT, "Layers of the fullest of the other stages.", nonnegative()
)
on_last = variable(
    "last_stage_is_slowest", r"\beta_{\mathrm{last}}", N_COUNT, "True if the last stage is the slowest.", flag()
)
ell_s = variable(
    "slowest_stage_layers", r"\ell_{\mathrm{s}}", N_COUNT, "Layers of the stage with the most to do.", nonnegative()
)
ell_s_moe = variable(
    "slowest_stage_moe_layers",
    r"\ell_{\mathrm{s,moe}}",
    N_COUNT,
    "Layers with experts on that stage, at most.",
    nonnegative(),
)
ell_sum = variable(
    "slowest_stage_summing_layers",
    r"\ell_{\mathrm{sum}}",
    N_COUNT,
    "Layers of that stage whose tensor-parallel ranks sum hidden states behind both blocks; behind one counts half.",
    nonnegative(),
)

tau_h = variable(
    "host_operation_time",
    r"\tau_{\mathrm{h}}",
    "µs",
    "Time the host takes to launch one operation of a training step.",
    nonnegative(),
)
K_0 = variable(
    "layer_operations",
    "K_0",
    N_COUNT,
    "Operations the host launches for a layer without experts, forward and backward.",
    nonnegative(),
)
K_m = variable(
    "moe_layer_operations",
    r"K_{\mathrm{m}}",
    N_COUNT,
    "Further operations that the host launches for an MoE layer, forward and backward.",
    nonnegative(),
)
K_aa = variable(
    "all_to_all_operations",
    r"K_{\mathrm{aa}}",
    N_COUNT,
    "Further operations of such a layer without a dispatch kernel of its own.",
    nonnegative(),
)
dispatcher = variable(
    "dispatcher",
    r"\mathrm{dispatch}",
    "",
    "Launches of an expert dispatch: one kernel that permutes and sends (DeepEP, HybridEP), or an all-to-all among "
    "operations that sort and count tokens; token_dispatcher sets what its buffers hold.",
    choice("fused", "all_to_all"),
)
K_e = variable(
    "expert_operations",
    r"K_{\mathrm{e}}",
    N_COUNT,
    "Operations the host launches for one expert of a rank, forward and backward.",
    nonnegative(),
)
grouped = variable(
    "grouped_experts",
    r"\beta_{\mathrm{grp}}",
    N_COUNT,
    "True if one kernel computes all experts of a rank, in one launch.",
    flag(),
)
g_c = variable(
    "captured_share",
    r"g_{\mathrm{c}}",
    N_COUNT,
    "Share of non-expert operations that CUDA graphs launch.",
    between(0, 1),
)
t_host = variable(
    "layer_launch_time",
    r"t_{\mathrm{launch}}",
    MS,
    "Time of the host to launch one layer for one micro-batch, both ways.",
    nonnegative(),
)
t_stage_host = variable(
    "micro_batch_launch_time",
    r"t_{\mathrm{launch,s}}",
    MS,
    "Time of the host to launch one micro-batch on the stage with the most layers, both ways.",
    nonnegative(),
)
t_dev = variable(
    "layer_time",
    r"t_{\mathrm{lay}}",
    MS,
    "Time of the device for the layers of one micro-batch on one stage, both ways.",
    nonnegative(),
)
t_head = variable(
    "loss_time",
    r"t_{\mathrm{loss}}",
    MS,
    "Head and loss of one micro-batch, both ways; 0 where another stage is slower.",
    nonnegative(),
)
t_wait = variable(
    "micro_batch_wait_time",
    r"t_{\mathrm{wait}}",
    MS,
    "Time of one micro-batch in which the device waits for launches.",
    nonnegative(),
)
T_host = variable(
    "host_wait_time", r"T_{\mathrm{host}}", MS, "Time of a step in which the device waits for launches.", nonnegative()
)
T_stage = variable(
    "stage_time", r"T_{\mathrm{stage}}", MS, "All micro-batches of a step through the slowest stage.", nonnegative()
)

phi_fill = variable(
    "fill_share",
    r"\phi_{\mathrm{fill}}",
    N_COUNT,
    "Share of a micro-batch's time that each further stage waits until all are filled and drained.",
    nonnegative(),
)

eta_8 = variable(
    "eight_bit_efficiency",
    r"\eta_8",
    N_COUNT,
    "Share of the peak that products reach at 8 and 4 bit over that at 16 bit.",
    between(0, 1, open_lower=True),
)
e_step = variable(
    "step_flop_energy",
    r"e_{\mathrm{step}}",
    "pJ/FLOP",
    "Energy of a 16-bit operation in a long run, which lowers the rate of products at the board's power limit; 0 if "
    "the efficiency includes it.",
    nonnegative(),
)
eta_p = variable(
    "product_efficiency",
    r"\eta_{\mathrm{p}}",
    N_COUNT,
    "Share of the 16-bit peak that products reach in a step.",
    between(0, 1, open_lower=True),
)
eta_r = variable(
    "expert_product_ratio",
    r"\eta_{\mathrm{e/d}}",
    N_COUNT,
    "Rate of the products of routed experts over that of dense ones, in training; expert_efficiency is their share of "
    "the peak in serving.",
    between(0, 1, open_lower=True),
)
phi_two = variable(
    "two_batch_hidden_share",
    r"\phi_{\mathrm{two}}",
    N_COUNT,
    "Share of the exchanges that another micro-batch hides at most.",
    between(0, 1),
)
phi_ep = variable(
    "ep_overlap",
    r"\phi_{\mathrm{ep}}",
    N_COUNT,
    "Share of an MoE layer's compute with which its own exchanges may overlap, in each pass.",
    between(0, 1),
)
two = variable(
    "two_batch_overlap",
    r"\beta_{\mathrm{two}}",
    N_COUNT,
    "True if one micro-batch computes while another exchanges expert tokens. In training one goes forward and the "
    "other backward (Megatron's overlap_moe_expert_parallel_comm, DualPipe); ep_overlap is then not used, and a step "
    "may be slower than with a high ep_overlap, because the first and the last micro-batch hide nothing. In serving "
    "each half of the requests is a micro-batch, and weights are read twice.",
    flag(),
)
s_fwd = variable(
    "forward_share", r"s_{\mathrm{fwd}}", N_COUNT, "Share of a layer's computing that is one forward pass.",
    between(0, 0.5),
)  # fmt: skip
s_bwd = variable(
    "backward_share",
    r"s_{\mathrm{bwd}}",
    N_COUNT,
    "Share of a layer's computing that is its backward pass, without a forward pass that is repeated.",
    between(0, 1),
)
t_exp = variable(
    "expert_time",
    r"t_{\mathrm{exp,hot}}",
    MS,
    "Products of the routed experts of one layer for one micro-batch, both ways, on the hot rank.",
    nonnegative(),
)
t_rest = variable(
    "rest_time",
    r"t_{\mathrm{rest}}",
    MS,
    "Everything else that a layer computes for one micro-batch, both ways: a mean over the layers of a stage.",
    nonnegative(),
)
x_fwd = variable(
    "forward_exposed_exchange",
    r"t_{\mathrm{x,fwd}}",
    MS,
    "Exposed exchange time of one micro-batch's forward pass through an MoE layer.",
    nonnegative(),
)
x_bwd = variable(
    "backward_exposed_exchange",
    r"t_{\mathrm{x,bwd}}",
    MS,
    "Exposed exchange time of one micro-batch's backward pass through an MoE layer.",
    nonnegative(),
)
T_fill = variable(
    "exchange_fill_time",
    r"T_{\mathrm{x,fill}}",
    MS,
    "Exchanges that nothing hides, because the first and the last micro-batch of a step have none beside them.",
    nonnegative(),
)
t_host_d = variable(
    "besides_launch_time",
    r"t_{\mathrm{launch,d}}",
    MS,
    "Time of the host to launch what a layer has beside its experts for one micro-batch, both ways.",
    nonnegative(),
)
t_host_e = variable(
    "expert_launch_time",
    r"t_{\mathrm{launch,e}}",
    MS,
    "Time of the host to launch the experts of one layer for one micro-batch, both ways.",
    nonnegative(),
)
s_ep = variable(
    "exchange_multiprocessor_share",
    r"s_{\mathrm{ep}}",
    N_COUNT,
    "Share of the multiprocessors that exchanges of experts keep while the others compute.",
    between(0, 0.9),
)
kappa = variable(
    "computing_share",
    r"\kappa_{\mathrm{sm}}",
    N_COUNT,
    "Share of the multiprocessors that computes layers.",
    between(0, 1, open_lower=True),
)
F_lin = variable("product_rate", r"F_{\mathrm{lin}}", "TFLOP/s", "Rate of products in layers.", positive())
m_e = variable(
    "rows_per_expert",
    r"m_{\mathrm{e}}",
    "token",
    "Tokens that one expert of the hot rank gets for one micro-batch.",
    nonnegative(),
)
r_e = variable(
    "expert_product_factor",
    r"r_{\mathrm{e}}",
    N_COUNT,
    "Time of the products of a routed expert over that of their arithmetic alone.",
    at_least(1.0),
)
F_wide = variable(
    "wide_rate",
    r"F_{\mathrm{wide}}",
    "TFLOP/s",
    "Rate of products at 16 bit: the head, and what attention is measured by.",
    positive(),
)
x_cast = variable(
    "cast_traffic",
    r"x_{\mathrm{cast}}",
    "byte/token",
    "Memory traffic to cast the operands of one layer's products to 8 bit, both ways.",
    nonnegative(),
)
w_in = variable(
    "product_widths",
    r"w_{\mathrm{cast}}",
    N_COUNT,
    "Widths of inputs and outputs of the products of one layer on the hot rank, each token's experts among them.",
    nonnegative(),
)
R_tok = variable(
    "adapted_edges",
    r"R_{\mathrm{tok}}",
    N_COUNT,
    "Rows and columns of the adapters that a token passes through in one layer on one rank, added up.",
    nonnegative(),
)
w_ad = variable(
    "adapter_flops", r"w_{\mathrm{ad}}", "FLOP/token", "Forward arithmetic of adapters, all layers.", nonnegative()
)
x_inp = variable(
    "adapter_traffic",
    r"x_{\mathrm{ad}}",
    "byte/token",
    "Memory traffic of the adapters of one layer, forward.",
    nonnegative(),
)
V_wide = variable(
    "widening_traffic",
    r"V_{\mathrm{wide}}",
    "GB",
    "Memory traffic to widen quantised weights for their products, one micro-batch.",
    nonnegative(),
)
P_mean = variable(
    "mean_layer_parameters",
    r"\bar P_{\ell}",
    N_COUNT,
    "Parameters of one layer on one rank, in the mean over all layers.",
    nonnegative(),
)
K_mean = variable(
    "mean_adapted_products",
    r"\bar K_{\ell}",
    N_COUNT,
    "Products of one layer that have adapters, those of experts left out, in the mean over all layers.",
    nonnegative(),
)
