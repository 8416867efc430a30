"""Symbols of power, energy, carbon and water."""

from mlsysim.symbolic import at_least, between, choice, nonnegative, positive, variable

x_F = variable(
    "flop_share",
    r"x_{\mathrm{F}}",
    "count",
    "Executed arithmetic relative to the 16-bit peak in that time, weighted by the energy of its format.",
    nonnegative(),
    label="Share of the arithmetic",
)
phi_op = variable(
    "format_energy",
    r"\varphi_{\mathrm{op}}",
    "count",
    "Energy of one operation over that of a 16-bit one.",
    nonnegative(),
)
b_P = variable(
    "busy_power",
    r"b_{\mathrm{P}}",
    "count",
    "Constant of the power law: power of running kernels, whatever they do.",
    nonnegative(),
)
c_P = variable(
    "flop_power", r"c_{\mathrm{P}}", "count", "Constant of the power law: power of operations.", nonnegative()
)
tau_k = variable(
    "kernel_gap",
    r"\tau_{\mathrm{gap}}",
    "µs",
    "Kernels of one layer that neither read nor compute much, which keep an accelerator busy.",
    nonnegative(),
)
phi_read = variable(
    "busy_bandwidth_share",
    r"\varphi_{\mathrm{rd}}",
    "count",
    "Share of the memory bandwidth at which a device that runs kernels is taken to read.",
    between(0, 1, open_lower=True),
)
phi_run = variable(
    "busy_peak_share",
    r"\varphi_{\mathrm{run}}",
    "count",
    "Share of the 16-bit peak at which a device that runs kernels is taken to compute.",
    between(0, 1, open_lower=True),
)
gamma_P = variable(
    "cap_exponent",
    r"\gamma_{\mathrm{P}}",
    "count",
    "Power beyond idling goes as this power of the clock.",
    at_least(1.0),
)
t_meas = variable(
    "measured_iteration_time",
    r"t_{\mathrm{meas}}",
    "ms",
    "Time of an iteration by a clock, which power and energy are then reckoned with; 0: by the formulas.",
    nonnegative(),
)
u_given = variable(
    "measured_busy_share",
    r"u_{\mathrm{meas}}",
    "count",
    "Share of time in which accelerators run kernels, if known; 0 to compute it.",
    between(0, 1),
)
f_use = variable(
    "used_share",
    r"f_{\mathrm{use}}",
    "count",
    "Share of its years in service in which an accelerator is used, which bears its manufacture.",
    between(0, 1, open_lower=True),
)
T_srv = variable("lifetime", r"T_{\mathrm{srv}}", "day", "Time in which an accelerator is in service.", positive())
m_dev = variable(
    "embodied_device",
    r"m_{\mathrm{dev}}",
    "kg",
    "Carbon dioxide from making one accelerator; 0 if unknown.",
    nonnegative(),
)
m_host = variable(
    "embodied_host",
    r"m_{\mathrm{host}}",
    "kg",
    "Carbon dioxide from making its share of a host; 0 if unknown.",
    nonnegative(),
)
w_site = variable(
    "site_water", r"w_{\mathrm{site}}", "L/kWh", "Water that a site evaporates per energy of its computers.",
    nonnegative(),
)  # fmt: skip
w_grid = variable(
    "grid_water", r"w_{\mathrm{grid}}", "L/kWh", "Water that power plants evaporate per energy of the grid.",
    nonnegative(),
)  # fmt: skip

t_clk = variable(
    "clock_time",
    r"t_{\mathrm{clk}}",
    "ms",
    "Iteration that power and energy are reckoned with: the measured one, or ours.",
    nonnegative(),
)
W_it = variable(
    "iteration_flops", r"W_{\mathrm{it}}", "TFLOP", "Arithmetic of one iteration on one accelerator.", nonnegative()
)
Q_it = variable(
    "iteration_bytes",
    r"Q_{\mathrm{it}}",
    "GB",
    "Weights, caches and states that one accelerator reads in one iteration.",
    nonnegative(),
)
W_req = variable(
    "request_flops",
    r"W_{\mathrm{req}}",
    "TFLOP/request",
    "Arithmetic of one request, prompt and answer, on all accelerators that serve it.",
    nonnegative(),
)
P_dev = variable("device_power", r"P_{\mathrm{dev}}", "W", "Mean power of one accelerator.", nonnegative())
sigma_P = variable(
    "clock_stretch",
    r"\sigma_{\mathrm{P}}",
    "count",
    "Time of arithmetic under the limit of power, over that without it.",
    at_least(1.0),
)
t_cap = variable(
    "capped_iteration_time",
    r"t_{\mathrm{cap}}",
    "ms",
    "One iteration whose arithmetic the limit of power stretches.",
    nonnegative(),
)
P_node = variable("node_power", r"P_{\mathrm{node}}", "kW", "Mean power of one full node, its host included.",
                  nonnegative())  # fmt: skip
binds_P = variable(
    "power_bottleneck",
    r"\mathrm{binds}_{P}",
    "",
    "Main part of the power: Limit if the margin below it is less than idling draws, Idling if that is half or more, "
    "else Arithmetic or Kernels.",
    choice("Limit", "Idling", "Arithmetic", "Kernels"),
)
E_step = variable("energy_per_step", r"E_{\mathrm{step}}", "kWh", "Energy from the grid per step.", nonnegative())
e_req = variable(
    "energy_per_request", r"e_{\mathrm{req}}", "J/request", "Energy from the grid per request.", nonnegative()
)
m_op = variable("operational_carbon", r"m_{\mathrm{op}}", "kg", "Carbon dioxide of that energy.", nonnegative())
m_emb = variable(
    "embodied_carbon",
    r"m_{\mathrm{emb}}",
    "kg",
    "Carbon dioxide of manufacture, the part that falls on the duration.",
    nonnegative(),
)
V_site = variable("site_water_use", r"V_{\mathrm{site}}", "L", "Water evaporated on site.", nonnegative())
V_grid = variable("grid_water_use", r"V_{\mathrm{grid}}", "L", "Water evaporated by power plants.", nonnegative())
V_all = variable("water", r"V_{\mathrm{H_2O}}", "L", "Water evaporated on site and by power plants.", nonnegative())
