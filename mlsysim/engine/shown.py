"""What a data set holds of an output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import sympy

from mlsysim.symbolic import System


@dataclass(frozen=True)
class Shown:
    """An output as a data set shows it.

    Attributes
    ----------
    name : str
        Of the variable.
    scale : float
        Canonical amount of the unit it is shown in.
    kind : {"number", "label", "truth"}
        float64, int8 or bool; where refused nan, -1 or False.
    """

    name: str
    scale: float = 1.0
    kind: Literal["number", "label", "truth"] = "number"


@dataclass(frozen=True)
class Refused:
    """The reason code of a grid: 0 for a point that is allowed.

    Attributes
    ----------
    name : str
        Under which the codes are returned.
    code : sympy.Expr
        In inputs and variables of the system.
    """

    name: str
    code: sympy.Basic


def asked(system: System, outputs: Sequence[Shown], refused: Refused | None) -> tuple[tuple[str, sympy.Basic], ...]:
    """What is compiled for a data set: the outputs, and the reason code as the last."""
    found = [(output.name, system[output.name].variable.symbol) for output in outputs]
    return (*found, *([(refused.name, refused.code)] if refused else []))
