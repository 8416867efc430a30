"""Optimizers and their states per trained number.

Single source for choices, formulas and pages. A copy of the weights in 32 bits, where there is
one, is no part of an optimizer.
"""

from __future__ import annotations

from typing import NamedTuple

#: Format that follows the weights of the update: their 32-bit copy if there is one.
AS_WEIGHTS = "as_weights"


class Optimizer(NamedTuple):
    """State of an optimizer.

    Attributes
    ----------
    moments : int
        State numbers per trained number.
    kept : str
        Storage format of the state.
    elsewhere : int
        Further state numbers per weight outside the layers' matrices: embedding, head, norms, biases.
    factored : bool
        True if it keeps a number per row and column of a matrix, and per element of a vector.
    copies : bool
        True if it updates weights, so that a 32-bit copy of them is useful.
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
