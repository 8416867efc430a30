"""Symbols of the groups that the ranks of a training step form, by what they share."""

from mlsysim.symbolic import Index, family, integer, nonnegative, positive, variable
from mlsysim.symbols.formats import q_comb, q_disp
from mlsysim.symbols.step import T_cp, T_dp, T_ep, T_tp
from mlsysim.symbols.training import c_cp, e, n_etp, n_z, r_dp, t

group = Index(
    "group",
    "j",
    {
        "tp": "tensor-parallel",
        "cp": "context-parallel",
        "dp": "data-parallel",
        "etp": "expert-tensor-parallel",
        "edp": "expert-data-parallel",
        "ep": "expert-parallel",
        "rep": "replicated",
    },
)
exchange = Index("exchange", "i", {"dispatch": "dispatch", "combine": "combine"})
#: Groups that pass messages around a ring, and those of them that hold the same weights.
GATHERS, REPLICAS = ("tp", "cp", "dp", "etp", "edp"), ("dp", "edp")
RINGS = (*GATHERS, "rep")
#: Groups that sum what each of their ranks has.
SUMS = ("tp", "dp", "edp", "rep")

n_g = family(
    "{}_ranks", "n_{}", "count", "Ranks of one {} group.", group, positive(),
    existing={"tp": t, "cp": c_cp, "dp": n_z, "ep": e, "rep": r_dp, "etp": n_etp},
)  # fmt: skip
delta_g = family(
    "{}_stride", r"\delta_{}", "count", "Stride between neighbours of one {} group, in ranks.", group, integer(1)
)
nu_g = family(
    "{}_ranks_per_node", r"\nu_{}", "count", "Ranks of one {} group in one node.", group, positive(), not_above=n_g
)
links_g = family(
    "{}_link_bandwidth", r"\beta_{\mathrm{near},{}}", "GB/s", "Bandwidth of the links among the ranks of one {} group "
    "in one node.", group, positive(), over=RINGS,
)  # fmt: skip
beta_g = family(
    "{}_bandwidth", r"\beta_{}", "GB/s", "Bandwidth a ring of one {} group reaches.", group, positive(), over=RINGS
)
alpha_g = family(
    "{}_latency", r"\alpha_{}", "µs", "Steps of one pass through one {} group, together.", group, nonnegative(),
    over=RINGS,
)  # fmt: skip
tau_g = family(
    "{}_chunk_latency", r"\tau_{}", "µs", "Latency per chunk of an exchange of one {} group.", group,
    nonnegative(), over=RINGS,
)  # fmt: skip
h_kv = variable(
    "kv_width_per_rank",
    r"h_{\mathrm{kv,r}}",
    "count",
    "Numbers of keys and values of one token and layer that one tensor-parallel rank sends.",
    nonnegative(),
)
V_g = family(
    "{}_message_bytes", "V_{}", "MB", "Bytes on each rank of one {} group that one exchange is about.", group,
    nonnegative(), over=GATHERS,
)  # fmt: skip
S_g = family(
    "{}_summed_bytes", "S_{}", "MB", "Bytes on each rank of one {} group that are summed over it.", group,
    nonnegative(), over=SUMS,
)  # fmt: skip
t_ag_g = family(
    "{}_gather_time", r"t_{\mathrm{ag},{}}", "ms", "One all-gather around one {} group.", group, nonnegative(),
    over=GATHERS,
)  # fmt: skip
t_rs_g = family(
    "{}_reduction_time", r"t_{\mathrm{rs},{}}", "ms", "One reduce-scatter of the gradients of one {} group.", group,
    nonnegative(), over=REPLICAS,
)  # fmt: skip
t_ring_g = family(
    "{}_ring_time", r"t_{\mathrm{ring},{}}", "ms", "One all-reduce of one {} group around a ring.", group,
    nonnegative(), over=SUMS,
)  # fmt: skip
t_tree_g = family(
    "{}_tree_time", r"t_{\mathrm{tree},{}}", "ms", "One all-reduce of one {} group over two trees.", group,
    nonnegative(), over=SUMS,
)  # fmt: skip
t_wire_g = family(
    "{}_tree_wire_time", r"t_{\mathrm{wire},{}}", "ms", "Time of the trees of one {} group on links and ports.", group,
    nonnegative(), over=SUMS,
)  # fmt: skip
t_sw_g = family(
    "{}_switch_time", r"t_{\mathrm{sw},{}}", "ms", "One all-reduce of one {} group in the switches of a node.", group,
    nonnegative(), over=SUMS,
)  # fmt: skip
t_ar_g = family(
    "{}_all_reduce_time", r"t_{\mathrm{ar},{}}", "ms", "One all-reduce of one {} group.", group, nonnegative(),
    over=SUMS,
)  # fmt: skip
t_sum = variable(
    "tp_exchange_time",
    r"t_{\mathrm{sum}}",
    "ms",
    "Hidden states of a micro-batch summed among tensor-parallel ranks, and handed to all of them.",
    nonnegative(),
)
q_x = family(
    "{}_bytes", "q_{}", "byte", "Bytes of one number in one {} exchange.", exchange,
    existing={"dispatch": q_disp, "combine": q_comb},
)  # fmt: skip
X_x_i = family(
    "{}_fabric_bytes", r"X_{\mathrm{x},{}}", "MB", "Bytes that one rank sends through its port in one {} "
                                                   "exchange.", exchange,
    nonnegative(),
)  # fmt: skip
X_l_i = family(
    "{}_link_bytes", r"X_{\mathrm{l},{}}", "MB", "Bytes that one rank sends over the links of its node in one {} "
                                                 "exchange.",
    exchange, nonnegative(),
)  # fmt: skip
t_x = family(
    "{}_time", r"t_{\mathrm{x},{}}", "ms", "One {} exchange of an expert-parallel group.", exchange, nonnegative()
)
T_g = family(
    "{}_time", "T_{}", "ms", "Traffic of one {} group left exposed in a step.", group, nonnegative(),
    over=("tp", "cp", "dp", "ep"), existing={"tp": T_tp, "cp": T_cp, "dp": T_dp, "ep": T_ep},
)  # fmt: skip
