"""Symbols of a cache of prompt prefixes from which the least recently used is thrown out."""

from mlsysim.symbolic import Index, between, family, integer, nonnegative, variable

#: Places at which the popularity of prefixes is added up: the first four, then one for many.
place = Index("place", r"\jmath", {f"c{number}": f"class {number}" for number in range(1, 15)})

M_pre = variable(
    "prefix_cache_memory",
    r"M_{\mathrm{pre}}",
    "GB",
    "Memory of a replica for shared prompt prefixes; 0 if the share of cached tokens is given instead.",
    nonnegative(),
)
N_pre = variable("num_prefixes", r"N_{\mathrm{pre}}", "count", "Prefixes that prompts begin with.", integer(1, 10**9))
s_pre = variable("prefix_len", r"s_{\mathrm{pre}}", "token", "Tokens of a prefix.", integer(1), label="Prefix length")
z_pre = variable(
    "prefix_zipf",
    r"z_{\mathrm{pre}}",
    "count",
    "Exponent of Zipf's law for the popularity of prefixes; 0 if all are equally popular.",
    between(0, 4),
)
C_pre = variable(
    "cached_prefixes", r"C_{\mathrm{pre}}", "count", "Prefixes that the memory for them holds.", nonnegative()
)
u_pre = family(
    "{}_log_rank", r"u_{}", "count", "Logarithm of the rank of prefixes of {}.", place, between(0, 30),
)  # fmt: skip
n_pre = family("{}_prefixes", r"n_{\mathrm{pre},{}}", "count", "Prefixes of {}.", place, nonnegative())
z_sum = variable(
    "prefix_popularity_sum",
    r"Z_{\mathrm{pre}}",
    "count",
    "Popularity of all prefixes over that of the first.",
    nonnegative(),
    label="Popularity of all prefixes",
)
y_pre = variable(
    "prefix_lifetime",
    r"y_{\mathrm{pre}}",
    "count",
    "Logarithm of the requests after which a prefix that nobody asked for is thrown out.",
    nonnegative(),
    label="Lifetime of a cached prefix",
)
H_pre = variable(
    "prefix_found_share",
    r"H_{\mathrm{pre}}",
    "count",
    "Share of the prompts whose prefix is in the cache.",
    nonnegative(),
    label="Prompts whose prefix is cached",
)
