"""Symbols of one iteration of an inference engine: prompts and decoding requests in one forward pass."""

from mlsysim.symbolic import Domain, at_least, between, choice, flag, integer, nonnegative, positive, variable

n_dec = variable(
    "decode_requests", r"n_{\mathrm{d}}", "request", "Requests that decode one token in an iteration.", nonnegative()
)
K_dec = variable(
    "context_tokens", r"\bar{k}", "token/request", "Tokens in the cache of a decoding request, mean.", nonnegative()
)
n_pro = variable("prompts", r"n_{\mathrm{p}}", "request", "Prompts that an iteration prefills whole.", nonnegative())
h_given = variable(
    "prefix_hit_rate",
    r"h_{\mathrm{given}}",
    "count",
    "Share of prompt tokens with cached keys and values, if no cache size is given.",
    between(0, 0.999),
)
h_c = variable(
    "cached_prompt_share",
    r"h_{\mathrm{c}}",
    "count",
    "Share of the tokens of a prompt whose keys and values are cached.",
    between(0, 0.999),
)
gamma_s = variable(
    "num_speculative_tokens",
    r"\gamma_{\mathrm{s}}",
    "count",
    "Drafted tokens of each decoding request that an iteration verifies.",
    integer(0),
)
d_a = variable(
    "dp_attention_size",
    r"d_{\mathrm{a}}",
    "count",
    "Attention ranks of an engine, each with requests and caches of its own; experts may be spread over all of them.",
    integer(1),
    label="Data-parallel attention ranks",
)
E_red = variable(
    "num_redundant_experts",
    r"E_{\mathrm{red}}",
    "count",
    "Experts per layer that are held twice, so that all ranks hold equally many.",
    integer(0),
)
n_grp = variable(
    "request_groups",
    r"n_{\mathrm{grp}}",
    "count",
    "Groups that the requests of an engine are spread over: by attention rank, stage and micro-batch.",
    integer(1),
)
n_dec_r = variable(
    "rank_decode_requests",
    r"n_{\mathrm{d,r}}",
    "request",
    "Requests of one group that decode a token.",
    nonnegative(),
)
n_pro_r = variable(
    "rank_prompts", r"n_{\mathrm{p,r}}", "request", "Prompts of one group that an iteration prefills.", nonnegative()
)
p_busy = variable(
    "busy_stages",
    r"p_{\mathrm{busy}}",
    "count",
    "Stages that have a group of requests at work, mean.",
    at_least(1),
)
N_it = variable(
    "iteration_tokens", r"N_{\mathrm{it}}", "token", "Tokens of one group that pass through the layers.", nonnegative()
)
N_out = variable("sampled_tokens", r"N_{\mathrm{s}}", "token", "Tokens of one group that are sampled.", nonnegative())
N_exp = variable(
    "expert_group_tokens",
    r"N_{\mathrm{exp}}",
    "token",
    "Tokens of all attention ranks that share experts, in one micro-batch.",
    nonnegative(),
)

F_16 = variable(
    "attention_peak_flops",
    r"F_{16}",
    "TFLOP/s",
    "Dense peak arithmetic rate of one accelerator at 16 bit, in which attention is computed.",
    positive(),
)
eta_pre = variable(
    "prefill_attention_efficiency",
    r"\eta_{\mathrm{pa}}",
    "count",
    "Share of the 16-bit peak that attention reaches in a prefill.",
    between(0, 1, open_lower=True),
)
eta_kv = variable(
    "kv_read_efficiency",
    r"\eta_{\kappa}",
    "count",
    "Share of the memory bandwidth that attention reaches in decoding.",
    between(0, 1, open_lower=True),
)
phi_w = variable(
    "weight_read_efficiency",
    r"\varphi_{\mathrm{w}}",
    "count",
    "Bandwidth of reading 4-bit weights relative to 16-bit weights; other widened weights need as much extra time.",
    between(0, 1, open_lower=True),
)
tau_host = variable(
    "host_layer_time",
    r"\tau_{\mathrm{host}}",
    "ms",
    "Time of the host to launch one layer; 0 with captured graphs.",
    nonnegative(),
)
tau_pro = variable(
    "prompt_host_layer_time",
    r"\tau_{\mathrm{host,p}}",
    "ms",
    "Time of the host to launch one layer of an iteration with prompts, which is not captured.",
    nonnegative(),
)
tau_pro_lat = variable(
    "prompt_host_mla_time",
    r"\tau_{\mathrm{host,mla}}",
    "ms",
    "Further host time per layer with latent attention in an iteration with prompts.",
    nonnegative(),
)
tau_pro_moe = variable(
    "prompt_host_moe_time",
    r"\tau_{\mathrm{host,moe}}",
    "ms",
    "Further host time per layer with routed experts in an iteration with prompts.",
    nonnegative(),
)
tau_moe = variable(
    "moe_layer_tax",
    r"\tau_{\mathrm{moe}}",
    "ms",
    "Further fixed time of routed experts per layer and step.",
    nonnegative(),
)
tau_lat = variable(
    "mla_layer_tax",
    r"\tau_{\mathrm{mla}}",
    "ms",
    "Further fixed time of latent attention per layer and step.",
    nonnegative(),
)
tau_ix = variable(
    "index_layer_tax",
    r"\tau_{\mathrm{ix}}",
    "ms",
    "Further fixed time of an indexer per layer and step.",
    nonnegative(),
)
eta_gr = variable(
    "expert_efficiency",
    r"\eta_{\mathrm{gr}}",
    "count",
    "Share of the peak rate that grouped products with routed experts reach in serving; 0: as other products. "
    "expert_product_ratio is theirs in training, over dense products.",
    between(0, 1),
)
eta_wo = variable(
    "weight_only_expert_efficiency",
    r"\eta_{\mathrm{wo}}",
    "count",
    "Share of the 16-bit peak that they reach if experts are stored narrower than they are computed; 0 for no "
    "difference.",
    between(0, 1),
)
eta_exp = variable(
    "expert_product_efficiency",
    r"\eta_{\mathrm{exp}}",
    "count",
    "Share of the peak rate that products with routed experts reach.",
    positive(),
)
a_pop = variable(
    "expert_popularity",
    r"a_{\mathrm{pop}}",
    "count",
    "Shape of the gamma distribution of how popular experts are; 0: all alike.",
    nonnegative(),
)
tau_it = variable(
    "iteration_overhead", r"\tau_0", "ms", "Time per iteration for scheduling, sampling and other waits.", nonnegative()
)
tau_wrk = variable(
    "worker_overhead",
    r"\tau_{\mathrm{w}}",
    "ms",
    "Further time per iteration if several accelerators share the layers.",
    nonnegative(),
)
tau_seq = variable(
    "sequence_overhead", r"\tau_{\mathrm{seq}}", "ms", "Time of the host for each sequence of an iteration.",
    nonnegative(),
)  # fmt: skip

W_dense = variable(
    "dense_weights_per_rank",
    r"W_{\mathrm{den}}",
    "count",
    "Weights of one rank that every token passes through, all layers.",
    nonnegative(),
)
W_hit = variable(
    "touched_expert_weights",
    r"W_{\mathrm{exp}}",
    "count",
    "Weights of routed experts that an iteration reads on one rank, all layers.",
    nonnegative(),
)
kv_rank = variable(
    "kv_bytes_per_token_per_rank",
    r"\kappa_{\mathrm{r}}",
    "kB/token",
    "KV cache of one token on one tensor-parallel rank.",
    positive(),
)
x_it = variable(
    "kernel_traffic",
    r"X_{\mathrm{act}}",
    "MB/token",
    "Activations that kernels write and read, per token on one rank, all layers.",
    positive(),
)
w_dec = variable(
    "decode_attention_flops",
    r"\Phi_{\mathrm{dec}}",
    "FLOP/token^2",
    "Arithmetic of attention for a decoded token and one token of its context, all layers.",
    nonnegative(),
)

t_den = variable("dense_product_time", r"t_{\mathrm{den}}", "ms", "Products that every token passes.", nonnegative())
t_exp = variable("expert_product_time", r"t_{\mathrm{exp}}", "ms", "Products with routed experts.", nonnegative())
t_head = variable("head_time", r"t_{\mathrm{head}}", "ms", "Logits of the sampled tokens.", nonnegative())
t_act = variable("activation_time", r"t_{\mathrm{act}}", "ms", "Activations between kernels.", nonnegative())
t_kv = variable("decode_attention_time", r"t_{\kappa}", "ms", "Attention of the decoding requests.", nonnegative())
t_pat = variable("prefill_attention_time", r"t_{\mathrm{pa}}", "ms", "Attention of the prompts.", nonnegative())
t_red = variable("allreduce_time", r"t_{\mathrm{ar}}", "ms", "All-reduces of tensor parallelism.", nonnegative())
t_moe = variable(
    "expert_exchange_time",
    r"t_{\mathrm{ex}}",
    "ms",
    "Exchanges of experts of one micro-batch, all layers.",
    nonnegative(),
)
t_hop = variable(
    "stage_send_time",
    r"t_{\mathrm{hop}}",
    "ms",
    "Hidden states handed from stage to stage.",
    nonnegative(),
)
t_even = variable(
    "uneven_stage_time",
    r"t_{\mathrm{un}}",
    "ms",
    "Wait of all stages for the slowest one.",
    nonnegative(),
)
t_kind = variable(
    "further_layer_time",
    r"t_{\mathrm{kind}}",
    "ms",
    "Fixed times of experts, latent attention and indexers, all layers.",
    nonnegative(),
)
t_one = variable(
    "computed_time",
    r"t_{\mathrm{grp}}",
    "ms",
    "Compute time of one micro-batch of an iteration.",
    nonnegative(),
)
t_dev = variable("device_time", r"t_{\mathrm{dev}}", "ms", "Accelerator time of an iteration.", nonnegative())
t_cpu = variable("host_time", r"t_{\mathrm{cpu}}", "ms", "Host time to launch an iteration.", nonnegative())
t_it = variable("iteration_time", r"t_{\mathrm{it}}", "ms", "One iteration.", nonnegative())
t_big = variable("longest_iteration_part", r"t_{\max}", "ms", "The longest part of an iteration.", nonnegative())
binds_it = variable(
    "iteration_bottleneck",
    r"\mathrm{binds}_{\mathrm{it}}",
    "",
    "The longest part of an iteration; Host where launching takes longer than all of them.",
    choice(
        "Host",
        "Products",
        "Experts",
        "Logits",
        "Activations",
        "KV cache",
        "Attention",
        "All-reduce",
        "Layers",
        "Exchange",
        "Pipeline",
        "Adapters",
        "Sources",
    ),
)

z_w = variable(
    "weights_read_stretch",
    "z_W",
    "count",
    "Time to read weights, over that of reading all of them from the memory of the accelerator.",
    nonnegative(),
)
z_kv = variable(
    "kv_read_stretch",
    r"z_{\kappa}",
    "count",
    "Time to read KV caches, over that of reading all of them from the memory of the accelerator.",
    nonnegative(),
)
W_rep = variable(
    "replica_weights",
    r"W_{\mathrm{rep}}",
    "GB",
    "Weights that the accelerators of an engine hold together, copies counted.",
    nonnegative(),
)
u_gpu = variable(
    "gpu_memory_utilization",
    r"u_M",
    "count",
    "Share of the memory that an engine uses.",
    between(0, 1, open_lower=True),
    label="Memory share of the engine",
)
f_kv = variable(
    "kv_memory_fraction",
    r"f_{\kappa}",
    "count",
    "Share of the memory left by the weights that the KV cache takes.",
    between(0, 1, open_lower=True),
)
M_work = variable(
    "workspace_memory", r"M_{\mathrm{ws}}", "GB", "Memory of each accelerator that an engine keeps for its work.",
    nonnegative(),
)  # fmt: skip
M_drv = variable(
    "driver_memory",
    r"M_{\mathrm{drv}}",
    "GB",
    "Memory of one accelerator that its driver leaves to programs; 0 for all that it shows.",
    nonnegative(),
)
M_pad = variable(
    "expert_padding",
    r"M_{\mathrm{pad}}",
    "GB",
    "Memory of what kernels pad the matrices of experts with.",
    nonnegative(),
)
M_run = variable(
    "runtime_memory",
    r"M_{\mathrm{run}}",
    "GB",
    "Memory per accelerator besides weights, logits and caches: contexts, libraries, activations of a layer, CUDA "
    "graphs.",
    nonnegative(),
)
M_com = variable(
    "communication_memory",
    r"M_{\mathrm{com}}",
    "GB",
    "Memory of each of several accelerators for buffers of their exchanges.",
    nonnegative(),
)
m_row = variable(
    "expert_hidden_multiple",
    r"m_{\mathrm{row}}",
    "count",
    "Multiple that kernels pad the hidden size of 4-bit experts to; 0: they pad none.",
    integer(0),
)
m_col = variable(
    "expert_width_multiple",
    r"m_{\mathrm{col}}",
    "count",
    "Multiple that kernels pad the width of 4-bit experts to; 0: they pad none.",
    integer(0),
)
n_smp = variable(
    "sampled_requests",
    r"n_{\mathrm{smp}}",
    "count",
    "Requests whose next tokens are sampled in the largest step that an engine keeps memory for.",
    nonnegative(),
)
q_smp = variable(
    "sampling_bytes", r"q_{\mathrm{smp}}", "byte", "Memory that sampling takes of each logit of a request.",
    nonnegative(),
)  # fmt: skip
M_kv = variable(
    "kv_memory",
    r"M_{\kappa}",
    "GB",
    "Memory for keys and values; below zero where the weights do not fit.",
    Domain(),
)
n_kv = variable(
    "kv_cache_tokens",
    r"n_{\kappa}",
    "token",
    "Tokens whose keys and values fit beside the weights, in requests of the length that is asked.",
    nonnegative(),
)
n_all = variable(
    "cache_tokens_of_all_layers",
    r"n_{\kappa,\mathrm{all}}",
    "token",
    "Tokens that fit if every layer keeps them, also those with a window.",
    nonnegative(),
)
one_by_one = variable(
    "sent_one_by_one",
    r"\sigma_{1}",
    "count",
    "Requests of a batch are sent one by one: the first finds the engine idle and is prefilled by itself.",
    flag(),
)
t_fst = variable(
    "first_prompt_time",
    r"t_{\mathrm{fst}}",
    "ms",
    "Prefill of the prompt that finds the engine idle; 0 where all come at once.",
    nonnegative(),
)
n_bt = variable(
    "prefill_batches",
    r"n_{\mathrm{b}}",
    "count",
    "Prefills of as many prompts together as there is room for.",
    nonnegative(),
)
g_last = variable(
    "last_prefill_batch", r"g_{\mathrm{last}}", "request", "Prompts that are left for a last prefill.", nonnegative()
)
g_pre = variable(
    "prefill_batch", r"g_{\mathrm{pre}}", "request", "Prompts of a batch that are prefilled together.", nonnegative()
)
t_g = variable("prefill_batch_time", r"t_{g}", "ms", "Prefill of as many prompts together.", nonnegative())
T_all = variable("all_prompts_time", r"T_{\mathrm{pre}}", "ms", "Prefill of all prompts of a batch.", nonnegative())
R_gen = variable(
    "output_tokens_per_second", r"R_{\mathrm{out}}", "token/s", "Tokens generated per second, one replica.",
    nonnegative(),
)  # fmt: skip
