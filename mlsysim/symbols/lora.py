"""Symbols of adapters of low rank that an engine serves beside weights that all requests share."""

from mlsysim.symbolic import at_least, between, family, integer, nonnegative, variable
from mlsysim.symbols.prefix_cache import place

N_lo = variable(
    "num_loras",
    r"N_{\mathrm{lo}}",
    "count",
    "Low-rank adapters, of which each request uses one; 0 without adapters.",
    integer(0, 10**6),
    label="LoRA adapters",
)
G_lo = variable(
    "max_loras",
    r"G_{\mathrm{lo}}",
    "count",
    "Adapters that fit in an engine's memory at a time; 0 if all fit.",
    integer(0, 10**6),
    label="Resident LoRA adapters",
)
z_lo = variable(
    "lora_zipf",
    r"z_{\mathrm{lo}}",
    "count",
    "Exponent of Zipf's law for the popularity of adapters; 0 if all are equally popular.",
    between(0, 4),
    label="LoRA popularity exponent",
)
tau_lo = variable(
    "lora_layer_tax",
    r"\tau_{\mathrm{lo}}",
    "ms",
    "Time that adapter kernels add per layer, besides reading and computing.",
    nonnegative(),
    label="LoRA layer tax",
)

u_lo = family(
    "{}_lora_log_rank", r"u_{\mathrm{lo},{}}", "count", "Logarithm of the rank of adapters of {}.", place,
    between(0, 30),
)  # fmt: skip
n_lo = family("{}_loras", r"n_{\mathrm{lo},{}}", "count", "Adapters of {}.", place, nonnegative())
Z_lo = variable(
    "lora_popularity_sum",
    r"Z_{\mathrm{lo}}",
    "count",
    "Popularity of all adapters over that of the first.",
    at_least(1.0),
    label="Popularity of all LoRA adapters",
)
p_lo = family(
    "{}_other_lora_share",
    r"\bar{p}_{\mathrm{lo},{}}",
    "count",
    "Share of the requests that ask for another adapter than one of {}.",
    place,
    between(0, 1),
)
n_ask = variable(
    "iteration_requests",
    r"n_{\mathrm{ask}}",
    "count",
    "Requests of one group in an iteration, prompts and those that decode; one at least.",
    at_least(1.0),
)
K_lo = variable(
    "iteration_loras",
    r"K_{\mathrm{lo}}",
    "count",
    "Adapters that the requests of one group ask for in an iteration, mean.",
    nonnegative(),
    label="LoRA adapters of an iteration",
)
K_lo_e = variable(
    "expert_group_loras",
    r"K_{\mathrm{lo,e}}",
    "count",
    "Adapters that the requests of all ranks that share experts ask for in an iteration, mean.",
    nonnegative(),
    label="LoRA adapters of ranks that share experts",
)
H_lo = variable(
    "lora_expert_pairs",
    r"H_{\mathrm{lo}}",
    "count",
    "Pairs of an adapter and an expert that the tokens of an iteration go to, of a layer.",
    nonnegative(),
    label="LoRA expert pairs",
)

P_lo = variable(
    "lora_parameters", r"P_{\mathrm{lo}}", "count", "Parameters of one adapter.", nonnegative(), label="LoRA parameters"
)
P_lo_r = variable(
    "lora_parameters_per_rank",
    r"P_{\mathrm{lo,r}}",
    "count",
    "Parameters of one adapter on one tensor-parallel rank, all layers, without those of experts.",
    nonnegative(),
    label="LoRA parameters per rank",
)
P_lo_e = variable(
    "lora_expert_parameters",
    r"P_{\mathrm{lo,e}}",
    "count",
    "Parameters that one adapter has for one expert of a layer on one rank.",
    nonnegative(),
    label="LoRA parameters of an expert",
)
P_lo_t = variable(
    "lora_parameters_per_token",
    r"P_{\mathrm{lo,t}}",
    "count",
    "Parameters of adapters that a token passes through on one rank, all layers.",
    nonnegative(),
    label="LoRA parameters per token",
)
P_lo_k = variable(
    "touched_lora_parameters",
    r"P_{\mathrm{lo,it}}",
    "count",
    "Parameters of adapters that an iteration reads on one rank, all layers.",
    nonnegative(),
    label="Touched LoRA parameters",
)
M_lo = variable(
    "lora_memory",
    r"M_{\mathrm{lo}}",
    "GB",
    "Adapters that the accelerators of an engine hold together, copies counted.",
    nonnegative(),
    label="LoRA memory",
)
t_lo = variable(
    "lora_time", r"t_{\mathrm{lo}}", "ms", "Adapters of the requests of an iteration.", nonnegative(), label="LoRA time"
)
