"""Symbols of closed loops whose requests go round in step."""

from mlsysim.symbolic import family, nonnegative, variable
from mlsysim.symbols.deployment import quantile

B_z = variable(
    "cohort_size",
    r"B_{\circlearrowleft}",
    "request",
    "Requests of a closed loop that decode in step; 0 where answers differ, or where requests come by themselves.",
    nonnegative(),
)
tau_z = variable("cohort_step", r"\tau_{\circlearrowleft}", "ms", "Decode step of all of these.", nonnegative())
T_z = variable(
    "cohort_cycle", r"T_{\circlearrowleft}", "ms", "Time in which all of these are prefilled and answered.",
    nonnegative(),
)  # fmt: skip
m_z = variable(
    "cohort_rounds",
    r"m_{\circlearrowleft}",
    "count",
    "Rounds in which every request in flight is answered once.",
    nonnegative(),
)
r_z = variable(
    "cohort_waiting",
    r"r_{\circlearrowleft}",
    "request",
    "Requests of a round that waited for as many rounds.",
    nonnegative(),
)
k_z = family(
    "cohort_place_{}", r"k_{\circlearrowleft,{}}", "request", "Place in a round that {} of its requests do not exceed.",
    quantile, nonnegative(),
)  # fmt: skip
