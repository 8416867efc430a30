"""Symbols of power, carbon and money."""

from mlsysim.symbolic import at_least, between, integer, nonnegative, positive, variable

n_acc = variable("accelerators", r"N_{\mathrm{acc}}", "count", "Accelerators that are paid for.", integer(1))
T_run = variable("duration", r"T_{\mathrm{run}}", "day", "Time they are paid for.", positive())
u_busy = variable("busy_share", "u", "count", "Share of the time in which accelerators run kernels.", between(0, 1))
n_out_run = variable(
    "run_tokens", r"n_{\mathrm{run}}", "token", "Tokens trained on, or generated, in that time.", nonnegative()
)
n_req_run = variable("run_requests", r"r_{\mathrm{run}}", "request", "Requests answered in that time.", nonnegative())

tdp = variable("tdp", r"P_{\mathrm{TDP}}", "W", "Default limit of the power of one accelerator.", positive())
f_idle = variable(
    "idle_power_fraction", r"f_{\mathrm{idle}}", "count", "Power of an idle accelerator over its limit.",
    between(0, 1),
)  # fmt: skip
f_host = variable(
    "host_power_fraction",
    r"f_{\mathrm{host}}",
    "count",
    "Power of hosts, network and fans over that of the accelerators.",
    nonnegative(),
)
pue = variable("pue", r"\mathrm{PUE}", "count", "Power of the building over that of its computers.", at_least(1.0))
grid_carbon = variable("grid_carbon", r"c_{\mathrm{CO_2}}", "kg/kWh", "Carbon dioxide per energy.", nonnegative())
grid_price = variable("electricity_price", r"p_{\mathrm{el}}", "USD/kWh", "Price of energy.", nonnegative())
price = variable("price", r"p_{\mathrm{acc}}", "USD", "Price of one accelerator.", positive())
rate = variable("rental_price", r"p_{\mathrm{h}}", "USD/hour", "Rent of one accelerator, power included.", positive())
f_infra = variable(
    "infrastructure_fraction",
    r"f_{\mathrm{infra}}",
    "count",
    "Host, network and building over the price of the accelerators.",
    nonnegative(),
)
T_life = variable("amortization", r"T_{\mathrm{life}}", "day", "Time over which a purchase is written off.", positive())
f_care = variable(
    "maintenance_rate", r"f_{\mathrm{care}}", "1/day", "Share of the purchase that maintenance costs.", nonnegative()
)

P_avg = variable("average_power", r"\bar{P}", "kW", "Mean power of all accelerators.", nonnegative())
E_run = variable("energy", r"E_{\mathrm{run}}", "MWh", "Energy from the grid over the duration.", nonnegative())
e_tok = variable("energy_per_token", r"e_{\mathrm{tok}}", "J/token", "Energy per token.", nonnegative())
carbon = variable("carbon", r"m_{\mathrm{CO_2}}", "kg", "Carbon dioxide of operation and manufacture.", nonnegative())
C_hw = variable(
    "hardware_cost", r"C_{\mathrm{hw}}", "USD", "Share of the purchase, or the rent, over the duration.", positive()
)
C_el = variable("energy_cost", r"C_{\mathrm{el}}", "USD", "Price of that energy.", nonnegative())
C_care = variable("maintenance_cost", r"C_{\mathrm{care}}", "USD", "Maintenance over the duration.", nonnegative())
tco = variable("total_cost", r"\mathrm{TCO}", "USD", "Total cost of ownership over the duration.", positive())
c_tok = variable("cost_per_token", r"c_{\mathrm{tok}}", "USD/Mtoken", "Cost of a million tokens.", positive())
c_req_run = variable("cost_per_request", r"c_{\mathrm{r}}", "USD/request", "Cost of a request.", positive())
c_hour = variable(
    "cost_per_hour", r"c_{\mathrm{h}}", "USD/hour", "Cost of an hour.", positive(), label="Cost of an hour"
)
x_pre = variable(
    "prefill_cost_share", r"x_{\mathrm{pre}}", "count", "Share of the cost that prompts cause.", nonnegative()
)
c_in = variable(
    "cost_per_input_token", r"c_{\mathrm{tok,in}}", "USD/Mtoken", "Cost of a million tokens of prompts.", nonnegative()
)
c_out = variable(
    "cost_per_output_token",
    r"c_{\mathrm{tok,out}}",
    "USD/Mtoken",
    "Cost of a million tokens of answers, without that of their prompts.",
)
