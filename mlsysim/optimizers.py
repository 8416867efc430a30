"""Optimizers: what each keeps for the numbers it trains.

The one place of these: choices, formulas and pages read them here. A copy of the weights in 32 bit, where there is
one, is no part of an optimizer.
"""

from __future__ import annotations

from typing import NamedTuple

#: The format that follows the weights an update works on: that of their 32-bit copy where there is one.
AS_WEIGHTS = "as_weights"


class Optimizer(NamedTuple):
    """State of an optimizer.

    Attributes
    ----------
    moments : int
        Numbers kept for each trained number.
    kept : str
        Storage format of these.
    elsewhere : int
        Numbers kept beside for each one outside the matrices of layers: embedding, head, norms, biases.
    factored : bool
        Whether it keeps a number for each row and column of a matrix, and for each number of a vector.
    copies : bool
        Whether it updates weights at all, so that a 32-bit copy of them is of use.
    """

    moments: int
    kept: str = AS_WEIGHTS
    elsewhere: int = 0
    factored: bool = False
    copies: bool = True


OPTIMIZERS = {
    "adam": Optimizer(2),
    "adamw": Optimizer(2),
    "adam_fp32": Optimizer(2, "fp32"),
    "adam_8bit": Optimizer(2, "int8_b2048"),
    # DeepSeek-V3 keeps both moments in bf16.
    "adam_bf16": Optimizer(2, "bf16"),
    # Adam where Muon does not apply.
    "muon": Optimizer(1, elsewhere=1),
    "adafactor": Optimizer(0, factored=True),
    "sgd": Optimizer(0),
    "none": Optimizer(0, copies=False),
}
