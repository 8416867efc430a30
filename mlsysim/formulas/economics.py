"""Economics

What a training run or a serving fleet costs: energy by load, carbon by the grid, a share of the purchase or
a rent, maintenance. Prices are inputs; none is assumed where the catalog has none.
"""

from __future__ import annotations

from sympy import Min

from mlsysim.symbolic import Formula, Source, request
from mlsysim.symbols.costs import (
    C_care,
    C_el,
    C_hw,
    E_run,
    P_avg,
    T_life,
    T_run,
    c_req_run,
    c_tok,
    carbon,
    e_tok,
    f_care,
    f_host,
    f_idle,
    f_infra,
    grid_carbon,
    grid_price,
    n_acc,
    n_out_run,
    n_req_run,
    price,
    pue,
    rate,
    tco,
    tdp,
    u_busy,
)
from mlsysim.symbols.hardware import n_fleet
from mlsysim.symbols.serving import c_req, n_out, qps, utilization
from mlsysim.symbols.step import T_mean, T_step, T_train, n_train

BARROSO = Source("barroso2018", "chapter 6")
POWER = Source("barroso2018", "chapter 5")
NO_NUMBER = "the source prints its own prices"

power = Formula(
    P_avg,
    n_acc * tdp * (f_idle + (1 - f_idle) * u_busy),
    title="Mean power",
    source=POWER,
    assumes="Power grows in proportion to the load, from that of an idle accelerator.",
    no_example=NO_NUMBER,
)

energy = Formula(
    E_run,
    P_avg * (1 + f_host) * T_run * pue,
    title="Energy from the grid",
    source=POWER,
    assumes="Hosts and network draw a share of what the accelerators draw; none unless it is given.",
    no_example=NO_NUMBER,
)

energy_per_token = Formula(e_tok, E_run / n_out_run, title="Energy of a token", source=POWER, no_example="a quotient")

emissions = Formula(carbon, E_run * grid_carbon, title="Carbon dioxide", source=POWER, no_example="a product")

bought = Formula(
    C_hw,
    n_acc * price * (1 + f_infra) * T_run / T_life,
    title="Share of the purchase",
    source=BARROSO,
    variant="bought",
    assumes="Written off evenly; nothing is left at the end.",
    no_example=NO_NUMBER,
)

rented = Formula(
    C_hw,
    n_acc * rate * T_run,
    title="Rent",
    source=Source("deepseek2025", "day 6"),
    variant="rented",
    assumes="Power, network and care are in the rent.",
    no_example="a product of mean nodes, accelerators, price and hours; see docs/validation.md",
)

electricity = Formula(C_el, E_run * grid_price, title="Electricity", source=BARROSO, no_example=NO_NUMBER)

maintenance = Formula(
    C_care,
    f_care * n_acc * price * (1 + f_infra) * T_run,
    title="Maintenance",
    source=BARROSO,
    no_example=NO_NUMBER,
)

bought_total = Formula(
    tco, C_hw + C_el + C_care, title="Total cost of what was bought", source=BARROSO, variant="bought",
    no_example="a sum",
)  # fmt: skip

rented_total = Formula(
    tco, C_hw, title="Total cost of what is rented", source=Source("deepseek2025", "day 6"), variant="rented",
    no_example="the rent",
)  # fmt: skip

token_cost = Formula(c_tok, tco / n_out_run, title="Cost of tokens", source=BARROSO, no_example="a quotient")

request_cost = Formula(c_req_run, tco / n_req_run, title="Cost of a request", source=BARROSO, no_example="a quotient")

training_accelerators = Formula(
    n_acc, n_fleet, title="Accelerators of a training run", source=BARROSO, variant="training", no_example="the fleet"
)

training_duration = Formula(
    T_run, T_train, title="Duration of a training run", source=BARROSO, variant="training", no_example="the run"
)

training_load = Formula(
    u_busy,
    Min(1, T_mean / T_step),
    title="Busy share of a training step",
    source=POWER,
    variant="training",
    assumes="Waiting for traffic, or for the rank with the hottest experts, draws as little as idling.",
    no_example="a quotient",
)

trained_tokens = Formula(
    n_out_run, n_train, title="Tokens of a training run", source=BARROSO, variant="training", no_example="the run"
)

serving_accelerators = Formula(
    n_acc,
    c_req,
    title="Accelerators of a serving fleet",
    source=BARROSO,
    variant="serving",
    assumes="One accelerator per replica. Infinite where no number of replicas meets the target.",
    no_example="the replicas",
)

serving_load = Formula(
    u_busy, Min(1, utilization), title="Busy share of a serving fleet", source=POWER, variant="serving",
    no_example="a minimum",
)  # fmt: skip

answered_requests = Formula(
    n_req_run, qps * T_run, title="Requests of a serving fleet", source=BARROSO, no_example="a product"
)

generated_tokens = Formula(
    n_out_run,
    n_req_run * n_out / request,
    title="Tokens a serving fleet generates",
    source=BARROSO,
    variant="serving",
    convention="Answers, not prompts.",
    no_example="a product",
)

ENERGY = (power, energy, energy_per_token, emissions)
SHARED = (*ENERGY, token_cost)
BOUGHT = (bought, electricity, maintenance, bought_total)
RENTED = (rented, rented_total)
TRAINING = (training_accelerators, training_duration, training_load, trained_tokens)
SERVING = (request_cost, serving_accelerators, serving_load, answered_requests, generated_tokens)
FORMULAS = SHARED + BOUGHT + RENTED + TRAINING + SERVING
