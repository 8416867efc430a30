"""Symbols of one accelerator and of the network between accelerators."""

from mlsysim.symbolic import at_least, between, integer, nonnegative, positive, variable

M_cap = variable("memory_capacity", r"M_{\mathrm{cap}}", "GB", "Memory of one accelerator.", positive())
B_mem = variable("memory_bandwidth", "B", "GB/s", "Memory bandwidth of one accelerator, its peak.", positive())
F = variable(
    "peak_flops",
    "F",
    "TFLOP/s",
    "Dense peak arithmetic rate of one accelerator at the precision.",
    positive(),
    label="Peak arithmetic rate",
)
eta = variable(
    "efficiency", r"\eta", "count", "Share of the peak arithmetic rate reached.", between(0, 1, open_lower=True)
)
P_lim = variable(
    "power_limit",
    r"P_{\mathrm{lim}}",
    "W",
    "Power limit of the board: its tdp, or a given one; 0 if unknown.",
    nonnegative(),
)
f_clk = variable(
    "clock", r"f_{\mathrm{clk}}", "GHz", "Clock of a multiprocessor under load; 0 if unknown.", nonnegative()
)
n_exp = variable(
    "exponentials_per_clock",
    r"n_{\mathrm{mufu}}",
    "count",
    "Exponentials that one multiprocessor computes a clock.",
    nonnegative(),
)
X_exp = variable(
    "exponential_rate",
    r"X_{\mathrm{exp}}",
    "GHz",
    "Exponentials that one accelerator computes a second; 0 where it is not known.",
    nonnegative(),
)
n_cc = variable(
    "compute_capability",
    r"n_{\mathrm{cc}}",
    "count",
    "CUDA compute capability: warps issue products below 9, groups of warps from 9, into separate memory from 10; 0 "
    "if unknown.",
    nonnegative(),
)
tau_dispatch = variable(
    "dispatch_tax", r"\tau_{\mathrm{disp}}", "ms", "Fixed time to launch one request on the accelerator.", nonnegative()
)
tau_layer = variable(
    "layer_tax",
    r"\tau_{\mathrm{layer}}",
    "ms",
    "Fixed time per layer and decode step, added to latency.",
    nonnegative(),
)

beta_fabric = variable(
    "fabric_bandwidth",
    r"\beta_{\mathrm{fab}}",
    "GB/s",
    "Bandwidth of one accelerator's share of the fabric, one direction.",
    positive(),
)
oversubscription = variable(
    "oversubscription", r"\kappa", "count", "Oversubscription of the fabric; 1 is full bisection.", at_least(1.0)
)
alpha = variable("fabric_latency", r"\alpha", "µs", "Time before the first byte of a message arrives.", nonnegative())
beta = variable("link_bandwidth", r"\beta", "GB/s", "Bandwidth left to one accelerator, one direction.", positive())

n_node = variable(
    "accelerators_per_node",
    r"n_{\mathrm{node}}",
    "count",
    "Accelerators that share the fast links of a node.",
    integer(1),
)
n_seg = variable(
    "accelerators_per_segment",
    r"n_{\mathrm{seg}}",
    "count",
    "Accelerators that a run takes of each node if its size is no multiple of a node, as 64 of 72; 0 if runs take all.",
    integer(0),
)
n_fleet = variable("fleet_size", r"N", "count", "Accelerators of the fleet.", integer(1))
beta_node = variable(
    "node_bandwidth",
    r"\beta_{\mathrm{node}}",
    "GB/s",
    "Bandwidth of one accelerator to the others of its node, one direction.",
    positive(),
)
alpha_node = variable(
    "node_latency", r"\alpha_{\mathrm{node}}", "µs", "One step of a collective within a node.", nonnegative()
)
