"""Products of routed experts

A rank with fewer experts gives each of them more rows, namely the tokens of its whole group. Products with few rows, or
with narrow experts, take as long to move their operands as to compute, and near the ridge the two times add in part.
"""

from __future__ import annotations

from typing import Any

from sympy import And

from mlsysim.formulas.roofline import side_by_side
from mlsysim.formulas.transformer_flops import routed_layer
from mlsysim.symbolic import Example, Formula, Source, flop, token, when
from mlsysim.symbols.activations import sigma_e
from mlsysim.symbols.formats import q_a, q_c
from mlsysim.symbols.groups import n_g
from mlsysim.symbols.hardware import B_mem
from mlsysim.symbols.layers import F_lin, eta_r, m_e, r_e
from mlsysim.symbols.routing import gamma_r
from mlsysim.symbols.step import eta_mem, rho_lin
from mlsysim.symbols.trained import f_w
from mlsysim.symbols.training import e, n_tok, t
from mlsysim.symbols.workload import E, d_e, h_e, k

SWITCH = Source("fedus2022", "section 2.2")


def rows(ranks: Any) -> Any:
    """Tokens per expert at balanced load, if this many ranks share the experts."""
    return n_tok * k * ranks / (sigma_e * E)


def _moving(share: Any) -> Any:
    """Time to move a share of the operands of an expert's products, relative to their arithmetic."""
    return F_lin / (2 * flop * B_mem * eta_mem) * (2 * q_c + q_a) / 3 * share


def _moved(tokens: Any) -> Any:
    return _moving(token / tokens + 1 / h_e + n_g["etp"] / d_e)


def slowing(tokens: Any) -> Any:
    """Time of an expert's products with this many rows, relative to arithmetic at the dense rate."""
    return when(And(d_e > 0, tokens > 0), side_by_side(1, _moved(tokens)) / eta_r, 1)


def fixed_share(tokens: Any) -> Any:
    """Share of that time independent of the rows: weights and their gradients are moved once."""
    return when(And(d_e > 0, tokens > 0), _moving(token / tokens) * _moved(tokens) / (1 + _moved(tokens) ** 2))


def product_time(load: Any, factor: Any) -> Any:
    """Time of a layer's routed experts at this load factor."""
    return n_tok * (2 + f_w + rho_lin) * load * factor * routed_layer() / (t * F_lin)


rows_per_expert = Formula(
    m_e,
    gamma_r * rows(e),
    title="Rows of an expert",
    source=SWITCH,
    assumes="Those of all ranks of its group. On the hot rank, its experts taken alike.",
    convention="One micro-batch.",
    example=Example(
        {gamma_r: 1.25, n_tok: 4096, k: 8, e: 16, sigma_e: 1, E: 128},
        "5120 token",
        derived="1.25 * 4096 * 8 * 16 / 128",
    ),
)

expert_product_factor = Formula(
    r_e,
    slowing(m_e),
    title="What few rows and narrow experts cost products",
    source=Source("williams2009", "section 3"),
    assumes="Each matrix of an expert by itself, at the rounded roof of a kernel. Of inputs, weights and outputs the "
    "forward pass and both products of the backward pass read two and write one, so each is taken in the mean format. "
    "Whole tiles are not counted. Grouped products reach a share of the rate of dense ones.",
    accuracy="The law is that of 392 products on A100, H100, B200 (KernelModel); the ratio is that of 42 "
    "steps of Megatron-Bridge.",
    example=Example(
        {F_lin: 593.4, B_mem: 3350, eta_mem: 0.8, q_c: 2, q_a: 2, m_e: 256, h_e: 2048, n_g["etp"]: 1,
         d_e: 768, eta_r: 0.72},
        "2.2356",
        derived="1 / 0.72 * (1 + (593.4e12 / (2 * 3350e9 * 0.8) * 2 * (1 / 256 + 1 / 2048 + 1 / 768))**2)**0.5",
    ),
)  # fmt: skip

FORMULAS = (rows_per_expert, expert_product_factor)
