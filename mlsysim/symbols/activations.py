"""Symbols of what a layer keeps for its backward pass, operator by operator."""

from mlsysim.symbolic import choice, flag, integer, nonnegative, positive, variable

sequence_parallel = variable(
    "sequence_parallel",
    r"\beta_{\mathrm{sp}}",
    "count",
    "Whether tensor-parallel ranks also split norms, residuals and dropout along the sequence.",
    flag(),
)
schedule = variable(
    "pipeline_schedule",
    r"\mathrm{schedule}",
    "",
    "Order of a stage: one forward, one backward in turn; all forwards before all backwards; in turn with gradients "
    "of weights put off to where a stage would wait; or from both ends at once, every rank with two stages.",
    choice("1f1b", "gpipe", "zb1p", "dualpipe"),
)
n_s = variable(
    "stages_per_rank", r"n_{\mathrm{s}}", "count", "Pipeline stages whose weights a rank holds.", integer(1, 2)
)
v_chunks = variable("interleaved_stages", "v", "count", "Model chunks per pipeline stage; 1 is plain 1F1B.", integer(1))
attention_kernel = variable(
    "attention_kernel",
    r"\mathrm{attention}",
    "",
    "How attention is computed: flash recomputes the score matrix, eager keeps it.",
    choice("flash", "eager"),
)
elementwise_kernels = variable(
    "elementwise_kernels",
    r"\mathrm{elementwise}",
    "",
    "How norms and gates are computed: fused keeps their inputs alone, eager every intermediate.",
    choice("fused", "eager"),
)
selective_policy = variable(
    "selective_policy",
    r"\mathrm{selective}",
    "",
    "What selective checkpointing recomputes: the core of attention, or all but every second matrix product.",
    choice("core_attention", "alternate_matmuls"),
)
q_ff = variable(
    "inner_bytes",
    r"q_{\mathrm{ff}}",
    "byte",
    "Bytes that a feed-forward block keeps per unit of its inner width.",
    nonnegative(),
)
r_norm = variable(
    "recompute_layernorm",
    r"\rho_{\mathrm{norm}}",
    "count",
    "Whether norms are recomputed in the backward pass.",
    flag(),
)
r_up = variable(
    "recompute_mla_up_proj",
    r"\rho_{\mathrm{up}}",
    "count",
    "Whether the up-projections of latent attention are recomputed in the backward pass.",
    flag(),
)
r_act = variable(
    "recompute_activation_func",
    r"\rho_{\mathrm{act}}",
    "count",
    "Whether what stands between the products of a feed-forward block, an expert's too, is recomputed in the backward "
    "pass.",
    flag(),
)
x_redo = variable(
    "recomputed_activation",
    r"x_{\mathrm{redo}}",
    "byte/token",
    "What a layer does not keep because norms and up-projections are recomputed.",
)
x_beside = variable(
    "kept_beside_ffn",
    r"x_{\mathrm{beside}}",
    "byte/token",
    "Kept by a layer beside its feed-forward block and the core of attention.",
    nonnegative(),
)
n_end = variable(
    "end_layers",
    r"n_{\mathrm{end}}",
    "count",
    "Layers of the first and the last stage together, where one rank holds both.",
    integer(0),
)
P_end = variable(
    "end_parameters",
    r"P_{\mathrm{end}}",
    "count",
    "Parameters on that rank that are not experts.",
    nonnegative(),
)
P_end_s = variable(
    "end_expert_parameters",
    r"P_{\mathrm{end,s}}",
    "count",
    "Expert parameters on that rank.",
    nonnegative(),
)
A_end = variable(
    "end_activations",
    r"A_{\mathrm{end}}",
    "GB",
    "Activations that the rank with the first and the last stage keeps.",
    nonnegative(),
)
M_end = variable(
    "end_memory",
    r"M_{\mathrm{end}}",
    "GB",
    "Memory of the rank that holds the first and the last stage, embedding and head; 0 where none holds both.",
    nonnegative(),
)
mask = variable(
    "dropout_mask_bytes",
    r"q_{\mathrm{mask}}",
    "byte",
    "Bytes per element of a dropout mask; 0 without dropout, 1 for a boolean mask.",
    nonnegative(),
)
sigma = variable("sequence_shards", r"\sigma", "count", "Ranks that share norms, residuals and dropout.", integer(1))
sigma_e = variable(
    "expert_sequence_shards",
    r"\sigma_{\mathrm{e}}",
    "count",
    "Ranks of a tensor-parallel group that bring tokens of their own to their experts.",
    positive(),
)
q_copy = variable(
    "norm_copy_bytes",
    r"q_{\mathrm{copy}}",
    "byte",
    "Bytes per element an eager norm keeps beside input and output.",
    nonnegative(),
)
n_ffn = variable(
    "ffn_tensors",
    r"n_{\mathrm{ff}}",
    "count",
    "Tensors of the inner width that a feed-forward block keeps.",
    integer(2),
)
x_norm = variable(
    "norm_activation", r"x_{\mathrm{norm}}", "byte/token", "Kept by one norm and the products that read it.", positive()
)
x_attn = variable(
    "attention_activation",
    r"x_{\mathrm{attn}}",
    "byte/token",
    "Kept by attention outside its core: queries, keys, values, output.",
    nonnegative(),
)
x_core = variable(
    "attention_core_activation",
    r"x_{\mathrm{core}}",
    "byte/token",
    "Kept by the core of attention, which selective checkpointing recomputes.",
    nonnegative(),
)
x_ffn = variable(
    "ffn_activation",
    r"x_{\mathrm{ffn}}",
    "byte/token",
    "Kept by the feed-forward block of a dense layer.",
    nonnegative(),
)
x_moe = variable(
    "moe_activation", r"x_{\mathrm{moe}}", "byte/token", "Kept by router and experts of a layer.", nonnegative()
)
routing_weights = variable(
    "routing_weights",
    r"\mathrm{weights}",
    "",
    "What a router weighs: the tokens that come back from experts, in the format of activations or in fp32, or those "
    "that go to them, in fp32.",
    choice("after", "after_fp32", "before_fp32"),
)
q_rw = variable(
    "routing_weight_bytes",
    r"q_{\mathrm{rw}}",
    "byte",
    "Bytes per element of the tokens that are kept for the gradient of their routing weights.",
    nonnegative(),
)
r_pad = variable(
    "expert_row_padding",
    r"r_{\mathrm{pad}}",
    "token",
    "Rows that a rank holds beside the tokens of each of its experts, so that each fills whole tiles.",
    integer(0),
)
k_rows = variable(
    "expert_rows_per_token",
    r"k_{\mathrm{rows}}",
    "count",
    "Rows that the experts of the hot rank hold for each token that the rank brings.",
    nonnegative(),
)
x_buf = variable(
    "routed_buffer",
    r"x_{\mathrm{buf}}",
    "byte/token",
    "What a layer with experts needs at its peak beyond what it makes for its backward pass.",
    nonnegative(),
)
x_drop = variable("dropout_activation", r"x_{\mathrm{drop}}", "byte/token", "Dropout masks of a layer.", nonnegative())
x_in = variable("layer_input", r"x_{\mathrm{in}}", "byte/token", "Input of a layer.", positive())
x_mm = variable(
    "alternate_matmul_activation",
    r"x_{\mathrm{mm}}",
    "byte/token",
    "Kept where selective checkpointing keeps every second matrix product.",
    positive(),
)
x_dense = variable("dense_layer_activation", r"x_{\mathrm{d}}", "byte/token", "Kept by one dense layer.", nonnegative())
x_sparse = variable(
    "moe_layer_activation", r"x_{\mathrm{s}}", "byte/token", "Kept by one layer with experts.", nonnegative()
)
n_fly = variable(
    "in_flight_micro_batches",
    r"n_{\mathrm{fly}}",
    "count",
    "Micro-batches whose activations the first pipeline stage holds at once.",
    positive(),
)
A_stage = variable(
    "stage_activations",
    r"A_{\mathrm{stage}}",
    "GB",
    "Activations of one micro-batch on one pipeline stage.",
    nonnegative(),
)
x_all = variable(
    "largest_layer_activation",
    r"x_{\mathrm{all}}",
    "byte/token",
    "Everything one layer makes for its backward pass, the largest of the kinds there are.",
    positive(),
)
A_bwd = variable(
    "backward_buffer",
    r"A_{\mathrm{bwd}}",
    "GB",
    "What one layer's backward pass needs beyond what was kept: what it recomputes, and gradients of activations.",
)
A_loss = variable("loss_buffer", r"A_{\mathrm{loss}}", "GB", "Logits, their softmax and its gradient.", nonnegative())
A_peak = variable(
    "peak_activations",
    r"A_{\mathrm{peak}}",
    "GB",
    "Activations and the buffers of the backward pass or of the loss, at the higher of their two peaks.",
    nonnegative(),
)
