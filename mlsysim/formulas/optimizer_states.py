"""Optimizer states

Optimizer state per rank. Adam keeps two numbers per trained parameter, in the format of the updated weights unless its
name says otherwise; Muon keeps one for the layers' matrices and two for the rest; Adafactor keeps one per row and
column of a matrix. Narrower weights also have a 32-bit copy.
"""

from __future__ import annotations

from typing import Any

from sympy import Eq, Piecewise, Rational

from mlsysim.formats import STORED
from mlsysim.formulas.trained_parameters import FULL
from mlsysim.optimizers import AS_WEIGHTS, OPTIMIZERS, Optimizer
from mlsysim.symbolic import Example, Formula, Max, Source, by_label, byte, label, sharded, when
from mlsysim.symbols.activations import P_ends
from mlsysim.symbols.groups import n_g
from mlsysim.symbols.parameters import P_norm
from mlsysim.symbols.trained import (
    K_d,
    K_s,
    N_d,
    N_s,
    P_ad_d,
    P_ad_s,
    R_d,
    R_s,
    T_d,
    T_s,
    U_d,
    U_s,
    finetuning,
    master,
    q_m,
    q_mw,
    q_t,
    r_lora,
)
from mlsysim.symbols.training import O, Z, f, n_z, o, optimizer, optimizer_device

MIXED = Source("rajbhandari2020", "section 3.1")
BLOCKS = Source("dettmers2022", "section 2.1")
RANK = "The rank that holds the most; GB = 1e9 bytes."

#: One where the optimizer state is on the accelerator, 0 where the host keeps it.
ON_DEVICE = when(Eq(optimizer_device, label(optimizer_device, "host")), 0, 1)


def _by_optimizer(value: Any) -> Any:
    """Select a quantity by optimizer."""
    return by_label(optimizer, {name: value(each) for name, each in OPTIMIZERS.items()})


def _moment(each: Optimizer, as_weights: Any) -> Any:
    """Bytes per number of the optimizer's state."""
    if each.kept == AS_WEIGHTS:
        return as_weights
    return Rational(*STORED[each.kept].as_integer_ratio()) * byte


def per_parameter(as_weights: Any, copy: Any) -> Any:
    """State per trained parameter: moments, and a 32-bit copy."""
    return _by_optimizer(lambda each: each.moments * _moment(each, as_weights) + (copy if each.copies else 0))


def moment_of_each(as_weights: Any) -> Any:
    """Bytes of one moment per trained parameter; zero without moments."""
    return _by_optimizer(lambda each: _moment(each, as_weights) if each.moments else 0)


master_bytes = Formula(
    q_mw,
    when(q_t < 4 * byte, 4 * byte * master),
    title="Bytes of the 32-bit copy of a trained weight",
    source=Source("micikevicius2018", "section 3.1"),
    example=Example({q_t: 2, master: 1}, "4 byte", MIXED),
)

moment_bytes = Formula(
    q_m,
    when(q_mw > 0, 4 * byte, Max(q_t, 2 * byte)),
    title="Bytes of a number that an optimizer keeps",
    source=MIXED,
    assumes="In the format of the weights it updates, their 32-bit copy where there is one: so does PyTorch. No "
    "narrower than 16 bit.",
    example=Example({q_mw: 0, q_t: 2}, "2 byte", derived="max(2, 2)"),
)

optimizer_bytes = Formula(
    o,
    per_parameter(q_m, q_mw),
    title="Optimizer state per trained parameter",
    source=BLOCKS,
    variant="per_operator",
    assumes="Two moments for Adam, none for SGD without momentum, one for Muon; 8-bit Adam scales blocks of 2048 "
    "numbers in fp32, for every tensor. The number of the step is not counted.",
    accuracy="Equal to the tensors that torch.optim keeps after a step.",
    example=Example({optimizer: "adam_8bit", q_m: 4, q_mw: 4}, "6.0039 byte", derived="2 * (1 + 4 / 2048) + 4"),
)


def _further(outside: Any, factors: Any) -> Any:
    """Further state numbers: for parameters outside layer matrices, and for rows and columns."""
    cases: list[Any] = [
        (each.elsewhere * outside + (factors if each.factored else 0), Eq(optimizer, label(optimizer, name)))
        for name, each in OPTIMIZERS.items()
        if each.elsewhere or each.factored
    ]
    return Piecewise(*cases, (0, True))


def _of_adapters(parameters: Any, products: Any) -> Any:
    """Rows and columns of both matrices of all adapters."""
    return parameters / r_lora + 2 * r_lora * products


further_numbers = Formula(
    N_d,
    _further(when(FULL, f * (U_d + P_ends)), when(FULL, f * (R_d + U_d + P_norm), _of_adapters(P_ad_d, K_d))),
    title="Numbers an optimizer keeps beside those of each parameter",
    source=Source("shazeer2018", "section 3"),
    assumes="Adafactor: one for each row and column of a matrix and each number of a vector, no first moment. Muon: "
    "Adam's second number for embedding, head, norms and biases. The last norm "
    "stands on every stage. A share of the parameters has that share of them.",
    convention="The rank that holds the most, experts left out.",
    accuracy="Equal to the tensors that torch.optim keeps after a step.",
    example=Example(
        {finetuning: "full", f: 1, optimizer: "adafactor", U_d: 262144, P_norm: 4096, P_ends: 1050677248,
         R_d: 2886144, r_lora: 16, P_ad_d: 0, K_d: 0},
        "3152384",
        derived="2886144 + 262144 + 4096",
    ),
)  # fmt: skip

further_expert_numbers = Formula(
    N_s,
    _further(when(FULL, f * U_s), when(FULL, f * (R_s + U_s), _of_adapters(P_ad_s, K_s))),
    title="Numbers an optimizer keeps for experts beside those of each parameter",
    source=Source("jordan2024"),
    assumes="Muon updates the matrices of experts, and Adam their biases.",
    convention="The rank that holds the most.",
    accuracy="Equal to the tensors that torch.optim keeps after a step.",
    example=Example(
        {finetuning: "full", f: 1, optimizer: "adafactor", U_s: 0, R_s: 1769472, r_lora: 16, P_ad_s: 0, K_s: 0},
        "1769472",
        derived="1769472",
    ),
)

optimizer_state = Formula(
    O,
    ON_DEVICE * ((o * T_d + q_m * N_d) / sharded(Z >= 1, n_z) + (o * T_s + q_m * N_s) / sharded(Z >= 1, n_g["edp"])),
    title="Optimizer state held by one rank, each kind over its own group",
    source=Source("rajbhandari2020", "section 5"),
    variant="per_operator",
    convention=RANK,
    example=Example(
        {
            optimizer_device: "accelerator",
            T_d: 1.606e9,
            T_s: 5.637e9,
            o: 12,
            q_m: 4,
            N_d: 0,
            N_s: 0,
            Z: 1,
            n_z: 64,
            n_g["edp"]: 8,
        },
        "8.7566 GB",
        derived="12 * (1.606e9 / 64 + 5.637e9 / 8) / 1e9",
    ),
)

FORMULAS = (
    master_bytes,
    moment_bytes,
    optimizer_bytes,
    further_numbers,
    further_expert_numbers,
    optimizer_state,
)
