"""Economics

Cost of a training run or serving fleet: depreciation or rent, electricity and maintenance. Prices are inputs; none is
assumed if the catalog has none.
"""

from __future__ import annotations

from sympy import oo

from mlsysim.formulas.energy import BARROSO as POWER
from mlsysim.symbolic import Example, Formula, Min, Source, request, when
from mlsysim.symbols.costs import (
    C_care,
    C_el,
    C_hw,
    E_run,
    T_life,
    T_run,
    c_req_run,
    c_tok,
    f_care,
    f_infra,
    grid_price,
    n_acc,
    n_out_run,
    n_req_run,
    price,
    rate,
    tco,
    u_busy,
)
from mlsysim.symbols.hardware import n_fleet
from mlsysim.symbols.runs import C_run
from mlsysim.symbols.serving import c_req, n_out, qps, utilization
from mlsysim.symbols.step import T_mean, T_step, T_train, n_train

BARROSO = Source("barroso2018", "chapter 6")
RENT = Source("deepseek2025", "day 6: a day on 226.75 nodes of eight")

owned = Formula(
    C_hw,
    n_acc * price * (1 + f_infra) * T_run / T_life,
    title="Share of the purchase",
    source=BARROSO,
    variant="owned",
    assumes="Written off evenly; nothing is left at the end.",
    example=Example(
        {n_acc: 8, price: 30000, f_infra: 0.5, T_run: 365, T_life: 1460},
        "90000 USD",
        derived="8 * 30000 * (1 + 0.5) * 365 / 1460",
    ),
)

rented = Formula(
    C_hw,
    n_acc * rate * T_run,
    title="Rent",
    source=RENT,
    variant="rented",
    assumes="Power, network and care are in the rent.",
    example=Example({n_acc: 1814, rate: 2, T_run: 1}, "87072 USD", RENT),
)

electricity = Formula(
    C_el,
    E_run * grid_price,
    title="Electricity",
    source=BARROSO,
    example=Example({E_run: 129.6, grid_price: 0.1}, "12960 USD", derived="129600 * 0.1"),
)

maintenance = Formula(
    C_care,
    f_care * n_acc * price * (1 + f_infra) * T_run,
    title="Maintenance",
    source=BARROSO,
    example=Example(
        {f_care: 2e-4, n_acc: 8, price: 30000, f_infra: 0.5, T_run: 30},
        "2160 USD",
        derived="2e-4 * 8 * 30000 * (1 + 0.5) * 30",
    ),
)

owned_total = Formula(
    tco, C_hw + C_el + C_care, title="Total cost of what is owned", source=BARROSO, variant="owned",
    example=Example({C_hw: 90000, C_el: 12960, C_care: 2160}, "105120 USD", derived="90000 + 12960 + 2160"),
)  # fmt: skip

rented_total = Formula(
    tco, C_hw, title="Total cost of what is rented", source=RENT, variant="rented",
    example=Example({C_hw: 87072}, "87072 USD", RENT),
)  # fmt: skip

token_cost = Formula(
    c_tok,
    when(n_out_run > 0, tco / n_out_run, oo),
    title="Cost of tokens",
    source=BARROSO,
    example=Example({tco: 87072, n_out_run: 168e9}, "0.51829 USD/Mtoken", derived="87072 / 168e3"),
)

request_cost = Formula(
    c_req_run,
    when(n_req_run > 0, tco / n_req_run, oo),
    title="Cost of a request",
    source=BARROSO,
    example=Example({tco: 960, n_req_run: 1.6e6}, "0.0006000 USD/request", derived="960 / 1.6e6"),
)

training_accelerators = Formula(
    n_acc,
    n_fleet,
    title="Accelerators of a training run",
    source=BARROSO,
    variant="training",
    example=Example({n_fleet: 1024}, "1024", derived="1024"),
)

training_duration = Formula(
    T_run,
    T_train,
    title="Duration of a training run",
    source=BARROSO,
    variant="training",
    example=Example({T_train: 30}, "30.00 day", derived="30"),
)

training_load = Formula(
    u_busy,
    Min(1, T_mean / T_step),
    title="Busy share of a training step",
    source=POWER,
    variant="training",
    assumes="Waiting for traffic, or for the rank with the hottest experts, draws as little as idling.",
    example=Example({T_mean: 6000, T_step: 8}, "0.7500", derived="min(1, 6000 / 8000)"),
)

trained_tokens = Formula(
    n_out_run,
    n_train,
    title="Tokens of a training run",
    source=BARROSO,
    variant="training",
    example=Example({n_train: 1.4e12}, "1400 Gtoken", derived="1.4e12 / 1e9"),
)

serving_accelerators = Formula(
    n_acc,
    c_req,
    title="Accelerators of a serving fleet",
    source=BARROSO,
    variant="serving",
    assumes="One accelerator per replica. Infinite where no number of replicas meets the target.",
    example=Example({c_req: 12}, "12", derived="12"),
)

serving_load = Formula(
    u_busy, Min(1, utilization), title="Busy share of a serving fleet", source=POWER, variant="serving",
    example=Example({utilization: 0.435}, "0.4350", derived="min(1, 0.435)"),
)  # fmt: skip

answered_requests = Formula(
    n_req_run,
    qps * T_run,
    title="Requests of a serving fleet",
    source=BARROSO,
    variant="serving",
    example=Example({qps: 20, T_run: 1}, "1728000 request", derived="20 * 24 * 3600"),
)

generated_tokens = Formula(
    n_out_run,
    n_req_run * n_out / request,
    title="Tokens a serving fleet generates",
    source=BARROSO,
    variant="serving",
    convention="Answers, not prompts.",
    example=Example({n_req_run: 1728000, n_out: 64}, "110592000 token", derived="1728000 * 64"),
)

run_cost = Formula(
    C_run,
    tco,
    title="Cost of a run that fails",
    source=BARROSO,
    variant="bill",
    example=Example({tco: 44768026}, "44768026 USD", derived="44768026"),
)

OWNED = (owned, electricity, maintenance, owned_total)
RENTED = (rented, rented_total)
TRAINING = (training_accelerators, training_duration, training_load, trained_tokens)
#: Accelerators, load, requests and tokens of a serving fleet.
SERVED = (serving_accelerators, serving_load, answered_requests, generated_tokens)
SERVING = (request_cost, *SERVED)
FORMULAS = (token_cost, *OWNED, *RENTED, *TRAINING, *SERVING, run_cost)
