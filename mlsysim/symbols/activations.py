"""Symbols of what a layer keeps for its backward pass, operator by operator."""

from mlsysim.formats import ACTIVATION_FORMATS
from mlsysim.symbolic import choice, flag, integer, nonnegative, positive, variable
from mlsysim.symbols.formats import AS_PRECISION

sequence_parallel = variable(
    "sequence_parallel",
    r"\beta_{\mathrm{sp}}",
    "count",
    "True if tensor-parallel ranks also split norms, residuals and dropout along the sequence.",
    flag(),
)
schedule = variable(
    "pipeline_schedule",
    r"\mathrm{schedule}",
    "",
    "Pipeline schedule: one forward, one backward (1F1B); all forwards before all backwards (GPipe); 1F1B with weight "
    "gradients deferred into the bubble; or from both ends at once, with two stages per rank.",
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
    "Implementation of attention: flash recomputes the score matrix, eager keeps it; in Transformer Engine fused "
    "(cuDNN) and flash_te recompute it, the latter keeping its output twice, and unfused keeps it at 16 bits. "
    "FlashAttention 2, 3 and 4, cuDNN, Triton's and TPUs' splash are flash by a named kernel.",
    choice("flash", "eager", "fused", "flash_te", "unfused", "fa2", "fa3", "fa4", "cudnn", "triton", "splash"),
)
elementwise_kernels = variable(
    "elementwise_kernels",
    r"\mathrm{elementwise}",
    "",
    "Implementation of norms and gates: fused keeps only their inputs, eager every intermediate.",
    choice("fused", "eager"),
)
selective_policy = variable(
    "selective_policy",
    r"\mathrm{selective}",
    "",
    "Recomputed by selective checkpointing: the core of attention, or all but every second matrix product.",
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
    "True if norms are recomputed in the backward pass.",
    flag(),
)
r_up = variable(
    "recompute_mla_up_proj",
    r"\rho_{\mathrm{up}}",
    "count",
    "True if the up-projections of latent attention are recomputed in the backward pass.",
    flag(),
)
r_act = variable(
    "recompute_activation_func",
    r"\rho_{\mathrm{act}}",
    "count",
    "True if the activation between the products of a feed-forward block, or expert, is recomputed in the backward "
    "pass.",
    flag(),
)
x_redo = variable(
    "recomputed_activation",
    r"x_{\mathrm{redo}}",
    "byte/token",
    "Activations saved by recomputing norms and up-projections.",
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
    "Tensors weighted by the router: expert outputs, in the activation format or in fp32; expert inputs, in fp32; or "
    "the activations inside experts.",
    choice("after", "after_fp32", "before_fp32", "in_activation"),
)
dispatcher = variable(
    "token_dispatcher",
    r"\mathrm{dispatcher}",
    "",
    "Dispatch of tokens to experts: exchanged, or gathered whole on every rank into a permanent buffer.",
    choice("alltoall", "allgather"),
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
    "Padding rows per expert on a rank, so that each expert fills whole tiles.",
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
    "Peak memory of an MoE layer beyond what it saves for its backward pass.",
    nonnegative(),
)
x_drop = variable("dropout_activation", r"x_{\mathrm{drop}}", "byte/token", "Dropout masks of a layer.", nonnegative())
x_inp = variable(
    "further_inputs",
    r"x_{\mathrm{inp}}",
    "byte/token",
    "Kept by a layer of what products read once more: cast for each of them, or for adapters, with what their first "
    "matrix gives.",
    nonnegative(),
)
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
    "Memory of one layer's backward pass beyond saved activations: recomputed ones, and gradients of activations.",
)
A_loss = variable("loss_buffer", r"A_{\mathrm{loss}}", "GB", "Logits, their softmax and its gradient.", nonnegative())
A_peak = variable(
    "peak_activations",
    r"A_{\mathrm{peak}}",
    "GB",
    "Activations and the buffers of the backward pass or of the loss, at the higher of their two peaks.",
    nonnegative(),
)

loss_kernel = variable(
    "loss_kernel",
    r"\mathrm{loss}",
    "",
    "Implementation of the loss: eager in PyTorch, whose 16-bit logits may stay referenced; compiled; fast (foak); "
    "Megatron-LM's, in place or fused; in chunks of tokens; or fused with the head so that logits are never whole.",
    choice(
        "eager", "eager_referenced", "compiled", "fast", "megatron", "megatron_fused", "chunked", "fused_linear"
    ),
)  # fmt: skip
loss_chunks = variable("loss_chunks", r"c_{\mathrm{loss}}", "count", "Chunks of a loss in chunks.", integer(1))
c_loss = variable(
    "logit_bytes",
    r"c_{\ell}",
    "byte",
    "Bytes alive at the loss for each token and row of the vocabulary.",
    nonnegative(),
)
V_r = variable(
    "vocabulary_rows",
    r"V_{\mathrm{r}}",
    "count",
    "Rows of the vocabulary on one rank, padded ones among them.",
    integer(1),
)
vocab_multiple = variable(
    "vocab_multiple",
    r"n_{\mathrm{pad}}",
    "count",
    "Number that the rows of the vocabulary on one rank are padded to a multiple of; 1 without padding.",
    integer(1),
)
q_res = variable("residual_bytes", r"q_{\mathrm{res}}", "byte", "Bytes of one number between two layers.", positive())
residual_dtype = variable(
    "residual_dtype",
    r"\mathrm{residuals\ in}",
    "",
    "Format of the hidden states that a layer hands on to the next.",
    choice(AS_PRECISION, *ACTIVATION_FORMATS),
)
offload_act = variable(
    "activation_offload",
    r"\omega_{\mathrm{in}}",
    "count",
    "True if saved activations are offloaded to the host until the backward pass.",
    flag(),
)
loaded_mask = variable(
    "loaded_mask",
    r"\beta_{\mathrm{mask}}",
    "count",
    "True if an attention mask of one byte per pair of tokens is loaded with every micro-batch.",
    flag(),
)
k_def = variable(
    "deferred_head_gradients",
    r"k_{\mathrm{def}}",
    "count",
    "Micro-batches whose gradients of the head are put off to the end of the step.",
    integer(0),
)
microbatch_group = variable(
    "microbatch_group",
    r"g_{\mathrm{mb}}",
    "count",
    "Micro-batches that pass one chunk of interleaved stages in a row; 0 for as many as stages.",
    integer(0),
)
L_first = variable(
    "layers_first_stage",
    r"L_{\mathrm{first}}",
    "count",
    "Layers of the first pipeline stage; 0 if as many as the others.",
    integer(0),
)
L_last = variable(
    "layers_last_stage",
    r"L_{\mathrm{last}}",
    "count",
    "Layers of the last pipeline stage; 0 if as many as the others.",
    integer(0),
)
peak_rank = variable(
    "peak_rank",
    r"\mathrm{rank\ asked}",
    "",
    "Rank whose memory is asked: of the first or the last pipeline stage, or the fullest of all.",
    choice("fullest", "first", "last"),
)
rank = variable(
    "binding_rank",
    r"\mathrm{rank}",
    "",
    "Pipeline stage of the rank that is described: the one that is asked, or the one that holds the most.",
    choice("first", "between", "last"),
)
b_first = variable(
    "holds_first_stage",
    r"\beta_{\mathrm{first}}",
    "count",
    "True if the described rank holds the first stage, with the embedding.",
    flag(),
)
b_last = variable(
    "holds_last_stage",
    r"\beta_{\mathrm{end}}",
    "count",
    "True if the described rank holds the last stage, with head and loss.",
    flag(),
)
peak_moment = variable(
    "peak_moment",
    r"\mathrm{moment}",
    "",
    "Moment of that rank's peak: at the loss, in the backward pass of the head or of a layer, or in the update.",
    choice("Loss", "Head", "Layer", "Update"),
)
L_mtp_r = variable(
    "mtp_layers_of_rank",
    r"L_{\mathrm{mtp,r}}",
    "count",
    "Layers of that rank that predict further tokens.",
    integer(0),
    label="Prediction layers of a rank",
)
P_ends = variable(
    "end_edge_parameters",
    r"P_{\mathrm{ends}}",
    "count",
    "Parameters of that rank outside the layers: embedding, head, last norm.",
    nonnegative(),
)
C_cast = variable(
    "cast_weights",
    r"C_{\mathrm{cast}}",
    "GB",
    "Weights cast to the format of activations, kept for the backward pass beside those in a wider one.",
    nonnegative(),
)
S_mem = variable(
    "resident_memory",
    r"M_{\mathrm{held}}",
    "GB",
    "Resident memory of a rank without gradients: weights, optimizer state, workspaces, buffers.",
    positive(),
)
M_after = variable(
    "memory_after_step",
    r"M_{\mathrm{after}}",
    "GB",
    "Memory allocated on a rank after a step.",
    positive(),
)
G_at = variable(
    "gradients_at_loss_bytes", r"G_{\mathrm{loss}}", "GB", "Gradients that are there at the loss.", nonnegative()
)
M_loss = variable(
    "loss_memory", r"M_{\mathrm{loss}}", "GB", "Memory of a rank at the loss; 0 on a rank without one.", nonnegative()
)
M_hd = variable(
    "head_memory",
    r"M_{\mathrm{hd}}",
    "GB",
    "Memory of a rank in the backward pass of the head; 0 on a rank without one.",
    nonnegative(),
)
M_lay = variable(
    "layer_memory", r"M_{\mathrm{lay}}", "GB", "Memory of a rank in the backward pass of a layer.", positive()
)
M_upd = variable("update_memory", r"M_{\mathrm{upd}}", "GB", "Memory of a rank in the update.", positive())
M_r = variable(
    "rank_memory", r"M_{\mathrm{r}}", "GB", "Memory of the rank that is described, at its peak.", nonnegative()
)
M_1st = variable("first_rank_memory", r"M_{1}", "GB", "Memory of the rank of the first pipeline stage.", nonnegative())
M_2nd = variable(
    "second_rank_memory", r"M_{2}", "GB", "Memory of the rank of the second pipeline stage.", nonnegative()
)
M_last = variable(
    "last_rank_memory", r"M_{\mathrm{last}}", "GB", "Memory of the rank of the last pipeline stage.", nonnegative()
)
