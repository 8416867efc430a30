"""Symbols of expert routing."""

from mlsysim.symbolic import nonnegative, positive, variable

k_eff = variable(
    "effective_active_experts", r"k_{\mathrm{eff}}", "count", "Experts per token the hot ones make it cost.", positive()
)
multiplier = variable(
    "active_parameter_multiplier", r"\chi", "count", "Active work over that of balanced routing.", positive()
)
P_eff = variable(
    "effective_active_parameters", r"P_{\mathrm{eff}}", "count", "Active parameters, imbalance included.", positive()
)
payload = variable(
    "routed_payload", r"M_{\mathrm{rt}}", "MB", "Activations handed to experts, local ones included.", positive()
)
dispatch = variable(
    "token_dispatch_bytes", r"M_{\mathrm{disp}}", "MB", "Activations that leave their rank.", nonnegative()
)
t_a2a = variable("all_to_all_latency", r"T_{\mathrm{a2a}}", "ms", "Time of one all-to-all exchange.", nonnegative())
