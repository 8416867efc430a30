"""Symbols of what lets tokens see each other: attention of each kind, what it counts, keeps and computes."""

from mlsysim.symbolic import between, flag, integer, nonnegative, positive, variable

a = variable("heads", "a", "count", "Attention heads (query heads).", integer(1))
a_kv = variable("kv_heads", r"a_{\mathrm{kv}}", "count", "Heads that keep keys and values (GQA).", integer(1))
d_h = variable("head_dim", r"d_{\mathrm{h}}", "count", "Width of one attention head.", integer(1))
qkv_bias = variable(
    "qkv_bias", r"\beta_{\mathrm{qkv}}", "count", "True if query, key and value projections have a bias.", flag()
)
o_bias = variable(
    "attention_output_bias",
    r"\beta_{\mathrm{o}}",
    "count",
    "True if the output projection of attention has a bias.",
    flag(),
)
qk_norm = variable(
    "qk_norm", r"\beta_{\mathrm{qk}}", "count", "True if queries and keys are normalised per head.", flag()
)
sinks = variable(
    "attention_sinks", r"\beta_{\mathrm{sink}}", "count", "True if each head has a learned attention sink.", flag()
)
r_q = variable(
    "q_lora_rank",
    r"r_{\mathrm{q}}",
    "count",
    "Rank of the compressed query of multi-head latent attention; 0 if queries are not compressed.",
    integer(0),
    label="Compressed query rank",
)
r_kv = variable(
    "kv_lora_rank",
    r"r_{\mathrm{kv}}",
    "count",
    "Rank of the compressed key-value vector of multi-head latent attention; 0 without it.",
    integer(0),
    label="Compressed key-value rank",
)
d_rope = variable(
    "qk_rope_head_dim",
    r"d_{\mathrm{rope}}",
    "count",
    "Width of the shared rotary key cached with the compressed vector (MLA); 0 without it.",
    integer(0),
    label="Rotary key width",
)
d_nope = variable(
    "qk_nope_head_dim",
    r"d_{\mathrm{nope}}",
    "count",
    "Width per head of queries and keys without rotation (MLA); 0 without it.",
    integer(0),
    label="Unrotated head width",
)
d_v = variable(
    "v_head_dim",
    r"d_{\mathrm{v}}",
    "count",
    "Width per head of the values; 0 if equal to that of the keys.",
    integer(0),
    label="Value head width",
)
window = variable(
    "sliding_window",
    r"s_{\mathrm{w}}",
    "token",
    "Tokens a sliding-window layer attends to, itself included; 0 without such layers.",
    integer(0),
)
L_w = variable(
    "sliding_layers",
    r"L_{\mathrm{w}}",
    "count",
    "Layers with sliding-window attention; 0 without.",
    integer(0),
)
chunked = variable(
    "chunked_attention",
    r"\beta_{\mathrm{ch}}",
    "count",
    "True if sliding layers attend within chunks of that many tokens instead (Llama 4).",
    flag(),
)
sandwich = variable(
    "sandwich_norm",
    r"\beta_{\mathrm{sw}}",
    "count",
    "True if attention and feed-forward blocks are normalised behind as well as in front (Gemma).",
    flag(),
)

n_G = variable(
    "gate_width",
    r"n_{\mathrm{G}}",
    "count",
    "Numbers of the output gate of attention per token: one a head, or one a head and value width; 0 without a gate.",
    integer(0),
    label="Width of the output gate",
)
n_B = variable(
    "block_norms",
    r"n_{\mathrm{B}}",
    "count",
    "Norms in front of the two blocks of a layer; 1 if both blocks read the same norm in parallel (Falcon, Cohere).",
    integer(1, 2),
)

n_N = variable("norms_per_layer", r"n_{\mathrm{N}}", "count", "Norms of one layer.", integer(1))
a_r = variable("heads_per_rank", r"a_{\mathrm{r}}", "count", "Query heads of one tensor-parallel rank.", nonnegative())
d_v_h = variable(
    "value_dim",
    r"d_{\mathrm{v,h}}",
    "count",
    "Width of the values of one head, where no vector is compressed.",
    integer(1),
)
y_q = variable(
    "query_width_per_rank",
    r"y_{\mathrm{q}}",
    "count",
    "Width of all queries of one tensor-parallel rank, or of the output of attention where that is wider.",
    positive(),
)
y_v = variable(
    "query_value_width_per_rank",
    r"y_{\mathrm{qv}}",
    "count",
    "Widths of queries, gate, values and output of attention on one tensor-parallel rank, added up.",
    nonnegative(),
)
y_core = variable(
    "core_width_per_rank",
    r"y_{\mathrm{core}}",
    "count",
    "Widths of queries, gate, keys, values and output of attention on one tensor-parallel rank, added up.",
    nonnegative(),
)
y_mix = variable(
    "mixer_product_widths",
    r"y_{\mathrm{mix}}",
    "count",
    "Widths of inputs and outputs of the products of attention in one layer.",
    nonnegative(),
)
W_all = variable(
    "repeated_matrix_elements",
    r"W_{\mathrm{all}}",
    "count",
    "Matrix elements of attention in one layer that every tensor-parallel rank holds whole.",
    nonnegative(),
)
W_up = variable(
    "up_projection_elements",
    r"W_{\mathrm{up}}",
    "count",
    "Matrix elements in one layer that expand what latent attention compresses.",
    nonnegative(),
)
x_up = variable(
    "up_projection_activation",
    r"x_{\mathrm{up}}",
    "byte/token",
    "Not kept by latent attention whose norms and up-projections are recomputed.",
)

a_w = variable(
    "sliding_heads",
    r"a_{\mathrm{w}}",
    "count",
    "Query heads of layers with a window; 0 if as many as in the others.",
    integer(0),
)
a_kv_w = variable(
    "sliding_kv_heads",
    r"a_{\mathrm{kv,w}}",
    "count",
    "Key-value heads of layers with a window; 0 if as many as in the others.",
    integer(0),
)
d_w = variable(
    "sliding_head_dim",
    r"d_{\mathrm{w}}",
    "count",
    "Width of one attention head in layers with a window; 0 if equal to that of the others.",
    integer(0),
)
d_v_w = variable(
    "sliding_v_head_dim",
    r"d_{\mathrm{v,w}}",
    "count",
    "Width per head of the values in layers with a window; 0 if equal to that of their keys, or of the other layers.",
    integer(0),
    label="Value head width in a window",
)
a_s = variable(
    "heads_in_window",
    r"a_{\mathrm{s}}",
    "count",
    "Query heads of a layer with a window.",
    integer(1),
)
a_kv_s = variable(
    "kv_heads_in_window",
    r"a_{\mathrm{kv,s}}",
    "count",
    "Heads that keep keys and values in a layer with a window.",
    integer(1),
)
d_s = variable(
    "head_dim_in_window",
    r"d_{\mathrm{s}}",
    "count",
    "Width of one attention head in a layer with a window.",
    integer(1),
)
d_v_s = variable(
    "value_dim_in_window",
    r"d_{\mathrm{v,s}}",
    "count",
    "Width of the values of one head in a layer with a window.",
    integer(1),
)
L_none = variable(
    "mixerless_layers",
    r"L_{\mathrm{o}}",
    "count",
    "Layers in which tokens do not see each other, which have a feed-forward block alone; 0 without.",
    integer(0),
)
L_att = variable(
    "attention_layers", r"L_{\mathrm{att}}", "count", "Layers with attention, with a window or without.", integer(0)
)
L_kv = variable(
    "shared_cache_layers",
    r"L_{\mathrm{kv}}",
    "count",
    "Layers without a window that read the keys and values of another layer, and have none of their own; 0 without.",
    integer(0),
)
L_kv_w = variable(
    "sliding_shared_layers",
    r"L_{\mathrm{kv,w}}",
    "count",
    "Layers with a window that read the keys and values of another layer, and have none of their own; 0 without.",
    integer(0),
)
L_all = variable(
    "unbounded_attention_layers",
    r"L_{\mathrm{all}}",
    "count",
    "Layers whose attention reaches back to the first token.",
    integer(0),
)
L_st = variable(
    "state_layers",
    r"L_{\mathrm{st}}",
    "count",
    "Layers with a recurrent mixer, which keeps a state of fixed size; 0 without.",
    integer(0),
)
L_both = variable(
    "parallel_layers",
    r"L_{\mathrm{par}}",
    "count",
    "Recurrent layers that also have attention in parallel (Falcon-H1); 0 without.",
    integer(0),
)
H_k = variable(
    "state_key_heads",
    r"H_{\mathrm{k}}",
    "count",
    "Heads that write to the state; groups of a state-space model; 0 without such projections.",
    integer(0),
)
N_st = variable(
    "state_key_dim",
    r"N_{\mathrm{st}}",
    "count",
    "Rows of the state of one head: the width of a key, or of the state of a state-space model.",
    integer(0),
)
H_st = variable("state_heads", r"H_{\mathrm{st}}", "count", "Heads of the state; 0 without one.", integer(0))
D_st = variable(
    "state_value_dim",
    r"D_{\mathrm{st}}",
    "count",
    "Columns of the state of a head: the width of a value.",
    integer(0),
)
z_st = variable(
    "state_gates", r"z_{\mathrm{st}}", "count", "Gates of a recurrent mixer as wide as its values.", integer(0)
)
n_st = variable(
    "state_scalars", r"n_{\mathrm{st}}", "count", "Numbers per token and head: a decay, a step size.", integer(0)
)
C_st = variable(
    "conv_channels",
    r"C_{\mathrm{st}}",
    "count",
    "Channels of the short convolution of a recurrent mixer.",
    integer(0),
    label="Channels of the convolution",
)
K_st = variable(
    "conv_kernel",
    r"K_{\mathrm{st}}",
    "count",
    "Tokens that the short convolution reads.",
    integer(0),
    label="Taps of the convolution",
)
X_st = variable(
    "state_matrices",
    r"X_{\mathrm{st}}",
    "count",
    "Further matrix elements of a recurrent mixer: low-rank decays and gates, or matrices without heads.",
    integer(0),
)
Y_st = variable(
    "state_matrix_width",
    r"Y_{\mathrm{st}}",
    "count",
    "Numbers per token that those matrices produce; 0 if all of them read the hidden size.",
    integer(0),
)
b_st = variable(
    "state_vectors", r"b_{\mathrm{st}}", "count", "Biases, norms and decays of a recurrent mixer.", integer(0)
)
gamma_st = variable(
    "state_operations",
    r"\gamma_{\mathrm{st}}",
    "FLOP/token",
    "Arithmetic per element of the state and token.",
    nonnegative(),
)
Q_st = variable(
    "state_chunk",
    r"Q_{\mathrm{st}}",
    "token",
    "Tokens per chunk of a scan over a whole sequence; 0 if tokens are processed one by one.",
    integer(0),
)
delta = variable(
    "delta_rule",
    r"\beta_{\delta}",
    "count",
    "True if a token first removes from the state what its key reads (delta rule), for which chunks solve a system.",
    flag(),
)
q_st = variable(
    "state_element_bytes", r"q_{\mathrm{st}}", "byte", "Bytes of one element of a recurrent state.", positive()
)
P_st = variable("state_parameters", r"P_{\mathrm{st}}", "count", "Parameters of one recurrent mixer.", integer(0))
P_st_r = variable(
    "state_parameters_per_rank",
    r"P_{\mathrm{st,r}}",
    "count",
    "Parameters of one recurrent mixer on one tensor-parallel rank.",
    nonnegative(),
)
sigma_st = variable(
    "state_bytes_per_request",
    r"\sigma_{\mathrm{st}}",
    "MB/request",
    "State that a request keeps in all layers, whatever its length.",
    nonnegative(),
)
w_scan = variable(
    "scan_flops",
    r"w_{\mathrm{scan}}",
    "FLOP/token",
    "Arithmetic of the recurrences of all layers where a sequence is scanned in chunks, per token.",
    nonnegative(),
)
L_ix = variable(
    "index_layers",
    r"L_{\mathrm{ix}}",
    "count",
    "Layers with an indexer, which picks the tokens that attention reads; 0 without.",
    integer(0),
)
a_ix = variable("index_heads", r"a_{\mathrm{ix}}", "count", "Heads of an indexer.", integer(0))
d_ix = variable("index_head_dim", r"d_{\mathrm{ix}}", "count", "Width of a key of an indexer.", integer(0))
k_ix = variable(
    "index_topk",
    r"k_{\mathrm{ix}}",
    "token",
    "Tokens that an indexer picks.",
    integer(0),
    label="Tokens an indexer picks",
)
P_ix = variable("indexer_parameters", r"P_{\mathrm{ix}}", "count", "Parameters of one indexer.", integer(0))
L_c = variable(
    "compressed_layers",
    r"L_{\mathrm{c}}",
    "count",
    "Layers with attention to a window and to compressed entries of all tokens before (DeepSeek-V4), or to the window; "
    "0 without.",
    integer(0),
)
L_hc = variable(
    "heavily_compressed_layers",
    r"L_{\mathrm{hc}}",
    "count",
    "Compressed layers that read all their entries; those with an indexer read some, others none.",
    integer(0),
)
m_ix = variable(
    "index_compression",
    r"m_{\mathrm{ix}}",
    "count",
    "Tokens per compressed entry in layers with an indexer; 0 if an indexer selects tokens.",
    integer(0),
)
m_hc = variable(
    "heavy_compression",
    r"m_{\mathrm{hc}}",
    "count",
    "Tokens that make one entry in layers that read all their entries; 0 without.",
    integer(0),
)
r_o = variable(
    "o_lora_rank",
    r"r_{\mathrm{o}}",
    "count",
    "Rank of the output projection of a group of heads (DeepSeek-V4); 0 without.",
    integer(0),
    label="Rank of the output projection",
)
g_o = variable(
    "o_groups",
    r"g_{\mathrm{o}}",
    "count",
    "Groups of heads with an output projection of their own (DeepSeek-V4); 0 without.",
    integer(0),
    label="Groups of the output projection",
)
P_c = variable(
    "compressed_attention_parameters",
    r"P_{\mathrm{c}}",
    "count",
    "Parameters of attention in one layer that reads compressed entries, compressors apart.",
    nonnegative(),
)
P_c_r = variable(
    "compressed_attention_parameters_per_rank",
    r"P_{\mathrm{c,r}}",
    "count",
    "The same on one tensor-parallel rank.",
    nonnegative(),
)
y_sp = variable(
    "picked_entry_width",
    r"y_{\mathrm{sp}}",
    "count",
    "Numbers of one compressed entry in all layers with an indexer, which picks some.",
    integer(0),
)
y_hc = variable(
    "read_entry_width",
    r"y_{\mathrm{hc}}",
    "count",
    "Numbers of one compressed entry in all layers that read all their entries.",
    integer(0),
)
y_ek = variable(
    "entry_key_width",
    r"y_{\mathrm{ek}}",
    "count",
    "Numbers of the keys of one compressed entry in all indexers.",
    integer(0),
)
x_gr = variable(
    "grouped_attention_activation",
    r"x_{\mathrm{gr}}",
    "byte/token",
    "Kept by grouped-query attention in all layers, outside its core.",
    nonnegative(),
)
x_lat = variable(
    "latent_activation",
    r"x_{\mathrm{lat}}",
    "byte/token",
    "Kept by latent attention of one layer as its vectors and what it assembles from them.",
    nonnegative(),
)
x_sc = variable(
    "score_activation",
    r"x_{\mathrm{sc}}",
    "byte/token",
    "Kept of a row of scores of one head, where a kernel does not recompute them.",
    nonnegative(),
)
x_ch = variable(
    "unbound_core_activation",
    r"x_{\mathrm{ch}}",
    "byte/token",
    "Kept by the core of one layer of grouped-query attention without a window.",
    nonnegative(),
)
x_cn = variable(
    "near_core_activation",
    r"x_{\mathrm{cn}}",
    "byte/token",
    "Kept by the core of one layer of grouped-query attention with a window.",
    nonnegative(),
)
q_2 = variable(
    "second_output_bytes",
    r"q_2",
    "byte",
    "Bytes of each number of the output that attention keeps in a second layout.",
    nonnegative(),
)
x_c = variable(
    "compressed_attention_activation",
    r"x_{\mathrm{c}}",
    "byte/token",
    "Kept by attention to compressed entries in all layers, outside its core.",
    nonnegative(),
)
P_mix = variable("mixer_parameters", r"P_{\mathrm{mix}}", "count", "Parameters of all mixers.", nonnegative())
P_mix_r = variable(
    "mixer_parameters_per_rank",
    r"P_{\mathrm{mix,r}}",
    "count",
    "Parameters of the mixers of all layers on one tensor-parallel rank.",
    nonnegative(),
)
y_K = variable(
    "cache_width",
    r"y_{\mathrm{K}}",
    "count",
    "Numbers that all layers keep of a token in reach of each.",
    integer(1),
)
y_K_w = variable(
    "cache_width_in_window",
    r"y_{\mathrm{K,w}}",
    "count",
    "Numbers that layers with a window keep of a token in reach.",
    integer(0),
)
y_R = variable(
    "read_width", r"y_{\mathrm{R}}", "count", "Numbers of a token in reach of each that all layers read.", integer(1)
)
y_R_w = variable(
    "read_width_in_window",
    r"y_{\mathrm{R,w}}",
    "count",
    "Numbers of a token in reach that layers with a window read.",
    integer(0),
)
n_vals = variable(
    "value_projections",
    r"\beta_{\mathrm{val}}",
    "count",
    "True if layers without a window project values; otherwise their keys serve as values (Gemma 4).",
    flag(),
)
w_win = variable(
    "sliding_attention_flops",
    r"w_{\mathrm{w}}",
    "FLOP/token^2",
    "Arithmetic of attention per pair of tokens, in all layers with a window.",
    nonnegative(),
)
w_near = variable(
    "sliding_decode_flops",
    r"w_{\mathrm{w,dec}}",
    "FLOP/token^2",
    "Arithmetic of attention in decoding per pair of tokens, in all layers with a window.",
    nonnegative(),
)
w_ix = variable(
    "indexer_flops",
    r"w_{\mathrm{ix}}",
    "FLOP/token^2",
    "Arithmetic of all indexers per pair of tokens.",
    nonnegative(),
)

w_pair = variable(
    "scored_pair_flops",
    r"w_{\mathrm{pair}}",
    "FLOP/token",
    "Forward arithmetic of attention over the pairs of tokens that it leaves, all layers.",
    nonnegative(),
)
eta_scan = variable(
    "scan_efficiency",
    r"\eta_{\mathrm{scan}}",
    "count",
    "Share of the memory bandwidth that scans of recurrent mixers reach in a prefill.",
    between(0, 1, open_lower=True),
)
tau_scan = variable(
    "scan_chunk_time",
    r"\tau_{\mathrm{scan}}",
    "µs",
    "Least time of one chunk of a sequence in a scan, whatever it moves.",
    nonnegative(),
)
x_scan = variable(
    "scan_traffic",
    r"X_{\mathrm{scan}}",
    "byte/token",
    "Bytes that the scans of all recurrent mixers move in a forward pass, per token.",
    nonnegative(),
)
t_each = variable(
    "scan_time_per_token",
    r"t_{\mathrm{s,tok}}",
    "µs/token",
    "Scans of all recurrent mixers in a forward pass, per token on one rank.",
    nonnegative(),
)
t_scan = variable("scan_time", r"t_{\mathrm{scan}}", "ms", "Scans of recurrent mixers over the prompts.", nonnegative())
